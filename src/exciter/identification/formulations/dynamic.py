"""The dynamic model, one equation per joint and instant: inverse [12.18], and filtered [12.27]–[12.37].

Γ = Φ(q, q̇, q̈) χ; without joint accelerations, F(s) Γ = (s F(s) B1 + F(s) B2) χ.

And the reaction on the base (12.8): six equations per instant from a force plate, without joint friction.
f, m = Φ_base(q, q̇, q̈) χ + offset. Whatever acts between links is not in it: drives, friction, springs, and the spin of
rotors as far as it is neglected. Nor is what does not change: the plate's zero and the weight of the base are six
offsets, and masses that only load the plate join them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from exciter.dynamics.base_reaction import BaseReaction
from exciter.dynamics.model import DynamicModel, random_states
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.recording.recording import WRENCH_COLUMNS, WRENCH_UNITS
from exciter.experiment.signals.contact_stretches import stretches
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows, model_rows
from exciter.experiment.signals.low_pass_filter import SecondOrder
from exciter.experiment.signals.processed_motion import Processed, remembered_pieces
from exciter.identification.formulations.formulation import Formulation, blocks, differentiated, instants_first, losses
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters, numeric_base
from exciter.parameters.base_symbolic import prismatic_links
from exciter.parameters.terms.friction import BoundDryFriction
from exciter.parameters.terms.term import PerJoint, per_joint
from exciter.settings import Number
from exciter.typing import Array, Index

WRENCH_EQUATIONS = tuple(f"base.{name}" for name in WRENCH_COLUMNS)
WRENCH_OFFSETS = tuple(f"off.{name}" for name in WRENCH_COLUMNS)
WRENCH_BLOCK_SAMPLES = 1024  # at a time
CONSTANT_COLUMN_TOLERANCE = 1e-9  # of a column: less is none


@dataclass(frozen=True)
class InverseDynamic(Formulation):
    """One equation for each joint and sample: the inverse dynamic model, W χ = τ.

    parallel_filter: through which both sides go, and are decimated [12.21]ff.; None: rows as measured.

    dead_zone [rad/s or m/s], one for all joints, by name or in order: a joint with dry friction that is slower has no
    equation. Friction at rest is whatever holds the joint, which no model of sliding tells; pre-sliding friction does.

    noise: σ of the equations, or their ratios, one for all joints, by name or in order, by which forces of contacts
    that were not measured are taken off; None: from the residuals, again and again until they agree.

    >>> found = ex.identify(robot, log, formulation=ex.InverseDynamic(), estimator=ex.WeightedLeastSquares())
    >>> found.fit[0].total_percent < 1.0
    True"""

    word, title = "dynamic", "the inverse dynamic model"
    inner = ("parallel_filter", "dead_zone", "noise")
    parallel_filter: ParallelFilter | None = None
    dead_zone: PerJoint = 0.0
    noise: PerJoint | None = None

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
        noise = 1.0 if self.noise is None else per_joint(self.noise, model.robot.joint_names, "noise")[:, 0]
        rows = model_rows(model, pieces, columns, dead_zone=self.zone(model), noise=noise)
        return rows if self.parallel_filter is None else self.parallel_filter.stream(rows)

    def zone(self, model: DynamicModel) -> Array:
        """(n,); zero for joints without dry friction."""
        zone = per_joint(self.dead_zone, model.robot.joint_names, "the dead zone")[:, 0]
        if not np.isfinite(zone).all() or (zone < 0.0).any():
            raise ParameterError(f"the dead zone is {zone.tolist()} rad/s or m/s; give numbers ≥ 0")
        sliding = [term for term in model.bound if isinstance(term, BoundDryFriction) and not term.has_memory]
        return np.where(np.isin(np.arange(model.n), [joint for term in sliding for joint, _ in term.rows]), zone, 0.0)


@dataclass(frozen=True)
class FilteredDynamic(Formulation):
    """The dynamic model through a filter, which differentiates: no accelerations are needed.

    parallel_filter: F, and how many rows are kept. a [rad/s]: F is a²/(s + a)² of [12.29] instead.

    B1 is differentiated (central difference) and goes through F like all the rest, so that s F(s) is what it is for
    any low-pass. The torque's analogue filter is respected as in ``ParallelFilter``.

    >>> found = ex.identify(robot, log, formulation=ex.FilteredDynamic(a=30.0), estimator=ex.WeightedLeastSquares())
    >>> found.fit[0].total_percent < 5.0
    True"""

    word, title = "filtered", "the filtered dynamic model, without accelerations"
    inner = ("parallel_filter",)
    parallel_filter: ParallelFilter = field(default_factory=ParallelFilter)
    a: Annotated[float | None, Number(above=0.0, unit="rad/s")] = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.a is not None:
            if self.parallel_filter not in (ParallelFilter(), ParallelFilter(SecondOrder.of(self.a))):
                raise ParameterError(f"a = {self.a:g} rad/s is a filter, and another is given: give one of them")
            object.__setattr__(self, "parallel_filter", ParallelFilter(SecondOrder.of(self.a)))

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
        return self.parallel_filter.stream(differentiated(_lagrange_rows(model, pieces, columns)))


def _lagrange_rows(model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
    """B1, then B2, as columns, and y = Γ."""
    names = tuple(model.standard[k] for k in columns)
    p = len(names)
    for memory, piece in remembered_pieces(model, pieces):
        refuse_unknown_forces(piece, FilteredDynamic.word)
        friction = losses(model, piece.motion, memory)
        for part in blocks(len(piece)):
            b1, b2 = model.momentum_rows(piece.motion[part])
            for joint, column, values in friction:  # those of the part alone remember nothing
                b2[:, joint, column] = values[part]
            sides = np.empty((model.n, 2 * p + 1, len(b1)))  # time last, as filters want it
            sides[:, :p] = b1.transpose(1, 2, 0)[:, columns]
            sides[:, p:-1] = b2.transpose(1, 2, 0)[:, columns]
            sides[:, -1] = piece.torque[part].T
            sides[list(piece.silent)] = 0.0
            yield Rows(
                time=piece.motion.time[part],
                sides=instants_first(sides),
                rate=piece.rate,
                joints=model.robot.joint_names,
                parameters=2 * names,
                torque_bandwidth=piece.torque_bandwidth,
                present=piece.present,
            )


def refuse_unknown_forces(piece: Processed, word: str) -> None:
    """Of contacts, where a formulation cannot take them off."""
    if any(stance for stance, _ in stretches(piece)):
        raise RecordingError(f"forces of contacts were not measured, and {word} cannot take them off; use dynamic")


@dataclass(frozen=True)
class BaseWrench(Formulation):
    """parallel_filter: through which both sides go, and are decimated; None: rows as measured.

    Standard parameters are the links' and the six offsets; parameters of joint terms do not appear."""

    word, title = "base-wrench", "the wrench on the base"
    inner = ("parallel_filter",)
    parallel_filter: ParallelFilter | None = None

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
        rows = _wrench_rows(model, pieces, columns)
        return rows if self.parallel_filter is None else self.parallel_filter.stream(rows)

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return WRENCH_EQUATIONS

    def units(self, model: DynamicModel) -> tuple[str, ...]:
        return inertial.units(model.robot.n_bodies) + WRENCH_UNITS

    def base(self, model: DynamicModel) -> BaseParameters:
        """Numerically, at random states: of what varies first; what is left constant joins the offsets."""
        names = inertial.names(model.robot.n_bodies)
        reaction = BaseReaction(model).regressor(random_states(model.robot, 20 * model.n + 20))
        varying = (reaction - reaction.mean(axis=0)).reshape(-1, len(names))
        found = numeric_base(varying, names, prismatic=prismatic_links(model.robot))
        constant = (reaction - reaction[:, :, found.independent] @ found.grouping).mean(axis=0)  # (6, p)
        constant[np.abs(constant) < CONSTANT_COLUMN_TOLERANCE * np.abs(reaction).max(axis=(0, 1))] = 0.0
        b, p = found.grouping.shape
        grouping = np.zeros((b + 6, p + 6))
        grouping[:b, :p], grouping[b:, :p], grouping[b:, p:] = found.grouping, constant, np.eye(6)
        return BaseParameters(
            standard=(*names, *WRENCH_OFFSETS),
            independent=np.append(found.independent, p + np.arange(6)),
            grouping=grouping,
            decision=replace(found.decision, rank=b + 6),
            method=f"{found.method}, and six offsets",
        )


def _wrench_rows(model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
    reaction, names = BaseReaction(model), (*inertial.names(model.robot.n_bodies), *WRENCH_OFFSETS)
    parameters = tuple(names[k] for k in columns)
    for piece in pieces:
        if piece.wrench is None:
            raise RecordingError(
                "no wrench on the base was recorded; give a log that has one (base.fx … base.mz, or wrench: in "
                "recording.yaml), or use another formulation"
            )
        for part in blocks(len(piece), WRENCH_BLOCK_SAMPLES):
            phi = reaction.regressor(piece.motion[part]).transpose(1, 2, 0)
            sides = np.empty((6, len(columns) + 1, phi.shape[2]))  # time last, as filters want it
            offsets = np.broadcast_to(np.eye(6)[:, :, None], (6, 6, phi.shape[2]))
            sides[:, :-1] = np.concatenate([phi, offsets], axis=1)[:, columns]
            sides[:, -1] = piece.wrench[part].T
            yield Rows(piece.motion.time[part], instants_first(sides), piece.rate, WRENCH_EQUATIONS, parameters)
