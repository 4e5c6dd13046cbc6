"""Logs of ``exciter identify``: read, judged, and made ready as runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from exciter.commands.inspect import naming
from exciter.commands.progress import Step
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.quality import Quality, Repairs, check, repair
from exciter.experiment.quality.evidence import USUAL_TERMS
from exciter.experiment.recording import Payload, Recording, open_recording
from exciter.experiment.recording.about import LINK
from exciter.experiment.signals.route import Route
from exciter.identification.config.automatic import Automatic, choose_automatically
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.drive_gains import DriveGains, current_run, identify_gains
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.known_parameters import Known
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
        self.stated: list[Payload] = []  # loads that logs state, and that are to be found

    def read(self, paths: Sequence[Path], *, loaded: bool = False) -> tuple[Run, ...]:
        """loaded: with a load that is to be identified, so that nothing stated of it counts."""
        return tuple(self._run(path, loaded) for path in paths)

    def _run(self, path: Path, loaded: bool) -> Run:
        self.step(f"reading {path.name}")
        with naming(path):
            file = open_recording(path, self.folder)
            repairs = Repairs.from_dict(file.repair, f"{path}: repair")
            recording = file.read()
            self._refuse_moving(recording)
            recording = recording.arranged(self.robot)
            if loaded and recording.about.payload is not None:
                self.stated.append(recording.about.payload)
                recording = replace(recording, about=replace(recording.about, payload=None))
            self.notes += [f"{path.name}: {remark}" for remark in file.remarks]
            self._gravity(recording, path)
            self._judge(recording, repairs, path, loaded)
            name = str(path)
            self.repairs[name] = repairs
            if self.config.known_parameters is not None:
                return current_run(recording, self.config.route, repairs, name)
            return Run.of(recording, self.config.route, repairs, name)

    def _gravity(self, recording: Recording, path: Path) -> None:
        """All logs must have been recorded with the robot standing alike."""
        given = recording.about.gravity
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

    def _refuse_moving(self, recording: Recording) -> None:
        """A joint that is locked here must have stood still there."""
        for name in self.config.robot.lock:
            if name in recording.joints:
                moved = float(np.nanmax(np.ptp(recording.q[:, recording.joints.index(name)])))
                if moved > STILL:
                    raise RecordingError(
                        f"joint '{name}' is locked, but moves by {moved:.3g} in this log; do not lock it, or give one "
                        "in which it stands still"
                    )

    def _judge(self, recording: Recording, repairs: Repairs, path: Path, loaded: bool) -> None:
        quality = self.quality[str(path)] = check(repair(recording, repairs).recording, self.robot, self._usual_model())
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
            speed = np.concatenate([np.abs(part.motion.qd) for part in run.parts])
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
        return tuple(
            run if run.recording is None else Run.of(run.recording, route, self.repairs[run.name], run.name)
            for run in runs
        )

    def chosen(self, runs: tuple[Run, ...], seen: tuple[Run, ...]) -> tuple[Automatic, tuple[Run, ...]] | None:
        """Settings that were left open, chosen from ``runs`` alone, and ``seen`` through the same route; None where the
        logs are too little to choose from."""
        try:
            found = choose_automatically(
                self.config, self.robot, runs, lambda route: self.again(runs, route), self.step
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
        if "dead_zone" in found.config.section and not zone.any():
            self.notes.append(
                "dead_zone: has no effect, pre-sliding friction holds at rest too; friction: as-given has it"
            )
        route = found.config.route
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
