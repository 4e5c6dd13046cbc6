"""A setting that cannot be used, and the one sentence that people read of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Refused(ValueError):
    """Its text is what stands behind the key, `` is -1; give …`` or ``: …``; ``inside`` puts keys in front."""


def wrong(text: str) -> Refused:
    """To be raised by whoever checks a setting."""
    return Refused(text)


def class_given(given: type) -> Refused:
    """To be raised where a class stands for an object of it."""
    return wrong(f" is the class {given.__name__}; give an object of it, {given.__name__}(…)")


@contextmanager
def inside(path: str) -> Iterator[None]:
    """What is wrong inside is told with its place, ``: name`` or `` 2``, in front."""
    try:
        yield
    except Refused as error:
        raise wrong(f"{path}{error}") from None
