"""What people hand to the front door: what can be meant is taken, what cannot gets one sentence."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest

import exciter as ex
from exciter.excitation.criteria.weighted_sums import CRITERIA
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.parameters.terms import JointTerm
from exciter.robot import embedded_robots as embedded
from exciter.settings import Positive

pytestmark = pytest.mark.slow

COARSE = SimulateSettings(simulation_rate=1000.0)  # nothing here is about the simulator


@pytest.fixture(scope="module")
def robot():
    return ex.load("gautier-khalil")


@pytest.fixture(scope="module")
def motion(robot):
    return ex.design(robot, ex.Fourier(period=5, harmonics=3), starts=1)


@pytest.fixture(scope="module")
def simulated(robot, motion):
    return ex.simulate(robot, motion, COARSE, periods=2)


@pytest.fixture(scope="module")
def other(robot):
    """Of another motion."""
    return ex.simulate(robot, ex.design(robot, ex.RandomPoints(points=5)), COARSE, seed=4)


@pytest.fixture(scope="module")
def found(robot, simulated):
    return ex.identify(robot, simulated, estimator="wls")


def test_a_simulation_stands_for_its_recording(robot, simulated, other, found):
    same = ex.identify(robot, simulated.recording, estimator=ex.WeightedLeastSquares())
    np.testing.assert_array_equal(found.parameters.values, same.parameters.values)
    assert ex.inspect(robot, simulated).word == ex.inspect(robot, simulated.recording).word
    assert ex.validate(found, other)[0].total_percent == ex.validate(found, other.recording)[0].total_percent


def test_one_constraint_or_term_need_not_stand_in_a_list(robot):
    above = ex.HalfSpace(robot, "tool", normal=(0, 0, 1), offset=-0.5)
    one, several = (
        ex.design(robot, ex.RandomPoints(points=4), constraints=given, terms=terms)
        for given, terms in ((above, ex.Viscous()), ([above], ["viscous"]))
    )
    assert one.config.to_dict() == several.config.to_dict()
    assert [limit.what for limit in one.certificate.limits] == [limit.what for limit in several.certificate.limits]
    assert repr(ex.base(robot, ex.Viscous())) == repr(ex.base(robot, ["viscous"]))


def test_settings_may_be_what_a_file_says(robot, simulated, tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("identify: {estimator: ols}\nterms: [viscous, coulomb]\n")
    content = {"identify": {"estimator": "ols"}, "terms": ["viscous", "coulomb"]}
    by_file, by_content = (ex.identify(robot, simulated, given) for given in (path, content))
    np.testing.assert_array_equal(by_file.parameters.values, by_content.parameters.values)
    assert ex.design(robot, settings={"trajectory": "random-points", "seed": 3}).config.seed == 3


def test_results_show_themselves_in_a_line(motion, found):
    for one in (found, found.identification, found.estimate, found.fit, found.fit[0], found.verdict, found.logs):
        assert len(repr(one)) < 300
    for one in (
        found.report(),
        found.quality["recording 1"],
        found.as_model,
        found.friction_curves[0],
        motion,
        motion.certificate,
        motion.curve,
        motion.design,
    ):
        assert len(repr(one)) < 300
    assert repr(motion.certificate).startswith("<certified")


def test_pictures_and_tables(motion, found):
    pytest.importorskip("matplotlib").use("agg")
    assert len(motion.plot("velocity", "joint_2").lines) == 1
    assert {line.get_label() for line in found.plot("joint_1").lines} == {"measured", "predicted"}
    pytest.importorskip("pandas")
    assert list(found.to_pandas().index) == list(found.parameters.names)
    assert len(found.friction_curves[0].to_pandas()) == len(found.friction_curves[0].velocity)


def test_time_that_nobody_needs_for_files_is_searched_in(robot):
    """Without files to write, the whole time limit belongs to the search, whatever was designed before."""
    designs = [ex.design(robot, ex.Fourier(period=5, harmonics=2), starts=1, time_limit=20.0, seed=k) for k in range(3)]
    for one in designs:
        assert not one.design.unsearched
        assert one.design.attempts[0].complete


def test_what_a_settings_file_says_of_the_robot_holds_for_a_robot_that_is_there(robot, motion, tmp_path):
    """Limits above all: a motion is certified within those of the file."""
    path = tmp_path / "exciter.yaml"
    path.write_text("limits: {velocity: 0.1, acceleration: 0.1}\nstarts: 1\ntrajectory: {period: 5, harmonics: 2}\n")
    slow = ex.design(robot, settings=path)
    assert np.abs(slow.velocity.values).max() <= 0.1
    assert slow.config.robot.limits == {"velocity": 0.1, "acceleration": 0.1}
    checked = ex.check(robot, motion, path)
    assert not checked
    assert not checked.certified
    assert ex.check(robot, motion).certified
    loaded = ex.load("gautier-khalil", path)
    np.testing.assert_array_equal(loaded.limit("velocity"), 0.1)
    assert ex.design(loaded, settings=path).config.to_dict() == slow.config.to_dict()
    mixed = ex.design(ex.load("gautier-khalil", gravity=(0, 0, -1), velocity=0.05), settings=path)
    assert mixed.config.robot.gravity == (0.0, 0.0, -1.0)
    assert mixed.config.robot.limits["velocity"] == 0.1  # what is said last
    locked = {"lock": ["joint_1"], "identify": {"estimator": "ols"}}
    bare = ex.load("gautier-khalil", {"lock": ["joint_1"]})
    log = ex.simulate(bare, ex.design(bare, ex.Fourier(5, 3), starts=1), COARSE)
    assert ex.identify(robot, log, locked).robot.joint_names == bare.joint_names


def test_a_plan_that_was_run_several_times(robot, motion, simulated):
    assert [one.severity for one in ex.inspect(robot, simulated, planned=motion, periods=2).findings if one.joint] == []


@dataclass(frozen=True)
class Cubic(JointTerm):
    """A term of somebody's own, without a word."""

    scale: Positive = 1.0

    def bind(self, robot, rigid=None):
        return ex.UserTerm("cube", robot.joint_names, lambda q, qd, qdd: self.scale * qd**3).bind(robot, rigid)


def test_a_model_with_a_term_of_ones_own_goes_all_the_way(robot, simulated, other, tmp_path, monkeypatch):
    """It predicts, validates, reports, is saved, opened and exported; another process must know the class first."""
    found = ex.identify(robot, simulated, terms=[ex.Viscous(), ex.Coulomb(), Cubic(2.0)], estimator="wls")
    assert len(ex.validate(found, other)) == 1
    assert "Cubic" in str(found.config.to_dict()["terms"])
    again = ex.open(found.save(tmp_path / "found"))
    assert again.model.terms[-1] == Cubic(2.0)
    np.testing.assert_array_equal(again.parameters.values, found.parameters.values)
    assert again.export(tmp_path / "model.yaml")
    monkeypatch.setattr("exciter.archive._below", lambda cls: [])
    with pytest.raises(ex.ExciterError, match=r"it holds Cubic of .*; import it, then open again"):
        ex.open(tmp_path / "found")


class Trace:
    """A criterion of somebody's own, no settings."""

    name = "trace"

    def __call__(self, h):
        inverse = np.linalg.pinv(h)
        return float(np.trace(inverse)), -inverse @ inverse


def test_a_design_by_a_criterion_of_ones_own_is_saved(robot, tmp_path):
    motion = ex.design(robot, ex.Fourier(5, 2), criterion=Trace(), starts=1)
    folder = motion.save(tmp_path / "motion")
    assert json.loads((folder / "design.json").read_text())["settings"]["criterion"] == "Trace"
    assert ex.check(robot, folder / "trajectory.csv")
    with pytest.raises(ex.ExciterError, match="Trace is no CriterionSettings; derive it from that"):
        CRITERIA.add(Trace)


def test_words_and_mappings_of_a_trajectory_mean_what_they_mean_in_a_file(robot):
    said = {"family": "fourier", "period": 5, "harmonics": 3}
    one, other = ex.design(robot, said, starts=1), ex.design(robot, settings={"trajectory": said}, starts=1)
    assert one.config.to_dict() == other.config.to_dict()
    thrice = {"trajectory": {"periods": 3}}
    assert ex.design(robot, ex.RandomPoints(points=3), settings=thrice).config.periods == 1


def test_methods_of_one_word_with_other_settings_are_compared_each(robot, simulated):
    found = ex.identify(robot, simulated, estimator="wls", compare=[ex.Huber(k=3.0), ex.Huber(k=0.5), "huber", "huber"])
    assert [one.name for one in found.comparison.methods] == [
        "dynamic/wls",
        "huber (k: 3.0)",
        "huber (k: 0.5)",
        "huber",
    ]


def test_seconds_of_methods_do_not_count_what_is_compiled_meanwhile(robot, simulated, monkeypatch):
    """Every look at the clock is a thousand seconds of compiling later: all that is measured lies before zero."""
    compiling = itertools.count(0.0, 1000.0)
    monkeypatch.setattr("exciter.dynamics.kernels.cache.compile_seconds", lambda: next(compiling))
    found = ex.identify(robot, simulated, estimator="wls", compare=["huber"])
    assert found.identification.seconds < -900.0
    assert all(method.seconds < -900.0 for method in found.comparison.methods)


def test_a_description_that_changed_meanwhile_is_not_saved_as_the_one_identified_from(simulated, tmp_path):
    text = embedded.path("gautier-khalil").read_text(encoding="utf-8")
    path = tmp_path / "arm.yaml"
    path.write_text(text, encoding="utf-8")
    found = ex.identify(path, simulated, estimator="wls")
    path.write_text(text + "# another\n", encoding="utf-8")
    with pytest.raises(ex.ExciterError, match="has changed since it was identified from"):
        found.save(tmp_path / "found")
    path.write_text(text, encoding="utf-8")
    assert ex.open(found.save(tmp_path / "found")).parameters.names == found.parameters.names


def test_parameters_beside_a_truth(found, simulated):
    truth = simulated.truth
    rows = found.as_model.beside(dict(zip(truth.model.standard, truth.chi.tolist(), strict=True)))
    assert [row.name for row in rows] == list(found.parameters.names)
    assert sum(row.inside for row in rows) > 0.6 * len(rows)
    assert not any(row.inside for row in found.as_model.beside({"Fv1": 1e9}) if row.name == "Fv1")


SIMULATED_LOG = "give a recording, a simulation, or the path of a log"
MOTION = "give a design, its curve, or a trajectory file"
PATH = "give the path of a file or folder"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda robot, log, motion, found: ex.load(3), f"the robot is 3; {PATH}"),
        (lambda robot, log, motion, found: ex.load("panda", accel=3), "unknown keyword 'accel'"),
        (lambda robot, log, motion, found: ex.design(robot, ex.Fourier), "is the class Fourier; give an object of it"),
        (lambda robot, log, motion, found: ex.design(robot, rat=1), "rate, ramps, duration_range; did you mean 'rate'"),
        (
            lambda robot, log, motion, found: ex.design(robot, constraints=3),
            "further 1 is 3; give a Constraint or Round",
        ),
        (lambda robot, log, motion, found: ex.design(robot, constraints=[ex.Box]), "further 1 is the class Box"),
        (lambda robot, log, motion, found: ex.design(robot, settings=3), f"the file of the settings is 3; {PATH}"),
        (lambda robot, log, motion, found: ex.design(robot, terms=[ex.Viscous]), "terms 1 is the class Viscous"),
        (lambda robot, log, motion, found: ex.check(robot, log), MOTION),
        (lambda robot, log, motion, found: ex.check(robot, ex.Fourier()), MOTION),
        (lambda robot, log, motion, found: ex.simulate(robot, log), MOTION),
        (lambda robot, log, motion, found: ex.simulate(robot, motion, periods="a"), "periods is 'a'; give a whole"),
        (lambda robot, log, motion, found: ex.simulate(robot, motion, seed=-1), "seed is -1; give a whole number ≥ 0"),
        (lambda robot, log, motion, found: ex.simulate(robot, motion, 3), "virtual is 3; give a VirtualRobot"),
        (lambda robot, log, motion, found: ex.read(3), f"the log is 3; {PATH}"),
        (lambda robot, log, motion, found: ex.inspect(robot, 3), SIMULATED_LOG),
        (lambda robot, log, motion, found: ex.inspect(robot, [log, log]), "2 logs are given; inspect them one by one"),
        (lambda robot, log, motion, found: ex.inspect(robot, log, planned=log), MOTION),
        (lambda robot, log, motion, found: ex.identify(robot, motion), SIMULATED_LOG),
        (lambda robot, log, motion, found: ex.identify(3, log), f"the robot is 3; {PATH}"),
        (lambda robot, log, motion, found: ex.identify(robot, log, estimator=ex.Huber), "is the class Huber; give an"),
        (
            lambda robot, log, motion, found: ex.identify(robot, log, formulation=ex.Huber()),
            "allowed are dynamic, filt",
        ),
        (lambda robot, log, motion, found: ex.design(robot, parameters="Foo"), "parameters: unknown parameter or word"),
        (lambda robot, log, motion, found: ex.identify(robot, log, term=[]), "unknown keyword 'term'; valid names:"),
        (lambda robot, log, motion, found: ex.identify(robot, log, compare=ex.Huber), "class Huber cannot be compared"),
        (lambda robot, log, motion, found: ex.identify(robot, log, periods="x"), "periods is 'x'; give a whole number"),
        (
            lambda robot, log, motion, found: ex.identify(robot, log, estimator="iv"),
            "which motion was planned (planned)",
        ),
        (lambda robot, log, motion, found: ex.validate(3, log), f"the model is 3; {PATH}"),
        (lambda robot, log, motion, found: ex.validate(found, 3), SIMULATED_LOG),
        (lambda robot, log, motion, found: ex.open(3), f"the folder is 3; {PATH}"),
        (lambda robot, log, motion, found: ex.base(robot, ex.Viscous), "terms is the class Viscous"),
        (lambda robot, log, motion, found: ex.base(robot, only="grav"), "only is 'grav'; allowed are gravity, inertia"),
        (lambda robot, log, motion, found: motion.plot("jerk"), "unknown quantity 'jerk'; valid names: position"),
        (lambda robot, log, motion, found: ex.DynamicModel("panda"), "the robot of a model is 'panda'; give a Robot"),
        (lambda robot, log, motion, found: ex.DynamicModel(robot, [ex.Viscous]), "terms 1 is the class Viscous"),
        (lambda robot, log, motion, found: ex.HalfSpace("panda", "tool", normal=(0, 0, 1), offset=0), "give a Robot"),
        (lambda robot, log, motion, found: ex.Recording.of("a", [[1.0]]), "time is 'a'; give an array of numbers"),
    ],
)
def test_one_sentence_for_what_cannot_be_meant(call, said, robot, simulated, motion, found):
    with pytest.raises(ex.ExciterError) as error:
        call(robot, simulated.recording, motion, found)
    assert said in str(error.value)
