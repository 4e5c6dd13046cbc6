"""The papers' optimal trajectories: default settings and all limits kept, as good as a prototype or better."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "paper_designs.py"


def cases() -> tuple:
    specification = importlib.util.spec_from_file_location("paper_designs", PATH)
    module = importlib.util.module_from_spec(specification)
    sys.modules["paper_designs"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module.CASES


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_figures_of_the_papers(case):
    figure, certified = case.run(1)
    assert certified
    assert figure <= case.target
