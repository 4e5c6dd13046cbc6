"""Evidence that checks read: the survey of all samples, windows of them, and the robot's model. Computed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.quality.delays import Delays, delays_of
from exciter.experiment.quality.joint_order_and_signs import Arrangement, arrangement_of, driving_friction
from exciter.experiment.quality.sample_survey import RestTimes, Survey, rest_of
from exciter.experiment.quality.smoothed_log import EffortRows, Smooth, smooth, uniform_pieces
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.recording import Recording
from exciter.parameters.consistency import consistency, dummies
from exciter.parameters.terms import Coulomb, JointTerm, Offset, RotorInertia, Viscous
from exciter.robot.robot import Robot
from exciter.typing import Array

SIGNAL_UNITS = {"q": ("rad", "m"), "qd": ("rad/s", "m/s"), "torque": ("N·m", "N")}  # where joints turn, and slide
OUTLIER_POSITION_SHARE = 0.01  # share of positions at either end that may be outliers
USUAL_TERMS: tuple[JointTerm, ...] = (RotorInertia(), Viscous(), Coulomb(), Offset())
FOREIGN_UNIT_SIZES = {"deg": 180.0 / np.pi, "mm": 1000.0}
TWO_TURNS_RAD = 4.0 * np.pi  # [rad] positions beyond two turns are rare without a description that says so
FAR_OUTSIDE_RANGE_SHARE = 1.0  # of the allowed range, beyond its ends: more than a wrong zero
LIMIT_TOLERANCE_SHARE = 0.1  # of the allowed range: limits of descriptions are not exact
REWEIGHTED_FITS = 3  # fits, each with the residuals of the one before as noise
SINGULAR_EXCITATION = 1e-10  # relative singular value of rows with unit columns that is none
UNEXCITED_SHARE = 1e-6  # share in a combination that the motion does not show


class Evidence(Survey):
    """The robot's joints are those of the pieces, in the same order; its gravity is as the recording says. effort_name:
    torque, or current in its place; gains (n,): turn it into torque, where it is a current and they are known."""

    def __init__(
        self,
        pieces: Iterable[Recording],
        limits: Thresholds,
        robot: Robot | None = None,
        model: DynamicModel | None = None,
        planned: Curve | None = None,
    ) -> None:
        super().__init__(pieces, robot, limits)
        if robot is not None and self.about.gravity is not None:
            robot = replace(robot, gravity=np.array(self.about.gravity))
        self.limits, self.robot, self.given_model, self.planned = limits, robot, model, planned
        self.effort_name = next((name for name in ("torque", "current") if name in self.signals), None)
        of_current, known = self.effort_name == "current", self.about.gains
        self.gains = np.array(known) if of_current and known is not None else None
        self.effort_unit = "A" if of_current and known is None else "N·m"

    @cached_property
    def windows(self) -> tuple[Recording, ...]:
        return self.spread.windows()

    @property
    def channels(self) -> Iterator[tuple[str, int, str, list[Array]]]:
        """Signal, number and name of the joint, and values (K,) of every window."""
        for name, (j, joint) in product(self.signals, enumerate(self.joints)):
            yield name, j, joint, [getattr(window, name)[:, j] for window in self.windows]

    def unit(self, signal: str, j: int) -> str:
        """Of a signal of joint j. Without a robot joints turn."""
        slides = self.robot is not None and self.robot.joints[j].is_prismatic
        return SIGNAL_UNITS[signal][slides] if signal in SIGNAL_UNITS else "A"

    # -- the motion ------------------------------------------------------------------------------------------------

    @cached_property
    def pieces(self) -> tuple[Recording, ...]:
        interval = self.timing.interval
        gap = max(self.limits.long_gap, 3.0 * interval)
        return tuple(uniform_pieces(self.windows, self.effort_name, self.gains, interval, gap))

    @cached_property
    def smooth(self) -> Smooth | None:
        """None when the log is too short or too torn for a filter."""
        return smooth(self.pieces, self.timing.interval, self.limits.most_rows)

    @cached_property
    def rest(self) -> RestTimes:
        return rest_of(self.coarse, self.limits)

    @cached_property
    def foreign_units(self) -> dict[int, str]:
        """deg or mm, by joint whose positions look like it; wrong single samples and angles that wrap do not count."""
        q = np.concatenate([window.q for window in self.windows])
        if not np.isfinite(q).any(axis=0).all():
            return {}
        low, high = np.nanquantile(q, (OUTLIER_POSITION_SHARE, 1.0 - OUTLIER_POSITION_SHARE), axis=0)
        found = foreign_units(low, high, self.robot)
        return {j: name for j, name in found.items() if j not in self.spikes.turns}

    # -- the robot -------------------------------------------------------------------------------------------------

    @cached_property
    def inertias_known(self) -> bool:
        """Whether the description's inertias can be those of the robot: physical, and no placeholders."""
        return self.robot is not None and not dummies(self.robot) and consistency(self.robot.inertias).consistent

    @cached_property
    def rows(self) -> EffortRows | None:
        """Of the model given, or of rigid bodies with rotor inertia, friction and offset; gravity as the recording
        says. None without effort, robot or rows at all."""
        if self.robot is None or self.smooth is None or self.smooth.effort is None:
            return None
        model = self.given_model or DynamicModel(self.robot, USUAL_TERMS)
        model = model if model.robot is self.robot else replace(model, robot=self.robot)
        regressor = model.base.project(model.regressor(self.smooth.motion))
        return EffortRows(self.smooth, self.smooth.effort, model, regressor)

    @cached_property
    def excitation(self) -> Excitation | None:
        """None where rows are fewer than twice the parameters, or missing altogether."""
        if self.rows is None or self.rows.effort.size < 2 * self.rows.regressor.shape[2]:
            return None
        names, independent = self.rows.model.base.names, self.rows.smooth.independent
        return excitation_of(self.rows.regressor, self.rows.effort, names, independent)

    @cached_property
    def arrangement(self) -> Arrangement:
        """What is wrong with joint order and signs."""
        if self.rows is None:
            return Arrangement()
        if not self.inertias_known:
            return Arrangement(driving=driving_friction(self.rows, self.limits))
        return arrangement_of(self.rows, self.limits, of_torque=self.effort_unit == "N·m")

    @cached_property
    def delays(self) -> Delays | None:
        """None without effort, or without rows at all."""
        if self.smooth is None or self.smooth.effort is None:
            return None
        regressor = None if self.rows is None else self.rows.regressor
        return delays_of(self.smooth, regressor, self.about.period)


def foreign_units(low: Array, high: Array, robot: Robot | None) -> dict[int, str]:
    """deg or mm by joint whose positions (n,) lie far outside of what is allowed, and within it when converted. A log
    that has most of its angles in degrees has all of them so, where they fit."""
    if robot is None:
        return dict.fromkeys(np.flatnonzero(np.maximum(np.abs(low), np.abs(high)) > TWO_TURNS_RAD).tolist(), "deg")
    slides = np.array([joint.is_prismatic for joint in robot.joints])
    lower, upper = robot.position_range()
    span = upper - lower
    size = np.where(slides, FOREIGN_UNIT_SIZES["mm"], FOREIGN_UNIT_SIZES["deg"])
    far = (low < lower - FAR_OUTSIDE_RANGE_SHARE * span) | (high > upper + FAR_OUTSIDE_RANGE_SHARE * span)
    fits = (low / size >= lower - LIMIT_TOLERANCE_SHARE * span) & (high / size <= upper + LIMIT_TOLERANCE_SHARE * span)
    angles = fits & ~slides
    found = far & fits | angles if 2 * (far & angles).sum() > (~slides).sum() else far & fits
    return {j: "mm" if slides[j] else "deg" for j in np.flatnonzero(found).tolist()}


@dataclass(frozen=True, eq=False)
class Excitation:
    """condition: with columns of unit length, rows over their noise. values, std, inflation (b,) of the base
    parameters: a plain fit, its predicted σ, and how many times σ exceeds that with all other parameters known. noise
    (n,): what the fit leaves of the torque [N·m or A]."""

    names: tuple[str, ...]
    condition: float
    values: Array
    std: Array
    inflation: Array
    noise: Array


def excitation_of(rows: Array, effort: Array, names: tuple[str, ...], independent: float) -> Excitation:
    """From rows (N, n, b) and effort (N, n), worth ``independent`` samples."""
    samples, n, b = rows.shape
    size = np.sqrt(np.mean(effort**2, axis=0))
    noise = np.where(size > 0, size, 1.0)
    values = np.zeros(b)
    condition, inflation, norms = np.inf, np.full(b, np.inf), np.zeros(b)
    for _ in range(REWEIGHTED_FITS):
        w = (rows / noise[:, None]).reshape(-1, b)
        norms = np.linalg.norm(w, axis=0)
        length = np.where(norms > 0, norms, 1.0)
        stacked = np.column_stack([w / length, (effort / noise).ravel()])
        triangle: Array = np.asarray(np.linalg.qr(stacked, mode="r"))
        u, s, vt = np.linalg.svd(triangle[:b, :b])
        kept = s > SINGULAR_EXCITATION * s[0]
        condition = float(s[0] / s[-1]) if kept.all() else np.inf
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        values = vt.T @ (inverse * (u.T @ triangle[:b, b])) / length
        inflation = np.linalg.norm(vt.T * inverse, axis=1)
        inflation[(np.abs(vt[~kept]) > UNEXCITED_SHARE).any(axis=0)] = np.inf
        left = np.sqrt(np.mean((effort - rows @ values) ** 2, axis=0))
        lost = np.sqrt(max(1.0 - b / (n * max(independent, 1.0)), 0.1))
        noise = np.maximum(left / lost, 1e-9 * np.where(size > 0, size, 1.0))
    inflation[norms == 0] = np.inf
    std = inflation / np.where(norms > 0, norms, 1.0) * np.sqrt(samples / max(independent, 1.0))
    return Excitation(names=names, condition=condition, values=values, std=std, inflation=inflation, noise=noise)
