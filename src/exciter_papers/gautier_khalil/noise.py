"""Tables 3–12: noise on Y, on W and on both, for optimum and random sequences; σ by parameter, and whether errors are
what σ says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import exciter as ex
from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.typing import Array
from exciter_papers.gautier_khalil.perturbed import Draws, draws, improvement_part, mean_over_k, readings_part
from exciter_papers.gautier_khalil.printed import (
    IDENTIFIED,
    PARAMETER_TABLES,
    NoiseTable,
    ParameterTable,
    PrintedSequence,
    data,
    names,
    noise_levels,
)
from exciter_papers.gautier_khalil.sequences import (
    EQUILIBRIUM_WEIGHT,
    EXPLORE,
    ITERATIONS,
    SEARCH_STARTS,
    Sequences,
    assumed_limits,
    best_sequence,
    equilibria,
    optimum_sequences,
    random_sequences,
    robot_model,
    true_parameters,
)
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, shown, typical

NOISE_SEED = 1992
FIGURE_FALSE_ALARM_CHANCE = 0.02  # of a false alarm per figure
BOTH, NORMAL = "optimum of cond(W) and S", "random, normal x"  # sequences as in the paper
SEQUENCE_KINDS = ("optimum", "random")
NORM_NAMES = {
    "dy": "‖δY‖/‖Y‖",
    "dw": "‖δW‖/‖W‖",
    "dx": "‖δX‖/‖X‖",
    "ratio": "cond(W) ‖δY‖ ‖X‖ / (‖Y‖ ‖δX‖)",
    "cond_perturbed": "cond(W + δW)",
}
TITLES = {"Y": "noise on Y", "W": "noise on W", "Y and W": "noise on Y and W"}


@dataclass(frozen=True, eq=False)
class DrawnSequences:
    """What was drawn for r equations and one kind of sequence; distinct: sequences that differ."""

    sequences: Sequences
    distinct: int
    w: Array
    drawn: Draws

    @classmethod
    def of(cls, sequences: Sequences, repeats: int, r: int) -> DrawnSequences:
        many = sequences.repeated(repeats)
        return cls(many, len(sequences.q), many.w, draws(many, noise_levels(), NOISE_SEED + r))

    @property
    def sample(self) -> str:
        """What a sample consists of."""
        return f"draws on {self.distinct} sequences"


Experiments = dict[tuple[int, str], DrawnSequences]  #: by r and kind
BEST_DRAWS = 200  #: of noise, on the one sequence of least cond(W)


@dataclass(frozen=True)
class Counts:
    """Optimum sequences, draws of noise for each, random sequences with one draw each; others: random sequences of
    the comparison of readings."""

    optima: int
    repeats: int
    randoms: int
    others: int

    @classmethod
    def of(cls, effort: Effort) -> Counts:
        return effort.pick(cls(7, 20, 300, 150), cls(25, 20, 1500, 1000))


def run(effort: Effort) -> Sequence[Part]:
    counts = Counts.of(effort)
    made: Experiments = {}
    best: dict[int, DrawnSequences] = {}
    compared: dict[tuple[int, str, str], Sequences] = {}
    for r in IDENTIFIED:
        alone, both = optimum_sequences(r, counts.optima)
        made[r, "optimum"] = DrawnSequences.of(both, counts.repeats, r)
        best[r] = DrawnSequences.of(best_sequence(r), BEST_DRAWS, r)
        made[r, "random"] = DrawnSequences.of(random_sequences(r, counts.randoms, NOISE_SEED), 1, r)
        compared[r, "optimum", BOTH] = both.repeated(counts.repeats)
        compared[r, "optimum", "optimum of cond(W) alone"] = alone.repeated(counts.repeats)
        compared[r, "random", NORMAL] = made[r, "random"].sequences
        compared[r, "random", "random, uniform"] = random_sequences(r, counts.others, NOISE_SEED, "uniform")
    parts = {number: _table_part(number, made, best, effort) for number in data()["tables"]}
    drawn = {key: (one.w, one.drawn) for key, one in made.items()}
    samples = {key: one.sample for key, one in made.items()}
    tables = [ParameterTable.of(number) for number in PARAMETER_TABLES]
    by_parameter = {one.number: _deviations_part(one, made[one.r, one.sequence], effort) for one in tables}
    return (
        *(parts[number] for number in ("3", "4", "5")),
        *(by_parameter[number] for number in ("6", "7")),
        *(parts[number] for number in ("8", "9", "10")),
        *(by_parameter[number] for number in ("11", "12")),
        improvement_part(drawn, samples),
        readings_part(compared, (BOTH, NORMAL), {key: one.drawn for key, one in made.items()}, NOISE_SEED),
    )


def set_up(r: int, made: Experiments, effort: Effort) -> str:
    """What was drawn, in words."""
    counts, optimum = Counts.of(effort), made[r, "optimum"]
    cond, s = (np.quantile(values, [0.0, 0.5, 1.0]) for values in (optimum.drawn.cond, equilibria(optimum.w)))
    printed = PrintedSequence.of(r, "optimum")
    return (
        f"r = {r}. {assumed_limits()}. Optimum: {counts.optima} sequences (seeds 0 … {counts.optima - 1}). Each is the "
        f"best of {SEARCH_STARTS} starts of a search for least cond(W) ({EXPLORE} iterations, then {ITERATIONS} in "
        "each "
        f"stage), from which log cond(W) + {EQUILIBRIUM_WEIGHT:g} log S is minimised, as in the part on (18), with "
        "as many: "
        f"cond(W) {cond[0]:.3g} … {cond[2]:.3g}, median {cond[1]:.3g} (published {printed.cond.value:g}), S {s[0]:.3g} "
        f"… {s[2]:.3g}, median {s[1]:.3g} (published {printed.equilibrium.value:g}); {counts.repeats} draws of noise "
        f"for each. Random: {counts.randoms} sequences with normally distributed x (4.3, 6.2; seed {NOISE_SEED}), "
        "one draw "
        f"each. Noise (seed {NOISE_SEED + r}): normal, zero mean, standard deviation k/4 of max|Y| on Y; k/4 of |q_F "
        "− q_I| "
        "and k/4 of the largest speed on the positions and velocities of all points on W. The printed figures are "
        "single draws on sequences that were not published: each is judged as one draw of what is repeated here. Least "
        "squares by square-root information (noise on Y) and by the pseudo-inverse (noise on W); 2-norms."
    )


# -- one table -------------------------------------------------------------------------------------------------------


def _table_part(number: str, made: Experiments, best: dict[int, DrawnSequences], effort: Effort) -> Part:
    table = data()["tables"][number]
    r, noise = table["r"], table["noise"]
    findings: list[Finding] = []
    rows: list[tuple[Any, ...]] = []
    for kind in SEQUENCE_KINDS:
        printed, one = NoiseTable.of(number, kind), made[r, kind]
        sample = columns(one.drawn, noise)
        rows += _rows(printed, kind, sample)
        findings += [_finding(printed, kind, key, sample, one) for key in sample]
    findings.append(_without_equilibrium(best[r], noise))
    wrong = [one for one in data()["misprints"]["tables"] if (one["table"], one["column"]) == (number, "dw")]
    findings += [_misprint(one, made[r, "random"]) for one in wrong]
    within = sum(row[-1] for row in rows)
    findings.append(
        shown(
            f"cells within {100 * (1 - FIGURE_FALSE_ALARM_CHANCE):g} % of the repetitions",
            f"{within} of {len(rows)}",
            "see the table",
        )
    )
    headings = ("sequence", "k", "quantity", "published", "median", "1 %", "99 %", "typical")
    caption = f"Table {number}, published and repeated: {TITLES[noise]}, r = {r}"
    return Part(
        f"Table {number}",
        f"{TITLES[noise][0].upper()}{TITLES[noise][1:]}, {r} equations",
        set_up(r, made, effort),
        findings,
        DataTable(f"table-{number}", caption, headings, rows),
        differences=_differences(noise, made[r, "optimum"], made[r, "random"]),
    )


def columns(drawn: Draws, noise: str) -> dict[str, Array]:
    """(M, K) by column of the table, in its order."""
    if noise == "Y":
        return {"dy": drawn.dy, "dx": drawn.dx_y, "ratio": drawn.ratio}
    if noise == "W":
        return {"dw": drawn.dw, "dx": drawn.dx_w, "cond_perturbed": drawn.cond_perturbed}
    return {"dy": drawn.dy, "dw": drawn.dw, "dx": drawn.dx_both}


def _rows(printed: NoiseTable, kind: str, sample: dict[str, Array]) -> list[tuple[Any, ...]]:
    rows = []
    for at, k in enumerate(noise_levels()):
        for key, values in sample.items():
            low, middle, high = np.quantile(
                values[:, at], [FIGURE_FALSE_ALARM_CHANCE / 2, 0.5, 1 - FIGURE_FALSE_ALARM_CHANCE / 2]
            )
            value = printed.columns[key][at].value
            rows.append((kind, k, NORM_NAMES[key], value, middle, low, high, bool(low <= value <= high)))
    return rows


def _finding(printed: NoiseTable, kind: str, key: str, sample: dict[str, Array], one: DrawnSequences) -> Finding:
    if key == "cond_perturbed":
        values = sample[key][:, -1] / one.drawn.cond
        value = printed.columns[key][-1].value / printed.cond.value
        quantity = f"{NORM_NAMES[key]} / cond(W) at k = {noise_levels()[-1]:g}, {kind}"
        return typical(quantity, value, values, _scale_note(printed, value, values, one.drawn), of=one.sample)
    levels = np.ones(3) if key == "ratio" else np.array(noise_levels())
    values = mean_over_k(sample[key] / levels)
    value = float(mean_over_k(printed.corrected[key] / levels))
    quantity = f"{NORM_NAMES[key]}{'' if key == 'ratio' else ' over k'}, {kind}, mean of the three k"
    note = _scale_note(printed, value, values, one.drawn)
    if not np.array_equal(printed.corrected[key], [figure.value for figure in printed.columns[key]]):
        note += "; with a misprint corrected"
    return typical(quantity, value, values, note, of=one.sample)


def _without_equilibrium(alone: DrawnSequences, noise: str) -> Finding:
    """What the least condition number buys, were S left out of the criterion."""
    values = mean_over_k(columns(alone.drawn, noise)["dx"] / np.array(noise_levels()))
    low, high = np.quantile(values, [FIGURE_FALSE_ALARM_CHANCE / 2, 1 - FIGURE_FALSE_ALARM_CHANCE / 2])
    note = (
        f"{len(values)} draws on the best of the sequences of a long search, "
        f"{100 * (1 - FIGURE_FALSE_ALARM_CHANCE):g} % within "
        f"{low:.3g} … {high:.3g}; cond(W) is {alone.drawn.cond[0]:.3g}"
    )
    return shown(f"{NORM_NAMES['dx']} over k, optimum of cond(W) alone, mean of the three k", np.median(values), note)


def _scale_note(printed: NoiseTable, value: float, values: Array, drawn: Draws) -> str:
    low, high = drawn.cond.min(), drawn.cond.max()
    return (
        f"the median is {np.median(values) / value:.2g} times the published figure; cond(W) is {low:.3g} … {high:.3g} "
        f"here, {printed.cond.value:g} there"
    )


# -- what is wrong in print -------------------------------------------------------------------------------------------


def _misprint(wrong: dict[str, str], random: DrawnSequences) -> Finding:
    """A printed ‖δW‖/‖W‖ that is ten times too large."""
    at = data()["noise"]["k"].index(wrong["k"])
    others = [
        one.value / k
        for number, table in data()["tables"].items()
        if "W" in table["noise"]
        for one, k in zip(NoiseTable.of(number, "random").columns["dw"], noise_levels(), strict=True)
        if (number, k) not in {(w["table"], float(w["k"])) for w in data()["misprints"]["tables"]}
    ]
    note = (
        f"a misprint, most likely of {wrong['corrected']}: all other ‖δW‖/‖W‖ of random sequences are "
        f"{min(others):.2g} … {max(others):.2g} times k, this one {float(wrong['printed']) / float(wrong['k']):.2g}"
    )
    quantity = f"{NORM_NAMES['dw']} at k = {wrong['k']}, random, as printed"
    return typical(quantity, float(wrong["printed"]), random.drawn.dw[:, at], note, of=random.sample)


def _differences(noise: str, optimum: DrawnSequences, random: DrawnSequences) -> str:
    text = (
        "The limits are a choice and the sequences are ours: an optimum with another cond(W) and S has another ‖δX‖, "
        "and the few optimum sequences here do not show how far those of the paper may lie apart: "
        "with more of them a figure near the end of a range may come inside."
    )
    if noise == "Y":
        return text
    size = [np.median(np.linalg.norm(one.w, 2, axis=(1, 2))) for one in (optimum, random)]
    return (
        f"{text} How noise on W was defined is not clear either, see the part on it. The optimum has a small W (‖W‖ "
        f"{size[0]:.2g}, random {size[1]:.2g}), so the same noise on q and q̇ is relatively larger there; that is why "
        "the advantage of the optimum is smaller in this table than with noise on Y, which was scaled with max|Y|."
    )


# -- Tables 6, 7, 11 and 12 --------------------------------------------------------------------------------------------

DISTRIBUTION_FALSE_ALARM_CHANCE = 1e-3  # chance of a false alarm of each test of a distribution
TWO_SIGMA = float(2 * stats.norm.cdf(2.0) - 1.0)


def _deviations_part(table: ParameterTable, one: DrawnSequences, effort: Effort) -> Part:
    drawn, sample, at = one.drawn, one.sample, noise_levels().index(table.k)
    std, scaled = drawn.std[:, at], drawn.errors[:, at] / drawn.std[:, at]
    printed = table.error / table.std
    size = np.linalg.norm(true_parameters())
    total = float(np.linalg.norm(table.std) / size)
    totals = np.linalg.norm(std, axis=1) / size
    note = (
        f"the median is {np.median(totals) / total:.2g} times the published figure; cond(W) is "
        f"{drawn.cond.min():.3g} … {drawn.cond.max():.3g} here, "
        f"{PrintedSequence.of(table.r, table.sequence).cond.value:g} there, and the limits are a choice"
    )
    findings = [
        typical("√Σσ² / ‖X‖", total, totals, note, of=sample),
        typical("root mean square of error / σ", float(_rms(printed)), _rms(scaled, axis=1), of=sample),
        typical("largest |error| / σ", np.abs(printed).max(), np.abs(scaled).max(axis=1), of=sample),
        *_distribution(drawn, at),
        shown(
            "share of errors within 2 σ when W has noise too (Y and W)",
            _coverage(np.abs(drawn.errors_both[:, at]) <= 2.0 * drawn.std_both[:, at])[0],
            f"{100 * TWO_SIGMA:.1f} % would be right: σ assumes δW = 0, so it says nothing where positions and "
            "velocities are measured with this noise",
        ),
        *_own_sigma(one.w, table, effort),
    ]
    middle, low, high = np.quantile(std, [0.5, 0.1, 0.9], axis=0)
    ratio, (_, estimate, error, _, sigma) = middle / table.std, table.corrected.T
    return Part(
        f"Table {table.number}",
        f"Estimates and standard deviations, {table.sequence} sequence, {table.r} equations, k = {table.k:g}",
        f"The draws of Table {table.norms} at k = {table.k:g}: noise on Y alone. σ from C = σ_ρ² (WᵀW)⁻¹ with the σ_ρ "
        "that made the noise, as in the paper. Tests of distributions have a chance of "
        f"{DISTRIBUTION_FALSE_ALARM_CHANCE:g} of a false alarm. "
        f"Where σ_ρ is taken from residuals, sequences and noise are drawn anew (seed {table.number}).",
        findings,
        DataTable.by_columns(
            f"table-{table.number}",
            f"Table {table.number} [kg·m², kg·m]: published (misprints corrected), and σ over our sequences",
            {"parameter": names(), "X": true_parameters(), "X̂": estimate, "X − X̂": error, "σ": sigma}
            | {"σ here, median": middle, "10 %": low, "90 %": high},
        ),
        differences=f"σ by parameter is {ratio.min():.2g} … {ratio.max():.2g} times the published one (median of our "
        "sequences); the sequence itself was not published.",
    )


def _rms(values: Array, axis: int | None = None) -> Array:
    return np.asarray(np.sqrt((values**2).mean(axis=axis)))


# -- σ as a statement ------------------------------------------------------------------------------------------------


def _distribution(drawn: Draws, at: int) -> list[Finding]:
    """Known σ_ρ: errorᵀ C⁻¹ error is χ² of 15 degrees of freedom, 2 σ cover 95.4 %."""
    squares, scaled = drawn.squares[:, at], drawn.errors[:, at] / drawn.std[:, at]
    p = float(stats.kstest(squares, stats.chi2(scaled.shape[1]).cdf).pvalue)
    share, spread = _coverage(np.abs(scaled) <= 2.0)
    return [
        claim(
            "errors have the covariance σ_ρ² (WᵀW)⁻¹",
            p >= DISTRIBUTION_FALSE_ALARM_CHANCE,
            f"errorᵀ C⁻¹ error of {len(squares)} repetitions against χ² of {scaled.shape[1]} degrees of freedom, "
            f"Kolmogorov–Smirnov: p = {p:.2g}",
        ),
        claim(
            f"2 σ cover {100 * TWO_SIGMA:.1f} % of the errors",
            abs(share - TWO_SIGMA) <= stats.norm.ppf(1 - DISTRIBUTION_FALSE_ALARM_CHANCE / 2) * spread,
            f"{100 * share:.1f} % ± {100 * spread:.1g} % of {scaled.size} here",
        ),
    ]


def _coverage(covered: NDArray[np.bool_]) -> tuple[float, float]:
    """Share that is covered, and its standard error: parameters of a repetition are correlated, repetitions not."""
    each = covered.mean(axis=1)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


# -- σ from residuals, as an experiment has it -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GivenRows(Formulation):
    """Equations that are at hand."""

    given: Rows

    def rows(self, model: ex.DynamicModel, pieces: Iterable[Processed], columns: NDArray[np.int64]) -> Iterator[Rows]:
        yield self.given

    def equations(self, model: ex.DynamicModel) -> tuple[str, ...]:
        return self.given.joints


def ordinary(w: Array, y: Array) -> Estimate:
    """The product's ordinary least squares of W (r, 15) and Y (r,): σ from the residuals."""
    time, still = np.arange(float(len(y))), np.zeros((len(y), robot_model().n))
    rows = Rows.of(time, w[:, None], y[:, None], 1.0, ("energy",), tuple(names()))
    run = Run.at(ex.Motion(time, still, still, still), still, 1.0)
    return ex.OrdinaryLeastSquares().estimate(Problem(robot_model(), (run,), GivenRows(rows), folds=1))


def _own_sigma(w: Array, table: ParameterTable, effort: Effort) -> list[Finding]:
    """σ_ρ unknown: errors over σ are Student's where residuals tell σ_ρ; with r = b there are none."""
    x = true_parameters()
    if table.r == len(x):
        try:
            ordinary(w[0], w[0] @ x)
        except ParameterError as refusal:
            return [shown("σ without knowing σ_ρ, r = b", "refused", str(refusal))]
        raise AssertionError("fifteen equations cannot tell their own noise")
    rng, p = np.random.default_rng(int(table.number)), len(x)
    chosen = rng.choice(len(w), effort.pick(120, 600))
    covered, shares = [], []
    for one in w[chosen]:
        y = one @ x
        found = ordinary(one, y + 0.25 * table.k * np.abs(y).max() * rng.standard_normal(len(y)))
        low, high = found.interval(0.95)
        covered.append((low <= x) & (x <= high))
        error = found.values - x
        shares.append(((one @ error) ** 2).sum() / (p * found.noise[0] ** 2))
    share, spread = _coverage(np.array(covered))
    chance = float(stats.kstest(shares, stats.f(p, table.r - p).cdf).pvalue)
    reach = stats.norm.ppf(1 - DISTRIBUTION_FALSE_ALARM_CHANCE / 2) * spread
    return [
        claim(
            "σ_ρ taken from the residuals: 95 % intervals cover 95 %",
            abs(share - 0.95) <= reach and chance >= DISTRIBUTION_FALSE_ALARM_CHANCE,
            f"ordinary least squares of Exciter, Student intervals with {table.r - p} degrees of freedom: "
            f"{100 * share:.1f} % ± {100 * spread:.1g} % of {len(chosen)} repetitions; errorᵀ C⁻¹ error / {p} against "
            f"F({p}, {table.r - p}): p = {chance:.2g}",
        )
    ]
