"""``exciter follow``: parameters of a robot while it works, from lines that come; values, σ and alarms out."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from exciter.commands.common import chosen_robot, console, plain_table, print_notes, screen
from exciter.errors import ExciterError
from exciter.experiment.recording.live_recording import open_live
from exciter.experiment.sources.live_text import Feed
from exciter.files import output_folder
from exciter.identification.following.followed_parameters import FollowState
from exciter.identification.following.residual_alarm import ResidualAlarm
from exciter.identification.information.estimate import finite_or_none
from exciter.notes import lines, notable
from exciter.parameters.parameter_names import reading_order
from exciter.pipeline.follow import Follower
from exciter.remote_files import local_file

STANDARD_INPUT = Path("-")
SHOWN_PARAMETERS = 12  #: of a line or a table, unless they are asked for


class Watched:
    """What of each answer is shown: parameters by wildcard, all that drift unless given."""

    def __init__(self, follower: Follower, patterns: Sequence[str]) -> None:
        names = follower.names
        self.follower, self.before = follower, dict[str, ResidualAlarm]()
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise ExciterError(f"--watch {pattern} fits no parameter; there are {', '.join(names)}")
        drifting = [name for name, rate in zip(names, follower.settings.walks(names), strict=True) if rate.any()]
        wanted = [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]
        self.asked = bool(patterns)
        chosen = set(wanted or drifting or names)
        self.which = [k for k in reading_order(names) if names[k] in chosen]

    def changes(self, state: FollowState) -> tuple[list[ResidualAlarm], list[ResidualAlarm]]:
        """Alarms that began, and that ended, since the answer before; those between two answers among them."""
        followed = self.follower.followed
        assert followed is not None
        every = {f"{one.joint} {one.raised}": one for one in followed.watch.alarms}
        begun = [one for key, one in every.items() if key not in self.before]
        ended = [
            one
            for key, one in every.items()
            if one.until is not None and (key not in self.before or self.before[key].until is None)
        ]
        self.before = every
        return begun, ended

    def data(self, state: FollowState) -> dict[str, Any]:
        """A line of --json."""
        begun, ended = self.changes(state)
        names, units = self.follower.names, self.follower.units
        return {
            "time": state.time,
            "parameters": {
                names[k]: {
                    "value": finite_or_none(state.values[k]),
                    "std": finite_or_none(state.std[k]),
                    "unit": units[k],
                }
                for k in self.which
            },
            "determined": int(state.belief.determined.sum()),
            "judged": state.judged,
            "alarms": [one.to_dict() for one in state.alarms],
            "began": [one.to_dict() for one in begun],
            "ended": [one.to_dict() for one in ended],
            "equations": {"used": state.used, "skipped": state.skipped},
        }

    def line(self, state: FollowState) -> str:
        names = self.follower.names
        which = self.which if self.asked else self.which[:SHOWN_PARAMETERS]
        shown = ", ".join(f"{names[k]} {_shown(state.values[k], state.std[k])}" for k in which)
        more = len(self.which) - len(which)
        alarm = " ALARM " + "; ".join(one.sentence for one in state.alarms) if state.alarms else ""
        alarm = alarm if state.judged else " (noise not known yet)"
        return f"{state.time:.3f} s: {shown}{f', … ({more} more: --watch)' if more else ''}{alarm}"

    def table(self, state: FollowState) -> Group:
        names, units = self.follower.names, self.follower.units
        rows = [(names[k], units[k], *_cells(state.values[k], state.std[k])) for k in self.which]
        known = int(state.belief.determined.sum())
        head = f"{state.time:.3f} s; {known} of {len(names)} parameters determined; {state.used} equations"
        said = [Text(one.sentence, style="bold red") for one in state.alarms] or [_calm(state)]
        return Group(Text(head), plain_table(("parameter", "unit", "value", "σ", "σ %"), rows, right=(2, 3, 4)), *said)


def _calm(state: FollowState) -> Text:
    return Text("no alarm", style="green") if state.judged else Text("not judged: noise is not known yet", style="dim")


def _shown(value: float, std: float) -> str:
    return "not determined yet" if finite_or_none(std) is None else f"{value:.5g} ± {std:.2g}"


def _cells(value: float, std: float) -> tuple[str, str, str]:
    if finite_or_none(std) is None:
        return "not determined yet", "–", "–"
    return f"{value:.5g}", f"{std:.2g}", f"{100.0 * std / abs(value):.3g}" if value else "–"


def run(arguments: argparse.Namespace) -> None:
    """0 when the stream ended, or was ended by Ctrl-C, after an answer; 2 on wrong input, with what was reached."""
    log = None if arguments.log in (None, STANDARD_INPUT) else local_file(arguments.log)
    if log is None and sys.stdin is not None and sys.stdin.isatty():
        raise ExciterError("standard input is a terminal: pipe rows into exciter follow, or name a log")
    follower = Follower(chosen_robot(arguments), arguments.config, start=arguments.start)
    watched = Watched(follower, [one for text in arguments.watch for one in text.split(",") if one])
    with ExitStack() as stack:
        folder = None if arguments.output is None else stack.enter_context(output_folder(arguments.output))
        feed = Feed(log, arguments.wait, _notice)
        stack.enter_context(ending(feed))
        source = open_live(log, arguments.recording, most_bad=arguments.bad, tell=_notice, feed=feed)
        told = stack.enter_context(teller(arguments, watched))
        saved = time.monotonic()
        try:
            for state in follower.states(source.chunks()):
                told(state)
                if folder is not None and time.monotonic() - saved >= arguments.every:
                    follower.result.write(folder)
                    saved = time.monotonic()
        except ExciterError:
            if folder is not None:
                with suppress(ExciterError):  # nothing was reached
                    follower.result.write(folder)
            raise
        if folder is not None:
            follower.result.write(folder)
    if not arguments.json:
        print_end(console(), follower, folder)


def _notice(line: str) -> None:
    screen().print(f"exciter: {line}", soft_wrap=True)


@contextmanager
def ending(feed: Feed) -> Iterator[None]:
    """Ctrl-C ends the stream, and what has come is worked on to its end; a second one ends the command."""

    def stop(number: int, frame: Any) -> None:
        if feed.stopped.is_set():
            raise KeyboardInterrupt
        feed.stop()

    before = {}
    try:
        for one in (signal.SIGINT, signal.SIGTERM):
            with suppress(ValueError):  # not the main thread
                before[one] = signal.signal(one, stop)
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def teller(arguments: argparse.Namespace, watched: Watched) -> Iterator[Any]:
    """Where answers go: lines of JSON, a table that is drawn anew, or a line each."""
    out = console()
    first = True

    def began() -> str:
        follower = watched.follower
        start = f"following {len(follower.names)} parameters of {follower.robot.name} from {follower.started}"
        return f"{start}; an answer is {follower.latency:.3g} s behind its sample"

    if arguments.json:

        def data(state: FollowState) -> None:
            nonlocal first
            if first:
                follower = watched.follower
                head = {"robot": follower.robot.name, "start": follower.started, "latency": follower.latency}
                print(json.dumps({"following": head}), flush=True)
                first = False
            print(json.dumps(watched.data(state), allow_nan=False), flush=True)

        yield data
    elif out.is_terminal:
        with Live(console=out, auto_refresh=False, transient=True) as live:

            def table(state: FollowState) -> None:
                begun, ended = watched.changes(state)
                for one in begun:
                    live.console.print(Text(f"ALARM {one.sentence}", style="bold red"))
                for one in ended:
                    live.console.print(Text(f"over: {one.sentence}", style="yellow"))
                live.update(Group(Text(began(), style="dim"), watched.table(state)), refresh=True)

            yield table
    else:

        def line(state: FollowState) -> None:
            nonlocal first
            if first:
                out.print(began(), soft_wrap=True)
                first = False
            begun, ended = watched.changes(state)
            for one in begun:
                out.print(f"ALARM {one.sentence}", soft_wrap=True)
            out.print(watched.line(state), soft_wrap=True)
            for one in ended:
                out.print(f"over: {one.sentence}", soft_wrap=True)
            sys.stdout.flush()

        yield line


def print_end(out: Console, follower: Follower, folder: Path | None) -> None:
    """The last answer as a table, alarms, and where it is kept."""
    result = follower.result
    names, which = result.names, reading_order(result.names)
    rows = [(names[k], result.units[k], *_cells(result.values[-1, k], result.std[-1, k])) for k in which]
    out.print(plain_table(("parameter", "unit", "value", "σ", "σ %"), rows, right=(2, 3, 4)))
    print_notes(out, lines(notable(result.notes)), ())
    for one in result.alarms:
        out.print(f"alarm: {one.sentence}", style="red", soft_wrap=True)
    if folder is not None:
        out.print(f"written to {folder}: followed.json, followed.npz, history.csv, report.html")
    out.print(f"\n{result!r}"[:-1].replace("<", "", 1), style="bold")
