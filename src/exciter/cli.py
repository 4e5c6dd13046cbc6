"""The command line: words in, settings objects inside, one clear line and exit code 2 when something is wrong."""

from __future__ import annotations

import argparse
import importlib
import io
import math
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from exciter import __version__
from exciter.errors import ExciterError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"exciter: {message}; see '{self.prog} --help'\n")


def parser() -> Parser:
    top = Parser(prog="exciter", description="Identify the dynamics of robots.")
    top.add_argument("--version", action="version", version=f"exciter {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    demo = commands.add_parser("demo", help="the whole story on an embedded robot: design, experiment, identification")
    demo.add_argument("-o", "--output", type=Path, metavar="DIR", help="also write result.json and report.html there")
    demo.add_argument("--robot", default="panda", help="embedded robot or file (default: panda)")
    demo.add_argument("--seed", type=whole, default=0, metavar="S", help="of start, truth and noise (default: 0)")
    add_robot_options(demo)

    base = commands.add_parser("base", help="base parameters: what can be identified, in which combinations, and why")
    base.add_argument("robot", metavar="ROBOT", help="URDF, MJCF or modified-DH file, or an embedded robot")
    base.add_argument("--json", action="store_true", help="print plain data instead of tables")
    base.add_argument("--all", action="store_true", help="say of every standard parameter what becomes of it")
    base.add_argument("--mdh", action="store_true", help="also show the modified-DH table the parameters refer to")
    base.add_argument("--only", choices=("gravity", "inertia"), help="poses at rest, or second moments, only")
    base.add_argument(
        "--terms",
        metavar="LIST",
        help="joint terms, comma-separated: rotor, viscous, coulomb, offset, …; or none (default: those declared)",
    )
    add_robot_options(base)
    base.add_argument("--numeric", action="store_true", help="decide from random samples instead of in closed form")

    design = commands.add_parser("design", help="the most exciting motion within all limits, certified for all time")
    design.add_argument("robot", metavar="ROBOT", help="URDF, MJCF or modified-DH file, or an embedded robot")
    design.add_argument("-o", "--output", type=Path, metavar="DIR", required=True, help="folder for the results")
    design.add_argument("--trajectory", metavar="W", help="fourier (default), bspline, quintic, acceleration")
    design.add_argument("--criterion", metavar="W", help="d-optimal (default), condition, a-optimal, e-optimal, …")
    design.add_argument("--starts", type=positive, metavar="K", help="random starts, the best one counts (default: 16)")
    design.add_argument("--seed", type=whole, metavar="S", help="of the starts (default: 0)")
    design.add_argument("--time-limit", type=seconds, metavar="S", help="keep the best that is found within [s]")
    design.add_argument("--jobs", type=positive, metavar="J", help="processes for the starts (default: 1)")
    design.add_argument("--resume", action="store_true", help="go on from the checkpoint of an interrupted run in DIR")
    design.add_argument("--json", action="store_true", help="print the content of design.json")
    add_robot_options(design)

    check = commands.add_parser("check", help="certificate of a trajectory file; exit code 1 when a limit is broken")
    check.add_argument("robot", metavar="ROBOT", help="URDF, MJCF or modified-DH file, or an embedded robot")
    check.add_argument(
        "trajectory", type=Path, metavar="TRAJECTORY", help="trajectory.csv, .json, or ROS 2 YAML or JSON"
    )
    check.add_argument("--json", action="store_true", help="print plain data instead of a table")
    add_robot_options(check)

    simulate = commands.add_parser("simulate", help="a virtual robot executes a trajectory and logs what it measures")
    simulate.add_argument("robot", metavar="ROBOT", help="URDF, MJCF or modified-DH file, or an embedded robot")
    simulate.add_argument("trajectory", type=Path, metavar="TRAJECTORY", help="any file that check understands")
    simulate.add_argument("-o", "--output", type=Path, metavar="LOG", required=True, help="log.csv or log.npz")
    simulate.add_argument("--periods", type=positive, metavar="K", help="repeat the periodic part (default: as it is)")
    simulate.add_argument("--seed", type=whole, default=0, metavar="S", help="of truth and noise (default: 0)")
    simulate.add_argument("--truth", type=Path, metavar="F", help="write the true parameters there (.json)")
    add_robot_options(simulate)

    inspect = commands.add_parser("inspect", help="what a log is good for; exit code 1 when a problem makes it useless")
    inspect.add_argument("robot", metavar="ROBOT", help="URDF, MJCF or modified-DH file, or an embedded robot")
    inspect.add_argument("logs", type=Path, nargs="+", metavar="LOG", help="a recording.yaml, or a log of a known kind")
    inspect.add_argument("--planned", type=Path, metavar="TRAJECTORY", help="compare with the motion it was sent")
    inspect.add_argument("--data", type=Path, metavar="DIR", help="folder of the files that a recording.yaml names")
    inspect.add_argument("-o", "--output", type=Path, metavar="CLEAN", help="write the repaired log (.csv or .npz)")
    inspect.add_argument("--json", action="store_true", help="print plain data instead of tables")
    add_robot_options(inspect)

    robots = commands.add_parser("robots", help="the embedded robots")
    robots.add_argument("--json", action="store_true", help="print plain data instead of a table")
    return top


def add_robot_options(command: argparse.ArgumentParser) -> None:
    """What may be said of a robot beside its description."""
    command.add_argument("--config", type=Path, metavar="F", help="YAML file: limits, gravity, lock, … and the design")
    command.add_argument("--lock", action="append", default=[], metavar="JOINT[=POSITION]", help="freeze a joint")
    xyz = ("X", "Y", "Z")
    command.add_argument("--gravity", nargs=3, type=float, metavar=xyz, help="gravity in the base frame [m/s²]")


def whole(text: str) -> int:
    """A whole number ≥ 0, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number ≥ 0")
    return int(text)


def positive(text: str) -> int:
    """A whole number ≥ 1, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number ≥ 1")
    return int(text)


def seconds(text: str) -> float:
    """A positive time [s], for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of seconds")
    return value


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; leaves with 0, 1 when a check fails, 2 on wrong input, 130 when interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows question marks
    arguments = parser().parse_args(argv)
    stop_like_ctrl_c()
    try:
        command = importlib.import_module(f"exciter.commands.{arguments.command}")  # late: numerics take a second
        code: int | None = command.run(arguments)
        sys.stdout.flush()
    except ExciterError as error:
        leave(2, str(error))
    except KeyboardInterrupt:
        leave(130, "interrupted")
    except BrokenPipeError:  # the reader (head, less) has seen enough
        code = 0
        discard_output()
    except OSError as error:
        discard_output()
        leave(2, f"cannot write the output: {error.strerror or error}")
    sys.exit(code or 0)


def stop_like_ctrl_c() -> None:
    """A polite kill cleans up as Ctrl-C does: nothing half-written stays."""
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def leave(code: int, message: str) -> NoReturn:
    print(f"exciter: {message}", file=sys.stderr)
    sys.exit(code)


def discard_output() -> None:
    """Nothing more can be written: keep the interpreter from trying once again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
