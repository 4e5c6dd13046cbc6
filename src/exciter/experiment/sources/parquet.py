"""Apache Parquet files, and data sets of LeRobot, which are such files: one an episode (``data/chunk-000/episode_000000
.parquet``, version 2), or several episodes in one (``file-000.parquet``, version 3), told apart by ``episode_index``;
``meta/info.json`` names the joints. Read by the optional package pyarrow, a batch of rows at a time."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import RecordingError, RobotError
from exciter.experiment.sources.parquet_pages import check_pages
from exciter.experiment.sources.source import MOST_COLUMNS, Source, brief, check_unpacked, equal_blocks
from exciter.robot.yaml_file import parse_json
from exciter.typing import Array

PARQUET_MAGIC = b"PAR1"
FOOTER_BYTES_LIMIT = 1 << 22  #: of what a file says of itself
INFO_BYTES_LIMIT = 1 << 22  #: of meta/info.json
MOST_PARQUET_ROWS = 1 << 28  #: a month at 100 Hz
BATCH_ROWS = 1 << 14
MOST_DATA_FILES = 10_000  #: of a data set that are looked through
EPISODE = "episode_index"
INFO_FILE = Path("meta", "info.json")
POSITION_ENDING = ".pos"  #: of what LeRobot calls a motor's position
NEEDED = "reading Parquet files needs pyarrow"


class ParquetTable(Source):
    """Columns of numbers; those of lists, all of one length, are called ``action[0]``, ``action[1]``, … episode: which
    of several in the file, or in the data set whose folder is given. Text, images, structures are no columns."""

    def __init__(self, path: Path, episode: int | None = None) -> None:
        if episode is not None and (isinstance(episode, bool) or not isinstance(episode, int) or episode < 0):
            raise RecordingError(f"episode is {brief(episode)}; give its number, from 0")
        self.path, self._episode, self._skipped = path, episode, dict[str, str]()
        self._owner: list[tuple[str, int]] = []
        self._width: dict[str, int] = {}
        with self._damage_reported():
            self.file = self._of_data_set(path) if isdir(path) else path
            self._info = _features(self.file)
            with _opened(self.file) as table:
                self._note_columns(table)
                self._choose_episode(table)
        if not self._owner:
            reason = "; ".join(f"'{brief(key)}' {why}" for key, why in list(self._skipped.items())[:3])
            raise RecordingError(f"{path} holds no columns of numbers: {reason or 'it has none at all'}")
        self.names = tuple(name if k < 0 else f"{name}[{k}]" for name, k in self._owner)
        if len(set(self.names)) < len(self.names):
            raise RecordingError(f"{path} has two columns of the same name")

    @property
    def read_from(self) -> Path:
        return self.file

    def told_joints(self, column: str) -> tuple[str, ...]:
        named = self._info.get(column)
        names = named.get("names") if isinstance(named, Mapping) else None
        if isinstance(names, Mapping):  # {motors: […]}
            names = next(iter(names.values()), None)
        if not isinstance(names, list) or len(names) != self._width.get(column):
            return ()
        return tuple(str(name).removesuffix(POSITION_ENDING) for name in names)

    def _find_one(self, wanted: str | int) -> tuple[int, ...]:
        if isinstance(wanted, str) and wanted in self._skipped:
            raise RecordingError(f"{self.path}: '{wanted}' {self._skipped[wanted]}")
        return super()._find_one(wanted)

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        return equal_blocks(self._tables([self._owner[column] for column in columns]), rows)

    def _tables(self, wanted: Sequence[tuple[str, int]]) -> Iterator[Array]:
        names = list(dict.fromkeys(name for name, _ in wanted))
        needed = names if self._episode is None else list(dict.fromkeys([*names, EPISODE]))
        with self._damage_reported(), _opened(self.file) as table:
            check_pages(self.file, needed)
            for batch in table.iter_batches(BATCH_ROWS, columns=needed, use_threads=False):
                found = {name: self._numbers(batch.column(name), name) for name in needed}
                keep = slice(None) if self._episode is None else found[EPISODE][:, 0] == self._episode
                yield np.column_stack([found[name][keep, max(k, 0)] for name, k in wanted])

    def _numbers(self, column: Any, name: str) -> Array:
        """(N, width), NaN where there is nothing."""
        if name not in self._width:
            return _plain(column)[:, None]
        width = self._width[name]
        lengths = column.value_lengths() if hasattr(column, "value_lengths") else None
        sizes = np.full(len(column), width) if lengths is None else _plain(lengths)
        there = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        if (other := sizes[there & (sizes != width)]).size:
            why = f"'{name}' has lists of {width} numbers and of {other[0]:.0f}; a signal has as many in every row"
            raise RecordingError(f"{self.path}: {why}")
        out = np.full((len(column), width), np.nan)
        out[there] = _plain(column.flatten()).reshape(-1, width)
        return out

    def _note_columns(self, table: Any) -> None:
        import pyarrow.types as kinds

        def is_number(kind: Any) -> bool:
            return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind))

        for field in table.schema_arrow:
            kind, name = field.type, field.name
            if is_number(kind):
                self._owner.append((name, -1))
                continue
            fixed = kinds.is_fixed_size_list(kind)
            if not (fixed or kinds.is_list(kind) or kinds.is_large_list(kind)) or not is_number(kind.value_type):
                self._skipped[name] = f"is {brief(kind)}, no numbers"
                continue
            self._width[name] = int(kind.list_size) if fixed else self._first_width(table, name)
            if not 0 < self._width[name] <= MOST_COLUMNS - len(self._owner):
                self._skipped[name] = f"has lists of {self._width.pop(name)} numbers"
                continue
            self._owner += [(name, k) for k in range(self._width[name])]
        if len(self._owner) > MOST_COLUMNS:
            raise RecordingError(f"{self.path} has more than {MOST_COLUMNS} columns")

    def _first_width(self, table: Any, name: str) -> int:
        """Of the first list that is there."""
        check_pages(self.file, [name])
        for batch in table.iter_batches(BATCH_ROWS, columns=[name], use_threads=False):
            lengths = _plain(batch.column(name).value_lengths())
            if (there := lengths[np.isfinite(lengths)]).size:
                return int(there[0])
        return 0

    def _choose_episode(self, table: Any) -> None:
        if (EPISODE, -1) not in self._owner:
            if self._episode is not None:
                raise RecordingError(f"{self.path} has no column {EPISODE}, so no episodes; leave out episode")
            return
        found = _episodes(self.file, table)
        there = f"{min(found):g} … {max(found):g}" if found else "none"
        if self._episode is not None and self._episode not in found:
            raise RecordingError(f"{self.path} has no episode {self._episode}; it has {there}")
        if self._episode is None and len(found) > 1:
            why = f"{self.path} has {len(found)} episodes ({there}), each a recording of its own; say which: "
            raise RecordingError(f"{why}episode: {min(found):g}")

    def _of_data_set(self, folder: Path) -> Path:
        """The file of the episode."""
        if not isfile(folder / INFO_FILE):
            raise RecordingError(f"{folder} is a folder without {INFO_FILE}, so no data set of LeRobot")
        if self._episode is None:
            raise RecordingError(f"{folder} is a data set of many episodes; say which: episode: 0")
        files = sorted((folder / "data").glob("*/*.parquet"))[:MOST_DATA_FILES]
        for file in files:
            if file.stem == f"episode_{self._episode:06d}":
                return file
        for file in files:
            with _opened(file) as table:
                if EPISODE in table.schema_arrow.names and self._episode in _episodes(file, table):
                    return file
        raise RecordingError(f"{folder} has no episode {self._episode} in its {len(files)} files")

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        """Whatever pyarrow raises, in one line."""
        try:
            yield
        except ImportError as error:
            raise RecordingError(f"{self.path}: {NEEDED} ({error}): pip install 'exciter[lerobot]'") from None
        except RecordingError:
            raise
        except (OSError, ValueError, KeyError, IndexError, TypeError, ArithmeticError, MemoryError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            why = f"{self.path} cannot be read as Parquet ({brief(error)}); copy or record it again"
            raise RecordingError(why) from None
        except Exception as error:  # Arrow's own, which exist only where it is installed
            if type(error).__module__.partition(".")[0] != "pyarrow":
                raise
            raise RecordingError(f"{self.path} cannot be read as Parquet ({brief(error)})") from None


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """As pyarrow opens it, once what the file says of itself is bounded."""
    import pyarrow.parquet

    with path.open("rb") as stream:
        size = path.stat().st_size
        start = stream.read(4)
        stream.seek(max(0, size - 8))
        end = stream.read(8)
        if start != PARQUET_MAGIC or end[4:] != PARQUET_MAGIC or size < 12:
            raise RecordingError(f"{path} is no Parquet file, or is cut off: it does not begin and end as one")
        (footer,) = struct.unpack("<I", end[:4])
        if footer > min(size - 12, FOOTER_BYTES_LIMIT):
            raise RecordingError(f"{path} has a footer of {footer} bytes; at most {FOOTER_BYTES_LIMIT} are read")
        stream.seek(0)
        limits = {"thrift_string_size_limit": FOOTER_BYTES_LIMIT, "thrift_container_size_limit": MOST_COLUMNS * 10}
        with pyarrow.parquet.ParquetFile(stream, **limits) as table:
            about = table.metadata
            groups = [about.row_group(k) for k in range(about.num_row_groups)]
            check_unpacked(path, sum(max(group.total_byte_size, 0) for group in groups), size)
            if about.num_rows > MOST_PARQUET_ROWS or any(group.num_rows > MOST_PARQUET_ROWS for group in groups):
                raise RecordingError(f"{path} announces {about.num_rows} rows, at most {MOST_PARQUET_ROWS} are read")
            if about.num_columns > MOST_COLUMNS:
                raise RecordingError(f"{path} has more than {MOST_COLUMNS} columns")
            yield table


def _episodes(file: Path, table: Any) -> set[float]:
    """Numbers of the episodes in a file."""
    check_pages(file, [EPISODE])
    found = set[float]()
    for batch in table.iter_batches(BATCH_ROWS, columns=[EPISODE], use_threads=False):
        found.update(np.unique(_plain(batch.column(EPISODE))).tolist())
    return found


def _plain(values: Any) -> Array:
    """Numbers of Arrow's, NaN where there is none."""
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _features(file: Path) -> Mapping[str, Any]:
    """What meta/info.json says of the columns, in one of the folders above; nothing where it is none of LeRobot's."""
    for folder in list(file.absolute().parents)[:3]:
        if isfile(path := folder / INFO_FILE):
            if (size := path.stat().st_size) > INFO_BYTES_LIMIT:
                raise RecordingError(f"{path} has {size} bytes, at most {INFO_BYTES_LIMIT} are read")
            try:
                told = parse_json(path.read_text(encoding="utf-8"), str(path))
            except (RobotError, UnicodeError) as error:
                raise RecordingError(f"{path} cannot be read: {brief(error)}") from None
            found = told.get("features") if isinstance(told, Mapping) else None
            return found if isinstance(found, Mapping) else {}
    return {}
