"""The numbered examples are documentation: each must run as it stands, quietly."""

import ast
import runpy
import sys

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.slow

MOST_LINES = 40
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))


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


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_fits_on_a_screen_and_needs_the_front_door_only(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in nodes}
    assert modules <= {"exciter", "numpy", *sys.stdlib_module_names}
    assert "import exciter as ex" in text
