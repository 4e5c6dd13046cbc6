"""Designs for some of the parameters: words, what is known, what is estimated along, a load; and that it pays."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import exciter as ex
from exciter.dynamics.load_effect import load_effect, visible_load
from exciter.dynamics.model import DynamicModel, random_motion
from exciter.errors import ExciterError
from exciter.excitation.criteria.chosen_parameters import TWO_RUNS, ChosenParameters
from exciter.excitation.criteria.criterion import DesignObjective, ReducedInformation, evaluate
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.trajectories.trajectory import motion
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import load
from exciter.settings import fill, written


def model_of(name: str) -> DynamicModel:
    return DesignSettings().model(load(name))


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("robot", "words", "expected"),
    [
        ("lwr4", ("gravity",), 12),  # ranks of Rackl's robot
        ("lwr4", ("inertia",), 31),
        ("lwr4", ("links",), 43),
        ("lwr4", ("friction",), 14),
        ("kuka-ir361", ("friction",), {"Fv1", "Fv2", "Fv3", "Fs1", "Fs2", "Fs3"}),
        ("kuka-ir361", ("Fv*", "ZZR1"), {"Fv1", "Fv2", "Fv3", "ZZR1"}),
        ("kuka-ir361", ("joint_3",), {"XXR3", "XY3", "XZ3", "YZ3", "ZZ3", "MX3", "MY3", "Fv3", "Fs3"}),
        ("tx40", ("rotor",), {"Ia3", "Ia4", "Ia5", "Ia6"}),
    ],
)
def test_words_mean_parameters(robot, words, expected):
    model = model_of(robot)
    columns, _ = ChosenParameters(words).columns(model)
    assert columns.names == model.base.names  # all are unknown
    found = columns.of_interest
    assert len(found) == expected if isinstance(expected, int) else set(found) == expected
    assert sorted((*found, *columns.beside)) == sorted(model.base.names)
    alone, _ = ChosenParameters(words, ("others",)).columns(model)
    assert alone.names == found
    assert alone.nuisance is None
    assert sorted((*alone.names, *alone.known)) == sorted(model.base.names)


def test_gravity_is_what_acts_at_rest():
    """Whatever the robot: horizontal axes only, or no gravity at all; offsets act at rest, and are no gravity."""
    model = DynamicModel(load("gautier-khalil"), (Viscous(), Offset()))
    columns, _ = ChosenParameters(("inertia",), ("gravity",)).columns(model)
    assert columns.known == ("MXR2", "MY2", "MX3", "MY3")
    assert columns.beside == ("Fv1", "Fv2", "Fv3", "off1", "off2", "off3")
    floating = DynamicModel(model.robot.with_gravity((0, 0, 0)), ())
    with pytest.raises(ExciterError, match="no base parameter of this model is meant by gravity"):
        ChosenParameters(("gravity",)).columns(floating)
    assert len(ChosenParameters(("inertia",)).columns(floating)[0].of_interest) == len(floating.base)


@pytest.mark.parametrize(
    "given", ["friction", ["friction", "ZZ*"], {"of": "inertia", "known": ["gravity"]}, "inertia,Fv*"]
)
def test_settings_are_read_as_they_were_written(given):
    settings = fill(DesignSettings, {"parameters": given}, "here")
    again = fill(DesignSettings, json.loads(json.dumps(settings.to_dict())), "here")
    assert again.parameters == settings.parameters
    assert fill(ChosenParameters, written(settings.parameters), "here") == settings.parameters


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("frction", "parameters: unknown parameter or word 'frction'; .*did you mean 'friction'"),
        ("rotor", "no base parameter of this model is meant by rotor"),
        ({"of": "friction", "known": "Fv1"}, "Fv1 is chosen and known"),
        ({"of": ["payload", "friction"]}, "choose it alone"),
        ({"of": "payload", "known": "friction"}, "needs earlier motions without it"),
        ({"of": "friction", "frame": "tool"}, "it goes with of: payload"),
        ({"of": []}, "parameters are none"),
        ({"known": "gravity"}, "has no of"),
    ],
)
def test_what_cannot_be_chosen_is_refused(given, message):
    with pytest.raises(ExciterError, match=message):
        fill(DesignSettings, {"parameters": given}, "here").columns_of(model_of("kuka-ir361"))


# -- what is told about them -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [(), ("gravity",), ("others",)], ids=["nothing", "gravity", "others"])
@pytest.mark.parametrize("with_prior", [False, True], ids=["alone", "prior"])
def test_figures_are_those_of_the_covariance(known, with_prior):
    """log det, σ and condition number from the block of a dense inverse; known ones are left out of W and of H₀."""
    model = model_of("kuka-ir361")
    moved, rng = random_motion(model.robot, 200), np.random.default_rng(1)
    w = model.regressor(moved)[:, :, model.base.independent].reshape(-1, len(model.base))
    root = rng.standard_normal((5, len(model.base))) * np.linalg.norm(w, axis=0)
    prior = root.T @ root if with_prior else None
    columns, of_columns = ChosenParameters(("inertia",), known).columns(model, prior)
    kept = [model.base.names.index(name) for name in columns.names]
    every = np.vstack([w, root])[:, kept] if with_prior else w[:, kept]
    own = [columns.names.index(name) for name in columns.of_interest]
    covariance = np.linalg.inv(every.T @ every)[np.ix_(own, own)]
    found = evaluate(model, moved, 1.0, columns, prior=of_columns)
    assert found.names == columns.of_interest
    assert_allclose(found.predicted_std, np.sqrt(covariance.diagonal()), rtol=1e-6)
    assert found.log_det == pytest.approx(-np.linalg.slogdet(covariance)[1], rel=1e-9)
    assert found.condition_number == pytest.approx(np.sqrt(np.linalg.cond(covariance)), rel=1e-5)
    objective = DesignObjective(model, DOptimality(), columns, np.ones(3), prior=of_columns)
    assert objective.value(moved) == pytest.approx(-found.log_det, rel=1e-9)
    assert objective.unexcited(moved) == []


def test_others_need_not_be_determined():
    """A joint that rests: its own parameters are not told, those of the others are, as if it were locked."""
    model = DynamicModel(load("kuka-ir361"), (Viscous(), Coulomb()))
    moving = random_motion(model.robot, 200)
    still = ex_still(moving, 2)
    of_one, _ = ChosenParameters(("Fv1", "Fs1")).columns(model)
    objective = DesignObjective(model, DOptimality(), of_one, np.ones(3))
    assert objective.unexcited(still) == []
    w = model.regressor(still)[:, :, model.base.independent].reshape(-1, len(model.base))
    own = [model.base.names.index(name) for name in of_one.of_interest]
    rest = np.delete(w, own, axis=1)
    left = w[:, own] - rest @ (np.linalg.pinv(rest) @ w[:, own])
    assert objective.value(still) == pytest.approx(-np.linalg.slogdet(left.T @ left)[1], rel=1e-6)
    assert_allclose(
        evaluate(model, still, 1.0, of_one).predicted_std, np.sqrt(np.linalg.inv(left.T @ left).diagonal()), rtol=1e-6
    )
    lost, _ = ChosenParameters(("Fv1", "Fv3")).columns(model)
    told = DesignObjective(model, DOptimality(), lost, np.ones(3))
    assert told.unexcited(still) == ["Fv3"]
    assert told.value(still) == np.inf
    assert np.isinf(evaluate(model, still, 1.0, lost).predicted_std).all()


def ex_still(motion, joint):
    q, qd, qdd = (getattr(motion, part).copy() for part in ("q", "qd", "qdd"))
    q[:, joint], qd[:, joint], qdd[:, joint] = 0.3, 0.0, 0.0
    return type(motion)(motion.time, q, qd, qdd)


def test_what_others_explain_is_not_information():
    """A parameter that is exactly a combination of others: nothing is left but rounding, and that counts as nothing."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((50, 6))
    w[:, 0] = w[:, 3:] @ rng.standard_normal(3)
    reduced = ReducedInformation.of(w.T @ w, np.arange(6) >= 2)
    assert reduced.h[0, 0] == 0.0 < reduced.h[1, 1]
    assert DOptimality()(reduced.h)[0] == np.inf


# -- a load ------------------------------------------------------------------------------------------------------------


def test_a_load_on_a_robot_that_is_known_or_measured_along():
    """Both logs at once, by dense least squares: W (β + A φ) and W β; and an earlier log as prior."""
    model = model_of("panda")
    moved, b = random_motion(model.robot, 200), len(model.base)
    effect = load_effect(model, model.base, model.robot.tool_frame)
    kept, _ = visible_load(effect)
    assert len(kept) == 10
    w = model.regressor(moved)[:, :, model.base.independent].reshape(-1, b)
    known, _ = ChosenParameters(("payload",), ("others",)).columns(model)
    assert known.names[0] == "M of the load"
    scale = 1.0 / np.linalg.norm(np.hstack([w @ effect, w]), axis=0)

    def std(*rows):
        every = np.vstack(rows) * scale[: rows[0].shape[1]]
        return np.sqrt(np.linalg.inv(every.T @ every).diagonal()[:10]) * scale[:10]

    assert_allclose(evaluate(model, moved, 1.0, known).predicted_std, std(w @ effect), rtol=1e-5)
    along, _ = ChosenParameters(("payload",)).columns(model)
    loaded, unloaded = np.hstack([w @ effect, w]), np.hstack([0 * w[:, :10], w])
    both = evaluate(model, moved, 1.0, along).predicted_std
    assert_allclose(both, std(loaded, unloaded), rtol=1e-5)
    assert_allclose(both, std(w @ effect) / TWO_RUNS, rtol=1e-5)
    earlier = model.regressor(random_motion(model.robot, 300, seed=5))[:, :, model.base.independent].reshape(-1, b)
    columns, prior = ChosenParameters(("payload",)).columns(model, earlier.T @ earlier)
    before = np.hstack([np.zeros((len(earlier), 10)), earlier])
    assert_allclose(evaluate(model, moved, 1.0, columns, prior=prior).predicted_std, std(loaded, before), rtol=1e-4)


# -- whole designs -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def designs(tmp_path_factory) -> dict[str, ex.Designed]:
    family, terms = ex.Fourier(period=5, harmonics=3, at_rest=True), (RotorInertia(), Viscous(), Coulomb())
    of = {"all": None, "friction": "friction", "load": ChosenParameters(("payload",), ("others",))}
    return {
        name: ex.design("kuka-ir361", family, parameters=chosen, terms=terms, starts=2, seed=1)
        for name, chosen in of.items()
    }


@pytest.mark.parametrize("name", ["friction", "load"])
def test_a_design_for_some_tells_more_of_them(designs, name):
    """Same robot, limits, duration and starts: log det of the covariance of the chosen ones, and their σ on average."""
    alone, whole = designs[name].design, designs["all"].design
    columns, _ = designs[name].config.parameters.columns(whole.model)
    log = motion(whole.trajectory, whole.delta, whole.trajectory.sample_times(whole.samples))
    by_all = evaluate(whole.model, log, 1.0, columns)
    assert by_all.names == alone.parameters
    assert alone.log_det < -by_all.log_det - 0.02 * len(by_all.names)
    assert np.log(alone.predicted_std / by_all.predicted_std).mean() < -0.02
    assert alone.certificate.certified


def test_files_speak_of_the_chosen_parameters(designs, tmp_path):
    for name, design in designs.items():
        design.save(tmp_path / name)
        data = json.loads((tmp_path / name / "design.json").read_text())
        listed = [one["name"] for one in data["parameters"]]
        assert listed == list(data["predicted_std"]) == list(design.predicted_std)
        assert len({*listed, *data["estimated_along"], *data["known"]}) == len(design.design.model.base) + (
            len(listed) if name == "load" else 0
        )
        opened = ex.open(tmp_path / name)
        assert opened.design.chosen == design.design.chosen
        assert opened.config.parameters == design.config.parameters
    friction = json.loads((tmp_path / "friction" / "design.json").read_text())
    assert [one["unit"] for one in friction["parameters"]] == ["N·m·s/rad"] * 3 + ["N·m"] * 3
    assert friction["settings"]["parameters"] == ["friction"]
    page = (tmp_path / "friction" / "report.html").read_text()
    assert "designed for 6 chosen parameters" in page
    load_data = json.loads((tmp_path / "load" / "design.json").read_text())
    assert {one["nominal"] for one in load_data["parameters"]} == {None}
    assert load_data["parameters"][0]["unit"] == "kg"


def test_a_load_that_is_told_by_two_logs_says_so():
    found = ex.design("kuka-ir361", ex.RandomSpline(duration=5, segments=5), parameters="payload", seed=1)
    assert any("with the load and without it" in one.text for one in found.notes)
    assert found.design.chosen == "for 10 chosen parameters"
    assert np.isfinite(found.design.predicted_std).all()
