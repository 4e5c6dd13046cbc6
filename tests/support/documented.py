"""docs/papers.md is written by a full run; a quick run must come to the same verdicts on the same items."""

from collections.abc import Iterable

from exciter_papers.page import plain
from exciter_papers.paper import Part, text_of
from support.paths import ROOT

PAGE = ROOT / "docs" / "papers.md"


def rows_of(paper: str) -> set[tuple[str, ...]]:
    """(quantity, published, verdict) of every row of a paper's section."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {paper}\n")[2].partition("\n## ")[0]
    rows = (line.replace("\\|", "¦").strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| "))
    return {(row[0], row[1], row[3].strip()) for row in rows}


def assert_documented(paper: str, parts: Iterable[Part], by_sample: Iterable[str] = ()) -> None:
    """by_sample: quantities that a full run, of larger samples of ours, may judge or express otherwise."""
    known = rows_of(paper)
    found = {
        (plain(one.quantity).replace("\\|", "¦"), text_of(one.published), str(one.verdict))
        for part in parts
        for one in part.findings
        if one.quantity not in tuple(by_sample)
    }
    assert found, "nothing was run"
    missing = sorted(found - known)
    assert not missing, f"docs/papers.md says otherwise (make papers): {missing[:3]}"
