"""Friction that grows with a load of known links and springs, and torque that repeats every turn, in whole models."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import yaml

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.torque_limits_and_bounds import torque_range
from exciter.identification.closed_loop.closed_loop import forward_kernel
from exciter.parameters import terms as t
from exciter.parameters.identifiability import identifiability
from exciter.parameters.terms import joint_terms
from exciter.parameters.terms.term import Ranges
from exciter.robot import Motion, load
from exciter.settings import written
from exciter.settings.write import listed
from support.certificates import fourier
from support.robots import states

ROBOT = load("kuka-ir361")
JOINTS = ROBOT.joint_names
GAS = t.GasSpring(JOINTS[1], base_arm=0.8, link_arm=0.2, offset=1.66, volume=1e-3, area=1e-3)
SINE = t.GravitySpring(JOINTS[2], offset=0.4)
SPRINGS = ((GAS, -900.0), (SINE, (60.0, -25.0)))
LINKS = np.random.default_rng(3).standard_normal((ROBOT.n, 10)) + 3.0


def relieved(**settings: Any) -> t.LoadFriction:
    return t.LoadFriction(t.Tanh(0.2), links=LINKS, springs=SPRINGS, **settings)


# -- the load -------------------------------------------------------------------------------------------------------


def test_the_load_is_the_torque_of_a_model_with_these_links_and_springs() -> None:
    """Another model, whose χ holds the links and the springs' values, says what the gears carry."""
    motion = states(ROBOT, 30)
    carrying = DynamicModel(ROBOT, (GAS, SINE))
    tau = carrying.torque(motion, [*LINKS.ravel(), -900.0, 60.0, -25.0])
    column = DynamicModel(ROBOT, (relieved(),)).regressor(motion)[:, :, 10 * ROBOT.n :]
    expected = np.tanh(motion.qd / 0.2) * np.abs(tau)
    np.testing.assert_allclose(np.einsum("Njj->Nj", column), expected, rtol=1e-11, atol=1e-11)
    assert (tau[:, 1:] != DynamicModel(ROBOT).torque(motion, LINKS.ravel())[:, 1:]).all()  # the springs matter
    two = DynamicModel(ROBOT, (relieved(joints=(JOINTS[2], JOINTS[0])),)).bound[0].values(motion)
    np.testing.assert_allclose(two, expected.T[[2, 0]], rtol=1e-11, atol=1e-11)


def test_links_of_the_description_change_nothing() -> None:
    model = DynamicModel(ROBOT, (t.LoadFriction(),))
    own = model.nominal[: 10 * ROBOT.n].reshape(-1, 10)
    same = DynamicModel(ROBOT, (t.LoadFriction(links=own),))
    motion = states(ROBOT, 10)
    np.testing.assert_allclose(same.regressor(motion), model.regressor(motion), rtol=1e-12, atol=1e-12)


def test_pullback_in_a_model() -> None:
    model = DynamicModel(ROBOT, (relieved(),))
    motion = states(ROBOT, 6)
    rng = np.random.default_rng(0)
    seed = rng.standard_normal(motion.q.shape)
    chi = np.r_[np.zeros(10 * ROBOT.n), rng.uniform(0.1, 0.3, ROBOT.n)]
    gradient = model.torque_pullback(motion, seed, chi)
    for name in ("q", "qd", "qdd"):
        direction, step = rng.standard_normal(motion.q.shape), 1e-6
        sides = []
        for sign in (1.0, -1.0):
            arrays = {"q": motion.q, "qd": motion.qd, "qdd": motion.qdd}
            arrays[name] = arrays[name] + sign * step * direction
            sides.append((seed * model.torque(Motion(motion.time, **arrays), chi)).sum())
        exact = (getattr(gradient, name) * direction).sum()
        np.testing.assert_allclose((sides[0] - sides[1]) / (2 * step), exact, rtol=1e-6)


def test_a_certificate_bounds_the_torque_with_the_given_load() -> None:
    """Dense samples stay within the range, and come near it: the load is neither the description's nor unrelieved."""
    model = DynamicModel(ROBOT, (relieved(),))
    chi = np.r_[np.zeros(10 * ROBOT.n), np.full(ROBOT.n, 0.2)]
    curve = fourier(ROBOT.n, 5, size=1.0)
    start, fraction = np.linspace(0.1, 4.0, 40), np.linspace(0.0, 1.0, 9)
    spans = Spans.of(curve, np.zeros(40, dtype=int), start, start + 1e-3)
    low, high = torque_range(model, chi, spans)
    tau = model.torque(curve.motion((start[:, None] + 1e-3 * fraction).ravel()), chi).T.reshape(ROBOT.n, 40, 9)
    assert (low <= tau.min(axis=2)).all()
    assert (tau.max(axis=2) <= high).all()
    assert np.median((high - low) / np.abs(tau).max(axis=(1, 2))[:, None]) < 0.05


def test_ranges_of_sine_cosine_and_offset_are_tight() -> None:
    q = np.random.default_rng(1).uniform(-4.0, 4.0, (ROBOT.n, 200))
    width = np.random.default_rng(2).uniform(0.0, 3.0, q.shape)
    still = np.zeros_like(q)
    ranges = Ranges(q, q + width, still, still, still, still)
    inside = Motion.at((q[..., None] + width[..., None] * np.linspace(0, 1, 200)).reshape(ROBOT.n, -1).T)
    for term in (t.Ripple(), t.GravitySpring(JOINTS[1], 0.7), t.Offset()):
        bound = term.bind(ROBOT)
        values = bound.values(inside).reshape(len(bound.rows), 200, 200)
        low, high = bound.value_range(ranges, lambda links=None: (still, still))
        np.testing.assert_allclose(values.min(axis=2), low, atol=2e-4)
        np.testing.assert_allclose(values.max(axis=2), high, atol=2e-4)
        assert (low <= values.min(axis=2) + 1e-14).all()
        assert (values.max(axis=2) <= high + 1e-14).all()


# -- settings -------------------------------------------------------------------------------------------------------


def test_equal_settings_are_equal_whatever_they_are_given_as() -> None:
    one = relieved()
    two = t.LoadFriction(t.Tanh(0.2), None, LINKS.tolist(), [list(pair) for pair in SPRINGS])  # type: ignore[arg-type]
    assert one == two
    assert hash(one) == hash(two)
    assert one != relieved(joints=(JOINTS[0],))
    assert one != t.LoadFriction(t.Tanh(0.2), links=LINKS + 1e-12, springs=SPRINGS)
    assert one.smoothed(0.1) == one
    assert isinstance(one.links, tuple)
    assert {type(x) for row in one.links for x in row} == {float}
    assert t.LoadFriction(springs=((GAS, (3.0,)),)) == t.LoadFriction(springs=((GAS, 3.0),))


@pytest.mark.parametrize(
    "terms",
    [
        (t.Ripple(),),
        (t.Ripple((JOINTS[0], JOINTS[2])), t.Offset()),
        (t.LoadFriction(), t.Viscous()),
        (relieved(joints=(JOINTS[1],)), t.LoadFriction(t.Dahl(1e-3), joints=(JOINTS[0],), links=LINKS / 3.0)),
        (t.LoadFriction(springs=((t.Ripple((JOINTS[0],)), (0.1, 1e-7)),)),),
    ],
    ids=["ripple", "ripple of two", "load", "load of links and springs", "load of a ripple"],
)
def test_words_give_the_same_model_again(terms: tuple[t.JointTerm, ...]) -> None:
    words = written(terms)
    for text in (json.loads(json.dumps(words, allow_nan=False)), yaml.safe_load(yaml.safe_dump(words))):
        again = joint_terms(text, ROBOT, "terms")
        assert again == terms
    motion = states(ROBOT, 5)
    exact = DynamicModel(ROBOT, terms).regressor(motion)
    np.testing.assert_array_equal(DynamicModel(ROBOT, again).regressor(motion), exact)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: t.LoadFriction(links=LINKS[:, :9]), "links 1 is .*; give a list of 10 numbers"),
        (lambda: t.LoadFriction(links=LINKS.ravel()), "links 1 is .*; give a list of 10 numbers"),
        (lambda: t.LoadFriction(links=((1.0,) * 10, (1.0,))), r"links 2 is \[1.0\]; give a list of 10"),
        (lambda: t.LoadFriction(links="own"), "links is 'own'; give a list"),
        (lambda: t.LoadFriction(links=np.where(LINKS[1, 4] == LINKS, np.nan, LINKS)), "links 2 is nan; give a number"),
        (lambda: DynamicModel(ROBOT, (t.LoadFriction(links=LINKS[:2]),)), "has 2 rows, but robot .* has 3 bodies"),
        (lambda: t.LoadFriction(springs=GAS), "springs 1 is GasSpring.*; give a mapping"),
        (lambda: t.LoadFriction(springs=((GAS, 1.0, 2.0),)), "springs 1 is .*; give a mapping"),
        (lambda: t.LoadFriction(springs=(("gas", 1.0),)), "springs 1: term is 'gas'; allowed are spring"),
        (lambda: t.LoadFriction(springs=((GAS, np.inf),)), "springs 1: value is inf; give a number"),
        (lambda: t.LoadFriction(springs=((GAS, "strong"),)), "springs 1: value is 'strong'; give"),
        (lambda: t.LoadFriction(springs=((GAS, np.ones((2, 2))),)), "springs 1: value is .*; give a number"),
        (lambda: DynamicModel(ROBOT, (t.LoadFriction(springs=((SINE, 1.0),)),)), "has 1 values for Gs3, Gc3"),
        (lambda: DynamicModel(ROBOT, (t.LoadFriction(springs=((GAS, (1.0, 2.0)),)),)), "has 2 values for Fg2"),
        (
            lambda: DynamicModel(ROBOT, (t.LoadFriction(springs=((t.Viscous(), (1.0,) * 3),)),)),
            "have Viscous, which is",
        ),
    ],
)
def test_bad_settings_are_refused_in_one_line(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("springs", "words"),
    [
        (3, "springs 1 is 3; give a mapping with some of the keys term, value"),
        ([{"term": "ripple"}], "springs 1 has no value; give a number, or a list"),
        ([{"term": "glue", "value": 1.0}], "springs 1: term is 'glue'; allowed are spring, gravity-spring"),
        (
            [{"term": {"ripple": {"joints": [JOINTS[0]]}}, "value": ["a", "b"]}],
            "springs 1: value is 'a'; give a number",
        ),
    ],
)
def test_bad_words_are_refused_in_one_line(springs: Any, words: str) -> None:
    with pytest.raises(ExciterError, match=words) as caught:
        joint_terms([{"load-friction": {"springs": springs}}], ROBOT, "terms")
    assert "\n" not in str(caught.value)


# -- ripple in a model -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ur10e", "panda"])
def test_offset_and_ripple_are_identifiable_together(name: str) -> None:
    """Alone on every joint but the second, the first with a horizontal axis, where weight has the same shape."""
    robot = load(name)
    model = DynamicModel(robot, (t.Viscous(), t.Coulomb(), t.Offset(), t.Ripple()))
    assert model.base.decision.is_clear
    found = identifiability(model.dynamics.robot, model.base)
    for j in range(1, robot.n + 1):
        assert found.verdict(f"off{j}").status == "identifiable"
        for symbol in ("Rs", "Rc"):
            assert found.verdict(f"{symbol}{j}").status == ("combination" if j == 2 else "identifiable")
    assert "weight also gives a sine of the angle of joint 2" in found.verdict("Rs2").reason
    without = DynamicModel(robot, (t.Viscous(), t.Coulomb(), t.Offset()))
    assert len(model.base) == len(without.base) + 2 * (robot.n - 1)


def test_the_closed_loop_is_simulated_with_ripple_beside_a_spring() -> None:
    """q̈ of the simulation, put into the model, needs the torque that was given."""
    terms = (t.GravitySpring(JOINTS[2], 0.4), t.Ripple(), t.Offset())
    model = DynamicModel(ROBOT, terms)
    rng = np.random.default_rng(4)
    q, qd, torque = rng.uniform(-1.5, 1.5, (3, ROBOT.n))
    chi = np.r_[model.nominal[: 10 * ROBOT.n], rng.standard_normal(len(model.standard) - 10 * ROBOT.n)]
    found, (kernel, arm) = np.empty(ROBOT.n), forward_kernel(model, chi)
    assert kernel.look(arm, q, qd, torque, 1e-3, found)
    np.testing.assert_allclose(model.torque(Motion.at(q[None], qd[None], found[None]), chi)[0], torque, atol=1e-9)


def test_reports_tell_it_in_words() -> None:
    told = listed((t.Ripple(), relieved(), t.LoadFriction(links=np.ones((6, 10)))))
    assert told.startswith("torque that repeats every turn, friction that grows with the load (shape: tanh")
    assert "springs: gas spring, −900, gravity spring, 60, −25)" in told
    assert told.endswith("friction that grows with the load (links: 60 values)")
