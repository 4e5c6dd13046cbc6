"""The front door: every name is there, explains itself by an example that runs, and costs nothing until it is used."""

import ast
import doctest
import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import exciter as ex

pytestmark = pytest.mark.slow

STUB = Path(ex.__file__).with_suffix(".pyi")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def stubbed() -> list[str]:
    nodes = [node for node in ast.parse(STUB.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    return [alias.asname for node in nodes for alias in node.names]


def run_examples(text: str, name: str, names: dict) -> dict:
    """Run the examples of a docstring; the names it leaves. What differs is told as doctest tells it."""
    test = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), dict(names), name, None, 0)
    assert test.examples, f"{name} has no example"
    told: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append, clear_globs=False)
    assert not told, "".join(told)
    return test.globs


@pytest.fixture(scope="module")
def story(tmp_path_factory) -> dict:
    """What the example of the package leaves: robot, motion, log, found. The others go on from there."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("story"))
    try:
        return run_examples(ex.__doc__, "exciter", {"np": np})
    finally:
        os.chdir(before)


@pytest.mark.parametrize("name", ex.__all__)
def test_every_name_has_an_example_that_runs(name, story, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_examples(getattr(ex, name).__doc__, name, story)


def test_the_stub_the_listing_and_the_names_are_one():
    assert sorted(stubbed()) == ex.__all__
    assert dir(ex) == sorted([*ex.__all__, "__version__"])
    assert len(set(stubbed())) == len(stubbed())
    for name in ex.__all__:
        assert getattr(ex, name).__name__ == name
    assert isinstance(ex.__version__, str)


def in_a_new_process(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", f"import sys, exciter as ex; {code}"], capture_output=True, text=True)


def test_importing_loads_nothing_that_takes_time():
    heavy = ("numpy", "scipy", "numba", "pinocchio", "pydantic", "yaml", "matplotlib", "pandas")
    ran = in_a_new_process(f"dir(ex); print([name for name in {heavy} if name in sys.modules])")
    assert ran.stdout.strip() == "[]", ran.stderr


def test_a_name_that_is_wrong_is_told_with_the_nearest():
    """By Python itself, from what ``dir`` lists."""
    told = in_a_new_process("ex.desing").stderr.splitlines()[-1]
    assert told == "AttributeError: module 'exciter' has no attribute 'desing'. Did you mean: 'design'?"


def test_what_is_typed_at_a_prompt_is_answered_in_a_few_lines(story):
    """A result holds arrays and other results; its repr is for people."""
    robot, motion, log = story["robot"], story["motion"], story["log"]
    made = [ex.check(robot, motion), ex.simulate(robot, motion), ex.base(robot), ex.inspect(robot, log)]
    for thing in (robot, motion, log, story["found"], *made):
        assert len(str(thing)) < 2000, type(thing).__name__
        assert "array(" not in str(thing), type(thing).__name__


def test_plain_values_are_checked_as_those_of_a_file(story):
    """A height of the ground that were not understood would be no ground: nothing is left out silently."""
    robot = story["robot"]
    grounds = [ex.ConstraintSettings(ground=height).constraints(robot)[-1].obstacles[0] for height in (None, -0.8)]
    assert [ground.offset for ground in grounds] == [robot.ground, -0.8]
    for wrong, told in (({"torque": "high"}, "torque is 'high'"), ({"self_collision": 3}, "self_collision is 3")):
        with pytest.raises(ex.ExciterError, match=told):
            ex.ConstraintSettings(**wrong)
    for wrong, told in (({"starts": 0}, "starts is 0"), ({"criterion": "best"}, "criterion is 'best'")):
        with pytest.raises(ex.ExciterError, match=told):
            ex.design(robot, **wrong)
    assert ex.design(robot, ex.RandomPoints(points=3), criterion="condition").config.criterion == ex.ConditionNumber()
    for wrong, told in (({"folds": 1}, "folds is 1"), ({"terms": ["sticky"]}, "terms 1 is 'sticky'")):
        with pytest.raises(ex.ExciterError, match=told):
            ex.identify(robot, story["log"], **wrong)


def test_correlation_is_the_covariance_of_errors_in_their_own_size(story):
    found = story["found"]
    correlation, std = np.asarray(found.correlation), found.parameters.std
    assert correlation * np.outer(std, std) == pytest.approx(np.asarray(found.covariance))
    assert correlation.diagonal() == pytest.approx((std > 0.0).astype(float))
