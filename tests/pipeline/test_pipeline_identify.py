"""The pipeline: objects in, one object out; the same as the commands, and nothing printed or changed on the way."""

import html
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from exciter.cli import main
from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.quality import prepare_log as processing
from exciter.experiment.recording import Recording, open_recording, read_recording, write_recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.files import HASHES, json_text
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.identify_config import IdentifyConfig
from exciter.notes import notable, shortened
from exciter.parameters.terms import declared_terms
from exciter.pipeline import logs as reading
from exciter.pipeline.identified import Identified
from exciter.pipeline.identify import identify
from exciter.pipeline.logs import read_logs
from exciter.pipeline.validate import validate
from exciter.robot import load

pytestmark = pytest.mark.slow

ARM = "gautier-khalil"
ROBOT = load(ARM)
RATE = 200.0
CONFIG = IdentifyConfig().overridden(estimator="wls")


def recorded(seed: int, seconds: float = 8.0, period: float = 4.0) -> Recording:
    model = DynamicModel(ROBOT, declared_terms(ROBOT))
    rng = np.random.default_rng(seed)
    delta = 0.4 * rng.standard_normal((ROBOT.n, 7))
    moved = motion(Fourier(period, 3), delta, np.arange(round(seconds * RATE)) / RATE)
    torque = model.torque(moved, model.nominal)
    return Recording(ROBOT.joint_names, moved.time, moved.q, torque=torque + 0.1 * rng.standard_normal(torque.shape))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """log.csv and other.csv."""
    folder = tmp_path_factory.mktemp("logs")
    for name, seed in (("log", 0), ("other", 1)):
        write_recording(recorded(seed), folder / f"{name}.csv")
    return folder


def run(*words) -> None:
    with pytest.raises(SystemExit) as left:
        main([*map(str, words)])
    assert not left.value.code


def lasting(data: dict, *also: str) -> dict:
    """What does not depend on when and where it was computed."""
    plain = json.loads(json_text(data))
    return {key: value for key, value in plain.items() if key not in ("seconds", HASHES, *also)}


def test_the_library_gives_what_the_commands_write(folder, tmp_path, capsys):
    """result.json and validation.json to the last figure, with the steps that a person sees; nothing is printed."""
    log, other = folder / "log.csv", folder / "other.csv"
    run("identify", ARM, log, "-o", tmp_path / "found", "--estimator", "wls", "--validate", other)
    run("validate", tmp_path / "found", other, "-o", tmp_path / "checked")
    capsys.readouterr()
    steps = []
    found = identify(ROBOT, [log], CONFIG, validate=[other], progress=steps.append)
    model = IdentifiedModel.read(tmp_path / "found")
    checked = validate(model, [other], progress=steps.append)
    written = [json.loads((tmp_path / name).read_text()) for name in ("found/result.json", "checked/validation.json")]
    assert lasting(found.to_dict()) == lasting(written[0])
    assert lasting(checked.to_dict()) == lasting(written[1])
    assert steps == [
        *("reading log.csv", "reading other.csv", "identifying", "checking"),
        *("reading other.csv", "predicting", "searching the inertia matrix", "simulating other.csv"),
    ]
    assert capsys.readouterr() == ("", "")
    assert CONFIG.side is None


def test_samples_in_memory_are_identified_as_those_of_files(folder):
    """By paths, opened files, samples, and samples with a name; nothing but names and hashes tells them apart."""
    log, other = folder / "log.csv", folder / "other.csv"
    from_files = identify(ROBOT, [str(log)], CONFIG, validate=[open_recording(other)])
    samples = [read_recording(path) for path in (log, other)]
    bare = [replace(one, name=None, about=replace(one.about, sources=())) for one in samples]
    before = bare[0].torque.copy()
    in_memory = identify(ROBOT, bare[:1], CONFIG, validate=[replace(bare[1], name="evening")])
    assert_array_equal(in_memory.estimate.values, from_files.estimate.values)
    assert_array_equal(in_memory.estimate.covariance, from_files.estimate.covariance)
    assert [*from_files.quality] == [str(log), str(other)]
    assert [*in_memory.quality] == ["recording 1", "evening"]
    assert [one.run for one in in_memory.identification.validation] == ["evening"]
    (source,) = in_memory.to_dict()["runs"][0]["sources"]
    assert source["name"] == "recording 1"
    assert len(source["sha256"]) == 64
    assert_array_equal(bare[0].torque, before)


def test_a_note_keeps_its_subject_and_joint_from_the_log_to_result_and_report(tmp_path):
    """As data, through the archive; as a sentence where it is read."""
    log, joint = recorded(0), ROBOT.joint_names[1]
    torque = log.torque.copy()
    torque[400:1200:100, 1] += 60.0
    write_recording(replace(log, torque=torque), tmp_path / "log.csv")
    found = identify(ROBOT, tmp_path / "log.csv", CONFIG)
    (spikes,) = (one for one in found.quality[str(tmp_path / "log.csv")].warnings if one.subject == "spikes")
    for result in (found, Identified.open(found.save(tmp_path / "found"))):
        (said,) = (one for one in result.notes if one.subject == "spikes")
        assert (said.joint, said.log, said.text) == (joint, str(tmp_path / "log.csv"), spikes.text)
        assert dict(said.numbers) == dict(spikes.numbers)
        (run,) = result.logs.runs
        assert ("route", None) in {(one.subject, one.joint) for one in run.notes}
        assert result.to_dict()["notes"] == [str(one) for one in notable(result.logs.notes)]
        assert f"log.csv: spikes of {joint}: {spikes.text}" in result.to_dict()["notes"]
        assert f"log.csv: spikes of {joint}: {shortened(spikes.text)}" in html.unescape(result.report().head)


def test_samples_in_memory_count_once():
    """A recording that has no file is known by its samples; what it says of itself does not make it another one."""
    log = recorded(0)
    again = replace(log, about=replace(log.about, notes={"said": "of another day"}))
    for given in (([log, again],), ([log], [again])):
        with pytest.raises(RecordingError, match="recording 2"):
            read_logs(ROBOT, CONFIG, *given)
    assert len(read_logs(ROBOT, CONFIG, [log[:900]], [log[900:]]).validation) == 1
    with pytest.raises(RecordingError, match="several logs are called morning"):
        read_logs(ROBOT, CONFIG, [replace(log[:900], name="morning")], [replace(log[900:], name="morning")])


def test_without_a_log_nothing_is_identified():
    with pytest.raises(RecordingError, match="at least one"):
        identify(ROBOT, [], validate=[recorded(1)])  # where settings are chosen from logs, too


def test_a_log_is_repaired_once(folder, monkeypatch):
    """Whatever is tried with it: the check of its quality, and every route that a first run compares."""
    repaired, routes = [], []
    for place in (reading, processing):
        plain = place.repair
        monkeypatch.setattr(
            place, "repair", lambda *words, plain=plain, **named: repaired.append(1) or plain(*words, **named)
        )
    stream = FilteredDifferences.stream
    monkeypatch.setattr(FilteredDifferences, "stream", lambda *words: routes.append(1) or stream(*words))
    told = {"gravity": ROBOT.gravity.tolist(), "identify": {"friction": "as-given", "folds": 3}}
    found = identify(ROBOT, [folder / "log.csv"], IdentifyConfig.of(told, "here"), validate=[folder / "other.csv"])
    assert any(choice.setting == "route" for choice in found.choices)
    assert len(routes) > 4
    assert len(repaired) == 2


def test_gains_are_given_to_every_piece_of_a_log_of_currents():
    """A log with a gap, repaired before its gains are known, is the log that had them from the beginning."""
    log = recorded(0)
    kept = np.ones(len(log), dtype=bool)
    kept[700:760] = False
    gains = tuple(np.linspace(2.0, 3.0, ROBOT.n).tolist())
    currents = replace(log, torque=None, current=log.torque / np.array(gains))[kept]
    known = replace(currents, about=replace(currents.about, gains=gains))
    unknown = replace(CONFIG, settings=replace(CONFIG.settings, gains={}))
    (one,) = read_logs(ROBOT, unknown, [currents]).logs
    (two,) = read_logs(ROBOT, CONFIG, [known]).logs
    parts = [read.run.parts for read in (one.with_gains(gains, None), two)]
    assert len(parts[0]) == len(parts[1]) == 2
    for mine, told in zip(*parts, strict=True):
        assert_array_equal(mine.torque, told.torque)
        assert_array_equal(mine.motion.q, told.motion.q)
    assert_array_equal(one.run.parts[0].torque * np.array(gains), parts[0][0].torque)


def test_a_long_log_goes_through_another_route_with_all_its_samples(folder, monkeypatch):
    """Also one whose motion repeats, and that was averaged at first."""
    log = recorded(0, seconds=60.0)
    write_recording(replace(log, about=replace(log.about, period=4.0)), folder / "long.npz")
    monkeypatch.setattr(reading, "HELD_BYTES", 1000)
    monkeypatch.setattr("exciter.identification.runs.run.SAMPLE_BYTES", 100_000)
    (averaged,) = read_logs(ROBOT, CONFIG, [folder / "long.npz"]).logs
    assert averaged.run.sample is None
    run = averaged.through(FilteredDifferences(20.0)).run
    assert sum(len(part) for part in run.parts) > 0.95 * len(log)
    bounded = averaged.bounded_through(FilteredDifferences(20.0))
    assert sum(len(part) for part in bounded.parts) < 0.5 * len(log)


def test_a_robot_that_python_code_changed_is_kept_with_its_result(folder, tmp_path):
    changed = ROBOT.with_limits(velocity=1.0)
    found = identify(changed, folder / "log.csv", CONFIG)
    found.save(tmp_path / "new")
    assert not list((tmp_path / "new").glob("robot.*"))
    back = IdentifiedModel.read(tmp_path / "new")
    assert_array_equal(back.values, found.estimate.values)
    assert_array_equal(back.model.robot.limit("velocity"), changed.limit("velocity"))
