"""Checks of the motion: rest, measured velocity, period, difference from the planned motion, excitation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.signal import fftconvolve, find_peaks

from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.numbers_in_words import listed, number, percent, time_span
from exciter.experiment.quality.sample_survey import SAME_MOTION_VARIANCE, difference, visible_period
from exciter.notes import Note, note, problem, warning
from exciter.typing import Array

LEFT_OUT_ADVICE = "identification leaves it out, or takes friction with pre-sliding"
NAMED_FACTOR_TOLERANCE = 0.1  # relative, of a factor that has a name
VELOCITY_FACTOR_NAMES = {180.0 / np.pi: "degrees per second", 30.0 / np.pi: "rpm", np.pi / 180.0: "radians and degrees"}
LEAST_COLUMN_LENGTH = 1e-100  # shorter columns are rounding
LATE_VELOCITY_PERIODS = 0.02  # of the cut-off: a delay of the measured velocity that is reported
VELOCITY_RESIDUAL_SHARE = 0.2  # of the velocity's RMS: with a larger residual it is not the derivative of position
CLOSED_RANGE_SHARE = 1e-3  # of the range, between start and end of a planned motion that repeats
SHIFT_NEWTON_STEPS = 20
CORRELATION_STEP_S = 0.02
SHIFT_SEARCH_SAMPLES = 1_000  # that shifts are compared on
SHIFT_FINAL_SAMPLES = 10_000  # that the best shift is refined on
SHIFT_CANDIDATES = 8  # best shifts of the correlation that are tried
EQUAL_FIT_TOLERANCE = 0.05  # relative difference of RMS differences that count as equal
NO_SHIFT_INTERVALS = 0.01  # sampling intervals: smaller shifts are none
SMALL_DIFFERENCE_SHARE = 1e-4  # of a joint's range: smaller differences are none
LEAST_PLAN_OVERLAP = 0.5  # of the shorter of log and plan: with less a shift fits by chance
EXCHANGED_RESIDUAL_SHARE = 0.3  # of the RMS difference, at most, when two exchanged joints change back
MOST_PARAMETERS_NAMED = 12
LITTLE_ROOM_SHARE = 0.25  # of the allowed range: a joint that has little room must move less


def standstill(evidence: Evidence) -> Iterator[Note]:
    """The whole robot at rest before and after its motion, where sign(q̇) is meaningless; identification leaves it
    out."""
    rest, timing, least = evidence.rest, evidence.survey.timing, evidence.thresholds.standstill
    if rest.start is None or rest.end is None:
        words = "no joint moves; only weight and offset can be identified from it"
        yield problem("standstill", words, start=timing.first, end=timing.last)
        return
    for where, start, end in (("before", timing.first, rest.start), ("after", rest.end, timing.last)):
        if end - start > least:
            words = (
                f"the robot stands still {where} its motion, {start:.4g} … {end:.4g} s ({end - start:.3g} s): friction "
                f"has no sign there; {LEFT_OUT_ADVICE}; windows, or repair: {{cut_standstill: true}}, cut it off"
            )
            yield note("standstill", words, where=where, start=start, end=end, duration=end - start)


def resting_joints(evidence: Evidence) -> Iterator[Note]:
    """Joints that rest while others move."""
    share, still = evidence.rest.share, evidence.survey.values.range("q") == 0.0
    for j, joint in enumerate(evidence.joints):
        if share[j] > evidence.thresholds.rest_share and not still[j] and evidence.rest.start is not None:
            rests = f"the joint rests for {100 * share[j]:.0f} % of the motion"
            yield note(
                "rest", f"{rests}: its friction has no sign then; {LEFT_OUT_ADVICE}", joint, share=float(share[j])
            )


def velocity(evidence: Evidence) -> Iterator[Note]:
    """q̇ measured = a (q̇ − d q̈), joint by joint: factor a and delay d [s]."""
    smooth, limits = evidence.smooth, evidence.thresholds
    if smooth is None or smooth.qd is None:
        return
    interval = evidence.survey.timing.interval
    moves = evidence.survey.values.range("q") > 0
    late: dict[str, float] = {}
    for j in np.flatnonzero(moves):
        joint, measured = evidence.joints[j], smooth.qd[:, j]
        rows = np.column_stack([smooth.motion.qd[:, j], smooth.motion.qdd[:, j]])
        length = np.linalg.norm(rows, axis=0)
        if not (length > LEAST_COLUMN_LENGTH).all():
            continue
        (factor, slope), *_ = np.linalg.lstsq(rows / length, measured, rcond=None)
        left = measured - (rows / length) @ (factor, slope)
        factor, slope = factor / length[0], slope / length[1]
        usual = float(np.sqrt(np.mean(rows[:, 0] ** 2)))
        rest = float(np.sqrt(np.mean(left**2))) / max(abs(factor) * usual, 1e-300)
        delay = -slope / factor if factor else 0.0
        numbers = {"factor": float(factor), "delay": float(delay), "rest": rest}
        if rest > VELOCITY_RESIDUAL_SHARE:
            words = f"the measured velocity is not the derivative of position (residual {100 * rest:.0f} % of it)"
            yield warning("velocity", words, joint, **numbers)
        elif factor < 0:
            words = (
                f"the measured velocity is {number(factor)} times the derivative of position: one of them counts the "
                "other way round; see signs in recording.yaml"
            )
            yield problem("velocity", words, joint, **numbers)
        elif abs(factor - 1.0) > limits.velocity_factor:
            close = {f: abs(factor / f - 1.0) < NAMED_FACTOR_TOLERANCE for f in VELOCITY_FACTOR_NAMES}
            name = next((f", {word}?" for f, word in VELOCITY_FACTOR_NAMES.items() if close[f]), "")
            words = f"the measured velocity is {number(factor, 4)} times the derivative of position{name}"
            yield problem("velocity", words, joint, **numbers)
        elif abs(delay) > max(2.0 * interval, LATE_VELOCITY_PERIODS / smooth.cutoff):
            late[joint] = float(delay)
    if late:
        least, most = 1e3 * min(late.values()), 1e3 * max(late.values())
        words = (
            f"the measured velocity comes {number(least)} … {number(most)} ms after the position ({', '.join(late)}): "
            "it was filtered, or logged late; derivatives of position do not mix with it"
        )
        yield note("velocity", words, delay=late)


def periodicity(evidence: Evidence) -> Iterator[Note]:
    """The period given, judged by the data; or the one they show."""
    rest = evidence.rest
    if rest.start is None or rest.end is None:
        return
    given = evidence.survey.about.period
    time, q = evidence.survey.coarse.positions()
    inside = (time >= rest.start) & (time <= rest.end)
    if given is not None and evidence.survey.about.settled is not None:
        inside &= time >= evidence.survey.about.settled
    width = evidence.survey.coarse.width
    time, q = time[inside], q[inside]
    if len(time) < 32:
        return
    grid = np.arange(time[0], time[-1], width)
    q = np.column_stack([np.interp(grid, time, column) for column in q.T])
    found = visible_period(grid, q)
    duration = float(grid[-1] - grid[0])
    if given is None:
        if found is not None:
            words = f"the motion repeats every {found:.4g} s ({duration / found:.3g} times)"
            words += "; set period: … to average" if duration >= 2.0 * found else ": parts of it are there twice"
            yield note("period", words, period=found, repeats=duration / found)
        return
    if duration < 2.0 * given:
        yield note("period", f"{duration / given:.2g} periods of {given:g} s: too few to average", period=given)
        return
    d = difference(q)
    here = float(np.interp(given / width, np.arange(len(d)), d))
    if here > SAME_MOTION_VARIANCE:
        words = f"the motion does not repeat after the period of {given:g} s given ({100 * here:.2g} % of its variance)"
        words += "" if found is None else f"; it repeats every {found:.4g} s"
        yield warning("period", words, period=given, difference=here, visible=found)
    else:
        words = f"the motion repeats every {given:g} s as given, {duration / given:.3g} times"
        yield note("period", words, period=given, repeats=duration / given)


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A planned motion as a function of time from its start; a closed one is repeated."""

    curve: Curve

    @cached_property
    def length(self) -> float:
        return self.curve.end - self.curve.start

    @cached_property
    def repeats(self) -> bool:
        ends = self.curve.motion(np.array([self.curve.start, self.curve.end]))
        return bool((np.abs(ends.q[1] - ends.q[0]) < CLOSED_RANGE_SHARE * self.range).all())

    @cached_property
    def range(self) -> Array:
        """(n,) of the planned positions."""
        q = self.curve.motion(np.linspace(self.curve.start, self.curve.end, 200)).q
        return np.asarray(np.maximum(np.ptp(q, axis=0), 1e-9))

    def at(self, time: Array) -> tuple[Array, Array]:
        """q and q̇ (N, n); one that does not repeat rests at its ends."""
        local = np.mod(time, self.length) if self.repeats else np.clip(time, 0.0, self.length)
        order = np.argsort(local, kind="stable")
        motion = self.curve.motion(self.curve.start + local[order])
        back = np.argsort(order)
        return motion.q[back], motion.qd[back]

    def inside(self, time: Array) -> np.ndarray:
        return np.full(len(time), True) if self.repeats else (time >= 0.0) & (time <= self.length)

    def difference(self, time: Array, q: Array, shift: float) -> Array:
        """(K, n) recorded − planned, where there is a plan."""
        inside = self.inside(time - shift)
        return np.asarray(q[inside] - self.at(time[inside] - shift)[0])


def planned(evidence: Evidence) -> Iterator[Note]:
    """RMS and worst difference per joint, as recorded and at the shift in time that fits best."""
    if evidence.planned is None:
        return
    plan = PlannedMotion(evidence.planned)
    start = evidence.survey.timing.first
    time = np.concatenate([window.time for window in evidence.windows]) - start
    q = np.concatenate([window.q for window in evidence.windows])
    good = np.isfinite(q).all(axis=1)
    time, q = time[good], q[good]
    grid, coarse = evidence.survey.coarse.positions()
    shift = best_shift(plan, grid - start, coarse, time, q)
    moved, still = plan.difference(time, q, shift), plan.difference(time, q, 0.0)
    if not len(moved):
        return
    numbers = {"shift": float(shift), "rms": _rms(moved).tolist(), "worst": _worst(moved).tolist()}
    if len(still):
        numbers |= {"unshifted_rms": _rms(still).tolist(), "unshifted_worst": _worst(still).tolist()}
    words = "the recorded motion fits the planned one best "
    if abs(shift) < NO_SHIFT_INTERVALS * evidence.survey.timing.interval:
        words += f"without a shift in time: off by {_each(evidence, moved)}"
    else:
        words += f"{time_span(abs(shift))} {'later' if shift > 0 else 'earlier'}: off by {_each(evidence, moved)}"
        words += f"; without a shift by {_each(evidence, still)}" if len(still) else ""
    yield note("planned motion", words, **numbers)
    yield from _far_off(evidence, plan, moved)
    yield from _exchanged(evidence, plan, plan.at(time - shift)[0][plan.inside(time - shift)], moved)


def _far_off(evidence: Evidence, plan: PlannedMotion, difference: Array) -> Iterator[Note]:
    limits = evidence.thresholds
    rms, worst = _rms(difference), _worst(difference)
    for j, joint in enumerate(evidence.joints):
        share = float(rms[j] / plan.range[j])
        if share > limits.planned:
            one = evidence.unit("q", j)
            words = (
                f"it is off the planned position by {number(rms[j])} {one} RMS, {number(worst[j])} {one} at worst "
                f"({percent(share)} of the planned range); "
                f"{'another motion?' if share > limits.planned_other else 'a loose controller, or another motion?'}"
            )
            found = problem if share > limits.planned_other else warning
            yield found("planned motion", words, joint, rms=float(rms[j]), worst=float(worst[j]), share=share)


def _exchanged(evidence: Evidence, plan: PlannedMotion, target: Array, difference: Array) -> Iterator[Note]:
    """Two joints that fit each other's plan."""
    q, size = target + difference, _rms(difference)
    for i, j in combinations(np.flatnonzero(size > evidence.thresholds.planned * plan.range).tolist(), 2):
        other = _rms(q[:, [i, j]] - target[:, [j, i]])
        if (other < EXCHANGED_RESIDUAL_SHARE * size[[i, j]]).all():
            names = [evidence.joints[i], evidence.joints[j]]
            words = f"{listed(names)} fit the plan with the two exchanged: is their order that of the plan?"
            yield warning("planned motion", words, exchanged=names)


def _each(evidence: Evidence, difference: Array) -> str:
    """RMS and worst: ``shoulder 0.012, 0.034 rad; …``, without what is less than 10⁻⁴ of the range."""
    rms, worst, size = _rms(difference), _worst(difference), evidence.survey.values.range("q")
    each = [
        f"{joint} {number(rms[j], 2)}, {number(worst[j], 2)} {evidence.unit('q', j)}"
        for j, joint in enumerate(evidence.joints)
        if worst[j] > SMALL_DIFFERENCE_SHARE * size[j]
    ]
    return f"{'; '.join(each)} (RMS, worst)" if each else "next to nothing"


def _rms(difference: Array) -> Array:
    return np.asarray(np.sqrt((difference**2).mean(axis=0)))


def _worst(difference: Array) -> Array:
    return np.asarray(np.abs(difference).max(axis=0))


# -- the shift in time --------------------------------------------------------------------------------------------


def best_shift(plan: PlannedMotion, grid: Array, coarse: Array, time: Array, q: Array) -> float:
    """[s] Of the shifts that fit equally well the smallest; joints weigh by their planned range."""
    many, few = (slice(None, None, max(1, len(time) // most)) for most in (SHIFT_FINAL_SAMPLES, SHIFT_SEARCH_SAMPLES))
    all_time, all_q, time, q = time[many], q[many], time[few], q[few]
    least = LEAST_PLAN_OVERLAP * min(len(time), plan.length / max(float(time[-1] - time[0]), 1e-12) * len(time))
    tried = []
    for start in {0.0, *_candidates(plan, grid, coarse)}:
        shift = refined(plan, time, q, start)
        difference = plan.difference(time, q, shift) / plan.range
        if len(difference) >= max(least, 1.0):
            tried.append((float(np.sqrt((difference**2).mean())), shift))
    if not tried:
        return 0.0
    best = min(tried)[0]
    floor = 1e-6  # of the range: rounding
    shift = min((shift for fit, shift in tried if fit <= (1.0 + EQUAL_FIT_TOLERANCE) * best + floor), key=abs)
    return refined(plan, all_time, all_q, shift)


def _candidates(plan: PlannedMotion, time: Array, q: Array) -> list[float]:
    """[s] Peaks of the cross-correlation of velocities on a coarse grid."""
    if len(time) < 8:
        return []
    grid = np.arange(time[0], time[-1], CORRELATION_STEP_S)
    seen = np.gradient(np.column_stack([np.interp(grid, time, column) for column in q.T]), CORRELATION_STEP_S, axis=0)
    local = np.arange(0.0, plan.length, CORRELATION_STEP_S)
    wanted = np.gradient(plan.at(local)[0], CORRELATION_STEP_S, axis=0)
    scale = np.maximum(wanted.std(axis=0), 1e-9)
    score = sum(fftconvolve(s / c, (w / c)[::-1]) for s, w, c in zip(seen.T, wanted.T, scale, strict=True))
    peaks = find_peaks(np.pad(score, 1, constant_values=-np.inf))[0] - 1
    peaks = peaks[np.argsort(-np.asarray(score)[peaks])][:SHIFT_CANDIDATES]
    shifts = [float(grid[0] + (peak - (len(local) - 1)) * CORRELATION_STEP_S) for peak in peaks]
    return [_nearest(shift, plan.length) for shift in shifts] if plan.repeats else shifts


def _nearest(shift: float, length: float) -> float:
    """The same phase, nearest to zero."""
    return float((shift + 0.5 * length) % length - 0.5 * length)


def refined(plan: PlannedMotion, time: Array, q: Array, shift: float) -> float:
    """Gauss–Newton on Σ (q − q_planned(t − shift))², joints over their planned range."""
    for _ in range(SHIFT_NEWTON_STEPS):
        use = plan.inside(time - shift)
        if not use.any():
            break
        target, speed = (x / plan.range for x in plan.at(time[use] - shift))
        slope = float((speed**2).sum())
        if slope == 0.0:
            break
        step = -float((speed * (q[use] / plan.range - target)).sum()) / slope
        shift += step
        if abs(step) < 1e-9:
            break
    return shift


def moves_too_little(evidence: Evidence) -> Iterator[Note]:
    """Arcs over which weight, offset and friction look alike; a warning unless the condition number is good."""
    span, robot, limits = evidence.survey.values.range("q"), evidence.robot, evidence.thresholds
    if evidence.foreign_units or evidence.rest.start is None:
        return
    good = evidence.excitation is not None and evidence.excitation.condition < limits.condition
    for j, joint in enumerate(evidence.joints):
        if robot is not None and robot.joints[j].is_prismatic:
            continue
        room = np.inf
        if robot is not None:
            lower, upper = robot.position_range()
            room = float(upper[j] - lower[j])
        if 0.0 < span[j] < min(limits.arc, LITTLE_ROOM_SHARE * room):
            allowed = f" of {np.degrees(room):.0f}° allowed" if np.isfinite(room) else ""
            words = (
                f"it moves over {span[j]:.2g} rad ({np.degrees(span[j]):.0f}°{allowed}): weight, offset and friction "
                "can hardly be distinguished; let it move more, or use prior knowledge"
            )
            numbers = {"range": float(span[j]), "allowed": room}
            yield (note if good else warning)("small motion", words, joint, **numbers)


def excitation(evidence: Evidence) -> Iterator[Note]:
    """Condition number, predicted σ and the poorly excited base parameters."""
    found, limits = evidence.excitation, evidence.thresholds
    if found is None:
        return
    b = len(found.names)
    poor = [int(k) for k in np.argsort(-found.inflation) if found.inflation[k] > limits.inflation]
    numbers = {
        "condition_number_normalized": found.condition,
        "noise": dict(zip(evidence.joints, found.noise.tolist(), strict=True)),
        "predicted_std": dict(zip(found.names, found.std.tolist(), strict=True)),
        "inflation": dict(zip(found.names, found.inflation.tolist(), strict=True)),
        "poor": [found.names[k] for k in poor],
    }
    named = ", ".join(f"{found.names[k]} (σ × {number(found.inflation[k])})" for k in poor[:MOST_PARAMETERS_NAMED])
    named += f" and {len(poor) - MOST_PARAMETERS_NAMED} more" if len(poor) > MOST_PARAMETERS_NAMED else ""
    words = f"condition number {number(found.condition)} (unit columns) of {b} base parameters"
    if not np.isfinite(found.condition):
        words = f"the motion does not determine all {b} base parameters; not determined: {named}"
        yield warning("poor excitation", words, **numbers)
    elif found.condition > limits.condition:
        words += f"; poorly excited (σ over that with all others known): {named or 'none alone'}"
        yield warning("poor excitation", words + "; move more, or use prior knowledge", **numbers)
    else:
        yield note("excitation", words + (f"; weakest: {named}" if named else ""), **numbers)
