"""Checks of commands: that they are there, are no copy of the encoder, and are in the same unit and sense as it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.numbers_in_words import counted, number, percent
from exciter.notes import Note, note, problem, warning
from exciter.typing import Array

COPIED_SHARE = 0.99  # of the samples of a joint in motion, to the last digit: its command is what was measured
COPIED_SHIFTS = {0: "", 1: " of the sample after it", -1: " of the sample before it"}
FOLLOWED_CORRELATION = 0.9  # with the command, from which on a factor between the two is no chance
FACTOR_BOUNDS = (0.5, 2.0)  # of a drive that follows in the same unit, however softly
STRANGER_CORRELATION = 0.5  # with its own command, below which a joint that follows another's is not that joint
OTHER_ZERO_DEVIATIONS = 4.0  # standard deviations of q − command, that the mean of it is from zero
OTHER_ZERO_RANGE_SHARE = 0.5  # … and of the range of the positions: less may be weight on a soft drive
FACTOR_NAMES = {np.pi / 180.0: "is the command in degrees?", 180.0 / np.pi: "is the position in degrees?"}
COMMAND_FACTOR_TOLERANCE = 0.2  # relative, of a factor that has a name
FEWEST_COMMANDED_SAMPLES = 50  #: to judge by


def commanded(evidence: Evidence) -> bool:
    return evidence.windows[0].command is not None


def _pairs(evidence: Evidence, j: int) -> tuple[Array, Array]:
    """Command and position of joint j, where both are numbers."""
    windows = [window for window in evidence.windows if window.command is not None]
    command = np.concatenate([window.command[:, j] for window in windows if window.command is not None])
    q = np.concatenate([window.q[:, j] for window in windows])
    good = np.isfinite(command) & np.isfinite(q)
    return command[good], q[good]


def missing_commands(evidence: Evidence) -> Iterator[Note]:
    total = sum(map(len, evidence.windows))
    for j, joint in enumerate(evidence.joints if commanded(evidence) else ()):
        if evidence.robot is not None and j not in evidence.robot.actuated:
            continue  # of a free base, or a follower: nobody could tell it anything
        if lost := total - len(_pairs(evidence, j)[0]):
            words = f"{counted(lost, 'sample')} ({percent(lost / total)}) have no command; cut them out with windows"
            yield warning("missing commands", words, joint, count=lost, share=lost / total)


def copied_commands(evidence: Evidence) -> Iterator[Note]:
    """A command that is the measurement, also of the sample before or after: nothing can be learnt from it."""
    for j, joint in enumerate(evidence.joints if commanded(evidence) else ()):
        command, q = _pairs(evidence, j)
        changes = np.flatnonzero(np.diff(q)) if len(q) >= FEWEST_COMMANDED_SAMPLES else np.zeros(0, dtype=int)
        for shift, words in COPIED_SHIFTS.items() if changes.size else ():
            at = changes[(changes + shift >= 0) & (changes + shift < len(q))]
            share = float(np.mean(command[at] == q[at + shift])) if at.size else 0.0
            if share > COPIED_SHARE:
                text = (
                    f"the command is the measured position{words} in {percent(share)} of the samples in motion: is it "
                )
                text += "the right column? what a drive was told cannot be known from what it did"
                yield problem("command is measured", text, joint, share=share, shift=shift)
                break


def _follows_another(evidence: Evidence, j: int) -> str | None:
    """The joint whose command the position of joint j follows."""
    windows = [window for window in evidence.windows if window.command is not None]
    q = np.concatenate([window.q[:, j] for window in windows])
    for other, joint in enumerate(evidence.joints):
        command = np.concatenate([window.command[:, other] for window in windows if window.command is not None])
        good = np.isfinite(command) & np.isfinite(q)
        moves = other != j and good.sum() >= FEWEST_COMMANDED_SAMPLES and np.ptp(command[good]) > 0.0
        if moves and np.corrcoef(command[good], q[good])[0, 1] > FOLLOWED_CORRELATION:
            return joint
    return None


def followed(evidence: Evidence) -> Iterator[Note]:
    """How the joints follow: q ≈ a · command + b, joint by joint."""
    errors = dict[str, float]()
    for j, joint in enumerate(evidence.joints if commanded(evidence) else ()):
        command, q = _pairs(evidence, j)
        span = float(np.ptp(q)) if len(q) >= FEWEST_COMMANDED_SAMPLES else 0.0
        if not span:
            continue
        if not np.ptp(command):
            words = f"the command is {number(float(command[0]), 6)} throughout while the joint moves; is it the right "
            yield problem("stuck command", f"{words}column, or was another controller at work?", joint)
            continue
        wanted, found = command - command.mean(), q - q.mean()
        factor = float(wanted @ found / (wanted @ wanted))
        correlation = float(wanted @ found / np.sqrt((wanted @ wanted) * (found @ found)))
        numbers = {"factor": factor, "correlation": correlation}
        bounds, beside = FACTOR_BOUNDS, float(np.mean(q - command))
        if abs(correlation) > FOLLOWED_CORRELATION and not bounds[0] < factor < bounds[1]:
            names = (
                say for one, say in FACTOR_NAMES.items() if abs(abs(factor) / one - 1.0) < COMMAND_FACTOR_TOLERANCE
            )
            cause = "do they count in opposite directions? see signs" if factor < 0.0 else "see unit and factor"
            words = f"the position moves by {number(factor, 3)} times the command: {next(names, cause)}"
            yield problem("command", words, joint, **numbers)
            continue
        if correlation < STRANGER_CORRELATION and (other := _follows_another(evidence, j)):
            words = f"the position goes with the command of '{other}', not with its own: were columns exchanged?"
            yield problem("command", words, joint, **numbers)
            continue
        spread = float(np.std(q - command))
        if abs(beside) > max(OTHER_ZERO_DEVIATIONS * spread, OTHER_ZERO_RANGE_SHARE * span):
            words = f"the position stays {number(beside)} {evidence.unit('q', j)} beside the command: another zero?"
            yield warning("command", words, joint, beside=beside, **numbers)
        errors[joint] = float(np.sqrt(np.mean((q - command) ** 2)))
    if errors:
        each = ", ".join(f"{number(size, 2)} ({joint})" for joint, size in errors.items())
        yield note("command", f"positions are off their commands by {each}, RMS [rad or m]", rms=errors)


CHECKS_OF_COMMANDS = (missing_commands, copied_commands, followed)
