"""The report of a fleet: who differs from the type and why, parameters and friction of all robots, drift, and who could
not be identified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.report.markup import PagePart, explained, many, number
from exciter.report.page import Page, settings_section
from exciter.report.parts import Bar, Cards, HtmlTable, Remarks, Section, Summary, Word
from exciter.report.plot import HeatMap, Line, Plot
from exciter.typing import Array
from exciter.validation.fleet.drift_table import courses, trend_rows
from exciter.validation.fleet.type_comparison import AS_ITS_TYPE, DIFFERS, NOT_COMPARED, TypeComparison

VERDICTS = {DIFFERS: "poor", AS_ITS_TYPE: "good", NOT_COMPARED: "unproved"}
MOST_NAMED_IN_HEAD = 12
MOST_DRIFT_LINES = 8  #: of a plot: more cannot be told apart
MOST_ROWS_OF_MAP = 300  #: robots of the map, those that differ first
FARTHEST_COLOUR_SIGMA = 5.0  #: σ from the type, from which on the map has its full colour
NAMED_DOT_WIDTH = 3.2  #: [px] of a dot of a robot that differs, times 2.2
JOINT_WIDTH = 0.6  #: of the robots beside each other above one joint


@dataclass(frozen=True, eq=False, kw_only=True)
class TypeShown:
    """A type. order: of its robots, those that differ first; texts: why, by robot; refused: reasons by robot; unit: of
    time; settings: of all its robots, as data."""

    name: str
    comparison: TypeComparison
    order: Sequence[int]
    texts: Mapping[str, Sequence[str]]
    refused: Mapping[str, str]
    total_percent: Sequence[float]
    unit: str
    model: DynamicModel
    settings: Mapping[str, Any]
    chosen_from: Sequence[str]


def fleet_page(types: Sequence[TypeShown], meaning: str) -> Page:
    """meaning: of the level, in words."""
    sections = list[Section]()
    alone = len(types) == 1
    for k, kind in enumerate(types):
        suffix, of = ("", "") if alone else (f"-{k + 1}", f" of {kind.name}")
        sections += [ranking(kind, suffix, of), refused_section(kind, suffix, of)]
        if kind.comparison.inertial is not None or any(one is not None for one in kind.comparison.friction):
            sections += [parameter_map(kind, suffix, of), friction_section(kind, suffix, of)]
        if any(one is not None for of_joint in kind.comparison.trends for one in of_joint):
            sections.append(drift_section(kind, suffix, of))
        sections.append(type_section(kind, suffix, of))
    values = {"settings chosen from": "; ".join(", ".join(kind.chosen_from) or "as given" for kind in types)}
    for kind in types[:1]:
        sections.append(settings_section(values, kind.settings, "settings of the type", model=kind.model))
    title = f"Fleet of {many(_count(types), 'robot')}"
    return Page(title, headline(types, meaning), tuple(one for one in sections if one.contents))


def _count(types: Sequence[TypeShown]) -> int:
    return sum(len(kind.comparison.robots) + len(kind.refused) for kind in types)


def headline(types: Sequence[TypeShown], meaning: str) -> Summary:
    named = [(name, why) for kind in types for name, why in kind.texts.items()]
    refused = sum(len(kind.refused) for kind in types)
    badge = Word(many(len(named), "robot differs" if len(named) == 1 else "robot"), "poor" if named else "good")
    if len(named) != 1:
        badge = Word(f"{len(named)} robots differ", "poor" if named else "good")
    if all(not kind.comparison.asked for kind in types):
        badge = Word(NOT_COMPARED, VERDICTS[NOT_COMPARED])
    sentences = [f"Robots are named so that {meaning}."]
    few = [kind for kind in types if not kind.comparison.asked]
    if few:
        sentences.append(f"Too few robots to compare: {', '.join(kind.name for kind in few)}.")
    lines = [f"{name}: {'; '.join(why)}" for name, why in named[:MOST_NAMED_IN_HEAD]]
    contents: list[PagePart] = [Remarks(Word("differs", "poor"), lines)] if lines else []
    cards = {"robots": str(_count(types)), "differ": str(len(named)), "refused": str(refused)}
    return Summary(badge, sentences, (*contents, Cards(cards)))


def ranking(kind: TypeShown, suffix: str, of: str) -> Section:
    found = kind.comparison
    rows = []
    for k in kind.order:
        name = found.names[k]
        verdict = Word(found.verdict(k), VERDICTS[found.verdict(k)])
        why = "; ".join(kind.texts.get(name, ()))
        p, corrected = float(found.robot_p_values[k]), float(found.adjusted[k])
        numbers = (
            float(found.distance[k]),
            Bar.probability(p) if p == p else "–",
            Bar.probability(corrected) if p == p else "–",
        )
        rows.append((name, verdict, *numbers, Bar.percentage(kind.total_percent[k]), why))
    headings = ("robot", "verdict", "distance", "p", "p, of all robots", "residual / torque", "why")
    table = HtmlTable(f"{many(len(rows), 'robot')}, the least likely first", headings, rows, "findings")
    return Section(f"ranking{suffix}", f"Who differs{of}", explained("fleet_ranking"), (table,) if rows else ())


def refused_section(kind: TypeShown, suffix: str, of: str) -> Section:
    rows = [(name, why) for name, why in kind.refused.items()]
    table = HtmlTable(f"{many(len(rows), 'robot')} without numbers", ("robot", "why"), rows, "findings")
    title = f"Refused{of}"
    return Section(f"refused{suffix}", title, explained("fleet_refused"), (table,) if rows else ())


def parameter_map(kind: TypeShown, suffix: str, of: str) -> Section:
    found = kind.comparison
    rows = list(kind.order)[:MOST_ROWS_OF_MAP]
    values = found.z[rows]
    names = [found.names[k] for k in rows]
    title = f"σ from the type, robots by parameters; full colour from {FARTHEST_COLOUR_SIGMA:g} σ on"
    chart = HeatMap(title, names, values, found.groups.names, FARTHEST_COLOUR_SIGMA)
    return Section(f"map{suffix}", f"Parameters of all robots{of}", explained("fleet_map"), (chart,))


def friction_section(kind: TypeShown, suffix: str, of: str) -> Section:
    found = kind.comparison
    parts = [
        joint_plot(
            kind, "Friction of each joint beside the type's", found.friction_percent, "friction beside the type [%]"
        ),
        joint_plot(
            kind, "Residual of each joint over the others'", found.residual_ratio, "residual over the others'", 1.0
        ),
    ]
    return Section(f"friction{suffix}", f"Joints of all robots{of}", explained("fleet_friction"), parts)


def joint_plot(kind: TypeShown, title: str, values: Array, label: str, level: float = 0.0) -> Plot:
    """A dot for each robot (N, J) above the number of the joint; those that differ have a colour of their own."""
    found = kind.comparison
    count, joints = values.shape
    place = (np.arange(count) + 0.5) / max(count, 1) - 0.5
    x = (np.arange(1, joints + 1)[:, None] + JOINT_WIDTH * place[None, :]).ravel()
    at = values.T.ravel()
    differs = np.tile(found.differs, joints)
    lines = [Line("as the type", np.where(differs, np.nan, at), points=True, colour="soft")]
    for k in [k for k in kind.order if found.differs[k]][:MOST_NAMED_IN_HEAD]:
        own = np.tile(np.arange(count) == k, joints)
        lines.append(Line(found.names[k], np.where(own, at, np.nan), points=True, width=NAMED_DOT_WIDTH))
    numbers = ", ".join(f"{j + 1} {name}" for j, name in enumerate(found.groups.joints))
    return Plot(title, x, f"joint ({numbers})", label, lines, level=level)


def drift_section(kind: TypeShown, suffix: str, of: str) -> Section:
    """Slopes of all, and the course of those that change most."""
    found, unit = kind.comparison, kind.unit[:-1]
    trends = trend_rows(found)
    rows = [
        (
            found.names[one.robot],
            one.joint,
            found.groups.names[one.parameter],
            one.percent,
            f"{number(one.low, 3)} … {number(one.high, 3)}",
            one.z,
        )
        for one in trends
    ]
    headings = ("robot", "joint", "parameter", f"change [% per {unit}]", "95 % interval", "σ from the others")
    table = HtmlTable(f"{many(len(rows), 'trend')}, the farthest first", headings, rows)
    few = trends[:MOST_DRIFT_LINES]
    x, values = courses(found, few)
    names = [f"{found.names[one.robot]}: {found.groups.names[one.parameter]}" for one in few]
    lines = [Line(name, line) for name, line in zip(names, values, strict=True)]
    title = "Friction over time, those that change most unlike the others"
    plot = Plot(title, x, f"time [{kind.unit}]", "friction beside its mean [%]", lines, level=0.0)
    return Section(f"drift{suffix}", f"Drift{of}", explained("fleet_drift"), (plot, table))


def type_section(kind: TypeShown, suffix: str, of: str) -> Section:
    found = kind.comparison
    if not found.robots:
        return Section(f"type{suffix}", "The type", "", ())
    size = np.abs(found.type_values)
    relative = 100.0 * np.divide(found.type_spread, size, out=np.full(len(size), np.nan), where=size > 0.0)
    columns = {
        "parameter": list(found.groups.names),
        "unit": list(found.groups.units),
        "type": found.type_values,
        "spread between robots": found.type_spread,
        "spread / value [%]": relative,
        "σ of one identification": found.own_sigma,
        "compared by": ["logarithm" if one else "value" for one in found.logarithmic],
    }
    table = HtmlTable.by_column(f"{len(size)} base parameters", columns)
    return Section(f"type{suffix}", f"The type{of or ' itself'}", explained("fleet_type"), (table,))
