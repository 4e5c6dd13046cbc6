"""A standing quadruped in MuJoCo, forces of the ground unknown: do intervals cover, what is left on other motion?

    python benchmarks/quadruped.py             # 50 draws of bodies, friction and noise
    python benchmarks/quadruped.py -n 5

Solo12 of the package example-robot-data stands on round feet while a controller wriggles its base by a smooth motion
(``exciter.experiment.virtual.standing``). Logged are positions and torques of the joints and the pose of the base, all
with noise; the identification knows which feet touch, and no force. Every draw is another robot: bodies and friction
drawn about the description. Printed beside what others report (see ``docs/robots.md``):

coverage: part of the base parameters whose 95 % interval has the truth in it, of all draws; by weighted least squares
with errors taken as correlated (as ``identify`` does) and as independent, and by the physically consistent estimate.
held-out: on motions not used, N·m of all joints together (root of summed squares): what is left of the equations, and
the torque itself, predicted with the forces that the simulator knows. legs: how far masses of the four legs differ,
which are one in this truth; physically consistent with a prior that cross-validation weighs, and least squares.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core each
    os.environ[variable] = "1"

import argparse
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import exciter as ex
from exciter.dynamics.contacts import contact_jacobian
from exciter.dynamics.dynamics import Dynamics
from exciter.experiment.recording.base_sensing import Contacts
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.virtual import draw
from exciter.experiment.virtual.standing import StandingNoise, StandingRobot, Stood, standing_motion, started
from exciter.experiment.virtual.true_parameters import TrueFriction, Truth
from exciter.identification.estimators.physical import AUTO, Prior
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.limbs import limb_spreads
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import with_correlated_errors
from exciter.typing import Array

FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
CONTACTS = Contacts(FEET, radius=0.016)
TERMS = (ex.Viscous(), ex.Coulomb())
VISCOUS, COULOMB = 0.02, 0.02  # [N·m·s/rad], [N·m] about which friction is drawn
RATE, SECONDS, LEAD_IN = 200.0, 20.0, 1.0  # [Hz], [s], [s]
SIZES = np.array([0.025, 0.025, 0.02, 0.15, 0.12, 0.15])  # [m, rad] of the wriggling
NOISE = StandingNoise(position=1e-4, torque=0.02, place=1e-4, attitude=3e-4)
CUTOFF, DEAD_ZONE = 8.0, 0.03  # [Hz], [rad/s]
DRAWN_MOTIONS = 5
ALIKE_FACTORS = (1.12, 0.9, 1.15)  # of hips, thighs and shanks, to the description's inertias
ANCHORS = """what others report (docs/robots.md): simulated Solo12, torque error 0.40 / 0.65 / 0.71 N·m (validation /
trot / jump); identical legs 4.5–12.7 % apart (bounded), 14–92 % (plain least squares); conic program 3.8 s"""


@cache
def robot() -> ex.Robot:
    from importlib.metadata import files

    found = [file for file in files("example-robot-data") or [] if file.name == "solo12.urdf"]
    return ex.load(Path(str(found[0].locate())), base="free")


@cache
def posture() -> Array:
    q = np.zeros(robot().n)
    q[6:] = [0.0, 0.75, -1.5] * 2 + [0.0, -0.75, 1.5] * 2
    q[2] = CONTACTS.radius - Dynamics(robot()).placement(FEET[0], q[None])[1][0, 2]
    return q


@cache
def wriggling(seed: int, faster: float = 1.0) -> ex.Motion:
    """Ten harmonics of 5 s for each of the base's six joints, after a second from rest; legs follow."""
    rng, time = np.random.default_rng(seed), np.arange(round((SECONDS + LEAD_IN) * RATE)) / RATE
    omega = 0.4 * np.pi * faster * np.arange(1, 11)
    a, b = rng.standard_normal((2, 10, 6)) * SIZES / np.sqrt(20.0)
    sine, cosine = np.sin(np.outer(time, omega)), np.cos(np.outer(time, omega))
    w = omega[:, None]
    parts = (sine @ a + cosine @ b, cosine @ (w * a) - sine @ (w * b), -sine @ (w**2 * a) - cosine @ (w**2 * b))
    base = started(ex.Motion(time, *parts), posture()[:6], LEAD_IN)
    return standing_motion(robot(), CONTACTS.all, base, posture())


def truth(seed: int | None) -> tuple[Truth, dict[str, float]]:
    """Drawn; for None legs that are alike, but none of the description's; and its friction by name."""
    rng, n = np.random.default_rng(seed), robot().n
    alike = robot().with_inertias(robot().inertias * np.array([*[1.08] * 6, *ALIKE_FACTORS * 4])[:, None])
    bodies = alike if seed is None else draw(robot(), seed).robot
    factor = np.ones((2, n)) if seed is None else np.exp(0.3 * rng.standard_normal((2, n)))
    factor[:, :6] = 0.0
    friction = TrueFriction(viscous=tuple(VISCOUS * factor[0]), coulomb=tuple(COULOMB * factor[1]))
    known = {f"Fv{j + 1}": VISCOUS * factor[0, j] for j in range(6, n)}
    known |= {f"Fs{j + 1}": COULOMB * factor[1, j] for j in range(6, n)}
    return Truth(bodies, friction=friction), known


def stood(seed: int | None, motion: int, faster: float = 1.0) -> Stood:
    whole = StandingRobot(truth(seed)[0], CONTACTS).stand(wriggling(motion, faster), robot())
    return whole.between(LEAD_IN, LEAD_IN + SECONDS)


def run_of(log: Stood, seed: int) -> Run:
    return Run.of(log.recording(NOISE, seed).arranged(robot()), FilteredDifferences(cutoff=CUTOFF))


def true_chi(model: ex.DynamicModel, seed: int | None) -> Array:
    real, friction = truth(seed)
    chi = replace(model, robot=real.robot).nominal.copy()
    for k, name in enumerate(model.standard):
        chi[k] = friction.get(name, chi[k])
    return chi


def problem_of(run: Run, formulation: InverseDynamic) -> Problem:
    return Problem(ex.DynamicModel(robot(), TERMS), (run,), formulation)


def covered(values: Array, covariance: Array, true: Array) -> Array:
    return np.abs(values - true) < 1.96 * np.sqrt(np.diag(covariance))


def held_out(problem: Problem, values: Array, log: Stood, seed: int) -> tuple[float, float]:
    """[N·m] of all joints: what is left of torques beside forces that explain them best, noise included; and of torques
    with the forces that the simulator knows, without any noise."""
    run, joints = run_of(log, seed), slice(6, None)
    plain = replace(problem.projecting, parallel_filter=None, dead_zone=0.0)
    other = replace(problem, runs=(run,), formulation=plain)
    squares = other.measured.squares(values).sum(axis=0)[joints].sum()
    left = float(np.sqrt(squares / sum(map(len, run.parts))))
    model, motion = problem.model, log.motion
    forces = np.einsum("Nmj,Nm->Nj", contact_jacobian(model.dynamics, CONTACTS.all, motion.q), log.forces)
    chi = np.zeros(len(model.standard))
    chi[problem.base.independent] = values
    error = (model.torque(motion, chi) - forces - log.torque)[:, joints]
    return left, float(np.sqrt((error**2).mean(axis=0).sum()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--draws", type=int, default=50)
    asked = parser.parse_args()
    formulation = InverseDynamic(ParallelFilter(), dead_zone=DEAD_ZONE)
    print(ANCHORS)

    clock = time.perf_counter()
    run = run_of(stood(None, 0), 0)
    problem = problem_of(run, formulation)
    free = ex.WeightedLeastSquares().estimate(problem)
    plain = time.perf_counter() - clock
    clock = time.perf_counter()
    consistent = ex.PhysicallyConsistent(prior=Prior(weight=AUTO)).estimate(problem)
    seconds = time.perf_counter() - clock
    whole = len(ex.DynamicModel(robot(), TERMS).base)
    print(f"\nSolo12, {SECONDS:g} s at {RATE:g} Hz: {len(problem.names)} of {whole} base parameters are left")
    print(f"simulation, equations and wls {plain:.1f} s, consistent, weight by cross-validation, {seconds:.1f} s")
    for name, faster in (("another motion", 1.0), ("a quarter faster", 1.25)):
        log = stood(None, 100, faster)
        for word, values in (("wls", free.values), ("consistent", consistent.values)):
            left, torque = held_out(problem, values, log, 100)
            text = f"{left:.3f} N·m beside the best forces, {torque:.3f} N·m beside the true ones"
            print(f"held-out, {name}, {word}: {text}")
        total = np.sqrt((log.torque[:, 6:] ** 2).mean(axis=0).sum())
        print(f"held-out, {name}: torques themselves are {total:.2f} N·m")
    (spread,) = limb_spreads(problem.model, consistent.standard)
    described = robot().inertias[6:, 0].reshape(4, 3).mean(axis=0)
    off = spread.mass.mean(axis=0) / (described * ALIKE_FACTORS) - 1.0
    print(
        "hips, thighs, shanks, consistent: masses differ by",
        ", ".join(f"{100 * x:.1f} %" for x in spread.spread),
        end="",
    )
    print(", their means are off by", ", ".join(f"{100 * x:+.1f} %" for x in off))
    base = dict(zip(problem.names, free.values, strict=True))
    legs = np.array([[base[f"MXR{j}" if f"MXR{j}" in base else f"MX{j}"] for j in (8, 11, 14, 17)]])
    print(f"legs, wls: first moments of the thighs differ by {100 * np.ptp(legs) / np.abs(legs).mean():.1f} %")

    known, inside = problem.projecting, {"wls, correlated errors": [], "wls, independent errors": [], "consistent": []}
    clock = time.perf_counter()
    for k in range(asked.draws):
        one = problem_of(run_of(stood(k, k % DRAWN_MOTIONS), k), known)
        true = one.base.base_values(true_chi(one.model, k))
        found = ex.WeightedLeastSquares().estimate(one)
        honest = with_correlated_errors(one, found)
        inside["wls, correlated errors"].append(covered(honest.values, honest.covariance, true))
        inside["wls, independent errors"].append(covered(found.values, found.covariance, true))
        bounded = ex.PhysicallyConsistent().estimate(one)
        inside["consistent"].append(covered(bounded.values, bounded.covariance, true))
    print(
        f"\n{asked.draws} draws of bodies, friction and noise, {(time.perf_counter() - clock) / asked.draws:.1f} s each"
    )
    for word, some in inside.items():
        each = np.mean(some, axis=1)
        print(
            f"coverage, {word}: {100 * np.mean(some):.1f} % (draws {100 * each.min():.0f} … {100 * each.max():.0f} %)"
        )


if __name__ == "__main__":
    main()
