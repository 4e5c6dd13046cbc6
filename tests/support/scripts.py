"""Scripts of benchmarks/ and docs/ as modules."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from support.paths import ROOT


def script(folder: str, name: str) -> ModuleType:
    """A script of a folder of the checkout as a module."""
    specification = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


def benchmark(name: str) -> ModuleType:
    """What a benchmark measures, tests may check."""
    return script("benchmarks", name)
