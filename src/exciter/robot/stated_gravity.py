"""Gravity as a person states it, in settings and of a log: about this, or exactly.

Nobody levels a base to a twentieth of a degree: a plain vector, ``[0, 0, -9.81]`` or ``{about: [0, 0, -9.81]}``, is
where an identification may look for a base that leans a little. ``{exactly: [0, 0, -9.81]}`` is not asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exciter.errors import shown
from exciter.settings.field_markers import Kind, Vector, inside, wrong

ABOUT, EXACTLY = "about", "exactly"
GRAVITY_UNIT = "m/s²"


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
