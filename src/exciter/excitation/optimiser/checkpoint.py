"""Completed starts on disk, so that an interrupted design goes on where it stopped.

A start is a pure function of the problem and its number. Only complete ones are kept; what was under way is run again,
so that the result is the one of an uninterrupted run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.base import random_states
from exciter.errors import ExciterError
from exciter.excitation.optimiser.search import Attempt, Search
from exciter.excitation.trajectories.registry import trajectory_from
from exciter.files import write_json

Array = NDArray[np.float64]


def fingerprint(search: Search) -> str:
    """Of everything that a start depends on."""
    robot = search.model.robot
    parts: list[Any] = [robot.name, robot.joint_names, robot.parents.tolist(), robot.gravity.tolist()]
    for joint in robot.joints:
        parts += [joint.kind, joint.rotation.tolist(), joint.translation.tolist(), joint.axis.tolist()]
        parts += [joint.inertia.tolist(), repr(joint.limits)]
    parts += [{key: value.tolist() for key, value in robot.friction.items()}, [repr(t) for t in search.model.terms]]
    parts += [search.trajectory.to_dict(), repr(search.criterion), search.objective.weights.tolist()]
    parts += [
        repr(search.objective.formulation),
        search.objective.chosen.names,
        _listed(search.objective.chosen.combination),
    ]
    parts += [_listed(search.objective.prior)]
    parts += [[[repr(row) for row in constraint.rows] for constraint in search.constraints]]
    states = random_states(robot, samples=8)  # geometry, payloads: by what they do
    parts += [[np.round(constraint.values(states), 9).tolist() for constraint in search.constraints]]
    parts += [search.samples, search.seed, search.stretch, repr(search.settings)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _listed(array: Array | None) -> Any:
    return None if array is None else array.tolist()


def discard(path: Path) -> None:
    """Remove a checkpoint of before; a file of that name that is somebody else's is refused."""
    if path.is_symlink() or path.exists():
        _content(path)
        path.unlink()


def _content(path: Path) -> tuple[Any, tuple[dict[str, Any], ...]]:
    """Fingerprint and starts."""
    try:
        if path.is_symlink() or not path.is_file():
            raise ValueError("no file")
        data = json.loads(path.read_text(encoding="utf-8"))
        return data["fingerprint"], tuple(data["attempts"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ExciterError(f"'{path}' is not a checkpoint of a design; remove it, or choose another folder") from None


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The file and what it holds."""

    path: Path
    mark: str
    entries: tuple[dict[str, Any], ...] = ()

    @classmethod
    def opened(cls, path: Path, search: Search) -> Checkpoint:
        """The file's content, or an empty checkpoint; a file of another problem is refused."""
        mark = fingerprint(search)
        if not path.exists():
            return cls(path, mark)
        given, entries = _content(path)
        if given != mark:
            raise ExciterError(
                f"'{path}' belongs to another design (robot, settings or seed differ); remove it, or use another folder"
            )
        return cls(path, mark, entries)

    def attempts(self) -> Iterator[tuple[int, Attempt]]:
        for entry in self.entries:
            values = dict(entry)
            values["trajectory"] = trajectory_from(values["trajectory"])
            values["delta"] = None if values["delta"] is None else np.array(values["delta"])
            for name in ("value", "first_feasible"):  # infinite is null in JSON
                values[name] = np.inf if values[name] is None else values[name]
            values["history"] = tuple((float(t), float(f)) for t, f in values["history"])
            yield values["number"], Attempt(**values)

    def with_attempt(self, attempt: Attempt) -> Checkpoint:
        """With one more start, on disk at once."""
        entry = dict(vars(attempt))
        entry["trajectory"] = attempt.trajectory.to_dict()
        entry["delta"] = None if attempt.delta is None else attempt.delta.tolist()
        entry["history"] = [list(pair) for pair in attempt.history]
        new = replace(self, entries=(*self.entries, entry))
        write_json(self.path, {"fingerprint": self.mark, "attempts": list(new.entries)})
        return new
