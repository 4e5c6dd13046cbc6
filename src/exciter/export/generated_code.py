"""Inverse dynamics, inertia matrix and base-parameter regressor as source text, laid out by templates.

C99 that needs nothing but math.h, two files: the source and its header. They compile as C++ too; there is no memory
allocation. Python as one module that needs nothing but NumPy. What pre-sliding friction remembers is a state that the
caller owns and hands in; functions of a model without it, and stateless ones, depend on the present instant alone.

The functions work from the base parameters β alone. Standard parameters that are β at the independent columns and zero
elsewhere need the same torques as any full set with this β, so that Newton–Euler can use them as if they were bodies.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exciter import __version__
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.export import templates
from exciter.export.term_expressions import (
    MATH_FUNCTIONS,
    expressions,
    number,
    numbered,
    presliding_travels,
    sliding,
    used_helpers,
    used_words,
)
from exciter.parameters.inertial import INERTIAL_NAMES
from exciter.parameters.terms import LoadFriction
from exciter.robot.coupling import Coupling, LinearCoupling

if TYPE_CHECKING:
    from jinja2 import Environment

ASCII_UNITS = str.maketrans({"·": "*", "²": "^2", "½": "(1/2)"})
CODE_LINE_WIDTH = 100  #: characters of lines of numbers
COMMENT_WIDTH = 116  #: characters of lines of comments
STATELESS_WORDS = (
    "Dry friction pre-slides: after a reversal it builds up over a short travel [rad or m] ({}). That was left out on "
    "request. In its place stands what it tends to after a few times that travel, the direction of motion, as "
    "tanh(velocity / width). Each width is a hundredth of the joint's velocity limit (of 1 rad/s or m/s without one): "
    "slower, a joint counts as resting. Lost are the friction that holds a joint at rest, for it fades to zero with "
    "the velocity instead of chattering with its noise, and the way friction turns round just after a reversal."
)


class CTexts(NamedTuple):
    """Text of the source file and of its header."""

    source: str
    header: str


def c_code(
    model: DynamicModel,
    values: ArrayLike,
    *,
    std: ArrayLike | None = None,
    header: str = "dynamics.h",
    stateless: bool = False,
) -> CTexts:
    """Of the base parameters β (p,) of a model; std (p,) goes into comments. header: name of the header file.
    stateless: pre-sliding friction without memory, as ``sliding`` has it."""
    tables = _tables(model, values, std, stateless)
    source = _templates().get_template("inverse_dynamics.c.in").render(tables, header=header)
    return CTexts(source=source, header=_templates().get_template("inverse_dynamics.h.in").render(tables))


def python_module(
    model: DynamicModel, values: ArrayLike, *, std: ArrayLike | None = None, stateless: bool = False
) -> str:
    """Of the base parameters β (p,) of a model; std (p,) goes into comments; stateless: as ``c_code`` has it."""
    tables = _tables(model, values, std, stateless)
    functions = sorted(tables["words"] & set(MATH_FUNCTIONS) | {"cos", "sin"})
    return _templates().get_template("inverse_dynamics.py.in").render(tables, functions=functions)


@cache
def _templates() -> Environment:
    found = templates(autoescape=False)  # names go through filters
    found.filters |= {"number": number, "wrapped": wrapped, "c_string": c_string, "python_string": ascii}
    found.filters |= {"numbers": lambda row: ", ".join(map(number, row)), "plain_text": plain_text}
    return found


# -- what templates are filled with ------------------------------------------------------------------------------------


def _tables(model: DynamicModel, values: ArrayLike, std: ArrayLike | None, stateless: bool) -> dict[str, Any]:
    """Of n joints and p base parameters β, with their σ in comments.

    name: of the robot, for people; prefix: as an identifier. body_parameter (bodies, 10): which parameter stands
    for M, MX, MY, MZ, XX, XY, YY, XZ, YZ, ZZ of each link, −1 for none. entries: of the joint terms. load_bodies
    (bodies, 10): with which friction that grows with load is computed; code has room for one set of links. words: names
    that entries and helpers use. contacts: of pre-sliding friction, whose z entries ask for. left_out: of it on
    request, in words."""
    base, robot, chain = model.base, model.robot, model.dynamics.chain  # every axis along z of its link's frame
    beta = np.array(values, dtype=float)
    if beta.shape != (len(base),):
        raise ParameterError(
            f"values have shape {beta.shape}; robot '{robot.name}' has {len(base)} base parameters: one each"
        )
    if not np.isfinite(beta).all():
        raise ParameterError(f"the base parameters of '{robot.name}' contain NaN or infinity; identify again")
    loading = {term.links for term in model.terms if isinstance(term, LoadFriction)}
    if len(loading) > 1:
        raise ParameterError("code can be written with one set of links for load friction; give all its terms the same")
    column = {int(k): position for position, k in enumerate(base.independent)}
    entries, prefix = list(_entries(model, column, stateless)), identifier(robot.name)
    texts, contacts = numbered(entry.expression for entry in entries)
    entries = [entry._replace(expression=text) for entry, text in zip(entries, texts, strict=True)]
    travels = presliding_travels(model.terms, robot) if stateless else {}
    left_out = STATELESS_WORDS.format(", ".join(f"{plain_text(name)} {travel:.3g}" for name, travel in travels.items()))
    helpers = used_helpers(entry.expression for entry in entries)
    words = used_words([*(e.expression for e in entries), *(h.expression for h in helpers)])
    units = [model.units[k].translate(ASCII_UNITS) or "1" for k in base.independent]
    meanings = [f"{k}: {e} [{u}]" for k, (e, u) in enumerate(zip(base.expressions, units, strict=True))]
    if std is not None:
        sigmas = np.asarray(std, dtype=float)
        meanings = [f"{m}, std {s:.2g}" if np.isfinite(s) else m for m, s in zip(meanings, sigmas, strict=True)]
    return {
        "name": plain_text(robot.name),
        "source": f"exciter {__version__}",
        "prefix": prefix,
        "upper": prefix.upper(),
        "n": robot.n,
        "p": len(beta),
        "joints": robot.joint_names,
        "links": robot.tree_names,
        "follows": _follows(robot.coupling),
        "shift": () if robot.coupling is None else _linear(robot.coupling).offset,
        "torque_units": ["N" if joint.is_prismatic else "N*m" for joint in robot.joints],
        "parameters": base.names,
        "values": beta,
        "comments": [plain_text(text) for text in meanings],
        "parent": chain.parent,
        "slides": [int(slides) for slides in chain.prismatic],
        "rotation": chain.rotation.reshape(-1, 9),
        "origin": chain.origin,
        "lift": -chain.gravity,
        "body_order": INERTIAL_NAMES,
        "body_parameter": np.array([column.get(k, -1) for k in range(model.inertial_size)]).reshape(-1, 10),
        "entries": entries,
        "helpers": helpers,
        "words": words,
        "needs_load": "load" in words,
        "contacts": contacts,
        "left_out": textwrap.wrap(left_out, COMMENT_WIDTH) if travels else [],
        "load_bodies": model.dynamics.chain_inertias(next(iter(loading), None)),
    }


class Follows(NamedTuple):
    """A link follows a joint, both by number, by a factor."""

    body: int
    joint: int
    factor: float


def _linear(coupling: Coupling) -> LinearCoupling:
    if not isinstance(coupling, LinearCoupling):
        raise ParameterError("generated code has no place for closed loops; export MJCF, or URDF with lines of YAML")
    return coupling


def _follows(coupling: Coupling | None) -> list[Follows]:
    """Of every link and every joint that it follows; nothing where each link has a joint of its own."""
    if coupling is None:
        return []
    matrix = _linear(coupling).matrix
    return [Follows(int(i), int(j), float(matrix[i, j])) for i, j in zip(*np.nonzero(matrix), strict=True)]


class Entry(NamedTuple):
    """Torque on a joint per unit of a parameter: both by number, and the expression."""

    joint: int
    parameter: int
    expression: str


def _entries(model: DynamicModel, column: dict[int, int], stateless: bool) -> Iterator[Entry]:
    """Of all joint terms; those of parameters that the base does not keep are zero, and left out."""
    at, robot = model.inertial_size, model.dynamics.robot
    for term, bound in zip(model.terms, model.bound, strict=True):
        texts = expressions(sliding(term, robot) if stateless else term, robot)
        for (joint, k), text in zip(bound.rows, texts, strict=True):
            if at + k in column:
                yield Entry(joint, column[at + k], text)
        at += len(bound.names)


# -- text --------------------------------------------------------------------------------------------------------------


def identifier(name: str) -> str:
    """A name as C and Python allow it: ``kuka_ir361`` of 'KUKA IR361'."""
    text = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return text if text and not text[0].isdigit() else f"robot_{text}".rstrip("_")


def plain_text(text: str) -> str:
    """For a comment: ASCII, one line, nothing that begins or ends a comment or a string."""
    line = "".join(mark if " " <= mark <= "~" else "_" for mark in " ".join(text.split()))
    return line.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *").replace('"', "'")


def c_string(text: str) -> str:
    """A string literal; bytes beyond ASCII as UTF-8 in octal, question marks escaped because of trigraphs."""
    marks = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    plain = (marks.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode("utf-8"))
    return f'"{"".join(plain)}"'


def wrapped(items: Iterable[str], indent: str = "    ") -> str:
    """Items with commas, as many per line as fit."""
    lines = [""]
    for item in items:
        if lines[-1] and len(indent) + len(lines[-1]) + len(item) > CODE_LINE_WIDTH:
            lines.append("")
        lines[-1] += f"{item}, "
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)
