"""Whether a residual depends on a quantity: how much of its variance, and whether that is more than chance.

Residuals are correlated in time, and noise may be larger where joints are fast, or missing where they rest: neither n
nor σ/√n is what it seems. Two tests, for two kinds of quantity:

``on_motion``: quantities that come and go with the motion (velocity, load, position). The residual is put into bins of
the quantity, Q = Σ_b n_b (ē_b − ē)². What is left within them, u = e − ē_b, is taken for σ(t) v(t): σ follows the speed
and the bin, v is noise that keeps its power S(f) all the time and knows nothing of the quantity. By chance Q is then,
on average, Σ_b Σ_f |F(1_b σ)|² S / n_b, with F(1_b σ): the transform of σ at the instants of a bin. S: from the
correlation of u, which is that of v times that of σ (Parzen 1963); before, each frequency of u is divided by what the
bins left of it.
Q over its mean by chance is compared with Fisher's F; degrees of freedom follow from the eigenvalues of the bins'
covariance, and from over how many frequencies and instants the noise is spread.

``on_slow``: quantities that hardly return (time, temperature). Of the cosine transform of the residual, the slowest 60
numbers: noise has a power that falls as 1/(1 + (k/corner)²), the corner being the likeliest, or the one of those nearly
as likely that speaks most for chance; what follows the quantity, or its square, has them as these have. F test. It
holds for errors that are forgotten within a hundredth of the time; slower ones can hardly be told from a drift.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft, stats

from exciter.typing import Array

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
BINS = 16  #: of a quantity, with as many samples each
PER_BIN = 20  #: samples at least
MOST_TAKEN = 0.8  #: of a frequency, by the bins: where they took more, what is left of it says too little
SHARED = 0.02  #: of the instants: correlations that fewer tell of are left small
SLOW = 60  #: numbers of the cosine transform, the slowest
SLOWEST = 8  #: frequencies that tell how sure the mean of all samples is
CORNERS = tuple(np.geomspace(1.0, 1e3, 16).tolist())  #: of the slow spectrum, in half periods of the whole time
AS_LIKELY = 2.0  #: of the logarithm: corners that cannot be told from the likeliest
BAND_ERRORS = 2.0  #: standard errors to both sides of a mean
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

    @property
    def band(self) -> tuple[Array, Array]:
        """(B,) lower and upper end of two standard errors to both sides of every mean."""
        return self.means - BAND_ERRORS * self.errors, self.means + BAND_ERRORS * self.errors


def on_motion(
    residual: Array, quantity: Array, speed: Array | None = None, used: BoolArray | None = None
) -> Dependence | None:
    """All (N,), at uniform instants. speed: that the noise may grow with; used: the instants that count, all unless
    given. None where the quantity does not change, or there is too little of it."""
    size = fast_length(len(residual))
    counts = np.ones(size, dtype=bool) if used is None else used[:size]
    label = labels(quantity[:size][counts])
    if label is None:
        return None
    e, x = residual[:size][counts], quantity[:size][counts]
    count = np.bincount(label).astype(float)
    total = float(((e - e.mean()) ** 2).sum())
    means = np.bincount(label, e) / count
    between = float((count * (means - e.mean()) ** 2).sum())
    within = e - means[label]
    if total <= 0.0 or float((within**2).sum()) <= 1e-12 * total:
        return None
    sigma = spread(within, label, None if speed is None else np.abs(speed[:size][counts]))
    at = np.flatnonzero(counts)
    bins = np.zeros((len(count), size))
    bins[label, at] = 1.0 / np.sqrt(count[label])
    shown = (np.abs(fft.rfft(bins)) ** 2).sum(axis=0) / len(e)  # of a sine of each frequency, by the bins
    bins[label, at] *= sigma
    bins_at = fft.rfft(bins)[:, 1:]
    power = stationary(whole(within, at, size), whole(sigma, at, size), 1.0 - np.minimum(shown, MOST_TAKEN))[1:]
    gram = 2.0 * ((bins_at * power) @ bins_at.conj().T).real / size  # covariance of sums of bins over √n_b, by chance
    chance = max(float(np.trace(gram)), 1e-300)
    first = chance**2 / max(float((gram**2).sum()), 1e-300)
    weighted = (np.abs(bins_at) ** 2).sum(axis=0) * np.abs(power)
    part = (sigma / sigma.max()) ** 2
    even = float(part.sum() ** 2 / (part**2).sum()) / size  # one where noise is as large all the time
    second = even * float(2.0 * weighted.sum() ** 2 / max(float((weighted**2).sum()), 1e-300))
    p_value = float(stats.f.sf(between / chance, first, second))
    slowest = max(float(power[:SLOWEST].mean()), 0.0) * float((sigma**2).mean()) / len(e)
    errors = np.sqrt(np.maximum(gram.diagonal(), 0.0) / count + slowest)  # the mean of all is not sure, either
    return Dependence(np.bincount(label, x) / count, means, errors, (between - chance) / total, p_value)


def spread(within: Array, label: IntArray, speed: Array | None) -> Array:
    """(N,) standard deviations σ(speed) σ(quantity) that residuals ``within`` bins have."""
    square, like = within**2, np.ones(len(within))
    if speed is not None and (pace := labels(speed)) is not None:
        like = (np.bincount(pace, square) / np.bincount(pace))[pace]
    ratio = np.bincount(label, square) / np.maximum(np.bincount(label, like), 1e-300)
    return np.asarray(np.sqrt(like * ratio[label]))


def stationary(u: Array, sigma: Array, left: Array) -> Array:
    """Power, at frequencies of ``rfft``, of the stationary noise v in u = σ v; left: part of u's power that is there.

    Parzen: the correlation of u is that of v times that of σ. Instants at which σ is small say little, and none is
    divided by it."""
    size = len(u)
    of_u = fft.irfft(np.abs(fft.rfft(u)) ** 2 / left, size)
    of_sigma = fft.irfft(np.abs(fft.rfft(sigma)) ** 2, size)
    return np.asarray(fft.rfft(of_u / np.maximum(of_sigma, SHARED * of_sigma[0])).real)


def whole(values: Array, at: IntArray, size: int) -> Array:
    """(size,) with zero where there is nothing."""
    found = np.zeros(size)
    found[at] = values
    return found


def on_slow(residual: Array, quantity: Array) -> Dependence | None:
    """Both (N,), in order of time, for a quantity that changes slowly; None where it does not, or N is small."""
    label, e = labels(quantity), residual - residual.mean()
    total = float((e**2).sum())
    if label is None or total <= 0.0:
        return None
    number = np.arange(1, min(SLOW, len(e) // 4) + 1)
    numbers = fft.dct(e, norm="ortho")[number]
    x = (quantity - quantity.mean()) / quantity.std()
    columns = np.column_stack([fft.dct(power, norm="ortho")[number] for power in (x, x**2)])
    fits = [Slow.of(numbers, columns, number, corner) for corner in CORNERS]
    fit = max(fits, key=lambda fit: fit.likelihood)
    p_value = max(one.p_value for one in fits if one.likelihood >= fit.likelihood - AS_LIKELY)
    count = np.bincount(label).astype(float)
    means, centres = (np.bincount(label, values) / count for values in (residual, quantity))
    errors = np.sqrt(fit.level / count)
    return Dependence(centres, means, errors, fit.along / total, p_value)


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
