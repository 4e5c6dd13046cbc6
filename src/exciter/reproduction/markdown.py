"""docs/papers.md: what the papers print, what is reached, and why the two differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exciter.reproduction.finding import Verdict, text_of, typeset
from exciter.reproduction.page import MEANING, QUICK, SEEDS, verdicts
from exciter.reproduction.paper import Part
from exciter.reproduction.run import Reproduced

INTRODUCTION = """# The papers, run again

Every table and figure of five documents that can be run, published and reached side by side. This page is written by
`exciter reproduce`; run it again, whole or one paper, with

    exciter reproduce                      # all, with a report of every paper
    exciter reproduce rackl-2012 --quick   # fewer starts and repetitions
    exciter reproduce --json               # data: paper, item, quantity, published, reached, verdict, note

Reports (`<paper>.html`) have the figures; `<paper>.json` and `<paper>.<table>.csv` have all tables as data. "The table"
and "the figure" below are those of the report. Published figures are data files beside the code of each paper,
`src/exciter/reproduction/*/*.yaml`. Set-ups state the seeds. `make papers` writes this page anew.
"""


def page(reproduced: Sequence[Reproduced]) -> str:
    """The whole page."""
    quick = [f"**{QUICK}**\n"] if reproduced[0].effort.quick else []
    lines = [INTRODUCTION, f"{SEEDS}\n", *quick, *overview(reproduced)]
    for one in reproduced:
        lines += paper_lines(one)
    return "\n".join(lines).rstrip() + "\n"


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
    yield "Where paper and run disagree, in short; evidence and explanation stand below:\n"
    yield row("paper", "item", "quantity", "published", "reached")
    yield rule(5)
    for one in reproduced:
        for part, finding in one.rows():
            if finding.verdict in (Verdict.SHORT, Verdict.DIFFERS):
                published, reached = text_of(finding.published), text_of(finding.reached)
                yield row(one.paper.name, part.item, finding.quantity, published, reached)
    yield ""


def paper_lines(one: Reproduced) -> Iterator[str]:
    yield f"## {one.paper.name}\n"
    yield f"{one.paper.citation}\n"
    yield f"{one.paper.about}\n"
    for part in one.parts:
        yield from part_lines(part)


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
