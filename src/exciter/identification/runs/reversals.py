"""How slow a joint must be for its direction to be unknown: around reversals dry friction jumps, and while the joint
sticks it is whatever holds it. Positions that were smoothed do not show when."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from exciter.experiment.signals.processed_motion import Processed
from exciter.typing import Array

MOST_REVERSAL_SPEED_SHARE = 0.2  #: of a joint's rms speed: the fastest that may count as turning round
REST_SPEED_FRACTION = 0.01  #: of a joint's fastest: slower, it counts as resting
CRUISE_DEAD_ZONE_SHARE = 0.5  # of the slowest planned cruise of a joint: a dead zone ends there
MOVING_SPEED_SHARE = 0.05  # of a joint's rms speed where it is fastest: slower, it is locked, or poses are held


def reversal_speed(parts: Iterable[Processed]) -> Array:
    """(n,) [rad/s, m/s] Positions that went through a low-pass of f Hz change their speed by q̈ / (2π f) within its time
    constant: slower, the sign of dry friction is not known. At most a part of the usual speed of parts in which the
    joint moves, so that most equations stay."""
    there = [part for part in parts if len(part)]
    speed = np.array([_rms(part.motion.qd) for part in there])
    turning = np.array([_rms(part.motion.qdd) / (2.0 * np.pi * part.position_bandwidth) for part in there])
    moves = speed > MOVING_SPEED_SHARE * speed.max(axis=0)
    usual = np.where(moves, speed, np.inf).min(axis=0)
    zone = np.minimum(np.where(moves, turning, 0.0).max(axis=0), MOST_REVERSAL_SPEED_SHARE * usual)
    return np.where(moves.any(axis=0), zone, 0.0)


def sticking_speed(parts: Iterable[Processed]) -> Array:
    """(n,) [rad/s, m/s] below which a joint may stick as it turns round: how long depends on a controller that nobody
    knows, and what it does then no smoothed position shows. As much as equations can be spared: of a sine those slower
    than a fifth of the rms speed are one in eleven, without which σ are a twentieth larger. Of parts in which the
    joint moves, the slowest counts."""
    found = []
    for part in parts:
        speed = np.abs(part.motion.qd)
        moving = speed > MOVING_SPEED_SHARE * speed.max(axis=0, initial=0.0)
        found.append(np.sqrt((speed**2 * moving).sum(axis=0) / np.maximum(moving.sum(axis=0), 1)))
    usual = np.array(found)
    moves = usual > MOVING_SPEED_SHARE * usual.max(axis=0)
    slowest = np.where(moves, usual, np.inf).min(axis=0)
    return np.where(np.isfinite(slowest), MOST_REVERSAL_SPEED_SHARE * slowest, 0.0)


def resting_speed(parts: Iterable[Processed]) -> Array:
    """(n,) [rad/s, m/s] a hundredth of each joint's fastest."""
    return np.asarray(REST_SPEED_FRACTION * np.max([np.abs(part.motion.qd).max(axis=0) for part in parts], axis=0))


def below_cruises(zone: Array, cruises: Iterable[tuple[int, float]]) -> Array:
    """A dead zone (n,) that ends below the planned cruises of each joint: its number, and its slowest."""
    ended = zone.copy()
    for joint, speed in cruises:
        ended[joint] = min(ended[joint], CRUISE_DEAD_ZONE_SHARE * speed)
    return ended


def _rms(values: Array) -> Array:
    """(n,) of values (N, n)."""
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))
