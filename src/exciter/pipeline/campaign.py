"""A campaign: design, log, identify, and design again with what is known now, until a stated σ is reached (Swevers et
al. 1997, IEEE, III-B); and its folder, in which it goes on wherever it was stopped.

    DIR/campaign.json, report.html        what was asked for, how σ fell
    DIR/round-01/trajectory.csv, …        the motion of a round, as ``exciter design`` writes it
    DIR/round-01/log.csv                  its log: written by the virtual robot, or put there by whoever ran the robot
    DIR/round-01/identified/              from the logs of this round and all before, as ``exciter identify`` writes it

Every step is written whole before the next begins, and made again where it is not there: a campaign that was stopped
goes on to the same result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from exciter.archive import archived, opened, unarchived
from exciter.errors import ExciterError
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.files.trajectory_files import DESIGN
from exciter.excitation.optimiser.run_starts import refuse_stopped
from exciter.experiment.quality.evidence import USUAL_TERMS
from exciter.experiment.recording import Recording
from exciter.experiment.virtual.virtual_robot import SimulateSettings, VirtualRobot
from exciter.files import Seal, output_folder, path_of, staged
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.identified_model import RESULT_SEAL
from exciter.identification.identify_config import CHOOSE_FRICTION, IdentifyConfig, IdentifySettings
from exciter.pipeline.campaign_logs import LOG_FILES, identified, log_in, log_of, refuse_twice
from exciter.pipeline.campaign_rounds import (
    CampaignAsked,
    CampaignRound,
    Known,
    first_design,
    next_design,
    noise_ratio,
    round_name,
)
from exciter.pipeline.campaign_settings import REAL, CampaignSettings, Goals
from exciter.pipeline.design import Designed
from exciter.pipeline.identified import Identified
from exciter.pipeline.identify import identify_settings
from exciter.pipeline.saving import (
    CAMPAIGN_ARCHIVE,
    CAMPAIGN_SEAL,
    REPORT_FILE,
    description_hash,
    robot_data,
    versions,
)
from exciter.pipeline.settings_file import (
    CAMPAIGN,
    SIMULATE,
    FileContent,
    SettingsFile,
    changed,
    loaded,
    refuse_unknown,
)
from exciter.report.campaign_report import CampaignHistory, campaign_page
from exciter.report.page import Page
from exciter.robot.robot import Robot
from exciter.settings import written
from exciter.workers import Workers

RESULT_FOLDER = "identified"
STATED_ANEW = ("target", "torque", "negligible", "rounds", "shortest")  #: settings that may change while it goes on
Step = Callable[[str], None]  #: names the step that begins


def unseen(step: str) -> None:
    """For those who do not look."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Campaign:
    """Rounds of motion, log and identification. A last round without a log waits for it.

    >>> made = ex.campaign(robot, torque="5 %", design=ex.DesignSettings(starts=1))
    >>> made
    <campaign of gautier-khalil: ... s of motion in ..., worst σ ... of its target>
    >>> made.reached, made.robot_time > 0.0
    (True, True)"""

    asked: CampaignAsked
    rounds: tuple[CampaignRound, ...]

    @property
    def robot(self) -> Robot:
        return self.asked.robot

    @property
    def goals(self) -> Goals:
        """Which σ are wanted."""
        return self.asked.goals

    @property
    def done(self) -> tuple[CampaignRound, ...]:
        """Rounds that were identified."""
        return tuple(one for one in self.rounds if one.result is not None)

    @property
    def progress(self) -> tuple[int, int]:
        """How many rounds were identified, and designed."""
        return len(self.done), len(self.rounds)

    @property
    def result(self) -> Identified:
        """From all logs so far."""
        if not self.done or (found := self.done[-1].result) is None:
            raise ExciterError("nothing was identified yet: the first round waits for its log")
        return found

    @property
    def waiting(self) -> CampaignRound | None:
        """The round whose log is still to come."""
        return next((one for one in self.rounds if one.log is None), None)

    @property
    def robot_time(self) -> float:
        """[s] of motion in all rounds that were identified."""
        return sum(one.seconds for one in self.done)

    @cached_property
    def history(self) -> CampaignHistory:
        """σ of every goal after each round."""
        done, goals = self.done, self.goals
        found = [one.result.estimate for one in done if one.result is not None]
        before = [Known.of(self.asked, done[:k]) for k in range(1, len(done) + (not self.reached))]
        predicted = [goals.sigma(known.after(one.motion.design)) for known, one in zip(before, done[1:], strict=False)]
        needed = np.zeros(len(goals.names))
        if done and not self.reached:
            needed = before[-1].times_needed(done[-1].motion.design) * done[-1].seconds
        return CampaignHistory(
            robot=self.robot,
            goals=goals.names,
            units=goals.units,
            sigma=tuple(goals.sigma(one.covariance) for one in found),
            wanted=tuple(goals.wanted(one.values) for one in found),
            predicted=(None, *predicted),
            seconds=tuple(one.seconds for one in self.rounds),
            criteria=tuple(one.motion.design.criterion.name for one in self.rounds),
            certified=tuple(one.motion.certificate.certified for one in self.rounds),
            logs=tuple(one.log for one in self.rounds),
            noise=tuple(one.noise for one in found),
            needed=needed,
            most_rounds=self.asked.settings.rounds,
        )

    @property
    def worst(self) -> float:
        """The largest σ over its target, after the last round."""
        if not self.done:
            return float("inf")
        estimate = self.result.estimate
        return float(self.goals.ratios(estimate.values, estimate.covariance).max())

    @property
    def reached(self) -> bool:
        """Whether every goal has a σ, of the identification of all logs, that is at most as large as wanted."""
        return self.worst <= 1.0

    @property
    def finished(self) -> bool:
        """Reached, or as many rounds as were allowed."""
        return self.reached or len(self.done) >= self.asked.settings.rounds

    def report(self) -> Page:
        """The whole report, which a notebook shows, and ``save`` keeps."""
        return campaign_page(self.history, self.goals.model, settings_data(self.asked))

    def _repr_html_(self) -> str:
        return self.report().head

    def __repr__(self) -> str:
        count = f"{len(self.done)} {'round' if len(self.done) == 1 else 'rounds'}"
        worst = f"worst σ {self.worst:.3g} of its target" if self.done else "no log yet"
        return f"<campaign of {self.robot.name}: {self.robot_time:.4g} s of motion in {count}, {worst}>"

    def to_dict(self) -> dict[str, Any]:
        """The content of campaign.json."""
        waiting = self.waiting
        return {
            "robot": robot_data(self.robot, self.asked.sha256),
            "reached": self.reached,
            "worst": self.worst,
            "robot_time": self.robot_time,
            "waiting": None if waiting is None else round_name(waiting.number),
            **self.history.to_dict(),
            "settings": settings_data(self.asked),
            "versions": versions(),
        }

    # -- saved -------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """The files of ``exciter campaign``: of each round, where they are not there yet, and the summary."""
        place = path_of(folder, "the folder")
        with output_folder(place), staged(place, CAMPAIGN_SEAL) as stage:
            (stage / CAMPAIGN_ARCHIVE).write_bytes(archived(self.asked))
            self.report().write(stage / REPORT_FILE)
            CAMPAIGN_SEAL.write(stage, self.to_dict())
        for one in self.rounds:
            home = place / round_name(one.number)
            if not DESIGN.is_there(home):
                one.motion.save(home)
            if one.recording is not None and log_in(home) is None:
                one.recording.save(home / LOG_FILES[1])
            if one.result is not None and not RESULT_SEAL.is_there(home / RESULT_FOLDER):
                one.result.save(home / RESULT_FOLDER)
        return place

    @classmethod
    def open(cls, folder: str | Path) -> Campaign:
        """What ``exciter campaign``, or ``save``, wrote."""
        place = path_of(folder, "the folder")
        asked = opened(place, CAMPAIGN_SEAL, CAMPAIGN_ARCHIVE, CampaignAsked)
        found = cls(asked=asked, rounds=rounds_in(place, asked))
        if found.progress < (told := progress_told(place)):
            raise ExciterError(
                f"'{place}' is not whole: {CAMPAIGN_SEAL.name} speaks of {told[0]} rounds that were identified, and "
                f"{len(found.done)} are there; {CAMPAIGN_SEAL.again}"
            )
        return found


# -- the loop ----------------------------------------------------------------------------------------------------------


def campaign(
    robot: Robot | str | Path,
    folder: str | Path | None = None,
    settings: CampaignSettings | FileContent = None,
    *,
    design: DesignSettings | None = None,
    identify: IdentifyConfig | IdentifySettings | None = None,
    virtual: VirtualRobot | SimulateSettings | None = None,
    workers: Workers | None = None,
    progress: Step = unseen,
    **changes: Any,
) -> Campaign:
    """Rounds of design, log, identification and redesign until every σ that is wanted is reached.

    folder: where each step is kept as it is made, and from which a campaign that was stopped goes on; it may be left
    out where logs are those of a virtual robot. settings: an object, or a YAML file or its content, whose other
    sections say how motions are designed, robots simulated and logs identified; design, identify, virtual: the same as
    objects. Keywords change settings: target, torque, rounds, criterion, … (fields of ``CampaignSettings``).
    workers: a ``Cluster`` for the starts of designs. With logs="real" a round waits for its log, DIR/round-01/log.csv,
    and the next call goes on from there.

    >>> made = ex.campaign(robot, target={"Fv*": "5 %", "ZZ*": "10 %"}, rounds=4, design=ex.DesignSettings(starts=1))
    >>> made.reached, made.result.parameters["Fv1"].relative_std_percent <= 5.0
    (True, True)"""
    asked, simulated = asked_for(robot, settings, design, identify, virtual, changes)
    if folder is None:
        if asked.settings.logs == REAL:
            raise ExciterError("logs: real needs a folder, where motions are written and logs are looked for; give one")
        return _rounds(asked, simulated, None, progress, workers)
    place = path_of(folder, "the folder")
    try:
        with output_folder(place):
            refuse_other_campaign(place, asked)
            return _rounds(asked, simulated, place, progress, workers)
    except KeyboardInterrupt:
        if (made := written_whole(place, asked)) is None:
            raise
        return made  # only tidying up was interrupted


def _rounds(
    asked: CampaignAsked, virtual: VirtualRobot | None, place: Path | None, progress: Step, workers: Workers | None
) -> Campaign:
    """Each step is made unless it is there already."""
    now = Campaign(asked=asked, rounds=())
    if place is not None and not CAMPAIGN_SEAL.is_there(place):
        now.save(place)
    logs = list[Recording]()
    while not now.finished:
        number = len(now.rounds) + 1
        home = None if place is None else place / round_name(number)
        words = f"round {number}"
        if home is None or not is_whole(DESIGN, home):
            progress(f"{words}: designing")
            before = now.rounds
            motion = next_design(asked, before, None, workers) if before else first_design(asked, None, workers)
            searched = motion.design  # one that was not searched to the end would change all that follows
            refuse_stopped(searched.interrupted and not searched.out_of_time, searched.notes)
            if home is not None:
                motion.save(home)
        else:
            motion = Designed.open(home)
        made = CampaignRound(number=number, motion=motion)
        if home is None or log_in(home) is None:
            if virtual is None:
                now = Campaign(asked=asked, rounds=(*now.rounds, made))
                assert place is not None
                now.save(place)
                return now
            progress(f"{words}: executing")
            simulated = virtual.run(motion.curve, seed=asked.design.seed + number)
            if home is not None:
                simulated.save(home / LOG_FILES[1])
        recording = simulated.recording if home is None else None
        if recording is not None:
            logs.append(recording)
            name = f"recording {number}"
        elif home is not None:
            path = log_in(home)
            assert path is not None
            logs.append(log_of(asked, motion, path))
            name = str(path.relative_to(place or home))
        refuse_twice(logs, name)
        if asked.settings.noisy_positions:
            made = replace(made, noise_ratio=noise_ratio(logs[-1]))
        result = None if home is None else result_in(home / RESULT_FOLDER, logs)
        if result is None:
            progress(f"{words}: identifying")
            result = identified(asked, (*now.rounds, made), logs)
            if home is not None:
                result.save(home / RESULT_FOLDER)
        now = Campaign(asked=asked, rounds=(*now.rounds, replace(made, log=name, result=result, recording=recording)))
        progress(f"{words}: worst σ {now.worst:.3g} of its target after {now.robot_time:.4g} s of motion")
        if place is not None:
            now.save(place)
    return now


def asked_for(
    robot: Robot | str | Path,
    settings: CampaignSettings | FileContent,
    design: DesignSettings | None,
    identify: IdentifyConfig | IdentifySettings | None,
    virtual: VirtualRobot | SimulateSettings | None,
    changes: Mapping[str, Any],
) -> tuple[CampaignAsked, VirtualRobot | None]:
    """All settings, compared with the robot before any work; and the virtual robot, where logs are not real ones."""
    file = SettingsFile() if isinstance(settings, CampaignSettings) else SettingsFile.read(settings)
    own = settings if isinstance(settings, CampaignSettings) else file.campaign
    refuse_unknown(changes, CampaignSettings)
    own = changed(own, changes)
    motions = file.design if design is None else design
    config = file.identify if identify is None else identify_settings(identify, {})
    robot, options = loaded(robot, motions.robot)
    if motions.trajectory.drawn:
        raise ExciterError(
            f"a campaign searches its motions; {motions.trajectory.family} is drawn: choose another trajectory"
        )
    if motions.prior:
        raise ExciterError("prior is what a campaign finds itself; leave it out, and give the logs of before as rounds")
    terms = motions.terms if motions.terms is not None else config.terms if config.terms is not None else USUAL_TERMS
    if config.settings.friction == CHOOSE_FRICTION or config.settings.automatic:
        raise ExciterError(
            "a campaign identifies the parameters that it designs for: leave friction and automatic of identify out, "
            "and say with terms: which friction the joints have"
        )
    usual = MaximumLikelihood() if own.noisy_positions else WeightedLeastSquares()
    estimator = config.settings.estimator or usual
    if own.noisy_positions and not isinstance(estimator, MaximumLikelihood):
        raise ExciterError(
            f"joint_noise designs for maximum likelihood, which takes positions as noisy; estimator is "
            f"{estimator.word}: leave it out, or leave joint_noise out"
        )
    config = replace(config, robot=options, terms=tuple(terms)).with_settings(estimator=estimator)
    simulate = None
    if own.logs != REAL:
        if isinstance(virtual, VirtualRobot):
            simulate = virtual
        elif virtual is not None:
            simulate = virtual.virtual(robot, motions.seed)
        else:
            simulate = file.virtual(robot, motions.seed)
    asked = CampaignAsked(
        robot=robot,
        settings=own,
        design=replace(motions, robot=options, terms=tuple(terms)),
        identify=config,
        sha256=description_hash(robot),
        simulate=written(virtual if isinstance(virtual, SimulateSettings) else file.data.get(SIMULATE) or {}),
    )
    _ = asked.goals, asked.first_joint_noise
    config.refuse_early(robot, planned=False)
    return asked, simulate


# -- the folder --------------------------------------------------------------------------------------------------------


def is_whole(seal: Seal, folder: Path) -> bool:
    """Whether a set is there; one whose writer was stopped is made again."""
    if not seal.is_there(folder):
        return False
    try:
        seal.refuse_open(folder)
    except ExciterError:
        return False
    return True


def result_in(folder: Path, logs: Sequence[Recording]) -> Identified | None:
    """What was identified from these very logs; None: it is to be done."""
    if not is_whole(RESULT_SEAL, folder):
        return None
    found = Identified.open(folder)
    of = {source.sha256 for run in found.identification.problem.runs for source in run.sources}
    return found if of == {source.sha256 for log in logs for source in log.about.sources} else None


def rounds_in(place: Path, asked: CampaignAsked) -> tuple[CampaignRound, ...]:
    """Those that are there, as they are."""
    rounds = list[CampaignRound]()
    while is_whole(DESIGN, home := place / round_name(len(rounds) + 1)):
        made = CampaignRound(number=len(rounds) + 1, motion=Designed.open(home))
        path = log_in(home)
        if path is None or not is_whole(RESULT_SEAL, home / RESULT_FOLDER):
            return (*rounds, made)
        result = Identified.open(home / RESULT_FOLDER)
        if asked.settings.noisy_positions:
            made = replace(made, noise_ratio=noise_ratio(log_of(asked, made.motion, path)))
        rounds.append(replace(made, log=str(path.relative_to(place)), result=result))
        if Campaign(asked=asked, rounds=tuple(rounds)).finished:
            break
    return tuple(rounds)


def progress_told(place: Path) -> tuple[int, int]:
    """``Campaign.progress`` as the summary of a folder that is whole has it."""
    rounds = json.loads((place / CAMPAIGN_SEAL.name).read_text(encoding="utf-8"))["rounds"]
    return sum(one["log"] is not None for one in rounds), len(rounds)


def written_whole(place: Path, asked: CampaignAsked) -> Campaign | None:
    """The campaign of a folder, where all that was asked for is done and written, or waits for a log."""
    try:
        made = Campaign.open(place)
    except ExciterError:
        return None
    waits = (one := made.waiting) is not None and log_in(place / round_name(one.number)) is None
    ended = made.finished or (waits and asked.settings.logs == REAL)
    same = settings_data(made.asked) == settings_data(asked) and made.progress == progress_told(place)
    return made if ended and same else None


def refuse_other_campaign(place: Path, asked: CampaignAsked) -> None:
    """A folder goes on with what it was begun with; σ, and how many rounds there may be, can be stated anew."""
    if is_whole(CAMPAIGN_SEAL, place):
        begun = opened(place, CAMPAIGN_SEAL, CAMPAIGN_ARCHIVE, CampaignAsked)
    elif (path := place / CAMPAIGN_ARCHIVE).is_file():  # of a writer that was stopped, or of the one before
        begun = unarchived(path)
    else:
        return
    before, now = settings_data(begun), settings_data(asked)
    for key in sorted({*before, *now}):
        old, new = ({} if one is None else one for one in (before.get(key), now.get(key)))
        if key == CAMPAIGN:
            old, new = ({k: v for k, v in one.items() if k not in STATED_ANEW} for one in (old, new))
        if old != new:
            raise ExciterError(
                f"'{place}' holds a campaign that was begun with other settings ({key}); give those, or another folder"
            )


def settings_data(asked: CampaignAsked) -> dict[str, Any]:
    """Plain data; as YAML, with the section simulate:, a file that asks for the same."""
    plain = {**asked.design.to_dict(), **asked.identify.to_dict(), CAMPAIGN: written(asked.settings)}
    return {**plain, **({SIMULATE: dict(asked.simulate)} if asked.simulate else {})}
