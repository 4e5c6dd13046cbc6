"""Which columns of a file are a signal: one per joint, by name, number, group name, or a pattern with ``{joint}``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exciter.errors import RecordingError, shown
from exciter.experiment.sources.source import Source
from exciter.settings.kinds import Kind
from exciter.settings.wrong import wrong

Columns = str | tuple[str | int, ...] | None  # None: all the file has
JOINT = "{joint}"
NUMBERED = ("{}[{}]", "{}_{}", "{}{}")  # name[0], name_0, name0; or counted from 1


@dataclass(frozen=True)
class ColumnNames(Kind):
    """Columns, or ``one`` of them, checked for kind only: what the file has is not known yet."""

    one: bool = False

    @property
    def wanted(self) -> str:
        several = "names, numbers from 0, or the name of a group"
        return "the name of a column, or its number" if self.one else several

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, str):
            return given
        entries = given if isinstance(given, list | tuple) and not self.one else [given]
        if not entries or any(isinstance(one, bool) or not isinstance(one, str | int) for one in entries):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return entries[0] if self.one else tuple(entries)

    def schema(self) -> dict[str, Any]:
        column: dict[str, Any] = {"type": ["string", "integer"]}
        return column if self.one else {"anyOf": [column, {"type": "array", "items": column, "minItems": 1}]}


def find(source: Source, columns: Columns, joints: Sequence[str], where: str) -> tuple[int, ...]:
    """Numbers of the columns, one per joint."""
    n = len(joints)
    if columns is None:
        found = tuple(range(len(source.names)))
        if len(found) != n:
            raise RecordingError(
                f"{where} names no columns, and {source.path} has {len(found)} of them for {n} joints; "
                f"name one per joint of {_shown(source.names)}"
            )
        return found
    grouped = group(source, columns, joints) if isinstance(columns, str) else ()
    found = grouped or source.find(columns)
    if len(found) != n:
        raise RecordingError(
            f"{where} has {shown(list(columns) if isinstance(columns, tuple) else columns)}: {len(found)} columns for "
            f"{n} joints ({', '.join(joints)}); one column per joint is needed"
        )
    return found


def group(source: Source, name: str, joints: Sequence[str]) -> tuple[int, ...]:
    """The columns ``name[0]`` …, ``name_0`` …, ``name0`` …, also counted from 1, or of a pattern; () where they are not
    all there. A group that goes on behind the last joint is none."""
    at = {column.strip(): k for k, column in enumerate(source.names)}
    at |= {column: k for k, column in enumerate(source.names)}
    if JOINT in name:
        wanted = [name.replace(JOINT, joint) for joint in joints]
        missing = [column for column in wanted if column not in at]
        if missing and len(missing) < len(wanted):
            raise RecordingError(
                f"{source.path} has no column '{missing[0]}', but has '{next(c for c in wanted if c in at)}'; "
                "every joint needs one: name those that have it (joints in a recording.yaml)"
            )
        return () if missing else tuple(at[column] for column in wanted)
    for spelling in NUMBERED:
        first = 0 if spelling.format(name, 0) in at else 1
        wanted = [spelling.format(name, first + k) for k in range(len(joints))]
        if spelling.format(name, first + len(joints)) not in at and all(column in at for column in wanted):
            return tuple(at[column] for column in wanted)
    return ()


def joints_of(source: Source, pattern: str) -> tuple[str, ...]:
    """The joints that the columns of a file speak of: whatever stands for ``{joint}``, in the file's order."""
    before, _, behind = pattern.partition(JOINT)
    shape = re.compile(re.escape(before) + "(.+)" + re.escape(behind), re.DOTALL)
    return tuple(match[1] for name in source.names if (match := shape.fullmatch(name)))


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "")
