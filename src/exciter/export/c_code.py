"""Inverse dynamics, inertia matrix and base-parameter regressor as C99 that needs nothing but math.h.

Two files: the source and its header. They compile as C++ too; there is no memory allocation and no state.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from string import Template

from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.export.code_tables import CodeTables, Language, plain_text, template
from exciter.export.term_expressions import Helper
from exciter.export.text_files import require_suffix, write_texts


@dataclass(frozen=True)
class CCode:
    """Text of the source file and of its header."""

    source: str
    header: str


def c_code(
    model: DynamicModel, values: ArrayLike, *, std: ArrayLike | None = None, header: str = "dynamics.h"
) -> CCode:
    """Of the base parameters β (p,) of a model; std (p,) goes into comments. header: name of the header file."""
    tables = CodeTables.of(model, values, std)
    return CCode(_source(tables, header), _header(tables))


def write_c(path: Path, model: DynamicModel, values: ArrayLike, *, std: ArrayLike | None = None) -> tuple[Path, ...]:
    """Write ``path``, which ends in .c, and the header beside it; both or none."""
    require_suffix(path, ".c")
    if not (path.name.isascii() and path.name.isprintable()) or set(path.name) & set('"\\?'):
        raise ExciterError(f"'{path.name}' cannot stand in an #include; choose a name of plain letters and digits")
    header = path.with_suffix(".h").name
    code = c_code(model, values, std=std, header=header)
    return write_texts(path.parent, {header: code.header, path.name: code.source})


def _header(tables: CodeTables) -> str:
    rows = zip(tables.joints, tables.position_units, tables.torque_units, strict=True)
    joints = [f" *   {k}: {plain_text(name)}, position [{q}], torque [{tau}]" for k, (name, q, tau) in enumerate(rows)]
    return Template(template("inverse_dynamics.h.in")).substitute(tables.texts(C), joint_table="\n".join(joints))


def _source(tables: CodeTables, header: str) -> str:
    some = bool(tables.entries)  # an array of no terms is no C
    return Template(template("inverse_dynamics.c.in")).substitute(
        tables.texts(C),
        header=header,
        terms=_terms(tables) if some else "",
        torque_terms="    add_joint_terms(q, qd, qdd, tau);\n" if some else "",
        matrix_terms="        add_term_inertia(q, unit, column);\n" if some else "",
        regressor_terms="    set_term_columns(q, qd, qdd, w);\n" if some else "",
    )


def _terms(tables: CodeTables) -> str:
    unused = [x for x in ("q", "qd", "qdd") if x not in tables.words and not tables.needs_load]
    before = LOAD if tables.needs_load else ""
    before += "".join(f"    (void){x}; /* no term depends on it */\n" for x in unused)
    lines = [f"    term[{k}] = {e.expression}; /* {name} */" for k, (e, name) in enumerate(tables.named_entries)]
    return Template(template("joint_terms.c.in")).substitute(
        tables.texts(C),
        load_table=LOAD_TABLE.format(**tables.texts(C)) if tables.needs_load else "",
        helpers="".join(_helper(helper) for helper in tables.helpers),
        before=before,
        lines="\n".join(lines),
    )


LOAD_TABLE = """
/* Bodies whose torque loads the gears, for friction that grows with it: ten numbers of each link, SI units. */
static const double load_bodies[N * 10] = {{
{load_bodies}
}};
"""
LOAD = """\
    link_state links[N];
    double load[N];
    outward(lift, q, qd, qdd, links);
    inward(links, load_bodies, load);
"""


def _helper(helper: Helper) -> str:
    arguments = ", ".join(f"double {name}" for name in helper.arguments)
    return (
        f"\n/* {helper.about} */\nstatic double {helper.name}({arguments})\n{{\n    return {helper.expression};\n}}\n"
    )


def c_string(text: str) -> str:
    """A string literal; bytes beyond ASCII as UTF-8 in octal, question marks escaped because of trigraphs."""
    marks = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    plain = (marks.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode("utf-8"))
    return f'"{"".join(plain)}"'


C = Language(row="{}", comment=" /* {} */", string=c_string)
