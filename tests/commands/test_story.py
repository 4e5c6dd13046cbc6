"""The whole story on the command line, on three arms: design, experiment, identification, validation, export."""

import json
from dataclasses import replace

import mujoco
import numpy as np
import pinocchio
import pytest

from exciter.cli import main
from exciter.experiment.recording import read_recording
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.pipeline.simulate import virtual_settings
from exciter.robot import embedded_robots as embedded
from exciter.validation.prediction import Prediction

pytestmark = pytest.mark.slow

DESIGN = '{"trajectory": {"family": "fourier", "period": 10, "harmonics": 4}}'
FLOOR = 1.2  # times what noise alone leaves


def exciter(*arguments) -> int:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments), "--quiet"])
    return int(left.value.code or 0)


@pytest.fixture(scope="module", params=["panda", "ur10e", "tx40"])
def story(request, tmp_path_factory):
    """(robot, folder): from the description to the model, with the commands of the README."""
    robot, at = request.param, tmp_path_factory.mktemp(request.param)
    settings = {"simulate": {**virtual_settings(embedded.robot(robot), seed=7), "simulation_rate": 1000}}
    (at / "simulate.yaml").write_text(json.dumps(settings), encoding="utf-8")
    (at / "design.yaml").write_text(DESIGN, encoding="utf-8")
    flags = ("--config", at / "simulate.yaml")
    assert exciter("design", robot, "-o", at / "motion", "--starts", 2, "--config", at / "design.yaml") == 0
    assert exciter("design", robot, "-o", at / "other", "--trajectory", "random-spline") == 0
    for name, *more in (("motion", "--periods", 2, "--seed", 1), ("other", "--seed", 2)):
        trajectory = at / name / "trajectory.json"
        assert exciter("check", robot, trajectory) == 0
        log = (at / f"{name}.csv", "--motion", at / f"{name}_exact.csv", "--truth", at / f"{name}_truth.json")
        assert exciter("simulate", robot, trajectory, "-o", *log, *more, *flags) == 0
    logs = (at / "motion.csv", "--validate", at / "other.csv")
    assert exciter("identify", robot, *logs, "-o", at / "found", "--estimator", "consistent") == 0
    return robot, at


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
    _, at = story
    found = IdentifiedModel.read(at / "found")
    floor = noise_floor(found, at)
    result = found.data
    assert result["validation"][0]["total_percent"] <= FLOOR * floor
    assert result["validation"][0]["description_percent"] > 2.0 * floor
    assert exciter("validate", at / "found", at / "other.csv", "-o", at / "checked") == 0
    checked = json.loads((at / "checked" / "validation.json").read_text(encoding="utf-8"))
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
    _, at = story
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
    _, at = story
    for form, name in (("mjcf", "a.xml"), ("sdf", "a.sdf"), ("yaml", "a.yaml"), ("c", "a.c"), ("python", "a.py")):
        assert exciter("export", at / "found", "--format", form, "-o", at / "exported" / name) == 0
    assert exciter("export", at / "motion", "--format", "ros2", "-o", at / "exported" / "motion.yaml") == 0
