"""Checks of the identified model beyond its residuals: inertia matrix, known load, simulation, other methods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import PurePath

import numpy as np

from exciter.identification.payload import LOAD_QUANTITIES, LOAD_UNITS
from exciter.report.identification.parameters import quantity_words
from exciter.report.markup import PagePart, explained, number
from exciter.report.parts import Bar, Cell, HtmlTable, Paragraph, Section, Sentences, Word, per_joint
from exciter.report.plot import Line, Plot
from exciter.validation.comparison import Comparison
from exciter.validation.inertia_matrix import InertiaMatrix
from exciter.validation.known_load import MISSED, NEARLY, KnownLoad
from exciter.validation.simulation import ClosedLoopCheck, OpenLoop, SimulationCheck


def comparison_section(comparison: Comparison) -> Section:
    """Estimators and formulations side by side."""
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
    if pairs := comparison.differences:
        columns = {
            "method": [pair.first for pair in pairs],
            "other method": [pair.second for pair in pairs],
            "largest parameter difference [σ]": [pair.largest for pair in pairs],
            "largest expected by chance [σ]": [pair.limit for pair in pairs],
            "difference of predicted torques": [Bar.percentage(pair.torque_percent) for pair in pairs],
            "parameters that disagree": [", ".join(pair.disagree) or "none" for pair in pairs],
        }
        tables.append(HtmlTable.by_column("Differences between every two methods", columns))
    contents = (*tables, Sentences(comparison.sentences))
    return Section("comparison", "Methods compared", explained("comparison"), contents)


def inertia_section(found: InertiaMatrix) -> Section:
    tone = "poor" if not found.definite else "fair" if found.sure is False else "good"
    columns = {
        "joint": found.joints,
        "position": found.posture,
        "unit": found.position_units,
        "component of the eigenvector": found.direction,
        "mean inertia [kg·m² or kg]": found.scale,
    }
    caption = "Posture of the smallest eigenvalue, and its eigenvector (accelerations)"
    contents = (*verdict(found, tone), HtmlTable.by_column(caption, columns))
    return Section("inertia-matrix", "Inertia matrix", explained("inertia_matrix"), contents)


def known_load_section(found: KnownLoad) -> Section:
    text = f"A load that is known was identified on frame {found.found.frame} as if it were not known."
    columns = {
        "quantity": map(quantity_words, LOAD_QUANTITIES),
        "known": found.known,
        "identified": found.found.values,
        "difference": found.errors,
        "σ of the difference": found.std,
        "unit": LOAD_UNITS,
        "difference / σ": found.sigmas,
    }
    tone = {NEARLY: "fair", MISSED: "poor"}.get(found.verdict, "good")
    contents = (*verdict(found, tone), HtmlTable.by_column("Known and identified load", columns))
    return Section("known-load", "Identification of a known load", text, contents)


def verdict(found: InertiaMatrix | KnownLoad, tone: str) -> tuple[PagePart, ...]:
    return Paragraph((Word(found.verdict, tone),)), Sentences(found.sentences)


def simulation_section(runs: Sequence[SimulationCheck]) -> Section:
    contents = [part for run in runs for part in simulated_parts(run)]
    return Section("simulation", "Simulation with the identified model", explained("simulation"), contents)


def simulated_parts(run: SimulationCheck) -> Iterator[PagePart]:
    closed, name, group = run.closed_loop, PurePath(run.run).name, f"simulated {run.run}"
    yield closed_table(closed, name)
    if len(closed.time) > 1:
        plots = {}
        for j, (joint, unit) in enumerate(zip(closed.joints, closed.torque_units, strict=True)):
            lines = [
                Line("measured", closed.measured[:, j], unit, width=5.0, colour="halo"),
                Line("simulated", closed.simulated[:, j], unit, width=1.6),
            ]
            plots[j] = Plot(joint, closed.time, "time [s]", f"torque [{unit}]", lines, group=group)
        yield from per_joint(closed.joints, plots)
    yield open_table(run.open_loop, name)
    yield Sentences(run.sentences)


def closed_table(closed: ClosedLoopCheck, name: str) -> HtmlTable:
    columns = {
        "joint": closed.joints,
        "position error, rms": closed.tracking,
        "position unit": closed.position_units,
        "torque error, rms": closed.torque,
        "torque unit": closed.torque_units,
        "torque error / measured torque": map(Bar.percentage, closed.percent),
        "the same without simulation": map(Bar.percentage, closed.prediction_percent),
    }
    caption = f"Closed loop: a controller follows {name} for {number(closed.seconds, 3)} s"
    return HtmlTable.by_column(caption, columns)


def open_table(found: OpenLoop, name: str) -> HtmlTable:
    """One horizon after the other, each with all joints."""
    horizons, joints = len(found.horizons), len(found.joints)
    columns = {
        "time simulated [s]": np.repeat(found.horizons, joints),
        "joint": found.joints * horizons,
        "identified model": found.model.ravel(),
        "description": found.description.ravel(),
        "constant velocity": found.constant_velocity.ravel(),
        "unit": found.units * horizons,
    }
    caption = f"Open loop: position error (rms) without a controller, started at {found.starts} instants of {name}"
    return HtmlTable.by_column(caption, columns)
