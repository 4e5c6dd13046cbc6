"""The numbered examples are documentation: each must run as it stands, quietly."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    """As a script in an empty folder; warnings are errors, as in every test."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert not list(tmp_path.iterdir())


def test_there_are_examples():
    assert [p.name[:2] for p in EXAMPLES] == [f"{k:02d}" for k in range(1, len(EXAMPLES) + 1)]
    assert EXAMPLES
