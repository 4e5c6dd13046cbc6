"""The whole way by commands for a robot whose bodies follow joints: Panda with its hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

import exciter as ex
from exciter.cli import main
from exciter.dynamics.dynamics import Dynamics
from support.example_robots import FILES

CONFIG = """
trajectory: {family: fourier, period: 6, harmonics: 3}
simulate:
  log: {rate: 100}
  simulation_rate: 1000
  truth: {seed: 3}
  torque: {noise: [0.2, 0.2, 0.2, 0.2, 0.05, 0.05, 0.05, 0.01]}
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILES, reason="the package example-robot-data is not installed"),
]


def test_from_design_to_export(capsys, tmp_path) -> None:
    panda = FILES["panda_description/urdf/panda.urdf"]
    config, at = tmp_path / "config.yaml", {name: tmp_path / name for name in ("motion", "other", "found")}
    config.write_text(CONFIG, encoding="utf-8")

    def exciter(*words: object) -> str:
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        return out

    told = json.loads(exciter("base", panda, "--json", "--terms", "none"))
    assert (told["joints"], told["standard"], told["inertial_base"]) == (8, 90, 48)
    for seed, name in ((1, "motion"), (7, "other")):
        limits = ("--config", config, "--starts", "1", "--time-limit", "20", "--seed", seed)
        exciter("design", panda, "-o", at[name], *limits)
        exciter("check", panda, at[name] / "trajectory.csv", "--config", config)
        log = ("-o", tmp_path / f"{name}.csv", "--config", config, "--seed", seed)
        exciter("simulate", panda, at[name] / "trajectory.json", *log)
    assert json.loads((at["motion"] / "design.json").read_text())["certificate"]["certified"]
    logs = (tmp_path / "motion.csv", "-o", at["found"], "--estimator", "consistent")
    exciter("identify", panda, *logs, "--validate", tmp_path / "other.csv")
    result = json.loads((at["found"] / "result.json").read_text())
    assert result["physically_consistent"]
    assert result["validation"][0]["total_percent"] < 2.0
    exciter("validate", at["found"], tmp_path / "other.csv")
    found = ex.open(at["found"])
    model, chi = found.model, np.asarray(found.estimate.standard)
    motion = ex.Motion.at(*np.random.default_rng(0).uniform(0.0, 0.03, (3, 5, 8)))
    expected = model.dynamics.inverse_dynamics(motion, chi[: model.inertial_size])
    for form, file in (("urdf", "m.urdf"), ("mjcf", "m.xml")):
        exciter("export", at["found"], "--format", form, "-o", tmp_path / file)
        read = ex.load(tmp_path / file, meshes=False)
        assert read.joint_names == model.robot.joint_names
        torque = Dynamics(read).inverse_dynamics(motion)
        np.testing.assert_allclose(torque, expected, atol=1e-6 * np.abs(expected).max())
