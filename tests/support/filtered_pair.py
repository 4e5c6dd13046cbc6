"""Torques measured and predicted through one filter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.typing import Array


def filtered_pair(
    measured: Array, predicted: Array, rate: float, parallel_filter: ParallelFilter, torque_bandwidth: float = np.inf
) -> tuple[Array, Array]:
    """Torques (N, n) [N·m] through the same filter, edges and decimation; torque_bandwidth: as in ``Processed``."""
    if measured.shape != predicted.shape or measured.ndim != 2:
        raise RecordingError(f"measured torque {measured.shape} and predicted {predicted.shape} must both be (N, n)")
    joints, time = [f"joint {j + 1}" for j in range(measured.shape[1])], np.arange(len(measured)) / rate
    rows = Rows.of(time, predicted[:, :, None], measured, rate, joints, ["predicted"])
    both = parallel_filter.apply(replace(rows, torque_bandwidth=torque_bandwidth))
    return both.y, both.w[:, :, 0]
