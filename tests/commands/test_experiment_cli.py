"""``exciter design --experiment``, and check and simulate of its plan: files, words, exit codes."""

import json

import pytest
import yaml

from exciter.cli import main
from exciter.experiment.plan import Plan
from exciter.experiment.recording import read_recording

ARM = "kuka-ir361"
SETTINGS = """
limits: {torque: 300}
starts: 1
experiment: {static: {poses: 3, dwell: 0.4, candidates: 200}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("experiment")
    (place / "exciter.yaml").write_text(SETTINGS, encoding="utf-8")
    arguments = ["-o", str(place / "out"), "--config", str(place / "exciter.yaml"), "--seed", "1"]
    with pytest.raises(SystemExit) as ended:
        main(["design", ARM, "--experiment", "static", *arguments])
    assert ended.value.code == 0
    return place


def told(capsys, *arguments):
    """Exit code and what was printed."""
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    return ended.value.code, capsys.readouterr()


def test_the_settings_of_the_file_hold_for_its_word(folder):
    data = json.loads((folder / "out" / "experiment.json").read_text(encoding="utf-8"))
    assert data["certified"]
    assert len(data["stages"][0]["dwells"]) == 6
    assert data["settings"]["seed"] == 1
    assert all(stage["files"]["certificate"]["certified"] for stage in data["stages"])
    plan = yaml.safe_load((folder / "out" / "plan.yaml").read_text(encoding="utf-8"))
    assert list(plan) == ["experiment", "robot", "estimator", "stages"]
    assert [stage["purpose"] for stage in plan["stages"]] == ["rest", "excitation"]
    for stage in data["stages"]:
        assert (folder / "out" / stage["name"] / "report.html").is_file()
        assert (folder / "out" / stage["motion"]).is_file()


def test_what_predictions_assume_of_noise_is_said(folder, capsys):
    """σ of 1 N·m is more than most arms have: large σ of a design that was not told are no reason to worry."""
    data = json.loads((folder / "out" / "experiment.json").read_text(encoding="utf-8"))
    assert [text for text in data["remarks"] if "assume noise of σ 1 N·m" in text]
    pages = [(folder / "out" / name / "report.html").read_text(encoding="utf-8") for name in ("", "excitation")]
    for page in pages:
        assert "assume noise of σ 1 N·m" in page  # in the head
        assert "noise of σ 1 N·m (assumed)" in page
    (folder / "noisy.yaml").write_text("noise: 0.25", encoding="utf-8")
    words = ("--trajectory", "random-spline", "--config", folder / "noisy.yaml")
    code, printed = told(capsys, "design", ARM, "-o", folder / "noisy", *words)
    assert code == 0
    assert "assume noise" not in printed.out
    page = (folder / "noisy" / "report.html").read_text(encoding="utf-8")
    assert "noise of σ 0.25 N·m." in page


def test_check_certifies_all_stages(folder, capsys):
    code, printed = told(capsys, "check", ARM, folder / "out" / "plan.yaml", "--config", folder / "exciter.yaml")
    assert code == 0
    assert [name in printed.out for name in ("poses: certified", "excitation: certified")] == [True, True]
    tight = ("check", ARM, folder / "out" / "plan.yaml", "--json", "--config", folder / "tight.yaml")
    (folder / "tight.yaml").write_text("limits: {velocity: 0.1}", encoding="utf-8")
    code, printed = told(capsys, *tight)
    assert (code, json.loads(printed.out)["certified"]) == (1, False)


def test_simulate_puts_every_log_where_the_plan_expects_it(folder, capsys):
    place = folder / "out"
    arguments = ("-o", place, "--seed", 4, "--truth", folder / "truth.json", "--config", folder / "exciter.yaml")
    code, _ = told(capsys, "simulate", ARM, place / "plan.yaml", *arguments)
    assert code == 0
    plan = Plan.read(place)
    logs = [read_recording(plan.log_path(stage)) for stage in plan.stages]
    assert len(logs) == 2
    assert json.loads((folder / "truth.json").read_text(encoding="utf-8"))["seed"] == 4  # as given: it gives it again
    origin = {log.about.notes["origin"] for log in logs}
    assert len(origin) == 2, "each log has noise of its own"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("design", ARM, "-o", "out", "--experiment", "statik"), "--experiment is 'statik'; allowed are static"),
        (("design", ARM, "-o", "out", "--experiment", "otani", "--parameters", "friction"), "--parameters is for one"),
        (("design", ARM, "-o", "out", "--experiment", "otani", "--resume"), "--resume"),
        (("simulate", ARM, "PLAN", "-o", "log.csv"), "give a folder"),
        (("simulate", ARM, "PLAN", "-o", "logs", "--periods", "2"), "--periods is for one trajectory"),
        (("simulate", "puma560", "PLAN", "-o", "logs"), "joints"),
        (("check", "panda", "PLAN"), "joint"),
    ],
)
def test_what_cannot_be_is_one_line(arguments, message, folder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = [folder / "out" / "plan.yaml" if one == "PLAN" else one for one in arguments]
    code, printed = told(capsys, *given)
    assert code == 2
    assert message in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_search_within_its_starts_shows_where_it_is(capsys, tmp_path, monkeypatch):
    """Also where there is no terminal: what is being done, and how far it is now and then."""
    monkeypatch.setattr("exciter.commands.common.LINE_EVERY_S", 0.0)
    config = tmp_path / "exciter.yaml"
    config.write_text("experiment: {points: {equations: 16, explore: 3, keep: 1, rounds: 1}}", encoding="utf-8")
    code, printed = told(capsys, "design", "gautier-khalil", "-o", tmp_path / "o", "--starts", 2, "--config", config)
    assert code == 0
    lines = printed.err.splitlines()
    assert [line for line in lines if "iteration" not in line] == [
        "… designing points: a look at start 1 of 2",
        "… designing points: a look at start 2 of 2",
        "… designing points: 1 of the 1 best starts to its end",
        "… designing points: shorter times, round 1 of 1 at most",
    ]
    assert "… designing points: a look at start 1 of 2, iteration 3" in lines
    assert any(line.startswith("… designing points: shorter times") and "criterion" in line for line in lines)
    assert f"then exciter identify gautier-khalil --plan {tmp_path / 'o' / 'plan.yaml'} -o found" in printed.out


def test_the_schema_of_a_plan(capsys):
    code, printed = told(capsys, "schema", "plan")
    assert code == 0
    assert {"experiment", "robot", "estimator", "stages"} == set(json.loads(printed.out)["properties"])
