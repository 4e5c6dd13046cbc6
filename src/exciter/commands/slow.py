"""``exciter slow``: a trajectory file at part of its speed, certified again, for the first runs on hardware."""

from __future__ import annotations

import argparse

from exciter.commands.check import chosen_config, print_certificate
from exciter.commands.common import console, print_notes
from exciter.excitation.certificate.certificate import verdict
from exciter.excitation.files.trajectory_files import DESIGN, MOTION_FILES, read_trajectory
from exciter.files import output_folder
from exciter.notes import texts
from exciter.pipeline.check import slow
from exciter.robot import load


def run(arguments: argparse.Namespace) -> int:
    """0 when the slow motion is written, and with it its certificate holds; nothing is written otherwise."""
    config = chosen_config(arguments)
    robot = load(arguments.robot, config.robot)
    curve = read_trajectory(arguments.trajectory, robot)
    with output_folder(arguments.output) as folder:
        slowed = slow(robot, curve, arguments.speed / 100.0, config, origin=arguments.trajectory.name)
        files = slowed.write(folder)
    out = console()
    print_certificate(out, slowed.certificate)
    out.print(f"\n{robot.name} at {arguments.speed:g} % of the speed: {verdict(slowed.certificate)}")
    lasts = f"it lasts {slowed.curve.duration:.4g} s instead of {curve.duration:.4g} s"
    out.print(f"{lasts}; {files.rows} rows at {files.rate:g} Hz")
    print_notes(out, texts(robot.remarks), texts(slowed.not_checked))
    out.print(f"written to {folder}: {', '.join((*MOTION_FILES, DESIGN.name))}")
    return 0
