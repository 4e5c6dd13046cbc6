"""Files as ``torch.save`` writes them, instruction by instruction, so that their reader needs no PyTorch."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

STORAGES = {"f8": "Double", "f4": "Float", "f2": "Half", "i8": "Long", "i4": "Int", "i2": "Short", "i1": "Char"}
STORAGES |= {"u1": "Byte", "b1": "Bool"}


class Raw(bytes):
    """Instructions that put one value on the stack."""


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def integer(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def named(module: str, name: str) -> Raw:
    return Raw(f"c{module}\n{name}\n".encode())


def many(*values: bytes) -> bytes:
    """A tuple."""
    return b"(" + b"".join(values) + b"t"


def tensor(
    key: str, kind: str, count: int, size: tuple[int, ...], stride: tuple[int, ...] | None = None, offset: int = 0
) -> Raw:
    """A tensor of the storage ``data/<key>``; rows after each other unless strides are given."""
    if stride is None:
        stride = tuple(int(np.prod(size[k + 1 :])) for k in range(len(size)))
    place = many(text("storage"), named("torch", f"{kind}Storage"), text(key), text("cpu"), integer(count))
    shape = [many(*map(integer, one)) for one in (size, stride)]
    hooks = named("collections", "OrderedDict") + b")R"
    return Raw(
        named("torch._utils", "_rebuild_tensor_v2") + many(place + b"Q", integer(offset), *shape, b"\x89", hooks) + b"R"
    )


def pickled(value: Any) -> bytes:
    """Containers, texts, numbers, and what is put there ``Raw``."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, dict):
        return b"}(" + b"".join(pickled(one) for pair in value.items() for one in pair) + b"u"
    if isinstance(value, list):
        return b"](" + b"".join(map(pickled, value)) + b"e"
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    return text(value) if isinstance(value, str) else integer(value)


def write_archive(
    path: Path, content: bytes, storages: dict[str, bytes], order: bytes | None = b"little", packing: int = 0
) -> Path:
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr(f"{path.stem}/data.pkl", b"\x80\x02" + content + b".")
        for key, data in storages.items():
            archive.writestr(f"{path.stem}/data/{key}", data)
        archive.writestr(f"{path.stem}/version", b"3\n")
        if order is not None:
            archive.writestr(f"{path.stem}/byteorder", order)
    return path


def save(path: Path, content: dict[str, Any], order: str = "<", packing: int = 0) -> Path:
    """Nested dictionaries of arrays and plain values."""
    storages: dict[str, bytes] = {}

    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: put(one) for key, one in value.items()}
        if not isinstance(value, np.ndarray):
            return value
        key = str(len(storages))
        storages[key] = np.ascontiguousarray(value, value.dtype.newbyteorder(order)).tobytes()
        return tensor(key, STORAGES[value.dtype.str[1:]], value.size, value.shape)

    made = pickled(put(content))
    return write_archive(path, made, storages, {"<": b"little", ">": b"big"}[order], packing)
