"""``exciter reproduce``: the papers' tables and figures, published and reached side by side."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from joblib import cpu_count
from rich.console import Console
from rich.table import Table
from rich.text import Text

from exciter.commands.common import console
from exciter.commands.progress import steps
from exciter.files import json_text, output_folder, staged
from exciter.pipeline.provenance import versions
from exciter.pipeline.saving import paper_seal
from exciter.reproduction import NAMES
from exciter.reproduction.page import TONES, page, verdicts, write_report
from exciter.reproduction.paper import text_of
from exciter.reproduction.run import Reproduced, paper, reproduce

COLOURS = {"good": "green", "fair": "yellow", "poor": "red"}
PAGE = "papers.md"
FOLDER = Path("reproduced")  #: unless -o says otherwise


def run(arguments: argparse.Namespace) -> int:
    names = NAMES if arguments.paper is None else (arguments.paper,)
    total = sum(len(paper(name).studies) for name in names)
    place = arguments.output or (None if arguments.json else FOLDER)
    found: list[Reproduced] = []
    with ExitStack() as stack:
        folder = None if place is None else stack.enter_context(output_folder(place))
        step = stack.enter_context(steps(total))
        for one in reproduce(names, quick=arguments.quick, jobs=arguments.jobs or cpu_count(), progress=step):
            found.append(one)
            if folder is not None:
                write(one, folder)
        if folder is not None:
            write_page(found, folder)
    if arguments.json:
        print(json_text([entry for one in found for entry in one.to_list()]), end="")
        return 0
    for one in found:
        print_paper(console(), one)
    if folder is not None:
        reports = ", ".join(f"{one.paper.name}.html" for one in found)
        console().print(f"written to {folder}: {reports}, {page_name(found)}, tables as JSON and CSV", markup=False)
    return 0


# -- what is written -------------------------------------------------------------------------------------------------


def write(one: Reproduced, folder: Path) -> None:
    """A paper as soon as it is complete: what interrupts the next one does not take it away."""
    name = one.paper.name
    seal = paper_seal(name)
    with staged(folder, seal) as stage:
        write_report(one, stage / f"{name}.html", versions())
        write_tables(one, stage)
        seal.write(stage, paper_data(one))


def page_name(found: Sequence[Reproduced]) -> str:
    return PAGE if len(found) > 1 else f"{found[0].paper.name}.md"


def write_page(found: Sequence[Reproduced], folder: Path) -> None:
    with staged(folder) as stage:
        (stage / page_name(found)).write_text(page(found), encoding="utf-8")


def paper_data(one: Reproduced) -> dict[str, Any]:
    """<paper>.json: set-ups with their seeds, findings, and every table as data."""
    return {
        "paper": one.paper.name,
        "citation": one.paper.citation,
        "quick": one.effort.quick,
        "parts": [
            {"item": part.item, "title": part.title, "set_up": part.set_up, "differences": part.differences}
            for part in one.parts
        ],
        "findings": one.to_list(),
        "tables": [
            {
                "key": table.key,
                "item": part.item,
                "caption": table.caption,
                "headings": list(table.headings),
                "rows": [list(row) for row in table.rows],
            }
            for part in one.parts
            for table in part.tables
        ],
        "versions": versions(),
    }


def write_tables(one: Reproduced, stage: Path) -> None:
    for part in one.parts:
        for table in part.tables:
            with (stage / f"{one.paper.name}.{table.key}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([table.headings, *table.rows])


# -- what is printed -------------------------------------------------------------------------------------------------


def print_paper(out: Console, one: Reproduced) -> None:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts(one).items())
    quick = "  (quick run)" if one.effort.quick else ""
    out.print(Text.assemble((one.paper.name, "bold"), f"  {counts}{quick}"))
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("item", "quantity"):
        table.add_column(heading, overflow="fold")
    for heading in ("published", "reached"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for part, finding in one.rows():
        table.add_row(
            Text(part.item),
            Text(finding.quantity),
            text_of(finding.published),
            text_of(finding.reached),
            Text(str(finding.verdict), style=COLOURS.get(TONES.get(finding.verdict, ""), "")),
        )
    out.print(table)
    out.print()
