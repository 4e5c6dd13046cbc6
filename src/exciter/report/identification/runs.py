"""Sections that every report about runs and a model has, whether the model was identified from them or not."""

from __future__ import annotations

from collections.abc import Iterator

from exciter.identification.formulations.formulation import Formulation
from exciter.report.identification.drawn import Drawn, decisive, shown_runs
from exciter.report.identification.histogram import histogram_section
from exciter.report.identification.replay import replay_section
from exciter.report.identification.residuals import residuals_section
from exciter.report.identification.spectrum import spectrum_section
from exciter.report.identification.structure import structure_section
from exciter.report.identification.torque import torque_section
from exciter.report.identification.whiteness import whiteness_section
from exciter.report.section import Section
from exciter.robot.robot import Robot


def run_sections(robot: Robot, runs: tuple[Drawn, ...], judge: Formulation) -> Iterator[Section]:
    """Residuals of all of them, by the equations of ``judge``; the robot and the torques of those that are drawn."""
    shown = shown_runs(runs)
    yield residuals_section(runs, judge)
    yield replay_section(robot, shown)
    for drawn in shown:
        yield torque_section(drawn)


def misses(runs: tuple[Drawn, ...]) -> Iterator[Section]:
    """What a model leaves of the decisive run, looked at from all sides."""
    drawn = decisive(runs)
    yield histogram_section(drawn)
    for section in (structure_section(drawn), spectrum_section(drawn)):
        if section is not None:
            yield section
    yield whiteness_section(drawn)
