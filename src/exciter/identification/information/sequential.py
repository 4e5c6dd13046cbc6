"""Sequential estimation on the square-root information array (Bierman 1977): one instant after the other, live.

The array [R z; 0 ρ] is brought back to triangular form by reflections whenever the equations of an instant come in;
estimate and covariance follow from it at any time, and are those of least squares on all instants so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.engine import default_engine
from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.information.information import Information
from exciter.robot.motion import Motion
from exciter.typing import Array


class SequentialEstimator:
    """names: of the parameters. noise: σ (J,) of the J equations of an instant. prior: what is known before.
    forgetting: how much of the weight of earlier instants is left at every new one, for parameters that drift (0.999 at
    1 kHz: about a second). What is not excited is forgotten, too; an estimate is refused then, naming it."""

    def __init__(
        self, names: Sequence[str], noise: ArrayLike, prior: Information | None = None, forgetting: float = 1.0
    ) -> None:
        self.names, self.noise = tuple(names), np.atleast_1d(np.array(noise, dtype=float))
        if self.noise.ndim != 1 or not ((self.noise > 0.0) & np.isfinite(self.noise)).all():
            raise ParameterError(f"noise is {self.noise.tolist()}; give positive numbers, one per equation")
        if not 0.0 < forgetting <= 1.0:
            raise ParameterError(f"forgetting is {forgetting}; give a number above 0, up to 1 which forgets nothing")
        start = Information.empty(len(self.names)) if prior is None else prior
        if len(start.z) != len(self.names):
            raise ParameterError(f"the prior is of {len(start.z)} parameters, these are {len(self.names)}")
        self.forgetting = float(forgetting)
        self._factor, self._rows = start.factor, float(start.rows)
        self._absorb: Any = _absorb
        if default_engine().name == "numba":
            self._absorb = kernels("sequential_kernel", "exciter.identification.information").absorb

    def update(self, w: ArrayLike, y: ArrayLike) -> None:
        """The equations of the next instant, w (J, p) and y (J,), or of the next N, (N, J, p) and (N, J)."""
        w, y = np.asarray(w, dtype=float), np.asarray(y, dtype=float)
        shape = (len(self.noise), len(self.names))
        if w.shape[-2:] != shape or w.shape[:-1] != y.shape or w.ndim > 3:
            raise ParameterError(f"equations w {w.shape} and y {y.shape} of an instant; give {shape} and {shape[:1]}")
        sides = np.empty((*w.shape[:-1], shape[1] + 1))
        np.divide(w, self.noise[:, None], out=sides[..., :-1])
        np.divide(y, self.noise, out=sides[..., -1])
        if not np.isfinite(sides).all():
            raise ParameterError("the equations contain NaN or infinity; leave that instant out")
        sides = sides.reshape(-1, shape[0], shape[1] + 1)
        self._absorb(self._factor, sides, self.forgetting)
        kept = self.forgetting ** len(sides)
        new = len(sides) if kept == 1.0 else (1.0 - kept) / (1.0 - self.forgetting)
        self._rows = kept * self._rows + shape[0] * new

    @property
    def information(self) -> Information:
        """All that was seen, as it counts now."""
        return Information.of_factor(self._factor.copy(), int(np.ceil(self._rows - 1e-9)))

    @property
    def values(self) -> Array:
        """The estimate (p,)."""
        return self.information.solve(self.names)[0]

    @property
    def covariance(self) -> Array:
        """(p, p) of the estimate, where the noise is right and errors of instants are independent."""
        return self.information.solve(self.names)[1]


class LiveIdentification:
    """Base parameters of a model from samples as they come: those of ``estimator``, which says what prior and
    forgetting are. noise: σ of the torque [N·m], one for all joints or one each."""

    def __init__(
        self, model: DynamicModel, noise: ArrayLike, prior: Information | None = None, forgetting: float = 1.0
    ) -> None:
        if any(term.has_memory for term in model.bound):
            raise ParameterError(
                "a joint term of the model remembers earlier samples (Dahl friction), and samples come one by one; use "
                "Coulomb friction"
            )
        self.model = model
        self._layout = model.layout(model.base.independent)
        self.estimator = SequentialEstimator(model.base.names, model.per_joint(noise, "noise"), prior, forgetting)

    def update(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, torque: ArrayLike) -> None:
        """One sample of positions, velocities, accelerations and torques (n,), or N of them (N, n)."""
        motion, torque = Motion.at(q, qd, qdd), np.atleast_2d(np.asarray(torque, dtype=float))
        for part, w in self.model.regressor_chunks(motion, layout=self._layout):
            self.estimator.update(w, torque[part])


def _absorb(factor: Array, sides: Array, forgetting: float) -> None:
    """The same as the kernel, without Numba."""
    size = len(factor)
    for rows in sides:
        factor[:] = np.linalg.qr(np.vstack([np.sqrt(forgetting) * factor, rows]), mode="r")[:size]
