"""Tables 3–12: noise on Y, on W and on both, for optimum and random sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.reproduction.finding import Finding, shown, typical
from exciter.reproduction.gautier_khalil.deviations import deviation_parts
from exciter.reproduction.gautier_khalil.improvement import improvement_part
from exciter.reproduction.gautier_khalil.judging import roughly
from exciter.reproduction.gautier_khalil.perturbed import Draws, draws
from exciter.reproduction.gautier_khalil.point_sequences import (
    STARTS,
    Sequences,
    assumed_limits,
    optimum_sequences,
    random_sequences,
)
from exciter.reproduction.gautier_khalil.printed import NoiseTable, data, noise_levels
from exciter.reproduction.gautier_khalil.sequences import equilibria
from exciter.reproduction.paper import DataTable, Effort, Part

Array = NDArray[np.float64]
SEED = 1992
CHANCE = 0.02  # of a false alarm per figure
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
    """What was drawn for r equations and one kind of sequence."""

    sequences: Sequences
    w: Array
    drawn: Draws


def run(effort: Effort) -> Sequence[Part]:
    made = {(r, kind): _experiment(r, kind, effort) for r in (30, 15) for kind in KINDS}
    parts = {number: _table_part(number, made, effort) for number in data()["tables"]}
    by_parameter = deviation_parts({key: (one.w, one.drawn) for key, one in made.items()}, effort)
    return (
        *(parts[number] for number in ("3", "4", "5")),
        *(by_parameter[number] for number in ("6", "7")),
        *(parts[number] for number in ("8", "9", "10")),
        *(by_parameter[number] for number in ("11", "12")),
        improvement_part({key: (one.w, one.drawn) for key, one in made.items()}),
    )


def _counts(effort: Effort) -> tuple[int, int, int]:
    """Optimum sequences, draws of noise for each, random sequences with one draw each."""
    return effort.pick((5, 40, 400), (20, 50, 1500))


def _experiment(r: int, kind: str, effort: Effort) -> Experiment:
    optima, repeats, randoms = _counts(effort)
    if kind == "optimum":
        sequences = optimum_sequences(r, optima).repeated(repeats)
    else:
        sequences = random_sequences(r, randoms, SEED)
    return Experiment(sequences, sequences.w, draws(sequences, noise_levels(), SEED + r))


def set_up(r: int, effort: Effort) -> str:
    """What was drawn, in words."""
    optima, repeats, randoms = _counts(effort)
    return (
        f"r = {r}. {assumed_limits()}. Optimum: {optima} sequences of least cond(W) (seeds 0 … {optima - 1}, "
        f"{STARTS} starts each), {repeats} draws of noise for each. Random: {randoms} sequences, uniform within "
        f"the limits (seed {SEED}), one draw each. Noise (seed {SEED + r}): normal, zero mean, standard "
        "deviation k/4 of "
        "max|Y| on Y; k/4 of |q_F − q_I| and k/4 of the largest speed on the positions and velocities of all "
        "points on W. "
        "The printed figures are single draws on sequences that were not published: each is judged as one draw of "
        "what is repeated here. Least squares by square-root information (noise on Y) and by the "
        "pseudo-inverse (noise on W); 2-norms."
    )


# -- one table -------------------------------------------------------------------------------------------------------


def _table_part(number: str, made: dict[tuple[int, str], Experiment], effort: Effort) -> Part:
    table = data()["tables"][number]
    r, noise = table["r"], table["noise"]
    findings: list[Finding] = []
    rows: list[tuple[str, float, str, float, float, float, float, bool]] = []
    for kind in KINDS:
        printed, one = NoiseTable.of(number, kind), made[r, kind]
        sample = _columns(one.drawn, noise)
        rows += _rows(printed, kind, sample)
        findings += [_finding(printed, kind, key, sample, one.drawn, noise) for key in sample]
        if noise == "Y" and kind == "random":
            note = (
                "S is decided by two extreme elements of W and differs by orders of magnitude between sequences; a "
                "printed value below nearly all of ours means a favourable sequence, or other limits"
            )
            findings.append(typical("S of the random sequence", printed.equilibrium.value, equilibria(one.w), note))
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
        set_up(r, effort),
        tuple(findings),
        (DataTable(f"table-{number}", caption, headings, rows),),
        (),
        _differences(noise, made[r, "optimum"], made[r, "random"]),
    )


def _columns(drawn: Draws, noise: str) -> dict[str, Array]:
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


def _finding(printed: NoiseTable, kind: str, key: str, sample: dict[str, Array], drawn: Draws, noise: str) -> Finding:
    if key == "cond_perturbed":
        values = sample[key][:, -1] / drawn.cond
        value = printed.columns[key][-1].value / printed.cond.value
        quantity = f"{WORDS[key]} / cond(W) at k = {noise_levels()[-1]:g}, {kind}"
        return typical(quantity, value, values, _scale_note(printed, value, values, drawn))
    levels = np.ones(3) if key == "ratio" else np.array(noise_levels())
    values = _mean(sample[key] / levels)
    value = float(_mean(printed.corrected[key] / levels))
    quantity = f"{WORDS[key]}{'' if key == 'ratio' else ' over k'}, {kind}, mean of the three k"
    note = _scale_note(printed, value, values, drawn)
    half = drawn.dw_half if key == "dw" else drawn.dx_half if noise == "W" else drawn.dx_both_half
    if key == "dw" or (key == "dx" and noise != "Y"):
        other = _mean(half / levels)
        low, high = np.quantile(other, [CHANCE / 2, 1 - CHANCE / 2])
        note += (
            "; with half the noise on positions (k/4 of q_F instead of |q_F − q_I|) the median is "
            f"{np.median(other):.3g}"
            f" and {100 * (1 - CHANCE):g} % lie within {low:.3g} … {high:.3g}"
        )
    if not np.array_equal(printed.corrected[key], [one.value for one in printed.columns[key]]):
        note += "; with a misprint corrected"
    if (noise, kind, key) == ("Y", "optimum", "dx"):
        return roughly(quantity, value, values, note)
    return typical(quantity, value, values, note)


def _mean(values: Array) -> Array:
    """Geometric, over k."""
    return np.asarray(np.exp(np.log(values).mean(axis=-1)))


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
    return typical(quantity, float(wrong["printed"]), random.drawn.dw[:, at], note)


def _differences(noise: str, optimum: Experiment, random: Experiment) -> str:
    size = [np.median(np.linalg.norm(one.w, 2, axis=(1, 2))) for one in (optimum, random)]
    text = (
        "The limits are fitted and the optimum sequences are ours: how small ‖δX‖ of an optimum is can agree within a "
        "factor of about two, no better."
    )
    if noise == "Y":
        return text
    levels = np.array(noise_levels())
    whole, half = (np.median(_mean(values / levels)) for values in (random.drawn.dw, random.drawn.dw_half))
    printed = _mean(
        np.array([NoiseTable.of(number, "random").corrected["dw"] for number in ("4", "5", "9", "10")]) / levels
    )
    return (
        f"{text} ‖δW‖/‖W‖ of a random sequence hardly depends on the limits: noise and W grow with the same "
        "range. It is "
        f"{whole:.2g} k here with the noise as defined in the text, {half:.2g} k with half of it on positions, and "
        f"{printed.min():.2g} … {printed.max():.2g} k in print. So the noise of the paper was probably k/4 of "
        "q_F, half "
        f"the range. The optimum has a small W (‖W‖ {size[0]:.2g}, random {size[1]:.2g}), so the same noise on "
        "q and q̇ is "
        "relatively larger there; that is why the advantage of the optimum is smaller in this table than with noise "
        "on Y, which was scaled with max|Y|."
    )
