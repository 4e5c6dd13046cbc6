"""Logs of robots that are known exactly, by other code than the package's: Pinocchio for rigid bodies, NumPy beside.

Nothing here is of ``exciter``: a robot is given by its joints (rotation, translation, axis, inertia, limits), so that
an error of the package's own dynamics, friction or virtual robot shows as a difference and is not on both sides.

Torque of the motors on the joint side; q: of the links, q_m: of the motors, where encoders are; K: stiffness of gears:

    τ_l = rnea(q, q̇, q̈),  q_m = q + τ_l / K,
    τ = τ_l + Ia q̈_m + Fv q̇_m + Fs (1 + s exp(−(q̇_m/v_s)²)) sgn q̇_m + offset + A sin(N q_m + φ)

The right model has 1/K = s = A = 0 and no delay: Coulomb, viscous, rotor inertia, offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

ENCODER_STEP_RAD = 2.0 * np.pi / 2**17  #: on the joint side
NOISE_TORQUE_SHARE = 0.02  #: σ of the torque noise, of the rms torque of the joint
COLOURED_NOISE_TIME_S = 0.015  #: time in which the correlation of coloured noise falls to 1/e
TORQUE_DELAY_S = 0.002  #: that the torque is logged later than the position, where the model is wrong
SAMPLE_RATE_HZ, SIMULATION_STEP_S = 250.0, 0.001  #: of a log; between instants of the simulation, the longest
LOG_DURATION_S, HELD_OUT_DURATION_S = 12.0, 8.0
MOTION_SINES, MOTION_BAND_HZ = 6, (0.1, 1.5)
WIDEST_MOTION_RAD = 2.0  #: to both sides of the middle, whatever the limits
MASS_ERROR, CENTRE_ERROR, SHAPE_ERROR = 0.2, 0.1, 0.1  #: of masses; of centres in gyration radii; of lengths of a body
CONDITIONS = ("white", "coloured", "wrong")
RIGHT_CONDITIONS = CONDITIONS[:2]


@dataclass(frozen=True, eq=False)
class Sines:
    """q = centre + Σ_k a_k sin(ω_k t + φ_k); a, ω, φ (n, K)."""

    centre: np.ndarray
    amplitude: np.ndarray
    omega: np.ndarray
    phase: np.ndarray

    @classmethod
    def random(cls, joints: Sequence[Any], rng: np.random.Generator, duration: float) -> Sines:
        """Each joint up to a drawn share of its range, speed or acceleration, whichever comes first; sines of about the
        same acceleration, so that slow ones move far and fast ones excite inertias."""
        n, time = len(joints), np.arange(0.0, duration, 0.01)
        low, high = np.log(MOTION_BAND_HZ)
        omega = 2.0 * np.pi * np.exp(rng.uniform(low, high, (n, MOTION_SINES)))
        weight = rng.uniform(0.3, 1.0, (n, MOTION_SINES)) / omega**2
        one = cls(np.zeros(n), weight, omega, rng.uniform(0.0, 2.0 * np.pi, (n, MOTION_SINES)))
        lower, upper, speed, acceleration = np.array(
            [[j.limits.lower, j.limits.upper, j.limits.velocity, j.limits.acceleration] for j in joints]
        ).T
        half = np.minimum(0.5 * (upper - lower), WIDEST_MOTION_RAD)
        part = rng.uniform([[0.7], [0.5], [0.5]], [[0.95], [0.9], [0.9]], (3, n))
        most = part * np.array([half, speed, acceleration])
        reached = np.array([np.abs(x).max(axis=0) for x in one.at(time)])
        scale = (most / reached).min(axis=0)
        room = half - scale * reached[0]
        centre = 0.5 * (lower + upper) + rng.uniform(-1.0, 1.0, n) * room
        return replace(one, centre=centre, amplitude=weight * scale[:, None])

    def at(self, time: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, q̇, q̈ (N, n)."""
        angle = time[:, None, None] * self.omega + self.phase
        sine, cosine = self.amplitude * np.sin(angle), self.amplitude * np.cos(angle)
        return self.centre + sine.sum(axis=2), (self.omega * cosine).sum(axis=2), -(self.omega**2 * sine).sum(axis=2)


@dataclass(frozen=True, eq=False)
class TrueRobot:
    """inertias (n, 10) in joint frames, Pinocchio's order; all else (n,), see above; compliance: 1/K [rad/N·m]."""

    joints: tuple[Any, ...]
    gravity: np.ndarray
    inertias: np.ndarray
    rotor: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    offset: np.ndarray
    compliance: np.ndarray
    stribeck: np.ndarray
    stribeck_speed: np.ndarray
    ripple: np.ndarray
    ripple_number: np.ndarray
    ripple_phase: np.ndarray

    @classmethod
    def random(cls, joints: Sequence[Any], gravity: np.ndarray, rng: np.random.Generator) -> TrueRobot:
        """Of which the joints are a believable description; sizes of friction follow the limits of the drives. The
        model that is identified is right."""
        n, zero = len(joints), np.zeros(len(joints))
        torque, speed, pace = np.array([[j.limits.torque, j.limits.velocity, j.limits.acceleration] for j in joints]).T
        return cls(
            joints=tuple(joints),
            gravity=np.array(gravity, dtype=float),
            inertias=np.array([another_body(j.inertia, rng) for j in joints]),
            rotor=torque / pace * rng.uniform(0.03, 0.08, n),
            viscous=torque / speed * rng.uniform(0.03, 0.1, n),
            coulomb=torque * rng.uniform(0.02, 0.05, n),
            offset=torque * rng.uniform(-0.01, 0.01, n),
            **dict.fromkeys(("compliance", "stribeck", "ripple", "ripple_phase"), zero),
            **dict.fromkeys(("stribeck_speed", "ripple_number"), zero + 1.0),
        )

    def beyond_the_model(self, size: np.ndarray, rng: np.random.Generator) -> TrueRobot:
        """With what the model lacks; size (n,): rms torque of the joints [N·m]."""
        n = len(self.joints)
        return replace(
            self,
            compliance=np.exp(rng.uniform(*np.log((0.3e-3, 2e-3)), n)) / size,
            stribeck=rng.uniform(0.3, 0.5, n),
            stribeck_speed=rng.uniform(0.05, 0.1, n),
            ripple=size * rng.uniform(0.02, 0.04, n) * np.sqrt(2.0),
            ripple_number=rng.integers(80, 121, n).astype(float),
            ripple_phase=rng.uniform(0.0, 2.0 * np.pi, n),
        )

    def moved(self, sines: Sines, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions (N, n) of the encoders, and torque (N, n), at even instants."""
        q, qd, qdd = sines.at(time)
        link = inverse_dynamics(rigid_bodies(self.joints, self.inertias, self.gravity), q, qd, qdd)
        if self.compliance.any():
            bent = CubicSpline(time, link * self.compliance)
            q, qd, qdd = q + bent(time), qd + bent(time, 1), qdd + bent(time, 2)
        dry = 1.0 + self.stribeck * np.exp(-((qd / self.stribeck_speed) ** 2))
        drive = self.rotor * qdd + self.viscous * qd + self.coulomb * dry * np.sign(qd) + self.offset
        return q, link + drive + self.ripple * np.sin(self.ripple_number * q + self.ripple_phase)


def another_body(phi: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(10,) of a body that the description (10,) could be of: another mass, centre and distribution of mass. Any
    positive semidefinite Σ = ∫ r rᵀ dm about the centre is a body; Σ → A Σ Aᵀ keeps it one."""
    body = pin.Inertia.FromDynamicParameters(np.asarray(phi))
    mass, inertia = body.mass, np.array(body.inertia)
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    gyration = np.sqrt(max(np.trace(second), 0.0) / mass)
    stretch = np.eye(3) + SHAPE_ERROR * rng.uniform(-1.0, 1.0, (3, 3))
    more = 1.0 + MASS_ERROR * rng.uniform(-1.0, 1.0)
    second = more * stretch @ second @ stretch.T
    centre = np.array(body.lever) + CENTRE_ERROR * gyration * rng.uniform(-1.0, 1.0, 3)
    return np.array(pin.Inertia(more * mass, centre, np.trace(second) * np.eye(3) - second).toDynamicParameters())


def rigid_bodies(joints: Sequence[Any], inertias: np.ndarray, gravity: np.ndarray) -> Any:
    """Pinocchio's model of revolute joints, parents before children."""
    model, ids = pin.Model(), {-1: 0}
    model.gravity.linear = np.asarray(gravity, dtype=float)
    for k, (joint, phi) in enumerate(zip(joints, inertias, strict=True)):
        placement = pin.SE3(np.array(joint.rotation), np.array(joint.translation))
        turning = pin.JointModelRevoluteUnaligned(np.array(joint.axis))
        ids[k] = model.addJoint(ids[joint.parent], turning, placement, joint.name)
        model.appendBodyToJoint(ids[k], pin.Inertia.FromDynamicParameters(np.array(phi)), pin.SE3.Identity())
    return model


def inverse_dynamics(model: Any, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    data = model.createData()
    return np.array([pin.rnea(model, data, *row) for row in zip(q, qd, qdd, strict=True)])


@dataclass(frozen=True, eq=False)
class SimulatedLog:
    """truth: that moved, with what the model lacks where it is wrong. time (N,), q and torque (N, n): as logged;
    held_time, held_q, held_torque: other motion, encoders without steps, torque without noise and delay."""

    truth: TrueRobot
    sines: Sines
    time: np.ndarray
    q: np.ndarray
    torque: np.ndarray
    held_time: np.ndarray
    held_q: np.ndarray
    held_torque: np.ndarray

    @classmethod
    def of(
        cls,
        joints: Sequence[Any],
        gravity: np.ndarray,
        condition: str,
        seed: Sequence[int],
        duration: float = LOG_DURATION_S,
        rate: float = SAMPLE_RATE_HZ,
    ) -> SimulatedLog:
        """A robot, its motions and its noise. duration [s], rate [Hz]: of the log."""
        rng = np.random.default_rng(list(seed))
        truth = TrueRobot.random(joints, gravity, rng)
        sines, other = (Sines.random(joints, rng, length) for length in (duration, HELD_OUT_DURATION_S))
        coarse = np.arange(0.0, duration, 0.02)
        size = np.sqrt((truth.moved(sines, coarse)[1] ** 2).mean(axis=0))
        wrong = condition not in RIGHT_CONDITIONS
        if wrong:
            truth = truth.beyond_the_model(size, rng)
        step = int(np.ceil(1.0 / (rate * SIMULATION_STEP_S))) if wrong else 1  # instants per sample
        late = int(np.rint(TORQUE_DELAY_S * rate * step)) if wrong else 0
        fine = np.arange(-late, int(duration * rate) * step) / (rate * step)
        q, torque = truth.moved(sines, fine)
        kept = np.arange(late, len(fine), step)
        slow = COLOURED_NOISE_TIME_S * rate if condition == "coloured" else 0.0
        noise = size * NOISE_TORQUE_SHARE * unit_noise((len(kept), len(size)), slow, rng)
        held = np.arange(int(HELD_OUT_DURATION_S * rate)) / rate
        held_q, held_torque = truth.moved(other, held)
        return cls(
            truth=truth,
            sines=sines,
            time=fine[kept],
            q=ENCODER_STEP_RAD * np.round(q[kept] / ENCODER_STEP_RAD),
            torque=torque[kept - late] + noise,
            held_time=held,
            held_q=held_q,
            held_torque=held_torque,
        )


def unit_noise(shape: tuple[int, int], slow: float, rng: np.random.Generator) -> np.ndarray:
    """(N, n) of variance one: x_k = ρ x_{k−1} + √(1 − ρ²) w_k with ρ = exp(−1/slow), slow in samples; 0: white."""
    white = rng.standard_normal(shape)
    if not slow:
        return white
    rho = np.exp(-1.0 / slow)
    noise = np.empty(shape)
    noise[0] = white[0]
    for k in range(1, len(noise)):
        noise[k] = rho * noise[k - 1] + np.sqrt(1.0 - rho**2) * white[k]
    return noise


def random_arm(seed: int, axes: int = 4) -> str:
    """URDF of a serial arm: links of 0.15 to 0.4 m, axes anyhow, bodies of solid boxes along the links."""
    rng = np.random.default_rng([seed, axes])
    length, mass = rng.uniform(0.15, 0.4, axes), np.sort(rng.uniform(1.5, 9.0, axes))[::-1]
    parts, numbers = ['<robot name="random-arm"><link name="link_0"/>'], lambda x: " ".join(f"{v:.6f}" for v in x)
    for k in range(axes):
        axis = rng.standard_normal(3)
        rpy, sides = rng.uniform(-0.5 * np.pi, 0.5 * np.pi, 3), np.array([*rng.uniform(0.08, 0.15, 2), length[k]])
        centre = np.array([0.0, 0.0, 0.5 * length[k]]) + rng.uniform(-0.03, 0.03, 3)
        xx, yy, zz = mass[k] / 12.0 * ((sides**2).sum() - sides**2)
        effort = 1.5 * 9.81 * mass[k:].sum() * length[k:].sum()
        place = (0.0, 0.0, length[k - 1] if k else 0.2)
        parts += [
            f'<link name="link_{k + 1}"><inertial><origin xyz="{numbers(centre)}"/><mass value="{mass[k]:.6f}"/>'
            f'<inertia ixx="{xx:.9f}" ixy="0" ixz="0" iyy="{yy:.9f}" iyz="0" izz="{zz:.9f}"/></inertial></link>',
            f'<joint name="joint_{k + 1}" type="revolute"><parent link="link_{k}"/><child link="link_{k + 1}"/>'
            f'<origin xyz="{numbers(place)}" rpy="{numbers(rpy)}"/><axis xyz="{numbers(axis / np.linalg.norm(axis))}"/>'
            f'<limit lower="-2.6" upper="2.6" velocity="2.5" effort="{effort:.3f}"/></joint>',
        ]
    return "\n".join((*parts, "</robot>"))
