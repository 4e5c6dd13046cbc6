"""Every table, figure and numbered section of the papers has an item that runs it, or a reason why none does."""

import re
from pathlib import Path

import pytest

import exciter_papers
from exciter_papers import FOLDERS
from exciter_papers.paper import inventory, published
from support.paths import ROOT

TEXTS = ROOT.parent / "shared" / "papers"
ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII"]
#: by paper: its text; tables and figures that it has; numbered sections, by a pattern of their headings
PLACES = {
    "gautier-khalil-1992": ("000", 12, 5, r"^#+ (\d(?:\.\d)?)\. "),
    "khalil-dombre-ch12": ("001", 0, 1, r"^(12\.\d(?:\.\d)*)\. "),
    "swevers-1997-ieee": ("002", 2, 5, r"^([IV]+|[A-C])\. [A-Z][A-Za-z-]+ (?!Bilgin|De S)"),
    "swevers-1997-asme": ("003", 1, 3, r"^(?:#+|\*\*) ?(\d(?:\.\d)?) [A-Z]"),
    "rackl-2012": ("004", 1, 4, r"^#+ ([IV]+|[A-D])\. "),
}


def numbered(places: dict[str, object], word: str) -> list[str]:
    return [place.removeprefix(f"{word} ") for place in places if place.startswith(f"{word} ")]


@pytest.mark.parametrize("paper", FOLDERS)
def test_tables_and_figures_are_complete(paper: str) -> None:
    places = inventory(FOLDERS[paper])
    _, tables, figures, _ = PLACES[paper]
    counting = ROMAN if numbered(places, "Table")[:1] == ["I"] else [str(k) for k in range(1, 20)]
    assert numbered(places, "Table") == counting[:tables]
    chapter = "12." if paper == "khalil-dombre-ch12" else ""
    assert numbered(places, "Figure") == [f"{chapter}{k}" for k in range(1, figures + 1)]
    assert all(what for what in places.values()), "items, or a reason"


@pytest.mark.parametrize("paper", FOLDERS)
def test_every_item_of_the_inventory_is_run(paper: str) -> None:
    """By the name that the code gives it; numbered tables are named by a formula."""
    folder = Path(exciter_papers.__file__).parent / FOLDERS[paper]
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    for what in inventory(FOLDERS[paper]).values():
        for item in () if isinstance(what, str) else what:
            formula = re.sub(r"[\d.]+$", "{", item)
            assert f'"{item}"' in code or f'f"{formula}' in code, f"no part is called '{item}'"
    assert set(published(FOLDERS[paper], "reasons")) <= {
        item for what in inventory(FOLDERS[paper]).values() if not isinstance(what, str) for item in what
    }


@pytest.mark.parametrize("paper", FOLDERS)
def test_the_texts_have_nothing_that_is_not_listed(paper: str) -> None:
    """Captions, references and headings of the scanned text."""
    number, _, _, heading = PLACES[paper]
    found = sorted(TEXTS.glob(f"{number}_*.txt"))
    if not found:
        pytest.skip(f"the texts of the papers are not beside the checkout ({TEXTS})")
    text, places = found[0].read_text(encoding="utf-8"), inventory(FOLDERS[paper])
    body = re.split(r"(?im)^#* *references *$", text)[0]
    for word, pattern in (
        ("Table", r"\b(?:Table|TABLE|Tab\.) ([IVX]+|\d+)\b"),
        ("Figure", r"\bFig(?:ure|\.) \(?(\d+(?:\.\d+)?)"),
    ):
        named = set(re.findall(pattern, body))
        assert named <= set(numbered(places, word))
        assert named or not numbered(places, word)
    above, sections = "", set()
    for line in body.splitlines():
        if (match := re.match(heading, line)) is None:
            continue
        if match[1] in "ABCD" and len(match[1]) == 1:
            sections.add(f"{above}-{match[1]}")
        else:
            above = match[1]
            sections.add(above)
    assert len(sections) >= 5
    assert sections <= set(numbered(places, "Section")), "a section is not listed"
