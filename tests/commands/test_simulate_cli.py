"""``exciter simulate``: its files, its words, its exit codes, and one line for everything that cannot be."""

import json
import re

import numpy as np
import pytest
import yaml

from exciter.cli import main
from exciter.errors import ExciterError
from exciter.excitation.files.row_files import csv_text, sample
from exciter.excitation.files.trajectory_files import exact_data
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.recording import AnalogFilter, Payload, read_recording
from exciter.experiment.virtual import (
    Control,
    Encoder,
    Flexibility,
    GearedDrive,
    GravityPD,
    Sampling,
    Start,
    TorqueMeter,
    TorqueRipple,
    VirtualRobot,
    draw,
    read_truth,
)
from exciter.experiment.virtual.control import LAWS
from exciter.experiment.virtual.true_parameters import TruthSettings
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.notes import texts
from exciter.parameters.terms import Viscous
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import Motion, load
from exciter.robot import embedded_robots as embedded
from exciter.settings import fill, keys_of, written
from support.paths import ROBOTS, ROOT
from support.settings_conformance import conforms
from support.terminal import without_progress

pytestmark = pytest.mark.slow

ARM = "kuka-ir361"
FULL = """
limits: {torque: 400}
terms: [viscous]
simulate:
  truth: {seed: 3, bodies: 0.05, friction: 0.1, viscous: 20, stribeck: [1, 2, 3], stribeck_velocity: 0.2,
          rotor_inertia: {joint_1: 1.0, joint_2: 2.0, joint_3: 0.5},
          springs: [{joint: joint_2, base_arm: 0.3, link_arm: 0.2, offset: 0.1, stiffness: 1e3, free_length: 0.1}]}
  control: {law: pd, bandwidth: 15, damping: 0.9, rate: 500}
  start: {at_rest: false, error: [0.01, 0, 0]}
  drive: {gear: 80, torque_constant: [0.1, 0.2, 0.3], stated: gains}
  encoder: {counts: 2000, side: joint, noise: 1e-5, velocity_noise: 0.001}
  torque: {signal: current, noise: 0.3, noise_before_filter: true}
  ripple: {amplitude: 0.5, per_turn: 3}
  filter: {order: 4, cutoff: 60, family: chebyshev, ripple: 0.5}
  log: {rate: 250, jitter: 1e-4, dropped: 0.01, lead_out: true}
  flexibility: {stiffness: 30000, damping: 30, encoder: link}
  payload: {frame: tool, mass: 3.0, centre: [0, 0, 0.1], inertia: [0.01, 0, 0, 0.01, 0, 0.01]}
  simulation_rate: 8000
  standing: {stiffness: 5, damping: 0.1, friction: 0.7, step: 5.0e-4, noise: {torque: 0.02}}
"""
PARTS = {
    "truth": TruthSettings, "control": Control, "start": Start, "drive": GearedDrive, "encoder": Encoder,
    "torque": TorqueMeter, "ripple": TorqueRipple, "filter": AnalogFilter, "log": Sampling, "flexibility": Flexibility,
    "payload": Payload,
}  # fmt: skip
SECTIONS = {key: keys_of(PARTS[key]) if key in PARTS else () for key in keys_of(SimulateSettings)}
SECTIONS["control"] += ("law",)


def simulate(*arguments) -> int:
    with pytest.raises(SystemExit) as left:
        main(["simulate", *map(str, arguments)])
    return int(left.value.code or 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A ramped trajectory of a small arm, as exact file and as a table."""
    folder, robot = tmp_path_factory.mktemp("motion"), embedded.robot(ARM)
    family = Fourier(0.5, 1)
    delta = np.array([[0.2, 0.1, 0.0], [0.1, 0.2, 0.9], [0.1, 0.1, 0.0]])
    curve = ramped(family, delta, robot, periods=1)
    (folder / "trajectory.json").write_text(json.dumps(exact_data(curve, robot, family, delta)))
    (folder / "trajectory.csv").write_text(csv_text(sample(curve, 100.0), robot.joint_names))
    return folder


def test_writes_log_and_truth(folder, tmp_path, capsys):
    log, truth = tmp_path / "new" / "log.csv", tmp_path / "truth" / "truth.json"
    assert simulate(ARM, folder / "trajectory.json", "-o", log, "--periods", 2, "--seed", 4, "--truth", truth) == 0
    out = capsys.readouterr().out
    assert "times real time" in out
    assert "periodic: 0.5 s" in out
    assert "nearest body that exists" in out
    header, *rows = log.read_text().splitlines()
    assert header.split(",")[:3] == ["time", "joint_1.q", "joint_1.tau"]
    table = np.array([row.split(",") for row in rows], dtype=float)
    assert np.isfinite(table).all()
    data = json.loads(truth.read_text())
    robot = embedded.robot(ARM)
    expected = draw(robot, 4)
    assert [entry["value"] for entry in data["parameters"]] == pytest.approx(expected.chi)
    assert {entry["name"] for entry in data["base"]} == set(expected.model.base.names)
    assert set(data["links"]) == set(robot.joint_names)
    assert data["seed"] == 4
    assert sorted(p.name for p in log.parent.iterdir()) == ["log.csv", "log.yaml"]
    assert yaml.safe_load((log.parent / "log.yaml").read_text())["period"] == 0.5


def test_a_table_is_executed_too_and_the_truth_is_the_same(folder, tmp_path):
    for name in ("json", "csv"):
        truth = tmp_path / f"{name}.json"
        assert simulate(ARM, folder / f"trajectory.{name}", "-o", tmp_path / f"{name}.npz", "--truth", truth) == 0
    with np.load(tmp_path / "json.npz") as exact, np.load(tmp_path / "csv.npz") as table:
        n = len(exact["time"])  # ends with the periodic part
        assert n < len(table["time"])
        np.testing.assert_allclose(table["q"][:n], exact["q"], atol=1e-4)
    assert (tmp_path / "json.json").read_bytes() == (tmp_path / "csv.json").read_bytes()


def test_every_key_of_the_configuration(folder, tmp_path, capsys):
    path = tmp_path / "all.yaml"
    path.write_text(FULL)
    robot = embedded.robot(ARM)
    virtual = SettingsFile.read(path).virtual(robot, 9)
    given = yaml.safe_load(FULL)["simulate"]
    assert set(given) == set(SECTIONS)
    for key, keys in SECTIONS.items():
        left = set(keys) - set(given[key] if keys else {})
        assert left <= {"file", "coulomb", "stiffness", "derivative", "side", "map"}, key
    assert isinstance(virtual.control, GravityPD)
    assert (virtual.control.rate, virtual.control.bandwidth, virtual.control.damping) == (500.0, 15.0, 0.9)
    assert virtual.truth.rotor.tolist() == [1.0, 2.0, 0.5]
    assert virtual.truth.friction.array("stribeck").tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(virtual.truth.friction.array("coulomb"), robot.friction["coulomb"], rtol=0.4)
    assert virtual.drive.gains(robot) == pytest.approx([8.0, 16.0, 24.0])
    assert virtual.encoder.step(robot, virtual.drive) == pytest.approx(2 * np.pi / 2000)
    assert (virtual.meter.filter.order, virtual.meter.current) == (4, True)
    assert (virtual.sampling.jitter, virtual.sampling.lead_out) == (1e-4, True)
    assert virtual.flexibility.encoder_on_link
    assert virtual.payload.mass == 3.0
    assert SettingsFile.read(path).design.terms == (Viscous(),)  # a design reads the same file, and leaves this aside
    log = tmp_path / "log.npz"
    assert simulate(ARM, folder / "trajectory.json", "-o", log, "--config", path, "--truth", tmp_path / "t.json") == 0
    assert "samples of position and current" in capsys.readouterr().out
    with np.load(log) as data:
        assert {"current", "qd"} <= set(data.files)
        assert json.loads(str(data["about"]))["gains"] == pytest.approx([8.0, 16.0, 24.0])
    again = tmp_path / "again.yaml"
    again.write_text("simulate: {truth: {file: t.json}}")
    np.testing.assert_array_equal(SettingsFile.read(again).virtual(robot, 0).truth.chi, virtual.truth.chi)


def test_settings_are_written_as_they_are_read(tmp_path):
    """Every part, as it is and changed; also what a file says by a word, or with an empty mapping."""
    (tmp_path / "all.yaml").write_text(FULL)
    robot = embedded.robot(ARM)
    full = fill(SimulateSettings, SettingsFile.read(tmp_path / "all.yaml").data["simulate"], "all", robot=robot)
    for law in LAWS:
        for settings in (law(), law(3.0, 0.7, 100.0, (1.0, 2.0, 3.0), dict.fromkeys(robot.joint_names, 4.0))):
            conforms(settings, robot=robot)
            conforms(SimulateSettings(control=settings), robot=robot)
    unlike = SimulateSettings(encoder=Encoder(None), torque=TorqueMeter(link_side=True), filter=AnalogFilter())
    for settings in (full, SimulateSettings(), unlike):
        conforms(settings, robot=robot)
    assert written(unlike)["encoder"] == {"counts": "none"}
    assert written(unlike)["torque"] == {"side": "link"}
    assert fill(SimulateSettings, {"filter": {}, "ripple": {}, "drive": None}, "none") == SimulateSettings()
    assert isinstance(full.virtual(robot, 0), VirtualRobot)


def test_the_document_shows_every_key_and_works(tmp_path):
    text = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "document.yaml"
    path.write_text(block, encoding="utf-8")
    virtual = SettingsFile.read(path).virtual(embedded.robot("tx40"), 0)
    assert virtual.truth.springs[0].joint == "joint_2"
    assert virtual.sampling.dropped == 0.01
    for key in (*SECTIONS, *(key for keys in SECTIONS.values() for key in keys)):
        assert re.search(rf"\b{key}\b", block), f"docs/simulate.md does not show '{key}'"


def test_the_document_compares_with_the_truth(tmp_path, monkeypatch, capsys):
    """Its example gives the base parameters that the truth file lists."""
    text = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[1]
    truth = draw(embedded.robot("tx40"), 5)
    (tmp_path / "truth.json").write_text(json.dumps(truth.to_dict()))
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(code, names)
    listed = {entry["name"]: entry["value"] for entry in truth.to_dict()["base"]}
    assert dict(zip(names["model"].base.names, names["beta"], strict=True)) == pytest.approx(listed)
    assert names["left_out"] == set()
    assert len(capsys.readouterr().out.splitlines()) == len(listed)


def test_writes_the_exact_motion(folder, tmp_path, capsys):
    """τ = Φχ with the file's own q, q̇, q̈ and the parameters of truth.json, whatever the sensors do."""
    (tmp_path / "c.yaml").write_text("simulate: {torque: {noise: 5}, log: {rate: 250, jitter: 2e-4, dropped: 0.1}}")
    log, motion, truth = tmp_path / "log.csv", tmp_path / "more" / "motion.csv", tmp_path / "truth.json"
    given = ("--config", tmp_path / "c.yaml", "--motion", motion, "--truth", truth)
    assert simulate(ARM, folder / "trajectory.json", "-o", log, *given) == 0
    header, *rows = motion.read_text().splitlines()
    assert header.split(",")[:5] == ["time", "joint_1.q", "joint_1.qd", "joint_1.qdd", "joint_1.tau"]
    table = np.array([row.split(",") for row in rows], dtype=float)
    logged = read_recording(log)
    np.testing.assert_array_equal(table[:, 0], logged.time)
    q, qd, qdd, tau = (table[:, 1 + k :: 4] for k in range(4))
    assert 1.0 < np.std(logged.torque - tau) < 10.0
    known = read_truth(truth, embedded.robot(ARM))
    error = known.model.regressor(Motion(table[:, 0], q, qd, qdd)) @ known.chi - tau
    slips = (np.abs(qd) > 1e-3 + 2.0 * np.abs(qdd) / 4000.0).all(axis=1)  # no joint comes to rest within the step
    assert slips.mean() > 0.5
    assert np.abs(error[slips]).max() < 1e-9
    out = "".join(capsys.readouterr().out.split())
    for name in (log, log.with_suffix(".yaml"), truth, motion, motion.with_suffix(".yaml")):
        assert str(name) in out
        assert name.exists()
    assert simulate(ARM, folder / "trajectory.json", "-o", tmp_path / "b.npz", "--motion", tmp_path / "m.npz") == 0
    with np.load(tmp_path / "m.npz") as data:
        assert {"time", "q", "qd", "qdd", "torque", "joints"} <= set(data.files)
    assert ".yaml" not in capsys.readouterr().out


def test_nothing_of_the_users_is_overwritten(folder, tmp_path, capsys, monkeypatch):
    """Told before the simulation, which here would fail."""
    monkeypatch.setattr("exciter.experiment.virtual.VirtualRobot.run", lambda *_, **__: pytest.fail("was simulated"))
    for name in ("trajectory.json", "trajectory.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    motion, table, log = tmp_path / "trajectory.json", tmp_path / "trajectory.csv", tmp_path / "log.csv"
    (tmp_path / "own.yaml").write_text("simulate: {}")
    (tmp_path / "foreign.yaml").write_text("something: else")
    (tmp_path / "broken.yaml").write_text("{")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    own = ("--config", tmp_path / "own.yaml")
    for arguments, words in (
        ((table, "-o", table), "the file of TRAJECTORY"),
        ((table, "-o", tmp_path / "x" / ".." / "trajectory.csv"), "the file of TRAJECTORY"),
        ((motion, "-o", log, "--truth", motion), "the file of TRAJECTORY"),
        ((table, "-o", log, "--motion", table), "the file of TRAJECTORY"),
        ((motion, "-o", log, "--motion", log), "the file of -o"),
        ((motion, "-o", tmp_path / "own.csv", *own), "own.yaml', the file of --config"),
        ((motion, "-o", log, "--motion", tmp_path / "own.csv", *own), "own.yaml', the file of --config"),
        ((motion, "-o", tmp_path / "foreign.csv"), "'foreign.yaml' is there already"),
        ((motion, "-o", log, "--motion", tmp_path / "foreign.csv"), "'foreign.yaml' is there already"),
        ((motion, "-o", tmp_path / "broken.csv"), "'broken.yaml' is there already"),
        ((motion, "-o", log, "--motion", tmp_path / "motion.txt"), "--motion is"),
    ):
        assert simulate(ARM, *arguments) == 2, arguments
        error = without_progress(capsys.readouterr().err)
        assert words in error
        assert len(error.strip().splitlines()) == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_tells_units_and_what_matters_to_it(tmp_path, capsys):
    """A robot with a joint that slides; capsules and limits of a design are not spoken of."""
    robot = load(ROBOTS / "gantry.urdf")
    assert {joint.kind for joint in robot.joints} == {"prismatic", "continuous"}
    assert any("capsule" in note for note in texts(robot.remarks))
    assert any("acceleration" in note for note in texts(robot.remarks))
    middle = np.mean(robot.position_range(), axis=0)
    family = Fourier(1.0, 1)
    delta = np.column_stack([np.full(robot.n, 0.01), np.zeros(robot.n), middle])
    curve = ramped(family, delta, robot, periods=1)
    (tmp_path / "t.csv").write_text(csv_text(sample(curve, 100.0), robot.joint_names))
    assert simulate(ROBOTS / "gantry.urdf", tmp_path / "t.csv", "-o", tmp_path / "log.npz") == 0
    out = capsys.readouterr().out
    for joint in robot.joints:
        (row,) = [line for line in out.splitlines() if line.startswith(f"{joint.name} ")]
        assert len(re.findall(r" m " if joint.kind == "prismatic" else r" rad ", row)) == 2
        assert len(re.findall(r" N " if joint.kind == "prismatic" else r" N·m ", row)) == 2
    assert "capsule" not in out
    assert "acceleration" not in out
    assert "written:" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("simulate: {log: {rate: 2e6}}", "c.yaml: simulate: log: rate is '2e6'; give a number > 0, at most 1e+06 [Hz]"),
        ("simulate: {log: {jitter: 1}}", "c.yaml: simulate: log: jitter is 1; at 500 Hz"),
        ("simulate: {log: {dropped: 1}}", "c.yaml: simulate: log: dropped is 1; give"),
        ("simulate: {truth: {bodies: 7}}", "c.yaml: simulate: truth: bodies is 7; give a number ≥ 0, at most 1"),
        ("simulate: {truth: {friction: -1}}", "c.yaml: simulate: truth: friction is -1; give a number ≥ 0, at most 2"),
        ("simulate: {filter: {order: 99}}", "c.yaml: simulate: filter: order is 99; give a whole number"),
        (
            "simulate: {truth: {springs: [{joint: joint_2, base_arm: 1, link_arm: 1, offset: 0, stiffness: -3}]}}",
            "springs 1: stiffness is -3; give a number > 0",
        ),
    ],
)
def test_messages_name_key_and_value(text, words, tmp_path):
    """And never how Python writes a settings object."""
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ExciterError) as told:
        SettingsFile.read(tmp_path / "c.yaml").virtual(embedded.robot(ARM), 0)
    assert words in str(told.value)
    assert "=" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("simulate: [1]", "give a mapping"),
        ("simulate: {speed: 1}", "unknown key 'speed'"),
        ("simulate: {log: {rate: 0}}", "log: rate is 0; give a number > 0"),
        ("simulate: {log: {rate: 2e6}}", "give a number > 0, at most 1e+06 [Hz]"),
        ("simulate: {log: {dropped: 1}}", "dropped is 1; give a number ≥ 0 and < 1"),
        ("simulate: {control: {law: magic}}", "allowed are computed-torque, pd"),
        ("simulate: {control: {bandwidth: 4000, rate: 50}}", "diverged"),
        ("simulate: {drive: {gear: 0}}", "gear is"),
        ("simulate: {drive: {gear: [1, 2]}}", "has 2 numbers; the robot has 3 joints"),
        ("simulate: {encoder: {counts: some}}", "give a number"),
        ("simulate: {torque: {signal: current, side: link}}", "motor's side"),
        ("simulate: {torque: {noise: -1}}", "torque: noise is -1; give a number ≥ 0 [N·m]"),
        ("simulate: {ripple: {per_turn: 2}}", "no amplitude"),
        ("simulate: {filter: {order: 99}}", "give a whole number ≥ 1, at most 20"),
        ("simulate: {flexibility: {damping: 2}}", "no stiffness"),
        ("simulate: {flexibility: {stiffness: 100}}", "needs a rotor"),
        ("simulate: {truth: {rotor_inertia: 1e-4}, flexibility: {stiffness: 1e6}}", "lower the stiffness"),
        ("simulate: {payload: {frame: tool}}", "needs a frame and a mass"),
        ("simulate: {payload: {frame: nose, mass: 1}}", "unknown frame 'nose'"),
        ("simulate: {truth: {file: gone.json}}", "there is no file"),
        ("simulate: {truth: {file: bad.json}}", "not valid JSON"),
        ("simulate: {truth: {file: heavy.json}}", "negative mass"),
        ("simulate: {truth: {file: heavy.json, seed: 1}}", "leave out seed"),
        ("simulate: {truth: {bodies: 7}}", "bodies is 7; give a number ≥ 0, at most 1"),
        ("simulate: {truth: {springs: [{joint: joint_1}]}}", "has no base_arm"),
        ("simulate: {simulation_rate: 1e9}", "simulation_rate is"),
        ("simulate: {truth: {coulomb: .nan}}", "give a number"),
    ],
)
def test_bad_configurations_are_one_line(text, words, folder, tmp_path, capsys):
    robot = embedded.robot(ARM)
    data = draw(robot).to_dict()
    data["links"]["joint_1"]["M"] = -1.0
    (tmp_path / "heavy.json").write_text(json.dumps(data))
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "c.yaml").write_text(text)
    log = tmp_path / "out" / "log.csv"
    assert simulate(ARM, folder / "trajectory.json", "-o", log, "--config", tmp_path / "c.yaml") == 2
    error = without_progress(capsys.readouterr().err)
    assert words in error
    assert len(error.strip().splitlines()) == 1
    assert not log.parent.exists()


def test_bad_arguments_are_one_line(folder, tmp_path, capsys):
    motion, log = folder / "trajectory.json", tmp_path / "log.csv"
    (tmp_path / "binary.csv").write_bytes(b"\0\1")
    for arguments, words in (
        ((ARM, motion, "-o", tmp_path / "log.txt"), "ends in .csv or .npz"),
        ((ARM, motion, "-o", log, "--truth", tmp_path / "truth.yaml"), "ends in .json"),
        ((ARM, motion, "-o", log, "--periods", "0"), "is not a whole number ≥ 1"),
        ((ARM, motion, "-o", log, "--periods", 10**5), "more than are kept in memory"),
        ((ARM, motion, "-o", log, "--periods", 10**9), "too many; of this motion at most"),
        ((ARM, folder / "trajectory.csv", "-o", log, "--periods", 10**9), "too many; of this motion at most"),
        ((ARM, folder / "trajectory.csv", "-o", log, "--periods", 2), "cannot be run 2 times"),
        ((ARM, tmp_path / "gone.csv", "-o", log), "there is no file"),
        ((ARM, tmp_path / "binary.csv", "-o", log), "binary"),
        (("panda", motion, "-o", log), "is for the joints"),
        (("no-such-robot", motion, "-o", log), "no-such-robot"),
        ((ARM, motion, "-o", folder / "trajectory.csv" / "log.csv"), "cannot write"),
    ):
        assert simulate(*arguments) == 2
        error = without_progress(capsys.readouterr().err)
        assert words in error
        assert len(error.strip().splitlines()) == 1
    assert not log.exists()


def test_warns_of_limits(folder, tmp_path, capsys):
    (tmp_path / "c.yaml").write_text("limits: {upper: 0.01, torque: 60}")
    log = tmp_path / "log.npz"
    assert simulate(ARM, folder / "trajectory.json", "-o", log, "--config", tmp_path / "c.yaml") == 0
    out = capsys.readouterr().out
    assert "beyond its limits" in out
    assert "was at its limit of 60" in out
