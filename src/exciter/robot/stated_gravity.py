"""Gravity as a person states it, in settings and of a log: about this, or exactly.

Nobody levels a base to a twentieth of a degree: a plain vector, ``[0, 0, -9.81]`` or ``{about: [0, 0, -9.81]}``, is
where an identification may look for a base that leans a little, and what it finds still is what was stated.
``{exactly: [0, 0, -9.81]}`` is not asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.errors import shown
from exciter.settings.field_markers import Kind, Vector, inside, wrong

ABOUT, EXACTLY = "about", "exactly"
GRAVITY_UNIT = "m/s²"
LARGEST_TILT_RAD = np.radians(2.0)  #: so much is no error of mounting, but something else that leaning stands for
SAME_LENGTH = 0.01  #: relative: gravity differs by half of it between places


class ExactGravity(tuple[float, float, float]):
    """(3,) [m/s²] in the frame of the base, that does not lean; a plain tuple is about this."""

    __slots__ = ()


@dataclass(frozen=True)
class GravityVector(Kind):
    """A vector [m/s²], about this; ``about`` or ``exactly`` say which."""

    wanted = f"a list of 3 numbers [{GRAVITY_UNIT}], or {{{EXACTLY}: such a list}}"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[float, float, float]:
        exact, word = isinstance(given, ExactGravity), ""
        if isinstance(given, Mapping):
            if list(given) not in ([ABOUT], [EXACTLY]):
                raise wrong(f" is {shown(dict(given))}; give {self.wanted}")
            ((word, given),) = given.items()
            exact = word == EXACTLY
        with inside(f": {word}" if word else ""):
            x, y, z = Vector(3, GRAVITY_UNIT).check(given, context)
        return ExactGravity((x, y, z)) if exact else (x, y, z)

    def word_of(self, value: Any) -> Any:
        return {EXACTLY: list(value)} if isinstance(value, ExactGravity) else value

    def schema(self) -> dict[str, Any]:
        vector = Vector(3, GRAVITY_UNIT).schema()
        said = [
            {"type": "object", "properties": {word: vector}, "required": [word], "additionalProperties": False}
            for word in (ABOUT, EXACTLY)
        ]
        return {"anyOf": [vector, *said]}


def agrees(stated: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether a robot that stands so, ``other`` [m/s²], is one that ``stated`` speaks of."""
    if isinstance(stated, ExactGravity):
        return bool(np.allclose(stated, other))
    sizes = [float(np.linalg.norm(one)) for one in (stated, other)]
    if min(sizes) == 0.0:
        return max(sizes) == 0.0
    angle = np.arctan2(np.linalg.norm(np.cross(stated, other)), np.dot(stated, other))
    return bool(abs(sizes[0] / sizes[1] - 1.0) <= SAME_LENGTH and angle <= LARGEST_TILT_RAD)
