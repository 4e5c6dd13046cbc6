"""Drift, number by number: what is added to the equations, when a change is possible, and how it is told."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors, sandwich
from exciter.identification.uncertainty.drift import Drift, DriftCandidate, Drifting, candidates, find_drift
from exciter.identification.uncertainty.residual_autocorrelation import LinearFit
from exciter.parameters.terms import Coulomb, CoupledSqrtViscous, GravitySpring, Offset, Viscous
from exciter.robot import embedded_robots as embedded
from support.warming_robot import model, warming

pytestmark = pytest.mark.slow

FOUND = Drift("elbow", "Fv3", "N·m·s/rad", 4.0, -1.0, 0.1, 1e-4, 60.0)


def test_friction_that_would_be_negative_at_one_end_did_not_change() -> None:
    """Half of the change is what an end differs from the middle by; two σ of doubt are granted."""
    assert not FOUND.doubtful
    for value, change in ((4.0, -1.0), (4.0, 1.0), (-4.0, 1.0), (0.2, 0.7), (-0.2, 0.7), (0.2, -0.7)):
        assert replace(FOUND, value=value, change=change).possible
    for value, change in ((0.2, 0.9), (-0.2, 0.9), (0.2, -0.9)):
        assert not replace(FOUND, value=value, change=change).possible
        assert replace(FOUND, value=value, change=change, std=0.2).possible
        assert replace(FOUND, value=value, change=change, parameter="off3").possible


def test_words_of_a_change() -> None:
    """Friction in per cent of itself, where it is more than its change; offsets as they are, with their sign."""
    assert FOUND.sentence == "viscous friction of elbow falls by 25 % over 60 s (10.0 σ): warming up?"
    assert "rises by 25 %" in replace(FOUND, change=1.0).sentence
    assert "warming" not in replace(FOUND, change=1.0).sentence
    assert "rises by 60 %" in replace(FOUND, value=0.5, change=0.3).sentence  # however small the numbers are
    assert not Drift("elbow", "Fv3", "N·m·s/rad", 4.0, 1.0, 0.1, 1e-4, 60.0).doubtful
    assert "falls by 25 %" in replace(FOUND, value=-4.0, change=1.0).sentence
    assert "rises by 25 %" in replace(FOUND, value=-4.0).sentence
    assert "falls by 1 N·m·s/rad over" in replace(FOUND, value=0.5).sentence
    assert replace(FOUND, parameter="Fs3").sentence == "Coulomb friction of elbow falls by 25 % over 60 s (10.0 σ)"
    offset = replace(FOUND, parameter="off12", unit="N·m", value=0.0)
    assert offset.sentence == "offset of elbow falls by 1 N·m over 60 s (10.0 σ)"
    assert "rises by 1 N·m" in replace(offset, change=1.0).sentence
    assert "gas1 of elbow" in replace(FOUND, parameter="gas1").sentence
    assert "unless the model misses something" in replace(FOUND, doubtful=True).sentence
    assert "warming" not in replace(FOUND, doubtful=True).sentence


def test_candidates_are_friction_and_offsets_of_single_joints() -> None:
    problem = warming(0.0, np.random.default_rng(0))
    found = candidates(problem)
    names = problem.names
    assert [c.parameter for c in found] == ["Fv1", "Fv2", "Fv3", "Fs1", "Fs2", "Fs3", "off1", "off2", "off3"]
    assert [c.joint for c in found] == [0, 1, 2] * 3
    assert [c.column for c in found] == [*(names.index(c.parameter) for c in found[:6]), -1, -1, -1]
    assert {c.unit for c in found[6:]} == {"N·m"}


def test_candidates_of_six_joints_are_all_their_friction_and_nothing_that_keeps_energy() -> None:
    robot = embedded.robot("tx40")
    wrist = robot.joint_names[-1]
    coupling = CoupledSqrtViscous(*robot.joint_names[:2])
    terms = (GravitySpring(robot.joint_names[1]), Viscous(), Coulomb(), coupling, Offset((wrist,)))
    made = DynamicModel(robot, terms)
    some: Any = SimpleNamespace(model=made, base=made.base, joints=robot.joint_names)
    found = candidates(some)
    own = [f"{word}{k}" for word in ("Fv", "Fs") for k in range(1, 7)]
    assert [c.parameter for c in found] == own + [f"off{k}" for k in range(1, 7)]
    assert [made.base.names[c.column] for c in found[:12]] == own
    without = [k for k in made.base.independent if made.standard[k] != "Fv5"]  # as if the motion did not tell it
    some.base = SimpleNamespace(independent=np.array(without))
    assert "Fv5" not in [c.parameter for c in candidates(some)]
    some.joints = ("energy",)
    assert not any(c.parameter.startswith("off") for c in candidates(some))


def test_a_drift_of_fewer_equations_than_parameters_is_refused_in_one_line() -> None:
    problem = warming(0.2, np.random.default_rng(1))
    (run,) = problem.runs
    (part,) = run.parts
    short = replace(part, motion=part.motion[:8], torque=part.torque[:8])
    few = Drifting(replace(problem, runs=(replace(run, parts=(short,)),)), candidates(problem))
    with pytest.raises(ParameterError, match=r"24 equations for \d+ parameters; record longer"):
        few.changes(StationaryErrors(2))


@pytest.mark.parametrize("runs", [1, 3])
def test_every_candidate_gets_its_column_times_the_time_from_minus_to_plus_one_half(runs: int) -> None:
    """Runs follow each other, whatever their clocks say."""
    problem = warming(0.0, np.random.default_rng(0), runs=runs)
    chosen = (DriftCandidate(1, "Fv2", "", problem.names.index("Fv2")), DriftCandidate(2, "off3", "N·m", -1))
    drifting = Drifting(problem, chosen)
    plain = Rows.join([rows for _, rows in problem.rows()])
    more = Rows.join([rows for _, rows in drifting.rows()])
    # 1200 instants at 20 Hz; a run begins when the one before has ended
    own = [rows.time for _, rows in problem.rows()]
    starts = np.unique([run.span[0] for run in problem.runs])
    assert starts.tolist() == [0.0]
    seconds = sum(run.span[1] for run in problem.runs)
    assert drifting.clock[1] == pytest.approx(seconds)
    before = np.concatenate([[0.0], np.cumsum([run.span[1] for run in problem.runs])])
    index = np.concatenate([np.full(len(rows), k) for k, rows in problem.rows()])
    late = (np.concatenate(own) + before[index]) / seconds - 0.5
    assert late[0] == -0.5
    assert late[-1] == pytest.approx(0.5)
    p = len(problem.names)
    np.testing.assert_array_equal(more.w[..., :p], plain.w)
    np.testing.assert_array_equal(more.y, plain.y)
    np.testing.assert_allclose(more.w[..., p], late[:, None] * plain.w[..., problem.names.index("Fv2")])
    np.testing.assert_allclose(
        more.w[..., p + 1], (late / problem.scales[index, 2])[:, None] * np.array([0.0, 0.0, 1.0])
    )
    assert runs == 1 or np.ptp(problem.scales[:, 2]) > 0.01  # runs are balanced by their noise
    assert drifting.names[p:] == ("change of Fv2", "change of off3")
    assert drifting.compressed.rows.sum(axis=0).tolist() == [1200, 1200, 1200]
    assert len(drifting.compressed.rows) == runs


def test_clocks_of_runs_that_overlap_are_put_one_after_the_other() -> None:
    problem = warming(0.0, np.random.default_rng(0))
    (run,) = problem.runs
    (part,) = run.parts
    shifted = []
    for begin in (7.0, 3.0, 100.0):
        moved = replace(part.motion, time=part.motion.time + begin)
        shifted.append(Run((replace(part, motion=moved),), f"from {begin}", period=10.0))
    shifts, seconds = Drifting(replace(problem, runs=tuple(shifted)), ()).clock
    length = run.span[1] - run.span[0]
    assert shifts[0] == -7.0
    assert shifts[1] == pytest.approx(length - 3.0)
    assert shifts[2] == pytest.approx(shifts[1])  # time goes on as it was recorded, where it can
    assert seconds == pytest.approx(100.0 + length + shifts[2])


def test_changes_are_the_estimates_of_these_columns_and_their_two_sided_p_values() -> None:
    problem = warming(0.2, np.random.default_rng(1), pole=0.5)
    own = dict(zip(model().standard, model().nominal, strict=True))["Fv3"]
    chosen = candidates(problem)
    drifting, errors = Drifting(problem, chosen), StationaryErrors(20)
    changes = drifting.changes(errors)
    assert [c.parameter for c in changes] == [c.parameter for c in chosen]
    by_name = {c.parameter: c for c in changes}
    assert by_name["Fv3"].change == pytest.approx(-0.2 * own, abs=4.0 * by_name["Fv3"].std)
    assert by_name["Fv3"].value == pytest.approx(own, rel=0.05)
    assert by_name["off2"].value == 0.0
    values = np.concatenate([problem_values(drifting), [c.change for c in changes]])
    noise = np.sqrt(drifting.compressed.squares(values).sum(axis=0) / 1200)
    fit = LinearFit.of(drifting.compressed, values, noise, np.arange(len(values)))
    made = sandwich(drifting, fit, errors)
    for k, change in enumerate(changes, start=len(problem.names)):
        assert change.std == pytest.approx(np.sqrt(made.covariance[k, k]), rel=0.02)
        score = abs(change.change) / change.std
        assert change.p_value == pytest.approx(2.0 * stats.t.sf(score, made.freedom), rel=0.02)
        assert change.seconds == drifting.clock[1]
        assert change.doubtful is not made.faded


def problem_values(drifting: Drifting) -> np.ndarray:
    """Of the parameters that do not change, by weighted least squares with the noise of a first fit."""
    values = drifting.compressed.information().solve()[0]
    for _ in range(5):
        noise = np.sqrt(drifting.compressed.squares(values).sum(axis=0) / drifting.compressed.rows.sum(axis=0))
        values = drifting.compressed.information(noise).solve()[0]
    return values[: len(drifting.problem.names)]


def test_a_change_that_the_motion_does_not_tell_is_left_out_and_no_other() -> None:
    problem = warming(0.2, np.random.default_rng(1))
    fine = DriftCandidate(2, "Fv3", "", problem.names.index("Fv3"))
    same = replace(fine, parameter="Fv3 again")
    offset = DriftCandidate(0, "off1", "N·m", -1)
    found = Drifting(problem, (fine, same, offset)).changes(StationaryErrors(5))
    assert [c.parameter for c in found] == ["off1"]  # which of the two it was, nobody can tell
    assert [c.parameter for c in Drifting(problem, (offset, fine)).changes(StationaryErrors(5))] == ["off1", "Fv3"]


def test_the_level_is_of_all_parameters_together() -> None:
    problem = warming(0.2, np.random.default_rng(1))
    p_values = sorted(c.p_value for c in Drifting(problem, candidates(problem)).changes(StationaryErrors()))
    for k, p_value in enumerate(p_values[:3]):
        if 0.0 < 9.0 * p_value < 0.9:
            assert len(find_drift(problem, level=9.0 * p_value * 1.001)) == k + 1
            assert len(find_drift(problem, level=9.0 * p_value * 0.999)) == k
    for level in (0.0, 1.0, -0.1, 1.1):
        with pytest.raises(ParameterError, match="level"):
            find_drift(problem, level=level)
