"""Friction from constant velocities first (12.3.3), gravity from poses first (12.3.4.2), against everything at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

import exciter as ex
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.design import Design, design
from exciter.excitation.experiments.moves import ConstantVelocityMoves, FrictionMotion, constant_velocity
from exciter.excitation.experiments.poses import PoseSearch, StaticPoses, static_poses
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.estimators.staged import FrictionFirst, StaticThenDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.stages import stage
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.khalil_dombre.set_up import (
    PROCEDURE_FIGURES,
    RARE_STANDARD_ERRORS,
    Found,
    Log,
    RepeatedLogs,
    Step,
    as_printed,
    counted,
    error_plot,
    estimator,
    link_of,
    median_errors,
    noisy,
    only_joints,
    percent,
    repeat,
    sampled,
)
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, shown

# -- friction first ----------------------------------------------------------------------------------------------------

FRICTION_SETTINGS = PROCEDURE_FIGURES["friction"]
FRICTION_SAMPLE_RATE = float(FRICTION_SETTINGS["rate"])
Cases = Mapping[tuple[str, float], RepeatedLogs]  #: by motion of the second step, and factor of friction there
PRINTED, CARRIED = "as printed", "weighted"
SAME_LOGS, ONE_MOTION = "all at once, the same logs", "all at once, one motion"


@cache
def excitation() -> Design:
    """The D-optimal motion that everything else is compared with."""
    sigma = set_up.torque_noise(PROCEDURE_FIGURES["noise"])
    return design(set_up.model(), set_up.family(), noise=sigma, starts=FRICTION_SETTINGS["starts"], samples=500)


def exciting(seconds: float) -> ex.Motion:
    """Periods of the D-optimal motion, already entered."""
    return motion_of(
        set_up.family(), excitation().delta, np.arange(round(seconds * FRICTION_SAMPLE_RATE)) / FRICTION_SAMPLE_RATE
    )


def logs(motions: Mapping[str, ex.Motion], warm: float = 1.0) -> tuple[Log, ...]:
    """With exact torques; warm: factor of friction in the last log."""
    model, chi = set_up.model(), set_up.chi()
    hot = np.where(is_friction(model.standard), warm * chi, chi)
    last = tuple(motions)[-1]
    return tuple((name, path, model.torque(path, hot if name == last else chi)) for name, path in motions.items())


def drawn(exact: Sequence[Log], seed: int) -> Problem:
    return noisy(set_up.model(), set_up.torque_noise(PROCEDURE_FIGURES["noise"]), FRICTION_SAMPLE_RATE, exact, seed)


def is_friction(names: Sequence[str]) -> NDArray[np.bool_]:
    """Of every parameter."""
    return np.array([name.startswith("F") for name in names])


def part_of(piece: Processed, chosen: NDArray[np.bool_], name: str) -> Run:
    """Some samples of a log (N,)."""
    time, q, qd, qdd = (getattr(piece.motion, signal)[chosen] for signal in ("time", "q", "qd", "qdd"))
    return Run.at(ex.Motion(time, q, qd, qdd), piece.torque[chosen], FRICTION_SAMPLE_RATE, name)


def words(times: int) -> str:
    return (
        f"{set_up.ROBOT_STATEMENT} Torque noise {PROCEDURE_FIGURES['noise']:g} % of the largest torques along the "
        f"common motion, at {FRICTION_SAMPLE_RATE:g} "
        f"Hz; {times} logs (seeds 0 … {times - 1}). The motion for everything else is D-optimal, {set_up.HARMONICS} "
        f"({counted(FRICTION_SETTINGS['starts'], 'start')}, seed 0), within the joint limits of the robot. As "
        "printed: what the "
        "first step finds is taken as exact by the second; weighted: with the uncertainty that the first step leaves."
    )


def separate_friction(effort: Effort) -> Part:
    model, times = set_up.model(), effort.pick(*FRICTION_SETTINGS["repetitions"].values())
    steady = constant_velocity(
        model.robot, ConstantVelocityMoves(tuple(FRICTION_SETTINGS["paces"]), FRICTION_SETTINGS["travel"])
    )
    first, second = steady.curve.duration, float(FRICTION_SETTINGS["excitation"])
    motions = {"friction": sampled(steady.curve, FRICTION_SAMPLE_RATE), "excitation": exciting(second)}
    cold = logs(motions)
    cruising = _cruising(steady, motions["friction"])

    def printed(problem: Problem) -> Found:
        return _friction_then_rest(problem, cruising)

    true, weighted = set_up.true_values(), estimator(ex.WeightedLeastSquares())
    sequence = FrictionFirst(stage.SteadyMotion(0.01, 1e-6), known=True)
    methods = {PRINTED: printed, CARRIED: estimator(sequence), SAME_LOGS: weighted}
    found = repeat(partial(drawn, cold), methods, true, times)
    for seconds in (second, first + second):
        longer, name = logs({"excitation": exciting(seconds)}), f"{ONE_MOTION}, {seconds:.0f} s"
        found |= repeat(partial(drawn, longer), {name: weighted}, true, times)
    cases = {}
    for what, path in {"optimised": motions["excitation"], "common": set_up.motion(FRICTION_SAMPLE_RATE)}.items():
        for factor in (1.0, float(FRICTION_SETTINGS["warm"])):
            made = logs({"friction": motions["friction"], "excitation": path}, factor)
            cases[what, factor] = repeat(partial(drawn, made), {PRINTED: printed}, true, times)[PRINTED]
    inertial = ~is_friction(model.base.names)
    alone, worse = (cases["common", factor].covered(inertial)[0] for factor in (1.0, float(FRICTION_SETTINGS["warm"])))
    certified = certify(model.robot, steady.curve, ()).certified and excitation().certificate.certified
    seconds_of = (first + second,) * 3 + (second, first + second)
    return Part(
        "Section 12.3.3",
        "Friction from constant velocities first, against friction and inertias at once",
        f"{words(times)} Friction: every joint in turn to and fro at {len(FRICTION_SETTINGS['paces'])} speeds over "
        f"{100 * FRICTION_SETTINGS['travel']:g} % of its range, {first:.0f} s; then {second:g} s of the other "
        "motion. Whatever "
        "else acts on an axis at constant velocity is estimated as well and then discarded.",
        _friction_findings(found, cases, (first, second), certified),
        (error_table("friction-errors", found, seconds_of), _coverage(cases)),
        error_plot(found, f"Errors of all {len(true)} parameters over {times} logs"),
        f"The chapter names a risk. On the common motion intervals hold the truth in {percent(alone)} of cases by "
        f"noise alone, and in {percent(worse)} with friction that is not the same in both steps; on an optimised "
        "motion no such thing is seen. The price is time: constant velocities tell nothing of inertias.",
    )


def _cruising(steady: FrictionMotion, motion: ex.Motion) -> tuple[NDArray[np.bool_], ...]:
    """Per joint, the samples (N,) at which it moves at constant velocity."""
    found = []
    for name in set_up.model().robot.joint_names:
        cruises = [(one.start, one.end) for one in steady.cruises if one.joint == name]
        found.append(np.any([(motion.time > a) & (motion.time < b) for a, b in cruises], axis=0))
    return tuple(found)


def _friction_then_rest(problem: Problem, cruising: Sequence[NDArray[np.bool_]]) -> Found:
    """Axis by axis, then everything else of all joints with friction known."""
    link, dry = link_of(problem.names), is_friction(problem.names)
    slow, fast = problem.runs
    (piece,) = tuple(slow.parts)
    each = []
    for j, chosen in enumerate(cruising):
        run = part_of(piece, chosen, "cruises")
        equations = only_joints(Problem(problem.model, (run,), folds=1).compressed, (j,))
        acts = np.flatnonzero(np.abs(equations.factors[..., :-1]).max(axis=(0, 1, 2)) > 1e-9)
        unknown = _independent(equations.factors[0, 0, :-1, acts].T, acts, dry)
        each.append(Step(equations, unknown, np.flatnonzero(dry & (link == j + 1))))
    rest = np.flatnonzero(~dry)
    return as_printed((*each, Step(Problem(problem.model, (fast,), folds=1).compressed, rest, rest)), len(link))


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
    found: Mapping[str, RepeatedLogs], cases: Cases, seconds: tuple[float, float], certified: bool
) -> tuple[Finding, ...]:
    dry, (first, second), warm = is_friction(set_up.model().base.names), seconds, float(FRICTION_SETTINGS["warm"])
    held = {case: one.covered(~dry) for case, one in cases.items()}
    (worse, spread), (alone, apart) = held["common", warm], held["common", 1.0]
    stepwise = min(np.median(found[name].relative) for name in (PRINTED, CARRIED))
    short, long = (one for name, one in found.items() if name.startswith(ONE_MOTION))

    def over_long(one: RepeatedLogs, chosen: NDArray[np.bool_]) -> float:
        return float(np.median((one.spread / long.spread)[chosen]))

    return (
        shown("both motions keep all limits (certified)", certified),
        claim(
            "separate identification of friction brings the risk that errors accumulate",
            worse + RARE_STANDARD_ERRORS * spread < PROCEDURE_FIGURES["level"],
            f"friction taken as exact and in truth {percent(1 - warm)} smaller in the second log (warm), on the common "
            f"motion: 95 % intervals of the inertial parameters hold the truth in {percent(worse)} ± "
            f"{100 * spread:.1f} % "
            f"of cases; with the same friction in both logs, by noise alone, {percent(alone)} ± {100 * apart:.1f} %, "
            f"{(PROCEDURE_FIGURES['level'] - alone) / apart:.0f} standard errors below "
            f"{100 * PROCEDURE_FIGURES['level']:g} %",
        ),
        shown(
            "the same on the optimised motion, friction smaller in the second log [%]",
            100.0 * held["optimised", warm][0],
            f"same friction in both logs: {percent(held['optimised', 1.0][0])}; there friction is nearly orthogonal to "
            "the inertial parameters, and its errors do not pass on",
        ),
        shown(
            "95 % intervals that hold the truth, weighted by the first step's uncertainty [%]",
            100.0 * found[CARRIED].covered()[0],
            f"standard error {100 * found[CARRIED].covered()[1]:.1f} %",
        ),
        *median_errors(found),
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
            np.median(long.relative) < stepwise,
        ),
    )


def _coverage(cases: Cases) -> DataTable:
    dry = is_friction(set_up.model().base.names)
    return DataTable(
        "friction-taken-as-exact",
        "Inertial parameters, friction from constant velocities taken as exact: 95 % intervals that hold the truth",
        ("motion of the second step", "friction there over that of the first", "share", "standard error [%]"),
        [
            (what, factor, percent(one.covered(~dry)[0]), 100.0 * one.covered(~dry)[1])
            for (what, factor), one in cases.items()
        ],
    )


def error_table(key: str, found: Mapping[str, RepeatedLogs], seconds: Sequence[float]) -> DataTable:
    dry = is_friction(set_up.model().base.names)

    def rms(one: RepeatedLogs, chosen: NDArray[np.bool_]) -> float:
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


# -- gravity first -----------------------------------------------------------------------------------------------------


def gravity_first(effort: Effort) -> Part:
    model, times = set_up.model(), effort.pick(*FRICTION_SETTINGS["repetitions"].values())
    poses = static_poses(
        model, PoseSearch(poses=FRICTION_SETTINGS["poses"]), noise=set_up.torque_noise(PROCEDURE_FIGURES["noise"])
    )
    tour = poses.tour(model.robot, FRICTION_SETTINGS["dwell"])
    second = float(FRICTION_SETTINGS["excitation"])
    motions = {"poses": sampled(tour, FRICTION_SAMPLE_RATE), "excitation": exciting(second)}
    still = (motions["poses"].qd == 0.0).all(axis=1)
    (_, path, torque), fast = logs(motions)
    free: tuple[Log, ...] = ("poses", path, torque), fast

    def printed(problem: Problem) -> Found:
        return _gravity_then_rest(problem, still, poses)

    def held(seed: int) -> Problem:
        return drawn((("poses", path, torque + _holding(still, seed)), fast), seed)

    staged = StaticThenDynamic(stage.AtRest(1e-9, 1e-9), ("poses",), known=True)
    true, weighted = set_up.true_values(), estimator(ex.WeightedLeastSquares())
    both = {PRINTED: printed, CARRIED: estimator(staged)}
    found = repeat(partial(drawn, free), {**both, SAME_LOGS: weighted}, true, times)
    stuck = repeat(held, both, true, times)
    long = logs({"excitation": exciting(tour.duration + second)})
    name = f"{ONE_MOTION}, {tour.duration + second:.0f} s"
    alone = repeat(partial(drawn, long), {name: weighted}, true, times)
    holds = {f"{key}, friction holds the joints": one for key, one in stuck.items()}
    one = staged.estimate(drawn(free, 0))
    everything = {**found, **holds, **alone}
    return Part(
        "Section 12.3.4.2, gravity first",
        "Gravity from poses at rest first, against everything at once",
        f"{words(times)} Poses: {len(poses.q)}, D-optimal for {', '.join(poses.parameters)} (seed 0), "
        f"{FRICTION_SETTINGS['dwell']:g} s at rest in each, {tour.duration:.0f} s with the ways between; then "
        f"{second:g} s of "
        "the other motion. At rest the torque is that of gravity; in a second round friction holds every joint with a "
        "torque of unknown size, drawn evenly within ±Fc for every pose (seeds (log, 1)), as sensors at the motor "
        "would see it.",
        _gravity_findings(found, stuck, alone[name], poses, certify(model.robot, tour, ()).certified),
        error_table("gravity-errors", everything, (tour.duration + second,) * len(everything)),
        error_plot(everything, f"Errors of all {len(true)} parameters over {times} logs"),
        "The chapter speaks of locking joints, not of poses; poses at rest are the extreme case of it. Intervals of "
        "the weighted steps hold more often than they say: every pose is one equation, so that the noise of the first "
        f"step is known with few degrees of freedom ({one.freedom:.1f}), and Student's quantile for these, "
        f"{one.quantile(PROCEDURE_FIGURES['level']):.2f} σ, is used for all parameters.",
    )


def _holding(still: NDArray[np.bool_], seed: int) -> Array:
    """(N, n) friction [N·m] of joints at rest: constant in each pose."""
    begins = still & ~np.roll(still, 1)
    begins[0] = still[0]
    pose = np.cumsum(begins) - 1
    rng = np.random.default_rng((seed, 1))
    each = rng.uniform(-1.0, 1.0, (int(pose.max()) + 1, 3)) * np.array(set_up.SET_UP["Fc"])
    return np.where(still[:, None], each[np.maximum(pose, 0)], 0.0)


def _gravity_then_rest(problem: Problem, still: NDArray[np.bool_], poses: StaticPoses) -> Found:
    slow, fast = problem.runs
    (piece,) = tuple(slow.parts)
    resting = part_of(piece, still, "poses")
    gravity = np.array([problem.names.index(name) for name in poses.parameters])
    rest = np.setdiff1d(np.arange(len(problem.names)), gravity)
    first, second = (Problem(problem.model, (run,), folds=1).compressed for run in (resting, fast))
    return as_printed((Step(first, gravity, gravity), Step(second, rest, rest)), len(problem.names))


def _gravity_findings(
    found: Mapping[str, RepeatedLogs],
    stuck: Mapping[str, RepeatedLogs],
    alone: RepeatedLogs,
    poses: StaticPoses,
    certified: bool,
) -> tuple[Finding, ...]:
    gravity = np.isin(set_up.model().base.names, poses.parameters)
    (share, error), (worse, spread) = (one[PRINTED].covered(~gravity) for one in (found, stuck))
    return (
        shown("the tour of the poses keeps all limits (certified)", certified),
        shown(
            "95 % intervals of the other parameters that hold the truth, gravity taken as exact [%]",
            100.0 * share,
            f"standard error {100 * error:.1f} %; weighted {percent(found[CARRIED].covered(~gravity)[0])}",
        ),
        claim(
            "an accumulation of errors may occur where estimated parameters are assumed to be known",
            worse + RARE_STANDARD_ERRORS * spread < PROCEDURE_FIGURES["level"],
            f"where friction holds the joints in the poses: {percent(worse)} ± {100 * spread:.1f} % of the other "
            f"parameters' 95 % intervals hold the truth; weighted, with every pose one equation, "
            f"{percent(stuck[CARRIED].covered()[0])} of all",
        ),
        *median_errors(found),
        *median_errors(stuck, ", friction holds the joints"),
        shown("median ‖δχ‖/‖χ‖, one motion of the same total time", np.median(alone.relative), "all at once, weighted"),
    )
