"""Random motions for validation: full stops, full acceleration, and the same proof of all limits as for any other."""

import json

import numpy as np
import pytest
import yaml

from exciter import cli
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import CertificateEffort, certify
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.excitation.design import drawn_design
from exciter.excitation.files.row_files import sample
from exciter.excitation.files.trajectory_files import read_trajectory, trajectory_from
from exciter.excitation.trajectories.piecewise import Stops
from exciter.excitation.validation_motion.random_families import RandomPoints, RandomSpline, draw, fastest_move
from exciter.parameters.terms import Coulomb, Viscous
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.settings import written
from support.paths import ROBOTS

SMALL, PANDA = embedded.robot("gautier-khalil"), embedded.robot("panda")
GANTRY = load(ROBOTS / "gantry.urdf")
RATES = ("velocity", "acceleration", "jerk")


def dense(curve, count=20001):
    return curve.motion(np.linspace(curve.start, curve.end, count))


def keeps_joint_limits(robot, curve):
    """By samples, the jerk by differences of the acceleration."""
    motion = dense(curve)
    jerk = np.diff(motion.qdd, axis=0) / np.diff(motion.time)[:, None]
    low, high = robot.limit("lower"), robot.limit("upper")
    assert (motion.q > low - 1e-9).all()
    assert (motion.q < high + 1e-9).all()
    for name, values in zip(RATES, (motion.qd, motion.qdd, jerk), strict=True):
        assert (np.abs(values) <= robot.limit(name) * (1 + 1e-6) + 1e-6).all(), name


# -- one move --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [(1.0, 2.0, 30.0), (0.2, 5.0, 40.0), (9.0, 1.5, 60.0), (9.0, 50.0, 4.0)])
def test_no_faster_move_of_that_shape_exists(limits):
    """Of all (t_j, t_a, t_v) on a fine grid that take 1 % less time, each breaks a limit."""
    v, a, j = limits
    robot = SMALL.with_limits(velocity=v, acceleration=a, jerk=j)
    start, end = np.zeros(3), np.array([0.7, -0.3, 0.0])
    times = fastest_move(robot, start, end, 1e-3)
    curve = Stops((times,)).curve(np.stack([start, end], axis=1))
    for order, limit in enumerate(limits, start=1):
        assert curve.extremum(order).size[0] <= limit
    time = 0.99 * curve.duration
    t_j, t_a = np.meshgrid(np.linspace(1e-4, time / 4, 500), np.linspace(0.0, time / 2, 500))
    t_v = time - 4 * t_j - 2 * t_a
    t_j, t_a, t_v = (times[t_v >= 0] for times in (t_j, t_a, t_v))
    speed = 0.7 / (2 * t_j + t_a + t_v)
    kept = (speed <= v) & (speed / (t_j + t_a) <= a) & (speed / (t_j + t_a) / t_j <= j)
    assert len(kept) > 1000
    assert not kept.any()


def test_phases_that_are_too_short_are_merged_within_the_limits():
    robot = SMALL.with_limits(velocity=1.0, acceleration=5.0)
    beyond = np.array([1e-6, 1e-4, 7e-4])  # where full acceleration (2 · 5 · 0.05²) and the cruise (1²/5 + 0.05) begin
    for way in (*(0.025 + 0.1 * beyond), *(0.25 + beyond)):
        end = np.full(3, way)
        times = fastest_move(robot, np.zeros(3), end, 0.05)
        assert all(time == 0.0 or time >= 1e-3 for time in times)
        curve = Stops((times,)).curve(np.stack([np.zeros(3), end], axis=1))
        assert (curve.extremum(1).size <= 1.0).all()
        assert (curve.extremum(2).size <= 5.0).all()
        assert certify(robot, sample(curve, 200.0).curve()).certified


def test_stops_are_a_family_like_the_others():
    family = Stops(((0.05, 0.2, 0.3), (0.1, 0.0, 0.0)), 0.25)
    points = np.array([[0.1, -0.4, 0.7], [1.0, 1.0, 1.5]])
    assert trajectory_from(json.loads(json.dumps(written(family)))) == family
    assert family.duration == pytest.approx(3 * 0.25 + 0.9 + 0.4)
    assert family.with_duration(3.0).duration == pytest.approx(3.0)
    curve, time = family.curve(points), np.linspace(0.01, 2.0, 500)
    step = 1e-6
    before, at, after = (curve.motion(time + k * step) for k in (-1, 0, 1))
    np.testing.assert_allclose(at.qd, (after.q - before.q) / (2 * step), atol=1e-7)
    np.testing.assert_allclose(at.qdd, (after.qd - before.qd) / (2 * step), atol=1e-4)
    for point, when in zip(points.T, stop_times(family), strict=True):
        np.testing.assert_allclose(curve.motion(when).q, [point, point], atol=1e-14)
    with pytest.raises(ExciterError, match="t_j > 0"):
        Stops(((0.0, 1.0, 1.0),))
    with pytest.raises(ExciterError, match=r"moves 1 is .*; give a list of 3 numbers"):
        Stops(((0.1, 1.0),))


# -- random points ---------------------------------------------------------------------------------------------------


def stop_times(family):
    """(moves + 1, 2) [s] from when to when the joints stand at each point."""
    moving = np.array([4 * jerk + 2 * acceleration + cruise for jerk, acceleration, cruise in family.moves])
    arrival = np.concatenate([[0.0], np.cumsum(moving + family.rest)])
    return np.stack([arrival, arrival + family.rest], axis=1)


@pytest.mark.parametrize(
    ("robot", "settings"),
    [
        (PANDA, RandomPoints(6)),
        (SMALL, RandomPoints(20)),
        (SMALL.with_limits(jerk=40.0), RandomPoints(6, rise=0.01)),
        (GANTRY, RandomPoints(8, rest=0.0)),
        (SMALL.lock({"joint_2": 0.1, "joint_3": 0.2}), RandomPoints(12)),
    ],
    ids=["panda", "three axes", "jerk", "prismatic, no rest", "one axis"],
)
def test_full_stops_and_full_acceleration(robot, settings):
    drawn = draw(robot, settings, seed=3)
    family, curve, points = drawn.trajectory, drawn.curve, drawn.delta
    assert points.shape == (robot.n, settings.points)
    assert drawn.notes == ()
    assert drawn.certificate.certified
    assert drawn.certificate.starts_at_rest
    assert drawn.certificate.ends_at_rest
    keeps_joint_limits(robot, curve)
    jerk = np.minimum(robot.limit("jerk"), robot.limit("acceleration") / settings.rise)
    assert (curve.extremum(3).size <= jerk).all()
    limits = np.stack([robot.limit("velocity"), robot.limit("acceleration")])
    stops = stop_times(family)
    for k, (arrival, departure) in enumerate(stops):
        standing = curve.motion(np.linspace(arrival, departure, 5))
        np.testing.assert_allclose(standing.q, np.tile(points[:, k], (5, 1)), atol=1e-12)
        assert np.abs(standing.qd).max() < 1e-12
        assert np.abs(standing.qdd).max() < 1e-11
    for k in range(settings.points - 1):
        moving = curve.motion(np.linspace(stops[k, 1], stops[k + 1, 0], 4001))
        share = np.abs([moving.qd, moving.qdd]) / limits[:, None]
        assert 1 - 1e-5 < share.max() <= 1.0  # some joint cannot go faster
        way = points[:, k + 1] - points[:, k]
        done = (moving.q - points[:, k]) @ way / (way @ way)  # one share for all joints: they move together
        np.testing.assert_allclose(moving.q, points[:, k] + done[:, None] * way, atol=1e-12)
        assert (np.diff(done) >= -1e-15).all()


def test_the_seed_decides():
    settings = RandomPoints(4)
    one, again, other = (draw(SMALL, settings, seed=seed).delta for seed in (5, 5, 6))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 0.1
    spline, same, another = (draw(SMALL, RandomSpline(5.0, 6), seed=seed).delta for seed in (5, 5, 6))
    np.testing.assert_array_equal(spline, same)
    assert np.abs(spline - another).max() > 0.1


def test_a_torque_limit_slows_moves_down_and_says_so():
    model = DynamicModel(PANDA, (Viscous(), Coulomb()))
    torque = TorqueLimits(model, margin=0.5)
    drawn = draw(PANDA, RandomPoints(8), [torque], seed=0)
    assert "torque limits forbid full acceleration in" in drawn.notes[0].text
    slowed = [number - 1 for number in drawn.notes[0].numbers["slowed"]]
    assert 0 < len(slowed) < 7
    used = np.abs(model.torque(dense(drawn.curve))) / PANDA.limit("torque")
    assert used.max() <= 0.5 + 1e-9
    for k, (start, end) in enumerate(zip(drawn.delta.T[:-1], drawn.delta.T[1:], strict=True)):
        fastest = np.array(fastest_move(PANDA, start, end, 0.05))
        factor = np.array(drawn.trajectory.moves[k]) / fastest
        if k in slowed:
            np.testing.assert_allclose(factor, factor[0], rtol=1e-6)
            assert 1.0 < factor[0] <= 4.0
            quicker = Stops((fastest_move(PANDA, start, end, 0.05, 1 / factor[0] + 0.024),), 0.2)
            curve = quicker.curve(np.stack([start, end], axis=1))
            assert not certify(PANDA, curve, [torque]).certified  # not slower than need be
        else:
            np.testing.assert_allclose(factor, 1.0)


@pytest.mark.parametrize("settings", [RandomPoints(6), RandomSpline(8.0, 8)], ids=["points", "spline"])
def test_workspace_and_collision_limits_hold(settings):
    height, apart = HalfSpace(PANDA, "flange", (0, 0, 1), 0.4), CapsuleDistance(PANDA, clearance=0.02)
    drawn = draw(PANDA, settings, [height, apart], seed=1)
    motion = dense(drawn.curve, 5001)
    tool = Dynamics(PANDA).placement("flange", motion.q)[1]
    assert tool[:, 2].min() >= 0.4 - 1e-9
    assert apart.values(motion).min() >= -1e-9
    assert drawn.certificate.certified
    assert {"height", "distance"} <= {limit.what for limit in drawn.certificate.limits}
    free = draw(PANDA, settings, seed=1)
    assert (
        Dynamics(PANDA).placement("flange", dense(free.curve, 5001).q)[1][:, 2].min() < 0.4
    )  # it did forbid something


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        (RandomPoints(3, draws=30), "motion through 3 random points"),
        (RandomSpline(5.0, 5, draws=3), "random spline of 5 s"),
    ],
)
def test_giving_up_names_the_limit(settings, what):
    with pytest.raises(
        ExciterError, match=f"no {what} .* in {settings.draws} draws; hardest to keep is height of tool"
    ):
        draw(SMALL, settings, [HalfSpace(SMALL, "tool", (0, 0, 1), 50.0)])


def test_wrong_settings_and_robots_are_named():
    for wrong, message in [
        ({"points": 1}, "points is 1"),
        ({"points": 201}, "≥ 2, at most 200"),
        ({"rest": 1e-5}, "rest is 1e-05 s"),
        ({"rise": 2.0}, "rise is 2.0; give a number ≥ 0.001, at most 1"),
        ({"draws": 3}, "draws is 3"),
    ]:
        with pytest.raises(ExciterError, match=message):
            RandomPoints(**wrong)
    with pytest.raises(ExciterError, match="degree is 3; give a whole number ≥ 4, at most 5"):
        RandomSpline(degree=3)
    with pytest.raises(ExciterError, match="joint 'joint_1' has no acceleration limit"):
        draw(SMALL.with_limits(acceleration=np.inf), RandomPoints(3))
    with pytest.raises(ExciterError, match=r"would take .* allowed are 3600 s"):
        draw(SMALL.with_limits(velocity=1e-4), RandomPoints(3))


def test_a_random_spline_fills_the_joint_limits_from_rest_to_rest():
    drawn = draw(GANTRY, RandomSpline(6.0, 8), seed=2)
    keeps_joint_limits(GANTRY, drawn.curve)
    ends = drawn.curve.motion([0.0, 6.0])
    assert np.abs(ends.qd).max() < 1e-9
    assert np.abs(ends.qdd).max() < 1e-9
    motion = dense(drawn.curve)
    shares = [np.abs(motion.qd).max(axis=0) / GANTRY.limit("velocity")]
    shares += [np.abs(motion.qdd).max(axis=0) / GANTRY.limit("acceleration")]
    low, high = GANTRY.position_range()
    shares += [np.abs((motion.q - 0.5 * (low + high)) / (0.5 * (high - low))).max(axis=0)]
    assert (np.max(shares, axis=0) > 0.999).all()


def test_figures_of_a_drawn_motion():
    """log det of the information by another way: the Gram matrix of the samples."""
    model = DynamicModel(SMALL, (Viscous(),))
    drawn = draw(SMALL, RandomPoints(6), seed=1)
    design = drawn_design(model, drawn, noise=2.0)
    assert (design.attempts, design.evaluations, design.seed) == ((), drawn.draws, 1)
    assert design.samples == round(100 * drawn.curve.duration)
    log = drawn.curve.motion(np.linspace(0.0, drawn.curve.end, design.samples))
    w = model.base.project(model.regressor(log)).reshape(-1, len(model.base.names)) / 2.0
    assert design.log_det == pytest.approx(-np.linalg.slogdet(w.T @ w)[1], rel=1e-6)
    assert design.value == pytest.approx(design.log_det, rel=1e-6)
    two = drawn_design(model, draw(SMALL, RandomPoints(2)), samples=3)  # too little to learn anything
    assert two.value == np.inf


def test_long_files_are_certified_like_short_ones():
    """Instants of the rows themselves do not use up the effort that proofs between them may take."""
    model = DynamicModel(SMALL.with_limits(torque=1e3))
    curve = draw(SMALL, RandomPoints(4)).curve
    most = np.abs(model.torque(dense(curve, 200001))).max()
    tight = DynamicModel(SMALL.with_limits(torque=1.0001 * most))
    rows = sample(curve, 100.0).curve()
    assert not certify(tight.robot, rows, [TorqueLimits(tight)], CertificateEffort(most=0)).certified
    assert certify(tight.robot, rows, [TorqueLimits(tight)], CertificateEffort(most=len(rows.knots))).certified


# -- on the command line ---------------------------------------------------------------------------------------------


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as leaving:
        cli.main([str(a) for a in arguments])
    output = capsys.readouterr()
    return leaving.value.code, output.out, output.err


@pytest.mark.parametrize(
    ("robot", "text"),
    [
        ("panda", "{trajectory: {family: random-points, points: 4, rest: 0.1, rate: 100}, seed: 2, starts: 5}"),
        ("kuka-ir361", "{trajectory: {family: random-spline, duration: 5, segments: 6, ramps: {start: home}}}"),
        ("gautier-khalil", "{trajectory: {family: random-points, points: 3, periods: 2}, limits: {jerk: 60}}"),
    ],
)
def test_design_check_and_the_settings_to_repeat_it(capsys, tmp_path, robot, text):
    config, folder = tmp_path / "config.yaml", tmp_path / "out"
    config.write_text(text)
    code, out, err = run(capsys, "design", robot, "-o", folder, "--config", config)
    assert (code, err) == (0, "")
    assert "random motion after" in out
    data = json.loads((folder / "design.json").read_text())
    assert {path.name for path in folder.iterdir()} == {
        "trajectory.csv",
        "trajectory.json",
        "trajectory.ros2.yaml",
        "design.npz",
        "trajectory.ros2.json",
        "design.json",
        "report.html",
    }
    assert data["certificate"]["certified"]
    assert data["files"]["certificate"]["certified"]
    assert (data["starts"], data["interrupted"]) == ([], False)
    assert np.isfinite([data["value"], data["log_det"], data["condition_number"]]).all()
    for name in ("trajectory.csv", "trajectory.json", "trajectory.ros2.json"):
        assert run(capsys, "check", robot, folder / name, "--config", config)[0] == 0
    config.write_text(yaml.safe_dump(data["settings"]))  # asks for the same motion
    again = SettingsFile.read(config).design
    arm = load(robot, again.robot)
    ramps = again.ramps(arm)
    constraints = again.constraints_of(arm)
    drawn = draw(arm, again.motion, constraints, seed=again.seed, periods=again.periods, ramps=ramps)
    written = read_trajectory(folder, arm)
    assert written.duration == pytest.approx(drawn.curve.duration)
    times = np.linspace(0.0, min(written.duration, drawn.curve.duration), 300)
    np.testing.assert_allclose(written.motion(times).q, drawn.curve.motion(times).q, atol=1e-7)


def test_flags_and_a_log(capsys, tmp_path):
    """--trajectory and --seed alone; a file written for another family is left aside; the virtual robot executes it."""
    config, folder = tmp_path / "config.yaml", tmp_path / "out"
    config.write_text(
        "{trajectory: {family: fourier, period: 4, rate: 50, periods: 3, duration_range: [3, 5]}, "
        "simulate: {log: {rate: 100}}}"
    )
    words = ("design", "gautier-khalil", "-o", folder, "--config", config, "--trajectory")
    code, out, _ = run(capsys, *words, "random-spline", "--seed", 7, "--json")
    data = json.loads(out)
    assert (code, data["seed"], data["periods"], data["duration"]) == (0, 7, 1, 20.0)
    assert data["settings"]["trajectory"]["family"] == "random-spline"
    short = tmp_path / "short.csv"
    short.write_text("".join((folder / "trajectory.csv").read_text().splitlines(keepends=True)[:40]))
    log = tmp_path / "log.csv"
    assert run(capsys, "simulate", "gautier-khalil", short, "-o", log, "--config", config)[0] == 0
    assert len(log.read_text().splitlines()) > 70
    for flag in (("--starts", 3), ("--jobs", 2), ("--time-limit", 5), ("--resume",)):
        code, out, err = run(capsys, *words, "random-points", *flag)
        assert (code, out) == (2, "")
        assert err.startswith(f"exciter: {flag[0]} is for a search; a random-points motion is drawn from its seed")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{trajectory: {family: random-points, points: many}}",
            "trajectory: points is 'many'; give a whole number ≥ 2",
        ),
        ("{trajectory: {family: random-points, points: 500}}", "points is 500; give a whole number ≥ 2, at most 200"),
        ("{trajectory: {family: random-points, rest: 100}}", "rest is 100; give a number ≥ 0, at most 60 [s]"),
        ("{trajectory: {family: random-points, knots: 3}}", "unknown key 'knots'; valid names: family, points, rest"),
        ("{trajectory: {family: random-spline, degree: 6}}", "degree is 6; give a whole number ≥ 4, at most 5"),
        (
            "{trajectory: {family: random-spline, duration_range: [1, 2]}}",
            "duration_range is [1.0, 2.0]; a random-spline",
        ),
        ("{trajectory: {family: random-spline, duration: 0.01}}", "0.01 s is too short"),
        (
            "{trajectory: {family: random-points, draws: 40}, constraints: {workspace: [{frame: tool, z_min: 9}]}}",
            "in 40 draws; hardest to keep is height of tool",
        ),
        ("{trajectory: random-points, criterion: best}", "criterion is 'best'; allowed are"),
        ("{trajectory: random-line}", "family is 'random-line'; allowed are fourier"),
    ],
)
def test_impossible_demands_are_one_line_and_leave_nothing(capsys, tmp_path, text, message):
    config = tmp_path / "config.yaml"
    config.write_text(text)
    code, out, err = run(capsys, "design", "gautier-khalil", "-o", tmp_path / "out" / "deep", "--config", config)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not (tmp_path / "out").exists()
