"""What checks look at: the survey of all samples, windows of them, and what is known of the robot. Computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.quality.delay import Delays, delays_of
from exciter.experiment.quality.excitation import Excitation, excitation_of
from exciter.experiment.quality.match import Match, match
from exciter.experiment.quality.order import found_order
from exciter.experiment.quality.rest import Rest, rest_of
from exciter.experiment.quality.smooth import Piece, Smooth, smooth, uniform_pieces
from exciter.experiment.quality.survey import Survey
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.quality.units import foreign_units
from exciter.experiment.recording.recording import Recording
from exciter.notes import Note
from exciter.parameters.consistency import consistency, dummies
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot.robot import Robot
from exciter.typing import Array

RARE = 0.01  # share of positions at either end that may be outliers
USUAL_TERMS = (RotorInertia(), Viscous(), Coulomb(), Offset())


@dataclass(frozen=True, eq=False)
class Evidence:
    """The robot's joints are those of the survey, in the same order."""

    survey: Survey
    thresholds: Thresholds
    robot: Robot | None = None
    given_model: DynamicModel | None = None
    planned: Curve | None = None

    @property
    def joints(self) -> tuple[str, ...]:
        return self.survey.joints

    @property
    def signals(self) -> tuple[str, ...]:
        return self.survey.signals

    @cached_property
    def windows(self) -> tuple[Recording, ...]:
        return self.survey.windows.windows()

    # -- effort: torque, or current in its place -------------------------------------------------------------------

    @property
    def effort_name(self) -> str | None:
        return next((name for name in ("torque", "current") if name in self.signals), None)

    @property
    def gains(self) -> Array | None:
        """(n,) that turn the effort into torque, where it is a current and they are known."""
        known = self.survey.about.gains
        return np.array(known) if self.effort_name == "current" and known is not None else None

    @property
    def effort_unit(self) -> str:
        return "A" if self.effort_name == "current" and self.gains is None else "N·m"

    # -- the motion ------------------------------------------------------------------------------------------------

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        interval = self.survey.timing.interval
        gap = max(self.thresholds.long_gap, 3.0 * interval)
        return tuple(uniform_pieces(self.windows, self.effort_name, self.gains, interval, gap))

    @cached_property
    def smooth(self) -> Smooth | None:
        """None when the log is too short or too torn for a filter."""
        return smooth(self.pieces, self.survey.timing.interval, self.thresholds.most_rows)

    @cached_property
    def rest(self) -> Rest:
        return rest_of(self.survey.coarse, self.thresholds)

    @cached_property
    def foreign_units(self) -> dict[int, str]:
        """deg or mm, by joint whose positions look like it; wrong single samples and angles that wrap do not count."""
        q = np.concatenate([window.q for window in self.windows])
        if not np.isfinite(q).any(axis=0).all():
            return {}
        low, high = np.nanquantile(q, (RARE, 1.0 - RARE), axis=0)
        found = foreign_units(low, high, self.robot)
        return {j: name for j, name in found.items() if j not in self.survey.spikes.turns}

    @property
    def degrees(self) -> bool:
        """Whether a position is in another unit than it should be."""
        return bool(self.foreign_units)

    # -- the robot -------------------------------------------------------------------------------------------------

    @cached_property
    def model(self) -> DynamicModel | None:
        """The model given, or rigid bodies with rotor inertia, friction and offset; gravity as the recording says."""
        if self.robot is None:
            return None
        model = self.given_model or DynamicModel(self.robot, USUAL_TERMS)
        return model if model.robot is self.robot else replace(model, robot=self.robot)

    @cached_property
    def inertias_known(self) -> bool:
        """Whether the description's inertias can be those of the robot: physical, and no placeholders."""
        return self.robot is not None and not dummies(self.robot) and consistency(self.robot.inertias).consistent

    @cached_property
    def match(self) -> Match | None:
        """Measured against model torques, where inertias are known."""
        if self.model is None or not self.inertias_known or self.smooth is None or self.smooth.effort is None:
            return None
        return match(DynamicModel(self.model.robot), self.smooth.motion, self.smooth.effort)

    @cached_property
    def excitation(self) -> Excitation | None:
        """None where rows are fewer than twice the parameters, or missing altogether."""
        rows, data = self.regressor, self.smooth
        if rows is None or data is None or data.effort is None or self.model is None:
            return None
        if rows.shape[0] * rows.shape[1] < 2 * rows.shape[2]:
            return None
        return excitation_of(rows, data.effort, self.model.base.names, data.independent)

    @cached_property
    def order(self) -> tuple[Note, ...]:
        """What is wrong with joint order and signs."""
        return tuple(found_order(self))

    @cached_property
    def delays(self) -> Delays | None:
        """None without effort, or without rows at all."""
        if self.smooth is None or self.smooth.effort is None:
            return None
        return delays_of(self.smooth, self.regressor, self.survey.about.period)

    @cached_property
    def regressor(self) -> Array | None:
        """(N, n, b) base columns of the rows of ``smooth``."""
        if self.model is None or self.smooth is None:
            return None
        return self.model.base.project(self.model.regressor(self.smooth.motion))
