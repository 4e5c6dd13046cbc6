"""The energy model [12.38]–[12.49] and the power model [12.50]–[12.52]: what drives give is stored, or lost.

Energy: ∫ q̇ᵀΓ dt = (Δh + ∫ q̇ᵀ friction dt) χ, one equation per interval. No accelerations and no filter: the integral
is one. Power: F(s) q̇ᵀΓ = (s F(s) h + F(s) q̇ᵀ friction) χ, one equation per instant.

Both rest on the power balance of the robot, d/dt (h χ) + q̇ᵀ (friction columns) χ = q̇ᵀ Γ [12.50], sample by sample. Its
errors are those of the torque times the speed: q̇ᵀ e. Equations of fast motion are less certain than those of slow
motion, and a least-squares covariance that takes them as alike would be wrong; ``even`` divides every equation by the
size of its error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError, shown
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.processed_motion import Processed, remembered_pieces
from exciter.experiment.signals.resample import peeked, segments
from exciter.identification.formulations.formulation import (
    LONGEST_STEP_SAMPLES,
    Formulation,
    blocks,
    differentiated,
    instants_first,
    losses,
)
from exciter.settings import Number, Switch
from exciter.typing import Array, Index

#: of the velocity limit (of 1 rad/s or m/s without one): below, errors are not taken as getting smaller
LEAST_ERROR_SPEED_FRACTION = 0.01
ERROR_COLUMN = "error²"  #: the last column: variance of q̇ᵀ e for torque errors e of mean square one
ENERGY_EQUATION = "energy"
INTEGRAL_REACH = 1  # samples beyond an interval that its integral looks at
POWER_EQUATION = "power"


def balance_rows(model: DynamicModel, pieces: Iterable[Processed], columns: Index, name: str) -> Iterator[Rows]:
    """One equation per instant, called ``name``: W1 = h, then W2 = q̇ᵀ of the columns that store no energy, y = q̇ᵀ Γ;
    the last column of W1 is zero, of W2 ``ERROR_COLUMN``."""
    names = (*(model.standard[k] for k in columns), ERROR_COLUMN)
    p, limit = len(names), model.robot.limit("velocity")
    slow = LEAST_ERROR_SPEED_FRACTION * np.where(np.isfinite(limit), limit, 1.0)
    for memory, piece in remembered_pieces(model, pieces):
        if piece.silent:
            joints = ", ".join(model.robot.joint_names[j] for j in piece.silent)
            raise RecordingError(
                f"the torque of {joints} is unusable, and a balance of energy needs the power of every joint: use the "
                "dynamic or the filtered dynamic model"
            )
        if np.isfinite(piece.torque_bandwidth):  # q̇ᵀ Γ has the missing band of Γ shifted by the frequencies of q̇
            raise RecordingError(
                f"an analogue filter took away what the torque had above {piece.torque_bandwidth:.4g} Hz; its product "
                "with the velocity lacks that at other frequencies, too: use the dynamic or the filtered dynamic model"
            )
        friction, weight = losses(model, piece.motion, memory), _weight(piece)
        for part in blocks(len(piece)):
            motion = piece.motion[part]
            sides = np.zeros((1, 2 * p + 1, len(motion)))
            h = model.energy(motion)
            sides[0, : p - 1] = np.where(np.isnan(h), 0.0, h).T[columns]
            power = np.zeros((len(model.standard), len(motion)))  # q̇ᵀ of every column that stores no energy
            for joint, column, values in friction:
                power[column] += motion.qd[:, joint] * values[part]
            sides[0, p : 2 * p - 1] = power[columns]
            sides[0, 2 * p - 1] = (motion.qd**2 + slow**2) @ weight
            sides[0, -1] = (motion.qd * piece.torque[part]).sum(axis=1)
            yield Rows(motion.time, instants_first(sides), piece.rate, (name,), 2 * names)


def _without_error(rows: Rows, even: bool) -> Rows:
    """Without the last column, ``ERROR_COLUMN``; ``even``: all divided by its root."""
    size = np.sqrt(rows.sides[:, :, -2]) if even else np.ones(rows.sides.shape[:2])
    kept = np.delete(rows.sides.transpose(1, 2, 0), -2, axis=1) / size.T[:, None, :]
    return replace(rows, sides=instants_first(kept), parameters=rows.parameters[:-1])


def _weight(piece: Processed) -> Array:
    """(n,) variance of each joint's torque over their mean; alike where nothing is known of them."""
    n = piece.motion.n
    variance = np.ones(n) if piece.torque_noise is None else np.square(piece.torque_noise)
    usable = np.isfinite(variance).all() and (variance > 0.0).all()
    return np.asarray(variance / variance.mean()) if usable else np.ones(n)


@dataclass(frozen=True)
class Energy(Formulation):
    """One equation for each interval of time: work of the joints = change of energy + friction; no accelerations.

    interval [s] of one equation; step [s] from one interval to the next, the interval unless given.

    Steps shorter than the interval make equations that share samples, and errors: more rows, hardly more knowledge;
    ``Rows.bandwidth``, that of an integral over the interval, says what they are worth. Both are rounded to samples.

    even: equations divided by the size of their errors, which grow with speed (see above); y is then energy over speed
    [N·m·s]. Without it rows are those of [12.49], in J, and a covariance that takes errors as alike is too small.

    >>> found = ex.identify(robot, log, formulation=ex.Energy(interval=0.1), estimator=ex.WeightedLeastSquares())
    >>> found.identification.problem.formulation.interval
    0.1"""

    word, title = "energy", "the energy model"
    interval: Annotated[float, Number(above=0.0, unit="s")] = 0.05
    step: Annotated[float | None, Number(above=0.0, unit="s")] = None
    even: Switch = True

    def __post_init__(self) -> None:
        if self.step is not None and self.step > self.interval:
            raise ParameterError(f"step is {shown(self.step)}; give seconds, more than 0 and at most {self.interval:g}")

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
        beginning, stream = peeked(balance_rows(model, pieces, columns, ENERGY_EQUATION), 1)
        if beginning is None:
            return
        rate = beginning.rate
        length = max(1, round(self.interval * rate))
        step = length if self.step is None else max(1, round(self.step * rate))
        for segment in segments(_alike(stream, rate), LONGEST_STEP_SAMPLES / rate):
            for rows in _work(segment, length, step):
                yield _without_error(rows, self.even)

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return (ENERGY_EQUATION,)


def _work(parts: Iterable[Rows], length: int, step: int) -> Iterator[Rows]:
    """Of intervals of ``length`` samples that begin at every ``step``-th sample of a segment, from its second on."""
    held, total = list[Rows](), 0
    for part in parts:
        held.append(part)
        total += len(part)
        count = (total - 2 * INTEGRAL_REACH - 1 - length) // step + 1
        if count > 0:
            whole = Rows.join(held)
            yield _intervals(whole, INTEGRAL_REACH + step * np.arange(count), length, step)
            held, total = [whole[count * step :]], total - count * step


def _intervals(rows: Rows, start: Index, length: int, step: int) -> Rows:
    p, end, rate = len(rows.parameters) // 2, start + length, rows.rate
    given = rows.sides[:, 0].T
    integral = _integral(given[p:], 1.0 / rate)
    sides = integral[:, end] - integral[:, start]
    sides[:p] += given[:p, end] - given[:p, start]
    sides[p - 1] /= length / rate  # mean of the variance, not its integral
    return replace(
        rows,
        time=0.5 * (rows.time[start] + rows.time[end]),
        sides=instants_first(sides[None]),
        rate=rate / step,
        bandwidth=0.5 * rate / length,
        parameters=rows.parameters[p:],
    )


def _integral(values: Array, spacing: float) -> Array:
    """Running integral of samples (…, N), zero at the second, up to the last but one.

    From one sample to the next of the cubic through the four around them: the trapezium rule less its error at both
    ends of an interval, as far as central differences know it (Euler, Maclaurin): error of order spacing⁴. Both sides
    are summed with it, so only its error for smooth dh/dt counts; kinks of |q̇| where friction changes sign cancel."""
    integral = np.zeros_like(values)
    inner, outer = values[..., 1:-2] + values[..., 2:-1], values[..., :-3] + values[..., 3:]
    np.cumsum((13.0 * inner - outer) * (spacing / 24.0), axis=-1, out=integral[..., 2:-1])
    return integral


def _alike(stream: Iterable[Rows], rate: float) -> Iterator[Rows]:
    for rows in stream:
        if abs(rows.rate / rate - 1.0) > 1e-9:
            raise RecordingError(f"samples at {rows.rate:g} Hz follow others at {rate:g} Hz; identify from them apart")
        yield rows


@dataclass(frozen=True)
class Power(Formulation):
    """One equation for each sample, through a filter: power of the joints; no accelerations.

    parallel_filter: F, and how many rows are kept.

    even: equations divided by the size of their errors, which grow with speed, before the filter; y is then power
    over speed [N·m]. Without it rows are those of [12.52], in W, and a covariance that takes errors as alike too small.

    >>> found = ex.identify(robot, log, formulation=ex.Power(), estimator=ex.WeightedLeastSquares())
    >>> len(found.parameters) == len(found.model.base)
    True"""

    word, title = "power", "the power model"
    inner = ("parallel_filter",)
    parallel_filter: ParallelFilter = field(default_factory=ParallelFilter)
    even: Switch = True

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
        balance = differentiated(balance_rows(model, pieces, columns, POWER_EQUATION))
        return self.parallel_filter.stream(_without_error(rows, self.even) for rows in balance)

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return (POWER_EQUATION,)
