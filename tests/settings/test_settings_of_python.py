"""Settings made in Python are checked by the same markers as those of a file, when they are made."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import exciter
import exciter as ex
from exciter.errors import ExciterError
from exciter.excitation.files.trajectory_files import FAMILIES
from exciter.settings import Number, OneOf, Place, Settings, Vector, Whole, fill
from exciter.settings.fill import checked, settings_fields

STRANGE = ("nonsense", -1.5, 0.5, True, [], [1, "x"], {"x": 1}, float("nan"), object(), dict)


def every(cls: type) -> list[type]:
    return [one for sub in cls.__subclasses__() for one in (sub, *every(sub))]


def made() -> list[type]:
    """Every settings class of the package that has defaults for all of its fields."""
    for module in pkgutil.walk_packages(exciter.__path__, "exciter."):
        if not module.name.startswith(("exciter_papers", "exciter.__main__", "exciter.commands")):
            importlib.import_module(module.name)
    found = []
    for cls in sorted(set(every(Settings)), key=lambda cls: f"{cls.__module__}.{cls.__name__}"):
        if cls.__module__.startswith("exciter.") and dataclasses.is_dataclass(cls):
            try:
                cls()
            except (TypeError, ExciterError):
                continue
            found.append(cls)
    return found


def refused(make: Any) -> str | None:
    try:
        make()
    except ExciterError as error:
        return str(error)
    return None


CLASSES = made()


def test_there_are_many():
    assert len(CLASSES) > 60


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_what_a_file_may_not_say_python_may_not_either(cls):
    """Of every key that stands by itself, with values that are wrong for most."""
    apart = (*cls.flat, *cls.called.values())  # a file says these otherwise
    for key in settings_fields(cls):
        for value in () if key in apart else STRANGE:
            by_file = refused(lambda key=key, value=value: fill(cls, {key: value}, "file"))
            by_python = refused(lambda key=key, value=value: cls(**{key: value}))
            assert (by_file is None) == (by_python is None), (key, value, by_file, by_python)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_copy_is_the_same(cls):
    """What was checked once passes again."""
    one = cls()
    again = dataclasses.replace(one)
    for field in dataclasses.fields(cls):
        mine, other = getattr(one, field.name), getattr(again, field.name)
        assert type(mine) is type(other)
        assert np.array_equal(mine, other) if isinstance(mine, np.ndarray) else mine == other or mine is other


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ex.Fourier(period=-1), "Fourier: period is -1; give a number ≥ 0.001, at most 1e+06 [s]"),
        (lambda: ex.Huber(k="a"), "Huber: k is 'a'; give a number > 0"),
        (lambda: ex.IdentifySettings(estimator=ex.Huber), "estimator is the class Huber; give an object of it, Huber("),
        (lambda: ex.IdentifySettings(estimator="hubber"), "didim; did you mean 'huber'?"),
        (lambda: ex.IdentifySettings(estimator=ex.Fourier()), "estimator is Fourier(period=10.0"),
        (lambda: ex.IdentifySettings(folds=2.5), "IdentifySettings: folds is 2.5; give a whole number ≥ 2"),
        (lambda: ex.DesignSettings(trajectory=3), "DesignSettings: trajectory is 3; give MotionSettings(…)"),
        (lambda: ex.DesignSettings(criterion=ex.DOptimality), "criterion is the class DOptimality; give an object"),
        (lambda: ex.DesignSettings(prior="folder"), "DesignSettings: prior is 'folder'; give a list"),
        (lambda: ex.Coulomb(shape=3), "Coulomb: shape is 3; allowed are sign, tanh, dahl"),
        (lambda: ex.WeightedLeastSquares(noise=[1, "b"]), "WeightedLeastSquares: noise is 'b'; give a number > 0"),
        (lambda: ex.load("panda", velocity=True), "velocity is true; give a number"),
        (lambda: ex.load("panda", acceleration={"joint_1": "x"}), "acceleration: joint_1 is 'x'; give a number"),
        (lambda: ex.load("panda", lock=3), "lock is 3; give a list of joints, or a mapping"),
    ],
)
def test_messages(make, said):
    with pytest.raises(ExciterError) as error:
        make()
    assert said in str(error.value)


def test_words_arrays_and_numbers_of_numpy_are_understood():
    settings = ex.IdentifySettings(estimator="huber", dead_zone=np.array([0.1, 0.2]), folds=np.int64(4))
    assert settings == ex.IdentifySettings(estimator=ex.Huber(), dead_zone=(0.1, 0.2), folds=4)
    assert ex.Fourier(np.float64(5), np.array([1, 2, 4]), np.True_) == ex.Fourier(5.0, (1, 2, 4), True)
    assert ex.DesignSettings(criterion="condition", noise=np.float32(0.5)).criterion == ex.ConditionNumber()
    assert ex.DesignSettings(trajectory={"family": "bspline", "segments": 6}).motion == ex.BSpline(segments=6)


def test_an_object_of_ones_own_is_taken_as_it_is():
    class Own(ex.WeightedLeastSquares):
        pass

    own = Own()
    assert ex.IdentifySettings(estimator=own).estimator is own
    with pytest.raises(ExciterError, match="estimator is the class Own; give an object of it"):
        ex.IdentifySettings(estimator=Own)


@pytest.mark.parametrize(
    ("marker", "taken", "refused_values"),
    [
        (Number(least=1.0, most=2.0), (1.0, 2.0), (0.99, 2.01)),
        (Number(above=1.0, below=2.0), (1.01, 1.99), (1.0, 2.0)),
        (Whole(2, 5), (2, 5), (1, 6, 2.0, True)),
        (Place(), ("a", Path("b")), ("", 3)),
        (OneOf(FAMILIES, tag="family", without=("stops",)), ("fourier",), ("stops",)),
        (Vector(2), ((1, 2), [1.0, 2.0]), ((1,), (1, 2, 3), 1.0)),
    ],
)
def test_the_ends_of_what_is_allowed(marker, taken, refused_values):
    for value in taken:
        checked(Annotated[Any, marker], value, "it")
    for value in refused_values:
        with pytest.raises(ExciterError, match=r"^it"):
            checked(Annotated[Any, marker], value, "it")


def test_numbers_of_numpy_inside_lists_and_mappings():
    assert ex.IdentifySettings(noise=list(np.array([1, 2, 3]))).noise == (1.0, 2.0, 3.0)
    assert ex.Fourier(5.0, list(np.array([1, 2, 4]))).harmonics == (1, 2, 4)
    assert ex.load("panda", acceleration={"joint_1": np.int64(5)}).limit("acceleration")[0] == 5.0


def test_a_class_in_a_function_is_checked_as_far_as_it_can_be():
    class Local:
        pass

    @dataclasses.dataclass(frozen=True)
    class Own(ex.Huber):
        more: Local | None = None

    assert Own(more=Local()).k == ex.Huber().k
    with pytest.raises(ExciterError, match="Own: k is -1; give a number > 0"):
        Own(k=-1)
