"""Arrays with names and units, and notes."""

import numpy as np
import pytest

from exciter import labelled
from exciter.errors import ExciterError
from exciter.labelled import Labelled, Parameter, Table
from exciter.notes import done, grouped, note, problem, warning

TIME = np.array([0.0, 0.1, 0.2])
TORQUE = Labelled("torque", np.arange(6.0).reshape(3, 2), ("a", "b"), ("N·m", "N"), TIME, "time [s]")
ROWS = Table(
    Parameter(f"Fv{k}", 1.0 + k, 0.1, "N·m·s/rad", 10.0, (0.8, 1.2), "fair", f"Fv{k}", 1.0 + 10 * k, k > 0)
    for k in range(3)
)


def test_an_array_knows_its_names_and_units():
    assert np.array_equal(TORQUE["b"], [1.0, 3.0, 5.0])
    assert np.array_equal(np.asarray(TORQUE), TORQUE.values)
    assert TORQUE.headings == ("a [N·m]", "b [N]")
    with pytest.raises(ExciterError, match="unknown column 'c'; valid names: a, b"):
        TORQUE["c"]
    assert "<th>b [N]</th>" in TORQUE._repr_html_()


def test_parameters_iterate_and_index_by_name():
    assert [one.name for one in ROWS] == ["Fv0", "Fv1", "Fv2"]
    assert ROWS["Fv1"].value == ROWS[1].value == 2.0
    assert isinstance(ROWS[:2], Table)
    assert np.array_equal(ROWS.values, [1.0, 2.0, 3.0])
    with pytest.raises(ExciterError, match="unknown parameter 'Fv9'"):
        ROWS["Fv9"]
    assert "<td>Fv2</td>" in ROWS._repr_html_()
    assert "N·m·s/rad" in repr(ROWS)


def test_pandas_has_the_same_names_and_numbers():
    pandas = pytest.importorskip("pandas")
    frame = TORQUE.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.index.name == "time [s]"
    assert np.array_equal(frame["a [N·m]"], TORQUE["a"])
    table = ROWS.to_pandas()
    assert table.loc["Fv2", ["value", "upper", "status", "ratio_to_best"]].tolist() == [3.0, 1.2, "fair", 21.0]
    assert table["poor_by_ratio"].tolist() == [False, True, True]


def test_pictures_are_one_line():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    axes = TORQUE.plot("b")
    assert axes.get_xlabel() == "time [s]"
    assert axes.get_ylabel() == "[N]"
    assert np.array_equal(axes.lines[0].get_ydata(), TORQUE["b"])
    assert ROWS.plot().get_ylabel() == "relative standard deviation [%]"
    square = Labelled("covariance", np.eye(2), ("a", "b"), ("", ""), ("a", "b"), "parameter")
    assert [label.get_text() for label in square.plot().get_yticklabels()] == ["a", "b"]
    pyplot.close("all")


def test_a_library_that_is_missing_is_named_with_its_command(monkeypatch):
    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(labelled.importlib, "import_module", missing)
    with pytest.raises(ExciterError, match=r"needs pandas.*pip install 'exciter\[notebook\]'"):
        TORQUE.to_pandas()


def test_notes_are_data_until_they_are_shown():
    said = warning("spikes", "three samples", "joint_2", "log.csv", count=3)
    assert str(said) == "log.csv: spikes of joint_2: three samples"
    plain = {"severity": "warning", "subject": "spikes", "joint": "joint_2", "text": "three samples"}
    assert said.to_dict() == {**plain, "log": "log.csv", "numbers": {"count": 3}}
    assert str(note("gravity", "leans")) == "gravity: leans"
    groups = grouped([done("filter", "10 Hz"), said, warning("spikes", "one", "joint_3", "log.csv"), problem("a", "b")])
    assert [len(group) for group in groups] == [1, 2, 1]
    assert groups[1][1].joint == "joint_3"
