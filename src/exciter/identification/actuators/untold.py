"""What logs cannot tell of drives, in words: combinations of the unknowns that change nothing in what encoders say.

Two kinds. Some change nothing at all, whatever the noise: with information H scaled to ones on its diagonal they are
eigenvectors of next to no eigenvalue, which slopes at any numbers show, before anything is fitted. Kd and damping act
alike; a mass on a vertical axis is one more armature; and where neither gains nor masses in gravity are given, all
torques have any common factor. Others change something, but less than their weak prior allows.

A space of several combinations is told by a basis of few unknowns each (echelon form): first those of gains, which are
the scale of torque."""

from __future__ import annotations

import numpy as np

from exciter.identification.actuators.drive_numbers import DriveNumbers
from exciter.typing import Array

SAME_INFORMATION = 1e-5  #: relative, of a direction whose effect others have too: σ is 300 times larger
UNTOLD_INFORMATION = 1.0  #: of a direction, beside that of its weak prior: less says next to nothing
LEAST_PART = 0.2  #: of a combination that cannot be told, that is named
LEAST_SCALED_PART = 0.02  #: the same of the scale of torque, whose parts may be of any size
LEAST_PIVOT = 1e-3  #: of a basis of unit vectors: smaller is none
SCALE_KIND = "kp"


def combinations(numbers: DriveNumbers, information: Array) -> tuple[str, ...]:
    """Of both kinds, each once."""
    alike = same_effect(numbers, information)
    return tuple(dict.fromkeys([*said_of(numbers, alike), *said_of(numbers, _weak(numbers, information, alike))]))


def known_before(numbers: DriveNumbers, information: Array) -> tuple[str, ...]:
    """Those that change nothing at all: true of any fit to these logs."""
    return tuple(dict.fromkeys(said_of(numbers, same_effect(numbers, information))))


def same_effect(numbers: DriveNumbers, information: Array) -> Array:
    """(p, k) orthonormal, of unknowns over their spread: directions that change nothing at all."""
    size = np.sqrt(np.maximum(np.diag(information), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(size, size))
    found = vectors[:, values < SAME_INFORMATION] / (size * numbers.spreads)[:, None]
    return np.asarray(np.linalg.qr(found / np.maximum(np.linalg.norm(found, axis=0), 1e-300))[0])


def _weak(numbers: DriveNumbers, information: Array, alike: Array) -> Array:
    """(p, k) the same: beside those, directions of which the logs say less than the prior."""
    scaled = information * np.outer(numbers.spreads, numbers.spreads)
    rest = np.linalg.svd(alike, full_matrices=True)[0][:, alike.shape[1] :]
    values, vectors = np.linalg.eigh(rest.T @ scaled @ rest)
    return np.asarray(rest @ vectors[:, values < UNTOLD_INFORMATION])


def said_of(numbers: DriveNumbers, space: Array) -> list[str]:
    """One sentence for each of a basis of the space (p, k)."""
    names, kinds = [u.name for u in numbers.unknowns], [u.kind.word for u in numbers.unknowns]
    basis, pivots = _echelon(space, [k for k, word in enumerate(kinds) if word == SCALE_KIND])
    parts = [np.abs(row) / np.abs(row).max() for row in basis]
    found = list[tuple[bool, list[int], str]]()
    for pivot, part in zip(pivots, parts, strict=True):
        scale = kinds[pivot] == SCALE_KIND
        named = {k for k in range(len(names)) if part[k] > LEAST_PART}
        if scale:
            named = {k for k in range(len(names)) if part[k] > LEAST_SCALED_PART}
            # what acts like one of them scales with it, though the basis says so elsewhere
            named |= {
                own for own, other in zip(pivots, parts, strict=True) if any(other[k] > LEAST_PART for k in named)
            }
        listed = ", ".join(names[k] for k in sorted(named))
        text = f"{listed} change together with next to no effect; a weak prior holds them; give one of them (known:)"
        if len(named) == 1:
            text = f"the logs say next to nothing of {listed}; a weak prior holds it"
        elif scale:
            gain = numbers.unknowns[min(k for k in named if kinds[k] == SCALE_KIND)]
            begun = float(numbers.start[SCALE_KIND][gain.joints[0]])
            text = (
                f"nothing fixes the scale of torque: {listed} scale together; a weak prior holds them, {gain.name} "
                f"about {begun:.4g} {gain.kind.unit}; give one of them (known:)"
            )
        found.append((not scale, sorted(named), text))
    return [text for *_, text in sorted(found)]


def _echelon(space: Array, first: list[int]) -> tuple[Array, list[int]]:
    """(k, p) basis of a space (p, k) in which each vector has an unknown that no other has, its pivot; ``first`` of
    them as far as the space reaches these: a direction that moves one of them by a small part of what it moves others
    is of the others, and none of the scale of torque."""
    rows, pivots = np.array(space.T), list[int]()
    left = list(range(len(rows)))
    for wanted, least in ((first, LEAST_PART), (list(range(space.shape[0])), 0.0)):
        small = set[int]()
        while left:
            free = [k for k in wanted if k not in pivots and k not in small]
            sizes = np.linalg.norm(rows[np.ix_(left, free)], axis=0) if free else np.zeros(0)
            if not free or sizes.max() < LEAST_PIVOT:
                break
            at = free[int(np.argmax(sizes))]
            whole = rows[left].T @ rows[left][:, at]
            if abs(whole[at]) < least * np.abs(whole).max():
                small.add(at)
                continue
            # turned so that one row has all of it, which is then taken off the others
            turn = np.linalg.qr(rows[left][:, [at]], mode="complete")[0]
            rows[left] = turn.T @ rows[left]
            own = left.pop(0)
            rows[own] /= rows[own, at]
            others = [k for k in range(len(rows)) if k != own]
            rows[others] -= np.outer(rows[others, at], rows[own])
            pivots.append(at)
    return rows[: len(pivots)], pivots
