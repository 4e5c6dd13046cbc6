"""Equations of models on trial: most of their columns are the same from model to model, and are filtered once.

A column of W depends on the robot and on its own joint term, not on the other columns, and a filter takes each by
itself. Gravity is in the columns of masses and first moments alone, and these are linear in it: W(g) = W(g₀) +
Σ (g − g₀)ₖ Wₖ, with the columns Wₖ of a robot at rest under gravity 1 along each axis. So a base that leans needs no
new ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows, model_rows
from exciter.experiment.signals.low_pass_filter import LowPass
from exciter.experiment.signals.processed_motion import Processed, remembered_pieces
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import BLOCK_SAMPLES, NO_COLUMNS, blocks, instants_first
from exciter.identification.selection.friction_candidates import FRICTION_TERMS, LabelledTerm, on_joints
from exciter.parameters.terms import JointTerm, LoadFriction
from exciter.robot import Motion
from exciter.typing import Array, Index

WEIGHT_PARAMETERS = 4  #: of the ten of a link, the first ones: its mass and first moments
Entry = tuple[int, int]  # joint and standard column
TermEntry = tuple[int, int, int, int]  # and which of the values of all terms it is, and of which term


@dataclass(frozen=True)
class RememberedDynamic(InverseDynamic):
    """The inverse dynamic model through a filter, without a dead zone, of motions that are held in memory."""

    keeps_columns = True

    @cached_property
    def _known(self) -> dict[tuple[int, ...], _KnownColumns]:
        return {}

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
        held = tuple(piece for piece in pieces if len(piece))
        if any(piece.contact is not None for piece in held):  # forces that are taken off mix all columns of a joint's
            return super().rows(model, held, columns)
        assert self.parallel_filter is not None
        motions = tuple(id(piece.motion) for piece in held)
        if motions not in self._known:
            self._known[motions] = _KnownColumns(self.parallel_filter, held, model)
        return self._known[motions].rows(model, held, columns)


def remembering(both: ParallelFilter | None) -> InverseDynamic:
    """Of both sides through a filter; without one there is little to be saved, and much to be kept."""
    return InverseDynamic() if both is None else RememberedDynamic(both)


class _KnownColumns:
    """Of pieces, which are kept so that no others are taken for them: filtered, (N,) of each window that comes out."""

    def __init__(self, both: ParallelFilter, pieces: tuple[Processed, ...], model: DynamicModel) -> None:
        self._filter, self._pieces = both, pieces
        self._upright = DynamicModel(model.robot, (), model.engine)
        self._learnt: list[list[Array]] = []  # (c, N) of each window, of the columns that were learnt together
        self._place: dict[Hashable, tuple[int, int]] = {}  # of a column: among which, and which of them
        self._torques: tuple[tuple[Array, ...], list[Rows]] = ((), [])  # as given, and filtered

    def rows(self, model: DynamicModel, pieces: tuple[Processed, ...], columns: Index) -> Iterator[Rows]:
        place = {int(k): at for at, k in enumerate(columns)}
        links = [(joint, k) for k in place if k < model.inertial_size for joint in model.robot.movers(k // 10)]
        self._learn({entry: entry for entry in links})
        lean = np.asarray(model.robot.gravity) - np.asarray(self._upright.robot.gravity)
        heavy = [(joint, k) for joint, k in links if lean.any() and k % 10 < WEIGHT_PARAMETERS]
        for axis, gravity in enumerate(np.eye(3)):
            self._learn({(axis, *entry): entry for entry in heavy}, gravity)
        terms = {key: entry for key, entry in _term_entries(model).items() if entry[1] in place}
        self._learn_terms(model, terms)
        of_terms = {key: (joint, k) for key, (joint, k, *_) in terms.items()}
        parts = [*self._parts({entry: entry for entry in links}, place), *self._parts(of_terms, place)]
        for index, rows in enumerate(self._torque(pieces)):
            sides = np.zeros((model.n, len(place) + 1, len(rows)))
            for part in parts:
                sides[part.joints, part.columns] = self._learnt[part.learnt][index][part.numbers]
            for joint, k in heavy:
                sides[joint, place[k]] += lean @ [self._column((axis, joint, k), index) for axis in range(3)]
            sides[:, -1] = rows.sides[:, :, 0].T
            sides[list(pieces[0].silent)] = 0.0  # all pieces are of one run
            yield replace(rows, sides=instants_first(sides), parameters=tuple(model.standard[k] for k in place))

    def _column(self, key: Hashable, window: int) -> Array:
        learnt, number = self._place[key]
        values: Array = self._learnt[learnt][window][number]
        return values

    def _parts(self, wanted: Mapping[Hashable, Entry], place: Mapping[int, int]) -> list[_Part]:
        """Columns that are known, those together that were learnt together."""
        found = defaultdict[int, list[tuple[int, int, int]]](list)
        for key, (joint, k) in wanted.items():
            learnt, number = self._place[key]
            found[learnt].append((number, joint, place[k]))
        return [_Part(learnt, *np.array(some).T) for learnt, some in found.items()]

    def _keep(self, keys: Iterable[Hashable], values: list[Array]) -> None:
        self._place.update({key: (len(self._learnt), number) for number, key in enumerate(keys)})
        self._learnt.append(values)

    def _learn(self, wanted: Mapping[Hashable, Entry], gravity: Array | None = None) -> None:
        """Columns of links that are not known yet; with ``gravity``: of a robot at rest under it."""
        missing = {key: entry for key, entry in wanted.items() if key not in self._place}
        if not missing:
            return
        model, motion = self._upright, self._motion
        if gravity is not None:
            model, zero = replace(model, robot=model.robot.with_gravity(gravity)), np.zeros_like(motion.q)
            motion = replace(motion, qd=zero, qdd=zero)
        joints, wide = (list(some) for some in zip(*missing.values(), strict=True))
        columns = sorted(set(wide))
        at, layout = [columns.index(k) for k in wide], model.layout(columns)
        found, (low_pass, rate, windows) = list[Array](), self._windows
        for seen, kept in windows:
            values = np.empty((len(joints), seen.stop - seen.start))
            for part, phi in model.regressor_chunks(motion[seen], BLOCK_SAMPLES, layout):
                values[:, part] = phi.transpose(1, 2, 0)[joints, at]
            found.append(low_pass.zero_phase(values, rate, axis=1, kept=kept))
        self._keep(missing, found)

    def _learn_terms(self, model: DynamicModel, wanted: Mapping[Hashable, TermEntry]) -> None:
        """Columns of joint terms that are not known yet."""
        missing = {key: entry for key, entry in wanted.items() if key not in self._place}
        if not missing:
            return
        some = sorted({term for *_, term in missing.values()})
        ends = np.cumsum([0, *(len(bound.rows) for bound in model.bound)])
        every = np.concatenate([np.arange(ends[k], ends[k + 1]) for k in some])  # values of those terms alone
        chosen = np.searchsorted(every, [number for _, _, number, _ in missing.values()])
        model = replace(model, terms=tuple(model.terms[k] for k in some))

        parts = [memory.values(piece.motion) for memory, piece in remembered_pieces(model, self._pieces)]
        series = np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]  # large: one is not copied
        low_pass, rate, windows = self._windows
        seen_and_kept = ((series[:, seen][chosen], kept) for seen, kept in windows)
        self._keep(missing, [low_pass.zero_phase(some, rate, axis=1, kept=kept) for some, kept in seen_and_kept])

    @cached_property
    def _motion(self) -> Motion:
        """Of all pieces together."""
        motions = [piece.motion for piece in self._pieces]
        return Motion(*(np.concatenate([getattr(one, name) for one in motions]) for name in ("time", "q", "qd", "qdd")))

    @cached_property
    def _windows(self) -> tuple[LowPass, float, list[tuple[slice, slice]]]:
        """The filter, for which rate [Hz], and what it looks at of all pieces together, with what is kept of that."""
        rate, limit = self._pieces[0].rate, self._pieces[0].torque_bandwidth
        starts = np.cumsum([0, *map(len, self._pieces)]).tolist()
        parts = (
            _Instants(piece.motion.time[part], start + part.start)
            for start, piece in zip(starts, self._pieces, strict=False)
            for part in blocks(len(piece))
        )
        found = self._filter.windows(parts, rate, limit)
        windows = [(slice(seen.first, seen.first + len(seen)), kept) for seen, kept in found]
        return self._filter.at(rate, limit)[0], rate, windows

    def _torque(self, pieces: Sequence[Processed]) -> list[Rows]:
        """Filtered torques, anew where they are others: a payload may have been taken off."""
        given = tuple(piece.torque for piece in pieces)
        if len(given) != len(self._torques[0]) or any(a is not b for a, b in zip(given, self._torques[0], strict=True)):
            alone = model_rows(self._upright, pieces, NO_COLUMNS, size=BLOCK_SAMPLES)
            self._torques = given, list(self._filter.stream(alone))
        return self._torques[1]


@dataclass(frozen=True, eq=False)
class _Part:
    """Columns that were learnt together: which ones, by their numbers, and of which joints and columns of the equations
    they are."""

    learnt: int
    numbers: Index
    joints: Index
    columns: Index


@dataclass(frozen=True, eq=False)
class _Instants:
    """Times [s] that follow each other, the first of which has a number."""

    time: Array
    first: int

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, part: slice) -> _Instants:
        start, stop, _ = part.indices(len(self.time))
        return _Instants(self.time[start:stop], self.first + start)

    @staticmethod
    def join(parts: Sequence[_Instants]) -> _Instants:
        return _Instants(np.concatenate([part.time for part in parts]), parts[0].first)


def _term_entries(model: DynamicModel) -> dict[Hashable, TermEntry]:
    """By what a column depends on: term, joint, which of the term's columns for that joint, and gravity."""
    found, number = dict[Hashable, TermEntry](), count()
    for which, (term, (bound, at)) in enumerate(zip(model.terms, model.term_columns, strict=True)):
        kind: Any = term.term if isinstance(term, LabelledTerm) else term
        gravity = tuple(model.robot.gravity)
        if isinstance(kind, FRICTION_TERMS):
            kind, gravity = on_joints(kind, None), gravity if isinstance(kind, LoadFriction) else ()
        seen = Counter[int]()
        for joint, column in bound.rows:
            found[_hashable(kind), joint, seen[joint], gravity] = joint, at.start + column, next(number), which
            seen[joint] += 1
    return found


def _hashable(term: JointTerm) -> Hashable:
    """A term of the user's own that is not is taken as another one every time."""
    try:
        return hash(term), term
    except TypeError:
        return object()
