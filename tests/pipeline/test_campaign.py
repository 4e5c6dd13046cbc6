"""A campaign: it reaches what is wanted and stops, its redesigns rest on the posterior, and it goes on wherever it was
stopped, in one folder, to the same result."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import exciter as ex
from exciter.cli import main
from exciter.errors import ExciterError
from exciter.experiment.virtual.virtual_robot import SimulateSettings, VirtualRobot
from exciter.pipeline.campaign import Campaign, campaign
from exciter.pipeline.campaign_logs import identified
from exciter.pipeline.campaign_rounds import Known, log_det
from exciter.settings import fill

ROBOT = "gautier-khalil"
SETTINGS = {
    "limits": {"torque": 400.0},
    "terms": ["viscous", "coulomb"],
    "trajectory": {"family": "fourier", "period": 4.0, "harmonics": 4},
    "starts": 1,
    "simulate": {"truth": {"rotor_inertia": 0.0}, "torque": {"noise": 2.0}, "log": {"rate": 250}},
    "campaign": {"target": {"*": "4 %", "Fv1": "50 %"}, "negligible": "0.3 %", "rounds": 6},
}


def settings(**own) -> dict:
    return {**SETTINGS, "campaign": {**SETTINGS["campaign"], **own}}


def numbers(folder: Path) -> dict:
    data = json.loads((folder / "campaign.json").read_text(encoding="utf-8"))
    return {key: data[key] for key in ("rounds", "goals", "worst", "reached", "robot_time")}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Campaign, Path]:
    folder = tmp_path_factory.mktemp("campaign") / "whole"
    return campaign(ROBOT, folder, SETTINGS), folder


@pytest.fixture(scope="module")
def virtual(made) -> VirtualRobot:
    """The one that the campaign has its logs from."""
    robot = made[0].robot
    return fill(SimulateSettings, SETTINGS["simulate"], "simulate", robot=robot).virtual(robot, 0)


def test_it_reaches_what_is_wanted_and_stops(made):
    found, folder = made
    worst = found.history.ratios.max(axis=1)
    assert found.reached
    assert worst[-1] <= 1.0
    assert len(worst) > 1
    assert (worst[:-1] > 1.0).all()
    assert all(one.motion.certificate.certified for one in found.rounds)
    # σ is that of the identification: the ratio of one parameter by hand
    estimate = found.result.estimate
    k = estimate.names.index("Fv1")
    goal = found.goals.names.index("Fv1")
    assert_allclose(found.history.sigma[-1][goal], estimate.std[k])
    assert found.history.wanted[-1][goal] >= 0.5 * abs(estimate.values[k])
    assert found.robot_time == pytest.approx(sum(one.motion.curve.duration for one in found.rounds))
    assert "reached" in (folder / "report.html").read_text(encoding="utf-8")
    assert "campaign of gautier-khalil" in repr(found)
    assert Campaign.open(folder).worst == found.worst


def test_the_truth_lies_within_sigma(made, virtual):
    """The same motions logged again: errors are 1.05 σ rms over 24 such logs; W counts as exact, and what filters make
    of it is a bias of most of a σ in a few parameters."""
    found, truth = made[0], virtual.truth
    known = dict(zip(truth.model.standard, truth.chi.tolist(), strict=True))
    model = found.goals.model
    true = model.base.base_values(np.array([known.get(name, 0.0) for name in model.standard]))
    estimates = [found.result.estimate]
    for seed in (100, 150):
        runs = (virtual.run(one.motion.curve, seed=seed + one.number) for one in found.rounds)
        logs = [run.recording for run in runs]
        estimates.append(identified(found.asked, found.rounds, logs).estimate)
    z = np.array([(one.values - true) / one.std for one in estimates])
    assert np.sqrt((z**2).mean()) == pytest.approx(1.05, abs=0.25)


def test_a_redesign_rests_on_the_posterior(made):
    """H₀ = C⁻¹ of the identification, with noise for which the motions made would have given C; what the design of the
    next round predicts is then found."""
    found, _ = made
    rounds = found.done
    known = Known.of(found.asked, rounds[:1])
    before, estimate = rounds[0].result.estimate, rounds[1].result.estimate
    assert_allclose(known.information @ before.covariance, np.eye(len(before.names)), atol=1e-6)
    assert_allclose(log_det(known.told(rounds[0].motion.design)), -log_det(before.covariance), rtol=1e-9)
    design = rounds[1].motion.design
    both = np.linalg.inv(np.linalg.inv(before.covariance) + known.told(design))
    assert_allclose(known.after(design), both, rtol=1e-5)
    assert_allclose(design.predicted_std, np.sqrt(np.diag(both)), rtol=1e-3)  # the design counted with the same
    found_over_predicted = estimate.std / np.sqrt(np.diag(both))
    assert 0.85 < np.median(found_over_predicted) < 1.25
    assert 0.7 < found_over_predicted.min() < found_over_predicted.max() < 1.5
    assert (estimate.std < 1.05 * before.std).mean() > 0.8  # what is known of the torques' timing need not grow
    noise = before.noise / known.noise
    assert_allclose(noise, noise[0])  # of joints beside each other, as measured


def test_limits_hold_with_the_identified_parameters_too(made):
    found, _ = made
    words = {limit.what for limit in found.rounds[1].motion.certificate.limits}
    assert {"torque", "torque, as identified"} <= words
    assert "torque, as identified" not in {limit.what for limit in found.rounds[0].motion.certificate.limits}


class Stopped(KeyboardInterrupt):
    pass


def test_it_goes_on_wherever_it_was_stopped(made, tmp_path):
    """Interrupted at every step once, and between the files of a step."""
    whole = numbers(made[1])
    folder, told = tmp_path / "stopped", set()

    def once(step: str) -> None:
        if step not in told:
            told.add(step)
            raise Stopped

    for _ in range(100):
        try:
            found = campaign(ROBOT, folder, SETTINGS, progress=once)
            break
        except Stopped:
            pass
    assert len(told) == 4 * len(found.rounds)
    assert numbers(folder) == whole
    # killed between two files of a step: an open seal, or a step that is missing
    last = folder / f"round-{len(found.rounds):02d}"
    for seal in (folder / "campaign.json", last / "identified" / "result.json"):
        seal.write_text(json.dumps({"unfinished": "stopped", "sha256": {}}), encoding="utf-8")
    campaign(ROBOT, folder, SETTINGS)
    assert numbers(folder) == whole
    (last / "log.csv").unlink()
    (last / "log.yaml").unlink()
    assert campaign(ROBOT, folder, SETTINGS).worst == pytest.approx(whole["worst"], rel=1e-12)


def test_a_stricter_target_goes_on_and_another_design_does_not(made, tmp_path):
    folder = tmp_path / "campaign"
    shutil.copytree(made[1], folder)
    count = len(made[0].rounds)
    more = campaign(ROBOT, folder, settings(rounds=count + 1, target={"*": "0.1 %"}, negligible="0.01 %"))
    assert len(more.rounds) == count + 1
    assert not more.reached
    short = more.history.short
    assert short
    assert more.history.needed[short[0]] > 0.0
    with pytest.raises(ExciterError, match=r"other settings \(terms\)"):
        campaign(ROBOT, folder, {**SETTINGS, "terms": ["viscous"]})
    with pytest.raises(ExciterError, match=r"other settings \(campaign\)"):
        campaign(ROBOT, folder, settings(criterion="d-optimal"))


def test_real_logs_are_waited_for_and_refused_where_they_do_not_belong(made, virtual, tmp_path):
    folder, asked = tmp_path / "real", settings(logs="real")
    waiting = campaign(ROBOT, folder, asked)
    assert waiting.waiting.number == 1
    assert not waiting.done
    assert campaign(ROBOT, folder, asked).waiting.number == 1
    log = folder / "round-01" / "log.csv"
    virtual.run(made[0].rounds[1].motion.curve, seed=5).save(log)  # of another motion
    with pytest.raises(ExciterError, match="another motion than round-01/trajectory"):
        campaign(ROBOT, folder, asked)
    other = ex.Recording.of(np.arange(0, 4, 0.004), np.zeros((1000, 2)), np.zeros((1000, 2)), joints=("a", "b"))
    other.save(log)
    with pytest.raises(ExciterError, match=r"log\.csv"):
        campaign(ROBOT, folder, asked)
    virtual.run(waiting.rounds[0].motion.curve, seed=1).save(log)
    second = campaign(ROBOT, folder, asked)
    assert second.waiting.number == 2
    assert second.worst == pytest.approx(made[0].history.ratios[0].max(), rel=1e-9)  # as the virtual one
    heavy = replace(
        virtual,
        truth=replace(virtual.truth, robot=virtual.truth.robot.with_inertias(2.0 * virtual.truth.robot.inertias)),
    )
    heavy.run(second.rounds[1].motion.curve, seed=2).save(folder / "round-02" / "log.csv")
    with pytest.raises(ExciterError, match="round-02"):
        campaign(ROBOT, folder, asked)


def test_noisy_positions_are_identified_by_maximum_likelihood():
    noisy = {"encoder": {"noise": 3e-4, "counts": "none"}, "torque": {"noise": 0.5}, "log": {"rate": 250}}
    asked = {
        **SETTINGS,
        "terms": ["viscous"],
        "trajectory": {"family": "fourier", "period": 3.0, "harmonics": 3, "periods": 3},
        "samples": 60,
        "simulate": {**noisy, "truth": {"coulomb": 0.0, "rotor_inertia": 0.0}},
        "campaign": {
            "criterion": "cramer-rao",
            "joint_noise": 1e-3,
            "target": "0.001 %",
            "negligible": "none",
            "rounds": 2,
        },
    }
    found = campaign(ROBOT, None, asked)
    assert found.result.config.settings.estimator.word == "ml"
    assert [one.motion.design.criterion.name for one in found.rounds] == ["cramer-rao", "cramer-rao"]
    assert found.rounds[1].motion.design.criterion.chi is not None  # designed with the estimate
    known = Known.of(found.asked, found.done[:1])
    per_sample = known.joint_noise / known.noise  # as recorded, beside the noise of torques
    assert_allclose(per_sample, 3e-4 / 0.5, rtol=0.1)
    after = np.sqrt(np.diag(known.after(found.rounds[1].motion.design)))
    ratios, viscous = found.result.estimate.std / after, [one.startswith("Fv") for one in found.result.estimate.names]
    assert_allclose(ratios[np.logical_not(viscous)], 1.0, atol=0.08)
    assert (ratios[viscous] < 1.4).all()  # it takes what the timing of torques leaves open, which no design counts


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"target": {"XX9": "5 %"}}, "target: unknown parameter 'XX9'"),
        ({"target": "five"}, "target is 'five'; give a percentage"),
        ({"target": 0.0}, "target is 0.0; give a percentage"),
        ({"target": {"*": {}}}, "no σ is given"),
        ({"torque": {"elbow": 1.0}}, "torque: unknown joint 'elbow'"),
        ({"rounds": 0}, "rounds is 0; give a whole number"),
        ({"criterion": "cramer-rao"}, "cramer-rao needs joint_noise"),
        ({"criterion": "d-optimal", "joint_noise": 1e-3}, "joint_noise is for cramer-rao or targets"),
        ({"logs": "real"}, "logs: real needs a folder"),
        ({"shortest": 2.0}, "shortest is 2.0"),
        ({"sigma": 1.0}, "sigma"),
    ],
)
def test_what_cannot_be_asked_for_is_told_in_one_line(changes, line):
    with pytest.raises(ExciterError, match=line.replace("(", r"\(")) as told:
        campaign(ROBOT, None, {**SETTINGS, "campaign": changes})
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"trajectory": "random-points"}, "random-points is drawn"),
        ({"prior": ["somewhere"]}, "prior is what a campaign finds itself"),
        ({"identify": {"friction": "choose"}}, "leave friction and automatic"),
        ({"identify": {"estimator": "wls"}, "campaign": {"joint_noise": 1e-3}}, "joint_noise designs for maximum"),
    ],
)
def test_settings_that_do_not_go_together(more, line):
    with pytest.raises(ExciterError, match=line):
        campaign(ROBOT, None, {**SETTINGS, **more})


def test_the_command_goes_on_and_says_what_it_waits_for(made, tmp_path, capsys):
    folder, config = tmp_path / "campaign", tmp_path / "asked.yaml"
    shutil.copytree(made[1], folder)
    config.write_text(json.dumps(SETTINGS), encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["campaign", ROBOT, "-o", str(folder), "--config", str(config)])
    assert left.value.code == 0
    assert "reached after" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["campaign", ROBOT, "-o", str(folder), "--config", str(config), "--rounds", "1", "--json"])
    assert left.value.code == 1
    assert json.loads(capsys.readouterr().out)["reached"] is False
    real = ["-o", str(tmp_path / "real"), "--config", str(config), "--logs", "real"]
    with pytest.raises(SystemExit) as left:
        main(["campaign", ROBOT, *real, "--target", "Fs*=5 %", "Fv*=0.5"])
    assert left.value.code == 0
    assert str(tmp_path / "real" / "round-01" / "log.csv") in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["campaign", ROBOT, "-o", str(tmp_path / "bad"), "--target", "5 apples"])
    assert left.value.code == 2
    assert not (tmp_path / "bad").exists()
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
