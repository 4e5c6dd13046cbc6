"""The whole story on the command line, on three arms: design, experiment, identification, validation, export. The front
door gives the same files: for three robots, all the way from a design to a validation."""

import json
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import mujoco
import numpy as np
import pinocchio
import pytest

import exciter as ex
from exciter.cli import main
from exciter.experiment.recording import read_recording
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.pipeline.simulate import virtual_settings
from exciter.robot import embedded_robots as embedded
from exciter.validation.prediction import Prediction

pytestmark = pytest.mark.slow

# of one start alone chance decides how much the motion tells
DESIGN = '{"trajectory": {"family": "fourier", "period": 5, "harmonics": 4}, "starts": 2}'
OTHER = '{"trajectory": {"family": "random-spline", "duration": 5, "segments": 5}}'
EXPERIMENT = {"log": {"rate": 100}, "simulation_rate": 1000}
FLOOR = 1.2  # times what noise alone leaves
OTHER_EVERY_TIME = {"seconds", "versions", "files", "sha256"}  # clocks, and hashes of files that have them inside
BY_ITSELF = "gautier-khalil"  # whose estimator is chosen by the identification itself


def exciter(*arguments) -> int:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments), "--quiet"])
    return int(left.value.code or 0)


def printed(*arguments):
    with redirect_stdout(StringIO()) as out, pytest.raises(SystemExit) as left:
        main([*map(str, arguments), "--json"])
    assert left.value.code == 0
    return json.loads(out.getvalue())


@pytest.fixture(scope="module", params=["panda", "ur10e", "tx40"])
def story(request, tmp_path_factory):
    """(robot, folder, what validation printed): from the description to the model, with the commands of the README."""
    robot, at = request.param, tmp_path_factory.mktemp(request.param)
    settings = {"simulate": {**virtual_settings(embedded.robot(robot), seed=7), **EXPERIMENT}}
    (at / "simulate.yaml").write_text(json.dumps(settings), encoding="utf-8")
    (at / "design.yaml").write_text(DESIGN, encoding="utf-8")
    (at / "drawn.yaml").write_text(OTHER, encoding="utf-8")
    flags = ("--config", at / "simulate.yaml")
    assert exciter("design", robot, "-o", at / "motion", "--seed", 2, "--config", at / "design.yaml") == 0
    assert exciter("design", robot, "-o", at / "other", "--config", at / "drawn.yaml") == 0
    for name, *more in (("motion", "--periods", 2, "--seed", 1), ("other", "--seed", 2)):
        trajectory = at / name / "trajectory.json"
        assert exciter("check", robot, trajectory) == 0
        log = (at / f"{name}.csv", "--motion", at / f"{name}_exact.csv", "--truth", at / f"{name}_truth.json")
        assert exciter("simulate", robot, trajectory, "-o", *log, *more, *flags) == 0
    logs = (at / "motion.csv", "--validate", at / "other.csv")
    method = () if robot == BY_ITSELF else ("--estimator", "consistent")
    assert exciter("identify", robot, *logs, "-o", at / "found", *method) == 0
    return robot, at, printed("validate", at / "found", at / "other.csv", "-o", at / "checked")


def noise_floor(found: IdentifiedModel, at) -> float:
    """[%] of the torque that noise alone leaves on the validation log: what was measured less what the robot really
    took, through the filter of the equations."""
    log, exact = (read_recording(at / name) for name in ("other.csv", "other_exact.csv"))
    assert log.torque is not None
    assert exact.torque is not None
    kept = np.isin(np.round(log.time, 6), np.round(exact.time, 6))
    at_log = np.column_stack([np.interp(log.time, exact.time, column) for column in exact.torque.T])
    judge = found.config.judge(())
    measured = Problem(found.model, (Run.of(log),), judge).measured.signal
    noise = Problem(found.model, (Run.of(replace(log, torque=log.torque - at_log)),), judge).measured.signal
    assert kept.mean() > 0.9
    return float(100.0 * np.sqrt(noise.sum() / measured.sum()))


def test_validation_reaches_the_noise_floor(story):
    _, at, told = story
    found = IdentifiedModel.read(at / "found")
    floor = noise_floor(found, at)
    result = found.data
    assert result["validation"][0]["total_percent"] <= FLOOR * floor
    assert result["validation"][0]["description_percent"] > 2.0 * floor
    checked = json.loads((at / "checked" / "validation.json").read_text(encoding="utf-8"))
    assert checked == told
    total = checked["runs"][0]["models"]["identified"]["total_percent"]
    assert total == pytest.approx(result["validation"][0]["total_percent"], rel=1e-6)
    assert (at / "checked" / "report.html").is_file()


def held_out(found: IdentifiedModel, at) -> tuple[np.ndarray, ...]:
    """Motion, measured torque and the part of the model that a URDF cannot hold, of the validation log, unfiltered."""
    run = Run.of(read_recording(at / "other.csv"))
    prediction = Prediction.of(Problem(found.model, (run,)), found.estimate)
    chi = found.chi
    assert chi is not None
    beyond = np.array([name[:2] in ("Ia", "of") for name in found.model.standard])
    motion = next(iter(run.parts)).motion
    part = found.model.torque(motion, np.where(beyond, chi, 0.0))
    at_rows = np.searchsorted(motion.time, prediction.time)
    return prediction.q, prediction.qd, prediction.qdd, prediction.measured, prediction.predicted, part[at_rows]


def test_pinocchio_and_mujoco_predict_the_held_out_torques(story):
    """identified.urdf, with what it has no place for (rotors, offsets) taken from the result."""
    _, at, _ = story
    found = IdentifiedModel.read(at / "found")
    q, qd, qdd, measured, predicted, part = held_out(found, at)
    path = str(at / "found" / "identified.urdf")
    model = pinocchio.buildModelFromUrdf(path)
    data = model.createData()
    rigid = np.array([pinocchio.rnea(model, data, *row) for row in zip(q, qd, qdd, strict=True)])
    torque = rigid + model.damping * qd + model.friction * np.sign(qd) + part
    moving = (np.abs(qd) > 1e-6).all(axis=1)  # at rest the sign of friction is noise
    assert np.abs(torque - predicted)[moving].max() < 1e-6 * np.abs(predicted).max()
    left = np.sqrt(((measured - torque)[moving] ** 2).sum() / (measured[moving] ** 2).sum())
    assert left < 0.1
    other = mujoco.MjModel.from_xml_path(path)
    state = mujoco.MjData(other)
    other.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS | mujoco.mjtDisableBit.mjDSBL_LIMIT
    other.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    for k in np.flatnonzero(moving)[:: max(1, len(q) // 200)]:
        state.qpos[:], state.qvel[:], state.qacc[:] = q[k], qd[k], qdd[k]
        mujoco.mj_inverse(other, state)
        dry = other.dof_frictionloss * np.sign(qd[k])
        assert state.qfrc_inverse + dry + part[k] == pytest.approx(predicted[k], abs=1e-6 * np.abs(predicted).max())


def test_every_format_is_written(story):
    _, at, _ = story
    for form, name in (("mjcf", "a.xml"), ("sdf", "a.sdf"), ("yaml", "a.yaml"), ("c", "a.c"), ("python", "a.py")):
        assert exciter("export", at / "found", "--format", form, "-o", at / "exported" / name) == 0
    assert exciter("export", at / "motion", "--format", "ros2", "-o", at / "exported" / "motion.yaml") == 0


# -- the front door gives the same files -------------------------------------------------------------------------------


def timeless(data):
    """Without what is another every time."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in OTHER_EVERY_TIME}
    return [timeless(value) for value in data] if isinstance(data, list) else data


def content(path: Path):
    return timeless(json.loads(path.read_text(encoding="utf-8")))


def as_json(data):
    return timeless(json.loads(json.dumps(data, default=lambda x: x.tolist() if isinstance(x, np.ndarray) else str(x))))


def assert_same_result(found, by_python: Path, by_command: Path) -> None:
    """What Python found and saved, and what the command wrote."""
    assert content(by_python / "result.json") == content(by_command / "result.json")
    written = [{path.name for path in folder.iterdir()} for folder in (by_python, by_command)]
    assert written[0] == written[1]
    assert ("identified.urdf" in written[0]) == bool(found.to_dict()["physically_consistent"])
    if "identified.urdf" in written[0]:
        urdfs = [(folder / "identified.urdf").read_bytes() for folder in (by_python, by_command)]
        assert urdfs[0] == urdfs[1]
    opened = ex.open(by_command)  # what the command wrote is what Python has
    assert as_json(opened.to_dict()) == as_json(found.to_dict())
    np.testing.assert_array_equal(opened.fit[0].predicted.values, found.fit[0].predicted.values)


@pytest.mark.parametrize("story", [BY_ITSELF, "tx40", "ur10e"], indirect=True)
def test_python_and_the_command_give_the_same_files(story, tmp_path):
    name, at, judged = story
    motion = ex.design(name, ex.Fourier(5.0, 4, at_rest=True), starts=2, seed=2)
    motion.save(tmp_path / "motion")
    assert content(tmp_path / "motion" / "design.json") == content(at / "motion" / "design.json")
    for file in ("trajectory.csv", "trajectory.json", "trajectory.ros2.yaml"):
        assert (tmp_path / "motion" / file).read_bytes() == (at / "motion" / file).read_bytes()

    simulated = ex.simulate(name, motion, at / "simulate.yaml", periods=2, seed=1)
    simulated.save(tmp_path / "motion.csv", truth=tmp_path / "truth.json", motion=tmp_path / "exact.csv")
    for file, same in (("motion.csv", "motion.csv"), ("exact.csv", "motion_exact.csv")):
        assert (tmp_path / file).read_bytes() == (at / same).read_bytes()
    assert content(tmp_path / "truth.json") == content(at / "motion_truth.json")

    log, other = at / "motion.csv", at / "other.csv"
    told = printed("inspect", name, log, "--planned", at / "motion" / "trajectory.json")["logs"][0]
    quality = ex.inspect(name, log, planned=motion)
    assert as_json(quality.to_dict()) == {
        key: value for key, value in timeless(told).items() if key not in ("log", "remarks")
    }

    method = {} if name == BY_ITSELF else {"estimator": ex.PhysicallyConsistent()}
    found = ex.identify(name, ex.read(log), validate=other, **method)
    found.save(tmp_path / "found")
    assert_same_result(found, tmp_path / "found", at / "found")

    for checked in (ex.validate(found, other), ex.validate(at / "found", other)):
        assert {**as_json(checked.to_dict()), "model": ""} == {**timeless(judged), "model": ""}


@pytest.mark.parametrize("story", ["ur10e"], indirect=True)
def test_python_and_the_command_give_the_same_by_another_estimator(story, tmp_path):
    """One that asks for no bodies that can exist: there may be no URDF of it."""
    name, at, _ = story
    log, other = at / "motion.csv", at / "other.csv"
    found = ex.identify(name, ex.read(log), validate=other, estimator=ex.Huber())
    found.save(tmp_path / "python")
    assert exciter("identify", name, log, "-o", tmp_path / "command", "--validate", other, "--estimator", "huber") == 0
    assert_same_result(found, tmp_path / "python", tmp_path / "command")
