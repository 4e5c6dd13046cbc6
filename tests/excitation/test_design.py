"""The design end to end: every family, all limits for all time, seeds, interruption and resumption, what is refused."""

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.constraint import UserConstraint
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import Box, HalfSpace, OutsideSphere
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.observation_rows import EnergyRows, TorqueRows
from exciter.excitation.criteria.optimality_and_condition import ConditionNumber, DOptimality
from exciter.excitation.criteria.weighted_sums import CRITERIA, SUFFICIENT_CRITERIA
from exciter.excitation.design import design
from exciter.excitation.optimiser.deadline import NEVER
from exciter.excitation.optimiser.search import Search
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import AccelerationSequence, BSpline, Quintic
from exciter.excitation.trajectories.ramps import Ramps
from exciter.excitation.trajectories.trajectory import motion
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import load
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.workers import Processes
from support.robots import random_robot

pytestmark = pytest.mark.slow

USUAL = (Viscous(), Coulomb())
FAMILIES = {
    "fourier": Fourier(10.0, 4),
    "fourier at rest": Fourier(10.0, (1, 2, 3, 5), at_rest=True),
    "fourier by joint": Fourier(10.0, {"joint_3": (1, 3, 5), "joint_1": 3, "joint_2": 4}),
    "bspline 4": BSpline(10.0, segments=6, degree=4),
    "bspline 5": BSpline(10.0, segments=6, degree=5, variables="control"),
    "quintic": Quintic.even(12.0, 5),
    "acceleration": AccelerationSequence(8.0, 10),
}


def all_limits(model: DynamicModel, frame: str, height: float) -> tuple:
    robot = model.robot
    return TorqueLimits(model), HalfSpace(robot, frame, (0, 0, 1), height), CapsuleDistance(robot, clearance=0.005)


def broken(designed, robot, samples: int = 20001) -> float:
    """Largest excess over any joint limit at dense samples, as a part of the limit."""
    at = designed.curve.motion(np.linspace(designed.curve.start, designed.curve.end, samples))
    span = robot.limit("upper") - robot.limit("lower")
    excess = [(at.q - robot.limit("upper")) / span, (robot.limit("lower") - at.q) / span]
    excess += [np.abs(at.qd) / robot.limit("velocity") - 1, np.abs(at.qdd) / robot.limit("acceleration") - 1]
    return float(max(x.max() for x in excess))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_gives_a_certified_motion(name):
    """With joint limits, torque limits and a workspace; checked at dense samples by Pinocchio alone."""
    robot = load("kuka-ir361").with_limits(torque=[400.0, 700.0, 250.0])
    model = DynamicModel(robot, USUAL)
    box = Box(robot, "tool", (-np.inf, -np.inf, 0.8), (np.inf, np.inf, 1.8))
    designed = design(model, FAMILIES[name], constraints=[TorqueLimits(model), box], noise=5.0, starts=1, seed=2)
    assert designed.certificate.certified
    assert broken(designed, robot) <= 1e-9
    first = designed.attempts[0].history[0][1]
    assert designed.value < first - 5.0  # −log det: better than its start by far
    at = designed.curve.motion(np.linspace(0.0, designed.curve.end, 4001))
    oracle = to_pinocchio(robot)
    data = oracle.createData()
    tool, place = robot.frame("tool"), []
    for q, qd, qdd in zip(at.q, at.qd, at.qdd, strict=True):
        tau = pin.rnea(oracle, data, q, qd, qdd)
        tau = tau + robot.friction["viscous"] * qd + robot.friction["coulomb"] * np.sign(qd)
        assert (np.abs(tau) <= robot.limit("torque") + 1e-9).all()
        pin.forwardKinematics(oracle, data, q)
        place.append((data.oMi[tool.joint + 1].act(tool.translation))[2])
    assert min(place) >= 0.8 - 1e-9
    assert max(place) <= 1.8 + 1e-9
    for q, qd in ((at.qd[0], at.qd[-1]),):
        assert_allclose(q, 0.0, atol=1e-9)  # at rest before and after
        assert_allclose(qd, 0.0, atol=1e-9)


@pytest.mark.parametrize("name", ["panda", "lwr4", "ur10e", "tx40"])
def test_arms_with_torque_height_and_collision_limits(name):
    """Every start ends certified; benchmarks/seeds.py does this for 200 seeds."""
    robot = load(name)
    robot = robot.with_limits(torque=0.8 * robot.limit("torque"))
    model = DynamicModel(robot, USUAL)
    designed = design(
        model, Fourier(10.0, 5, at_rest=True), constraints=all_limits(model, robot.frame_names[-1], 0.1), starts=2
    )
    assert all(attempt.feasible for attempt in designed.attempts)
    assert designed.certificate.certified
    assert broken(designed, robot) <= 1e-9
    assert designed.value == min(attempt.value for attempt in designed.attempts)


def test_prismatic_joints_and_trees_are_designed_too():
    robot = random_robot(8, 4, tree=True, prismatic=0.5).with_limits(torque=120.0)
    designed = design(DynamicModel(robot, (Viscous(),)), Fourier(6.0, 4, at_rest=True), starts=1)
    assert broken(designed, robot) <= 1e-9


def test_figures_are_those_of_the_motion():
    model = DynamicModel(load("gautier-khalil"), (*USUAL, RotorInertia()))
    noise = np.array([3.0, 2.0, 1.0])
    designed = design(model, Fourier(8.0, 4), noise=noise, samples=800, starts=1)
    log = motion(designed.trajectory, designed.delta, np.arange(800) * 0.01)
    w = (model.regressor(log)[:, :, model.base.independent] / noise[:, None]).reshape(-1, len(model.base))
    h = w.T @ w
    assert_allclose(designed.predicted_std, np.sqrt(np.linalg.inv(h).diagonal()), rtol=1e-6)
    assert_allclose(designed.log_det, -np.linalg.slogdet(h)[1], rtol=1e-9)
    assert_allclose(designed.value, designed.log_det, rtol=1e-9)
    assert_allclose(designed.condition_number, np.linalg.cond(w), rtol=1e-6)
    assert_allclose(designed.condition_number_normalized, np.linalg.cond(w / np.linalg.norm(w, axis=0)), rtol=1e-6)
    assert designed.parameters == model.base.names


def test_a_prior_turns_the_next_design_to_what_is_missing():
    """Given exact knowledge of some parameters, the design is about the others; its value is that of both together."""
    model = DynamicModel(load("gautier-khalil"), USUAL)
    first = design(model, Fourier(8.0, 3), starts=1)
    objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(3))
    known = objective.gram(motion(first.trajectory, first.delta, np.arange(800) * 0.01))
    second = design(model, Fourier(8.0, 3), prior=known, starts=1)
    again = objective.gram(motion(second.trajectory, second.delta, np.arange(800) * 0.01))
    assert_allclose(second.value, -np.linalg.slogdet(known + again)[1], rtol=1e-9)
    assert second.value < -np.linalg.slogdet(2 * known)[1]  # better than the same motion once more


@pytest.mark.parametrize("energy", [False, True], ids=["dynamic", "energy"])
@pytest.mark.parametrize("word", SUFFICIENT_CRITERIA)
def test_every_criterion_can_be_designed_for(word, energy):
    """On both formulations: certified, and much better than a random motion of the same size."""
    if energy and word == "cramer-rao":
        pytest.skip("the bound with joint noise is that of the inverse dynamic model")
    model = DynamicModel(load("gautier-khalil"))
    family = Fourier(6.0, 3, at_rest=True)
    settings: dict = {}
    if word in ("condition-scaled", "condition-torque"):
        settings = {"values": tuple(1.0 + np.arange(len(model.base)) / 10)}
    if word == "targets":
        settings = {"sigma": tuple(0.1 + np.arange(len(model.base)) / 10)}
    if word == "cramer-rao":
        settings = {"trajectory": family, "joint_noise": 1e-3}
    criterion = CRITERIA[word](**settings)
    formulation = EnergyRows() if energy else TorqueRows()
    designed = design(model, family, criterion=criterion, formulation=formulation, samples=60, starts=1, seed=3)
    assert designed.certificate.certified
    objective = DesignObjective(model, criterion, model.base.independent, np.ones(3), formulation)
    size = np.linalg.norm(designed.delta[:, :-1])
    rng = np.random.default_rng(0)
    others = []
    for _ in range(10):
        delta = rng.standard_normal((3, family.free.shape[1])) @ family.free.T
        delta[:, :-1] *= size / np.linalg.norm(delta[:, :-1])
        others.append(objective.value(motion(family, delta, family.sample_times(60))))
    assert designed.value < min(others)
    assert_allclose(designed.value, objective.value(motion(family, designed.delta, family.sample_times(60))), rtol=1e-9)


def test_a_free_duration_is_used():
    """Energy of −log det grows with speed: given freedom, the motion of the same samples becomes no worse."""
    model = DynamicModel(load("kuka-ir361"), USUAL)
    family = BSpline(10.0, segments=6, degree=4)
    fixed = design(model, family, samples=500, starts=1, seed=1)
    free = design(model, family, samples=500, starts=1, seed=1, duration_range=(6.0, 20.0))
    assert 6.0 - 1e-9 <= free.trajectory.duration <= 20.0 + 1e-9
    assert abs(free.trajectory.duration - 10.0) > 0.1
    assert free.certificate.certified
    assert broken(free, model.robot) <= 1e-9
    assert free.value < fixed.value


def test_the_same_seed_gives_the_same_motion_on_any_number_of_processes():
    model = DynamicModel(load("gautier-khalil"), USUAL)
    one = design(model, Fourier(8.0, 3), starts=3, seed=4)
    two = design(model, Fourier(8.0, 3), starts=3, seed=4, workers=Processes(2))
    # kernels just compiled and kernels from the disk cache differ in the last digit, a settled optimum in half of them
    assert_allclose(one.delta, two.delta, rtol=0, atol=1e-3)
    assert_allclose([a.value for a in one.attempts], [a.value for a in two.attempts], rtol=1e-6)
    other = design(model, Fourier(8.0, 3), starts=1, seed=5)
    assert not np.array_equal(other.delta, one.delta)


def test_a_time_limit_leaves_something_usable():
    model = DynamicModel(load("panda"), USUAL)
    quick = design(model, Fourier(10.0, 5, at_rest=True), starts=50, time_limit=0.3)
    assert quick.interrupted
    assert len(quick.attempts) < 50
    assert quick.certificate.certified


def test_a_time_limit_holds_on_several_processes():
    """The clock is common: starts that would begin too late do not begin."""
    model = DynamicModel(load("gautier-khalil"), USUAL)
    design(model, Fourier(8.0, 3), starts=2, workers=Processes(2))  # processes are up
    found = design(model, Fourier(8.0, 3), starts=500, workers=Processes(2), time_limit=1.0)
    assert found.interrupted
    assert len(found.attempts) < 400
    assert found.certificate.certified


def test_few_samples_stand_for_all_of_the_log():
    """What is minimised on 250 samples is, but for the smooth sign, the criterion of all 2000."""
    model = DynamicModel(load("panda"), USUAL)
    designed = design(model, Fourier(10.0, 5, at_rest=True), samples=2000, starts=1)
    assert abs(designed.attempts[0].history[-1][1] - designed.value) < 5.0


@pytest.mark.parametrize("when", [3, 60])
def test_ctrl_c_keeps_what_was_reached_and_a_checkpoint_goes_on(tmp_path, when):
    """Interrupted in the first start, or in a later one; resumed, the result is the uninterrupted one."""
    model = DynamicModel(load("gautier-khalil"), USUAL)
    file, calls = tmp_path / "checkpoint.json", 0

    def interrupt(progress):
        nonlocal calls
        calls += 1
        if calls == when:
            raise KeyboardInterrupt

    stopped = design(model, Fourier(8.0, 3), starts=4, checkpoint=file, progress=interrupt)
    assert stopped.interrupted
    assert stopped.certificate.certified
    assert broken(stopped, model.robot) <= 1e-9
    resumed = design(model, Fourier(8.0, 3), starts=4, checkpoint=file)
    whole = design(model, Fourier(8.0, 3), starts=4)
    assert not resumed.interrupted
    assert_allclose(resumed.delta, whole.delta, rtol=0, atol=0)
    with pytest.raises(ExciterError, match="belongs to another design"):
        design(model, Fourier(8.0, 3), starts=4, checkpoint=file, seed=1)
    robot = model.robot  # a constraint with the same name and limit elsewhere is another problem
    spheres = [OutsideSphere(robot, "tool", 0.1, centre) for centre in ((2.0, 0, 0), (0, 2.0, 0))]
    other = tmp_path / "other.json"
    design(model, Fourier(8.0, 3), starts=1, checkpoint=other, constraints=spheres[:1])
    with pytest.raises(ExciterError, match="belongs to another design"):
        design(model, Fourier(8.0, 3), starts=1, checkpoint=other, constraints=spheres[1:])
    file.write_text("{}")
    with pytest.raises(ExciterError, match="is not a checkpoint"):
        design(model, Fourier(8.0, 3), starts=4, checkpoint=file)


def test_ramps_and_periods():
    robot = load("kuka-ir361")
    model = DynamicModel(robot, USUAL)
    home = (0.1, -0.2, 0.3)
    designed = design(model, Fourier(5.0, 3), starts=1, periods=3, ramps=Ramps(start=home, end=home))
    assert designed.curve.duration > 15.0
    at = designed.curve.motion(np.array([0.0, designed.curve.end]))
    assert_allclose(at.q, [home, home], atol=1e-9)
    assert_allclose(at.qd, 0.0, atol=1e-9)
    assert broken(designed, robot, 60001) <= 1e-9


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_limits_that_exclude_each_other_are_infeasible():
    robot = load("panda")
    model = DynamicModel(robot, USUAL)
    height = [HalfSpace(robot, "flange", (0, 0, 1), 0.9), HalfSpace(robot, "flange", (0, 0, -1), -0.5)]
    with pytest.raises(ExciterError, match=r"infeasible: no posture .* of flange"):
        design(model, Fourier(), constraints=height, starts=1)
    weak = DynamicModel(robot.with_limits(torque={"joint_2": 1.0}), USUAL)  # friction alone takes 0.9
    with pytest.raises(ExciterError, match=r"infeasible: .* torque of joint_2"):
        design(weak, Fourier(), constraints=[TorqueLimits(weak)], starts=1)


def test_what_cannot_be_designed_is_said_in_one_line():
    model = DynamicModel(load("panda"), USUAL)
    narrow = load("panda").with_limits(lower={"joint_7": 0.2}, upper={"joint_7": 0.2001})
    with pytest.raises(ExciterError, match=r"joint_7' has a range of 1.0e-04 rad only.*lock joint_7"):
        design(DynamicModel(narrow, USUAL), Fourier(), starts=1)
    with pytest.raises(ExciterError, match="1 start and 2 samples at least"):
        design(model, Fourier(), starts=0)
    own = UserConstraint("sum of angles", lambda at: (10.0 - at.q.sum(axis=1))[None])
    with pytest.raises(ExciterError, match=r"hardest to keep is sum of angles \(it cannot be proved .* needs bound="):
        design(model, Fourier(), constraints=[own], starts=1, samples=200)
    with pytest.raises(ExciterError, match="with 3 samples"):
        design(model, Fourier(), starts=1, samples=3)
    with pytest.raises(ExciterError, match="too short"):
        design(model, Fourier(period=0.05), starts=1)
    with pytest.raises(ExciterError, match="free duration works with the inverse dynamic model"):
        design(model, Fourier(), starts=1, duration_range=(5.0, 20.0), formulation=EnergyRows())
    with pytest.raises(ExciterError, match="contain the trajectory's own"):
        design(model, Fourier(), starts=1, duration_range=(1.0, 2.0))
    with pytest.raises(ParameterError, match="noise"):
        design(model, Fourier(), starts=1, noise=[1.0, 2.0])
    with pytest.raises(ExciterError, match="'j1' has no end"):
        design(DynamicModel(random_robot(3, 3, prismatic=1.0).with_limits(upper=np.inf)), Fourier(), starts=1)
    fast = load("panda").with_limits(velocity=np.inf, acceleration=np.inf)
    with pytest.raises(ExciterError, match="neither a velocity nor an acceleration limit"):
        design(DynamicModel(fast), Fourier(), starts=1)


def test_a_parameter_that_no_motion_excites_is_named():
    model = DynamicModel(load("panda"), USUAL)
    columns = np.append(model.base.independent, model.standard.index("M1"))
    with pytest.raises(ExciterError, match="infinite: no motion of this kind excites M1 with"):
        design(model, Fourier(), criterion=ConditionNumber(), columns=columns, starts=1)


def test_a_search_starts_within_all_limits():
    """Starts are strictly feasible: the first motion is there at once."""
    robot = load("panda")
    model = DynamicModel(robot, USUAL)
    objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(7))
    constraints = all_limits(model, "flange", 0.3)
    search = Search(Fourier(10.0, 5, at_rest=True), objective, constraints, 1000, 0)
    attempt = search.initial_motion(0, NEVER)
    assert attempt.feasible
    assert not attempt.complete
    assert attempt.first_feasible <= attempt.seconds
