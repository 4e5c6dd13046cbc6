"""``exciter base``: base parameters, groupings, what is not identifiable and why."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.text import Text

from exciter.commands.common import chosen_robot, console, plain_table
from exciter.files import json_text
from exciter.notes import texts
from exciter.parameters.terms import JointTerm, joint_terms
from exciter.pipeline.base import BASE_PARTS, FoundBase, base
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import Robot


def run(arguments: argparse.Namespace) -> None:
    parts = [word for word in arguments.only if word in BASE_PARTS]
    arguments.only = [word for word in arguments.only if word not in BASE_PARTS]
    robot = chosen_robot(arguments)
    found = base(robot, terms_of(arguments, robot), only=next(iter(parts), None), numeric=arguments.numeric)
    if arguments.json:
        data = found.to_dict(everything=arguments.all, table=arguments.mdh, augmented=arguments.barycentric)
        print(json_text(data), end="")
    else:
        if arguments.barycentric:
            print_barycentric(found)
        else:
            print_base(found, everything=arguments.all)
        if arguments.mdh:
            print_mdh(found)


def terms_of(arguments: argparse.Namespace, robot: Robot) -> tuple[JointTerm, ...]:
    """Joint terms by word: those of --terms, else of --config; without either, those whose values the description
    declares."""
    words: str | None = arguments.terms
    if words is not None:
        given = words if words == "none" else [word.strip() for word in words.split(",")]
        return joint_terms(given, robot, "--terms")
    file = SettingsFile.read(arguments.config)
    return joint_terms(file.data.get("terms"), robot, f"{file.where}: terms")


def print_base(found: FoundBase, *, everything: bool) -> None:
    model, verdicts, out = found.model, found.verdicts, console()
    base = verdicts.base
    joints = "1 joint" if model.n == 1 else f"{model.n} joints"
    out.print(
        Text.assemble(
            (model.robot.name, "bold"),
            f": {joints}, {len(base.standard)} standard parameters → ",
            (f"{len(base)} base parameters", "bold"),
            f" ({base.inertial_count} inertial, {len(base) - base.inertial_count} of joint terms)",
        )
    )
    out.print(f"{base.method}; singular values: {base.decision.words}", style="dim")
    out.print("Parameters are those of the links in modified-DH frames; R marks a regrouped one.\n", style="dim")
    if not len(base):
        out.print("Nothing can be identified: no parameter has any effect (is there no gravity?).", style="yellow")
        return

    combinations = (base.combination(k) or "itself" for k in range(len(base)))
    table = plain_table(("base parameter", "unit", "is"), zip(base.names, found.units, combinations, strict=True))
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    out.print(table)

    shown = verdicts.verdicts if everything else verdicts.with_status("unidentifiable")
    if shown:
        title = "every standard parameter" if everything else "not identifiable"
        kept = slice(None) if everything else slice(None, None, 2)
        rows = [row[kept] for row in grouped_reasons(shown)]
        table = plain_table(("parameter", "status", "why")[kept], rows, title=f"\n{title}", title_justify="left")
        table.columns[0].max_width, table.columns[1].no_wrap = 24, everything
        out.print(table)
    for note in texts(model.robot.remarks):
        out.print(f"note: {note}", style="yellow")


def print_barycentric(found: FoundBase) -> None:
    """Instead of the base parameters; values are the description's."""
    rows, out = found.barycentric_rows(), console()
    out.print(Text.assemble((found.model.robot.name, "bold"), ": ", (f"{len(rows)} barycentric parameters", "bold")))
    out.print(
        "Of augmented bodies, links with the masses they carry at their joints, in modified-DH frames: mbx, mby first "
        "moments, k inertias, kd = ½ (XX − YY).\n",
        style="dim",
    )
    cells = [(name, unit, found.barycentric.combination(k), f"{x:.6g}") for k, (name, unit, x) in enumerate(rows)]
    table = plain_table(("parameter", "unit", "is", "in the description"), cells, right=(3,))
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    out.print(table)


def print_mdh(found: FoundBase) -> None:
    """The table, angles in degrees and lengths in metres; γ and b only where a tree or the base needs them."""
    rows = found.model.mdh.rows
    columns = ["joint", "after", "σ", "α [°]", "d [m]", "θ [°]", "r [m]"]
    branched = any(row.gamma or row.b for row in rows)
    columns += ["γ [°]", "b [m]"] if branched else []
    lines = []
    for row in rows:
        angle, slide = ("", " + q") if row.sigma else (" + q", "")
        cells = [row.joint, "base" if row.parent < 0 else rows[row.parent].joint, str(row.sigma)]
        cells += [degrees(row.alpha), f"{row.d:.6g}", degrees(row.theta) + angle, f"{row.r:.6g}{slide}"]
        cells += [degrees(row.gamma), f"{row.b:.6g}"] if branched else []
        lines.append(cells)
    title = "\nmodified Denavit–Hartenberg table"
    console().print(plain_table(columns, lines, range(2, len(columns)), title=title, title_justify="left"))
    if (off := found.table_error) > 1e-6:
        text = f"axes nearly parallel count as parallel in this table, which is off by up to {off:.1g} rad"
        console().print(f"{text}; the parameters use the exact geometry", style="yellow")


def degrees(angle: float) -> str:
    return f"{math.degrees(angle):.6g}"


def grouped_reasons(verdicts: Sequence[Any]) -> list[tuple[str, str, str]]:
    """(names, status, reason), neighbours with the same reason on one line."""
    words = {"identifiable": "identifiable", "combination": "only in combination", "unidentifiable": "not identifiable"}
    alike = groupby(verdicts, key=lambda one: (words[one.status], one.reason))
    return [(", ".join(one.name for one in some), *why) for why, some in alike]
