"""``exciter base``: base parameters, groupings, what is not identifiable and why."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from exciter.commands.common import chosen_robot, console
from exciter.dynamics.base import inertia_base, numeric_model_base, static_base
from exciter.dynamics.model import DynamicModel
from exciter.dynamics.numpy_engine import NumpyEngine
from exciter.errors import ExciterError
from exciter.excitation.config.robot_part import read_section
from exciter.files import json_text
from exciter.parameters.identifiability import Identifiability, identifiability
from exciter.parameters.terms import JointTerm
from exciter.parameters.terms.registry import joint_terms
from exciter.robot import Robot


def run(arguments: argparse.Namespace) -> None:
    robot = chosen_robot(arguments)
    model = DynamicModel(robot, terms_of(arguments, robot), NumpyEngine())  # a handful of samples at most
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
        print(json_text(data), end="")
    else:
        print_base(model, verdicts, everything=arguments.all)
        if arguments.mdh:
            print_mdh(model)


def terms_of(arguments: argparse.Namespace, robot: Robot) -> tuple[JointTerm, ...]:
    """Joint terms by word: those of --terms, else of --config; without either, those whose values the description
    declares."""
    words: str | None = arguments.terms
    if words is not None:
        given = words if words == "none" else [word.strip() for word in words.split(",")]
        return joint_terms(given, robot, "--terms")
    if arguments.config is None:
        return joint_terms(None, robot, "--terms")
    return joint_terms(read_section(arguments.config).get("terms"), robot, f"{arguments.config}: terms")


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


def print_base(model: DynamicModel, verdicts: Identifiability, *, everything: bool) -> None:

    base, out = verdicts.base, console()
    units = dict(zip(model.standard, model.units, strict=True))
    joints = "1 joint" if model.n == 1 else f"{model.n} joints"
    out.print(
        Text.assemble(
            (model.robot.name, "bold"),
            f": {joints}, {len(base.standard)} standard parameters → ",
            (f"{len(base)} base parameters", "bold"),
            f" ({base.inertial_count} inertial, {len(base) - base.inertial_count} of joint terms)",
        )
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
