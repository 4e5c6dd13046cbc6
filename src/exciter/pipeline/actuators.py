"""Drives of a robot without torque sensors: commands and encoder positions in, what a simulator needs out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import ExciterError, RecordingError
from exciter.experiment.recording import Recording
from exciter.export.drive_links import refuse_unwritable
from exciter.export.drive_snippets import DRIVE_SNIPPETS, SnippetDrives, drive_snippets
from exciter.export.drives import described_drives
from exciter.files import path_of, prepare, staged
from exciter.identification.actuators.actuator_fit import ActuatorFit, fit_actuators
from exciter.identification.actuators.actuator_settings import ACTUATOR_KINDS, ActuatorSettings
from exciter.identification.actuators.moved_links import changed_links, link_masses, sought_links
from exciter.identification.information.estimate import finite_or_none
from exciter.pipeline.drive_files import ACTUATORS_SEAL, DESCRIPTIONS, DRIVES_FILE
from exciter.pipeline.inspect import AnyLog, several
from exciter.pipeline.logs import same_samples, validates_nothing
from exciter.pipeline.saving import REPORT_FILE, description_hash, robot_data, versions
from exciter.pipeline.settings_file import ACTUATORS, FileContent, SettingsFile, changed, loaded
from exciter.report.actuator_report import actuator_page
from exciter.report.page import Page
from exciter.robot.load import RobotOptions
from exciter.robot.robot import Robot
from exciter.robot.yaml_file import sealed_json
from exciter.settings import written
from exciter.validation.drive_comparison import DriveDifference, DriveTable
from exciter.validation.free_run import DriveVerdict, FreeRun, free_run
from exciter.validation.validation import some_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Actuators:
    """Drives that were found. fit: everything about it; fitted: its logs, simulated freely; validation: logs that were
    not used, as well. comparisons: with what other logs said.

    >>> told = ex.Recording.of(log.time, log.q, command=log.q + log.torque / 5000.0, joints=robot.joint_names)
    >>> drives = ex.actuators(robot, told[:400], control={"kp": 5000.0}, unknown=["damping", "friction"])
    >>> list(drives.parameters)[0].split()[0]
    'damping'"""

    fit: ActuatorFit
    fitted: tuple[FreeRun, ...]
    validation: tuple[FreeRun, ...] = ()
    comparisons: tuple[DriveDifference, ...] = ()
    versions: dict[str, str] = field(default_factory=lambda: {**versions(), "mujoco": metadata.version("mujoco")})

    @cached_property
    def table(self) -> DriveTable:
        """The numbers, to be put beside those of other logs."""
        return DriveTable.of(self.fit, some_of([run.name for run in self.fitted]))

    @cached_property
    def verdict(self) -> DriveVerdict:
        """How the robot moves with them, and with the description's."""
        return DriveVerdict(fit=self.fit, runs=(*self.fitted, *self.validation))

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """By name: value, σ and its degrees of freedom, 95 % interval, unit, status."""
        return self.table.parameters

    @property
    def drives(self) -> dict[str, dict[str, float]]:
        """Every number of every joint, those that were given among them."""
        found, joints = self.fit.drives, self.fit.robot.joint_names
        return {name: {word: float(found[word][j]) for word in ACTUATOR_KINDS} for j, name in enumerate(joints)}

    def to_dict(self) -> dict[str, Any]:
        """The content of actuators.json."""
        fit, joints = self.fit, self.fit.robot.joint_names
        return {
            "parameters": self.table.rows(),
            "drives": {
                name: {word: finite_or_none(value) for word, value in numbers.items()}
                for name, numbers in self.drives.items()
            },
            "residuals": {
                name: {"rms": float(rms), "repeats": float(repeats)}
                for name, rms, repeats in zip(joints, fit.residual_rms, fit.fitted.repeats, strict=True)
            },
            "total_rms": float(np.sqrt(np.mean(fit.residual_rms**2))),
            "logs": [_run(run) for run in self.fitted],
            "validation": [_run(run) for run in self.validation],
            "verdict": {
                "word": self.verdict.word,
                "sentences": list(self.verdict.sentences),
                "outstanding": [one.sentence for one in self.verdict.outstanding],
            },
            "cannot_be_told_apart": list(fit.untold),
            "comparisons": [one.to_dict() for one in self.comparisons],
            "notes": [str(one) for one in fit.notes],
            "rollouts": fit.fitted.rollouts,
            "variational_passes": fit.fitted.passes,
            "settings": {ACTUATORS: written(fit.settings)},
            "simulator": {"step": fit.simulator.step, "integrator": fit.simulator.integrator},
            "robot": robot_data(fit.robot, description_hash(fit.robot)),
            "versions": dict(self.versions),
        }

    def description(self) -> str:
        """The robot's own MJCF or URDF with these drives, nothing else changed."""
        file = self.fit.robot.file
        if file is None or file.suffix.lower() not in DESCRIPTIONS:
            raise ExciterError("the robot was not read from an MJCF or URDF file; drives are written into these")
        robot = self.fit.robot
        followers = [name for name in robot.tree_names if name not in robot.joint_names]
        links = changed_links(robot, self.fit.settings, self.fit.drives)
        return described_drives(file, robot.joint_names, self.fit.drives, followers, links)

    def snippets(self) -> dict[str, str]:
        """Configuration of simulators for reinforcement learning, by the names of their files."""
        fit = self.fit
        run, described = fit.simulator, {"mass": link_masses(fit.robot)}
        return drive_snippets(
            SnippetDrives(fit.robot.name, fit.robot.joint_names, fit.drives, run.step, run.integrator, described)
        )

    def save(self, folder: str | Path) -> Path:
        """actuators.json, the report, configuration of simulators, and the description with these drives where there is
        a file of it: all of them or none."""
        self.write(Path(folder))
        return Path(folder)

    def write(self, folder: Path) -> dict[str, Any]:
        prepare(folder)
        with staged(folder, ACTUATORS_SEAL) as stage:
            if self._described is not None:
                (stage / self._described).write_text(self.description(), encoding="utf-8", newline="")
            for name, text in self.snippets().items():
                (stage / name).write_text(text, encoding="utf-8", newline="")
            self.report().write(stage / REPORT_FILE)
            return ACTUATORS_SEAL.write(stage, self.to_dict())

    @property
    def _described(self) -> str | None:
        """The file of the description with these drives."""
        file = self.fit.robot.file
        known = file is not None and file.suffix.lower() in DESCRIPTIONS
        return f"{DRIVES_FILE}{file.suffix.lower()}" if file is not None and known else None

    def report(self) -> Page:
        """The whole report, which a notebook shows, and ``write`` keeps."""
        fit, run = self.fit, self.fit.simulator
        files = {} if self._described is None else {self._described: "the description with these drives"}
        values = {
            "logs": "; ".join(one.log for one in self.fitted),
            "validation data": "; ".join(one.log for one in self.validation) or "none",
            "simulated by": f"MuJoCo {self.versions['mujoco']}, {run.integrator}, step {run.step:g} s",
        }
        return actuator_page(
            fit,
            self.verdict,
            self.table,
            self.comparisons,
            settings={ACTUATORS: written(fit.settings)},
            values=values,
            files={**files, **{one.file: one.title for one in DRIVE_SNIPPETS}},
        )

    def _repr_html_(self) -> str:
        return self.report().head

    def __repr__(self) -> str:
        total = 1e3 * float(np.sqrt(np.mean(self.fit.residual_rms**2)))
        return f"<{len(self.fit.names)} numbers of the drives of {self.fit.robot.name}, residual {total:.3g} mrad>"


OtherDrives = Actuators | DriveTable | str | Path


def _run(run: FreeRun) -> dict[str, Any]:
    return {
        "log": run.log,
        "joints": dict(zip(run.joints, run.rms.tolist(), strict=True)),
        "total_rms": run.total,
        "before": dict(zip(run.joints, run.before.tolist(), strict=True)),
        "before_total_rms": run.before_total,
    }


def actuators(
    robot: Robot | str | Path,
    logs: AnyLog | Sequence[AnyLog],
    settings: ActuatorSettings | FileContent = None,
    *,
    validate: AnyLog | Sequence[AnyLog] = (),
    compare: OtherDrives | Sequence[OtherDrives] = (),
    tell: Callable[[str], None] | None = None,
    **changes: Any,
) -> Actuators:
    """Rotor inertia, friction, gains, bias and delay of the drives, masses of links and payloads where asked for, from
    commands and encoder positions alone.

    robot: on a fixed base, as it hung or was clamped. logs: with commands. settings: ``ActuatorSettings``, a YAML file
    or its content (``actuators:``); changes: of them, by name. validate: logs that are simulated freely. compare:
    drives from other logs, or folders of them, to be put beside these.

    >>> told = ex.Recording.of(log.time, log.q, command=log.q + log.torque / 5000.0, joints=robot.joint_names)
    >>> drives = ex.actuators(robot, told[:400], control={"kp": 5000.0}, unknown=["damping", "friction"])
    >>> drives.fit.residual_rms.shape == (robot.n,)
    True"""
    if isinstance(settings, ActuatorSettings):
        robot, asked = loaded(robot, RobotOptions())[0], settings
    else:
        file = SettingsFile.read(settings)
        robot, asked = loaded(robot, file.robot)[0], file.actuators
    asked = changed(asked, changes)
    others = [_table(one) for one in (compare if isinstance(compare, tuple | list) else (compare,))]
    if robot.file is not None and robot.file.suffix.lower() in DESCRIPTIONS:
        refuse_unwritable(robot.file, robot.tree_names, sought_links(robot, asked))
    recordings = [_read(log) for log in several(logs)]
    held = [_read(log) for log in (several(validate) if not isinstance(validate, tuple | list) or validate else ())]
    for log, other in product(held, recordings):
        if same_samples(log, (_span(log),), other, (_span(other),)):
            raise validates_nothing(log.name or "a log of validate")
    fit = fit_actuators(robot, recordings, asked, tell, held)
    found = Actuators(
        fit=fit,
        fitted=tuple(free_run(fit, log, fitted=True) for log in recordings),
        validation=tuple(free_run(fit, log) for log in held),
    )
    return replace(found, comparisons=tuple(found.table.beside(other) for other in others))


def _table(given: OtherDrives) -> DriveTable:
    if isinstance(given, Actuators | DriveTable):
        return given.table if isinstance(given, Actuators) else given
    return saved_drives(path_of(given, "the folder of other drives"))


def saved_drives(folder: Path) -> DriveTable:
    """The table of a folder that ``Actuators.save``, or the command, wrote."""
    data = sealed_json(folder, ACTUATORS_SEAL, "exciter actuators", "drives")
    return DriveTable.read(data, str(folder))


def _span(log: Recording) -> tuple[float, float]:
    return float(log.time[0]), float(log.time[-1])


def _read(log: Any) -> Recording:
    from exciter.experiment.recording import RecordingFile, open_recording

    if isinstance(log, Recording):
        return log
    file = log if isinstance(log, RecordingFile) else open_recording(log, None)
    try:
        return replace(file.read(), name=file.name)
    except RecordingError as error:
        raise RecordingError(str(error) if file.name in str(error) else f"{file.name}: {error}") from None
