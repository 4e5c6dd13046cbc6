"""``exciter validate`` and ``exciter export`` on folders as people leave them: moved, damaged, mixed up."""

import html
import json
import re
import shutil

import numpy as np
import pytest
import yaml

from exciter.cli import main
from exciter.excitation.files.trajectory_files import exact_data
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.identification.identified_model import RESULT_KINDS
from exciter.robot import embedded_robots as embedded
from support.terminal import without_progress

pytestmark = pytest.mark.slow

ARM = "kuka-ir361"
SIMULATE = """simulate: {truth: {seed: 1}, encoder: {counts: none}, torque: {noise: [2, 2, 1]}, log: {rate: 200},
  simulation_rate: 1000}"""


def exciter(*arguments) -> int:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    return int(left.value.code or 0)


def refused(capsys, *arguments) -> str:
    """The one line of an error."""
    capsys.readouterr()
    assert exciter(*arguments) == 2
    said = without_progress(capsys.readouterr().err)
    assert said.startswith("exciter: ")
    assert said.count("\n") == 1
    return said


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """log.csv, other.csv, and ceiling.csv of the same arm upside down; found: a full set, base: base parameters."""
    at, robot, family = tmp_path_factory.mktemp("arm"), embedded.robot(ARM), Fourier(4.0, 3)
    (at / "simulate.yaml").write_text(SIMULATE, encoding="utf-8")
    for name, seed, gravity in (("log", 0, -9.81), ("other", 1, -9.81), ("ceiling", 1, 9.81)):
        delta = 0.5 * np.random.default_rng(seed).standard_normal((3, 7))
        path = at / f"{name}.json"
        curve = ramped(family, delta, robot, periods=2)
        path.write_text(json.dumps(exact_data(curve, robot, family, delta, 2)), encoding="utf-8")
        flags = ("--config", at / "simulate.yaml", "--gravity", 0, 0, gravity, "-q")
        assert exciter("simulate", ARM, path, "-o", at / f"{name}.csv", *flags) == 0
    assert exciter("identify", ARM, at / "log.csv", "-o", at / "found", "--estimator", "consistent", "-q") == 0
    assert exciter("identify", ARM, at / "log.csv", "-o", at / "base", "--estimator", "wls", "-q") == 0
    return at


def test_what_is_printed_and_written(place, tmp_path, capsys):
    assert exciter("validate", place / "found", place / "other.csv", "-o", tmp_path / "new") == 0
    out = capsys.readouterr().out
    for words in ("other.csv", "description", "noise floor", "inertia matrix"):
        assert words in out
    assert len(out.splitlines()) <= 25
    data = json.loads((tmp_path / "new" / "validation.json").read_text(encoding="utf-8"))
    assert exciter("validate", place / "found", place / "other.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["verdict"] == data["runs"][0]["verdict"]
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"validation.json", "report.html"}


def test_terminal_report_and_data_say_the_same(place, tmp_path, capsys):
    """Two logs: every one named, figures of both stacked, the same two lines everywhere, and what to type next."""
    folder = tmp_path / "new"
    flags = ("--config", place / "simulate.yaml", "--seed", 7, "-q")
    assert exciter("simulate", ARM, place / "other.json", "-o", tmp_path / "third.csv", *flags) == 0
    logs = (place / "other.csv", tmp_path / "third.csv")
    assert exciter("validate", place / "found", *logs, "-o", folder) == 0
    printed = capsys.readouterr()
    *_, first, second, command = printed.out.splitlines()
    data = json.loads((folder / "validation.json").read_text(encoding="utf-8"))
    assert data["verdict"]["lines"] == [first, second]
    assert "on other.csv, third.csv (" in first
    assert f"residual {data['all_runs']['models']['identified']['total_percent']:.3g} % of the torque" in first
    assert command == f"next: exciter export {place / 'found'} --format urdf -o identified.urdf"
    page = (folder / "report.html").read_text(encoding="utf-8")
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page))).replace("\u2212", "-")
    assert f"R{first.partition(': r')[2]}. {second}." in text
    kind = "validation data: "
    rows = [line.removeprefix(kind).split() for line in printed.out.splitlines() if line.startswith(kind)]
    assert [row[0] for row in rows] == ["other.csv", "third.csv", "all"]
    for row in rows:
        assert " ".join(f"{figure} %" for figure in row[-4:]) in text  # the total, and joint by joint
    steps = printed.err.splitlines()
    assert [f"… {step}" for step in ("reading other.csv", "predicting")] == [steps[0], steps[2]]
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", printed.err)


def test_verbose_has_the_long_tables(place, capsys):
    assert exciter("validate", place / "found", place / "other.csv", "--verbose") == 0
    out = capsys.readouterr().out
    for words in ("identified model", "gravity only", "no model", "noise floor", "largest residual", "… at [s]"):
        assert words in out


def test_an_arm_on_the_ceiling_is_judged_there(place, capsys):
    """The same parameters, gravity the other way."""
    assert exciter("validate", place / "base", place / "ceiling.csv", "--json") == 0
    upside_down = json.loads(capsys.readouterr().out)["runs"][0]["total_percent"]
    assert exciter("validate", place / "base", place / "other.csv", "--json") == 0
    assert upside_down < 3.0 * json.loads(capsys.readouterr().out)["runs"][0]["total_percent"]  # not tens of per cent
    wall = place / "wall.yaml"
    wall.write_text(
        yaml.safe_dump({"file": "other.csv", "format": "exciter", "gravity": [9.81, 0, 0]}), encoding="utf-8"
    )
    assert "other base parameters" in refused(capsys, "validate", place / "base", wall)


def test_the_log_identified_from_validates_nothing(place, tmp_path, capsys):
    shutil.copy(place / "log.csv", tmp_path / "renamed.csv")
    shutil.copy(place / "log.yaml", tmp_path / "renamed.yaml")
    assert "validates nothing" in refused(capsys, "validate", place / "base", tmp_path / "renamed.csv")
    out = tmp_path / "out"
    assert "given twice" in refused(
        capsys, "identify", ARM, place / "log.csv", "-o", out, "--loaded", tmp_path / "renamed.csv"
    )
    assert not out.exists()


def damaged(place, tmp_path, change) -> object:
    folder = tmp_path / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(place / "found", folder)
    data = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    change(data)
    (folder / "result.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def test_damaged_results_are_refused(place, tmp_path, capsys):
    """Every part that is read, missing or of another kind; numbers that cannot be."""

    def without(key):
        return lambda data: data.pop(key)

    def put(value, *where):
        def change(data):
            for key in where[:-1]:
                data = data[key]
            data[where[-1]] = value

        return change

    changes = [without(key) for key in RESULT_KINDS]
    changes += [put(value, key) for key in RESULT_KINDS for value in (7j.real, "x", [[]])[: 2 if key == "words" else 3]]
    changes += [
        put(float("nan"), "parameters", 0, "value"),
        put(None, "parameters", 0),
        put(float("nan"), "covariance", 0, 0),
        put(-1.0, "covariance", 0, 0),
        put([[1.0]], "covariance"),
        put(1e300, "standard", "M1"),
        put("../../robot.yaml", "robot", "file"),
        put({}, "robot"),
        put({"joint_1": "x"}, "noise"),
        put(["unheard"], "terms"),
        put({"cutoff": -1}, "judged_through"),
    ]
    for change in changes:
        folder = damaged(place, tmp_path, change)
        before = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        if before == json.loads((place / "found" / "result.json").read_text(encoding="utf-8")):
            continue
        said = {refused_or_done(capsys, "export", folder, "--format", "json", "-o", tmp_path / "x.json")}
        assert said <= {"refused"} or harmless(before)
    for text in ("", "[" * 100_000, "\x00", '{"parameters": []'):
        (folder / "result.json").write_text(text, encoding="utf-8")
        refused(capsys, "validate", folder, place / "other.csv")


def refused_or_done(capsys, *arguments) -> str:
    code = exciter(*arguments)
    said = without_progress(capsys.readouterr().err)
    assert code == 0 or (code == 2 and said.count("\n") == 1), said
    return "refused" if code else "done"


def harmless(data) -> bool:
    """Of another content than before, and yet a result: numbers and words that nothing is computed from."""
    return set(data) >= set(RESULT_KINDS) and all(isinstance(data[key], kind) for key, kind in RESULT_KINDS.items())


def test_another_robot_beside_the_result_is_noticed(place, tmp_path, capsys):
    folder = tmp_path / "mixed"
    shutil.copytree(place / "found", folder)
    shutil.copy(embedded.path("gautier-khalil"), folder / "robot.yaml")
    for command in (
        ("validate", folder, place / "other.csv"),
        ("export", folder, "--format", "c", "-o", tmp_path / "a.c"),
    ):
        assert "not the description" in refused(capsys, *command)
    (folder / "robot.yaml").unlink()
    assert "no copy" in refused(capsys, "validate", folder, place / "other.csv")


def test_files_of_others_are_left_alone(place, tmp_path, capsys):
    """What an earlier result wrote may go; nothing else."""
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("robot.stl", "robot.xacro", "identified.urdf"):
        (mine / name).write_text("mine", encoding="utf-8")
    assert exciter("identify", ARM, place / "log.csv", "-o", mine, "--estimator", "wls", "-q") == 0
    assert all((mine / name).read_text(encoding="utf-8") == "mine" for name in ("robot.stl", "identified.urdf"))
    shutil.copytree(place / "found", tmp_path / "again")
    assert exciter("identify", ARM, place / "log.csv", "-o", tmp_path / "again", "--estimator", "wls", "-q") == 0
    assert not (tmp_path / "again" / "identified.urdf").exists()  # of the full set that was there
    other = tmp_path / "other"
    other.mkdir()
    (other / "robot.yaml").write_text("mine", encoding="utf-8")
    assert "of no earlier result" in refused(capsys, "identify", ARM, place / "log.csv", "-o", other)
    assert [path.name for path in other.iterdir()] == ["robot.yaml"]
    (tmp_path / "blocked" / "result.json").mkdir(parents=True)
    assert "is a folder" in refused(capsys, "identify", ARM, place / "log.csv", "-o", tmp_path / "blocked")
    assert [path.name for path in (tmp_path / "blocked").iterdir()] == ["result.json"]


def test_base_parameters_alone_are_no_urdf(place, tmp_path, capsys):
    for form, name in (("urdf", "a.urdf"), ("mjcf", "a.xml"), ("sdf", "a.sdf")):
        assert "the estimator consistent" in refused(
            capsys, "export", place / "base", "--format", form, "-o", tmp_path / "new" / name
        )
    assert not (tmp_path / "new").exists()
    for form, name in (("c", "a.c"), ("python", "a.py"), ("yaml", "a.yaml"), ("json", "a.json")):
        assert exciter("export", place / "base", "--format", form, "-o", tmp_path / name, "-q") == 0
    assert "exciter design" in refused(capsys, "export", place / "base", "--format", "ros2", "-o", tmp_path / "m.yaml")


def test_the_folder_that_one_is_in(place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert exciter("identify", ARM, place / "log.csv", "-o", ".", "-q") == 0
    assert (tmp_path / "result.json").is_file()
    assert "-o is empty" in refused(capsys, "identify", ARM, place / "log.csv", "-o", "")


def test_names_are_no_markup(place, tmp_path, capsys):
    """Brackets in names are shown as they are."""
    for name in ("other.csv", "other.yaml"):
        shutil.copy(place / name, tmp_path / f"[red]{name}")
    assert exciter("validate", place / "base", tmp_path / "[red]other.csv") == 0
    assert "[red]other.csv" in capsys.readouterr().out


def test_a_key_that_is_there_twice_is_refused(tmp_path, capsys):
    """One of both limits would be lost without a word."""
    path = tmp_path / "twice.yaml"
    path.write_text("limits: {velocity: 0.1}\nlimits: {acceleration: 3}\n", encoding="utf-8")
    assert "'limits' is there twice" in refused(capsys, "base", ARM, "--config", path)


def test_a_demo_that_fails_leaves_nothing(tmp_path, capsys):
    assert "foo" in refused(capsys, "demo", "--robot", ARM, "-o", tmp_path / "demo", "--lock", "foo")
    assert not (tmp_path / "demo").exists()
