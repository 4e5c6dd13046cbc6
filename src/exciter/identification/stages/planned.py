"""Runs of a plan: which stage each belongs to, and at which instants of its log the robot does what the stage is for.

A plan counts time from the start of its motion, a log by its own clock: where the motion fits the recorded positions
best is where it began (``best_shift``). A pose begins when the robot has settled, not when the motion ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from exciter.errors import ParameterError
from exciter.typing import Array

Span = tuple[float, float]  #: [s] from, to
LAST_DWELL_PART = 0.25  # of a dwell, in which the robot has settled if ever
SETTLED_POSITION_SIGMAS = 5.0  # σ of positions in the last part: nearer to their mean, the robot has settled


@dataclass(frozen=True)
class PlannedRun:
    """run: its name; stage, purpose, experiment: as the plan says; moves: joints that move, by name. dwells [s]: of the
    log, when the robot stands still, having settled; cruises: by joint, when [s] it has constant velocity. slowest: by
    joint, its slowest cruise [rad/s, m/s]."""

    run: str
    stage: str
    purpose: str
    experiment: str = ""
    moves: tuple[str, ...] = ()
    dwells: tuple[Span, ...] = ()
    cruises: tuple[tuple[str, Span], ...] = ()
    slowest: tuple[tuple[str, float], ...] = ()


def settled(time: Array, q: Array, span: Span, resolution: Array) -> Span | None:
    """The part of a dwell [s] in which positions (N, n) at ``time`` (N,) are as near to their last mean as noise, or
    one step of the encoder (n,), lets them be; None where there are no samples."""
    inside = (time >= span[0]) & (time <= span[1])
    if inside.sum() < 2:
        return None
    t, there = time[inside], q[inside]
    last = there[t >= span[1] - LAST_DWELL_PART * (span[1] - span[0])]
    if len(last) < 2:
        last = there[-2:]
    near = np.maximum(SETTLED_POSITION_SIGMAS * last.std(axis=0), resolution)
    away = np.flatnonzero((np.abs(there - last.mean(axis=0)) > near).any(axis=1))
    first = 0 if not len(away) else min(int(away[-1]) + 1, len(t) - 1)
    return float(t[first]), float(t[-1])


def moving_in(planned: Sequence[PlannedRun] | None, joints: Iterable[str]) -> tuple[str, ...] | None:
    """Runs in which one of the joints moves; None: all, where no plan says, or it says that none does."""
    some = set(joints)
    return tuple(one.run for one in planned or () if some & set(one.moves)) or None


def free_in(planned: Sequence[PlannedRun] | None) -> tuple[str, ...] | None:
    """Runs of a plan that are neither of poses nor of constant velocities: on the way from one to the next, joints
    start and stop all the time, which no model of sliding tells. None: all, where no plan says."""
    return tuple(one.run for one in planned or () if one.purpose not in ("rest", "constant-velocity")) or None


def wrist_of(planned: Sequence[PlannedRun] | None, names: Sequence[str]) -> int | None:
    """How many of the last joints are locked while the arm moves, in the last stage that locks some of them."""
    for one in reversed(planned or ()):
        moves = [k for k, name in enumerate(names) if name in one.moves]
        if one.purpose == "locked" and moves and moves[-1] < len(names) - 1:
            return len(names) - 1 - moves[-1]
    return None


def resting_in(planned: Sequence[PlannedRun] | None, method: str) -> tuple[PlannedRun, ...]:
    """Runs of poses; refused where a plan has none."""
    found = tuple(one for one in planned or () if one.purpose == "rest")
    if planned and not found:
        raise _unfit(planned, method, "rest")
    for one in found:
        if not one.dwells:
            raise ParameterError(
                f"stage '{one.stage}': the robot never settles in {one.run}; dwell longer at each pose"
            )
    return found


def cruising_in(
    planned: Sequence[PlannedRun] | None, method: str
) -> Mapping[str, Mapping[str, tuple[Span, ...]]] | None:
    """Of every joint, by run, the stretches [s] at constant velocity; refused where a plan has none; None without."""
    if not planned:
        return None
    found = dict[str, dict[str, tuple[Span, ...]]]()
    for one in planned:
        for joint, span in one.cruises:
            runs = found.setdefault(joint, {})
            runs[one.run] = (*runs.get(one.run, ()), span)
    if not found:
        raise _unfit(planned, method, "constant-velocity")
    return found


def _unfit(planned: Sequence[PlannedRun], method: str, purpose: str) -> ParameterError:
    has = ", ".join(dict.fromkeys(one.purpose for one in planned))
    return ParameterError(
        f"{method} needs a stage whose purpose is {purpose}; the plan has: {has}; give another estimator, or a plan "
        "of its experiment"
    )
