"""Checks of the identified model beyond its residuals: inertia matrix, known load, simulation, other methods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from exciter.identification.payload import LOAD_QUANTITIES, LOAD_UNITS
from exciter.report.identification.parameters import quantity_words
from exciter.report.markup import PagePart, number
from exciter.report.parts import Bar, Cell, HtmlTable, JointChoice, Paragraph, PerJoint, Section, Sentences, Word
from exciter.report.plot import Line, Plot
from exciter.validation.closed_loop import Followed, SimulationCheck
from exciter.validation.comparison import Comparison
from exciter.validation.inertia_matrix import InertiaMatrix
from exciter.validation.known_load import MISSED, NEARLY, KnownLoad
from exciter.validation.open_loop import OpenLoop


def comparison_section(comparison: Comparison) -> Section:
    """Estimators and formulations side by side."""
    text = (
        "The same runs, identified by several methods; all are judged by the same joint torques. Percentages are the "
        "rms of the residual over that of the measured torque, all joints together."
    )
    runs = next((one.validation for one in comparison.methods if one.validation), ())
    validation = (f"residual on {PurePath(run.run).name}" for run in runs)
    headings = ("method", "residual on identification data", *validation, "computing time [s]", "status")
    rows: list[tuple[Cell, ...]] = []
    for one in comparison.methods:
        shares = [math.nan] * (1 + len(runs))
        if one.fit is not None:
            shares = [judged.residuals.total_percent for judged in (one.fit, *one.validation)]
        status = Word("no estimate", "poor") if one.failed else Word("estimated", "good")
        rows.append((one.name, *map(Bar.percentage, shares), float(one.seconds), status))
    tables = [HtmlTable("Methods compared", headings, rows)]
    if comparison.differences:
        pairs: list[tuple[Cell, ...]] = [
            (
                pair.first,
                pair.second,
                pair.largest,
                pair.limit,
                Bar.percentage(pair.torque_percent),
                ", ".join(pair.disagree) or "none",
            )
            for pair in comparison.differences
        ]
        columns = (
            "method",
            "other method",
            "largest parameter difference [σ]",
            "largest expected by chance [σ]",
            "difference of predicted torques",
            "parameters that disagree",
        )
        tables.append(HtmlTable("Differences between every two methods", columns, pairs))
    return Section("comparison", "Methods compared", text, (*tables, Sentences(comparison.sentences)))


def inertia_section(found: InertiaMatrix) -> Section:
    text = (
        "Smallest eigenvalue of the inertia matrix over the joint ranges, scaled so that all joints count alike. Where "
        "it is not positive, the model cannot be simulated and must not be inverted in a controller."
    )
    tone = "poor" if not found.definite else "fair" if found.sure is False else "good"
    rows: list[tuple[Cell, ...]] = [
        (joint, float(q), unit, float(u), float(s))
        for joint, q, unit, u, s in zip(
            found.joints, found.posture, found.position_units, found.direction, found.scale, strict=True
        )
    ]
    headings = ("joint", "position", "unit", "component of the eigenvector", "mean inertia [kg·m² or kg]")
    table = HtmlTable("Posture of the smallest eigenvalue, and its eigenvector (accelerations)", headings, rows)
    return Section("inertia-matrix", "Inertia matrix", text, (*verdict(found, tone), table))


def known_load_section(found: KnownLoad) -> Section:
    text = f"A load that is known was identified on frame {found.found.frame} as if it were not known."
    rows: list[tuple[Cell, ...]] = [
        (quantity_words(name), *(float(v) for v in values), unit, float(found.sigmas[k]))
        for k, (name, unit, *values) in enumerate(
            zip(LOAD_QUANTITIES, LOAD_UNITS, found.known, found.found.values, found.errors, found.std, strict=True)
        )
    ]
    headings = ("quantity", "known", "identified", "difference", "σ of the difference", "unit", "difference / σ")
    tone = {NEARLY: "fair", MISSED: "poor"}.get(found.verdict, "good")
    contents = (*verdict(found, tone), HtmlTable("Known and identified load", headings, rows))
    return Section("known-load", "Identification of a known load", text, contents)


def verdict(found: InertiaMatrix | KnownLoad, tone: str) -> tuple[PagePart, ...]:
    return Paragraph((Word(found.verdict, tone),)), Sentences(found.sentences)


def simulation_section(runs: Sequence[SimulationCheck]) -> Section:
    text = (
        "The robot is simulated with the identified parameters: under a controller along the recorded motion (closed "
        "loop), and driven by the measured torque alone for a short time (open loop), where small errors grow quickly."
    )
    contents = [part for run in runs for part in simulated_parts(run)]
    return Section("simulation", "Simulation with the identified model", text, contents)


def simulated_parts(run: SimulationCheck) -> Iterator[PagePart]:
    closed, name = run.closed_loop, PurePath(run.run).name
    yield closed_table(closed, name)
    if len(closed.time) > 1:
        plots = {
            j: Plot(
                joint,
                closed.time,
                "time [s]",
                f"torque [{closed.torque_units[j]}]",
                [
                    Line("measured", closed.measured[:, j], closed.torque_units[j], width=5.0, colour="halo"),
                    Line("simulated", closed.simulated[:, j], closed.torque_units[j], width=1.6),
                ],
                group=f"simulated {run.run}",
            )
            for j, joint in enumerate(closed.joints)
        }
        yield JointChoice(closed.joints)
        yield PerJoint(plots)
    yield open_table(run.open_loop, name)
    yield Sentences(run.sentences)


def closed_table(closed: Followed, name: str) -> HtmlTable:
    rows: list[tuple[Cell, ...]] = [
        (
            joint,
            float(closed.tracking[j]),
            closed.position_units[j],
            float(closed.torque[j]),
            closed.torque_units[j],
            Bar.percentage(float(closed.percent[j])),
            Bar.percentage(float(closed.prediction_percent[j])),
        )
        for j, joint in enumerate(closed.joints)
    ]
    headings = (
        "joint",
        "position error, rms",
        "position unit",
        "torque error, rms",
        "torque unit",
        "torque error / measured torque",
        "the same without simulation",
    )
    return HtmlTable(f"Closed loop: a controller follows {name} for {number(closed.seconds, 3)} s", headings, rows)


def open_table(found: OpenLoop, name: str) -> HtmlTable:
    rows: list[tuple[Cell, ...]] = [
        (
            float(horizon),
            joint,
            float(found.model[h, j]),
            float(found.description[h, j]),
            float(found.constant_velocity[h, j]),
            found.units[j],
        )
        for h, horizon in enumerate(found.horizons)
        for j, joint in enumerate(found.joints)
    ]
    headings = ("time simulated [s]", "joint", "identified model", "description", "constant velocity", "unit")
    caption = f"Open loop: position error (rms) without a controller, started at {found.starts} instants of {name}"
    return HtmlTable(caption, headings, rows)
