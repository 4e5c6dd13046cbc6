"""A standing quadruped in MuJoCo, forces of the ground unknown: do intervals cover, what is left on other motion?

    python benchmarks/quadruped.py             # 50 draws of bodies, friction and noise
    python benchmarks/quadruped.py -n 5 --rate 500 --noise 0.5

Solo12 of the package example-robot-data stands on round feet while a controller wriggles its base by a smooth
motion (``exciter.experiment.virtual.standing``). Logged are positions and torques of the joints and the pose of the
base, all with noise; the identification knows which feet touch, and no force. Cut-off of positions, filter of the
equations and standard deviations are those of ``exciter identify`` where nothing is said of them. Every draw is another
robot: bodies off the description by 10 % of their size along each of its own axes (one σ), as a prior of the weight 100
says, and friction. Beside these, some bodies as ``exciter simulate`` draws them, which that prior does not describe:
one factor for all numbers of a body (10 %), its mass moved, stretched and sheared by half as much. Printed beside what
others report (see ``docs/robots.md``):

coverage: part of the parameters whose 95 % interval (Student) has the truth in it, of all draws, by kind; ± is the
standard error, from draw to draw: parameters of one robot err together; z is (value − truth)/σ. Base parameters by
weighted least squares, by the physically consistent estimate without a prior,
which has the same intervals, and with one, whose share is counted; masses of single links by the latter alone: torques
do not tell them (``identification.link_masses``). held-out: on motions not used, N·m of all joints together (root of
summed squares): what is left of the equations, and the torque itself, predicted with the forces that the simulator
knows. legs: how far masses of the four legs differ, which are one in this truth; with a prior that cross-validation
weighs, and least squares.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core each
    os.environ[variable] = "1"

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import exciter as ex
from exciter.dynamics.contacts import contact_jacobian
from exciter.dynamics.dynamics import Dynamics
from exciter.experiment.recording.base_sensing import Contacts
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual.standing import (
    StandingControl,
    StandingNoise,
    StandingRobot,
    Stood,
    standing_motion,
    started,
)
from exciter.experiment.virtual.true_parameters import TrueFriction, Truth, draw
from exciter.identification.estimators.physical import AUTO, Prior
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.limbs import limb_spreads
from exciter.identification.link_masses import link_masses
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors
from exciter.pipeline.counted_uncertainty import covariance_of
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia
from exciter.typing import Array


@dataclass(frozen=True)
class Animal:
    """feet, their radius [m]; posture of a leg [rad], front and hind; friction [N·m·s/rad, N·m] about which it is
    drawn; sizes [m, rad] of the wriggling of the base, with which all feet stay where they are."""

    file: str
    feet: tuple[str, ...]
    radius: float
    front: tuple[float, ...]
    hind: tuple[float, ...]
    viscous: float
    coulomb: float
    sizes: tuple[float, ...]
    control: StandingControl
    noise: StandingNoise


SOLO12 = Animal(
    "solo12.urdf",
    ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
    0.016,
    (0.0, 0.75, -1.5),
    (0.0, -0.75, 1.5),
    0.02,
    0.02,
    (0.0125, 0.0125, 0.01, 0.075, 0.06, 0.075),
    StandingControl(),
    StandingNoise(position=1e-4, torque=0.02, place=1e-4, attitude=3e-4),
)
CHOSEN = {"rate": 200.0, "noise": 1.0}
TERMS = (ex.Viscous(), ex.Coulomb())
SECONDS, LEAD_IN = 20.0, 1.0  # [s]
DEAD_ZONE = 0.03  # [rad/s]
DRAWN_MOTIONS = 5
BODY_SPREAD = 0.1  # one σ of every number of a body, relative to its size
LEAST_BODY_EIGENVALUE = 0.3  # of a drawn body, over the description's: so that it is one
FRICTION_SPREAD = 0.3
ALIKE_FACTORS = (1.12, 0.9, 1.15)  # of hips, thighs and shanks, to the description's inertias
KINDS = ("masses", "first moments", "inertias", "friction")
ANCHORS = """what others report (docs/robots.md): simulated Solo12, torque error 0.40 / 0.65 / 0.71 N·m (validation /
trot / jump); identical legs 4.5–12.7 % apart (bounded), 14–92 % (plain least squares); conic program 3.8 s"""


def contacts() -> Contacts:
    return Contacts(SOLO12.feet, radius=SOLO12.radius)


def noise() -> StandingNoise:
    given, times = SOLO12.noise, CHOSEN["noise"]
    return StandingNoise(**{name: times * getattr(given, name) for name in ("position", "torque", "place", "attitude")})


@cache
def robot() -> ex.Robot:
    from importlib.metadata import files

    found = [file for file in files("example-robot-data") or [] if file.name == SOLO12.file]
    return ex.load(Path(str(found[0].locate())), base="free")


@cache
def posture() -> Array:
    q = np.zeros(robot().n)
    front = [robot().parents[robot().parents[robot().frame(foot).joint]] for foot in SOLO12.feet]
    for k, hip in enumerate(front):
        q[hip : hip + 3] = SOLO12.front if k < 2 else SOLO12.hind
    q[2] = SOLO12.radius - Dynamics(robot()).placement(SOLO12.feet[0], q[None])[1][0, 2]
    return q


@cache
def wriggling(seed: int, faster: float = 1.0) -> ex.Motion:
    """Ten harmonics of 5 s for each of the base's six joints, after a second from rest; legs follow."""
    rng, rate = np.random.default_rng(seed), CHOSEN["rate"]
    time = np.arange(round((SECONDS + LEAD_IN) * rate)) / rate
    omega = 0.4 * np.pi * faster * np.arange(1, 11)
    a, b = rng.standard_normal((2, 10, 6)) * np.array(SOLO12.sizes) / np.sqrt(20.0)
    sine, cosine = np.sin(np.outer(time, omega)), np.cos(np.outer(time, omega))
    w = omega[:, None]
    parts = (sine @ a + cosine @ b, cosine @ (w * a) - sine @ (w * b), -sine @ (w**2 * a) - cosine @ (w**2 * b))
    base = started(ex.Motion(time, *parts), posture()[:6], LEAD_IN)
    return standing_motion(robot(), contacts().all, base, posture())


def truth(seed: int | None, other: bool = False) -> tuple[Truth, dict[str, float]]:
    """Drawn as the prior says, or as ``exciter simulate`` does (other); for None legs that are alike, but none of the
    description's; and its friction by name."""
    rng, n = np.random.default_rng(seed), robot().n
    alike = robot().with_inertias(robot().inertias * np.array([*[1.08] * 6, *ALIKE_FACTORS * 4])[:, None])
    described = robot().inertias
    another = robot().with_inertias(np.array([*described[:5], *map(drawn(rng), described[5:])]))
    bodies = alike if seed is None else draw(robot(), seed).robot if other else another
    factor = np.ones((2, n)) if seed is None else np.exp(FRICTION_SPREAD * rng.standard_normal((2, n)))
    factor[:, :6] = 0.0
    friction = TrueFriction(viscous=tuple(SOLO12.viscous * factor[0]), coulomb=tuple(SOLO12.coulomb * factor[1]))
    known = {f"Fv{j + 1}": SOLO12.viscous * factor[0, j] for j in range(6, n)}
    known |= {f"Fs{j + 1}": SOLO12.coulomb * factor[1, j] for j in range(6, n)}
    return Truth(bodies, friction=friction), known


def drawn(rng: np.random.Generator) -> Callable[[Array], Array]:
    """Of a body (10,) another: L (1 + E) Lᵀ of its pseudo-inertia L Lᵀ, E symmetric at random."""

    def one(phi: Array) -> Array:
        lower = np.linalg.cholesky(pseudo_inertia(phi))
        while True:
            change = BODY_SPREAD * rng.standard_normal((4, 4))
            whole = np.eye(4) + 0.5 * (change + change.T)  # numbers beside the diagonal less by √2, as of the metric
            if np.linalg.eigvalsh(whole)[0] > LEAST_BODY_EIGENVALUE:
                return from_pseudo_inertia(lower @ whole @ lower.T)

    return one


def stood(seed: int | None, motion: int, faster: float = 1.0, other: bool = False) -> Stood:
    standing = StandingRobot(truth(seed, other)[0], contacts(), SOLO12.control)
    whole = standing.stand(wriggling(motion, faster), robot())
    return whole.between(LEAD_IN, LEAD_IN + SECONDS)


def run_of(log: Stood, seed: int) -> Run:
    return Run.of(log.recording(noise(), seed).arranged(robot()), FilteredDifferences())


def true_chi(model: ex.DynamicModel, seed: int | None, other: bool = False) -> Array:
    real, friction = truth(seed, other)
    chi = replace(model, robot=real.robot).nominal.copy()
    for k, name in enumerate(model.standard):
        chi[k] = friction.get(name, chi[k])
    return chi


def problem_of(run: Run) -> Problem:
    filtered = ParallelFilter(Butterworth(min(part.position_bandwidth for part in run.parts)))
    return Problem(ex.DynamicModel(robot(), TERMS), (run,), InverseDynamic(filtered, dead_zone=DEAD_ZONE))


def kind(name: str) -> str:
    if name.startswith("F"):
        return "friction"
    letters = name.rstrip("0123456789").removesuffix("R")
    return {"M": "masses", "MX": "first moments", "MY": "first moments", "MZ": "first moments"}.get(letters, "inertias")


@dataclass(frozen=True, eq=False)
class Judged:
    """name of the intervals; kinds of the parameters, z and whether their interval has the truth, of one draw."""

    name: str
    kinds: tuple[str, ...]
    z: Array
    inside: Array


def judged_draw(seed: int, other: bool = False) -> Iterator[Judged]:
    log = stood(seed, seed % DRAWN_MOTIONS, other=other)
    problem = problem_of(run_of(log, seed))
    chi = true_chi(problem.model, seed, other)
    true, kinds = problem.base.base_values(chi), tuple(map(kind, problem.names))

    def of(name: str, found: ex.Estimate) -> Judged:
        low, high = found.interval()
        return Judged(name, kinds, (found.values - true) / found.std, (low <= true) & (true <= high))

    if not other:  # where there is no prior, it does not matter how bodies are drawn
        free, bounded = ex.WeightedLeastSquares(), ex.PhysicallyConsistent()
        honest = covariance_of(free, StationaryErrors())(problem, free.estimate(problem))
        yield of("wls", honest)
        known = bounded.estimate(problem)
        yield of("consistent", replace(known, covariance=honest.covariance, freedom=honest.freedom))
    how = ", other bodies" if other else ""
    prior = Prior(weight=BODY_SPREAD**-2)
    pulled = ex.PhysicallyConsistent(prior=prior)
    found = covariance_of(pulled, StationaryErrors())(problem, pulled.estimate(problem))
    yield of(f"consistent, prior of 10 %{how}", found)
    masses = link_masses(problem, found, prior)
    assert masses is not None
    real, bodies, (low, high) = chi[: problem.model.inertial_size : 10], slice(5, None), masses.interval()
    z, inside = (masses.mass - real) / np.maximum(masses.std, 1e-300), (low <= real) & (real <= high)
    yield Judged(f"masses of links, prior of 10 %{how}", ("masses",) * len(z[bodies]), z[bodies], inside[bodies])


def print_coverage(found: list[Judged]) -> None:
    by_name: dict[str, list[Judged]] = defaultdict(list)
    for one in found:
        by_name[one.name].append(one)
    for name, some in by_name.items():
        each = [100.0 * one.inside.mean() for one in some]
        z, inside, kinds = (np.concatenate([getattr(one, what) for one in some]) for what in ("z", "inside", "kinds"))
        text = f"z {z.mean():+.2f} on average, rms {np.sqrt((z**2).mean()):.2f}"
        spread = f"± {standard_error(each):.1f} %, {len(each)} draws, {min(each):.0f} … {max(each):.0f} %"
        print(f"coverage, {name}: {100 * inside.mean():.1f} ({spread}), {text}")
        parts = [(word, inside[kinds == word], z[kinds == word]) for word in KINDS if (kinds == word).any()]
        if len(parts) > 1:
            listed = []
            for word, i, x in parts:
                own = [100.0 * one.inside[np.array(one.kinds) == word].mean() for one in some]
                size = f"{len(i) // len(some)} each, rms z {np.sqrt((x**2).mean()):.2f}"
                listed.append(f"{word} {100 * i.mean():.1f} ± {standard_error(own):.1f} % ({size})")
            print(f"    {', '.join(listed)}")


def standard_error(of_draws: list[float]) -> float:
    """Of their mean; parameters of one draw are not independent, draws are."""
    return float(np.std(of_draws, ddof=1) / np.sqrt(len(of_draws))) if len(of_draws) > 1 else float("nan")


def held_out(problem: Problem, values: Array, log: Stood, seed: int) -> tuple[float, float]:
    """[N·m] of all joints: what is left of torques beside forces that explain them best, noise included; and of torques
    with the forces that the simulator knows, without any noise."""
    run, joints = run_of(log, seed), slice(6, None)
    plain = replace(problem.projecting, parallel_filter=None, dead_zone=0.0)
    other = replace(problem, runs=(run,), formulation=plain)
    squares = other.measured.squares(values).sum(axis=0)[joints].sum()
    left = float(np.sqrt(squares / sum(map(len, run.parts))))
    model, motion = problem.model, log.motion
    forces = np.einsum("Nmj,Nm->Nj", contact_jacobian(model.dynamics, contacts().all, motion.q), log.forces)
    chi = np.zeros(len(model.standard))
    chi[problem.base.independent] = values
    error = (model.torque(motion, chi) - forces - log.torque)[:, joints]
    return left, float(np.sqrt((error**2).mean(axis=0).sum()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--draws", type=int, default=50)
    parser.add_argument("--other", type=int, default=10, help="draws of other bodies than the prior says")
    parser.add_argument("--rate", type=float, default=200.0, help="[Hz] of the log")
    parser.add_argument("--noise", type=float, default=1.0, help="times the usual")
    asked = parser.parse_args()
    CHOSEN.update(rate=asked.rate, noise=asked.noise)
    print(ANCHORS, flush=True)

    clock = time.perf_counter()
    log = stood(None, 0)
    problem = problem_of(run_of(log, 0))
    free = ex.WeightedLeastSquares().estimate(problem)
    plain = time.perf_counter() - clock
    clock = time.perf_counter()
    consistent = ex.PhysicallyConsistent(prior=Prior(weight=AUTO)).estimate(problem)
    seconds = time.perf_counter() - clock
    whole = len(ex.DynamicModel(robot(), TERMS).base)
    left, dynamics = f"{len(problem.names)} of {whole} base parameters are left", problem.model.dynamics
    print(f"\n{robot().name}, {SECONDS:g} s at {asked.rate:g} Hz: {left}")
    speed = np.einsum("Nmj,Nj->Nm", contact_jacobian(dynamics, contacts().all, log.motion.q), log.motion.qd)
    least, most = log.forces[:, 2::3].min(), 1e3 * np.abs(speed).max()
    print(f"feet press with {least:.2g} N at least and slide at {most:.2g} mm/s at most")
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

    clock, found = time.perf_counter(), list[Judged]()
    for k in range(max(asked.draws, asked.other)):
        found += judged_draw(k) if k < asked.draws else ()
        found += judged_draw(k, other=True) if k < asked.other else ()
        some = np.concatenate([one.inside for one in found if one.name == "wls"])
        print(f"… {k + 1} of {asked.draws} draws: wls {100 * some.mean():.1f} %", file=sys.stderr, flush=True)
    each = (time.perf_counter() - clock) / (asked.draws + asked.other)
    print(f"\n{asked.draws} draws of bodies, friction and noise, and {asked.other} of other bodies, {each:.1f} s each")
    print_coverage(found)


if __name__ == "__main__":
    main()
