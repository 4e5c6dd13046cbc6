"""The one mechanism of settings: what it accepts, how it refuses, and that what it writes it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
import yaml

from exciter.errors import ExciterError
from exciter.identification.identify_config import IdentifySettings
from exciter.robot import load
from exciter.settings import (
    ByName,
    Names,
    Number,
    OneOf,
    OneWord,
    PerJointNumber,
    Place,
    Positive,
    Registry,
    Settings,
    Switch,
    Text,
    Vector,
    Whole,
    fill,
    written,
    yaml_text,
)
from exciter.settings.fill import json_schema


@dataclass(frozen=True)
class Smooth(Settings):
    """A shape that needs a width."""

    word: ClassVar[str] = "smooth"
    width: Positive


@dataclass(frozen=True)
class Sharp(Settings):
    word: ClassVar[str] = "sharp"


SHAPES = Registry[Settings]("shape", Smooth, Sharp)


@dataclass(frozen=True)
class Friction(Settings):
    word: ClassVar[str] = "friction"
    joints: Names | None = None
    shape: Annotated[Settings, OneOf(SHAPES)] = field(default_factory=Sharp)
    size: Annotated[Any, PerJointNumber(above=0.0, unit="N·m")] = 1.0


@dataclass(frozen=True)
class Wave(Settings):
    word: ClassVar[str] = "wave"
    tag: ClassVar[str] = "family"
    period: Annotated[float, Number(above=0.0, unit="s")] = 10.0

    def __post_init__(self) -> None:
        if self.period > 50.0:
            raise ExciterError("a wave is at most 50 s long")


@dataclass(frozen=True)
class Region(Settings):
    robot: Any
    frame: str
    centre: Annotated[tuple[float, float, float], Vector(3, "m")] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Run(Settings):
    careful: Switch = False
    count: Annotated[int, Whole(1, 5)] = 2


JOINT_LIMIT = ByName(Number(infinite=True), what="joint", all=True)


@dataclass(frozen=True)
class Named(Settings):
    """Values by name, a file, and something that no file gives."""

    inner: ClassVar[tuple[str, ...]] = ("shelf",)
    limits: Annotated[Any, ByName(ByName(Number(infinite=True), what="joint", all=True), ("low", "high"), "limit")] = (
        None
    )
    lock: Annotated[Any, ByName(Number(unit="rad"), what="joint", listed=0.0)] = None
    file: Annotated[Path | None, Place("a log")] = None
    shelf: object = None


@dataclass(frozen=True)
class Sized(Settings):
    """Fields that a file calls otherwise, and words for a switch and for nothing."""

    called: ClassVar[dict[str, str]] = {"outside": "side", "width": "breadth"}
    outside: Annotated[bool, OneWord(("in", "out"), (False, True))] = False
    width: Annotated[float | None, Number(open="none")] = 1.0


TERMS = Registry[Settings]("term", Friction)
WAVES = Registry[Settings]("wave", Wave)


@dataclass(frozen=True)
class Whole_(Settings):
    flat: ClassVar[tuple[str, ...]] = ("run", "more")
    terms: tuple[Annotated[Settings, OneOf(TERMS)], ...] = ()
    motion: Annotated[Settings, OneOf(WAVES, tag="family", usual="wave")] = field(default_factory=Wave)
    weight: Annotated[float | None, Number(open="auto")] = None
    run: Run = field(default_factory=Run)
    other: Run | None = None
    more: Sized | None = None


KEYS = "terms, motion, weight, careful, count, other, side, breadth"
GOOD: tuple[Any, ...] = (
    None,
    {"terms": ["friction", {"friction": {"shape": {"smooth": {"width": "1e-2"}}}}]},
    {"motion": {"period": 4}},
    {"motion": "wave", "weight": "auto", "count": 3, "other": {"careful": True}},
    {"weight": None, "other": {"count": None}},
    {"side": "out", "breadth": "none", "count": 3},
    {"terms": [{"friction": {"size": {"a": 1.0}, "joints": ["a", "b"]}}]},
)


@pytest.mark.parametrize("given", GOOD)
def test_what_is_written_is_read_as_the_same(given):
    settings = fill(Whole_, given, "f.yaml")
    assert fill(Whole_, written(settings), "again") == settings
    assert fill(Whole_, yaml.safe_load(yaml_text(written(settings))), "again") == settings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            3,
            f"f.yaml is 3; give a mapping with some of the keys {KEYS}",
        ),
        (
            {"zz": 1},
            f"f.yaml: unknown key 'zz'; valid names: {KEYS}",
        ),
        ({"terms": "x"}, "f.yaml: terms is 'x'; give a list, each entry behind a '-'"),
        ({"terms": ["x"]}, "f.yaml: terms 1 is 'x'; allowed are friction"),
        (
            {"terms": [{"friction": {"shape": "smooth"}}]},
            "terms 1: friction: shape: smooth has no width; give a number",
        ),
        ({"terms": [{"friction": {"shape": {"sharp": {"a": 1}}}}]}, "sharp takes no settings; write sharp alone"),
        ({"terms": [{"friction": {"size": {"a": 0}}}]}, "size is 0; give a number > 0 [N·m]"),
        ({"motion": {"family": "wav"}}, "f.yaml: motion: family is 'wav'; allowed are wave"),
        ({"motion": {"periode": 1}}, "f.yaml: motion: unknown key 'periode'; valid names: period; did you mean"),
        ({"motion": {"period": True}}, "f.yaml: motion: period is true; give a number > 0 [s]"),
        ({"motion": {"period": 60}}, "f.yaml: motion: a wave is at most 50 s long"),
        ({"motion": {"period": float("nan")}}, "f.yaml: motion: period is nan; give a number"),
        ({"weight": "much"}, "f.yaml: weight is 'much'; give a number, or auto"),
        ({"careful": 1}, "f.yaml: careful is 1; give true or false"),
        ({"count": 6}, "f.yaml: count is 6; give a whole number ≥ 1, at most 5"),
        ({"other": {"counts": 1}}, "f.yaml: other: unknown key 'counts'; valid names: careful, count; did you mean"),
        ({"side": "up"}, "f.yaml: side is 'up'; allowed are in, out"),
        ({"outside": True}, "f.yaml: unknown key 'outside'; valid names: "),
        ({"other": 1}, "f.yaml: other is 1; give a mapping with some of the keys careful, count"),
    ],
)
def test_a_message_has_the_path_what_was_given_and_what_is_allowed(given, said):
    with pytest.raises(ExciterError) as error:
        fill(Whole_, given, "f.yaml")
    assert said in str(error.value)


def test_values_by_name_and_paths_are_read_with_their_names_in_messages():
    made = fill(Named, {"limits": {"low": inf, "high": {7: "1e3"}}, "lock": ["a"], "file": "b"}, "f", folder=Path("c"))
    assert made == Named({"low": inf, "high": {"7": 1000.0}}, {"a": 0.0}, Path("c") / "b")
    assert fill(Named, written(made), "again") == made
    assert written(Named(shelf=3)) == {}
    for given, said in (
        ({"limits": {"lo": 1}}, "f: limits: unknown limit 'lo'; valid names: low, high; did you mean 'low'?"),
        ({"limits": {"low": {"a": float("nan")}}}, "f: limits: low: a is nan; give a number"),
        ({"lock": {"a": inf}}, "f: lock: a is inf; give a number [rad]"),
        ({"lock": {"a": None}}, "f: lock: a is missing; give a number [rad]"),
        ({"lock": 3}, "f: lock is 3; give a list of joints, or a mapping (joint: value)"),
        ({"file": 3}, "f: file is 3; give the path of a log"),
        ({"shelf": 3}, "f: unknown key 'shelf'; valid names: limits, lock, file"),
    ):
        with pytest.raises(ExciterError) as error:
            fill(Named, given, "f")
        assert str(error.value).startswith(said)
    assert "shelf" not in json_schema(Named)["properties"]


def test_the_robot_comes_from_the_reader_and_is_no_setting():
    robot = load("tx40")
    region = fill(Region, {"frame": "flange"}, "f.yaml", robot=robot)
    assert region.robot is robot
    assert written(region) == {"frame": "flange"}
    with pytest.raises(ExciterError, match="unknown key 'robot'; valid names: frame, centre"):
        fill(Region, {"frame": "flange", "robot": 1}, "f.yaml", robot=robot)


def test_numbers_of_joints_are_those_of_the_robot():
    robot = load("tx40")
    for given, said in (([1.0], "has 1 numbers; the robot has 6 joints"), ({"x": 1.0}, "unknown joint 'x'")):
        with pytest.raises(ExciterError, match=said):
            fill(Whole_, {"terms": [{"friction": {"size": given}}]}, "f.yaml", robot=robot)


def test_keys_and_words_of_a_file_are_those_that_are_written():
    settings = fill(Whole_, {"side": "out", "breadth": "none"}, "f.yaml")
    assert settings.more == Sized(True, None)
    assert written(settings) == {"side": "out", "breadth": "none"}
    assert written(Whole_()) == {}


def test_arrays_are_written_as_lists():
    assert written({"a": np.arange(2.0), "b": (np.float64(1.0), 2)}) == {"a": [0.0, 1.0], "b": [1.0, 2]}


def test_an_array_in_place_of_settings_is_refused_in_one_line():
    """NumPy refuses to say whether it is empty; a user is told what was wrong all the same."""
    with pytest.raises(ExciterError, match=r"^configuration is .*nonnegative.*array"):
        fill(IdentifySettings, {"estimator": {"nonnegative": np.array([1.0, 2.0])}}, "configuration")


def test_the_schema_describes_what_is_accepted():
    schema = json_schema(Whole_)
    assert list(schema["properties"]) == ["terms", "motion", "weight", "other", "careful", "count", "side", "breadth"]
    assert schema["additionalProperties"] is False
    words = schema["properties"]["terms"]["items"]["anyOf"]
    assert words[0] == {"enum": ["friction"]}
    motion = schema["properties"]["motion"]["anyOf"][0]
    assert motion["properties"]["family"] == {"const": "wave"}
    assert motion["properties"]["period"]["exclusiveMinimum"] == 0.0


def test_a_word_names_one_class():
    with pytest.raises(ExciterError, match="the shape 'sharp' is Sharp; choose another word"):
        SHAPES.add(type("Another", (Sharp,), {"__module__": __name__}))


# -- what a section can do beside holding its keys --------------------------------------------------------------------


@dataclass(frozen=True)
class Steps(Settings):
    count: Annotated[int, Whole(1)] = 2


@dataclass(frozen=True)
class Times(Settings):
    """Its times can be given by their number."""

    word: ClassVar[str] = "times"
    tag: ClassVar[str] = "family"
    also: ClassVar[type[Settings]] = Steps
    complete: ClassVar[bool] = True
    times: tuple[Annotated[float, Number()], ...]
    label: Annotated[str | None, Text()] = None

    @classmethod
    def spelled(cls, given: Any, context: Any) -> Any:
        rest = dict(given)
        count = rest.pop("count", None)
        return rest if "times" in rest else {**rest, "times": list(range(fill(Steps, {"count": count}, "x").count))}


MOTIONS = Registry[Settings]("motion", Wave, Times)


@dataclass(frozen=True)
class Plan(Settings):
    flat: ClassVar[tuple[str, ...]] = ("motion", "shape")
    inner: ClassVar[tuple[str, ...]] = ("own",)
    shape: Annotated[Settings, OneOf(SHAPES)]
    motion: Annotated[Settings, OneOf(MOTIONS, tag="family", usual="wave")] = field(default_factory=Wave)
    rate: Positive = 1.0
    own: Any = None


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"sharp": {}}, Plan(Sharp())),
        ({"smooth": {"width": 2}, "period": 3, "rate": 4}, Plan(Smooth(2.0), Wave(3.0), 4.0)),
        (
            {"sharp": None, "smooth": {"width": 1}, "family": "times", "count": 3},
            Plan(Smooth(1.0), Times((0.0, 1.0, 2.0))),
        ),
    ],
)
def test_choices_can_stand_flat_in_a_section(given, made):
    assert fill(Plan, given, "x") == made
    assert fill(Plan, written(made), "again") == made
    keys = json_schema(Plan)["properties"]
    assert set(keys) == {"smooth", "sharp", "family", "period", "times", "label", "count", "rate"}
    assert keys["family"] == {"enum": ["wave", "times"]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rate": 2}, "x has none of smooth, sharp; give one"),
        ({"smooth": {"width": 0}}, "x: smooth: width is 0; give a number > 0"),
        ({"smooth": {"width": 1}, "sharp": {}}, "allowed are smooth, sharp"),
        ({"sharp": {}, "period": -1}, "x: period is -1; give a number > 0"),
        ({"sharp": {}, "count": 1}, "x: unknown key 'count'; valid names: smooth, sharp, family, period, rate"),
        (
            {"sharp": {}, "family": "times", "period": 1},
            "smooth, sharp, family, times, label, count, rate",
        ),
        ({"sharp": {}, "family": "circle"}, "x: family is 'circle'; allowed are wave, times"),
        ({"sharp": {}, "own": 1}, "x: unknown key 'own'"),
    ],
)
def test_a_flat_choice_is_told_as_if_its_keys_were_the_section_s_own(given, said):
    with pytest.raises(ExciterError) as error:
        fill(Plan, given, "x")
    assert said in str(error.value)


def test_what_is_complete_is_written_with_its_defaults_and_what_is_hidden_is_not():
    assert written(Plan(Sharp(), own=3)) == {"sharp": {}, "family": "wave"}
    assert written(Times((1.0,))) == {"family": "times", "times": [1.0]}
    assert written(Times((0.0, 1.0), "a")) == {"family": "times", "times": [0.0, 1.0], "label": "a"}
    assert "required" not in json_schema(Times) or not json_schema(Times)["required"]
