"""The command line: words in, settings objects inside, one clear line and exit code 2 when something is wrong."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from exciter.arguments import parser
from exciter.errors import ExciterError, visible


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; leaves with 0, 1 when a check fails, 2 on wrong input, 130 when interrupted."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows question marks
    arguments = parser().parse_args(argv)
    stop_like_ctrl_c()
    try:
        importlib.import_module("exciter.commands.common").be_quiet(arguments.quiet)
        command = importlib.import_module(f"exciter.commands.{arguments.command}")  # late: numerics take a second
        code: int | None = command.run(arguments)
        sys.stdout.flush()
    except ExciterError as error:
        leave(2, str(error))
    except KeyboardInterrupt:
        leave(130, "interrupted")
    except BrokenPipeError:  # the reader (head, less) has seen enough
        code = 0
        discard_output()
    except OSError as error:
        discard_output()
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


def leave(code: int, message: str) -> NoReturn:
    print(f"exciter: {visible(message)}", file=sys.stderr)
    sys.exit(code)


def discard_output() -> None:
    """Nothing more can be written: keep the interpreter from trying once again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
