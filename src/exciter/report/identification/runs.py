"""Sections that every report about runs and a model has, whether the model was identified from them or not."""

from __future__ import annotations

from collections.abc import Iterator

from exciter.identification.formulations.formulation import Formulation
from exciter.report.identification.drawn import drawn_runs
from exciter.report.identification.friction import friction_section
from exciter.report.identification.replay import replay_section
from exciter.report.identification.residuals import residuals_section
from exciter.report.identification.torque import torque_section
from exciter.report.section import Section
from exciter.validation.verdict import Verdict


def run_sections(verdict: Verdict, judge: Formulation) -> Iterator[Section]:
    """Residuals of all of them, by the equations of ``judge``; the robot and the torques of those that are shown."""
    runs = drawn_runs(verdict)
    shown = [drawn for drawn in runs if drawn.found in verdict.shown]
    yield residuals_section(runs, judge, len(shown))
    yield replay_section(verdict.decisive.model.robot, shown)
    for drawn in shown:
        yield torque_section(drawn)


def friction_sections(verdict: Verdict) -> Iterator[Section]:
    """Nothing where no joint has a curve."""
    if verdict.friction_curves:
        names = [run.name for run in verdict.shown if run.prediction.of_joints]
        yield friction_section(verdict.decisive.model, verdict.friction_curves, names)
