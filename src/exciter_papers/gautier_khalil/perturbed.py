"""The noise of section 6.3: equations are perturbed on the right, on the left or on both sides, and solved; what the
optimum gains over random sequences then, and what noise on W may have been."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exciter.identification.information.information import Information
from exciter.typing import Array
from exciter_papers.gautier_khalil.printed import NoiseTable, data, noise_levels
from exciter_papers.gautier_khalil.sequences import Sequences, robot_model, true_parameters
from exciter_papers.paper import DataTable, Finding, Part, claim, shown, typical


@dataclass(frozen=True)
class NoiseReading:
    """What noise on W may mean. q, qd: standard deviations, as parts of those of the text; one_end: only the end of
    every interval has noise, so that rows share none."""

    name: str
    q: float = 1.0
    qd: float = 1.0
    one_end: bool = False


TEXT = NoiseReading("as in the text")


@dataclass(frozen=True, eq=False)
class Draws:
    """M sequences, each with K levels of noise, (M, K) unless said otherwise.

    cond (M,): of W. dy, dw: ‖δY‖/‖Y‖ and ‖δW‖/‖W‖, 2-norms. dx: ‖δX‖/‖X‖ with Y, W or both perturbed. cond_perturbed:
    cond(W + δW). errors, std (M, K, 15): X̂ − X and σ with Y perturbed; errors_both: with both, and the σ that knows of
    Y alone. squares: errorᵀ C⁻¹ error. ratio_w: right side of (13) over its left side.
    """

    cond: Array
    dy: Array
    dw: Array
    dx_y: Array
    dx_w: Array
    dx_both: Array
    cond_perturbed: Array
    errors: Array
    std: Array
    squares: Array
    errors_both: Array
    std_both: Array
    ratio_w: Array

    @property
    def ratio(self) -> Array:
        """κ ‖δY‖ ‖X‖ / (‖Y‖ ‖δX‖): by how much (12) overestimates."""
        return self.cond[:, None] * self.dy / self.dx_y


@dataclass(frozen=True, eq=False)
class LeftDraws:
    """Noise on W alone, and on both: (M, K) each, as in ``Draws``."""

    dw: Array
    dx_w: Array
    dx_both: Array


def draws(sequences: Sequences, levels: tuple[float, ...], seed: int, reading: NoiseReading = TEXT) -> Draws:
    """Normal noise of standard deviation k/4 of max|Y| on Y; of k/4 of |q_F − q_I| and of q̇_M on q and q̇, once per
    point, on W."""
    rng = np.random.default_rng(seed)
    x, w = true_parameters(), sequences.w
    y, cond = w @ x, np.asarray(np.linalg.cond(w))
    parts: list[dict[str, Array]] = []
    for k in levels:
        sigma, dy = right_noise(y, k, rng)
        noisy = left_noise(sequences, k, rng, reading)
        estimate, covariance = solve(w, y + dy, sigma)
        inverse = np.asarray(np.linalg.pinv(noisy), dtype=np.float64)
        left, both, error = _times(inverse, y), _times(inverse, y + dy), estimate - x
        relative = _norm(noisy - w) / _norm(w)
        parts.append(
            {
                "dy": _size(dy) / _size(y),
                "dw": relative,
                "dx_y": _size(error) / _size(x),
                "dx_w": _size(left - x) / _size(x),
                "dx_both": _size(both - x) / _size(x),
                "cond_perturbed": np.linalg.cond(noisy),
                "errors": error,
                "std": np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)),
                "squares": _squares(w, sigma, error),
                "errors_both": both - x,
                "ratio_w": cond * relative * _size(left) / _size(left - x),
                "std_both": sigma[:, None] * np.linalg.norm(inverse, axis=2),
            }
        )
    return Draws(cond=cond, **{key: np.stack([one[key] for one in parts], axis=1) for key in parts[0]})


def left_draws(sequences: Sequences, levels: tuple[float, ...], seed: int, reading: NoiseReading) -> LeftDraws:
    """What depends on how noise on W is meant, with other noise than ``draws`` has at the same seed."""
    rng = np.random.default_rng([seed, 1])
    x, w = true_parameters(), sequences.w
    y, found = w @ x, []
    for k in levels:
        noisy, (_, dy) = left_noise(sequences, k, rng, reading), right_noise(y, k, rng)
        inverse = np.asarray(np.linalg.pinv(noisy), dtype=np.float64)
        errors = [_size(_times(inverse, right) - x) / _size(x) for right in (y, y + dy)]
        found.append([_norm(noisy - w) / _norm(w), *errors])
    return LeftDraws(*np.array(found).transpose(1, 2, 0))


def right_noise(y: Array, k: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """σ_ρ (M,) and δY (M, r)."""
    sigma = k / float(data()["noise"]["part"]) * np.abs(y).max(axis=1)
    return sigma, sigma[:, None] * rng.standard_normal(y.shape)


def left_noise(sequences: Sequences, k: float, rng: np.random.Generator, reading: NoiseReading) -> Array:
    """W + δW (M, r, 15)."""
    robot, share = robot_model().robot, k / float(data()["noise"]["part"])
    lower, upper = robot.position_range()
    dq = reading.q * share * (upper - lower) * rng.standard_normal(sequences.q.shape)
    dqd = reading.qd * share * robot.limit("velocity") * rng.standard_normal(sequences.q.shape)
    noisy = Sequences(sequences.q + dq, sequences.qd + dqd)
    if reading.one_end:
        return np.asarray(noisy.h[:, 1:] - sequences.h[:, :-1])
    return noisy.w


def solve(w: Array, y: Array, sigma: Array) -> tuple[Array, Array]:
    """Least squares of M systems: X̂ (M, b) and its covariance (M, b, b) for errors of known σ (M,)."""
    empty = Information.empty(w.shape[2])
    found = [empty.add(one_w / one, one_y / one).solve() for one_w, one_y, one in zip(w, y, sigma, strict=True)]
    return np.array([values for values, _ in found]), np.array([covariance for _, covariance in found])


def _squares(w: Array, sigma: Array, error: Array) -> Array:
    """errorᵀ C⁻¹ error with C = σ² (WᵀW)⁻¹: the squared length of W error, in σ."""
    fitted = np.einsum("mrb,mb->mr", w, error) / sigma[:, None]
    return np.asarray((fitted**2).sum(axis=1))


def _times(inverse: Array, y: Array) -> Array:
    """W⁺ Y (M, b): least squares without σ."""
    return np.asarray(np.einsum("mbr,mr->mb", inverse, y))


def _size(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=-1))


def _norm(matrices: Array) -> Array:
    """The 2-norm; of the squares, which is enough for the largest singular value."""
    return np.asarray(np.sqrt(np.linalg.eigvalsh(np.swapaxes(matrices, 1, 2) @ matrices)[:, -1]))


# -- what the optimum gains --------------------------------------------------------------------------------------------

Made = dict[tuple[int, str], tuple[Array, Draws]]
PERTURBATION_SEED = 0  # of the pairs
UNCHANGED_CONDITION_RATIO = 0.1  # relative change of cond(W) that counts as none
TABLES_BY_EQUATIONS = {30: ("3", "4"), 15: ("8", "9")}


def improvement_part(made: Made, samples: Mapping[tuple[int, str], str]) -> Part:
    findings = [*_improvements(made, samples), *_bounds(made), *_sensitivity(made)]
    return Part(
        "Section 6.3",
        "What the optimum gains over random sequences, and how sharp the bounds are",
        "The draws of Tables 3–5 and 8–10. Improvement: ‖δX‖ of a random sequence over that of an optimum one, both "
        f"drawn at random (seed {PERTURBATION_SEED}), geometric mean over the three k. cond(W) counts as not "
        "sensitive where its "
        f"median change is {100 * UNCHANGED_CONDITION_RATIO:g} % at most.",
        findings,
        differences="Noise on Y is scaled with max|Y|, and an optimum sequence has small energy differences, so it "
        "also gets less noise. With the same noise in joules on both, the gain is several times smaller than the "
        "tables suggest.",
    )


def _improvements(made: Made, samples: Mapping[tuple[int, str], str]) -> list[Finding]:
    found = []
    for r, numbers in TABLES_BY_EQUATIONS.items():
        for number, attribute, where in zip(numbers, ("dx_y", "dx_w"), ("Y", "W"), strict=True):
            sizes = [NoiseTable.of(number, kind).corrected["dx"] for kind in ("random", "optimum")]
            published = float(np.exp(np.log(sizes[0] / sizes[1]).mean()))
            random, optimum = (getattr(made[r, kind][1], attribute) for kind in ("random", "optimum"))
            sample = _pairs(random, optimum)
            quantity = f"‖δX‖ random / optimum, r = {r}, noise on {where}"
            words = f"pairs of {samples[r, 'random']} (random) and {samples[r, 'optimum']} (optimum)"
            found.append(typical(quantity, published, sample, f"Table {number}", of=words))
        equal = _equal_noise(made[r, "random"][0]), _equal_noise(made[r, "optimum"][0])
        found.append(
            shown(
                f"the same with one and the same noise on Y [J], r = {r}, ratio of medians",
                np.median(equal[0]) / np.median(equal[1]),
                "root of the trace of (WᵀW)⁻¹, random over optimum",
            )
        )
    return found


def _pairs(random: Array, optimum: Array) -> Array:
    """Geometric means over k of random / optimum, of draws that are paired at random."""
    rng = np.random.default_rng(PERTURBATION_SEED)
    first, second = np.log(random).mean(axis=1), np.log(optimum).mean(axis=1)
    many = max(len(first), len(second))
    return np.asarray(np.exp(rng.choice(first, many) - rng.choice(second, many)))


def _equal_noise(w: Array) -> Array:
    """√tr (WᵀW)⁻¹ (M,): root of the sum of variances for noise of 1 J."""
    return np.asarray(np.sqrt((np.linalg.svd(w, compute_uv=False) ** -2.0).sum(axis=1)))


def _bounds(made: Made) -> list[Finding]:
    drawn = [one for _, one in made.values()]
    smallest = min(float(one.ratio.min()) for one in drawn)
    medians = {key: float(np.median(one.ratio)) for key, (_, one) in made.items()}
    note = (
        f"right side over left side: {smallest:.3g} at least in {sum(one.ratio.size for one in drawn)} draws; medians "
        f"{medians[30, 'optimum']:.3g} (optimum) and {medians[30, 'random']:.3g} (random) at r = 30, "
        f"{medians[15, 'optimum']:.3g} and {medians[15, 'random']:.3g} at r = 15"
    )
    least = min(float(made[15, kind][1].ratio_w.min()) for kind in ("optimum", "random"))
    return [
        claim("(12) bounds ‖δX‖/‖X‖ in every draw with noise on Y, r = 15 and 30", smallest >= 1.0, note),
        claim(
            "(13) bounds ‖δX‖/‖X + δX‖ in every draw with noise on W, r = b = 15",
            least >= 1.0,
            f"right side over left side: {least:.3g} at least",
        ),
    ]


def _sensitivity(made: Made) -> list[Finding]:
    """Is cond(W + δW) near cond(W)?"""
    found = []
    levels = noise_levels()
    for at in (1, 2):
        medians = {
            key: float(np.median(np.abs(one.cond_perturbed[:, at] / one.cond - 1.0))) for key, (_, one) in made.items()
        }
        words = ", ".join(f"{100 * value:.2g} % ({kind}, r = {r})" for (r, kind), value in medians.items())
        largest = max(medians.values())
        found.append(
            claim(
                f"cond(W) is not sensitive to noise on W, k = {levels[at]:g}",
                largest <= UNCHANGED_CONDITION_RATIO,
                f"median change of cond(W): {words}"
                + ("; the larger the noise, the less it holds" if largest > UNCHANGED_CONDITION_RATIO else ""),
            )
        )
    return found


# -- what noise on W may have been -------------------------------------------------------------------------------------

READINGS = (
    TEXT,
    NoiseReading("half of it on positions, k/4 of q_F", q=0.5),
    NoiseReading("less by √3, as uniform noise within ±k/4 has", q=3.0**-0.5, qd=3.0**-0.5),
    NoiseReading("as in the text, at one end of every interval", one_end=True),
)
LEFT = {30: ("4", "5"), 15: ("9", "10")}  # tables with noise on W, and on Y and W, by r
RIGHT = {30: "3", 15: "8"}  # tables with noise on Y
TYPICAL_PERCENTILES = (1.0, 99.0)  # between which a printed figure counts as typical


@dataclass(frozen=True)
class Row:
    """One reading for one kind of sequence. medians of ‖δW‖/‖W‖, of ‖δX‖/‖X‖ with noise on W and with both, over k;
    percents of ours below the four printed figures: ‖δW‖/‖W‖ of both tables, ‖δX‖/‖X‖ of each."""

    r: int
    points: str
    reading: str
    medians: tuple[float, ...]
    percents: tuple[float, ...]

    @property
    def untypical(self) -> list[str]:
        """Which of the four are none of ours."""
        low, high = TYPICAL_PERCENTILES
        names = [f"{what}, {self.points}, Table {number}" for what in ("‖δW‖", "‖δX‖") for number in LEFT[self.r]]
        return [name for name, percent in zip(names, self.percents, strict=True) if not low <= percent <= high]


def mean_over_k(values: Array) -> Array:
    """Geometric, of values (…, K)."""
    return np.asarray(np.exp(np.log(values).mean(axis=-1)))


def per_k(values: Array) -> Array:
    """The same, over k."""
    return mean_over_k(values / np.array(noise_levels()))


def printed_per_k(number: str, kind: str, column: str) -> float:
    """Misprints corrected."""
    return float(per_k(NoiseTable.of(number, kind).corrected[column]))


def row(r: int, kind: str, points: str, reading: str, drawn: LeftDraws) -> Row:
    """kind: random or optimum, the printed column; points: how ours were made."""
    dw, dx_w, dx_both = (per_k(values) for values in (drawn.dw, drawn.dx_w, drawn.dx_both))
    printed = [printed_per_k(number, kind, column) for column in ("dw", "dx") for number in LEFT[r]]
    percents = [100 * np.mean(x < figure) for x, figure in zip((dw, dw, dx_w, dx_both), printed, strict=True)]
    medians = [np.median(values) for values in (dw, dx_w, dx_both)]
    return Row(r, points, reading, tuple(map(float, medians)), tuple(map(float, percents)))


def readings_part(
    made: Mapping[tuple[int, str, str], Sequences],
    made_as_printed: tuple[str, ...],
    judged: Mapping[tuple[int, str], Draws],
    seed: int,
) -> Part:
    """made: by r, printed column and how the points were made, as in the paper or for comparison; judged: the draws of
    Tables 3–10, of the same sequences as the first of each."""
    rows: list[Row] = []
    again: dict[tuple[int, str], LeftDraws] = {}
    for (r, kind, points), sequences in made.items():
        for reading in READINGS:
            drawn = left_draws(sequences, noise_levels(), seed, reading)
            rows.append(row(r, kind, points, reading.name, drawn))
            if reading is TEXT:
                again.setdefault((r, kind), drawn)
    headings = (
        "r",
        "points",
        "noise on W",
        "‖δW‖/‖W‖ over k",
        "‖δX‖/‖X‖ over k, noise on W",
        "‖δX‖/‖X‖ over k, noise on Y and W",
        *(f"% below {what}, Tables {two}" for what in ("‖δW‖/‖W‖", "‖δX‖/‖X‖") for two in ("4, 9", "5, 10")),
    )
    together = [_together(r, kind, judged[r, kind], again[r, kind]) for r, kind in judged]
    return Part(
        "Section 6.3, noise on W",
        "Which noise on W was meant",
        "The text says k/4 times |q_F − q_I| and k/4 times q̇_M, not how that enters W. Each reading is applied to "
        "sequences of "
        + "; ".join(f"r = {r}, {points}: {len(one.q)} draws" for (r, _, points), one in made.items())
        + f" (sequences as in Tables 3–10, noise with seed {seed}, 1). Medians of ours (geometric mean over the three "
        "k), and how many per cent of ours are below what was printed, misprints corrected: "
        f"{TYPICAL_PERCENTILES[0]:g} to {TYPICAL_PERCENTILES[1]:g} % is typical.",
        (*_fitting(rows, made_as_printed), *together),
        DataTable(
            "noise-on-w",
            "Readings of the noise on W against Tables 4, 5, 9 and 10",
            headings,
            [(one.r, one.points, one.reading, *one.medians, *one.percents) for one in rows],
        ),
        differences=_words(rows),
    )


def _fitting(rows: list[Row], judged: tuple[str, ...]) -> list[Finding]:
    """How many printed figures are typical of the sequences that are made as in the paper, by reading."""
    found = []
    for reading in READINGS:
        mine = [one for one in rows if one.reading == reading.name and one.points in judged]
        wrong = [name for one in mine for name in one.untypical]
        every = sum(len(one.percents) for one in mine)
        found.append(
            shown(
                f"printed figures that are typical, noise {reading.name}",
                f"{every - len(wrong)} of {every}",
                "not typical: " + ("; ".join(wrong) or "none"),
            )
        )
    return found


def _together(r: int, kind: str, drawn: Draws, again: LeftDraws) -> Finding:
    """Independent errors add as squares: is ‖δX‖ with both what those with each let expect?"""
    numbers = RIGHT[r], *LEFT[r]
    y, w, both = (printed_per_k(number, kind, "dx") for number in numbers)
    sample = per_k(again.dx_both) / np.hypot(per_k(drawn.dx_y), per_k(drawn.dx_w))
    return typical(
        f"‖δX‖ with noise on both, over the root of the squares with noise on each, {kind}, r = {r}",
        both / float(np.hypot(y, w)),
        sample,
        f"printed over k: {y:.3g} (Y), {w:.3g} (W), {both:.3g} (both)",
        of="draws, three of each sequence",
    )


def _words(rows: list[Row]) -> str:
    spread = {name: [one.medians[0] for one in rows if one.reading == TEXT.name and one.points == name]
              for name in dict.fromkeys(one.points for one in rows)}  # fmt: skip
    words = ", ".join(f"{name} {' and '.join(f'{value:.2g} k' for value in values)}" for name, values in spread.items())
    return (
        "The printed figures do not determine how the noise on W was defined. With the noise as in the text ‖δW‖/‖W‖ "
        f"depends on the sequences (at {' and '.join(f'r = {r}' for r in LEFT)}: {words}), on the limits and on S, and "
        "none of these was published. Less noise than the text says fits more figures, but whether it was half of it "
        "on positions, less on both or noise at one end cannot be told: these differ by a few figures, which other "
        "sequences would move. ‖δX‖ with noise on both at r = 30, random, is printed smaller than with noise on either "
        "side alone; as single draws that may be."
    )
