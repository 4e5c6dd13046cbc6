"""``exciter slow``: a trajectory file at part of its speed, certified again, for the first runs on hardware."""

from __future__ import annotations

import argparse

from exciter.commands.check import chosen_config, print_certificate
from exciter.commands.common import console, description_hash, output_folder, print_notes, versions
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.unchecked import unchecked
from exciter.excitation.files.read import DESIGN, MOTION_FILES, read_trajectory
from exciter.excitation.files.samples import unchecked_rows
from exciter.excitation.files.slowed import export_slowed
from exciter.files import staged
from exciter.report.verdict_words import verdict
from exciter.robot import load


def run(arguments: argparse.Namespace) -> int:
    """0 when the slow motion is written, and with it its certificate holds; nothing is written otherwise."""
    config = chosen_config(arguments)
    robot = load(arguments.robot, config.robot)
    curve = read_trajectory(arguments.trajectory, robot)
    constraints = config.constraints_of(robot)
    speed = arguments.speed / 100.0
    with output_folder(arguments.output) as folder, staged(folder, DESIGN) as stage:
        files, certificate = export_slowed(
            stage,
            robot,
            curve,
            speed,
            lambda motion: certify(robot, motion, constraints, from_rest=True),
            rate=config.rate,
        )
        given = (f"of {arguments.trajectory.name}, {text}" for text in unchecked_rows(curve))
        missing = (*unchecked(robot, constraints, certificate), *given)
        DESIGN.write(
            stage,
            {
                "slowed": {"trajectory": arguments.trajectory.name, "speed": speed},
                "certificate": certificate.to_dict(),
                "robot": {
                    "name": robot.name,
                    "joints": list(robot.joint_names),
                    "sha256": description_hash(arguments.robot),
                },
                "duration": curve.duration / speed,
                "remarks": list(robot.remarks),
                "not_checked": list(missing),
                "files": files.to_dict(),
                "settings": config.to_dict(),
                "versions": versions(),
            },
        )
    out = console()
    print_certificate(out, certificate)
    out.print(f"\n{robot.name} at {arguments.speed:g} % of the speed: {verdict(certificate)}", markup=False)
    lasts = f"it lasts {curve.duration / speed:.4g} s instead of {curve.duration:.4g} s"
    out.print(f"{lasts}; {files.rows} rows at {files.rate:g} Hz", markup=False)
    print_notes(out, robot.remarks, missing)
    out.print(f"written to {folder}: {', '.join((*MOTION_FILES, DESIGN.name))}", markup=False)
    return 0
