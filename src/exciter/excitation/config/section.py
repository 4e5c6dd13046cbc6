"""Reading a mapping of the configuration key by key: every message names the key, the value, and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ExciterError, shown, unknown_name
from exciter.settings.kinds import LARGEST_OF_A_ROBOT
from exciter.settings.kinds import LARGEST_SEED as LARGEST_SEED
from exciter.settings.kinds import says_none as says_none

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Section:
    """A mapping, and where it stands (``design.yaml: trajectory``); unknown keys are refused."""

    data: Mapping[str, Any]
    where: str

    @classmethod
    def of(cls, given: Any, where: str, keys: Sequence[str]) -> Section:
        """``given`` as a section whose keys are among ``keys``; nothing at all is an empty one."""
        if given is not None and not isinstance(given, Mapping):
            raise ExciterError(f"{where} is {shown(given)}; give a mapping with some of the keys {', '.join(keys)}")
        data = {str(key): value for key, value in (given or {}).items()}
        for key in data:
            if key not in keys:
                raise ExciterError(f"{where}: {unknown_name('key', key, keys)}")
        return cls(data, where)

    def __contains__(self, key: str) -> bool:
        return self.data.get(key) is not None

    def get(self, key: str) -> Any:
        return self.data.get(key)

    def at(self, key: str) -> str:
        return f"{self.where}: {key}"

    def section(self, key: str, keys: Sequence[str]) -> Section:
        return Section.of(self.get(key), self.at(key), keys)

    def number(
        self,
        key: str,
        default: float,
        *,
        least: float = -math.inf,
        above: float | None = None,
        most: float = LARGEST_OF_A_ROBOT,
    ) -> float:
        """A finite number, at least ``least``, greater than ``above`` and at most ``most``."""
        return number(self.get(key), self.at(key), least=least, above=above, most=most) if key in self else default

    def whole(self, key: str, default: int, *, least: int, most: int | None) -> int:
        """A whole number. ``most``: what is counted takes memory or time, of which there is an end; None: what is made
        of it refuses too many itself."""
        given = self.get(key)
        if key not in self:
            return default
        if (
            isinstance(given, bool)
            or not isinstance(given, int)
            or given < least
            or (most is not None and given > most)
        ):
            upper = "" if most is None else f", at most {most}"
            raise ExciterError(f"{self.at(key)} is {shown(given)}; give a whole number ≥ {least}{upper}")
        return int(given)

    def flag(self, key: str, default: bool) -> bool:
        given = self.get(key)
        if key in self and not isinstance(given, bool):
            raise ExciterError(f"{self.at(key)} is {shown(given)}; give true or false")
        return given if key in self else default

    def word(self, key: str, words: Sequence[str], default: str) -> str:
        given = self.get(key)
        if key in self and given not in words:
            raise ExciterError(f"{self.at(key)} is {shown(given)}; allowed are {', '.join(words)}")
        return given if key in self else default

    def vector(self, key: str, length: int, default: Sequence[float] | None = None) -> Array:
        """Finite numbers (length,)."""
        if key not in self and default is not None:
            return np.array(default, dtype=float)
        given = self.get(key)
        if not isinstance(given, list) or len(given) != length:
            raise ExciterError(f"{self.at(key)} is {shown(given)}; give a list of {length} numbers")
        return np.array([number(value, self.at(key)) for value in given])

    def entries(self, key: str) -> list[Any]:
        """A list; nothing is an empty one."""
        given = self.get(key)
        if given is None:
            return []
        if not isinstance(given, list):
            raise ExciterError(f"{self.at(key)} is {shown(given)}; give a list, each entry behind a '-'")
        return given


def number(
    given: Any, what: str, *, least: float = -math.inf, above: float | None = None, most: float = LARGEST_OF_A_ROBOT
) -> float:
    """A finite number; YAML reads 1e3 (no dot) as text, which is accepted too."""
    wanted = "a number" if least == -math.inf else f"a number ≥ {least:g}"
    wanted = wanted if above is None else f"a number > {above:g}"
    wanted = wanted if most >= LARGEST_OF_A_ROBOT else f"{wanted}, at most {most:g}"
    try:
        if isinstance(given, bool) or not isinstance(given, int | float | str):
            raise ValueError
        value = float(given)
        if abs(value) > max(most, LARGEST_OF_A_ROBOT):  # no setting is so large, and products would overflow
            wanted += f", not beyond {max(most, LARGEST_OF_A_ROBOT):g}"
            raise ValueError
        if not (math.isfinite(value) and least <= value <= most) or (above is not None and value <= above):
            raise ValueError
    except (ValueError, OverflowError):
        raise ExciterError(f"{what} is {shown(given)}; give {wanted}") from None
    return value


def per_joint(given: Any, what: str, joints: Sequence[str], *, above: float | None = None) -> Array:
    """(n,) from one number for all joints, a list, or a mapping that has every joint's name."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in joints:
                raise ExciterError(f"{what}: {unknown_name('joint', str(name), joints)}")
        missing = [name for name in joints if name not in given]
        if missing:
            raise ExciterError(f"{what} says nothing of joint '{missing[0]}'; give a number for every joint")
        given = [given[name] for name in joints]
    if isinstance(given, list):
        if len(given) != len(joints):
            raise ExciterError(f"{what} has {len(given)} numbers; the robot has {len(joints)} joints")
        return np.array([number(value, what, above=above) for value in given])
    return np.full(len(joints), number(given, what, above=above))
