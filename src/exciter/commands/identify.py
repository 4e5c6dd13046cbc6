"""``exciter identify``: parameters from logs, how sure they are, and how well they predict; all files or none."""

from __future__ import annotations

import argparse
from dataclasses import replace

from exciter.commands.common import console, with_flags
from exciter.commands.identify_print import print_result
from exciter.commands.progress import steps
from exciter.files import HASHES, json_text, output_folder
from exciter.identification.identified import SEALED
from exciter.pipeline.identify import identify
from exciter.pipeline.saving import refuse_foreign, save_identified
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import load


def run(arguments: argparse.Namespace) -> int:
    config = SettingsFile.read(arguments.config).identify.overridden(
        formulation=arguments.formulation, estimator=arguments.estimator
    )
    config = replace(config, robot=with_flags(config.robot, arguments))
    robot = load(arguments.robot, config.robot)
    count = len((*arguments.logs, *arguments.validate, *arguments.loaded))
    with output_folder(arguments.output) as folder, steps(count + 7) as step:
        refuse_foreign(robot, folder)
        found = identify(
            robot,
            arguments.logs,
            config,
            validate=arguments.validate,
            loaded=arguments.loaded,
            compare=arguments.compare,
            planned=arguments.planned,
            periods=arguments.periods,
            data=arguments.data,
            progress=step,
        )
        step("writing")
        data = save_identified(found, folder)
    if arguments.json:
        print(json_text(data), end="")
    else:
        print_result(found)
        written = sorted([*data[HASHES], SEALED.name])
        console().print(f"written to {folder}: {', '.join(written)}", markup=False)
    return 0
