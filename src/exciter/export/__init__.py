"""Identified models for other tools; templates say what their files look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def templates(package: str = "exciter.export", **more: Any) -> Environment:
    """Those of a package, with ``${…}`` for values, for braces are common in code."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        variable_start_string="${",
        variable_end_string="}",
        **more,
    )
