"""Numbers of drives from two logs beside each other: do they agree within their intervals?

Positive numbers are compared by their logarithms, as they were searched: their σ is relative. Logs of one robot share
its description, and with it the masses: what is wrong there moves both alike, and shows in no difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exciter.errors import ExciterError, unknown_name
from exciter.files import finite
from exciter.identification.actuators.actuator_fit import ActuatorFit
from exciter.identification.actuators.actuator_settings import ACTUATOR_KINDS
from exciter.identification.information.estimate import STATUS_WORDS, finite_or_none
from exciter.typing import Array
from exciter.validation.comparison import ParameterDifference, chance_limit, normalized_difference
from exciter.validation.validation import some_of


@dataclass(frozen=True, eq=False, kw_only=True)
class DriveTable:
    """Numbers of drives as a fit, or actuators.json, has them: kinds are words of ``ACTUATOR_KINDS``, joints those that
    a number is of; values, std, low, high (p,), the last two of the 95 % interval. freedom (p,): degrees of each.

    >>> told = ex.Recording.of(log.time, log.q, command=log.q + log.torque / 5000.0, joints=robot.joint_names)
    >>> halves = [
    ...     ex.actuators(robot, part, control={"kp": 5000.0}, unknown=["damping", "friction"])
    ...     for part in (told[:300], told[300:600])
    ... ]
    >>> beside = halves[0].table.beside(halves[1].table)
    >>> len(beside.names) == len(beside.normalized)
    True"""

    title: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    joints: tuple[tuple[str, ...], ...]
    values: Array
    std: Array
    low: Array
    high: Array
    status: tuple[str, ...]
    freedom: Array

    @classmethod
    def of(cls, fit: ActuatorFit, title: str) -> DriveTable:
        """title: what it is called beside another, the log."""
        low, high = fit.interval()
        joints, unknowns = fit.robot.joint_names, fit.numbers.unknowns
        return cls(
            title=title,
            names=fit.names,
            kinds=tuple(one.kind.word for one in unknowns),
            joints=tuple(tuple(joints[j] for j in one.joints) for one in unknowns),
            values=fit.values,
            std=fit.std,
            low=low,
            high=high,
            status=fit.status,
            freedom=fit.freedom,
        )

    @classmethod
    def read(cls, data: Mapping[str, Any], title: str) -> DriveTable:
        """Of the content of actuators.json."""
        try:
            rows = data["parameters"]
            numbers = [
                [_number(one) for one in (row["value"], row["std"], *row["interval"], row["degrees_of_freedom"])]
                for row in rows
            ]
            values, std, low, high, freedom = np.array(numbers, dtype=float).reshape(-1, 5).T
            kinds, status = tuple(row["kind"] for row in rows), tuple(row["status"] for row in rows)
            for given, known in ((kinds, tuple(ACTUATOR_KINDS)), (status, STATUS_WORDS)):
                for word in set(given) - set(known):
                    raise ValueError(unknown_name("word", str(word), known))
            return cls(
                title=title,
                names=tuple(str(row["name"]) for row in rows),
                kinds=kinds,
                joints=tuple(tuple(str(name) for name in row["joints"]) for row in rows),
                values=values,
                std=std,
                low=low,
                high=high,
                status=status,
                freedom=freedom,
            )
        except (KeyError, TypeError, ValueError) as error:
            why = " ".join(f"{type(error).__name__} {error}".split())[:80]
            raise ExciterError(
                f"'{title}' has no table of drives, or one of another version ({why}); fit again"
            ) from None

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(ACTUATOR_KINDS[kind].unit for kind in self.kinds)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """By name: value, σ and its degrees of freedom, 95 % interval, unit, status."""
        return {
            name: {
                "value": float(self.values[k]),
                "std": finite_or_none(self.std[k]),
                "degrees_of_freedom": finite_or_none(self.freedom[k]),
                "interval": [finite_or_none(self.low[k]), finite_or_none(self.high[k])],
                "unit": self.units[k],
                "status": self.status[k],
            }
            for k, name in enumerate(self.names)
        }

    def rows(self) -> list[dict[str, Any]]:
        """The same for actuators.json, with what each is of."""
        about = zip(self.parameters.items(), self.kinds, self.joints, strict=True)
        return [{"name": name, "kind": kind, "joints": list(joints), **row} for (name, row), kind, joints in about]

    def of_names(self, names: Sequence[str]) -> DriveTable:
        """Some of them, in this order."""
        at = [self.names.index(name) for name in names]
        return DriveTable(
            title=self.title,
            names=tuple(names),
            kinds=tuple(self.kinds[k] for k in at),
            joints=tuple(self.joints[k] for k in at),
            values=self.values[at],
            std=self.std[at],
            low=self.low[at],
            high=self.high[at],
            status=tuple(self.status[k] for k in at),
            freedom=self.freedom[at],
        )

    def beside(self, other: DriveTable) -> DriveDifference:
        """How two tables differ in the numbers that both have."""
        return drive_difference(self, other)

    def __repr__(self) -> str:
        return f"<{len(self.names)} numbers of drives, {self.title}>"


def _number(value: float | None) -> float:
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return np.nan if value is None else float(value)


@dataclass(frozen=True, eq=False, kw_only=True)
class DriveDifference(ParameterDifference):
    """Between two tables of drives; one, other: of the numbers that both have. alone: names that only one has. limits
    (b,): of each number, by the degrees of freedom of its σ; limit: the largest of them."""

    one: DriveTable
    other: DriveTable
    alone: tuple[str, ...]
    limits: Array

    @cached_property
    def agrees(self) -> tuple[bool, ...]:
        """Each number: by chance alone, no pair of logs in twenty has one that does not."""
        return tuple(bool(one) for one in np.abs(self.normalized) <= self.limits)

    @property
    def disagree(self) -> tuple[str, ...]:
        """Numbers that differ by more than chance explains, the worst first."""
        order = np.argsort(-np.abs(self.normalized))
        return tuple(self.names[k] for k in order if not self.agrees[k])

    @property
    def agreement(self) -> str:
        """In words, with the limit of each number."""
        both, far = f"{self.first} and {self.second}", self.disagree
        if not far:
            return f"{both} agree within their uncertainties"
        sizes = zip(self.names, np.abs(self.normalized), self.limits, strict=True)
        said = {name: f"{name} ({size:.2g} σ, chance up to {limit:.2g})" for name, size, limit in sizes}
        return f"{both} disagree on {some_of([said[name] for name in far])}"

    @property
    def sentences(self) -> tuple[str, ...]:
        said = [f"{self.agreement}; by chance alone all numbers stay within their limits in 95 % of cases"]
        if self.alone:
            said.append(f"only one of them has {', '.join(self.alone)}")
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        rows = zip(self.names, self.one.values, self.other.values, self.normalized, self.agrees, strict=True)
        return finite(
            {
                "first": self.first,
                "second": self.second,
                "limit": self.limit,
                "parameters": [
                    {"name": name, "first": float(a), "second": float(b), "normalized": float(d), "agrees": agrees}
                    for name, a, b, d, agrees in rows
                ],
                "alone": list(self.alone),
                "words": list(self.sentences),
            }
        )


def drive_difference(first: DriveTable, second: DriveTable) -> DriveDifference:
    """See ``DriveTable.beside``."""
    common = [name for name in first.names if name in second.names]
    if not common:
        raise ExciterError(
            f"{first.title} and {second.title} have no number of a drive in common; compare fits of one robot that "
            "seek the same"
        )
    one, other = first.of_names(common), second.of_names(common)
    positive = np.array([ACTUATOR_KINDS[kind].positive for kind in one.kinds])
    x, y = (np.where(positive, np.log(np.where(positive, t.values, 1.0)), t.values) for t in (one, other))
    deviations = (np.where(positive, t.std / np.where(positive, t.values, 1.0), t.std) for t in (one, other))
    here, there = (np.square(deviation) for deviation in deviations)
    # Welch's and Satterthwaite's: of a sum of two variances
    both = np.maximum(here**2 / one.freedom + there**2 / other.freedom, 1e-300)
    freedom = np.where(np.isfinite(both), (here + there) ** 2 / both, 1.0)
    limits = np.array([chance_limit(len(common), degrees) for degrees in freedom])
    return DriveDifference(
        first=first.title,
        second=second.title,
        names=tuple(common),
        normalized=normalized_difference(x, y, np.sqrt(here), np.sqrt(there)),
        limit=float(limits.max()),
        limits=limits,
        one=one,
        other=other,
        alone=tuple(name for name in (*first.names, *second.names) if name not in common),
    )
