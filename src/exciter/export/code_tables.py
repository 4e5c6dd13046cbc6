"""What generated code is made of, in whatever language: kinematics, parameters, and joint terms as expressions.

The functions work from the base parameters β alone. Standard parameters that are β at the independent columns and zero
elsewhere need the same torques as any full set with this β, so that Newton–Euler can use them as if they were bodies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter import __version__
from exciter.dynamics.engine import Chain
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.export.term_expressions import Helper, expressions, number, used_helpers, used_words
from exciter.parameters import inertial
from exciter.parameters.terms import LoadFriction
from exciter.typing import Array

ASCII_UNITS = str.maketrans({"·": "*", "²": "^2", "½": "(1/2)"})
CODE_LINE_WIDTH = 100  #: characters of lines of numbers


@dataclass(frozen=True)
class Entry:
    """Torque on a joint per unit of a parameter: both by number, and the expression."""

    joint: int
    parameter: int
    expression: str


@dataclass(frozen=True)
class Language:
    """How tables look: a row of numbers, a comment behind it, a string."""

    row: str
    comment: str
    string: Callable[[str], str]

    def rows(self, table: Array, comments: Iterable[str]) -> str:
        return self.lines((self.row.format(numbers(row)) for row in table), comments)

    def lines(self, texts: Iterable[str], comments: Iterable[str]) -> str:
        return "\n".join(f"    {t},{self.comment.format(c)}" for t, c in zip(texts, comments, strict=True))


@dataclass(frozen=True, eq=False)
class CodeTables:
    """Of a robot with n joints and p base parameters.

    name: of the robot, for people; prefix: the same as an identifier. chain: every axis along z of its link's frame.
    values (p,), std (p,) or None. body_parameter (n, 10): which parameter stands for M, MX, MY, MZ, XX, XY, YY, XZ, YZ,
    ZZ of each link, −1 for none. entries: of the joint terms. load_bodies (n, 10): with which friction that
    grows with load is computed.
    """

    name: str
    prefix: str
    joints: tuple[str, ...]
    chain: Chain
    parameters: tuple[str, ...]
    meanings: tuple[str, ...]
    values: Array
    std: Array | None
    body_parameter: NDArray[np.int64]
    entries: tuple[Entry, ...]
    load_bodies: Array

    @classmethod
    def of(cls, model: DynamicModel, values: ArrayLike, std: ArrayLike | None = None) -> CodeTables:
        """Of base parameters β (p,) of a model and, for comments, their standard deviations (p,)."""
        base, robot, n = model.base, model.robot, model.n
        beta = _checked(values, len(base), robot.name)
        column = {int(k): position for position, k in enumerate(base.independent)}
        bodies = [column.get(k, -1) for k in range(10 * n)]
        entries = _entries(model, column)
        units = [model.units[k] for k in base.independent]
        return cls(
            name=plain_text(robot.name),
            prefix=identifier(robot.name),
            joints=robot.joint_names,
            chain=model.dynamics.chain,
            parameters=base.names,
            meanings=tuple(f"{e} [{ascii_unit(u)}]" for e, u in zip(base.expressions, units, strict=True)),
            values=beta,
            std=None if std is None else np.asarray(std, dtype=float),
            body_parameter=np.array(bodies).reshape(n, 10),
            entries=entries,
            load_bodies=model.dynamics.chain_inertias(_load_links(model)),
        )

    @property
    def position_units(self) -> tuple[str, ...]:
        return tuple("m" if prismatic else "rad" for prismatic in self.chain.prismatic)

    @property
    def torque_units(self) -> tuple[str, ...]:
        return tuple("N" if prismatic else "N*m" for prismatic in self.chain.prismatic)

    @property
    def helpers(self) -> tuple[Helper, ...]:
        return used_helpers(entry.expression for entry in self.entries)

    @property
    def words(self) -> set[str]:
        """Names that the entries and their helpers use."""
        return used_words([*(e.expression for e in self.entries), *(h.expression for h in self.helpers)])

    @property
    def needs_load(self) -> bool:
        return "load" in self.words

    @property
    def named_entries(self) -> list[tuple[Entry, str]]:
        """Entries, each with the name of its parameter."""
        return [(entry, plain_text(self.parameters[entry.parameter])) for entry in self.entries]

    def texts(self, language: Language) -> dict[str, str]:
        """What every template is filled with."""
        chain, joints = self.chain, [plain_text(name) for name in self.joints]
        return {
            "name": self.name,
            "source": f"exciter {__version__}",
            "prefix": self.prefix,
            "upper": self.prefix.upper(),
            "n": str(len(self.joints)),
            "p": str(len(self.values)),
            "joint_names": wrapped(map(language.string, self.joints)),
            "torque_units": wrapped(map(language.string, self.torque_units)),
            "parameter_names": wrapped(map(language.string, self.parameters)),
            "parameters": language.lines(map(number, self.values), self._parameter_comments()),
            "parent": ", ".join(map(str, chain.parent)),
            "slides": ", ".join(str(int(k)) for k in chain.prismatic),
            "rotation": language.rows(chain.rotation.reshape(-1, 9), joints),
            "origin": language.rows(chain.origin, joints),
            "lift": numbers(-chain.gravity),
            "body_order": ", ".join(inertial.INERTIAL_NAMES),
            "body_parameter": language.lines(
                (language.row.format(", ".join(map(str, row))) for row in self.body_parameter), joints
            ),
            "load_bodies": language.rows(self.load_bodies, joints),
            "count": str(len(self.entries)),
            "term_joint": wrapped(str(entry.joint) for entry in self.entries),
            "term_parameter": wrapped(str(entry.parameter) for entry in self.entries),
        }

    def _parameter_comments(self) -> list[str]:
        """Number, name, what it is the sum of, unit, and σ."""
        texts = [f"{k}: {meaning}" for k, meaning in enumerate(self.meanings)]
        if self.std is not None:
            known = np.isfinite(self.std)
            texts = [f"{t}, std {s:.2g}" if ok else t for t, s, ok in zip(texts, self.std, known, strict=True)]
        return [plain_text(text) for text in texts]


def _entries(model: DynamicModel, column: dict[int, int]) -> tuple[Entry, ...]:
    """Of all joint terms; those of parameters that the base does not keep are zero, and left out."""
    entries, at = [], 10 * model.n
    for term, bound in zip(model.terms, model.bound, strict=True):
        texts = expressions(term, model.dynamics.robot)
        for (joint, k), text in zip(bound.rows, texts, strict=True):
            if at + k in column:
                entries.append(Entry(joint, column[at + k], text))
        at += len(bound.names)
    return tuple(entries)


def _load_links(model: DynamicModel) -> Array | None:
    """(n, 10) of the terms that depend on load, None for the description's; code has room for one set."""
    sets = {term.links for term in model.terms if isinstance(term, LoadFriction)}
    if len(sets) > 1:
        raise ParameterError("code can be written with one set of links for load friction; give all its terms the same")
    links = next(iter(sets), None)
    return None if links is None else np.array(links)


def _checked(values: ArrayLike, count: int, robot: str) -> Array:
    beta = np.array(values, dtype=float)
    if beta.shape != (count,):
        raise ParameterError(f"values have shape {beta.shape}; robot '{robot}' has {count} base parameters: one each")
    if not np.isfinite(beta).all():
        raise ParameterError(f"the base parameters of '{robot}' contain NaN or infinity; identify again")
    return beta


# -- text --------------------------------------------------------------------------------------------------------------


def identifier(name: str) -> str:
    """A name as C and Python allow it: ``kuka_ir361`` of 'KUKA IR361'."""
    text = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return text if text and not text[0].isdigit() else f"robot_{text}".rstrip("_")


def plain_text(text: str) -> str:
    """For a comment: ASCII, one line, nothing that begins or ends a comment or a string."""
    line = "".join(mark if " " <= mark <= "~" else "_" for mark in " ".join(text.split()))
    return line.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *").replace('"', "'")


def ascii_unit(unit: str) -> str:
    return unit.translate(ASCII_UNITS) or "1"


def numbers(values: Iterable[float]) -> str:
    return ", ".join(number(value) for value in values)


def wrapped(items: Iterable[str], indent: str = "    ") -> str:
    """Items with commas, as many per line as fit."""
    lines = [""]
    for item in items:
        if lines[-1] and len(indent) + len(lines[-1]) + len(item) > CODE_LINE_WIDTH:
            lines.append("")
        lines[-1] += f"{item}, "
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)
