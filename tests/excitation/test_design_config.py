"""The YAML file of --config: every key means what it says, defaults follow the robot, wrong values are named."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.constraint import ROW_LENGTH_M, kinematics
from exciter.excitation.constraints.constraint_settings import ConstraintSettings, GroundSettings
from exciter.excitation.constraints.ground import grounds
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.observation_rows import EnergyRows
from exciter.excitation.criteria.optimality_and_condition import AOptimality, DOptimality
from exciter.excitation.criteria.weighted_sums import SUFFICIENT_CRITERIA, InverseTorque, WeightedSum
from exciter.excitation.design_settings import DesignSettings, MotionSettings, RampSettings, home
from exciter.excitation.files.row_files import MotionSamples, csv_text
from exciter.excitation.files.trajectory_files import TO_DESIGN
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import BSpline, Quintic
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.parameters.terms import Coulomb, CoupledSqrtViscous, DriveCoupling, Stribeck, Viscous
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import Motion, load
from exciter.robot import embedded_robots as embedded
from exciter.robot.capsules import without_capsule
from exciter.settings import keys_of, written
from exciter.settings.fill import json_schema, settings_fields
from support.paths import ROBOTS
from support.robots import states
from support.settings_suite import is_marked

PANDA, SMALL = embedded.robot("panda"), embedded.robot("gautier-khalil")


def config(folder: Path, text: str) -> DesignSettings:
    path = folder / "design.yaml"
    path.write_text(text, encoding="utf-8")
    return SettingsFile.read(path).design


def constraints(folder, text, robot=PANDA):
    """Without the plane that the robot is mounted on, which has tests of its own (test_ground.py)."""
    given = config(folder, text)
    return tuple(c for c in given.constraints_of(robot) if not grounds((c,)))


# -- what it means ------------------------------------------------------------------------------------------------


def test_nothing_said_means_the_defaults(tmp_path):
    given = config(tmp_path, "")
    assert given.motion == Fourier(at_rest=True)
    assert given.criterion_of(given.model(SMALL)) == DOptimality()
    assert (given.starts, given.seed, given.periods, given.rate, given.time_limit) == (16, 0, 1, 200.0, None)
    assert given.noise_of(SMALL) is given.ramps(SMALL) is given.prior_information(given.model(SMALL)) is None
    assert given.formulation_of().name == "dynamic"


def test_a_whole_file(tmp_path):
    text = """
limits: {acceleration: 3.0}
gravity: [0, 0, -9.8]
terms: [viscous, coulomb, {stribeck: {velocity: 0.1}}, {drive-coupling: {first: joint_1, second: joint_2}}]
trajectory:
  {family: bspline, duration: 4.0, segments: 6, periods: 3, rate: 100, ramps: {start: home}, duration_range: [2, 9]}
criterion: condition
formulation: energy
noise: 0.5
samples: 300
starts: 5
seed: 7
jobs: 2
time_limit: 12.5
"""
    given = config(tmp_path, text)
    robot = load("gautier-khalil", given.robot)
    assert robot.limit("acceleration").tolist() == [3.0] * 3
    assert robot.gravity[2] == -9.8
    model = given.model(robot)
    assert model.terms == (Viscous(), Coulomb(), Stribeck(velocity=0.1), DriveCoupling("joint_1", "joint_2"))
    assert given.motion == BSpline(4.0, 6)
    assert given.criterion_of(model).name == "condition"
    assert given.formulation_of().name == "energy"
    assert given.formulation_of().noise == 0.5  # [J]: a row mixes all joints
    assert given.noise_of(robot) is None
    assert given.duration_range == (2.0, 9.0)
    assert (given.periods, given.rate, given.samples, given.starts) == (3, 100.0, 300, 5)
    assert (given.seed, given.jobs, given.time_limit) == (7, 2, 12.5)
    assert given.ramps(robot).start == tuple(embedded.home("gautier-khalil"))


def test_coupled_root_by_word(tmp_path):
    needed = CoupledSqrtViscous("joint_1", "joint_2")
    every = CoupledSqrtViscous("joint_2", "joint_3", ratio=-0.5, width=0.01)
    assert written((needed,)) == [{"coupled-sqrt-viscous": {"first": "joint_1", "second": "joint_2"}}]
    text = yaml.safe_dump({"terms": written((needed, every))})
    assert config(tmp_path, text).model(SMALL).terms == (needed, every)


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("bspline", BSpline()),
        ("{family: fourier, period: 5, harmonics: [1, 3, 4]}", Fourier(5, (1, 3, 4), at_rest=True)),
        ("{harmonics: 3, at_rest: false}", Fourier(harmonics=3)),
        ("{family: quintic, duration: 6, segments: 3}", Quintic((0.0, 2.0, 4.0, 6.0))),
        ("{family: quintic, times: [0, 1, 3], at_rest_ends: false}", Quintic((0.0, 1.0, 3.0), False)),
    ],
)
def test_families(tmp_path, text, family):
    assert config(tmp_path, f"trajectory: {text}").motion == family


def test_noise_and_postures_by_joint(tmp_path):
    by_name = config(
        tmp_path, "noise: {joint_2: 2, joint_1: 1, joint_3: 3e-1}\ntrajectory: {ramps: {start: [0, 0.1, 0.2]}}"
    )
    assert by_name.noise_of(SMALL).tolist() == [1.0, 2.0, 0.3]
    assert by_name.ramps(SMALL).start == (0.0, 0.1, 0.2)
    assert config(tmp_path, "noise: [1, 2, 3]").noise_of(SMALL).tolist() == [1.0, 2.0, 3.0]


def test_home_is_within_the_limits(any_robot):
    lower, upper = any_robot.position_range()
    assert ((home(any_robot) >= lower) & (home(any_robot) <= upper)).all()


def test_flags_go_before_the_file(tmp_path):
    given = config(tmp_path, "trajectory: {family: fourier, harmonics: 3, periods: 4}\ncriterion: condition\nseed: 5")
    same = given.overridden(trajectory="fourier", criterion=None, seed=None)
    assert same.motion == Fourier(harmonics=3, at_rest=True)
    assert same.seed == 5
    other = given.overridden(trajectory="bspline", criterion="d-optimal", seed=1, time_limit=3.0)
    assert other.motion == BSpline()
    assert (other.seed, other.periods, other.time_limit) == (1, 4, 3.0)
    assert other.criterion_of(other.model(SMALL)) == DOptimality()
    with pytest.raises(ExciterError, match=r"--trajectory is 'circle'; allowed are fourier, bspline"):
        given.overridden(trajectory="circle")
    with pytest.raises(ExciterError, match=r"--criterion is 'beauty'; allowed are d-optimal"):
        given.overridden(criterion="beauty")


# -- criteria -----------------------------------------------------------------------------------------------------


def value(criterion, model, motion):
    return DesignObjective(model, criterion, model.base.independent, np.ones(model.n)).value(motion)


@pytest.mark.parametrize("word", SUFFICIENT_CRITERIA)
def test_every_criterion_has_a_word(tmp_path, word):
    settings = "{joint_noise: 1e-4}" if word == "cramer-rao" else "{}"
    given = config(tmp_path, f"trajectory: {{period: 6, harmonics: 4}}\ncriterion: {{{word}: {settings}}}")
    model = given.model(SMALL)
    family = given.motion
    delta = np.random.default_rng(0).standard_normal((3, family.coefficients))
    assert math.isfinite(value(given.criterion_of(model), model, motion_of(family, delta, family.sample_times(60))))


def test_a_weighted_sum_is_the_sum_of_its_parts(tmp_path):
    model, motion = DynamicModel(SMALL, (Viscous(),)), states(SMALL, 60)

    def reached(text):
        given = config(tmp_path, f"terms: [viscous]\ncriterion: {text}")
        return value(given.criterion_of(given.model(SMALL)), model, motion)

    parts = reached("condition"), reached("{a-optimal: 1.0}")
    assert reached("{condition: 2.0, a-optimal: {weight: 0.25}}") == pytest.approx(2.0 * parts[0] + 0.25 * parts[1])
    assert reached("{condition: 1.0, torque-activity: 5.0}") > parts[0]


def test_prior_information_is_that_of_the_earlier_motions(tmp_path):
    """Against the dense W of both files."""
    time = np.linspace(0.0, 2.0, 41)
    total = 0.0
    for k, name in enumerate(("one.csv", "two.csv")):
        family = Fourier(2.0, 2)
        motion = motion_of(family, 0.5 * np.random.default_rng(k).standard_normal((3, 5)), time)
        (tmp_path / name).write_text(
            csv_text(MotionSamples(motion.time, motion.q, motion.qd, motion.qdd), SMALL.joint_names)
        )
        model = DynamicModel(SMALL, (Viscous(),))
        w = model.regressor(motion)[:, :, model.base.independent] / np.array([1.0, 2.0, 0.5])[:, None]
        w = w.reshape(-1, w.shape[-1])
        total = total + w.T @ w
    given = config(tmp_path, "terms: [viscous]\nnoise: [1, 2, 0.5]\ntrajectory: {rate: 20}\nprior: [one.csv, two.csv]")
    have = given.prior_information(given.model(SMALL))
    np.testing.assert_allclose(have, total, rtol=1e-7, atol=1e-7 * np.abs(total).max())


# -- constraints --------------------------------------------------------------------------------------------------


def test_what_the_robot_asks_for_is_the_default(tmp_path):
    kinds = [type(c) for c in constraints(tmp_path, "")]
    assert kinds == [TorqueLimits, CapsuleDistance]
    assert [type(c) for c in constraints(tmp_path, "", SMALL)] == [CapsuleDistance]  # no torque limits
    assert constraints(tmp_path, "", load(ROBOTS / "gantry.urdf").with_limits(torque=math.inf)) == ()  # one capsule
    two_arms = load(ROBOTS / "two_arms.urdf").with_limits(torque=math.inf)  # names no pairs: all that can be told apart
    (apart,) = constraints(tmp_path, "", two_arms)
    assert [row.where for row in apart.rows] == [
        "torso – right_lower", "torso – left_lower", "right_lower – left_lower",
    ]  # fmt: skip
    assert constraints(tmp_path, "constraints: {torque: false, self_collision: false}") == ()
    on = constraints(tmp_path, "constraints: {torque: {margin: 0.1}, self_collision: {clearance: 0.02}}")
    np.testing.assert_allclose(on[0].limit, 0.9 * PANDA.limit("torque"))
    assert {row.limit for row in on[1].rows} == {0.02}
    assert len(on[1].rows) == len(PANDA.collision_pairs)
    pair = constraints(tmp_path, "constraints: {torque: false, self_collision: {pairs: [[link_2, link_7]]}}")
    assert [row.where for row in pair[0].rows] == ["link_2 – link_7"]


def test_self_collision_that_is_asked_for_is_never_lost(tmp_path):
    """A robot without pairs: an error, whether or not obstacles are given beside it."""
    gantry = load(ROBOTS / "gantry.urdf")
    floor = "obstacles: [{half_space: {normal: [0, 0, 1], offset: -2}}]"
    for asked in ("self_collision: true", "self_collision: {clearance: 0.02}", "self_collision: {meshes: true}"):
        for text in (f"constraints: {{{asked}}}", f"constraints: {{{asked}, {floor}}}"):
            with pytest.raises(ExciterError, match="robot 'gantry' has no"):
                constraints(tmp_path, text, gantry)
    for text in (
        f"constraints: {{torque: false, {floor}}}",
        f"constraints: {{torque: false, self_collision: false, {floor}}}",
    ):
        (only,) = constraints(tmp_path, text, gantry)
        assert [row.where for row in only.rows] == ["quill – obstacle 1"]
        assert without_capsule(only.robot) == ("x", "y", "spin")


def at(robot, motion, frame="flange"):
    """x, y, z (N,) of a frame."""
    return HalfSpace(robot, frame, np.array([0.0, 0.0, 1.0]), 0.0).points(motion)


REGIONS = {
    "z_min: 0.2, x_max: 0.5": lambda p: np.minimum(p[2] - 0.2, 0.5 - p[0]),
    "box: {lower: [null, -0.3, 0.1], upper: [0.6, .inf, null]}": lambda p: np.min(
        [p[1] + 0.3, p[2] - 0.1, 0.6 - p[0]], 0
    ),
    "half_space: {normal: [0, 3, 4], offset: 1}": lambda p: (3 * p[1] + 4 * p[2] - 1) / 5,
    "inside_sphere: {radius: 0.7, centre: [0.1, 0, 0.3]}": lambda p: 0.7 - np.linalg.norm(p.T - [0.1, 0, 0.3], axis=1),
    "outside_sphere: {radius: 0.3}": lambda p: np.linalg.norm(p, axis=0) - 0.3,
    "inside_cylinder: {radius: 0.6}": lambda p: 0.6 - np.hypot(p[0], p[1]),
    "outside_cylinder: {radius: 0.3, point: [0.1, 0.2, 0]}": lambda p: np.hypot(p[0] - 0.1, p[1] - 0.2) - 0.3,
}


@pytest.mark.parametrize("words", REGIONS)
def test_regions(tmp_path, words):
    text = f"constraints: {{torque: false, self_collision: false, workspace: [{{frame: flange, {words}}}]}}"
    (region,) = constraints(tmp_path, text)
    motion = states(PANDA, 50)
    want = REGIONS[words](at(PANDA, motion))
    np.testing.assert_allclose(region.values(motion).min(axis=0) * ROW_LENGTH_M, want, rtol=0, atol=1e-12)


def test_any_of_is_the_better_one(tmp_path):
    text = """
constraints:
  torque: false
  self_collision: false
  workspace:
    - any_of:
        - {frame: flange, z_min: 0.6}
        - {frame: flange, outside_cylinder: {radius: 0.4}}
"""
    (region,) = constraints(tmp_path, text)
    motion = states(PANDA, 50)
    p = at(PANDA, motion)
    want = np.maximum(p[2] - 0.6, np.hypot(p[0], p[1]) - 0.4)
    np.testing.assert_allclose(region.values(motion)[0] * ROW_LENGTH_M, want, rtol=0, atol=1e-12)


def test_a_payload_adds_its_weight(tmp_path):
    """τ changes by the slope of m g z of the payload's centre, by central differences."""
    text = "constraints: {torque: {payload: {frame: flange, mass: 2.0, centre: [0.1, 0, 0.2]}}, self_collision: false}"
    (limits,) = constraints(tmp_path, text)
    model = limits.model
    q = np.random.default_rng(0).uniform(-1, 1, PANDA.n)
    change = model.torque(Motion.at(q), limits.chi)[0] - model.torque(Motion.at(q))[0]
    frame = PANDA.frame("flange")
    centre = frame.translation + frame.rotation @ [0.1, 0.0, 0.2]
    step = 1e-6 * np.eye(PANDA.n)
    heights = [kinematics(PANDA, Motion.at(q + s * step)).point(frame.joint, centre)[2] for s in (1, -1)]
    np.testing.assert_allclose(change, 2.0 * 9.81 * (heights[0] - heights[1]) / 2e-6, rtol=0, atol=1e-6)
    assert np.abs(change).max() > 1.0


def test_obstacles(tmp_path):
    text = """
constraints:
  torque: false
  self_collision: false
  obstacles:
    - {name: ball, sphere: {centre: [0.5, 0, 0.4], radius: 0.1}, against: [link_7]}
    - {capsule: {start: [1, 0, 0], end: [1, 0, 1], radius: 0.05}, against: [link_7]}
    - {name: floor, half_space: {normal: [0, 0, 2], offset: 0.2}, against: [link_7]}
    - {box: {lower: [0.4, -1, 0], upper: [0.8, 1, 0.3]}, against: [link_7]}
"""
    (distance,) = constraints(tmp_path, text)
    named = [row.where for row in distance.rows]
    assert named == ["link_7 – ball", "link_7 – obstacle 2", "link_7 – floor", "link_7 – obstacle 4"]
    hand = next(c for c in PANDA.capsules if c.name == "link_7")
    motion = states(PANDA, 20)
    ends = [kinematics(PANDA, motion).point(hand.joint, x) for x in (hand.start, hand.end)]
    s = np.linspace(0.0, 1.0, 2001)[:, None, None]
    dense = ends[0] + s * (ends[1] - ends[0])  # points of the segment (S, 3, N)
    ball = np.linalg.norm(dense - np.array([0.5, 0, 0.4])[:, None], axis=1).min(axis=0) - 0.1 - hand.radius
    values = distance.values(motion) * ROW_LENGTH_M + 0.01  # the clearance that is kept unless another is given
    np.testing.assert_allclose(values[0], ball, rtol=0, atol=1e-4)
    np.testing.assert_allclose(values[2], dense[:, 2].min(axis=0) - 0.1 - hand.radius, rtol=0, atol=1e-9)
    outside = dense - np.clip(dense, np.array([0.4, -1, 0])[:, None], np.array([0.8, 1, 0.3])[:, None])
    box = np.linalg.norm(outside, axis=1).min(axis=0)
    apart = box > 0
    np.testing.assert_allclose(values[3][apart], (box - hand.radius)[apart], rtol=0, atol=1e-4)


# -- wrong values -------------------------------------------------------------------------------------------------

BAD = [
    ("speed: 3", "unknown key 'speed'; valid names: limits, gravity"),
    ("trajectory: {family: circle}", "family is 'circle'; allowed are fourier, bspline, quintic, acceleration"),
    ("trajectory: {harmonics: 0}", "trajectory: harmonics is 0; give how many, a whole number ≥ 1, or a list"),
    ("trajectory: {harmonics: [1, 1]}", r"harmonics is \[1, 1\]; give how many"),
    ("trajectory: {harmonics: true}", "harmonics is true; give"),
    ("trajectory: {harmonics: 1}", "trajectory: one harmonic that starts at rest cannot move"),
    ("trajectory: {period: ten}", "trajectory: period is 'ten'; give a number ≥"),
    ("trajectory: {at_rest: 1}", "trajectory: at_rest is 1; give true or false"),
    ("trajectory: {perod: 3}", "'perod'; valid names: family, period, .*periods, rate, ramps, duration_range"),
    ("trajectory: {family: bspline, degree: 6}", "trajectory: degree is 6; give a whole number ≥ 4, at most 5"),
    ("trajectory: {family: bspline, segments: few}", "segments is 'few'; give a whole number ≥ 1"),
    ("trajectory: {family: bspline, variables: all}", "variables is 'all'; allowed are waypoints, control"),
    ("trajectory: {family: quintic, times: [0, x]}", "trajectory: times 2 is 'x'; give a number"),
    ("trajectory: {family: quintic, times: [1, 2]}", "trajectory: times .*increasing"),
    ("trajectory: {family: acceleration, intervals: 2}", "intervals is 2; give a whole number ≥ 3"),
    ("trajectory: {family: quintic, duration: -1}", "duration is -1; give a number ≥"),
    ("trajectory: {rate: fast}", "rate is 'fast'; give a number > 0"),
    ("trajectory: {rate: 0}", "rate is 0"),
    ("trajectory: {periods: 1.5}", "periods is 1.5; give a whole number ≥ 1"),
    ("trajectory: {ramps: {begin: home}}", "unknown key 'begin'; valid names: start"),
    ("trajectory: {ramps: {start: [0, 0]}}", "start has 2 numbers; the robot has 7 joints"),
    ("trajectory: {ramps: {start: [0, 0, 0, 1, 0, 1, 0]}}", "joint 'joint_4' at 1, outside its limits"),
    ("trajectory: {ramps: {start: {joint_1: 0}}}", "nothing of joint 'joint_2'"),
    ("trajectory: {ramps: {start: away}}", "start is 'away'; give a number"),
    ("trajectory: {duration_range: [5, 2]}", "duration_range is 5 … 2 s"),
    ("trajectory: {duration_range: 5}", "duration_range is 5; give a list of 2 numbers"),
    ("criterion: beauty", "criterion is 'beauty'; allowed are d-optimal"),
    ("criterion: {condition: -1}", "criterion: condition is -1; give a number > 0"),
    ("criterion: {condition: {size: 1}}", "criterion: condition takes no settings; write condition alone"),
    ("criterion: {torque-activity: 1}", "alone"),
    ("criterion: {cramer-rao: 1}", "needs joint_noise; give criterion: .cramer-rao: .joint_noise: 1.0e-4"),
    ("criterion: []", "criterion"),
    ("formulation: magic", "formulation is 'magic'; allowed are dynamic, energy"),
    ("noise: 0", "noise is 0; give a number > 0"),
    ("noise: [1, 2]", "noise has 2 numbers; the robot has 7 joints"),
    ("noise: {elbow: 1}", "unknown joint 'elbow'"),
    ("terms: [glue]", "terms 1 is 'glue'; allowed are rotor"),
    ("terms: glue", "terms is 'glue'; give none, or a list of rotor"),
    ("terms: [{stribeck: {}}]", "terms 1: stribeck has no velocity; give a number > 0"),
    ("terms: [{stribeck: 3}]", "stribeck is 3; give a mapping"),
    ("samples: 1", "samples is 1; give a whole number ≥ 2"),
    ("starts: 0", "starts is 0"),
    ("seed: -1", "seed is -1"),
    ("jobs: true", "jobs is true"),
    ("time_limit: 0", "time_limit is 0; give a number > 0"),
    ("time_limit: .nan", "time_limit is nan"),
    ("prior: earlier", "prior is 'earlier'; give a list"),
    ("prior: [3]", "prior 1 is 3; give the folder of an earlier design, or a trajectory file"),
    ("prior: [nowhere]", "prior has '.*nowhere'; there is no such file or folder"),
    (
        "noise: [1, 2]\nformulation: energy",
        r"noise, of a row of the energy model \[J\], is \[1.0, 2.0\]; give a number > 0",
    ),
    ("constraints: 5", "constraints is 5; give a mapping"),
    ("constraints: {wind: true}", "unknown key 'wind'"),
    ("constraints: {torque: 5}", "torque is 5; give true, false, or a mapping with some of the keys margin, payload"),
    ("constraints: {torque: {margin: 1}}", "margin"),
    ("constraints: {torque: {margin: -1}}", "margin is -1; give a number ≥ 0"),
    ("constraints: {torque: {payload: {frame: flange}}}", "payload has no mass"),
    ("constraints: {torque: {payload: {mass: 1}}}", "payload has no frame; give the name of a frame"),
    ("constraints: {torque: {payload: {mass: 0, frame: flange}}}", "mass is 0"),
    ("constraints: {self_collision: {pairs: [link_2]}}", "pairs 1 is 'link_2'; give two names"),
    ("constraints: {self_collision: {pairs: [[link_2, wing]]}}", "unknown body 'wing'"),
    ("constraints: {self_collision: {pairs: []}}", "pairs is empty; name pairs of bodies, or write self_collision"),
    ("constraints: {self_collision: {clearance: -1}}", "clearance is -1"),
    ("constraints: {workspace: 3}", "workspace is 3; give a list"),
    ("constraints: {workspace: [{z_min: 1}]}", "workspace 1 has no frame; give the name of a frame"),
    ("constraints: {workspace: [{frame: nose, z_min: 1}]}", "workspace 1: unknown frame 'nose'; valid names: joint_1"),
    ("constraints: {workspace: [{frame: flange}]}", "workspace 1 must say one thing"),
    ("constraints: {workspace: [{frame: flange, z_min: 0, inside_sphere: {radius: 1}}]}", "must say one thing"),
    ("constraints: {workspace: [{frame: flange, z_min: 2, z_max: 1}]}", "box.* is empty"),
    ("constraints: {workspace: [{frame: flange, inside_sphere: {}}]}", "inside_sphere has no radius"),
    ("constraints: {workspace: [{frame: flange, half_space: {normal: [0, 0]}}]}", "normal is .0, 0.; give a list of 3"),
    ("constraints: {workspace: [{frame: flange, half_space: {normal: [0, 0, 0]}}]}", "normal of .* is zero"),
    (
        "constraints: {workspace: [{frame: flange, box: {lower: 3}}]}",
        "lower is 3; give a list of 3 numbers .m., null",
    ),
    ("constraints: {workspace: [{any_of: [], frame: flange}]}", "any_of stands alone"),
    ("constraints: {obstacles: [{name: x}]}", "obstacles 1 has none of sphere, capsule, half_space, box; give one"),
    ("constraints: {obstacles: [{sphere: {centre: [0, 0, 0], radius: -1}}]}", "radius is -1"),
    (
        "constraints: {obstacles: [{box: {lower: [0, 0, 0], upper: [0, 1, 1]}}]}",
        "every lower side must be below its upper",
    ),
    (
        "constraints: {obstacles: [{box: {lower: [0.5, 0, 0], upper: [0.4, 1, 1]}}]}",
        r"obstacles 1: box: it has lower \[0.5, 0.0, 0.0\], upper \[0.4, 1.0, 1.0\]; every lower side must be below",
    ),
    ("constraints: {obstacles: [{sphere: {centre: [0, 0, 0], radius: 1}, against: [wing]}]}", "unknown body 'wing'"),
]


def everything_made_of(folder, text):
    given = config(folder, text)
    robot = load("panda", given.robot)
    model = given.model(robot)
    made = (given.noise_of(robot), given.formulation_of(), given.ramps(robot), given.prior_information(model))
    return (*made, given.motion, given.criterion_of(model), given.constraints_of(robot))


@pytest.mark.parametrize(("text", "says"), BAD)
def test_wrong_values_are_named(tmp_path, text, says):
    with pytest.raises(ExciterError, match=says) as error:
        everything_made_of(tmp_path, text)
    assert "\n" not in str(error.value)


RECORDED = """
limits: {acceleration: 3.0, velocity: {joint_1: 1.0}}
gravity: [0, 0, -9.8]
lock: {joint_3: 0.5}
mesh_root: ..
terms: [viscous, {stribeck: {velocity: 0.1}}]
trajectory: {family: quintic, duration: 4, segments: 4, periods: 3, rate: 50, ramps: {start: [0, 0.1]}}
criterion: {condition: 1, a-optimal: {weight: 0.5}}
noise: [1, 2]
constraints: {workspace: [{frame: tool, z_min: -0.5}]}
samples: 99
starts: 3
seed: 5
time_limit: 7
prior: [a.csv]
"""


@pytest.mark.parametrize("text", [RECORDED, "", "trajectory: {duration_range: [5, 20], at_rest: false}\nterms: none"])
def test_the_record_as_yaml_is_the_same_configuration(tmp_path, text):
    """Wherever it is saved, and whatever else it is read with."""
    given = config(tmp_path, text)
    (tmp_path / "elsewhere").mkdir()
    again = config(tmp_path / "elsewhere", yaml.safe_dump(given.to_dict(), sort_keys=False))
    assert again.to_dict() == given.to_dict()
    assert again.motion == given.motion
    for name in (
        "terms",
        "trajectory",
        "criterion",
        "formulation",
        "noise",
        "samples",
        "starts",
        "seed",
    ):
        assert getattr(again, name) == getattr(given, name)
    assert again.robot.limits == given.robot.limits
    assert (again.robot.lock, again.robot.gravity) == (given.robot.lock, given.robot.gravity)
    assert [path.resolve() for path in again.prior] == [path.resolve() for path in given.prior]


def test_every_key_of_a_design_says_what_it_may_be():
    for cls in (DesignSettings, MotionSettings, RampSettings, ConstraintSettings):
        for name, hint in settings_fields(cls).items():
            assert is_marked(hint), f"{cls.__name__}.{name} has no marker"
    schema = json_schema(DesignSettings)
    json.dumps(schema, allow_nan=False)
    assert set(schema["properties"]) == set(keys_of(DesignSettings))
    motion = schema["properties"]["trajectory"]["anyOf"][1]["properties"]
    assert {"family", "period", "segments", "times", "draws", "periods", "rate"} < set(motion)
    assert motion["family"]["enum"] == list(TO_DESIGN.words)


def test_a_design_of_python_code_is_written_as_a_file_that_asks_for_it(tmp_path):
    """at_rest false, too, which is the default of the class, but not of a file."""
    settings = DesignSettings(
        terms=(),
        trajectory=MotionSettings(Fourier(6.0, 3), periods=2, ramps=RampSettings("home")),
        criterion=WeightedSum(((2.0, AOptimality((1.0, 2.0))), (1.0, InverseTorque()))),
        formulation=EnergyRows(interval=0.3),
        noise=0.5,
        constraints=ConstraintSettings(torque=False, ground=GroundSettings(-0.2)),
    )
    again = config(tmp_path, yaml.safe_dump(settings.to_dict()))
    assert replace(again, source=settings.source, robot=settings.robot) == settings
    assert config(tmp_path, "").overridden(jobs=3).to_dict() == DesignSettings().to_dict()


def test_a_default_of_a_design_is_what_an_empty_file_means(tmp_path):
    empty = config(tmp_path, "")
    assert replace(empty, source="x", robot=DesignSettings().robot) == DesignSettings(source="x")
