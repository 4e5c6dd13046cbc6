"""The equations of all friction candidates at once, compressed fold by fold.

Friction of a joint is in its own equations alone: a row is [rigid columns, its own friction columns, y], so that the
factors stay small however many joints there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.information.compressed import IntArray, compress
from exciter.identification.information.cross_validation import Score
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import Reference, base_prior
from exciter.identification.selection.friction_candidates import FrictionCandidate, distinct_terms, on_joints
from exciter.parameters.terms import BoundTerm, JointTerm, RigidTorque
from exciter.robot.robot import Robot
from exciter.typing import Array

FRICTION_NOISE_ROUNDS = 5  #: of noise and weights
FRICTION_RANK_TOLERANCE = 1e-11  #: relative singular value


@dataclass(frozen=True)
class _Labelled(JointTerm):
    """A term whose parameters have a label: several of a kind can be in one model."""

    term: JointTerm
    label: str

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        bound = self.term.bind(robot, rigid)
        return replace(bound, columns=replace(bound.columns, names=tuple(f"{self.label}{n}" for n in bound.names)))


@dataclass(frozen=True, eq=False)
class FrictionEquations:
    """p rigid columns and c friction columns of the own joint, in factors (J, p + c + 1, p + c + 1).

    train: without each of K folds (K, J, …); held: of the fold alone; whole: all of it (J, …). rows (K, J): in a fold.
    slots: columns 0 … c − 1 of every distinct term. nonnegative (c,). prior (m, p + 1): what is known of the rigid
    parameters beforehand, as rows and right sides that count in every fit; none where nothing is.
    """

    joints: tuple[str, ...]
    candidates: tuple[FrictionCandidate, ...]
    rigid: int
    slots: tuple[tuple[JointTerm, tuple[int, ...]], ...]
    nonnegative: NDArray[np.bool_]
    train: Array
    held: Array
    whole: Array
    rows: Array
    prior: Array

    def columns(self, candidate: FrictionCandidate) -> IntArray:
        """Which friction columns a candidate has."""
        found = [k for term in candidate.terms for other, slots in self.slots if other == term for k in slots]
        return np.array(found, dtype=np.int64)

    # -- noise -----------------------------------------------------------------------------------------------------

    def noise(self, chosen: Sequence[IntArray]) -> Array:
        """(J,) rms of the residuals of all rows with chosen friction columns for each joint, weights and residuals in
        agreement."""
        noise = self._rms(np.abs(self.whole[:, -1, -1]))  # each joint on its own, with all columns: to begin with
        for _ in range(FRICTION_NOISE_ROUNDS):
            seen = [self._marginal(self.whole[j], chosen[j]) / noise[j] for j in range(len(noise))]
            upper = _merged([*seen, self.prior])
            beta = _solved(upper[:-1, :-1], upper[:-1, -1])
            left = []
            for factor, columns in zip(self.whole, chosen, strict=True):
                own, y = factor[:, self.rigid + columns], factor[:, -1] - factor[:, : self.rigid] @ beta
                left.append(np.linalg.norm(y - own @ _solved(own, y)))
            noise = self._rms(np.array(left))
        return noise

    def _rms(self, left: Array) -> Array:
        signal = np.linalg.norm(self.whole[:, :, -1], axis=1)
        return np.asarray(np.maximum(left, 1e-9 * signal) / np.sqrt(self.rows.sum(axis=0)))

    # -- candidates ------------------------------------------------------------------------------------------------

    def scores(self, j: int, candidates: Sequence[IntArray], chosen: Sequence[IntArray], noise: Array) -> list[Score]:
        """Of joint j with each of ``candidates``, the other joints having ``chosen`` columns."""
        squares = np.array([self._fold(k, j, candidates, chosen, noise) for k in range(len(self.train))])
        return [Score(squares[:, [k]], self.rows[:, [j]]) for k in range(len(candidates))]

    def _fold(self, k: int, j: int, candidates: Sequence[IntArray], chosen: Sequence[IntArray], noise: Array) -> Array:
        """(candidates,) sums of squares held out in fold k, over noise²."""
        p = self.rigid
        others = [self._marginal(self.train[k, i], chosen[i]) / noise[i] for i in range(len(noise)) if i != j]
        own = self.train[k, j] / noise[j]
        both = np.vstack([*others, self.prior])
        wide = np.zeros((len(both), own.shape[1]))
        wide[:, :p], wide[:, -1] = both[:, :-1], both[:, -1]
        # rigid columns first: below them is what friction has to explain when the rigid part does its best
        upper = _merged([wide, own])
        inverse = np.linalg.pinv(upper[:p, :p], rcond=FRICTION_RANK_TOLERANCE)
        below, right = upper[p:-1, p:-1], upper[p:-1, -1]
        squares = []
        for columns in candidates:
            friction = self._friction(below, right, columns)
            beta = inverse @ (upper[:p, -1] - upper[:p, p:-1] @ friction)
            left = self.held[k, j] @ np.concatenate([-beta, -friction, [1.0]])
            squares.append(float(left @ left) / noise[j] ** 2)
        return np.array(squares)

    def _friction(self, w: Array, y: Array, columns: IntArray) -> Array:
        """(c,) the columns that a candidate has, least squares, with friction ≥ 0."""
        found = np.zeros(w.shape[1])
        if not len(columns):
            return found
        bound = self.nonnegative[columns]
        order = np.concatenate([columns[~bound], columns[bound]])
        free = int((~bound).sum())
        q, r = np.linalg.qr(w[:, order])
        right = q.T @ y
        below, _ = optimize.nnls(r[free:, free:], right[free:]) if bound.any() else (np.zeros(0), 0.0)
        above = _solved(r[:free, :free], right[:free] - r[:free, free:] @ below)
        found[order] = np.concatenate([above, below])
        return found

    def _marginal(self, factor: Array, columns: IntArray) -> Array:
        """What a joint's equations say of the rigid parameters, its own friction columns being free (rows, p + 1)."""
        p = self.rigid
        ordered = np.column_stack([factor[:, p + columns], factor[:, :p], factor[:, -1]])
        upper: Array = np.asarray(np.linalg.qr(ordered, mode="r"))
        return upper[len(columns) :, len(columns) :]


def friction_equations(
    problem: Problem,
    kept: Sequence[JointTerm],
    candidates: Sequence[FrictionCandidate],
    pull: tuple[Reference, float] | None = None,
) -> FrictionEquations:
    """Go through the runs once, with the columns of all candidates. pull: a prior on the links, and its weight."""
    model = problem.model
    if problem.joints != model.robot.joint_names:
        name = type(problem.formulation).__name__
        raise ParameterError(f"{name} mixes joints, and friction is chosen for each; use inverse dynamics")
    rigid_model = DynamicModel(model.robot, tuple(kept), model.engine)
    base = problem.formulation.base(rigid_model)
    rigid = base.independent
    prior = np.zeros((0, len(rigid) + 1)) if pull is None else pull[1] ** 0.5 * base_prior(base, pull[0])
    distinct = distinct_terms(candidates)
    labelled = tuple(_Labelled(on_joints(term, None), f"{k}:") for k, term in enumerate(distinct))
    union = DynamicModel(model.robot, (*kept, *labelled), model.engine)
    slots, own, nonnegative = _own_columns(union, distinct, len(kept))
    first = len(rigid_model.standard)
    chosen = np.concatenate([rigid, np.arange(first, len(union.standard))])
    parameters = (*(union.standard[k] for k in rigid), *(f"slot {k}" for k in range(own.shape[1])))

    def rows() -> Iterator[tuple[int, IntArray, Rows]]:
        for index, run in enumerate(problem.runs):
            for piece in problem.formulation.rows(union, problem.pieces(run), chosen):
                yield index, run.fold(piece.time, problem.folds), _own_rows(piece, len(rigid), own, parameters)

    found = compress(rows(), parameters, problem.joints, len(problem.runs), problem.folds)
    folds = np.unique(found.fold)
    if len(folds) < 2:
        raise ParameterError("cross-validation needs at least 2 folds; give a longer recording, or more folds")
    by_joint = found.factors.transpose(1, 0, 2, 3)
    train = np.array([[_merged(factors[found.fold != k]) for factors in by_joint] for k in folds])
    held = np.array([[_merged(factors[found.fold == k]) for factors in by_joint] for k in folds])
    whole = np.array([_merged(factors) for factors in by_joint])
    counts = np.array([found.rows[found.fold == k].sum(axis=0) for k in folds], dtype=float)
    p = len(rigid)
    together = _merged([*whole[:, :, [*range(p), -1]], prior])
    Information(together[:p, :p], together[:p, p], 0.0, int(found.rows.sum())).refuse_singular(parameters[:p])
    return FrictionEquations(
        joints=problem.joints,
        candidates=tuple(candidates),
        rigid=p,
        slots=slots,
        nonnegative=nonnegative,
        train=train,
        held=held,
        whole=whole,
        rows=counts,
        prior=prior,
    )


def _own_columns(
    union: DynamicModel, distinct: Sequence[JointTerm], kept: int
) -> tuple[tuple[tuple[JointTerm, tuple[int, ...]], ...], IntArray, NDArray[np.bool_]]:
    """Slots of each distinct term; (J, c) which of the union's friction columns is in a slot of a joint; (c,) ≥ 0."""
    slots: list[tuple[JointTerm, tuple[int, ...]]] = []
    own: list[list[int]] = []
    nonnegative: list[bool] = []
    at = 0
    for term, bound in zip(distinct, union.bound[kept:], strict=True):
        per_joint = [[column for row, column in bound.rows if row == j] for j in range(union.n)]
        if len(bound.rows) != len(bound.names) or len({len(columns) for columns in per_joint}) != 1:
            raise ParameterError(
                f"{type(term).__name__} does not act on each joint alone; keep it in the model instead"
            )
        slots.append((term, tuple(range(len(own), len(own) + len(per_joint[0])))))
        own += [[at + columns[k] for columns in per_joint] for k in range(len(per_joint[0]))]
        nonnegative += [bound.nonnegative[column] for column in per_joint[0]]
        at += len(bound.names)
    table = np.array(own, dtype=np.int64).reshape(len(own), union.n)
    return tuple(slots), table.T, np.array(nonnegative, dtype=bool)


def _own_rows(piece: Rows, p: int, own: IntArray, parameters: tuple[str, ...]) -> Rows:
    """Of the friction columns of all joints, those of the equation's own joint."""
    sides = np.empty((*piece.sides.shape[:2], len(parameters) + 1))
    sides[..., :p], sides[..., -1] = piece.sides[..., :p], piece.sides[..., -1]
    for j, columns in enumerate(own):
        sides[:, j, p:-1] = piece.sides[:, j, p + columns]
    sides.flags.writeable = False
    return replace(piece, sides=sides, parameters=parameters)


def _merged(factors: Sequence[Array] | Array) -> Array:
    """One square triangular factor of several with the same columns."""
    stacked = np.concatenate(list(factors))
    upper = np.zeros((stacked.shape[1], stacked.shape[1]))
    found = np.linalg.qr(stacked, mode="r")
    upper[: len(found)] = found
    return upper


def _solved(r: Array, z: Array) -> Array:
    return np.asarray(np.linalg.lstsq(r, z, rcond=FRICTION_RANK_TOLERANCE)[0])
