"""Checks of a free base: something must carry it, or it falls.

Where nothing touches and no force was measured, the centre of mass falls by gravity; the base follows it on average,
for legs reach only so far. A base that stays where it is stands on something that the log does not tell: columns of
contacts that never say so, a threshold in another unit, or no word of contacts at all. Its equations would be wrong by
the whole weight."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.recording.base_joints import UNUSED_BASE
from exciter.experiment.recording.base_sensing import TOUCHING_SHARE
from exciter.experiment.recording.recording import Recording
from exciter.notes import Note, problem
from exciter.typing import Array

SHORTEST_FLIGHT_S = 1.0  #: s: in a shorter one legs that swing may carry the base anywhere
CARRIED_GRAVITY_FRACTION = 0.5  #: of gravity, by which the base must miss its fall to be carried
NOT_SAID = "the log names no contacts"


def support(evidence: Evidence) -> Iterator[Note]:
    """A base that nothing holds, and that does not fall."""
    robot = evidence.robot
    if robot is None or not robot.free_base or not np.any(robot.gravity):
        return
    place, gravity = list(robot.free_base[:3]), float(np.linalg.norm(robot.gravity))
    seconds, total = 0.0, np.zeros(3)
    for window in evidence.windows:
        for time, position in _flights(window, place, list(robot.free_base)):
            seconds, total = seconds + time[-1], total + time[-1] * _acceleration(time, position)
    if not seconds:
        return
    found = total / seconds
    missing = float(np.linalg.norm(found - robot.gravity))
    if missing <= CARRIED_GRAVITY_FRACTION * gravity:
        return
    contacts = evidence.about.contacts
    why = NOT_SAID
    if contacts is not None:
        why = f"the columns of {', '.join(contacts.frames)} are not above {contacts.threshold:g}, their threshold"
    words = (
        f"nothing touches the robot for {seconds:.3g} s, and yet its base does not fall ({missing:.3g} m/s² less than "
        f"{gravity:.3g}): {why}; say what carries it under contacts: in a recording.yaml, or load it with base: fixed"
    )
    yield problem("contacts", words, seconds=seconds, missing=missing)


def unused(evidence: Evidence) -> Iterator[Note]:
    """Motion and contacts of a base that the robot has fixed."""
    yield from (one for one in evidence.remarks if one.subject == UNUSED_BASE)


def _flights(window: Recording, place: list[int], free: list[int]) -> Iterator[tuple[Array, Array]]:
    """Time from zero (N,) and position (N, 3) of stretches in which nothing is known to act on the base."""
    alone = np.isfinite(window.q[:, place]).all(axis=1)
    if window.contact is not None:
        alone &= ~(window.contact > TOUCHING_SHARE).any(axis=1)
    if window.torque is not None:  # forces that were measured
        alone &= ~(window.torque[:, free] != 0.0).any(axis=1)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], alone, [False]]).astype(int)))
    for first, last in ends.reshape(-1, 2).tolist():
        time = window.time[first:last]
        if time[-1] - time[0] >= SHORTEST_FLIGHT_S:
            yield time - time[0], window.q[first:last][:, place]


def _acceleration(time: Array, position: Array) -> Array:
    """(3,) [m/s²] of the parabola through the positions."""
    return np.asarray(2.0 * np.polyfit(time, position, 2)[0])


CHECKS_OF_A_FREE_BASE = (support, unused)
