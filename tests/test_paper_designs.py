"""The papers' optimal trajectories: default settings and all limits kept, as good as a prototype or better."""

import pytest

from conftest import benchmark


@pytest.mark.parametrize("case", benchmark("paper_designs").CASES, ids=lambda case: case.name)
def test_figures_of_the_papers(case):
    """Some of the starts of the default settings already get there; benchmarks/paper_designs.py runs them all."""
    figure, certified = case.run(1, case.enough)
    assert certified
    assert figure <= case.target
