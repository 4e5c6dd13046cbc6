"""A motion for a robot, searched or drawn as a configuration asks, and all that design.json says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exciter.dynamics.model import DynamicModel
from exciter.excitation import design as search
from exciter.excitation.certificate.unchecked import unchecked
from exciter.excitation.criteria.energy_rows import EnergyRows
from exciter.excitation.deadline import Deadline
from exciter.excitation.design import Design
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.files.export import Exported
from exciter.excitation.optimiser.checkpoint import discard, refuse_foreign
from exciter.excitation.optimiser.multistart import Progress
from exciter.excitation.trajectories.spectrum import acceleration_spectrum
from exciter.excitation.validation_motion.draw import RandomMotion, draw
from exciter.excitation.validation_motion.drawn_design import drawn_design
from exciter.excitation.validation_motion.random_points import RandomPoints
from exciter.excitation.validation_motion.random_spline import RandomSpline
from exciter.pipeline.provenance import robot_data, versions
from exciter.robot.robot import Robot


@dataclass(frozen=True, eq=False, kw_only=True)
class Designed:
    """A certified motion and what asked for it. sha256: of the robot's description."""

    design: Design
    config: DesignSettings
    sha256: str | None

    @property
    def robot(self) -> Robot:
        return self.design.model.robot

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was assumed of the robot, and how the motion was found."""
        return (*self.robot.remarks, *self.design.words)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """What the certificate does not speak of."""
        return unchecked(self.robot, self.design.constraints, self.design.certificate)

    def to_dict(self, files: Exported) -> dict[str, Any]:
        """design.json: the promised keys first, then what else is worth keeping. files: those it belongs to."""
        found, config, rows = self.design, self.config, self.config.formulation_of()
        parameters = _parameters(found)
        return {
            "criterion": found.criterion.name,
            "value": found.value,
            "condition_number": found.condition_number,
            "condition_number_normalized": found.condition_number_normalized,
            "log_det": found.log_det,
            "predicted_std": {one["name"]: one["predicted_std"] for one in parameters},
            "certificate": found.certificate.to_dict(),
            "seconds": found.seconds,
            "evaluations": found.evaluations,
            "seed": found.seed,
            "robot": robot_data(self.robot, self.sha256),
            "parameters": parameters,
            "duration": found.curve.duration,
            "periods": found.periods,
            "samples": found.samples,
            "noise": rows.noise if isinstance(rows, EnergyRows) else found.noise.tolist(),
            "remarks": list(self.remarks),
            "not_checked": list(self.not_checked),
            "files": files.to_dict(),
            "interrupted": found.interrupted,
            "starts": [{key: getattr(attempt, key) for key in STARTS} for attempt in found.attempts],
            "spectrum": _spectrum(found),
            "settings": config.to_dict(),
            "versions": versions(),
        }


STARTS = ("number", "value", "feasible", "complete", "evaluations", "seconds")  #: what is kept of each


def _parameters(found: Design) -> list[dict[str, Any]]:
    """Name, expression, unit, the description's value, and the predicted standard deviation of every parameter."""
    model, base = found.model, found.model.base
    kept = [model.units[k] for k in base.independent]
    columns = zip(base.names, base.expressions, kept, base.base_values(model.nominal), found.predicted_std, strict=True)
    return [
        {"name": name, "expression": expression, "unit": unit, "nominal": float(value), "predicted_std": float(std)}
        for name, expression, unit, value, std in columns
    ]


def _spectrum(found: Design) -> dict[str, Any]:
    """Amplitudes of the accelerations by joint."""
    spectrum = acceleration_spectrum(found.trajectory, found.delta)
    rows = zip(found.model.robot.joint_names, spectrum.amplitude.T.tolist(), strict=True)
    return {"quantity": "acceleration", "frequency": spectrum.frequency.tolist(), "amplitude": dict(rows)}


def time_limit(config: DesignSettings, elapsed: float = 0.0) -> Deadline:
    """Until when a configuration lets the search go on; elapsed [s]: of its time, already. A motion that is drawn has
    no such limit."""
    return Deadline.after(None if config.trajectory.drawn else config.time_limit, elapsed)


def design(
    robot: Robot,
    config: DesignSettings,
    *,
    sha256: str | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    deadline: Deadline | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Designed:
    """The best motion within all limits, or a drawn one, as the configuration says; progress is told of every start.

    checkpoint: a file that keeps completed starts; one of before counts only when it is to be resumed. deadline: that
    of the configuration, counted from now, unless given.
    """
    model, chosen = config.model(robot), config.motion
    if isinstance(chosen, RandomPoints | RandomSpline):
        if checkpoint is not None:
            refuse_foreign(checkpoint)
        drawn = _drawn(config, model, chosen)
        if checkpoint is not None:
            discard(checkpoint)
        return Designed(design=drawn, config=config, sha256=sha256)
    found = search.design(
        model,
        chosen,
        criterion=config.criterion_of(model),
        noise=config.noise_of(robot),
        constraints=config.constraints_of(robot),
        formulation=config.formulation_of(),
        prior=config.prior_information(model),
        samples=config.samples,
        ramps=config.ramps(robot),
        periods=config.periods,
        duration_range=config.duration_range,
        seed=config.seed,
        starts=config.starts,
        jobs=config.jobs,
        time_limit=time_limit(config) if deadline is None else deadline,
        file_rate=config.rate,
        checkpoint=checkpoint,
        resume=resume,
        progress=progress,
    )
    return Designed(design=found, config=config, sha256=sha256)


def _drawn(config: DesignSettings, model: DynamicModel, settings: RandomMotion) -> Design:
    """A random motion instead of the best one."""
    robot = model.robot
    drawn = draw(
        robot,
        settings,
        config.constraints_of(robot),
        seed=config.seed,
        periods=config.periods,
        ramps=config.ramps(robot),
    )
    return drawn_design(
        model,
        drawn,
        criterion=config.criterion_of(model, drawn.trajectory),
        noise=config.noise_of(robot),
        formulation=config.formulation_of(),
        prior=config.prior_information(model),
        samples=config.samples,
    )
