"""Reports in a browser: nothing to complain about, the robot moves, plots zoom, tables sort, the matrix can be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.excitation.constraints.collision import CapsuleDistance, Round, Wall
from exciter.excitation.constraints.ground import mounting_plane
from exciter.excitation.constraints.workspace import InsideSphere
from exciter.parameters.terms import Coulomb, Offset, Viscous
from exciter.report import design_report
from exciter.report.fleet_report import TypeShown, fleet_page
from exciter.report.identification.report import identification_page
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.robot.spatial import upright
from exciter.validation.fleet.groups import ParameterGroups
from exciter.validation.fleet.type_comparison import compare_robots
from exciter.validation.validation import ValidationVerdict
from support.browser import Browser, find_browser
from support.fleets import fleet_of
from support.meshes import meshed_arm
from support.report_designs import EVIL, designed
from support.report_identifications import Identified, identified, quality_of
from support.robots import CASES

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_browser() is None, reason="no Chromium here to look at the report with"),
]
SMALL = (480, 320)  # a small window: drawing in software is slow


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def opened(browser: Browser, path: Path, **how: bool) -> Browser:
    browser.errors.clear()
    browser.requests.clear()
    browser.open(path, *SMALL, **how)
    return browser


@pytest.fixture(scope="module")
def design_page(browser: Browser, panda_report: Path) -> Browser:
    """One visit for all tests that leave it as they found it."""
    return opened(browser, panda_report)


@pytest.fixture
def page(design_page: Browser) -> Browser:
    design_page.evaluate("report.tell('joint', -1); report.tell('time', 0); scrollTo(0, 0)")
    return design_page


def pixels(browser: Browser, canvas: str) -> str:
    browser.picture_drawn()
    return browser.evaluate(f"document.querySelector('{canvas}').toDataURL()")


def widths(browser: Browser, *sizes: int) -> list[int]:
    found = []
    for width in sizes:
        browser.resize(width, SMALL[1])
        browser.picture_drawn()
        found.append(browser.evaluate("document.documentElement.scrollWidth"))
    browser.resize(*SMALL)
    return found


# -- the report of a design --------------------------------------------------------------------------------------------


def test_design_is_shown_without_complaint(page, panda_report):
    assert page.evaluate("report.plots.length") == 7
    assert page.evaluate("report.scenes.length === 1 && report.scenes[0].gl !== null")
    page.evaluate("report.plots.forEach((p) => p.box.focus())")
    assert page.evaluate("report.plots.every((p) => p.box.querySelector('canvas').width > 100)")
    assert widths(page, 1280, 640, 320) == [1280, 640, 320]
    assert page.errors == []
    assert page.requests == [panda_report.as_uri()]


def test_legends_name_lines_alone(page):
    """The axis names the time; the legend has the instant under the pointer."""
    page.evaluate("report.plots.forEach((p) => p.box.focus())")
    legends = page.evaluate("[...document.querySelectorAll('.u-legend')].map((l) => l.textContent)")
    assert len(legends) == 7
    assert not any("time" in text or "[s]" in text for text in legends)
    page.evaluate("report.plots[0].u.setCursor({ left: 100, top: 50 })")
    assert "at " in page.evaluate("report.plots[0].box.querySelector('.u-legend').textContent")


def test_kinematics_of_the_page_are_those_of_the_package(page, panda):
    """Placements in JavaScript against ``Dynamics.placement``, the path's marker against the path."""
    robot = panda.model.robot
    for t in (1.3, 4.99):
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


def test_robot_moves_turns_and_plays(page):
    scene = ".scene canvas"
    first = pixels(page, scene)
    slide = "const s = document.querySelector('.controls input'); s.value = {}; s.dispatchEvent(new Event('input'))"
    page.evaluate("{" + slide.format(2.0) + "}")
    assert pixels(page, scene) != first
    assert page.evaluate("document.querySelector('.controls output').textContent").startswith("2.00 s")
    page.evaluate("{" + slide.format(0.0) + "}")
    assert pixels(page, scene) == first
    page.evaluate(f"document.querySelector('{scene}').focus()")
    page.press("ArrowLeft")
    assert pixels(page, scene) != first
    page.press(" ", " ")
    page.evaluate("new Promise((done) => report.on('time', (t) => { if (t > 0.05) done(); }))")
    assert page.evaluate("document.querySelector('.play').textContent") == "Pause"
    page.press(" ", " ")
    stopped = page.evaluate("report.state.time")
    page.picture_drawn()
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
    ranges = page.evaluate("report.plots.slice(0, 5).map((p) => p.range)")
    assert ranges[0] == pytest.approx([2.5 - 5 / 3, 2.5 + 5 / 3], abs=1e-3)
    assert all(r == ranges[0] for r in ranges)
    page.evaluate("document.querySelector('[data-joint=\"2\"]').click(); report.plots[2].box.focus()")
    assert page.evaluate("[report.plots[2].u.scales.x.min, report.plots[2].u.scales.x.max]") == ranges[0]
    page.press("0", "0")
    page.picture_drawn()
    assert page.evaluate("report.plots[4].range") == pytest.approx([0, 5])


def test_meshes_are_drawn(browser, tmp_path):
    """Triangles of three formats, with normals of length one, and the page says where the floor is."""
    design = designed(load(meshed_arm(tmp_path / "arm")))
    design_report.design_page(design, rate=50.0).write(tmp_path / "r.html")
    opened(browser, tmp_path / "r.html")
    scene, pictures = "report.scenes[0]", []
    assert browser.evaluate(f"Object.keys({scene}.meshes).filter((name) => name.startsWith('surface')).length") == 3
    assert browser.evaluate(f"{scene}.meshes['surface 0'].count") == 36
    assert browser.evaluate(f"{scene}.floor") == pytest.approx(0.0, abs=1e-6)
    for kept in ("() => true", "(s) => !s.mesh.startsWith('surface')"):
        browser.evaluate(f"{scene}.shapes = {scene}.shapes.filter({kept}); {scene}.draw()")
        pictures.append(pixels(browser, "#robot canvas"))
    assert len(set(pictures)) == 2
    assert browser.errors == []


def test_surroundings_are_drawn(browser, panda, tmp_path):
    """Obstacles and borders, and nothing complains."""
    robot = panda.model.robot
    walls = [Wall("floor", np.array([0.0, 0.0, 1.0]), -0.1), Round.sphere("ball", np.array([0.9, 0.0, 0.3]), 0.15)]
    constraints = (CapsuleDistance(robot, obstacles=walls), InsideSphere(robot, "flange", 1.1))
    design_report.design_page(replace(panda, constraints=constraints), rate=50.0).write(tmp_path / "r.html")
    opened(browser, tmp_path / "r.html")
    scene, pictures = "report.scenes[0]", []
    assert browser.evaluate(f"{scene}.scenery.map((s) => s.border)") == [False] * 2 + [False] * 2 + [True]
    for kept in ("() => true", "(s) => s.border", "() => false"):
        browser.evaluate(f"{scene}.scenery = {scene}.scenery.filter({kept}); {scene}.draw()")
        pictures.append(pixels(browser, "#robot canvas"))
    assert len(set(pictures)) == 3
    assert browser.errors == []


def test_the_ground_is_drawn_as_a_plane_with_lines(browser, panda, tmp_path):
    robot = panda.model.robot
    constraints = (mounting_plane(robot, -0.2),)
    design_report.design_page(replace(panda, constraints=constraints), rate=50.0).write(tmp_path / "r.html")
    pictures = []
    for dark in (False, True):
        opened(browser, tmp_path / "r.html", dark=dark)
        scene = "report.scenes[0]"
        assert browser.evaluate(f"{scene}.floor") == pytest.approx(-0.2)  # shadows fall on it
        kinds = browser.evaluate(f"{scene}.scenery.map((s) => s.line ? 'line' : s.ground ? 'ground' : 'other')")
        assert kinds[0] == "ground"
        assert set(kinds[1:]) == {"line"}
        for kept in ("() => true", "(s) => s.ground", "() => false"):
            browser.evaluate(f"{scene}.scenery = {scene}.scenery.filter({kept}); {scene}.draw()")
            pictures.append(pixels(browser, "#robot canvas"))
    assert len(set(pictures)) == 6
    assert browser.errors == []


@pytest.mark.parametrize("name", ["gantry", "random-tree"])
def test_kinematics_of_other_robots_and_evil_names(browser, name, tmp_path):
    """Prismatic joints, branches, any axes and any gravity; text never becomes markup."""
    robot = CASES[name]()
    joints = tuple(replace(j, name=EVIL + str(k)) for k, j in enumerate(robot.joints))
    robot = replace(robot, name=EVIL, joints=joints)
    design = designed(robot)
    design_report.design_page(design, rate=50.0).write(tmp_path / "r.html")
    opened(browser, tmp_path / "r.html")
    view = upright(robot.gravity)
    bodies = browser.evaluate("report.scenes[0].placements(2).map((b) => [...b.r, ...b.p])")
    for joint, body in zip(robot.joint_names, bodies, strict=True):
        rotation, origin = Dynamics(robot).placement(joint, design.curve.motion([2.0]).q)
        np.testing.assert_allclose(np.reshape(body[:9], (3, 3)), view @ rotation[0], atol=1e-3)
        np.testing.assert_allclose(body[9:], view @ origin[0], atol=1e-3)
    browser.evaluate("report.plots.forEach((p) => p.box.focus())")
    assert browser.evaluate("document.title") == f"Exciting motion for {EVIL}"
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.errors == []


# -- the report of an identification -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arm() -> Identified:
    return identified(embedded.robot("kuka-ir361"))


@pytest.fixture(scope="module")
def arm_report(arm: Identified, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("identified") / "report.html"
    quality = {"logs/run 1.csv": quality_of(arm.found.problem.model.robot)}
    verdict, held_out = ValidationVerdict(arm.fit, arm.unseen), arm.validation[0].runs
    identification_page(arm.found, verdict, validation=held_out, quality=quality).write(path)
    return path


@pytest.fixture(scope="module")
def identified_page(browser: Browser, arm_report: Path) -> Browser:
    return opened(browser, arm_report)


def test_identification_is_shown_without_complaint(identified_page, arm_report):
    page = identified_page
    assert page.evaluate("report.plots.some((p) => !p.u)")  # those far away wait
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.evaluate("report.plots.forEach((p) => p.box.focus())")
    drawn = page.evaluate("report.plots.map((p) => p.box.querySelectorAll('canvas').length)")
    assert drawn == [1] * len(drawn)
    for section in ("torque-run0", "torque-run1", "friction", "spectrum", "histogram", "conditioning"):
        assert page.evaluate(f"document.querySelectorAll('#{section} .plot canvas').length") in (1, 3, 9)
    assert widths(page, 1200, 700, 360) == [1200, 700, 360]
    assert page.errors == []
    assert page.requests == [arm_report.as_uri()]
    assert arm_report.stat().st_size < 10e6


def test_every_column_is_in_sight(identified_page):
    """At 1200 px, where a table is wider than its place a reader would have to scroll sideways."""
    identified_page.resize(1200, SMALL[1])
    cut = "[...document.querySelectorAll('.scroll')].filter((s) => s.scrollWidth > s.clientWidth + 1).length"
    assert identified_page.evaluate(cut) == 0
    assert identified_page.evaluate("[...document.querySelectorAll('caption')].every((c) => c.offsetHeight > 10)")
    identified_page.resize(*SMALL)


def test_tables_sort(identified_page):
    page = identified_page
    rows = "[...document.querySelectorAll('#parameters tbody tr')]"
    column = rows + ".map((r) => r.cells[{}].dataset.sort ?? r.cells[{}].textContent)"
    click = "document.querySelectorAll('#parameters th button')[{}].click()"
    for k in (2, 5):
        page.evaluate(click.format(k))
        up = [float(v) for v in page.evaluate(column.format(k, k)) if "–" not in v]
        assert up == sorted(up)
        assert len(up) > 10
        page.evaluate(click.format(k))
        assert [float(v) for v in page.evaluate(column.format(k, k)) if "–" not in v] == up[::-1]
        heading = f"document.querySelectorAll('#parameters th')[{k}]"
        assert page.evaluate(f"{heading}.getAttribute('aria-sort')") == "descending"


def test_correlation_matrix_is_read_by_keyboard(identified_page, arm):
    page, estimate = identified_page, arm.found.estimate
    page.evaluate("report.maps[0].canvas.focus(); report.maps[0].choose(null)")
    first = pixels(page, ".heat canvas")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.press(key)
    a, b = estimate.names[1], estimate.names[1]
    told = page.evaluate("document.querySelector('.heat output').textContent")
    assert told == f"{a} and {b}: 1.00"
    page.press("ArrowRight")
    value = estimate.covariance[1, 2] / (estimate.std[1] * estimate.std[2])
    told = page.evaluate("document.querySelector('.heat output').textContent").replace("−", "-")
    assert told == f"{a} and {estimate.names[2]}: {value:.2f}"
    assert pixels(page, ".heat canvas") != first
    corner, side = page.evaluate("[report.maps[0].place.edge, report.maps[0].place.side]")
    assert page.evaluate(f"report.maps[0].under({corner + 4.5 * side}, {corner + 2.5 * side})") == [2, 4]


def test_robot_replays_the_run_that_is_clicked(identified_page, arm):
    """The plots of a run send the robot to its motion."""
    page = identified_page
    robot = arm.found.problem.model.robot
    for k, run in enumerate((arm.found.problem.runs[0], arm.validation[0].runs[0])):
        motion = run.parts[0].motion
        page.evaluate(f"report.show('run{k}', 3)")
        body = page.evaluate("report.scenes[0].placements(3).map((b) => [...b.p])")[-1]
        q = motion.q[[int(np.argmin(np.abs(motion.time - 3.0)))]]
        np.testing.assert_allclose(body, Dynamics(robot).placement(robot.joint_names[-1], q)[1][0], atol=5e-3)
        assert page.evaluate("document.querySelector('.runs').value") == f"run{k}"
        marked = "report.plots.filter((p) => p.u && p.head && !p.head.hidden).every((p) => p.group === 'run{}')"
        assert page.evaluate(marked.format(k))
    assert page.errors == []


def test_identification_dark_and_printed(browser, arm_report):
    opened(browser, arm_report, dark=True)
    assert browser.evaluate("report.colour('page')") == "#14171a"
    browser.evaluate("document.getElementById('theme').click()")
    assert browser.evaluate("report.colour('page')") == "#fbfbf9"
    browser.evaluate(
        "addEventListener('beforeprint', () => { window.frozen = document.querySelector('.printed').src.length; })"
    )
    assert browser.pdf().startswith(b"%PDF")
    assert browser.evaluate("window.frozen") > 5000  # a picture of the robot, for its canvas comes out empty
    assert browser.evaluate("report.plots.every((p) => p.u) && report.maps.every((m) => m.drawn)")  # nothing is missing
    browser.send("Emulation.setEmulatedMedia", media="print")
    hidden = (
        "['nav', '.controls', '.joints'].every((s) => getComputedStyle(document.querySelector(s)).display === 'none')"
    )
    assert browser.evaluate(hidden)
    scrolls = "[...document.querySelectorAll('.scroll')].every((s) => getComputedStyle(s).maxHeight === 'none')"
    assert browser.evaluate(scrolls)
    browser.send("Emulation.setEmulatedMedia", media="")
    assert browser.errors == []


# -- the report of a fleet ---------------------------------------------------------------------------------------------


def test_fleet_is_shown_without_complaint_and_its_map_is_read(browser, tmp_path):
    """Robots by parameters is no square: rows and columns have names of their own."""
    model = DynamicModel(embedded.robot("gautier-khalil"), (Viscous(), Coulomb(), Offset()))
    groups = ParameterGroups.of(model)
    robots = fleet_of(groups, 20, np.random.default_rng(0), logs=3)
    stiff = np.where(np.arange(len(groups.names)) == groups.friction[1][0], 2.0, 1.0)
    robots[3] = replace(robots[3], name=EVIL, values=stiff * robots[3].values)
    found = compare_robots(groups, robots)
    order = sorted(range(20), key=lambda k: found.robot_p_values[k])
    shown = TypeShown(
        name="type",
        comparison=found,
        order=order,
        texts={EVIL: [one.text for one in found.reasons(3)]},
        refused={f"{EVIL} 2": EVIL},
        total_percent=[1.0] * 20,
        unit="days",
        model=model,
        settings={},
        chosen_from=(),
    )
    path = tmp_path / "fleet.html"
    fleet_page([shown], "nobody is named").write(path)
    page = opened(browser, path)
    page.evaluate("report.plots.forEach((p) => p.box.focus())")
    assert page.evaluate("report.plots.length") == 3
    assert widths(page, 1280, 640, 320) == [1280, 640, 320]
    page.evaluate("report.maps[0].canvas.focus(); report.maps[0].choose(null)")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.press(key)
    told = page.evaluate("document.querySelector('.heat output').textContent").replace("−", "-")
    assert told == f"{found.names[order[1]]} and {groups.names[2]}: {found.z[order[1], 2]:.2f}"
    page.evaluate(f"report.maps[0].choose([19, {len(groups.names) - 1}])")
    page.press("ArrowDown")
    page.press("ArrowRight")
    assert page.evaluate("report.maps[0].cell") == [19, len(groups.names) - 1]
    place = page.evaluate("[report.maps[0].place.edge, report.maps[0].place.top, report.maps[0].place.side]")
    x, y = place[0] + 3.5 * place[2], place[1] + 12.5 * place[2]
    assert page.evaluate(f"report.maps[0].under({x}, {y})") == [12, 3]
    assert page.evaluate("document.querySelectorAll('#ranking tbody tr').length") == 20
    assert page.errors == []
    assert page.requests == [path.as_uri()]
