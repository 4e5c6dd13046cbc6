"""What a model misses: residuals against velocity, load, position, time and temperature, joint by joint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.typing import Array
from exciter.validation.dependence import Dependence, on_motion, on_slow
from exciter.validation.prediction import Prediction

LEVEL = 0.01  #: chance that anything is found in a run whose residuals depend on nothing (Bonferroni)
LEAST = 0.01  #: of the residual's variance: less is not worth a word
DOUBT = 4.0  #: times the mean square that the parameters' own uncertainty makes: less may be an error of theirs
MOST = 8192  #: instants that are looked at; more are put together in blocks, for none of this is fast
ADVICE = {
    "velocity": "the friction model misses something; try another, such as a term {stribeck: {velocity: 0.1}}",
    "load": "friction that grows with load, or a drive gain that is off; try a term load-friction, or gains: identify",
    "position": "a spring, a hose, or a zero position that is off; try a term ripple, or {gravity-spring: {joint: …}}",
    "time": "drift or warm-up; let the robot warm up, or cut the beginning (windows)",
    "temperature": "friction changes as the drive warms up; identify at the temperature the model is used at",
}
SIGMAS = 1.96  #: that the band of a prediction reaches
SLOW = ("time", "temperature")  #: quantities that hardly return


@dataclass(frozen=True, eq=False)
class Structure:
    """The residual of ``joint`` against one ``quantity`` [``unit``]. found: whether it depends on it, more than chance
    explains in all that was looked at."""

    joint: str
    quantity: str
    unit: str
    dependence: Dependence
    found: bool

    @property
    def share(self) -> float:
        return self.dependence.share

    @property
    def sentence(self) -> str:
        share = f"{self.joint}: {100.0 * self.share:.2g} % of what is left"
        if not self.found:
            return f"{self.joint}: what is left does not depend on {self.quantity} more than chance explains"
        return f"{share} depends on {self.quantity}: {ADVICE[self.quantity]}"

    def to_dict(self) -> dict[str, Any]:
        found = self.dependence
        return {
            "joint": self.joint,
            "quantity": self.quantity,
            "unit": self.unit,
            "share_percent": 100.0 * found.share,
            "p_value": found.p_value,
            "found": self.found,
            "centres": found.centres.tolist(),
            "means": found.means.tolist(),
            "standard_errors": found.errors.tolist(),
        }


def structures(prediction: Prediction, level: float = LEVEL) -> tuple[Structure, ...]:
    """Of every joint and quantity that changes, while the joint moves; those of a joint together, the largest share
    first.

    Found is what chance does not explain, nor the uncertainty of the parameters: an error of a friction parameter
    depends on velocity, too, and says nothing against the model.
    """
    looked = [
        (one, j, quantity, unit, dependence)
        for j in range(len(prediction.joints))
        if (one := _Residual.of(prediction, j)) is not None
        for quantity, unit, values in _quantities(prediction, j)
        if (dependence := one.on(values, slow=quantity in SLOW)) is not None
    ]
    found = [
        Structure(
            prediction.joints[j],
            quantity,
            unit,
            dependence,
            bool(
                dependence.p_value * len(looked) < level
                and dependence.share >= LEAST
                and dependence.share * one.variance > DOUBT * one.doubt
            ),
        )
        for one, j, quantity, unit, dependence in looked
    ]
    order = {joint: k for k, joint in enumerate(prediction.joints)}
    return tuple(sorted(found, key=lambda one: (order[one.joint], not one.found, -one.share)))


@dataclass(frozen=True, eq=False)
class _Residual:
    """That of an equation, (N,), while its joint moves: while it rests there is no equation.

    speed (N,): of the joint, where it is one; used (N,): the instants that count; variance: of the residual then, and
    doubt: the mean square that the uncertainty of the parameters makes."""

    residual: Array
    speed: Array | None
    used: NDArray[np.bool_]
    variance: float
    doubt: float

    @classmethod
    def of(cls, prediction: Prediction, j: int) -> _Residual | None:
        """None where the joint never moves."""
        moves = np.ones(len(prediction), dtype=bool) if prediction.moves is None else prediction.moves[:, j]
        used = moves.copy()
        used[1:] &= moves[:-1]  # filters spread what is missing over the instants beside
        used[:-1] &= moves[1:]
        if not used.any():
            return None
        e, speed = prediction.residual[:, j], np.abs(prediction.qd[:, j]) if prediction.of_joints else None
        doubt = float((prediction.band[used, j] ** 2).mean()) / SIGMAS**2
        return cls(e, speed, used, float(e[used].var()), doubt)

    def on(self, quantity: Array, *, slow: bool) -> Dependence | None:
        """See ``dependence``; long series in blocks, shares being those of all samples."""
        size = -(-len(self.residual) // MOST)
        e, x = _blocks(self.residual, size), _blocks(quantity, size)
        used = _blocks(self.used.astype(float), size) == 1.0
        speed = None if self.speed is None else _blocks(self.speed, size)
        found = on_slow(e[used], x[used]) if slow else on_motion(e, x, speed, used)
        if found is None or size == 1:
            return found
        part = e[used].var() / self.variance  # of the variance, that is not within blocks
        return Dependence(found.centres, found.means, found.errors, float(part) * found.share, found.p_value)


def _blocks(values: Array, size: int) -> Array:
    return values if size == 1 else values[: len(values) // size * size].reshape(-1, size).mean(axis=1)


def _quantities(prediction: Prediction, j: int) -> Iterator[tuple[str, str, Array]]:
    """Names, units and values (N,) of what the residual of an equation may depend on."""
    unit = prediction.units[j]
    if prediction.of_joints:
        angle = "m" if unit == "N" else "rad"
        yield "velocity", f"{angle}/s", prediction.qd[:, j]
        yield "position", angle, prediction.q[:, j]
        if prediction.temperature is not None:
            yield "temperature", "°C", prediction.temperature[:, j]
    yield "load", unit, prediction.predicted[:, j]
    yield "time", "s", prediction.time
