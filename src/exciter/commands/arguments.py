"""What the command line understands: every command with its arguments, as ``help.txt`` lists them."""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from exciter import __version__
from exciter.errors import did_you_mean, shown, visible
from exciter.remote_files import address, is_url, place_of
from exciter_papers import NAMES

MOST_COUNTED_DIGITS = 18


# -- what values are: argparse shows the message -----------------------------------------------------------------------


def here(text: str) -> Path:
    """A path. A URL would be taken for one, and its password stand in a message or in the name of a folder."""
    if is_url(text):
        raise argparse.ArgumentTypeError(f"{shown(address(text))} is a URL; only logs are read from there: give a path")
    return Path(text)


def place(text: str) -> Path:
    """Where something is to be written."""
    if not text.strip():
        raise argparse.ArgumentTypeError("-o is empty; give a name")
    return here(text)


def robot(text: str) -> str:
    """A path, or a name."""
    here(text)
    return text


def log(text: str) -> str | Path:
    """A URL, or a path."""
    return place_of(text, "the log")


def whole(text: str, least: int = 0) -> int:
    """Of digits that a computer counts with; what each number may come to is for the work to say."""
    if not text.isdecimal() or len(text) > MOST_COUNTED_DIGITS or int(text) < least:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number ≥ {least}")
    return int(text)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def percent(text: str) -> float:
    """1 … 100 [%]"""
    if not 1.0 <= _float(text) <= 100.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to 100")
    return float(text)


def seconds(text: str) -> float:
    """A positive time [s]."""
    if not 0.0 < _float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of seconds")
    return float(text)


def level(text: str) -> float:
    """Between 0 and 1."""
    if not 0.0 < _float(text) < 1.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number between 0 and 1")
    return float(text)


#: by the flag, or by what a value is called in the help
VALUE_KINDS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("F", "DIR", "TRAJECTORY", "PLAN"), here),
    "ROBOT": robot,
    "LOG": log,
    **dict.fromkeys(("K", "J"), partial(whole, least=1)),
    "S": whole,
    "P": percent,
    "A": level,
    "-o": place,
    **dict.fromkeys(("--time-limit", "--wait", "--every"), seconds),
    "--bad": whole,
}
#: what the list of arguments cannot say
FURTHER: dict[str, dict[str, Any]] = {
    "--lock": {"action": "append", "default": []},
    "--only": {"action": "append", "default": []},
    "--gravity": {"nargs": 3, "type": float, "metavar": ("X", "Y", "Z")},
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and name what is spelled nearly so."""

    def error(self, message: str) -> NoReturn:
        near = ""
        if choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            near = did_you_mean(choice[1], re.findall(r"[\w-]+", choice[2]))
        elif flags := re.search(r"unrecognized arguments: .*?(--[\w-]+)", message):
            near = did_you_mean(flags[1], [*self._option_string_actions])
        self.exit(2, f"exciter: {visible(' '.join(message.split()))}{near}; see '{self.prog} --help'\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What is left over is an error of the command it was given to, which knows its flags."""
        found, more = super().parse_known_args(args, namespace)
        for action in self._actions:  # a list that may be empty is, for argparse, unless it stands before all flags
            late = more and action.nargs == "*" and not getattr(found, action.dest)
            if late and not any(one.startswith("-") for one in more):
                setattr(found, action.dest, self._get_values(action, more))
                more = []
        if more:
            self.error(f"unrecognized arguments: {' '.join(more)}")
        return found, more


def parser() -> Parser:
    """help.txt has of every command a line for the list, its arguments, a paragraph, examples, and the page that has
    the rest."""
    text = Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
    story, *told = re.split(r"^\[(\w+)\] (.*)\n", text, flags=re.MULTILINE)
    form, about = argparse.RawDescriptionHelpFormatter, "Identify the dynamics of robots."
    top = Parser(prog="exciter", description=about, epilog=story.strip(), formatter_class=form)
    top.add_argument("--version", action="version", version=f"exciter {__version__}")
    top.set_defaults(began=time.monotonic())  # from when a time limit counts
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    words: dict[str, str] = {}  # of arguments, by name: they hold until others are given
    for name, line, rest in zip(told[::3], told[1::3], told[2::3], strict=True):
        arguments, _, described = rest.partition("\n\n")
        command = commands.add_parser(name, help=line, description=described.strip(), formatter_class=form)
        for argument in arguments.splitlines():
            usage, _, said = argument.strip().partition("  ")
            words[usage] = said.strip().replace("PAPERS", ", ".join(NAMES)) or words[usage]
            add_argument(command, usage, words[usage])
        command.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors, and data of --json")
    return top


def add_argument(command: Parser, usage: str, words: str) -> None:
    """usage: ``--flag``, or the name of what has none; then what its value is called, LOG... where there may be more
    than one; the words that are allowed, a|b; and =default. All of it in brackets where it may be left out."""
    optional = usage.startswith("[")
    name, *told = usage.removeprefix("[").removesuffix("]" if optional else "").split()
    flags = ("-o", "--output") if name == "-o" else (name,)
    if not told:
        command.add_argument(name, action="store_true", help=words)
        return
    about: dict[str, Any] = {"help": words}
    for part in told:
        if part.startswith("="):
            about["default"] = part[1:]
        elif "|" in part or part == "PAPERS":
            about["choices"] = NAMES if part == "PAPERS" else tuple(part.split("|"))
        else:
            about |= {"metavar": part.removesuffix("..."), "type": VALUE_KINDS.get(part.removesuffix("..."))}
            about |= {"nargs": "+"} if part.endswith("...") else {}
    if name in VALUE_KINDS:
        about["type"] = VALUE_KINDS[name]
    if not name.startswith("-"):
        about |= {"nargs": "*" if "nargs" in about else "?"} if optional else {}
    elif not optional:
        about["required"] = True
    elif "nargs" in about:
        about |= {"action": "extend", "default": []}
    command.add_argument(*flags, **(about | FURTHER.get(name, {})))
