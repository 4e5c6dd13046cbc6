"""The report of a paper: every item with its findings, tables and figures, in one HTML file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from exciter.report.markup import Markup, element, joined, number
from exciter.report.page import Page
from exciter.report.plot import Plot
from exciter.report.section import Section, figures, folded, settings_list
from exciter.report.table import Bar, Cell, Table, Word
from exciter.reproduction.finding import Finding, Value, Verdict, text_of, typeset
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.run import Reproduced

TONES = {
    Verdict.MET: "good",
    Verdict.BEATEN: "good",
    Verdict.SHORT: "poor",
    Verdict.DIFFERS: "fair",
    Verdict.CLOSED: "fair",
}
QUICK = "This was a quick run: the same items with fewer starts and repetitions; the figures of searches are less good."
SEEDS = (
    "Random numbers have fixed seeds. The end of a search, such as the condition number of a design, can change by "
    "some per cent, with few starts by ten, when kernels are compiled anew or versions change: local minima are many. "
    "Everything else repeats to the digits shown."
)
FEW = 24  #: rows of a table that is shown at once
MEANING = {
    Verdict.MET: "the same within what was printed (an optimum: within 0.5 %), or typical of repetitions of ours",
    Verdict.BEATEN: "better than published, under the conditions that the paper prints; what it leaves open is assumed",
    Verdict.SHORT: "worse than published; the note says why",
    Verdict.DIFFERS: "what the paper describes gives something else; the note has the evidence",
    Verdict.CLOSED: "what it takes was never published",
    Verdict.SHOWN: "computed here; nothing was published to compare with",
}


def write_report(reproduced: Reproduced, path: Path, versions: Mapping[str, str]) -> None:
    """One HTML file; versions: of the programs it was computed with."""
    paper = reproduced.paper
    sections = [*(part_section(k, part) for k, part in enumerate(reproduced.parts)), how_section(reproduced, versions)]
    Page(f"{paper.name}, run again", summary(reproduced), sections).write(path)


def verdicts(reproduced: Reproduced) -> dict[Verdict, int]:
    """How many findings have which verdict, in the order of Verdict; those that occur."""
    counted = Counter(finding.verdict for _, finding in reproduced.rows())
    return {verdict: counted[verdict] for verdict in Verdict if counted[verdict]}


def summary(reproduced: Reproduced) -> Markup:
    paper = reproduced.paper
    counts = {verdict.value: str(count) for verdict, count in verdicts(reproduced).items()}
    meaning = folded(
        "What the verdicts mean", settings_list({str(verdict): words for verdict, words in MEANING.items()})
    )
    quick = element("p", QUICK) if reproduced.effort.quick else ""
    return joined(element("p", paper.citation), element("p", paper.about), quick, figures(counts), meaning)


def part_section(number_: int, part: Part) -> Section:
    contents = [findings_table(part)] if part.findings else []
    if part.differences:
        contents.append(element("p", typeset(part.differences)))
    contents += [figure.html() if isinstance(figure, Plot) else figure for figure in part.figures]
    contents += [data_table(table) for table in part.tables]
    return Section(f"part-{number_}", f"{part.item}: {part.title}", typeset(part.set_up), tuple(contents))


def findings_table(part: Part) -> Markup:
    headings = ("quantity", "published", "reached", "verdict", "note")
    rows = [
        (one.quantity, cell(one.published), cell(one.reached), verdict_cell(one), typeset(one.note))
        for one in part.findings
    ]
    return element("div", Table(f"{part.item}, published and reached", headings, rows).html(), class_="findings")


def verdict_cell(finding: Finding) -> Cell:
    tone = TONES.get(finding.verdict)
    return str(finding.verdict) if tone is None else Word(str(finding.verdict), tone)


def cell(value: Value | int) -> Cell:
    """Numbers sort by value, and stand on the right with what stands for one; the rest is text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return Bar(float(value), text_of(value), math.nan)
    return math.nan if value is None else float(value)


def data_table(table: DataTable) -> Markup:
    """Long ones open on demand."""
    shown = Table(table.caption, table.headings, [[cell(value) for value in row] for row in table.rows]).html()
    return shown if len(table.rows) <= FEW else folded(f"{table.caption} ({len(table.rows)} rows)", shown)


def how_section(reproduced: Reproduced, versions: Mapping[str, str]) -> Section:
    """How to get this page again."""
    quick = " --quick" if reproduced.effort.quick else ""
    settings = {
        "command": f"exciter reproduce {reproduced.paper.name}{quick}",
        "processor time": f"{number(reproduced.seconds, 3)} s",
        **versions,
    }
    return Section("how", "How to run it again", SEEDS, (settings_list(settings),))
