"""What commands share: the robot with what flags and --config say of it, and where people read the result."""

from __future__ import annotations

import argparse
import itertools
import math
import os
import shlex
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import progress
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from exciter.cluster import Cluster
from exciter.errors import ExciterError, visible
from exciter.pipeline.saving import CAMPAIGN_SEAL, CHECKPOINT_FILE, FLEET_SEAL, VALIDATION_SEAL
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import Robot, load
from exciter.robot.load import RobotOptions
from exciter.settings import fill
from exciter.settings.fill import flags, settings_fields
from exciter.workers import Processes, Workers
from exciter_papers import paper_seals

if TYPE_CHECKING:  # commands that judge nothing need not wait for it
    from exciter.excitation.optimiser.run_starts import Progress as SearchProgress
    from exciter.identification.identified_model import IdentifiedModel
    from exciter.validation.validation import ValidationVerdict

MOST_JOINTS_IN_A_LINE = 10  # of a table: more stand one below the other


def chosen_robot(arguments: argparse.Namespace) -> Robot:
    """The robot with what --config and the flags say of it; the rest of the file is not looked at."""
    return load(arguments.robot, with_flags(SettingsFile.read(arguments.config).robot, arguments))


def with_flags(options: RobotOptions, arguments: argparse.Namespace) -> RobotOptions:
    """A flag goes before the file."""
    hints, spelled = settings_fields(RobotOptions), flags(("lock", "gravity"))
    given = {"lock": dict(map(locked, arguments.lock)), "gravity": arguments.gravity}
    said = {key: fill(hints[key], one, spelled[key]) for key, one in given.items() if one is not None}
    more = {"only": tuple(arguments.only) or options.only, "base": arguments.base or options.base}
    return replace(options, **{**said, "lock": {**options.lock, **said["lock"]}, **more})


def refuse_parts_of_sets(*paths: Path) -> None:
    """Refuse, before any work, to write a single file in place of one that belongs to a set, whichever command wrote
    that: the set would be lost, and a motion that was certified with it."""
    from exciter.excitation.files.trajectory_files import DESIGN
    from exciter.identification.identified_model import RESULT_SEAL
    from exciter.pipeline.drive_files import ACTUATORS_SEAL
    from exciter.pipeline.followed import FOLLOWED_SEAL

    for path in paths:
        for seal in (
            DESIGN,
            RESULT_SEAL,
            FOLLOWED_SEAL,
            ACTUATORS_SEAL,
            VALIDATION_SEAL,
            CAMPAIGN_SEAL,
            FLEET_SEAL,
            *paper_seals(),
        ):
            if seal.owns(path):
                raise ExciterError(
                    f"'{path}' is one of the files that belong to {seal.name} beside it; choose another name"
                )
        if path.name.casefold() == CHECKPOINT_FILE and os.path.lexists(path):
            raise ExciterError(f"'{path}' is the checkpoint of a design; choose another name")


def shown(value: float, digits: int = 3) -> str:
    """A number for a table; a dash where there is none."""
    return f"{value:.{digits}g}" if math.isfinite(value) else "–"


def locked(text: str) -> tuple[str, float]:
    """'joint' or 'joint=0.3' → (name, position)."""
    name, equals, position = text.partition("=")
    try:
        return name, float(position) if equals else 0.0
    except ValueError:
        raise ExciterError(f"--lock {text}: '{position}' is not a number; write JOINT or JOINT=POSITION") from None


def print_residuals(out: Console, verdict: ValidationVerdict) -> None:
    """Of every log, of all of a kind, of the description, and noise: as the report has them."""
    base = verdict.judged.stacked
    rows = [(name, *map(shown, (total, *percent))) for name, percent, total in verdict.rows]
    headings = (f"residual / {base.measured} [%]", base.total_name, *base.joints)
    if len(base.joints) > MOST_JOINTS_IN_A_LINE:
        headings, *rows = zip(headings, *rows, strict=True)
    out.print(plain_table(headings, rows, right=range(1, len(headings))))


def print_verdict(out: Console, verdict: ValidationVerdict, model: IdentifiedModel, folder: Path) -> None:
    """The last words: two lines, and what to type next. folder: of the model."""
    from exciter.identification.identified_model import ROBOT_COPY

    print_judgement(out, verdict)
    form = "yaml" if model.chi is None else "urdf"
    robot = folder / f"{ROBOT_COPY}{model.description.suffix}" if model.description else model.model.robot.name
    arguments: dict[str, tuple[object, ...]] = {
        "inspect": (robot, verdict.decisive.run),
        "validate": (folder, "other.csv"),
        "export": (folder, "--format", form, "-o", f"identified.{form}"),
    }
    action = "validate" if verdict.next_action == "export" and not model.of_torques else verdict.next_action
    command = shlex.join(map(str, ("exciter", action, *arguments[action])))
    out.print(f"next: {command}", soft_wrap=True)


def print_judgement(out: Console, verdict: ValidationVerdict) -> None:
    """How good it is, and what to be careful about."""
    found, careful = verdict.lines
    out.print(f"\n{found}", style="bold", soft_wrap=True)
    out.print(careful, style="yellow" if verdict.cautions else "green", soft_wrap=True)


def print_notes(out: Console, remarks: Iterable[str], missing: Iterable[str]) -> None:
    """What the description left to be assumed, and what a certificate does not speak of."""
    for remark in remarks:
        out.print(f"note: {remark}", style="yellow")
    for what in missing:
        out.print(f"not checked: {what}", style="yellow")


_quiet = False  # nothing for people


def be_quiet(quiet: bool) -> None:
    """Whether results are printed for people; data asked for by --json, and errors, always are."""
    global _quiet
    _quiet = quiet


def chosen_workers(arguments: argparse.Namespace, jobs: int) -> Workers:
    """Who runs what can run side by side: --cluster, or so many processes of this machine."""
    if arguments.cluster is None:
        return Processes(jobs)
    if (getattr(arguments, "jobs", None) or 1) > 1:
        raise ExciterError("--jobs is for processes of this machine, --cluster for others: leave one of them out")
    return Cluster(arguments.cluster)


@contextmanager
def running(workers: Workers) -> Iterator[Workers]:
    """Ready for all of a command; where they are others' machines, people see which, and where to look at them."""
    with workers.ready():
        if workers.about:
            screen().print(workers.about, style="dim", soft_wrap=True)
        yield workers


class _Console(Console):
    """Text is shown as it is: names and files may hold what would be markup, the word of an emoji, or a command of the
    terminal. Whoever wants markup says so."""

    def __init__(self, *, stderr: bool = False, width: int | None = None, quiet: bool = False) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, stderr=stderr, width=width, quiet=quiet)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text, keep="\n\t"), style, control)


def console() -> Console:
    """For people: as wide as the terminal; a file or a pipe gets long lines, so that searching finds them."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160
    return _Console(width=width, quiet=_quiet)


def plain_table(
    headings: Iterable[str], rows: Iterable[Sequence[str | Text]], right: Container[int] = (), **more: Any
) -> Table:
    """Cells below headings; right: the numbers of columns that are aligned there."""
    table = Table(box=None, **{"padding": (0, 2, 0, 0), **more})
    for k, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if k in right else "left")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


# -- what a long command is doing: beside what goes to standard output; on a terminal gone when it is done -------------


LINE_EVERY_S = 10.0  #: [s] of what changes all the time, where it is no terminal


def screen() -> Console:
    return _Console(stderr=True, quiet=_quiet)


@contextmanager
def working(total: float) -> Iterator[Callable[..., None]]:
    """What is told (how much of ``total`` is done, in words, and what else changes all the time): a bar on a terminal,
    else a plain line for new words, and for the rest now and then."""
    out, last, since = screen(), "", time.monotonic()
    if out.is_terminal:
        words = progress.TextColumn("{task.description}", markup=False)
        columns = (progress.SpinnerColumn(), words, progress.BarColumn(), progress.TimeElapsedColumn())
        with progress.Progress(*columns, console=out, transient=True) as bar:
            task = bar.add_task("", total=total)
            yield lambda done, words, more="": bar.update(task, completed=done, description=f"{words}{more}")
        return

    def line(done: float, words: str, more: str = "") -> None:
        nonlocal last, since
        now = time.monotonic()
        if words != last or (more and now - since >= LINE_EVERY_S):
            out.print(f"… {words}{more if words == last else ''}", soft_wrap=True)
            last, since = words, now

    yield line


def iteration_words(report: SearchProgress) -> str:
    """How far a search has come within a start."""
    value = f", criterion {report.value:.4g}" if math.isfinite(report.value) else ""
    return f", iteration {report.iteration}{value}" if report.iteration else ""


@contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """A bar over ``total`` steps; each is named as it begins."""
    begun = itertools.count()
    with working(total) as tell:
        yield lambda name: tell(next(begun), name)
