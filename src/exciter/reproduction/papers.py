"""The papers that can be run again, by name; each is imported when it is asked for."""

from __future__ import annotations

import importlib

from exciter.errors import ExciterError
from exciter.reproduction import FOLDERS, NAMES
from exciter.reproduction.paper import Paper


def paper(name: str) -> Paper:
    """The paper of this name: ``PAPER`` of ``reproduction/<folder>/paper.py``."""
    if name not in FOLDERS:
        raise ExciterError(f"'{name}' is none of the papers; choose from {', '.join(NAMES)}")
    found: Paper = importlib.import_module(f"exciter.reproduction.{FOLDERS[name]}.paper").PAPER
    return found
