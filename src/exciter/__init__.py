"""Exciter identifies the dynamics of robots: what can be identified, the motion that shows it, parameters from logs.

>>> import exciter as ex
>>> robot = ex.load("gautier-khalil")  # or "arm.urdf"
>>> motion = ex.design(robot, ex.Fourier(period=5, harmonics=3), starts=1)
>>> log = ex.simulate(robot, motion, periods=2).recording  # or ex.read("log.csv")
>>> found = ex.identify(robot, log)
>>> folder = found.save("found")

Examples of other docstrings go on from there. The names are listed once, in ``__init__.pyi``; each is loaded when it is
used first, so that importing costs nothing."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any


def _listed() -> dict[str, str]:
    """The module of every name."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    lines = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in lines for alias in node.names}


_MODULES = _listed()
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("exciter")
    if name not in _MODULES:
        raise AttributeError(f"module 'exciter' has no attribute '{name}'")
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found  # asked for once
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
