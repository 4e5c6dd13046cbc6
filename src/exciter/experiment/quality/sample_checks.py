"""Checks of single samples: time stamps, missing and constant values, limits, jumps, outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.numbers_in_words import counted, listed, number, percent, time_span
from exciter.experiment.quality.sample_tallies import DEAD_STOP_STEP_RATIO, SAMPLES_BESIDE_PLATEAU, WHOLE_ROWS, runs
from exciter.experiment.signals.noise import quantisation_step
from exciter.notes import Note, note, problem, warning
from exciter.typing import Array

TIME_UNIT_SECONDS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}
STUCK_TALLIES = ("values", "plateaus")  #: that ``stuck`` looks at
LONGEST_HOLD_SAMPLES = 20  # a channel that stays longer rests, or is stuck
HELD_QUANTISATION_STEPS = 5.0  # that a held channel changes by at once
VISIBLE_STEP_SHARE = 1e-5  # of the range: finer steps are digits of a text file
FEWEST_HELD_VALUES = 200  # to judge by
UNIT_NAMES = {"deg": "degrees", "mm": "millimetres"}
LIMIT_NAMES = {"qd": "velocity", "torque": "torque", "current": "torque"}
SIGNAL_NAMES = {"q": "position", "qd": "velocity", "torque": "torque", "current": "current"}


def rate(evidence: Evidence) -> Iterator[Note]:
    """The nominal rate; too few samples; another unit than seconds."""
    timing, limits = evidence.timing, evidence.limits
    texts = (number(timing.rate, digits) for digits in range(1, 8))  # no more digits than the number of samples gives
    close = (text for text in texts if abs(float(text) / timing.rate - 1.0) < 1.0 / timing.samples)
    nominal = next(close, f"{timing.rate:g}")
    words = f"{timing.samples} samples in {number(timing.duration, 6)} s, nominally {nominal} Hz"
    yield note("rate", words, **{name: getattr(timing, name) for name in ("rate", "interval", "samples", "duration")})
    if timing.samples < limits.fewest_samples:
        words = f"{timing.samples} samples are too few; a motion of some seconds has thousands"
        yield problem("rate", words, samples=timing.samples)
    elif timing.duration < limits.shortest and timing.rate <= limits.fastest_rate:
        words = f"{number(timing.duration)} s are too short: joints hardly turn around in it, and weight, friction and "
        words += "inertia look alike; record some periods of a motion, 10 s or more"
        yield problem("too short", words, duration=timing.duration)
    units = [unit for unit, size in TIME_UNIT_SECONDS.items() if 10.0 <= timing.rate / size <= 20_000.0]
    if timing.longest > limits.longest_step:
        words = f"after {timing.longest_at:.6g} s time goes on by {timing.longest:.3g} s at once, which no log of a "
        words += "motion does; is it the right column, in one unit and of one clock?"
        yield problem("unit of time", words, longest=timing.longest, at=timing.longest_at)
    elif timing.rate < limits.slowest_rate and units:
        words = f"{number(timing.rate)} Hz is slow for a robot; is time in {units[0]}? then set "
        yield problem("unit of time", f"{words}time: {{unit: {units[0]}}}", rate=timing.rate, unit=units[0])
    if timing.rate > limits.fastest_rate:
        words = f"{number(timing.rate)} Hz is faster than robots are logged; is time in another unit than seconds?"
        yield problem("unit of time", words, rate=timing.rate)


def jitter(evidence: Evidence) -> Iterator[Note]:
    timing = evidence.timing
    if timing.jitter > evidence.limits.jitter:
        words = f"intervals differ by {percent(timing.jitter)} of {time_span(timing.interval, 4)} (standard "
        words += f"deviation), {time_span(timing.shortest)} … {time_span(timing.longest)}; resample on true time, "
        words += "never assume a constant step"
        yield warning("jitter", words, jitter=timing.jitter, shortest=timing.shortest, longest=timing.longest)


def lost_samples(evidence: Evidence) -> Iterator[Note]:
    """Gaps, how many samples they swallowed, and the longest."""
    timing, limits = evidence.timing, evidence.limits
    if not timing.missing or timing.longest > limits.longest_step:  # then time itself is wrong
        return
    share = timing.missing / (timing.missing + timing.samples - timing.duplicates)
    long = timing.longest > max(limits.long_gap, 2.0 * timing.interval)
    where = f", in {counted(timing.gaps, 'gap')}" if timing.steady else ""
    words = f"{percent(share)} of the samples are missing ({timing.missing}{where}); the longest gap lasts "
    words += f"{time_span(timing.longest, 4)}, after {timing.longest_at:.6g} s"
    words += "; it is too long to be bridged and splits the recording" if long else ""
    numbers = {"share": share, "count": timing.missing, "gaps": timing.gaps, "longest": timing.longest}
    grave = warning if long or share > limits.missing else note
    yield grave("lost samples", words, **numbers, at=timing.longest_at)


def duplicates(evidence: Evidence) -> Iterator[Note]:
    if count := evidence.timing.duplicates:
        other = evidence.timing.contradicting
        words = f"{counted(count, 'sample')} {'repeats' if count == 1 else 'repeat'} the time of the one before: "
        words += f"{count - other} copied, which repair drops, {other} with other values, which it refuses unless "
        words += "contradicting: true"
        numbers = {"count": count, "contradicting": other, "share": count / evidence.timing.samples}
        yield (problem if other else warning)("duplicates", words, **numbers)


def missing_values(evidence: Evidence) -> Iterator[Note]:
    """NaN per channel; a burst cannot be interpolated."""
    missing, limits = evidence.missing, evidence.limits
    for (name, j), count in missing.count.items():
        share = count / evidence.timing.samples
        span, at = missing.longest[name, j]
        burst = share > limits.nan_share or span > max(limits.nan_run, 2.0 * evidence.timing.interval)
        words = f"{counted(count, 'sample')} of {name} ({percent(share)}) without a number, up to {number(1e3 * span)} "
        words += f"ms without a break after {at:.6g} s; "
        words += "a burst is not interpolated: cut it out with windows" if burst else "interpolated by repair"
        numbers = {"signal": name, "count": count, "share": share, "longest": span, "at": at}
        yield (problem if burst else warning)("missing values", words, evidence.joints[j], **numbers)


def units(evidence: Evidence) -> Iterator[Note]:
    """Positions that only make sense in another unit, and the line that says so."""
    foreign, joints, known = evidence.foreign_units, evidence.joints, evidence.robot is not None
    if not foreign:
        return
    values = evidence.values
    largest = np.maximum(np.abs(values.lowest["q"]), np.abs(values.highest["q"]))
    each = [f"{joints[j]} reaches {number(largest[j], 4)} {evidence.unit('q', j)}" for j in foreign]
    names = listed([UNIT_NAMES[name] for name in dict.fromkeys(foreign.values())])
    why = f"outside the description's limits, and within them as {names}" if known else "more than two turns"
    every = [foreign.get(j, evidence.unit("q", j)) for j in range(len(joints))]
    line = every[0] if len(set(every)) == 1 else f"[{', '.join(every)}]"
    words = f"{', '.join(each)}: {why}; if that is so, set position: {{unit: {line}}}"
    by_joint = {joints[j]: name for j, name in foreign.items()}
    joint = next(iter(by_joint)) if len(by_joint) == 1 else None
    yield (problem if known else warning)("unit of position", words, joint, units=by_joint, largest=largest.tolist())


def stuck(evidence: Evidence) -> Iterator[Note]:
    """Channels that never change, or stand still in mid-motion."""
    values, moves = evidence.values, evidence.values.range("q") > 0
    for name in evidence.signals if moves.any() else ("q",):
        for j in np.flatnonzero((values.range(name) == 0.0) & np.isfinite(values.lowest[name])).tolist():
            if j in evidence.silent and name in ("torque", "current"):
                continue
            if j in evidence.held and name in ("q", "qd"):  # the plan says so
                continue
            value = float(values.lowest[name][j])
            there = f"{number(value, 6)} throughout"
            words = f"{name} is {there} while the robot moves; is it the right column?"
            subject, grave = "stuck sensor", problem if moves[j] or name != "qd" else warning
            if name == "q":
                subject, grave = "joint does not move", warning
                words = f"the position is {there}: it does not move, or its sensor is not connected"
            yield grave(subject, words, evidence.joints[j], signal=name, value=value)
    for (name, j), (duration, start) in evidence.plateaus.longest.items():
        if values.range(name)[j] > 0.0 and j not in evidence.held:  # locked: but for the last digit
            words = f"{name} stands still for {duration:.3g} s after {start:.6g} s although the joint moves; a sensor "
            words += "or the logger hung: cut that time out with windows"
            yield problem("stuck sensor", words, evidence.joints[j], signal=name, at=start, duration=duration)


def repeated_rows(evidence: Evidence) -> Iterator[Note]:
    """The same packet logged again; judged where a channel beside the positions never rests by itself."""
    plateaus, samples = evidence.plateaus, evidence.timing.samples
    share = plateaus.repeated / samples
    if len(evidence.signals) > 1 and share > evidence.limits.repeated_rows:
        words = f"{percent(share)} of the rows repeat the one before in every channel, up to {plateaus.longest_repeat} "
        words += "one after the other: a packet that was logged again; derivatives jump there, smooth generously"
        yield warning("repeated rows", words, share=share, count=plateaus.repeated, longest=plateaus.longest_repeat)


def quantisation(evidence: Evidence) -> Iterator[Note]:
    """The step of which all values are multiples."""
    for name in evidence.signals:
        values = getattr(evidence.windows[0], name)
        steps = np.array([quantisation_step(column[np.isfinite(column)]) for column in values.T])
        steps[steps < VISIBLE_STEP_SHARE * evidence.values.range(name)] = 0.0
        if steps.any():
            known = map(int, np.flatnonzero(steps))
            each = (f"{number(steps[j], 2)} {evidence.unit(name, j)} ({evidence.joints[j]})" for j in known)
            yield note("quantisation", f"{name} has steps of {', '.join(each)}", signal=name, steps=steps.tolist())


def held(evidence: Evidence) -> Iterator[Note]:
    """Channels refreshed more slowly than they are logged."""
    for name, _, joint, parts in evidence.channels:
        share = float(np.mean([_repeats(x) for x in parts]))
        if share > evidence.limits.held:
            words = f"{100 * share:.0f} % of the values of {name} repeat the one before: it is refreshed about every "
            words += f"{1.0 / (1.0 - share):.1f} samples and late by half of that; log it at its own rate"
            yield warning("held values", words, joint, signal=name, share=share)


def _repeats(x: Array) -> float:
    """Share of values that repeat the one before while the channel moves by more than a few steps of quantisation."""
    step = np.abs(np.diff(x))
    moving = step[(step > 0) & np.isfinite(step)]
    if len(step) < FEWEST_HELD_VALUES or not moving.size:
        return 0.0
    if np.median(moving) < HELD_QUANTISATION_STEPS * np.quantile(moving, 0.01):
        return 0.0
    _, lengths = runs(step == 0.0)
    repeated = int(lengths[lengths < LONGEST_HOLD_SAMPLES].sum())
    return repeated / (repeated + moving.size)


def saturation(evidence: Evidence) -> Iterator[Note]:
    """Plateaus at the largest or smallest value that are entered without slowing down."""
    limits = evidence.limits
    for name, j, joint, parts in evidence.channels:
        if j in evidence.held and name in ("q", "qd"):  # locked, it slips by a few steps, and rests again
            continue
        low, high = evidence.values.lowest[name][j], evidence.values.highest[name][j]
        for value in (low, high) if low < high else ():
            if (count := sum(_flat(x, value, limits.flat_run) for x in parts)) < limits.flat_samples:
                continue
            share = count / sum(map(len, parts))
            words = f"{counted(count, 'sample')} ({percent(share)}) are cut off at {number(value, 6)} "
            words += f"{evidence.unit(name, j)}: the {SIGNAL_NAMES[name]} was larger than the sensor, the drive or the "
            words += "logger allows; leave these samples out, or move more gently"
            grave = problem if share > limits.saturated_problem else warning
            yield grave("saturation", words, joint, signal=name, value=float(value), count=count, share=share)


def _flat(x: Array, value: float, shortest: int) -> int:
    """Samples of x that stand at ``value``, in plateaus that x enters or leaves at its usual pace."""
    starts, lengths = runs(x == value)
    long = lengths >= shortest
    step = np.abs(np.diff(x))
    changes = step[(step > 0) & np.isfinite(step)]
    if not long.any() or not changes.size:
        return 0
    usual, near, count = float(np.median(changes)), SAMPLES_BESIDE_PLATEAU // 2, 0
    for start, length in zip(starts[long], lengths[long], strict=True):
        end = start + length - 1
        sides = step[max(start - near, 0) : start], step[end : end + near]
        if any(side.size and side.mean() > DEAD_STOP_STEP_RATIO * usual for side in sides):
            count += int(length)
    return count


def beyond_limits(evidence: Evidence) -> Iterator[Note]:
    """Positions, velocities and torques (currents times gains) against the description."""
    for name in evidence.values.limits:
        if name in evidence.signals:
            yield from _against(evidence, name)


def _against(evidence: Evidence, name: str) -> Iterator[Note]:
    limits, values, robot = evidence.limits, evidence.values, evidence.robot
    count, (lower, upper) = values.at_limit[name], values.limits[name]
    if name == "q":  # reached (n,): over the limit
        outside = np.maximum(values.highest[name] - upper, lower - values.lowest[name])
        limited = np.isfinite(upper - lower)
        reached = np.where(limited, 1.0 + outside / np.where(limited, 0.5 * (upper - lower), 1.0), 0.0)
    else:
        reached = np.maximum(values.highest[name], -values.lowest[name]) / upper
    limit = upper if name == "q" or robot is None else robot.limit(LIMIT_NAMES[name])
    # limits that a description does not have: finite, and the same for three joints or more
    known = len(limit) < 3 or not np.isfinite(limit).all() or np.ptp(limit) > 0.0
    ends, at = (values.lowest[name], values.highest[name], lower, upper), dict[str, float]()
    gains, of, what = np.ones(len(upper)), name, f"the {SIGNAL_NAMES[name]}"
    if name == "current":
        each = evidence.about.gains or [one.small_gain for one in evidence.about.map or ()]
        gains, of, what = np.abs(each) * np.ones(len(upper)), "torque", "the current times its gain"
    for j, joint in enumerate(evidence.joints):
        if not np.isfinite(reached[j]) or j in evidence.foreign_units:
            continue  # the latter is reported by its cause
        share, one = float(count[j] / evidence.timing.samples), evidence.unit(of, j)
        numbers = {"signal": name, "reached": float(reached[j]), "share": share}
        if reached[j] > limits.beyond_limit:
            low, high, least, most = (number(gains[j] * end[j], 4) for end in ends)
            words = f"{what} ({low} … {high} {one}) is far beyond the description's limit ({least} … {most} {one}); "
            words += "unit, gain or joint order may be wrong" if known else "the limit looks like a placeholder"
            absurd = reached[j] > limits.torque_scale and count[j] >= limits.flat_samples and name in LIMIT_NAMES
            yield ((problem if absurd else warning) if known else note)("beyond limit", words, joint, **numbers)
        elif name in LIMIT_NAMES and known and count[j] >= limits.flat_samples:
            at[joint] = share
            if name != "qd":
                words = f"the {SIGNAL_NAMES[name]} is at the description's limit for {percent(share)} of the samples"
                yield warning("at limit", words, joint, **numbers)
    if name == "qd" and at:  # where motions are designed to be
        least, most = percent(min(at.values())), percent(max(at.values()))
        often = least if least == most else f"{least.removesuffix(' %')} … {most}"
        words = f"the velocity is at the description's limit for {often} of the samples ({', '.join(at)})"
        yield note("at limit", words, signal=name, share=at)


def jumps(evidence: Evidence) -> Iterator[Note]:
    """Angles that wrap around, and steps that no motion makes."""
    for j, turns in evidence.spikes.turns.items():
        words = f"the angle wraps around: {counted(turns.count, 'step')} of a turn, the first after {turns.at:.6g} s; "
        words += "repair: {unwrap: true} makes it continuous"
        yield problem("jumps", words, evidence.joints[j], **asdict(turns))
    for j, steps in evidence.spikes.jumps.items():
        if j in evidence.foreign_units:
            continue
        words = f"{counted(steps.count, 'step')} of the position that no motion makes, the first of "
        words += f"{number(steps.size)} {evidence.unit('q', j)} after {steps.at:.6g} s: an encoder jumped, or samples "
        words += "are missing or repeated without a gap in time"
        yield problem("jumps", words, evidence.joints[j], **asdict(steps))


def outliers(evidence: Evidence) -> Iterator[Note]:
    """Spikes of any channel, and of whole rows."""
    spikes, samples = evidence.spikes, evidence.timing.samples
    for (name, j), found in spikes.found.items():
        whole, share = name == WHOLE_ROWS, found.count / samples
        what = f"{counted(found.count, 'sample')} of {name} far off both neighbours"
        what = f"{counted(found.count, 'whole row')} far off the rows beside" if whole else what
        words = f"{what}, the first at {found.at:.6g} s; repair: {{spikes: true}} replaces them"
        grave = warning if whole or name == "q" or share > evidence.limits.spike_share else note
        joint = None if whole else evidence.joints[j]
        yield grave("spikes", words, joint, signal=name, count=found.count, share=share, at=found.at)


CHECKS_OF_TIME = (rate, jitter, lost_samples, duplicates, missing_values)
CHECKS_OF_VALUES = (units, stuck, repeated_rows, held, quantisation, saturation, beyond_limits, jumps, outliers)
