"""Changes the code that trust rests on, one operator at a time, and looks whether a test notices.

    python benchmarks/mutations.py [--module TEXT …] [--sample N --seed S] [--jobs N] [--list] [--results FILE]

A mutant is one change of one module: another operator, comparison, number, function, or a statement less. All tests run
once, and say which lines they reach; then a child process per mutant gets the changed functions in place of the old
ones and runs the tests that reach them, the quickest first, until one fails. No file of the package is touched, and
kernels are compiled once. A mutant that no test notices is a survivor: either a test is missing, or the change does no
harm, and then ``mutations_harmless.yaml`` says why. Exit code 1 when there are survivors that it does not list.

Results are appended to FILE, and mutants that are in it are not run again while the module is as it was; survivors are,
when the tests have changed or more of them are asked. Tests that call other processes do not see mutants.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"))

import argparse
import functools
import gc
import hashlib
import importlib
import json
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from _pytest.runner import runtestprotocol

sys.path.insert(0, str(Path(__file__).parent))

from mutants import PACKAGE, Mutant, graft, mutants

ROOT = Path(__file__).parents[1]
HARMLESS = Path(__file__).with_name("mutations_harmless.yaml")
MOTIONS = (
    "certificate", "certificate_parts", "certificate_joints", "certificate_search", "unchecked", "distances",
    "constraints", "constraint_settings", "ground", "trajectory_files", "file_rows", "slowed", "points",
    "validation_motion", "design_config", "gear_load", "placeholders", "collision_shapes",
)  # fmt: skip
#: Folders that are mutated, and the tests (test_….py) that are asked.
TESTS = {
    "identification/uncertainty": ("uncertainty_definitions", "uncertainty_words", "drift", "uncertainty", "pulled"),
    "excitation/certificate": MOTIONS,
    "excitation/constraints": MOTIONS,
    "excitation/files": (*MOTIONS, "folders_whole"),
}
ENOUGH = 5.0  #: [s] of tests that a mutant is asked, the quickest first; at least one
PATIENCE = 10.0  #: times the processor time that its tests take without a change, that a mutant may take
LEAST_PATIENCE = 20.0  #: [s]
WAITING = 30.0  #: times that, by the clock: others may want the processor as well, but not for ever
MEMORY = 8 << 30  #: bytes, more than the parent has, that a mutant may ask for
Verdicts = dict[str, dict[str, Any]]  # by key of mutant: one line of the results

# -- tests -------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Campaign:
    """A plug-in of pytest: in place of running the tests that were collected, it runs them for every mutant."""

    chosen: list[Mutant]
    jobs: int
    enough: float
    results: Path | None
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    reached: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # by test: lines by module
    seconds: dict[str, float] = field(default_factory=dict)
    kills: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    items: dict[str, Any] = field(default_factory=dict)

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """A failure is enough: no search for the smallest one."""
        from hypothesis import Phase, settings

        settings.register_profile("mutants", derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate])
        os.environ["HYPOTHESIS_PROFILE"] = "mutants"

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        session.config._tmp_path_factory.getbasetemp()
        self._survey()
        for cache in [c for c in gc.get_objects() if isinstance(c, functools._lru_cache_wrapper)]:
            if cache.__name__ != "kernels":  # what tests and the package keep was made by unchanged code
                cache.cache_clear()
        gc.collect()
        gc.freeze()
        self._all()
        return True

    def _survey(self) -> None:
        """Run all tests once, and remember which lines of which module each reaches."""
        modules = {str(PACKAGE / m.module): m.module for m in self.chosen}
        for nodeid, item in self.items.items():
            lines: dict[str, set[int]] = defaultdict(set)

            def local(frame: Any, event: str, _: Any, lines: dict[str, set[int]] = lines) -> Any:
                lines[modules[frame.f_code.co_filename]].add(frame.f_lineno)
                return local

            def enter(frame: Any, event: str, argument: Any, local: Callable[..., Any] = local) -> Any:
                return local(frame, event, argument) if frame.f_code.co_filename in modules else None

            begun = time.process_time()
            sys.settrace(enter)
            reports = runtestprotocol(item, log=False, nextitem=None)
            sys.settrace(None)
            if any(report.failed for report in reports):
                raise SystemExit(f"{nodeid} fails without any change: no mutant can be judged")
            self.seconds[nodeid] = time.process_time() - begun
            self.reached[nodeid] = {module: sorted(numbers) for module, numbers in lines.items()}

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Those that reach a line of the statement, or any line of the module where it is outside of functions."""
        outside = "." not in mutant.function and not any(
            mutant.line <= line <= mutant.last_line
            for lines in self.reached.values() for line in lines.get(mutant.module, ()))  # fmt: skip
        names = [
            name
            for name, lines in self.reached.items()
            if any(outside or mutant.line <= line <= mutant.last_line for line in lines.get(mutant.module, ()))
        ] or [name for name, lines in self.reached.items() if mutant.module in lines]
        names.sort(key=self.seconds.__getitem__)
        spent = np.cumsum([self.seconds[name] for name in names])
        kills = self.kills[f"{mutant.module} {mutant.function}"]
        asked = names[: max(1, int(np.searchsorted(spent, self.enough)))]
        return sorted(asked, key=lambda name: -kills[name])

    def _all(self) -> None:
        waiting, running = list(self.chosen), dict[int, tuple[Mutant, int, float, float]]()
        while waiting or running:
            while waiting and len(running) < self.jobs:
                mutant = waiting.pop(0)
                tests = self.tests_of(mutant)
                allowed = max(LEAST_PATIENCE, PATIENCE * sum(self.seconds[name] for name in tests))
                pid, pipe = self._start(mutant, tests, allowed)
                running[pid] = (mutant, pipe, time.monotonic(), WAITING * allowed)
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid in running:
                self._ended(*running.pop(pid)[:3], os.waitstatus_to_exitcode(status))
                continue
            time.sleep(0.005)
            for child, (_, _, begun, allowed) in running.items():
                if time.monotonic() - begun > allowed:
                    os.killpg(child, signal.SIGKILL)

    def _start(self, mutant: Mutant, tests: list[str], allowed: float) -> tuple[int, int]:
        code = mutant.code()  # here: one that cannot be made is not a mutant that a test noticed
        out, into = os.pipe()
        if pid := os.fork():
            os.close(into)
            return pid, out
        try:
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (int(allowed), int(allowed) + 5))
            graft(importlib.import_module(name_of(mutant.module)), code)
            for name in tests:
                if any(report.failed for report in runtestprotocol(self.items[name], log=False, nextitem=None)):
                    os.write(into, name.encode())
                    os._exit(1)
            os._exit(0)
        except BaseException as error:
            os.write(into, repr(error).encode()[:200])
            os._exit(2)

    def _ended(self, mutant: Mutant, pipe: int, begun: float, code: int) -> None:
        said = os.read(pipe, 4096).decode(errors="replace")
        os.close(pipe)
        late = (-signal.SIGKILL, -signal.SIGXCPU)
        verdict = "survived" if code == 0 else "time-out" if code in late else "killed"
        if code == 1:
            self.kills[f"{mutant.module} {mutant.function}"][said] += 1
        found = {"key": mutant.key, "line": mutant.line, "verdict": verdict, "by": said or code}
        found |= {
            "seconds": round(time.monotonic() - begun, 2),
            "state": state(mutant.module, verdict),
            "enough": self.enough,
        }
        self.found[mutant.key] = found
        if self.results:
            with self.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found, ensure_ascii=False) + "\n")
        if verdict == "survived":
            print(f"survived  {mutant.module}:{mutant.line} {mutant.function}: {mutant.change}", flush=True)


def name_of(module: str) -> str:
    return "exciter." + module.removesuffix(".py").replace("/", ".")


@functools.cache
def state(module: str, verdict: str) -> str:
    """Of the files that a verdict rests on: the module, and for survivors the tests that were asked."""
    files = [PACKAGE / module, *(tests_for([module]) if verdict == "survived" else ())]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def tests_for(modules: Sequence[str]) -> list[Path]:
    names = [name for folder, names in TESTS.items() for name in names if any(m.startswith(folder) for m in modules)]
    return [path for name in dict.fromkeys(names) for path in (ROOT / "tests").glob(f"*/test_{name}.py")]


# -- what does no harm -------------------------------------------------------------------------------------------------


def harmless() -> dict[str, str]:
    """Reasons by key of mutant, as the list beside this script has them: module, function, changes, reason."""
    entries = yaml.safe_load(HARMLESS.read_text(encoding="utf-8")) if HARMLESS.exists() else []
    return {
        f"{entry['module']} {entry['function']}: {change}": entry["reason"]
        for entry in entries or []
        for change in entry["changes"]
    }


def modules_of(wanted: Sequence[str]) -> list[str]:
    every = [str(p.relative_to(PACKAGE)) for folder in TESTS for p in sorted((PACKAGE / folder).glob("*.py"))]
    return [module for module in every if not wanted or any(text in module for text in wanted)]


def run(
    chosen: list[Mutant], jobs: int, enough: float = ENOUGH, results: Path | None = None
) -> dict[str, dict[str, Any]]:
    """Verdicts by key."""
    campaign = Campaign(chosen, jobs, enough, results)
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-s", "--tb=native", "-p", "no:cacheprovider", f"--basetemp={folder}/pytest", "-p", "no:xdist"]
        files = [str(path) for path in tests_for(sorted({mutant.module for mutant in chosen}))]
        code = pytest.main([*options, f"--rootdir={ROOT}", "-o", "tmp_path_retention_policy=none", *files], [campaign])
    if len(campaign.found) != len(chosen):
        raise SystemExit(f"the run ended early (pytest: {code})")
    return campaign.found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--module", action="append", default=[], help="modules whose path has this text in it")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--enough", type=float, default=ENOUGH, help="seconds of tests that a mutant is asked")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("--results", type=Path, help="JSON lines; mutants that are in it are not run again")
    given = parser.parse_args()
    chosen = [mutant for module in modules_of(given.module) for mutant in mutants(module)]
    if given.sample is not None:
        chosen = random.Random(given.seed).sample(chosen, min(given.sample, len(chosen)))
    if given.list:
        for mutant in chosen:
            print(f"{mutant.module}:{mutant.line} {mutant.function}: {mutant.change}")
        print(f"{len(chosen)} mutants")
        return 0
    known = {}
    if given.results and given.results.exists():
        lines = map(json.loads, given.results.read_text(encoding="utf-8").splitlines())
        modules = {mutant.key: mutant.module for mutant in chosen}
        known = {line["key"]: line for line in lines if line["key"] in modules}
        known = {
            key: line
            for key, line in known.items()
            if line["state"] == state(modules[key], line["verdict"])
            and (line["verdict"] != "survived" or line["enough"] >= given.enough)
        }
    left = [mutant for mutant in chosen if mutant.key not in known]
    found = {**known, **(run(left, given.jobs, given.enough, given.results) if left else {})}
    return summary([(mutant, found[mutant.key]["verdict"]) for mutant in chosen])


def summary(verdicts: list[tuple[Mutant, str]]) -> int:
    """Print counts by module, and the survivors that are not on the list; 1 if there are any."""
    reasons = harmless()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    survivors = [mutant for mutant, verdict in verdicts if verdict == "survived"]
    for mutant, verdict in verdicts:
        justified = verdict == "survived" and mutant.key in reasons
        for row in (mutant.module, "all"):
            counts[row].update(("mutants", "harmless" if justified else verdict))
    columns = ("mutants", "killed", "time-out", "harmless", "survived")
    print(f"\n{'module':48}" + "".join(f"{column:>10}" for column in columns))
    for row in sorted(counts, key=lambda row: (row == "all", row)):
        print(f"{row:48}" + "".join(f"{counts[row][column]:10}" for column in columns))
    unknown = [mutant for mutant in survivors if mutant.key not in reasons]
    for mutant in unknown:
        print(f"{mutant.module}:{mutant.line} {mutant.function}: {mutant.change}")
    return int(bool(unknown))


if __name__ == "__main__":
    sys.exit(main())
