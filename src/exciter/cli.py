"""The command line: words in, settings objects inside, one clear line and exit code 2 when something is wrong."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from exciter import __version__
from exciter.errors import ExciterError

if TYPE_CHECKING:  # imports are late everywhere here: `exciter --help` must not wait for numerics
    from rich.console import Console

    from exciter.dynamics.model import DynamicModel
    from exciter.parameters.identifiability import Identifiability
    from exciter.parameters.terms import JointTerm
    from exciter.robot import Robot

TERM_WORDS = ("rotor", "viscous", "coulomb", "offset")


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"exciter: {message}; see '{self.prog} --help'\n")


def parser() -> Parser:
    top = Parser(prog="exciter", description="Identify the dynamics of robots.")
    top.add_argument("--version", action="version", version=f"exciter {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    demo = commands.add_parser("demo", help="the whole story on an embedded robot: design, experiment, identification")
    demo.add_argument("-o", "--output", type=Path, metavar="DIR", help="also write result.json there")
    demo.add_argument("--robot", default="panda", help="embedded robot or file (default: panda)")
    demo.add_argument("--seed", type=whole, default=0, metavar="S", help="of start, truth and noise (default: 0)")
    add_robot_options(demo)
    demo.set_defaults(run=run_demo)

    base = commands.add_parser("base", help="base parameters: what can be identified, in which combinations, and why")
    base.add_argument("robot", metavar="ROBOT", help="URDF, MJCF or modified-DH file, or an embedded robot")
    base.add_argument("--json", action="store_true", help="print plain data instead of tables")
    base.add_argument("--all", action="store_true", help="say of every standard parameter what becomes of it")
    base.add_argument("--mdh", action="store_true", help="also show the modified-DH table the parameters refer to")
    base.add_argument("--only", choices=("gravity", "inertia"), help="poses at rest, or second moments, only")
    base.add_argument(
        "--terms",
        metavar="LIST",
        help=f"joint terms, comma-separated from {', '.join(TERM_WORDS)}, or none (default: those the robot declares)",
    )
    add_robot_options(base)
    base.add_argument("--numeric", action="store_true", help="decide from random samples instead of in closed form")
    base.set_defaults(run=run_base)

    robots = commands.add_parser("robots", help="the embedded robots")
    robots.add_argument("--json", action="store_true", help="print plain data instead of a table")
    robots.set_defaults(run=run_robots)
    return top


def add_robot_options(command: argparse.ArgumentParser) -> None:
    """What may be said of a robot beside its description."""
    command.add_argument("--config", type=Path, metavar="F", help="YAML file with limits, gravity, lock, mesh_root")
    command.add_argument("--lock", action="append", default=[], metavar="JOINT[=POSITION]", help="freeze a joint")
    xyz = ("X", "Y", "Z")
    command.add_argument("--gravity", nargs=3, type=float, metavar=xyz, help="gravity in the base frame [m/s²]")


def whole(text: str) -> int:
    """A whole number ≥ 0, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number ≥ 0")
    return int(text)


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; leaves with 0, with 2 on wrong input, with 130 when interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows question marks
    arguments = parser().parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except ExciterError as error:
        leave(2, str(error))
    except KeyboardInterrupt:
        leave(130, "interrupted")
    except BrokenPipeError:  # the reader (head, less) has seen enough
        discard_output()
    except OSError as error:
        discard_output()
        leave(2, f"cannot write the output: {error.strerror or error}")
    sys.exit(0)


def leave(code: int, message: str) -> NoReturn:
    print(f"exciter: {message}", file=sys.stderr)
    sys.exit(code)


def discard_output() -> None:
    """Nothing more can be written: keep the interpreter from trying once again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- robots ------------------------------------------------------------------------------------------------------


def run_robots(arguments: argparse.Namespace) -> None:
    from exciter.robot import library

    rows = [(name, library.embedded(name)) for name in library.names()]
    if arguments.json:
        print(
            json.dumps(
                [{"name": n, "joints": r.n, "nominal": r.nominal, "source": r.source} for n, r in rows], indent=2
            )
        )
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 1, 0))
    for heading in ("robot", "axes", "source"):
        table.add_column(heading, justify="right" if heading == "axes" else "left", no_wrap=heading == "robot")
    for name, robot in rows:
        table.add_row(name, str(robot.n), " ".join(robot.source.split()))
    console().print(table)


# -- base --------------------------------------------------------------------------------------------------------


def run_base(arguments: argparse.Namespace) -> None:
    from exciter.dynamics.base import inertia_base, numeric_model_base, static_base
    from exciter.dynamics.model import DynamicModel
    from exciter.dynamics.numpy_engine import NumpyEngine
    from exciter.parameters.identifiability import identifiability

    robot = chosen_robot(arguments)
    model = DynamicModel(robot, chosen_terms(arguments.terms, robot), NumpyEngine())  # a handful of samples at most
    if arguments.only == "inertia":
        if arguments.numeric:
            raise ExciterError("--only inertia is decided in closed form; leave out --numeric")
        base = inertia_base(model)
    elif arguments.numeric:
        base = numeric_model_base(model, static=arguments.only == "gravity")
    else:
        base = static_base(model) if arguments.only == "gravity" else model.base
    verdicts = identifiability(model.dynamics.robot, base, kinetic=arguments.only != "gravity")
    if arguments.json:
        data = base_data(model, verdicts, everything=arguments.all, table=arguments.mdh)
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        print_base(model, verdicts, everything=arguments.all)
        if arguments.mdh:
            print_mdh(model)


def base_data(model: DynamicModel, verdicts: Identifiability, *, everything: bool, table: bool) -> dict[str, Any]:
    """Plain data: the promised keys first, then what else a program may want."""
    data = verdicts.to_dict()
    units = dict(zip(model.standard, model.units, strict=True))
    kept = [verdicts.base.standard[k] for k in verdicts.base.independent]
    for parameter, name in zip(data["parameters"], kept, strict=True):
        parameter["unit"] = units[name]
    data |= {"method": verdicts.base.method, "evidence": verdicts.base.decision.words, "notes": model.robot.remarks}
    if everything:
        data["verdicts"] = [
            {"name": v.name, "status": v.status, "enters": v.enters, "reason": v.reason} for v in verdicts.verdicts
        ]
    if table:
        data["mdh"] = [vars(row) for row in model.mdh.rows]
    return data


def chosen_robot(arguments: argparse.Namespace) -> Robot:
    """The robot with what the flags say of it; a flag goes before the file of --config."""
    from exciter.robot import load
    from exciter.robot.options import RobotOptions, read_options

    options = RobotOptions() if arguments.config is None else read_options(arguments.config)
    lock = {**options.lock, **dict(locked(text) for text in arguments.lock)}
    gravity = options.gravity if arguments.gravity is None else tuple(arguments.gravity)
    return load(arguments.robot, replace(options, lock=lock, gravity=gravity))


def locked(text: str) -> tuple[str, float]:
    """'joint' or 'joint=0.3' → (name, position)."""
    name, equals, position = text.partition("=")
    try:
        return name, float(position) if equals else 0.0
    except ValueError:
        raise ExciterError(f"--lock {text}: '{position}' is not a number; write JOINT or JOINT=POSITION") from None


def chosen_terms(words: str | None, robot: Robot) -> tuple[JointTerm, ...]:
    """Joint terms by word; without words, those whose values the description declares."""
    from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
    from exciter.parameters.terms.declared import declared_terms

    if words is None:
        return declared_terms(robot)
    known: dict[str, JointTerm] = dict(zip(TERM_WORDS, (RotorInertia(), Viscous(), Coulomb(), Offset()), strict=True))
    wanted = [] if words == "none" else [word.strip() for word in words.split(",")]
    for word in wanted:
        if word not in known:
            raise ExciterError(f"--terms has '{word}'; allowed are none, or a list of {', '.join(known)}")
    return tuple(known[word] for word in dict.fromkeys(wanted))


def print_base(model: DynamicModel, verdicts: Identifiability, *, everything: bool) -> None:
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    base, out = verdicts.base, console()
    name = escape(model.robot.name)
    units = dict(zip(model.standard, model.units, strict=True))
    joints = "1 joint" if model.n == 1 else f"{model.n} joints"
    out.print(
        f"[bold]{name}[/]: {joints}, {len(base.standard)} standard parameters → "
        f"[bold]{len(base)} base parameters[/] ({base.inertial_count} inertial, "
        f"{len(base) - base.inertial_count} of joint terms)"
    )
    out.print(f"{base.method}; singular values: {base.decision.words}", style="dim", markup=False)
    out.print("Parameters are those of the links in modified-DH frames; R marks a regrouped one.\n", style="dim")
    if not len(base):
        out.print("Nothing can be identified: no parameter has any effect (is there no gravity?).", style="yellow")
        return

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("base parameter", "unit", "is"):
        table.add_column(heading, no_wrap=heading != "is")
    for k, (name, expression) in enumerate(zip(base.names, base.expressions, strict=True)):
        alone = expression.partition(" = ")[2] or "itself"
        table.add_row(Text(name), Text(units[base.standard[base.independent[k]]]), Text(alone))
    out.print(table)

    shown = verdicts.verdicts if everything else verdicts.with_status("unidentifiable")
    if shown:
        title = "every standard parameter" if everything else "not identifiable"
        table = Table(box=None, padding=(0, 2, 0, 0), title=f"\n{title}", title_justify="left")
        table.add_column("parameter", max_width=24)
        for heading in ("status", "why") if everything else ("why",):
            table.add_column(heading, no_wrap=heading == "status")
        for names, status, reason in grouped_reasons(shown):
            table.add_row(*(Text(cell) for cell in ((names, status, reason) if everything else (names, reason))))
        out.print(table)
    for note in model.robot.remarks:
        out.print(f"note: {note}", style="yellow", markup=False)


def print_mdh(model: DynamicModel) -> None:
    """The table, angles in degrees and lengths in metres; γ and b only where a tree or the base needs them."""
    from rich.table import Table
    from rich.text import Text

    rows = model.mdh.rows
    columns = ["joint", "after", "σ", "α [°]", "d [m]", "θ [°]", "r [m]"]
    branched = any(row.gamma or row.b for row in rows)
    table = Table(box=None, padding=(0, 2, 0, 0), title="\nmodified Denavit–Hartenberg table", title_justify="left")
    for heading in columns + (["γ [°]", "b [m]"] if branched else []):
        table.add_column(Text(heading), justify="left" if heading in ("joint", "after") else "right")
    for row in rows:
        angle, slide = ("", " + q") if row.sigma else (" + q", "")
        cells = [row.joint, "base" if row.parent < 0 else rows[row.parent].joint, str(row.sigma)]
        cells += [degrees(row.alpha), f"{row.d:.6g}", degrees(row.theta) + angle, f"{row.r:.6g}{slide}"]
        cells += [degrees(row.gamma), f"{row.b:.6g}"] if branched else []
        table.add_row(*map(Text, cells))
    console().print(table)
    joints = enumerate(model.dynamics.robot.joints)
    off = max(float(abs(model.mdh.transform(k)[:3, :3] - joint.rotation).max()) for k, joint in joints)
    if off > 1e-6:
        console().print(f"axes nearly parallel count as parallel in this table, which is off by up to {off:.1g} rad; "
                        "the parameters use the exact geometry", style="yellow")  # fmt: skip


def degrees(angle: float) -> str:
    return f"{math.degrees(angle):.6g}"


def grouped_reasons(verdicts: Sequence[Any]) -> list[tuple[str, str, str]]:
    """(names, status, reason), neighbours with the same reason on one line."""
    rows: list[tuple[str, str, str]] = []
    words = {"identifiable": "identifiable", "combination": "only in combination", "unidentifiable": "not identifiable"}
    for verdict in verdicts:
        status = words[verdict.status]
        if rows and rows[-1][1:] == (status, verdict.reason):
            rows[-1] = (f"{rows[-1][0]}, {verdict.name}", status, verdict.reason)
        else:
            rows.append((verdict.name, status, verdict.reason))
    return rows


# -- demo --------------------------------------------------------------------------------------------------------


def run_demo(arguments: argparse.Namespace) -> None:
    from exciter.demo import demo, prepare

    if arguments.output is not None:
        prepare(arguments.output)
    demo(console(), chosen_robot(arguments), arguments.seed, arguments.output)


def console() -> Console:
    """For people: as wide as the terminal; a file or a pipe gets long lines, so that searching finds them."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160
    return Console(highlight=False, width=width)
