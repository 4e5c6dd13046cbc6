"""Inverse dynamics, inertia matrix and base-parameter regressor as one Python file that needs nothing but NumPy."""

from __future__ import annotations

from pathlib import Path
from string import Template

from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.export.code_tables import CodeTables, Language, template
from exciter.export.term_expressions import MATH, Helper
from exciter.export.text_files import require_suffix, write_texts

PYTHON = Language(row="[{}]", comment="  # {}", string=ascii)


def python_module(model: DynamicModel, values: ArrayLike, *, std: ArrayLike | None = None) -> str:
    """Of the base parameters β (p,) of a model; std (p,) goes into comments."""
    tables = CodeTables.of(model, values, std)
    functions = tables.words & set(MATH) | {"cos", "sin"}
    lines = [f"        {entry.expression},  # {name}" for entry, name in tables.named_entries]
    return Template(template("inverse_dynamics.py.in")).substitute(
        tables.texts(PYTHON),
        functions=", ".join(sorted(functions)),
        load_table=LOAD_TABLE.format(**tables.texts(PYTHON)) if tables.needs_load else "",
        load="    load = _inward(_outward(LIFT, q, qd, qdd), LOAD_BODIES)\n" if tables.needs_load else "",
        helpers="".join(_helper(helper) for helper in tables.helpers),
        lines="\n".join(lines),
    )


def write_python(path: Path, model: DynamicModel, values: ArrayLike, *, std: ArrayLike | None = None) -> Path:
    """Write ``path``, which ends in .py."""
    require_suffix(path, ".py")
    return write_texts(path.parent, {path.name: python_module(model, values, std=std)})[0]


LOAD_TABLE = """
# Bodies whose torque loads the gears, for friction that grows with it: ten numbers of each link, SI units.
LOAD_BODIES = np.array([
{load_bodies}
])
"""


def _helper(helper: Helper) -> str:
    arguments = ", ".join(helper.arguments)
    return f'\n\ndef {helper.name}({arguments}):\n    """{helper.about}"""\n    return {helper.expression}\n'
