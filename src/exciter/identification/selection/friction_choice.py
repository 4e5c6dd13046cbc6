"""Which friction model each joint wants, by blocked cross-validation, with the evidence kept.

Joints are judged one after the other by their own residuals held out, rigid parameters fitted anew each time, until no
joint changes its mind; limbs that share no rigid parameter, each for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exciter.errors import ParameterError
from exciter.identification.information.compressed import (
    AS_GOOD_FRACTION,
    ROUNDING_EXCESS,
    Score,
    simplest_within_error,
)
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import Reference
from exciter.identification.selection import friction_candidates as frictions
from exciter.identification.selection.friction_equations import FrictionEquations, friction_equations
from exciter.notes import Note, done, note, texts
from exciter.parameters.terms import JointTerm
from exciter.typing import Array

MOST_SWEEPS = 4  # over all joints, at most
UNSETTLED = note(
    "friction", f"joints still changed their minds after {MOST_SWEEPS} rounds: some candidates are as good as others"
)
CLEAR_STANDARD_ERRORS = 3.0  #: of a difference, beyond which a model is clearly worse


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
    groups, families = friction_equations(problem, kept, candidates, pull), [one.family for one in candidates]
    choice, noise, heard = [0] * len(allowed), np.ones(len(allowed)), np.zeros(len(allowed), dtype=np.bool_)
    scores, doubts, settled = [dict[int, Score]() for _ in allowed], list[Mapping[str, float]](), True
    for group in groups:
        found = _swept(group, families, [allowed[j] for j in group.joints])
        for at, j in enumerate(group.joints):
            choice[j], noise[j], scores[j], heard[j] = found[0][at], found[1][at], found[2][at], group.rows[:, at].any()
        chosen_columns = [group.columns[k] for k in found[0]]
        doubts += [
            group.change(at, group.columns[other], chosen_columns, found[1])
            for at, other in _doubtful(candidates, found[0], found[2])
        ]
        settled = settled and found[3]
    chosen = [candidates[k] for k in choice]
    terms = []
    for term in frictions.distinct_terms(chosen):
        joints = [joint for joint, one in zip(problem.joints, chosen, strict=True) if term in one.terms]
        terms.append(frictions.on_joints(term, None if len(joints) == len(chosen) else joints))
    per_joint = []
    for j, joint in enumerate(problem.joints):
        if not heard[j]:  # no torque to judge by
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
