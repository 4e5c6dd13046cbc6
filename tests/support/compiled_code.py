"""Generated C code, compiled and called, and generated Python."""

import ctypes
import re
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from exciter.export.generated_code import identifier

C99 = ("gcc", "-std=c99")
FLAGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler: gcc is not installed")
needs_gpp = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler: g++ is not installed")


class Compiled:
    """The functions of a shared library, called for one instant after the other."""

    def __init__(self, path, model):
        self.library, self.prefix = ctypes.CDLL(str(path)), identifier(model.robot.name)
        n, p = model.n, len(model.base)
        self.shapes = {"torque": (n,), "gravity": (n,), "regressor": (n, p), "inertia_matrix": (n, n)}
        said = re.search(r"_CONTACTS (\d+)", path.with_suffix(".h").read_text())
        self.contacts = int(said[1]) if said else 0

    def __getattr__(self, name):
        function = getattr(self.library, f"{self.prefix}_{name}")
        function.restype = None
        remembers = self.contacts and name in ("torque", "regressor")

        def of_many(*arrays, state=None):
            """state: before the first instant, at rest there unless given."""
            out = np.full((len(arrays[0]), *self.shapes[name]), np.nan)
            first = [self.state(arrays[0][0]) if state is None else state] if remembers else []
            for k in range(len(out)):
                function(*map(pointer, first), *(pointer(x[k]) for x in (*arrays, out)))
            return out

        return of_many

    def state(self, q):
        """Places, then z, as the structure has them."""
        state = np.full(2 * self.contacts, np.nan)
        getattr(self.library, f"{self.prefix}_state_init")(pointer(state), pointer(q))
        return state

    def texts(self, name, count):
        found = (ctypes.c_char_p * count).in_dll(self.library, f"{self.prefix}_{name}")
        return tuple(text.decode() for text in found)


def pointer(row):
    """Of a contiguous row of numbers."""
    assert row.flags.c_contiguous
    return row.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def imported(text):
    """The names of a generated module."""
    module = {"__name__": "robot"}
    exec(compile(text, "robot.py", "exec"), module)
    return SimpleNamespace(**module)


def compiled(path, *compiler):
    """The shared library of a source file: no warning, whatever the compiler looks for."""
    out = path.with_suffix(".so")
    command = [*compiler, *FLAGS, "-O2", "-shared", "-fPIC", str(path), "-o", str(out), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out
