"""What was identified, base parameters with their uncertainty, the full set, a payload, drive gains, conditioning; and
what was chosen for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from exciter.identification.drive_gains import DriveGains
from exciter.identification.gain_ratios import GainRatios
from exciter.identification.identification import Identification
from exciter.identification.information.compressed import ROUNDING_EXCESS
from exciter.identification.information.estimate import RATIO_LEGEND, STATUS_LEGEND, Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.payload import LOAD_QUANTITIES, LOAD_UNITS, PayloadEstimate
from exciter.identification.selection.cross_validated_trial import Choice
from exciter.identification.selection.friction_choice import UNSETTLED, FrictionChoice, JointFriction
from exciter.identification.uncertainty.conditioning import LISTED_PAIR_CORRELATION
from exciter.notes import in_one_line, texts
from exciter.parameters.parameter_names import meaning, reading_order
from exciter.parameters.perturbation_bounds import ASSUMED
from exciter.report.markup import explained, number, percent
from exciter.report.parts import STATUS_TONES, Bar, Folded, HtmlTable, Section, Sentences, Word, intervals, per_joint
from exciter.report.plot import HeatMap, Line, Plot
from exciter.typing import Array

MOST_RELATIVE_STD_PERCENT = 1000.0  #: σ of a value: more says no more than that it is not significant
MOST_RATIO_SHOWN = 1e4  #: of a relative σ over the smallest one
PAYLOAD_WORDS = {"c": "centre of mass, ", "I": "inertia about the centre of mass, "}


def parameters_section(found: Identification) -> Section:
    problem, estimate = found.problem, found.estimate
    contents = [
        parameters_table(problem, estimate),
        Folded("Each base parameter as a sum of standard parameters", (Sentences(problem.base.expressions),)),
        Folded("Assumptions behind the standard deviations", (Sentences(texts(estimate.assumptions)),)),
    ]
    if found.reasons:
        contents.append(Folded("Why some parameters are not good", (Sentences(texts(found.reasons)),)))
    if estimate.standard is not None:
        contents.append(Folded("Standard parameters of every link", (standard_table(problem, estimate.standard),)))
    text = explained("parameters", quantile=estimate.quantile(), status=STATUS_LEGEND, rule=RATIO_LEGEND)
    return Section("parameters", "Parameters", text, contents)


def parameters_table(problem: Problem, estimate: Estimate) -> HtmlTable:
    order, robot = reading_order(estimate.names), problem.model.robot
    names, status = [estimate.names[k] for k in order], [estimate.status[k] for k in order]
    known = estimate.relative_std_percent < MOST_RELATIVE_STD_PERCENT
    relative = np.where(known, estimate.relative_std_percent, np.inf)
    columns = {
        "parameter": names,
        "meaning": [meaning(name, robot.joint_names, robot.tree_names) for name in names],
        "value": estimate.values[order],
        "σ": estimate.std[order],
        "unit": [estimate.units[k] for k in order],
        "σ / value": [Bar.relative_std(relative[k], unknown=1.0) for k in order],
        "status": [Word(one, STATUS_TONES[one]) for one in status],
        "times the smallest [12.10]": [ratio_cell(estimate.ratio_to_best[k], estimate.poor_by_ratio[k]) for k in order],
        "in the description": problem.nominal[order],
    }
    return HtmlTable.by_column(f"{len(names)} base parameters, and their values in the robot's description", columns)


def ratio_cell(ratio: float, poor: bool) -> Bar:
    """σ / value over the smallest one of all, marked where the papers' rule calls it poor."""
    text = number(ratio, 2) if ratio < 99.5 else f"{ratio:.0f}" if ratio < MOST_RATIO_SHOWN else "> 10⁴"
    return Bar(ratio, f"{text} ⚑" if poor else text)


def standard_table(problem: Problem, standard: Array) -> HtmlTable:
    """A full set, one parameter per row."""
    model = problem.model
    units = dict(zip(model.standard, model.units, strict=True))
    known = dict(zip(model.standard, model.nominal, strict=True))
    rows = [
        (name, float(value), units.get(name, ""), float(known.get(name, 0.0)))
        for name, value in zip(model.standard, standard, strict=True)
    ]
    caption = "One physically consistent set; other sets of standard parameters give the same torques"
    return HtmlTable(caption, ("parameter", "value", "unit", "in the description"), rows)


# -- what was asked for beside them ------------------------------------------------------------------------------------


def payload_section(payload: PayloadEstimate) -> Section:
    low, high = payload.interval()
    columns = {
        "quantity": map(quantity_words, LOAD_QUANTITIES),
        "value": payload.values,
        "σ": payload.std,
        "unit": LOAD_UNITS,
        "95 % interval": intervals(low, high, np.isfinite(payload.std)),
    }
    text = explained("payload", frame=payload.frame, assumptions=in_one_line(payload.assumptions))
    table = HtmlTable.by_column(f"Payload on {payload.frame}", columns)
    return Section("payload", "Payload", text, (table, Sentences(texts(payload.notes))))


def quantity_words(name: str) -> str:
    """``centre of mass, x`` for cx, ``inertia about the centre of mass, xy`` for Ixy."""
    return name if name == "mass" else f"{PAYLOAD_WORDS[name[0]]}{name[1:]}"


def gains_section(gains: DriveGains) -> Section:
    known, relative = gains.determined, gains.relative_std_percent
    columns = {
        "joint": gains.joints,
        "gain [N·m/A]": gains.gains,
        "σ [N·m/A]": np.where(known, gains.std, np.nan),
        "σ / gain": map(Bar.relative_std, np.where(known, relative, np.nan)),
        "95 % interval [N·m/A]": intervals(*gains.interval(), known),
        "current noise σ [A]": gains.noise,
        **({} if gains.cubic is None else {"cubic part [N·m/A³]": gains.cubic, "σ of it": gains.cubic_std}),
        "status": [Word("determined", "good") if sure else Word("not determined", "poor") for sure in known],
    }
    contents = (HtmlTable.by_column("Drive gains", columns), Sentences(texts(gains.notes)))
    text = explained("gains", assumptions=in_one_line(gains.assumptions))
    return Section("gains", "Drive gains", text, contents)


def gain_ratios_section(found: GainRatios) -> Section:
    known = found.determined
    columns = {
        "joint": found.joints,
        f"gain over that of {found.reference}": found.ratios,
        "σ": np.where(known, found.std, np.nan),
        "95 % interval": intervals(*found.interval(), known),
        "status": [Word("determined", "good") if sure else Word("not determined", "poor") for sure in known],
    }
    text = explained("gain_ratios")
    return Section("gain-ratios", "Ratios of drive gains", text, (HtmlTable.by_column("Ratios", columns),))


def conditioning_section(found: Identification) -> Section:
    """How well the motion separates parameters."""
    estimate, values, pairs = found.estimate, found.conditioning.singular_values, found.conditioning.pairs
    plot = Plot(
        "Singular values of W with columns of unit length",
        np.arange(1.0, len(values) + 1.0),
        "index",
        "singular value",
        [Line("singular value", values)],
        bars=True,
        log=True,
    )
    matrix = HeatMap("Correlation of the estimates", estimate.names, estimate.correlation)
    caption = "Estimates" if pairs else "No two estimates are"
    caption = f"{caption} correlated by more than {LISTED_PAIR_CORRELATION:g}"
    table = HtmlTable(caption, ("parameter", "second parameter", "correlation"), pairs)
    text = explained("conditioning", estimate=estimate, bounds=found.bounds, assumed=ASSUMED)
    return Section("conditioning", "Conditioning", text, (plot, matrix, table))


def stages_sections(stages: Mapping[str, Any]) -> Iterator[Section]:
    """Which log was for what, and what each stage of the estimate determined; nothing where there were no stages."""
    tables = []
    if plan := stages.get("plan"):
        rows = plan["stages"]
        columns = {key: [row[key] for row in rows] for key in ("stage", "purpose", "log")}
        tables.append(HtmlTable.by_column(f"Plan of the experiment: {plan['experiment']}", columns, "whole"))
    if rows := stages.get("stages"):
        columns = {
            "stage": [row["stage"] for row in rows],
            "determined": [", ".join(row["parameters"]) or "nothing alone" for row in rows],
            "equations": [str(row["equations"]) for row in rows],
            "σ of one [N·m or N]": [
                ", ".join(f"{joint} {number(size, 3)}" for joint, size in row["noise"].items()) or "–" for row in rows
            ],
        }
        tables.append(HtmlTable.by_column("Stages of the estimate", columns, "whole"))
    if tables:
        yield Section("stages", "Stages", explained("stages"), tables)


def choices_section(choices: Sequence[Choice], settings: Mapping[str, Any]) -> Section:
    """What was chosen from the logs, why, and how to choose otherwise. settings: with everything chosen in them."""
    by_joint = "by joint: see the next section"
    columns = {
        "setting": [one.setting for one in choices],
        "chosen": [by_joint if one.setting == "friction" else one.value for one in choices],
        "reason": [one.reason for one in choices],
        "to fix it": [one.override(settings) for one in choices],
    }
    table = HtmlTable.by_column("Settings chosen from the data", columns, "whole")
    return Section("automatic", "Automatic settings", explained("automatic"), (table,))


def friction_choice_section(choice: FrictionChoice) -> Section:
    joints, residual = choice.per_joint, "cross-validation residual, rms [N·m or N]"
    columns = {
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
    columns = {
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
