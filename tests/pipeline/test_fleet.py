"""A fleet: robots one by one, settings chosen once, resumed robot by robot, refused ones beside, and the same wherever
it runs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import exciter as ex
from exciter.cli import main
from exciter.errors import ExciterError
from exciter.experiment.recording.recording import Payload
from exciter.experiment.virtual import VirtualRobot
from exciter.experiment.virtual.sensors import Sampling
from exciter.experiment.virtual.true_parameters import Spread, draw
from exciter.pipeline import fleet as fleet_module
from exciter.pipeline.fleet_robots import kept_robot, robot_of_fleet, task_of
from exciter.pipeline.fleet_settings import FleetType, date_in_name, instants, robots_of
from exciter.workers import Processes
from support.killing import states

ROBOT = "gautier-khalil"
LOADED, STIFF, BAD, EMPTY = "R3", "R5", "R6", "R7"
GOOD = tuple(f"R{k}" for k in (0, 1, 2, 3, 4, 5, 8, 9))
DAYS = ("2026-01-05", "2026-03-05")
SETTINGS = {"description": ROBOT, "folders": "logs", "choose_from": 2}


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    """Folders of robots: a load, friction + 80 %, one bad log, one without; R8 and R9 were logged twice."""
    home = tmp_path_factory.mktemp("fleet")
    robot = ex.load(ROBOT)
    motion = ex.design(robot, ex.Fourier(period=4, harmonics=3), starts=1)
    for name in GOOD:
        k = int(name[1:])
        truth = draw(robot, k, Spread(bodies=0.01, friction=0.05))
        if name == STIFF:
            own = truth.friction
            stiff = {key: tuple(np.array([1.0, 1.8, 1.0]) * own.array(key)) for key in ("viscous", "coulomb")}
            truth = replace(truth, friction=replace(own, **stiff))
        load = Payload("joint_3", 8.0, (0.1, 0.0, 0.0), (0.0,) * 6) if name == LOADED else None
        virtual = VirtualRobot(robot, truth, sampling=Sampling(rate=200.0), payload=load, simulation_rate=2000.0)
        for n, day in enumerate(DAYS[: 2 if k > 7 else 1]):
            made = virtual.run(motion.curve, seed=10 * k + n).recording
            made = replace(made, about=replace(made.about, payload=None))
            made.save(home / "logs" / name / f"{day}.csv")
    (home / "logs" / BAD).mkdir()
    (home / "logs" / BAD / "log.csv").write_text("some,thing\n1,2\n")
    (home / "logs" / EMPTY).mkdir()
    (home / "fleet.yaml").write_text(json.dumps(SETTINGS))  # YAML, too
    return home


@pytest.fixture(scope="module")
def made(logs) -> tuple[ex.Fleet, Path]:
    folder = logs / "whole"
    return ex.fleet(logs / "fleet.yaml", folder), folder


def numbers(found: ex.Fleet) -> dict[str, np.ndarray]:
    return {one.name: one.numbers.values for one in found.robots if one.numbers is not None}


def test_those_that_differ_are_named_and_told_what(made):
    found, folder = made
    assert {LOADED, STIFF} <= set(found.differing)
    mass, sigma = (found.rows[_row(found, LOADED)]["tests"][0][key] for key in ("mass", "mass_std"))
    assert abs(mass - 8.0) < 3.0 * sigma + 0.8
    assert found.differing[STIFF][0].startswith("friction of joint_2 +")
    data = json.loads((folder / "fleet.json").read_text(encoding="utf-8"))
    assert {one["robot"] for one in data["robots"]} == {*GOOD, BAD, EMPTY}
    assert set(data["differing"]) == set(found.differing)
    assert "at most 0.1" in data["meaning"]
    table = (folder / "fleet.csv").read_text(encoding="utf-8").splitlines()
    assert len(table) == 1 + len(GOOD) + 2
    assert table[0].startswith("robot,type,status,p_value")


def _row(found: ex.Fleet, name: str) -> int:
    return next(k for k, row in enumerate(found.rows) if row["robot"] == name)


def test_a_robot_without_numbers_has_its_reason_and_stops_nobody(made):
    found, folder = made
    assert {one.name for one in found.refused} == {BAD, EMPTY}
    reasons = {one.name: one.reason for one in found.refused}
    assert "columns some, thing" in reasons[BAD]
    assert "there is no file" in reasons[EMPTY]
    assert len(found.types[0].identified) == len(GOOD)
    assert not (folder / "robots" / BAD / "result.json").exists()
    assert "Refused" in (folder / "report.html").read_text(encoding="utf-8")


def test_each_robot_has_what_identify_writes_with_one_set_of_settings(made, logs):
    found, folder = made
    config = found.types[0].config
    assert not config.automatic
    assert config.settings.estimator == ex.WeightedLeastSquares()
    one = ex.open(folder / "robots" / "R0")
    assert one.config.to_dict() == config.to_dict()
    again = ex.identify(ROBOT, logs / "logs" / "R0" / f"{DAYS[0]}.csv", config)
    assert_array_equal(again.parameters.values, one.parameters.values)
    assert_array_equal(found.types[0].robots[0].numbers.values, one.parameters.values)
    assert (folder / "robots" / "R0" / "report.html").is_file()
    assert ex.open(folder / "robots" / "R9").parameters.names == one.parameters.names


def test_it_opens_again_as_it_was(made):
    found, folder = made
    opened = ex.open(folder)
    assert isinstance(opened, ex.Fleet)
    assert opened.to_dict() == found.to_dict()
    assert repr(opened) == repr(found)
    assert "10 robots" in repr(found)
    assert "Fleet of 10 robots" in opened._repr_html_()
    assert opened.comparison().names == found.comparison("type").names
    with pytest.raises(ExciterError, match="there are the types type"):
        found.comparison("other")
    frame = found.to_pandas()
    assert frame.loc[LOADED, "status"] == "differs"
    assert frame.loc[BAD, "status"] == "refused"
    assert "friction" in found.plot().get_ylabel()


def test_what_is_done_is_not_done_again(made, logs, tmp_path, monkeypatch):
    """Robots whose inputs are the same; one with another log, one whose result was changed by hand, are done anew."""
    home = tmp_path / "again"
    shutil.copytree(logs, home)
    folder = home / "whole"
    done = list[str]()
    before = fleet_module.robot_of_fleet

    def counted(task):
        done.append(task["name"])
        return before(task)

    monkeypatch.setattr(fleet_module, "robot_of_fleet", counted)
    monkeypatch.setattr(fleet_module, "chosen_by_robot", lambda task: pytest.fail("settings were chosen already"))
    same = ex.fleet(home / "fleet.yaml", folder)
    assert done == []
    assert_array_equal(list(numbers(same).values()), list(numbers(made[0]).values()))
    shutil.copyfile(home / "logs" / "R9" / f"{DAYS[1]}.csv", home / "logs" / "R1" / f"{DAYS[0]}.csv")
    (home / "logs" / "R1" / f"{DAYS[0]}.yaml").unlink(missing_ok=True)
    (folder / "robots" / "R2" / "result.json").write_text("{}")
    other = ex.fleet(home / "fleet.yaml", folder)
    assert sorted(done) == ["R1", "R2"]
    assert "samples of R1" in {one.name: one.reason for one in other.refused}["R9"]
    assert_array_equal(numbers(other)["R2"], numbers(made[0])["R2"])


def test_a_second_log_costs_one_robot_and_its_drift_is_no_residual(logs, tmp_path, monkeypatch):
    """Also where it is the first robot with two, so that dates begin to count."""
    home = tmp_path / "logs"
    for name in ("R0", "R1", "R8"):
        shutil.copytree(logs / "logs" / name, home / name)
    second = home / "R8" / f"{DAYS[1]}.csv"
    log = ex.read(second)
    second.unlink()
    settings = {"terms": ["viscous", "coulomb"], "identify": {"automatic": False}}
    asked = {"description": ROBOT, "settings": settings, "folders": str(home)}
    once = ex.fleet(asked, tmp_path / "out")
    viscous = dict(zip(once.robots[2].parameters, once.robots[2].numbers.values, strict=True))["Fv2"]
    drifted = log.torque + viscous * np.gradient(log.q, log.time, axis=0) * np.array([0.0, 1.0, 0.0])
    replace(log, torque=drifted).save(second)
    done = list[str]()
    before = fleet_module.robot_of_fleet

    def counted(task):
        done.append(task["name"])
        return before(task)

    monkeypatch.setattr(fleet_module, "robot_of_fleet", counted)
    twice = ex.fleet(asked, tmp_path / "out")
    assert done == ["R8"]
    assert twice.types[0].unit == "days"
    assert [log.when for log in twice.robots[2].numbers.logs] == pytest.approx([0.0, 59.0])
    assert twice.robots[2].numbers.residual[1] == pytest.approx(once.robots[2].numbers.residual[1], rel=0.3)
    assert twice.robots[2].residual_percent[1] > 2.0 * once.robots[2].residual_percent[1]  # of one model for both


def test_a_fleet_that_was_stopped_goes_on_to_the_same(made, logs, tmp_path, monkeypatch):
    before, count = fleet_module.robot_of_fleet, 0

    def stopped(task):
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return before(task)

    monkeypatch.setattr(fleet_module, "robot_of_fleet", stopped)
    with pytest.raises(KeyboardInterrupt):
        ex.fleet(logs / "fleet.yaml", tmp_path / "out")
    assert len(list((tmp_path / "out" / "robots").glob("*/robot.json"))) == 3
    found = ex.fleet(logs / "fleet.yaml", tmp_path / "out")
    assert count == 4 + len(found.robots) - 3
    whole = numbers(made[0])
    for name, values in numbers(found).items():
        assert_array_equal(values, whole[name])
    assert found.to_dict()["robots"][0]["p_value"] == made[0].to_dict()["robots"][0]["p_value"]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["processes", "cluster"])
def test_it_is_the_same_wherever_it_runs(made, logs, tmp_path, where):
    if where == "cluster":
        pytest.importorskip("distributed")
    workers = Processes(2) if where == "processes" else ex.Cluster("local:2")
    found = ex.fleet(logs / "fleet.yaml", tmp_path / "out", workers=workers)
    whole = numbers(made[0])
    assert set(whole) == set(numbers(found))
    for name, values in numbers(found).items():
        assert_array_equal(values, whole[name])
    mine, theirs = found.to_dict(), made[0].to_dict()
    assert mine["differing"] == theirs["differing"]
    assert mine["types"] == theirs["types"]


def test_logs_of_several_days_have_trends(made):
    found = made[0].types[0]
    assert found.unit == "days"
    several = [one for one in found.identified if len(one.numbers.logs) > 1]
    assert [one.name for one in several] == ["R8", "R9"]
    assert several[0].numbers.logs[1].when - several[0].numbers.logs[0].when == pytest.approx(59.0)
    trend = found.comparison.trends[0][found.comparison.names.index("R8")]
    low, high = trend.interval()
    assert (low < 0.0).any()
    assert (high > 0.0).any()
    assert (low <= trend.slope).all()


def test_types_are_compared_each_for_itself(logs, tmp_path):
    one = {"description": ROBOT, "settings": {"terms": ["viscous", "coulomb"], "identify": {"automatic": False}}}
    content = {
        "types": {
            "a": {**one, "robots": {"R0": "logs/R0/*.csv", "R1": "logs/R1/*.csv"}},
            "b": {**one, "robots": {"R2": {"logs": f"logs/R2/{DAYS[0]}.csv", "dates": DAYS[0]}}},
        }
    }
    path = logs / "types.yaml"
    path.write_text(json.dumps(content))
    found = ex.fleet(path, tmp_path / "out")
    assert [kind.name for kind in found.types] == ["a", "b"]
    assert found.differing == {}  # two of a kind cannot be told apart
    assert (tmp_path / "out" / "robots" / "b" / "R2" / "result.json").is_file()
    assert found.types[0].chosen_from == ()
    assert "Too few robots to compare" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_payload_that_is_stated_is_no_difference(logs):
    load = {"frame": "joint_3", "mass": 8.0, "centre": [0.1, 0.0, 0.0], "inertia": [0.0] * 6}
    robots = {name: f"logs/{name}/{DAYS[0]}.csv" for name in GOOD if name != STIFF}
    robots[LOADED] = {"logs": robots[LOADED], "payload": load}
    path = logs / "stated.yaml"
    path.write_text(json.dumps({**SETTINGS, "folders": [], "robots": robots}))
    assert LOADED not in ex.fleet(path).differing


# -- what people type --------------------------------------------------------------------------------------------------


def test_the_command_does_the_same(made, logs, capsys):
    with pytest.raises(SystemExit) as left:
        main(["fleet", str(logs / "fleet.yaml"), "-o", str(made[1]), "--jobs", "1"])
    out = capsys.readouterr().out
    assert left.value.code == 0
    assert f"{LOADED} differs: payload: +" in out
    assert f"refused: {BAD}: " in out
    with pytest.raises(SystemExit) as left:
        main(["fleet", str(logs / "fleet.yaml"), "-o", str(made[1]), "--jobs", "1", "--json", "-q"])
    assert json.loads(capsys.readouterr().out)["differing"].keys() == made[0].differing.keys()


TWICE = "description: gautier-khalil\nrobots:\n  A: a.csv\n  A: b.csv\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"description": ROBOT}, "there are no robots"),
        ({"description": ROBOT, "robots": {"A": "none.csv", "B": "neither/*.csv"}}, "no robot has a log"),
        ({"description": ROBOT, "robot": {}}, "unknown key 'robot'"),
        ({"robots": {"A": "logs/R0/*.csv"}}, "no description"),
        (TWICE, "the key 'A' is there twice"),
        ({**SETTINGS, "robots": {"r0": "logs/R1/*.csv"}}, "two robots called 'R0'"),
        ({"description": ROBOT, "robots": {"../A": "logs/R0/*.csv"}}, "is no name for a folder"),
        ({"description": ROBOT, "folders": "nowhere"}, "nowhere' is no folder"),
        ({"description": "panda-7", "folders": "logs"}, "panda-7"),
        ({"description": ROBOT, "folders": "logs", "load": "hand"}, "unknown frame 'hand'"),
        ({"description": ROBOT, "robots": {"A": {"logs": "logs/R0/*.csv", "dates": ["1", "2"]}}}, "dates is '1'"),
        ({**SETTINGS, "robots": {"A": {"logs": "logs/R0/*.csv", "description": "puma560"}}}, "a type of its own"),
        ({**SETTINGS, "level": 2}, "level is 2"),
        ({**SETTINGS, "settings": {"identify": {"estimator": "best"}}}, "best"),
        ({**SETTINGS, "types": {}}, "types is {}"),
        ({"types": {"a": {"description": ROBOT, "folders": "logs"}}, "load": "x"}, "leave the others out"),
        ("[1, 2", "not valid YAML"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(logs, tmp_path, capsys, content, told):
    path = logs / "bad.yaml"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(SystemExit) as left:
        main(["fleet", str(path), "-o", str(tmp_path / "out"), "--jobs", "1"])
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert error.count("\n") == 1
    assert told in error
    assert not (tmp_path / "out").exists()


def test_dates_stand_in_names():
    assert date_in_name("logs/arm_2026-01-05.csv") == "2026-01-05T00:00:00"
    assert date_in_name("20260105T0930-run.csv") == "2026-01-05T09:30:00"
    assert date_in_name("serial-12345678901.csv") is None
    assert date_in_name("20269905.csv") is None
    days = instants(("2026-01-05", "2026-01-06T12:00"))
    assert days[1] - days[0] == pytest.approx(1.5)
    assert instants(("2026-01-05", None)) is None


@pytest.mark.slow
def test_a_robot_killed_between_any_two_renames_is_whole_or_done_again(made, logs, tmp_path):
    """Its folder holds two sets: result.json with its companions, and robot.json, which is written behind them."""
    kind, (asked, *_) = made[0].types[0], robots_of(FleetType(ROBOT, folders=("logs",)), logs, "fleet")
    other = task_of(asked, kind.config.with_settings(dead_zone=0.05), (0.0,), made[1] / "robots" / "R0")
    found = []
    for folder in states(
        tmp_path, made[1] / "robots" / "R0", lambda place: robot_of_fleet({**other, "place": str(place)})
    ):
        both = (task_of(asked, kind.config, (0.0,), folder), {**other, "place": str(folder)})
        found.append(tuple(kept_robot(task) is not None for task in both))
    assert found[0] == (True, False)
    assert found[-1] == (False, True)
    assert (False, False) in found
    assert (True, True) not in found
