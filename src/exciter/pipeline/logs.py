"""Logs of an identification or a validation, read, judged, and made ready as runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.quality import Quality, Repaired, check, repair
from exciter.experiment.quality.evidence import USUAL_TERMS
from exciter.experiment.quality.stage_checks import LOCKED_TRAVEL
from exciter.experiment.recording import Payload, Recording, RecordingFile, open_recording
from exciter.experiment.recording.current_map import CurrentMap
from exciter.experiment.recording.recording import FOR_COMMANDS, LINK_SIDE, SourceFile
from exciter.experiment.recording.recording_file import DATA_VARIABLE
from exciter.experiment.signals.processed_motion import Route
from exciter.identification.drive_gains import in_amperes
from exciter.identification.identify_config import IdentifyConfig
from exciter.identification.runs.log_file import LogFile, arranged
from exciter.identification.runs.run import (
    HELD_BYTES,
    LongLog,
    RepairedChunks,
    Run,
    common_side,
    sample_size,
    size_of,
)
from exciter.notes import Note, done, note, warning
from exciter.parameters.terms import CoupledSqrtViscous, DriveCoupling, GasSpring, GravitySpring, Spring
from exciter.pipeline.inspect import Given, StageMotion, naming
from exciter.remote_files import address, is_url
from exciter.robot import Robot
from exciter.robot.stated_gravity import agrees
from exciter.workers import HERE, Workers, numbered

IRREPLACEABLE_TERMS = (DriveCoupling, CoupledSqrtViscous, GasSpring, GravitySpring, Spring)  #: no other stands for them
NO_TORQUE = "is called unusable: its motion counts, its torque does not, and it has no equations in this log"
NO_LOAD_IN_AMPERES = (
    "a payload is stated, whose torque is not known in amperes; leave out payload: (the parameters are then of robot "
    "and load together), or find the gains from it (gains: identify)"
)
EXPLAINED_TORQUE = "explained torque"  #: a finding of the quality check
Progress = Callable[[str], None]  #: names the step that begins


def unseen_progress(step: str) -> None:
    """For those who do not look."""


def _opened(given: Given, name: str, data: Path | None) -> RecordingFile | Recording:
    """data: folder of the files that a recording.yaml names. Samples without a file are known by their hash."""
    if isinstance(given, str | Path):
        return open_recording(given, data)
    if isinstance(given, RecordingFile) or given.about.sources:
        return given
    digest = hashlib.sha256()
    for channel in ("time", *given.everything):
        digest.update(getattr(given, channel).tobytes())
    return replace(given, about=replace(given.about, sources=(SourceFile(name, digest.hexdigest()),)))


Spans = Sequence[tuple[float, float]]  #: [s] from, to


@dataclass(frozen=True, eq=False)
class Log:
    """A log that was read and judged. kept: its samples, repaired, or what reads them piece by piece. run: made from
    them. payload: that it states, and that is to be found; completed: that it states in part, with what was found of
    it. notes: on how it was read, and what the check of it found. gains [N·m/A]: that it states, where it is read in
    amperes."""

    name: str
    kept: Repaired | LongLog | None
    quality: Quality
    run: Run
    notes: tuple[Note, ...] = ()
    payload: Payload | None = None
    completed: Payload | None = None
    held: tuple[int, ...] = ()
    gains: tuple[float, ...] | None = None

    def for_archive(self) -> Log:
        """Without its samples."""
        return replace(self, kept=None)

    def through(self, route: Route | None) -> Log:
        """The same log through another route."""
        run = self.kept.run(route) if isinstance(self.kept, LongLog) else self.bounded_through(route)
        return replace(self, run=self._carrying(run))

    def bounded_through(self, route: Route | None) -> Run:
        """What can be looked at at once (``Run.bounded``), through another route."""
        if self.kept is None:
            raise RecordingError(f"a result does not keep the samples of {self.name}; read the log again")
        samples = self.kept.repaired_sample if isinstance(self.kept, LongLog) else self.kept
        return self._carrying(Run.of(samples, route, name=self.name))

    def _carrying(self, run: Run) -> Run:
        """With what was found of the load and of joints that are held."""
        payload = run.payload if self.completed is None else self.completed
        sample = None if run.sample is None else replace(run.sample, payload=payload, held=self.held)
        return replace(run, payload=payload, held=self.held, sample=sample)

    def with_held(self, joints: tuple[int, ...]) -> Log:
        """Without equations of joints that never move and have friction."""
        log = replace(self, held=joints)
        return replace(log, run=log._carrying(self.run))

    def with_load(self, payload: Payload) -> Log:
        """With a load that it states in part, completed."""
        log = replace(self, completed=payload)
        return replace(log, run=log._carrying(self.run))

    def with_gains(self, gains: tuple[float, ...], route: Route | None) -> Log:
        """A log of currents as one of torques; gains [N·m/A]."""
        assert isinstance(self.kept, Repaired)
        return replace(self, kept=self.kept.with_gains(gains)).through(route)

    def with_map(self, maps: tuple[CurrentMap, ...], route: Route | None) -> Log:
        """The same by what torque their currents stand for."""
        assert isinstance(self.kept, Repaired)
        return replace(self, kept=self.kept.with_map(maps)).through(route)


@dataclass(frozen=True, eq=False)
class Logs:
    """Logs that were identified from, that validate, and of the loaded robot; config: for these. robot: with the
    gravity that they speak of. notes: what a person should see, and what was done."""

    config: IdentifyConfig
    robot: Robot
    logs: tuple[Log, ...]
    validation: tuple[Log, ...] = ()
    loaded: tuple[Log, ...] = ()
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        return f"<logs of {self.robot.name}: {', '.join(f'{name} {one.word}' for name, one in self.quality.items())}>"

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return tuple(log.run for log in self.logs)

    @cached_property
    def validation_runs(self) -> tuple[Run, ...]:
        return tuple(log.run for log in self.validation)

    @cached_property
    def loaded_runs(self) -> tuple[Run, ...]:
        return tuple(log.run for log in self.loaded)

    @property
    def stated(self) -> tuple[Payload, ...]:
        """Loads that logs state, and that are to be found."""
        return tuple(log.payload for log in self.loaded if log.payload is not None)

    @property
    def quality(self) -> Mapping[str, Quality]:
        """By the name of the log."""
        return {log.name: log.quality for log in (*self.logs, *self.validation, *self.loaded)}

    def noted(self, *notes: Note) -> Logs:
        return replace(self, notes=(*self.notes, *notes))

    def each(self, change: Callable[[Log], Log]) -> Logs:
        """With every log changed."""
        logs, validation, loaded = (tuple(map(change, group)) for group in (self.logs, self.validation, self.loaded))
        return replace(self, logs=logs, validation=validation, loaded=loaded)


# -- reading ---------------------------------------------------------------------------------------------------------


def read_logs(
    robot: Robot,
    config: IdentifyConfig,
    logs: Sequence[Given],
    validation: Sequence[Given] = (),
    loaded: Sequence[Given] = (),
    *,
    stages: Sequence[StageMotion] = (),
    data: Path | None = None,
    workers: Workers = HERE,
    progress: Progress = unseen_progress,
) -> Logs:
    """Read one by one, in this order; refused where one is useless, or samples would count twice. loaded: with a load
    that is to be identified, so that nothing stated of it counts. stages: that logs are of, where they are of a plan.
    data: folder of the files that a recording.yaml names. workers: who go through logs that are not held."""
    if not logs:
        raise RecordingError("no log is given; give at least one")
    found, held, sampled = list[Log | LogToSurvey](), 0, sample_size(len(logs) + len(validation) + len(loaded))
    gravity: tuple[float, ...] | None = None
    for given in (*logs, *validation, *loaded):
        name, with_load = f"recording {len(found) + 1}", len(found) >= len(logs) + len(validation)
        if isinstance(given, Recording):  # samples are called by their number, a file as it was given
            name = given.name or name
        else:
            name = given.name if isinstance(given, RecordingFile) else address(given)
        progress(f"reading {Path(name).name}")
        with naming(name):
            file = _opened(given, name, data)
            notes = [replace(one, log=name) for one in file.notes]
            notes += [note("torque", NO_TORQUE, joint, name) for joint in file.about.unusable]
            if (stated := file.about.gravity) is not None:
                if gravity is not None and not np.allclose(stated, gravity):  # the robot must have stood alike
                    raise RecordingError(
                        f"gravity is {list(stated)} here and {list(gravity)} in another log; split them"
                    )
                own = config.robot.gravity
                differs = own is None or not agrees(stated, own)  # else what settings say is what the log is about
                if own is not None and differs:
                    text = f"recorded with {list(stated)} m/s², not {list(own)} as the settings say: the log counts, "
                    text += "and whether the base leans is not asked"
                    notes.append(warning("gravity", text, None, name))
                if differs and not np.allclose(stated, robot.gravity):
                    notes.append(done("gravity", f"gravity {list(stated)} m/s², as {Path(name).name} says", None, name))
                    robot = robot.with_gravity(stated)
                gravity = stated
            stage = stages[len(found)] if len(found) < len(stages) else None
            place = given if isinstance(given, str | Path) and not workers.here else None  # else others have it not
            log, held = _read(
                name, file, config, robot, held, sampled, with_load=with_load, motion=stage, data=data, place=place
            )
        found.append(replace(log, notes=(*notes, *log.notes)))
    read = _surveyed(found, config, workers, progress)
    groups = iter(read)
    first, second = (tuple(islice(groups, len(group))) for group in (logs, validation))
    every = tuple(note for log in read for note in log.notes)
    ready = Logs(config, robot, first, second, tuple(groups), every)
    _refuse_repeated(ready)
    return ready


def _read(
    name: str,
    file: RecordingFile | Recording,
    config: IdentifyConfig,
    robot: Robot,
    held: int,
    sampled: int,
    *,
    with_load: bool,
    motion: StageMotion | None = None,
    data: Path | None = None,
    place: str | Path | None = None,
) -> tuple[Log | LogToSurvey, int]:
    """held [B]: of samples in memory; the same with those of this log. sampled [B]: of a long one. place: where workers
    find a long one, that is left to them; data: folder of its files."""
    there = file.everything if isinstance(file, Recording) else file.signals
    if "command" in there and not {"torque", "current", "wrench"} & {*there} and not robot.free_base:
        raise RecordingError(f"the log has no torque; {FOR_COMMANDS}")
    sent, stage = (None, None) if motion is None else (motion.sent, motion.stage)
    repairs = file.repairs if isinstance(file, Recording) else file.repair
    payload = file.about.payload if with_load else None
    own = (term for term in config.model(robot).terms if isinstance(term, IRREPLACEABLE_TERMS))
    model = DynamicModel(robot, (*USUAL_TERMS, *own))  # a log is judged by usual drives, and couplings that are known
    whole, held = _held(file, config, held)
    if whole is None:
        assert isinstance(file, RecordingFile)
        if config.robot.lock or config.robot.only:
            _refuse_moving(robot, file.chunks())
        pieces: Pieces = lambda: arranged(file.chunks(), robot, with_load=with_load)  # noqa: E731
        if place is not None:
            folder = data or (Path(kept_in) if (kept_in := os.environ.get(DATA_VARIABLE)) else None)
            where = place if is_url(place) else Path(place).absolute()
            beside = None if folder is None else folder.absolute()
            pieces = LogFile(where, robot, file.about.sources, beside, with_load)
        waiting = LogToSurvey(name, pieces, (model, repairs, with_load, sent, stage, sampled), payload)
        return (waiting if place is not None else waiting.log(LongLog.of(*waiting.survey), config)), held
    _refuse_moving(robot, [whole])
    recording = next(arranged(iter([whole]), robot, with_load=with_load))
    kept = repair(recording, repairs, stage=stage)
    quality = check(kept.recording, robot, model, sent, loaded=with_load, stage=stage)
    told = (replace(one, log=name) for one in recording.notes if one not in whole.notes)
    notes = (*told, *_judged(quality, name, config, with_load))
    if config.wants_currents:
        if config.of_currents and recording.about.payload is not None and recording.about.payload.mass:
            raise RecordingError(NO_LOAD_IN_AMPERES)
        currents = in_amperes(recording, name)
        free = kept.with_gains((1.0,) * recording.n)
        kept = free if recording.torque is None else repair(currents, repairs, stage=stage)
    run = Run.of(kept, config.route, name=name)
    return Log(name, kept, quality, run, notes, payload, gains=recording.about.gains), held


Pieces = Callable[[], Iterable[Recording]]


@dataclass(frozen=True, eq=False)
class LogToSurvey:
    """A log that is too long to be held, before it was gone through. judged: what ``LongLog.of`` wants beside name and
    pieces; payload, notes: as of the ``Log`` that it becomes."""

    name: str
    pieces: Pieces
    judged: tuple[Any, ...]
    payload: Payload | None
    notes: tuple[Note, ...] = ()

    @property
    def survey(self) -> tuple[Any, ...]:
        return (self.pieces, self.name, *self.judged)

    def log(self, long: LongLog, config: IdentifyConfig, workers: Workers = HERE) -> Log:
        """With what was found; samples are read anew, here or by workers."""
        long = replace(long, repaired=RepairedChunks(self.pieces, self.judged[1]), workers=workers)
        with_load = self.judged[2]
        notes = (*_judged(long.quality, self.name, config, with_load), note("long log", long.sampled, None, self.name))
        run = long.run(config.route)
        return Log(self.name, long, long.quality, run, (*self.notes, *notes), self.payload)


def _surveyed(
    found: Sequence[Log | LogToSurvey], config: IdentifyConfig, workers: Workers, progress: Progress
) -> list[Log]:
    """All of them, those that wait gone through side by side."""
    waiting = {k: one for k, one in enumerate(found) if isinstance(one, LogToSurvey)}
    if waiting:
        progress(f"going through {len(waiting)} long {'log' if len(waiting) == 1 else 'logs'}")
    tasks = ((k, _survey, *one.survey) for k, one in waiting.items())
    with closing(workers.over(numbered, tasks)) as running:
        surveys = dict(running)
    return [one if isinstance(one, Log) else one.log(surveys[k], config, workers) for k, one in enumerate(found)]


def _survey(pieces: Pieces, name: str, *judged: Any) -> LongLog:
    with naming(name):
        return LongLog.of(pieces, name, *judged)


def _held(file: RecordingFile | Recording, config: IdentifyConfig, held: int) -> tuple[Recording | None, int]:
    """A log at once; None where that is too much, together with those before, and where it need not be: drive gains,
    and an analogue filter that is undone, want it whole."""
    if isinstance(file, Recording):
        return file, held
    if config.wants_currents or file.about.filter is not None:
        return file.read(), held
    parts, size = list[Recording](), held
    for piece in file.chunks():
        size += size_of(piece)
        if size > HELD_BYTES:
            return None, held
        parts.append(piece)
    return Recording.join(parts), size


def _judged(quality: Quality, name: str, config: IdentifyConfig, with_load: bool) -> tuple[Note, ...]:
    """What was found; a log that is useless is refused."""
    if not quality.usable and not config.settings.accept_problems:
        raise RecordingError(
            f"{quality.verdict} ({quality.problems[0].text}); see exciter inspect, repair the log, or say "
            "accept_problems: true under identify:"
        )
    hidden = EXPLAINED_TORQUE if with_load else None  # of course not by the robot without its load
    grave = (*quality.problems, *quality.warnings)
    return tuple(replace(finding, log=name) for finding in grave if finding.subject != hidden)


def _refuse_moving(robot: Robot, pieces: Iterable[Recording]) -> None:
    """A joint that is locked here must have stood still there."""
    low, high = dict[str, float](), dict[str, float]()
    locked = set(robot.frame_names) - set(robot.tree_names)  # among them joints that were locked
    for piece in pieces:
        for name in locked.intersection(piece.joints):
            q = piece.q[:, piece.joints.index(name)]
            low[name] = np.fmin(low.get(name, np.nan), np.fmin.reduce(q))
            high[name] = np.fmax(high.get(name, np.nan), np.fmax.reduce(q))
    for name in low:
        if (moved := float(high[name] - low[name])) > LOCKED_TRAVEL:
            raise RecordingError(
                f"joint '{name}' is locked, but moves by {moved:.3g} in this log; do not lock it, or give one "
                "in which it stands still"
            )


# -- together --------------------------------------------------------------------------------------------------------


def _refuse_repeated(found: Logs) -> None:
    """Samples count once, those that were identified from validate nothing, and a name is of one log."""
    runs = (*found.runs, *found.loaded_runs)
    for k, run in enumerate(runs):
        if twice := [other.name for other in runs[:k] if _shared(run, other)]:
            raise RecordingError(f"{run.name} is given twice, or has samples of {twice[0]}; leave one out")
        if seen := [other.name for other in found.validation_runs if _shared(run, other)]:
            raise validates_nothing(seen[0])
    for run, other in combinations((*runs, *found.validation_runs), 2):
        if run.name == other.name and not _shared(run, other):
            raise RecordingError(f"several logs are called {run.name}; give each a name of its own")


def _shared(run: Run, other: Run) -> bool:
    """Whether both come from one file, and from one time of it."""
    if run.recording is None or other.recording is None:
        return False
    return same_samples(run.recording, run.spans, other.recording, other.spans)


def same_samples(one: Recording, spans: Spans, other: Recording, others: Spans) -> bool:
    """Whether two recordings come from one file, and from one time of it [s]."""
    files = [{source.sha256 for source in recording.about.sources} for recording in (one, other)]
    return bool(files[0] & files[1]) and any(a[0] < b[1] and b[0] < a[1] for a in spans for b in others)


def validates_nothing(name: str) -> RecordingError:
    """Of a held-out log that is not."""
    return RecordingError(f"{name} has samples that are identified from: it validates nothing; give other motion")


def payload_notes(runs: Sequence[Run]) -> list[Note]:
    """A load that only some of the logs state may have been forgotten in the others."""
    masses = {run.name: 0.0 if run.payload is None else run.payload.mass for run in runs}
    if len({round(mass, 6) for mass in masses.values()}) < 2:
        return []
    stated = ", ".join(f"{Path(name).name} {mass:g} kg" for name, mass in masses.items())
    text = f"logs state different payloads ({stated}), which are taken off: was none forgotten?"
    return [note("payload", text, masses=masses)]


def sided(found: Logs) -> Logs:
    """With the configuration for torques of the side on which runs measure them; others are told."""
    side = common_side((*found.runs, *found.loaded_runs))
    found = replace(found, config=replace(found.config, side=side))
    if side == LINK_SIDE and found.config.terms is None:
        text = "torques are measured on the links: they have no rotor inertia in them"
        found = found.noted(done("torque side", text))
    for run in found.validation_runs:
        other = None if run.recording is None else run.recording.side
        if None not in (side, other) and side != other:
            makes = "rotors and gears make a difference"
            text = f"measured on the {other}s, the model is of torques on the {side}s: {makes}"
            found = found.noted(warning("torques", text, None, run.name))
    return found
