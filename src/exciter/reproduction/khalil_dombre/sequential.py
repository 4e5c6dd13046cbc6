"""Link by link from the last to the first (12.5.1), and instant by instant, against all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria import ConditionNumber
from exciter.excitation.design import Design, design
from exciter.experiment.signals.processed import Processed
from exciter.identification.bierman import SequentialEstimator
from exciter.identification.estimators.staged import LinkByLink
from exciter.identification.estimators.weighted import OrdinaryLeastSquares, WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Finding, claim, shown
from exciter.reproduction.khalil_dombre import set_up
from exciter.reproduction.khalil_dombre.steps import (
    DATA,
    GLOBAL,
    RARE,
    WEIGHTED,
    Chosen,
    Found,
    IntArray,
    Repeated,
    Step,
    as_printed,
    counted,
    error_plot,
    estimator,
    link_of,
    percent,
    repeat,
)
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.robot import Motion
from exciter.typing import Array

SETTINGS = DATA["sequential"]
EARLY = 2.0  # s, when the live estimate is looked at
AS_PRINTED, CARRIED = "link by link, as printed", "link by link, weighted"


def run(effort: Effort) -> Sequence[Part]:
    return link_by_link(effort), bierman()


def link_by_link(effort: Effort) -> Part:
    model, true = set_up.model(), set_up.true_values()
    names, link, rate = model.base.names, link_of(model.base.names), float(SETTINGS["rate"])
    times = effort.pick(*SETTINGS["repetitions"].values())
    methods = {
        GLOBAL: estimator(OrdinaryLeastSquares()),
        WEIGHTED: estimator(WeightedLeastSquares()),
        AS_PRINTED: printed_links,
        CARRIED: estimator(LinkByLink()),
    }

    def drawn(seed: int) -> Problem:
        return Problem(model, (Run((set_up.noisy_torque(seed, DATA["noise"], rate),)),), folds=1)

    found = repeat(drawn, methods, true, times)
    table = DataTable(
        "sequential-errors",
        f"Root mean square errors over {times} logs, and share of 95 % intervals that hold the truth",
        ("parameters of", *found, *(f"covered: {name}" for name in found)),
        [
            (
                f"link {j}",
                *(float(np.sqrt((one.spread[link == j] ** 2).mean())) for one in found.values()),
                *(percent(one.covered(link == j)[0]) for one in found.values()),
            )
            for j in (3, 2, 1)
        ],
    )
    return Part(
        "Section 12.5.1",
        "Link by link from the last to the first, against all at once",
        f"{set_up.AS_BEFORE} The motion is sampled at {rate:g} Hz; torques have white noise of {DATA['noise']:g} % "
        "of their "
        f"largest values, {times} logs (seeds 0 … {times - 1}). As printed: [12.23], [12.24], least squares of one "
        "joint's equations after the other, earlier links taken as exact. Weighted: the same steps, each weighted by "
        "what earlier ones left uncertain. The book does not say how its weights are made.",
        (
            *_structure(model, link),
            *_points(model, link),
            *_accumulation(found, link, names),
            *_steps(model, link, effort.pick(*SETTINGS["starts"].values())),
        ),
        (table,),
        (error_plot(found, f"Errors of all {len(names)} parameters over {times} logs"),),
        "The number of points is not reduced: a step has one equation per point where all joints together have n, and "
        "the link with the most parameters needs as many points as it has parameters, at least b/n. What weights "
        "cannot bring back is what the steps throw away: equations of earlier joints also tell of later links, and "
        "are never used for them.",
    )


def _structure(model: DynamicModel, link: IntArray) -> tuple[Finding, ...]:
    """[12.22] at random states."""
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1.5, 1.5, (3, 200, model.n))
    w = model.regressor(Motion.at(q, qd, qdd))[:, :, model.base.independent]
    below = max(float(np.abs(w[:, i][:, link <= i]).max(initial=0.0)) for i in range(model.n))
    moved = 0.0
    for j in range(model.n - 1):
        other = [x.copy() for x in (q, qd, qdd)]
        for x in other:
            x[:, j + 1 :] = rng.uniform(-1.5, 1.5, x[:, j + 1 :].shape)
        again = model.regressor(Motion.at(*other))[:, :, model.base.independent]
        moved = max(moved, float(np.abs(again - w)[:, j][:, link == j + 1].max()))
    scale = float(np.abs(w).max())
    return (
        claim(
            "[12.22]: Φ is upper block triangular",
            below <= 1e-12 * scale,
            f"largest entry below the blocks {below:.1g}, largest entry {scale:.3g}; 200 random states, seed 0",
        ),
        claim(
            "Φ_jj does not depend on the motion of joints after j",
            moved <= 1e-12 * scale,
            f"largest change {moved:.1g} when they are drawn anew",
        ),
    )


def _points(model: DynamicModel, link: IntArray) -> tuple[Finding, ...]:
    """How many random points determine everything."""
    rng = np.random.default_rng(1)
    each = [int((link == j + 1).sum()) for j in range(model.n)]

    def enough(count: int, together: bool) -> bool:
        q, qd, qdd = rng.uniform(-1.5, 1.5, (3, count, model.n))
        w = model.regressor(Motion.at(q, qd, qdd))[:, :, model.base.independent]
        if together:
            return int(np.linalg.matrix_rank(w.reshape(-1, len(link)))) == len(link)
        return all(int(np.linalg.matrix_rank(w[:, j][:, link == j + 1])) == each[j] for j in range(model.n))

    points = {kind: next(k for k in range(1, 100) if enough(k, kind)) for kind in (True, False)}
    return (
        claim(
            "each step has fewer parameters than the whole",
            max(each) < len(link),
            f"{', '.join(str(count) for count in reversed(each))} from the last link to the first, instead of "
            f"{len(link)}",
        ),
        claim(
            "fewer points are needed than by the global method",
            points[False] < points[True],
            f"at least {points[False]} random points link by link, {points[True]} all at once (rank, seed 1); in "
            f"general max b_j ≥ b/n, here {max(each)} ≥ {len(link) / model.n:g}",
        ),
    )


def _accumulation(found: Mapping[str, Repeated], link: IntArray, names: Sequence[str]) -> tuple[Finding, ...]:
    last, first = link == link.max(), link == 1
    printed, carried, weighted = found[AS_PRINTED], found[CARRIED], found[WEIGHTED]
    share, error = printed.covered(first)
    grown, mended = (rms_ratio(one, weighted, first) for one in (printed, carried))
    ratio = carried.spread / weighted.spread
    worst = int(np.argmax(ratio))
    medians = {name: float(np.median(one.relative)) for name, one in found.items()}
    least = min(medians[AS_PRINTED], medians[CARRIED])
    return (
        claim(
            "errors may accumulate from one step to the next",
            accumulated(printed, last, first),
            f"95 % intervals that take earlier links as exact hold the truth in {percent(printed.covered(last)[0])} of "
            f"cases for the last link and {percent(share)} ± {100 * error:.1f} % for the first; errors of the first "
            f"link are {grown:.2f} times those of all at once (rms)",
        ),
        claim(
            "a weighted least-squares solution overcomes the accumulation",
            overcome(carried, first, mended),
            f"95 % intervals hold the truth in {percent(carried.covered()[0])} of cases, "
            f"{percent(carried.covered(first)[0])} "
            f"for the first link, whose errors are {mended:.2f} times those of all at once (rms)",
        ),
        shown(
            "largest loss that weighting leaves, error over that of all at once",
            float(ratio[worst]),
            f"{names[worst]}; the other parameters of links 2 and 3: {np.sort(ratio[~first])[:-1].min():.2f} … "
            f"{np.sort(ratio[~first])[-2]:.2f}",
        ),
        *(shown(f"median ‖δχ‖/‖χ‖, {name}", value) for name, value in medians.items()),
        shown(
            "all at once is at least as accurate as link by link, ordinary or weighted",
            max(medians[GLOBAL], medians[WEIGHTED]) <= least,
            "median over the logs",
        ),
    )


def rms_ratio(one: Repeated, other: Repeated, chosen: Chosen) -> float:
    """Errors of some parameters over those of another method: rms over the parameters."""
    return float(np.sqrt(((one.spread / other.spread)[chosen] ** 2).mean()))


def accumulated(printed: Repeated, last: Chosen, first: Chosen) -> bool:
    """Whether intervals that hold for the last link, where steps begin, no longer do for the first."""
    share, error = printed.covered(first)
    return share + RARE * error < DATA["level"] and printed.honest(last)


def overcome(carried: Repeated, first: Chosen, ratio: float) -> bool:
    """Whether intervals hold, and errors of the first link are at most a tenth larger than those of all at once."""
    return carried.honest(first) and carried.honest() and ratio < 1.1


def _steps(model: DynamicModel, link: IntArray, starts: int) -> tuple[Finding, ...]:
    """Motions optimised for one step, and for all at once, within the joint limits."""
    columns, family = np.asarray(model.base.independent), set_up.family()

    def best(chosen: IntArray, noise: Array) -> Design:
        return design(
            model, family, criterion=ConditionNumber(), columns=chosen, noise=noise, starts=starts, samples=500
        )

    others = 1e4  # σ [N·m] that leaves the equations of other joints out
    whole = best(columns, np.ones(model.n))
    designs = [
        best(columns[link == j + 1], np.where(np.arange(model.n) == j, 1.0, others)) for j in reversed(range(model.n))
    ]
    each = [found.condition_number for found in designs]
    free = family.free.shape[1]
    return (
        shown(
            "largest cond(W) of a step's motion over that of a motion for all at once, each optimised",
            max(each) / whole.condition_number,
            f"smallest cond(W) found for one step: {', '.join(f'{value:.3g}' for value in each)} from the last "
            "link to the "
            f"first; for all at once {whole.condition_number:.3g} ({counted(starts, 'start')} each, seed 0, "
            f"{set_up.HARMONICS}, joint limits of the robot). An exciting motion is easier to find for a step, says "
            "the "
            f"chapter (12.3.4): what is simpler is the search, {free} to {free * model.n} variables instead of "
            f"{free * model.n}",
        ),
        shown("these motions keep all limits (certified)", all(x.certificate.certified for x in (whole, *designs))),
    )


def bierman() -> Part:
    """One instant after the other is the same as all instants at once."""
    model, true, rate = set_up.model(), set_up.true_values(), float(SETTINGS["rate"])
    piece, sigma = set_up.noisy_torque(0, DATA["noise"], rate), set_up.torque_noise(DATA["noise"])
    names = model.base.names
    w = model.regressor(piece.motion)[:, :, model.base.independent]
    live = SequentialEstimator(names, sigma)
    stops = np.unique(np.geomspace(rate, len(piece), 20).astype(int))
    values, std, apart, before = [], [], [], 0
    for stop in stops.tolist():
        live.update(w[before:stop], piece.torque[before:stop])
        before = stop
        part = Processed(piece.motion[:stop], piece.torque[:stop], rate)
        batch = WeightedLeastSquares(tuple(sigma.tolist())).estimate(Problem(model, (Run((part,)),), folds=1))
        values.append(live.values)
        std.append(np.sqrt(live.covariance.diagonal()))
        apart.append([np.abs((values[-1] - batch.values) / batch.std).max(), np.abs(std[-1] / batch.std - 1.0).max()])
    differences = np.array(apart).max(axis=0)
    errors = np.array([set_up.relative_error(one) for one in values])
    promised = np.linalg.norm(std, axis=1) / np.linalg.norm(true)
    lines = [Line("error", errors), Line("σ as reported", promised)]
    figure = Plot("Estimate of a live estimator", stops / rate, "time [s]", "‖χ̂ − χ‖ / ‖χ‖", lines, log=True)
    return Part(
        "Sections 12.2 and 12.8",
        "Instant by instant (Bierman's square-root filter) against all data at once",
        f"{set_up.AS_BEFORE} {rate:g} Hz, noise {DATA['noise']:g} % (seed 0). The chapter keeps to off-line methods "
        "and "
        "names Kalman filters only; Bierman's sequential least squares is the on-line form of [12.5]. Both are "
        "compared "
        f"after {len(stops)} instants.",
        (
            shown(
                "largest difference between the two, of any parameter at any of the instants, in σ",
                float(differences[0]),
            ),
            shown("largest relative difference of σ", float(differences[1])),
            shown(f"‖δχ‖/‖χ‖ after {EARLY:g} s", float(errors[np.searchsorted(stops, EARLY * rate)])),
            shown(f"‖δχ‖/‖χ‖ after {len(piece) / rate:g} s", float(errors[-1])),
        ),
        figures=(figure,),
    )


def printed_links(problem: Problem) -> Found:
    """From the last link to the first."""
    link = link_of(problem.names)
    steps = []
    for j in reversed(range(problem.model.n)):
        own = np.flatnonzero(link == j + 1)
        steps.append(Step(problem.compressed.only_joints((j,)), own, own))
    return as_printed(steps, len(link))
