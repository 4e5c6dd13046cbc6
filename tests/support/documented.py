"""docs/papers-appendix.md is written by a full run; a quick run must come to the same verdicts on the same items."""

from collections.abc import Iterable

from exciter_papers import FOLDERS
from exciter_papers.page import plain
from exciter_papers.paper import (
    MET_RATIO_LIMIT,
    UNEXPLAINED,
    Part,
    Verdict,
    inventory,
    published,
    ratio_between,
    text_of,
)
from support.paths import ROOT

PAGE = ROOT / "docs" / "papers-appendix.md"


def rows_of(paper: str) -> set[tuple[str, ...]]:
    """(quantity, published, verdict) of every row of a paper's section."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {paper}\n")[2].partition("\n## ")[0]
    rows = (line.replace("\\|", "¦").strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| "))
    return {(row[0], row[1], row[3].strip()) for row in rows if len(row) > 3}  # not the list of places


def assert_documented(paper: str, parts: Iterable[Part], by_sample: Iterable[str] = ()) -> None:
    """by_sample: quantities that a full run, of larger samples of ours, may judge or express otherwise."""
    parts, sampled = tuple(parts), tuple(by_sample)
    reasons = published(FOLDERS[paper], "reasons")
    judged = [(part.item, one) for part in parts for one in part.findings if one.quantity not in sampled]
    disagree = {item for item, one in judged if one.verdict in UNEXPLAINED}
    assert disagree <= set(reasons), "docs/papers.md must say why in one line (reasons.yaml)"
    listed = {item for what in inventory(FOLDERS[paper]).values() if not isinstance(what, str) for item in what}
    assert {part.item for part in parts} <= listed, "inventory.yaml must say which place of the paper an item runs"
    for one in (one for part in parts for one in part.findings):
        if one.verdict is Verdict.MET and one.ratio is None:
            far = bool(one.far) and one.far in one.note
            assert far or ratio_between(one.published, one.reached) <= MET_RATIO_LIMIT, one
        if one.verdict is Verdict.BEATEN:
            assert one.terms is not None
            assert one.terms.words in one.note, "the criterion is stated"
    known = rows_of(paper)
    found = {(plain(one.quantity).replace("\\|", "¦"), text_of(one.published), str(one.verdict)) for _, one in judged}
    assert found, "nothing was run"
    missing = sorted(found - known)
    assert not missing, f"docs/papers-appendix.md says otherwise (make papers): {missing[:3]}"
