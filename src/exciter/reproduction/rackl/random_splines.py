"""Random trajectories beside the optimised one: distributions of condition numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exciter.excitation.trajectories.trajectory import motion
from exciter.excitation.validation_motion.random_families import random_trajectory
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import claim, shown, text_of, typical
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.reproduction.published import published
from exciter.reproduction.rackl import set_up
from exciter.typing import Array

RATE = 25.0  # [1/s] samples
#: Segments and durations [s], for the paper gives neither
KINDS = ((6, 5.0), (8, 10.0), (12, 20.0))
USUAL = KINDS.index((set_up.SEGMENTS, set_up.DURATION))
WORDS = ("16 columns", "31 columns", "16 columns, weighted")


def part(effort: Effort, optimised: float, plain: dict[int, float]) -> Part:
    printed = published("rackl")["condition"]
    count = effort.pick(50, 200)
    samples = [conditions(segments, duration, count) for segments, duration in KINDS]
    usual = samples[USUAL]
    medians = np.median(samples, axis=1)
    weighted, best = usual[:, 2], np.array([plain[16], plain[31], optimised])
    return Part(
        "Section IV, random trajectories",
        "Random splines beside the optimised one",
        f"{count} splines each with way-points drawn from a normal distribution (seeds 0 … {count - 1}), every joint "
        "scaled up to the first of its position, velocity and acceleration limits. Weighted by the values of Table I. "
        "Number of way-points and duration are not published: "
        + ", ".join(f"{segments + 1} in {duration:g} s" for segments, duration in KINDS)
        + f". Findings are for {set_up.SEGMENTS + 1} in {set_up.DURATION:g} s.",
        (
            typical(
                "condition number of random trajectories, weighted",
                printed["random"],
                weighted,
                f"medians of the {len(KINDS)} kinds {span(medians[:, 2])}; without weights {span(medians[:, 0])} (16 "
                f"columns) and {span(medians[:, 1])} (31). The weights of Table I alone span a factor of "
                f"{max(set_up.weights_16()) / min(set_up.weights_16()):.0f}; those the authors used, Φ_CAD, are not "
                "published",
                of="trajectories",
            ),
            shown(
                "median of random trajectories over the optimised one, weighted",
                np.median(weighted) / optimised,
                f"the two printed figures have a ratio of {printed['random'] / printed['optimised']:.1f}",
            ),
            claim(
                "optimised trajectories have smaller condition numbers than random ones",
                bool((best < usual.min(axis=0)).all()),
                f"with weights {optimised:.4g} beside {weighted.min():.4g} at best; without, {best[0]:.3g} beside "
                f"{usual[:, 0].min():.3g} (16 columns) and {best[1]:.3g} beside {usual[:, 1].min():.3g} (31)",
            ),
            shown(
                "median condition number of random trajectories, 16 columns without weights", float(medians[USUAL, 0])
            ),
            shown(
                "median condition number of random trajectories, 31 columns without weights", float(medians[USUAL, 1])
            ),
        ),
        (table(samples),),
        (plot(weighted, optimised, printed),),
    )


def conditions(segments: int, duration: float, count: int) -> Array:
    """(count, 3): 16 columns, 31 columns, 16 weighted."""
    model, family = set_up.paper_model(), set_up.spline(segments, duration)
    many = set_up.columns(model, set_up.names_31(model))
    few = set_up.columns(model, set_up.names_16())
    times = family.sample_times(round(RATE * duration))
    found = np.empty((count, 3))
    for seed in range(count):
        rows = model.regressor(motion(family, random_trajectory(family, model.robot, seed), times))
        w, all_of_them = (rows[:, :, chosen].reshape(-1, len(chosen)) for chosen in (few, many))
        found[seed] = [np.linalg.cond(x) for x in (w, all_of_them, w * set_up.weights_16())]
    return found


def span(values: Array) -> str:
    return f"{text_of(float(values.min()))} … {text_of(float(values.max()))}"


def table(samples: list[Array]) -> DataTable:
    rows = []
    for (segments, duration), found in zip(KINDS, samples, strict=True):
        for words, column in zip(WORDS, found.T, strict=True):
            low, middle, high = np.quantile(column, [0.05, 0.5, 0.95])
            rows.append((segments + 1, duration, words, float(low), float(middle), float(high)))
    headings = ("way-points", "duration [s]", "condition number of", "5 %", "median", "95 %")
    return DataTable("random", "Condition numbers of random splines", headings, rows)


def plot(sample: Array, optimised: float, printed: Mapping[str, float]) -> Plot:
    """How many random trajectories are at least as good; our optimum and both printed figures as dots."""
    marks = {
        "our optimised one": optimised,
        "random, as printed": printed["random"],
        "optimised, as printed": printed["optimised"],
    }
    x = np.union1d(np.geomspace(0.9 * min(marks.values()), sample.max(), 300), list(marks.values()))
    share = (sample[:, None] <= x).mean(axis=0)
    lines = [Line("random trajectories", 100.0 * share, "%")]
    lines += [
        Line(words, np.where(x == value, np.interp(value, x, 100.0 * share), np.nan), "%", points=True)
        for words, value in marks.items()
    ]
    return Plot(
        "Share of random trajectories up to a condition number (weighted)", x, "condition number", "share [%]", lines
    )
