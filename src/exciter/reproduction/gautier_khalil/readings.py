"""Section 6.3: what noise on W may have been. Several readings against what was printed, and what contradicts what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exciter.reproduction.finding import Finding, shown, typical
from exciter.reproduction.gautier_khalil.perturbed import TEXT, Draws, LeftDraws, Reading, left_draws
from exciter.reproduction.gautier_khalil.point_sequences import Sequences
from exciter.reproduction.gautier_khalil.printed import NoiseTable, noise_levels
from exciter.reproduction.paper import DataTable, Part
from exciter.typing import Array

READINGS = (
    TEXT,
    Reading("half of it on positions, k/4 of q_F", q=0.5),
    Reading("less by √3, as uniform noise within ±k/4 has", q=3.0**-0.5, qd=3.0**-0.5),
    Reading("as in the text, at one end of every interval", one_end=True),
)
LEFT = {30: ("4", "5"), 15: ("9", "10")}  # tables with noise on W, and on Y and W, by r
RIGHT = {30: "3", 15: "8"}  # tables with noise on Y
PERCENT = (1.0, 99.0)  # between which a printed figure counts as typical


@dataclass(frozen=True)
class Row:
    """One reading for one kind of sequence. medians of ‖δW‖/‖W‖, of ‖δX‖/‖X‖ with noise on W and with both, over k;
    percents of ours below the four printed figures: ‖δW‖/‖W‖ of both tables, ‖δX‖/‖X‖ of each."""

    r: int
    points: str
    reading: str
    medians: tuple[float, float, float]
    percents: tuple[float, float, float, float]

    @property
    def untypical(self) -> list[str]:
        """Which of the four are none of ours."""
        low, high = PERCENT
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
    left, both = LEFT[r]
    dw, dx_w, dx_both = (per_k(values) for values in (drawn.dw, drawn.dx_w, drawn.dx_both))
    printed = (
        (dw, printed_per_k(left, kind, "dw")),
        (dw, printed_per_k(both, kind, "dw")),
        (dx_w, printed_per_k(left, kind, "dx")),
        (dx_both, printed_per_k(both, kind, "dx")),
    )
    medians = float(np.median(dw)), float(np.median(dx_w)), float(np.median(dx_both))
    percents = [float(100 * np.mean(values < figure)) for values, figure in printed]
    return Row(r, points, reading, medians, (percents[0], percents[1], percents[2], percents[3]))


def readings_part(
    made: Mapping[tuple[int, str, str], Sequences],
    made_as_printed: tuple[str, ...],
    judged: Mapping[tuple[int, str], Draws],
    seed: int,
) -> Part:
    """made: by r, printed column and how the points were made, as in the paper or for comparison; judged: the draws "
    "of Tables 3–10, of the same sequences
    as the first of each."""
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
        "% below ‖δW‖/‖W‖, Tables 4, 9",
        "% below ‖δW‖/‖W‖, Tables 5, 10",
        "% below ‖δX‖/‖X‖, Tables 4, 9",
        "% below ‖δX‖/‖X‖, Tables 5, 10",
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
        f"{PERCENT[0]:g} to {PERCENT[1]:g} % is typical.",
        (*_fitting(rows, made_as_printed), *together),
        (
            DataTable(
                "noise-on-w",
                "Readings of the noise on W against Tables 4, 5, 9 and 10",
                headings,
                [(one.r, one.points, one.reading, *one.medians, *one.percents) for one in rows],
            ),
        ),
        (),
        _words(rows),
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
        "on "
        "positions, less on both or noise at one end cannot be told: these differ by a few figures, which other "
        "sequences would move. ‖δX‖ with noise on both at r = 30, random, is printed smaller than with noise on either "
        "side alone; as single draws that may be."
    )
