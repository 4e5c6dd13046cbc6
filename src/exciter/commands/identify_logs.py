"""Logs of ``exciter identify``: read, judged, and made ready as runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from exciter.commands.inspect import naming
from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.quality import Repairs, check, repair
from exciter.experiment.recording import Recording, open_recording
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.drive_gains import DriveGains, current_run, identify_gains
from exciter.identification.known_parameters import Known
from exciter.identification.run import Run
from exciter.parameters.terms.dry_friction import BoundDryFriction
from exciter.robot import Robot

SLOW = 2e-3  #: of the fastest: slower is rest
LONG = 0.1  #: of the time: more is worth a note
Groups = tuple[tuple[Run, ...], tuple[Run, ...], tuple[Run, ...]]


class Logs:
    """robot: with the gravity that the logs speak of. notes: what a person should see; words: what was done."""

    def __init__(self, config: IdentifyConfig, robot: Robot, folder: Path | None) -> None:
        self.config, self.robot, self.folder = config, robot, folder
        self.gravity: tuple[float, ...] | None = None
        self.gains: DriveGains | None = None
        self.notes: list[str] = []
        self.words: list[str] = []
        self.repairs: dict[str, Repairs] = {}

    def read(self, paths: Sequence[Path]) -> tuple[Run, ...]:
        return tuple(self._run(path) for path in paths)

    def _run(self, path: Path) -> Run:
        with naming(path):
            file = open_recording(path, self.folder)
            repairs = Repairs.from_dict(file.repair, f"{path}: repair")
            recording = file.read().arranged(self.robot)
            self.notes += [f"{path.name}: {remark}" for remark in file.remarks]
            self._gravity(recording, path)
            self._judge(recording, repairs, path)
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
        if not np.allclose(given, self.robot.gravity):
            self.words.append(f"gravity {list(given)} m/s², as {path.name} says")
            self.robot = self.robot.with_gravity(given)

    def _judge(self, recording: Recording, repairs: Repairs, path: Path) -> None:
        quality = check(repair(recording, repairs).recording, self.robot)
        if not quality.usable and not self.config.accept_problems:
            raise RecordingError(
                f"{quality.verdict} ({quality.problems[0].words}); see exciter inspect, repair the log, or say "
                "accept_problems: true under identify:"
            )
        for finding in (*quality.problems, *quality.warnings):
            joint = "" if finding.joint is None else f" of {finding.joint}"
            self.notes.append(f"{path.name}: {finding.what}{joint}: {finding.words}")

    def note_rest(self, model: DynamicModel, runs: Sequence[Run]) -> None:
        """Where a joint rests, noise decides the sign of its dry friction."""
        terms = [term for term in model.bound if isinstance(term, BoundDryFriction) and not term.has_memory]
        dry = {row for term in terms for row, _ in term.rows}
        for run in runs:
            speed = np.concatenate([np.abs(part.motion.qd) for part in run.parts])
            rest = (speed < SLOW * speed.max(axis=0)).mean(axis=0)
            for joint in sorted(dry):
                if rest[joint] > LONG:
                    self.notes.append(
                        f"{run.name}: {self.robot.joint_names[joint]} rests for {100 * rest[joint]:.0f} % of the time, "
                        "where noise decides the sign of its dry friction and spoils it: cut those stretches (windows: "
                        "or repair: {cut_standstill: true} in recording.yaml), or take pre-sliding friction"
                    )

    def note_repeated(self, runs: Sequence[Run], seen: Sequence[Run]) -> None:
        """A log that was identified from validates nothing."""
        used = {source.sha256 for run in runs if run.recording for source in run.recording.about.sources}
        for run in seen:
            if run.recording and used & {source.sha256 for source in run.recording.about.sources}:
                self.notes.append(f"{run.name} is also identified from: it validates nothing; give another motion")

    def with_gains(self, known: Sequence[Known], groups: Groups) -> Groups:
        """Runs of currents as runs of torques, with the gains that the first group of them gives."""
        runs = groups[0]
        self.gains = identify_gains(self.config.model(self.robot), runs, known, self.config.judge(runs))
        gains = self.gains.about_gains
        first, second, third = (tuple(self._in_newtons(run, gains) for run in group) for group in groups)
        return first, second, third

    def _in_newtons(self, run: Run, gains: tuple[float, ...]) -> Run:
        assert run.recording is not None
        recording = replace(run.recording, about=replace(run.recording.about, gains=gains))
        return Run.of(recording, self.config.route, self.repairs[run.name], run.name)
