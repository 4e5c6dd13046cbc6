"""``exciter slow``: a trajectory file at part of its speed, certified again, for the first runs on hardware."""

from __future__ import annotations

import argparse

from exciter.commands.check import chosen_config, print_certificate
from exciter.commands.common import console, output_folder, print_notes
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.ground import remarks_on
from exciter.excitation.files.export import EXACT, ROS2_JSON, ROS2_YAML, TABLE
from exciter.excitation.files.read import read_trajectory
from exciter.excitation.files.slowed import export_slowed
from exciter.files import staged
from exciter.report.unchecked import unchecked
from exciter.report.verdict_words import verdict
from exciter.robot import load


def run(arguments: argparse.Namespace) -> int:
    """0 when the slow motion is written, and with it its certificate holds; nothing is written otherwise."""
    config = chosen_config(arguments)
    robot = load(arguments.robot, config.robot)
    constraints = config.constraints(config.model(robot))
    curve = read_trajectory(arguments.trajectory, robot)
    speed = arguments.speed / 100.0
    with output_folder(arguments.output) as folder, staged(folder) as stage:
        files, certificate = export_slowed(
            stage, robot, curve, speed, lambda motion: certify(robot, motion, constraints), rate=config.rate
        )
    out = console()
    print_certificate(out, certificate)
    out.print(f"\n{robot.name} at {arguments.speed:g} % of the speed: {verdict(certificate)}", markup=False)
    lasts = f"it lasts {curve.duration / speed:.4g} s instead of {curve.duration:.4g} s"
    out.print(f"{lasts}; {files.rows} rows at {files.rate:g} Hz", markup=False)
    print_notes(out, remarks_on(robot, constraints), unchecked(robot, constraints, certificate))
    out.print(f"written to {folder}: {', '.join((TABLE, EXACT, ROS2_YAML, ROS2_JSON))}", markup=False)
    return 0
