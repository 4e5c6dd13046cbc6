"""Dry friction of many joints at once: the one solution of its conditions, however light and heavy links are mixed."""

from __future__ import annotations

import numpy as np
import pytest

from exciter.dynamics.kernels.cache import kernels
from exciter.experiment.virtual.reduced_plant import VIRTUAL_KERNELS
from exciter.typing import Array

STEP = 1e-3  # [s]


def accelerated(mass: Array, free: Array, qd: Array, bound: Array, going: Array) -> tuple[Array, Array]:
    """q̈ and friction; going: the guess, and what was found."""
    friction, qdd = np.full((2, len(qd)), np.nan)
    assert kernels("dry_friction", VIRTUAL_KERNELS).accelerated(mass, free, qd, bound, STEP, going, friction, qdd)
    return qdd, friction


def swept(mass: Array, free: Array, qd: Array, bound: Array) -> tuple[Array, Array]:
    """The same by a method of its own, joint after joint until nothing changes (projected Gauss and Seidel)."""
    inverse, friction = np.linalg.inv(mass), bound * np.sign(qd)
    for _ in range(100_000):
        before = friction.copy()
        for j in np.flatnonzero(bound):
            ahead = inverse[j] @ (free - friction) + qd[j] / STEP
            friction[j] = np.clip(friction[j] + ahead / inverse[j, j], -bound[j], bound[j])
        if np.abs(friction - before).max() < 1e-14 * bound.max():
            return np.linalg.solve(mass, free - friction), friction
    raise AssertionError("not settled")


def drawn(rng: np.random.Generator, joints: int, spread: float) -> tuple[Array, Array, Array, Array]:
    """M whose links weigh 1 … 1/spread, forces, velocities slow enough to stop or not, and bounds, one of them zero."""
    root = np.tril(rng.standard_normal((joints, joints))) / joints**0.5 + np.eye(joints)
    root *= np.geomspace(1.0, spread**-0.5, joints)[:, None]
    mass = root @ root.T
    heavy = np.diag(mass)
    qd = rng.choice([0.0, STEP, 30.0 * STEP], joints) * rng.standard_normal(joints)
    bound = heavy * rng.uniform(0.2, 2.0, joints)
    bound[rng.integers(joints)] = 0.0
    return mass, heavy * rng.standard_normal(joints), qd, bound


def test_agrees_with_sweeps_that_settle() -> None:
    rng, resting = np.random.default_rng(0), 0
    for _ in range(30):
        mass, free, qd, bound = drawn(rng, 5, 10.0)
        qdd, friction = accelerated(mass, free, qd, bound, going := np.zeros(5, np.int8))
        expected = swept(mass, free, qd, bound)
        np.testing.assert_allclose(qdd, expected[0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(friction, expected[1], atol=1e-8 * bound.max())
        resting += int((going == 0).sum())
    assert 20 < resting < 130  # of 150: some rest and some do not


@pytest.mark.parametrize("guess", [0, 1])
def test_every_joint_slips_against_its_bound_or_rests(guess: int) -> None:
    """The conditions themselves, of 32 joints whose links weigh a thousandth of each other."""
    rng, resting = np.random.default_rng(1), 0
    for _ in range(200):
        mass, free, qd, bound = drawn(rng, 32, 1e3)
        qdd, friction = accelerated(mass, free, qd, bound, np.full(32, guess, np.int8))
        scale = np.abs(mass) @ np.abs(qdd) + np.abs(free) + bound
        np.testing.assert_allclose((mass @ qdd + friction - free) / scale, 0.0, atol=1e-12)
        ahead, within = qdd + qd / STEP, np.abs(friction) < bound
        np.testing.assert_allclose(ahead[within] / np.abs(qdd).max(), 0.0, atol=1e-12)
        assert (np.abs(friction) <= bound).all()
        assert (ahead * friction >= 0.0)[~within].all()
        resting += int(within.sum())
    assert 1000 < resting < 5000  # of 6400


def test_a_matrix_that_no_robot_has_is_refused() -> None:
    none, mass = np.zeros(2), np.diag([1.0, -1.0])
    compiled = kernels("dry_friction", VIRTUAL_KERNELS)
    assert not compiled.accelerated(mass, none, none, none, STEP, np.ones(2, np.int8), none.copy(), none.copy())
