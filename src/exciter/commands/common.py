"""What commands share: the robot with what flags and --config say of it, and where people read the result."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from exciter.errors import ExciterError, visible
from exciter.pipeline.saving import refuse_parts_of_results
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import Robot, load
from exciter.robot.load import RobotOptions
from exciter_papers import paper_seals


def chosen_robot(arguments: argparse.Namespace) -> Robot:
    """The robot with what --config and the flags say of it; the rest of the file is not looked at."""
    return load(arguments.robot, with_flags(SettingsFile.read(arguments.config).robot, arguments))


def with_flags(options: RobotOptions, arguments: argparse.Namespace) -> RobotOptions:
    """A flag goes before the file."""
    lock = {**options.lock, **dict(locked(text) for text in arguments.lock)}
    gravity = options.gravity if arguments.gravity is None else tuple(arguments.gravity)
    return replace(options, lock=lock, gravity=gravity)


def refuse_parts_of_sets(*paths: Path) -> None:
    """Refuse to write a single file over one of a set, whichever command wrote the set."""
    refuse_parts_of_results(*paths, others=paper_seals())


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


def print_notes(out: Console, remarks: Iterable[str], missing: Iterable[str]) -> None:
    """What the description left to be assumed, and what a certificate does not speak of."""
    for remark in remarks:
        out.print(f"note: {remark}", style="yellow", markup=False)
    for what in missing:
        out.print(f"not checked: {what}", style="yellow", markup=False)


_quiet = False  # nothing for people


def be_quiet(quiet: bool) -> None:
    """Whether results are printed for people; data asked for by --json, and errors, always are."""
    global _quiet
    _quiet = quiet


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


def screen() -> Console:
    """For progress: beside what goes to standard output."""
    return _Console(stderr=True, quiet=_quiet)
