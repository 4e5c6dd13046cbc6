"""What the automatic settings hold on to beside the links: small offsets, and a base that may lean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.recording import About, Recording
from exciter.identification.automatic import Automatic, choose_automatically
from exciter.identification.estimators.physical import Prior
from exciter.identification.identify_config import IdentifyConfig
from exciter.identification.information.compressed import Score
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import StandardEquations
from exciter.identification.physical.prior_values import Described
from exciter.identification.runs.run import Run
from exciter.identification.selection import prior_and_tilt_choice
from exciter.identification.selection.cross_validated_trial import Trial
from exciter.identification.selection.friction_candidates import freest_terms
from exciter.identification.selection.prior_and_tilt_choice import (
    LARGEST_TILT_RAD,
    OFFSET_SIGMAS,
    PRIOR_WEIGHTS,
    choose_offset,
    choose_prior_weight,
    choose_tilt,
)
from exciter.parameters.terms import Coulomb, Offset, Viscous
from exciter.robot import load
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.robot.stated_gravity import ExactGravity
from support.robots import smooth_motion

pytestmark = pytest.mark.slow

TERMS = (Viscous(), Coulomb(), Offset())
TIME = np.arange(1500) / 150
NOISE = 0.01  # of each joint's torque
WEIGHT = 10.0


@cache
def arm() -> Robot:
    return load("ur10e")


def leaning(degrees: float) -> np.ndarray:
    angle = np.radians(degrees)
    return 9.81 * np.array([np.sin(angle) * np.cos(0.7), np.sin(angle) * np.sin(0.7), -np.cos(angle)])


def run_of(robot: Robot, motion: Motion, offset: float = 0.0, seed: int = 1) -> Run:
    """Torques of a robot whose bodies are the description's, all 10 % heavier, with noise; offset: of joints 2 and 3,
    over their torque."""
    model = DynamicModel(robot, TERMS)
    chi = model.nominal.copy()
    chi[: model.inertial_size] *= 1.1
    torque = model.torque(motion, chi)
    size = np.sqrt((torque**2).mean(axis=0))
    torque[:, 1:3] += offset * size[1:3]
    torque += NOISE * size * np.random.default_rng(seed).standard_normal(torque.shape)
    return Run.at(motion, torque, 150.0)


def trial_of(run: Run, robot: Robot | None = None) -> Trial:
    return Trial(Problem(DynamicModel(robot or arm(), TERMS), (run,)), Described())


# -- offsets -----------------------------------------------------------------------------------------------------------


def little_motion(middle: float) -> Motion:
    """Joints 2 and 3 move a little about a posture: over so little way weight is nearly a constant."""
    motion = smooth_motion(arm(), TIME, 3)
    scale = np.where(np.isin(np.arange(arm().n), [1, 2]), 0.05, 1.0)
    at = np.where(np.isin(np.arange(arm().n), [1, 2]), middle, 0.0)
    return Motion(motion.time, at + scale * motion.q, scale * motion.qd, scale * motion.qdd)


def test_offsets_are_held_near_zero_and_elsewhere_predictions_profit() -> None:
    trial = trial_of(run_of(arm(), little_motion(-0.5)))
    offset, choice = choose_offset(trial, 0.1, trial.noise(1e-3))
    assert offset == OFFSET_SIGMAS[0]
    assert "3 %" in choice.value
    elsewhere = little_motion(-1.3)
    model = trial.problem.model
    truth = DynamicModel(arm(), TERMS).torque(elsewhere, np.append(1.1 * model.nominal[:60], model.nominal[60:]))
    errors = []
    for part in (None, offset):
        found = Prior(values=Described(), weight=0.1, offset=part).estimate(trial.problem)
        errors.append(float(((model.torque(elsewhere, found.standard) - truth) ** 2).mean()) ** 0.5)
    assert errors[1] < 0.5 * errors[0]


def test_offsets_that_are_there_stay() -> None:
    run = run_of(arm(), smooth_motion(arm(), TIME, 5), offset=0.3)
    trial = trial_of(run)
    offset, _ = choose_offset(trial, WEIGHT, trial.noise(1e-3))
    assert offset is None or offset >= 0.03
    found = Prior(values=Described(), weight=WEIGHT, offset=offset).estimate(trial.problem)
    values = dict(zip(found.names, found.values, strict=True))
    free = Prior(values=Described(), weight=WEIGHT).estimate(trial.problem)
    assert values["off2"] == pytest.approx(dict(zip(free.names, free.values, strict=True))["off2"], rel=0.05)


def test_spread_of_offsets_is_a_part_of_the_torque() -> None:
    problem = trial_of(run_of(arm(), smooth_motion(arm(), TIME, 5))).problem
    equations = StandardEquations.of(problem)
    reference = Described().reference(equations).with_small_offsets(equations, 0.1)
    names = problem.model.standard[60:]
    assert reference.spread is not None
    expected = [0.1 * equations.signal[int(n[3:]) - 1] if n.startswith("off") else np.inf for n in names]
    assert_allclose(reference.spread, expected)
    assert "10 %" in reference.notes[-1].text


def test_a_part_of_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="give a number > 0"):
        Prior(offset=0.0)


# -- gravity -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [0.4, 1.2])
def test_a_base_that_leans_is_found(degrees: float) -> None:
    run = run_of(arm().with_gravity(leaning(degrees)), smooth_motion(arm(), TIME, 5))
    trial = trial_of(run)
    gravity, choice = choose_tilt(trial, WEIGHT, trial.noise(1e-3))
    assert gravity is not None
    assert np.linalg.norm(gravity) == pytest.approx(9.81)
    assert np.degrees(np.arccos(gravity @ leaning(degrees) / 9.81**2)) < 0.15
    assert "clearly better" in choice.reason


@pytest.mark.parametrize("degrees", [0.0, 4.0, 10.0])
def test_upright_stays_upright_and_far_is_not_believed(degrees: float) -> None:
    """Four degrees are no error of mounting: whoever mounts a robot so knows it."""
    assert np.radians(4.0) > LARGEST_TILT_RAD
    run = run_of(arm().with_gravity(leaning(degrees)), smooth_motion(arm(), TIME, 5))
    trial = trial_of(run)
    gravity, choice = choose_tilt(trial, WEIGHT, trial.noise(1e-3))
    assert gravity is None
    assert choice.value == "as described"


def test_where_the_parabola_has_no_lowest_point_the_best_one_tried_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior_and_tilt_choice, "_lowest", lambda *_: None)
    trial = trial_of(run_of(arm().with_gravity(leaning(0.7)), smooth_motion(arm(), TIME, 5)))
    gravity, choice = choose_tilt(trial, WEIGHT, trial.noise(1e-3))
    assert gravity is not None, choice.reason
    assert np.degrees(np.arccos(gravity @ leaning(0.7) / 9.81**2)) < 0.3  # steps of ½, ¼ and ⅛ degree


def test_friction_that_the_model_misses_is_no_lean() -> None:
    """Dry friction that falls with the speed, much of it: judged beside friction that may, gravity stays."""
    motion = smooth_motion(arm(), TIME, 5)
    run = run_of(arm(), motion)
    (part,) = run.parts  # type: ignore[misc]
    falling = np.abs(part.torque).mean(axis=0) * 0.2 * np.sign(motion.qd) * np.exp(-((motion.qd / 0.1) ** 2))
    wrong = Run.at(motion, part.torque + falling, part.rate)
    model = DynamicModel(arm(), freest_terms(TERMS))
    free, plain = (Trial(Problem(one, (wrong,)), Described()) for one in (model, DynamicModel(arm(), TERMS)))
    assert choose_tilt(free, WEIGHT, free.noise(1e-3))[0] is None
    assert free.noise(1e-3)[1] < 0.5 * plain.noise(1e-3)[1]  # what the plain model leaves for a lean to explain


def test_a_joint_of_next_to_no_torque_does_not_decide_the_weight() -> None:
    """A prior of which the last joint, of a thousandth of the torque, wants nothing, and all others all."""
    trial = trial_of(run_of(arm(), smooth_motion(arm(), TIME, 5)))
    sizes = trial.problem.compressed.rms
    noise = np.maximum(0.01 * sizes, 1e-12)
    small = int(np.argmin(sizes))

    @dataclass(frozen=True)
    class Judged:
        """Scores of fits that miss the small joint by 1e-4 of the largest torque, times √λ."""

        problem: Problem = trial.problem

        def scores(self, weights: np.ndarray, unit: np.ndarray) -> list[Score]:
            found = []
            for weight in weights:
                off = np.where(np.arange(len(sizes)) == small, 1e-4 * sizes.max() * weight**0.5 / 5.6, 0.0)
                squares = np.tile((noise**2 + off**2) / unit**2, (10, 1)) * (1.0 + 0.2 / weight)
                found.append(Score(100.0 * squares, np.full((10, len(sizes)), 100.0)))
            return found

    tiny = noise.copy()
    tiny[small] = 1e-6 * sizes.max()
    weight, _ = choose_prior_weight(Judged(), tiny)  # type: ignore[arg-type]
    assert weight == PRIOR_WEIGHTS[0]


def test_other_mountings_lean_too() -> None:
    """About gravity as it is described, whatever its direction."""
    wall = arm().with_gravity([-9.81, 0.0, 0.0])
    leans = wall.with_gravity(9.81 * np.array([-np.cos(0.02), 0.0, np.sin(0.02)]))
    trial = trial_of(run_of(leans, smooth_motion(arm(), TIME, 5)), wall)
    gravity, _ = choose_tilt(trial, WEIGHT, trial.noise(1e-3))
    assert gravity is not None
    assert_allclose(gravity, leans.gravity, atol=0.03)


def chosen(configured: object = None, **about: object) -> Automatic:
    """Of a log of a robot that leans by 1.2°, friction as given; configured: gravity, as settings have it."""
    motion = smooth_motion(arm(), TIME, 5)
    torque = run_of(arm().with_gravity(leaning(1.2)), motion).parts[0].torque  # type: ignore[index]
    recording = Recording(arm().joint_names, motion.time, motion.q, torque=torque, about=About(**about))  # type: ignore[arg-type]
    runs = (replace(Run.at(motion, torque, 150.0), recording=recording),)
    data = {"terms": ["viscous", "coulomb", "offset"], "identify": {"route": {"cutoff": 20}, "friction": "as-given"}}
    if configured is not None:
        data["gravity"] = configured
    return choose_automatically(IdentifyConfig.of(data, "test"), arm(), runs, lambda _: runs)


def test_the_robot_stands_as_was_found_and_settings_say_so() -> None:
    found = chosen()
    assert found.config.robot.gravity is not None
    assert_allclose(found.config.robot.gravity, leaning(1.2), atol=0.03)
    assert_allclose(found.robot.gravity, found.config.robot.gravity)
    again = IdentifyConfig.of(found.config.to_dict(), "again")
    assert again.robot.gravity == pytest.approx(found.config.robot.gravity)
    assert [one.setting for one in found.choices].count("gravity") == 1


DOWN = [0.0, 0.0, -9.81]


@pytest.mark.parametrize(
    ("configured", "about"),
    [
        ({"exactly": DOWN}, {}),
        (None, {"gravity": {"exactly": DOWN}}),
        (DOWN, {"gravity": ExactGravity(DOWN)}),
        ([0.0, 0.5, -9.8], {"gravity": DOWN}),  # which of them is right?
    ],
)
def test_gravity_that_is_given_exactly_or_twice_stays(configured: object, about: dict[str, object]) -> None:
    found = chosen(configured, **about)
    assert_allclose(found.robot.gravity, DOWN)
    assert "gravity" not in [one.setting for one in found.choices]


@pytest.mark.parametrize(
    ("configured", "about"), [(DOWN, {}), ({"about": DOWN}, {}), (None, {"gravity": DOWN}), (DOWN, {"gravity": DOWN})]
)
def test_gravity_that_is_about_this_may_lean(configured: object, about: dict[str, object]) -> None:
    assert_allclose(chosen(configured, **about).robot.gravity, leaning(1.2), atol=0.03)
