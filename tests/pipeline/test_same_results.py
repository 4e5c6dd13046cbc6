"""The front door and the command give the same files: for three robots, all the way from a design to a validation."""

import json

import numpy as np
import pytest

import exciter as ex
from exciter.cli import main

pytestmark = pytest.mark.slow

OTHER_EVERY_TIME = {"seconds", "versions", "files", "sha256"}  # clocks, and hashes of files that have them inside
SIMULATE = "simulate: {truth: {bodies: 0.1}, torque: {noise: 0.1}, log: {rate: 100}, simulation_rate: 1000}\n"


def command(*words: object) -> None:
    with pytest.raises(SystemExit) as left:
        main([*map(str, words), "--quiet"])
    assert left.value.code == 0


def printed(capsys, *words: object) -> object:
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main([*map(str, words), "--json"])
    assert left.value.code == 0
    return json.loads(capsys.readouterr().out)


def timeless(data):
    """Without what is another every time."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in OTHER_EVERY_TIME}
    return [timeless(value) for value in data] if isinstance(data, list) else data


def content(path):
    return timeless(json.loads(path.read_text()))


def as_json(data):
    return timeless(json.loads(json.dumps(data, default=lambda x: x.tolist() if isinstance(x, np.ndarray) else str(x))))


@pytest.mark.parametrize(
    ("name", "method", "words"),
    [
        ("gautier-khalil", {}, ()),
        ("tx40", {"estimator": ex.PhysicallyConsistent()}, ("--estimator", "consistent")),
        ("ur10e", {"estimator": ex.Huber()}, ("--estimator", "huber")),
    ],
    ids=["gautier-khalil, automatic", "tx40", "ur10e"],
)
def test_python_and_the_command_give_the_same_files(name, method, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim.yaml").write_text(SIMULATE)
    motion = ex.design(name, ex.Fourier(5.0, 4, at_rest=True), starts=1, seed=2)
    motion.save("py/motion")
    (tmp_path / "design.yaml").write_text("trajectory: {family: fourier, period: 5, harmonics: 4}\nstarts: 1\n")
    command("design", name, "-o", "cli/motion", "--config", "design.yaml", "--seed", 2)
    assert content(tmp_path / "py/motion/design.json") == content(tmp_path / "cli/motion/design.json")
    for file in ("trajectory.csv", "trajectory.json", "trajectory.ros2.yaml"):
        assert (tmp_path / "py/motion" / file).read_bytes() == (tmp_path / "cli/motion" / file).read_bytes()

    drawn = ex.design(name, ex.RandomSpline(4.0, 4), seed=5)
    for log, move in (("log.csv", motion), ("other.csv", drawn)):
        simulated = ex.simulate(name, move, "sim.yaml", seed=1)
        simulated.save(log, truth=log.replace(".csv", ".json"))
    command("simulate", name, "cli/motion/trajectory.json", "-o", "again.csv", "--config", "sim.yaml", "--seed", 1)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "log.csv").read_bytes()

    told = printed(capsys, "inspect", name, "log.csv", "--planned", "py/motion/trajectory.json")["logs"][0]
    quality = ex.inspect(name, "log.csv", planned=motion)
    assert as_json(quality.to_dict()) == {
        key: value for key, value in timeless(told).items() if key not in ("log", "remarks")
    }

    found = ex.identify(name, ex.read("log.csv"), validate="other.csv", **method)
    found.save("py/found")
    command("identify", name, "log.csv", "-o", "cli/found", "--validate", "other.csv", *words)
    assert content(tmp_path / "py/found/result.json") == content(tmp_path / "cli/found/result.json")
    written = [{path.name for path in (tmp_path / by / "found").iterdir()} for by in ("py", "cli")]
    assert written[0] == written[1]
    assert ("identified.urdf" in written[0]) == bool(found.to_dict()["physically_consistent"])
    if "identified.urdf" in written[0]:
        urdfs = [(tmp_path / by / "found" / "identified.urdf").read_bytes() for by in ("py", "cli")]
        assert urdfs[0] == urdfs[1]

    opened = ex.open("cli/found")  # what the command wrote is what Python has
    assert as_json(opened.to_dict()) == as_json(found.to_dict())
    np.testing.assert_array_equal(opened.fit[0].predicted.values, found.fit[0].predicted.values)

    told = timeless(printed(capsys, "validate", "cli/found", "other.csv"))
    for checked in (ex.validate(found, "other.csv"), ex.validate("cli/found", "other.csv")):
        assert {**as_json(checked.to_dict()), "model": ""} == {**told, "model": ""}
