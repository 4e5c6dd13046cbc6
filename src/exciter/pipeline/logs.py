"""Logs of an identification or a validation: read, judged, and made ready as runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.quality import Quality, Repaired, Repairs, check, repair
from exciter.experiment.quality.evidence import USUAL_TERMS
from exciter.experiment.recording import Payload, Recording, RecordingFile, open_recording
from exciter.experiment.recording.about import LINK, About, SourceFile
from exciter.experiment.signals.route import Route
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.drive_gains import in_amperes
from exciter.identification.long_run import HELD_BYTES, LongLog, size_of
from exciter.identification.run import Run, common_side
from exciter.parameters.terms import CoupledSqrtViscous, DriveCoupling, GasSpring, GravitySpring, Spring
from exciter.robot import Robot

LOCKED_TRAVEL = 0.02  #: [rad or m] a locked joint may have moved
IRREPLACEABLE_TERMS = (DriveCoupling, CoupledSqrtViscous, GasSpring, GravitySpring, Spring)  #: no other stands for them
EXPLAINED_TORQUE = "explained torque"  #: a finding of the quality check
Progress = Callable[[str], None]  #: names the step that begins


def unseen_progress(step: str) -> None:
    """For those who do not look."""


@contextmanager
def naming(log: Path | str) -> Iterator[None]:
    """Errors of a log say which one it is."""
    try:
        yield
    except RecordingError as error:
        raise RecordingError(str(error) if str(log) in str(error) else f"{log}: {error}") from None


@dataclass(frozen=True, eq=False)
class LogSource:
    """name: of the log in results and messages. source: its file, opened or not, or its samples."""

    name: str
    source: Path | RecordingFile | Recording

    def opened(self, data: Path | None) -> RecordingFile | Recording:
        """data: folder of the files that a recording.yaml names. Samples in memory are known by their hash."""
        if isinstance(self.source, Path):
            return open_recording(self.source, data)
        if isinstance(self.source, RecordingFile) or self.source.about.sources:
            return self.source
        digest = hashlib.sha256()
        for channel in ("time", *self.source.everything):
            digest.update(getattr(self.source, channel).tobytes())
        sources = (SourceFile(self.name, digest.hexdigest()),)
        return replace(self.source, about=replace(self.source.about, sources=sources))


Given = str | Path | RecordingFile | Recording | LogSource


def _named(given: Given, number: int) -> LogSource:
    """A file is called as it was given, samples in memory by their number."""
    if isinstance(given, LogSource):
        return given
    if isinstance(given, Recording):
        return LogSource(f"recording {number}", given)
    if isinstance(given, RecordingFile):
        return LogSource(str(given.path), given)
    return LogSource(str(Path(given)), Path(given))


@dataclass(frozen=True, eq=False)
class Log:
    """A log that was read and judged.

    kept: its samples, repaired, or what reads them piece by piece. run: made from them. payload: that it states, and
    that is to be found. notes: what a person should see.
    """

    name: str
    kept: Repaired | LongLog
    quality: Quality
    run: Run
    notes: tuple[str, ...] = ()
    payload: Payload | None = None

    def through(self, route: Route | None) -> Log:
        """The same log through another route."""
        run = self.kept.run(route) if isinstance(self.kept, LongLog) else self.bounded_through(route)
        return replace(self, run=run)

    def bounded_through(self, route: Route | None) -> Run:
        """What can be looked at at once (``Run.bounded``), through another route."""
        samples = self.kept.repaired_sample if isinstance(self.kept, LongLog) else self.kept
        return Run.of(samples, route, name=self.name)

    def with_gains(self, gains: tuple[float, ...], route: Route | None) -> Log:
        """A log of currents as one of torques; gains [N·m/A]."""
        assert isinstance(self.kept, Repaired)
        return replace(self, kept=self.kept.with_gains(gains)).through(route)


@dataclass(frozen=True, eq=False)
class Logs:
    """Logs that were identified from, that validate, and of the loaded robot; config: for these. robot: with the
    gravity that they speak of. notes: what a person should see; words: what was done."""

    config: IdentifyConfig
    robot: Robot
    logs: tuple[Log, ...]
    validation: tuple[Log, ...] = ()
    loaded: tuple[Log, ...] = ()
    notes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

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

    def noted(self, *notes: str) -> Logs:
        return replace(self, notes=(*self.notes, *notes))

    def done(self, *words: str) -> Logs:
        return replace(self, words=(*self.words, *words))

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
    data: Path | None = None,
    progress: Progress = unseen_progress,
) -> Logs:
    """Read one by one, in this order; refused where one is useless, or samples would count twice. loaded: with a load
    that is to be identified, so that nothing stated of it counts. data: folder of the files that a recording.yaml
    names."""
    standing, held, read = _Standing(config, robot), 0, list[Log]()
    for given in (*logs, *validation, *loaded):
        source = _named(given, len(read) + 1)
        short, with_load = Path(source.name).name, len(read) >= len(logs) + len(validation)
        progress(f"reading {short}")
        with naming(source.name):
            file = source.opened(data)
            standing, notes = standing.beside(file.about, short)
            log, held = _read(source.name, file, config, standing.robot, held, with_load=with_load)
        remarks = [] if isinstance(file, Recording) else [f"{short}: {remark}" for remark in file.remarks]
        read.append(replace(log, notes=(*remarks, *notes, *log.notes)))
    groups = iter(read)
    first, second = (tuple(islice(groups, len(group))) for group in (logs, validation))
    every = tuple(note for log in read for note in log.notes)
    found = Logs(config, standing.robot, first, second, tuple(groups), every, standing.words)
    _refuse_repeated(found)
    return found


@dataclass(frozen=True, eq=False)
class _Standing:
    """How the robot stands, as far as logs say; all must have been recorded with the robot standing alike."""

    config: IdentifyConfig
    robot: Robot
    gravity: tuple[float, ...] | None = None
    words: tuple[str, ...] = ()

    def beside(self, about: About, log: str) -> tuple[_Standing, list[str]]:
        """With what one more log says, and what a person should see of it."""
        given = about.gravity
        if given is None:
            return self, []
        if self.gravity is not None and not np.allclose(given, self.gravity):
            raise RecordingError(f"gravity is {list(given)} here and {list(self.gravity)} in another log; split them")
        told, notes = self.config.robot.gravity, []
        if told is not None and not np.allclose(given, told):
            notes.append(f"{log} was recorded with gravity {list(given)} m/s², not {list(told)} as was said")
        if np.allclose(given, self.robot.gravity):
            return replace(self, gravity=given), notes
        words = (*self.words, f"gravity {list(given)} m/s², as {log} says")
        return replace(self, robot=self.robot.with_gravity(given), gravity=given, words=words), notes


def _read(
    name: str, file: RecordingFile | Recording, config: IdentifyConfig, robot: Robot, held: int, *, with_load: bool
) -> tuple[Log, int]:
    """held [B]: of samples in memory; the same with those of this log."""
    repairs = Repairs() if isinstance(file, Recording) else Repairs.from_dict(file.repair, f"{name}: repair")
    payload = file.about.payload if with_load else None
    model = _usual_model(config, robot)

    def arranged(recording: Recording) -> Recording:
        own = recording.arranged(robot)
        return replace(own, about=replace(own.about, payload=None)) if with_load else own

    whole, held = _held(file, config, held)
    if whole is None:
        assert isinstance(file, RecordingFile)
        if config.robot.lock:
            _refuse_moving(config, file.chunks())
        long = LongLog.of(lambda: (arranged(piece) for piece in file.chunks()), name, model, repairs)
        notes = (*_judged(long.quality, name, config, with_load), f"{Path(name).name}: {long.sampled}")
        return Log(name, long, long.quality, long.run(config.route), notes, payload), held
    _refuse_moving(config, [whole])
    recording = arranged(whole)
    kept = repair(recording, repairs)
    quality = check(kept.recording, robot, model)
    notes = _judged(quality, name, config, with_load)
    if config.known_parameters is not None:
        currents = in_amperes(recording, name)
        kept = repair(currents, repairs) if recording.torque is not None else kept.with_gains((1.0,) * recording.n)
    return Log(name, kept, quality, Run.of(kept, config.route, name=name), notes, payload), held


def _held(file: RecordingFile | Recording, config: IdentifyConfig, held: int) -> tuple[Recording | None, int]:
    """A log at once; None where that is too much, together with those before, and where it need not be: drive gains,
    and an analogue filter that is undone, want it whole."""
    if isinstance(file, Recording):
        return file, held
    if config.known_parameters is not None or file.about.filter is not None:
        return file.read(), held
    parts, size = list[Recording](), held
    for piece in file.chunks():
        size += size_of(piece)
        if size > HELD_BYTES:
            return None, held
        parts.append(piece)
    return Recording.join(parts), size


def _usual_model(config: IdentifyConfig, robot: Robot) -> DynamicModel:
    """What a log is judged by: usual drives, and what the configuration knows of couplings and springs."""
    given = (term for term in config.model(robot).terms if isinstance(term, IRREPLACEABLE_TERMS))
    return DynamicModel(robot, (*USUAL_TERMS, *given))


def _judged(quality: Quality, name: str, config: IdentifyConfig, with_load: bool) -> tuple[str, ...]:
    """What was found, in words; a log that is useless is refused."""
    if not quality.usable and not config.accept_problems:
        raise RecordingError(
            f"{quality.verdict} ({quality.problems[0].words}); see exciter inspect, repair the log, or say "
            "accept_problems: true under identify:"
        )
    notes = []
    for finding in (*quality.problems, *quality.warnings):
        if with_load and finding.what == EXPLAINED_TORQUE:
            continue  # of course not by the robot without its load
        joint = "" if finding.joint is None else f" of {finding.joint}"
        notes.append(f"{Path(name).name}: {finding.what}{joint}: {finding.words}")
    return tuple(notes)


def _refuse_moving(config: IdentifyConfig, pieces: Iterable[Recording]) -> None:
    """A joint that is locked here must have stood still there."""
    low, high = dict[str, float](), dict[str, float]()
    for piece in pieces:
        for name in set(config.robot.lock) & set(piece.joints):
            q = piece.q[:, piece.joints.index(name)]
            low[name] = np.fmin(low.get(name, np.nan), np.fmin.reduce(q))
            high[name] = np.fmax(high.get(name, np.nan), np.fmax.reduce(q))
    for name in config.robot.lock:
        if name in low and (moved := float(high[name] - low[name])) > LOCKED_TRAVEL:
            raise RecordingError(
                f"joint '{name}' is locked, but moves by {moved:.3g} in this log; do not lock it, or give one "
                "in which it stands still"
            )


# -- together --------------------------------------------------------------------------------------------------------


def _refuse_repeated(found: Logs) -> None:
    """Samples count once, and those that were identified from validate nothing."""
    runs = (*found.runs, *found.loaded_runs)
    for k, run in enumerate(runs):
        for other in runs[:k]:
            if _shared(run, other):
                raise RecordingError(f"{run.name} is given twice, or has samples of {other.name}; leave one out")
        for other in found.validation_runs:
            if _shared(run, other):
                raise RecordingError(
                    f"{other.name} has samples that are identified from: it validates nothing; give other motion"
                )


def _shared(run: Run, other: Run) -> bool:
    """Whether both come from one file, and from one time of it."""
    if run.recording is None or other.recording is None:
        return False
    files = [{source.sha256 for source in one.recording.about.sources} for one in (run, other) if one.recording]
    return bool(files[0] & files[1]) and any(a[0] < b[1] and b[0] < a[1] for a in run.spans for b in other.spans)


def payload_notes(runs: Sequence[Run]) -> list[str]:
    """A load that only some of the logs state may have been forgotten in the others."""
    masses = {run.name: run.payload.mass if run.payload is not None else 0.0 for run in runs}
    if len({round(mass, 6) for mass in masses.values()}) < 2:
        return []
    stated = ", ".join(f"{Path(name).name} {mass:g} kg" for name, mass in masses.items())
    return [f"logs state different payloads ({stated}), which are taken off: was none forgotten?"]


def sided(found: Logs) -> Logs:
    """With the configuration for torques of the side on which runs measure them; others are told."""
    side = common_side((*found.runs, *found.loaded_runs))
    found = replace(found, config=replace(found.config, side=side))
    if side == LINK and found.config.terms is None:
        found = found.done("torques are measured on the links: they have no rotor inertia in them")
    for run in found.validation_runs:
        other = None if run.recording is None else run.recording.side
        if None not in (side, other) and side != other:
            found = found.noted(
                f"{Path(run.name).name} has torques measured on the {other}s, the model is of torques on the "
                f"{side}s: rotors and gears make a difference"
            )
    return found
