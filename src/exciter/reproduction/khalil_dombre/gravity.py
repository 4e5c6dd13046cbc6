"""Gravity from poses at rest first, against everything at once (12.3.4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.baselines.poses_and_moves import PoseSearch, StaticPoses, static_poses
from exciter.excitation.certificate.adaptive import certify
from exciter.identification.estimators.staged import StaticThenDynamic
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.stages.stage import AtRest
from exciter.reproduction.finding import Finding, claim, shown
from exciter.reproduction.khalil_dombre import set_up
from exciter.reproduction.khalil_dombre.friction import (
    CARRIED,
    ONE_MOTION,
    PRINTED,
    SAME_LOGS,
    SETTINGS,
    Log,
    error_table,
    exciting,
    logs,
    noisy,
    part_of,
    sampled,
    words,
)
from exciter.reproduction.khalil_dombre.steps import (
    DATA,
    RARE,
    Found,
    Repeated,
    Step,
    as_printed,
    error_plot,
    estimator,
    percent,
    repeat,
)
from exciter.reproduction.paper import Effort, Part
from exciter.typing import Array


def run(effort: Effort) -> Sequence[Part]:
    return (gravity_first(effort),)


def gravity_first(effort: Effort) -> Part:
    model, times = set_up.model(), effort.pick(*SETTINGS["repetitions"].values())
    poses = static_poses(model, PoseSearch(poses=SETTINGS["poses"]), noise=set_up.torque_noise(DATA["noise"]))
    tour = poses.tour(model.robot, SETTINGS["dwell"])
    second = float(SETTINGS["excitation"])
    motions = {"poses": sampled(tour), "excitation": exciting(second)}
    still = (motions["poses"].qd == 0.0).all(axis=1)
    (_, path, torque), fast = logs(motions)
    free: tuple[Log, ...] = ("poses", path, torque), fast

    def printed(problem: Problem) -> Found:
        return _gravity_then_rest(problem, still, poses)

    def held(seed: int) -> Problem:
        return noisy((("poses", path, torque + _holding(still, seed)), fast), seed)

    staged = StaticThenDynamic(AtRest(1e-9, 1e-9), ("poses",))
    sequence = estimator(staged)
    true = set_up.true_values()
    both = {PRINTED: printed, CARRIED: sequence}
    found = repeat(partial(noisy, free), {**both, SAME_LOGS: estimator(WeightedLeastSquares())}, true, times)
    stuck = repeat(held, both, true, times)
    long = logs({"excitation": exciting(tour.duration + second)})
    name = f"{ONE_MOTION}, {tour.duration + second:.0f} s"
    alone = repeat(partial(noisy, long), {name: estimator(WeightedLeastSquares())}, true, times)
    holds = {f"{key}, friction holds the joints": one for key, one in stuck.items()}
    one = staged.estimate(noisy(free, 0))
    everything = {**found, **holds, **alone}
    return Part(
        "Section 12.3.4.2, gravity first",
        "Gravity from poses at rest first, against everything at once",
        f"{words(times)} Poses: {len(poses.q)}, D-optimal for {', '.join(poses.parameters)} (seed 0), "
        f"{SETTINGS['dwell']:g} s "
        f"at rest in each, {tour.duration:.0f} s with the ways between; then {second:g} s of the other motion. "
        "At rest the "
        "torque is that of gravity; in a second round friction holds every joint with a torque of unknown size, drawn "
        "evenly within ±Fc for every pose (seeds (log, 1)), as sensors at the motor would see it.",
        _gravity_findings(found, stuck, alone[name], poses, certify(model.robot, tour, ()).certified),
        (error_table("gravity-errors", everything, (tour.duration + second,) * len(everything)),),
        (error_plot(everything, f"Errors of all {len(true)} parameters over {times} logs"),),
        "The chapter speaks of locking joints, not of poses; poses at rest are the extreme case of it. Intervals of "
        "the "
        "weighted steps hold more often than they say: every pose is one equation, so that the noise of the first "
        "step "
        f"is known with few degrees of freedom ({one.freedom:.1f}), and Student's quantile for these, "
        f"{one.quantile(DATA['level']):.2f} σ, is used for all parameters.",
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
    found: Mapping[str, Repeated], stuck: Mapping[str, Repeated], alone: Repeated, poses: StaticPoses, certified: bool
) -> tuple[Finding, ...]:
    names = set_up.model().base.names
    gravity = np.isin(names, poses.parameters)
    (share, error), (worse, spread) = (one[PRINTED].covered(~gravity) for one in (found, stuck))
    medians = {name: float(np.median(one.relative)) for name, one in found.items()}
    return (
        shown("the tour of the poses keeps all limits (certified)", certified),
        shown(
            "95 % intervals of the other parameters that hold the truth, gravity taken as exact [%]",
            100.0 * share,
            f"standard error {100 * error:.1f} %; weighted {percent(found[CARRIED].covered(~gravity)[0])}",
        ),
        claim(
            "an accumulation of errors may occur where estimated parameters are assumed to be known",
            worse + RARE * spread < DATA["level"],
            f"where friction holds the joints in the poses: {percent(worse)} ± {100 * spread:.1f} % of the other "
            f"parameters' 95 % intervals hold the truth; weighted, with every pose one equation, "
            f"{percent(stuck[CARRIED].covered()[0])} of all",
        ),
        *(shown(f"median ‖δχ‖/‖χ‖, {name}", value) for name, value in medians.items()),
        *(
            shown(f"median ‖δχ‖/‖χ‖, {name}, friction holds the joints", float(np.median(one.relative)))
            for name, one in stuck.items()
        ),
        shown(
            "median ‖δχ‖/‖χ‖, one motion of the same total time",
            float(np.median(alone.relative)),
            "all at once, weighted",
        ),
    )
