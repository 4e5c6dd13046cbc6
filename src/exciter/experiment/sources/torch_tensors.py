"""PyTorch's files (``torch.save``, since version 1.6): a zip archive of a pickle, which is never run
(``torch_pickle.py``), and of the numbers as they lie in memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.sources import torch_pickle
from exciter.experiment.sources.npz import BROKEN_ARRAY_ERRORS, PIECE_BYTES, check_directory
from exciter.experiment.sources.source import (
    COLUMN_BYTES_LIMIT,
    MOST_COLUMNS,
    ArrayFile,
    StoredArray,
    brief,
    check_unpacked,
    check_whole,
)
from exciter.experiment.sources.torch_pickle import TensorId
from exciter.typing import Array

PICKLE_BYTES_LIMIT = 1 << 22  #: of data.pkl: names and sizes, no numbers
BYTE_ORDERS = {b"little": "<", b"big": ">"}
RESAVE_TENSORS = "save it by a PyTorch of version 1.6 or later: torch.save({'time': t, 'q': q}, 'log.pt')"
NO_TENSOR = TensorId(torch_pickle.StorageId("", "f4", 0), 0, (), ())


@dataclass(frozen=True)
class StoredTensor(StoredArray):
    """tensor: where its numbers are, steps: of its rows and columns, in numbers."""

    tensor: TensorId = NO_TENSOR
    steps: tuple[int, int] = (1, 1)

    @property
    def span(self) -> int:
        """Numbers of the storage from the first to the last that it uses."""
        return 1 + (self.rows - 1) * self.steps[0] + (self.columns - 1) * self.steps[1]


class TorchTensors(ArrayFile):
    """Tensors of one .pt file: dictionaries (and lists) of them, called ``a/b`` where they hold each other. (N,) and
    (1, N) are one column, (N, k) are k, with ``transposed`` (k, N) are k; sides of one in more dimensions do not count.
    The tensors whose columns are chosen are held in memory, up to 1 GiB."""

    def __init__(self, path: Path, transposed: bool | None = None) -> None:
        super().__init__(path, transposed)
        self._skipped: dict[str, str] = {}
        with self._opened() as archive:
            pickles = [info for info in archive.infolist() if info.filename.endswith("/data.pkl")]
            if len(pickles) != 1 or pickles[0].filename.count("/") != 1:
                raise RecordingError(f"{path} is no file of PyTorch: it has no data.pkl; {RESAVE_TENSORS}")
            self._root = pickles[0].filename.removesuffix("data.pkl")
            if pickles[0].file_size > PICKLE_BYTES_LIMIT:
                why = f"{path}: its data.pkl has {pickles[0].file_size} bytes, at most {PICKLE_BYTES_LIMIT} are read"
                raise RecordingError(f"{why}; a log is tensors, not Python objects")
            self._sizes = {info.filename: info.file_size for info in archive.infolist()}
            self._order = self._byte_order(archive)
            with archive.open(pickles[0]) as stream:
                pickled = stream.read(PICKLE_BYTES_LIMIT + 1)  # the size that is announced may be a lie
        try:
            for name, found in torch_pickle.tensors(torch_pickle.contents(pickled)):
                self._note(name, found, bool(transposed))
        except RecordingError as error:
            raise RecordingError(f"{path} cannot be read as tensors: {error}") from None
        if not self._arrays:
            reason = "; ".join(f"'{brief(key)}' {why}" for key, why in list(self._skipped.items())[:3])
            raise RecordingError(f"{path} holds no tensors of numbers: {reason or 'it is empty'}")
        if len({array.name for array in self._arrays}) < len(self._arrays):
            raise RecordingError(f"{path} has two tensors of the same name")
        self._name_columns()

    def _byte_order(self, archive: zipfile.ZipFile) -> str:
        name = f"{self._root}byteorder"
        if name not in self._sizes:
            return "<"
        with archive.open(name) as stream:
            told = stream.read(16)
        if told not in BYTE_ORDERS:
            raise RecordingError(f"{self.path} has the byte order {brief(told)}; little and big are read")
        return BYTE_ORDERS[told]

    def _note(self, name: str, found: TensorId | str, turned: bool) -> None:
        """As an array, or why it is none."""
        if isinstance(found, str):
            self._skipped[name] = found
            return
        sides = [(size, step if size > 1 else 0) for size, step in zip(found.size, found.stride, strict=True)]
        if len(sides) > 2:
            sides = [side for side in sides if side[0] != 1]
        if len(sides) not in (1, 2) or 0 in found.size:
            self._skipped[name] = f"has the shape {brief(found.size)}; columns are tensors (N,) or (N, k)"
            return
        if turned and len(sides) == 2 and 1 not in found.size:
            sides.reverse()
        single = len(sides) == 1 or (sides[0][0] == 1 and sides[1][0] > 1)
        (rows, step), (columns, across) = (sides[-1], (1, 0)) if single else sides
        if columns > MOST_COLUMNS:
            why = f"has {columns} columns, at most {MOST_COLUMNS} are read; samples must run along the rows, or say "
            self._skipped[name] = f"{why}transposed: true"
            return
        kind = found.storage.dtype
        array = StoredTensor(
            name=name,
            dtype=np.dtype(f"{self._order}u2" if kind == "bf2" else f"{self._order}{kind}"),
            shape=found.size,
            rows=rows,
            columns=columns,
            offset=found.offset,
            single=single,
            by_column=False,
            tensor=found,
            steps=(step, across),
        )
        stored = self._sizes.get(f"{self._root}data/{found.storage.key}")
        if stored is None:
            raise RecordingError(f"the numbers of '{brief(name)}' (data/{brief(found.storage.key)}) are missing")
        if stored != found.storage.count * array.dtype.itemsize or found.offset + array.span > found.storage.count:
            raise RecordingError(f"'{brief(name)}' should hold {brief(found.size)} numbers, and has {stored} bytes")
        if len(self._arrays) == MOST_COLUMNS:
            raise RecordingError(f"there are more than {MOST_COLUMNS} tensors")
        self._arrays.append(array)

    def _find_one(self, wanted: str | int) -> tuple[int, ...]:
        if isinstance(wanted, str) and wanted in self._skipped:
            raise RecordingError(f"{self.path}: '{wanted}' {self._skipped[wanted]}")
        return super()._find_one(wanted)

    def _tables(self, wanted: Mapping[StoredArray, list[int]]) -> Iterator[tuple[Array, ...]]:
        advice = "split the log, or save it as NPZ"
        check_whole(self.path, sum(array.rows * len(columns) for array, columns in wanted.items()), advice)
        with self._opened() as archive:
            tables = []
            for array, columns in wanted.items():
                assert isinstance(array, StoredTensor)
                if array.span * array.dtype.itemsize > COLUMN_BYTES_LIMIT:
                    check_whole(self.path, array.span, advice)
                with archive.open(f"{self._root}data/{array.tensor.storage.key}") as stream:
                    tables.append(self._table(array, columns, stream))
        step = max(1, PIECE_BYTES // max((8 * table.shape[1] for table in tables), default=1))
        for start in range(0, len(tables[0]) if tables else 0, step):
            yield tuple(table[start : start + step] for table in tables)

    def _table(self, array: StoredTensor, columns: list[int], stream: IO[bytes]) -> Array:
        """(rows, columns) of the numbers, which lie at any distance from each other."""
        width = array.dtype.itemsize
        stream.seek(array.offset * width)
        data = stream.read(array.span * width)
        if len(data) != array.span * width:
            raise EOFError("a tensor ends before its last row")
        flat = np.frombuffer(data, array.dtype)
        shape, strides = (array.rows, array.columns), (array.steps[0] * width, array.steps[1] * width)
        view = np.lib.stride_tricks.as_strided(flat, shape, strides, writeable=False)[:, columns]
        if array.tensor.storage.dtype == "bf2":
            view = (view.astype(np.uint32) << 16).view(np.float32)
        values = view.astype(np.float64)
        return -values if array.tensor.negated else values

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        """Whatever a damaged file makes the libraries raise, in one line."""
        try:
            with self.path.open("rb") as file:
                size = self.path.stat().st_size
                if file.read(2) != b"PK":
                    why = f"{self.path} is no archive, as old versions wrote none (_use_new_zipfile_serialization); "
                    raise RecordingError(f"{why}{RESAVE_TENSORS}")
                check_directory(self.path, file, size, "PyTorch")
                with zipfile.ZipFile(file) as archive:
                    members = archive.infolist()
                    if len({info.filename for info in members}) < len(members):
                        raise RecordingError(f"{self.path} has two members of the same name")
                    kinds = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
                    if strange := [info.filename for info in members if info.compress_type not in kinds]:
                        raise RecordingError(f"{self.path}: '{brief(strange[0])}' is packed in an unusual way")
                    check_unpacked(self.path, sum(info.file_size for info in members), size)
                    yield archive
        except BROKEN_ARRAY_ERRORS as error:
            why = f"{self.path} is damaged or cut off ({brief(error)}); copy or record it again"
            raise RecordingError(why) from None
        except RuntimeError as error:  # what zipfile says to encrypted archives
            raise RecordingError(f"{self.path} cannot be unpacked: {brief(error)}") from None
