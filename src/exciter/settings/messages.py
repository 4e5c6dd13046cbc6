"""A setting that cannot be used, as pydantic collects it, and the one sentence that people read of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from exciter.errors import shown

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import PydanticCustomError

OWN_ERROR_KIND = "exciter"  #: the kind of our own errors among pydantic's


def wrong(text: str) -> PydanticCustomError:
    """To be raised by whoever checks a setting. text: what stands behind the key, `` is -1; give …`` or ``: …``."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError(OWN_ERROR_KIND, "{text}", {"text": text})


def class_given(given: type) -> PydanticCustomError:
    """To be raised where a class stands for an object of it."""
    return wrong(f" is the class {given.__name__}; give an object of it, {given.__name__}(…)")


@contextmanager
def inside(path: str) -> Iterator[None]:
    """What is wrong inside is told with its place, ``: name`` or `` 2``, in front."""
    try:
        yield
    except refusals() as error:
        raise wrong(message(error, path)) from None


def refusals() -> tuple[type[Exception], ...]:
    """What is raised of a setting, by ``wrong`` or by pydantic; imported only where it was raised."""
    from pydantic_core import PydanticCustomError, ValidationError

    return PydanticCustomError, ValidationError


def below(error: ValidationError, key: str) -> ValidationError:
    """The same errors, of what stands below ``key``."""
    return _moved(error, lambda loc: (key, *loc))


def lifted(error: ValidationError, keys: Collection[str]) -> ValidationError:
    """The same errors, of what stands below one of ``keys``, as if it stood beside it."""
    return _moved(error, lambda loc: loc[1:] if loc and loc[0] in keys else loc)


def _moved(error: ValidationError, move: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> ValidationError:
    from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

    def moved(one: Any) -> InitErrorDetails:
        kind = PydanticCustomError(OWN_ERROR_KIND, "{text}", {"text": sentence(one)})
        return InitErrorDetails(type=kind, loc=move(one["loc"]), input=one["input"])

    lines = [moved(one) for one in error.errors(include_url=False)]
    return ValidationError.from_exception_data(error.title, lines)


def message(error: Exception, where: str) -> str:
    """``design.yaml: trajectory: period is -1; give a number > 0``: the first error, with the path of its key."""
    from pydantic_core import ValidationError

    if not isinstance(error, ValidationError):
        return f"{where}{error}"
    first = error.errors(include_url=False)[0]
    path = "".join(f" {key + 1}" if isinstance(key, int) else f": {key}" for key in first["loc"])
    return f"{where}{path}{sentence(first)}"


def sentence(error: Any) -> str:
    """What is wrong, to stand behind the path."""
    if error["type"] == OWN_ERROR_KIND:
        return str(error["ctx"]["text"])
    given = shown(error["input"])
    if error["type"] in ("tuple_type", "list_type"):
        return f" is {given}; give a list, each entry behind a '-'"
    if error["type"] in ("dict_type", "mapping_type"):
        return f" is {given}; give a mapping (name: value)"
    return f" is {given}; {error['msg'][:1].lower()}{error['msg'][1:]}"
