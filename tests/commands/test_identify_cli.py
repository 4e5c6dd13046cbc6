"""``exciter identify``: its files, its words, and one line with exit code 2 for everything that cannot be."""

import json
import re

import numpy as np
import pinocchio
import pytest
import yaml

from exciter.cli import main
from exciter.excitation.files.trajectory_files import exact_data
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.quality.prepare_log import process
from exciter.experiment.recording import About, Payload, Recording, read_recording, write_recording
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.formulations import FORMULATIONS
from exciter.identification.identify_config import IdentifySettings
from exciter.identification.information.estimate import STATUS_LEGEND
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import embedded_robots as embedded
from exciter.settings import keys_of
from support.terminal import without_progress

pytestmark = pytest.mark.slow

ARM = "kuka-ir361"
CONTRACT = (
    "parameters",
    "residuals",
    "total_percent",
    "validation",
    "condition_number",
    "condition_number_normalized",
    "physically_consistent",
    "settings",
)

SIMULATE = """
simulate:
  truth: {seed: 1, stribeck: 0}
  control: {law: pd, bandwidth: 25, rate: 500}
  encoder: {counts: none, noise: 1e-6}
  torque: {noise: [2, 2, 1]}
  log: {rate: 200}
  simulation_rate: 1000
"""


def exciter(*arguments) -> int:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    return int(left.value.code or 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two motions of a small arm, executed by a virtual one: log.csv to identify from, other.csv to validate on."""
    folder, robot = tmp_path_factory.mktemp("logs"), embedded.robot(ARM)
    (folder / "simulate.yaml").write_text(SIMULATE, encoding="utf-8")
    family = Fourier(4.0, 3)
    for name, seed in (("log", 0), ("other", 1)):
        delta = 0.5 * np.random.default_rng(seed).standard_normal((3, 7))
        curve = ramped(family, delta, robot, periods=1)
        path = folder / f"{name}.json"
        path.write_text(json.dumps(exact_data(curve, robot, family, delta)), encoding="utf-8")
        flags = ["--config", folder / "simulate.yaml", "--truth", folder / "truth.json", "--periods", 3]
        assert exciter("simulate", ARM, path, "-o", folder / f"{name}.csv", *flags) == 0
    return folder


def result(folder) -> dict:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def test_files_keys_and_the_truth(folder, tmp_path, capsys):
    """The contract of the command, and that what it says is true of the virtual robot."""
    out = tmp_path / "out"
    assert exciter("identify", ARM, folder / "log.csv", "-o", out, "--validate", folder / "other.csv") == 0
    printed = capsys.readouterr()
    text = printed.out.splitlines()
    data = result(out)
    assert text[-3:-1] == data["verdict"]["lines"]
    assert text[-1] == f"next: exciter export {out} --format urdf -o identified.urdf"
    assert len(text) <= 25
    assert "ZZR1" not in printed.out  # long tables stand in the report, and are printed with --verbose
    assert printed.err.splitlines()[0] == "… reading log.csv"
    assert tuple(data)[: len(CONTRACT)] == CONTRACT
    assert set(data["parameters"][0]) >= {"name", "value", "std", "relative_std_percent", "status"}
    assert set(data["residuals"]) == {"joint_1", "joint_2", "joint_3"}
    assert set(data["residuals"]["joint_1"]) == {"rms", "percent"}
    assert data["validation"][0]["log"] == str(folder / "other.csv")
    assert data["validation"][0]["total_percent"] < 2.0
    assert data["total_percent"] < 0.5 * data["description"]["total_percent"]
    assert data["physically_consistent"] is True
    chosen = {"filter", "friction", "estimator", "estimator: weight", "estimator: offset"}
    assert {one["setting"] for one in data["automatic"]} >= chosen
    doubted = [one["name"] for one in data["parameters"] if one["status"] != "good"]
    assert [reason.split()[0] for reason in data["reasons"]] == doubted
    assert (out / "identified.urdf").exists()
    truth = {one["name"]: one["value"] for one in json.loads((folder / "truth.json").read_text())["base"]}
    known = [one for one in data["parameters"] if one["name"] in truth]
    errors = np.array([(one["value"] - truth[one["name"]]) / one["std"] for one in known])
    assert len(known) > 15
    assert np.abs(errors).max() < 5.0
    assert np.median(np.abs(errors)) < 1.5
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Identification of kuka-ir361" in page
    assert page.count("<figure") >= 7
    settings = tmp_path / "again.yaml"
    settings.write_text(yaml.safe_dump(data["settings"]), encoding="utf-8")
    assert exciter("identify", ARM, folder / "log.csv", "-o", tmp_path / "again", "--config", settings) == 0
    assert result(tmp_path / "again")["parameters"] == data["parameters"]


def test_what_to_type_next(folder, tmp_path, capsys):
    """Validate what was not; the long tables where they are asked for."""
    out = tmp_path / "a folder"
    assert exciter("identify", ARM, folder / "log.csv", "-o", out, "--estimator", "wls", "--verbose") == 0
    text = capsys.readouterr().out
    assert text.splitlines()[-1] == f"next: exciter validate '{out}' other.csv"
    assert text.splitlines()[-2].startswith("Careful: not validated: ")
    assert re.search(r"ZZR1 .* good", text)
    for line in (STATUS_LEGEND, "σ % / smallest"):
        assert line in text
    flags = ["--estimator", "wls", "--validate", folder / "other.csv"]
    assert exciter("identify", ARM, folder / "log.csv", "-o", out, *flags) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("--format yaml -o identified.yaml")


def test_consistent_gives_a_robot_that_predicts(folder, tmp_path):
    """identified.urdf, loaded by Pinocchio, explains the torques that were never seen."""
    out = tmp_path / "out"
    flags = ["--estimator", "consistent", "--validate", folder / "other.csv"]
    assert exciter("identify", ARM, folder / "log.csv", "-o", out, *flags) == 0
    data = result(out)
    assert data["physically_consistent"] is True
    standard = data["standard"]
    model = pinocchio.buildModelFromUrdf(str(out / "identified.urdf"))
    state = model.createData()
    (part,) = process(read_recording(folder / "other.csv")).parts
    motion = part.motion[::10]
    rigid = [pinocchio.rnea(model, state, *sample) for sample in zip(motion.q, motion.qd, motion.qdd, strict=True)]
    rotor, viscous, coulomb, offset = (
        np.array([standard[f"{symbol}{j}"] for j in (1, 2, 3)]) for symbol in ("Ia", "Fv", "Fs", "off")
    )
    predicted = rigid + rotor * motion.qdd + viscous * motion.qd + coulomb * np.sign(motion.qd) + offset
    left = 100 * np.linalg.norm(predicted - part.torque[::10]) / np.linalg.norm(part.torque[::10])
    assert left < 5.0  # noise included, which the filter of the equations leaves out
    assert {"Ia1", "Fv1", "Fs1", "off1", "M1"} <= set(standard)
    assert min(standard[f"{symbol}{j}"] for symbol in ("Ia", "Fv", "Fs", "M") for j in (1, 2, 3)) >= 0.0


def test_another_result_in_the_same_folder(folder, tmp_path, capsys):
    """The robot of an earlier result does not stay beside a new one; a log validates nothing that it was used for."""
    out = tmp_path / "out"
    settings = tmp_path / "some.yaml"
    settings.write_text("terms: [viscous, {coulomb: {joints: [joint_1]}}]\n", encoding="utf-8")
    flags = ["--estimator", "consistent", "--config", settings]
    assert exciter("identify", ARM, folder / "log.csv", "-o", out, *flags) == 0
    assert 'friction="0"' in (out / "identified.urdf").read_text(encoding="utf-8")
    capsys.readouterr()
    assert exciter("identify", ARM, folder / "log.csv", "-o", out, "--validate", folder / "log.csv") == 2
    assert "validates nothing" in capsys.readouterr().err
    assert (out / "identified.urdf").exists()
    assert exciter("identify", ARM, folder / "log.csv", "-o", out, "--estimator", "wls") == 0
    assert not (out / "identified.urdf").exists()


@pytest.mark.parametrize("word", [word for word in ESTIMATORS.words if word not in ("static", "friction-first")])
def test_every_estimator_by_its_word(folder, tmp_path, word):
    flags = ["--estimator", word, "--json"]
    if word == "ml":
        (tmp_path / "ml.yaml").write_text("identify: {route: {method: fourier, harmonics: 20}}\n", encoding="utf-8")
        flags += ["--config", tmp_path / "ml.yaml"]
    if word in ("iv", "didim"):
        control = tmp_path / "control.yaml"
        control.write_text("identify: {control: {law: pd, bandwidth: 25, rate: 500}}\n", encoding="utf-8")
        flags += ["--config", control, "--planned", folder / "log.json", "--periods", 3]
    assert exciter("identify", ARM, folder / "log.csv", "-o", tmp_path / "out", *flags) == 0
    data = result(tmp_path / "out")
    truth = {one["name"]: one["value"] for one in json.loads((folder / "truth.json").read_text())["base"]}
    errors = [one["value"] - truth[one["name"]] for one in data["parameters"] if one["name"] in truth]
    size = np.linalg.norm(list(truth.values()))
    assert np.linalg.norm(errors) < 0.1 * size
    assert data["total_percent"] < 0.5 * data["description"]["total_percent"]
    assert data["assumption"]


@pytest.mark.parametrize(
    "word", [word for word in FORMULATIONS.words if word not in ("base-wrench", "base-link", "gain-free")]
)
def test_every_formulation_by_its_word(folder, tmp_path, word):
    assert exciter("identify", ARM, folder / "log.csv", "-o", tmp_path / "out", "--formulation", word) == 0
    data = result(tmp_path / "out")
    assert data["total_percent"] < data["description"]["total_percent"]


def test_payload_friction_and_gains(folder, tmp_path, capsys):
    """The load of a second log, the friction models, and drive gains of currents from a known load."""
    robot = embedded.robot(ARM)
    load = tmp_path / "load.yaml"
    load.write_text(SIMULATE + "  payload: {frame: joint_3, mass: 8, centre: [0.1, 0.3, 0]}\n", encoding="utf-8")
    flags = ["--config", load, "--periods", 3, "--seed", 5]
    assert exciter("simulate", ARM, folder / "log.json", "-o", tmp_path / "full.csv", *flags) == 0
    full = read_recording(tmp_path / "full.csv")
    assert full.about.payload.mass == 8.0
    settings = tmp_path / "identify.yaml"
    settings.write_text("identify: {payload: joint_3, friction: choose}\n", encoding="utf-8")
    flags = ["--loaded", tmp_path / "full.csv", "--config", settings]
    assert exciter("identify", ARM, folder / "log.csv", "-o", tmp_path / "out", *flags) == 0
    data = result(tmp_path / "out")
    mass = data["payload"]["parameters"][0]
    assert mass["interval"][0] < 8.0 < mass["interval"][1]
    assert mass["std"] < 0.4
    assert data["known_load"]["verdict"].startswith(
        "recovered"
    )  # the log states its load, which is not used to find it
    assert set(data["friction"]["joints"]) == set(robot.joint_names)
    assert "mass" in capsys.readouterr().out

    gains = np.array([50.0, 40.0, 30.0])
    for name, log in (("empty", read_recording(folder / "log.csv")), ("full", full)):
        payload = Payload("joint_3", 8.0, (0.1, 0.3, 0.0)) if name == "full" else None
        about = About(period=4.0, settled=4.0, payload=payload)
        current = Recording(log.joints, log.time, log.q, current=log.torque / gains, about=about)
        write_recording(current, tmp_path / f"{name}_current.csv")
    settings.write_text("identify: {gains: identify}\n", encoding="utf-8")
    logs = [tmp_path / "empty_current.csv", tmp_path / "full_current.csv"]
    assert exciter("identify", ARM, *logs, "-o", tmp_path / "gains", "--config", settings) == 0
    found = result(tmp_path / "gains")["gains"]["gains"]
    for one, true in zip(found, gains, strict=True):
        assert abs(one["value"] - true) < 4.0 * one["std"] + 0.002 * true


def test_the_whole_section_is_understood(tmp_path):
    from exciter.identification import identify_config

    text = identify_config.__doc__
    block = text[text.index("terms: [") :].replace("gains: identify  ", "gains: {M3: 20}")
    path = tmp_path / "identify.yaml"
    path.write_text(block, encoding="utf-8")
    config = SettingsFile.read(path).identify
    assert set(yaml.safe_load(block)["identify"]) == set(keys_of(IdentifySettings))
    robot = embedded.robot(ARM)
    config.estimator(robot)
    assert config.route is not None
    assert config.uncertainty == StationaryErrors()


FEW = "identify: {accept_problems: true, filter: {cutoff: 5, factor: 40}}"
BAD = {
    "the same log twice": (["log.csv", "log.csv"], "", r"given twice"),
    "locked, but moving": (["log.csv", "--lock", "joint_2"], "", r"'joint_2' is locked, but moves"),
    "no such log": (["nowhere.csv"], "", r"nowhere.csv"),
    "too short": (["short.csv"], "", r"short.csv: .* lasts 0.02 s"),
    "fewer rows than parameters": (["few.csv"], FEW, r"equations for \d+ parameters"),
    "a joint that stands still": (
        ["still.csv"],
        "terms: [viscous]\nidentify: {accept_problems: true, estimator: wls}",
        r"wls cannot determine ZZR1.*, for joint_2 never moves in these logs: lock what stands",
    ),
    "other joints": (["others.csv"], "", r"no joint 'joint_3'"),
    "no torque": (["zero.csv"], "identify: {accept_problems: true}", r"joint_1: torque is 0 throughout"),
    "torque missing": (["nothing.csv"], "", r"torque"),
    "unknown estimator": (
        ["log.csv", "--estimator", "magic"],
        "",
        r": --estimator is 'magic'; allowed are ols",
    ),
    "unknown formulation": (
        ["log.csv", "--formulation", "magic"],
        "",
        r": --formulation is 'magic'; allowed are",
    ),
    "unknown key": (["log.csv"], "identify: {estimater: wls}", r"estimater"),
    "infeasible bounds": (
        ["log.csv"],
        "identify: {estimator: {consistent: {bounds: [{mass: [1, 2]}, {joint: joint_2, mass: [50, 60]}]}}}",
        r"mass",
    ),
    "a joint that is not there": (
        ["log.csv"],
        "identify: {estimator: {consistent: {bounds: [{joint: knee, mass: 3}]}}}",
        r"knee",
    ),
    "noise of two joints": (["log.csv"], "identify: {noise: [1, 2]}", r"noise has 2 numbers"),
    "negative noise": (["log.csv"], "identify: {noise: -1}", r"-1"),
    "ml without a period": (["once.csv", "--estimator", "ml"], "identify: {filter: none}", r"period"),
    "no controller": (["log.csv", "--estimator", "didim"], "", r"\(planned\)"),
    "a cut-off too high": (["log.csv"], "identify: {filter: {cutoff: 1000}}", r"1000 Hz"),
    "payload on nothing": (["log.csv", "--loaded", "log.csv"], "identify: {payload: moon}", r"moon"),
    "gains without currents": (["log.csv"], "identify: {gains: identify}", r"no currents"),
    "no plate": (["log.csv", "--formulation", "base-wrench"], "", r"wrench"),
}


@pytest.fixture(scope="module")
def bad_logs(folder):
    log = read_recording(folder / "log.csv")
    about = About()
    once = Recording(log.joints, log.time, log.q, torque=log.torque, about=about)
    still = np.array(log.q)
    still[:, 1] = 0.5
    write_recording(once, folder / "once.csv")
    write_recording(once[:5], folder / "short.csv")
    motion = Recording(log.joints, log.time[:400], log.q[:400], torque=log.torque[:400], about=about)
    write_recording(motion, folder / "few.csv")
    write_recording(Recording(log.joints, log.time, still, torque=log.torque, about=about), folder / "still.csv")
    write_recording(
        Recording(("joint_1", "joint_2", "knee"), log.time, log.q, torque=log.torque), folder / "others.csv"
    )
    write_recording(
        Recording(log.joints, log.time, log.q, torque=np.zeros_like(log.q), about=about), folder / "zero.csv"
    )
    write_recording(Recording(log.joints, log.time, log.q, about=about), folder / "nothing.csv")
    return folder


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(bad_logs, tmp_path, capsys, monkeypatch, case):
    words, config, message = BAD[case]
    monkeypatch.chdir(bad_logs)
    flags = []
    if config:
        (tmp_path / "identify.yaml").write_text(config + "\n", encoding="utf-8")
        flags = ["--config", tmp_path / "identify.yaml"]
    assert exciter("identify", ARM, *words, "-o", tmp_path / "out", *flags) == 2
    error = without_progress(capsys.readouterr().err)
    assert error.startswith("exciter: ")
    assert error.count("\n") == 1
    assert re.search(message, error), error
    assert not (tmp_path / "out").exists()
