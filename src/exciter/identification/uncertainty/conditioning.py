"""How well the motion determines parameters: singular values of W, correlations of the estimates, and why a parameter
is not good: its share of the torque is small, or another one does the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exciter.errors import ParameterError
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import GOOD, Estimate
from exciter.independent_blocks import independent_blocks, singular_values
from exciter.notes import Note, note
from exciter.typing import Array, Index

LISTED_PAIR_CORRELATION = 0.9  #: correlation of two estimates beyond which they are listed
MOST_LISTED_PAIRS = 20
SHARED_STD_RATIO = 3.0  # times: σ over what it would be with all others known, from which on others are the reason
NAMED_CORRELATION = 0.5  # correlation of estimates, from which on a parameter is named
MOST_NAMED_PARAMETERS = 3  # at most


@dataclass(frozen=True, eq=False)
class Conditioning:
    """singular_values (p,): of W with columns of length one, the largest first. pairs: two parameters whose errors go
    together, and their correlation, the strongest first."""

    singular_values: Array
    pairs: tuple[tuple[str, str, float], ...]

    @classmethod
    def of(cls, compressed: Compressed, estimate: Estimate) -> Conditioning:
        """compressed: the equations it was estimated with."""
        r = compressed.information().r
        scale = np.linalg.norm(r, axis=0)
        values = singular_values(r / np.where(scale > 0.0, scale, 1.0))
        return cls(np.asarray(values), correlated_pairs(estimate.names, estimate.correlation))


def correlated_pairs(names: Sequence[str], correlation: Array) -> tuple[tuple[str, str, float], ...]:
    """Those whose estimates have errors that go together (p, p), the strongest first."""
    upper = np.triu(correlation, 1)
    strongest = np.argsort(-np.abs(upper), axis=None)[:MOST_LISTED_PAIRS]
    pairs = [(names[a], names[b], float(upper[a, b])) for a, b in (np.unravel_index(k, upper.shape) for k in strongest)]
    return tuple(pair for pair in pairs if abs(pair[2]) > LISTED_PAIR_CORRELATION)


def explain(compressed: Compressed, estimate: Estimate) -> tuple[Note, ...]:
    """A note on every parameter that is not good, from the equations it was estimated with."""
    if estimate.names != compressed.parameters:
        raise ParameterError("the estimate is of other parameters than the equations")
    notes, others = [], Others.of(estimate)
    for k, (name, status) in enumerate(zip(estimate.names, estimate.status, strict=True)):
        if status != GOOD and estimate.std[k] == 0.0:
            notes.append(note(name, f"{name} is {status}: it was not estimated"))
        elif status != GOOD:
            sigma = f"σ {estimate.std[k]:.2g} {estimate.units[k]}".rstrip()
            reason = others.reason(estimate, k) or _share(compressed, estimate, k)
            notes.append(note(name, f"{name} is {status} ({sigma}): {reason}"))
    return tuple(notes)


@dataclass(frozen=True, eq=False)
class Others:
    """What estimates have in common: correlation (f, f) of those that are ``free`` (f,), among all; alone (f,): part of
    σ that is left with all others known, 1/√(C⁻¹)_kk of the correlation C. Found once for all parameters."""

    free: Index
    correlation: Array
    alone: Array

    @classmethod
    def of(cls, estimate: Estimate) -> Others:
        free = np.flatnonzero(estimate.std > 0.0)
        scale = estimate.std[free]
        correlation = estimate.covariance[np.ix_(free, free)] / np.outer(scale, scale)
        inverse = np.ones(len(free))
        for _, block in independent_blocks(correlation):
            inverse[block] = np.linalg.pinv(correlation[np.ix_(block, block)], hermitian=True).diagonal()
        return cls(free=free, correlation=correlation, alone=1.0 / np.sqrt(np.maximum(inverse, 1.0)))

    def reason(self, estimate: Estimate, k: int) -> str | None:
        """Why parameter k is not known well, where others are the reason."""
        at = int(np.searchsorted(self.free, k))
        if self.alone[at] * SHARED_STD_RATIO > 1.0:
            return None
        row = self.correlation[at]
        order = [int(i) for i in np.argsort(-np.abs(row)) if i != at][:MOST_NAMED_PARAMETERS]
        named = [i for i in order if abs(row[i]) >= NAMED_CORRELATION] or order[:1]
        list_of = ", ".join(f"{estimate.names[self.free[i]]} (correlation {row[i]:.2f})" for i in named)
        return (
            f"the motion hardly tells it from {list_of}; with the others known its σ would be "
            f"{1.0 / self.alone[at]:.3g} times less"
        )


def _share(compressed: Compressed, estimate: Estimate, k: int) -> str:
    rows = np.maximum(compressed.rows.sum(axis=0), 1)
    effect = np.sqrt(compressed.by_piece.column_squares(k) / rows) * abs(estimate.values[k])
    joint = int(np.argmax(effect / estimate.noise))
    return (
        f"its part of the equations of {compressed.joints[joint]} is {effect[joint]:.2g} (rms), "
        f"the noise {estimate.noise[joint]:.2g}; move more of what shows it, or record longer"
    )
