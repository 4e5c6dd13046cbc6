"""Four real robots by examples/real/run.py: each is identified once, with automatic settings, for all tests."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
import yaml

from exciter.errors import ExciterError
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.information.problem import Problem
from exciter.pipeline.settings_file import SettingsFile
from exciter.validation.prediction import Prediction
from support.paths import ROOT, SHARED_DATA
from support.real_data import require_data
from support.scripts import script

pytestmark = pytest.mark.real

REAL = ROOT / "examples" / "real"
ROBOTS = ("tx40", "panda", "lwr4", "kr300")
INERTIAL = {"tx40": 40, "panda": 41, "lwr4": 41, "kr300": 34}  # base parameters of links at least, rotors among them
CUTOFF = {"tx40": 100, "panda": 10, "lwr4": 5, "kr300": 10}  # [Hz] of the evaluation
HELD_OUT = {"tx40": 7.3, "panda": 0.95, "lwr4": 2.0, "kr300": 13.0}  # [%] at most, of all joints together
EDGES_KEPT = {"tx40": 7.6, "panda": 1.1, "lwr4": 2.0, "kr300": 13.5}  # [%] with what filters of positions cut
FREE = 0.3  # [%] by which bounds of physics may cost more than they save


@cache
def real_run():
    return script("examples/real", "run")


@pytest.fixture(scope="module")
def identified(tmp_path_factory):
    """(robot) → what the script makes of it and the folder of its result; once per robot."""
    folder = tmp_path_factory.mktemp("real")

    @cache
    def of(robot: str):
        require_data(robot)
        return real_run().run_robot(robot, SHARED_DATA, folder / robot), folder / robot

    return of


# -- figures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ROBOTS)
def test_held_out_motion_is_predicted(identified, robot):
    outcome, _ = identified(robot)
    assert outcome.rows["held out"].total < HELD_OUT[robot]
    assert outcome.rows["held out, edges kept"].total < EDGES_KEPT[robot]


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_structure_is_that_of_the_robot(identified, robot):
    outcome, _ = identified(robot)
    assert outcome.parameters >= INERTIAL[robot]
    assert outcome.physically_consistent is True
    assert set(outcome.quality) == {"recording.yaml", "held_out.yaml"}
    assert all(verdict.startswith("usable") for verdict in outcome.quality.values())


@pytest.mark.parametrize("robot", ROBOTS)
def test_rows_are_shares_of_the_same_residual(identified, robot):
    """The held-out row is that of all samples; samples at rest and samples that move make it up."""
    outcome, folder = identified(robot)
    found = IdentifiedModel.read(folder)
    runs = real_run().log_runs(found, REAL / robot / "held_out.yaml", SHARED_DATA)
    judge = found.config.evaluation((), runs)
    assert isinstance(judge, InverseDynamic)
    assert judge.parallel_filter.low_pass.cutoff == CUTOFF[robot]
    seen = Prediction.of(Problem(found.model, runs, judge), found.estimate)
    every = real_run().left(seen, np.ones(seen.measured.shape, dtype=bool))
    np.testing.assert_allclose(every.joints, outcome.rows["held out"].joints, rtol=1e-6)
    assert every.total == pytest.approx(outcome.rows["held out"].total, rel=1e-6)
    moves = np.abs(seen.qd) > 0.02
    total = 100 * np.sqrt((seen.residual[moves] ** 2).sum() / (seen.measured[moves] ** 2).sum())
    assert total == pytest.approx(outcome.rows["held out, moving"].total, rel=1e-12)


@pytest.mark.parametrize("robot", ROBOTS)
def test_physics_costs_next_to_nothing(identified, robot):
    """The same settings and prior with no bounds predict no better than by a little."""
    rows = identified(robot)[0].rows
    assert rows["held out"].total < rows["held out, no bounds"].total + FREE


@pytest.mark.parametrize("robot", ROBOTS)
def test_signs_are_those_of_physics(identified, robot):
    """Friction, rotor inertia and stiffness are not negative, and what carries a link is."""
    _, folder = identified(robot)
    model = IdentifiedModel.read(folder)
    standard = model.estimate.standard
    links, terms = standard[: 10 * model.model.n].reshape(-1, 10), standard[10 * model.model.n :]
    nonnegative = [flag for term in model.model.bound for flag in term.nonnegative]
    assert (links[:, 0] > 0.0).all()
    assert (terms[nonnegative] >= 0.0).all()
    assert sum(nonnegative) >= 2 * model.model.n
    friction = [value for name, value in zip(model.model.standard, standard, strict=True) if name.startswith("Fs")]
    assert sum(value > 0.0 for value in friction) >= model.model.n - 1


@pytest.mark.parametrize("robot", ROBOTS)
def test_every_choice_has_its_reason(identified, robot):
    outcome, _ = identified(robot)
    settings = [one.split(":")[0] for one in outcome.chosen]
    assert {"filter", "route", "friction", "dead_zone", "estimator", "noise"} <= set(settings)
    assert all(len(one) > 40 for one in outcome.chosen)
    assert outcome.judged[0] > 0.75 * outcome.judged[1]


# -- what the script says ----------------------------------------------------------------------------------------------


def test_one_table_with_baselines_beside(identified):
    outcomes = [identified(robot)[0] for robot in ("lwr4", "kr300")]
    lines = [*real_run().table(outcomes)]
    assert lines[0].split()[-3:] == ["joint", "7", "total"]
    (row,) = [line for line in lines if line.startswith("kr300: held out ")]
    assert row.split()[-1] == f"{outcomes[1].rows['held out'].total:.3g}"
    (row,) = [line for line in lines if line.startswith("lwr4: baseline")]
    assert row.split()[2:] == ["19", "1.1", "8.1", "1.8", "25", "31", "48", "2.14"]
    (row,) = [line for line in lines if line.startswith("kr300: ") and "base parameters" in line]
    assert f"cond {outcomes[1].condition[0]:.4g}" in row
    said = "\n".join(real_run().remarks(outcomes[1]))
    assert "poor excitation" in said
    assert "Percentages are of the measured torque through a Butterworth low-pass of 10 Hz, order 4" in said
    data = json.loads(real_run().as_json(outcomes, {}))
    assert data["robots"]["kr300"]["rows"]["held out"]["total"] == outcomes[1].rows["held out"].total


def test_robots_without_data_are_skipped(tmp_path, capsys):
    assert real_run().main(["--data", str(tmp_path), "--json", str(tmp_path / "all.json")]) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line.split(" is skipped: there is no ")[0] for line in told] == [*ROBOTS]
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8")) == {"robots": {}, "failed": {}}


def test_a_robot_that_fails_is_named_and_the_exit_code_says_so(tmp_path, capsys, monkeypatch):
    (tmp_path / "panda").mkdir()
    (tmp_path / "panda" / "panda.urdf").write_text("<robot/>", encoding="utf-8")

    def refused(*_):
        raise ExciterError("this log is empty")

    monkeypatch.setattr(real_run(), "run_robot", refused)
    assert real_run().main(["panda", "lwr4", "--data", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "panda failed: this log is empty" in told
    assert "lwr4 is skipped" in told
    with pytest.raises(SystemExit) as left:
        real_run().main(["r2d2"])
    assert left.value.code == 2
    assert "'r2d2' is none of tx40, panda, lwr4, kr300" in capsys.readouterr().err


@pytest.mark.parametrize("robot", ROBOTS)
def test_settings_are_facts_of_the_robot_alone(robot):
    """No filter, friction model, weight or estimator is given: all of it is automatic."""
    path = REAL / robot / "identify.yaml"
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(given) <= {"terms", "identify"}
    assert given["identify"] == {"evaluation": {"cutoff": CUTOFF[robot], "order": 4}}
    assert SettingsFile.read(path).identify.settings.evaluation.order == 4
