"""``exciter fleet``: many robots of a type, each with its logs: who differs, and why; goes on where it stopped."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console

from exciter.commands.common import chosen_workers, console, plain_table, running, shown, working
from exciter.files import json_text
from exciter.pipeline.fleet import ROBOTS_FOLDER, SETTINGS_FILE, Fleet, fleet
from exciter.pipeline.saving import FLEET_SEAL, FLEET_TABLE, REPORT_FILE
from exciter.validation.fleet.population import FEWEST_ROBOTS

MOST_ROBOTS_PRINTED = 20
P_DIGITS = 2


def run(arguments: argparse.Namespace) -> int:
    """0 when all robots were looked at, whoever differs."""
    changes = {key: value for key in ("level", "control") if (value := getattr(arguments, key)) is not None}
    jobs = arguments.jobs or (1 if arguments.cluster is not None else usual_jobs())
    with running(chosen_workers(arguments, jobs)) as workers, working(1.0) as tell:
        try:
            made = fleet(arguments.fleet, arguments.output, workers=workers, progress=tell, **changes)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("interrupted: the same command goes on with the robots that are missing") from None
    if arguments.json:
        print(json_text(made.to_dict()), end="")
    else:
        print_fleet(console(), made, arguments.output)
    return 0


def usual_jobs() -> int:
    """One for every core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def print_fleet(out: Console, made: Fleet, folder: Path) -> None:
    several = len(made.types) > 1
    rows = list[tuple[str, ...]]()
    for row in made.rows:
        if row["status"] != "refused" and len(rows) < MOST_ROBOTS_PRINTED:
            numbers = (
                shown(row["distance"]),
                shown(row["p_value"], P_DIGITS),
                shown(row["adjusted_p_value"], P_DIGITS),
            )
            total = shown(row["total_percent"])
            rows.append((row["robot"], *((row["type"],) if several else ()), row["status"], *numbers, total))
    headings = (
        "robot",
        *(("type",) if several else ()),
        "verdict",
        "distance",
        "p",
        "p, of all robots",
        "residual [%]",
    )
    if rows:
        out.print(plain_table(headings, rows, right=range(len(headings) - 4, len(headings))))
    others = sum(len(kind.identified) for kind in made.types) - len(rows)
    if others > 0:
        out.print(f"and {others} more in {FLEET_TABLE}")
    for name, why in made.differing.items():
        out.print(f"{name} differs: {'; '.join(why)}", style="bold", soft_wrap=True)
    for one in made.refused:
        out.print(f"refused: {one.name}: {one.reason}", style="yellow", soft_wrap=True)
    few = [kind.name for kind in made.types if not kind.comparison.asked]
    if few:
        words = f"too few robots to compare: {', '.join(few)}; give at least {FEWEST_ROBOTS} of a type"
        out.print(words, style="yellow", soft_wrap=True)
    if not made.differing and len(few) < len(made.types):
        out.print("no robot differs from its type", style="green")
    out.print(f"written to {folder}: {FLEET_SEAL.name}, {FLEET_TABLE}, {REPORT_FILE}, {SETTINGS_FILE}, {ROBOTS_FOLDER}")
