"""What was chosen from the logs, why, and how to choose otherwise: settings, and the friction model of each joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exciter.identification.selection.cross_validated_trial import Choice
from exciter.identification.selection.friction_choice import ROUNDING_EXCESS, UNSETTLED, FrictionChoice, JointFriction
from exciter.report.markup import explained, number, percent
from exciter.report.parts import Bar, Columns, Folded, HtmlTable, Section, Sentences, Word, per_joint


def choices_section(choices: Sequence[Choice], settings: Mapping[str, Any]) -> Section:
    """settings: of the configuration with everything chosen in it."""
    by_joint = "by joint: see the next section"
    columns: Columns = {
        "setting": [one.setting for one in choices],
        "chosen": [by_joint if one.setting == "friction" else one.value for one in choices],
        "reason": [one.reason for one in choices],
        "to fix it": [one.override(settings) for one in choices],
    }
    table = HtmlTable.by_column("Settings chosen from the data", columns, "whole")
    return Section("automatic", "Automatic settings", explained("automatic"), (table,))


def friction_choice_section(choice: FrictionChoice) -> Section:
    joints, residual = choice.per_joint, "cross-validation residual, rms [N·m or N]"
    columns: Columns = {
        "joint": [joint.joint for joint in joints],
        "chosen candidate": [joint.chosen.candidate.name for joint in joints],
        residual: [joint.chosen.rms for joint in joints],
        "best candidate": ["the chosen one" if joint.is_best else joint.best.candidate.name for joint in joints],
        f"its {residual}": [joint.best.rms for joint in joints],
    }
    tables = per_joint(
        [joint.joint for joint in joints], {j: candidates_table(joint) for j, joint in enumerate(joints)}
    )
    contents = (
        HtmlTable.by_column("Friction model of every joint", columns),
        Sentences(() if choice.settled else (UNSETTLED.text,)),
        HtmlTable("Parts of the friction models", ("part", "torque"), list(choice.parts.items())),
        Folded("All candidates of every joint", tables),
    )
    return Section("friction-choice", "Choice of the friction model", explained("friction_choice"), contents)


def candidates_table(joint: JointFriction) -> HtmlTable:
    columns: Columns = {
        "candidate": [row.candidate.name for row in joint.table],
        "residual, rms [N·m or N]": [row.rms for row in joint.table],
        "mean square above the best": [Bar(row.excess, excess_words(row.excess, row.error)) for row in joint.table],
        "choice": [Word("chosen", "good") if row.chosen else "–" for row in joint.table],
    }
    return HtmlTable.by_column(f"Candidates for {joint.joint}, by cross-validation", columns)


def excess_words(excess: float, error: float) -> str:
    """``0.49 ± 0.54 %``; without the error where the excess is beyond all measure."""
    if excess < ROUNDING_EXCESS:
        return "–"
    return percent(excess) if excess > 1.0 else f"{number(100.0 * excess, 2)} ± {number(100.0 * error, 2)} %"
