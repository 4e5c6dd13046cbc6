"""The report of a design: what it says, that nothing can break out of it."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import yaml

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.certificate.certificate import Certificate, LimitVerdict, reached_words, verdict
from exciter.excitation.constraints.collision import Block, CapsuleDistance, Round, Wall
from exciter.excitation.constraints.constraint import AnyOf
from exciter.excitation.constraints.ground import mounting_plane, surroundings
from exciter.excitation.constraints.not_checked import unchecked
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits, torque_gaps
from exciter.excitation.constraints.workspace import Box, HalfSpace, InsideCylinder, InsideSphere, OutsideCylinder
from exciter.excitation.design import DesignView
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import acceleration_spectrum
from exciter.notes import texts
from exciter.parameters.terms import Coulomb, RotorInertia, Tanh, Viscous, declared_terms
from exciter.report.design_report import design_page
from exciter.report.markup import number, packed, percent, script_data
from exciter.report.parts import Bar, Cards, HtmlTable, Section, Sentences, Word
from exciter.report.plot import MOST_POINTS_PER_LINE, staircases, thinned
from exciter.report.scene import Replay, Scene, SideViews, axis_names, multiples, sticks, tick_step
from exciter.robot import embedded_robots as embedded
from exciter.robot.capsules import without_capsule
from exciter.robot.robot import BASE, Frame
from exciter.robot.spatial import upright
from support.report_designs import EVIL, designed
from support.robots import CASES, random_robot, random_rotation

pytestmark = pytest.mark.slow

DOWN = np.array([0.0, 0.0, -9.81])


def embedded_json(text: str) -> list[dict]:
    """Every data block of a page."""
    return [json.loads(block) for block in re.findall(r'<script type="application/json">(.*?)</script>', text, re.S)]


def unpacked(values: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(values["f32"]), dtype="<f4")


# -- what is written ---------------------------------------------------------------------------------------------------


def test_report_says_what_was_done(panda, panda_report):
    text = panda_report.read_text(encoding="utf-8")
    lead = re.search(r'<p class="lead">(.*?)</p>', text, re.S)[1]
    worst = panda.certificate.worst
    assert "For panda with 7 joints, a fourier motion of 5 s" in lead
    assert "d-optimal" in lead
    assert "−131.25" in lead
    assert f"All 7 limits are proved to hold at every instant; the tightest is velocity of {worst.where}" in lead
    assert f"with a margin of +{100 * worst.margin:.2f} %" in lead
    assert 'class="word good">certified' in lead
    assert "exciter design panda" in text
    assert len(list(panda_report.parent.iterdir())) == 1  # nothing temporary is left
    for key in ("robot", "motion", "torque", "spectrum", "certificate", "parameters", "search", "settings"):
        assert f'<section id="{key}"' in text
        assert f'href="#{key}"' in text


def test_report_stays_small_and_asks_for_nothing_outside(panda_report):
    text = panda_report.read_text(encoding="utf-8")
    assert len(text) < 700_000
    assert not re.search(r'(src|href)="(?!#)', text)
    assert "default-src &#39;none&#39;" in text


def test_broken_limit_is_not_called_certified(tmp_path):
    design_page(designed(embedded.robot("tx40"), broken=True)).write(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "not certified" in text
    assert "of 7 limits, 1 broken; the worst" in text
    assert re.search(r"height of tool with a margin of -\d+\.\d mm", text)


def test_plots_carry_the_motion_and_its_limits(panda, panda_report):
    plots = {b["title"]: b for b in embedded_json(panda_report.read_text(encoding="utf-8")) if "title" in b}
    robot = panda.model.robot
    for title, order in (("Position", 0), ("Velocity", 1), ("Acceleration", 2)):
        peak = panda.curve.extremum(order)
        for j, line in enumerate(plots[title]["lines"]):
            values = unpacked(line["values"])
            assert len(values) <= MOST_POINTS_PER_LINE
            assert values.max() == pytest.approx(peak.highest[j], abs=1e-3)
            assert values.min() == pytest.approx(peak.lowest[j], abs=1e-3)
            # read at the stored instants by another way: the family's own basis
            at = unpacked(plots[title]["x"]).astype(float)
            if len(values) < MOST_POINTS_PER_LINE:
                np.testing.assert_allclose(values, panda.trajectory.basis(at)[order] @ panda.delta[j], atol=2e-4)
    assert [line["upper"] for line in plots["Velocity"]["lines"]] == robot.limit("velocity").tolist()
    assert [line["lower"] for line in plots["Position"]["lines"]] == robot.limit("lower").tolist()
    motion = panda.curve.motion(np.linspace(0.0, 5.0, 20001))
    torque = Dynamics(robot).inverse_dynamics(motion) + motion.qd * robot.friction["viscous"]
    torque += np.sign(motion.qd) * robot.friction["coulomb"]
    for line, column in zip(plots["Torque"]["lines"], torque.T, strict=True):
        assert unpacked(line["values"]).max() == pytest.approx(column.max(), rel=0.01, abs=0.05)


def table_rows(text: str, section: str) -> list[list[tuple[str, str]]]:
    """Cells of a section's table: what is compared when sorting, and the text."""
    part = re.search(rf'<section id="{section}".*?<tbody>(.*?)</tbody>', text, re.S)[1]
    cells = [re.findall(r'<td(?:[^>]*?data-sort="([^"]*)")?[^>]*>(.*?)</td>', r) for r in part.split("</tr>")[:-1]]
    return [[(key, re.sub("<[^>]*>", "", html)) for key, html in row] for row in cells]


def test_parameters_are_told_with_unit_and_share_of_nominal(panda, panda_report):
    rows = table_rows(panda_report.read_text(encoding="utf-8"), "parameters")
    base, nominal = panda.model.base, panda.model.base.base_values(panda.model.nominal)
    assert [row[0][1] for row in rows] == list(base.names)
    for k, row in enumerate(rows):
        assert row[1][1] == panda.model.units[panda.model.standard.index(base.standard[base.independent[k]])]
        assert float(row[3][0]) == panda.predicted_std[k]
        if abs(nominal[k]) > 1e-9:
            assert float(row[4][0]) == pytest.approx(100 * panda.predicted_std[k] / abs(nominal[k]))
        else:
            assert row[2][1] == row[4][1] == "–"


def test_other_columns_than_the_base_have_no_nominal_value(panda, tmp_path):
    std = np.array([0.5, np.inf])
    design_page(replace(panda, parameters=("MX2", "kd2"), predicted_std=std), rate=20.0).write(tmp_path / "r.html")
    rows = table_rows((tmp_path / "r.html").read_text(encoding="utf-8"), "parameters")
    assert [[text for _, text in row] for row in rows] == [
        ["MX2", "kg·m", "–", "0.5", "–", ""],
        ["kd2", "", "–", "∞", "–", ""],
    ]
    assert rows[1][3][0] == "Infinity"


def test_certified_limit_replaces_the_robots_own(panda, tmp_path):
    """A design that may use 60 % of the torque shows that line, not the data sheet's."""
    own = LimitVerdict("torque", "joint_2", "N·m", 52.2, 40.0, 41.0, 0.2, 1.0, "holds", True)
    design = replace(panda, certificate=replace(panda.certificate, limits=(own,)))
    design_page(design).write(tmp_path / "r.html")
    plots = {b["title"]: b for b in embedded_json((tmp_path / "r.html").read_text(encoding="utf-8")) if "title" in b}
    assert [line["upper"] for line in plots["Torque"]["lines"]][:2] == [87.0, 52.2]


def test_a_design_has_what_its_report_draws(panda):
    """Without a page: torque of the motion, jerk, the path of a frame, and how many parameters are well known."""
    robot, view = panda.model.robot, DesignView(panda, 50.0, "joint_3")
    motion = view.motion
    assert (motion.time[0], motion.time[-1], len(motion)) == (0.0, 5.0, 251)
    friction = motion.qd * robot.friction["viscous"] + np.sign(motion.qd) * robot.friction["coulomb"]
    np.testing.assert_allclose(view.torque, Dynamics(robot).inverse_dynamics(motion) + friction, atol=1e-9)
    np.testing.assert_allclose(view.jerk, panda.trajectory.basis(motion.time, 3)[3] @ panda.delta.T, atol=1e-9)
    pictures = view.pictures
    np.testing.assert_allclose(pictures.path, Dynamics(robot).placement("joint_3", pictures.q)[1])
    np.testing.assert_allclose(pictures.q, panda.trajectory.basis(pictures.time)[0] @ panda.delta.T, atol=1e-9)
    known = np.abs(panda.model.base.base_values(panda.model.nominal)) > 10.0 * panda.predicted_std
    assert 0 < panda.well_known < len(known)
    assert panda.well_known == known.sum()
    for rate in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ExciterError, match="must be a positive number"):
            DesignView(panda, rate, "joint_3")


def test_open_limits_are_counted_beside_broken_ones():
    rows = [("broken", -0.5, 1.5), ("open", 0.1, 1.2), ("open", 0.1, np.inf), ("holds", 0.5, 0.5)]
    limits = [LimitVerdict("torque", "j", "N·m", 1.0, 0.9, bound, m, 0.0, s, True) for s, m, bound in rows]
    assert verdict(Certificate(tuple(limits), 1.0, 5)) == (
        "NOT certified: of 4 limits, 1 broken and 2 open (neither proved nor broken)"
    )
    assert [reached_words(limit) for limit in limits] == ["0.9", "0.9, at most 1.2", "0.9, no bound", "0.9"]
    loose = replace(limits[3], bound=0.94), replace(limits[3], bound=0.96)  # of a limit of 1: 0.04 and 0.06 apart
    assert [reached_words(limit) for limit in loose] == ["0.9", "0.9, at most 0.96"]
    assert verdict(Certificate((limits[3],), 1.0, 5)).startswith("certified: 1 limit holds at every instant of 1.000 s")
    assert verdict(Certificate((), 1.0, 5)).startswith("nothing to certify")
    margins = [replace(limits[0], margin=m).margin_words for m in (-0.5, -10.0, -10.1, 12.0, 9.0)]
    assert margins == ["-50.00 %", "-1000.00 %", "< -1000 %", "> +1000 %", "+900.00 %"]


def test_jerk_is_drawn_where_it_is_limited(panda, panda_report, tmp_path):
    """Against the family's own third derivative."""
    plots = {b["title"]: b for b in embedded_json(panda_report.read_text(encoding="utf-8")) if "title" in b}
    at = unpacked(plots["Jerk"]["x"]).astype(float)
    basis = panda.trajectory.basis(at, 3)[3]
    for j, line in enumerate(plots["Jerk"]["lines"]):
        want = basis @ panda.delta[j]
        values = unpacked(line["values"])  # thinned: within half a pixel's time of the line
        np.testing.assert_allclose(values, want, rtol=0, atol=1e-2 * np.abs(want).max())
        assert values.max() == pytest.approx(panda.curve.extremum(3).highest[j], rel=1e-3)
        assert line["upper"] == panda.model.robot.joints[j].limits.jerk
    design_page(designed(embedded.robot("panda").with_limits(jerk=np.inf))).write(tmp_path / "r.html")
    assert '"Jerk"' not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_settings_are_a_file_for_config(panda, tmp_path):
    settings = {"limits": {"jerk": {"joint_1": 5.0}}, "prior": (tmp_path / "<a>",), "noise": None, "seed": 3}
    design_page(panda, rate=20.0, settings=settings).write(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    shown = html.unescape(re.search(r'<pre class="file"[^>]*>(.*?)</pre>', text, re.S)[1])
    assert yaml.safe_load(shown) == {**settings, "prior": [str(tmp_path / "<a>")]}


def test_the_tool_is_at_the_end_of_the_longest_chain():
    robot = embedded.robot("panda")
    assert robot.tool_frame == "flange"
    still = Frame("camera", BASE, np.eye(3), np.zeros(3))
    elbow = Frame("elbow", 3, np.eye(3), np.zeros(3))
    assert replace(robot, frames=(*robot.frames, elbow, still)).tool_frame == "flange"
    assert replace(robot, frames=(still, elbow)).tool_frame == "joint_7"
    for seed in range(5):
        tree = random_robot(seed, 6, tree=True)
        path = tree.ancestors(tree.index(tree.tool_frame))
        assert len(path) == max(len(tree.ancestors(k)) for k in range(tree.n))


def test_what_is_not_checked_is_said():
    robot = replace(embedded.robot("panda"), nominal=False)
    held = Certificate((LimitVerdict("a", "b", "m", 1, 0, 0, 1, 0, "holds", True),), 1.0, 1)

    def missing(*constraints, robot=robot, certificate=held):
        return [text.partition(":")[0] for text in texts(unchecked(robot, constraints, certificate))]

    mounted, around = "what the robot is mounted on", "people and whatever stands around"
    assert missing() == ["torque", "self-collision", mounted, around]
    torque, pairs = TorqueLimits.of(robot), CapsuleDistance(robot)
    kept_apart = missing(torque, pairs)[:-2]
    assert [text.partition(",")[0] for text in kept_apart] == [
        "self-collision of neighbours",
        "self-collision of base – link_2",  # always close
    ]
    assert missing(torque, pairs)[-2:] == [mounted, around]
    wall = Wall("floor", np.array([0.0, 0.0, 1.0]), -0.05)
    assert missing(torque, CapsuleDistance(robot, obstacles=[wall])) == [*kept_apart, around]
    assert missing(torque, CapsuleDistance(robot, pairs=(), obstacles=[wall])) == ["self-collision", around]
    height = HalfSpace(robot, "flange", np.array([0.0, 0.0, 1.0]), 0.0)
    assert missing(torque, pairs, AnyOf((height,))) == [*kept_apart, mounted, around]
    bare = replace(robot, capsules=robot.capsules[:2], collision_pairs=()).with_limits(torque={"joint_2": np.inf})
    seen = CapsuleDistance(bare, pairs=(), obstacles=[wall])
    without = ", ".join(without_capsule(seen.robot))
    told = missing(TorqueLimits.of(bare), seen, robot=bare)
    assert told == ["torque of joint_2", "self-collision", f"collisions of the bodies of {without}", around]
    assert "joint_7" in without
    assert missing(torque, pairs, height, certificate=Certificate((), 1.0, 1))[0] == "any limit"
    moving = replace(held, starts_at_rest=False)
    assert "the motion starts with a velocity" in texts(unchecked(robot, (torque, pairs, height), moving))[-1]


@pytest.mark.parametrize("assumed", [True, False])
def test_the_picture_says_where_its_ground_comes_from(panda, tmp_path, assumed):
    ground = mounting_plane(panda.model.robot, -0.1, assumed=assumed)
    design_page(replace(panda, constraints=(ground,)), rate=20.0).write(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The plane with grid lines is the mounting plane" in text
    assert ("Its position was assumed" in text) is assumed


def gaps_of(robot, terms=None):
    model = DynamicModel(robot, declared_terms(robot) if terms is None else terms)
    return {why.partition(";")[0]: [robot.joint_names[j] for j in joints] for why, joints in torque_gaps(model)}


def test_a_torque_says_itself_what_it_lacks():
    plausible = embedded.robot("puma560")
    robot = replace(plausible, nominal=False)
    assert gaps_of(robot) == {}
    guessed = "masses and friction are plausible values, which nobody measured"
    assert gaps_of(plausible) == {guessed: list(robot.joint_names)}
    springs = replace(robot, lacking=("springs of joints 'a' are not part of the robot",))
    assert gaps_of(springs) == {springs.lacking[0]: list(robot.joint_names)}
    names = list(robot.joint_names)
    stiff = {key: np.where(np.arange(6) == 3, 0.0, values) for key, values in robot.friction.items()}
    assert gaps_of(replace(robot, friction=stiff)) == {"the description declares no friction": [names[3]]}
    inertias = np.array(robot.inertias)
    inertias[4] = 0.0
    light = "the description gives no mass for the bodies of " + names[4]
    assert gaps_of(robot.with_inertias(inertias)) == {light: names[:5]}
    inertias[:] = inertias[0]
    assert [key.partition(":")[0] for key in gaps_of(robot.with_inertias(inertias))] == [
        "the description has no masses that could be a robot's"
    ]
    left = "the model leaves out the {} term of the description"
    some = gaps_of(robot, (Viscous(), Coulomb(Tanh(0.1))))
    assert some == {left.format("rotor inertia"): names, left.format("coulomb"): names}
    fewer = gaps_of(robot, (RotorInertia(), Viscous(), Coulomb(joints=tuple(names[:2]))))
    assert fewer == {left.format("coulomb"): names}
    model = DynamicModel(robot)
    assert TorqueLimits(model, model.nominal).gaps == ()  # parameters of one's own are taken at their word
    assert {row.assumed for row in TorqueLimits(model).rows} == {True}
    assert [row.assumed for row in AnyOf((TorqueLimits(model), TorqueLimits.of(robot))).rows] == [True]
    assert [row.assumed for row in AnyOf((TorqueLimits.of(robot),)).rows] == [False]
    limited = TorqueLimits(DynamicModel(replace(robot, friction=stiff).with_limits(torque={names[3]: np.inf}), ()))
    assert all(names[3] not in text for text in limited.unchecked)


def test_limits_that_nobody_gave_are_not_checked():
    robot = embedded.robot("panda").with_limits(velocity={"joint_2": np.inf}, upper={"joint_3": np.inf})
    held = Certificate((LimitVerdict("a", "b", "m", 1, 0, 0, 1, 0, "holds", True),), 1.0, 1)
    told = texts(unchecked(robot, (), held))
    assert told[0] == "position of joint_3: no limit is known; give limits: {lower: …, upper: …}"
    assert told[1] == "velocity of joint_2: no limit is known; give limits: {velocity: …}"
    free = robot.with_limits(acceleration=np.inf)
    assert any(
        text.startswith("acceleration of all joints: no limit is known") for text in texts(unchecked(free, (), held))
    )


def test_nothing_proved_is_not_called_certified(panda, tmp_path):
    assumed = LimitVerdict("acceleration", "j", "rad/s²", 2.0, 1.0, 1.0, 0.5, 0.0, "assumed", True)
    certificate = Certificate((assumed,), 1.0, 5)
    assert certificate.certified
    assert verdict(certificate).startswith("nothing to certify: ")
    assert "certified" not in verdict(certificate)
    design_page(replace(panda, certificate=certificate)).write(tmp_path / "r.html")
    lead = re.search(r'<p class="lead">(.*?)</p>', (tmp_path / "r.html").read_text(encoding="utf-8"), re.S)[1]
    assert ">nothing to certify</span>" in lead
    assert ">certified</span>" not in lead
    assert "No limit is proved: 1 more is kept" in lead


def test_surroundings_are_drawn_where_they_are():
    """Points on the border of every shape are at distance zero of its constraint."""
    robot = embedded.robot("panda")
    turn = random_rotation(np.random.default_rng(0))
    obstacles = [
        Round("pole", np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.3, 1.0]), 0.05),
        Round.sphere("ball", np.array([0.5, 0.1, 0.2]), 0.1),
        Wall("ramp", np.array([0.0, 3.0, 4.0]), -5.0),
        Block("crate", np.array([0.9, 0.2, 0.1]), np.array([0.2, 0.4, 0.6]), turn),
    ]
    regions = [
        HalfSpace(robot, "flange", np.array([1.0, 2.0, 2.0]), 0.3),
        Box(robot, "flange", lower=np.array([-np.inf, -0.4, 0.1]), upper=np.array([0.8, np.inf, np.inf])),
        InsideSphere(robot, "flange", 0.9, np.array([0.1, 0.0, 0.2])),
        InsideCylinder(robot, "flange", 0.7, np.array([0.1, 0.2, 0.0]), np.array([0.0, 1.0, 1.0])),
        OutsideCylinder(robot, "flange", 0.2, np.array([0.1, 0.2, 0.0]), np.array([0.0, 1.0, 1.0]), upper=0.5),
    ]
    shapes = surroundings([CapsuleDistance(robot, obstacles=obstacles), *regions])
    assert [(s.kind, s.border) for s in shapes] == [
        *(("capsule", False), ("capsule", False), ("plane", False), ("box", False)),
        *(("plane", True), ("plane", True), ("plane", True), ("plane", True)),
        *(("sphere", True), ("cylinder", True), ("cylinder", True)),
    ]

    def placed(shape, local):
        return shape.rotation @ local + shape.translation

    def away(obstacle, x):
        distance, _, _ = obstacle.touch(x[:, None], x[:, None])
        return distance[0]

    radius, length = shapes[0].size
    ends = {tuple(np.round(placed(shapes[0], [0, 0, s * length / 2]), 9)) for s in (-1, 1)}
    assert ends == {(1.0, 0.0, 0.0), (1.0, 0.3, 1.0)}
    assert radius == 0.05
    assert placed(shapes[1], np.zeros(3)) == pytest.approx([0.5, 0.1, 0.2])
    assert away(obstacles[2], placed(shapes[2], [0.3, -2.0, 0.0])) == pytest.approx(0, abs=1e-12)
    corner = 0.5 * np.array(shapes[3].size)
    assert away(obstacles[3], placed(shapes[3], 1.1 * corner)) == pytest.approx(np.linalg.norm(0.1 * corner))
    borders = [(regions[0], shapes[4]), *((regions[1], shape) for shape in shapes[5:8])]
    for region, shape in borders:
        assert np.abs(region.distance(placed(shape, [0.3, -2.0, 0.0])[:, None])).min() == pytest.approx(0, abs=1e-12)
    assert regions[2].distance(placed(shapes[8], [0.9, 0, 0])[:, None]) == pytest.approx(0, abs=1e-12)
    for region, shape in zip(regions[3:], shapes[9:], strict=True):
        on = placed(shape, [shape.size[0], 0, 0.2])
        assert region.distance(on[:, None]) == pytest.approx(0, abs=1e-12)
    assert [shape.size[1:] for shape in shapes[9:]] == [(-np.inf, np.inf), (-np.inf, 0.5)]
    assert regions[4].distance(placed(shapes[10], [0, 0, 0.5])[:, None]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", list(CASES))
def test_report_of_any_robot(name, tmp_path):
    design_page(designed(CASES[name]()), rate=50.0).write(tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_names_cannot_break_out(tmp_path):
    robot = embedded.robot("panda")
    joints = tuple(replace(j, name=EVIL + str(k)) for k, j in enumerate(robot.joints))
    design_page(designed(replace(robot, name=EVIL, joints=joints))).write(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<img" not in text
    assert 'document.title="broken"</script>' not in text
    assert embedded_json(text)[0]["joints"][2]["name"] == EVIL + "2"


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_bad_rate_is_refused(panda, tmp_path, rate):
    with pytest.raises(ExciterError, match="rate"):
        design_page(panda, rate=rate).write(tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_bad_place_is_one_line(panda, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExciterError, match="cannot write"):
        design_page(panda, rate=20.0).write(tmp_path / "file" / "r.html")


def test_unknown_frame_is_named(panda, tmp_path):
    with pytest.raises(ExciterError, match="unknown frame 'hand'; valid names: joint_1"):
        design_page(panda, frame="hand").write(tmp_path / "r.html")


# -- the parts -----------------------------------------------------------------------------------------------------


def test_parts_escape_text_once_and_place_parts_as_they_are():
    inner = Sentences(("a<b \u202e", "&"))
    assert inner.html() == "<ul><li>a&lt;b \\u202e</li><li>&amp;</li></ul>"
    text = Section('"<>', "x&y", "", (inner, Word("<i>", "good"))).html()
    assert text.startswith('<section id="&#34;&lt;&gt;" aria-labelledby="&#34;&lt;&gt;-title">')
    assert f'{inner.html()}<span class="word good">&lt;i&gt;</span>' in text
    assert Cards({"<n>": "1"}).html() == '<dl class="figures"><div><dt>&lt;n&gt;</dt><dd>1</dd></div></dl>'
    assert "<" not in script_data({"a": "</script>"})
    assert json.loads(script_data({"a": "</script>"})) == {"a": "</script>"}
    assert (percent(0.42), percent(1e-9), percent(-0.5)) == ("42\u00a0%", "< 0.001\u00a0%", "−50\u00a0%")
    assert (percent(10.0), percent(23.4)) == ("1000\u00a0%", "> 1000\u00a0%")
    assert (number(-1.5), number(np.nan), number(-np.inf)) == ("−1.5", "–", "−∞")


def test_packed_array_returns():
    values = np.random.default_rng(0).standard_normal(9)
    np.testing.assert_array_equal(unpacked(packed(values)), values.astype(np.float32))


def test_thinned_keeps_every_peak_and_the_order():
    rng = np.random.default_rng(1)
    x = np.linspace(0.0, 7.0, 45_678)
    lines = np.sin(x * np.array([[1.0], [3.0]]))
    lines[:, rng.integers(0, len(x), 20)] += rng.uniform(5.0, 9.0, 20)  # spikes of one sample
    at, few = thinned(x, lines)
    assert few.shape == (2, len(at))
    assert len(at) <= MOST_POINTS_PER_LINE
    assert (np.diff(at) >= 0).all()
    assert at[0] == 0.0
    assert at[-1] == 7.0
    np.testing.assert_array_equal(few.max(axis=1), lines.max(axis=1))
    assert set(lines[0][lines[0] > 4.5]) >= set(few[0][few[0] > 4.5]) != set()
    smooth = np.interp(at, x, np.sin(x))
    assert np.abs(thinned(x, np.sin(x)[None])[1][0] - smooth).max() < 2 * 7.0 / 1000
    same, all_ = thinned(x[:5], lines[:, :5])
    np.testing.assert_array_equal(same, x[:5])
    np.testing.assert_array_equal(all_, lines[:, :5])


def test_staircases_hold_their_value_until_the_next():
    histories = [((0.5, 9.0), (2.0, 4.0)), ((1.0, np.inf), (3.0, 5.0)), ()]
    x, values = staircases(histories, [2.5, 3.5, 1.5])
    for second in x:
        for k, (history, end) in enumerate(zip(histories, [2.5, 3.5, 1.5], strict=True)):
            passed = [v for t, v in history if t <= second]
            expected = passed[-1] if passed and np.isfinite(passed[-1]) and second <= end else np.nan
            np.testing.assert_equal(values[k, list(x).index(second)], expected)


def test_spectrum_of_a_fourier_motion_is_its_coefficients():
    trajectory = Fourier(period=4.0, harmonics=(2, 5))
    delta = np.random.default_rng(0).standard_normal((3, trajectory.coefficients))
    found = acceleration_spectrum(trajectory, delta)
    for k, l in enumerate((2, 5)):
        size = 2 * np.pi * l / 4.0 * np.hypot(delta[:, k], delta[:, 2 + k])  # q̈ amplitude of harmonic l
        np.testing.assert_allclose(found.amplitude[l], size, rtol=1e-9)
        assert found.frequency[l] == pytest.approx(l / 4.0)
    others = np.delete(found.amplitude, [2, 5], axis=0)
    assert np.abs(others).max() < 1e-9
    assert found.exact


class Hum:
    """A sine that does not fit into its duration, as a family."""

    duration, periodic, coefficients = 8.0, False, 1
    omega = 2 * np.pi * 1.3

    def basis(self, time, order=2):
        angle = self.omega * time[:, None]
        return np.sin(angle), self.omega * np.cos(angle), -(self.omega**2) * np.sin(angle)


def test_spectrum_of_a_motion_that_is_not_periodic_peaks_where_it_hums():
    found = acceleration_spectrum(Hum(), np.array([[0.5]]))
    top = int(found.amplitude[:, 0].argmax())
    assert found.frequency[top] == pytest.approx(1.3, abs=1 / 8.0)
    assert 0.85 < found.amplitude[top, 0] / (0.5 * Hum.omega**2) <= 1.0  # the window loses at most 1.4 dB
    far = np.abs(found.frequency - 1.3) > 0.5
    assert found.amplitude[far].max() < 0.01 * found.amplitude[top]
    assert not found.exact


def test_spectrum_of_standing_still_is_zero():
    trajectory = Fourier()
    found = acceleration_spectrum(trajectory, trajectory.still([0.3, 0.4]))
    assert len(found.frequency) >= 2
    assert not found.amplitude.any()


def test_scene_draws_every_body_once():
    panda_robot = embedded.robot("panda")
    assert sticks(panda_robot, set(range(-1, 7))) == []
    bare = replace(panda_robot, shapes=(), capsules=())
    assert [(s["from"], s["to"]) for s in sticks(bare, set())] == [(k - 1, k) for k in range(7)] + [(6, 6)]
    still = Replay("still", "time", np.array([0.0, 1.0]), np.zeros((2, 7)), np.zeros((2, 3)))
    scene = Scene(bare, "flange", (still,))
    assert scene.data()["shapes"] == []
    only_capsules = Scene(replace(panda_robot, shapes=()), "flange", (still,))
    for drawn, capsule in zip(only_capsules.data()["shapes"], panda_robot.capsules, strict=True):
        radius, length = drawn["size"]
        turn = np.reshape(drawn["rotation"], (3, 3))
        assert radius == capsule.radius
        np.testing.assert_allclose(drawn["translation"] + turn @ [0, 0, length / 2], capsule.end, atol=1e-12)
        np.testing.assert_allclose(drawn["translation"] - turn @ [0, 0, length / 2], capsule.start, atol=1e-12)


def test_gravity_points_down_on_screen():
    gravity = random_robot(5, 3).gravity
    np.testing.assert_allclose(upright(gravity) @ gravity, [0, 0, -np.linalg.norm(gravity)], atol=1e-12)
    np.testing.assert_array_equal(upright(np.zeros(3)), np.eye(3))


def test_projections_lie_inside_and_to_one_scale():
    path = np.random.default_rng(0).uniform(-1.0, 3.0, (50, 3)) * [1.0, 0.2, 0.5]
    drawings = re.findall(r'<polyline points="(.*?)"', SideViews(path, DOWN).html())
    scales = []
    for points, (a, b) in zip(drawings, ((0, 1), (0, 2), (1, 2)), strict=True):
        u, v = np.array([[float(x) for x in p.split(",")] for p in points.split()]).T
        assert (u >= 34).all()
        assert (u <= 254).all()
        assert (v >= 6).all()
        assert (v <= 226).all()
        scales += [np.ptp(u) / np.ptp(path[:, a]), np.ptp(v) / np.ptp(path[:, b])]
        assert np.corrcoef(u, path[:, a])[0, 1] > 0.999
        assert np.corrcoef(v, path[:, b])[0, 1] < -0.999
    np.testing.assert_allclose(scales, scales[0], rtol=5e-3)
    SideViews(np.zeros((4, 3)), DOWN).html()  # a frame that does not move


def test_side_views_are_upright_on_a_wall():
    """Gravity along +x: what is up is −x, and a point that moves there moves up in two of the views."""
    views = SideViews(np.array([[0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]), np.array([9.81, 0.0, 0.0])).views
    assert [(view["right"], view["up"]) for view in views] == [("z", "y"), ("z", "−x"), ("y", "−x")]
    for view in views[1:]:
        (x, y), (x_later, y_later) = (map(float, point.split(",")) for point in view["points"].split())
        assert x_later == x
        assert y_later < y - 100
    assert axis_names(upright(np.array([0.3, 0.2, -9.0])))[2] == "height"


@pytest.mark.parametrize("span", [1e-3, 0.7, 1.0, 2.99, 3.0, 40.0])
def test_ticks_are_few_and_round(span):
    step = tick_step(span)
    assert 3 <= span / step <= 7.6
    assert step / 10 ** np.floor(np.log10(step) + 1e-9) == pytest.approx(min((1, 2, 5), key=lambda r: abs(
        step / 10 ** np.floor(np.log10(step) + 1e-9) - r)))  # fmt: skip
    assert multiples(-0.35, 0.35, 0.1) == [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]


def test_table_aligns_and_keeps_all_digits():
    text = HtmlTable("t", ("name", "value"), [("a", 1 / 3), ("b", Bar(np.nan, "–", 0.0))]).html()
    assert repr(1 / 3) in text
    assert '<th scope="col"><button' in text
    assert '<th scope="col" class="number">' in text
