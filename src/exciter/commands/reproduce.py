"""``exciter reproduce``: the papers' tables and figures, published and reached side by side."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

from joblib import cpu_count
from rich.console import Console
from rich.text import Text

from exciter.commands.common import chosen_workers, console, plain_table, running, steps
from exciter.files import json_text, output_folder
from exciter_papers import NAMES
from exciter_papers.page import TONES, verdicts
from exciter_papers.paper import text_of
from exciter_papers.run import Reproduced, paper, reproduce
from exciter_papers.saving import pages_of, write, write_pages

TONE_COLOURS = {"good": "green", "fair": "yellow", "poor": "red"}
USUAL_FOLDER = Path("reproduced")  #: unless -o says otherwise


def run(arguments: argparse.Namespace) -> None:
    names = NAMES if arguments.paper is None else (arguments.paper,)
    total = sum(len(paper(name).studies) for name in names)
    place = arguments.output or (None if arguments.json else USUAL_FOLDER)
    found: list[Reproduced] = []
    asked = chosen_workers(arguments, min(arguments.jobs or cpu_count(), total))
    home = nullcontext() if place is None else output_folder(place)
    with home as folder, running(asked) as workers, steps(total) as step:
        for one in reproduce(names, quick=arguments.quick, workers=workers, progress=step):
            found.append(one)
            if folder is not None:
                write(one, folder)
        if folder is not None:
            write_pages(found, folder)
    if arguments.json:
        print(json_text([entry for one in found for entry in one.to_list()]), end="")
        return
    for one in found:
        print_paper(console(), one)
    if folder is not None:
        reports = ", ".join(f"{one.paper.name}.html" for one in found)
        pages = ", ".join(pages_of(found))
        console().print(f"written to {folder}: {reports}, {pages}, tables as JSON and CSV")


def print_paper(out: Console, one: Reproduced) -> None:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts(one).items())
    quick = "  (quick run)" if one.effort.quick else ""
    out.print(Text.assemble((one.paper.name, "bold"), f"  {counts}{quick}"))
    rows = [
        (
            part.item,
            finding.quantity,
            text_of(finding.published),
            text_of(finding.reached),
            Text(str(finding.verdict), style=TONE_COLOURS.get(TONES.get(finding.verdict, ""), "")),
        )
        for part, finding in one.rows()
    ]
    table = plain_table(("item", "quantity", "published", "reached", "verdict"), rows, right=(2, 3))
    table.columns[0].overflow = table.columns[1].overflow = "fold"
    out.print(table)
    out.print()
