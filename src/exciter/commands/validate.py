"""``exciter validate``: an identified model on held-out motion, beside models that know less and noise alone."""

from __future__ import annotations

import argparse
import math
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.text import Text

from exciter.commands.common import console, plain_table, print_notes, print_residuals, print_verdict, shown, steps
from exciter.files import json_text, output_folder
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.identify_config import judged_words
from exciter.notes import lines
from exciter.pipeline.saving import REPORT_FILE, VALIDATION_SEAL
from exciter.pipeline.validate import Validated, validate
from exciter.validation.baselines import MODEL_TITLES
from exciter.validation.validation import RunValidation


def run(arguments: argparse.Namespace) -> None:
    model = IdentifiedModel.read(arguments.folder)
    place = nullcontext() if arguments.output is None else output_folder(arguments.output)
    with place as folder, steps(2 * len(arguments.logs) + 3) as step:
        checked = validate(model, arguments.logs, data=arguments.data, progress=step)
        if folder is None:
            data = checked.to_dict()
        else:
            step("writing")
            data = checked.write(folder)
    if arguments.json:
        print(json_text(data), end="")
        return
    out = console()
    if arguments.verbose:
        print_runs(out, checked)
    print_residuals(out, checked.verdict)
    if model.config.settings.evaluation is not None:
        out.print(judged_words(model.config.evaluation(())))
    for one in checked:
        out.print(f"{one.name}: {one.verdict}")
    if checked.inertia is not None:
        out.print(f"inertia matrix: {checked.inertia.verdict}")
    for sentence in checked.left_out:
        out.print(sentence)
    print_notes(out, lines(checked.notes), ())
    if folder is not None:
        out.print(f"written to {folder}: {REPORT_FILE}, {VALIDATION_SEAL.name}")
    print_verdict(out, checked.verdict, model, arguments.folder)


def print_runs(out: Console, checked: Validated) -> None:
    """Every log beside simpler models, and all that was found of it."""
    for one in checked:
        out.print(Text(Path(one.run).name, style="bold"))
        print_models(out, one)
        for sentence in one.sentences:
            out.print(sentence)
        out.print()
    for sentence in checked.sentences:
        out.print(sentence)
    out.print()


def print_models(out: Console, one: RunValidation) -> None:
    """Residuals of every model relative to what was measured, joint by joint, and the noise floor."""
    baselines, floor, worst = one.baselines, one.floor, one.baselines.identified
    left = [(MODEL_TITLES[model.model], *model.percent, model.total_percent) for model in baselines.models]
    if floor.total_percent is not None and floor.percent is not None:
        left.append(("noise floor", *floor.percent, floor.total_percent))
    rows = [(name, *map(shown, values)) for name, *values in left]
    units = zip(worst.worst, baselines.units, strict=True)
    largest = (f"{shown(value)} {unit}" if math.isfinite(value) else shown(value) for value, unit in units)
    rows.append(("largest residual", *largest, ""))
    rows.append(("… at [s]", *(shown(value, 5) for value in worst.when), ""))
    headings = (f"residual / {baselines.measured} [%]", *baselines.joints, baselines.total_name)
    out.print(plain_table(headings, rows, right=range(1, len(headings))))
