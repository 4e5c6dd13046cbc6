"""Logs of ``exciter identify``: read, judged, and made ready as runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from exciter.commands.inspect import naming
from exciter.commands.progress import Step
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.quality import Quality, Repairs, check, repair
from exciter.experiment.quality.evidence import USUAL_TERMS
from exciter.experiment.recording import Payload, Recording, RecordingFile, open_recording
from exciter.experiment.recording.about import LINK
from exciter.experiment.signals.route import Route
from exciter.identification.config.automatic import Automatic, choose_automatically
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.drive_gains import DriveGains, current_run, identify_gains
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.known_parameters import Known
from exciter.identification.long_run import HELD_BYTES, LongLog, size_of
from exciter.identification.run import Run, common_side
from exciter.parameters.terms import CoupledSqrtViscous, DriveCoupling, GasSpring, GravitySpring, Spring
from exciter.parameters.terms.dry_friction import BoundDryFriction
from exciter.robot import Robot

SLOW = 2e-3  #: of the fastest: slower is rest
LONG = 0.1  #: of the time: more is worth a note
STILL = 0.02  #: [rad or m] a locked joint may have moved
BESIDE = (DriveCoupling, CoupledSqrtViscous, GasSpring, GravitySpring, Spring)  #: terms that no other can stand for
EXPLAINED = "explained torque"  #: a finding of the quality check
Groups = tuple[tuple[Run, ...], tuple[Run, ...], tuple[Run, ...]]


class Logs:
    """robot: with the gravity that the logs speak of. notes: what a person should see; words: what was done."""

    def __init__(self, config: IdentifyConfig, robot: Robot, folder: Path | None, step: Step) -> None:
        self.config, self.robot, self.folder, self.step = config, robot, folder, step
        self.gravity: tuple[float, ...] | None = None
        self.gains: DriveGains | None = None
        self.notes: list[str] = []
        self.words: list[str] = []
        self.repairs: dict[str, Repairs] = {}
        self.quality: dict[str, Quality] = {}
        self.long: dict[str, LongLog] = {}  # logs that are read piece by piece
        self._bytes = 0  # of samples that are held
        self.stated: list[Payload] = []  # loads that logs state, and that are to be found

    def read(self, paths: Sequence[Path], *, loaded: bool = False) -> tuple[Run, ...]:
        """loaded: with a load that is to be identified, so that nothing stated of it counts."""
        return tuple(self._run(path, loaded) for path in paths)

    def _run(self, path: Path, loaded: bool) -> Run:
        self.step(f"reading {path.name}")
        name = str(path)
        with naming(path):
            file = open_recording(path, self.folder)
            repairs = Repairs.from_dict(file.repair, f"{path}: repair")
            whole = self._held(file)
            self.notes += [f"{path.name}: {remark}" for remark in file.remarks]
            if loaded and file.about.payload is not None:
                self.stated.append(file.about.payload)
            self._gravity(file.about.gravity, path)
            if whole is None:
                return self._long_run(file, repairs, path, loaded)
            self._refuse_moving([whole])
            recording = self._arranged(whole, loaded)
            quality = check(repair(recording, repairs).recording, self.robot, self._usual_model())
            self._judge(quality, path, loaded)
            self.repairs[name] = repairs
            if self.config.known_parameters is not None:
                return current_run(recording, self.config.route, repairs, name)
            return Run.of(recording, self.config.route, repairs, name)

    def _held(self, file: RecordingFile) -> Recording | None:
        """A log at once; None where that is too much, together with those before, and where it need not be: drive
        gains, and an analogue filter that is undone, want it whole."""
        if self.config.known_parameters is not None or file.about.filter is not None:
            return file.read()
        parts, size = list[Recording](), self._bytes
        for piece in file.chunks():
            size += size_of(piece)
            if size > HELD_BYTES:
                return None
            parts.append(piece)
        self._bytes = size
        return Recording.join(parts)

    def _long_run(self, file: RecordingFile, repairs: Repairs, path: Path, loaded: bool) -> Run:
        """Of a log that is read piece by piece."""
        if self.config.robot.lock:
            self._refuse_moving(file.chunks())
        log = LongLog.of(
            lambda: (self._arranged(piece, loaded) for piece in file.chunks()), str(path), self._usual_model(), repairs
        )
        self._judge(log.quality, path, loaded)
        self.notes.append(f"{path.name}: {log.sampled}")
        self.long[log.name], self.repairs[log.name] = log, Repairs()  # its sample has been repaired
        return log.run(self.config.route)

    def _arranged(self, recording: Recording, loaded: bool) -> Recording:
        arranged = recording.arranged(self.robot)
        return replace(arranged, about=replace(arranged.about, payload=None)) if loaded else arranged

    def _gravity(self, given: tuple[float, ...] | None, path: Path) -> None:
        """All logs must have been recorded with the robot standing alike."""
        if given is None:
            return
        if self.gravity is not None and not np.allclose(given, self.gravity):
            raise RecordingError(f"gravity is {list(given)} here and {list(self.gravity)} in another log; split them")
        self.gravity = given
        told = self.config.robot.gravity
        if told is not None and not np.allclose(given, told):
            self.notes.append(f"{path.name} was recorded with gravity {list(given)} m/s², not {list(told)} as was said")
        if not np.allclose(given, self.robot.gravity):
            self.words.append(f"gravity {list(given)} m/s², as {path.name} says")
            self.robot = self.robot.with_gravity(given)

    def _refuse_moving(self, pieces: Iterable[Recording]) -> None:
        """A joint that is locked here must have stood still there."""
        low, high = dict[str, float](), dict[str, float]()
        for piece in pieces:
            for name in set(self.config.robot.lock) & set(piece.joints):
                q = piece.q[:, piece.joints.index(name)]
                low[name] = np.fmin(low.get(name, np.nan), np.fmin.reduce(q))
                high[name] = np.fmax(high.get(name, np.nan), np.fmax.reduce(q))
        for name in self.config.robot.lock:
            if name in low and (moved := float(high[name] - low[name])) > STILL:
                raise RecordingError(
                    f"joint '{name}' is locked, but moves by {moved:.3g} in this log; do not lock it, or give one "
                    "in which it stands still"
                )

    def _judge(self, quality: Quality, path: Path, loaded: bool) -> None:
        self.quality[str(path)] = quality
        if not quality.usable and not self.config.accept_problems:
            raise RecordingError(
                f"{quality.verdict} ({quality.problems[0].words}); see exciter inspect, repair the log, or say "
                "accept_problems: true under identify:"
            )
        for finding in (*quality.problems, *quality.warnings):
            if loaded and finding.what == EXPLAINED:
                continue  # of course not by the robot without its load
            joint = "" if finding.joint is None else f" of {finding.joint}"
            self.notes.append(f"{path.name}: {finding.what}{joint}: {finding.words}")

    def _usual_model(self) -> DynamicModel:
        """What a log is judged by: usual drives, and what the configuration knows of couplings and springs."""
        given = (term for term in self.config.model(self.robot).terms if isinstance(term, BESIDE))
        return DynamicModel(self.robot, (*USUAL_TERMS, *given))

    def note_rest(self, judge: InverseDynamic, model: DynamicModel, runs: Sequence[Run]) -> None:
        """What becomes of joints at rest: at rest, dry friction is whatever holds them."""
        names, zone = self.robot.joint_names, judge.zone(model)
        if zone.any():
            slow = ", ".join(f"{name} {z:.2g}" for name, z in zip(names, zone, strict=True) if z)
            self.words.append(f"slower than this [rad/s, m/s], joints count as resting and have no equation: {slow}")
        terms = [term for term in model.bound if isinstance(term, BoundDryFriction) and not term.has_memory]
        dry = {row for term in terms for row, _ in term.rows}
        for run in runs:
            speed = np.concatenate([np.abs(part.motion.qd) for part in run.bounded.parts])
            rest = (speed < np.maximum(zone, SLOW * speed.max(axis=0))).mean(axis=0)
            long = [joint for joint in sorted(dry) if rest[joint] > LONG]
            for resting, what in (
                ([j for j in long if zone[j]], "and have no equation then"),
                ([j for j in long if not zone[j]], "so that noise decides the sign of friction; give a dead_zone:"),
            ):
                if resting:
                    share = ", ".join(f"{names[j]} {100 * rest[j]:.0f} %" for j in resting)
                    self.notes.append(f"{run.name}: joints rest for part of the time, {what}: {share}")

    def note_payloads(self, runs: Sequence[Run]) -> None:
        """A load that only some of the logs state may have been forgotten in the others."""
        masses = {run.name: run.payload.mass if run.payload is not None else 0.0 for run in runs}
        if len({round(mass, 6) for mass in masses.values()}) > 1:
            stated = ", ".join(f"{Path(name).name} {mass:g} kg" for name, mass in masses.items())
            self.notes.append(f"logs state different payloads ({stated}), which are taken off: was none forgotten?")

    def sided(self, runs: Sequence[Run], seen: Sequence[Run]) -> IdentifyConfig:
        """The configuration for torques of the side on which runs measure them; others are told."""
        side = common_side(runs)
        self.config = replace(self.config, side=side)
        if side == LINK and self.config.terms is None:
            self.words.append("torques are measured on the links: they have no rotor inertia in them")
        for run in seen:
            other = None if run.recording is None else run.recording.side
            if None not in (side, other) and side != other:
                self.notes.append(
                    f"{Path(run.name).name} has torques measured on the {other}s, the model is of torques on the "
                    f"{side}s: rotors and gears make a difference"
                )
        return self.config

    def refuse_repeated(self, runs: Sequence[Run], seen: Sequence[Run]) -> None:
        """Samples count once, and those that were identified from validate nothing."""
        for k, run in enumerate(runs):
            for other in runs[:k]:
                if _shared(run, other):
                    raise RecordingError(f"{run.name} is given twice, or has samples of {other.name}; leave one out")
            for other in seen:
                if _shared(run, other):
                    raise RecordingError(
                        f"{other.name} has samples that are identified from: it validates nothing; give other motion"
                    )

    def again(self, runs: Sequence[Run], route: Route) -> tuple[Run, ...]:
        """The same logs through another route."""

        def through(run: Run) -> Run:
            if run.sample is not None:
                return self.long[run.name].run(route)
            return run if run.recording is None else Run.of(run.recording, route, self.repairs[run.name], run.name)

        return tuple(through(run) for run in runs)

    def chosen(self, runs: tuple[Run, ...], seen: tuple[Run, ...]) -> tuple[Automatic, tuple[Run, ...]] | None:
        """Settings that were left open, chosen from ``runs`` alone, and ``seen`` through the same route; None where the
        logs are too little to choose from."""
        looked_at = tuple(run.bounded for run in runs)
        try:
            found = choose_automatically(
                self.config, self.robot, looked_at, lambda route: self.again(looked_at, route), self.step
            )
        except (ParameterError, RecordingError) as error:
            self.notes.append(f"settings were not chosen from the logs, usual ones are taken: {error}")
            return None
        self.config, self.robot = found.config, found.robot
        if found.chosen.gravity is not None:
            shown = ", ".join(f"{x:.4g}" for x in found.chosen.gravity)
            self.notes.append(
                f"gravity leans in the model: whatever loads it (a URDF has no place for it) needs [{shown}] m/s²"
            )
        zone = found.config.judge(found.runs).zone(found.config.model(self.robot))
        if found.config.settings.dead_zone is not None and not zone.any():
            self.notes.append(
                "dead_zone: has no effect, pre-sliding friction holds at rest too; friction: as-given has it"
            )
        route = found.config.route
        if looked_at != runs:
            found = replace(found, runs=runs if route is None else self.again(runs, route))
        return found, seen if route is None else self.again(seen, route)

    def with_gains(self, known: Sequence[Known], groups: Groups) -> Groups:
        """Runs of currents as runs of torques, with the gains that the first group of them gives."""
        runs = groups[0]
        self.gains = identify_gains(self.config.model(self.robot), runs, known, self.config.judge(runs))
        gains = self.gains.about_gains
        first, second, third = (tuple(self.in_newtons(run, gains) for run in group) for group in groups)
        return first, second, third

    def in_newtons(self, run: Run, gains: tuple[float, ...]) -> Run:
        assert run.recording is not None
        recording = replace(run.recording, about=replace(run.recording.about, gains=gains))
        return Run.of(recording, self.config.route, self.repairs[run.name], run.name)


def _shared(run: Run, other: Run) -> bool:
    """Whether both come from one file, and from one time of it."""
    if run.recording is None or other.recording is None:
        return False
    files = [{source.sha256 for source in one.recording.about.sources} for one in (run, other) if one.recording]
    return bool(files[0] & files[1]) and any(a[0] < b[1] and b[0] < a[1] for a in run.spans for b in other.spans)
