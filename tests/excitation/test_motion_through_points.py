"""Points of the energy model that are optimal within all limits of the motion through them, in the shortest times."""

from __future__ import annotations

import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.observation_rows import EnergyRows
from exciter.excitation.criteria.optimality_and_condition import ConditionNumber
from exciter.excitation.experiments.experiment import ExperimentTask
from exciter.excitation.experiments.motion_through_points import (
    MotionThroughPoints,
    PassedPoints,
    PointsExperiment,
    _searched,
    energy_columns,
    first_time,
    motion_through_points,
    shortened,
)
from exciter.excitation.experiments.points import PointSearch, QuasiNewton, optimise_points
from exciter.excitation.experiments.segment_times import interpolate_points
from exciter.excitation.optimiser.deadline import NEVER, Deadline
from exciter.excitation.optimiser.search import Search
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import Quintic
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load
from support.closed_forms import closed_form_w

QUICK = PointsExperiment(equations=18, keep=1, rounds=1, explore=15)


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load("gautier-khalil"))


@pytest.fixture(scope="module")
def found(model: DynamicModel) -> MotionThroughPoints:
    return motion_through_points(model, QUICK, starts=2)


def test_all_limits_hold_from_rest_to_rest(model: DynamicModel, found: MotionThroughPoints) -> None:
    curve = found.final.curve
    assert certify(model.robot, curve, from_rest=True).certified
    dense = curve.motion(np.linspace(0.0, curve.duration, 20_001))
    lower, upper = model.robot.position_range()
    assert (dense.q >= lower - 1e-9).all()
    assert (dense.q <= upper + 1e-9).all()
    assert (np.abs(dense.qd) <= model.robot.limit("velocity") * (1 + 1e-9)).all()
    assert (np.abs(dense.qdd) <= model.robot.limit("acceleration") * (1 + 1e-9)).all()
    assert np.allclose(curve.motion([0.0, curve.duration]).qd, 0.0, atol=1e-12)


def test_the_figure_is_that_of_the_points_that_are_passed(model: DynamicModel, found: MotionThroughPoints) -> None:
    points = found.final
    at = points.curve.motion(points.times)
    assert np.allclose(at.q, points.q)
    assert np.allclose(at.qd, points.qd)
    cond = np.linalg.cond(closed_form_w(at.q, at.qd))
    assert points.condition_number(model) == pytest.approx(cond, rel=1e-6)
    assert points.value == pytest.approx(cond, rel=1e-6)


def test_times_are_shortened_and_cond_does_not_grow(model: DynamicModel, found: MotionThroughPoints) -> None:
    first, final = found.first, found.final
    assert first.times[-1] == pytest.approx(18 * first_time(model.robot))
    assert final.times[-1] < 0.99 * first.times[-1]
    assert final.value <= first.value


def test_the_start_that_is_carried_through_is_the_best_of_a_short_look(model: DynamicModel) -> None:
    objective = DesignObjective(model, ConditionNumber(), energy_columns(model), np.ones(3), EnergyRows())
    search = Search(Quintic.even(18 * first_time(model.robot), 18), objective, (), 19, 0)
    looks = [search.explored(number, QUICK.explore) for number in range(5)]
    (carried,) = _searched(search, QUICK, 5, NEVER, 0.0, None)
    assert carried.number == int(np.argmin(looks)) != 0


def test_it_is_far_better_than_points_that_are_drawn_inwards(model: DynamicModel, found: MotionThroughPoints) -> None:
    """The way of section 5: optimum points, then whatever keeps the quintics between them within the limits."""
    search = PointSearch(equations=18, starts=6, keep=2, explore=60, method=QuasiNewton(400))
    points, robot = optimise_points(model, search), model.robot
    limits = robot.limit("velocity"), robot.limit("acceleration"), *robot.position_range()
    drawn = interpolate_points(points.q, points.qd, *limits, at_rest_ends=False)
    q, qd = (half.T for half in np.split(drawn.delta, 2, axis=1))
    assert (drawn.kept < 1.0).any()
    assert found.final.condition_number(model) < 0.7 * np.linalg.cond(closed_form_w(q, qd))


def test_segments_are_no_shorter_than_a_constraint_allows(model: DynamicModel, found: MotionThroughPoints) -> None:
    """A wall that the points keep: times are shortened as far as it lets them, and all of it is certified."""
    points = found.first
    tool = min(motion_height(model, points, share) for share in (1.0, 0.999))
    wall = HalfSpace(model.robot, "tool", normal=(0, 0, 1), offset=tool - 1e-3)
    objective = DesignObjective(model, ConditionNumber(), energy_columns(model), np.ones(3), EnergyRows())
    search = Search(Quintic(tuple(points.times.tolist())), objective, (wall,), 19, 0)
    shorter = shortened(search, points)
    assert shorter.times[-1] <= points.times[-1]
    assert certify(model.robot, shorter.curve, (wall,)).certified


def motion_height(model: DynamicModel, points: PassedPoints, share: float) -> float:
    """[m] lowest height of the tool."""
    curve = points.lasting(share * np.diff(points.times)).curve
    q = curve.motion(np.linspace(0.0, curve.duration, 4001)).q
    return float(model.dynamics.placement("tool", q)[1][:, 2].min())


def task(model: DynamicModel, **changes) -> ExperimentTask:
    given = {"family": Fourier(), "criterion": ConditionNumber(), "home": np.zeros(3), "starts": 1}
    return ExperimentTask(model=model, constraints=(), noise=np.ones(3), **{**given, **changes})


def test_friction_is_judged_along_the_motion_through_the_points() -> None:
    """The points are for what stores energy; the motion must tell about friction, too."""
    model = DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb()))
    assert len(energy_columns(model)) == 15
    (stage,) = PointsExperiment(equations=15, keep=1, rounds=0).stages(task(model))
    assert stage.design.parameters == model.base.names
    assert len(stage.design.parameters) == 21
    assert np.isfinite(stage.design.predicted_std).all()
    assert stage.design.certificate.certified
    assert isinstance(stage.design.trajectory, Quintic)
    assert "at 16 points is" in stage.design.notes[0].text


def test_what_cannot_be_done_is_refused_in_one_line(model: DynamicModel) -> None:
    with pytest.raises(ExciterError, match="14 equations cannot determine 15 parameters"):
        motion_through_points(model, PointsExperiment(equations=14))
    unlimited = DynamicModel(model.robot.with_limits(velocity={"joint_2": np.inf}))
    with pytest.raises(ExciterError, match="'joint_2' has no velocity limit"):
        motion_through_points(unlimited)
    with pytest.raises(ExciterError, match="no motion that keeps all limits was found and certified in 0 s"):
        motion_through_points(model, deadline=Deadline.after(0.0))
    assert motion_through_points(model, QUICK, starts=1, deadline=Deadline.after(1.0)).final.value < np.inf
