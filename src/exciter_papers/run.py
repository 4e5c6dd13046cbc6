"""Running papers: studies over processes, long ones first, results in the order of the papers."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from exciter import ExciterError
from exciter.workers import HERE, Workers
from exciter_papers import FOLDERS, NAMES
from exciter_papers.paper import Effort, Finding, Paper, Part, Value


def paper(name: str) -> Paper:
    """The paper of this name: e.g. ``RACKL_2012`` of ``exciter_papers/rackl/paper.py``."""
    if name not in FOLDERS:
        raise ExciterError(f"'{name}' is none of the papers; choose from {', '.join(NAMES)}")
    module = importlib.import_module(f"exciter_papers.{FOLDERS[name]}.paper")
    found: Paper = getattr(module, name.upper().replace("-", "_"))
    return found


@dataclass(frozen=True, eq=False)
class Reproduced:
    """A paper that was run. seconds: of processor time, all studies together."""

    paper: Paper
    effort: Effort
    parts: tuple[Part, ...]
    seconds: float

    def rows(self) -> Iterator[tuple[Part, Finding]]:
        return ((part, finding) for part in self.parts for finding in part.findings)

    def to_list(self) -> list[dict[str, Value]]:
        """As ``exciter reproduce --json`` prints it."""
        return [
            {
                "paper": self.paper.name,
                "item": part.item,
                "quantity": finding.quantity,
                "published": finding.published,
                "reached": finding.reached,
                "verdict": str(finding.verdict),
                "note": finding.note,
                "criterion": None if finding.terms is None else finding.terms.words,
            }
            for part, finding in self.rows()
        ]


Task = tuple[str, str]
Done = tuple[Task, tuple[Part, ...], float]


def reproduce(
    names: Sequence[str],
    *,
    quick: bool = False,
    workers: Workers = HERE,
    progress: Callable[[str], None] = lambda name: None,
) -> Iterator[Reproduced]:
    """Run all studies of these papers, the long ones of each first; a paper is given as soon as it is complete, so that
    it can be kept whatever becomes of the next. progress is told of every study that begins; with several workers, of
    every one that is done."""
    papers = [paper(name) for name in names]
    effort = Effort(quick)
    tasks = [(one.name, study.key) for one in papers for study in sorted(one.studies, key=lambda study: -study.seconds)]
    done: dict[Task, tuple[tuple[Part, ...], float]] = {}
    for task, parts, seconds in _run(tasks, effort, workers, progress):
        done[task] = parts, seconds
        while papers and all((papers[0].name, study.key) in done for study in papers[0].studies):
            yield _together(papers.pop(0), effort, done)


def _together(one: Paper, effort: Effort, done: Mapping[Task, tuple[tuple[Part, ...], float]]) -> Reproduced:
    mine = [done[one.name, study.key] for study in one.studies]
    parts = tuple(part for group, _ in mine for part in group)
    return Reproduced(one, effort, parts, sum(seconds for _, seconds in mine))


def _run(tasks: Sequence[Task], effort: Effort, workers: Workers, progress: Callable[[str], None]) -> Iterator[Done]:
    if workers.here:
        for task in tasks:
            progress(" ".join(task))
            yield run_study(*task, effort)
        return
    with closing(workers.over(run_study, ((*task, effort) for task in tasks))) as running:
        for done in running:
            progress(" ".join(done[0]))
            yield done


def run_study(name: str, key: str, effort: Effort) -> Done:
    """One study of one paper, with its processor time [s]."""
    began = time.process_time()
    found = next(study for study in paper(name).studies if study.key == key).run(effort)
    parts = (found,) if isinstance(found, Part) else tuple(found)
    return (name, key), parts, time.process_time() - began
