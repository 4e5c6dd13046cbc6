"""Logs of a campaign: each must be of its motion and of the same robot as those before; all are identified together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.recording import Recording
from exciter.experiment.signals.differentiation import HIGHEST_CUTOFF_RATE_FRACTION, FilteredDifferences
from exciter.experiment.signals.processed_motion import velocity_band
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.selection.cutoff_choice import wide
from exciter.pipeline.campaign_rounds import CampaignAsked, CampaignRound, round_name
from exciter.pipeline.design import Designed
from exciter.pipeline.identified import Identified
from exciter.pipeline.identify import identify
from exciter.pipeline.inspect import inspect, naming, read
from exciter.pipeline.logs import EXPLAINED_TORQUE

LOG_FILES = ("recording.yaml", "log.csv", "log.npz", "log.mat")  #: of a round, the first that is there counts
OTHER_MOTION_RANGE_SHARE = 0.2  #: rms of recorded less planned position over the planned range: more is another motion
#: of the positions' cut-off to that of the equations: ends that are lost are as much shorter
POSITION_CUTOFF_RATIO = 4.0
MOST_PROBLEMS_NAMED = 3
#: of the residuals of all logs before: more in one log is another robot, or another load
DISAGREEING_NOISE_FACTOR = 10.0


def log_in(home: Path) -> Path | None:
    """The log of a round, where there is one."""
    return next((home / name for name in LOG_FILES if (home / name).is_file()), None)


def log_of(asked: CampaignAsked, motion: Designed, path: Path) -> Recording:
    """A log that must be of this robot, and of this motion; its period is that of the plan unless it says so itself."""
    with naming(path):
        log = read(path).arranged(asked.robot)
        for one in inspect(asked.robot, log, planned=motion.curve).findings:
            share = one.numbers.get("share") if one.subject == "planned motion" else None
            if isinstance(share, float) and share > OTHER_MOTION_RANGE_SHARE:
                raise RecordingError(
                    f"it is of another motion than {path.parent.name}/trajectory.csv: {one.joint} is off by "
                    f"{100 * share:.0f} % of its planned range; put the log of this motion there"
                )
        if log.duration < (1.0 - OTHER_MOTION_RANGE_SHARE) * motion.curve.duration:
            raise RecordingError(
                f"it lasts {log.duration:.4g} s and the motion {motion.curve.duration:.4g} s; record all of it"
            )
    family = motion.design.trajectory
    if log.about.period is None and family.periodic and motion.design.periods > 1:
        log = replace(log, about=replace(log.about, period=family.duration))
    return log


def refuse_twice(logs: Sequence[Recording], name: str) -> None:
    last = logs[-1]
    for number, other in enumerate(logs[:-1], start=1):
        pairs = ((getattr(other, what), getattr(last, what)) for what in ("q", "torque", "current"))
        if all((a is None and b is None) or np.array_equal(a, b) for a, b in pairs):
            raise RecordingError(f"{name} has the samples of {round_name(number)}; put the log of its own motion there")


def identified(asked: CampaignAsked, rounds: Sequence[CampaignRound], logs: Sequence[Recording]) -> Identified:
    """One problem of all logs. Positions go through a cut-off that the planned motions tell, well above the one that
    both sides of the equations go through: a short log would tell too low a one, and lose much of itself at its ends.
    """
    config = asked.identify
    if config.route is None and not isinstance(config.settings.estimator, MaximumLikelihood):
        rate = min(1.0 / float(np.median(np.diff(log.time))) for log in logs)
        sampled = [one.motion.velocity.values for one in rounds]
        band = max(velocity_band([(qd, one.motion.config.rate)]) for qd, one in zip(sampled, rounds, strict=True))
        cutoff = min(POSITION_CUTOFF_RATIO * wide(band, rate), HIGHEST_CUTOFF_RATE_FRACTION * rate)
        config = config.with_settings(route=FilteredDifferences(cutoff=cutoff))
    if len(logs) > 1:
        refuse_unusable(asked, logs[-1])
        config = config.with_settings(accept_problems=True)
    found = identify(asked.robot, list(logs), config)
    refuse_disagreeing(rounds, found)
    return found


def refuse_unusable(asked: CampaignAsked, log: Recording) -> None:
    """Of a later round. That its torque is hard to explain is no reason: such a round may well move a joint so that
    little but noise is in its torque, and noisy positions pass for friction that drives it; ``refuse_disagreeing`` asks
    better, and notices a sign that is another than in the rounds before."""
    judged_with_others = (EXPLAINED_TORQUE, "sign")
    problems = [one for one in inspect(asked.robot, log).problems if one.subject not in judged_with_others]
    if problems and not asked.identify.settings.accept_problems:
        why = "; ".join(str(one) for one in problems[:MOST_PROBLEMS_NAMED])
        raise RecordingError(f"the last log is not usable as it is: {why}; see exciter inspect, and record it again")


def passed(found: Identified) -> float:
    """σ of the equations is in proportion to this, where samples have white noise: later rounds may have been faster,
    and be filtered less."""
    both = getattr(found.identification.problem.formulation, "parallel_filter", None)
    return 1.0 if both is None or both.low_pass is None else float(np.sqrt(both.low_pass.cutoff))


def refuse_disagreeing(rounds: Sequence[CampaignRound], found: Identified) -> None:
    """A log whose residuals are far above the noise of those before, once all are identified together."""
    *before, last = rounds
    if not before or (earlier := before[-1].result) is None:
        return
    old, new = (one.estimate.noise / passed(one) for one in (earlier, found))
    if old.shape != new.shape:
        return
    time = sum(one.seconds for one in before)
    own = np.sqrt(np.maximum(((time + last.seconds) * new**2 - time * old**2) / last.seconds, 0.0))
    for joint, was, now in zip(found.estimate.joints, old.tolist(), own.tolist(), strict=True):
        if now > DISAGREEING_NOISE_FACTOR * was:
            raise RecordingError(
                f"the log of {round_name(last.number)} does not agree with those before: {joint} has residuals of "
                f"{now:.3g} in it, {was:.3g} before; put the log of this robot there, as it was in the rounds before"
            )
