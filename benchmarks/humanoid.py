"""A humanoid with a free base, identified by the command: on two flat feet with unknown forces, or in the air.

    python benchmarks/humanoid.py [--seconds 60] [--rate 500] [--flying] [--draws 1] [--keep FOLDER]

G1 of example-robot-data. Standing: the pelvis wriggles, arms and waist swing, legs follow so that the feet neither
slide nor turn; forces and moments of the ground are the least that carry it, and nobody measures them. --flying: the
pelvis is carried about and swings, and a sensor measures what holds it (a contact of the pelvis with measured force and
moment), so that all equations are used.
Torques are exact ones of a drawn robot (every number of a body off by some ten per cent, friction that no description
states), with noise on joints, torques, and place and attitude of the base. `exciter identify --base free`, automatic,
in a process of its own: seconds of the processor and peak memory; residual, consistency, base parameters that the log
shows, and how many of their 95 % intervals have the truth in them.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from importlib.metadata import files
from pathlib import Path

import numpy as np
from memory import MEGABYTE, measured
from quadruped import drawn

import exciter as ex
from exciter.dynamics.dynamics import Dynamics
from exciter.experiment.recording.base_sensing import Contacts
from exciter.experiment.recording.own_log_format import write_chunks
from exciter.experiment.virtual.standing import StandingNoise, Stood, least_forces, standing_motion
from exciter.robot.motion import Motion
from exciter.typing import Array

DESCRIPTION = "g1_29dof_rev_1_0.urdf"
FEET, PELVIS = ("left_ankle_roll_link", "right_ankle_roll_link"), "pelvis"
BENT = {"hip_pitch": -0.5, "knee": 1.0, "ankle_pitch": -0.5}  # [rad] of both legs
BASE_SIZES = (0.02, 0.02, 0.015, 0.06, 0.05, 0.05)  # [m, rad] of the wriggling, one σ
FLYING_SIZES = (0.15, 0.15, 0.15, 0.4, 0.4, 0.4)
SWING_SHARE = 0.15  # of a joint's range, one σ
PERIOD, HARMONICS = 10.0, 8  # [s] after which the motion repeats
TERMS = (ex.Viscous(), ex.Coulomb())
VISCOUS_SHARE, COULOMB_SHARE = 0.01, 0.02  # of a drive's torque, at 1 rad/s
NOISE = StandingNoise(position=2e-5, torque=0.1, place=1e-4, attitude=3e-4)


def robot() -> ex.Robot:
    found = [file for file in files("example-robot-data") or [] if file.name == DESCRIPTION]
    return ex.load(Path(str(found[0].locate())), base="free")


def posture(of: ex.Robot) -> Array:
    """Knees bent, elsewhere the middle of the range nearest to zero, the feet's frames at height zero."""
    q = np.zeros(of.n)
    for j, name in enumerate(of.joint_names):
        q[j] = next((angle for part, angle in BENT.items() if part in name), 0.0)
    q[2] = -Dynamics(of).placement(FEET[0], q[None])[1][0, 2]
    return q


def wriggling(of: ex.Robot, seconds: float, rate: float, seed: int, sizes: tuple[float, ...]) -> Motion:
    """Harmonics of every joint about the posture, with exact derivatives; within its range."""
    rng, time, start = np.random.default_rng(seed), np.arange(round(seconds * rate)) / rate, posture(of)
    omega = 2.0 * np.pi / PERIOD * np.arange(1, HARMONICS + 1)[:, None]
    low, high = of.position_range()
    size = SWING_SHARE * np.minimum(high - start, start - low)
    size[: len(sizes)] = sizes
    a, b = rng.standard_normal((2, HARMONICS, of.n)) * size / np.sqrt(HARMONICS)
    sine, cosine = np.sin(np.outer(time, omega)), np.cos(np.outer(time, omega))
    parts = sine @ a + cosine @ b, cosine @ (omega * a) - sine @ (omega * b), -sine @ (omega**2 * a)
    return Motion(time, parts[0] + start, parts[1], parts[2] - cosine @ (omega**2 * b))


def truth(of: ex.Robot, model: ex.DynamicModel, seed: int) -> Array:
    """χ of another robot: bodies drawn about those of the description, and friction."""
    rng = np.random.default_rng(seed)
    first = of.free_base[-1]  # the pelvis
    bodies = np.array([*of.inertias[:first], *map(drawn(rng), of.inertias[first:])])
    chi = replace(model, robot=of.with_inertias(bodies)).nominal.copy()
    for j, limit in enumerate(of.limit("torque")):
        for symbol, share in (("Fv", VISCOUS_SHARE), ("Fs", COULOMB_SHARE)):
            if (name := f"{symbol}{j + 1}") in model.standard:
                chi[model.standard.index(name)] = share * limit * rng.uniform(0.7, 1.3)
    return chi


def repeated(motion: Motion, periods: int) -> Motion:
    """One period, sampled evenly without its end, several times."""
    step = float(motion.time[1] - motion.time[0])
    parts = (np.tile(x, (periods, 1)) for x in (motion.q, motion.qd, motion.qdd))
    return Motion(step * np.arange(periods * len(motion)), *parts)


def log_of(of: ex.Robot, chi: Array, seconds: float, rate: float, seed: int, *, flying: bool) -> Stood:
    contacts = Contacts((PELVIS,) if flying else FEET, kind="flat", moments=flying)
    asked = wriggling(of, PERIOD, rate, seed, FLYING_SIZES if flying else BASE_SIZES)
    once = asked if flying else standing_motion(of, contacts.all, asked, posture(of))
    motion = repeated(once, round(seconds / PERIOD))
    model = ex.DynamicModel(of, TERMS)
    torque, forces = least_forces(model.dynamics, contacts.all, motion, model.torque(motion, chi))
    return Stood(of, contacts, motion, torque, forces, PERIOD)


def one(draw: int, seconds: float, rate: float, folder: Path, *, flying: bool) -> None:
    of = robot()
    chi = truth(of, ex.DynamicModel(of, TERMS), draw)
    log = log_of(of, chi, seconds, rate, draw, flying=flying)
    path, found = folder / f"log{draw}.csv", folder / f"found{draw}"
    write_chunks([log.recording(NOISE, draw, forces=flying)], path)
    description = next(str(file.locate()) for file in files("example-robot-data") or [] if file.name == DESCRIPTION)
    cost = measured("identify", description, str(path), "-o", str(found), "--base", "free", "-q")
    result = ex.open(found)
    problem, estimate = result.identification.problem, result.identification.estimate
    known = dict(zip(ex.DynamicModel(of, TERMS).standard, chi, strict=True))
    true = problem.base.base_values(np.array([known.get(name, 0.0) for name in problem.model.standard]))
    low, high = estimate.interval()
    inside, z = (low <= true) & (true <= high), (estimate.values - true) / estimate.std
    print(f"draw {draw}: identify {cost.processor:.1f} s of the processor, {cost.peak / MEGABYTE:.0f} MB", end="; ")
    print(f"residual {result.fit[0].total_percent:.2f} %, physically consistent: {result.physically_consistent}")
    share = f"{100 * inside.mean():.1f} %, median |z| {np.median(np.abs(z)):.2f}"
    print(f"    {len(true)} base parameters; 95 % intervals that have the truth: {share}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=500.0, help="[Hz] of the log")
    parser.add_argument("--flying", action="store_true")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder of logs and results; a temporary one unless given")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for draw in range(given.draws):
            one(draw, given.seconds, given.rate, given.keep or Path(folder), flying=given.flying)


if __name__ == "__main__":
    main()
