"""Tries to break certificates: random motions of every family, judged by other implementations.

    python benchmarks/certificate_soundness.py [TRIALS] [--first SEED] [--samples N] [--jobs N] [--kinds motion file …]

Seeds take turns between the kinds: motions, and what stands in files (``soundness_files.py``: trajectories made by hand
that jump, descriptions that lack something, collision shapes that are not drawn).

Each trial of a motion draws a robot, a motion and limits near what the motion really reaches, found by dense sampling
with Pinocchio (torque, frames) and coal (distances). It fails when
- a bound of some interval is above the truth at some instant within it,
- a limit that is really broken, by as little as 1e-7 of it, is certified,
- a witness of a broken limit is not one,
- a limit with 1 % (or 1 mm) to spare is not certified.
Half of the motions move one to three joints only: with all joints moving, bounds are so far from the truth that even a
wrong factor of two would go unnoticed. Ctrl-C and SIGTERM end the run with the count of the trials that are complete.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin

sys.path[:0] = [str(Path(__file__).parents[1] / "tests"), str(Path(__file__).parent)]

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import LimitVerdict
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import Box, InsideSphere, OutsideCylinder, OutsideSphere
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import AccelerationSequence, BSpline, Quintic
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.sweeps_and_steps import Chirp, Steps
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot.geometry import Capsule
from exciter.robot.motion import Motion
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import Frame, Robot
from support.robots import CASES, random_robot

ROBOTS = ("panda", "lwr4", "ur10e", "tx40", "kuka-ir361", "gantry", "two-arms", "serial", "tree")
FAMILIES = ("fourier", "bspline", "quintic", "acceleration", "chirp", "steps", "file")
Array = np.ndarray
Truth = Callable[[Motion], Array]
#: What two programs in double precision may differ by, in units of a row.
ROUNDING = 1e-9
STILL = 1e-9  #: [rad/s] slower than this is at rest
MOST_LINES = 5  #: said about one trial
EVERY = 100  #: trials between two lines of progress


# -- what is drawn -----------------------------------------------------------------------------------------------


def draw_robot(rng: np.random.Generator, word: str) -> Robot:
    """A robot with limits far away, a tool, at least two capsules, and friction."""
    seed, n = int(rng.integers(10_000)), int(rng.integers(2, 7))
    robot = random_robot(seed, n, tree=word == "tree") if word in ("serial", "tree") else CASES[word]()
    if not robot.collision_pairs:
        capsules = (Capsule("post", -1, np.array([0.9, 0.2, -1.0]), np.array([0.9, 0.2, 1.0]), 0.01),)
        capsules += tuple(
            Capsule(f"c{j}", j, *0.2 * rng.standard_normal((2, 3)), 0.01) for j in {robot.n - 1, robot.n // 2}
        )
        pairs = tuple(("post", capsule.name) for capsule in capsules[1:])
        robot = replace(robot, capsules=capsules, collision_pairs=pairs)
    tool = Frame("probe", robot.n - 1, np.eye(3), 0.3 * rng.standard_normal(3))
    friction = {name: rng.uniform(0.0, 2.0, robot.n) for name in ("rotor_inertia", "viscous", "coulomb")}
    far = {"lower": -50.0, "upper": 50.0, "velocity": 100.0, "acceleration": 1e4, "jerk": np.inf}
    return replace(robot, frames=(*robot.frames, tool), friction=friction, nominal=False).with_limits(
        **far, torque=np.inf
    )


def draw_curve(rng: np.random.Generator, word: str, n: int) -> Curve:
    """A random motion; half of them move only one to three joints."""
    duration = float(rng.uniform(1.0, 8.0))
    posture = rng.uniform(-1.5, 1.5, n)
    trajectory: Trajectory
    if word == "fourier":
        trajectory = Fourier(duration, int(rng.integers(1, 9)), at_rest=False)
    elif word == "quintic":
        times = np.cumsum(rng.uniform(0.3, 1.5, int(rng.integers(1, 6))))
        trajectory = Quintic((0.0, *times.tolist()), at_rest_ends=bool(rng.random() < 0.5))
    elif word == "acceleration":
        trajectory = AccelerationSequence(duration, int(rng.integers(4, 15)))
    elif word == "chirp":
        trajectory = Chirp(duration, *np.sort(rng.uniform(0.1, 3.0, 2)).tolist(), int(rng.integers(1, 4)))
    elif word == "steps":
        trajectory = Steps.even(duration, int(rng.integers(2, 8)), duration / 20.0)
    else:
        trajectory = BSpline(duration, int(rng.integers(3, 10)), degree=int(rng.integers(4, 6)))
    shape = rng.standard_normal((n, trajectory.free.shape[1])) @ trajectory.free.T
    if rng.random() < 0.5:
        still = rng.permutation(n)[int(rng.integers(1, 4)) :]
        shape[still] = 0.0
    delta = rng.uniform(0.2, 0.8) * shape + trajectory.still(posture)
    curve = trajectory.curve(delta)
    if word != "file":
        return curve
    time_ = np.linspace(curve.start, curve.end, int(rng.integers(10, 60)))
    samples = curve.motion(time_)
    accelerations = samples.qdd if rng.random() < 0.5 else None  # quintic, or cubic with jumps
    return Curve((PolynomialPiece.from_samples(time_, samples.q, samples.qd, accelerations),))


# -- the truth, by other programs --------------------------------------------------------------------------------


def torque_truth(robot: Robot, *, sticking: bool = False) -> Truth:
    """1 ∓ τ/τ_max by Pinocchio, with rotor inertia and friction; ``sticking``: dry friction acts on joints at rest too,
    in the worse direction, and on those that turn round between two samples."""
    model, limit = to_pinocchio(robot), robot.limit("torque")
    data = model.createData()
    rotor, viscous, dry = (robot.friction[name] for name in ("rotor_inertia", "viscous", "coulomb"))

    def rows(motion: Motion) -> Array:
        rigid = np.array(
            [pin.rnea(model, data, q, qd, qdd) for q, qd, qdd in zip(motion.q, motion.qd, motion.qdd, strict=True)]
        )
        smooth = rigid + rotor * motion.qdd + viscous * motion.qd
        turning = np.diff(np.sign(motion.qd), axis=0) != 0.0
        turns = np.pad(turning, [(0, 1), (0, 0)]) | np.pad(turning, [(1, 0), (0, 0)])
        stuck = ((np.abs(motion.qd) < STILL) | turns) & sticking
        highest, lowest = (smooth + dry * np.where(stuck, side, np.sign(motion.qd)) for side in (1.0, -1.0))
        return np.concatenate([1.0 - (highest / limit).T, 1.0 + (lowest / limit).T])

    return rows


def frame_truth(robot: Robot, distance: Callable[[Array], Array]) -> Truth:
    """A function of the position (3,) of the frame "probe" by Pinocchio, in units of 0.1 m."""
    model = to_pinocchio(robot)
    data, frame = model.createData(), model.getFrameId("probe")

    def rows(motion: Motion) -> Array:
        values = []
        for q in motion.q:
            pin.framesForwardKinematics(model, data, q)
            values.append(distance(data.oMf[frame].translation.copy()) / 0.1)
        return np.array(values).T

    return rows


def capsule_truth(robot: Robot, clearance: float) -> Truth:
    """Distances of the robot's own pairs by coal, in units of 0.1 m."""
    model = to_pinocchio(robot)
    data, by_name = model.createData(), {c.name: c for c in robot.capsules}
    used = {name: _own_placement(by_name[name]) for pair in robot.collision_pairs for name in pair}
    request = coal.DistanceRequest()

    def rows(motion: Motion) -> Array:
        values = []
        for q in motion.q:
            pin.forwardKinematics(model, data, q)
            placed = {}
            for name, (shape, own) in used.items():
                at = data.oMi[by_name[name].joint + 1] * own  # joint 0 is the base
                placed[name] = shape, coal.Transform3s(at.rotation, at.translation)
            pairs = ((*placed[a], *placed[b]) for a, b in robot.collision_pairs)
            values.append([coal.distance(*pair, request, coal.DistanceResult()) - clearance for pair in pairs])
        return np.array(values).T / 0.1

    return rows


def _own_placement(capsule: Capsule) -> tuple[Any, Any]:
    """coal's capsule lies along z, about its middle."""
    along = capsule.end - capsule.start
    length = float(np.linalg.norm(along))
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), along / length).matrix() if length else np.eye(3)
    return coal.Capsule(capsule.radius, length), pin.SE3(turn, 0.5 * (capsule.start + capsule.end))


# -- limits near what is reached ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One constraint for given slack in units of its rows, and the truth about its rows."""

    name: str
    near: Callable[[float], tuple[Constraint, Truth]]
    accuracy: float  # of the truth
    samples: float = 1.0  # part of the samples that it is worth


def torque_case(robot: Robot, motion: Motion) -> Case:
    tau = _largest_torque(robot, motion)

    def near(slack: float) -> tuple[Constraint, Truth]:
        limited = robot.with_limits(torque=np.maximum(tau, 1e-3) * (1.0 + slack))
        model = DynamicModel(limited, (RotorInertia(), Viscous(), Coulomb()))
        return TorqueLimits(model), torque_truth(limited)

    return Case("torque", near, 1e-10)


def _largest_torque(robot: Robot, motion: Motion) -> Array:
    """With sticking: bounds cannot tell a velocity that touches zero from one that passes it."""
    rows = torque_truth(robot.with_limits(torque=1.0), sticking=True)(motion)
    return np.abs(1.0 - rows.reshape(2, robot.n, -1)).max(axis=(0, 2))


def region_cases(robot: Robot, motion: Motion, rng: np.random.Generator) -> Iterable[Case]:
    x = frame_truth(robot, lambda x: 0.1 * x)(motion)
    centre, point = x.mean(axis=1) + 0.05 * rng.standard_normal(3), x.mean(axis=1) + rng.uniform(0.5, 2.0, 3)

    def box(slack: float) -> tuple[Constraint, Truth]:
        room = np.where(np.ptp(x, axis=1) > 0.01, 0.1 * slack, 0.1)  # a box needs some width
        low, high = x.min(axis=1) - room, x.max(axis=1) + room
        return Box(robot, "probe", low, high), frame_truth(robot, lambda p: np.concatenate([p - low, high - p]))

    def inside(slack: float) -> tuple[Constraint, Truth]:
        radius = float(np.linalg.norm(x - centre[:, None], axis=0).max() + 0.1 * slack)
        truth = frame_truth(robot, lambda p: np.array([radius - np.linalg.norm(p - centre)]))
        return InsideSphere(robot, "probe", radius, centre), truth

    def outside(slack: float) -> tuple[Constraint, Truth]:
        radius = float(np.linalg.norm(x - point[:, None], axis=0).min() - 0.1 * slack)
        truth = frame_truth(robot, lambda p: np.array([np.linalg.norm(p - point) - radius]))
        return OutsideSphere(robot, "probe", radius, point), truth

    def pillar(slack: float) -> tuple[Constraint, Truth]:
        radius = float(np.linalg.norm(x[:2] - point[:2, None], axis=0).min() - 0.1 * slack)
        truth = frame_truth(robot, lambda p: np.array([np.linalg.norm(p[:2] - point[:2]) - radius]))
        return OutsideCylinder(robot, "probe", radius, point), truth

    yield Case("box", box, 1e-10)
    if np.linalg.norm(x - centre[:, None], axis=0).max() > 0.01:
        yield Case("inside sphere", inside, 1e-10)
    if np.linalg.norm(x - point[:, None], axis=0).min() > 0.02:
        yield Case("outside sphere", outside, 1e-10)
    if np.linalg.norm(x[:2] - point[:2, None], axis=0).min() > 0.02:
        yield Case("outside cylinder", pillar, 1e-10)


def capsule_case(robot: Robot, motion: Motion) -> Case | None:
    apart = 0.1 * capsule_truth(robot, 0.0)(motion).min()
    if apart <= 0.01:
        return None

    def near(slack: float) -> tuple[Constraint, Truth]:
        clearance = float(apart - 0.1 * slack)
        return CapsuleDistance(robot, clearance=clearance), capsule_truth(robot, clearance)

    return Case("capsules", near, 1e-5, samples=0.2)  # coal stops iterating at 1e-6 m


# -- one trial ---------------------------------------------------------------------------------------------------


def dense(curve: Curve, samples: int) -> Motion:
    """Many instants, the one-sided ones at the knots among them."""
    knots = curve.knots
    span = np.concatenate([np.arange(len(knots) - 1)] * 2)
    sides = curve.derivatives(span, np.concatenate([knots[:-1], knots[1:]]), 2)
    even = curve.motion(np.linspace(curve.start, curve.end, samples))
    time_ = np.concatenate([even.time, knots[:-1], knots[1:]])
    order = np.argsort(time_, kind="stable")
    stacked = (np.concatenate([a, b.T])[order] for a, b in zip((even.q, even.qd, even.qdd), sides, strict=True))
    return Motion(time_[order], *stacked)


def random_spans(curve: Curve, rng: np.random.Generator) -> Spans:
    """The whole curve in intervals of random widths, few or many."""
    cuts = rng.uniform(curve.start, curve.end, int(10.0 ** rng.uniform(0.5, 2.5)))
    cuts = np.unique(np.concatenate([curve.knots, cuts]))
    span = np.searchsorted(curve.knots, 0.5 * (cuts[1:] + cuts[:-1]), side="right") - 1
    return Spans.of(curve, span, cuts[:-1], cuts[1:])


def unsound_intervals(case: Case, curve: Curve, rng: np.random.Generator, count: int = 60) -> list[str]:
    """Bounds of intervals above the truth at one of 20 instants inside."""
    constraint, truth = case.near(0.0)
    spans = random_spans(curve, rng)
    bounds = constraint.lower_bounds(spans)
    found = []
    for k in rng.permutation(len(spans.start))[:count]:
        inner = np.sort(rng.uniform(spans.start[k], spans.end[k], 20))
        least = truth(curve.motion(inner)).min(axis=1)
        wrong = bounds[:, k] > least + max(case.accuracy, ROUNDING)
        found += [
            f"{case.name}: row {row} is {least[row]:.9g}, bound {bounds[row, k]:.9g}" for row in np.flatnonzero(wrong)
        ]
    return found


def wrong_verdicts(case: Case, robot: Robot, curve: Curve, motion: Motion, rng: np.random.Generator) -> list[str]:
    """Broken limits that are certified, witnesses that are none, limits with room that are not certified."""
    found = []
    for slack in (-(10.0 ** rng.uniform(-7.0, -3.0)), 0.01):
        constraint, truth = case.near(slack)
        limits = certify(robot, curve, (constraint,)).limits[-len(constraint.rows) :]
        least = truth(motion).min(axis=1)
        for row, (limit, value) in enumerate(zip(limits, least, strict=True)):
            said = f"{case.name} row {row}, slack {slack:.3g}: margin {limit.margin:.9g}, true {value:.9g}"
            kept = limit.status in ("holds", "assumed")  # torque of robots whose masses are plausible values
            if kept and value < -max(case.accuracy, ROUNDING):
                found.append(f"false certificate of {said}")
            if kept and value < limit.margin - max(case.accuracy, ROUNDING):
                found.append(f"false margin of {said}")
            if limit.status == "broken" and not _is_witness(limit, row, truth, curve, case.accuracy):
                found.append(f"false witness of {said}")
            if slack > 0 and limit.status == "open":  # one with a true witness is broken, between the samples
                found.append(f"not certified {said}")
    return found


def _is_witness(limit: LimitVerdict, row: int, truth: Truth, curve: Curve, accuracy: float) -> bool:
    """Whether the row is broken at the time given, on either side of it if that is a knot, and whichever way a joint
    turns that is at rest but for rounding: dry friction has any sign there."""
    span = np.array([np.searchsorted(curve.knots, limit.at, side) - 1 for side in ("left", "right")])
    q, qd, qdd = curve.derivatives(span.clip(0, len(curve.knots) - 2), np.array([limit.at, limit.at]), 2)
    turned = [np.where(np.abs(qd) < STILL, way * STILL, qd) for way in (-1.0, 0.0, 1.0)]
    time_ = np.array([limit.at, limit.at])
    return any(bool(truth(Motion(time_, q.T, one.T, qdd.T))[row].min() < accuracy) for one in (qd, *turned))


def trial(seed: int, samples: int = 20_000) -> list[str]:
    """Everything that is wrong with certificates of one random robot and motion; hopefully nothing."""
    rng = np.random.default_rng(seed)
    robot = draw_robot(rng, ROBOTS[seed % len(ROBOTS)])
    curve = draw_curve(rng, FAMILIES[seed // len(ROBOTS) % len(FAMILIES)], robot.n)
    motion = dense(curve, samples)
    cases = [torque_case(robot, motion), *region_cases(robot, motion, rng)]
    coarse = motion[:: max(1, len(motion) // max(2_000, samples // 5))]
    cases += [case] if (case := capsule_case(robot, coarse)) else []
    found = []
    for case in cases:
        found += unsound_intervals(case, curve, rng)
        found += wrong_verdicts(case, robot, curve, motion if case.samples == 1.0 else coarse, rng)
    return [f"seed {seed}, {robot.name}: {line}" for line in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", nargs="?", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first trial")
    parser.add_argument("--samples", type=int, default=1_000, help="instants at which the truth is sampled")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--kinds", nargs="+", choices=tuple(kinds()), default=tuple(kinds()), help="of trials")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seeds = range(options.first, options.first + options.trials)
    return 1 if attempt(seeds, options.samples, options.jobs, options.kinds) else 0


def kinds() -> dict[str, Callable[[int, int], list[str]]]:
    """Every kind of trial by its word; those of files are read here, for they build on what is above."""
    import soundness_files as files

    found = {"motion": trial, "file": file_trial, "description": files.description_trial}
    return found | ({"shapes": files.shapes_trial} if files.MEASURES_COLLISION_SHAPES else {})


def file_trial(seed: int, samples: int) -> list[str]:
    """Ten files: one costs next to nothing."""
    import soundness_files as files

    return [line for k in range(10) for line in files.file_trial(10 * seed + k)]


def one(seed: int, samples: int, words: Sequence[str]) -> tuple[str, list[str]]:
    """The kind whose turn it is, and what is wrong."""
    word = words[seed % len(words)]
    return word, kinds()[word](seed, samples)


def judged(seeds: Sequence[int], samples: int, jobs: int, words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    if jobs == 1:
        yield from (one(seed, samples, words) for seed in seeds)
        return
    with ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield from pool.map(partial(one, samples=samples, words=words), seeds, chunksize=4)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def attempt(seeds: Sequence[int], samples: int, jobs: int = 1, words: Sequence[str] = ("motion",)) -> int:
    """How many of the trials fail; those that are complete are counted aloud, by kind, also when interrupted."""
    begin, done, failed = time.perf_counter(), Counter[str](), Counter[str]()

    def count() -> str:
        by_kind = ", ".join(f"{word} {done[word]} ({failed[word]} failed)" for word in words)
        total = f"{done.total()} of {len(seeds)} trials complete, {failed.total()} failed"
        return f"{total}, {time.perf_counter() - begin:.0f} s: {by_kind}"

    try:
        for word, found in judged(seeds, samples, jobs, words):
            print(*found[:MOST_LINES], sep="\n", end="\n" if found else "", flush=True)
            done[word] += 1
            failed[word] += bool(found)
            if done.total() % EVERY == 0:
                print(count(), flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    print(f"{samples} samples each: {count()}", flush=True)
    return failed.total()


if __name__ == "__main__":
    sys.exit(main())
