"""Drives of a robot without torque sensors: commands and encoder positions in, what a simulator needs out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import ExciterError, RecordingError
from exciter.experiment.recording import Recording
from exciter.export.drives import described_drives
from exciter.files import Seal, prepare, staged
from exciter.identification.actuators.actuator_fit import ActuatorFit, fit_actuators
from exciter.identification.actuators.actuator_settings import ACTUATOR_KINDS, ActuatorSettings
from exciter.identification.information.estimate import finite_or_none
from exciter.pipeline.inspect import AnyLog, several
from exciter.pipeline.saving import description_hash, robot_data, versions
from exciter.pipeline.settings_file import ACTUATORS, FileContent, SettingsFile, changed, loaded
from exciter.robot.load import RobotOptions
from exciter.robot.robot import Robot
from exciter.settings import written
from exciter.typing import Array

ACTUATORS_FILE = "actuators.json"
DRIVES_FILE = "identified"  #: and the suffix of the description
ACTUATORS_SEAL = Seal(ACTUATORS_FILE, (f"{DRIVES_FILE}.xml", f"{DRIVES_FILE}.mjcf", f"{DRIVES_FILE}.urdf"), "fit again")
DESCRIPTIONS = (".xml", ".mjcf", ".urdf")


@dataclass(frozen=True, eq=False)
class FreeRun:
    """A log that was simulated from its first state by its command alone: rms (n,) [rad] of what is between simulated
    and measured, with the drives that were found, and before."""

    log: str
    rms: Array
    total: float
    before: Array
    before_total: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Actuators:
    """Drives that were found. fit: everything about it; validation: logs that were not used.

    >>> told = ex.Recording.of(log.time, log.q, command=log.q + log.torque / 5000.0, joints=robot.joint_names)
    >>> drives = ex.actuators(robot, told[:400], control={"kp": 5000.0}, unknown=["damping", "friction"])
    >>> list(drives.parameters)[0].split()[0]
    'damping'"""

    fit: ActuatorFit
    validation: tuple[FreeRun, ...] = ()
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """By name: value, σ, 95 % interval, unit, status."""
        fit = self.fit
        low, high = fit.interval()
        return {
            name: {
                "value": float(fit.values[k]),
                "std": finite_or_none(fit.std[k]),
                "interval": [finite_or_none(low[k]), finite_or_none(high[k])],
                "unit": fit.units[k],
                "status": fit.status[k],
            }
            for k, name in enumerate(fit.names)
        }

    @property
    def drives(self) -> dict[str, dict[str, float]]:
        """Every number of every joint, those that were given among them."""
        found, joints = self.fit.drives, self.fit.robot.joint_names
        return {name: {word: float(found[word][j]) for word in ACTUATOR_KINDS} for j, name in enumerate(joints)}

    def to_dict(self) -> dict[str, Any]:
        """The content of actuators.json."""
        fit, joints = self.fit, self.fit.robot.joint_names
        return {
            "parameters": [{"name": name, **values} for name, values in self.parameters.items()],
            "drives": {
                name: {word: finite_or_none(value) for word, value in numbers.items()}
                for name, numbers in self.drives.items()
            },
            "residuals": {
                name: {"rms": float(rms), "repeats": float(repeats)}
                for name, rms, repeats in zip(joints, fit.residual_rms, fit.fitted.repeats, strict=True)
            },
            "total_rms": float(np.sqrt(np.mean(fit.residual_rms**2))),
            "validation": [
                {
                    "log": run.log,
                    "joints": dict(zip(joints, run.rms.tolist(), strict=True)),
                    "total_rms": run.total,
                    "before": dict(zip(joints, run.before.tolist(), strict=True)),
                    "before_total_rms": run.before_total,
                }
                for run in self.validation
            ],
            "cannot_be_told_apart": list(fit.untold),
            "notes": [str(one) for one in fit.notes],
            "rollouts": fit.fitted.rollouts,
            "settings": {ACTUATORS: written(fit.settings)},
            "simulator": {"step": fit.simulator.step},
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
        return described_drives(file, robot.joint_names, self.fit.drives, followers)

    def save(self, folder: str | Path) -> Path:
        """actuators.json, and the description with these drives where there is a file of it: all of them or none."""
        self.write(Path(folder))
        return Path(folder)

    def write(self, folder: Path) -> dict[str, Any]:
        prepare(folder)
        file = self.fit.robot.file
        with staged(folder, ACTUATORS_SEAL) as stage:
            if file is not None and file.suffix.lower() in DESCRIPTIONS:
                target = stage / f"{DRIVES_FILE}{file.suffix.lower()}"
                target.write_text(self.description(), encoding="utf-8", newline="")
            return ACTUATORS_SEAL.write(stage, self.to_dict())

    def __repr__(self) -> str:
        total = 1e3 * float(np.sqrt(np.mean(self.fit.residual_rms**2)))
        return f"<{len(self.fit.names)} numbers of the drives of {self.fit.robot.name}, residual {total:.3g} mrad>"


def actuators(
    robot: Robot | str | Path,
    logs: AnyLog | Sequence[AnyLog],
    settings: ActuatorSettings | FileContent = None,
    *,
    validate: AnyLog | Sequence[AnyLog] = (),
    tell: Callable[[str], None] | None = None,
    **changes: Any,
) -> Actuators:
    """Rotor inertia, friction, gains, bias and delay of the drives, from commands and encoder positions alone.

    robot: on a fixed base, as it hung or was clamped. logs: with commands. settings: ``ActuatorSettings``, a YAML file
    or its content (``actuators:``); changes: of them, by name. validate: logs that are simulated freely.

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
    recordings = [_read(log) for log in several(logs)]
    fit = fit_actuators(robot, recordings, asked, tell)
    held = several(validate) if not isinstance(validate, tuple | list) or validate else ()
    return Actuators(fit=fit, validation=tuple(free_run(fit, _read(log)) for log in held))


def free_run(fit: ActuatorFit, recording: Recording) -> FreeRun:
    """How far a log that was not used is from its simulation."""
    stretch, said = fit.simulate(recording)
    rms = np.sqrt(np.mean((said - stretch.q) ** 2, axis=0))
    before = np.sqrt(np.mean((fit.before(recording) - stretch.q) ** 2, axis=0))
    both = [float(np.sqrt(np.mean(one**2))) for one in (rms, before)]
    return FreeRun(recording.name or "recording", rms, both[0], before, both[1])


def _read(log: Any) -> Recording:
    from exciter.experiment.recording import RecordingFile, open_recording

    if isinstance(log, Recording):
        return log
    file = log if isinstance(log, RecordingFile) else open_recording(log, None)
    try:
        return replace(file.read(), name=str(file.path))
    except RecordingError as error:
        raise RecordingError(str(error) if str(file.path) in str(error) else f"{file.path}: {error}") from None
