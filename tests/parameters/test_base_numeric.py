"""Base parameters from regressor rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from exciter.errors import ParameterError
from exciter.parameters import inertial
from exciter.parameters.base import linear_combination, numeric_base, restricted
from exciter.parameters.parameter_names import INERTIA_SYMBOLS, split_name
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import Robot
from support.base_robots import COUNTS, GAUTIER_KHALIL, GAUTIER_KHALIL_EXPRESSIONS, PANDA, regressor_rows, same_space

ROBOTS = pytest.mark.parametrize(("robot", "full", "gravity", "inertia"), COUNTS, ids=lambda x: getattr(x, "name", ""))


def is_inertia(name: str) -> bool:
    return split_name(name)[0] in INERTIA_SYMBOLS


def test_published_groupings_of_gautier_and_khalil() -> None:
    base = numeric_base(regressor_rows(GAUTIER_KHALIL, 20), inertial.names(3))
    assert base.expressions == GAUTIER_KHALIL_EXPRESSIONS
    assert base.names == tuple(text.split(" = ")[0] for text in GAUTIER_KHALIL_EXPRESSIONS)


@ROBOTS
def test_counts(robot: Robot, full: int, gravity: int, inertia: int) -> None:
    names = inertial.names(robot.n)
    rows = regressor_rows(robot, 40)
    base = numeric_base(rows, names)
    assert len(base) == base.inertial_count == full
    assert base.decision.is_clear
    assert base.decision.gap > 1e6
    assert len(numeric_base(regressor_rows(robot, 40, at_rest=True), names)) == gravity
    columns = [i for i, name in enumerate(names) if is_inertia(name)]
    only = numeric_base(rows[:, columns], [names[i] for i in columns])
    assert len(only) == inertia
    assert same_space(restricted(base, only.standard), only)


def test_torques_depend_on_the_base_values_alone() -> None:
    rows = regressor_rows(PANDA, 30)
    base = numeric_base(rows, inertial.names(7))
    fresh = regressor_rows(PANDA, 5, seed=1)
    chi = np.random.default_rng(2).normal(size=70)
    expected = fresh @ chi
    reached = base.project(fresh) @ base.base_values(chi)
    np.testing.assert_allclose(reached, expected, atol=1e-10 * np.abs(expected).max())
    assert np.linalg.matrix_rank(base.project(rows)) == len(base)


def test_units_do_not_matter() -> None:
    """The same columns in grams, millimetres and worse give the same decision and the same columns."""
    rows = regressor_rows(PANDA, 30)
    base = numeric_base(rows, inertial.names(7))
    per_link = np.array([1e-3, *[1e-6] * 3, *[1e-9] * 6])
    unit = np.tile(per_link, 7)
    other = numeric_base(rows * unit, inertial.names(7))
    assert other.independent.tolist() == base.independent.tolist()
    np.testing.assert_allclose(
        other.grouping, base.grouping * unit / unit[base.independent][:, None], rtol=1e-6, atol=1e-12
    )


def test_a_robot_in_millimetres_has_as_many() -> None:
    small = replace(PANDA, joints=tuple(replace(j, translation=j.translation * 1e-3) for j in PANDA.joints))
    base = numeric_base(regressor_rows(small, 30), inertial.names(7))
    assert len(base) == 43
    assert base.decision.is_clear


def test_rotor_inertia_groups_where_only_its_own_joint_turns_the_link() -> None:
    names = (*inertial.names(3), "Ia1", "Ia2", "Ia3")
    base = numeric_base(regressor_rows(GAUTIER_KHALIL, 20, rotor=True), names)
    assert base.expressions[0] == "ZZR1 = ZZ1 + Ia1 + YY2 + YY3 + 0.4 MZ3 + 0.29 M3"
    assert "ZZR2 = ZZ2 + Ia2 + 0.25 M3" in base.expressions
    assert base.names[-1] == "Ia3"
    assert (len(base), base.inertial_count) == (16, 15)


def test_only_what_the_samples_excite() -> None:
    """Torque of joint 1 alone while joint 1 alone moves: one number, the inertia about its axis."""
    rng = np.random.default_rng(0)
    model = to_pinocchio(GAUTIER_KHALIL)
    data = model.createData()
    rows = []
    for _ in range(10):
        qdd = np.array([rng.normal(), 0.0, 0.0])
        rows.append(pin.computeJointTorqueRegressor(model, data, np.zeros(3), 0 * qdd, qdd)[:1].copy())
    base = numeric_base(np.vstack(rows), inertial.names(3))
    # q = 0: link 2 and 3 stretched along x; axis 1 is −y₂ = −y₃, 0.5 m away from frame 3 along x and 0.2 m along z
    assert base.expressions == ("ZZR1 = ZZ1 + YY2 + YY3 + MX3 + 0.4 MZ3 + 0.29 M3",)


def test_doubtful_rank_is_said_in_words() -> None:
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.normal(size=(n, 12)))[0] for n in (40, 12))
    rows = u * np.logspace(0, -15, 12) @ v.T
    base = numeric_base(rows, [f"p{i}" for i in range(12)])
    assert not base.decision.is_clear
    assert "doubtful" in base.decision.words
    assert "; ;" not in base.decision.words
    chosen = numeric_base(rows, base.standard, tolerance=1e-6)
    assert chosen.decision.kept > 1e-6 > chosen.decision.values[len(chosen)]


def test_nothing_excited() -> None:
    base = numeric_base(np.zeros((5, 3)), ["M1", "MX1", "Fv1"])
    assert len(base) == 0
    assert base.expressions == ()
    assert "no parameter" in base.decision.words


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ([(1.0, "ZZ1"), (-1.0, "YY2"), (0.4, "MZ3")], "ZZ1 - YY2 + 0.4 MZ3"),
        ([(-1.0, "M1"), (1.0 + 1e-12, "M2")], "-M1 + M2"),
        ([(1.0, "M1"), (-0.123456789, "M2"), (1e-7, "M3")], "M1 - 0.123457 M2 + 1e-07 M3"),
    ],
)
def test_combinations_read_well(terms: list[tuple[float, str]], text: str) -> None:
    assert linear_combination(terms) == text


def test_same_space_sees_a_difference() -> None:
    rows = regressor_rows(GAUTIER_KHALIL, 20)
    base = numeric_base(rows, inertial.names(3))
    bent = rows.copy()
    bent[:, 20] *= 1.001  # M3, grouped with everything
    assert same_space(base, numeric_base(rows[::-1], inertial.names(3)))
    assert not same_space(base, numeric_base(bent, inertial.names(3)))
    assert not same_space(base, numeric_base(rows[:, :20], inertial.names(2)))


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        (np.ones((4, 3)), ["a", "b"], "2 names"),
        (np.full((4, 2), np.nan), ["a", "b"], "NaN"),
        (np.ones((0, 2)), ["a", "b"], "at least one row"),
    ],
)
def test_bad_rows_are_refused(rows: np.ndarray, names: list[str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        numeric_base(rows, names)


def test_bad_projection_is_refused() -> None:
    base = numeric_base(np.eye(3), ["M1", "MX1", "Fv1"])
    with pytest.raises(ParameterError, match="3 standard parameters"):
        base.project(np.ones((2, 4)))
    with pytest.raises(ParameterError, match="unknown standard parameter 'M9'"):
        restricted(base, ["M9"])
