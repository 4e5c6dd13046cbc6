"""Link by link from the last (12.5.1), wrist before shoulder (12.7), instant by instant: against all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np

import exciter as ex
from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.estimators.staged import LinkByLink, TwoStep
from exciter.identification.information.problem import Problem
from exciter.identification.information.sequential import SequentialEstimator
from exciter.identification.runs.run import Run
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, shown

SEQUENTIAL_SETTINGS = set_up.PROCEDURE_FIGURES["sequential"]
EARLY_LOOK_TIME = 2.0  # s, when the live estimate is looked at
AS_PRINTED, CARRIED = "link by link, as printed", "link by link, weighted"


def run(effort: Effort) -> Sequence[Part]:
    return link_by_link(effort), bierman()


def link_by_link(effort: Effort) -> Part:
    model, true = set_up.model(), set_up.true_values()
    names, link, rate = model.base.names, set_up.link_of(model.base.names), float(SEQUENTIAL_SETTINGS["rate"])
    times = effort.pick(*SEQUENTIAL_SETTINGS["repetitions"].values())
    methods = {
        set_up.GLOBAL: set_up.estimator(ex.OrdinaryLeastSquares()),
        set_up.WEIGHTED: set_up.estimator(ex.WeightedLeastSquares()),
        AS_PRINTED: printed_links,
        CARRIED: set_up.estimator(LinkByLink(known=True)),
    }

    def drawn(seed: int) -> Problem:
        return Problem(model, (Run((set_up.noisy_torque(seed, set_up.PROCEDURE_FIGURES["noise"], rate),)),), folds=1)

    found = set_up.repeat(drawn, methods, true, times)
    table = DataTable(
        "sequential-errors",
        f"Root mean square errors over {times} logs, and share of 95 % intervals that hold the truth",
        ("parameters of", *found, *(f"covered: {name}" for name in found)),
        [
            (
                f"link {j}",
                *(np.sqrt((one.spread[link == j] ** 2).mean()) for one in found.values()),
                *(set_up.percent(one.covered(link == j)[0]) for one in found.values()),
            )
            for j in (3, 2, 1)
        ],
    )
    return Part(
        "Section 12.5.1",
        "Link by link from the last to the first, against all at once",
        f"{set_up.AS_BEFORE} The motion is sampled at {rate:g} Hz; torques have white noise of "
        f"{set_up.PROCEDURE_FIGURES['noise']:g} % of their largest values, {times} logs (seeds 0 … {times - 1}). As "
        "printed: "
        "[12.23], [12.24], least squares of one joint's equations after the other, earlier links taken as exact. "
        "Weighted: the same steps, each weighted by what earlier ones left uncertain. The book does not say how its "
        "weights are made.",
        (
            *_structure(model, link),
            *_points(model, link),
            *_accumulation(found, link, names),
            *_steps(model, link, effort.pick(*SEQUENTIAL_SETTINGS["starts"].values())),
        ),
        table,
        set_up.error_plot(found, f"Errors of all {len(names)} parameters over {times} logs"),
        "The number of points is not reduced: a step has one equation per point where all joints together have n, and "
        "the link with the most parameters needs as many points as it has parameters, at least b/n. What weights "
        "cannot bring back is what the steps throw away: equations of earlier joints also tell of later links, and "
        "are never used for them.",
    )


def _structure(model: ex.DynamicModel, link: set_up.IntArray) -> tuple[Finding, ...]:
    """[12.22] at random states."""
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1.5, 1.5, (3, 200, model.n))
    w = model.regressor(ex.Motion.at(q, qd, qdd))[:, :, model.base.independent]
    below = max(float(np.abs(w[:, i][:, link <= i]).max(initial=0.0)) for i in range(model.n))
    moved = 0.0
    for j in range(model.n - 1):
        other = [x.copy() for x in (q, qd, qdd)]
        for x in other:
            x[:, j + 1 :] = rng.uniform(-1.5, 1.5, x[:, j + 1 :].shape)
        again = model.regressor(ex.Motion.at(*other))[:, :, model.base.independent]
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


def _points(model: ex.DynamicModel, link: set_up.IntArray) -> tuple[Finding, ...]:
    """How many random points determine everything."""
    rng = np.random.default_rng(1)
    each = [int((link == j + 1).sum()) for j in range(model.n)]

    def enough(count: int, together: bool) -> bool:
        q, qd, qdd = rng.uniform(-1.5, 1.5, (3, count, model.n))
        w = model.regressor(ex.Motion.at(q, qd, qdd))[:, :, model.base.independent]
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


def _accumulation(
    found: Mapping[str, set_up.RepeatedLogs], link: set_up.IntArray, names: Sequence[str]
) -> tuple[Finding, ...]:
    last, first = link == link.max(), link == 1
    printed, carried, weighted = found[AS_PRINTED], found[CARRIED], found[set_up.WEIGHTED]
    share, error = printed.covered(first)
    grown, mended = (rms_ratio(one, weighted, first) for one in (printed, carried))
    ratio = carried.spread / weighted.spread
    worst = int(np.argmax(ratio))
    medians = {name: np.median(one.relative) for name, one in found.items()}
    return (
        claim(
            "errors may accumulate from one step to the next",
            accumulated(printed, last, first),
            "95 % intervals that take earlier links as exact hold the truth in "
            f"{set_up.percent(printed.covered(last)[0])} of cases for the last link and {set_up.percent(share)} ± "
            f"{100 * error:.1f} % for the first; errors of the first link are {grown:.2f} times those of all at once "
            "(rms)",
        ),
        claim(
            "a weighted least-squares solution overcomes the accumulation",
            overcome(carried, first, mended),
            f"95 % intervals hold the truth in {set_up.percent(carried.covered()[0])} of cases, "
            f"{set_up.percent(carried.covered(first)[0])} "
            f"for the first link, whose errors are {mended:.2f} times those of all at once (rms)",
        ),
        shown(
            "largest loss that weighting leaves, error over that of all at once",
            ratio[worst],
            f"{names[worst]}; the other parameters of links 2 and 3: {np.sort(ratio[~first])[:-1].min():.2f} … "
            f"{np.sort(ratio[~first])[-2]:.2f}",
        ),
        *set_up.median_errors(found),
        shown(
            "all at once is at least as accurate as link by link, ordinary or weighted",
            max(medians[set_up.GLOBAL], medians[set_up.WEIGHTED]) <= min(medians[AS_PRINTED], medians[CARRIED]),
            "median over the logs",
        ),
    )


def rms_ratio(one: set_up.RepeatedLogs, other: set_up.RepeatedLogs, chosen: set_up.Chosen) -> float:
    """Errors of some parameters over those of another method: rms over the parameters."""
    return float(np.sqrt(((one.spread / other.spread)[chosen] ** 2).mean()))


def accumulated(printed: set_up.RepeatedLogs, last: set_up.Chosen, first: set_up.Chosen) -> bool:
    """Whether intervals that hold for the last link, where steps begin, no longer do for the first."""
    share, error = printed.covered(first)
    return share + set_up.RARE_STANDARD_ERRORS * error < set_up.PROCEDURE_FIGURES["level"] and printed.honest(last)


def overcome(carried: set_up.RepeatedLogs, first: set_up.Chosen, ratio: float) -> bool:
    """Whether intervals hold, and errors of the first link are at most a tenth larger than those of all at once."""
    return carried.honest(first) and carried.honest() and ratio < 1.1


def _steps(model: ex.DynamicModel, link: set_up.IntArray, starts: int) -> tuple[Finding, ...]:
    """Motions optimised for one step, and for all at once, within the joint limits."""
    columns, family = np.asarray(model.base.independent), set_up.family()

    def best(chosen: set_up.IntArray, noise: Array) -> Design:
        return design(
            model, family, criterion=ex.ConditionNumber(), columns=chosen, noise=noise, starts=starts, samples=500
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
            f"smallest cond(W) found for one step: {', '.join(f'{value:.3g}' for value in each)} from the last link to "
            f"the first; for all at once {whole.condition_number:.3g} ({set_up.counted(starts, 'start')} each, seed 0, "
            f"{set_up.HARMONICS}, joint limits of the robot). An exciting motion is easier to find for a step, says "
            f"the chapter (12.3.4): what is simpler is the search, {free} to {free * model.n} variables instead of "
            f"{free * model.n}",
        ),
        shown("these motions keep all limits (certified)", all(x.certificate.certified for x in (whole, *designs))),
    )


def bierman() -> Part:
    """One instant after the other is the same as all instants at once."""
    model, true, rate = set_up.model(), set_up.true_values(), float(SEQUENTIAL_SETTINGS["rate"])
    piece, sigma = (
        set_up.noisy_torque(0, set_up.PROCEDURE_FIGURES["noise"], rate),
        set_up.torque_noise(set_up.PROCEDURE_FIGURES["noise"]),
    )
    names = model.base.names
    w = model.regressor(piece.motion)[:, :, model.base.independent]
    live = SequentialEstimator(names, sigma)
    stops = np.unique(np.geomspace(rate, len(piece), 20).astype(int))
    values, std, apart, before = [], [], [], 0
    for stop in stops.tolist():
        live.update(w[before:stop], piece.torque[before:stop])
        before = stop
        part = Processed(piece.motion[:stop], piece.torque[:stop], rate)
        batch = ex.WeightedLeastSquares(tuple(sigma.tolist())).estimate(Problem(model, (Run((part,)),), folds=1))
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
        f"{set_up.AS_BEFORE} {rate:g} Hz, noise {set_up.PROCEDURE_FIGURES['noise']:g} % (seed 0). The chapter keeps "
        "to off-line "
        "methods and names Kalman filters only; Bierman's sequential least squares is the on-line form of [12.5]. Both "
        f"are compared after {len(stops)} instants.",
        (
            shown("largest difference between the two, of any parameter at any of the instants, in σ", differences[0]),
            shown("largest relative difference of σ", differences[1]),
            shown(f"‖δχ‖/‖χ‖ after {EARLY_LOOK_TIME:g} s", errors[np.searchsorted(stops, EARLY_LOOK_TIME * rate)]),
            shown(f"‖δχ‖/‖χ‖ after {len(piece) / rate:g} s", errors[-1]),
        ),
        figures=figure,
    )


def printed_links(problem: Problem) -> set_up.Found:
    """From the last link to the first."""
    link = set_up.link_of(problem.names)
    each = []
    for j in reversed(range(problem.model.n)):
        own = np.flatnonzero(link == j + 1)
        each.append(set_up.Step(set_up.only_joints(problem.compressed, (j,)), own, own))
    return set_up.as_printed(each, len(link))


# -- wrist first, then the shoulder with the wrist locked and known ----------------------------------------------------

WRIST = set_up.PROCEDURE_FIGURES["wrist"]
WRIST_FAMILY = ex.Fourier(float(WRIST["period"]), int(WRIST["harmonics"]))


def wrist_first(effort: Effort) -> Part:
    model, wrist, planned = arm(), int(WRIST["wrist"]), design(arm(), WRIST_FAMILY, starts=1)
    robot = model.robot
    true, link = model.base.base_values(model.nominal), set_up.link_of(model.base.names)
    rate, times = float(WRIST["rate"]), effort.pick(*WRIST["repetitions"].values())
    motion = motion_of(WRIST_FAMILY, planned.delta, np.arange(round(WRIST_FAMILY.duration * rate)) / rate)
    locked = _locked(motion, robot.n - wrist)
    logs = [(name, path, model.torque(path, model.nominal)) for name, path in (("all", motion), ("locked", locked))]
    sigma = set_up.PROCEDURE_FIGURES["noise"] / 100.0 * np.abs(logs[0][2]).max(axis=0)
    hand = np.flatnonzero(link > robot.n - wrist)
    shoulder = np.flatnonzero(link <= robot.n - wrist)

    def printed(problem: Problem) -> set_up.Found:
        rows = problem.compressed
        first = set_up.only_joints(rows.where(rows.run == 0), range(robot.n - wrist, robot.n))
        second = set_up.only_joints(rows.where(rows.run == 1), range(robot.n - wrist))
        return set_up.as_printed((set_up.Step(first, hand, hand), set_up.Step(second, shoulder, shoulder)), len(link))

    methods = {
        "wrist then shoulder, as printed": printed,
        "wrist then shoulder, weighted": set_up.estimator(TwoStep(wrist, known=True)),
        set_up.GLOBAL: set_up.estimator(ex.OrdinaryLeastSquares()),
        set_up.WEIGHTED: set_up.estimator(ex.WeightedLeastSquares()),
    }
    found = set_up.repeat(partial(set_up.noisy, model, sigma, rate, logs), methods, true, times)
    moving, held = (model.base.project(model.regressor(path)) for path in (motion, locked))
    conds = conditions(moving, held, (hand, shoulder))
    stepwise, _, _, best = found.values()
    ratios = {name: one.spread / best.spread for name, one in found.items()}
    share, error = stepwise.covered(np.isin(np.arange(len(best.true)), shoulder))
    names = tuple(found)
    medians = [float(np.median(ratios[name][group])) for name in names for group in (hand, shoulder)]
    table = DataTable(
        "wrist-first",
        f"Errors over those of weighted least squares on all data (median over parameters, {times} logs)",
        ("method", "wrist", "shoulder", "95 % intervals that hold the truth"),
        [(name, *medians[2 * k : 2 * k + 2], set_up.percent(found[name].covered()[0])) for k, name in enumerate(names)],
    )
    return Part(
        "Section 12.7, two steps",
        "Wrist first, then the shoulder with the wrist locked and known",
        f"Robot: {model.robot.name}, {model.n} joints, nominal parameters and friction, {len(best.true)} base "
        f"parameters. Two motions of {motion.time[-1] - motion.time[0]:.3g} s at {WRIST['rate']:g} Hz: one D-optimal "
        f"({WRIST['harmonics']} harmonics of {1.0 / WRIST['period']:g} Hz, 1 start, seed 0, within all joint limits), "
        f"and the same with the wrist locked. Torque noise {set_up.PROCEDURE_FIGURES['noise']:g} % of each joint's "
        "largest torque, "
        f"that is {sigma.max():.2g} … {sigma.min():.2g} N·m; {times} logs (seeds 0 … {times - 1}). All methods have "
        "both logs.",
        (
            shown("the motion keeps all limits (certified)", planned.certificate.certified),
            shown(
                "cond(W) of a step, the larger one, over that of the whole",
                max(conds[1:]) / conds[0],
                f"cond(W) {conds[1]:.3g} of the wrist, {conds[2]:.3g} of the shoulder, {conds[0]:.3g} all at once",
            ),
            claim(
                "two steps are efficient where wrist and shoulder are of different magnitude: more accurate for the "
                "wrist than ordinary least squares on all data",
                medians[0] < medians[4],
                f"median error over that of weighted least squares: wrist {medians[0]:.2f} against {medians[4]:.2f}, "
                f"shoulder {medians[1]:.2f} against {medians[5]:.2f}. Ordinary least squares gives the noise of the "
                f"shoulder's drives, {sigma.max() / sigma.min():.0f} times that of the smallest, the same weight",
            ),
            shown(
                "no errors accumulate from the wrist to the shoulder",
                abs(share - set_up.PROCEDURE_FIGURES["level"]) <= set_up.RARE_STANDARD_ERRORS * error,
                f"95 % intervals of the shoulder, wrist taken as exact: {set_up.percent(share)} hold the truth",
            ),
            shown("largest loss of two weighted steps, error over that of all at once", ratios[names[1]].max()),
            shown("median loss of two steps as printed, wrist", medians[0]),
            shown("median loss of two steps as printed, shoulder", medians[1]),
        ),
        table,
        differences="The steps' advantage is one of weights, not of steps: median errors of the other methods, of "
        f"wrist or shoulder, are {min(medians[:-2]):.2f} times those of weighted least squares on all data or more.",
    )


@cache
def arm() -> ex.DynamicModel:
    return ex.DynamicModel(ex.load(WRIST["robot"]), (ex.Viscous(), ex.Coulomb()))


def conditions(
    moving: Array, locked: Array, groups: tuple[set_up.IntArray, set_up.IntArray]
) -> tuple[float, float, float]:
    """cond(W) of both logs (N, n, p) at once, of the wrist's equations of the first for its own parameters, and of the
    other joints' equations of the second for theirs."""
    hand, shoulder = groups
    wrist = int(WRIST["wrist"])
    parts = (np.concatenate([moving, locked]), moving[:, -wrist:][:, :, hand], locked[:, :-wrist][:, :, shoulder])
    whole, first, second = (float(np.linalg.cond(rows.reshape(-1, rows.shape[-1]))) for rows in parts)
    return whole, first, second


def _locked(motion: ex.Motion, first: int) -> ex.Motion:
    """The same with joints from ``first`` on at rest where they begin."""
    q, qd, qdd = motion.q.copy(), motion.qd.copy(), motion.qdd.copy()
    q[:, first:], qd[:, first:], qdd[:, first:] = motion.q[0, first:], 0.0, 0.0
    return ex.Motion(motion.time, q, qd, qdd)
