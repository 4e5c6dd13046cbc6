"""What a long command is doing, on a terminal: beside what goes to standard output, and gone when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from exciter.commands.common import screen

Step = Callable[[str], None]


@contextmanager
def bar_with(*columns: ProgressColumn) -> Iterator[Progress]:
    """A bar with these columns, behind something that turns."""
    console = screen()
    shown = Progress(SpinnerColumn(), *columns, console=console, transient=True, disable=not console.is_terminal)
    with shown as bar:
        yield bar


@contextmanager
def steps(total: int) -> Iterator[Step]:
    """A bar over ``total`` steps; each is named as it begins."""
    name = TextColumn("{task.description}", markup=False)
    with bar_with(name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task("", total=total)
        begun = 0

        def step(name: str) -> None:
            nonlocal begun
            bar.update(task, description=name, completed=begun)
            begun += 1

        yield step
