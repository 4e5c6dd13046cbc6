"""Design and estimation in turn: the bound depends on the parameters it is to find (section III-B)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from exciter.errors import ParameterError
from exciter.excitation.criteria.cramer_rao import CramerRao
from exciter.excitation.criteria.optimality_and_condition import NormalizedCondition
from exciter.excitation.design import Design, design
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter.validation.inertia_matrix import base_chi
from exciter_papers.paper import DataTable, Effort, Part, claim, shown
from exciter_papers.swevers_ieee.estimation import BELIEVED_PARAMETER_RATIOS, bound_of
from exciter_papers.swevers_ieee.experiment import RECORDED_PERIODS, averaged, logged
from exciter_papers.swevers_ieee.set_up import (
    IEEE_FAMILY,
    IEEE_FIGURES,
    IEEE_SAMPLES,
    TORQUE_NOISE_STD,
    chi,
    model,
    optimised,
    order,
    sampled,
    theta,
    workspace,
)

Plan = TypeVar("Plan")
LOOP_TORQUE_NOISE_RATIO = 0.1  # of the paper's torque noise: ours, so that angles matter
LOOP_ANGLE_VARIANCE = 1e-5  # [rad²] variance of the averaged angles: ours, so that they do
DESIGN_SAMPLES_PER_PERIOD = 100  # samples of a period while designing, each standing for fifteen
MOST_LOOP_ROUNDS = 5  # at most
SETTLED_SIGMA_RATIO = 0.5  # of σ_c2 of Table II: no parameter moves by more
LOOP_FALSE_ALARM_CHANCE = 1e-3
SEEDS_PER_LOOP = 100  # between the first logs of two loops


def run(effort: Effort) -> Part:
    starts = effort.pick(1, 4)
    c1 = optimised(NormalizedCondition(), starts)
    first = ControlLoop(starts, first_seed=0)
    loops = {"data of c1": first.run(first.estimate(c1.delta))}
    for number, factor in enumerate(effort.pick(BELIEVED_PARAMETER_RATIOS[:1], BELIEVED_PARAMETER_RATIOS), start=1):
        loops[f"{factor:g} times the truth"] = ControlLoop(starts, first_seed=SEEDS_PER_LOOP * number).run(
            factor * chi()
        )
    return loop_part(loops, _designed(chi(), starts), starts)


# -- the loop ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rounds(Generic[Plan]):
    """plans: the design of each round; chi: what was known before the first and after each; settled: whether the
    last round changed nothing that matters."""

    plans: tuple[Plan, ...]
    chi: tuple[Array, ...]
    settled: bool


def iterate(
    design: Callable[[Array], Plan],
    estimate: Callable[[Plan], ArrayLike],
    chi0: ArrayLike,
    rounds: int = 5,
    *,
    tolerance: float = 0.01,
    scale: ArrayLike | None = None,
) -> Rounds[Plan]:
    """Alternate design(χ) and estimate(plan) → χ until no parameter moves by more than tolerance · scale.

    scale (p,): what a change is measured by, e.g. the standard deviation of each parameter; the size of its first
    value unless given (a first value of zero counts by the mean size of all).
    """
    if rounds < 1:
        raise ParameterError(f"rounds must be at least 1; given {rounds}")
    known = [np.array(chi0, dtype=float)]
    size = np.abs(known[0] if scale is None else np.broadcast_to(np.asarray(scale, dtype=float), known[0].shape))
    size = np.where(size > 0, size, size.mean() or 1.0)
    plans: list[Plan] = []
    for _ in range(rounds):
        plans.append(design(known[-1]))
        chi = np.array(estimate(plans[-1]), dtype=float)
        if chi.shape != known[0].shape or not np.isfinite(chi).all():
            raise ParameterError(
                f"round {len(plans)} estimated parameters of shape {chi.shape}; expected {known[0].shape}, all finite"
            )
        known.append(chi)
        if (np.abs(chi - known[-2]) <= tolerance * size).all():
            return Rounds(plans=tuple(plans), chi=tuple(known), settled=True)
    return Rounds(plans=tuple(plans), chi=tuple(known), settled=False)


def _designed(known: Array, starts: int) -> Design:
    """The motion for believed parameters; few samples with as much less noise stand for all."""
    share = np.sqrt(DESIGN_SAMPLES_PER_PERIOD / IEEE_SAMPLES)
    criterion = CramerRao(IEEE_FAMILY, float(share * np.sqrt(LOOP_ANGLE_VARIANCE)), tuple(known.tolist()))
    limits = [workspace(model().robot)]
    noise = share * LOOP_TORQUE_NOISE_RATIO * TORQUE_NOISE_STD
    return design(
        model(),
        IEEE_FAMILY,
        criterion=criterion,
        noise=noise,
        constraints=limits,
        samples=DESIGN_SAMPLES_PER_PERIOD,
        starts=starts,
        race=False,  # the scatter of all starts is shown
    )


@dataclass(frozen=True, eq=False)
class ControlLoop:
    """Rounds of design, virtual experiment of sixteen periods, and maximum likelihood; every log has its own seed, one
    more than the last."""

    starts: int
    first_seed: int
    estimates: list[Estimate] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)

    def run(self, guess: Array) -> Looped:
        scale = np.ones(len(guess))
        scale[model().base.independent[order()]] = IEEE_FIGURES["table_2"]["sigma_c2"]

        def planned(known: Array) -> Design:
            return _designed(known, self.starts)

        def estimate(plan: Design) -> Array:
            return self.estimate(plan.delta)

        rounds = iterate(planned, estimate, guess, MOST_LOOP_ROUNDS, tolerance=SETTLED_SIGMA_RATIO, scale=scale)
        last = slice(-len(rounds.plans), None)
        return Looped(rounds, tuple(self.estimates[last]), tuple(self.seeds[last]))

    def estimate(self, delta: Array) -> Array:
        """Standard parameters (36,): those found on the independent columns, zero elsewhere."""
        self.seeds.append(self.first_seed + len(self.seeds))
        log = logged(
            sampled(delta), LOOP_TORQUE_NOISE_RATIO * TORQUE_NOISE_STD, np.sqrt(LOOP_ANGLE_VARIANCE), self.seeds[-1]
        )
        found = MaximumLikelihood().estimate(Problem(model(), (averaged(log),), folds=1))
        self.estimates.append(found)
        return base_chi(model(), found.values)


@dataclass(frozen=True, eq=False)
class Looped:
    """estimates, seeds: of the log of every round."""

    rounds: Rounds[Design]
    estimates: tuple[Estimate, ...]
    seeds: tuple[int, ...]

    def bounds(self) -> Iterator[tuple[float, float, float]]:
        """Of every round: log det of the bound as believed when it was designed, by the estimate of its own data, and
        by the truth."""
        before_and_after = zip(self.rounds.chi[:-1], self.rounds.chi[1:], strict=True)
        for plan, (before, after) in zip(self.rounds.plans, before_and_after, strict=True):
            at = (
                bound_of(plan.delta, known, LOOP_ANGLE_VARIANCE, (LOOP_TORQUE_NOISE_RATIO * TORQUE_NOISE_STD) ** 2)
                for known in (before, after, chi())
            )
            yield next(at), next(at), next(at)

    @property
    def squares(self) -> float:
        """eᵀC⁻¹e of all estimates."""
        errors = [(one.values - theta(), one.covariance) for one in self.estimates]
        return float(sum(e @ np.linalg.solve(c, e) for e, c in errors))


# -- parts -------------------------------------------------------------------------------------------------------------


def loop_part(loops: dict[str, Looped], ideal: Design, starts: int) -> Part:
    best = bound_of(ideal.delta, chi(), LOOP_ANGLE_VARIANCE, (LOOP_TORQUE_NOISE_RATIO * TORQUE_NOISE_STD) ** 2)
    rows = []
    figures = []
    for name, loop in loops.items():
        history = list(loop.bounds())
        for number, (bounds, plan) in enumerate(zip(history, loop.rounds.plans, strict=True), start=1):
            change = np.diff(loop.rounds.chi[number - 1 : number + 1], axis=0)[0, model().base.independent[order()]]
            moved = np.abs(change / IEEE_FIGURES["table_2"]["sigma_c2"]).max()  # in σ_c2 of Table II
            where = {"first guess": name, "round": number, "seed of the log": loop.seeds[number - 1]}
            three = dict(zip(("log det, as believed", "by the estimate", "true"), bounds, strict=True))
            kept = "yes" if plan.certificate.certified else "no"
            rows.append({**where, **three, "largest change [σ_c2]": moved, "certified": kept})
        figures.append(history)
    wrong = [abs(history[0][0] - history[0][2]) for history in figures[1:]]
    late = [abs(bounds[0] - bounds[2]) for history in figures for bounds in history[1:]]
    scatter = float(np.std([attempt.value for attempt in ideal.attempts])) if len(ideal.attempts) > 1 else float("nan")
    end = max(history[-1][2] for history in figures)
    freedom = len(theta()) * sum(len(loop.estimates) for loop in loops.values())
    chance = float(stats.chi2.sf(sum(loop.squares for loop in loops.values()), freedom))
    plans = [plan for loop in loops.values() for plan in loop.rounds.plans]
    findings = (
        claim(
            "design and estimation in turn converge",
            all(loop.rounds.settled for loop in loops.values()),
            f"rounds until no parameter moves by more than {SETTLED_SIGMA_RATIO:g} σ_c2 of Table II: "
            + ", ".join(f"{len(loop.rounds.plans)} from {name}" for name, loop in loops.items()),
        ),
        claim(
            "the bound by an ML estimate is a consistent estimate of the bound",
            max(late) < 0.05 * min(wrong),
            f"log det as believed is off by {', '.join(f'{x:.2g}' for x in wrong)} with a wrong first guess, by "
            f"{max(late):.2g} at most from the second round on",
        ),
        claim(
            "the estimates of all rounds lie within their bounds",
            chance > LOOP_FALSE_ALARM_CHANCE,
            f"χ² of {freedom} degrees of freedom, chance {chance:.2g}",
        ),
        shown("all motions keep all limits at every instant", all(plan.certificate.certified for plan in plans)),
        shown(
            "log det of the true bound after the last round, worst loop",
            end,
            f"{best:.2f} when designed with the true parameters and as many starts",
        ),
    )
    longest = max(len(history) for history in figures)
    lines = [
        Line(f"{name}, {word}", np.array([*(b[k] for b in history), *[np.nan] * (longest - len(history))]))
        for name, history in zip(loops, figures, strict=True)
        for k, word in ((0, "as believed"), (2, "true"))
    ]
    plot = Plot("The bound, round by round", np.arange(1.0, longest + 1), "round", "log det of the bound", lines)
    noise = "" if np.isnan(scatter) else f" Starts of one design scatter by {scatter:.2g} (standard deviation)."
    return Part(
        "Section III-B, iteration",
        "Design with the Cramér–Rao bound and estimate, in turn",
        f"Noise is ours, for the paper's makes the loop needless: a tenth of its torque noise, angles of variance "
        f"{LOOP_ANGLE_VARIANCE:g} rad² (averages of {RECORDED_PERIODS} periods). Criterion: log det of the bound (6) "
        "on θ; starts per "
        f"design: {starts}, seed 0, {DESIGN_SAMPLES_PER_PERIOD} samples while designing. First guesses: maximum "
        "likelihood from a motion "
        f"optimised by condition number, as in the paper (starts: {starts}, seed 0; log of seed 0), and wrong "
        "parameters. Virtual logs of the robot of Table I; the table has their seeds.",
        findings,
        DataTable.by_rows("design-and-estimate", "Every round of every loop", rows),
        plot,
        "One experiment is enough: its estimate is so good that the next bound is right. Which local minimum a design "
        f"ends in matters more than the parameters it believed.{noise}",
    )
