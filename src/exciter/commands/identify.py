"""``exciter identify``: parameters from logs, how sure they are, and how well they predict; all files or none."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from exciter.commands.common import (
    chosen_workers,
    console,
    plain_table,
    print_judgement,
    print_notes,
    print_residuals,
    print_verdict,
    running,
    steps,
    with_flags,
)
from exciter.experiment.plan import Plan
from exciter.export.robot_xml import left_out
from exciter.files import HASHES, json_text, output_folder
from exciter.identification.identified_model import IDENTIFIED_URDF, RESULT_SEAL, no_torques
from exciter.identification.identify_config import judged_words
from exciter.identification.information.estimate import (
    FAIR,
    GOOD,
    INSIGNIFICANT,
    RATIO_LEGEND,
    STATUS_LEGEND,
    WEAK,
    Estimate,
)
from exciter.identification.payload import LOAD_QUANTITIES, LOAD_UNITS
from exciter.identification.selection.cross_validated_trial import Choice
from exciter.identification.selection.friction_choice import UNSETTLED, FrictionChoice
from exciter.kept_results import KEPT_FOLDER, KeptResults
from exciter.notes import lines, texts
from exciter.parameters.parameter_names import reading_order
from exciter.pipeline.identified import Identified, refuse_copy
from exciter.pipeline.identify import identify
from exciter.pipeline.settings_file import SettingsFile, loaded_for_logs
from exciter.validation.comparison import Comparison
from exciter.workers import HERE

SENTENCE_TABLE_COLUMNS = 100  #: [columns] of tables with sentences in them
CHOSEN_VALUE_COLUMNS = 30  #: of them, for what was chosen
MOST_NOTES_PRINTED = 5  #: unless --verbose
MOST_DISAGREEING_PARAMETERS = 3  #: parameters on which methods disagree
STATUS_STYLES = {GOOD: "green", FAIR: "default", WEAK: "yellow", INSIGNIFICANT: "dim"}


def print_result(out: Console, result: Identified) -> None:
    """Residuals, what was asked for beside the parameters, and the gravest notes."""
    print_residuals(out, result.verdict)
    if result.config.settings.evaluation is not None:
        out.print(judged_words(result.identification.judge.formulation))
    if result.comparison is not None:
        print_comparison(out, result.comparison)
    if (gains := result.gains) is not None:
        out.print(gains.sentence)
    if result.gain_ratios is not None:
        out.print(result.gain_ratios.sentence)
    if (load := result.payload) is not None:
        quantities = zip(LOAD_QUANTITIES, LOAD_UNITS, load.values, load.std, strict=True)
        words = ", ".join(f"{name} {value:.5g} ± {std:.2g} {unit}" for name, unit, value, std in quantities)
        out.print("\n".join((f"payload on {load.frame}: {words}", *texts(load.notes))))
    for sentence in () if result.known_load is None else result.known_load.sentences:
        out.print(sentence)


def print_long_tables(out: Console, result: Identified) -> None:
    """Parameters, and what was chosen."""
    print_parameters(out, result.estimate)
    if result.choices:
        print_choices(out, result.choices)
    if result.friction is not None:
        print_friction(out, result.friction)
    full = result.estimate.standard if result.physically_consistent and result.predicts else None
    if full is not None and (lost := left_out(result.model, full)):
        out.print(f"{IDENTIFIED_URDF} has no place for {', '.join(lost)}: they are in result.json, and in a comment")


def print_parameters(out: Console, estimate: Estimate) -> None:
    rows = []
    for k in reading_order(estimate.names):
        relative, status = float(estimate.relative_std_percent[k]), estimate.status[k]
        percent = f"{relative:.0f}" if 99.5 <= relative < 999.5 else f"{relative:.2g}" if relative < 99.5 else "–"
        numbers = (f"{estimate.values[k]:.5g}", f"{estimate.std[k]:.2g}", percent)
        times = float(estimate.ratio_to_best[k])
        ratio = "–" if status == INSIGNIFICANT else f"{times:.0f}" if times >= 99.5 else f"{times:.2g}"
        rule = Text(f"{ratio} ⚑" if estimate.poor_by_ratio[k] else f"{ratio}  ")
        word = Text(status, style=STATUS_STYLES[status])
        rows.append((estimate.names[k], estimate.units[k], *numbers, word, rule))
    headings = ("parameter", "unit", "value", "σ", "σ %", "status", "σ % / smallest")
    out.print(plain_table(headings, rows, right=(2, 3, 4, 6)))
    assumption, *more = texts(estimate.assumptions)
    out.print(f"σ rest on this: {assumption}{'; … (result.json)' if more else ''}")
    out.print(f"95 % intervals are value ± {estimate.quantile():.3g} σ; {STATUS_LEGEND}")
    out.print(f"⚑: {RATIO_LEGEND}\n")


def print_choices(out: Console, choices: Sequence[Choice]) -> None:
    """Errors: see the report."""
    below = "joint by joint, below"
    rows = [(one.setting, below if one.setting == "friction" else one.value, one.reason) for one in choices]
    table = plain_table(("setting", "chosen", "why"), rows)
    table.columns[0].no_wrap, table.columns[1].max_width = True, CHOSEN_VALUE_COLUMNS
    out.print(table, width=min(SENTENCE_TABLE_COLUMNS, out.width))
    error = "error: mean square of what predictions of held-out stretches miss, over that of a fit to everything"
    out.print(f"{error}\n", style="dim")


def print_friction(out: Console, choice: FrictionChoice) -> None:
    rows = []
    for joint in choice.per_joint:
        chosen, best = joint.chosen, joint.best
        beside = ("it is", "") if joint.is_best else (best.candidate.name, f"{best.rms:.4g}")
        rows.append((joint.joint, chosen.candidate.name, f"{chosen.rms:.4g}", *beside))
    headings = ("joint", "friction", "left out, rms", "best", "rms [N·m or N]")
    out.print(plain_table(headings, rows, right=(2, 4)), width=min(SENTENCE_TABLE_COLUMNS, out.width))
    if not choice.settled:
        out.print(UNSETTLED.text)
    out.print()


def print_comparison(out: Console, comparison: Comparison) -> None:
    """Methods side by side, each beside the first one."""
    first = comparison.methods[0].name
    beside = {one.second: one for one in comparison.differences if one.first == first}
    rows: list[tuple[str, ...]] = []
    for one in comparison.methods:
        if one.failed:
            rows.append((one.name, "–", "–", "–", one.failed))
            continue
        numbers = [] if one.fit is None else [f"{one.fit.residuals.total_percent:.3g}"]
        numbers.append(", ".join(f"{seen.residuals.total_percent:.3g}" for seen in one.validation) or "–")
        other = beside.get(one.name)
        apart = "" if other is None else ", ".join(other.disagree[:MOST_DISAGREEING_PARAMETERS]) or "nothing"
        numbers.append("" if other is None else f"{other.torque_percent:.2g}")
        rows.append((one.name, *numbers, apart))
    headings = ("method", "fit [%]", "validation [%]", "differs by [% of torque]", "disagrees on")
    out.print(plain_table(headings, rows, right=(1, 2, 3)))


def run(arguments: argparse.Namespace) -> None:
    config = SettingsFile.read(arguments.config).identify.overridden(
        formulation=arguments.formulation, estimator=arguments.estimator
    )
    robot, options = loaded_for_logs(arguments.robot, with_flags(config.robot, arguments))
    config = replace(config, robot=options)
    plan = None if arguments.plan is None else Plan.read(arguments.plan)
    expected = arguments.logs or ([] if plan is None else plan.stages)
    count = len((*expected, *arguments.validate, *arguments.loaded))
    asked = chosen_workers(arguments, 1)
    with output_folder(arguments.output) as folder, running(asked) as workers, steps(count + 8) as step:
        refuse_copy(robot.file, folder)
        store = KeptResults.begun(workers, folder / KEPT_FOLDER, resume=arguments.resume)
        found = identify(
            robot,
            arguments.logs,
            config,
            plan=plan,
            validate=arguments.validate,
            loaded=arguments.loaded,
            compare=arguments.compare,
            planned=arguments.planned,
            periods=arguments.periods,
            data=arguments.data,
            workers=HERE if workers.here and not arguments.resume else store,
            progress=step,
        )
        step("writing")
        data = found.write(folder)
        store.discard()
    if arguments.json:
        print(json_text(data), end="")
    else:
        out, words = console(), lines(found.notes)
        if arguments.verbose:
            print_long_tables(out, found)
        print_result(out, found)
        kept = None if arguments.verbose else MOST_NOTES_PRINTED
        print_notes(out, words[:kept], ())
        if len(words) > len(words[:kept]):
            out.print(f"{len(words) - MOST_NOTES_PRINTED} more notes: --verbose, or the report", style="dim")
        written = sorted([*data[HASHES], RESULT_SEAL.name])
        out.print(f"written to {folder}: {', '.join(written)}")
        if found.predicts:
            print_verdict(out, found.verdict, found.as_model, folder)
        else:
            print_judgement(out, found.verdict)
            out.print(f"the result {no_torques(found.config)}", soft_wrap=True)
