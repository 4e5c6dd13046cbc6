"""The notebooks are documentation for people: each runs as it stands, shows pictures, and is kept without outputs."""

import json

import nbformat
import pytest
from nbclient import NotebookClient

from support.paths import ROOT

pytestmark = pytest.mark.slow

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


@pytest.fixture(scope="module")
def run_books(tmp_path_factory):
    """All notebooks one after the other in one kernel, emptied between them, each in a folder of its own: a start of a
    kernel with all that it imports takes as long as a notebook. (cells, folder) by name."""
    folders = {path.stem: tmp_path_factory.mktemp(path.stem) for path in NOTEBOOKS}
    whole, parts = nbformat.v4.new_notebook(), {}
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        whole.cells += [nbformat.v4.new_code_cell(f"%reset -f\n%cd -q {folders[path.stem]}"), *cells]
        parts[path.stem] = cells, folders[path.stem]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        NotebookClient(whole, kernel_name="python3", timeout=PATIENCE).execute()
    return parts


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_shows_pictures_and_tables(path, run_books):
    """In an empty folder, which stays so; pictures are drawn without a screen."""
    cells, folder = run_books[path.stem]
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert "image/png" in kinds
    assert "text/html" in kinds
    warnings = [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    assert not warnings
    assert not list(folder.iterdir())
