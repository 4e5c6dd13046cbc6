"""Residuals compared with themselves: earlier ones, and those of other joints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from exciter.experiment.signals.rows import Rows
from exciter.identification.information.compressed import Compressed, compress
from exciter.identification.information.estimate import Estimate
from exciter.identification.uncertainty.residual_correlation import Whiteness, whiteness
from exciter.typing import Array
from exciter.validation.prediction import Prediction

ONE = ("one",)
FEWEST = 8  #: instants: fewer have no correlation to speak of
STRONG, SURE = 0.3, 4.0  #: a correlation that is worth a word: so large, and so many standard errors from zero


@dataclass(frozen=True, eq=False)
class JointCorrelation:
    """coefficients (J, J) of residuals of two joints at one instant, zero of one that rests throughout; errors (J, J):
    their standard errors where there is none, which hold for residuals that are correlated in time (Bartlett)."""

    joints: tuple[str, ...]
    coefficients: Array
    errors: Array

    @property
    def sentences(self) -> tuple[str, ...]:
        """Pairs that are worth a word."""
        found = []
        for j, first in enumerate(self.joints):
            for k, second in enumerate(self.joints[:j]):
                size = abs(self.coefficients[j, k])
                if size > max(STRONG, SURE * self.errors[j, k]):
                    found.append(
                        f"residuals of {second} and {first} correlate by {self.coefficients[j, k]:.2f}: they have a "
                        "cause in common, as an inertia that both feel, or coupled drives"
                    )
        return tuple(found)


def joint_correlation(prediction: Prediction) -> JointCorrelation:
    e = prediction.residual - prediction.residual.mean(axis=0)
    count, joints = e.shape
    size = np.sqrt((e**2).sum(axis=0))
    e = e / np.where(size > 0.0, size, 1.0)
    power = np.abs(fft.rfft(e, fft.next_fast_len(2 * count, real=True), axis=0)) ** 2
    rho = fft.irfft(power, axis=0)[: min(count, max(1, count // 8))]  # (K, J) correlation with earlier residuals
    fewer = np.minimum(*np.meshgrid(_counted(prediction), _counted(prediction)))  # equations: rest has none
    errors = np.sqrt(np.maximum(2.0 * rho.T @ rho - 1.0, 1.0) / np.maximum(fewer, 1.0))
    return JointCorrelation(prediction.joints, e.T @ e + np.diag((size == 0.0) * 1.0), errors.reshape(joints, joints))


def residual_whiteness(prediction: Prediction) -> tuple[Whiteness, ...]:
    """Of every joint, see ``whiteness``; residuals count as equations of a constant that is zero. None of a few: a
    joint that rests throughout is left out."""
    counted = _counted(prediction)
    kept = np.flatnonzero((counted >= FEWEST) & prediction.residual.any(axis=0))
    if not kept.size:
        return ()
    none = np.zeros(1)
    noise = np.sqrt((prediction.residual[:, kept] ** 2).sum(axis=0) / counted[kept])
    equations = _Constant(prediction, kept, counted[kept] / len(prediction))
    return whiteness(
        equations, Estimate(ONE, ("",), none, none[:, None], equations.joints, noise, float(counted[kept].min()))
    )


def _counted(prediction: Prediction) -> Array:
    """(J,) equations of each joint."""
    count = len(prediction)
    return np.asarray(prediction.counted) if prediction.counted else np.full(len(prediction.joints), float(count))


@dataclass(frozen=True, eq=False)
class _Constant:
    """Residuals of the joints ``kept`` as equations 1 · constant = residual; present: see ``Rows.present``."""

    prediction: Prediction
    kept: NDArray[np.intp]
    present: Array
    names: tuple[str, ...] = ONE

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(self.prediction.joints[j] for j in self.kept)

    def rows(self) -> Iterator[tuple[int, Rows]]:
        p, left = self.prediction, self.prediction.residual[:, self.kept]
        rows = Rows.of(p.time, np.ones((*left.shape, 1)), left, p.rate, self.joints, ONE)
        yield 0, replace(rows, present=self.present)

    @cached_property
    def compressed(self) -> Compressed:
        labelled = ((run, np.zeros(len(rows), dtype=np.int64), rows) for run, rows in self.rows())
        return compress(labelled, ONE, self.joints, 1, 1)
