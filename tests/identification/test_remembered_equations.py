"""Equations whose columns are remembered are those of the inverse dynamic model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.selection.remembered_equations import remembering
from exciter.parameters.terms import Coulomb, Dahl, LoadFriction, Offset, Ripple, RotorInertia, Viscous
from exciter.robot import load
from support.robots import smooth_motion

ROBOT = load("tx40")
RATE = 200.0
BOTH = ParallelFilter(Butterworth(10.0))
TERMS = (RotorInertia(), Viscous(), Coulomb(Dahl(1e-3)), Offset())
OTHERS = (
    RotorInertia(),
    Viscous(("joint_2", "joint_5")),
    Coulomb(Dahl(1e-3), ("joint_1",)),
    Coulomb(Dahl(1e-2), ("joint_3", "joint_4")),
    LoadFriction(Dahl(1e-3), ("joint_3",)),
    Ripple(("joint_6",)),
)
LEANING = ROBOT.with_gravity((0.2, -0.1, -9.8))


@pytest.fixture(scope="module")
def pieces() -> tuple[Processed, ...]:
    """With a gap between them, and more samples than are filtered at a time."""
    motion = smooth_motion(ROBOT, np.arange(6000) / RATE)
    torque = np.random.default_rng(0).standard_normal(motion.q.shape)
    parts = (slice(0, 4000), slice(4100, 6000))
    return tuple(Processed(motion[part], torque[part], RATE) for part in parts)


def both_ways(equations, model, pieces):
    columns = model.base.independent
    plain = list(InverseDynamic(BOTH).rows(model, pieces, columns))
    return plain, list(equations.rows(model, pieces, columns))


def test_rows_are_the_same_whatever_was_asked_for_before(pieces):
    equations = remembering(BOTH)
    for terms in (TERMS, OTHERS, TERMS):
        expected, found = both_ways(equations, DynamicModel(ROBOT, terms), pieces)
        assert len(found) == len(expected) > 1
        for one, other in zip(found, expected, strict=True):
            assert (one.parameters, one.joints, one.rate) == (other.parameters, other.joints, other.rate)
            assert (one.bandwidth, one.notes) == (other.bandwidth, other.notes)
            assert_array_equal(one.time, other.time)
            assert_array_equal(one.sides, other.sides)


def test_a_base_that_leans_needs_no_new_columns(pieces):
    equations = remembering(BOTH)
    both_ways(equations, DynamicModel(ROBOT, TERMS), pieces)
    for terms in (TERMS, OTHERS):
        expected, found = both_ways(equations, DynamicModel(LEANING, terms), pieces)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one.sides, other.sides, rtol=0.0, atol=1e-12)


def test_torques_are_taken_as_they_come(pieces):
    """A known payload is taken off them, from model to model."""
    equations, model = remembering(BOTH), DynamicModel(ROBOT, TERMS)
    both_ways(equations, model, pieces)
    less = tuple(replace(piece, torque=0.5 * piece.torque) for piece in pieces)
    expected, found = both_ways(equations, model, less)
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one.sides, other.sides)


def test_a_joint_without_torque_has_no_equations(pieces):
    silent = tuple(replace(piece, silent=(2,)) for piece in pieces)
    expected, found = both_ways(remembering(BOTH), DynamicModel(ROBOT, TERMS), silent)
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one.sides, other.sides)
        assert_array_equal(one.present, other.present)
        assert not one.sides[:, 2].any()


def test_without_a_filter_nothing_is_remembered():
    assert remembering(None) == InverseDynamic()


def test_equations_that_are_kept_are_those_that_were_made(pieces):
    """Without the columns they have not; not at all where their columns are kept, or they would take too much."""
    run, model = Run(pieces), DynamicModel(ROBOT, TERMS)
    problem = Problem(model, (run,), InverseDynamic(BOTH))
    assert not problem.is_held
    made = [rows for _, rows in problem.rows()]
    assert problem.is_held
    kept = [rows for _, rows in problem.rows()]
    assert len(kept) == len(made) > 1
    for one, other in zip(kept, made, strict=True):
        assert_array_equal(one.sides, other.sides)
        assert_array_equal(one.time, other.time)
        assert (one.parameters, one.rate, one.bandwidth, one.notes) == (
            other.parameters,
            other.rate,
            other.bandwidth,
            other.notes,
        )
    on_trial = Problem(model, (run,), remembering(BOTH))
    assert_allclose(on_trial.compressed.rms, problem.compressed.rms, rtol=1e-12)
    assert not on_trial.is_held


def test_equations_of_a_run_alone_are_those_that_were_kept(pieces):
    """And as they were measured, whatever other runs weigh."""
    runs = tuple(Run((piece,), f"part {k}") for k, piece in enumerate(pieces))
    problem = Problem(DynamicModel(ROBOT, TERMS), runs, InverseDynamic(BOTH))
    assert problem.scales.shape == (2, ROBOT.n)
    assert problem.is_held
    for run in runs:
        alone = problem.alone(run)
        assert alone.is_held
        expected = [rows for _, rows in replace(problem, runs=(run,)).rows()]
        for found in (list(problem.made(run)), list(alone.made(run))):
            assert_array_equal(Rows.join(found).sides, Rows.join(expected).sides)
    assert not problem.alone(replace(runs[0], name="another")).is_held


def test_equations_that_would_take_too_much_are_made_again(pieces, monkeypatch):
    monkeypatch.setattr("exciter.identification.information.problem.HELD_ROWS_BYTES", 10_000)
    problem = Problem(DynamicModel(ROBOT, TERMS), (Run(pieces),), InverseDynamic(BOTH))
    first, second = ([rows.sides for _, rows in problem.rows()] for _ in range(2))
    assert not problem.is_held
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one, other)
