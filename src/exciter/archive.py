"""Results on disk without loss: a tree of frozen dataclasses and arrays as one NPZ file, without pickle.

The tree is JSON inside the file, arrays stand beside it. Only dataclasses and enumerations of Exciter are made when it
is read; objects that whoever reads has already (a robot, a model) are kept by name. An object of a class of somebody
else's is kept as its text, unless it is settings (a term, an estimator of one's own): these are made again where their
class is known.

A class may say how it is kept: ``for_archive()`` gives an object to be kept in its place (a run without its samples),
``archived_caches`` names cached properties that are kept with the fields, because they cannot be computed from them."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from exciter.errors import ExciterError
from exciter.files import Seal
from exciter.settings import Settings

T = TypeVar("T")
TREE_ARRAY = "tree"
OWN_MODULES = "exciter."
DAMAGE = (OSError, zipfile.BadZipFile, zlib.error, KeyError, TypeError, ValueError, AttributeError, ImportError)
LARGEST_ARCHIVE = 4 * 2**30  #: [bytes] of its arrays together: more is damage


def archived(value: Any, known: Mapping[str, Any] | None = None, *, exact: bool = False) -> bytes:
    """The file of a value; known: objects by name that need not be kept. exact: for another process that works with
    the value, not for a person who reads it again: what would be kept as text is refused, so are classes of somebody's
    own, which that process may not know; nothing is left out, and nothing is squeezed."""
    packer = _Packer({id(one): name for name, one in (known or {}).items()}, exact)
    tree = json.dumps(packer.pack(value), ensure_ascii=False, allow_nan=False).encode()
    file, save = io.BytesIO(), np.savez if exact else np.savez_compressed
    save(file, allow_pickle=False, **{TREE_ARRAY: np.frombuffer(tree, dtype=np.uint8), **packer.arrays})
    return file.getvalue()


def unarchived(path: Path, known: Mapping[str, Any] | None = None) -> Any:
    """The value that a file holds."""
    try:
        return _read(path, known)
    except FileNotFoundError:
        raise ExciterError(f"there is no '{path}'; save again") from None
    except ExciterError as error:
        raise ExciterError(f"'{path}' cannot be opened: {error}") from None
    except DAMAGE as error:
        why = " ".join(f"{type(error).__name__} {error}".split())[:80]
        raise ExciterError(f"'{path}' is damaged, or of another version ({why}); design or identify again") from None


def restored(content: bytes) -> Any:
    """The value of ``archived``, as another process of the same version gave it."""
    return _read(io.BytesIO(content), None)


def _read(file: Path | io.BytesIO, known: Mapping[str, Any] | None) -> Any:
    with zipfile.ZipFile(file) as packed:
        if sum(one.file_size for one in packed.infolist()) > LARGEST_ARCHIVE:
            raise ValueError("it is too large")
    with np.load(file, allow_pickle=False) as packed_arrays:
        arrays = {name: packed_arrays[name] for name in packed_arrays.files}
    tree = json.loads(arrays.pop(TREE_ARRAY).tobytes())
    for array in arrays.values():
        array.flags.writeable = False
    return _Unpacker(arrays, known or {}).unpack(tree)


def opened(folder: Path, seal: Seal, name: str, cls: type[T]) -> T:
    """The result that a folder keeps, where its files are those of its seal."""
    path = folder / name
    seal.refuse_open(folder)
    if not path.is_file():
        raise ExciterError(f"there is no {name} in '{folder}', which results are opened from; {seal.again}")
    seal.refuse_changed(folder, {name: path.read_bytes()})
    found = unarchived(path)
    if not isinstance(found, cls):
        raise ExciterError(f"'{path}' holds no {cls.__name__}; {seal.again}")
    return found


class _Packer:
    """arrays: by the names that the tree refers to. An array or object that is met again is kept once."""

    def __init__(self, known: Mapping[int, str], exact: bool = False) -> None:
        self.known = known
        self.exact = exact
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.met: dict[int, tuple[int, Any]] = {}  # the object is held, so that its id stays its own

    def pack(self, value: Any) -> Any:
        if id(value) in self.known:
            return {"known": self.known[id(value)]}
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, Enum):
            return {"enum": _name(type(value)), "member": value.name}
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, int | float):
            return value if isinstance(value, int) or math.isfinite(value) else {"float": str(value)}
        if isinstance(value, PurePath):
            return {"path": str(value)}
        if isinstance(value, list):
            return [self.pack(one) for one in value]
        if isinstance(value, tuple):
            return {"tuple": [self.pack(one) for one in value]}
        if isinstance(value, Mapping):
            kind = "frozen" if isinstance(value, MappingProxyType) else "dict"
            return {kind: [[self.pack(key), self.pack(one)] for key, one in value.items()]}
        return self._once(value)

    def _once(self, value: Any) -> Any:
        if id(value) in self.met:
            return {"again": self.met[id(value)][0]}
        number = len(self.met)
        self.met[id(value)] = (number, value)
        if hasattr(value, "for_archive") and not self.exact:
            value = value.for_archive()
        if isinstance(value, np.ndarray):
            self.arrays[f"array{number}"] = value
            return {"array": number}
        known = _kept(type(value)) and not (self.exact and not type(value).__module__.startswith(OWN_MODULES))
        if dataclasses.is_dataclass(value) and not isinstance(value, type) and known:
            fields = [field.name for field in dataclasses.fields(value) if field.init]
            packed = {name: self.pack(getattr(value, name)) for name in fields}
            kept = () if self.exact else getattr(value, "archived_caches", ())
            caches = {name: self.pack(getattr(value, name)) for name in kept}
            return {"class": _name(type(value)), "number": number, "fields": packed, "caches": caches}
        if self.exact:
            raise ExciterError(f"{_name(type(value))} is kept as text only, which no other machine can work with")
        return {"text": str(value), "number": number}


class _Unpacker:
    def __init__(self, arrays: Mapping[str, np.ndarray[Any, Any]], known: Mapping[str, Any]) -> None:
        self.arrays = arrays
        self.met: dict[int, Any] = {}
        self.simple: dict[str, Callable[[Any], Any]] = {"float": float, "path": Path}
        self.simple |= {"known": known.__getitem__, "again": self.met.__getitem__}

    def unpack(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.unpack(one) for one in tree]
        if not isinstance(tree, dict):
            return tree
        kind, content = next(iter(tree.items()))
        if kind in self.simple:
            return self.simple[kind](content)
        if kind == "enum":
            return _class(content)[tree["member"]]
        if kind == "tuple":
            return tuple(self.unpack(one) for one in content)
        if kind in ("dict", "frozen"):
            made = {self.unpack(key): self.unpack(one) for key, one in content}
            return MappingProxyType(made) if kind == "frozen" else made
        if kind == "array":
            self.met[content] = self.arrays[f"array{content}"]
            return self.met[content]
        if kind == "text":
            self.met[tree["number"]] = content
            return content
        if kind == "class":
            found = _class(content)
            made = found(**{name: self.unpack(one) for name, one in tree["fields"].items()})
            vars(made).update({name: self.unpack(one) for name, one in tree.get("caches", {}).items()})
            self.met[tree["number"]] = made
            return made
        raise ValueError(f"unknown kind {kind}")


def _kept(cls: type) -> bool:
    """Classes of Exciter, and settings of somebody's own."""
    return issubclass(cls, Settings) or (cls.__module__.startswith(OWN_MODULES) and "." not in cls.__qualname__)


def _below(cls: type[Any]) -> list[type[Any]]:
    found: list[type[Any]] = []
    for sub in cls.__subclasses__():
        found += [sub, *_below(sub)]
    return found


def _name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _class(name: str) -> Any:
    """The dataclass or enumeration of a name; nothing else is made, and no module of somebody else's is imported."""
    module, _, qualified = name.partition(":")
    if not module.startswith(OWN_MODULES):
        own = [cls for cls in _below(Settings) if _name(cls) == name]
        if not own:
            raise ExciterError(f"it holds {qualified} of {module}, which is not known here; import it, then open again")
        return own[-1]
    if not qualified.isidentifier():
        raise ValueError(f"'{name}' is no class of Exciter")
    found = getattr(importlib.import_module(module), qualified)
    if not isinstance(found, type) or not (dataclasses.is_dataclass(found) or issubclass(found, Enum)):
        raise ValueError(f"'{name}' is no result of Exciter")
    return found
