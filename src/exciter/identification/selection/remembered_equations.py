"""Equations of models on trial: most of their columns are the same from model to model, and are filtered once.

A column of W depends on the robot and on its own joint term, not on the other columns, and a filter takes each by
itself. Gravity is in the columns of masses and first moments alone, and these are linear in it: W(g) = W(g₀) +
Σ (g − g₀)ₖ Wₖ, with the columns Wₖ of a robot at rest under gravity 1 along each axis. So a base that leans needs no
new ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel, TermMemory
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.processed_motion import Processed, remembered_pieces
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import IntArray, blocks, instants_first
from exciter.identification.selection.friction_candidates import FRICTION_TERMS, LabelledTerm, on_joints
from exciter.parameters.terms import JointTerm, LoadFriction
from exciter.robot.motion import Motion
from exciter.typing import Array

BLOCK_SAMPLES = 2048  #: of equations that go through the filter
WEIGHT_PARAMETERS = 4  #: of the ten of a link, the first ones: its mass and first moments
Entry = tuple[int, int]  # joint and standard column
TermEntry = tuple[int, int, int]  # and which of the values of all terms it is
Columns = list[Array]  # (N,) of each piece that comes out of the filter


@dataclass(frozen=True)
class RememberedDynamic(InverseDynamic):
    """The inverse dynamic model through a filter, without a dead zone, of motions that are held in memory."""

    @cached_property
    def _known(self) -> dict[tuple[int, ...], _KnownColumns]:
        return {}

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: IntArray) -> Iterator[Rows]:
        held = tuple(piece for piece in pieces if len(piece))
        motions = tuple(id(piece.motion) for piece in held)
        if motions not in self._known:
            self._known[motions] = _KnownColumns(self, held, model)
        return self._known[motions].rows(model, held, columns)


def remembering(both: ParallelFilter | None) -> InverseDynamic:
    """Of both sides through a filter; without one there is little to be saved, and much to be kept."""
    return InverseDynamic() if both is None else RememberedDynamic(both)


class _KnownColumns:
    """Of pieces, which are kept so that no others can be taken for them."""

    def __init__(self, equations: InverseDynamic, pieces: tuple[Processed, ...], model: DynamicModel) -> None:
        assert equations.parallel_filter is not None
        self._filter, self._pieces = equations.parallel_filter, pieces
        self._upright = DynamicModel(model.robot, (), model.engine)
        self._links: dict[Entry, Columns] = {}
        self._weight: tuple[dict[Entry, Columns], ...] = ({}, {}, {})  # under gravity along x, y, z
        self._terms: dict[Hashable, Columns] = {}

    def rows(self, model: DynamicModel, pieces: tuple[Processed, ...], columns: IntArray) -> Iterator[Rows]:
        place = {int(column): k for k, column in enumerate(columns)}
        ancestors = model.robot.ancestors
        links = [(joint, k) for k in place if k < 10 * model.n for joint in ancestors(k // 10)]
        self._learn(self._links, links, self._upright, self._pieces)
        lean = np.asarray(model.robot.gravity) - np.asarray(self._upright.robot.gravity)
        heavy = [(joint, k) for joint, k in links if lean.any() and k % 10 < WEIGHT_PARAMETERS]
        if heavy:
            still = tuple(replace(one, motion=_at_rest(one.motion)) for one in self._pieces)
            for axis, weight in zip(np.eye(3), self._weight, strict=True):
                robot = self._upright.robot.with_gravity(axis)
                self._learn(weight, heavy, replace(self._upright, robot=robot), still)
        terms = {key: entry for key, entry in _term_entries(model).items() if entry[1] in place}
        for index, rows in enumerate(self._torque_and_terms(model, pieces, terms)):
            sides = np.zeros((model.n, len(place) + 1, len(rows)))
            for joint, k in links:
                sides[joint, place[k]] = self._links[joint, k][index]
            for joint, k in heavy:
                units = [weight[joint, k][index] for weight in self._weight]
                sides[joint, place[k]] += lean @ units
            for key, (joint, k, _) in terms.items():
                sides[joint, place[k]] = self._terms[key][index]
            sides[:, -1] = rows.sides[:, 0, -model.n :].T
            names = tuple(model.standard[k] for k in place)
            yield replace(rows, sides=instants_first(sides), joints=model.robot.joint_names, parameters=names)

    def _learn(
        self, known: dict[Entry, Columns], wanted: Iterable[Entry], model: DynamicModel, pieces: Sequence[Processed]
    ) -> None:
        """Columns of links that are not known yet."""
        entries = [entry for entry in wanted if entry not in known]
        if not entries:
            return
        columns = sorted({k for _, k in entries})
        joints, at = [joint for joint, _ in entries], [columns.index(k) for _, k in entries]
        layout = model.layout(columns)

        def values(piece: Processed) -> Iterator[Array]:
            for _, phi in model.regressor_chunks(piece.motion, BLOCK_SAMPLES, layout):
                yield phi.transpose(1, 2, 0)[joints, at]

        self._filtered(known, entries, ((piece, values(piece)) for piece in pieces))

    def _torque_and_terms(
        self, model: DynamicModel, pieces: Sequence[Processed], wanted: Mapping[Hashable, TermEntry]
    ) -> list[Rows]:
        """Filtered torques as the last columns, anew: a payload may have been taken off; terms before them are kept."""
        missing = [key for key in wanted if key not in self._terms]
        chosen = [wanted[key][2] for key in missing]

        def values(memory: TermMemory, piece: Processed) -> Iterator[Array]:
            known = [memory.values(piece.motion)[chosen]] if chosen else []
            every = np.concatenate([*known, piece.torque.T])
            return (every[:, part] for part in blocks(len(piece), BLOCK_SAMPLES))

        parts = ((piece, values(memory, piece)) for memory, piece in remembered_pieces(model, pieces))
        return self._filtered(self._terms, missing, parts)

    def _filtered(
        self, known: dict[Any, Columns], keys: Sequence[Hashable], parts: Iterable[tuple[Processed, Iterator[Array]]]
    ) -> list[Rows]:
        """Columns (c, N) in blocks, as those of a single equation; the first of them are then known."""

        def equations() -> Iterator[Rows]:
            for piece, values in parts:
                for part, block in zip(blocks(len(piece), BLOCK_SAMPLES), values, strict=True):
                    time, names = piece.motion.time[part], ("",) * (len(block) - 1)  # the last stands where y would
                    sides, limit = instants_first(np.ascontiguousarray(block)[None]), piece.torque_bandwidth
                    yield Rows(time, sides, piece.rate, ("",), names, torque_bandwidth=limit)

        found = list(self._filter.stream(equations()))
        known.update({key: [rows.sides[:, 0, k] for rows in found] for k, key in enumerate(keys)})
        return found


def _at_rest(motion: Motion) -> Motion:
    return Motion(motion.time, motion.q, *np.zeros((2, *motion.q.shape)))


def _term_entries(model: DynamicModel) -> dict[Hashable, TermEntry]:
    """By what a column depends on: term, joint, which of the term's columns for that joint, and gravity."""
    found, number = dict[Hashable, TermEntry](), count()
    for term, (bound, at) in zip(model.terms, model.term_columns, strict=True):
        kind: Any = term.term if isinstance(term, LabelledTerm) else term
        gravity = tuple(model.robot.gravity)
        if isinstance(kind, FRICTION_TERMS):
            kind, gravity = on_joints(kind, None), gravity if isinstance(kind, LoadFriction) else ()
        seen = Counter[int]()
        for joint, column in bound.rows:
            found[_hashable(kind), joint, seen[joint], gravity] = joint, at.start + column, next(number)
            seen[joint] += 1
    return found


def _hashable(term: JointTerm) -> Hashable:
    """A term of the user's own that is not is taken as another one every time."""
    try:
        return hash(term), term
    except TypeError:
        return object()
