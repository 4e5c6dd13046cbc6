"""The report of a design in a browser: nothing to complain about, the robot moves, plots zoom, tables sort."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from browser import Browser, find_browser
from conftest import CASES
from exciter.dynamics.dynamics import Dynamics
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.obstacles import Round, Wall
from exciter.excitation.constraints.workspace import InsideSphere
from exciter.report import write_design_report
from exciter.report.scene import upright
from exciter.robot import library
from report_designs import EVIL, designed

pytestmark = pytest.mark.skipif(find_browser() is None, reason="no Chromium here to look at the report with")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def page(browser: Browser, panda_report: Path) -> Browser:
    browser.errors.clear()
    browser.requests.clear()
    browser.open(panda_report, 800, 600)
    return browser


def pixels(browser: Browser, canvas: str) -> str:
    browser.picture_drawn()
    return browser.evaluate(f"document.querySelector('{canvas}').toDataURL()")


def test_browser_shows_everything_without_complaint(page, panda_report):
    assert page.evaluate("report.plots.length") == 7
    assert page.evaluate("report.plots.every((p) => p.box.querySelector('canvas').width > 300)")
    assert page.evaluate("report.scenes.length === 1 && report.scenes[0].gl !== null")
    for width in (1280, 1000, 640, 320):
        page.resize(width, 600)
        page.picture_drawn()
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.errors == []
    assert page.requests == [panda_report.as_uri()]


def test_kinematics_of_the_page_are_those_of_the_package(page, panda):
    """Placements in JavaScript against ``Dynamics.placement``, the path's marker against the path."""
    robot = panda.model.robot
    for t in (0.0, 1.3, 4.99):
        motion = panda.curve.motion([t])
        bodies = page.evaluate(f"report.scenes[0].placements({t}).map((b) => [...b.r, ...b.p])")
        for name, body in zip(robot.joint_names, bodies, strict=True):
            rotation, origin = Dynamics(robot).placement(name, motion.q)
            np.testing.assert_allclose(np.reshape(body[:9], (3, 3)), rotation[0], atol=1e-3)
            np.testing.assert_allclose(body[9:], origin[0], atol=1e-3)
        page.evaluate(f"report.tell('time', {t})")
        tip = Dynamics(robot).placement("flange", motion.q)[1][0]
        for a, b, place, x, y in page.evaluate(
            "[...document.querySelectorAll('.projections svg')].map((s) => [...s.dataset.axes.split(' ').map(Number), "
            "s.dataset.place.split(' ').map(Number), "
            "...['cx', 'cy'].map((k) => Number(s.querySelector('.now').getAttribute(k)))])"
        ):
            assert (x - place[0]) / place[1] == pytest.approx(tip[a], abs=2e-3)
            assert (y - place[2]) / place[3] == pytest.approx(tip[b], abs=2e-3)


@pytest.mark.parametrize("name", ["gantry", "two-arms", "random-tree"])
def test_kinematics_of_other_robots(browser, name, tmp_path):
    """Prismatic joints, branches, any axes and any gravity."""
    robot = CASES[name]()
    design = designed(robot)
    write_design_report(design, tmp_path / "r.html", rate=50.0)
    browser.errors.clear()
    browser.open(tmp_path / "r.html")
    view = upright(robot)
    bodies = browser.evaluate("report.scenes[0].placements(2).map((b) => [...b.r, ...b.p])")
    for joint, body in zip(robot.joint_names, bodies, strict=True):
        rotation, origin = Dynamics(robot).placement(joint, design.curve.motion([2.0]).q)
        np.testing.assert_allclose(np.reshape(body[:9], (3, 3)), view @ rotation[0], atol=1e-3)
        np.testing.assert_allclose(body[9:], view @ origin[0], atol=1e-3)
    assert browser.errors == []


def test_robot_moves_turns_and_plays(page):
    scene = ".scene canvas"
    first = pixels(page, scene)
    slide = "const s = document.querySelector('.controls input'); s.value = {}; s.dispatchEvent(new Event('input'))"
    page.evaluate("{" + slide.format(2.0) + "}")
    moved = pixels(page, scene)
    assert moved != first
    assert page.evaluate("document.querySelector('.controls output').textContent").startswith("2.00 s")
    page.evaluate("{" + slide.format(0.0) + "}")
    assert pixels(page, scene) == first
    page.evaluate(f"document.querySelector('{scene}').focus()")
    page.press("ArrowLeft")
    assert pixels(page, scene) != first
    page.press(" ", " ")
    page.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert page.evaluate("report.state.time") > 0.1
    assert page.evaluate("document.querySelector('.play').textContent") == "Pause"
    page.press(" ", " ")
    stopped = page.evaluate("report.state.time")
    page.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert page.evaluate("report.state.time") == stopped
    assert page.errors == []


def test_joint_choice_shows_units_and_limits(page, panda):
    every = page.evaluate("report.plots.map((p) => p.shown.lines.length)")
    assert every[:5] == [7, 7, 7, 7, 7]
    highest = page.evaluate("report.plots[1].shown.lines.map((l) => Math.max(...l.values.map(Math.abs)))")
    share = panda.curve.extremum(1).size / panda.model.robot.limit("velocity")
    np.testing.assert_allclose(highest, 100 * share, rtol=1e-3)
    page.evaluate("document.querySelectorAll('.joints')[1].querySelector('[data-joint=\"3\"]').click()")
    first = "report.plots.slice(0, 5).map((p) => p.shown)"
    shown = f"{first}.map((s) => [s.lines.length, s.lines[0].name, s.unit, s.levels])"
    units, limits = ["rad", "rad/s", "rad/s²", "rad/s³", "N·m"], panda.model.robot.joints[3].limits
    ends = [limits.velocity, limits.acceleration, limits.jerk, limits.torque]
    expected = [[limits.lower, limits.upper], *([-end, end] for end in ends)]
    assert page.evaluate(shown) == [[1, "joint_4", u, e] for u, e in zip(units, expected, strict=True)]
    pressed = "[...document.querySelectorAll('.joints [aria-pressed=true]')].map((b) => b.textContent)"
    assert page.evaluate(pressed) == ["joint_4"] * 3
    assert page.errors == []


def test_plots_zoom_together_by_keyboard(page):
    page.evaluate("report.plots[0].box.focus()")
    page.press("+", "+")
    page.picture_drawn()
    ranges = page.evaluate("report.plots.slice(0, 5).map((p) => [p.u.scales.x.min, p.u.scales.x.max])")
    assert ranges[0] == pytest.approx([2.5 - 5 / 3, 2.5 + 5 / 3], abs=1e-3)
    assert all(r == ranges[0] for r in ranges)
    page.evaluate("document.querySelector('[data-joint=\"2\"]').click()")  # stays where it is
    assert page.evaluate("[report.plots[2].u.scales.x.min, report.plots[2].u.scales.x.max]") == ranges[0]
    page.press("0", "0")
    page.picture_drawn()
    assert page.evaluate("[report.plots[4].u.scales.x.min, report.plots[4].u.scales.x.max]") == pytest.approx([0, 5])


def test_tables_sort(page):
    rows = "[...document.querySelectorAll('#parameters tbody tr')]"
    column = rows + ".map((r) => r.cells[{}].dataset.sort ?? r.cells[{}].textContent)"
    click = "document.querySelectorAll('#parameters th button')[{}].click()"
    for k, key in ((3, float), (4, float)):
        page.evaluate(click.format(k))
        up = [key(v) for v in page.evaluate(column.format(k, k)) if "–" not in v]
        assert up == sorted(up)
        assert len(up) > 20
        page.evaluate(click.format(k))
        down = [key(v) for v in page.evaluate(column.format(k, k)) if "–" not in v]
        assert down == up[::-1]
        assert (
            page.evaluate(f"document.querySelectorAll('#parameters th')[{k}].getAttribute('aria-sort')") == "descending"
        )


def test_verdicts_are_in_sight(browser, panda_report):
    browser.open(panda_report, 1280, 900)
    inside = "(c) => { const b = c.closest('.scroll').getBoundingClientRect(), r = c.getBoundingClientRect(); "
    inside += "return r.width > 0 && r.left >= b.left && r.right <= b.right; }"
    cells = "[...document.querySelectorAll('#certificate tbody tr')].map((r) => r.querySelector('.word'))"
    assert browser.evaluate(f"{cells}.map({inside})") == [True] * 7


def test_surroundings_show_through(browser, panda, tmp_path):
    """Obstacles and borders are drawn, over the same picture as without them, and nothing complains."""
    robot, scene = panda.model.robot, "#robot canvas"
    inside = InsideSphere(robot, "flange", 1.1)
    walls = [Wall("floor", np.array([0.0, 0.0, 1.0]), -0.1), Round.sphere("ball", np.array([0.9, 0.0, 0.3]), 0.15)]
    pictures = []
    for constraints in ((), (CapsuleDistance(robot, obstacles=walls),), (inside,)):
        write_design_report(replace(panda, constraints=constraints), tmp_path / "r.html", rate=50.0)
        browser.errors.clear()
        browser.open(tmp_path / "r.html", 800, 600)
        at = "report.scenes[0]"
        pictures.append(pixels(browser, scene))
        browser.evaluate(f"{at}.scenery = []; {at}.draw()")
        assert pixels(browser, scene) == pictures[0]
        assert browser.errors == []
    assert len(set(pictures)) == 3


def test_evil_names_stay_text(browser, tmp_path):
    robot = library.embedded("panda")
    joints = tuple(replace(j, name=EVIL + str(k)) for k, j in enumerate(robot.joints))
    write_design_report(designed(replace(robot, name=EVIL, joints=joints)), tmp_path / "r.html", rate=50.0)
    browser.errors.clear()
    browser.open(tmp_path / "r.html")
    assert browser.evaluate("document.title") == f"Exciting motion for {EVIL}"
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("document.querySelectorAll('.u-legend img').length") == 0
    assert browser.errors == []


def test_narrow_dark_and_printed(browser, panda_report):
    browser.errors.clear()
    browser.open(panda_report, 390, 800, dark=True)
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert browser.evaluate("report.colour('page')") == "#14171a"
    browser.evaluate("document.getElementById('theme').click()")
    assert browser.evaluate("report.colour('page')") == "#fbfbf9"
    assert browser.pdf().startswith(b"%PDF")
    assert browser.errors == []
