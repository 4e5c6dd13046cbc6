"""Sizes of parameters for weighted criteria: of every embedded robot, by name, and never zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import exciter as ex
from exciter.dynamics.model import DynamicModel, random_motion
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.criteria.a_priori_sizes import USUAL_SIZE_FLOOR, nominal_sizes, possible_sizes
from exciter.excitation.criteria.chosen_parameters import ChosenParameters
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import AOptimality, ScaledCondition
from exciter.excitation.criteria.weighted_sums import ConditionAndTorque, bound
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.parameters.terms import Coulomb, Offset, Viscous
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.settings import fill

FAMILY = Fourier()


@pytest.mark.parametrize("name", embedded.names())
@pytest.mark.parametrize("criterion", [ScaledCondition(), ConditionAndTorque(), AOptimality({})], ids=lambda c: c.word)
def test_weighted_criteria_work_on_every_robot(name, criterion):
    """[12.15] and its kin by hand, with values of the description that are not less than the floor makes of them; the
    gradient along a random direction by differences."""
    model = DesignSettings().model(load(name))
    at = random_motion(model.robot, 300)
    made = bound(criterion, model, FAMILY)
    objective = DesignObjective(model, made, model.base.independent, np.ones(model.n))
    value, gradient = objective.value_and_gradient(at)
    z = nominal_sizes(model)
    nominal = np.abs(model.base.base_values(model.nominal))
    assert (z >= nominal).all()
    assert_allclose(z[z > nominal], USUAL_SIZE_FLOOR * possible_sizes(model)[z > nominal])
    w = model.regressor(at)[:, :, model.base.independent].reshape(-1, len(z))
    scaled = np.linalg.cond(w * z)
    expected = {
        ScaledCondition: scaled,
        ConditionAndTorque: scaled + 1.0 / np.abs(model.torque(at)).mean(axis=0).sum(),
        AOptimality: (np.linalg.norm(np.linalg.pinv(w) / z[:, None], axis=1) ** 2).sum(),
    }
    assert value == pytest.approx(expected[type(criterion)], rel=1e-4)
    direction, h = np.random.default_rng(1).standard_normal(at.qdd.shape), 1e-4
    up, down = (objective.value_and_gradient(replace(at, qdd=at.qdd + sign * h * direction))[0] for sign in (1, -1))
    assert np.vdot(gradient.qdd, direction) == pytest.approx((up - down) / (2.0 * h), rel=1e-4)


def test_a_size_is_what_bodies_allow():
    """Bodies of random points: no first moment or product of inertia is larger than what is called possible."""
    rng = np.random.default_rng(0)
    model = DynamicModel(load("gautier-khalil"), ())
    for _ in range(20):
        chi = []
        for _ in range(3):
            points, mass = rng.standard_normal((6, 3)) * rng.uniform(0.0, 1.0, 3), rng.uniform(0.1, 2.0, 6)
            second = (mass[:, None, None] * points[:, :, None] * points[:, None, :]).sum(axis=0)
            i = np.trace(second) * np.eye(3) - second
            chi += [mass.sum(), *(mass @ points), i[0, 0], i[0, 1], i[1, 1], i[0, 2], i[1, 2], i[2, 2]]
        with_values = DynamicModel(model.robot, ())
        vars(with_values)["nominal"] = np.array(chi)  # what a description with these bodies has
        assert (possible_sizes(with_values) >= np.abs(model.base.base_values(chi)) * (1 - 1e-12)).all()


def test_a_size_is_no_larger_than_bodies_allow():
    """It is reached by a mass in one point: on the axis by a first moment, between two axes by a product of inertia."""
    model = DynamicModel(load("gautier-khalil"), ())
    diagonal = np.sqrt(0.5)
    for point, name in (((1, 0, 0), "MX3"), ((0, 1, 0), "MY3"), ((diagonal, diagonal, 0), "XY3"),
                        ((diagonal, 0, diagonal), "XZ3"), ((0, diagonal, diagonal), "YZ3")):  # fmt: skip
        x, y, z = at = 0.3 * np.array(point)
        i = (at @ at) * np.eye(3) - np.outer(at, at)
        of_link = 7.0 * np.array([1.0, x, y, z, i[0, 0], i[0, 1], i[1, 1], i[0, 2], i[1, 2], i[2, 2]])
        chi = np.concatenate([model.nominal[:20], of_link])
        with_values, k = DynamicModel(model.robot, ()), model.base.names.index(name)
        vars(with_values)["nominal"] = chi
        assert possible_sizes(with_values)[k] == pytest.approx(abs(model.base.base_values(chi)[k]), rel=1e-12)


def test_the_usual_floor_is_what_an_identified_robot_shows():
    """Parameters of the KUKA IR 361 that symmetric links would not have, over what they could be."""
    model = DesignSettings().model(load("kuka-ir361"))
    share = np.abs(model.base.base_values(model.nominal)) / possible_sizes(model)
    of = dict(zip(model.base.names, share, strict=True))
    small = [of[name] for name in ("XY2", "XZR2", "MXR2", "MY2", "XY3", "XZ3", "MX3")]
    assert 0.5 * USUAL_SIZE_FLOOR < min(small) < np.median(small) < max(small) < 5.5 * USUAL_SIZE_FLOOR


def test_what_a_description_says_nothing_of_has_a_size():
    """Friction: the median of its kind; without any, what makes the torque of the joint."""
    robot = load("gautier-khalil")  # it declares no friction
    model = DynamicModel(robot, (Viscous(), Offset()))
    sizes = dict(zip(model.base.names, possible_sizes(model), strict=True))
    motion = random_motion(robot, 200)
    torque = np.sqrt((model.torque(motion) ** 2).mean(axis=0))
    assert_allclose([sizes[f"off{k}"] for k in (1, 2, 3)], torque)
    speed = np.sqrt((motion.qd**2).mean(axis=0))
    assert_allclose([sizes[f"Fv{k}"] for k in (1, 2, 3)], torque / speed)
    tx40 = DynamicModel(load("tx40"), (Viscous(), Coulomb()))
    nominal = tx40.nominal.copy()
    nominal[tx40.standard.index("Fs2")] = 0.0
    vars(tx40)["nominal"] = nominal
    others = [nominal[tx40.standard.index(f"Fs{k}")] for k in (1, 3, 4, 5, 6)]
    assert possible_sizes(tx40)[tx40.base.names.index("Fs2")] == pytest.approx(np.median(others))


def test_sizes_are_given_by_name():
    model = DesignSettings().model(load("kuka-ir361"))
    usual = dict(zip(model.base.names, nominal_sizes(model), strict=True))
    data = {"criterion": {"condition-scaled": {"values": {"Fv*": 5.0, "Fv2": -7.0, "XY2": 0.02}}}}
    found = fill(DesignSettings, data, "here").criterion_of(model).values
    wanted = usual | {"Fv1": 5.0, "Fv2": 7.0, "Fv3": 5.0, "XY2": 0.02}
    assert dict(zip(model.base.names, found, strict=True)) == pytest.approx(wanted)
    columns, _ = ChosenParameters(("friction",)).columns(model)
    few = fill(DesignSettings, {"criterion": "condition-scaled"}, "here").criterion_of(model, columns=columns)
    assert few.values == tuple(usual[name] for name in columns.of_interest)


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        ({"condition-scaled": {"values": {"Fx1": 1.0}}}, "unknown parameter 'Fx1'"),
        ({"condition-scaled": {"values": {"XY2": 0}}}, "values: XY2 is 0; give a number other than zero"),
        ({"condition-torque": {"floor": -1}}, "floor is -1"),
        (
            {"condition-torque": {"floor": 0}},
            "XY2 is 0 in the description, and so is the floor: give values, or a floor",
        ),
        ({"a-optimal": {"scale": 3}}, "scale is 3; give a list of numbers"),
    ],
)
def test_sizes_that_cannot_be_are_refused(criterion, message):
    with pytest.raises(ExciterError, match=message):
        fill(DesignSettings, {"criterion": criterion}, "here").criterion_of(DesignSettings().model(load("tx40")))
    with pytest.raises(ParameterError, match="bind the criterion to a model"):
        ScaledCondition({"XY2": 1.0})(np.eye(3))


def test_a_design_by_rackls_criterion_on_rackls_robot():
    """(15) of the motion by hand; random ones of the family that move the joints as far are far worse."""
    found = ex.design("lwr4", ex.Fourier(period=4, harmonics=2), criterion="condition-torque", starts=1).design
    assert found.certificate.certified
    model, family = found.model, found.trajectory
    sizes, times = nominal_sizes(model), family.sample_times(400)

    def value(delta):
        at = motion(family, delta, times)
        w = model.regressor(at)[:, :, model.base.independent].reshape(-1, len(sizes))
        return np.linalg.cond(w * sizes) + 1.0 / np.abs(model.torque(at)).mean(axis=0).sum()

    assert found.value == pytest.approx(value(found.delta), rel=1e-4)
    rng, others = np.random.default_rng(0), []
    for _ in range(10):
        drawn = rng.standard_normal((model.n, family.free.shape[1])) @ family.free.T
        lengths = [np.linalg.norm(one, axis=1, keepdims=True) for one in (found.delta, drawn)]
        others.append(value(drawn * lengths[0] / lengths[1]))
    assert found.value < 0.5 * min(others)
