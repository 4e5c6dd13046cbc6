"""Which friction model each joint wants, by blocked cross-validation, with the evidence kept.

One model with the columns of all candidates is compressed once, fold by fold; a candidate is a choice of columns. The
friction of a joint is in its own equations alone: a row is [rigid columns, its own friction columns, y], so that the
factors stay small however many joints there are. Joints are judged one after the other by their own residuals held out,
rigid parameters fitted anew each time, until no joint changes its mind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy import optimize

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.information.compressed import (
    AS_GOOD_FRACTION,
    ROUNDING_EXCESS,
    Score,
    compress,
    simplest_within_error,
)
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import Reference, base_prior
from exciter.identification.selection import friction_candidates as frictions
from exciter.notes import Note, done, note, texts
from exciter.parameters.terms import JointTerm
from exciter.typing import Array, BoolArray, Index

MOST_SWEEPS = 4  # over all joints, at most
UNSETTLED = note(
    "friction", f"joints still changed their minds after {MOST_SWEEPS} rounds: some candidates are as good as others"
)
FRICTION_NOISE_ROUNDS = 5  #: of noise and weights
FRICTION_RANK_TOLERANCE = 1e-11  #: relative singular value
DEPENDENT_COLUMN_SHARE = 1e-6  #: of a friction column, that the rigid ones do not explain: less, and they do
CLEAR_STANDARD_ERRORS = 3.0  #: of a difference, beyond which a model is clearly worse
CLEAR_DIAGONAL_RATIO = 1e-6  #: of a triangular factor of a few columns, to its largest entry: none of them is lost


@dataclass(frozen=True)
class JudgedCandidate:
    """A candidate on one joint. rms [N·m, N]: of residuals held out; excess: its mean square less that of the best, in
    units of the best's; error: σ of the excess, from how it scatters between folds."""

    candidate: frictions.FrictionCandidate
    rms: float
    excess: float
    error: float
    chosen: bool

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "candidate": self.candidate.name}


@dataclass(frozen=True)
class JointFriction:
    """All candidates on one joint, from the simplest on; unit: of its torque."""

    joint: str
    table: tuple[JudgedCandidate, ...]
    unit: str = "N·m"

    @property
    def chosen(self) -> JudgedCandidate:
        return next(row for row in self.table if row.chosen)

    @property
    def best(self) -> JudgedCandidate:
        return min(self.table, key=lambda row: row.rms)

    @property
    def is_best(self) -> bool:
        """Whether the chosen one is the best, but for rounding."""
        return self.chosen.excess <= ROUNDING_EXCESS

    @property
    def note(self) -> Note:
        chosen, best = self.chosen, self.best
        text = f"{self.joint}: {chosen.candidate.name}, {chosen.rms:.4g} {self.unit} held out"
        if not self.is_best:
            longer = len(best.candidate.terms) > len(chosen.candidate.terms)
            why = "not worth the longer model" if longer else "they cannot be distinguished"
            text += (
                f"; {best.candidate.name} has {best.rms:.4g} {self.unit}, a difference of {100 * chosen.excess:.2g} ± "
                f"{100 * chosen.error:.2g} % in squares: {why}"
            )
        return done("friction", text, self.joint)


@dataclass(frozen=True, eq=False)
class FrictionChoice:
    """terms: for the final model, kept ones first. per_joint: the evidence. settled: the last sweep changed nothing.
    doubts: for each joint whose friction could be a simpler one, the changes of parameters, by name, if it were."""

    terms: tuple[JointTerm, ...]
    per_joint: tuple[JointFriction, ...]
    settled: bool
    doubts: tuple[Mapping[str, float], ...] = ()

    def __repr__(self) -> str:
        return f"<{'; '.join(f'{one.joint}: {one.chosen.candidate.name}' for one in self.per_joint)}>"

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*(joint.note for joint in self.per_joint), *(() if self.settled else (UNSETTLED,)))

    @property
    def parts(self) -> dict[str, str]:
        """What the names of the candidates are made of, each with its torque."""
        rows = [row for joint in self.per_joint for row in joint.table]
        return frictions.friction_parts(term for row in rows for term in row.candidate.terms)

    def held_out(self, name: str | None = None) -> Array:
        """(J,) [N·m] rms held out: of what was chosen, or of the candidate of that name on every joint."""
        if name is None:
            return np.array([joint.chosen.rms for joint in self.per_joint])
        either = (name, frictions.in_metres(name))
        found = [[row.rms for row in joint.table if row.candidate.name in either] for joint in self.per_joint]
        if not found[0]:
            names = ", ".join(row.candidate.name for row in self.per_joint[0].table)
            raise ParameterError(f"there is no candidate '{name}'; there are {names}")
        return np.array(found)[:, 0]

    def to_dict(self) -> dict[str, Any]:
        joints = {joint.joint: [row.to_dict() for row in joint.table] for joint in self.per_joint}
        return {"joints": joints, "settled": self.settled, "words": texts(self.notes)}


def choose_friction(
    problem: Problem,
    candidates: Sequence[frictions.FrictionCandidate] | None = None,
    pull: tuple[Reference, float] | None = None,
    barred: Mapping[str, Sequence[JointTerm]] | None = None,
    fixed: Mapping[str, frictions.FrictionCandidate] | None = None,
) -> FrictionChoice:
    """For every joint the simplest candidate that is not worse than the best by more than the error of the difference;
    of candidates of one family the best.

    candidates: from the simplest on; ``usual_candidates()`` unless given. Terms of the problem's model stay, but for
    those of kinds that candidates have. Folds are ``problem.folds`` pieces of time, of the period where a run repeats.
    Candidates with pre-sliding need runs that are not cut into pieces.

    pull: a prior on the links and its weight, that counts in every fit: where the motion excites poorly, friction must
    not be judged by rigid parameters that nothing holds. barred: terms that a joint cannot have, by its name. fixed:
    what joints have that runs tell nothing of, by name; they are not asked."""
    candidates, fixed = frictions.usual_candidates() if candidates is None else tuple(candidates), dict(fixed or {})
    free = len(candidates)
    candidates = (*candidates, *dict.fromkeys(fixed.values()))
    names = [candidate.name for candidate in candidates]
    if not candidates or len(set(names)) < len(names):
        raise ParameterError(f"candidates are {names}; give at least one, each with a name of its own")
    if problem.folds < 2:
        raise ParameterError(f"{problem.folds} fold; cross-validation needs at least 2: give folds=10 to the problem")
    kinds = tuple({type(term) for candidate in candidates for term in candidate.terms})
    kept = tuple(term for term in problem.model.terms if not isinstance(term, kinds))
    allowed = list[list[int]]()
    for joint in problem.joints:
        never, own = (barred or {}).get(joint, ()), fixed.get(joint)
        some = range(free) if own is None else [candidates.index(own, free)]
        allowed.append([k for k in some if not any(term in never for term in candidates[k].terms)])
        if not allowed[-1]:
            raise ParameterError("every candidate has a term that is barred for a joint; give one without")
    equations, families = friction_equations(problem, kept, candidates, pull), [one.family for one in candidates]
    choice, noise, scores, settled = _swept(equations, families, allowed)
    chosen = [candidates[k] for k in choice]
    terms = []
    for term in frictions.distinct_terms(chosen):
        joints = [joint for joint, one in zip(problem.joints, chosen, strict=True) if term in one.terms]
        terms.append(frictions.on_joints(term, None if len(joints) == len(chosen) else joints))
    per_joint = []
    for j, joint in enumerate(problem.joints):
        if not equations.rows[:, j].any():  # no torque to judge by
            continue
        best = min((scores[j][k] for k in allowed[j]), key=lambda score: score.mean)
        slides = problem.model.robot.joints[j].is_prismatic
        named = [replace(one, name=frictions.in_metres(one.name)) for one in candidates] if slides else candidates
        table = tuple(
            JudgedCandidate(
                candidate=named[k],
                rms=float(noise[j] * np.sqrt(scores[j][k].mean)),
                excess=scores[j][k].mean / best.mean - 1.0,
                error=scores[j][k].error_of_difference(best) / best.mean,
                chosen=k == choice[j],
            )
            for k in allowed[j]
        )
        per_joint.append(JointFriction(joint, table, "N" if slides else "N·m"))
    doubts = [
        equations.change(j, equations.columns[other], [equations.columns[k] for k in choice], noise)
        for j, other in _doubtful(candidates, choice, scores)
    ]
    return FrictionChoice(terms=(*kept, *terms), per_joint=tuple(per_joint), settled=settled, doubts=tuple(doubts))


def _doubtful(
    candidates: Sequence[frictions.FrictionCandidate], choice: Sequence[int], scores: Sequence[Mapping[int, Score]]
) -> Iterator[tuple[int, int]]:
    """Joints, and the simpler candidate that comes nearest to the chosen one, where it is not clearly worse: of many
    candidates that add nothing, one predicts better by some standard errors by chance."""
    for j, (chosen, found) in enumerate(zip(choice, scores, strict=True)):
        simpler = [k for k in found if len(candidates[k].terms) < len(candidates[chosen].terms)]
        if simpler:  # nothing was compared where a joint has no equations
            best = found[chosen]
            other = min(simpler, key=lambda k: found[k].mean)
            excess = found[other].mean - best.mean
            if excess <= CLEAR_STANDARD_ERRORS * found[other].error_of_difference(best):
                yield j, other


def _swept(
    equations: FrictionEquations, families: Sequence[str], allowed: Sequence[Sequence[int]]
) -> tuple[list[int], Array, list[dict[int, Score]], bool]:
    """The candidate of each joint, of those ``allowed``, changed until it stays; the noise (J,) in whose unit scores
    are; the last scores of those allowed on each joint; and whether it stayed."""
    columns = equations.columns
    choice = [max(some, key=lambda k: len(columns[k])) for some in allowed]  # the richest, to begin with
    noise = equations.noise([columns[k] for k in choice])
    scores = [dict[int, Score]() for _ in choice]
    seen: list[list[int] | None] = [None] * len(choice)
    for _ in range(MOST_SWEEPS):
        before = list(choice)
        for j, some in enumerate(allowed):
            others = choice[:j] + choice[j + 1 :]
            if others == seen[j]:
                continue  # nothing it depends on has changed
            seen[j] = others
            if not equations.rows[:, j].any():
                continue
            found = equations.scores(j, [columns[k] for k in some], [columns[k] for k in choice], noise)
            scores[j] = dict(zip(some, found, strict=True))
            listed = [scores[j][k] for k in some]
            family = families[some[simplest_within_error(listed, AS_GOOD_FRACTION)]]
            alike = [k for k in some if families[k] == family]
            choice[j] = min(alike, key=lambda k: scores[j][k].mean)
        if choice == before:
            return choice, noise, scores, True
    return choice, noise, scores, False


@dataclass(frozen=True, eq=False)
class FrictionEquations:
    """p rigid columns and c friction columns of the own joint, in factors (J, p + c + 1, p + c + 1).

    train: without each of K folds (K, J, …); held: of the fold alone; whole: all of it (J, …). rows (K, J): in a fold.
    columns: those of 0 … c − 1 that each candidate has. nonnegative (c,). prior (m, p + 1): what is known of the rigid
    parameters beforehand, as rows and right sides that count in every fit; none where nothing is. names: of the p rigid
    parameters; own_names (J, c): of friction, in the model of the joint that has it."""

    rigid: int
    columns: tuple[Index, ...]
    nonnegative: BoolArray
    train: Array
    held: Array
    whole: Array
    rows: Array
    prior: Array
    names: tuple[str, ...]
    own_names: tuple[tuple[str, ...], ...]

    def change(self, j: int, candidate: Index, chosen: Sequence[Index], noise: Array) -> dict[str, float]:
        """Of the parameters, by name, when joint j has ``candidate`` and not what is chosen, as all others do."""
        p, everything = self.rigid, replace(self, train=self.whole[None])
        found = everything._factors(j, chosen, noise)
        friction = self._friction(found, [chosen[j], candidate])[0]  # (c, 2)
        inverse = np.linalg.pinv(found[0, :p, :p], rcond=FRICTION_RANK_TOLERANCE)
        alone, all_of_it = (np.linalg.norm(found[0, rows:, p:-1], axis=0) for rows in (p, 0))
        own = np.where(alone > DEPENDENT_COLUMN_SHARE * all_of_it, friction[:, 1] - friction[:, 0], 0.0)
        beta = -inverse @ found[0, :p, p:-1] @ own
        changes = dict(zip(self.names, beta.tolist(), strict=True))
        for i, columns in enumerate(chosen):
            used = np.union1d(columns, candidate) if i == j else columns
            values = own[used] if i == j else -_solved(self.whole[i][:, p + used], self.whole[i][:, :p] @ beta)
            for k, value in zip(used.tolist(), values.tolist(), strict=True):
                name = self.own_names[i][k]
                changes[name] = changes.get(name, 0.0) + value
        return changes

    def noise(self, chosen: Sequence[Index]) -> Array:
        """(J,) rms of the residuals of all rows with chosen friction columns; weights and residuals in agreement."""
        noise = self._rms(np.abs(self.whole[:, -1, -1]))  # each joint on its own, with all columns: to begin with
        for _ in range(FRICTION_NOISE_ROUNDS):
            seen = [self._marginal(self.whole[j], chosen[j]) / noise[j] for j in range(len(noise))]
            both = np.vstack([*seen, self.prior])
            beta = _solved(both[:, :-1], both[:, -1])
            left = []
            for factor, columns in zip(self.whole, chosen, strict=True):
                own, y = factor[:, self.rigid + columns], factor[:, -1] - factor[:, : self.rigid] @ beta
                left.append(np.linalg.norm(y - own @ _solved(own, y)))
            noise = self._rms(np.array(left))
        return noise

    def _rms(self, left: Array) -> Array:
        signal = np.linalg.norm(self.whole[:, :, -1], axis=1)
        rms = np.maximum(left, 1e-9 * signal) / np.sqrt(np.maximum(self.rows.sum(axis=0), 1.0))
        return np.asarray(np.where(self.rows.any(axis=0), rms, 1.0))

    def scores(self, j: int, candidates: Sequence[Index], chosen: Sequence[Index], noise: Array) -> list[Score]:
        """Of joint j with each of ``candidates``, the others having ``chosen``: squares held out, over noise²."""
        p, found = self.rigid, self._factors(j, chosen, noise)
        friction = self._friction(found, candidates)
        inverse = np.linalg.pinv(found[:, :p, :p], rcond=FRICTION_RANK_TOLERANCE)
        beta = inverse @ (found[:, :p, -1:] - found[:, :p, p:-1] @ friction)
        held = self.held[:, j]
        left = held[..., -1:] - held[..., :p] @ beta - held[..., p:-1] @ friction
        squares = (left**2).sum(axis=1) / noise[j] ** 2
        return [Score(one[:, None], self.rows[:, [j]]) for one in squares.T]

    def _factors(self, j: int, chosen: Sequence[Index], noise: Array) -> Array:
        """(K, …) of all equations without each fold, joint j with all of its columns, the rigid ones first: below them
        is what friction has to explain when the rigid part does its best."""
        own, p = self.train[:, j] / noise[j], self.rigid
        others = [self._without_folds(i, tuple(chosen[i])) / noise[i] for i in range(len(noise)) if i != j]
        both = np.concatenate([*others, np.broadcast_to(self.prior, (len(own), *self.prior.shape))], axis=1)
        wide = np.zeros((*both.shape[:2], own.shape[2]))
        wide[..., :p], wide[..., -1] = both[..., :-1], both[..., -1]
        return np.asarray(np.linalg.qr(np.concatenate([wide, own], axis=1), mode="r"))

    @cached_property
    def _without_folds(self) -> Callable[[int, tuple[int, ...]], Array]:
        """``_marginal`` of a joint without each fold; kept, for it is asked for while every other joint chooses."""
        return cache(lambda i, columns: self._marginal(self.train[:, i], np.array(columns, dtype=np.int64)))

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

    def _marginal(self, factor: Array, columns: Index) -> Array:
        """(…, p + 1) what a joint's equations (…, p + c + 1) say of the rigid parameters, its own friction free."""
        order = [*(self.rigid + columns), *range(self.rigid), -1]
        upper: Array = np.asarray(np.linalg.qr(factor[..., order], mode="r"))
        return upper[..., len(columns) :, len(columns) :]


def friction_equations(
    problem: Problem,
    kept: Sequence[JointTerm],
    candidates: Sequence[frictions.FrictionCandidate],
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
            for piece in problem.formulation.rows(union, problem.pieces(run), chosen):
                yield index, run.fold(piece.time, problem.folds), _own_rows(piece, len(rigid), own, parameters)

    found = compress(rows(), parameters, problem.joints, len(problem.runs), problem.folds)
    folds = np.unique(found.fold)
    if len(folds) < 2:
        raise ParameterError("cross-validation needs at least 2 folds; give a longer recording, or more folds")
    p = len(rigid)
    alone = found.columns(np.arange(p)).information().add(prior[:, :-1], prior[:, -1])
    alone.refuse_singular(parameters[:p])
    held = [found.where(found.fold == k) for k in folds.tolist()]
    return FrictionEquations(
        rigid=p,
        columns=tuple(np.array(some, dtype=np.int64) for some in slots_of_candidates),
        nonnegative=nonnegative,
        train=np.array([found.without_fold(k).by_joint for k in folds.tolist()]),
        held=np.array([one.by_joint for one in held]),
        whole=found.by_joint,
        rows=np.array([one.rows.sum(axis=0) for one in held], dtype=float),
        prior=prior,
        names=parameters[:p],
        own_names=tuple(
            tuple(union.standard[first + column].split(":", 1)[1] for column in columns) for columns in own.tolist()
        ),
    )


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
            values[at][free:] = optimize.nnls(r[at][free:, free:], right[at][free:])[0]
        above = right[at][:free] - r[at][:free, free:] @ values[at][free:]
        values[at][:free] = (np.linalg.solve if clear[at] else _solved)(r[at][:free, :free], above)
    return values


def _solved(r: Array, z: Array) -> Array:
    return np.asarray(np.linalg.lstsq(r, z, rcond=FRICTION_RANK_TOLERANCE)[0])
