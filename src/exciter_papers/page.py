"""What people read of papers: an HTML report of each, and of all a summary and an appendix in Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from exciter.report.markup import PagePart, number
from exciter.report.page import Page
from exciter.report.parts import Bar, Cards, Cell, Folded, HtmlTable, NamedValues, Paragraph, Section, Summary, Word
from exciter_papers import FOLDERS
from exciter_papers.paper import (
    MET_RATIO_LIMIT,
    UNEXPLAINED,
    DataTable,
    Part,
    Value,
    Verdict,
    inventory,
    published,
    text_of,
    typeset,
)
from exciter_papers.run import Reproduced

# -- the report of a paper ---------------------------------------------------------------------------------------------

TONES = {
    Verdict.MET: "good",
    Verdict.BEATEN: "good",
    Verdict.SHORT: "poor",
    Verdict.DIFFERS: "fair",
    Verdict.UNDECIDED: "fair",
    Verdict.CLOSED: "fair",
}
QUICK_RUN_STATEMENT = (
    "This was a quick run: the same items with fewer starts and repetitions; the figures of searches are less good."
)
SEEDS_STATEMENT = (
    "Random numbers have fixed seeds. The end of a search, such as the condition number of a design, can change by "
    "some per cent, with few starts by ten, when kernels are compiled anew or versions change: local minima are many. "
    "Everything else repeats to the digits shown."
)
MOST_ROWS_SHOWN_AT_ONCE = 24  #: rows of a table that is shown at once
MEANING = {
    Verdict.MET: "the same within what was printed (an optimum: within 0.5 %), or typical of repetitions of ours, "
    f"whose median is then no more than {MET_RATIO_LIMIT:g} times off; the note says why where it is",
    Verdict.BEATEN: "better than published, by the same criterion under the same conditions, which the note states",
    Verdict.SHORT: "worse than published; the note says why",
    Verdict.DIFFERS: "what the paper describes gives something else; the note has the evidence",
    Verdict.UNDECIDED: "what is printed does not decide it: better or equal here, but conditions are missing, or the "
    "spread is too wide; the note says what is missing",
    Verdict.CLOSED: "what it takes was never published",
    Verdict.SHOWN: "computed here; nothing was published to compare with",
}


def write_report(reproduced: Reproduced, path: Path, versions: Mapping[str, str]) -> None:
    """One HTML file; versions: of the programs it was computed with."""
    paper = reproduced.paper
    sections = [*(part_section(k, part) for k, part in enumerate(reproduced.parts)), how_section(reproduced, versions)]
    Page(f"Reproduction of {paper.name}", summary(reproduced), sections).write(path)


def verdicts(reproduced: Reproduced) -> dict[Verdict, int]:
    """How many findings have which verdict, in the order of Verdict; those that occur."""
    counted = Counter(finding.verdict for _, finding in reproduced.rows())
    return {verdict: counted[verdict] for verdict in Verdict if counted[verdict]}


def summary(reproduced: Reproduced) -> Summary:
    paper = reproduced.paper
    counts = {f"findings: {verdict.value}": str(count) for verdict, count in verdicts(reproduced).items()}
    meaning = NamedValues({str(verdict): words for verdict, words in MEANING.items()})
    quick = (Paragraph((QUICK_RUN_STATEMENT,)),) if reproduced.effort.quick else ()
    contents = (Paragraph((paper.about,)), *quick, Cards(counts), Folded("What the verdicts mean", (meaning,)))
    return Summary("", (paper.citation,), contents)


def part_section(number_: int, part: Part) -> Section:
    rows = [
        (one.quantity, cell(one.published), cell(one.reached), verdict_cell(one.verdict), typeset(one.note))
        for one in part.findings
    ]
    headings = ("quantity", "published", "reached", "verdict", "note")
    contents: list[PagePart] = []
    if rows:
        contents.append(HtmlTable(f"{part.item}, published and reached", headings, rows, "findings"))
    if part.differences:
        contents.append(Paragraph((typeset(part.differences),)))
    contents += [*part.figures, *(data_table(table) for table in part.tables)]
    return Section(f"part-{number_}", f"{part.item}: {part.title}", typeset(part.set_up), contents)


def verdict_cell(verdict: Verdict) -> Cell:
    return Word(str(verdict), TONES[verdict]) if verdict in TONES else str(verdict)


def cell(value: Value | int) -> Cell:
    """Numbers sort by value, and stand on the right with what stands for one; the rest is text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return Bar(float(value), text_of(value))
    return math.nan if value is None else float(value)


def data_table(table: DataTable) -> PagePart:
    """Long ones open on demand."""
    shown = HtmlTable(table.caption, table.headings, [[cell(value) for value in row] for row in table.rows])
    return (
        shown
        if len(table.rows) <= MOST_ROWS_SHOWN_AT_ONCE
        else Folded(f"{table.caption} ({len(table.rows)} rows)", (shown,))
    )


def how_section(reproduced: Reproduced, versions: Mapping[str, str]) -> Section:
    """How to get this page again."""
    quick = " --quick" if reproduced.effort.quick else ""
    settings = {
        "command": f"exciter reproduce {reproduced.paper.name}{quick}",
        "processor time": f"{number(reproduced.seconds, 3)} s",
        **versions,
    }
    return Section("how", "How to reproduce this page", SEEDS_STATEMENT, (NamedValues(settings),))


# -- docs/papers.md, docs/papers-appendix.md ---------------------------------------------------------------------------

INTRODUCTION = """# The papers, run again

Every table and figure of five documents that can be run: what comes out beside what was published. Run them yourself,
all or one, with

    exciter reproduce                      # all, with a report of every paper
    exciter reproduce rackl-2012 --quick   # fewer starts and repetitions
    exciter reproduce --json               # data: paper, item, quantity, published, reached, verdict, note, criterion

Each table below has one row per item of the paper. The reason is given where a figure is worse than published, differs,
is undecided, or cannot be run again. [The appendix](papers-appendix.md) has every figure with its evidence, and
what became of every table, figure and section; reports (`<paper>.html`) have the plots. `make papers` writes both pages
anew.
"""
APPENDIX = """# The papers, figure by figure

Every figure behind [the summary](papers.md), published and reached side by side, with set-ups, seeds and evidence.
Reports (`<paper>.html`) have the plots; `<paper>.json` and `<paper>.<table>.csv` have all tables as data. "The table"
and "the figure" below are those of the report. Published figures are data files beside the code of each paper,
`src/exciter_papers/*/*.yaml`. `make papers` writes this page anew.
"""


def page(reproduced: Sequence[Reproduced]) -> str:
    """What people read: a table per paper, a row per item."""
    lines = [INTRODUCTION, *quick_run(reproduced), *overview(reproduced)]
    for one in reproduced:
        lines += [f"## {one.paper.name}\n", f"{one.paper.citation}\n", f"{one.paper.about}\n", *items(one)]
    return "\n".join(lines).rstrip() + "\n"


def appendix(reproduced: Sequence[Reproduced]) -> str:
    """Everything, part by part."""
    lines = [APPENDIX, f"{SEEDS_STATEMENT}\n", *quick_run(reproduced)]
    for one in reproduced:
        lines += [f"## {one.paper.name}\n", f"{one.paper.citation}\n"]
        lines += [*places(one), *(line for part in one.parts for line in part_lines(part))]
    return "\n".join(lines).rstrip() + "\n"


def quick_run(reproduced: Sequence[Reproduced]) -> list[str]:
    return [f"**{QUICK_RUN_STATEMENT}**\n"] if reproduced[0].effort.quick else []


def overview(reproduced: Sequence[Reproduced]) -> Iterator[str]:
    """How often which verdict."""
    yield row("paper", *MEANING)
    yield rule(1 + len(MEANING))
    for one in reproduced:
        counts = verdicts(one)
        yield row(f"[{one.paper.name}](#{one.paper.name})", *(str(counts.get(verdict, 0)) for verdict in MEANING))
    yield ""
    yield from (f"- **{verdict}**: {words}." for verdict, words in MEANING.items())
    yield ""


def items(one: Reproduced) -> Iterator[str]:
    """What came of each item of a paper, and why where they disagree."""
    reasons = published(FOLDERS[one.paper.name], "reasons")
    yield row("item", "what it is", "verdicts", "why")
    yield rule(4)
    for part in one.parts:
        counts = Counter(finding.verdict for finding in part.findings)
        words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
        disagrees = any(counts[verdict] for verdict in UNEXPLAINED)
        yield row(part.item, part.title, words, reasons.get(part.item, "") if disagrees else "")
    yield ""


def places(one: Reproduced) -> Iterator[str]:
    """What became of every table, figure and numbered section."""
    yield "### Every table, figure and section\n"
    yield row("of the paper", "items below, or why there is none")
    yield rule(2)
    for place, what in inventory(FOLDERS[one.paper.name]).items():
        yield row(place, what if isinstance(what, str) else "; ".join(what))
    yield ""


def part_lines(part: Part) -> Iterator[str]:
    yield f"### {part.item}: {part.title}\n"
    yield f"{typeset(part.set_up)}\n"
    if part.findings:
        yield row("quantity", "published", "reached", "verdict", "note")
        yield rule(5)
    for finding in part.findings:
        yield row(finding.quantity, text_of(finding.published), text_of(finding.reached), finding.verdict, finding.note)
    yield ""
    if part.differences:
        yield f"{typeset(part.differences)}\n"


def row(*cells: str) -> str:
    return "| " + " | ".join(plain(cell) for cell in cells) + " |"


def rule(columns: int) -> str:
    return "|" + "---|" * columns


def plain(text: str) -> str:
    """Text that is no notation of a table."""
    return " ".join(typeset(text).replace("|", "\\|").split())
