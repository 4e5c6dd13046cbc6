"""``exciter actuators``: drives of a robot from command and encoder, where no torque was measured."""

from __future__ import annotations

import argparse

from exciter.commands.common import chosen_robot, console, plain_table, shown, working
from exciter.files import HASHES, json_text, output_folder
from exciter.notes import lines, notable
from exciter.pipeline.actuators import Actuators, actuators
from exciter.pipeline.drive_files import ACTUATORS_SEAL
from exciter.pipeline.settings_file import SettingsFile


def run(arguments: argparse.Namespace) -> None:
    """0 when drives were found; nothing is written otherwise."""
    robot, settings = chosen_robot(arguments), SettingsFile.read(arguments.config).actuators
    with output_folder(arguments.output) as folder:
        with working(1.0) as tell:
            found = actuators(
                robot,
                arguments.log,
                settings,
                validate=arguments.validate,
                compare=arguments.compare,
                tell=lambda words: tell(0.5, words),
            )
        data = found.write(folder)
    if arguments.json:
        print(json_text(data), end="")
        return
    print_actuators(found)
    written = sorted([*data[HASHES], ACTUATORS_SEAL.name])
    console().print(f"written to {folder}: {', '.join(written)}")


def print_actuators(found: Actuators) -> None:
    out, fit = console(), found.fit
    rows = [
        (name, shown(row["value"], 4), shown(row["std"] or float("nan"), 2), row["unit"], row["status"])
        for name, row in found.parameters.items()
    ]
    out.print(plain_table(("drive", "value", "σ", "unit", "status"), rows, right=(1, 2)))
    headings = ["rms simulated − measured [mrad]", "all", *fit.robot.joint_names]
    total = float((fit.residual_rms**2).mean() ** 0.5)
    table = [("stretches", shown(1e3 * total), *(shown(1e3 * one) for one in fit.residual_rms))]
    for free in found.verdict.runs:
        table.append((f"{free.name}, freely", *(shown(1e3 * one) for one in (free.total, *free.rms))))
        table.append((f"{free.name}, before", *(shown(1e3 * one) for one in (free.before_total, *free.before))))
    turned = list(zip(headings, *table, strict=True))  # joints one below the other
    out.print(plain_table(turned[0], turned[1:], right=range(1, len(turned[0]))))
    for difference in found.comparisons:
        for sentence in difference.sentences:
            out.print(sentence)
    for one in found.verdict.outstanding:
        out.print(f"stands out: {one.sentence}", style="yellow")
    for line in lines(notable(fit.notes)):
        out.print(line, style="yellow")
