"""Equations compressed: one triangular factor per group of rows, all that estimators need of W and y.

A group is one joint's equations within one fold of one run. Weights per joint or run, folds left out,
columns left out, residuals of any parameters: all of it follows from the factors, without going through the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.errors import ParameterError, shown
from exciter.identification.information import Information
from exciter.identification.one_thread import one_thread
from exciter.typing import Array

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Compressed:
    """G pieces of the runs times J equations per instant, for p ``parameters``.

    factors (G, J, p + 1, p + 1): upper triangular, R and z, and in the last corner the norm of what no parameters
    explain; rows not divided by any noise. rows (G, J): how many. independent (G, J): how many independent ones they
    are worth (see ``Rows.independent``). run, fold (G,): where a piece comes from.
    """

    parameters: tuple[str, ...]
    joints: tuple[str, ...]
    factors: Array
    rows: IntArray
    independent: Array
    run: IntArray
    fold: IntArray

    # -- parts ---------------------------------------------------------------------------------------------------

    def where(self, chosen: NDArray[np.bool_]) -> Compressed:
        """Some of the pieces; chosen (G,)."""
        names = ("factors", "rows", "independent", "run", "fold")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def only_joints(self, joints: Sequence[int]) -> Compressed:
        """The equations of some joints."""
        kept = list(joints)
        return replace(
            self,
            joints=tuple(self.joints[j] for j in kept),
            factors=self.factors[:, kept],
            rows=self.rows[:, kept],
            independent=self.independent[:, kept],
        )

    def columns(self, chosen: ArrayLike) -> Compressed:
        """Some of the parameters, in the given order; the others are zero."""
        kept = np.asarray(chosen, dtype=np.int64)
        sides = self.factors[..., np.append(kept, len(self.parameters))]
        factors: Array = np.asarray(np.linalg.qr(sides, mode="r"))
        return replace(self, parameters=tuple(self.parameters[k] for k in kept), factors=factors)

    def given(self, values: ArrayLike, columns: ArrayLike) -> Compressed:
        """With the parameters ``columns`` known to have ``values``: moved to the right side, and out of the way."""
        known = np.asarray(columns, dtype=np.int64)
        sides = self.factors.copy()
        sides[..., -1] -= sides[..., known] @ np.asarray(values, dtype=float)
        unknown = np.setdiff1d(np.arange(len(self.parameters)), known)
        return replace(self, factors=sides).columns(unknown)

    def merge(self, other: Compressed) -> Compressed:
        """Both together; runs of the other are numbered after those of this one."""
        if self.parameters != other.parameters or self.joints != other.joints:
            raise ParameterError("equations of different parameters or joints cannot be put together")
        after = int(self.run.max(initial=-1)) + 1
        return Compressed(
            self.parameters,
            self.joints,
            np.concatenate([self.factors, other.factors]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.independent, other.independent]),
            np.concatenate([self.run, other.run + after]),
            np.concatenate([self.fold, other.fold]),
        )

    # -- what they say -------------------------------------------------------------------------------------------

    def information(self, noise: ArrayLike = 1.0) -> Information:
        """All groups together, rows divided by noise: σ for all, (J,) per joint, or (G, J) per group."""
        sigma = self.per_group(noise)
        if np.ndim(noise) < 2:  # the same for all pieces of a joint, which need not be told apart
            stacked = self._by_joint / sigma[0, :, None, None]
        else:
            stacked = self.factors / sigma[..., None, None]
        return Information.of_factor(_triangular(stacked), int(self.rows.sum()))

    @cached_property
    def _by_joint(self) -> Array:
        """(J, p + 1, p + 1) one factor for all pieces."""
        return np.stack([_triangular(self.factors[:, j]) for j in range(len(self.joints))])

    def squares(self, values: ArrayLike) -> Array:
        """(G, J) sum of squared residuals of parameters (p,)."""
        left = self.factors @ np.append(-np.asarray(values, dtype=float), 1.0)
        return np.asarray((left**2).sum(axis=2))

    @property
    def signal(self) -> Array:
        """(J,) sum of squares of y."""
        return np.asarray((self.factors[..., -1] ** 2).sum(axis=(0, 2)))

    @property
    def inflation(self) -> Array:
        """(G, J) by how much variances are larger than formulas for independent rows say; 1 where they are."""
        return np.where(self.independent > 0.0, self.rows / np.maximum(self.independent, 1e-300), 1.0)

    def per_group(self, noise: ArrayLike) -> Array:
        """(G, J) positive standard deviations, from one, (J,) or (G, J)."""
        given = np.asarray(noise, dtype=float)
        shape = self.rows.shape
        if given.shape not in ((), shape[1:], shape) or not ((given > 0.0) & np.isfinite(given)).all():
            raise ParameterError(
                f"noise is {shown(given.tolist())}; give one positive number, or {shape[1]}, one per equation: "
                f"{', '.join(self.joints)}"
            )
        return np.broadcast_to(given, shape)


def _triangular(factors: Array) -> Array:
    """One factor (p + 1, p + 1) for all (…, p + 1, p + 1)."""
    size = factors.shape[-1]
    rows = factors.reshape(-1, size)
    rows = rows[rows.any(axis=1)]
    upper = np.zeros((size, size))
    with one_thread():
        found = np.linalg.qr(rows, mode="r")
    upper[: len(found)] = found
    return upper
