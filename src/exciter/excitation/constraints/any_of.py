"""Constraints of which at least one must hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exciter.errors import ParameterError
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.constraint import Constraint, RowName, Rows
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Settings
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class AnyOf(Settings):
    """At least one member must hold at every instant: one row, the largest over members of their smallest row.

    003's "touches its base if r < 500 mm and z < 1600 mm" is any of z ≥ 1.6 m and r ≥ 0.5 m; its printed product
    (1600 − z)(500 − r) ≤ 0 also forbids what is far away and high up. Derivatives are those of the active row.
    """

    constraints: tuple[Constraint, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(self.constraints))
        if not self.constraints:
            raise ParameterError("AnyOf was given no constraint; give at least one")

    def on(self, robot: Robot) -> AnyOf:
        """The choice of a file, on its robot."""
        return AnyOf(tuple(member.on(robot) for member in self.constraints))  # type: ignore[attr-defined]

    def entry(self, data: Any) -> Any:
        return {"any_of": data["constraints"]}

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        parts = [row for member in self.constraints for row in member.rows]
        words = " or ".join(", ".join(_words(row) for row in member.rows) for member in self.constraints)
        alike = len({(row.unit, row.scale) for row in parts}) == 1
        unit, scale = (parts[0].unit, parts[0].scale) if alike else ("1", 1.0)
        where = ", ".join(dict.fromkeys(row.where for row in parts))
        assumed = any(row.assumed for row in parts)
        return (RowName(f"clearance of: {words}", where, unit, 0.0, scale, False, assumed),)

    def values(self, motion: Motion) -> Array:
        return _best([member.values(motion) for member in self.constraints])

    def linearised(self, motion: Motion) -> Rows:
        members = [member.linearised(motion) for member in self.constraints]
        lowest = [np.argmin(rows.values, axis=0) for rows in members]
        at = np.arange(len(motion))
        values = np.stack([rows.values[low, at] for rows, low in zip(members, lowest, strict=True)])
        chosen = np.argmax(values, axis=0)

        def active(which: str) -> Array:
            parts = [_part(rows, which)[low, :, at].T for rows, low in zip(members, lowest, strict=True)]
            return np.stack(parts)[chosen, :, at].T[None]

        geometric = all(rows.dqd is None and rows.dqdd is None for rows in members)
        derivatives = [None if geometric else active(which) for which in ("dqd", "dqdd")]
        return Rows(values[chosen, at][None], active("dq"), *derivatives)

    def lower_bounds(self, spans: Spans) -> Array:
        """Sound on a short interval: the member with the largest bound holds throughout it."""
        return _best([member.lower_bounds(spans) for member in self.constraints])


def _best(members: list[Array]) -> Array:
    """(1, N): the largest over members of their smallest row."""
    best: Array = np.max([rows.min(axis=0) for rows in members], axis=0)
    return best[None]


def _part(rows: Rows, which: str) -> Array:
    """A derivative, zero where nothing depends on it."""
    part: Array | None = getattr(rows, which)
    return np.zeros_like(rows.dq) if part is None else part


def _words(row: RowName) -> str:
    return f"{row.what} {'≤' if row.upper else '≥'} {row.limit:g} {row.unit}"
