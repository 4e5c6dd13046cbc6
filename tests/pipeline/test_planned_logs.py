"""Identification by a plan: a static experiment on the virtual robot from design to parameters; what is refused; and a
quality check that knows what each stage is for."""

from dataclasses import replace

import numpy as np
import pytest

import exciter as ex
from exciter.errors import ExciterError
from exciter.experiment.quality import check
from exciter.identification.estimators.staged import FrictionFirst, StaticThenDynamic
from exciter.identification.runs.run import Run
from exciter.identification.stages.planned import settled
from exciter.pipeline.planned_logs import PlannedLogs, planned_run

pytestmark = pytest.mark.slow

NAME, SEED = "kuka-ir361", 2
MOST_OF_THE_NOISE_FLOOR = 2.0


@pytest.fixture(scope="module")
def robot():
    return ex.load(NAME)


@pytest.fixture(scope="module")
def plan(robot, tmp_path_factory):
    folder = tmp_path_factory.mktemp("static")
    designed = ex.design_experiment(robot, "static", starts=1)
    designed.save(folder)
    return ex.Plan.read(folder)


@pytest.fixture(scope="module")
def logs(robot, plan):
    """Of the virtual robot; the motion that excites is run through three times."""
    periods = {"excitation": 3}
    return [
        ex.simulate(robot, plan.motion_path(stage), periods=periods.get(stage.purpose), seed=SEED).recording
        for stage in plan.stages
    ]


@pytest.fixture(scope="module")
def found(robot, plan, logs):
    other = ex.design(robot, ex.Fourier(period=8, harmonics=4), starts=1, seed=5)
    return ex.identify(robot, logs, plan=plan, validate=ex.simulate(robot, other, seed=SEED))


def test_static_ends_near_the_noise_floor_with_intervals_that_cover(found, robot, plan):
    assert isinstance(found.identification.estimator, StaticThenDynamic)
    assert found.verdict.unseen.total_percent < MOST_OF_THE_NOISE_FLOOR * found.verdict.unseen.floor.total_percent
    truth = ex.simulate(robot, plan.motion_path(plan.stages[1]), seed=SEED).virtual.truth
    known = dict(zip(truth.model.standard, truth.chi, strict=True))
    true = found.model.base.base_values([known.get(name, 0.0) for name in found.model.standard])
    inside = np.abs(found.estimate.values - true) < found.estimate.quantile() * found.estimate.std
    assert inside.mean() > 0.85


def test_result_and_report_say_plan_and_stages(found, plan, tmp_path):
    data = found.to_dict()
    assert data["plan"]["experiment"] == "static"
    assert [row["purpose"] for row in data["plan"]["stages"]] == ["rest", "excitation"]
    first, second = data["stages"]
    assert first["equations"] == 3 * len(plan.stages[0].dwells)
    assert set(first["parameters"]) & {"MXR2", "MX3"}
    assert set(first["noise"]) == set(second["noise"]) == {"joint_1", "joint_2", "joint_3"}
    assert "stages" in [section.key for section in found.report().sections]
    assert ex.open(found.save(tmp_path / "found")).to_dict()["stages"] == data["stages"]


def test_later_stages_know_more_than_poses(robot, plan, logs, found):
    """Taken as known, gravity of poses held by friction stays wrong; and intervals still know."""
    classical = ex.identify(robot, logs, plan=plan, estimator=StaticThenDynamic(known=True))
    gravity = [found.model.base.names.index(name) for name in ("MXR2", "MX3")]
    assert (classical.estimate.std[gravity] > 2.0 * found.estimate.std[gravity]).all()


def test_instants_are_those_of_the_plan_by_the_clock_of_the_log(robot, plan, logs):
    staged = PlannedLogs.of(plan, robot, logs)
    late = replace(logs[0], time=logs[0].time + 37.5)
    at = [planned_run(staged.stages[0], Run.of(log)).dwells for log in (logs[0], late)]
    assert len(at[0]) == len(plan.stages[0].dwells)
    np.testing.assert_allclose(np.array(at[1]) - 37.5, at[0], atol=0.01)
    for (begin, end), (start, stop) in zip(plan.stages[0].dwells, at[0], strict=True):
        assert begin - 1e-3 <= start < stop <= end + 5e-3


def test_settling_is_left_out():
    time = np.arange(0.0, 2.0, 0.01)
    q = np.exp(-np.maximum(time - 0.5, 0.0) / 0.1)[:, None] * [1.0, 0.0]
    start, end = settled(time, q, (0.5, 1.9), np.full(2, 1e-3))
    assert 1.1 < start < 1.3  # where 1e-3 is left
    assert end == pytest.approx(1.9, abs=0.011)
    assert settled(time, q, (5.0, 6.0), np.zeros(2)) is None


def test_what_does_not_fit_is_refused_in_one_line(robot, plan, logs):
    for changes, message in (
        ({"logs": logs[:1]}, "1 logs are given, and the plan has 2 stages"),
        ({"logs": ()}, "expects logs that are not there: .*poses.csv"),
        ({"estimator": FrictionFirst()}, "friction-first needs a stage whose purpose is constant-velocity"),
        ({"logs": logs[::-1]}, "not usable.*planned motion"),
        ({"plan": 3}, "the plan is 3; give a Plan"),
        ({"plan": replace(plan, estimator="best"), "estimator": None}, "names estimator 'best'"),
    ):
        with pytest.raises(ExciterError, match=message) as error:
            ex.identify(robot, **{"logs": logs, "plan": plan, **changes})
        assert "\n" not in str(error.value)
    with pytest.raises(ExciterError, match=r"for the joints|one of robot"):
        ex.identify("puma560", logs, plan=plan)


# -- the quality check -----------------------------------------------------------------------------------------------


def judged(robot, plan, logs, stage=0, log=None, **changed):
    staged = PlannedLogs.of(plan, robot, logs).stages[stage]
    return check(
        logs[stage] if log is None else log, robot, planned=staged.sent, stage=replace(staged.stage, **changed)
    )


def subjects(quality):
    return {finding.subject for finding in (*quality.problems, *quality.warnings)}


def test_a_pose_log_is_good_for_what_it_is_for(robot, plan, logs):
    quality = judged(robot, plan, logs)
    assert quality.usable
    assert not subjects(quality)
    assert not {"rest", "standstill", "excitation"} & {one.subject for one in quality.findings}


def test_real_faults_of_a_pose_log_are_still_found(robot, plan, logs):
    poses = logs[0]
    turned = replace(poses, torque=poses.torque * [1.0, -1.0, 1.0])
    assert "sign" in subjects(judged(robot, plan, logs, log=turned))
    degrees = replace(poses, q=np.degrees(poses.q))
    assert not judged(robot, plan, logs, log=degrees).usable
    exchanged = replace(poses, q=poses.q[:, [1, 0, 2]])
    assert "planned motion" in subjects(judged(robot, plan, logs, log=exchanged))
    short = poses[: len(poses) // 2]
    assert any("poses of stage" in one.text for one in judged(robot, plan, logs, log=short).problems)


def test_what_a_stage_must_be_is_asked(robot, plan, logs):
    one_way = tuple(dwell for k, dwell in enumerate(plan.stages[0].dwells) if k % 2)
    came = judged(robot, plan, logs, dwells=one_way)
    assert any("one side" in one.text for one in came.warnings)
    assert not any("one side" in one.text for one in judged(robot, plan, logs).warnings)
    locked = judged(robot, plan, logs, stage=1, moves=("joint_1", "joint_2"), purpose="locked")
    assert any(one.subject == "locked joint" and one.joint == "joint_3" for one in locked.problems)
