"""The command line: words in, settings objects inside, one clear line and exit code 2 when something is wrong."""

from __future__ import annotations

import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

from exciter.commands.arguments import parser
from exciter.dynamics.kernels.cache import when_compiling
from exciter.errors import ClusterLost, ExciterError, visible

INTERRUPTED = 130  #: exit code of what Ctrl-C ended, or the loss of a cluster
STDERR_NUMBER = 2  #: its number in the operating system
GARBAGE_THRESHOLDS = (700, 10, 100)  #: of ``gc``: modules are most of what there is, and stay; usual is (700, 10, 10)


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; leaves with 0, 1 when a check fails, 2 on wrong input, 130 when interrupted, whatever
    becomes of its output: see ``Unread``."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  as long as the process
        elif getattr(sys, name) is getattr(sys, f"__{name}__"):  # a test may have put another one there
            setattr(sys, name, heeding_no_reader(getattr(sys, name)))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows question marks
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    arguments = parser().parse_args(argv)
    stop_like_ctrl_c()
    when_compiling(notice)
    try:
        importlib.import_module("exciter.commands.common").be_quiet(arguments.quiet)
        command = importlib.import_module(f"exciter.commands.{arguments.command}")  # late: numerics take a second
        code: int | None = command.run(arguments)
        sys.stdout.flush()
    except ClusterLost as error:
        leave(INTERRUPTED, str(error))
    except ExciterError as error:
        leave(2, str(error))
    except KeyboardInterrupt as stop:
        leave(INTERRUPTED, str(stop) or "interrupted")
    except OSError as error:
        discard(sys.stdout.fileno())
        leave(2, f"cannot write the output: {error.strerror or error}")
    sys.exit(code or 0)


def stop_like_ctrl_c() -> None:
    """A polite kill, or a terminal that is closed, ends a command as Ctrl-C does: what was reached is written, nothing
    half-written stays."""
    terminals = [stream for stream in (1, 2) if os.isatty(stream)]  # asked later, one that is closed is none

    def hung_up(number: int, frame: FrameType | None) -> NoReturn:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in terminals:  # what is said there would fail, and the results come after it
            os.dup2(nothing, stream)
        raise KeyboardInterrupt

    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup ignores it
            signal.signal(signal.SIGHUP, hung_up)


def notice(message: str) -> None:
    print(f"exciter: {visible(message)}", file=sys.stderr)


def leave(code: int, message: str) -> NoReturn:
    notice(message)
    sys.exit(code)


class Unread(io.FileIO):
    """A stream whose reader (head, less) may leave when it has seen enough. That ends no command: a check goes on to
    its verdict, which is the exit code, and a design to its files; the rest of what is said goes nowhere. An error
    that cannot be shown leaves with its code all the same."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() != STDERR_NUMBER and not isinstance(error, ConnectionError):  # a full disk is told
                raise
            discard(self.fileno())
            return super().write(data)


def heeding_no_reader(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """The same stream as an ``Unread``; a console of Windows is another kind, and has no reader."""
    if not isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(Unread(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )


def discard(stream: int) -> None:
    """Nothing more can be written: keep the interpreter from trying once again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
