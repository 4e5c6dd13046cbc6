"""Whether a residual depends on a quantity: how much of its variance, and whether that is more than chance.

Residuals are correlated in time, so neither n nor σ/√n is what it seems. Two tests, for two kinds of quantity:

``on_motion``: quantities that come and go with the motion (velocity, load, position). The residual is put into bins of
the quantity, Q = Σ_b n_b (ē_b − ē)². By chance Q is what these bins show, on average over all shifts in time, of what
is left within them, u = e − ē_b: residual and quantity keep their own correlation, only what connects them is gone.
In frequencies that is Σ h(f) S(f) with h: the share of a sine that the bins take, and S: the power of u over 1 − h.
Q over its mean by chance is compared with Fisher's F; degrees of freedom follow from the eigenvalues of the bins'
covariance, and from how many frequencies S was taken.

``on_slow``: quantities that hardly return (time, temperature), where shifting proves nothing. Of the cosine transform
of the residual, the slowest 60 numbers: noise has a power that falls as 1/(1 + (k/corner)²), the corner being the
likeliest; what follows the quantity, or its square, has them as these have. F test. It holds for errors that are
forgotten within a hundredth of the time; slower ones cannot be told from a drift.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft, stats

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
BINS = 16  #: of a quantity, with as many samples each
PER_BIN = 20  #: samples at least
MOST_TAKEN = 0.8  #: of a frequency, by the bins: where they took more, what is left of it says too little
SLOW = 60  #: numbers of the cosine transform, the slowest
SLOWEST = 8  #: frequencies that tell how sure the mean of all samples is
CORNERS = tuple(np.geomspace(1.0, 1e3, 16).tolist())  #: of the slow spectrum, in half periods of the whole time
FEWEST = 3 * PER_BIN  #: samples: with less, nothing can be said


@dataclass(frozen=True, eq=False)
class Dependence:
    """centres (B,): mean of the quantity in every bin; means (B,) of the residual there, errors (B,): their standard
    errors, which hold for correlated residuals. share: part of the residual's variance that goes with the quantity,
    less what chance gives (about zero for noise; may come out negative). p_value: of so much by chance."""

    centres: Array
    means: Array
    errors: Array
    share: float
    p_value: float


def on_motion(residual: Array, quantity: Array) -> Dependence | None:
    """Both (N,), at uniform instants; None where the quantity does not change, or there is too little of it."""
    size = fast_length(len(residual))
    e, x = residual[:size], quantity[:size]
    label = labels(x)
    if label is None:
        return None
    count = np.bincount(label).astype(float)
    bins, total = len(count), float(((e - e.mean()) ** 2).sum())
    means = np.bincount(label, e) / count
    between = float((count * (means - e.mean()) ** 2).sum())
    within = e - means[label]
    left = float((within**2).sum())
    if total <= 0.0 or left <= 1e-12 * total:
        return None
    bins_at = np.stack([fft.rfft((label == b) / np.sqrt(count[b])) for b in range(bins)])[:, 1:]
    took = 2.0 * (np.abs(bins_at) ** 2).sum(axis=0) / size  # of a sine of each frequency, by the bins
    power = np.abs(fft.rfft(within)[1:]) ** 2 / size / (1.0 - np.minimum(0.5 * took, MOST_TAKEN))
    gram = 2.0 * ((bins_at * power) @ bins_at.conj().T).real / size  # covariance of sums of bins over √n_b, by chance
    chance = float(np.trace(gram))
    first = chance**2 / max(float((gram**2).sum()), 1e-300)
    weighted = took * power
    second = float(2.0 * weighted.sum() ** 2 / max(float((weighted**2).sum()), 1e-300))
    p_value = float(stats.f.sf(between / max(chance, 1e-300), first, second))
    errors = np.sqrt(gram.diagonal() / count + power[:SLOWEST].mean() / size)  # the mean of all is not sure, either
    return Dependence(np.bincount(label, x) / count, means, errors, (between - chance) / total, p_value)


def on_slow(residual: Array, quantity: Array) -> Dependence | None:
    """Both (N,), at uniform instants, for a quantity that changes slowly; None where it does not, or N is small."""
    label, e = labels(quantity), residual - residual.mean()
    total = float((e**2).sum())
    if label is None or total <= 0.0:
        return None
    number = np.arange(1, min(SLOW, len(e) // 4) + 1)
    numbers = fft.dct(e, norm="ortho")[number]
    x = (quantity - quantity.mean()) / quantity.std()
    columns = np.column_stack([fft.dct(power, norm="ortho")[number] for power in (x, x**2)])
    fit = max((Slow.of(numbers, columns, number, corner) for corner in CORNERS), key=lambda fit: fit.likelihood)
    count = np.bincount(label).astype(float)
    means, centres = (np.bincount(label, values) / count for values in (residual, quantity))
    errors = np.sqrt(fit.level / count)
    return Dependence(centres, means, errors, fit.along / total, fit.p_value)


@dataclass(frozen=True)
class Slow:
    """Slow numbers of noise whose power falls as 1/(1 + (k/corner)²), and what goes along with a quantity.

    along: sum of its squares less what chance gives; level: power of one number of the slowest noise."""

    likelihood: float
    along: float
    level: float
    p_value: float

    @classmethod
    def of(cls, numbers: Array, columns: Array, number: IntArray, corner: float) -> Slow:
        weight = np.sqrt(1.0 + (number / corner) ** 2)
        basis, r = np.linalg.qr(columns * weight[:, None])
        kept = np.abs(np.diag(r)) > 1e-6 * np.abs(r).max()
        basis = basis[:, kept]
        parts = basis.T @ (numbers * weight)
        free = len(numbers) - basis.shape[1] - 1  # the corner is one
        left = float(((numbers * weight - basis @ parts) ** 2).sum())
        level = left / free
        likelihood = float(np.log(weight).sum()) - 0.5 * len(numbers) * np.log(max(left, 1e-300))
        plain = basis / weight[:, None]
        by_chance = level * float((plain**2).sum())
        along = float(((plain @ parts) ** 2).sum()) - by_chance
        ratio = float((parts**2).sum()) / basis.shape[1] / max(level, 1e-300)
        return cls(likelihood, along, level, float(stats.f.sf(ratio, basis.shape[1], free)))


def labels(quantity: Array) -> IntArray | None:
    """(N,) bins of as many samples each; fewer where values repeat; None where there is nothing to tell apart."""
    bins = min(BINS, len(quantity) // PER_BIN)
    if len(quantity) < FEWEST or not np.isfinite(quantity).all():
        return None
    edges = np.unique(np.quantile(quantity, np.arange(1, bins) / bins))
    if not len(edges) or np.ptp(quantity) <= 1e-9 * float(np.abs(quantity).max()):
        return None
    found = np.unique(np.searchsorted(edges, quantity, "left"), return_inverse=True)[1]
    return found.astype(np.int64) if found.max() > 0 else None


def fast_length(size: int) -> int:
    """The longest series, of those no longer, that is transformed fast."""
    return next(m for m in range(size, 0, -1) if fft.next_fast_len(m, real=True) == m)
