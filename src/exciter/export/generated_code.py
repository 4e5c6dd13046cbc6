"""Inverse dynamics, inertia matrix and base-parameter regressor as source text.

C99 that needs nothing but math.h, two files: the source and its header. They compile as C++ too; there is no memory
allocation and no state. Python as one module that needs nothing but NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from string import Template

from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.export.code_tables import CodeTables, Language, plain_text
from exciter.export.term_expressions import MATH_FUNCTIONS, Helper


def filled(template: str, *texts: dict[str, str], **more: str) -> str:
    text = (files("exciter.export") / "templates" / template).read_text(encoding="utf-8")
    return Template(text).substitute(*texts, **more)


# -- C -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CTexts:
    """Text of the source file and of its header."""

    source: str
    header: str


def c_code(
    model: DynamicModel, values: ArrayLike, *, std: ArrayLike | None = None, header: str = "dynamics.h"
) -> CTexts:
    """Of the base parameters β (p,) of a model; std (p,) goes into comments. header: name of the header file."""
    tables = CodeTables.of(model, values, std)
    texts = tables.texts(C_LANGUAGE)
    rows = zip(tables.joints, tables.position_units, tables.torque_units, strict=True)
    joints = [f" *   {k}: {plain_text(name)}, position [{q}], torque [{tau}]" for k, (name, q, tau) in enumerate(rows)]
    some = bool(tables.entries)  # an array of no terms is no C
    source = filled(
        "inverse_dynamics.c.in",
        texts,
        header=header,
        terms=_c_terms(tables, texts) if some else "",
        torque_terms="    add_joint_terms(q, qd, qdd, tau);\n" if some else "",
        matrix_terms="        add_term_inertia(q, unit, column);\n" if some else "",
        regressor_terms="    set_term_columns(q, qd, qdd, w);\n" if some else "",
    )
    return CTexts(source=source, header=filled("inverse_dynamics.h.in", texts, joint_table="\n".join(joints)))


def _c_terms(tables: CodeTables, texts: dict[str, str]) -> str:
    unused = [x for x in ("q", "qd", "qdd") if x not in tables.words and not tables.needs_load]
    before = C_LOAD if tables.needs_load else ""
    before += "".join(f"    (void){x}; /* no term depends on it */\n" for x in unused)
    lines = [f"    term[{k}] = {e.expression}; /* {name} */" for k, (e, name) in enumerate(tables.named_entries)]
    return filled(
        "joint_terms.c.in",
        texts,
        load_table=C_LOAD_TABLE.format(**texts) if tables.needs_load else "",
        helpers="".join(_c_helper(helper) for helper in tables.helpers),
        before=before,
        lines="\n".join(lines),
    )


C_LOAD_TABLE = """
/* Bodies whose torque loads the gears, for friction that grows with it: ten numbers of each link, SI units. */
static const double load_bodies[N * 10] = {{
{load_bodies}
}};
"""
C_LOAD = """\
    link_state links[N];
    double load[N];
    outward(lift, q, qd, qdd, links);
    inward(links, load_bodies, load);
"""


def _c_helper(helper: Helper) -> str:
    arguments = ", ".join(f"double {name}" for name in helper.arguments)
    return (
        f"\n/* {helper.about} */\nstatic double {helper.name}({arguments})\n{{\n    return {helper.expression};\n}}\n"
    )


def c_string(text: str) -> str:
    """A string literal; bytes beyond ASCII as UTF-8 in octal, question marks escaped because of trigraphs."""
    marks = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    plain = (marks.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode("utf-8"))
    return f'"{"".join(plain)}"'


C_LANGUAGE = Language(row="{}", comment=" /* {} */", string=c_string)


# -- Python ------------------------------------------------------------------------------------------------------------

PYTHON_LANGUAGE = Language(row="[{}]", comment="  # {}", string=ascii)
PYTHON_LOAD_TABLE = """
# Bodies whose torque loads the gears, for friction that grows with it: ten numbers of each link, SI units.
LOAD_BODIES = np.array([
{load_bodies}
])
"""


def python_module(model: DynamicModel, values: ArrayLike, *, std: ArrayLike | None = None) -> str:
    """Of the base parameters β (p,) of a model; std (p,) goes into comments."""
    tables = CodeTables.of(model, values, std)
    texts = tables.texts(PYTHON_LANGUAGE)
    functions = tables.words & set(MATH_FUNCTIONS) | {"cos", "sin"}
    lines = [f"        {entry.expression},  # {name}" for entry, name in tables.named_entries]
    return filled(
        "inverse_dynamics.py.in",
        texts,
        functions=", ".join(sorted(functions)),
        load_table=PYTHON_LOAD_TABLE.format(**texts) if tables.needs_load else "",
        load="    load = _inward(_outward(LIFT, q, qd, qdd), LOAD_BODIES)\n" if tables.needs_load else "",
        helpers="".join(_python_helper(helper) for helper in tables.helpers),
        lines="\n".join(lines),
    )


def _python_helper(helper: Helper) -> str:
    arguments = ", ".join(helper.arguments)
    return f'\n\ndef {helper.name}({arguments}):\n    """{helper.about}"""\n    return {helper.expression}\n'
