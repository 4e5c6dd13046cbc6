"""Whether bodies with the parameters of Table I can exist, as its rows are labelled and as they might be meant.

Moments of a body obey XX ≤ YY + ZZ and YZ² ≤ YY ZZ. With the grouping of the inertia base parameters,
XXR_j = XX_j − YY_j + YY_j+1 and ZZR_j = ZZ_j + YY_j+1, the first gives XXR_j ≤ ZZR_j; the second, with ZZ_j ≤ ZZR_j,
YY_j ≥ YZ_j² / ZZR_j, while YY_j is part of ZZR_j−1.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import stats

from exciter.dynamics.model import DynamicModel
from exciter.reproduction.finding import claim, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.published import published
from exciter.reproduction.rackl import set_up

LINKS = (2, 3, 4, 5, 6)


def part(model: DynamicModel) -> Part:
    rows = published("rackl")["table_1"]
    printed = {name: value for name, value, _ in rows}
    value, percent = (np.array([row[k] for row in rows]) for k in (1, 2))
    poorly = published("rackl")["poorly"]
    trend = stats.spearmanr(value, percent)
    needed, allowed = least_yy(printed, 2), printed["ZZ1"]
    readings = {words: impossible(table) for words, table in readings_of(printed).items()}
    free = dict(zip(model.base.names, model.base.base_values(model.nominal), strict=True))
    return Part(
        "Table I, as printed",
        "Can a robot have these parameters?",
        "The printed values alone, with the conditions that moments of real bodies obey. Grouping as in section II-C, "
        "masses and first moments known.",
        (
            shown(
                "bodies with the parameters of Table I can exist",
                not readings["as printed"],
                f"link 2: YZ = {printed['YZ2']:g} with ZZ ≤ {printed['ZZ2']:g} needs YY ≥ {needed:.2g} kg·m², and ZZ1, "
                f"which holds it, is {allowed:g}: {needed / allowed:.0f} times too small. Impossible as labelled are "
                f"links {listed(readings['as printed'])}. {_others(readings)}",
            ),
            shown("YY2 that YZ2 and ZZ2 as printed need [kg·m²], at least", needed),
            shown(
                "ZZR2 of our nominal robot when masses are not known beforehand [kg·m²]",
                float(free["ZZR2"]),
                f"the largest value of Table I is {value.max():g}: it cannot list parameters that hold masses of later "
                "links, so that all masses must have been taken from CAD",
            ),
            claim(
                "most parameters are sufficiently estimated",
                float(np.mean(percent < poorly)) > 0.5,
                f"{int((percent < poorly).sum())} of {len(rows)} have a printed σ below {poorly:g} %",
            ),
            claim(
                "there is a slight trend on small parameters to be estimated worse",
                trend.statistic < 0.0,
                f"rank correlation of value and σ % {trend.statistic:.2f} (chance of a stronger one "
                f"{trend.pvalue:.2g})",
            ),
        ),
        (
            DataTable(
                "labels",
                "Links that cannot exist, by how the labels are read",
                ("reading", "impossible links"),
                tuple((words, listed(links)) for words, links in readings.items()),
            ),
        ),
        differences="The labels cannot all be right. No reading we tried makes all "
        "links possible, so that we weight with the values as labelled.",
    )


def least_yy(table: Mapping[str, float], link: int) -> float:
    """[kg·m²] that YZ of a link needs, ZZ being ZZR at most."""
    return table[f"YZ{link}"] ** 2 / table[f"ZZ{link}"]


def impossible(table: Mapping[str, float]) -> tuple[int, ...]:
    """Links for which XXR ≤ ZZR or YZ² / ZZR ≤ YY ≤ ZZR of the link before fails; printed digits are given the benefit
    of the doubt (half a unit of the last)."""
    found = []
    for j in LINKS:
        xx, zz, before = (table[name] for name in (f"XX{j}", f"ZZ{j}", f"ZZ{j - 1}"))
        half = 0.5e-4
        needs = max(table.get(f"YZ{j}", 0.0) - half, 0.0) ** 2 / (zz + half)
        if xx - half > zz + half or needs > before + half:
            found.append(j)
    return tuple(found)


def readings_of(printed: Mapping[str, float]) -> dict[str, dict[str, float]]:
    names, values = set_up.names_16(), list(printed.values())
    exchanged = dict(printed)
    for j in LINKS[:-1]:
        exchanged[f"YZ{j}"], exchanged[f"ZZ{j}"] = printed[f"ZZ{j}"], printed[f"YZ{j}"]
    return {
        "as printed": dict(printed),
        "every value one row higher": dict(zip(names, [*values[1:], values[-1]], strict=True)),
        "YZ and ZZ exchanged": exchanged,
    }


def listed(links: tuple[int, ...]) -> str:
    return ", ".join(map(str, links)) or "none"


def _others(readings: Mapping[str, tuple[int, ...]]) -> str:
    others = [f"with {words} {listed(links)}" for words, links in readings.items() if words != "as printed"]
    return "Read otherwise: " + "; ".join(others)
