"""A motion for a robot, searched or drawn as a configuration asks, and all that design.json says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.archive import archived, opened
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError, shown, unknown_name
from exciter.excitation import design as search
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.collision import Obstacle
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.constraint_settings import ConstraintSettings
from exciter.excitation.criteria.observation_rows import EnergyRows
from exciter.excitation.design import Design, drawn_design
from exciter.excitation.design_settings import DesignSettings, MotionSettings
from exciter.excitation.files.trajectory_files import ARCHIVE, DESIGN, DRAWN_FAMILIES, Exported, export
from exciter.excitation.optimiser.deadline import NEVER, Deadline
from exciter.excitation.optimiser.run_starts import Progress, discard, refuse_foreign
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.hand_made import HandMade
from exciter.excitation.trajectories.trajectory import Trajectory, acceleration_spectrum
from exciter.excitation.validation_motion.random_families import RandomMotion, RandomPoints, RandomSpline, draw
from exciter.files import output_folder, path_of, staged
from exciter.labelled import Labelled
from exciter.notes import Note, texts
from exciter.pipeline.check import design_settings
from exciter.pipeline.saving import REPORT_FILE, description_hash, robot_data, versions
from exciter.pipeline.settings_file import FileContent, SettingsFile, changed, loaded, refuse_unknown
from exciter.report.design_report import design_page
from exciter.report.page import Page
from exciter.robot.names import named
from exciter.robot.robot import FREE_BASE_JOINTS, Robot
from exciter.settings import fill
from exciter.settings.fill import settings_fields
from exciter.typing import Array
from exciter.workers import Processes, Workers

if TYPE_CHECKING:
    from exciter.identification.actuators.actuator_settings import ActuatorSettings

DRAWN_QUANTITIES = ("position", "velocity", "acceleration")  #: that are drawn
KEPT_OF_A_START = (
    "number",
    "value",
    "feasible",
    "complete",
    "outdone",
    "evaluations",
    "seconds",
)  #: what is kept of each


@dataclass(frozen=True, eq=False, kw_only=True)
class Designed:
    """A certified motion and what asked for it. sha256: of the robot's description.

    >>> motion
    <6 s of motion for gautier-khalil, certified: ...>
    >>> motion.position.columns, motion.predicted_std["MY3"] < 1.0
    (('joint_1', 'joint_2', 'joint_3'), True)"""

    design: Design
    config: DesignSettings
    sha256: str | None

    @property
    def robot(self) -> Robot:
        return self.design.model.robot

    @property
    def curve(self) -> Curve:
        """The motion from rest to rest, exact at every instant."""
        return self.design.curve

    @property
    def certificate(self) -> Certificate:
        """That every limit holds for all time."""
        return self.design.certificate

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was assumed of robot and noise, and how the motion was found."""
        return (*self.robot.remarks, *(self.config.notes if self.design.of_torques else ()), *self.design.notes)

    @property
    def not_checked(self) -> tuple[Note, ...]:
        """What the certificate does not speak of."""
        return self.design.unchecked

    @property
    def position(self) -> Labelled:
        """Of the joints, at the rate of the files."""
        return self._sampled("position", "q", "")

    @property
    def velocity(self) -> Labelled:
        return self._sampled("velocity", "qd", "/s")

    @property
    def acceleration(self) -> Labelled:
        return self._sampled("acceleration", "qdd", "/s²")

    def _sampled(self, title: str, channel: str, per: str) -> Labelled:
        count = round(self.curve.duration * self.config.rate) + 1
        motion = self.curve.motion(np.linspace(self.curve.start, self.curve.end, count))
        units = tuple(("m" if joint.is_prismatic else "rad") + per for joint in self.robot.joints)
        return Labelled(title, getattr(motion, channel), self.robot.joint_names, units, motion.time, "time [s]")

    @property
    def predicted_std(self) -> dict[str, float]:
        """Of every parameter, by name, were the motion recorded as the settings say."""
        return dict(zip(self.design.parameters, self.design.predicted_std.tolist(), strict=True))

    # -- shown, saved ------------------------------------------------------------------------------------------------

    def plot(self, quantity: str = "position", joints: str | tuple[str, ...] | None = None, axes: Any = None) -> Any:
        """position, velocity or acceleration over time; matplotlib's axes."""
        if quantity not in DRAWN_QUANTITIES:
            raise ExciterError(unknown_name("quantity", quantity, DRAWN_QUANTITIES))
        return getattr(self, quantity).plot(joints, axes)

    def save(self, folder: str | Path) -> Path:
        """The files of ``exciter design``, certified as a controller reads them: all of them or none."""
        self.write(Path(folder))
        return Path(folder)

    def write(self, folder: Path, *, deadline: Deadline = NEVER) -> tuple[Exported, dict[str, Any]]:
        """trajectory.csv, .json, files for ROS 2, design.json and report.html; what was written, and what design.json
        says. Every file is read back and certified; what is not done until the deadline leaves nothing."""
        found = self.design
        certified = partial(certify, self.robot, constraints=found.constraints, check=deadline.check, from_rest=True)
        with output_folder(folder), deadline.kept(), staged(folder, DESIGN) as stage:
            motion: tuple[Curve, Trajectory | None, Any] = found.curve, found.trajectory, found.delta
            if isinstance(found.trajectory, HandMade):  # of no family
                motion = found.curve, None, None
            files = export(stage, self.robot, *motion, certified, periods=found.periods, rate=self.config.rate)
            (stage / ARCHIVE).write_bytes(archived(self))
            self.report().write(stage / REPORT_FILE)
            return files, DESIGN.write(stage, self.to_dict(files))

    @classmethod
    def open(cls, folder: str | Path) -> Designed:
        """What ``save``, or the command, wrote."""
        return opened(Path(folder), DESIGN, ARCHIVE, cls)

    @property
    def settings(self) -> dict[str, Any]:
        """As plain data: written as YAML a file that asks for the same design."""
        return self.config.to_dict() | self.design.own_settings

    def report(self) -> Page:
        """The whole report, which a notebook shows, and ``write`` keeps."""
        return design_page(self.design, settings=self.settings, notes=self.notes)

    def _repr_html_(self) -> str:
        return self.report().head

    def __repr__(self) -> str:
        proved = "certified" if self.certificate.certified else "not certified"
        return f"<{self.curve.duration:.4g} s of motion for {self.robot.name}, {proved}: {self.design.summary}>"

    def to_dict(self, files: Exported) -> dict[str, Any]:
        """design.json: the promised keys first, then what else is worth keeping. files: those it belongs to."""
        found, rows = self.design, self.config.formulation_of()
        spectrum = acceleration_spectrum(found.trajectory, found.delta)
        bounds = None if self.config.noise is None else search.error_bounds(found, rows)
        sums = zip(found.parameters, found.combinations, strict=True)
        columns = {
            "name": found.parameters,
            "expression": [f"{name} = {text}" if text else name for name, text in sums],
            "unit": found.units,
            "nominal": found.nominal_or_none,
            "predicted_std": found.predicted_std.tolist(),
        }
        amplitudes = zip(self.robot.joint_names, spectrum.amplitude.T.tolist(), strict=True)
        return {
            "criterion": found.criterion.name,
            "value": found.value,
            "condition_number": found.condition_number,
            "condition_number_normalized": found.condition_number_normalized,
            "log_det": found.log_det,
            "predicted_std": self.predicted_std,
            "certificate": found.certificate.to_dict(),
            "seconds": found.seconds,
            "evaluations": found.evaluations,
            "seed": found.seed,
            "error_bounds": None if bounds is None else bounds.to_dict(),
            "robot": robot_data(self.robot, self.sha256),
            "parameters": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "estimated_along": list(found.beside),
            "known": list(found.known),
            **found.further,
            "duration": found.curve.duration,
            "periods": found.periods,
            "samples": found.samples,
            "noise": rows.noise if isinstance(rows, EnergyRows) and found.of_torques else found.noise.tolist(),
            "remarks": texts(self.notes),
            "not_checked": texts(self.not_checked),
            "files": files.to_dict(),
            "interrupted": found.interrupted,
            "starts": [{key: getattr(attempt, key) for key in KEPT_OF_A_START} for attempt in found.attempts],
            "spectrum": {
                "quantity": "acceleration",
                "frequency": spectrum.frequency.tolist(),
                "amplitude": dict(amplitudes),
            },
            "settings": self.settings,
            "versions": versions(),
        }


def time_limit(config: DesignSettings, elapsed: float = 0.0) -> Deadline:
    """Until when a configuration lets the search go on; elapsed [s]: of its time, already. A motion that is drawn has
    no such limit."""
    return Deadline.after(None if config.trajectory.drawn else config.time_limit, elapsed)


def _refuse_undriven(robot: Robot) -> None:
    """Coordinates that loops leave free and no drive moves; where a base is free, it is carried by its legs."""
    passive = [joint.name for joint in robot.joints if not joint.actuated and joint.name not in FREE_BASE_JOINTS]
    if passive:
        problem = f"no drive moves {named(passive)} of '{robot.name}', so no motion can be asked of that"
        raise MotionError(f"{problem}; name a drive that does (actuated: …), or lock the joint")


def design(
    robot: Robot | str | Path,
    trajectory: Trajectory | RandomMotion | str | Mapping[str, Any] | None = None,
    *,
    settings: DesignSettings | FileContent = None,
    constraints: ConstraintSettings | Constraint | Obstacle | Sequence[Constraint | Obstacle] = (),
    actuators: ActuatorSettings | FileContent = None,
    information: ArrayLike | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    deadline: Deadline | None = None,
    workers: Workers | None = None,
    progress: Callable[[Progress], None] | None = None,
    **changes: Any,
) -> Designed:
    """The best motion within all limits, or a drawn one; progress is told of every start.

    trajectory: the family to search in (``Fourier`` from rest to rest unless given), or the kind of motion to draw.
    settings: a whole design as an object, a YAML file or its content; keywords change it: criterion, starts, seed,
    jobs, noise, terms, periods, rate, … (fields of ``DesignSettings`` and ``MotionSettings``). constraints: in addition
    to what the robot itself asks for (torque, self-collision, the ground), obstacles among them; or
    ``ConstraintSettings`` in place of these. actuators: that the motion is for drives without torque sensors, by their
    control law (``ActuatorSettings``, or a settings file with ``actuators:``); the family, unless its word is given, is
    then searched, too. information (b, b): about the base parameters, from earlier experiments,
    beside that of ``prior`` (the inverse of an estimate's covariance). checkpoint: a file that keeps completed starts;
    one of before counts only when it is to be resumed. deadline: that of the settings, counted from now, unless given;
    one that is given leaves time for the files, too. workers: a ``Cluster`` for the starts, in place of jobs.

    >>> above = ex.HalfSpace(robot, "tool", normal=(0, 0, 1), offset=-0.5)
    >>> motion = ex.design(robot, ex.Fourier(period=5, harmonics=3), constraints=[above], starts=1)
    >>> motion.certificate.certified
    True
    >>> folder = motion.save("motion")  # trajectory.csv, trajectory.json, design.json, report.html, …"""
    config = designed_settings(settings, trajectory, constraints, changes)
    robot, options = loaded(robot, config.robot)
    _refuse_undriven(robot)
    config, sha256 = replace(config, robot=options), description_hash(robot)
    checkpoint = None if checkpoint is None else path_of(checkpoint, "the checkpoint")
    model, chosen, limits = config.model(robot), config.motion, config.constraints_of(robot)
    if actuators is not None:
        if information is not None or checkpoint is not None:
            raise ExciterError("information and checkpoint are for base parameters; leave them out for actuators")
        until = time_limit(config) if deadline is None else deadline
        return Designed(
            design=_for_drives(model, config, actuators, trajectory, limits, until, progress),
            config=config,
            sha256=sha256,
        )
    columns, prior = config.columns_of(model, known_before(model, information))
    remarks = () if config.parameters is None else config.parameters.notes(prior)
    judged: dict[str, Any] = {
        "noise": config.noise_of(robot),
        "columns": columns,
        "formulation": config.formulation_of(),
        "prior": prior,
        "samples": config.samples,
    }
    if isinstance(chosen, RandomPoints | RandomSpline):
        if checkpoint is not None:
            refuse_foreign(checkpoint)
        motion = draw(robot, chosen, limits, seed=config.seed, periods=config.periods, ramps=config.ramps(robot))
        drawn = drawn_design(model, motion, criterion=config.criterion_of(model, motion.trajectory, columns), **judged)
        if checkpoint is not None:
            discard(checkpoint)
        return Designed(design=replace(drawn, notes=(*drawn.notes, *remarks)), config=config, sha256=sha256)
    found = search.design(
        model,
        chosen,
        criterion=config.criterion_of(model, columns=columns),
        constraints=limits,
        **judged,
        ramps=config.ramps(robot),
        periods=config.periods,
        duration_range=config.duration_range,
        seed=config.seed,
        starts=config.starts,
        race=config.race,
        workers=Processes(config.jobs) if workers is None else workers,
        time_limit=time_limit(config) if deadline is None else deadline,
        file_rate=None if deadline is None else config.rate,
        checkpoint=checkpoint,
        resume=resume,
        progress=progress,
    )
    return Designed(design=replace(found, notes=(*found.notes, *remarks)), config=config, sha256=sha256)


def _for_drives(
    model: DynamicModel,
    config: DesignSettings,
    actuators: ActuatorSettings | FileContent,
    trajectory: Any,
    limits: tuple[Constraint, ...],
    deadline: Deadline,
    progress: Callable[[Progress], None] | None,
) -> Design:
    """By the information of commands and encoders, in families whose settings are searched."""
    from exciter.identification.actuators.actuator_settings import DRIVE_FAMILIES, ActuatorSettings
    from exciter.identification.actuators.drive_design import design_for_drives

    asked = actuators if isinstance(actuators, ActuatorSettings) else SettingsFile.read(actuators).actuators
    if "trajectory" in config.given:
        word = config.trajectory.family
        if word not in DRIVE_FAMILIES or not isinstance(trajectory, str | None):
            raise ExciterError(
                f"{config.place('trajectory')} is {shown(word)}; a motion for drives is one of "
                f"{', '.join(DRIVE_FAMILIES)}, by the word alone: duration and band are in actuators: motion"
            )
        asked = replace(asked, motion=replace(asked.motion, families=(word,)))
    if "criterion" in config.given:
        asked = replace(asked, motion=replace(asked.motion, criterion=config.criterion))
    return design_for_drives(
        model,
        asked,
        constraints=limits,
        rate=config.rate,
        periods=config.periods,
        ramps=config.ramps(model.robot),
        starts=config.starts,
        seed=config.seed,
        deadline=deadline,
        progress=progress,
    )


def known_before(model: DynamicModel, information: ArrayLike | None) -> Array | None:
    """(b, b) information on the base parameters, beside that of earlier motions."""
    if information is None:
        return None
    given, b = np.asarray(information, dtype=float), len(model.base)
    if given.shape != (b, b):
        raise ExciterError(f"information has shape {given.shape}; this model has {b} base parameters: give {b} × {b}")
    return given


def designed_settings(
    given: DesignSettings | FileContent,
    trajectory: Trajectory | RandomMotion | str | Mapping[str, Any] | None,
    constraints: ConstraintSettings | Constraint | Obstacle | Sequence[Constraint | Obstacle],
    changes: Mapping[str, Any],
) -> DesignSettings:
    config, of_motion = design_settings(given), settings_fields(MotionSettings)
    refuse_unknown(changes, DesignSettings, MotionSettings)
    run = {key: value for key, value in changes.items() if key in of_motion}
    if isinstance(trajectory, str | Mapping):  # as a file says it
        config = replace(config, trajectory=fill(MotionSettings, trajectory, "trajectory"))
    elif trajectory is not None:
        run["motion"] = trajectory
        # another family starts from its own defaults
        if isinstance(trajectory, DRAWN_FAMILIES) and not config.trajectory.drawn:
            run = {"periods": MotionSettings.periods, "duration_range": None, **run}
    top = {key: value for key, value in changes.items() if key not in of_motion}
    if isinstance(constraints, ConstraintSettings):
        top["constraints"] = constraints
    elif constraints:
        more = constraints if isinstance(constraints, list | tuple) else (constraints,)
        top["constraints"] = replace(config.constraints, further=(*config.constraints.further, *more))
    said = {key: key for key in (*top, *(("trajectory",) if trajectory is not None else ()))}
    config = replace(config, given={**config.given, **said})
    return changed(replace(config, trajectory=changed(config.trajectory, run)), top)
