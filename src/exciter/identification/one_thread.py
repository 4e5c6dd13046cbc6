"""Linear algebra on small matrices, by one thread: several would wait for each other longer than they work."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks at all loaded libraries, which takes a millisecond


def one_thread() -> AbstractContextManager[Any]:
    """While it lasts, BLAS and LAPACK use one thread."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited
