"""Tries to hurt every reader with damaged files: only ``ExciterError`` may come out, in bounded time and memory.

    python benchmarks/fuzz_readers.py [INPUTS] [--reader NAME …] [--first SEED] [--processes P]
    python benchmarks/fuzz_readers.py --reader mjcf --first 123 --count 1      # one input again, with its traceback
    python benchmarks/fuzz_readers.py --reader mjcf --first 123 --count 1 --keep damaged.xml

Every input is a valid file (``fuzz_inputs.py``), damaged a few times (``fuzz_damage.py``): of a tree (XML, YAML, JSON)
values become extreme ones or another type, keys and elements are removed, renamed, moved and nested; of a text tokens
and lines; of a binary file bits, lengths and blocks. What it is follows from reader and seed alone. Reading goes as far
as a command does: a configuration is made into all its objects, a log is read to its end and a part of them judged, a
trajectory becomes a curve.

Inputs run in forked children, a batch each. A finding is an exception other than ``ExciterError``, a warning, a message
that is not one short line, a child that dies, an input that takes more than 10 s or 512 MB. INPUTS are
shared out by what readers cost (``Reader.weight``). Ctrl-C and SIGTERM end the run with a table of what is
complete.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import contextlib
import mmap
import pickle
import random
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_damage import damaged
from fuzz_inputs import READERS, seeds_of

from exciter.errors import ExciterError

SECONDS = 10.0  # of the processor that one input may take
PATIENCE = 60.0  # seconds of the clock, after which a child is ended: one that waits takes none of the processor's
MEGABYTES = 512  # that reading may add to the process
ADDRESSES = 6 << 30  # bytes a child may ask for beyond its own, so that the machine survives a finding
LONGEST_LINE = 2100  # characters of a message
BATCH = 400  # inputs of one child


def made(name: str, seed: int) -> tuple[str, bytes]:
    """Suffix and content of an input: that of the same seed is always the same."""
    rng = random.Random(f"{name} {seed}")
    suffix, kind, content = rng.choice(seeds_of(name))
    return suffix, damaged(content, kind, rng)


class Hang(BaseException):
    """Raised by the alarm: no reader may catch it."""


@dataclass
class Tally:
    """Of one reader. findings: (seed, what)."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    hangs: int = 0
    megabytes: float = 0.0
    seconds: float = 0.0
    findings: list[tuple[int, str]] = field(default_factory=list)


def trial(name: str, seed: int, folder: Path) -> str | None:
    """What is wrong with how an input was read; "" when it was accepted, None when it was refused in one line."""
    for old in folder.iterdir():
        old.unlink()
    try:
        suffix, content = made(name, seed)
        path = folder / f"input{suffix}"
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            READERS[name].read(path, random.Random(seed))
    except ExciterError as error:
        line = str(error)
        if len(line) > LONGEST_LINE or not line or any(ord(c) < 32 for c in line):
            return f"message: {len(line)} characters, {line[:200]!r}"
        return None
    except Hang:
        return f"hang: longer than {SECONDS:g} s"
    except MemoryError:
        return "memory: MemoryError"
    except Exception:
        return traceback.format_exc(limit=-6)
    return ""


def batch(name: str, first: int, count: int, place: mmap.mmap) -> Tally:
    """Inputs one after the other in this process; ``place`` always holds the seed that is being tried."""
    found, base = Tally(), _peak()

    def rung(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, rung)
    with tempfile.TemporaryDirectory(dir=_shared()) as folder:
        start = time.monotonic()
        for seed in range(first, first + count):
            place[:16] = struct.pack("<qd", seed, time.monotonic())
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            said = trial(name, seed, Path(folder))
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            found.inputs += 1
            found.megabytes = max(found.megabytes, _peak() - base)
            if said is None:
                found.refused += 1
            elif not said:
                found.accepted += 1
            else:
                found.hangs += said.startswith("hang")
                found.findings.append((seed, said))
            if _peak() - base > MEGABYTES:
                found.findings.append((seed, f"memory: {_peak() - base:.0f} MB"))
                break  # the peak stays: the others need another process
        found.seconds = time.monotonic() - start
    return found


def _peak() -> float:
    """[MB] largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _shared() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@dataclass
class Child:
    """A forked process at work on a batch."""

    pid: int
    pipe: int
    place: mmap.mmap
    name: str
    first: int
    count: int
    answer: bytes = b""

    @classmethod
    def started(cls, name: str, first: int, count: int) -> Child:
        place = mmap.mmap(-1, 16)
        place[:16] = struct.pack("<qd", first, time.monotonic())
        out, into = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(out)
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, 1)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.dup2(nothing, 2)
                most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ADDRESSES
                resource.setrlimit(resource.RLIMIT_AS, (most, most))
                with os.fdopen(into, "wb") as stream:
                    pickle.dump(batch(name, first, count, place), stream)
            finally:
                os._exit(0)
        os.close(into)
        return cls(pid, out, place, name, first, count)

    def finished(self, ready: bool) -> Tally | None:
        """What came out, also of a child that died or had to be ended; None while it is at work."""
        if ready:
            part = os.read(self.pipe, 1 << 16)
            self.answer += part
            if part:
                return None
        seed, since = struct.unpack("<qd", self.place[:16])
        late = time.monotonic() - since > PATIENCE
        if not ready and not late:
            return None
        if late:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        if not late and self.answer:
            answer: Tally = pickle.loads(self.answer)  # of our own child
            return answer
        said = f"hang: longer than {PATIENCE:g} s of the clock" if late else f"the process died (status {status})"
        done = seed - self.first + 1
        return Tally(inputs=done, refused=done - 1, hangs=int(late), findings=[(seed, said)])


def run(counts: dict[str, int], first: int, processes: int, say: Callable[[str], None] = print) -> dict[str, Tally]:
    """All inputs of every reader, ``processes`` at a time."""
    tallies = {name: Tally() for name in counts}
    for name in counts:
        seeds_of(name)
        warm(name)
    todo = [(name, start, min(BATCH, first + count - start)) for name, count in counts.items()
            for start in range(first, first + count, BATCH)]  # fmt: skip
    todo.sort(key=lambda one: one[1])  # readers in turn, so that an interrupted run has something of each
    children: list[Child] = []
    try:
        while todo or children:
            while todo and len(children) < processes:
                children.append(Child.started(*todo.pop(0)))
            ready, _, _ = select.select([child.pipe for child in children], [], [], 1.0)
            for child in list(children):
                if (found := child.finished(child.pipe in ready)) is None:
                    continue
                children.remove(child)
                _add(tallies[child.name], found, child.name, say)
                if found.inputs < child.count:
                    todo.insert(0, (child.name, child.first + found.inputs, child.count - found.inputs))
    except KeyboardInterrupt:
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
    return tallies


def _add(total: Tally, found: Tally, name: str, say: Callable[[str], None]) -> None:
    for key in ("inputs", "accepted", "refused", "hangs", "seconds"):
        setattr(total, key, getattr(total, key) + getattr(found, key))
    total.megabytes = max(total.megabytes, found.megabytes)
    for seed, said in found.findings:
        total.findings.append((seed, said))
        say(f"{name} {seed}: {said}")


def warm(name: str) -> None:
    """Read what is whole, here, so that children find modules loaded and kernels compiled."""
    with tempfile.TemporaryDirectory(dir=_shared()) as folder:
        for suffix, _, content in seeds_of(name):
            for old in Path(folder).iterdir():
                old.unlink()
            path = Path(folder) / f"input{suffix}"
            path.write_bytes(content)
            with contextlib.suppress(ExciterError):
                READERS[name].read(path, Always(0))


class Always(random.Random):
    """Takes every optional step."""

    def random(self) -> float:
        return 0.0


def printed(tallies: dict[str, Tally]) -> str:
    head = ("reader", "inputs", "accepted", "refused", "unexpected", "hangs", "largest MB", "inputs/s")
    rows = [head]
    total = Tally()
    for name, one in tallies.items():
        _add(total, one, name, lambda _: None)
        rows.append(_row(name, one))
    rows.append(_row("all", total))
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _row(name: str, one: Tally) -> tuple[str, ...]:
    speed = one.inputs / one.seconds if one.seconds else 0.0
    counts = (one.inputs, one.accepted, one.refused, len(one.findings) - one.hangs, one.hangs)
    return (name, *map(str, counts), f"{one.megabytes:.0f}", f"{speed:.0f}")


def shared_out(inputs: int, names: Sequence[str]) -> dict[str, int]:
    """How many each reader gets."""
    whole = sum(READERS[name].weight for name in names)
    return {name: max(1, round(inputs * READERS[name].weight / whole)) for name in names}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="?", type=int, default=10_000)
    parser.add_argument("--reader", nargs="+", choices=READERS, default=list(READERS), metavar="NAME")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, metavar="N", help="inputs of every reader, instead of INPUTS in all")
    parser.add_argument("--processes", type=int, default=1, metavar="P")
    parser.add_argument("--keep", type=Path, metavar="F", help="write the first input there")
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # shells ignore the first for what runs in the background
        signal.signal(number, signal.default_int_handler)
    if given.keep is not None:
        given.keep.write_bytes(made(given.reader[0], given.first)[1])
    names = given.reader
    counts = shared_out(given.inputs, names) if given.count is None else dict.fromkeys(names, given.count)
    tallies = run(counts, given.first, given.processes, lambda line: print(line, flush=True))
    print(printed(tallies))
    return int(any(one.findings for one in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
