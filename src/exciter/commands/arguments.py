"""What the command line understands: every command with its options; ``help.txt`` teaches it by example."""

from __future__ import annotations

import argparse
import math
import re
import time
from pathlib import Path
from typing import Any, NoReturn

from exciter import __version__
from exciter.errors import shown, visible
from exciter_papers import NAMES

MOST_COUNTED_DIGITS = 18
EXPORT_WORDS = ("urdf", "mjcf", "sdf", "yaml", "json", "c", "python", "ros2")
SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
DEFAULT_SETTINGS_FILE = Path("exciter.yaml")


# -- what values are: argparse shows the message -----------------------------------------------------------------------


def place(text: str) -> Path:
    """Where something is to be written."""
    if not text.strip():
        raise argparse.ArgumentTypeError("-o is empty; give a name")
    return Path(text)


def whole(text: str, least: int = 0) -> int:
    """Of digits that a computer counts with; what each number may come to is for the work to say."""
    if not text.isdecimal() or len(text) > MOST_COUNTED_DIGITS or int(text) < least:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number ≥ {least}")
    return int(text)


def positive(text: str) -> int:
    return whole(text, 1)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def percent(text: str) -> float:
    """1 … 100 [%]"""
    if not 1.0 <= _float(text) <= 100.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to 100")
    return float(text)


def seconds(text: str) -> float:
    """A positive time [s]."""
    if not 0.0 < _float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of seconds")
    return float(text)


#: by what a value is called in the help
VALUE_KINDS = {
    **dict.fromkeys(("F", "DIR", "LOG", "TRAJECTORY"), Path),
    **dict.fromkeys(("K", "J"), positive),
    "S": whole,
    "P": percent,
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"exciter: {visible(' '.join(message.split()))}; see '{self.prog} --help'\n")

    def switch(self, name: str, help: str) -> None:
        self.add_argument(name, action="store_true", help=help)

    def value(self, name: str, called: str, help: str, **more: Any) -> None:
        """An argument with a value; -o is a place to write to."""
        names, kind = (("-o", "--output"), place) if name == "-o" else ((name,), VALUE_KINDS.get(called))
        self.add_argument(*names, metavar=called, help=help, **{"type": kind, **more})

    def robot(self) -> None:
        about = "URDF, MJCF or modified-DH file, or the name of an embedded robot (exciter robots)"
        self.add_argument("robot", metavar="ROBOT", help=about)

    def robot_options(self, read: str) -> None:
        """What may be said of a robot beside its description; read: by the command in the file of --config."""
        self.value("--config", "F", f"YAML file, of which this command reads {read}")
        self.changed_robot("gravity in the base frame [m/s²]")

    def changed_robot(self, gravity: str) -> None:
        self.add_argument("--lock", action="append", default=[], metavar="JOINT[=POSITION]", help="freeze a joint")
        self.add_argument("--gravity", nargs=3, type=float, metavar=("X", "Y", "Z"), help=gravity)


def parser() -> Parser:
    """help.txt has of every command a line for the list, a paragraph, examples, and the page that has the rest."""
    text = Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
    story, *told = re.split(r"^\[(\w+)\] (.*)\n", text, flags=re.MULTILINE)
    words = {name: (line, rest.strip()) for name, line, rest in zip(told[::3], told[1::3], told[2::3], strict=True)}
    form, about = argparse.RawDescriptionHelpFormatter, "Identify the dynamics of robots."
    top = Parser(prog="exciter", description=about, epilog=story.strip(), formatter_class=form)
    top.add_argument("--version", action="version", version=f"exciter {__version__}")
    top.set_defaults(began=time.monotonic())  # from when a time limit counts
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str) -> Parser:
        line, rest = words[name]
        return commands.add_parser(name, help=line, description=rest, formatter_class=form)

    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    known_log, data = "a recording.yaml, or a log of a known kind", "folder of the files that a recording.yaml names"

    demo = add("demo")
    demo.value("-o", "DIR", "keep everything there; report.html first")
    demo.add_argument("--robot", default="panda", help="embedded robot or file (default: panda)")
    demo.value("--seed", "S", "of start, truth and noise (default: 0)", default=0)
    demo.switch("--json", "also print true and identified values as data")
    demo.changed_robot("gravity in the base [m/s²]")

    base = add("base")
    base.robot()
    base.switch("--json", "print plain data instead of tables")
    base.switch("--all", "say of every standard parameter what becomes of it")
    base.switch("--mdh", "also show the modified-DH table the parameters refer to")
    base.add_argument("--only", choices=("gravity", "inertia"), help="poses at rest, or second moments, only")
    terms = "rotor, viscous, coulomb, offset, …; or none (default: those of --config, else those declared)"
    base.value("--terms", "LIST", f"joint terms, comma-separated: {terms}")
    base.robot_options("terms, gravity, lock")
    base.switch("--numeric", "decide from random samples instead of in closed form")

    design = add("design")
    design.robot()
    design.value("-o", "DIR", "folder for the results", required=True)
    families = "fourier (default), bspline, quintic, acceleration; random-points, random-spline"
    design.value("--trajectory", "W", families)
    design.value("--criterion", "W", "d-optimal (default), condition, a-optimal, e-optimal, …")
    design.value("--starts", "K", "random starts, the best one counts (default: 16)")
    design.value("--seed", "S", "of the starts (default: 0)")
    design.value("--time-limit", "S", "for the whole command [s]: the best that is found within", type=seconds)
    design.value("--jobs", "J", "processes for the starts (default: 1)")
    design.switch("--resume", "go on from the checkpoint of an interrupted run in DIR")
    design.switch("--json", "print the content of design.json")
    design.robot_options("the whole design: limits, gravity, lock, terms, trajectory, criterion, constraints, …")

    check = add("check")
    check.robot()
    check.value("trajectory", "TRAJECTORY", "trajectory.csv, .json, or ROS 2 YAML or JSON")
    check.switch("--json", "print plain data instead of a table")
    check.robot_options("limits, gravity, lock, terms and constraints, as for design")

    slow = add("slow")
    slow.robot()
    slow.value("trajectory", "TRAJECTORY", "any file that check understands")
    slow.value("--speed", "P", "1 … 100 [%%] of its own speed", required=True)
    slow.value("-o", "DIR", "folder for the files", required=True)
    slow.robot_options("limits, gravity, lock, terms, constraints and trajectory: rate, as for design")

    simulate = add("simulate")
    simulate.robot()
    simulate.value("trajectory", "TRAJECTORY", "any file that check understands")
    simulate.value("-o", "LOG", "log.csv or log.npz", required=True)
    simulate.value("--periods", "K", "repeat the periodic part (default: as it is)")
    simulate.value("--seed", "S", "of truth and noise (default: 0)", default=0)
    simulate.value("--truth", "F", "write the true parameters there (.json)")
    simulate.value("--motion", "F", "write the exact q, q̇, q̈ and torque at the log's instants (.csv, .npz)")
    simulate.switch("--json", "print plain data instead of a table")
    simulate.robot_options("the section simulate: (truth, control, drive, encoder, log, …), limits, gravity, lock")

    inspect = add("inspect")
    inspect.robot()
    inspect.value("logs", "LOG", known_log, nargs="+")
    inspect.value("--planned", "TRAJECTORY", "compare with the motion it was sent")
    inspect.value("--periods", "K", "how often that was run through")
    inspect.value("--data", "DIR", data)
    inspect.value("-o", "CLEAN", "write the repaired log (.csv or .npz)")
    inspect.switch("--json", "print plain data instead of tables")
    inspect.robot_options("limits, gravity, lock of the robot; what a log is like stands in its recording.yaml")

    identify = add("identify")
    identify.robot()
    identify.value("logs", "LOG", known_log, nargs="+")
    identify.value("-o", "DIR", "folder for the results", required=True)
    identify.value("--formulation", "W", "dynamic (default), filtered, energy, power, base-wrench")
    identify.value("--estimator", "W", "consistent with chosen settings (default); wls, ols, ml, …")
    identify.value("--validate", "LOG", "logs of other motion, to be predicted", **several)
    identify.value("--loaded", "LOG", "logs with a payload that is to be identified", **several)
    compared = "other formulations or estimators side by side: huber, energy, energy/ols, …"
    identify.value("--compare", "W", compared, **several)
    identify.value("--planned", "TRAJECTORY", "the motion sent to the robot (iv, didim)")
    identify.value("--periods", "K", "how often it was run through (iv, didim)")
    identify.value("--data", "DIR", data)
    identify.switch("--json", "print the content of result.json")
    identify.robot_options("the section identify: (formulation, estimator, filter, …), terms, gravity, lock")

    validate = add("validate")
    validate.value("folder", "DIR", "a folder that exciter identify wrote")
    validate.value("logs", "LOG", "logs of other motion", nargs="+")
    validate.value("-o", "DIR", "write validation.json and report.html there")
    validate.value("--data", "DIR", data)
    validate.switch("--json", "print the content of validation.json")

    export = add("export")
    export.value("folder", "DIR", "a folder that exciter identify (ros2: design) wrote")
    export.add_argument("--format", required=True, choices=EXPORT_WORDS, help="what is written")
    export.value("-o", "F", "the file", required=True)

    init = add("init")
    init.robot()
    init.value("-o", "F", f"the file (default: {DEFAULT_SETTINGS_FILE})", default=DEFAULT_SETTINGS_FILE)
    init.switch("--force", "write over files that are there")

    schema = add("schema")
    about = "exciter (default): that of --config; recording: what a foreign log is like"
    schema.value("file", "FILE", about, nargs="?", choices=("exciter", "recording"), default="exciter")

    reproduce = add("reproduce")
    reproduce.value("paper", "PAPER", f"{', '.join(NAMES)} (default: all)", nargs="?", choices=NAMES)
    reproduce.value("-o", "DIR", "folder of reports (default: reproduced; none with --json)")
    reproduce.switch("--quick", "the same items with fewer starts and repetitions")
    reproduce.value("--jobs", "J", "processes (default: one for every core)")
    reproduce.switch("--json", "print all findings as data")

    add("robots").switch("--json", "print plain data instead of a table")
    add("completion").add_argument("shell", choices=SHELLS, help="which shell")
    for command in commands.choices.values():
        command.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors, and data of --json")
    return top
