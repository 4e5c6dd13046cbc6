"""Completed starts on disk, so that an interrupted design goes on where it stopped.

A start is a pure function of the problem and its number. Only complete ones are kept; what was under way is run again,
so that the result is the one of an uninterrupted run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.base import random_states
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.deadline import NEVER, Deadline
from exciter.excitation.optimiser.search import Attempt, Search
from exciter.excitation.trajectories.trajectory import Trajectory

Array = NDArray[np.float64]
LONGEST_LINE = 20_000_000  # bytes of a start: thousands of coefficients, and of iterations
LARGEST_STORED_COEFFICIENT = 1e6  # of a motion of any arm
BEGINNING_OF_HEADER = b'{"exciter": "checkpoint", "fingerprint": "'
SAME_VALUE = 1e-6  # to which the value of a motion is the same whenever it is computed


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
    if not (path.is_symlink() or path.exists()):
        return
    own = not path.is_symlink() and path.is_file()
    if own:
        with path.open("rb") as file:
            own = BEGINNING_OF_HEADER.startswith(file.read(len(BEGINNING_OF_HEADER)))  # killed: perhaps less of it
    if not own:
        raise ExciterError(f"'{path}' is not a checkpoint of a design; remove it, or choose another folder")
    path.unlink()


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A file of lines of JSON: a header with the problem's fingerprint, then one line for every completed start.

    It grows by appending. A last line without its end is what a killed process leaves; it is dropped. Everything else
    is read as the file of a stranger: what a line claims is computed again before it counts.
    """

    path: Path
    search: Search
    header: str

    @classmethod
    def opened(cls, path: Path, search: Search) -> Checkpoint:
        """For a file that is there, or may be made; a file of another problem is refused."""
        header = json.dumps({"exciter": "checkpoint", "fingerprint": fingerprint(search)})
        found = cls(path, search, header)
        if not (path.exists() or path.is_symlink()):
            return found
        first = next(found._lines(), header)
        if first == header:
            return found
        given = found._read(first)
        if given.get("exciter") != "checkpoint" or not isinstance(given.get("fingerprint"), str):
            raise found._damaged("its first line is not that of one")
        raise ExciterError(
            f"'{path}' belongs to another design (robot, settings or seed differ); remove it, or use another folder"
        )

    def attempts(self, starts: int, deadline: Deadline = NEVER) -> list[Attempt]:
        """The starts of numbers below ``starts``, their values computed again; the best one is certified again (the
        one that is executed always is)."""
        if not self.path.exists():
            return []
        found: dict[int, Attempt] = {}
        for line in islice(self._lines(), 1, None):
            deadline.check()
            entry = self._read(line)
            if "number" in entry and isinstance(entry["number"], int) and entry["number"] >= starts:
                continue
            attempt = self._attempt(entry)
            if attempt.number in found:
                raise self._damaged(f"start {attempt.number} is there twice")
            found[attempt.number] = attempt
        best = min(found.values(), key=lambda attempt: attempt.value, default=None)
        if best is not None and best.delta is not None:
            robot, constraints = self.search.model.robot, self.search.constraints
            if not certify(robot, best.trajectory.curve(best.delta), constraints, check=deadline.check).certified:
                raise self._damaged(f"the motion of start {best.number} breaks a limit")
        return list(found.values())

    def append(self, attempt: Attempt) -> None:
        """One more start, on disk at once."""
        entry = dict(vars(attempt))
        del entry["complete"], entry["cancelled"], entry["trajectory"]  # complete ones, of the search's own family
        entry["duration"] = attempt.trajectory.duration
        entry["delta"] = None if attempt.delta is None else attempt.delta.tolist()
        entry["history"] = [[seconds, _or_none(value)] for seconds, value in attempt.history]
        entry |= {name: _or_none(entry[name]) for name in ("value", "first_feasible")}
        line = json.dumps(entry, allow_nan=False)
        try:
            with self.path.open("a+b") as file:
                if not self._end_whole_line(file):
                    line = f"{self.header}\n{line}"
                file.write(f"{line}\n".encode())
        except OSError as error:
            raise ExciterError(f"cannot write '{self.path}': {error.strerror}; choose another folder") from None

    @staticmethod
    def _end_whole_line(file: BinaryIO) -> bool:
        """Cut a torn last line off, which is shorter than the longest one; whether anything is left."""
        end = file.seek(0, os.SEEK_END)
        for length in (1, LONGEST_LINE):  # most often the last byte ends a line
            begin = max(0, end - length)
            file.seek(begin)
            newline = file.read(end - begin).rfind(b"\n")
            if newline >= 0:
                file.truncate(begin + newline + 1)
                return True
        file.truncate(0)
        return False

    # -- what a stranger may have written ------------------------------------------------------------------------

    def _damaged(self, why: str) -> ExciterError:
        return ExciterError(
            f"'{self.path}' is not a checkpoint of a design, or a damaged one: {why}; remove it, or use another folder"
        )

    def _lines(self) -> Iterator[str]:
        """Whole lines of a regular file, none of them longer than any start can be."""
        if self.path.is_symlink() or not self.path.is_file():  # folders, pipes, devices, files elsewhere
            raise self._damaged("it is not a regular file")
        try:
            with self.path.open("rb") as file:
                while line := file.readline(LONGEST_LINE + 1):
                    if len(line) > LONGEST_LINE:
                        raise self._damaged(f"a line is longer than {LONGEST_LINE / 1e6:g} MB")
                    if not line.endswith(b"\n"):
                        if file.tell() == len(line) and not self.header.encode().startswith(line):
                            raise self._damaged("its first line is not that of one")
                        return
                    yield line[:-1].decode("utf-8")
        except OSError as error:
            raise ExciterError(f"cannot read '{self.path}': {error.strerror}") from None
        except UnicodeDecodeError:
            raise self._damaged("it is no UTF-8 text") from None

    def _read(self, line: str) -> dict[str, Any]:
        try:
            entry = json.loads(line, parse_constant=_refused)
        except (ValueError, RecursionError):
            raise self._damaged("a line is no JSON") from None
        if not isinstance(entry, dict):
            raise self._damaged("a line is no JSON object")
        return entry

    def _attempt(self, entry: dict[str, Any]) -> Attempt:
        try:
            number, evaluations, obstacle = entry["number"], entry["evaluations"], entry["obstacle"]
            kinds = {type(number), type(evaluations)} == {int} and type(obstacle) is str
            if not (kinds and number >= 0 and evaluations >= 0 and obstacle.isprintable()):
                raise ValueError("number, evaluations or obstacle")
            family, delta = self._motion(_number(entry["duration"]), entry["delta"])
            value = np.inf if delta is None else self.search.value(family, delta)
            claimed = _number(entry["value"])
            if not np.isclose(claimed, value, rtol=SAME_VALUE, atol=SAME_VALUE):
                raise ValueError(f"its motion is worth {value:.9g}, not {claimed:.9g}")
            return Attempt(
                number=number,
                trajectory=family,
                delta=delta,
                value=value,
                evaluations=evaluations,
                seconds=_number(entry["seconds"]),
                first_feasible=_number(entry["first_feasible"]),
                history=tuple((_number(seconds), _number(f)) for seconds, f in entry["history"]),
                complete=True,
                obstacle=obstacle,
            )
        except KeyError as missing:
            raise self._damaged(f"a start has no {missing}") from None
        except (ValueError, TypeError, AttributeError, OverflowError, ExciterError) as error:
            raise self._damaged(f"a start cannot be read ({error})") from None

    def _motion(self, duration: float, delta: Any) -> tuple[Trajectory, Array | None]:
        """A motion of the search's own family, of another duration where that is free."""
        family, stretch = self.search.trajectory, self.search.stretch
        if delta is None:
            return family, None
        low, high = stretch or (1.0, 1.0)
        if not low - SAME_VALUE <= duration / family.duration <= high + SAME_VALUE:
            raise ValueError(f"a duration of {duration:g} s")
        if stretch is not None:
            family = family.with_duration(duration)
        given = np.array(delta, dtype=float)
        shape = (self.search.model.n, family.coefficients)
        if given.shape != shape or not (np.abs(given) < LARGEST_STORED_COEFFICIENT).all():
            raise ValueError(f"coefficients of shape {given.shape}, or too large ones")
        kept = family.free @ np.linalg.lstsq(family.free, given.T)[0]  # rest, or smoothness, where the family has it
        if np.abs(kept - given.T).max() > SAME_VALUE * max(1.0, float(np.abs(given).max())):
            raise ValueError("coefficients of no motion of this family")
        return family, given


def _refused(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _or_none(value: float) -> float | None:
    """Infinity is null in JSON."""
    return value if np.isfinite(value) else None


def _number(value: Any) -> float:
    if value is None:
        return np.inf
    if type(value) not in (int, float) or not np.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)
