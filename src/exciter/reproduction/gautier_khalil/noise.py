"""Tables 3–12: noise on Y, on W and on both, for optimum and random sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exciter.reproduction.finding import Finding, shown, typical
from exciter.reproduction.gautier_khalil.deviations import deviation_parts
from exciter.reproduction.gautier_khalil.improvement import improvement_part
from exciter.reproduction.gautier_khalil.perturbed import Draws, draws
from exciter.reproduction.gautier_khalil.point_sequences import (
    EXPLORE,
    ITERATIONS,
    STARTS,
    WEIGHT,
    Sequences,
    best_sequence,
    optimum_sequences,
    random_sequences,
)
from exciter.reproduction.gautier_khalil.printed import IDENTIFIED, NoiseTable, PrintedSequence, data, noise_levels
from exciter.reproduction.gautier_khalil.readings import mean_over_k, readings_part
from exciter.reproduction.gautier_khalil.sequences import assumed_limits, equilibria
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.typing import Array

SEED = 1992
CHANCE = 0.02  # of a false alarm per figure
BOTH, NORMAL = "optimum of cond(W) and S", "random, normal x"  # sequences as in the paper
KINDS = ("optimum", "random")
WORDS = {
    "dy": "‖δY‖/‖Y‖",
    "dw": "‖δW‖/‖W‖",
    "dx": "‖δX‖/‖X‖",
    "ratio": "cond(W) ‖δY‖ ‖X‖ / (‖Y‖ ‖δX‖)",
    "cond_perturbed": "cond(W + δW)",
}
TITLES = {
    "Y": "noise on Y",
    "W": "noise on W",
    "Y and W": "noise on Y and W",
}


@dataclass(frozen=True, eq=False)
class Experiment:
    """What was drawn for r equations and one kind of sequence; distinct: sequences that differ."""

    sequences: Sequences
    distinct: int
    w: Array
    drawn: Draws

    @classmethod
    def of(cls, sequences: Sequences, repeats: int, r: int) -> Experiment:
        many = sequences.repeated(repeats)
        return cls(many, len(sequences.q), many.w, draws(many, noise_levels(), SEED + r))

    @property
    def sample(self) -> str:
        """What a sample consists of."""
        return f"draws on {self.distinct} sequences"


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
    made: dict[tuple[int, str], Experiment] = {}
    best: dict[int, Experiment] = {}
    compared: dict[tuple[int, str, str], Sequences] = {}
    for r in IDENTIFIED:
        alone, both = optimum_sequences(r, counts.optima)
        made[r, "optimum"] = Experiment.of(both, counts.repeats, r)
        best[r] = Experiment.of(best_sequence(r), BEST_DRAWS, r)
        made[r, "random"] = Experiment.of(random_sequences(r, counts.randoms, SEED), 1, r)
        compared[r, "optimum", BOTH] = both.repeated(counts.repeats)
        compared[r, "optimum", "optimum of cond(W) alone"] = alone.repeated(counts.repeats)
        random = made[r, "random"].sequences
        compared[r, "random", NORMAL] = random
        compared[r, "random", "random, uniform"] = random_sequences(r, counts.others, SEED, "uniform")
    parts = {number: _table_part(number, made, best, effort) for number in data()["tables"]}
    drawn = {key: (one.w, one.drawn) for key, one in made.items()}
    samples = {key: one.sample for key, one in made.items()}
    by_parameter = deviation_parts(drawn, samples, effort)
    return (
        *(parts[number] for number in ("3", "4", "5")),
        *(by_parameter[number] for number in ("6", "7")),
        *(parts[number] for number in ("8", "9", "10")),
        *(by_parameter[number] for number in ("11", "12")),
        improvement_part(drawn, samples),
        readings_part(compared, (BOTH, NORMAL), {key: one.drawn for key, one in made.items()}, SEED),
    )


def set_up(r: int, made: dict[tuple[int, str], Experiment], effort: Effort) -> str:
    """What was drawn, in words."""
    counts, optimum = Counts.of(effort), made[r, "optimum"]
    cond, s = (np.quantile(values, [0.0, 0.5, 1.0]) for values in (optimum.drawn.cond, equilibria(optimum.w)))
    printed = PrintedSequence.of(r, "optimum")
    return (
        f"r = {r}. {assumed_limits()}. Optimum: {counts.optima} sequences (seeds 0 … {counts.optima - 1}). Each is the "
        f"best of {STARTS} starts of a search for least cond(W) ({EXPLORE} iterations, then {ITERATIONS} in each "
        f"stage), from which log cond(W) + {WEIGHT:g} log S is minimised, as in the part on (18), with as many: "
        f"cond(W) {cond[0]:.3g} … {cond[2]:.3g}, median {cond[1]:.3g} (published {printed.cond.value:g}), S "
        f"{s[0]:.3g} … "
        f"{s[2]:.3g}, median {s[1]:.3g} (published {printed.equilibrium.value:g}); {counts.repeats} draws of noise for "
        f"each. Random: {counts.randoms} sequences with normally distributed x (4.3, 6.2; seed {SEED}), one draw each. "
        f"Noise (seed {SEED + r}): normal, zero mean, standard deviation k/4 of max|Y| on Y; k/4 of |q_F − q_I| and "
        "k/4 of the largest speed on the positions and velocities of all points on W. The printed figures are single "
        "draws on sequences that were not published: each is judged as one draw of what is repeated here. Least "
        "squares by square-root information (noise on Y) and by the pseudo-inverse (noise on W); 2-norms."
    )


# -- one table -------------------------------------------------------------------------------------------------------


def _table_part(
    number: str, made: dict[tuple[int, str], Experiment], best: dict[int, Experiment], effort: Effort
) -> Part:
    table = data()["tables"][number]
    r, noise = table["r"], table["noise"]
    findings: list[Finding] = []
    rows: list[tuple[str, float, str, float, float, float, float, bool]] = []
    for kind in KINDS:
        printed, one = NoiseTable.of(number, kind), made[r, kind]
        sample = columns(one.drawn, noise)
        rows += _rows(printed, kind, sample)
        findings += [_finding(printed, kind, key, sample, one) for key in sample]
    findings.append(_without_equilibrium(best[r], noise))
    findings += [_misprint(wrong, made[r, "random"]) for wrong in _misprints(number)]
    within = sum(row[-1] for row in rows)
    findings.append(
        shown(f"cells within {100 * (1 - CHANCE):g} % of the repetitions", f"{within} of {len(rows)}", "see the table")
    )
    headings = ("sequence", "k", "quantity", "published", "median", "1 %", "99 %", "typical")
    caption = f"Table {number}, published and repeated: {TITLES[noise]}, r = {r}"
    return Part(
        f"Table {number}",
        f"{TITLES[noise][0].upper()}{TITLES[noise][1:]}, {r} equations",
        set_up(r, made, effort),
        tuple(findings),
        (DataTable(f"table-{number}", caption, headings, rows),),
        (),
        _differences(noise, made[r, "optimum"], made[r, "random"]),
    )


def columns(drawn: Draws, noise: str) -> dict[str, Array]:
    """(M, K) by column of the table, in its order."""
    if noise == "Y":
        return {"dy": drawn.dy, "dx": drawn.dx_y, "ratio": drawn.ratio}
    if noise == "W":
        return {"dw": drawn.dw, "dx": drawn.dx_w, "cond_perturbed": drawn.cond_perturbed}
    return {"dy": drawn.dy, "dw": drawn.dw, "dx": drawn.dx_both}


def _rows(
    printed: NoiseTable, kind: str, sample: dict[str, Array]
) -> list[tuple[str, float, str, float, float, float, float, bool]]:
    rows = []
    for at, k in enumerate(noise_levels()):
        for key, values in sample.items():
            low, middle, high = np.quantile(values[:, at], [CHANCE / 2, 0.5, 1 - CHANCE / 2])
            value = printed.columns[key][at].value
            rows.append(
                (kind, k, WORDS[key], value, float(middle), float(low), float(high), bool(low <= value <= high))
            )
    return rows


def _finding(printed: NoiseTable, kind: str, key: str, sample: dict[str, Array], one: Experiment) -> Finding:
    if key == "cond_perturbed":
        values = sample[key][:, -1] / one.drawn.cond
        value = printed.columns[key][-1].value / printed.cond.value
        quantity = f"{WORDS[key]} / cond(W) at k = {noise_levels()[-1]:g}, {kind}"
        return typical(quantity, value, values, _scale_note(printed, value, values, one.drawn), of=one.sample)
    levels = np.ones(3) if key == "ratio" else np.array(noise_levels())
    values = mean_over_k(sample[key] / levels)
    value = float(mean_over_k(printed.corrected[key] / levels))
    quantity = f"{WORDS[key]}{'' if key == 'ratio' else ' over k'}, {kind}, mean of the three k"
    note = _scale_note(printed, value, values, one.drawn)
    if not np.array_equal(printed.corrected[key], [figure.value for figure in printed.columns[key]]):
        note += "; with a misprint corrected"
    return typical(quantity, value, values, note, of=one.sample)


def _without_equilibrium(alone: Experiment, noise: str) -> Finding:
    """What the least condition number buys, were S left out of the criterion."""
    values = mean_over_k(columns(alone.drawn, noise)["dx"] / np.array(noise_levels()))
    low, high = np.quantile(values, [CHANCE / 2, 1 - CHANCE / 2])
    note = (
        f"{len(values)} draws on the best of the sequences of a long search, {100 * (1 - CHANCE):g} % within "
        f"{low:.3g} … {high:.3g}; cond(W) is {alone.drawn.cond[0]:.3g}"
    )
    return shown(f"{WORDS['dx']} over k, optimum of cond(W) alone, mean of the three k", float(np.median(values)), note)


def _scale_note(printed: NoiseTable, value: float, values: Array, drawn: Draws) -> str:
    low, high = drawn.cond.min(), drawn.cond.max()
    return (
        f"the median is {np.median(values) / value:.2g} times the published figure; cond(W) is {low:.3g} … {high:.3g} "
        f"here, {printed.cond.value:g} there"
    )


# -- what is wrong in print -------------------------------------------------------------------------------------------


def _misprints(number: str) -> list[dict[str, str]]:
    return [one for one in data()["misprints"]["tables"] if one["table"] == number and one["column"] == "dw"]


def _misprint(wrong: dict[str, str], random: Experiment) -> Finding:
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
    quantity = f"{WORDS['dw']} at k = {wrong['k']}, random, as printed"
    return typical(quantity, float(wrong["printed"]), random.drawn.dw[:, at], note, of=random.sample)


def _differences(noise: str, optimum: Experiment, random: Experiment) -> str:
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
