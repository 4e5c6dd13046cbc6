"""Whether residuals are noise: alike in time, or between joints, they are not."""

from __future__ import annotations

import math

from exciter.report.heat_map import HeatMap
from exciter.report.identification.drawn import Drawn
from exciter.report.identification.parameters import listed
from exciter.report.markup import chance, percent
from exciter.report.section import Section
from exciter.report.table import Bar, Cell, Table, Word


def whiteness_section(drawn: Drawn) -> Section:
    found = drawn.found
    text = (
        f"Residuals of {drawn.name} ({drawn.kind}) compared with themselves. A filter makes neighbours alike, and so "
        "does what a model misses; joints whose residuals go together have a cause in common."
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.joint,
            one.neighbour,
            one.interval,
            one.fades if math.isfinite(one.fades) else math.nan,
            Bar(one.slow, percent(one.slow), one.slow),
            Bar(one.p_value, chance(one.p_value), math.nan),
            Word("white", "good") if one.white else Word("coloured", "fair"),
        )
        for one in found.whiteness
    ]
    headings = (
        "joint",
        "correlation of neighbours",
        "apart [s]",
        "gone after [s]",
        "power in the lowest tenth of the band",
        "chance if white",
        "verdict",
    )
    table = Table(f"Correlation in time of the residuals of {drawn.name}", headings, rows)
    matrix = HeatMap("Correlation between joints", found.correlation.joints, found.correlation.coefficients)
    words = (listed(found.correlation.words),) if found.correlation.words else ()
    return Section("whiteness", "Are the residuals noise?", text, (table.html(), matrix.html(), *words))
