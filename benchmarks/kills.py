"""Commands killed at random moments, into folders that hold an older result: what do the other commands make of them?

    python benchmarks/kills.py [--kills 100] [--seed 0] [COMMAND…]

Every trial starts a command in a session of its own and kills the process itself, not its workers: −9, SIGTERM or
SIGHUP; at a moment of its usual run time, or (more often) when it has written some of its files. Then the folder must
be all of the old result, all of the new one, or refused by every command that takes such a folder; and no process may
be left after a grace. Printed: counts by command. ``tests/pipeline/test_folders_whole.py`` tries every gap between two
system calls.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from exciter.cli import main as exciter
from exciter.errors import ExciterError
from exciter.excitation.files.trajectory_files import MOTION_FILES
from exciter.files import STAGE_PREFIX, Seal

ROBOT, PAPER = "gautier-khalil", "rackl-2012"
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
WHILE_WRITING = 0.7  #: part of the kills that wait until something is written
AFTER_A_FILE = 0.01  #: [s] within which those come
GRACE = 2.0  #: [s] for workers to notice that they are orphans
SHARE = {"design": 35, "identify": 20, "simulate": 20, "validate": 15, "reproduce": 10}  #: [%] of the kills


def asked(*words: object) -> bool:
    """Whether a command takes what it is given; it may refuse with exit code 2, and must do nothing else."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            exciter([str(word) for word in words])
        except SystemExit as left:
            if left.code not in (0, 1, 2, None):
                raise RuntimeError(f"exciter {words}: exit code {left.code}: {said.getvalue()}") from None
            return left.code != 2
    return True


def hashed(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    paths = (folder / name for name in names)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()}


def parameters(folder: Path) -> list[object] | None:
    """The values of an accepted result."""
    out = folder.parent / "parameters.json"
    if not asked("export", folder, "--format", "json", "-o", out):
        return None
    return [one["value"] for one in json.loads(out.read_text())["parameters"]]


# -- what is made of a folder: "old", "new", "refused", or what is wrong --------------------------------------------


def design_state(folder: Path, old: Path, new: Path) -> str:
    out = folder.parent
    takes = {
        "check": asked("check", ROBOT, folder / "trajectory.csv"),
        "export": asked("export", folder, "--format", "ros2", "-o", out / "message.yaml"),
        "slow": asked("slow", ROBOT, folder, "--speed", 50, "-o", out / "slow"),
        "simulate": asked("simulate", ROBOT, folder / "trajectory.json", "-o", out / "rehearsal" / "log.csv"),
    }
    if not any(takes.values()):
        return "refused"
    if not all(takes.values()):
        return f"MIXED: {takes}"
    return told(hashed(folder, MOTION_FILES), *(hashed(one, MOTION_FILES) for one in (old, new)))


def result_state(folder: Path, old: Path, new: Path) -> str:
    found = parameters(folder)
    return "refused" if found is None else told(found, parameters(old), parameters(new))


def log_state(folder: Path, old: Path, new: Path) -> str:
    names = ("log.csv", "log.yaml", "truth.json")
    takes = asked("inspect", ROBOT, folder / "log.csv")
    found, *whole = (hashed(one, names) for one in (folder, old, new))
    if not takes:
        return "refused"
    if "truth.json" not in found:  # the log alone, without words about another one
        whole = [{name: one[name] for name in names[:2]} for one in whole]
    return told(found, *whole)


def sealed_state(name: str) -> Callable[[Path, Path, Path], str]:
    """Of folders that no command takes: by their own seal."""

    def state(folder: Path, old: Path, new: Path) -> str:
        seal = Seal(name, (), "again")
        try:
            seal.refuse_changed(folder, {})
        except ExciterError:
            return "refused"
        recorded = seal.recorded(folder)
        if not recorded or hashed(folder, tuple(recorded)) != recorded:
            return "MIXED: files that are not those of the seal"
        return "old" if recorded == seal.recorded(old) else "new"

    return state


def told(found: object, old: object, new: object) -> str:
    return "old" if found == old else "new" if found == new else "MIXED: neither the old nor the new"


# -- trials ----------------------------------------------------------------------------------------------------------


@dataclass
class Job:
    """A command that writes to ``{folder}``; old and new: complete results of it; seconds: of a run."""

    words: tuple[str, ...]
    old: Path
    new: Path
    state: Callable[[Path, Path, Path], str]
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)

    def started(self, folder: Path) -> subprocess.Popen[bytes]:
        words = [word.replace("{folder}", str(folder)) for word in self.words]
        return subprocess.Popen(
            [sys.executable, "-m", "exciter", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def complete(self) -> None:
        clock = time.perf_counter()
        if self.started(self.new).wait():
            raise RuntimeError(f"exciter {' '.join(self.words)} failed")
        self.seconds = time.perf_counter() - clock


def killed(job: Job, folder: Path, chance: random.Random) -> None:
    """One trial, counted."""
    process = job.started(folder)
    if chance.random() < WHILE_WRITING:
        files = chance.randint(1, len(list(job.new.iterdir())))  # the last one is followed by the renames
        while process.poll() is None and not writing(folder, files):
            time.sleep(0.0005)
        time.sleep(AFTER_A_FILE * chance.random())
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(job.seconds * chance.random())
    how = chance.choice(SIGNALS)
    ended = process.poll() is not None
    process.send_signal(how)
    process.wait()
    job.counts["ended before" if ended else how.name] += 1
    until = time.monotonic() + GRACE
    while (left := processes_of(process.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    job.counts["trials with processes left"] += bool(left)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    state = job.state(folder, job.old, job.new)
    job.counts["MIXED" if state.startswith("MIXED") else state] += 1
    if state.startswith("MIXED"):
        print(f"{job.words[0]}, {how.name}: {state}", flush=True)
    job.counts["hidden folders left"] += len(list(folder.glob(f"{STAGE_PREFIX}*")))


def writing(folder: Path, files: int) -> bool:
    """Whether a hidden folder has so many files."""
    with contextlib.suppress(OSError):  # it went while it was looked at
        return any(len(list(hidden.iterdir())) >= files for hidden in folder.glob(f"{STAGE_PREFIX}*"))
    return False


def processes_of(session: int) -> list[int]:
    """Of a session, without those that wait to be buried."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                values = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(values[3]) == session and values[0] != "Z":
                    found.append(int(entry.name))
    return found


def jobs(place: Path) -> Iterator[tuple[str, Job]]:
    """Every command, as soon as its old and its new result are there."""
    made = {name: (place / f"{name}_old", place / f"{name}_new") for name in SHARE}
    design = ("design", ROBOT, "--starts", "2", "-o", "{folder}", "--seed")
    simulate = ("simulate", ROBOT, "{motion}", "-o", "{folder}/log.csv", "--truth", "{folder}/truth.json", "--seed")
    motion = str(made["design"][0] / "trajectory.json")
    simulate = tuple(motion if word == "{motion}" else word for word in simulate)
    logs = [str(folder / "log.csv") for folder in made["simulate"]]
    held_out = ("simulate", ROBOT, str(made["design"][1] / "trajectory.json"), "-o", "{folder}/log.csv")
    other = str(place / "other" / "log.csv")
    identify = ("identify", ROBOT, "{log}", "-o", "{folder}")
    result = str(made["identify"][0])
    reproduce = ("reproduce", PAPER, "--quick", "--jobs", "1", "-o", "{folder}")
    words = {
        "design": ((*design, "1"), (*design, "2"), design_state),
        "simulate": ((*simulate, "1"), (*simulate, "2"), log_state),
        "identify": (*(tuple(log if word == "{log}" else word for word in identify) for log in logs), result_state),
        "validate": (
            ("validate", result, other, "-o", "{folder}"),
            ("validate", result, logs[1], "-o", "{folder}"),
            sealed_state("validation.json"),
        ),
        "reproduce": (reproduce, reproduce, sealed_state(f"{PAPER}.json")),
    }
    for name, (first, second, state) in words.items():
        old, new = made[name]
        job = Job(second, old, new, state)
        job.complete()
        if first == second:
            shutil.copytree(new, old)
        else:
            Job(first, old, old, state).complete()
        if name == "simulate":
            Job(held_out, place / "other", place / "other", state).complete()
        if state(old, old, new) != "old" or state(new, old, new) not in ("new", "old" if first == second else ""):
            raise RuntimeError(f"{name}: complete folders are not taken for what they are")
        print(f"{name}: {job.seconds:.1f} s a run", flush=True)
        yield name, job


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("commands", nargs="*", default=tuple(SHARE), help="to kill; all of them, unless given")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as place:
        mixed = 0
        for name, job in jobs(Path(place)):
            if name not in given.commands:
                continue
            for k in range(round(given.kills * SHARE[name] / 100)):
                folder = Path(place) / f"trial_{name}_{k}" / "folder"
                shutil.copytree(job.old, folder)
                killed(job, folder, chance)
                shutil.rmtree(folder.parent)
            counts = ", ".join(f"{count} {what}" for what, count in sorted(job.counts.items()) if count)
            print(f"{name}: {counts}", flush=True)
            mixed += job.counts["MIXED"]
    print(f"{mixed} folders that are neither whole nor refused")


if __name__ == "__main__":
    run()
