"""What ``torch.save`` wrote, without unpickling. A pickle is a program that may do anything, so its instructions are
only looked at (``pickletools.genops`` runs nothing), and those that make containers, texts, numbers and tensors are
followed. Every function or class that it names beside these is refused by that name.

A tensor is (storage, offset, size, stride); a storage is a member of the archive, named by a persistent id."""

from __future__ import annotations

import pickletools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from exciter.errors import RecordingError
from exciter.experiment.sources.source import brief

MOST_INSTRUCTIONS = 1_000_000  #: of a pickle; a log has some hundreds
LARGEST_STORED_INDEX = 2**62  #: of a memo, a size or a stride
DEEPEST_NAME = 16  #: containers in containers
MOST_ENTRIES = 100_000  #: that are looked at: containers may hold each other again and again
STORAGE_DTYPES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "BFloat16Storage": "bf2",  # the upper half of a single
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "u1",
}
UNTYPED = "torch.storage.UntypedStorage"  #: of bytes; the tensor says of which kind
UNTYPED_DTYPES = {"torch.uint16": "u2", "torch.uint32": "u4", "torch.uint64": "u8"}
REBUILD = "torch._utils._rebuild_tensor_v2"
REBUILD_UNTYPED = "torch._utils._rebuild_tensor_v3"
REBUILD_PARAMETER = "torch._utils._rebuild_parameter"
ORDERED = "collections.OrderedDict"
FOLLOWED = (REBUILD, REBUILD_UNTYPED, REBUILD_PARAMETER, ORDERED, UNTYPED, *UNTYPED_DTYPES)
_MARK = object()


@dataclass(frozen=True)
class Named:
    """A function or class that the pickle names; never looked up."""

    name: str


@dataclass(frozen=True)
class StorageId:
    """A member ``data/<key>`` of ``count`` numbers; dtype: as ``STORAGE_DTYPES`` has it."""

    key: str
    dtype: str
    count: int


@dataclass(frozen=True)
class TensorId:
    """Numbers storage[offset + Σ index · stride], 0 ≤ index < size; negated: their opposites, as views of a conjugate
    have them."""

    storage: StorageId
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    negated: bool = False


@dataclass(eq=False)
class _State:
    """Of the machine; containers are filled in place, for others may hold them already."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise RecordingError("it takes what was never put there")
        return self.stack.pop()

    def top(self, kind: type | tuple[type, ...]) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise RecordingError("it fills what is no container")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        for k in range(len(self.stack) - 1, -1, -1):
            if self.stack[k] is _MARK:
                found = self.stack[k + 1 :]
                del self.stack[k:]
                return found
        raise RecordingError("it takes what was never put there")


def contents(pickled: bytes) -> Any:
    """What it describes: dictionaries, lists, tuples, texts, numbers, ``TensorId``."""
    state = _State()
    try:
        return _followed(pickled, state)
    except (ValueError, UnicodeError, OverflowError) as error:  # of pickletools, on what is no pickle
        raise RecordingError(brief(error)) from None


def _followed(pickled: bytes, state: _State) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of texts that nobody looks at
        for count, (opcode, argument, _) in enumerate(pickletools.genops(pickled)):
            if count >= MOST_INSTRUCTIONS:
                raise RecordingError(f"it has more than {MOST_INSTRUCTIONS} instructions")
            if opcode.name == "STOP":
                return state.pop()
            step = _STEPS.get(opcode.name)
            if step is None:
                raise RecordingError(f"it has the instruction {opcode.name}, which no log needs")
            step(state, argument)
    raise RecordingError("it has no end")


def tensors(found: Any) -> Iterator[tuple[str, TensorId | str]]:
    """By name, ``a/b`` where containers hold each other: a tensor, or why it is no column. One alone has no name."""
    waiting, looked = [("", found, 0)], 0
    while waiting:
        name, value, depth = waiting.pop()
        if (looked := looked + 1) > MOST_ENTRIES:
            raise RecordingError(f"it holds more than {MOST_ENTRIES} entries")
        if isinstance(value, TensorId):
            yield name, value
        elif isinstance(value, dict | list | tuple):
            if depth == DEEPEST_NAME:
                raise RecordingError(f"containers hold each other more than {DEEPEST_NAME} deep")
            items = list(value.items() if isinstance(value, dict) else enumerate(value))
            if looked + len(waiting) + len(items) > MOST_ENTRIES:
                raise RecordingError(f"it holds more than {MOST_ENTRIES} entries")
            inside = ((f"{name}/{key}" if depth else str(key), one, depth + 1) for key, one in items)
            waiting += reversed(list(inside))
        else:
            yield name, f"is {_kind(value)}, no tensor"


def _kind(value: Any) -> str:
    if isinstance(value, Named | StorageId):
        return "a name alone"
    return {str: "text", bool: "a single value", int: "a single value", float: "a single value"}.get(
        type(value), "nothing"
    )


# -- instructions ------------------------------------------------------------------------------------------------------


def _index(given: Any) -> int:
    """A number that may count something."""
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < LARGEST_STORED_INDEX:
        raise RecordingError(f"a tensor has the size, stride or offset {brief(given)}")
    return given


def _indices(given: Any) -> tuple[int, ...]:
    if not isinstance(given, tuple):
        raise RecordingError("a tensor has no sizes")
    return tuple(map(_index, given))


def _refuse(name: str) -> NoReturn:
    raise RecordingError(
        f"it would call {brief(name)}, and nothing but plain tensors is read; save these: torch.save({{'time': t, …}})"
    )


def _name(state: _State, module: Any, name: Any) -> None:
    if not isinstance(module, str) or not isinstance(name, str):
        raise RecordingError("it names what is no text")
    full = f"{module}.{name}"
    if full not in FOLLOWED and not (module == "torch" and name in STORAGE_DTYPES):
        _refuse(full)
    state.stack.append(Named(full))


def _persistent(state: _State, _: Any) -> None:
    given = state.pop()
    if not isinstance(given, tuple) or len(given) != 5 or given[0] != "storage" or not isinstance(given[1], Named):
        raise RecordingError("it names numbers in another way than PyTorch does")
    name, key = given[1].name, given[2]
    dtype = UNTYPED if name == UNTYPED else STORAGE_DTYPES.get(name.removeprefix("torch."))
    if dtype is None or not isinstance(key, str):
        raise RecordingError("it names numbers in another way than PyTorch does")
    state.stack.append(StorageId(key, dtype, _index(given[4])))


def _reduce(state: _State, _: Any) -> None:
    given, function = state.pop(), state.pop()
    if not isinstance(function, Named) or not isinstance(given, tuple):
        raise RecordingError("it calls what is no function")
    if function.name == ORDERED and given in ((), ([],)):
        state.stack.append({})
    elif function.name == REBUILD and len(given) in (6, 7) and isinstance(given[0], StorageId):
        state.stack.append(_tensor(given[0], given[1:4], given[6:]))
    elif function.name == REBUILD_UNTYPED and len(given) in (7, 8) and isinstance(given[0], StorageId):
        state.stack.append(_tensor(_typed(given[0], given[6]), given[1:4], given[7:]))
    elif function.name == REBUILD_PARAMETER and len(given) == 3 and isinstance(given[0], TensorId):
        state.stack.append(given[0])
    else:
        _refuse(function.name)


def _typed(storage: StorageId, kind: Any) -> StorageId:
    """The same bytes as numbers of a kind."""
    dtype = UNTYPED_DTYPES.get(kind.name) if isinstance(kind, Named) else None
    if dtype is None or storage.dtype != UNTYPED:
        raise RecordingError("a tensor has numbers of a kind that is not read")
    return StorageId(storage.key, dtype, storage.count // int(dtype[1:]))


def _tensor(storage: StorageId, place: tuple[Any, ...], flags: tuple[Any, ...]) -> TensorId:
    """place: offset, sizes, strides. flags: none, or a dictionary of what is done to the numbers."""
    size, stride = _indices(place[1]), _indices(place[2])
    if len(size) != len(stride):
        raise RecordingError(f"a tensor has {len(size)} sizes and {len(stride)} strides")
    if storage.dtype == UNTYPED:
        raise RecordingError("a tensor has bytes, and says of no kind")
    said = flags[0] if flags and flags[0] is not None else {}
    if not isinstance(said, dict) or not set(said) <= {"neg"}:
        raise RecordingError(f"a tensor has the flags {brief(said)}, of which neg is read")
    return TensorId(storage, _index(place[0]), size, stride, bool(said.get("neg")))


def _set(container: dict[Any, Any], pairs: list[Any]) -> None:
    if len(pairs) % 2:
        raise RecordingError("a dictionary has a key without a value")
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        if not isinstance(key, str | int):
            raise RecordingError("a dictionary has keys that are no names")
        container[key] = value


def _dictionary(state: _State, _: Any) -> None:
    made: dict[Any, Any] = {}
    _set(made, state.since_mark())
    state.stack.append(made)


def _set_item(state: _State, _: Any) -> None:
    value, key = state.pop(), state.pop()
    _set(state.top(dict), [key, value])


def _set_items(state: _State, _: Any) -> None:
    pairs = state.since_mark()
    _set(state.top(dict), pairs)


def _append(state: _State, _: Any) -> None:
    value = state.pop()
    state.top(list).append(value)


def _appends(state: _State, _: Any) -> None:
    values = state.since_mark()
    state.top(list).extend(values)


def _tuple(count: int) -> Callable[[_State, Any], None]:
    def step(state: _State, _: Any) -> None:
        state.stack.append(tuple([state.pop() for _ in range(count)][::-1]))

    return step


def _put(state: _State, place: Any) -> None:
    value = state.pop()
    state.memo[int(place)] = value
    state.stack.append(value)


def _get(state: _State, place: Any) -> None:
    if int(place) not in state.memo:
        raise RecordingError("it takes what was never put there")
    state.stack.append(state.memo[int(place)])


def _build(state: _State, _: Any) -> None:
    """Attributes of a dictionary, as modules have them (``_metadata``): no numbers of a log."""
    state.pop()
    state.top(dict)


def _stack_global(state: _State, _: Any) -> None:
    name, module = state.pop(), state.pop()
    _name(state, module, name)


def _value(value: Any) -> Callable[[_State, Any], None]:
    return lambda state, _: state.stack.append(value)


def _argument(state: _State, argument: Any) -> None:
    state.stack.append(argument)


def _nothing(state: _State, argument: Any) -> None:
    """Versions and frames."""


_Step = Callable[[_State, Any], None]
_STEPS: dict[str, _Step] = {
    **dict.fromkeys(("PROTO", "FRAME"), _nothing),
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"), _argument),
    **dict.fromkeys(("BINUNICODE", "SHORT_BINUNICODE"), _argument),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), _put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _get),
    "MEMOIZE": lambda state, _: _put(state, len(state.memo)),
    "NONE": _value(None),
    "NEWTRUE": _value(True),
    "NEWFALSE": _value(False),
    "MARK": lambda state, _: state.stack.append(_MARK),
    "EMPTY_DICT": lambda state, _: state.stack.append({}),
    "EMPTY_LIST": lambda state, _: state.stack.append([]),
    "EMPTY_TUPLE": _value(()),
    "TUPLE": lambda state, _: state.stack.append(tuple(state.since_mark())),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "DICT": _dictionary,
    "LIST": lambda state, _: state.stack.append(state.since_mark()),
    "SETITEM": _set_item,
    "SETITEMS": _set_items,
    "APPEND": _append,
    "APPENDS": _appends,
    "GLOBAL": lambda state, argument: _name(state, *str(argument).split(" ", 1)),
    "STACK_GLOBAL": _stack_global,
    "BINPERSID": _persistent,
    "REDUCE": _reduce,
    "BUILD": _build,
}
