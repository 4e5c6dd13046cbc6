"""Folders of SAGE (Sim2Real Actuator Gap Estimator): ``state_motor.csv`` has what the encoders said, ``control.csv``
what the drives were told, each at instants of its own, ``joint_list.txt`` the names of the joints.

A cell is a list, ``"[0.1, 0.2]"``, of one number per joint; it is taken apart here, nothing is evaluated. Rows of
another ``type`` than the file's own, as events, are left out. What was told is given at the instants of the
encoders."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from os.path import isdir, isfile
from pathlib import Path

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.sources.delimited import Notation, cells, heading, numbered_lines
from exciter.experiment.sources.source import (
    COLUMN_BYTES_LIMIT,
    MOST_COLUMNS,
    Source,
    brief,
    check_whole,
    equal_blocks,
    listed,
)
from exciter.typing import Array

STATE_FILE, CONTROL_FILE, JOINTS_FILE = "state_motor.csv", "control.csv", "joint_list.txt"
TYPE, STAMP, POSITIONS = "type", "timestamp", "positions"
OWN_TYPES = {
    STATE_FILE: "statemotor",
    CONTROL_FILE: "control",
}  #: as robots and simulations write them: StateMotor, STATE_MOTOR
HELD, LINE = "command", "command_line"
JOINT_LIST_BYTES_LIMIT = 1 << 20
ROWS_AT_ONCE = 256
Row = tuple[int, list[str]]  # number of its line, cells


class ListText:
    """One file: ``names`` of its columns, and ``width`` of those that are lists; 0 of a plain number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = ((number, line) for number, line in numbered_lines(path) if line.strip())
        number, line = next(lines, (1, ""))
        self.names = [name.strip() for name in heading(line, ",")]
        self._header = number
        for wanted in (STAMP, POSITIONS):
            if self.names.count(wanted) != 1:
                why = f"{path}: line {number} has the columns {brief(listed(self.names))}; "
                raise RecordingError(f"{why}one of them must be {wanted}")
        self.width = dict[str, int]()
        number, first = next(self.rows(), (0, []))
        if not number:
            raise RecordingError(f"{path} has no rows of {self._own_type()}")
        for name, cell in zip(self.names, first, strict=True):
            if cell.startswith("["):
                self.width[name] = len(self.numbers(number, name, cell))
            elif name != TYPE and Notation().number(cell) is not None:
                self.width[name] = 0
        if self.width.get(STAMP) != 0 or not self.width.get(POSITIONS):
            why = f"{path}: line {number}: {STAMP} is {shown(first[self.names.index(STAMP)])} and {POSITIONS} "
            raise RecordingError(f"{why}{shown(first[self.names.index(POSITIONS)])}; a number and a list are expected")
        if sum(self.width.values()) > MOST_COLUMNS:
            raise RecordingError(f"{path} has more than {MOST_COLUMNS} columns")

    def _own_type(self) -> str:
        return OWN_TYPES.get(self.path.name, "")

    def rows(self) -> Iterator[Row]:
        """Of the file's own type."""
        kind = self.names.index(TYPE) if TYPE in self.names else None
        for number, line in numbered_lines(self.path):
            if number <= self._header or not line or line.isspace():
                continue
            row = cells(line, ",")
            if (
                kind is not None
                and kind < len(row)
                and row[kind].replace("_", "").lower() not in (self._own_type(), "")
            ):
                continue
            if len(row) != len(self.names):
                why = f"{self.path}: line {number} has {len(row)} cells, expected {len(self.names)}; lists stand in "
                raise RecordingError(f'{why}quotes, "[0.1, 0.2]"; is the file cut off there?')
            yield number, row

    def numbers(self, line: int, name: str, cell: str) -> list[float]:
        """Of a cell, as many as the column has in its first row."""
        width = self.width.get(name)
        inner = cell
        if width != 0:
            if not cell.startswith("[") or not cell.endswith("]"):
                raise RecordingError(f"{self.path}: line {line}: {name} is {shown(brief(cell))}, no list of numbers")
            inner = cell[1:-1]
        parts = inner.split(",", MOST_COLUMNS) if width != 0 else [inner]
        found = [Notation().number(part.strip()) for part in parts]
        if None in found:
            wrong = parts[found.index(None)].strip()
            raise RecordingError(f"{self.path}: line {line}: {name} has {shown(brief(wrong))}, which is not a number")
        if width and len(found) != width:
            why = f"{self.path}: line {line}: {name} has {len(found)} numbers, in the first row {width}"
            raise RecordingError(f"{why}; every joint has one in each row")
        return [value for value in found if value is not None]

    def tables(self, wanted: Sequence[str]) -> Iterator[tuple[Array, list[int]]]:
        """(rows, all numbers of the wanted columns after each other) and the lines they are in."""
        places = [(name, self.names.index(name)) for name in wanted]
        made, lines = list[list[float]](), list[int]()
        for line, row in self.rows():
            made.append([x for name, k in places for x in self.numbers(line, name, row[k])])
            lines.append(line)
            if len(made) == ROWS_AT_ONCE:
                yield np.array(made, dtype=np.float64), lines
                made, lines = [], []
        if made:
            yield np.array(made, dtype=np.float64), lines


class SageFolder(Source):
    """Columns ``timestamp`` and ``positions[0]`` …, ``velocities[0]`` … as ``state_motor.csv`` has them; then what
    ``control.csv`` says for these instants: ``command[0]`` …, each held until the next one (the last one for as long as
    others are), and ``command_line[0]`` …, on the line from one to the next. NaN where nothing was told. A folder
    without ``control.csv`` has no such columns. All of ``control.csv`` is held in memory, up to 1 GiB."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not isdir(path) or not isfile(path / STATE_FILE):
            raise RecordingError(f"{path} is no folder with {STATE_FILE}, as SAGE writes it")
        self._state = ListText(path / STATE_FILE)
        self._owner: list[tuple[str, int]] = []
        for name, width in self._state.width.items():
            self._owner += [(name, k) for k in range(max(width, 1))]
        self._told_time, self._told = _control(path / CONTROL_FILE) if isfile(path / CONTROL_FILE) else _NOTHING
        joints = self._told.shape[1]
        told = [(name, k) for name in (HELD, LINE) for k in range(joints)]
        if clash := {name for name, _ in told} & set(self._state.width):
            raise RecordingError(f"{self._state.path} has a column '{min(clash)}', as what was told is called")
        self._owner += told
        if len(self._owner) > MOST_COLUMNS:
            raise RecordingError(f"{path} has more than {MOST_COLUMNS} columns")
        lists = {*(name for name, width in self._state.width.items() if width), HELD, LINE}
        self.names = tuple(f"{name}[{k}]" if name in lists else name for name, k in self._owner)

    def told_joints(self, column: str) -> tuple[str, ...]:
        """Of ``joint_list.txt``, one a line; of paths like ``/World/robot/elbow`` the end."""
        file = self.path / JOINTS_FILE
        if not isfile(file):
            return ()
        if (size := file.stat().st_size) > JOINT_LIST_BYTES_LIMIT:
            raise RecordingError(f"{file} has {size} bytes, at most {JOINT_LIST_BYTES_LIMIT} are read")
        try:
            paths = [line.strip() for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
        except UnicodeError as error:
            raise RecordingError(f"{file} cannot be read: {brief(error)}") from None
        names = tuple(path.rpartition("/")[2] for path in paths)
        if len(names) != (width := self._state.width.get(column)):
            raise RecordingError(f"{file} names {len(names)} joints, and {STATE_FILE} has {width} {column}")
        return names if len(set(names)) == len(names) else tuple(paths)

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        return equal_blocks(self._tables([self._owner[column] for column in columns]), rows)

    def _tables(self, wanted: Sequence[tuple[str, int]]) -> Iterator[Array]:
        names = list(dict.fromkeys([STAMP, *(name for name, _ in wanted if name not in (HELD, LINE))]))
        starts, at = dict[str, int](), 0
        for name in names:
            starts[name], at = at, at + max(self._state.width[name], 1)
        need = {name for name, _ in wanted} & {HELD, LINE}
        for table, lines in self._state.tables(names):
            told = {name: self._command(name, table[:, 0], lines) for name in need}
            found = [told[name][:, k] if name in told else table[:, starts[name] + k] for name, k in wanted]
            yield np.column_stack(found)

    def _command(self, name: str, time: Array, lines: list[int]) -> Array:
        """(N, n) at instants (N,)."""
        if (bad := np.flatnonzero(~np.isfinite(time))).size:
            raise RecordingError(f"{self._state.path}: line {lines[int(bad[0])]} has no {STAMP}")
        instants, told = self._told_time, self._told
        if name == LINE:
            values = [np.interp(time, instants, column, np.nan, np.nan) for column in told.T]
            return np.column_stack(values)
        last = np.searchsorted(instants, time, side="right") - 1
        held = told[np.maximum(last, 0)]
        usual = float(np.median(np.diff(instants))) if len(instants) > 1 else 0.0
        held[(last < 0) | (time > instants[-1] + usual)] = np.nan
        return np.asarray(held)

    def place(self, row: int) -> tuple[str, int]:
        for k, (line, _) in enumerate(self._state.rows()):
            if k == row:
                return "line", line
        return super().place(row)


_NOTHING = np.zeros(0), np.zeros((0, 0))


def _control(path: Path) -> tuple[Array, Array]:
    """Instants (M,) as the file counts them, and what was told then (M, n)."""
    text, numbers = ListText(path), array("d")
    width, last = 1 + text.width[POSITIONS], -np.inf
    for table, lines in text.tables((STAMP, POSITIONS)):
        time = table[:, 0]
        before = np.concatenate([[last], time[:-1]])
        if (bad := np.flatnonzero(~(time >= before) | np.isinf(time))).size:
            k = int(bad[0])
            raise RecordingError(
                f"{path}: line {lines[k]}: {STAMP} is {time[k]:.9g} after {before[k]:.9g}; it must grow"
            )
        last = float(time[-1])
        numbers.frombytes(table.tobytes())
        if 8 * len(numbers) > COLUMN_BYTES_LIMIT:
            check_whole(path, len(numbers), "split the log")
    table = np.frombuffer(numbers, dtype=np.float64).reshape(-1, width)
    return table[:, 0], table[:, 1:]
