"""What a model misses: residuals against velocity, load, position, time and temperature, joint by joint.

How much of a residual's variance depends on a quantity, and is that more than chance? Residuals are correlated in time,
and noise may be larger where joints are fast, or missing where they rest: neither n nor σ/√n are what they seem. Tests:

``on_motion``: quantities that come and go with the motion (velocity, load, position). The residual is put into bins of
the quantity, Q = Σ_b n_b (ē_b − ē)². The rest within them, u = e − ē_b, is taken for σ(t) v(t): σ follows the speed and
the bin, v is noise that keeps its power S(f) all the time and knows nothing of the quantity. By chance Q is then, on
average, Σ_b Σ_f |F(1_b σ)|² S / n_b, with F(1_b σ): the transform of σ at the instants of a bin. S: from the
correlation of u, which is that of v times that of σ (Parzen 1963); before, each frequency of u is divided by what the
bins left of it. Q over its mean by chance is compared with Fisher's F; degrees of freedom follow from the eigenvalues
of the bins' covariance, and from over how many frequencies and instants the noise is spread.

``on_slow``: quantities that hardly return (time, temperature). Of the cosine transform of the residual, the slowest 60
numbers: noise has a power that falls as 1/(1 + (k/corner)²), the corner being the likeliest, or the one of those nearly
as likely that speaks most for chance; what follows the quantity, or its square, has them as these have. F test. It
holds for errors that are forgotten within a hundredth of the time; slower ones can hardly be told from a drift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from exciter.typing import Array, BoolArray, Index
from exciter.validation.prediction import Prediction

STRUCTURE_FALSE_ALARM_CHANCE = 0.01  #: of any finding in a run whose residuals depend on nothing (Bonferroni)
LEAST_STRUCTURE_SHARE = 0.01  #: of the residual's variance: less is not reported
PARAMETER_DOUBT_FACTOR = 4.0  #: times the mean square of the parameters' own uncertainty: less may be their error
MOST_STRUCTURE_INSTANTS = 8192  #: that are tested; more are averaged in blocks, for none of this is fast
ADVICE_BY_QUANTITY = {
    "velocity": "the friction model misses something; try another, such as a term {stribeck: {velocity: 0.1}}",
    "load": "friction that grows with load, or a drive gain that is off; try a term load-friction, or gains: identify",
    "position": "a spring, a hose, or a zero position that is off; try a term ripple, or {gravity-spring: {joint: …}}",
    "time": "drift or warm-up; let the robot warm up, or cut the beginning (windows)",
    "temperature": "friction changes as the drive warms up; identify at the temperature the model is used at",
}
BAND_SIGMAS = 1.96  #: that the band of a prediction reaches
SLOW_QUANTITIES = ("time", "temperature")  #: quantities that hardly return
QUANTITY_BINS = 16  #: of a quantity, with as many samples each
FEWEST_BIN_SAMPLES = 20  #: samples at least
MOST_POWER_TAKEN_BY_BINS = 0.8  #: of a frequency: where the bins took more, the rest of it says too little
LEAST_OVERLAP_SHARE = 0.02  #: of the instants: correlations that fewer tell of are left small
SLOW_COSINE_NUMBERS = 60  #: numbers of the cosine transform, the slowest
MEAN_ERROR_FREQUENCIES = 8  #: frequencies that tell how sure the mean of all samples is
SLOW_NOISE_CORNERS = tuple(np.geomspace(1.0, 1e3, 16).tolist())  #: in half periods of the whole time
LOG_LIKELIHOOD_MARGIN = 2.0  #: of the logarithm: corners that cannot be told from the likeliest
BAND_STANDARD_ERRORS = 2.0  #: standard errors to both sides of a mean
FEWEST_DEPENDENCE_SAMPLES = 3 * FEWEST_BIN_SAMPLES  #: samples: with less, nothing can be said


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
        return self.means - BAND_STANDARD_ERRORS * self.errors, self.means + BAND_STANDARD_ERRORS * self.errors


@dataclass(frozen=True, eq=False)
class Structure(Dependence):
    """Residual of ``joint`` against one ``quantity`` [``unit``]. found: it depends on it, more than chance explains."""

    joint: str
    quantity: str
    unit: str
    found: bool

    @property
    def sentence(self) -> str:
        if not self.found:
            return f"{self.joint}: the residual does not depend on {self.quantity} more than chance explains"
        share = f"{self.joint}: {100.0 * self.share:.2g} % of the residual's variance"
        return f"{share} depends on {self.quantity}: {ADVICE_BY_QUANTITY[self.quantity]}"

    def to_dict(self) -> dict[str, Any]:
        about = {"joint": self.joint, "quantity": self.quantity, "unit": self.unit}
        verdict = {"share_percent": 100.0 * self.share, "p_value": self.p_value, "found": self.found}
        bins = {"centres": self.centres, "means": self.means, "standard_errors": self.errors}
        return {**about, **verdict, **{key: values.tolist() for key, values in bins.items()}}


def structures(prediction: Prediction, level: float = STRUCTURE_FALSE_ALARM_CHANCE) -> tuple[Structure, ...]:
    """Of every joint and quantity that changes, while the joint moves; those of a joint together, largest share first.
    Found is what chance does not explain, nor the uncertainty of the parameters: an error of a friction parameter
    depends on velocity, too, and says nothing against the model."""
    looked = []
    for j, joint in enumerate(prediction.joints):
        moves = np.ones(len(prediction), dtype=bool) if prediction.moves is None else prediction.moves[:, j]
        used = scipy.ndimage.binary_erosion(
            moves, border_value=1
        )  # filters spread what is missing over the instants beside
        if not used.any():
            continue
        e, speed = prediction.residual[:, j], np.abs(prediction.qd[:, j]) if prediction.of_joints else None
        doubt = float((prediction.band[used, j] ** 2).mean()) / BAND_SIGMAS**2  # by uncertainty of the parameters
        for quantity, unit, values in _quantities(prediction, j):
            if (found := _in_blocks(e, values, speed, used, slow=quantity in SLOW_QUANTITIES)) is not None:
                sure = found.share * float(e[used].var()) > PARAMETER_DOUBT_FACTOR * doubt
                clear = bool(found.share >= LEAST_STRUCTURE_SHARE and sure)
                looked.append((j, Structure(**vars(found), joint=joint, quantity=quantity, unit=unit, found=clear)))
    judged = [(j, replace(one, found=one.found and one.p_value * len(looked) < level)) for j, one in looked]
    return tuple(one for _, one in sorted(judged, key=lambda row: (row[0], not row[1].found, -row[1].share)))


def _in_blocks(e: Array, x: Array, speed: Array | None, used: BoolArray, *, slow: bool) -> Dependence | None:
    """``on_slow`` or ``on_motion`` of a residual and a quantity (N,); long series in blocks, shares those of all."""
    size, variance = -(-len(e) // MOST_STRUCTURE_INSTANTS), e[used].var()
    if size > 1:
        series = (e, x, used.astype(float), e if speed is None else speed)
        e, x, whole, pace = (one[: len(one) // size * size].reshape(-1, size).mean(axis=1) for one in series)
        used, speed = whole == 1.0, None if speed is None else pace
    found = on_slow(e[used], x[used]) if slow else on_motion(e, x, speed, used)
    if found is None or size == 1:
        return found
    return replace(found, share=float(e[used].var() / variance) * found.share)  # part that is not within blocks


def _quantities(prediction: Prediction, j: int) -> Iterator[tuple[str, str, Array]]:
    """Names, units and values (N,) of what the residual of an equation may depend on."""
    unit = prediction.units[j]
    if prediction.of_joints:
        angle = "m" if unit == "N" else "rad"
        yield "velocity", f"{angle}/s", prediction.qd[:, j]
        yield "position", angle, prediction.q[:, j]
        if prediction.temperature is not None:
            yield "temperature", "°C", prediction.temperature[:, j]
    yield "load", unit, prediction.predicted[:, j]
    yield "time", "s", prediction.time


def on_motion(
    residual: Array, quantity: Array, speed: Array | None = None, used: BoolArray | None = None
) -> Dependence | None:
    """All (N,), at uniform instants. speed: that noise may grow with; used: that count. None: too little of it."""
    size = next(
        m for m in range(len(residual), 0, -1) if scipy.fft.next_fast_len(m, real=True) == m
    )  # transformed fast
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
    shown = (np.abs(scipy.fft.rfft(bins)) ** 2).sum(axis=0) / len(e)  # of a sine of each frequency, by the bins
    bins[label, at] *= sigma
    bins_at = scipy.fft.rfft(bins)[:, 1:]
    rest = 1.0 - np.minimum(shown, MOST_POWER_TAKEN_BY_BINS)
    u, deviation = np.zeros((2, size))  # zero where there is nothing
    u[at], deviation[at] = within, sigma
    power = stationary(u, deviation, rest)[1:]
    gram = 2.0 * ((bins_at * power) @ bins_at.conj().T).real / size  # covariance of sums of bins over √n_b, by chance
    chance = max(float(np.trace(gram)), 1e-300)
    first = chance**2 / max(float((gram**2).sum()), 1e-300)
    weighted = (np.abs(bins_at) ** 2).sum(axis=0) * np.abs(power)
    part = (sigma / sigma.max()) ** 2
    even = float(part.sum() ** 2 / (part**2).sum()) / size  # one where noise is as large all the time
    second = even * float(2.0 * weighted.sum() ** 2 / max(float((weighted**2).sum()), 1e-300))
    p_value = float(scipy.stats.f.sf(between / chance, first, second))
    slowest = max(float(power[:MEAN_ERROR_FREQUENCIES].mean()), 0.0) * float((sigma**2).mean()) / len(e)
    errors = np.sqrt(np.maximum(gram.diagonal(), 0.0) / count + slowest)  # the mean of all is not sure, either
    centres, share = np.bincount(label, x) / count, (between - chance) / total
    return Dependence(centres=centres, means=means, errors=errors, share=share, p_value=p_value)


def spread(within: Array, label: Index, speed: Array | None) -> Array:
    """(N,) standard deviations σ(speed) σ(quantity) that residuals ``within`` bins have."""
    square, like = within**2, np.ones(len(within))
    if speed is not None and (pace := labels(speed)) is not None:
        like = (np.bincount(pace, square) / np.bincount(pace))[pace]
    ratio = np.bincount(label, square) / np.maximum(np.bincount(label, like), 1e-300)
    return np.asarray(np.sqrt(like * ratio[label]))


def stationary(u: Array, sigma: Array, left: Array) -> Array:
    """Power, at frequencies of ``rfft``, of the stationary noise v in u = σ v; left: part of u's power that is there.
    Parzen: the correlation of u is that of v times that of σ. Where σ is small little is said, none divided by it."""
    size = len(u)
    of_u = scipy.fft.irfft(np.abs(scipy.fft.rfft(u)) ** 2 / left, size)
    of_sigma = scipy.fft.irfft(np.abs(scipy.fft.rfft(sigma)) ** 2, size)
    return np.asarray(scipy.fft.rfft(of_u / np.maximum(of_sigma, LEAST_OVERLAP_SHARE * of_sigma[0])).real)


def on_slow(residual: Array, quantity: Array) -> Dependence | None:
    """Both (N,), in order of time, for a quantity that changes slowly; None where it does not, or N is small."""
    label, e = labels(quantity), residual - residual.mean()
    total = float((e**2).sum())
    if label is None or total <= 0.0:
        return None
    number = np.arange(1, min(SLOW_COSINE_NUMBERS, len(e) // 4) + 1)
    numbers = scipy.fft.dct(e, norm="ortho")[number]
    x = (quantity - quantity.mean()) / quantity.std()
    columns = np.column_stack([scipy.fft.dct(power, norm="ortho")[number] for power in (x, x**2)])
    fits = [_slow_noise(numbers, columns, number, corner) for corner in SLOW_NOISE_CORNERS]
    likelihood, _, along, level = max(fits, key=lambda fit: fit[0])
    p_value = max(fit[1] for fit in fits if fit[0] >= likelihood - LOG_LIKELIHOOD_MARGIN)
    count = np.bincount(label).astype(float)
    means, centres = (np.bincount(label, values) / count for values in (residual, quantity))
    errors = np.sqrt(level / count)
    return Dependence(centres=centres, means=means, errors=errors, share=along / total, p_value=p_value)


def _slow_noise(numbers: Array, columns: Array, number: Index, corner: float) -> tuple[float, float, float, float]:
    """Slow numbers of noise whose power falls as 1/(1 + (k/corner)²), and what goes along with a quantity: likelihood;
    p-value; sum of squares of the latter, less what chance gives; power of one number of the slowest noise."""
    weight = np.sqrt(1.0 + (number / corner) ** 2)
    basis, r = np.linalg.qr(columns * weight[:, None])
    basis = basis[:, np.abs(np.diag(r)) > 1e-6 * np.abs(r).max()]
    parts = basis.T @ (numbers * weight)
    free = len(numbers) - basis.shape[1] - 1  # the corner is one
    left = float(((numbers * weight - basis @ parts) ** 2).sum())
    level = left / free
    likelihood = float(np.log(weight).sum()) - 0.5 * len(numbers) * np.log(max(left, 1e-300))
    plain = basis / weight[:, None]
    along = float(((plain @ parts) ** 2).sum()) - level * float((plain**2).sum())
    ratio = float((parts**2).sum()) / basis.shape[1] / max(level, 1e-300)
    return likelihood, float(scipy.stats.f.sf(ratio, basis.shape[1], free)), along, level


def labels(quantity: Array) -> Index | None:
    """(N,) bins of as many samples each; fewer where values repeat; None where all values are alike."""
    bins = min(QUANTITY_BINS, len(quantity) // FEWEST_BIN_SAMPLES)
    if len(quantity) < FEWEST_DEPENDENCE_SAMPLES or not np.isfinite(quantity).all():
        return None
    edges = np.unique(np.quantile(quantity, np.arange(1, bins) / bins))
    if not len(edges) or np.ptp(quantity) <= 1e-9 * float(np.abs(quantity).max()):
        return None
    found = np.unique(np.searchsorted(edges, quantity, "left"), return_inverse=True)[1]
    return found.astype(np.int64) if found.max() > 0 else None
