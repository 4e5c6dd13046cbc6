"""Names of robots and their parts: which are allowed, and how they stand in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from exciter.errors import RobotError, unseen, visible


def check_name(what: str, name: str) -> None:
    """Refuse a name that cannot be shown as it is: files for other tools could not hold it, or would hold something
    else than a reader sees. Every character that prints is allowed."""
    if unseen(name):
        unprinted = "control codes, ends of lines, marks of writing direction or zero width"
        problem = f"the {what} name '{visible(name)}' has characters that do not print ({unprinted})"
        raise RobotError(f"{problem}, here shown as escapes; rename it")


def named(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def bodies_have(joints: Sequence[str]) -> str:
    """Subject and verb of a sentence about the bodies of joints."""
    one = len(joints) == 1
    return f"the body of joint {named(joints)} has" if one else f"the bodies of joints {named(joints)} have"
