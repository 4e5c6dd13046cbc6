"""The certificate of a motion, whoever made it, at its own speed or at a part of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.not_checked import unchecked
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.files.row_files import Rounding, unchecked_rows
from exciter.excitation.files.trajectory_files import DESIGN, Exported, certified_slowed, export
from exciter.excitation.trajectories.curve import Curve
from exciter.files import output_folder, staged
from exciter.notes import Note, texts
from exciter.pipeline.saving import description_hash, robot_data, versions
from exciter.pipeline.settings_file import AnyMotion, FileContent, SettingsFile, curve_of, loaded
from exciter.robot.robot import Robot


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckedMotion:
    """A motion, begun from rest, and which limits it keeps. not_checked: what the certificate does not speak of;
    rounding: how its rows were rounded, where that could be what breaks a limit."""

    robot: Robot
    curve: Curve
    constraints: tuple[Constraint, ...]
    certificate: Certificate
    not_checked: tuple[Note, ...]
    rounding: Rounding | None = None

    @property
    def certified(self) -> bool:
        """Whether no limit is broken or open."""
        return self.certificate.certified

    def __bool__(self) -> bool:
        return self.certified

    def __repr__(self) -> str:
        proved = "certified" if self.certified else "not certified"
        return f"<{self.curve.duration:.4g} s of motion for {self.robot.name}, {proved}>"

    def to_dict(self) -> dict[str, Any]:
        more = {"remarks": texts(self.robot.remarks), "not_checked": texts(self.not_checked)}
        return {**self.certificate.to_dict(), **more}


def design_settings(given: DesignSettings | FileContent) -> DesignSettings:
    """Of an object, of a file, or as if nothing were said."""
    return given if isinstance(given, DesignSettings) else SettingsFile.read(given).design


def check(robot: Robot | str | Path, motion: AnyMotion, settings: DesignSettings | FileContent = None) -> CheckedMotion:
    """Limits of the robot and those of the settings, proved or refuted for all time; motion: a curve, a design, or a
    file.

    >>> ex.check(robot, motion)
    <6 s of motion for gautier-khalil, certified>"""
    config = design_settings(settings)
    robot = loaded(robot, config.robot)[0]
    curve, constraints = curve_of(motion, robot), config.constraints_of(robot)
    certificate = certify(robot, curve, constraints, from_rest=True)
    rounded = Rounding.of(curve)
    return CheckedMotion(
        robot=robot,
        curve=curve,
        constraints=constraints,
        certificate=certificate,
        not_checked=(*unchecked(robot, constraints, certificate, curve), *unchecked_rows(curve)),
        rounding=rounded if rounded is not None and rounded.matters and not certificate.certified else None,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class SlowedMotion(CheckedMotion):
    """A motion at part of its speed, 0.01 … 1, certified anew. origin: what the motion at full speed is called."""

    speed: float
    origin: str
    config: DesignSettings

    def write(self, folder: Path) -> Exported:
        """The files of a design, but for a report."""
        certified = partial(certify, self.robot, constraints=self.constraints, from_rest=True)
        with output_folder(folder), staged(folder, DESIGN) as stage:
            files = export(stage, self.robot, self.curve, None, None, certified, rate=self.config.rate)
            data = {
                "slowed": {"trajectory": self.origin, "speed": self.speed},
                "certificate": self.certificate.to_dict(),
                "robot": robot_data(self.robot, description_hash(self.robot)),
                "duration": self.curve.duration,
                "remarks": texts(self.robot.remarks),
                "not_checked": texts(self.not_checked),
                "files": files.to_dict(),
                "settings": self.config.to_dict(),
                "versions": versions(),
            }
            DESIGN.write(stage, data)
        return files


def slow(robot: Robot, curve: Curve, speed: float, config: DesignSettings, *, origin: str) -> SlowedMotion:
    """The same path in a longer time; refused where the slow motion breaks a limit, as gravity alone can make it."""
    constraints = config.constraints_of(robot)
    certified = partial(certify, robot, constraints=constraints, from_rest=True)
    slowed, certificate = certified_slowed(curve, speed, certified)
    given = (replace(one, text=f"of {origin}, {one.text}") for one in unchecked_rows(curve))
    return SlowedMotion(
        robot=robot,
        curve=slowed,
        constraints=constraints,
        certificate=certificate,
        not_checked=(*unchecked(robot, constraints, certificate, slowed), *given),
        speed=speed,
        origin=origin,
        config=config,
    )
