"""How well parameters explain equations: per joint, and all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.identification.compressed import Compressed
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Residuals:
    """rms (J,): of measured less predicted [N·m or N]; signal (J,): rms of what was measured; rows (J,): how many."""

    joints: tuple[str, ...]
    rms: Array
    signal: Array
    rows: Array

    @classmethod
    def of(cls, compressed: Compressed, values: ArrayLike) -> Residuals:
        """Of parameters (p,) on equations; both sides as the equations have them, filtered or not."""
        rows = compressed.rows.sum(axis=0)
        rms = np.sqrt(compressed.squares(values).sum(axis=0) / np.maximum(rows, 1))
        return cls(compressed.joints, rms, np.sqrt(compressed.signal / np.maximum(rows, 1)), rows.astype(float))

    @property
    def percent(self) -> Array:
        """(J,) 100 · rms of the residual / rms of what was measured; NaN where a joint rests throughout."""
        return np.where(self.rows > 0.0, 100.0 * self.rms / np.maximum(self.signal, 1e-300), np.nan)

    @property
    def total_percent(self) -> float:
        """The same over all joints together."""
        squares, signal = (self.rows * self.rms**2).sum(), (self.rows * self.signal**2).sum()
        return float(100.0 * np.sqrt(squares / max(signal, 1e-300)))

    def to_dict(self) -> dict[str, Any]:
        rms = np.where(self.rows > 0.0, self.rms, np.nan).tolist()
        named = zip(self.joints, rms, self.percent.tolist(), strict=True)
        return {joint: {"rms": rms, "percent": percent} for joint, rms, percent in named}
