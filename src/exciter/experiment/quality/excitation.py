"""How well the motion excites each base parameter: who moves too little, and what stays unknown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.words import number
from exciter.notes import Note, note, warning
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

REWEIGHTED = 3  # fits, each with the residuals of the one before as noise
SINGULAR = 1e-10  # relative singular value of rows with unit columns that is none
UNSEEN = 1e-6  # share in a combination that the motion does not show
SHOWN = 12  # parameters named in words
ROOM = 0.25  # of the allowed range: a joint that has little room is not to blame


@dataclass(frozen=True, eq=False)
class Excitation:
    """condition: with columns of unit length, rows over their noise. values, std, inflation (b,) of the base
    parameters: a plain fit, its predicted σ, and how many times σ exceeds that with all other parameters known. noise
    (n,): what the fit leaves of the torque [N·m or A]."""

    names: tuple[str, ...]
    condition: float
    values: Array
    std: Array
    inflation: Array
    noise: Array


def excitation_of(rows: Array, effort: Array, names: tuple[str, ...], independent: float) -> Excitation:
    """From rows (N, n, b) and effort (N, n), worth ``independent`` samples."""
    samples, n, b = rows.shape
    size = np.sqrt(np.mean(effort**2, axis=0))
    noise = np.where(size > 0, size, 1.0)
    values = np.zeros(b)
    condition, inflation, norms = np.inf, np.full(b, np.inf), np.zeros(b)
    for _ in range(REWEIGHTED):
        w = (rows / noise[:, None]).reshape(-1, b)
        norms = np.linalg.norm(w, axis=0)
        length = np.where(norms > 0, norms, 1.0)
        stacked = np.column_stack([w / length, (effort / noise).ravel()])
        triangle: Array = np.asarray(np.linalg.qr(stacked, mode="r"))
        u, s, vt = np.linalg.svd(triangle[:b, :b])
        kept = s > SINGULAR * s[0]
        condition = float(s[0] / s[-1]) if kept.all() else np.inf
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        values = vt.T @ (inverse * (u.T @ triangle[:b, b])) / length
        inflation = np.linalg.norm(vt.T * inverse, axis=1)
        inflation[(np.abs(vt[~kept]) > UNSEEN).any(axis=0)] = np.inf
        left = np.sqrt(np.mean((effort - rows @ values) ** 2, axis=0))
        lost = np.sqrt(max(1.0 - b / (n * max(independent, 1.0)), 0.1))
        noise = np.maximum(left / lost, 1e-9 * np.where(size > 0, size, 1.0))
    inflation[norms == 0] = np.inf
    std = inflation / np.where(norms > 0, norms, 1.0) * np.sqrt(samples / max(independent, 1.0))
    return Excitation(names, condition, values, std, inflation, noise)


def moves_too_little(evidence: Evidence) -> Iterator[Note]:
    """Arcs over which weight, offset and friction look alike; grave unless the condition number says otherwise."""
    span, robot, limits = evidence.survey.values.range("q"), evidence.robot, evidence.thresholds
    if evidence.degrees or evidence.rest.start is None:
        return
    good = evidence.excitation is not None and evidence.excitation.condition < limits.condition
    for j, joint in enumerate(evidence.joints):
        if robot is not None and robot.joints[j].is_prismatic:
            continue
        room = np.inf
        if robot is not None:
            lower, upper = robot.position_range()
            room = float(upper[j] - lower[j])
        if 0.0 < span[j] < min(limits.arc, ROOM * room):
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
