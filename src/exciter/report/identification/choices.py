"""What was chosen from the logs, why, and how to choose otherwise: settings, and the friction model of each joint."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from exciter.identification.selection.friction_choice import ROUNDING_EXCESS, UNSETTLED, FrictionChoice, JointFriction
from exciter.identification.selection.trial import Choice
from exciter.parameters.terms import (
    AsymmetricCoulomb,
    Coulomb,
    Dahl,
    JointTerm,
    LoadFriction,
    Offset,
    Ripple,
    SqrtViscous,
    Stribeck,
    Viscous,
)
from exciter.report.identification.parameters import listed
from exciter.report.identification.runs import per_joint
from exciter.report.markup import element, number, percent
from exciter.report.section import Section, folded, joint_choice
from exciter.report.table import Bar, Cell, Table, Word

ESTIMATOR = "estimator"
ROBOT = ("gravity",)  #: settings that do not stand under identify:
FRICTION = ("friction", "terms")  #: settings that stand under terms:
#: Of the names of candidates: what each part is
PARTS = {
    "viscous": "Fv q̇: grows with the speed q̇",
    "Coulomb": "Fs sgn q̇: dry friction, the same at every speed, against the motion",
    "asymmetric Coulomb": "Fsp forwards, Fsn backwards: dry friction of different size both ways",
    "Dahl": "Fs z, dry friction that builds up over a short travel δ after a reversal (pre-sliding) instead of "
    "jumping: dz/dq = (1 − z sgn q̇)/δ; the number is δ, in thousandths of a radian (of a metre where a joint slides)",
    "√": "Fr √|q̇| sgn q̇: rises steeply at low speed and less above, as lubricated gears do",
    "load": "Fl z |τ|: a share Fl of the torque τ that the gear carries for weight and inertia of the links",
    "ripple": "Rs sin q + Rc cos q: returns with every turn of the joint, as of cables or an eccentric gear",
    "Stribeck": "Fst sgn q̇ exp(−(q̇/v)²): more dry friction at low speed; the number is v",
    "offset": "constant: a sensor's zero, or dry friction that differs both ways",
}
CALLED = {
    Viscous: "viscous",
    Coulomb: "Coulomb",
    AsymmetricCoulomb: "asymmetric Coulomb",
    SqrtViscous: "√",
    LoadFriction: "load",
    Ripple: "ripple",
    Stribeck: "Stribeck",
    Offset: "offset",
}


def choices_section(choices: Sequence[Choice], settings: Mapping[str, Any]) -> Section:
    """settings: of the configuration with everything chosen in it."""
    text = (
        "What the configuration left open was chosen from the logs that were identified from, and from nothing else. "
        "Where settings were compared, the logs were cut into stretches of time, and each stretch was predicted by a "
        "model fitted to the others (cross-validation). Errors are mean squares of what is left then, over those of a "
        "fit to everything: 1 would be as good as that fit. Of settings that do as well as the best, the simplest "
        "is taken. To fix one, write what stands in the last column into the file of --config; the whole file is at "
        "the end of this report."
    )
    rows: list[tuple[Cell, ...]] = [
        (one.setting, value_words(one), one.reason, override(one, settings)) for one in choices
    ]
    table = Table("Settings chosen from the logs", ("setting", "chosen", "why", "to fix it"), rows)
    return Section("automatic", "Settings that were chosen", text, (element("div", table.html(), class_="whole"),))


def value_words(choice: Choice) -> str:
    return "joint by joint: see the next section" if choice.setting == "friction" else choice.value


def override(choice: Choice, settings: Mapping[str, Any]) -> str:
    """What a configuration says to ask for the same and leave the rest open: ``identify: {filter: {cutoff: 42.2}}``."""
    key, part = choice.key, choice.part
    if key in FRICTION:
        return "identify: {friction: as-given}, and terms: as at the end of this report, or your own"
    if key in ROBOT:
        return in_a_line({key: settings.get(key, "…")})
    given = settings.get("identify", {}).get(key, "…")
    if key != ESTIMATOR:
        return in_a_line({"identify": {key: given}})
    word, inside = next(iter(given.items())) if isinstance(given, Mapping) else (given, {})
    asked = {word: {part: inside.get(part, "…")}} if part else word
    return in_a_line({"identify": {"automatic": True, key: asked}})  # an estimator that is asked for turns the rest off


def in_a_line(settings: Mapping[str, Any]) -> str:
    text = yaml.safe_dump(
        rounded(settings), default_flow_style=True, width=math.inf, sort_keys=False, allow_unicode=True
    )
    return str(text).strip()[1:-1]


def rounded(data: Any) -> Any:
    """Numbers for people."""
    if isinstance(data, Mapping):
        return {key: rounded(value) for key, value in data.items()}
    if isinstance(data, list):
        return [rounded(value) for value in data]
    return float(f"{data:.4g}") if isinstance(data, float) else data


def friction_choice_section(choice: FrictionChoice) -> Section:
    text = (
        "Candidates from the simplest on, judged on stretches of time that they were not fitted to. Chosen is the "
        "simplest that is not worse than the best by more than the error of the difference."
    )
    joints = [joint.joint for joint in choice.per_joint]
    rows: list[tuple[Cell, ...]] = [
        (
            joint.joint,
            joint.chosen.candidate.name,
            joint.chosen.rms,
            "it is" if joint.is_best else joint.best.candidate.name,
            joint.best.rms,
        )
        for joint in choice.per_joint
    ]
    headings = ("joint", "chosen", "left of stretches left out, rms [N·m or N]", "best", "it leaves, rms [N·m or N]")
    chosen = Table("Friction model of every joint", headings, rows)
    tables = {j: candidates_table(joint).html() for j, joint in enumerate(choice.per_joint)}
    unsettled = () if choice.settled else (listed([UNSETTLED.text]),)
    every = folded("All candidates of every joint", joint_choice(joints), per_joint(tables))
    contents = (chosen.html(), *unsettled, parts_table(choice).html(), every)
    return Section("friction-choice", "Choice of the friction model", text, contents)


def part_of(term: JointTerm) -> str:
    """What a candidate's name calls a term."""
    dahl = isinstance(term, Coulomb) and isinstance(term.shape, Dahl)
    return "Dahl" if dahl else CALLED.get(type(term), "")


def parts_table(choice: FrictionChoice) -> Table:
    """What the words of the candidates mean."""
    terms = {term for joint in choice.per_joint for row in joint.table for term in row.candidate.terms}
    shown = {part_of(term) for term in terms}
    rows = [(part, words) for part, words in PARTS.items() if part in shown]
    return Table("What the words mean", ("part", "torque"), rows)


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
    return Table(f"Candidates for {joint.joint}; left of stretches left out, rms [N·m or N]", headings, rows)


def excess_words(excess: float, error: float) -> str:
    """``0.49 % ± 0.54 %``; what is beyond all measure is not counted out, what is nothing is nothing."""
    if excess < ROUNDING_EXCESS:
        return "–"
    return percent(excess) if excess > 1.0 else f"{number(100.0 * excess, 2)} ± {number(100.0 * error, 2)} %"
