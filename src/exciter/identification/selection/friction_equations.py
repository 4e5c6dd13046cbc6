"""Equations that friction is chosen by: rigid columns, and the columns of all candidates of the equation's own joint.

One model with the columns of all candidates is compressed once, fold by fold; a candidate is a choice of columns. The
friction of a joint is in its own equations alone: a row is [rigid columns, its own friction columns, y], so that the
factors stay small however many joints there are. Joints of limbs that share no rigid parameter are a group each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
from scipy.linalg import lapack

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.information.compressed import Compressed, Score, compress
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import Reference, base_prior
from exciter.identification.selection import friction_candidates as frictions
from exciter.independent_blocks import independent_blocks
from exciter.parameters.terms import JointTerm
from exciter.typing import Array, BoolArray, Index

FRICTION_NOISE_ROUNDS = 5  #: of noise and weights
FRICTION_RANK_TOLERANCE = 1e-11  #: relative singular value
DEPENDENT_COLUMN_SHARE = 1e-6  #: of a friction column, that the rigid ones do not explain: less, and they do
CLEAR_DIAGONAL_RATIO = 1e-6  #: of a triangular factor of a few columns, to its largest entry: none of them is lost
CLEAR_RECIPROCAL_CONDITION = 1e-8  #: of a triangular factor, as estimated: no direction is below the rank tolerance
Marginal = tuple[Index, Array]  # columns of rigid parameters, and rows (K, m, c + 1) of them and the right side


@dataclass(frozen=True, eq=False)
class FrictionEquations:
    """Of J ``joints`` that share p rigid columns; c friction columns of the own joint.

    own: of each joint the rigid columns that it has, r of them. train, held, whole: of each joint factors of r + c + 1
    columns, (K, …) without each of K folds, (K, …) of the fold alone, and of all of it. rows (K, J): in a fold.
    columns: those of 0 … c − 1 that each candidate has. nonnegative (c,). prior (m, p + 1): what is known of the rigid
    parameters beforehand, as rows and right sides that count in every fit; none where nothing is. names: of the p rigid
    parameters; own_names (J, c): of friction, in the model of the joint that has it."""

    joints: tuple[int, ...]
    own: tuple[Index, ...]
    columns: tuple[Index, ...]
    nonnegative: BoolArray
    train: tuple[Array, ...]
    held: tuple[Array, ...]
    whole: tuple[Array, ...]
    rows: Array
    prior: Array
    names: tuple[str, ...]
    own_names: tuple[tuple[str, ...], ...]

    @property
    def rigid(self) -> int:
        """p"""
        return len(self.names)

    def change(self, j: int, candidate: Index, chosen: Sequence[Index], noise: Array) -> dict[str, float]:
        """Of the parameters, by name, when joint j has ``candidate`` and not what is chosen, as all others do."""
        p, everything = self.rigid, replace(self, train=tuple(one[None] for one in self.whole))
        found = everything._factors(j, chosen, noise)
        friction = self._friction(found, [chosen[j], candidate])[0]  # (c, 2)
        alone, all_of_it = (np.linalg.norm(found[0, rows:, p:-1], axis=0) for rows in (p, 0))
        own = np.where(alone > DEPENDENT_COLUMN_SHARE * all_of_it, friction[:, 1] - friction[:, 0], 0.0)
        beta = -_back_substituted(found[0, :p, :p], found[0, :p, p:-1] @ own)
        changes = dict(zip(self.names, beta.tolist(), strict=True))
        for i, columns in enumerate(chosen):
            used, r, factor = np.union1d(columns, candidate) if i == j else columns, len(self.own[i]), self.whole[i]
            values = own[used] if i == j else -_solved(factor[:, r + used], factor[:, :r] @ beta[self.own[i]])
            for k, value in zip(used.tolist(), values.tolist(), strict=True):
                name = self.own_names[i][k]
                changes[name] = changes.get(name, 0.0) + value
        return changes

    def noise(self, chosen: Sequence[Index]) -> Array:
        """(J,) rms of the residuals of all rows with chosen friction columns; weights and residuals in agreement."""
        noise = self._rms(np.array([abs(one[-1, -1]) for one in self.whole]))  # each joint alone, all columns: at first
        known = (np.arange(self.rigid), self.prior[None])
        free = [self._marginal(factor[None], i, chosen[i]) for i, factor in enumerate(self.whole)]
        for _ in range(FRICTION_NOISE_ROUNDS):
            weighted = [(own, rows / sigma) for (own, rows), sigma in zip(free, noise, strict=True)]
            both = _stacked([*weighted, known], self.rigid)[0]
            beta = _solved(both[:, :-1], both[:, -1])
            left = []
            for i, (factor, columns) in enumerate(zip(self.whole, chosen, strict=True)):
                r = len(self.own[i])
                own, y = factor[:, r + columns], factor[:, -1] - factor[:, :r] @ beta[self.own[i]]
                left.append(np.linalg.norm(y - own @ _solved(own, y)))
            noise = self._rms(np.array(left))
        return noise

    def _rms(self, left: Array) -> Array:
        signal = np.array([np.linalg.norm(one[:, -1]) for one in self.whole])
        rms = np.maximum(left, 1e-9 * signal) / np.sqrt(np.maximum(self.rows.sum(axis=0), 1.0))
        return np.asarray(np.where(self.rows.any(axis=0), rms, 1.0))

    def scores(self, j: int, candidates: Sequence[Index], chosen: Sequence[Index], noise: Array) -> list[Score]:
        """Of joint j with each of ``candidates``, the others having ``chosen``: squares held out, over noise²."""
        p, found = self.rigid, self._factors(j, chosen, noise)
        friction = self._friction(found, candidates)
        right = found[:, :p, -1:] - found[:, :p, p:-1] @ friction
        beta = np.array([_back_substituted(r, z) for r, z in zip(found[:, :p, :p], right, strict=True)])
        held, r = self.held[j], len(self.own[j])
        left = held[..., -1:] - held[..., :r] @ beta[:, self.own[j]] - held[..., r:-1] @ friction
        squares = (left**2).sum(axis=1) / noise[j] ** 2
        return [Score(one[:, None], self.rows[:, [j]]) for one in squares.T]

    def _factors(self, j: int, chosen: Sequence[Index], noise: Array) -> Array:
        """(K, …) of all equations without each fold, joint j with all of its columns, the rigid ones first: below them
        is what friction has to explain when the rigid part does its best."""
        p, own, r = self.rigid, self.train[j] / noise[j], len(self.own[j])
        others = self._others(j, chosen, noise)
        both = _stacked([*others, (np.arange(p), np.broadcast_to(self.prior, (len(own), *self.prior.shape)))], p)
        wide = np.zeros((len(own), both.shape[1] + own.shape[1], p + own.shape[2] - r))
        wide[:, : both.shape[1], :p], wide[:, : both.shape[1], -1] = both[..., :-1], both[..., -1]
        wide[:, both.shape[1] :, self.own[j]], wide[:, both.shape[1] :, p:] = own[..., :r], own[..., r:]
        return np.asarray(np.linalg.qr(wide, mode="r"))

    def _others(self, j: int, chosen: Sequence[Index], noise: Array) -> list[Marginal]:
        """What all joints but j say of the rigid parameters without each fold, in few parts: halves of the joints that
        j is not in, quarters, and so on, which are kept, for they are asked for while every other joint chooses."""
        found, first, last = list[Marginal](), 0, len(self.own)
        while last - first > 1:
            middle = (first + last) // 2
            inside, beside = ((first, middle), (middle, last)) if j < middle else ((middle, last), (first, middle))
            found.append(self._part(*beside, chosen, noise))
            first, last = inside
        return found

    def _part(self, first: int, last: int, chosen: Sequence[Index], noise: Array) -> Marginal:
        """Of joints ``first`` … ``last`` − 1."""
        key = tuple((*chosen[i].tolist(), float(noise[i])) for i in range(first, last))
        kept = self._parts.get((first, last))
        if kept is not None and kept[0] == key:
            return kept[1]
        if last - first == 1:
            own, rows = self._marginal(self.train[first], first, chosen[first])
            made = own, rows / noise[first]
        else:
            middle = (first + last) // 2
            halves = [self._part(*half, chosen, noise) for half in ((first, middle), (middle, last))]
            own = np.union1d(halves[0][0], halves[1][0])
            places = [(np.searchsorted(own, columns), rows) for columns, rows in halves]
            made = own, np.asarray(np.linalg.qr(_stacked(places, len(own)), mode="r"))
        self._parts[first, last] = key, made
        return made

    @cached_property
    def _parts(self) -> dict[tuple[int, int], tuple[tuple[tuple[float, ...], ...], Marginal]]:
        return {}

    def _friction(self, factors: Array, candidates: Sequence[Index]) -> Array:
        """(K, c, candidates) least squares in K factors, with friction ≥ 0; those with as many columns at once."""
        found = np.zeros((len(factors), factors.shape[2] - self.rigid - 1, len(candidates)))
        alike = defaultdict[tuple[int, int], list[int]](list)
        for at, columns in enumerate(candidates):
            alike[len(columns), int(self.nonnegative[columns].sum())].append(at)
        for (count, bound), members in alike.items():
            order = [candidates[at][np.argsort(self.nonnegative[candidates[at]], kind="stable")] for at in members]
            chosen = np.column_stack([self.rigid + np.array(order, dtype=np.int64), np.full(len(order), -1)])
            upper: Array = np.asarray(np.linalg.qr(factors[:, self.rigid : -1][:, :, chosen].swapaxes(1, 2), mode="r"))
            values = _bounded(upper[..., :count, :count], upper[..., :count, count], count - bound)
            for at, columns, one in zip(members, order, values.swapaxes(0, 1), strict=True):
                found[:, columns, at] = one
        return found

    def _marginal(self, factor: Array, i: int, columns: Index) -> Marginal:
        """What a joint's equations (K, r + c + 1, …) say of its rigid parameters, its own friction free."""
        r = len(self.own[i])
        order = [*(r + columns), *range(r), -1]
        upper: Array = np.asarray(np.linalg.qr(factor[..., order], mode="r"))
        return self.own[i], upper[..., len(columns) :, len(columns) :]


def _stacked(parts: Sequence[Marginal], p: int) -> Array:
    """(K, m, p + 1) rows of all, one below the other."""
    out = np.zeros((len(parts[0][1]), sum(rows.shape[1] for _, rows in parts), p + 1))
    at = 0
    for columns, rows in parts:
        out[:, at : at + rows.shape[1], columns], out[:, at : at + rows.shape[1], -1] = rows[..., :-1], rows[..., -1]
        at += rows.shape[1]
    return out


def friction_equations(
    problem: Problem,
    kept: Sequence[JointTerm],
    candidates: Sequence[frictions.FrictionCandidate],
    pull: tuple[Reference, float] | None = None,
) -> tuple[FrictionEquations, ...]:
    """Go through the runs once, with the columns of all candidates; one for each group of joints that share parameters.
    pull: a prior on the links, and its weight."""
    model = problem.model
    if problem.joints != model.robot.joint_names:
        name = type(problem.formulation).__name__
        raise ParameterError(f"{name} mixes joints, and friction is chosen for each; use inverse dynamics")
    rigid_model = DynamicModel(model.robot, tuple(kept), model.engine)
    base = problem.formulation.base(rigid_model)
    rigid = base.independent
    prior = np.zeros((0, len(rigid) + 1)) if pull is None else pull[1] ** 0.5 * base_prior(base, pull[0])
    distinct = frictions.distinct_terms(candidates)
    labelled = tuple(frictions.LabelledTerm(term, f"{k}:") for k, term in enumerate(distinct))
    union = DynamicModel(model.robot, (*kept, *labelled), model.engine)
    slots, own, nonnegative = _own_columns(union, distinct, len(kept))
    slots_of_candidates = [[k for term in one.terms for k in slots[distinct.index(term)]] for one in candidates]
    first = len(rigid_model.standard)
    chosen = np.concatenate([rigid, np.arange(first, len(union.standard))])
    parameters = (*(union.standard[k] for k in rigid), *(f"slot {k}" for k in range(own.shape[1])))

    def rows() -> Iterator[tuple[int, Index, Rows]]:
        for index, run in enumerate(problem.runs):
            for piece in problem.projecting.rows(union, problem.pieces(run), chosen):
                yield index, run.fold(piece.time, problem.folds), _own_rows(piece, len(rigid), own, parameters)

    found = compress(rows(), parameters, problem.joints, len(problem.runs), problem.folds)
    folds = np.unique(found.fold).tolist()
    if len(folds) < 2:
        raise ParameterError("cross-validation needs at least 2 folds; give a longer recording, or more folds")
    p = len(rigid)
    alone = found.columns(np.arange(p)).information().add(prior[:, :-1], prior[:, -1])
    alone.refuse_singular(parameters[:p])
    everywhere = np.arange(p, len(parameters) + 1)  # a candidate may have a column that a joint never shows
    found = replace(found, by_piece=found.by_piece.widened(everywhere))
    columns, names = found.by_piece.own, union.standard[first:]
    train = [found.without_fold(k).by_joint.blocks for k in folds]
    held = [found.where(found.fold == k) for k in folds]
    alike = [one.by_joint.blocks for one in held]
    rows_of_folds = np.array([one.rows.sum(axis=0) for one in held], dtype=float)
    groups = list[FrictionEquations]()
    for joints, shared, of_prior in _groups(found, p, prior):
        groups.append(
            FrictionEquations(
                joints=tuple(joints),
                own=tuple(np.searchsorted(shared, columns[j][columns[j] < p]) for j in joints),
                columns=tuple(np.array(some, dtype=np.int64) for some in slots_of_candidates),
                nonnegative=nonnegative,
                train=tuple(np.concatenate([one[j] for one in train]) for j in joints),
                held=tuple(np.concatenate([one[j] for one in alike]) for j in joints),
                whole=tuple(found.by_joint.blocks[j][0] for j in joints),
                rows=rows_of_folds[:, joints],
                prior=prior[np.ix_(of_prior, np.append(shared, p))],
                names=tuple(parameters[k] for k in shared),
                own_names=tuple(tuple(names[k].split(":", 1)[1] for k in own[j].tolist()) for j in joints),
            )
        )
    return tuple(groups)


def _groups(found: Compressed, p: int, prior: Array) -> list[tuple[list[int], Index, Index]]:
    """Joints, rigid columns and rows of the prior that have to do with each other; joints without any belong to the
    first."""
    there = np.zeros((len(found.joints), p))
    for row, own in zip(there, found.by_piece.own, strict=True):
        row[own[own < p]] = 1.0
    blocks = independent_blocks(np.vstack([there, prior[:, :-1]])) or [(np.arange(0), np.arange(0))]
    groups = [(rows[rows < len(there)], shared, rows[rows >= len(there)] - len(there)) for rows, shared in blocks]
    idle = np.flatnonzero(~there.any(axis=1)).tolist()
    return [
        (sorted([*joints.tolist(), *(idle if k == 0 else ())]), shared, of_prior)
        for k, (joints, shared, of_prior) in enumerate(groups)
    ]


def _own_columns(union: DynamicModel, distinct: Sequence[JointTerm], kept: int) -> tuple[list[range], Index, BoolArray]:
    """Slots of each distinct term; (J, c) which of the union's friction columns is in a slot of a joint; (c,) ≥ 0."""
    slots, own, nonnegative, at = list[range](), list[list[int]](), list[bool](), 0
    for term, bound in zip(distinct, union.bound[kept:], strict=True):
        per_joint = [[column for row, column in bound.rows if row == j] for j in range(union.n)]
        if len(bound.rows) != len(bound.names) or len({len(columns) for columns in per_joint}) != 1:
            raise ParameterError(
                f"{type(term).__name__} does not act on each joint alone; keep it in the model instead"
            )
        slots.append(range(len(own), len(own) + len(per_joint[0])))
        own += [[at + columns[k] for columns in per_joint] for k in range(len(per_joint[0]))]
        nonnegative += [bound.nonnegative[column] for column in per_joint[0]]
        at += len(bound.names)
    table = np.array(own, dtype=np.int64).reshape(len(own), union.n)
    return slots, table.T, np.array(nonnegative, dtype=bool)


def _own_rows(piece: Rows, p: int, own: Index, parameters: tuple[str, ...]) -> Rows:
    """Of the friction columns of all joints, those of the equation's own joint."""
    sides = np.empty((*piece.sides.shape[:2], len(parameters) + 1))
    sides[..., :p], sides[..., -1] = piece.sides[..., :p], piece.sides[..., -1]
    for j, columns in enumerate(own):
        sides[:, j, p:-1] = piece.sides[:, j, p + columns]
    sides.flags.writeable = False
    return replace(piece, sides=sides, parameters=parameters)


def _bounded(r: Array, right: Array, free: int) -> Array:
    """(…, k) least squares of triangular r (…, k, k) and right sides (…, k); all but the first ``free`` are ≥ 0."""
    size = np.abs(r).max(axis=(-2, -1), initial=0.0)
    clear = np.abs(np.diagonal(r, axis1=-2, axis2=-1)).min(axis=-1, initial=np.inf) > CLEAR_DIAGONAL_RATIO * size
    values = np.zeros(right.shape)
    values[clear] = np.linalg.solve(r[clear], right[clear][..., None])[..., 0]
    for at in zip(*np.nonzero(~clear | (values[..., free:] < 0.0).any(axis=-1)), strict=True):  # a bound holds others
        if free < right.shape[-1]:
            values[at][free:] = scipy.optimize.nnls(r[at][free:, free:], right[at][free:])[0]
        above = right[at][:free] - r[at][:free, free:] @ values[at][free:]
        if free:
            own = r[at][:free, :free]
            values[at][:free] = lapack.dtrtrs(own, above)[0] if clear[at] else _solved(own, above)
    return values


def _solved(r: Array, z: Array) -> Array:
    return np.asarray(np.linalg.lstsq(r, z, rcond=FRICTION_RANK_TOLERANCE)[0])


def _back_substituted(r: Array, z: Array) -> Array:
    """R⁻¹ z (p, …) of upper triangular R (p, p), of least length where directions are lost."""
    if len(r) and lapack.dtrcon(r)[0] > CLEAR_RECIPROCAL_CONDITION:
        found: Array = np.asarray(lapack.dtrtrs(r, z)[0]).reshape(z.shape)
        return found
    return np.asarray(np.linalg.pinv(r, rcond=FRICTION_RANK_TOLERANCE) @ z)
