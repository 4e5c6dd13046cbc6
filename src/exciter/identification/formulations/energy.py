"""The energy model [12.38]–[12.49]: what the drives put in between two instants, the robot stores or friction takes.

∫ q̇ᵀΓ dt = (Δh + ∫ q̇ᵀ friction dt) χ, one equation per interval. No accelerations and no filter: the integral is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError, shown
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.resample import peeked, segments
from exciter.experiment.signals.rows import Rows
from exciter.identification.formulations.derivative import CONTINUED
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.power_balance import balance_rows, even, uneven
from exciter.settings import Number, Switch
from exciter.typing import Array

NAME = "energy"
REACH = 1  # samples beyond an interval that its integral looks at


@dataclass(frozen=True)
class Energy(Formulation):
    """interval [s] of one equation; step [s] from one interval to the next, the interval unless given.

    Steps shorter than the interval make equations that share samples, and errors: more rows, hardly more knowledge;
    ``Rows.bandwidth``, that of an integral over the interval, says what they are worth. Both are rounded to samples.

    even: equations divided by the size of their errors, which grow with speed (``power_balance``); y is then energy
    over speed [N·m·s]. Without it rows are those of [12.49], in J, and a covariance that takes their errors as alike
    is too small.
    """

    word, title = "energy", "the energy model"
    interval: Annotated[float, Number(above=0.0, unit="s")] = 0.05
    step: Annotated[float | None, Number(above=0.0, unit="s")] = None
    even: Switch = True

    def __post_init__(self) -> None:
        if not 0.0 < self.interval < float("inf"):
            raise ParameterError(f"interval is {shown(self.interval)}; give a positive number of seconds")
        if self.step is not None and not 0.0 < self.step <= self.interval:
            raise ParameterError(f"step is {shown(self.step)}; give seconds, more than 0 and at most {self.interval:g}")

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: NDArray[np.int64]) -> Iterator[Rows]:
        beginning, stream = peeked(balance_rows(model, pieces, columns, NAME), 1, Rows.join)
        if beginning is None:
            return
        work = _Work.plan(self, beginning.rate)
        for segment in segments(_alike(stream, beginning.rate), CONTINUED / beginning.rate):
            yield from map(even if self.even else uneven, work.segment(segment))

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return (NAME,)


@dataclass(frozen=True)
class _Work:
    """length, step: of an interval and from one to the next, in samples."""

    length: int
    step: int
    rate: float

    @classmethod
    def plan(cls, settings: Energy, rate: float) -> _Work:
        length = max(1, round(settings.interval * rate))
        step = length if settings.step is None else max(1, round(settings.step * rate))
        return cls(length, step, rate)

    def segment(self, parts: Iterable[Rows]) -> Iterator[Rows]:
        """Intervals begin at every ``step``-th sample of the segment, counted from its second."""
        held, total = list[Rows](), 0
        for part in parts:
            held.append(part)
            total += len(part)
            count = (total - 2 * REACH - 1 - self.length) // self.step + 1
            if count > 0:
                whole = Rows.join(held)
                yield self._intervals(whole, REACH + self.step * np.arange(count))
                held, total = [whole[count * self.step :]], total - count * self.step

    def _intervals(self, rows: Rows, start: NDArray[np.int64]) -> Rows:
        p, end = len(rows.parameters) // 2, start + self.length
        given = rows.sides[:, 0].T
        integral = _integral(given[p:], 1.0 / self.rate)
        sides = integral[:, end] - integral[:, start]
        sides[:p] += given[:p, end] - given[:p, start]
        sides[p - 1] /= self.length / self.rate  # mean of the variance, not its integral
        sides.flags.writeable = False
        return replace(
            rows,
            time=0.5 * (rows.time[start] + rows.time[end]),
            sides=sides.T[:, None, :],
            rate=self.rate / self.step,
            bandwidth=0.5 * self.rate / self.length,
            parameters=rows.parameters[p:],
        )


def _integral(values: Array, spacing: float) -> Array:
    """Running integral of samples (…, N), zero at the second, up to the last but one.

    From one sample to the next of the cubic through the four around them: the trapezium rule less its error at both
    ends of an interval, as far as central differences know it (Euler and Maclaurin). Error of order spacing⁴. Both
    sides of an equation are summed with it, so that only its error for dh/dt counts, which is smooth; kinks of |q̇|
    where friction changes sign cancel.
    """
    integral = np.zeros_like(values)
    inner, outer = values[..., 1:-2] + values[..., 2:-1], values[..., :-3] + values[..., 3:]
    np.cumsum((13.0 * inner - outer) * (spacing / 24.0), axis=-1, out=integral[..., 2:-1])
    return integral


def _alike(stream: Iterable[Rows], rate: float) -> Iterator[Rows]:
    for rows in stream:
        if abs(rows.rate / rate - 1.0) > 1e-9:
            raise RecordingError(f"samples at {rows.rate:g} Hz follow others at {rate:g} Hz; identify from them apart")
        yield rows
