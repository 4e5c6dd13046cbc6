"""Running papers: studies over processes, long ones first, results in the order of the papers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed

from exciter.reproduction.finding import Finding, Value
from exciter.reproduction.paper import Effort, Paper, Part, Study
from exciter.reproduction.papers import paper


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
            }
            for part, finding in self.rows()
        ]


def reproduce(
    names: Sequence[str],
    *,
    quick: bool = False,
    jobs: int = 1,
    progress: Callable[[str], None] = lambda name: None,
) -> tuple[Reproduced, ...]:
    """Run all studies of these papers, paper by paper, the long ones of each first; Ctrl-C leaves the papers that are
    complete. progress is told of every study that begins; with several processes, of every one that is done."""
    papers = [paper(name) for name in names]
    effort = Effort(quick)
    tasks = [(one.name, study.key) for one in papers for study in sorted(one.studies, key=lambda study: -study.seconds)]
    done: dict[tuple[str, str], tuple[tuple[Part, ...], float]] = {}
    try:
        for task, parts, seconds in _run(tasks, effort, jobs, progress):
            done[task] = parts, seconds
    except KeyboardInterrupt:
        papers = [one for one in papers if all((one.name, study.key) in done for study in one.studies)]
        if not papers:
            raise
    found = []
    for one in papers:
        mine = [done[one.name, study.key] for study in one.studies]
        parts = tuple(part for group, _ in mine for part in group)
        found.append(Reproduced(one, effort, parts, sum(seconds for _, seconds in mine)))
    return tuple(found)


Task = tuple[str, str]
Done = tuple[Task, tuple[Part, ...], float]


def _run(tasks: Sequence[Task], effort: Effort, jobs: int, progress: Callable[[str], None]) -> Iterator[Done]:
    if jobs == 1 or len(tasks) == 1:
        for task in tasks:
            progress(" ".join(task))
            yield run_study(*task, Effort(effort.quick, jobs))
        return
    for done in Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(run_study)(name, key, effort) for name, key in tasks
    ):
        progress(" ".join(done[0]))
        yield done


def run_study(name: str, key: str, effort: Effort) -> Done:
    """One study of one paper, with its processor time [s]."""
    began = time.process_time()
    parts = tuple(_study(name, key).run(effort))
    return (name, key), parts, time.process_time() - began


def _study(name: str, key: str) -> Study:
    return next(study for study in paper(name).studies if study.key == key)
