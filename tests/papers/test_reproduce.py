"""The frame of the reproductions: judges, runs, what is written; the papers themselves have test files of their own."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from exciter.cli import main
from exciter.errors import ExciterError
from exciter.report.plot import Line, Plot
from exciter_papers import FOLDERS, NAMES
from exciter_papers.paper import (
    DataTable,
    Effort,
    Finding,
    Paper,
    Part,
    Study,
    Terms,
    Verdict,
    at_least,
    at_most,
    claim,
    closed,
    ratio_between,
    same,
    shown,
    text_of,
    typeset,
    typical,
    undecided,
)
from exciter_papers.run import paper, reproduce

# -- judges ----------------------------------------------------------------------------------------------------------

TERMS = Terms("cond(A) in the 2-norm", "printed limits")
OPEN_TERMS = Terms("cond(A) in the 2-norm", "limits", "the limits are not printed")


def test_verdicts_are_computed():
    assert same("x", 12.7, 12.74, 0.05).verdict is Verdict.MET
    assert same("x", 12.7, 12.75, 0.05).verdict is Verdict.MET
    assert same("x", 12.7, 12.76, 0.05, "why").verdict is Verdict.DIFFERS
    assert at_most("cond", 8.66, 7.9, TERMS).verdict is Verdict.BEATEN
    assert at_most("cond", 8.66, 8.67, TERMS).verdict is Verdict.MET
    assert at_most("cond", 8.66, 8.8, TERMS, "why").verdict is Verdict.SHORT
    assert at_most("log det", -48.63, -49.5, TERMS).verdict is Verdict.BEATEN
    assert at_most("log10 det", -48.63, -48.40, TERMS, "why", tie=np.log10(1.005)).verdict is Verdict.SHORT
    assert at_least("gain", 30.0, 40.0, TERMS).verdict is Verdict.BEATEN
    assert at_least("gain", 30.0, 20.0, TERMS, "why").verdict is Verdict.SHORT
    assert claim("it rains", True).verdict is Verdict.MET
    assert claim("it rains", False, "why").verdict is Verdict.DIFFERS
    assert shown("x", 1.0).verdict is Verdict.SHOWN
    assert closed("x", 1.0, "no data").reached is None
    assert undecided("x", "not printed").verdict is Verdict.UNDECIDED


def test_nothing_is_met_that_is_more_than_twice_off_without_saying_why():
    """By no way to make a finding; zeros are a matter of rounding."""
    with pytest.raises(ExciterError, match="3 times off"):
        Finding("x", 1.0, 3.0, Verdict.MET)
    assert Finding("x", 1.0, 3.0, Verdict.MET, far="one draw of a heavy tail").apart == 3.0
    with pytest.raises(ExciterError, match="9 times off"):
        Finding("log", -40.0, -41.0, Verdict.MET, ratio=9.0)
    assert [ratio_between(*pair) for pair in ((2.0, 1.0), (-1.0, -3.0), (0.0, 1e-14), (True, False), (None, 5.0))] == [
        2.0,
        3.0,
        1.0,
        1.0,
        1.0,
    ]
    assert ratio_between(1.0, -1.0) == ratio_between(1.0, 0.0) == ratio_between(1.0, np.inf) == np.inf
    wide = same("level", 1.0, 0.4, 0.9)
    assert wide.verdict is Verdict.DIFFERS
    assert "2.5 times apart" in wide.note
    assert same("level", 1.0, 0.4, 0.9, far="a figure read off a plot").verdict is Verdict.MET
    assert same("level", 1.0, 0.6, 0.9).verdict is Verdict.MET


def test_a_range_is_not_met_by_its_width_alone():
    heavy = np.geomspace(1.0, 1e6, 400)
    found = typical("S", 10.0, heavy, "a note")
    assert found.verdict is Verdict.UNDECIDED
    assert "width alone: the median is 1e+02 times off" in found.note
    assert typical("S", 10.0, heavy, far="it is one draw of a heavy tail").verdict is Verdict.MET
    assert typical("S", 900.0, heavy).verdict is Verdict.MET
    assert typical("S", 0.9, heavy, "why", far="a reason does not help").verdict is Verdict.DIFFERS
    decades = np.linspace(-45.0, -40.0, 400)
    assert typical("log", -44.0, decades).verdict is Verdict.MET  # 44/42.5 says nothing of a logarithm
    apart = typical("log", -44.0, decades, ratio=lambda p, r: 10.0 ** abs(p - r))
    assert apart.verdict is Verdict.UNDECIDED


def test_beaten_needs_the_same_criterion_and_conditions():
    with pytest.raises(ExciterError, match="state criterion and conditions"):
        Finding("cond", 8.66, 7.9, Verdict.BEATEN)
    with pytest.raises(ExciterError, match="nothing left open"):
        Finding("cond", 8.66, 7.9, Verdict.BEATEN, terms=OPEN_TERMS)
    for criterion, conditions in (("", "limits"), ("cond", "")):
        with pytest.raises(ExciterError, match="criterion and the conditions"):
            Terms(criterion, conditions)
    better = at_most("cond", 8.66, 7.9, OPEN_TERMS, "120 starts")
    assert better.verdict is Verdict.UNDECIDED
    assert better.note == "120 starts; better, but not beaten: the limits are not printed"
    assert at_most("cond", 8.66, 9.9, OPEN_TERMS, "why").verdict is Verdict.SHORT  # no excuse
    beaten = at_most("cond", 8.66, 7.9, TERMS, "120 starts")
    assert beaten.note == "120 starts; criterion of both: cond(A) in the 2-norm; conditions: printed limits"


@pytest.mark.parametrize("published", [np.nan, 1.0])
def test_what_is_not_a_number_is_never_met(published):
    assert same("x", published, np.nan, 1.0, "why").verdict is Verdict.DIFFERS
    assert at_most("x", published, np.nan, TERMS, "why").verdict is Verdict.SHORT
    assert typical("x", np.nan, [1.0, 2.0], "why").verdict is Verdict.DIFFERS
    for sample in ([], [1.0, np.nan, 2.0]):
        with pytest.raises(ExciterError, match="not numbers"):
            typical("x", published, sample)


@pytest.mark.parametrize("verdict", [Verdict.SHORT, Verdict.DIFFERS, Verdict.UNDECIDED, Verdict.CLOSED])
def test_what_is_not_met_needs_an_explanation(verdict):
    with pytest.raises(ExciterError, match="say why"):
        Finding("x", 1.0, 2.0, verdict)


def test_a_typical_draw_is_met_as_often_as_it_says():
    """A draw of the same distribution differs with the stated chance, whatever the distribution."""
    random = np.random.default_rng(0)
    differs = sum(
        typical("x", random.lognormal(), random.lognormal(size=400)).verdict is Verdict.DIFFERS for _ in range(1000)
    )
    assert stats.binomtest(differs, 1000, 0.02).pvalue > 0.001
    assert typical("x", 60.0, random.lognormal(size=400)).verdict is Verdict.DIFFERS


def test_the_range_of_a_typical_draw_is_the_one_it_is_judged_by():
    """Few draws: all of them; none is invented between them; what is infinite stays so."""
    few = [7.0, 8.0, 9.0, 16.0]
    assert typical("x", 15.9, few).verdict is Verdict.MET
    assert typical("x", 15.9, few, of="starts").note == "4 starts, all within 7 … 16"
    assert typical("x", 16.1, few).verdict is Verdict.DIFFERS
    assert typical("x", 9.0, [*few, np.inf, np.inf]).note == "6 repetitions, all within 7 … ∞"
    many = 1000.0 + np.arange(1.0, 201.0)
    assert typical("x", 1002.0, many).verdict is typical("x", 1199.0, many).verdict is Verdict.MET
    assert typical("x", 1001.0, many).verdict is typical("x", 1200.0, many).verdict is Verdict.DIFFERS
    assert typical("x", 1002.0, many).note == "200 repetitions, 98 % within 1002 … 1199"


def test_values_read_well():
    assert [text_of(v) for v in (None, True, False, "±45°", -1.76e-43, np.inf, -np.inf, np.nan)] == [
        "–",
        "yes",
        "no",
        "±45°",
        "−1.76e−43",
        "∞",
        "−∞",
        "not a number",
    ]


def test_minus_signs():
    assert typeset("-0.6 rad, 10^-40, 1e-05, (-3 … -2), 16-21, x-axis, Σ^-1/2, --jobs 2") == (
        "−0.6 rad, 10^−40, 1e−05, (−3 … −2), 16-21, x-axis, Σ^−1/2, --jobs 2"
    )


# -- runs ------------------------------------------------------------------------------------------------------------


def first(effort: Effort) -> tuple[Part, ...]:
    repeated = effort.pick(10, 100)
    plot = Plot("cond", np.arange(3.0), "r", "cond", (Line("random", np.array([3.0, 2.0, 1.0])),))
    table = DataTable(
        "table-1", "As data", ("r", "cond", "kept"), ((np.int64(15), np.float64(53.0), np.True_), (20, None, "a | b"))
    )
    findings = (
        at_most("cond | norm", 53.0, 21.0, TERMS, f"{repeated} starts"),
        claim("it holds", False, "it does not"),
    )
    return (Part("Table 1", "One table", "Seed 0.", findings, (table,), (plot,), "They differ."),)


def second(effort: Effort) -> tuple[Part, ...]:
    return (Part("Figure 2", "One figure", "Seed 1.", (shown("peak [rad]", 1.5),)),)


TWO = Paper("rackl-2012", "A. Author: A Title. 2012.", "About.", (Study("a", 1.0, first), Study("b", 9.0, second)))


@pytest.fixture
def two(monkeypatch):
    for user in ("exciter_papers.run", "exciter.commands.reproduce"):
        monkeypatch.setattr(f"{user}.paper", lambda name: TWO)


def test_long_studies_begin_first_and_parts_keep_their_order(two):
    begun = []
    (found,) = reproduce(["rackl-2012"], quick=True, progress=begun.append)
    assert begun == ["rackl-2012 b", "rackl-2012 a"]
    assert [part.item for part in found.parts] == ["Table 1", "Figure 2"]
    assert found.to_list()[0] == {
        "paper": "rackl-2012",
        "item": "Table 1",
        "quantity": "cond | norm",
        "published": 53.0,
        "reached": 21.0,
        "verdict": "beaten",
        "note": f"10 starts; {TERMS.words}",
        "criterion": TERMS.words,
    }


def test_ctrl_c_leaves_papers_that_are_complete(two, monkeypatch, tmp_path, capsys):
    def interrupted(effort):
        raise KeyboardInterrupt

    broken = Paper("swevers-1997-asme", "", "", (Study("c", 1.0, interrupted),))
    for user in ("exciter_papers.run", "exciter.commands.reproduce"):
        monkeypatch.setattr(f"{user}.paper", lambda name: broken if name == broken.name else TWO)
    monkeypatch.setattr("exciter.commands.reproduce.NAMES", ("rackl-2012", broken.name))
    with pytest.raises(SystemExit) as left:
        main(["reproduce", "--json", "--jobs", "1", "-o", str(tmp_path / "out")])
    assert left.value.code == 130
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "interrupted" in printed.err
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".html", ".json", ".csv"}
    with pytest.raises(SystemExit):
        main(["reproduce", "swevers-1997-asme", "--jobs", "1", "-o", str(tmp_path / "nothing")])
    assert not (tmp_path / "nothing").exists()


def test_everything_is_written(two, tmp_path, capsys):
    folder = tmp_path / "out"
    with pytest.raises(SystemExit) as left:
        main(["reproduce", "rackl-2012", "--quick", "--jobs", "1", "-o", str(folder)])
    assert left.value.code == 0
    assert "1 beaten" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {
        "rackl-2012.md",
        "rackl-2012-appendix.md",
        "rackl-2012.html",
        "rackl-2012.json",
        "rackl-2012.table-1.csv",
    }
    with (folder / "rackl-2012.table-1.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["r", "cond", "kept"], ["15", "53.0", "True"], ["20", "", "a | b"]]
    data = json.loads((folder / "rackl-2012.json").read_text())
    assert data["tables"][0]["rows"][0] == [15, 53.0, True]
    assert data["parts"][0]["set_up"] == "Seed 0."
    page = (folder / "rackl-2012.md").read_text()
    assert "quick run" in page
    assert "| Table 1 | One table | 1 beaten, 1 differs |" in page
    assert "](rackl-2012-appendix.md)" in page
    assert (
        r"| cond \| norm | 53 | 21 | beaten | 10 starts; criterion of both: cond(A)"
        in (folder / "rackl-2012-appendix.md").read_text()
    )
    assert "| Figure 1 | a drawing of the arm" in (folder / "rackl-2012-appendix.md").read_text()
    report = (folder / "rackl-2012.html").read_text()
    for words in (
        "One table",
        "They differ.",
        "Seed 0.",
        "it does not",
        "As data",
        "exciter reproduce rackl-2012 --quick",
    ):
        assert words in report


def test_json_is_printed_and_nothing_written(two, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["reproduce", "rackl-2012", "--json", "--jobs", "1"])
    found = json.loads(capsys.readouterr().out)
    assert {"paper", "item", "quantity", "published", "reached", "verdict"} <= set(found[0])
    assert not list(tmp_path.iterdir())


def test_unknown_papers_are_told(capsys):
    with pytest.raises(SystemExit) as left:
        main(["reproduce", "gautier"])
    assert left.value.code == 2
    assert "gautier-khalil-1992" in capsys.readouterr().err
    with pytest.raises(ExciterError, match="rackl-2012"):
        paper("gautier")


# -- the papers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_papers_are_complete(name):
    """Every study has a test file that runs it."""
    found = paper(name)
    assert found.name == name
    assert found.citation
    assert found.about
    keys = [study.key for study in found.studies]
    assert len(set(keys)) == len(keys)
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob(f"test_reproduce_{FOLDERS[name]}*.py"))
    assert re.search(r"for study in paper\(.*\)\.studies", tests) or all(f'"{key}"' in tests for key in keys)
