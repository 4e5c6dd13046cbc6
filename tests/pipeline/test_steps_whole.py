"""Folders that are written in several steps, of experiments and campaigns: wherever their writer is killed they are as
before, whole, or refused, and what was stopped goes on to the same result."""

import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

import exciter as ex
from exciter.cli import main
from exciter.errors import ExciterError
from exciter.excitation.files.trajectory_files import DESIGN, read_trajectory
from exciter.experiment.plan import Plan
from exciter.experiment.recording import read_recording
from exciter.experiment.virtual import Simulated
from exciter.files import Seal, staged
from exciter.identification.identified_model import RESULT_SEAL
from exciter.pipeline import campaign as campaigns
from exciter.pipeline.campaign import Campaign, campaign
from exciter.pipeline.design import Designed
from exciter.pipeline.experiment import DesignedExperiment, SimulatedPlan
from exciter.pipeline.identified import Identified
from exciter.pipeline.planned_logs import PlannedLogs
from exciter.robot import load
from support.killing import answer, killed_at, states

pytestmark = pytest.mark.slow

ROBOT = "gautier-khalil"
TORQUE = 400.0  # [N·m]
SIMULATE = {"torque": {"noise": 2.0}, "log": {"rate": 100}, "simulation_rate": 1000}


def copied(source: Path, seal: Seal):
    """A writer of a set that was made before: as the real one, without its work."""

    def write(folder):
        with staged(folder, seal) as stage:
            for path in source.iterdir():
                if path.is_file() and path.name != seal.name:
                    shutil.copyfile(path, stage / path.name)
            seal.write(stage, json.loads((source / seal.name).read_text()))

    return write


def contents(folder):
    """Of all files by name, without what a killed writer left hidden."""
    files = (path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder): path for path in files}
    return {
        str(name): path.read_bytes() for name, path in names.items() if not any(p.startswith(".") for p in name.parts)
    }


# -- experiments -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def robot():
    return load(ROBOT, torque=TORQUE)


@pytest.fixture(scope="module")
def experiments(tmp_path_factory, robot):
    """Two with the same stages and other motions, and their folders."""
    task, made = {"static": {"poses": 3, "dwell": 0.3, "candidates": 60}}, []
    for seed in (1, 2):
        found = ex.design_experiment(robot, task, starts=1, seed=seed, samples=60, trajectory=ex.Fourier(2.0, 2))
        made.append((found, found.save(tmp_path_factory.mktemp("experiment") / "out")))
    return made


def planned_motions(folder, robot):
    """What is read through the plan: postures within every motion; whether plan and motions fit is not asked."""

    def read():
        found, plan = [], Plan.read(folder)
        for stage in plan.stages:
            curve = read_trajectory(plan.motion_path(stage), robot)
            found.append((stage, tuple(curve.motion([curve.start + 1.0]).q[0].round(6))))
        return tuple(found)

    return answer(read)


def test_an_experiment_killed_between_any_two_renames_is_old_or_new_or_refused(
    tmp_path, experiments, robot, monkeypatch
):
    (_, before), (other, source) = experiments

    def write_stage(self, folder, **_):
        shutil.copytree(source / folder.name, folder)  # beside its place, where nobody looks
        return None, {}

    page = other.report()
    monkeypatch.setattr(Designed, "write", write_stage)
    monkeypatch.setattr(DesignedExperiment, "to_dict", lambda *_: {"of": "the new one"})
    monkeypatch.setattr(DesignedExperiment, "report", lambda self: page)
    old, new = (planned_motions(folder, robot) for folder in (before, source))
    assert None not in (old, new)
    assert old != new
    seen = []
    for folder in states(tmp_path, before, other.write):
        seen.append(planned_motions(folder, robot))
        if seen[-1] is not None:
            assert ("the new one" in (folder / "experiment.json").read_text()) == (seen[-1] == new)
    assert set(seen) == {old, None, new}
    assert seen == sorted(seen, key=[old, None, new].index)
    stopped = tmp_path / "again"
    shutil.copytree(before, stopped)
    assert killed_at(len(seen) // 2, lambda: other.write(stopped))
    other.write(stopped)
    assert planned_motions(stopped, robot) == new
    assert not list(stopped.glob(".exciter*"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory, experiments, robot):
    """Two of a plan, by robots of other truths."""
    found, folder = experiments[0]
    path = tmp_path_factory.mktemp("settings") / "exciter.yaml"
    path.write_text(json.dumps({"simulate": SIMULATE}))
    first = ex.simulate_plan(found.robot, folder, path, seed=1)
    stages = {name: shifted(one, 100.0) for name, one in first.stages.items()}
    return first, SimulatedPlan(plan=first.plan, stages=stages)


def shifted(run: Simulated, by: float) -> Simulated:
    recording = replace(run.recording, torque=run.recording.torque + by)
    return replace(run, recording=recording, seed=run.seed + 1)


def planned_torques(folder, robot):
    """The first torque of each log that a plan leads to, or why there is none."""

    def read():
        logs = PlannedLogs.of(folder, robot).given
        return tuple(float(read_recording(path).torque[0, 0]) for path in logs)

    return answer(read)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["beside_the_plan", "in_a_folder_of_their_own"])
def test_logs_of_a_plan_killed_between_any_two_renames_are_of_one_robot(tmp_path, experiments, runs, robot, elsewhere):
    old, (first, second) = tmp_path / "old", runs
    if not elsewhere:
        shutil.copytree(experiments[0][1], old)
        first, second = (replace(one, plan=Plan.read(old)) for one in runs)
    first.save(old, old / "truth.json")

    def write(folder):
        run = second if elsewhere else replace(second, plan=Plan.read(folder))
        run.save(folder, folder / "truth.json")

    known, seen = {planned_torques(old, robot): json.loads((old / "truth.json").read_text())}, []
    before = next(iter(known))
    for folder in states(tmp_path, old, write):
        seen.append(planned_torques(folder, robot))
        if seen[-1] is not None and (folder / "truth.json").exists():
            truth = json.loads((folder / "truth.json").read_text())
            assert known.setdefault(seen[-1], truth) == truth
    after = tuple(one + 100.0 for one in before)
    assert seen[-1] == pytest.approx(after)
    assert set(seen) == {before, None, seen[-1]}, "logs of two robots"
    assert seen == sorted(seen, key=[before, None, seen[-1]].index)
    assert known[before]["seed"] != known[seen[-1]]["seed"]


def test_logs_of_a_plan_that_cannot_be_written_leave_those_before(tmp_path, experiments, runs):
    folder = tmp_path / "out"
    shutil.copytree(experiments[0][1], folder)
    first, second = (replace(one, plan=Plan.read(folder)) for one in runs)
    first.save(folder)
    before = contents(folder)
    last = next(reversed(second.stages))
    broken = replace(second.stages[last], recording=second.stages[last].recording[:1])  # not worth a file
    with pytest.raises(ExciterError, match="samples"):
        replace(second, stages={**second.stages, last: broken}).save(folder, folder / "truth.json")
    assert contents(folder) == before
    same = tuple(replace(stage, log=f"{stage.name}/log.csv") for stage in second.plan.stages)
    with pytest.raises(ExciterError, match="two stages would be one file"):
        replace(second, plan=replace(second.plan, stages=same)).save(tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


# -- campaigns ---------------------------------------------------------------------------------------------------------

CAMPAIGN = {
    "limits": {"torque": TORQUE},
    "terms": ["viscous"],
    "trajectory": {"family": "fourier", "period": 2.0, "harmonics": 3},
    "starts": 1,
    "samples": 60,
    "simulate": {**SIMULATE, "truth": {"rotor_inertia": 0.0, "coulomb": 0.0}},
    "campaign": {"target": "0.1 %", "negligible": "none", "rounds": 2},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaign") / "whole"
    return campaign(ROBOT, folder, CAMPAIGN), folder


@pytest.fixture
def quick(made, monkeypatch):
    """Steps as they were made in ``made``, written as ever: nothing is searched or identified again."""
    found, source = made
    motions = {id(one.motion): source / f"round-{one.number:02d}" for one in found.rounds}
    monkeypatch.setattr(campaigns, "first_design", lambda asked, *_: found.rounds[0].motion)
    monkeypatch.setattr(campaigns, "next_design", lambda asked, rounds, *_: found.rounds[len(rounds)].motion)
    monkeypatch.setattr(campaigns, "identified", lambda asked, rounds, logs: found.rounds[len(logs) - 1].result)
    results = {id(one.result): source / f"round-{one.number:02d}" / "identified" for one in found.rounds}

    def save_motion(self, folder):
        folder.mkdir(exist_ok=True)
        copied(motions[id(self)], DESIGN)(folder)

    def save_result(self, folder):
        folder.mkdir(exist_ok=True)
        copied(results[id(self)], RESULT_SEAL)(folder)

    monkeypatch.setattr(Designed, "save", save_motion)
    monkeypatch.setattr(Identified, "save", save_result)
    page = found.report()
    monkeypatch.setattr(Campaign, "report", lambda self: page)


def rounds_of(folder):
    """How many a reader finds with a result; None where it is refused."""
    return answer(lambda: len(Campaign.open(folder).done))


def test_a_campaign_killed_between_any_two_renames_goes_on_to_the_same_result(tmp_path, made, quick):
    """The second round, over a folder with the first: one round or two are found, or none; and the next call ends."""
    found, source = made
    first = tmp_path / "first"
    campaign(ROBOT, first, CAMPAIGN, rounds=1)
    assert rounds_of(first) == 1
    whole, seen = contents(source), []
    for k, folder in enumerate(states(tmp_path, first, lambda folder: campaign(ROBOT, folder, CAMPAIGN))):
        seen.append(rounds_of(folder))
        if seen[-1] is None and seen[-2] == 1:  # never with other settings, whatever of the summary is there
            with pytest.raises(ExciterError, match="other settings"):
                campaign(ROBOT, folder, {**CAMPAIGN, "terms": ["viscous", "coulomb"]})
        if k % 9 == 0:
            again = campaign(ROBOT, folder, CAMPAIGN)
            assert again.worst == found.worst
            assert same(contents(folder), whole)
    assert set(seen) == {1, None, 2}
    assert seen[-1] == 2


def same(one, other):
    """Files of two folders; pages and archives are made anew with every summary."""
    assert set(one) == set(other)
    kept = [name for name in one if "/" in name and not name.endswith((".html", ".json", ".yaml"))]
    return [name for name in kept if one[name] != other[name]] == [] and "round-02/log.csv" in kept


def test_a_campaign_killed_again_and_again_comes_to_its_end(tmp_path, made, quick):
    """From nothing; each time a little later, over what the time before left."""
    folder, k = tmp_path / "out", 0
    while killed_at(k, lambda: campaign(ROBOT, folder, CAMPAIGN)):
        k += 5
    assert k > 20
    assert rounds_of(folder) == 2
    assert Campaign.open(folder).worst == made[0].worst


def test_a_campaign_saved_and_killed_is_refused_or_whole(tmp_path, made, quick):
    """Its summary comes first, and speaks of rounds that are not there yet."""
    seen = [rounds_of(folder) for folder in states(tmp_path, None, made[0].save)]
    assert set(seen) == {None, 2}
    assert seen[-1] == 2


@pytest.fixture
def ctrl_c():
    """Interrupts are heard, also where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("moment", ["tidying up", "printing"])
def test_ctrl_c_when_all_is_written_changes_no_exit_code(tmp_path, made, quick, capsys, monkeypatch, moment):
    folder, config, calls = tmp_path / "out", tmp_path / "asked.yaml", []
    config.write_text(json.dumps(CAMPAIGN))
    if moment == "tidying up":
        rmtree = shutil.rmtree

        def interrupted(path, *arguments, **options):
            rmtree(path, *arguments, **options)
            calls.append(path)
            if rounds_of(folder) == 2 and len(calls) > 1 and json_rounds(folder) == 2:
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(shutil, "rmtree", interrupted)
    else:
        monkeypatch.setattr(
            "exciter.commands.campaign.plain_table", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)
        )
    with pytest.raises(SystemExit) as left:
        main(["campaign", ROBOT, "-o", str(folder), "--config", str(config)])
    assert left.value.code == 1, "its target is not reached in two rounds"
    assert "interrupted" not in capsys.readouterr().err
    assert rounds_of(folder) == 2


def json_rounds(folder):
    return len(json.loads((folder / "campaign.json").read_text())["rounds"])


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_before_the_end_is_told(tmp_path, made, quick, capsys, monkeypatch):
    """When the second round is there, and the summary does not speak of it yet."""
    folder, config, saved = tmp_path / "out", tmp_path / "asked.yaml", Identified.save
    config.write_text(json.dumps(CAMPAIGN))

    def interrupted(self, place):
        saved(self, place)
        if place.parent.name == "round-02":
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Identified, "save", interrupted)
    with pytest.raises(SystemExit) as left:
        main(["campaign", ROBOT, "-o", str(folder), "--config", str(config)])
    assert left.value.code == 130
    assert json_rounds(folder) == 1
