"""Checks of the identified model beyond its residuals: inertia matrix, known load, simulation, other methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PurePath

from exciter.identification.payload import LOAD_QUANTITIES, LOAD_UNITS
from exciter.report.identification.answers import quantity_words, said
from exciter.report.identification.runs import per_joint
from exciter.report.markup import Markup, element, number, percent
from exciter.report.plot import Line, Plot
from exciter.report.section import Section, joint_choice
from exciter.report.table import Bar, Cell, Table, Word
from exciter.validation.closed_loop import Followed, SimulationCheck
from exciter.validation.comparison import Comparison
from exciter.validation.inertia_matrix import InertiaMatrix
from exciter.validation.known_load import MISSED, NEARLY, KnownLoad
from exciter.validation.open_loop import OpenLoop


def verdict_line(word: str, tone: str) -> Markup:
    return element("p", Word(word, tone).html())


def comparison_section(comparison: Comparison) -> Section:
    """Estimators and formulations side by side."""
    text = (
        "The same runs, identified in several ways; all are judged by the same joint torques. Residual over measured "
        "torque, all joints together."
    )
    runs = next((one.validation for one in comparison.methods if one.validation), ())
    headings = (
        "method",
        "on the runs identified from",
        *(f"on {PurePath(run.run).name}" for run in runs),
        "seconds",
        "status",
    )
    rows: list[tuple[Cell, ...]] = []
    for one in comparison.methods:
        shares = [math.nan] * (1 + len(runs))
        if one.fit is not None:
            shares = [judged.residuals.total_percent for judged in (one.fit, *one.validation)]
        status = Word("no estimate", "poor") if one.failed else Word("estimated", "good")
        rows.append((one.name, *(share_bar(share) for share in shares), float(one.seconds), status))
    tables = [Table("Methods side by side", headings, rows)]
    if comparison.differences:
        pairs: list[tuple[Cell, ...]] = [
            (
                pair.first,
                pair.second,
                pair.largest,
                pair.limit,
                share_bar(pair.torque_percent),
                ", ".join(pair.disagree) or "none",
            )
            for pair in comparison.differences
        ]
        columns = (
            "method",
            "and",
            "largest difference [σ]",
            "by chance up to [σ]",
            "difference of torques",
            "disagree on",
        )
        tables.append(Table("Differences of every two", columns, pairs))
    contents = (*(table.html() for table in tables), *said(comparison.sentences))
    return Section("comparison", "Methods side by side", text, contents)


def share_bar(share: float) -> Bar:
    """A percentage with its bar."""
    return Bar(share, percent(share / 100.0) if math.isfinite(share) else "–", share / 100.0 if share >= 0.0 else 0.0)


def inertia_section(found: InertiaMatrix) -> Section:
    text = (
        "Smallest eigenvalue of the inertia matrix over the joint ranges, scaled so that joints count alike. Where it "
        "is not positive, the model cannot be simulated and must not be inverted in a controller."
    )
    tone = "poor" if not found.definite else "fair" if found.sure is False else "good"
    rows: list[tuple[Cell, ...]] = [
        (joint, float(q), unit, float(u), float(s))
        for joint, q, unit, u, s in zip(
            found.joints, found.posture, found.position_units, found.direction, found.scale, strict=True
        )
    ]
    headings = ("joint", "position", "unit", "acceleration, relative", "mean inertia [kg·m² or kg]")
    table = Table(
        "The posture where the smallest eigenvalue is, and the accelerations that it belongs to", headings, rows
    )
    contents = (verdict_line(found.verdict, tone), *said(found.sentences), table.html())
    return Section("inertia-matrix", "Inertia matrix", text, contents)


def known_load_section(found: KnownLoad) -> Section:
    text = f"A load that was weighed before, identified on frame {found.found.frame} as if it were not known."
    tone = {NEARLY: "fair", MISSED: "poor"}.get(found.verdict, "good")
    rows: list[tuple[Cell, ...]] = [
        (quantity_words(name), *(float(v) for v in values), unit, float(found.sigmas[k]))
        for k, (name, unit, *values) in enumerate(
            zip(LOAD_QUANTITIES, LOAD_UNITS, found.known, found.found.values, found.errors, found.std, strict=True)
        )
    ]
    headings = ("quantity", "known", "found", "difference", "σ of the difference", "unit", "difference [σ]")
    contents = (verdict_line(found.verdict, tone), Table("Known load", headings, rows).html(), *said(found.sentences))
    return Section("known-load", "A known load, recovered", text, contents)


def simulation_section(runs: Sequence[SimulationCheck]) -> Section:
    text = (
        "The robot is simulated with the identified parameters: under a controller along the recorded motion, and "
        "driven by the measured torque alone for a short time, where small errors grow quickly."
    )
    contents = [part for run in runs for part in simulated_parts(run)]
    return Section("simulation", "Simulation with the identified model", text, tuple(contents))


def simulated_parts(run: SimulationCheck) -> list[Markup]:
    closed, name = run.closed_loop, PurePath(run.run).name
    parts = [closed_table(closed, name).html()]
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
            ).html()
            for j, joint in enumerate(closed.joints)
        }
        parts += [joint_choice(closed.joints), per_joint(plots)]
    return [*parts, open_table(run.open_loop, name).html(), *said(run.sentences)]


def closed_table(closed: Followed, name: str) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            joint,
            float(closed.tracking[j]),
            closed.position_units[j],
            float(closed.torque[j]),
            closed.torque_units[j],
            share_bar(float(closed.percent[j])),
            share_bar(float(closed.prediction_percent[j])),
        )
        for j, joint in enumerate(closed.joints)
    ]
    headings = (
        "joint",
        "position error, rms",
        "unit",
        "torque error, rms",
        "unit",
        "error / measured",
        "inverse model alone",
    )
    return Table(f"Under a controller along {name}, {number(closed.seconds, 3)} s", headings, rows)


def open_table(found: OpenLoop, name: str) -> Table:
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
    headings = ("after [s]", "joint", "identified", "description", "constant velocity", "unit")
    return Table(f"Position error (rms) without a controller, from {found.starts} instants of {name}", headings, rows)
