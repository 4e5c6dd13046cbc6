"""``exciter validate``: an identified model on held-out motion, beside models that know less and noise alone."""

from __future__ import annotations

import argparse
import math
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from exciter.commands.common import console, print_notes, shown
from exciter.commands.progress import steps
from exciter.files import json_text, output_folder
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.identify_config import judged_words
from exciter.pipeline.saving import REPORT_FILE, VALIDATION_SEAL
from exciter.pipeline.validate import Validated, validate
from exciter.validation.validation import RunValidation


def run(arguments: argparse.Namespace) -> int:
    model = IdentifiedModel.read(arguments.folder)
    with ExitStack() as stack:
        folder = None if arguments.output is None else stack.enter_context(output_folder(arguments.output))
        step = stack.enter_context(steps(2 * len(arguments.logs) + 3))
        checked = validate(model, arguments.logs, data=arguments.data, progress=step)
        if folder is None:
            data = checked.to_dict()
        else:
            step("writing")
            data = checked.write(folder)
    if arguments.json:
        print(json_text(data), end="")
        return 0
    print_validation(console(), checked)
    if model.config.settings.evaluation is not None:
        console().print(judged_words(model.config.evaluation(())), markup=False)
    if folder is not None:
        console().print(f"written to {folder}: {REPORT_FILE}, {VALIDATION_SEAL.name}", markup=False)
    return 0


def print_validation(out: Console, checked: Validated) -> None:
    for one in checked.validation.runs:
        out.print(Text(Path(one.run).name, style="bold"))
        print_models(out, one)
        for sentence in one.sentences:
            out.print(sentence, markup=False)
        out.print()
    for sentence in checked.sentences:
        out.print(sentence, markup=False)
    print_notes(out, map(str, checked.notes), ())


def _with(value: float, unit: str) -> str:
    return f"{shown(value)} {unit}" if math.isfinite(value) else shown(value)


def print_models(out: Console, one: RunValidation) -> None:
    """Residuals of every model relative to the torque, joint by joint, and the noise floor."""
    baselines = one.baselines
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(Text("residual / torque [%]"))
    for joint in (*baselines.joints, "total"):
        table.add_column(Text(joint), justify="right")
    for left in baselines.models:
        table.add_row(left.model, *(shown(value) for value in (*left.percent, left.total_percent)))
    floor = one.floor
    if floor.total_percent is not None and floor.percent is not None:
        table.add_row("noise floor", *(shown(value) for value in (*floor.percent, floor.total_percent)))
    worst = baselines.identified
    units = zip(worst.worst, baselines.units, strict=True)
    table.add_row("worst, identified", *(_with(value, unit) for value, unit in units), "")
    table.add_row(Text("… at [s]"), *(shown(value, 5) for value in worst.when), "")
    out.print(table)
