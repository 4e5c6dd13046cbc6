"""Results on disk: everything comes back, nothing but results is made, damage is told in one line."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from exciter.archive import archived, unarchived
from exciter.errors import ExciterError
from exciter.identification.information.compressed import ResidualSizes
from exciter.notes import Note, Severity, warning
from exciter.robot import load

ARRAY = np.arange(6.0).reshape(2, 3)


def back(value, tmp_path, **known):
    path = tmp_path / "kept.npz"
    path.write_bytes(archived(value, known))
    return unarchived(path, known)


def test_everything_comes_back_as_it_was(tmp_path):
    value = {
        "plain": [None, True, 3, 10**400, 0.1, -math.inf, "text", Path("a/b")],
        "tuple": (1, (2.0, "x")),
        "frozen": MappingProxyType({"k": 1.5, 2: "by number"}),
        "array": ARRAY,
        "flags": np.array([True, False]),
        "words": np.array(["a", "bc"]),
        "note": warning("spikes", "three of them", "joint_1", "log.csv", count=3),
    }
    found = back(value, tmp_path)
    assert found["plain"] == value["plain"]
    assert found["tuple"] == value["tuple"]
    assert isinstance(found["frozen"], MappingProxyType)
    assert found["frozen"] == value["frozen"]
    for name in ("array", "flags", "words"):
        assert found[name].dtype == value[name].dtype
        assert np.array_equal(found[name], value[name])
        assert not found[name].flags.writeable
    assert found["note"] == value["note"]
    assert found["note"].severity is Severity.WARNING
    assert math.isnan(back(math.nan, tmp_path))


def test_what_is_met_twice_is_kept_once_and_known_objects_are_not_kept(tmp_path):
    robot = load("tx40")
    first, again, known = back((ARRAY, ARRAY, robot), tmp_path, robot=robot)
    assert first is again
    assert known is robot
    assert len(np.load(tmp_path / "kept.npz").files) == 2  # the tree and one array


def test_an_object_of_somebody_else_is_kept_as_its_text(tmp_path):
    class Own:
        def __str__(self) -> str:
            return "my own estimator"

    assert back([Own()], tmp_path) == ["my own estimator"]


@pytest.mark.parametrize("name", ["os:system", "exciter.errors:ExciterError", "exciter.files:staged", "exciter.no:X"])
def test_nothing_but_results_is_made(name, tmp_path):
    tree = json.dumps({"class": name, "number": 0, "fields": {}}).encode()
    np.savez(tmp_path / "bad.npz", tree=np.frombuffer(tree, dtype=np.uint8))
    with pytest.raises(ExciterError, match=r"damaged, or of another version|which is not known here"):
        unarchived(tmp_path / "bad.npz")


def test_damage_is_told_in_one_line(tmp_path):
    path = tmp_path / "kept.npz"
    whole = archived({"a": ARRAY, "b": Note(Severity.NOTE, "a", None, "b")})
    for content in (b"", b"PK", whole[: len(whole) // 2], whole[:-40]):
        path.write_bytes(content)
        with pytest.raises(ExciterError, match="is damaged"):
            unarchived(path)
    with pytest.raises(ExciterError, match="there is no"):
        unarchived(tmp_path / "nothing.npz")
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("tree.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n")
    with pytest.raises(ExciterError, match="is damaged"):
        unarchived(path)


def test_fields_that_another_version_has_are_told(tmp_path):
    tree = json.dumps(
        {"class": f"{ResidualSizes.__module__}:ResidualSizes", "number": 0, "fields": {"colour": 1}}
    ).encode()
    np.savez(tmp_path / "new.npz", tree=np.frombuffer(tree, dtype=np.uint8))
    with pytest.raises(ExciterError, match="of another version"):
        unarchived(tmp_path / "new.npz")
