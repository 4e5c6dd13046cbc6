"""Friction from constant velocities first, against friction and inertias at once (12.3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.baselines.poses_and_moves import ConstantVelocity, FrictionMotion, constant_velocity
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.processed import Processed
from exciter.identification.estimators.staged import FrictionFirst
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.identification.stages import stage
from exciter.reproduction.finding import Finding, claim, shown
from exciter.reproduction.khalil_dombre import set_up
from exciter.reproduction.khalil_dombre.steps import (
    DATA,
    RARE,
    Found,
    Repeated,
    Step,
    as_printed,
    counted,
    error_plot,
    estimator,
    link_of,
    percent,
    repeat,
)
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.robot import Motion
from exciter.typing import Array

SETTINGS = DATA["friction"]
RATE = float(SETTINGS["rate"])
Log = tuple[str, Motion, Array]
Cases = Mapping[tuple[str, float], Repeated]  #: by motion of the second step, and factor of friction there
PRINTED, CARRIED, SAME_LOGS, ONE_MOTION = (
    "as printed",
    "weighted",
    "all at once, the same logs",
    "all at once, one motion",
)


def run(effort: Effort) -> Sequence[Part]:
    return (separate_friction(effort),)


@cache
def excitation() -> Design:
    """The D-optimal motion that everything else is compared with."""
    sigma = set_up.torque_noise(DATA["noise"])
    return design(set_up.model(), set_up.family(), noise=sigma, starts=SETTINGS["starts"], samples=500)


def sampled(curve: Curve) -> Motion:
    return curve.motion(curve.start + np.arange(round(curve.duration * RATE)) / RATE)


def exciting(seconds: float) -> Motion:
    """Periods of the D-optimal motion, already entered."""
    return motion_of(set_up.family(), excitation().delta, np.arange(round(seconds * RATE)) / RATE)


def logs(motions: Mapping[str, Motion], warm: float = 1.0) -> tuple[Log, ...]:
    """With exact torques; warm: factor of friction in the last log."""
    model, chi = set_up.model(), set_up.chi()
    dry = np.array([name.startswith("F") for name in model.standard])
    hot = np.where(dry, warm * chi, chi)
    last = tuple(motions)[-1]
    return tuple((name, path, model.torque(path, hot if name == last else chi)) for name, path in motions.items())


def noisy(exact: Sequence[Log], seed: int) -> Problem:
    rng, sigma = np.random.default_rng(seed), set_up.torque_noise(DATA["noise"])
    runs = [
        Run.at(path, torque + sigma * rng.standard_normal(torque.shape), RATE, name) for name, path, torque in exact
    ]
    return Problem(set_up.model(), tuple(runs), folds=1, balanced=False)


def part_of(piece: Processed, chosen: NDArray[np.bool_], name: str) -> Run:
    """Some samples of a log (N,)."""
    time, q, qd, qdd = (getattr(piece.motion, signal)[chosen] for signal in ("time", "q", "qd", "qdd"))
    return Run.at(Motion(time, q, qd, qdd), piece.torque[chosen], RATE, name)


def words(times: int) -> str:
    return (
        f"{set_up.ROBOT} Torque noise {DATA['noise']:g} % of the largest torques along "
        f"the common motion, at {RATE:g} Hz; {times} logs (seeds 0 … {times - 1}). The motion for everything else is "
        f"D-optimal, {set_up.HARMONICS} ({counted(SETTINGS['starts'], 'start')}, seed 0), within the joint limits of "
        "the robot. As printed: what "
        "the first step finds is "
        "taken as exact by the second; weighted: with the uncertainty that the first step leaves."
    )


def separate_friction(effort: Effort) -> Part:
    model, times = set_up.model(), effort.pick(*SETTINGS["repetitions"].values())
    steady = constant_velocity(model.robot, ConstantVelocity(tuple(SETTINGS["paces"]), SETTINGS["travel"]))
    first, second = steady.curve.duration, float(SETTINGS["excitation"])
    motions = {"friction": sampled(steady.curve), "excitation": exciting(second)}
    cold = logs(motions)
    cruising = _cruising(steady, motions["friction"])

    def printed(problem: Problem) -> Found:
        return _friction_then_rest(problem, cruising)

    true, weighted = set_up.true_values(), estimator(WeightedLeastSquares())
    sequence = FrictionFirst(stage.ConstantVelocity(0.01, 1e-6))
    methods = {PRINTED: printed, CARRIED: estimator(sequence), SAME_LOGS: weighted}
    found = repeat(partial(noisy, cold), methods, true, times)
    for seconds in (second, first + second):
        longer, name = logs({"excitation": exciting(seconds)}), f"{ONE_MOTION}, {seconds:.0f} s"
        found |= repeat(partial(noisy, longer), {name: weighted}, true, times)
    cases = {}
    for what, path in {"optimised": motions["excitation"], "common": set_up.motion(RATE)}.items():
        for factor in (1.0, float(SETTINGS["warm"])):
            made = logs({"friction": motions["friction"], "excitation": path}, factor)
            cases[what, factor] = repeat(partial(noisy, made), {PRINTED: printed}, true, times)[PRINTED]
    inertial = np.array([not name.startswith("F") for name in model.base.names])
    alone, worse = (cases["common", factor].covered(inertial)[0] for factor in (1.0, float(SETTINGS["warm"])))
    certified = certify(model.robot, steady.curve, ()).certified and excitation().certificate.certified
    seconds_of = (first + second,) * 3 + (second, first + second)
    return Part(
        "Section 12.3.3",
        "Friction from constant velocities first, against friction and inertias at once",
        f"{words(times)} Friction: every joint in turn to and fro at {len(SETTINGS['paces'])} speeds over "
        f"{100 * SETTINGS['travel']:g} % of its range, {first:.0f} s; then {second:g} s of the other motion. "
        "Whatever else "
        "acts on an axis at constant velocity is estimated as well and then discarded.",
        _friction_findings(found, cases, (first, second), certified),
        (error_table("friction-errors", found, seconds_of), _coverage(cases)),
        (error_plot(found, f"Errors of all {len(true)} parameters over {times} logs"),),
        f"The chapter names a risk. On the common motion intervals hold the truth in {percent(alone)} of cases by "
        "noise "
        f"alone, and in {percent(worse)} with friction that is not the same in both steps; on an optimised motion no "
        "such "
        "thing is seen. The price is time: constant velocities tell "
        "nothing of inertias.",
    )


def _cruising(steady: FrictionMotion, motion: Motion) -> tuple[NDArray[np.bool_], ...]:
    """Per joint, the samples (N,) at which it moves at constant velocity."""
    found = []
    for name in set_up.model().robot.joint_names:
        cruises = [(one.start, one.end) for one in steady.cruises if one.joint == name]
        found.append(np.any([(motion.time > a) & (motion.time < b) for a, b in cruises], axis=0))
    return tuple(found)


def _friction_then_rest(problem: Problem, cruising: Sequence[NDArray[np.bool_]]) -> Found:
    """Axis by axis, then everything else of all joints with friction known."""
    link, dry = link_of(problem.names), np.array([name.startswith("F") for name in problem.names])
    slow, fast = problem.runs
    (piece,) = tuple(slow.parts)
    steps = []
    for j, chosen in enumerate(cruising):
        run = part_of(piece, chosen, "cruises")
        equations = Problem(problem.model, (run,), folds=1).compressed.only_joints((j,))
        acts = np.flatnonzero(np.abs(equations.factors[..., :-1]).max(axis=(0, 1, 2)) > 1e-9)
        steps.append(Step(equations, _independent(equations.factors[0, 0, :-1, acts].T, acts, dry), _own(dry, link, j)))
    rest = np.flatnonzero(~dry)
    return as_printed((*steps, Step(Problem(problem.model, (fast,), folds=1).compressed, rest, rest)), len(link))


def _own(dry: NDArray[np.bool_], link: NDArray[np.int64], j: int) -> NDArray[np.int64]:
    return np.flatnonzero(dry & (link == j + 1))


def _independent(r: Array, columns: NDArray[np.int64], first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Friction, and as many of the other columns as add something: standing joints leave some alike."""
    kept: list[int] = []
    for k in sorted(range(len(columns)), key=lambda k: not first[columns[k]]):
        trial = [*kept, k]
        part = r[:, trial] / np.linalg.norm(r[:, trial], axis=0)
        if np.linalg.svd(part, compute_uv=False)[-1] > 1e-7:
            kept = trial
    return np.sort(columns[kept])


def _friction_findings(
    found: Mapping[str, Repeated], cases: Cases, seconds: tuple[float, float], certified: bool
) -> tuple[Finding, ...]:
    dry = np.array([name.startswith("F") for name in set_up.model().base.names])
    first, second = seconds
    warm = float(SETTINGS["warm"])
    held = {case: one.covered(~dry) for case, one in cases.items()}
    (worse, spread), (alone, apart) = held["common", warm], held["common", 1.0]
    medians = {name: float(np.median(one.relative)) for name, one in found.items()}
    short, long = (one for name, one in found.items() if name.startswith(ONE_MOTION))

    def over_long(one: Repeated, chosen: NDArray[np.bool_]) -> float:
        return float(np.median((one.spread / long.spread)[chosen]))

    return (
        shown("both motions keep all limits (certified)", certified),
        claim(
            "separate identification of friction brings the risk that errors accumulate",
            worse + RARE * spread < DATA["level"],
            f"friction taken as exact and in truth {percent(1 - warm)} smaller in the second log (warm), on the common "
            f"motion: 95 % intervals of the inertial parameters hold the truth in {percent(worse)} ± "
            f"{100 * spread:.1f} % "
            f"of cases; with the same friction in both logs, by noise alone, {percent(alone)} ± {100 * apart:.1f} %, "
            f"{(DATA['level'] - alone) / apart:.0f} standard errors below {100 * DATA['level']:g} %",
        ),
        shown(
            "the same on the optimised motion, friction smaller in the second log [%]",
            100.0 * held["optimised", warm][0],
            f"same friction in both logs: {percent(held['optimised', 1.0][0])}; there friction is nearly "
            "orthogonal to the "
            "inertial parameters, and its errors do not pass on",
        ),
        shown(
            "95 % intervals that hold the truth, weighted by the first step's uncertainty [%]",
            100.0 * found[CARRIED].covered()[0],
            f"standard error {100 * found[CARRIED].covered()[1]:.1f} %",
        ),
        *(shown(f"median ‖δχ‖/‖χ‖, {name}", value) for name, value in medians.items()),
        shown("experiment time, friction first [s]", first + second, f"{first:.0f} s of them for friction"),
        shown(
            "errors of inertial parameters, friction first over one motion of the same total time (median)",
            over_long(found[PRINTED], ~dry),
            f"with {second:g} s of that motion alone {over_long(short, ~dry):.2f}",
        ),
        shown(
            "errors of friction, friction first over one motion of the same total time (median)",
            over_long(found[PRINTED], dry),
        ),
        shown(
            "one motion of the same total time is more accurate than friction first",
            float(np.median(long.relative)) < min(medians[PRINTED], medians[CARRIED]),
        ),
    )


def _coverage(cases: Cases) -> DataTable:
    dry = np.array([name.startswith("F") for name in set_up.model().base.names])
    return DataTable(
        "friction-taken-as-exact",
        "Inertial parameters, friction from constant velocities taken as exact: 95 % intervals that hold the truth",
        ("motion of the second step", "friction there over that of the first", "share", "standard error [%]"),
        [
            (what, factor, percent(one.covered(~dry)[0]), 100.0 * one.covered(~dry)[1])
            for (what, factor), one in cases.items()
        ],
    )


def error_table(key: str, found: Mapping[str, Repeated], seconds: Sequence[float]) -> DataTable:
    names = set_up.model().base.names
    dry = np.array([name.startswith("F") for name in names])

    def rms(one: Repeated, chosen: NDArray[np.bool_]) -> float:
        return float(np.sqrt((one.spread[chosen] ** 2).mean()))

    return DataTable(
        key,
        "Root mean square errors (inertial: kg·m², kg·m; friction: N·m, N·m·s/rad), time, and 95 % intervals that hold",
        ("method", "time [s]", "inertial", "friction", "covered: inertial", "covered: friction"),
        [
            (name, time, rms(one, ~dry), rms(one, dry), percent(one.covered(~dry)[0]), percent(one.covered(dry)[0]))
            for (name, one), time in zip(found.items(), seconds, strict=True)
        ],
    )
