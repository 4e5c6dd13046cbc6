"""What was chosen from the logs, why, and how to choose otherwise: settings, and the friction model of each joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exciter.identification.selection.cross_validated_trial import Choice
from exciter.identification.selection.friction_choice import ROUNDING_EXCESS, UNSETTLED, FrictionChoice, JointFriction
from exciter.report.markup import number, percent
from exciter.report.parts import Bar, Cell, Folded, HtmlTable, JointChoice, PerJoint, Section, Sentences, Word


def choices_section(choices: Sequence[Choice], settings: Mapping[str, Any]) -> Section:
    """settings: of the configuration with everything chosen in it."""
    text = (
        "Settings that the configuration left open were chosen from the identification data, and from nothing else. "
        "Where settings were compared, the data were cut into blocks of time, and each block was predicted by a model "
        "fitted to the others (cross-validation). Errors are mean squares of the residuals of these predictions, "
        "relative to those of a fit to all data: 1 would be as good as that fit. Of settings that do as well as the "
        "best, the simplest is chosen. To fix one, write the last column into the file of --config; the whole file is "
        "at the end of this report."
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.setting,
            "by joint: see the next section" if one.setting == "friction" else one.value,
            one.reason,
            one.override(settings),
        )
        for one in choices
    ]
    table = HtmlTable("Settings chosen from the data", ("setting", "chosen", "reason", "to fix it"), rows, "whole")
    return Section("automatic", "Automatic settings", text, (table,))


def friction_choice_section(choice: FrictionChoice) -> Section:
    text = (
        "Candidates are ordered from the simplest and judged by cross-validation: the residual on blocks of time that "
        "they were not fitted to. The simplest candidate is chosen that is not worse than the best by more than the "
        "standard error of the difference."
    )
    rows: list[tuple[Cell, ...]] = [
        (
            joint.joint,
            joint.chosen.candidate.name,
            joint.chosen.rms,
            "the chosen one" if joint.is_best else joint.best.candidate.name,
            joint.best.rms,
        )
        for joint in choice.per_joint
    ]
    residual = "cross-validation residual, rms [N·m or N]"
    headings = ("joint", "chosen candidate", residual, "best candidate", f"its {residual}")
    tables = {j: candidates_table(joint) for j, joint in enumerate(choice.per_joint)}
    joints = JointChoice([joint.joint for joint in choice.per_joint])
    contents = (
        HtmlTable("Friction model of every joint", headings, rows),
        Sentences(() if choice.settled else (UNSETTLED.text,)),
        HtmlTable("Parts of the friction models", ("part", "torque"), list(choice.parts.items())),
        Folded("All candidates of every joint", (joints, PerJoint(tables))),
    )
    return Section("friction-choice", "Choice of the friction model", text, contents)


def candidates_table(joint: JointFriction) -> HtmlTable:
    rows: list[tuple[Cell, ...]] = [
        (
            row.candidate.name,
            row.rms,
            Bar(row.excess, excess_words(row.excess, row.error)),
            Word("chosen", "good") if row.chosen else "–",
        )
        for row in joint.table
    ]
    headings = ("candidate", "residual, rms [N·m or N]", "mean square above the best", "choice")
    return HtmlTable(f"Candidates for {joint.joint}, by cross-validation", headings, rows)


def excess_words(excess: float, error: float) -> str:
    """``0.49 ± 0.54 %``; without the error where the excess is beyond all measure."""
    if excess < ROUNDING_EXCESS:
        return "–"
    return percent(excess) if excess > 1.0 else f"{number(100.0 * excess, 2)} ± {number(100.0 * error, 2)} %"
