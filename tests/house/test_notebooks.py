"""The notebooks are documentation for people: each runs as it stands, shows pictures, and is kept without outputs."""

import json

import nbformat
import pytest
from nbclient import NotebookClient

from support.paths import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
PATIENCE = 300  # [s] for a cell, which may compile


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} == {
        "comparing_estimators",
        "first_steps",
        "your_own_criterion_and_friction",
        "your_own_log",
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_without_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert cells[0]["cell_type"] == "markdown"
    for cell in cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_shows_pictures_and_tables(path, tmp_path, monkeypatch):
    """In an empty folder, which stays so; pictures are drawn without a screen."""
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, kernel_name="python3", timeout=PATIENCE, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert "image/png" in kinds
    assert "text/html" in kinds
    warnings = [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    assert not warnings
    assert not list(tmp_path.iterdir())
