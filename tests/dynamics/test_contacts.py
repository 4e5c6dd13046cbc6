"""Contacts with the ground whose forces nobody measured: what is left of equations and of base parameters."""

from __future__ import annotations

import numpy as np
import pytest

import exciter as ex
from exciter.dynamics.contacts import GroundContact, contact_bias, contact_jacobian, standing_states, taken_off
from exciter.dynamics.dynamics import Dynamics
from exciter.errors import RobotError
from exciter.robot import Robot, load
from support.paths import ROBOTS

FEET = ("LF_foot", "RF_foot", "LH_foot", "RH_foot")


@pytest.fixture(scope="module")
def quadruped() -> Robot:
    return load(ROBOTS / "quadruped.urdf", base="free")


@pytest.mark.parametrize("radius", [0.0, 0.02])
def test_standing_states_do_not_slip(quadruped: Robot, radius: float) -> None:
    """J q̇ = 0, and stays so: J q̇ a moment later, of the motion that goes on with q̈."""
    dynamics, stance = Dynamics(quadruped), tuple(GroundContact(foot, "point", radius) for foot in FEET[:3])
    states = standing_states(dynamics, stance, 10)
    jacobian = contact_jacobian(dynamics, stance, states.q)
    np.testing.assert_allclose(np.einsum("Nmj,Nj->Nm", jacobian, states.qd), 0.0, atol=1e-9)
    step = 1e-6
    moved = [states.q + s * step * states.qd for s in (-1.0, 1.0)]
    change = np.diff([contact_jacobian(dynamics, stance, q) for q in moved], axis=0)[0] / (2.0 * step)
    bias = contact_bias(quadruped, stance, states.q, states.qd)
    np.testing.assert_allclose(np.einsum("Nmj,Nj->Nm", change, states.qd), bias, atol=1e-6)
    np.testing.assert_allclose(np.einsum("Nmj,Nj->Nm", jacobian, states.qdd) + bias, 0.0, atol=1e-8)


def test_taken_off_forces_leave_what_a_null_space_leaves(quadruped: Robot) -> None:
    """ΠᵀS⁻²Π = N (Nᵀ S² N)⁻¹ Nᵀ for any null space N of J, and the shares add up to its size."""
    dynamics, stance = Dynamics(quadruped), tuple(GroundContact(foot) for foot in FEET)
    q, noise = standing_states(dynamics, stance, 5).q, np.random.default_rng(5).uniform(0.1, 2.0, 18)
    forces = contact_jacobian(dynamics, stance, q).swapaxes(1, 2)
    left, projection = taken_off(np.tile(np.eye(18), (5, 1, 1)), forces, noise)
    np.testing.assert_allclose(left @ forces, 0.0, atol=1e-9)
    np.testing.assert_allclose(np.trace(projection), 18 - 12)
    scaled = left * noise / noise[:, None]
    np.testing.assert_allclose(projection, scaled.mean(axis=0), atol=1e-9)
    for k in range(5):
        null = np.linalg.svd(forces[k].T)[2][12:].T
        information = null @ np.linalg.inv(null.T @ np.diag(noise**2) @ null) @ null.T
        np.testing.assert_allclose(left[k].T @ np.diag(noise**-2.0) @ left[k], information, atol=1e-9)


def test_directions_that_are_combinations_of_others_take_nothing_more(quadruped: Robot) -> None:
    """At some instants only, as where a joint has no equation of its own and a foot pushes along it."""
    dynamics, stance = Dynamics(quadruped), tuple(GroundContact(foot) for foot in FEET[:2])
    q, noise = standing_states(dynamics, stance, 6).q, np.random.default_rng(6).uniform(0.1, 2.0, 18)
    sides = np.random.default_rng(7).standard_normal((6, 18, 9))
    forces = contact_jacobian(dynamics, stance, q).swapaxes(1, 2)
    doubled = np.concatenate([forces, np.where(np.arange(6)[:, None, None] % 2, 0.0, forces @ np.ones((6, 2)))], axis=2)
    for a, b in zip(taken_off(sides, forces, noise), taken_off(sides, doubled, noise), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_what_standing_hides_is_one_mass_at_every_pointed_foot(quadruped: Robot) -> None:
    whole = ex.DynamicModel(quadruped, (ex.Viscous(),))
    stance = tuple(GroundContact(foot) for foot in FEET)
    standing = ex.DynamicModel(quadruped, (ex.Viscous(),), stances=(stance,))
    assert len(whole.base) - len(standing.base) == 4
    lifted = ex.DynamicModel(quadruped, (ex.Viscous(),), stances=(stance, stance[1:]))
    assert len(whole.base) - len(lifted.base) == 3
    flying = ex.DynamicModel(quadruped, (ex.Viscous(),), stances=(stance, ()))
    assert flying.base.names == whole.base.names
    # a point mass at a foot that stands changes nothing that is left
    joint, frame = quadruped.index("LF_knee"), quadruped.frame("LF_foot")
    x, y, z = frame.translation
    point = np.array([1.0, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y])
    inertias = np.zeros((18, 10))
    inertias[joint] = point
    heavier = ex.DynamicModel(quadruped.with_inertias(inertias), (ex.Viscous(),))
    assert np.abs(standing.base.base_values(heavier.nominal)).max() < 1e-9
    assert np.abs(whole.base.base_values(heavier.nominal)).max() > 0.01


def test_contacts_at_no_frame_are_refused(quadruped: Robot) -> None:
    with pytest.raises(RobotError, match=r"a contact is at no frame: .*'LF_fot'.*LF_foot"):
        _ = ex.DynamicModel(quadruped, stances=((GroundContact("LF_fot"),),)).base
