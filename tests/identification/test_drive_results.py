"""What is made of drives that were found: verdict, intervals, tables of two logs beside each other. Configuration of
other simulators is executed with classes that keep what they are given."""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import exciter as ex
from exciter.errors import ExciterError
from exciter.export.drive_snippets import DRIVE_SNIPPETS, SnippetDrives, drive_snippets
from exciter.identification.actuators.actuator_settings import ACTUATOR_KINDS, ActuatorSettings, PositionControl
from exciter.identification.actuators.control_law import control_gains
from exciter.notes import warning
from exciter.report.interval_chart import DrawnInterval, IntervalChart, IntervalGroup
from exciter.validation.drive_comparison import DriveTable
from exciter.validation.free_run import DriveVerdict, FreeRun

JOINTS = ("hip-1", "hip-10", "knee", "ankle")


def table(title="log.csv", **changes):
    """Positive numbers, a delay of all joints and an offset."""
    given = {
        "title": title,
        "names": ("armature hip", "friction hip", "offset hip", "delay"),
        "kinds": ("armature", "friction", "offset", "delay"),
        "joints": (("hip",), ("hip",), ("hip",), ("hip", "knee")),
        "values": np.array([0.02, 0.5, -0.1, 0.004]),
        "std": np.array([0.001, 0.01, 0.02, 0.0005]),
        "low": np.array([0.018, 0.48, -0.14, 0.003]),
        "high": np.array([0.022, 0.52, -0.06, 0.005]),
        "status": ("fair", "good", "fair", "fair"),
        "freedom": np.array([200.0, 150.0, 200.0, 900.0]),
    }
    return DriveTable(**{**given, **changes})


def test_two_logs_agree_within_their_intervals_or_not():
    """Numbers moved by known multiples of σ: positive ones by their logarithm."""
    one, moves = table(), np.array([1.0, -8.0, 2.0, 0.0])
    positive = np.array([True, True, False, False])
    values = np.where(positive, one.values * np.exp(moves * one.std / one.values), one.values + moves * one.std)
    std = np.where(positive, one.std * values / one.values, one.std)  # as sure as before
    found = one.beside(table("other.csv", values=values, std=std))
    assert found.normalized == pytest.approx(-moves / np.sqrt(2.0))
    assert found.disagree == ("friction hip",)
    assert found.agrees == (True, False, True, True)
    assert "log.csv and other.csv disagree on friction hip (5.7 σ, chance up to " in found.sentences[0]
    assert f"chance up to {found.limits[1]:.2g})" in found.sentences[0]
    fewer = one.beside(table("other.csv").of_names(["delay", "offset hip"]))
    assert fewer.names == ("offset hip", "delay")
    assert fewer.alone == ("armature hip", "friction hip")
    with pytest.raises(ExciterError, match="no number of a drive in common"):
        one.of_names(["delay"]).beside(one.of_names(["offset hip"]))


def test_tables_read_back_are_the_same():
    one = table(std=np.array([0.001, np.nan, 0.02, 0.0005]))
    data = json.loads(json.dumps({"parameters": one.rows()}))
    again = DriveTable.read(data, "folder")
    assert again.parameters == one.parameters
    assert again.joints == one.joints
    assert again.freedom.tolist() == one.freedom.tolist()
    row = data["parameters"][0]
    for damage in (
        {},
        {"parameters": [{"name": "armature hip"}]},
        {"parameters": [{**row, "degrees_of_freedom": "many"}]},
    ):
        with pytest.raises(ExciterError, match="has no table of drives"):
            DriveTable.read(damage, "folder")


def run_of(rng, size, fitted, wrong=0.0):
    """Four joints with residuals of that size, the third with one that follows its position."""
    time = np.arange(4000) / 200.0
    q = np.column_stack([np.sin((0.9 + 0.3 * j) * time + j) for j in range(4)])
    simulated = q + size * rng.standard_normal(q.shape)
    simulated[:, 2] += wrong * (q[:, 2] ** 2 - 0.5)
    described = q + 4.0 * size * rng.standard_normal(q.shape)
    return FreeRun(
        log="a/log.csv",
        fitted=fitted,
        joints=JOINTS,
        units=("rad",) * 4,
        time=time,
        command=q,
        measured=q,
        simulated=simulated,
        described=described,
    )


def test_a_verdict_names_the_joint_that_stands_out_and_why():
    rng, fit = np.random.default_rng(0), SimpleNamespace(notes=(), untold=())
    good = DriveVerdict(fit=fit, runs=(run_of(rng, 1e-3, True), run_of(rng, 2e-3, False)))
    assert good.rms == pytest.approx(2e-3 * np.ones(4), rel=0.05)  # validation data count
    assert (good.gain, good.tone) == (pytest.approx(4.0, rel=0.05), "good")
    assert not good.outstanding
    assert DriveVerdict(fit=fit, runs=good.fitted).word.endswith("not validated")
    (one,) = DriveVerdict(fit=fit, runs=(run_of(rng, 1e-3, True, wrong=2e-2),)).outstanding
    assert one.joint == "knee"
    assert "larger than with the drives of the description" in one.sentence
    assert re.search(r"\d\d % of the residual's variance goes with position", one.sentence)
    assert "see the note" not in one.sentence
    fit.notes = (warning("model error", "", joints=("knee",)), warning("structure", "", "knee"))
    (one,) = DriveVerdict(fit=fit, runs=(run_of(rng, 1e-3, True, wrong=2e-2),)).outstanding
    assert "goes with position" in one.sentence  # and what it looks like is said elsewhere
    assert one.sentence.endswith("see the note on its structure")


def snippet_drives(**changes):
    rng = np.random.default_rng(1)
    numbers = {word: rng.uniform(0.1, 1.0, 4) for word in ACTUATOR_KINDS}
    zero = dict.fromkeys(("offset", "bias", "delay", "measurement_delay"), np.zeros(4))
    return SnippetDrives("dog", JOINTS, {**numbers, **zero, **changes}, 0.002)


def executed(text, monkeypatch):
    """Names that a snippet leaves; classes that it imports keep what they are given."""
    for name in ("isaaclab", "isaaclab.actuators", "mjlab", "mjlab.actuator"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["isaaclab.actuators"].DelayedPDActuatorCfg = dict
    sys.modules["mjlab.actuator"].BuiltinPositionActuatorCfg = dict
    names = {}
    exec(compile(ast.parse(text), "snippet", "exec"), names)
    return names


def test_configuration_of_simulators_has_the_numbers(monkeypatch):
    limit = np.array([23.7, np.inf, 45.0, 23.7])
    drives = snippet_drives(delay=np.array([0.004, 0.004, 0.0051, -0.003]), limit=limit)
    texts, own = drive_snippets(drives), drives.by_joint
    assert sorted(texts) == sorted(one.file for one in DRIVE_SNIPPETS)

    groups = executed(texts["drives_isaaclab.py"], monkeypatch)["DRIVES"]
    assert {name: group["max_delay"] for name, group in groups.items()} == {"drives_0": 0, "drives_2": 2, "drives_3": 3}
    for kind, field in (("kp", "stiffness"), ("kd", "damping"), ("friction", "dynamic_friction"), ("armature",) * 2):
        found = {joint: value for group in groups.values() for joint, value in group[field].items()}
        assert {joint: found[re.escape(joint)] for joint in JOINTS} == own(kind)
    matched = [[j for j in JOINTS if re.fullmatch(p, j)] for g in groups.values() for p in g["joint_names_expr"]]
    assert sorted(matched) == sorted([j] for j in JOINTS)
    assert groups["drives_2"]["effort_limit"] == {r"hip\-1": 23.7, r"hip\-10": 1e9}

    servos = executed(texts["drives_mjlab.py"], monkeypatch)["DRIVES"]
    for kind, field in (("damping", "viscous_damping"), ("friction", "frictionloss"), ("kp", "stiffness")):
        assert [one[field] for one in servos] == list(own(kind).values())
    assert [one.get("effort_limit") for one in servos] == [23.7, None, 45.0, 23.7]
    assert [one["delay_max_lag"] for one in servos] == [2, 2, 3, 0]

    calls = {}

    class Entity:
        def get_joint(self, name):
            return SimpleNamespace(dofs_idx_local=[6 + JOINTS.index(name)])

        def __getattr__(self, setter):
            return lambda *given: calls.setdefault(setter, given)

    executed(texts["drives_genesis.py"], monkeypatch)["set_drives"](Entity())
    assert calls["set_dofs_kv"][0].tolist() == list(own("kd").values())
    assert calls["set_dofs_frictionloss"][0].tolist() == list(own("friction").values())
    low, high, dofs = calls["set_dofs_force_range"]
    assert (low.tolist(), high.tolist(), dofs) == ([-23.7, -1e9, -45.0, -23.7], [23.7, 1e9, 45.0, 23.7], [6, 7, 8, 9])

    names = executed(texts["drives_legged_gym.py"], monkeypatch)
    for joint in JOINTS:  # as legged_gym reads it: the last key that is part of the name
        damping = [value for key, value in names["control"].damping.items() if key in joint][-1]
        assert damping == own("kd")[joint] + own("damping")[joint]
    assert names["DOF_PROPERTIES"]["armature"] == own("armature")


def test_configuration_says_what_it_cannot_express():
    delay, offset = np.array([0.0051, 0.0051, 0.0051, -0.003]), np.array([0.25, 0.0, 0.0, 0.0])
    drives = snippet_drives(delay=delay, offset=offset, limit=np.full(4, np.inf))
    texts = drive_snippets(drives)
    for text in texts.values():
        head = " ".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("#"))
        assert "5.1 ms, is 2.55 steps of 2 ms" in head
        assert "negative, -3 ms" in head
        assert "offset (constant torque) [N·m]: hip-1 0.25." in head
    assert "friction (dry friction) [N·m]: hip-1" in texts["drives_legged_gym.py"].replace("\n# ", " ")
    assert "effort_limit=" not in texts["drives_isaaclab.py"]
    odd = replace(drives, robot="dog\nimport os", joints=('a\n"""', "b'", "c\\", "d"))
    for text in drive_snippets(odd).values():
        tree = ast.parse(text)
        assert not any(alias.name == "os" for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names)


def test_intervals_are_drawn_where_they_are():
    rows = [DrawnInterval("a", [(1.0, 0.5, 1.5)], 2.0), DrawnInterval("b", [(3.0, 2.0, np.inf)], 2.0)]
    chart = IntervalChart("kd", [IntervalGroup(rows, (1.0, 3.0))], True)
    assert not chart.logarithmic
    (group,) = chart.drawn
    (first,), (second,) = (row["marks"] for row in group["rows"])
    middle = group["rows"][0]["before"]
    assert first["x"] + second["x"] == pytest.approx(2.0 * middle, abs=0.2)
    assert group["band"] == (first["x"], second["x"])
    assert (first["from"] + first["to"]) / 2 == pytest.approx(first["x"], abs=0.1)
    assert second["to"] == chart.right
    wide = IntervalChart("kd", [IntervalGroup([rows[0], DrawnInterval("c", [(100.0, 50.0, 150.0)], 1.0)])], True)
    assert wide.logarithmic
    assert [text for _, text in wide.ticks][-3:] == ["1", "10", "100"]


def test_folders_that_are_none_are_refused_before_the_fit(tmp_path):
    with pytest.raises(ExciterError, match=r"there is no actuators\.json"):
        ex.actuators("panda", "nowhere.csv", {"actuators": {"control": {"kp": 20}}}, compare=tmp_path)


def test_many_times_closer_is_written_without_a_power(monkeypatch):
    verdict = DriveVerdict(fit=None, runs=())
    monkeypatch.setattr(DriveVerdict, "gain", 287.3)
    monkeypatch.setattr(DriveVerdict, "unseen", True)
    assert verdict.word == "290 times closer than the description"


def test_gains_of_a_locked_joint_are_not_used():
    """They may stay in the settings, and a note says so; a name that nothing has is refused as before."""
    robot = ex.load("kuka-ir361")
    gone, *names = robot.joint_names
    still = robot.lock({gone: 0.0})
    given = {**dict.fromkeys(names, 20.0), gone: 30.0}
    found, notes = control_gains(still, ActuatorSettings(control=PositionControl(kp=given)))
    assert found["kp"].tolist() == [20.0, 20.0]
    assert [one.text for one in notes][-1] == f"kp of '{gone}' is not used: it does not move"
    with pytest.raises(ExciterError, match="kp: unknown joint 'nowhere'"):
        control_gains(still, ActuatorSettings(control=PositionControl(kp={**given, "nowhere": 1.0})))
