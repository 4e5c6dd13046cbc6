"""Staged experiments: whatever the procedure, every stage is certified with all of the user's constraints, does what it
is for, and is the same for the same seed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

import exciter as ex
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel, static_base, static_columns
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.design import design
from exciter.excitation.experiments.experiment import independent_columns
from exciter.excitation.experiments.locked_joints import locked_stages, told_by
from exciter.excitation.experiments.registry import EXPERIMENTS
from exciter.excitation.experiments.roadmap import Roadmap
from exciter.excitation.files.trajectory_files import exact_curve, exact_data, same_curve, slowed
from exciter.excitation.optimiser.deadline import NEVER
from exciter.excitation.optimiser.search import Search
from exciter.excitation.trajectories.cosine_ramp import CosineRampPiece
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.plan import PURPOSES, Plan, PlannedStage
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.pipeline.design import Designed
from exciter.pipeline.experiment import DesignedExperiment
from exciter.robot import Robot, load
from exciter.settings import fill, yaml_text
from support.paths import ROBOTS

#: Small ones: few candidates and starts, short rests.
SETTINGS = {
    "static": {"poses": 3, "dwell": 0.3, "candidates": 200},
    "constant-velocity": {"paces": [0.5, 1.0]},
    "vandanjon": {"candidates": 4, "slowness": 0.5, "periods": 1},
    "otani": {"tries": 40},
    "armstrong": {"duration": 6.0, "intervals": 12},
}
TORQUE = {"joint_1": 250.0, "joint_2": 250.0, "joint_3": 100.0}
WORDS = EXPERIMENTS.words


def robot_of(name: str) -> Robot:
    if name == "kuka-ir361":
        return load(name, torque=TORQUE)
    return load(ROBOTS / f"{name}.urdf", acceleration=6.0)


@cache
def designed(name: str, word: str, seed: int = 0) -> DesignedExperiment:
    given = {word: SETTINGS[word]} if word in SETTINGS else word
    return ex.design_experiment(robot_of(name), given, starts=1, seed=seed, samples=200)


CASES = [pytest.param("kuka-ir361", word, id=f"kuka-{word}") for word in WORDS]
CASES += [pytest.param("bench_arm", word, id=f"urdf-{word}", marks=pytest.mark.slow) for word in WORDS]


@pytest.mark.parametrize(("name", "word"), CASES)
def test_every_stage_is_certified_with_all_constraints(name, word):
    """Torque, floor and self-collision; judged once more, and by a brute-force look at many instants."""
    found = designed(name, word)
    assert found.certified
    assert found.stages
    for stage in found.stages:
        robot, constraints = stage.design.model.robot, stage.design.constraints
        kinds = {row.what for constraint in constraints for row in constraint.rows}
        assert {"torque", "distance"} <= kinds
        assert any("floor" in row.where for constraint in constraints for row in constraint.rows)
        curve = stage.design.curve
        assert certify(robot, curve, constraints, from_rest=True).certified
        dense = curve.motion(np.linspace(curve.start, curve.end, 3000))
        assert all(constraint.values(dense).min() >= 0.0 for constraint in constraints)
        assert stage.purpose in PURPOSES
        assert stage.moves
    assert np.isfinite(found.figures.predicted_std).all(), "all stages together tell all parameters"


@pytest.mark.parametrize("word", WORDS)
def test_the_same_seed_is_the_same_motion(word):
    given = {word: SETTINGS[word]} if word in SETTINGS else word
    again = ex.design_experiment(robot_of("kuka-ir361"), given, starts=1, seed=0, samples=200)
    for one, other in zip(designed("kuka-ir361", word).stages, again.stages, strict=True):
        assert one.name == other.name
        assert same_curve(one.design.curve, other.design.curve)


def test_rests_are_rests_and_taken_from_both_sides():
    (poses, _) = designed("kuka-ir361", "static").stages
    curve = poses.design.curve
    assert len(poses.dwells) == 2 * SETTINGS["static"]["poses"]
    for first, second in zip(poses.dwells[::2], poses.dwells[1::2], strict=True):
        places = []
        for begin, end in (first, second):
            still = curve.motion(np.linspace(begin, end, 11)[1:-1])
            assert end - begin == pytest.approx(SETTINGS["static"]["dwell"])
            assert not still.qd.any()
            assert np.ptp(still.q, axis=0).max() < 1e-9
            places.append(still.q[0])
        assert places[0] == pytest.approx(places[1], abs=1e-9)
        above, below = (curve.motion([begin - 0.05]).q[0] - places[0] for begin, _ in (first, second))
        assert (above > 0.0).all()
        assert (below < 0.0).all()


def test_the_mean_of_both_sides_is_free_of_dry_friction():
    """Executed by a robot that sticks: its motors hold gravity and up to all of the friction, the other way from the
    other side; the mean of both approaches is gravity's."""
    (poses, _) = designed("kuka-ir361", "static").stages
    robot, friction = poses.design.model.robot, 8.0
    truth = {"coulomb": friction, "viscous": 0.0, "rotor_inertia": 0.0}
    exact = {"truth": truth, "torque": {"noise": 0.0}, "encoder": {"counts": "none"}, "log": {"rate": 200}}
    run = fill(SimulateSettings, exact, "simulate", robot=robot).virtual(robot, 3).run(poses.design.curve)
    log, chi, errors = run.recording, run.truth.chi, []
    for begin, end in poses.dwells:
        still = (log.time > begin + 0.1) & (log.time < end - 0.05)
        gravity = run.truth.model.torque(ex.Motion.at(log.q[still]), chi)
        errors.append((log.torque[still] - gravity).mean(axis=0))
    first, second = np.array(errors[::2]), np.array(errors[1::2])
    assert np.abs(first).min() > 1.0
    assert np.abs(first[:, 1]).min() > 0.99 * friction
    assert np.abs(0.5 * (first + second)).max() < 0.02


def test_only_one_joint_cruises_at_constant_velocity():
    (sweeps, _) = designed("kuka-ir361", "constant-velocity").stages
    robot, curve = sweeps.design.model.robot, sweeps.design.curve
    assert {one.joint for one in sweeps.cruises} == set(robot.joint_names)
    for one in sweeps.cruises:
        steady = curve.motion(np.linspace(one.start, one.end, 23)[1:-1])
        wanted = np.zeros(robot.n)
        wanted[robot.index(one.joint)] = one.speed
        assert steady.qd == pytest.approx(np.tile(wanted, (21, 1)), abs=1e-9)
        assert np.abs(steady.qdd).max() < 1e-9
    for joint in robot.joint_names:
        speeds = [one.speed for one in sweeps.cruises if one.joint == joint]
        assert sorted(speeds) == pytest.approx(sorted(-speed for speed in speeds)), "both ways"
        assert len({round(abs(speed), 9) for speed in speeds}) == 2


@pytest.mark.parametrize("word", ["wrist-then-arm", "link-by-link"])
def test_locked_joints_stand_still_and_the_others_tell_what_is_asked(word):
    found = designed("kuka-ir361", word)
    told: list[str] = []
    for stage in found.stages:
        robot, curve = stage.design.model.robot, stage.design.curve
        dense = curve.motion(np.linspace(curve.start, curve.end, 500))
        for j, name in enumerate(robot.joint_names):
            assert (np.ptp(dense.q[:, j]) < 1e-9) == (name not in stage.moves)
        assert stage.purpose == "locked"
        assert np.isfinite(stage.design.predicted_std).all()
        told += stage.design.parameters
    model = found.stages[0].design.model
    assert sorted(told) == sorted(model.base.names), "every parameter is that of one stage"
    assert any(len(stage.moves) < model.n for stage in found.stages)


def test_as_few_joints_move_as_show_all():
    """By brute force: no smaller set of joints shows as much in the same equations."""
    model = ex.DynamicModel(robot_of("kuka-ir361"), (ex.RotorInertia(), ex.Viscous(), ex.Coulomb()))
    for stage in locked_stages(model, [(f"link {j}", (j,)) for j in (2, 1, 0)]):
        for size in range(1, len(stage.moving)):
            for fewer in combinations(range(model.n), size):
                if set(stage.equations) <= set(fewer) <= set(stage.moving):
                    assert len(told_by(model, stage.equations, fewer, stage.parameters)) < len(stage.parameters)


def test_four_kinds_of_motions():
    found = designed("kuka-ir361", "vandanjon")
    assert [stage.purpose for stage in found.stages] == [
        "inertia",
        "centrifugal-coupling",
        "inertial-coupling",
        "gravity",
    ]


def test_a_search_with_locked_joints_is_one_of_the_others_alone():
    """The value is that of W by hand, the posture is kept to the last digit, and no small change of the joints that
    move is better: limits left aside, which those changes keep."""
    robot = robot_of("kuka-ir361")
    model = ex.DynamicModel(robot, (ex.Viscous(), ex.Coulomb()))
    stage = locked_stages(model, [("last", (2,)), ("rest", (0, 1))])[1]
    columns = model.base.independent[stage.parameters]
    found = design(
        model, ex.Fourier(5.0, 3, at_rest=True), columns=columns, locked={"joint_3": 0.4}, starts=2, samples=100
    )
    assert found.curve.extremum(0).size[2] == pytest.approx(0.4, abs=1e-12)
    assert found.certificate.certified
    family, (low, high) = found.trajectory, robot.position_range()

    def value(delta):
        w = model.regressor(motion(family, delta, family.sample_times(100)))[:, :, columns].reshape(-1, len(columns))
        return -np.linalg.slogdet(w.T @ w)[1]

    def kept(delta):
        dense = motion(family, delta, np.linspace(0.0, family.duration, 600))
        fast = [np.abs(x) <= robot.limit(kind) for x, kind in ((dense.qd, "velocity"), (dense.qdd, "acceleration"))]
        return bool(np.all([dense.q >= low, dense.q <= high, *fast]))

    assert kept(found.delta)
    assert found.value == pytest.approx(value(found.delta), abs=1e-6)
    rng, changes = np.random.default_rng(0), []
    for _ in range(400):
        step = (family.free @ rng.standard_normal((family.free.shape[1], 2))).T
        delta = found.delta.copy()
        delta[:2] += 0.01 * np.linalg.norm(delta[:2]) * step / np.linalg.norm(step)
        if kept(delta):
            changes.append(value(delta) - found.value)
    assert len(changes) > 10
    assert min(changes) > 0.0


def test_gradients_of_a_search_with_locked_joints_are_differences():
    robot = robot_of("kuka-ir361")
    model = ex.DynamicModel(robot, (ex.Viscous(),))
    columns = model.base.independent[[model.base.names.index(name) for name in ("ZZR1", "MX3", "Fv1", "Fv3")]]
    objective = DesignObjective(model, DOptimality(), columns, np.ones(3))
    stand = np.array([np.nan, 0.4, np.nan])
    search = Search(ex.Fourier(5.0, 3, at_rest=True), objective, (), 100, 0, locked=stand)
    criterion, y = (
        search._problem(DOptimality()).criterion,
        np.random.default_rng(1).standard_normal(search.variables.size),
    )
    _, gradient = criterion(y)
    h = 1e-5
    steps = h * np.eye(len(y))
    slopes = [(criterion(y + d)[0] - criterion(y - d)[0]) / (2 * h) for d in steps]
    assert len(y) == 2 * search.variables.per_joint
    assert gradient == pytest.approx(slopes, rel=1e-5, abs=1e-5)
    assert search.variables.motion(search._grid, y).q[:, 1] == pytest.approx(0.4, abs=1e-12)


# -- ways --------------------------------------------------------------------------------------------------------------


def test_ways_go_around_what_is_in_the_way():
    """A sphere where the tool would pass: no straight move, and a certified way around."""
    robot = load("kuka-ir361")
    home = 0.5 * np.add(*robot.position_range())
    start, end = home.copy(), home.copy()
    start[0], end[0] = home[0] - 1.0, home[0] + 1.0
    centre = Dynamics(robot).placement(robot.tool_frame, home[None])[1][0].tolist()
    obstacle = {"obstacles": [{"sphere": {"centre": centre, "radius": 0.1}}]}
    constraints = ex.DesignSettings(constraints=obstacle).constraints_of(robot)
    roadmap = Roadmap(robot, constraints, start, np.random.default_rng(0), NEVER)
    assert roadmap.move(start, end) is None
    assert roadmap.joined(end)
    way = roadmap.travel(start, end)
    at = start
    for part in way:
        first, last = part.motion([part.start, part.end]).q
        assert first == pytest.approx(at, abs=1e-12)
        assert certify(robot, part, constraints, from_rest=True).certified
        at = last
    assert at == pytest.approx(end, abs=1e-12)


def test_motions_begin_and_end_at_the_posture_of_the_ramps():
    home = [0.1, 0.2, 0.1]
    settings = {"trajectory": {"ramps": {"start": home}}, "experiment": {"otani": SETTINGS["otani"]}}
    found = ex.design_experiment(robot_of("kuka-ir361"), settings=settings, seed=1)
    curve = found.stages[0].design.curve
    assert curve.motion([curve.start, curve.end]).q == pytest.approx(np.array([home, home]), abs=1e-9)


def test_otani_moves_every_joint_both_ways():
    """One way only, Coulomb friction looks like an offset, but at rest, where identification takes no equations."""
    turning = load(ROBOTS / "odd.urdf", velocity={"turn": 2.0}, acceleration={"turn": 5.0})
    settings = {"constraints": {"ground": "none"}, "terms": ["viscous", "coulomb", "offset"]}
    (stage,) = ex.design_experiment(turning, {"otani": {"tries": 20}}, settings=settings).stages
    curve = stage.design.curve
    qd = curve.motion(np.linspace(curve.start, curve.end, 1000)).qd
    assert (qd.min(axis=0) < -0.01).all()
    assert (qd.max(axis=0) > 0.01).all()


# -- what is refused ---------------------------------------------------------------------------------------------------


IMPOSSIBLE = [({}, {"constraints": {"workspace": [{"frame": "tool", "z_min": 9.0}]}}, word) for word in WORDS]
IMPOSSIBLE += [({"torque": 5.0}, {}, word) for word in ("static", "constant-velocity")]


@pytest.mark.parametrize(("limits", "settings", "word"), IMPOSSIBLE)
def test_what_cannot_be_certified_is_one_line_that_names_a_limit(limits, settings, word, tmp_path):
    """A tool that would have to be out of reach; torques below what gravity asks for."""
    robot = load("kuka-ir361", **limits)
    with pytest.raises(ExciterError, match=r"infeasible.*(torque|height of tool)") as refused:
        ex.design_experiment(robot, word, settings=settings, starts=1).save(tmp_path / "out")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_ground_that_is_in_the_way_says_what_to_give():
    """As a design of one motion does: where a description says nothing of its mounting, a plane is assumed."""
    with pytest.raises(ExciterError, match=r"floor.*; say where the robot is mounted: constraints: {ground: HEIGHT}"):
        ex.design_experiment("kuka-ir361", "otani", settings={"constraints": {"ground": 9.0}}, starts=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("statik", "static"),
        ({"static": {"dwell": -1}}, "dwell"),
        ({"constant-velocity": {"paces": [2.0]}}, "paces"),
        ({"wrist-then-arm": {"wrist": 3}}, "give 1 … 2"),
        ({"otani": {"frequency": [0.01, 1.0]}}, "slowest cycle"),
        (None, "no experiment is named"),
    ],
)
def test_bad_settings(given, message):
    with pytest.raises(ExciterError, match=message):
        ex.design_experiment("kuka-ir361", given, starts=1)


def test_a_drawn_family_is_refused():
    with pytest.raises(ExciterError, match="drawn"):
        ex.design_experiment("kuka-ir361", "static", trajectory=ex.RandomPoints())


# -- the plan ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", WORDS)
def test_plans_read_back_as_they_were_written(word, tmp_path):
    plan = designed("kuka-ir361", word).plan
    again = Plan.read(plan.write(tmp_path / "plan.yaml"))
    assert replace(again, folder=plan.folder) == plan
    assert plan.estimator == EXPERIMENTS[word].estimator
    assert Plan.is_one(tmp_path)


STAGE = {"name": "all", "purpose": "excitation", "motion": "all/trajectory.json", "log": "logs/all.csv"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "../all"}, "name of a folder"),
        ({"purpose": "fun"}, "purpose"),
        ({"purpose": "rest"}, "has no dwells"),
        ({"dwells": [[0.0, 1.0]]}, "belong to purpose rest"),
        ({"purpose": "rest", "dwells": [[1.0, 0.5]]}, "end must come after"),
        ({"cruises": [{"joint": "a", "speed": 1, "start": 2, "end": 1}]}, "end must come after"),
        ({"velocity": 3}, "velocity"),
    ],
)
def test_plans_that_mean_nothing_are_refused(changes, message, tmp_path):
    data = {"experiment": "mine", "robot": "arm", "estimator": "wls", "stages": [{**STAGE, **changes}]}
    (tmp_path / "plan.yaml").write_text(yaml_text(data), encoding="utf-8")
    with pytest.raises(ExciterError, match=message) as refused:
        Plan.read(tmp_path)
    assert "\n" not in str(refused.value)


def test_two_stages_of_one_name_and_none_are_refused():
    stage = PlannedStage(**STAGE)
    with pytest.raises(ExciterError, match="2 stages are called 'all'"):
        Plan(experiment="x", robot="y", estimator="wls", stages=(stage, replace(stage, name="ALL")))
    with pytest.raises(ExciterError, match="without stages"):
        Plan(experiment="x", robot="y", estimator="wls", stages=())


def test_a_plan_of_another_motion_is_noticed():
    found = designed("kuka-ir361", "static")
    stage, robot, curve = found.plan.stages[0], found.robot, found.stages[0].design.curve
    stage.refuse_other(curve, robot)
    begin, end = stage.dwells[-1]
    with pytest.raises(ExciterError, match="stands still"):
        replace(stage, dwells=((begin - 0.5, end),)).refuse_other(curve, robot)
    with pytest.raises(ExciterError, match="lasts"):
        replace(stage, dwells=((begin, curve.duration + 1.0),)).refuse_other(curve, robot)


# -- written -----------------------------------------------------------------------------------------------------------


def test_everything_is_written_checked_and_executed(tmp_path):
    """By one robot: the truth is that of all logs; every stage is a design that can be opened."""
    found = designed("kuka-ir361", "otani")
    folder = found.save(tmp_path / "out")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["excitation", "experiment.json", "plan.yaml", "report.html"]
    assert ex.check_plan(found.robot, folder).certified
    opened = ex.open(folder / "excitation")
    assert same_curve(opened.curve, found.stages[0].design.curve)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'href="excitation/report.html"' in page
    simulated = ex.simulate_plan(found.robot, folder, seed=2)
    files = simulated.save(folder, tmp_path / "truth.json")
    assert [path.relative_to(tmp_path).as_posix() for path in files] == [
        "out/logs/excitation.csv",
        "out/logs/excitation.yaml",
        "truth.json",
    ]
    elsewhere = simulated.save(tmp_path / "logs")[-1]
    plan = Plan.read(elsewhere)
    assert plan.log_path(plan.stages[0]).is_file()
    assert plan.motion_path(plan.stages[0]).resolve() == (folder / "excitation" / "trajectory.json").resolve()


def test_nothing_is_written_where_one_stage_cannot_be(tmp_path, monkeypatch):
    """What was there before stays."""
    found, whole = designed("kuka-ir361", "static"), Designed.write
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "plan.yaml").write_text("the older one", encoding="utf-8")

    def failing(self, folder, **options):
        if folder.name == "excitation":
            raise ExciterError("no room")
        return whole(self, folder, **options)

    monkeypatch.setattr(Designed, "write", failing)
    with pytest.raises(ExciterError, match="no room"):
        found.save(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["plan.yaml"]
    assert (tmp_path / "out" / "plan.yaml").read_text(encoding="utf-8") == "the older one"


def test_a_cosine_on_a_ramp_is_the_same_in_its_file_and_slower():
    found = designed("kuka-ir361", "otani")
    curve, robot = found.stages[0].design.curve, found.robot
    data = exact_data(curve, robot)
    assert same_curve(exact_curve(data, robot, "it"), curve)
    turned = {**data, "joints": data["joints"][::-1]}
    other = exact_curve(turned, robot, "it")
    assert other.motion([1.0]).q[0] == pytest.approx(curve.motion([1.0]).q[0, ::-1])
    half = slowed(curve, 0.5)
    assert half.motion([2.0]).qd == pytest.approx(0.5 * curve.motion([1.0]).qd)
    (piece,) = curve.pieces
    assert isinstance(piece, CosineRampPiece)
    with pytest.raises(ExciterError, match="within one cycle"):
        replace(piece, since=piece.since - 10.0)


def test_columns_are_independent_or_left_out():
    rows = np.random.default_rng(0).standard_normal((50, 3))
    doubled = np.column_stack([rows[:, 0], rows[:, 0] * 2.0, rows[:, 1], np.zeros(50), rows[:, 2]])
    found = independent_columns(doubled)
    assert len(found) == 3
    assert np.linalg.matrix_rank(doubled[:, found]) == 3


def test_poses_are_for_offsets_beside_other_terms():
    """Numbers of static parameters are those of the whole model, in which rotors and friction stand before offsets."""
    model = DynamicModel(load("kuka-ir361"), (ex.RotorInertia(), ex.Viscous(), ex.Coulomb(), ex.Offset()))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 3))
    rows = model.regressor(ex.Motion.at(q))
    w = rows[:, :, static_columns(model)].reshape(-1, len(static_base(model)))
    assert np.linalg.matrix_rank(w) == w.shape[1] == np.linalg.matrix_rank(rows.reshape(-1, rows.shape[2]))
    task = {"poses": 6, "candidates": 100}
    found = ex.design_experiment(load("kuka-ir361"), {"static": task}, terms=model.terms, starts=1)
    assert "off2" in found.stages[0].design.parameters
