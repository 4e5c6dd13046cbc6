"""The verdict: every limit, what is reached for all time, and how far it is from being broken."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["holds", "assumed", "open", "broken"]
FAILURES = ("open", "broken")  #: what keeps a curve from being certified


@dataclass(frozen=True)
class LimitVerdict:
    """One limit. ``reached``: the most extreme value found; ``bound``: what it can never pass (equal where exact).

    margin: distance from bound to limit, as a fraction of the limit, of the range of a position, or of 0.1 m of a
    distance; when broken that from what was reached, negative.
    status: "holds" (proved for all time), "assumed" (kept for all time, but the limit itself, or the data that it is
    computed from, was assumed or is missing: no proof, and never counted as one), "broken" (``reached`` at time ``at``
    is beyond the limit), "open" (neither proved nor broken).
    """

    what: str  # position, velocity, acceleration, jerk, torque, height, distance …
    where: str  # joint, frame or pair of bodies
    unit: str
    limit: float
    reached: float
    bound: float
    margin: float
    at: float
    status: Status
    upper: bool  # whether the limit is an upper one

    @classmethod
    def jump(cls, what: str, where: str, unit: str, *, allowed: float, size: float, at: float) -> LimitVerdict:
        """Broken by a jump of this size; ``allowed``: what rounding can explain of it."""
        margin = 1.0 - size / allowed if allowed > 0.0 else -math.inf
        return cls(f"jump of {what}", where, unit, allowed, size, size, margin, at, "broken", upper=True)

    @property
    def is_length(self) -> bool:
        """A height or a distance: its margin is a length, and says nothing as a part of its limit."""
        return self.unit == "m" and self.what != "position"

    @property
    def margin_words(self) -> str:
        """Signed, in mm for heights and distances, in % of the limit for all else."""
        room = self.bound if math.isfinite(self.bound) and self.status != "broken" else self.reached
        length = 1e3 * (self.limit - room if self.upper else room - self.limit)
        value, digits, unit = (length, 1, "mm") if self.is_length else (100.0 * self.margin, 2, "%")
        if not math.isfinite(value):
            return "–"
        if self.status not in FAILURES and round(value, digits) == 0.0:
            value = 0.0  # what is kept is not said to be passed by nothing
        return f"{value:+.{digits}f} {unit}"


@dataclass(frozen=True)
class Certificate:
    """All limits of one curve, and whether an arm that stands can begin it and stands when it is over.

    Rest is a limit only of what is run from rest, such as files (``from_rest`` of ``certify``): periods of a longer
    motion begin and end as they must.
    """

    limits: tuple[LimitVerdict, ...]
    duration: float
    nodes: int  # instants evaluated
    starts_at_rest: bool = True
    ends_at_rest: bool = True

    @property
    def certified(self) -> bool:
        """No limit is broken or open: those that are ``proved`` hold, the ``assumed`` ones are kept as far as known."""
        return not any(limit.status in FAILURES for limit in self.limits)

    @property
    def proved(self) -> tuple[LimitVerdict, ...]:
        return tuple(limit for limit in self.limits if limit.status == "holds")

    @property
    def assumed(self) -> tuple[LimitVerdict, ...]:
        return tuple(limit for limit in self.limits if limit.status == "assumed")

    @property
    def worst(self) -> LimitVerdict | None:
        """The limit with the smallest margin, assumed ones left aside."""
        known = (limit for limit in self.limits if limit.status != "assumed")
        return min(known, key=lambda limit: limit.margin, default=None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "certified": self.certified,
            "proved": len(self.proved),
            "assumed": len(self.assumed),
            "duration": self.duration,
            "nodes": self.nodes,
            "starts_at_rest": self.starts_at_rest,
            "ends_at_rest": self.ends_at_rest,
            "limits": [vars(limit) for limit in self.limits],
        }
