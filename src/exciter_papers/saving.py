"""A paper that was run again, on disk: report, tables as data, and one page for all."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exciter.files import staged
from exciter.pipeline.saving import versions
from exciter_papers import paper_seal
from exciter_papers.page import appendix, page, write_report
from exciter_papers.run import Reproduced


def write(one: Reproduced, folder: Path) -> None:
    """A paper as soon as it is complete: what interrupts the next one does not take it away."""
    name = one.paper.name
    seal = paper_seal(name)
    with staged(folder, seal) as stage:
        write_report(one, stage / f"{name}.html", versions())
        write_tables(one, stage)
        seal.write(stage, paper_data(one))


def pages_of(found: Sequence[Reproduced]) -> dict[str, str]:
    """Markdown pages by name of file: the summary and the appendix with every figure."""
    stem = "papers" if len(found) > 1 else found[0].paper.name
    names = {"papers.md": f"{stem}.md", "papers-appendix.md": f"{stem}-appendix.md"}
    texts = {"papers.md": page(found), "papers-appendix.md": appendix(found)}
    for usual, own in names.items():  # links between the two
        texts = {name: text.replace(f"]({usual})", f"]({own})") for name, text in texts.items()}
    return {names[name]: text for name, text in texts.items()}


def write_pages(found: Sequence[Reproduced], folder: Path) -> None:
    with staged(folder) as stage:
        for name, text in pages_of(found).items():
            (stage / name).write_text(text, encoding="utf-8")


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
