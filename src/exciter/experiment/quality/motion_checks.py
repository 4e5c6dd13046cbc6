"""Does the motion do what it should? Rest, measured velocity, period, and what it excites."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.survey import SAME_MOTION, difference, visible_period
from exciter.experiment.quality.words import number
from exciter.notes import Note, note, problem, warning

LEFT_OUT = "identification leaves it out, or takes friction with pre-sliding"
CLOSE_FACTOR = 0.1  # relative, of a factor that has a name
NAMED_FACTORS = {
    180.0 / np.pi: "degrees per second",
    60.0 / (2.0 * np.pi): "rpm",
    np.pi / 180.0: "radians beside degrees",
}
NO_LENGTH = 1e-100  # a length below is rounding
LATE_VELOCITY = 0.02  # periods of the cut-off
VELOCITY_FITS = 0.05  # of the velocity's RMS may be left over for a factor to be taken seriously
SHOWN = 12  # parameters named in words
LITTLE_ROOM = 0.25  # of the allowed range: a joint that has little room is not to blame


def standstill(evidence: Evidence) -> Iterator[Note]:
    """The whole robot at rest before it starts and after it ends, where sign(q̇) is meaningless. Worth knowing, but no
    fault: identification leaves it out."""
    rest, timing, least = evidence.rest, evidence.survey.timing, evidence.thresholds.standstill
    if rest.start is None or rest.end is None:
        words = "no joint moves; nothing but weight and offset can be learnt from it"
        yield problem("standstill", words, start=timing.first, end=timing.last)
        return
    for where, start, end in (("before", timing.first, rest.start), ("after", rest.end, timing.last)):
        if end - start > least:
            words = (
                f"the robot stands still {where} its motion, {start:.4g} … {end:.4g} s ({end - start:.3g} s): friction "
                f"has no sign there; {LEFT_OUT}; windows, or repair: {{cut_standstill: true}}, cut it off"
            )
            yield note("standstill", words, where=where, start=start, end=end, duration=end - start)


def resting_joints(evidence: Evidence) -> Iterator[Note]:
    """Joints that rest while others move."""
    share, still = evidence.rest.share, evidence.survey.values.range("q") == 0.0
    for j, joint in enumerate(evidence.joints):
        if share[j] > evidence.thresholds.rest_share and not still[j] and evidence.rest.start is not None:
            words = (
                f"the joint rests for {100 * share[j]:.0f} % of the motion: its friction has no sign then; {LEFT_OUT}"
            )
            yield note("rest", words, joint, share=float(share[j]))


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
        if not (length > NO_LENGTH).all():
            continue
        (factor, slope), *_ = np.linalg.lstsq(rows / length, measured, rcond=None)
        left = measured - (rows / length) @ (factor, slope)
        factor, slope = factor / length[0], slope / length[1]
        usual = float(np.sqrt(np.mean(rows[:, 0] ** 2)))
        rest = float(np.sqrt(np.mean(left**2))) / max(abs(factor) * usual, 1e-300)
        delay = -slope / factor if factor else 0.0
        numbers = {"factor": float(factor), "delay": float(delay), "rest": rest}
        if rest > 4 * VELOCITY_FITS:
            words = f"the measured velocity is not the derivative of position ({100 * rest:.0f} % of it is left over)"
            yield warning("velocity", words, joint, **numbers)
        elif factor < 0:
            words = (
                f"the measured velocity is {number(factor)} times the derivative of position: one of them counts the "
            )
            yield problem("velocity", words + "other way round; see signs in recording.yaml", joint, **numbers)
        elif abs(factor - 1.0) > limits.velocity_factor:
            name = next((f", {word}?" for f, word in NAMED_FACTORS.items() if abs(factor / f - 1.0) < CLOSE_FACTOR), "")
            words = f"the measured velocity is {number(factor, 4)} times the derivative of position{name}"
            yield problem("velocity", words, joint, **numbers)
        elif abs(delay) > max(2.0 * interval, LATE_VELOCITY / smooth.cutoff):
            late[joint] = float(delay)
    if late:
        least, most = 1e3 * min(late.values()), 1e3 * max(late.values())
        words = (
            f"the measured velocity comes {number(least)} … {number(most)} ms after the position "
            f"({', '.join(late)}): it was "
        )
        yield note(
            "velocity", words + "filtered, or logged late; derivatives of position do not mix with it", delay=late
        )


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
            words += "; say period: … to average" if duration >= 2.0 * found else ": parts of it are seen twice"
            yield note("period", words, period=found, repeats=duration / found)
        return
    if duration < 2.0 * given:
        yield note("period", f"{duration / given:.2g} periods of {given:g} s: too few to average", period=given)
        return
    d = difference(q)
    here = float(np.interp(given / width, np.arange(len(d)), d))
    if here > SAME_MOTION:
        seen = "" if found is None else f"; it does every {found:.4g} s"
        words = f"the motion does not repeat after the period of {given:g} s given ({100 * here:.2g} % of its variance)"
        yield warning("period", words + seen, period=given, difference=here, visible=found)
    else:
        words = f"the motion repeats every {given:g} s as given, {duration / given:.3g} times"
        yield note("period", words, period=given, repeats=duration / given)


def moves_too_little(evidence: Evidence) -> Iterator[Note]:
    """Arcs over which weight, offset and friction look alike; grave unless the condition number says otherwise."""
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
        if 0.0 < span[j] < min(limits.arc, LITTLE_ROOM * room):
            allowed = f" of {np.degrees(room):.0f}° allowed" if np.isfinite(room) else ""
            words = (
                f"it moves over {span[j]:.2g} rad ({np.degrees(span[j]):.0f}°{allowed}): weight, offset and friction "
                "can hardly be told apart; let it move more, or use prior knowledge"
            )
            numbers = {"range": float(span[j]), "allowed": room}
            yield (note if good else warning)("small motion", words, joint, **numbers)


def excitation(evidence: Evidence) -> Iterator[Note]:
    """Condition number, predicted σ and the poorly excited base parameters."""
    found, limits = evidence.excitation, evidence.thresholds
    if found is None:
        return
    b = len(found.names)
    numbers = {
        "condition_number_normalized": found.condition,
        "noise": dict(zip(evidence.joints, found.noise.tolist(), strict=True)),
        "predicted_std": dict(zip(found.names, found.std.tolist(), strict=True)),
        "inflation": dict(zip(found.names, found.inflation.tolist(), strict=True)),
    }
    poor = [int(k) for k in np.argsort(-found.inflation) if found.inflation[k] > limits.inflation]
    numbers["poor"] = [found.names[k] for k in poor]
    named = ", ".join(f"{found.names[k]} (σ × {number(found.inflation[k])})" for k in poor[:SHOWN])
    named += f" and {len(poor) - SHOWN} more" if len(poor) > SHOWN else ""
    words = f"condition number {number(found.condition)} (unit columns) of {b} base parameters"
    if not np.isfinite(found.condition):
        words = f"the motion does not determine all {b} base parameters; unknown remain {named}"
        yield warning("poor excitation", words, **numbers)
    elif found.condition > limits.condition:
        words += f"; poorly excited, with σ so many times what it were with the others known: {named or 'none alone'}"
        yield warning("poor excitation", words + "; move more, or use prior knowledge", **numbers)
    else:
        yield note("excitation", words + (f"; weakest: {named}" if named else ""), **numbers)
