"""Many starts of one search, over processes, each by its own seed: the same result whatever the number of processes.

The first few run to their end; the others race against the best of these, and are given up where they cannot win: most
starts lead to worse local minima than the best one, and that shows long before they end.

Completed starts are kept on disk, so that an interrupted design goes on where it stopped. A start is a pure function of
the problem, its number, and where the first few end. Only those that found a motion are kept, for a motion can be
judged again; the others are run again, so that the result is the one of an uninterrupted run."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, takewhile
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from exciter.dynamics.model import random_states
from exciter.errors import ClusterLost, ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.optimiser.deadline import NEVER, Deadline, OutOfTime
from exciter.excitation.optimiser.search import Attempt, Search
from exciter.files import unique_keys
from exciter.notes import Note, warning
from exciter.settings import written
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT
from exciter.workers import HERE, Workers

LONGEST_LINE_BYTES = 20_000_000  # bytes of a start: thousands of coefficients, and of iterations
HEADER_BEGINNING = b'{"exciter": "checkpoint", "fingerprint": "'
SAME_VALUE_TOLERANCE = 1e-6  # to which the value of a motion is the same whenever it is computed
Report = Callable[[int, int, float], None]  # of a start by its number, an iteration and the value
FIRST_STARTS = 4  # that run to their end, whatever they come to
LOST_SUBJECT = "cluster"  #: of the note that its scheduler was lost
HANDING_OVER_S = 1.0  # [s] after the deadline until which the parent waits for what its workers have


def fingerprint(search: Search) -> str:
    """Of everything that a start depends on."""
    robot = search.model.robot
    parts: list[Any] = [robot.name, robot.joint_names, robot.parents.tolist(), robot.gravity.tolist()]
    if robot.coupling is not None:
        parts += [repr(joint.limits) for joint in robot.joints]
        parts += [[x.tolist() for x in vars(robot.coupling).values() if isinstance(x, np.ndarray)]]
    for joint in robot.bodies:
        parts += [joint.kind, joint.rotation.tolist(), joint.translation.tolist(), joint.axis.tolist()]
        parts += [joint.inertia.tolist(), repr(joint.limits)]
    parts += [{key: value.tolist() for key, value in robot.friction.items()}, [repr(t) for t in search.model.terms]]
    parts += [written(search.trajectory), repr(search.criterion), search.objective.weights.tolist()]
    chosen, prior = search.objective.chosen, search.objective.prior
    parts += [repr(search.objective.formulation), chosen.names]
    parts += [None if array is None else array.tolist() for array in (chosen.combination, prior)]
    parts += [] if chosen.nuisance is None else [chosen.nuisance.tolist()]
    parts += [[[repr(row) for row in constraint.rows] for constraint in search.constraints]]
    states = random_states(robot, samples=8)  # geometry, payloads: by what they do
    parts += [[np.round(constraint.values(states), 9).tolist() for constraint in search.constraints]]
    parts += [search.samples, search.seed, search.stretch, repr(search.settings)]
    parts += [] if search.locked is None else [np.nan_to_num(search.locked, nan=LARGEST_OF_A_ROBOT).tolist()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _opened(path: Path, mode: Literal["rb", "a+b", "w+b"]) -> BinaryIO:
    """The file itself: a link of its name, made at whatever moment, leads nowhere (OSError)."""
    follow_no_link = getattr(os, "O_NOFOLLOW", 0)  # 0: of systems that have none
    return open(path, mode, opener=lambda name, flags: os.open(name, flags | follow_no_link, 0o666))


def refuse_foreign(path: Path) -> None:
    """A file of that name that is somebody else's is not to be replaced."""
    if not (path.is_symlink() or path.exists()):
        return
    own = not path.is_symlink() and path.is_file()
    if own:
        with _opened(path, "rb") as file:
            own = HEADER_BEGINNING.startswith(file.read(len(HEADER_BEGINNING)))  # killed: perhaps less of it
    if not own:
        raise ExciterError(f"'{path}' is not a checkpoint of a design; remove it, or choose another folder")


def discard(path: Path) -> None:
    """Remove a checkpoint of before, if there is one."""
    refuse_foreign(path)
    path.unlink(missing_ok=True)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A file of lines of JSON that grows by appending: a header with the problem's fingerprint, then one line for every
    completed start. A last line without its end, as a killed process leaves it, is dropped. Everything else is
    untrusted: what a line claims is computed again before it counts."""

    path: Path
    search: Search
    header: str
    resumed: bool = True
    appended: list[int] = field(default_factory=list)  # numbers of the starts of this run

    @classmethod
    def opened(cls, path: Path, search: Search, *, resume: bool = True) -> Checkpoint:
        """For a file that is there, or may be made; a file of another problem is refused. resume: False for a new
        search. What an earlier one has left then stays until a start takes its place."""
        header = json.dumps({"exciter": "checkpoint", "fingerprint": fingerprint(search)})
        found = cls(path, search, header, resume)
        if not resume:
            refuse_foreign(path)
        elif (path.exists() or path.is_symlink()) and (first := next(found._lines(), header)) != header:
            given = found._read(first)
            if given.get("exciter") != "checkpoint" or not isinstance(given.get("fingerprint"), str):
                raise found._damaged("its first line is not that of one")
            raise ExciterError(
                f"'{path}' belongs to another design (robot, settings or seed differ); remove it, or use another folder"
            )
        return found

    def attempts(self, starts: int, deadline: Deadline = NEVER) -> list[Attempt]:
        """The starts of numbers below ``starts`` that found a motion, their values computed and the best one certified
        again; after the deadline only the one that claims to be the best, not certified: who executes it does that."""
        if not self.resumed or not os.path.lexists(self.path):
            return []
        entries: dict[int, dict[str, Any]] = {}
        for line in islice(self._lines(), 1, None):
            entry = self._read(line)
            number = entry.get("number")
            if type(number) is int and number >= starts:
                continue
            if type(number) is int and number in entries:
                raise self._damaged(f"start {number} is there twice")
            if (checked := self._checked(entry))["delta"] is not None:
                entries[checked["number"]] = checked
        found: list[Attempt] = []
        for entry in sorted(entries.values(), key=itemgetter("value")):
            if found and deadline.passed:
                break
            found.append(self._attempt(entry))
        if found:
            best = min(found, key=attrgetter("value"))
            curve = best.trajectory.curve(best.delta)  # type: ignore[arg-type]  # those without a motion are left out
            with suppress(OutOfTime):
                if not certify(self.search.model.robot, curve, self.search.constraints, check=deadline.check).certified:
                    raise self._damaged(f"the motion of start {best.number} breaks a limit")
        return sorted(found, key=attrgetter("number"))

    def append(self, attempt: Attempt) -> None:
        """One more start, on disk at once; one without a motion is not kept."""
        if attempt.delta is None:
            return
        entry = dict(vars(attempt))
        for name in ("complete", "cancelled", "outdone", "trajectory"):  # complete ones, of the search's own family
            del entry[name]
        entry["duration"] = attempt.trajectory.duration
        entry["delta"] = attempt.delta.tolist()
        entry["history"] = [[seconds, _or_none(value)] for seconds, value in attempt.history]
        entry |= {name: _or_none(entry[name]) for name in ("value", "first_feasible")}
        line = json.dumps(entry, allow_nan=False)
        try:
            with _opened(self.path, "a+b" if self.resumed or self.appended else "w+b") as file:
                if not self._end_whole_line(file):
                    line = f"{self.header}\n{line}"
                file.write(f"{line}\n".encode())
            self.appended.append(attempt.number)
        except OSError as error:
            raise ExciterError(f"cannot write '{self.path}': {error.strerror}; choose another folder") from None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """For a new search: when it ends with a motion, what was left by one of another problem is of no use beside it;
        when it ends without one, its own starts lead nowhere, and what was there before stays."""
        try:
            yield
        except ExciterError:
            if not self.resumed and self.appended:
                discard(self.path)
            raise
        if not self.resumed and not self.appended and os.path.lexists(self.path):
            with _opened(self.path, "rb") as file:
                own = file.read(len(self.header)) == self.header.encode()
            if not own:
                discard(self.path)

    @staticmethod
    def _end_whole_line(file: BinaryIO) -> bool:
        """Cut a torn last line off, which is shorter than the longest one; whether anything is left."""
        end = file.seek(0, os.SEEK_END)
        for length in (1, LONGEST_LINE_BYTES):  # most often the last byte ends a line
            begin = max(0, end - length)
            file.seek(begin)
            if (newline := file.read(end - begin).rfind(b"\n")) >= 0:
                file.truncate(begin + newline + 1)
                return True
        file.truncate(0)
        return False

    def _damaged(self, why: str) -> ExciterError:
        return ExciterError(
            f"'{self.path}' is not a checkpoint of a design, or a damaged one: {why}; remove it, or use another folder"
        )

    def _lines(self) -> Iterator[str]:
        """Whole lines of a regular file, none of them longer than any start can be."""
        if self.path.is_symlink() or not self.path.is_file():  # folders, pipes, devices, files elsewhere
            raise self._damaged("it is not a regular file")
        try:
            with _opened(self.path, "rb") as file:
                while line := file.readline(LONGEST_LINE_BYTES + 1):
                    if len(line) > LONGEST_LINE_BYTES:
                        raise self._damaged(f"a line is longer than {LONGEST_LINE_BYTES / 1e6:g} MB")
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
            entry = json.loads(line, parse_constant=_refused, object_pairs_hook=unique_keys)
        except (ValueError, RecursionError):
            raise self._damaged("a line is no JSON") from None
        if not isinstance(entry, dict):
            raise self._damaged("a line is no JSON object")
        return entry

    def _checked(self, entry: dict[str, Any]) -> dict[str, Any]:
        """All that a start has, each of its kind; nothing is computed yet."""
        try:
            kept = {name: entry[name] for name in ("number", "evaluations", "obstacle", "delta")}
            number, evaluations, obstacle, delta = kept.values()
            kinds = {type(number), type(evaluations)} == {int} and type(obstacle) is str
            if not (kinds and number >= 0 and evaluations >= 0 and obstacle.isprintable()):
                raise ValueError("number, evaluations or obstacle")
            kept |= {name: _number(entry[name]) for name in ("duration", "value", "seconds", "first_feasible")}
            if delta is None and entry["value"] is not None:
                raise ValueError("a value without a motion")
            return {**kept, "history": tuple((_number(seconds), _number(f)) for seconds, f in entry["history"])}
        except KeyError as missing:
            raise self._damaged(f"a start has no {missing}") from None
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise self._damaged(f"a start cannot be read ({error})") from None

    def _attempt(self, entry: dict[str, Any]) -> Attempt:
        """Of a checked entry with a motion, which must be of the search's own family; its value computed again."""
        claimed, duration = entry.pop("value"), entry.pop("duration")
        family, same = self.search.trajectory, SAME_VALUE_TOLERANCE
        low, high = self.search.stretch or (1.0, 1.0)
        try:
            if not low - same <= duration / family.duration <= high + same:
                raise ValueError(f"a duration of {duration:g} s")
            if self.search.stretch is not None:
                family = family.with_duration(duration)
            delta = np.array(entry.pop("delta"), dtype=float)
            shape = (self.search.model.n, family.coefficients)
            if delta.shape != shape or not (np.abs(delta) < LARGEST_OF_A_ROBOT).all():
                raise ValueError(f"coefficients of shape {delta.shape}, or too large ones")
            kept = family.nearest(delta)  # rest or smoothness, where it has it
            if np.abs(kept - delta).max() > same * max(1.0, float(np.abs(delta).max())):
                raise ValueError("coefficients of no motion of this family")
            value = self.search.value(family, delta)
            if not np.isclose(claimed, value, rtol=same, atol=same):
                raise ValueError(f"its motion is worth {value:.9g}, not {claimed:.9g}")
        except (ValueError, TypeError, AttributeError, OverflowError, ExciterError) as error:
            raise self._damaged(f"a start cannot be read ({error})") from None
        return Attempt(**entry, trajectory=family, delta=delta, value=value, complete=True)


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


@dataclass(frozen=True)
class Progress:
    """start: number of the start that reports; done: starts completed; value: the best so far (inf: none yet); doing:
    in words, where it is not the starts that are counted."""

    start: int
    starts: int
    done: int
    iteration: int
    value: float
    seconds: float
    doing: str = ""


def run_starts(
    search: Search,
    starts: int,
    workers: Workers = HERE,
    deadline: Deadline = NEVER,
    certificate_seconds: float = 0.0,
    checkpoint: Checkpoint | None = None,
    before: Sequence[Attempt] = (),
    *,
    race: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[tuple[Attempt, ...], bool, bool, tuple[Note, ...]]:
    """What ``starts`` starts gave, without those that time did not leave a motion; whether Ctrl-C or the deadline came
    before all were done, whether it was the deadline, and what a user should see: that a cluster was lost, which ends
    a search as Ctrl-C does. ``before`` was read from the checkpoint, which keeps the others. The start under way keeps
    what it has reached, in time for a certificate of certificate_seconds."""
    began = deadline.clock()
    done = {attempt.number: attempt for attempt in before}
    missing = [number for number in range(starts) if number not in done]

    def report(number: int, iteration: int, value: float) -> None:
        if progress is not None:
            best = min([value, *(attempt.value for attempt in done.values())])
            progress(Progress(number, starts, len(done), iteration, best, deadline.clock() - began))

    cancelled, notes = False, tuple[Note, ...]()
    try:
        for first in (True, False):
            numbers = [number for number in missing if (number < FIRST_STARTS) == first]
            ends = [one.history[-1][1] for one in done.values() if one.number < FIRST_STARTS and one.history]
            bar = min(ends, default=np.inf) if race and not first else np.inf
            with closing(_run(search, numbers, workers, deadline, certificate_seconds, report, bar)) as running:
                for attempt in running:
                    if attempt.complete or attempt.feasible:
                        done[attempt.number] = attempt
                        report(attempt.number, 0, attempt.value)
                    cancelled = cancelled or attempt.cancelled
                    if checkpoint is not None and attempt.complete:
                        checkpoint.append(attempt)
            if any(number not in done or not done[number].complete for number in numbers):
                break  # stopped, or out of time
    except (KeyboardInterrupt, ClusterLost) as stop:
        if not done:
            raise
        cancelled = True
        notes = (warning(LOST_SUBJECT, str(stop)),) if isinstance(stop, ClusterLost) else ()
    interrupted = sum(attempt.complete for attempt in done.values()) < starts
    return tuple(done[number] for number in sorted(done)), interrupted, interrupted and not cancelled, notes


def refuse_stopped(stopped: bool, notes: Iterable[Note]) -> None:
    """Where a search that was stopped must not be built upon: Ctrl-C goes on, and so does the loss of a cluster."""
    if stopped:
        lost = next((one.text for one in notes if one.subject == LOST_SUBJECT), None)
        raise KeyboardInterrupt if lost is None else ClusterLost(lost)


def _run(
    search: Search,
    numbers: list[int],
    workers: Workers,
    deadline: Deadline,
    certificate_seconds: float,
    report: Report,
    bar: float,
) -> Generator[Attempt, None, None]:
    """Attempts as they end, none begun after the deadline, or after one that was stopped."""
    stopped = False
    in_time = takewhile(lambda _: not (stopped or deadline.passed), numbers)
    if workers.here or len(numbers) <= 1:
        for number in in_time:
            attempt = search.run(number, deadline, partial(report, number), certificate_seconds, bar=bar)
            stopped = not attempt.complete
            yield attempt
        return
    search.posture(deadline)  # found once, and an infeasible problem is reported here
    until, patience = time.time() + deadline.left, deadline.patience
    tasks = ((search, number, until, patience, deadline.seconds, certificate_seconds, bar) for number in in_time)
    latest = deadline.shared().of_certificates.at + HANDING_OVER_S
    with closing(workers.over(one_start, tasks, until=latest)) as running:
        for attempt in running:
            stopped = stopped or not attempt.complete
            yield attempt


def one_start(
    search: Search,
    number: int,
    until: float,
    patience: float,
    seconds: float,
    certificate_seconds: float,
    bar: float,
) -> Attempt:
    """One start on a worker; until [s]: the instant of the deadline as clocks on walls have it, for a monotonic one is
    that of its machine."""
    at = time.monotonic() + (until - time.time())
    deadline = Deadline(at=at, seconds=seconds, clock=time.monotonic, patience=patience)
    return search.run(number, deadline, None, certificate_seconds, bar=bar)
