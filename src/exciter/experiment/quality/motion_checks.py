"""Checks of the motion: rest, measured velocity, period, difference from the planned motion, excitation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.quality.delays import newton
from exciter.experiment.quality.evidence import SAME_MOTION_VARIANCE, Evidence, difference, visible_period
from exciter.experiment.quality.numbers_in_words import listed, number, percent, time_span
from exciter.experiment.quality.smoothed_log import columns_at
from exciter.notes import Note, note, problem, warning
from exciter.typing import Array

LEFT_OUT_ADVICE = "identification leaves it out, or takes friction with pre-sliding"
NAMED_FACTOR_TOLERANCE = 0.1  # relative, of a factor that has a name
VELOCITY_FACTOR_NAMES = {180.0 / np.pi: "degrees per second", 30.0 / np.pi: "rpm", np.pi / 180.0: "radians and degrees"}
LEAST_COLUMN_LENGTH = 1e-100  # shorter columns are rounding
LATE_VELOCITY_PERIODS = 0.02  # of the cut-off: a delay of the measured velocity that is reported
VELOCITY_RESIDUAL_SHARE = 0.2  # of the velocity's RMS: with a larger residual it is not the derivative of position
STILL_RANGE_SHARE = 1e-6  # of the largest planned range: a joint that moves less is to stand still
CLOSED_RANGE_SHARE = 1e-3  # of the range, between start and end of a planned motion that repeats
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
    """The whole robot at rest before and after its motion, where sign(q̇) is meaningless."""
    rest, timing, least = evidence.rest, evidence.timing, evidence.limits.standstill
    if rest.start is None or rest.end is None:
        left = "only weight and offset" if evidence.effort_name else "nothing"
        words = f"no joint moves; {left} can be identified from it"
        yield problem("standstill", words, start=timing.first, end=timing.last)
        return
    for where, start, end in (("before", timing.first, rest.start), ("after", rest.end, timing.last)):
        if end - start > least:
            words = f"the robot stands still {where} its motion, {start:.4g} … {end:.4g} s ({end - start:.3g} s): "
            words += f"friction has no sign there; {LEFT_OUT_ADVICE}; windows, or repair: {{cut_standstill: true}}, "
            yield note("standstill", f"{words}cut it off", where=where, start=start, end=end, duration=end - start)


def resting_joints(evidence: Evidence) -> Iterator[Note]:
    (start, _, share), still = evidence.rest, evidence.values.range("q") == 0.0
    for j in np.flatnonzero((share > evidence.limits.rest_share) & ~still) if start is not None else ():
        rests = f"the joint rests for {100 * share[j]:.0f} % of the motion"
        words = f"{rests}: its friction has no sign then; {LEFT_OUT_ADVICE}"
        yield note("rest", words, evidence.joints[j], share=float(share[j]))


def velocity(evidence: Evidence) -> Iterator[Note]:
    """q̇ measured = a (q̇ − d q̈), joint by joint: factor a and delay d [s]."""
    smooth, limits = evidence.smooth, evidence.limits
    if smooth is None or smooth.measured is None:
        return
    interval, late = evidence.timing.interval, dict[str, float]()
    for j in np.flatnonzero(evidence.values.range("q") > 0):
        if j in evidence.foreign_units:  # then it is not the derivative, and that is why
            continue
        joint, measured = evidence.joints[j], smooth.measured[:, j]
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
            words = f"the measured velocity is {number(factor)} times the derivative of position: one of them counts "
            yield problem("velocity", f"{words}the other way round; see signs in recording.yaml", joint, **numbers)
        elif abs(factor - 1.0) > limits.velocity_factor:
            known = VELOCITY_FACTOR_NAMES.items()
            names = [f", {word}?" for one, word in known if abs(factor / one - 1.0) < NAMED_FACTOR_TOLERANCE]
            words = f"the measured velocity is {number(factor, 4)} times the derivative of position{''.join(names[:1])}"
            yield problem("velocity", words, joint, **numbers)
        elif abs(delay) > max(2.0 * interval, LATE_VELOCITY_PERIODS / smooth.cutoff):
            late[joint] = float(delay)
    if late:
        least, most = 1e3 * min(late.values()), 1e3 * max(late.values())
        words = f"the measured velocity comes {number(least)} … {number(most)} ms after the position "
        words += f"({', '.join(late)}): it was filtered, or logged late; derivatives of position do not mix with it"
        yield note("velocity", words, delay=late)


def periodicity(evidence: Evidence) -> Iterator[Note]:
    """The period given, judged by the data; or the one they show."""
    rest, about, width = evidence.rest, evidence.about, evidence.coarse.width
    if rest.start is None or rest.end is None:
        return
    given = about.period
    time, q = evidence.coarse.positions()
    inside = (time >= rest.start) & (time <= rest.end)
    if given is not None and about.settled is not None:
        inside &= time >= about.settled
    if inside.sum() < 32:
        return
    grid = np.arange(time[inside][0], time[inside][-1], width)
    q = columns_at(grid, time[inside], q[inside])
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


class PlannedMotion:
    """A planned motion as a function of time from its start; a closed one is repeated."""

    def __init__(self, curve: Curve) -> None:
        self.curve, self.length = curve, curve.end - curve.start
        q = curve.motion(np.linspace(curve.start, curve.end, 200)).q
        extent = np.ptp(q, axis=0)
        still = extent <= STILL_RANGE_SHARE * extent.max(
            initial=0.0
        )  # what a locked joint does is a question of its own
        #: (n,) of the planned positions; of joints that are to stand still the largest of others
        self.range = np.maximum(np.where(still, extent.max(initial=0.0), extent), 1e-9)
        self.repeats = bool((np.abs(q[-1] - q[0]) < CLOSED_RANGE_SHARE * self.range).all())

    def at(self, time: Array) -> tuple[np.ndarray, Array, Array]:
        """Where there is a plan (N,), and q and q̇ (K, n) there."""
        inside = np.full(len(time), True) if self.repeats else (time >= 0.0) & (time <= self.length)
        local = np.mod(time, self.length) if self.repeats else time[inside]
        order = np.argsort(local, kind="stable")
        motion = self.curve.motion(self.curve.start + local[order])
        back = np.argsort(order)
        return inside, motion.q[back], motion.qd[back]

    def difference(self, time: Array, q: Array, shift: float) -> Array:
        """(K, n) recorded − planned, where there is a plan."""
        inside, target, _ = self.at(time - shift)
        return np.asarray(q[inside] - target)


def planned(evidence: Evidence) -> Iterator[Note]:
    """RMS and worst difference per joint, as recorded and at the shift in time that fits best."""
    if evidence.planned is None:
        return
    plan = PlannedMotion(evidence.planned)
    start = evidence.timing.first
    time = np.concatenate([window.time for window in evidence.windows]) - start
    q = np.concatenate([window.q for window in evidence.windows])
    good = np.isfinite(q).all(axis=1)
    time, q = time[good], q[good]
    grid, coarse = evidence.coarse.positions()
    shift = best_shift(plan, grid - start, coarse, time, q)
    moved, still = plan.difference(time, q, shift), plan.difference(time, q, 0.0)
    if not len(moved):
        return
    rms, worst = _size(moved)
    numbers = {"shift": float(shift), "rms": rms.tolist(), "worst": worst.tolist()}
    where, unshifted = f"{time_span(abs(shift))} {'later' if shift > 0 else 'earlier'}", ""
    if len(still):
        numbers |= dict(zip(("unshifted_rms", "unshifted_worst"), (x.tolist() for x in _size(still)), strict=True))
        unshifted = f"; without a shift by {_each(evidence, *_size(still))}"
    if abs(shift) < NO_SHIFT_INTERVALS * evidence.timing.interval:
        where, unshifted = "without a shift in time", ""
    words = f"the recorded motion fits the planned one best {where}: off by {_each(evidence, rms, worst)}{unshifted}"
    yield note("planned motion", words, **numbers)
    limits, share = evidence.limits, rms / plan.range
    for j in np.flatnonzero(share > limits.planned).tolist():
        one, other = evidence.unit("q", j), share[j] > limits.planned_other
        words = f"it is off the planned position by {number(rms[j])} {one} RMS, {number(worst[j])} {one} at worst "
        causes = "another motion?" if other else "a loose controller, or another motion?"
        words += f"({percent(share[j])} of the planned range); {causes}"
        numbers = {"rms": float(rms[j]), "worst": float(worst[j]), "share": float(share[j])}
        yield (problem if other else warning)("planned motion", words, evidence.joints[j], **numbers)
    _, target, _ = plan.at(time - shift)
    for i, j in combinations(np.flatnonzero(rms > limits.planned * plan.range).tolist(), 2):
        other, _ = _size((target + moved)[:, [i, j]] - target[:, [j, i]])
        if (other < EXCHANGED_RESIDUAL_SHARE * rms[[i, j]]).all():  # two joints that fit each other's plan
            names = [evidence.joints[i], evidence.joints[j]]
            words = f"{listed(names)} fit the plan with the two exchanged: is their order that of the plan?"
            yield warning("planned motion", words, exchanged=names)


def _each(evidence: Evidence, rms: Array, worst: Array) -> str:
    """``shoulder 0.012, 0.034 rad; …``, without what is less than 10⁻⁴ of the range, and joints that are locked."""
    large = worst > SMALL_DIFFERENCE_SHARE * evidence.values.range("q")
    seen = [j for j in np.flatnonzero(large).tolist() if j not in evidence.held]
    numbers = [f"{number(rms[j], 2)}, {number(worst[j], 2)} {evidence.unit('q', j)}" for j in seen]
    each = [f"{evidence.joints[j]} {own}" for j, own in zip(seen, numbers, strict=True)]
    return f"{'; '.join(each)} (RMS, worst)" if each else "next to nothing"


def _size(difference: Array) -> tuple[Array, Array]:
    """RMS and worst (n,) of (K, n)."""
    return np.sqrt((difference**2).mean(axis=0)), np.abs(difference).max(axis=0)


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
    most = (1.0 + EQUAL_FIT_TOLERANCE) * min(tried)[0] + 1e-6  # of the range: rounding
    return refined(plan, all_time, all_q, min((shift for fit, shift in tried if fit <= most), key=abs))


def began(curve: Curve, time: Array, q: Array) -> float:
    """[s] of the clock of recorded positions (N, n) at ``time`` (N,), when a planned motion began."""
    plan, start = PlannedMotion(curve), float(time[0])
    few = slice(None, None, max(1, round(CORRELATION_STEP_S / max(float(np.median(np.diff(time))), 1e-12))))
    return start + best_shift(plan, time[few] - start, q[few], time - start, q)


def _candidates(plan: PlannedMotion, time: Array, q: Array) -> list[float]:
    """[s] Peaks of the cross-correlation of velocities on a coarse grid."""
    if len(time) < 8:
        return []
    grid = np.arange(time[0], time[-1], CORRELATION_STEP_S)
    seen = np.gradient(columns_at(grid, time, q), CORRELATION_STEP_S, axis=0)
    local = np.arange(0.0, plan.length, CORRELATION_STEP_S)
    wanted = np.gradient(plan.at(local)[1], CORRELATION_STEP_S, axis=0)
    scale = np.maximum(wanted.std(axis=0), 1e-9)
    score = sum(scipy.signal.fftconvolve(s / c, (w / c)[::-1]) for s, w, c in zip(seen.T, wanted.T, scale, strict=True))
    peaks = scipy.signal.find_peaks(np.pad(score, 1, constant_values=-np.inf))[0] - 1
    peaks = peaks[np.argsort(-np.asarray(score)[peaks])][:SHIFT_CANDIDATES]
    shifts, half = grid[0] + (peaks - (len(local) - 1)) * CORRELATION_STEP_S, 0.5 * plan.length
    return list(((shifts + half) % plan.length - half if plan.repeats else shifts).tolist())  # nearest to zero


def refined(plan: PlannedMotion, time: Array, q: Array, shift: float) -> float:
    """Gauss–Newton on Σ (q − q_planned(t − shift))², joints over their planned range."""

    def slopes(at: float) -> Array:
        use, *planned = plan.at(time - at)
        target, speed = (x / plan.range for x in planned)
        return np.array([(speed * (q[use] / plan.range - target)).sum(), (speed**2).sum()])

    found = newton(slopes, shift, np.inf)
    return shift if found is None else found


def moves_too_little(evidence: Evidence) -> Iterator[Note]:
    """Arcs over which weight, offset and friction look alike; a warning unless the condition number is good."""
    span, robot, limits = evidence.values.range("q"), evidence.robot, evidence.limits
    if evidence.foreign_units or evidence.rest.start is None:
        return
    good = evidence.excitation is not None and evidence.excitation.condition < limits.condition
    good |= evidence.effort_name is None  # nothing is identified from weights then
    room = np.full(len(span), np.inf)
    if robot is not None:
        lower, upper = robot.position_range()
        room = np.where([joint.is_prismatic for joint in robot.joints], 0.0, upper - lower)
        room[list(robot.free_base)] = 0.0  # which has neither offset nor friction
    for j in np.flatnonzero((span > 0.0) & (span < np.minimum(limits.arc, LITTLE_ROOM_SHARE * room))):
        allowed = f" of {np.degrees(room[j]):.0f}° allowed" if np.isfinite(room[j]) else ""
        words = f"it moves over {span[j]:.2g} rad ({np.degrees(span[j]):.0f}°{allowed}): weight, offset and friction "
        words += "can hardly be distinguished; let it move more, or use prior knowledge"
        numbers = {"range": float(span[j]), "allowed": float(room[j])}
        yield (note if good else warning)("small motion", words, evidence.joints[j], **numbers)


def excitation(evidence: Evidence) -> Iterator[Note]:
    """Condition number, predicted σ and the poorly excited base parameters."""
    found, limits = evidence.excitation, evidence.limits
    if found is None:
        return
    b = len(found.names)
    poor = [int(k) for k in np.argsort(-found.inflation) if found.inflation[k] > limits.inflation]
    numbers: dict[str, Any] = {"condition_number_normalized": found.condition}
    numbers["noise"] = dict(zip(evidence.joints, found.noise.tolist(), strict=True))
    for name, values in (("predicted_std", found.std), ("inflation", found.inflation)):
        numbers[name] = dict(zip(found.names, values.tolist(), strict=True))
    numbers["poor"] = [found.names[k] for k in poor]
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


CHECKS_OF_REST = (standstill, resting_joints, velocity)
CHECKS_OF_EXCITATION = (periodicity, planned, moves_too_little, excitation)
