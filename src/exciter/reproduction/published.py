"""Published figures: data files beside the code of each paper, so that no table is typed into a program."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def published(folder: str, name: str = "published") -> dict[str, Any]:
    """What ``reproduction/<folder>/<name>.yaml`` holds, e.g. ``published("rackl")["table_1"]``."""
    text = (files("exciter.reproduction") / folder / f"{name}.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data
