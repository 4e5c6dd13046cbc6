"""Which friction model each joint wants, by blocked cross-validation, with the evidence kept.

One model with the columns of all candidates is compressed once, fold by fold; a candidate is a choice of columns. The
friction of a joint is in its own equations alone, so that joints are judged one after the other by their own residuals
held out, rigid parameters fitted anew each time, until no joint changes its mind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.errors import ParameterError
from exciter.identification.information.cross_validation import Score, simplest_within_error
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import Reference
from exciter.identification.selection.friction_candidates import (
    FrictionCandidate,
    distinct_terms,
    friction_parts,
    on_joints,
    usual_candidates,
)
from exciter.identification.selection.friction_equations import FrictionEquations, friction_equations
from exciter.notes import Note, done, note, texts
from exciter.parameters.terms import JointTerm
from exciter.typing import Array

MOST_SWEEPS = 4  # over all joints, at most
UNSETTLED = note(
    "friction", f"joints still changed their minds after {MOST_SWEEPS} rounds: some candidates are as good as others"
)
ROUNDING_EXCESS = 1e-6  #: of mean squares: a smaller difference is rounding


@dataclass(frozen=True)
class JudgedCandidate:
    """A candidate on one joint. rms [N·m]: of residuals held out; excess: its mean square less that of the best, in
    units of the best's; error: σ of the excess, from how it scatters between folds."""

    candidate: FrictionCandidate
    rms: float
    excess: float
    error: float
    chosen: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        numbers = {"rms": self.rms, "excess": self.excess, "error": self.error}
        return {"candidate": self.candidate.name, **numbers, "chosen": self.chosen}


@dataclass(frozen=True)
class JointFriction:
    """All candidates on one joint, from the simplest on."""

    joint: str
    table: tuple[JudgedCandidate, ...]

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
        text = f"{self.joint}: {chosen.candidate.name}, {chosen.rms:.4g} N·m held out"
        if not self.is_best:
            longer = len(best.candidate.terms) > len(chosen.candidate.terms)
            text += (
                f"; {best.candidate.name} has {best.rms:.4g} N·m, a difference of {100 * chosen.excess:.2g} ± "
                f"{100 * chosen.error:.2g} % in squares: "
                f"{'not worth the longer model' if longer else 'they cannot be distinguished'}"
            )
        return done("friction", text, self.joint)


@dataclass(frozen=True, eq=False)
class FrictionChoice:
    """terms: for the final model, the kept ones first. per_joint: the evidence. settled: whether the last sweep over
    the joints changed nothing."""

    terms: tuple[JointTerm, ...]
    per_joint: tuple[JointFriction, ...]
    settled: bool

    def __repr__(self) -> str:
        return f"<{'; '.join(f'{one.joint}: {one.chosen.candidate.name}' for one in self.per_joint)}>"

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*(joint.note for joint in self.per_joint), *(() if self.settled else (UNSETTLED,)))

    @property
    def parts(self) -> dict[str, str]:
        """What the names of the candidates are made of, each with its torque."""
        rows = [row for joint in self.per_joint for row in joint.table]
        return friction_parts(term for row in rows for term in row.candidate.terms)

    def held_out(self, name: str | None = None) -> Array:
        """(J,) [N·m] rms held out: of what was chosen, or of the candidate of that name on every joint."""
        if name is None:
            return np.array([joint.chosen.rms for joint in self.per_joint])
        found = [[row.rms for row in joint.table if row.candidate.name == name] for joint in self.per_joint]
        if not found[0]:
            names = ", ".join(row.candidate.name for row in self.per_joint[0].table)
            raise ParameterError(f"there is no candidate '{name}'; there are {names}")
        return np.array(found)[:, 0]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "joints": {joint.joint: [row.to_dict() for row in joint.table] for joint in self.per_joint},
            "settled": self.settled,
            "words": texts(self.notes),
        }


def choose_friction(
    problem: Problem,
    candidates: Sequence[FrictionCandidate] | None = None,
    pull: tuple[Reference, float] | None = None,
    barred: Mapping[str, Sequence[JointTerm]] | None = None,
) -> FrictionChoice:
    """For every joint the simplest candidate that is not worse than the best by more than the error of the difference;
    of candidates of one family the best.

    candidates: from the simplest on; ``usual_candidates()`` unless given. Terms of the problem's model stay, but for
    those of kinds that candidates have. Folds are ``problem.folds`` pieces of time, of the period where a run repeats.
    Candidates with pre-sliding need runs that are not cut into pieces.

    pull: a prior on the links and its weight, that counts in every fit: where the motion excites poorly, friction must
    not be judged by rigid parameters that nothing holds. barred: terms that a joint cannot have, by its name.
    """
    candidates = usual_candidates() if candidates is None else tuple(candidates)
    names = [candidate.name for candidate in candidates]
    if not candidates or len(set(names)) < len(names):
        raise ParameterError(f"candidates are {names}; give at least one, each with a name of its own")
    if problem.folds < 2:
        raise ParameterError(f"{problem.folds} fold; cross-validation needs at least 2: give folds=10 to the problem")
    kinds = tuple({type(term) for candidate in candidates for term in candidate.terms})
    kept = tuple(term for term in problem.model.terms if not isinstance(term, kinds))
    allowed = [_allowed(candidates, (barred or {}).get(joint, ())) for joint in problem.joints]
    search = _FrictionSearch(friction_equations(problem, kept, candidates, pull), allowed)
    settled = search.run()
    chosen = [candidates[k] for k in search.choice]
    terms = []
    for term in distinct_terms(chosen):
        joints = [joint for joint, one in zip(problem.joints, chosen, strict=True) if term in one.terms]
        terms.append(on_joints(term, None if len(joints) == len(chosen) else joints))
    per_joint = tuple(search.table(j) for j in range(len(chosen)))
    return FrictionChoice(terms=(*kept, *terms), per_joint=per_joint, settled=settled)


class _FrictionSearch:
    """choice (J,): the candidate of each joint, changed until it stays."""

    def __init__(self, equations: FrictionEquations, allowed: Sequence[Sequence[int]]) -> None:
        """allowed: which candidates each joint has, in order."""
        self.equations, self.allowed = equations, allowed
        self.families = [candidate.family for candidate in equations.candidates]
        self.columns = [equations.columns(candidate) for candidate in equations.candidates]
        self.choice = [max(some, key=lambda k: len(self.columns[k])) for some in allowed]  # the richest
        self.noise = equations.noise([self.columns[k] for k in self.choice])
        self.scores: list[list[Score]] = [[] for _ in equations.joints]
        self._seen: list[tuple[int, ...]] = [()] * len(equations.joints)

    def run(self) -> bool:
        for _ in range(MOST_SWEEPS):
            before = list(self.choice)
            for j in range(len(self.choice)):
                self._choose(j)
            if self.choice == before:
                return True
        return False

    def _choose(self, j: int) -> None:
        others = tuple(self.choice[:j] + self.choice[j + 1 :])
        if self.scores[j] and others == self._seen[j]:
            return  # nothing it depends on has changed
        self._seen[j] = others
        self.scores[j] = self.equations.scores(j, self.columns, [self.columns[k] for k in self.choice], self.noise)
        some = self.allowed[j]
        family = self.families[some[simplest_within_error([self.scores[j][k] for k in some])]]
        alike = [k for k in some if self.families[k] == family]
        self.choice[j] = min(alike, key=lambda k: self.scores[j][k].mean)

    def table(self, j: int) -> JointFriction:
        """The evidence on joint j."""
        scores = {k: self.scores[j][k] for k in self.allowed[j]}
        best = min(scores.values(), key=lambda score: score.mean)
        rows = tuple(
            JudgedCandidate(
                candidate=self.equations.candidates[k],
                rms=float(self.noise[j] * np.sqrt(score.mean)),
                excess=score.mean / best.mean - 1.0,
                error=score.error_of_difference(best) / best.mean,
                chosen=k == self.choice[j],
            )
            for k, score in scores.items()
        )
        return JointFriction(self.equations.joints[j], rows)


def _allowed(candidates: Sequence[FrictionCandidate], barred: Sequence[JointTerm]) -> list[int]:
    """Numbers of the candidates without barred terms."""
    found = [k for k, one in enumerate(candidates) if not any(term in barred for term in one.terms)]
    if not found:
        raise ParameterError("every candidate has a term that is barred for a joint; give one without")
    return found
