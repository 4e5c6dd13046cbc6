"""One round of a campaign: what is known from all logs so far, and the next motion, designed for what is still short.

Known are the estimate, its covariance C, and the noise of every joint. The covariance, not the predicted information of
the motions, is what the next design starts from: H₀ = C⁻¹. It counts errors that are correlated, and what filters and
ends of logs took. The noise that a design counts with is such that the motions made so far would have given C: σ of the
joints beside each other as residuals show them, times one factor f with log det(H/f²) = log det C⁻¹.

Torque limits hold twice in a redesigned motion: with the description's parameters, as ever, and with those identified,
which know weight and friction better. Neither alone would do: a description may be too light, and an early estimate is
uncertain wherever nothing moved yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.constraint import RowName
from exciter.excitation.constraints.constraint_settings import TorqueSettings
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.criteria.cramer_rao import CramerRao
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, Observed
from exciter.excitation.criteria.observation_rows import DesignColumns, TorqueRows
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.design import CRITERION_SAMPLES_PER_S, Design, promises
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.optimiser.run_starts import Progress
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.recording import Recording
from exciter.experiment.signals.noise import estimate_noise
from exciter.identification.identify_config import IdentifyConfig
from exciter.notes import note
from exciter.parameters.terms.term import per_joint
from exciter.pipeline.campaign_settings import TARGETS, CampaignSettings, Goals
from exciter.pipeline.design import Designed, design
from exciter.pipeline.identified import Identified
from exciter.robot.robot import Robot
from exciter.typing import Array
from exciter.validation.inertia_matrix import base_chi
from exciter.workers import Workers

Tell = Callable[[Progress], None]
LENGTHS_TRIED = (0.25, 0.5, 0.75)  #: of a round, the shortest first, where a whole one would be more than is needed
PREDICTION_RESERVE = 0.95  #: a shorter round is taken where the worst σ is predicted to be below so much of its target
MOST_REPEATED = 1e6  #: times that a motion is thought to be repeated: what takes more, no motion of its kind tells


@dataclass(frozen=True, eq=False)
class IdentifiedTorqueLimits(TorqueLimits):
    """Torque limits of the identified parameters, beside those of the description."""

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        return tuple(replace(row, what="torque, as identified") for row in super().rows)


@dataclass(frozen=True, eq=False, kw_only=True)
class CampaignAsked:
    """All that was asked for. sha256: of the robot's description; simulate: settings of the virtual robot, as data."""

    robot: Robot
    settings: CampaignSettings
    design: DesignSettings
    identify: IdentifyConfig
    sha256: str | None
    simulate: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def model(self) -> DynamicModel:
        return self.design.model(self.robot)

    @cached_property
    def goals(self) -> Goals:
        return self.settings.goals(self.model)

    @property
    def density(self) -> float:
        """[1/s] samples that a design counts."""
        samples, duration = self.design.samples, self.design.motion.duration
        return CRITERION_SAMPLES_PER_S if samples is None else samples / duration

    def samples(self, duration: float) -> int:
        return max(2, round(self.density * duration))

    @property
    def first_joint_noise(self) -> Array | None:
        """(n,) σ of a position among the samples that a design counts, as stated; None: positions are exact."""
        given = self.settings.joint_noise
        if given is None:
            return None
        return per_joint(given, self.robot.joint_names, "campaign: joint_noise")[:, 0]


@dataclass(frozen=True, eq=False, kw_only=True)
class CampaignRound:
    """A motion, its log, and what was identified from the logs of this round and all before.

    log: by its name; None: still to be recorded. recording: its samples, where no folder has them. noise_ratio (n,): σ
    of a recorded position over that of a torque, where positions are taken as noisy.
    """

    number: int
    motion: Designed
    log: str | None = None
    result: Identified | None = None
    recording: Recording | None = None
    noise_ratio: Array | None = None

    @property
    def seconds(self) -> float:
        """[s] of robot time."""
        return float(self.motion.curve.duration)


def round_name(number: int) -> str:
    return f"round-{number:02d}"


# -- what is known ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Known:
    """After some rounds: values (b,), covariance (b, b); noise (n,) of torques and joint_noise (n,) of positions (None:
    exact), of one of the samples that a design counts."""

    asked: CampaignAsked
    values: Array
    covariance: Array
    noise: Array
    joint_noise: Array | None

    @classmethod
    def of(cls, asked: CampaignAsked, rounds: Sequence[CampaignRound]) -> Known:
        found = rounds[-1].result
        assert found is not None
        estimate, names = found.estimate, asked.model.base.names
        if estimate.names != names:
            missing = ", ".join(sorted(set(names) ^ set(estimate.names))[:5])
            raise ExciterError(
                f"the logs were identified with other parameters than motions are designed for ({missing}); give the "
                "same terms for both, and logs of a robot that stands as its description says"
            )
        noise = estimate.noise if estimate.joints == asked.robot.joint_names else np.ones(asked.robot.n)
        ratios = [one.noise_ratio**2 for one in rounds if one.noise_ratio is not None]
        known = cls(
            asked=asked,
            values=estimate.values,
            covariance=estimate.covariance,
            noise=noise,
            joint_noise=np.sqrt(np.mean(ratios, axis=0)) * noise if asked.settings.noisy_positions else None,
        )
        told = sum((known.told(one.motion.design) for one in rounds), np.zeros((len(names), len(names))))
        factor = np.exp(0.5 * (log_det(told) + log_det(known.covariance)) / len(names))
        scaled = None if known.joint_noise is None else factor * known.joint_noise
        return replace(known, noise=factor * known.noise, joint_noise=scaled)

    @property
    def information(self) -> Array:
        return symmetric(np.linalg.inv(self.covariance))

    @property
    def chi(self) -> Array:
        """(p,) standard parameters that have the identified torques."""
        return base_chi(self.asked.model, self.values)

    def told(self, made: Design) -> Array:
        """(b, b) information of a motion, all of its periods, about the base parameters."""
        model, family = self.asked.model, made.trajectory
        log = motion(family, made.delta, family.sample_times(self.asked.samples(family.duration)))
        observed = Observed(model, log, DesignColumns.of(model), self.noise**-2.0, TorqueRows())
        if self.joint_noise is None:
            return made.periods * observed.gram
        bound = CramerRao(family, tuple(self.joint_noise.tolist()), tuple(self.chi.tolist()))
        return made.periods * bound.information(observed)[0]

    def after(self, made: Design, times: float = 1.0) -> Array:
        """(b, b) covariance once a motion was made, so many times, too."""
        return symmetric(np.linalg.inv(self.information + times * self.told(made)))

    @property
    def worst(self) -> float:
        """The largest σ over its target."""
        return float(self.asked.goals.ratios(self.values, self.covariance).max())

    def times_needed(self, made: Design) -> Array:
        """(k,) how often a motion would have to be made until each goal is reached; infinite: it would not be."""
        goals, prior, told = self.asked.goals, self.information, self.told(made)
        wanted = goals.wanted(self.values)

        def excess(log_times: float, k: int) -> float:
            covariance = np.linalg.inv(prior + np.exp(log_times) * told)
            return float(np.log(goals.sigma(covariance)[k] / wanted[k]))

        low, high = np.log(1.0 / MOST_REPEATED), np.log(MOST_REPEATED)
        times = np.zeros(len(wanted))
        for k in np.flatnonzero(goals.sigma(self.covariance) > wanted).tolist():
            if excess(low, k) <= 0.0:
                continue
            times[k] = (
                np.inf
                if excess(high, k) > 0.0
                else np.exp(scipy.optimize.brentq(excess, low, high, args=(k,), xtol=1e-3))
            )
        return times


def noise_ratio(log: Recording) -> Array:
    """(n,) σ of a recorded position over that of a recorded torque [rad/(N·m), m/N]."""
    position, torque = (estimate_noise(log.time, x).sigma for x in (log.q, log.needed_torque()))
    return np.asarray(np.maximum(position, np.finfo(float).tiny) / np.maximum(torque, np.finfo(float).tiny))


def symmetric(x: ArrayLike) -> Array:
    square = np.asarray(x, dtype=float)
    return np.asarray(0.5 * (square + square.T))


def log_det(h: Array) -> float:
    sign, value = np.linalg.slogdet(h)
    if sign <= 0 or not np.isfinite(value):
        raise ParameterError("the motions so far do not determine every parameter; give longer rounds")
    return float(value)


# -- the next motion -------------------------------------------------------------------------------------------------


def first_design(asked: CampaignAsked, progress: Tell | None = None, workers: Workers | None = None) -> Designed:
    """D-optimal, of the Cramér–Rao bound where positions are noisy: nothing is known yet that targets could be."""
    joint_noise, noise = asked.first_joint_noise, asked.design.noise
    criterion: AnyCriterion = DOptimality()
    if joint_noise is not None:
        criterion = CramerRao(joint_noise=tuple(joint_noise.tolist()))
    settings = replace(asked.design, criterion=criterion, noise=noise)
    return design(asked.robot, settings=settings, workers=workers, progress=progress)


def next_design(
    asked: CampaignAsked,
    rounds: Sequence[CampaignRound],
    progress: Tell | None = None,
    workers: Workers | None = None,
) -> Designed:
    """For what is still short, given all that is known; shorter than a round where less is predicted to do."""
    known = Known.of(asked, rounds)
    number = len(rounds) + 1
    whole = _best(known, _designed(known, number, 1.0, progress, workers), rounds)
    if _predicted(known, whole.design) > PREDICTION_RESERVE:
        return whole
    for length in LENGTHS_TRIED:
        if length >= asked.settings.shortest:
            try:
                shorter = _designed(known, number, length, progress, workers)
            except ExciterError:  # no motion of its kind is so short within all limits
                continue
            if _predicted(known, shorter.design) <= PREDICTION_RESERVE:
                return shorter
    return whole


def _predicted(known: Known, made: Design) -> float:
    """The largest σ over its target once a motion was made."""
    return float(known.asked.goals.ratios(known.values, known.after(made)).max())


def _best(known: Known, made: Designed, rounds: Sequence[CampaignRound]) -> Designed:
    """The new motion, or one of before again, where that tells more: a search may end in a poor corner."""
    longest = made.design.trajectory.duration
    same = [one for one in rounds if one.motion.design.trajectory.duration == longest]
    for one in sorted(same, key=lambda one: _predicted(known, one.motion.design)):
        if _predicted(known, one.motion.design) >= _predicted(known, made.design):
            break
        if (again := _again(known, one, made)) is not None:
            return again
    return made


def _again(known: Known, before: CampaignRound, made: Designed) -> Designed | None:
    """A motion of before with the settings, the prior and the limits of a new one; None where it breaks these."""
    old, new, model = before.motion.design, made.design, known.asked.model
    certificate = certify(known.asked.robot, old.curve, new.constraints, from_rest=True)
    if not certificate.certified:
        return None
    weights = new.noise**-2.0
    objective = DesignObjective(
        model, new.criterion, DesignColumns.of(model), weights, TorqueRows(), prior=known.information
    )
    found = promises(objective, old.trajectory, old.delta, new.samples)
    text = f"the motion of round {before.number} again, which tells more than the best of {len(new.attempts)} starts"
    again = replace(
        new, **found, curve=old.curve, ramps=old.ramps, certificate=certificate, notes=(note("search", text),)
    )
    return replace(made, design=again)


def _designed(known: Known, number: int, length: float, progress: Tell | None, workers: Workers | None) -> Designed:
    asked, config = known.asked, known.asked.design
    family = config.motion.with_duration(length * config.motion.duration)
    periods = np.sqrt(config.periods)  # a design counts one of them
    goals = asked.settings.criterion == TARGETS
    criterion: Any = asked.goals.criterion(known.values) if goals else DOptimality()
    if known.joint_noise is not None:
        stated = tuple((known.joint_noise / periods).tolist())
        criterion = CramerRao(joint_noise=stated, chi=tuple(known.chi.tolist()), criterion=criterion)
    changed = replace(
        config,
        trajectory=replace(config.trajectory, motion=family),
        criterion=criterion,
        noise=tuple((known.noise / periods).tolist()),
        samples=asked.samples(family.duration),
        seed=config.seed + number - 1,
    )
    return design(
        asked.robot,
        settings=changed,
        constraints=identified_limits(known),
        information=known.information,
        workers=workers,
        progress=progress,
    )


def identified_limits(known: Known) -> tuple[TorqueLimits, ...]:
    """Where the robot has torque limits that the design keeps, the same with what was identified."""
    config, robot = known.asked.design.constraints, known.asked.robot
    if config.torque is False or not np.isfinite(robot.limit("torque")).any():
        return ()
    margin = config.torque.margin if isinstance(config.torque, TorqueSettings) else 0.0
    return (IdentifiedTorqueLimits(known.asked.model, known.chi, margin),)
