"""When the log takes its samples, and which of them it loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ParameterError
from exciter.experiment.virtual.numbers import stream
from exciter.settings import Fraction, Number, Settings, Switch
from exciter.typing import Array

WIDEST = 0.45  # of an interval: instants keep their order
JITTER = WIDEST / 3.0  # of an interval: three standard deviations are as wide


@dataclass(frozen=True)
class Sampling(Settings):
    """rate [Hz]; jitter: standard deviation of the instants [s], whose stamps are true, up to 15 % of an interval, so
    that samples keep their order (the 0.3 % beyond three deviations are taken at most 0.45 intervals off); dropped:
    part of the samples that is lost, 0 … 1. lead_out: also log what follows a periodic part; then nothing is said of a
    period."""

    rate: Annotated[float, Number(above=0.0, most=1e6, unit="Hz")] = 500.0
    jitter: Annotated[float, Number(least=0.0, unit="s")] = 0.0
    dropped: Fraction = 0.0
    lead_out: Switch = False

    def __post_init__(self) -> None:
        if not 0.0 < self.rate <= 1e6:
            raise ParameterError(f"rate is {self.rate:g}; give 0 < rate ≤ 1e6 [Hz]")
        if not 0.0 <= self.jitter <= JITTER / self.rate:
            raise ParameterError(
                f"jitter is {self.jitter:g}; at {self.rate:g} Hz samples keep their order with 0 ≤ jitter ≤ "
                f"{JITTER / self.rate:.3g} [s], the standard deviation of their instants"
            )
        if not 0.0 <= self.dropped < 1.0:
            raise ParameterError(f"dropped is {self.dropped:g}; give a part of the samples, 0 ≤ dropped < 1")

    def instants(self, end: float, seed: int) -> Array:
        """(N,) [s] from 0 to ``end``, increasing."""
        planned = np.arange(int(np.floor(end * self.rate * (1.0 + 1e-12) + 1e-9)) + 1) / self.rate
        if self.jitter == 0.0:
            return np.asarray(planned)
        late = self.jitter * stream(seed, "instants").standard_normal(len(planned))
        return np.clip(planned + np.clip(late, -WIDEST / self.rate, WIDEST / self.rate), 0.0, end)

    def kept(self, count: int, seed: int) -> NDArray[np.bool_]:
        """(N,) which samples reach the log; the first and the last do."""
        kept = stream(seed, "dropped").random(count) >= self.dropped
        kept[[0, -1]] = True
        return kept
