"""What was asked for beside the robot's parameters: a payload, drive gains, the friction model of each joint."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from exciter.identification.automatic.choice import Choice
from exciter.identification.drive_gains import DriveGains
from exciter.identification.friction_choice import FrictionChoice, JointFriction
from exciter.identification.payload_estimate import QUANTITIES, UNITS, PayloadEstimate
from exciter.report.identification.drawn import per_joint
from exciter.report.identification.parameters import listed
from exciter.report.joint_choice import joint_choice
from exciter.report.markup import Markup, number, percent
from exciter.report.section import Section, folded
from exciter.report.table import Bar, Cell, Table, Word

PAYLOAD_WORDS = {"mass": "mass", "c": "centre of mass, ", "I": "inertia about the centre, "}


def payload_section(payload: PayloadEstimate) -> Section:
    text = (
        f"The load on frame {payload.frame}, in axes of that frame; the inertia is about the centre of mass. Standard "
        f"deviations rest on this: {payload.assumption}."
    )
    low, high = payload.interval()
    rows: list[tuple[Cell, ...]] = [
        (quantity_words(name), value, std, unit, f"{number(a)} … {number(b)}" if math.isfinite(std) else "–")
        for name, unit, value, std, a, b in zip(
            QUANTITIES, UNITS, payload.values.tolist(), payload.std.tolist(), low, high, strict=True
        )
    ]
    table = Table(f"Payload on {payload.frame}", ("quantity", "value", "σ", "unit", "95 % interval"), rows)
    return Section("payload", "Payload", text, (table.html(), *said(payload.remarks)))


def quantity_words(name: str) -> str:
    """``centre of mass, x`` for cx, ``inertia about the centre, xy`` for Ixy."""
    return name if name == "mass" else f"{PAYLOAD_WORDS[name[0]]}{name[1:]}"


def gains_section(gains: DriveGains) -> Section:
    text = f"Torque per current of every drive, found together with the parameters. σ rest on this: {gains.assumption}."
    low, high = gains.interval()
    rows: list[tuple[Cell, ...]] = []
    for j, joint in enumerate(gains.joints):
        relative = float(gains.relative_std_percent[j])
        known = bool(gains.determined[j])
        length = math.log10(max(relative, 1e-3) / 0.1) / 3.0 if known else 0.0
        rows.append(
            (
                joint,
                float(gains.gains[j]),
                float(gains.std[j]) if known else math.nan,
                Bar(relative, percent(relative / 100.0) if known else "–", length),
                f"{number(low[j])} … {number(high[j])}" if known else "–",
                float(gains.noise[j]),
                Word("determined", "good") if known else Word("not determined", "poor"),
            )
        )
    headings = ("joint", "gain [N·m/A]", "σ [N·m/A]", "σ / gain", "95 % interval", "current noise σ [A]", "status")
    return Section("gains", "Drive gains", text, (Table("Drive gains", headings, rows).html(), *said(gains.words)))


def choices_section(choices: Sequence[Choice]) -> Section:
    text = (
        "What the configuration left open was chosen from the logs that were identified from, and from nothing else. "
        "Every setting can be given instead; the file at the end of this report asks for these again."
    )
    rows: list[tuple[Cell, ...]] = [(one.setting, one.value, one.reason) for one in choices]
    table = Table("Settings chosen from the logs", ("setting", "chosen", "why"), rows)
    return Section("automatic", "Settings that were chosen", text, (table.html(),))


def friction_choice_section(choice: FrictionChoice) -> Section:
    text = (
        "Candidates from the simplest on, judged on stretches of time that they were not fitted to. Chosen is the "
        "simplest that is not worse than the best by more than the error of the difference."
    )
    joints = [joint.joint for joint in choice.per_joint]
    rows: list[tuple[Cell, ...]] = [
        (joint.joint, joint.chosen.candidate.name, joint.chosen.rms, joint.best.candidate.name, joint.best.rms)
        for joint in choice.per_joint
    ]
    headings = ("joint", "chosen", "residual held out, rms [N·m or N]", "best", "its residual, rms [N·m or N]")
    chosen = Table("Friction model of every joint", headings, rows)
    tables = {j: candidates_table(joint).html() for j, joint in enumerate(choice.per_joint)}
    unsettled = () if choice.settled else said(choice.words[-1:])
    every = folded("All candidates of every joint", joint_choice(joints), per_joint(tables))
    contents = (chosen.html(), *unsettled, every)
    return Section("friction-choice", "Choice of the friction model", text, contents)


def candidates_table(joint: JointFriction) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            row.candidate.name,
            row.rms,
            Bar(row.excess, excess_words(row.excess, row.error), math.nan),
            Word("chosen", "good") if row.chosen else "–",
        )
        for row in joint.table
    ]
    headings = ("candidate", "rms", "squares beyond the best", "choice")
    return Table(f"Candidates for {joint.joint}; residual held out, rms [N·m or N]", headings, rows)


def excess_words(excess: float, error: float) -> str:
    """``0.49 % ± 0.54 %``; what is beyond all measure is not counted out."""
    return percent(excess) if excess > 1.0 else f"{number(100.0 * excess, 2)} ± {number(100.0 * error, 2)} %"


def said(words: tuple[str, ...]) -> tuple[Markup, ...]:
    return (listed(words),) if np.size(words) else ()
