"""Vandanjon's four kinds of motion, alone and in one system of equations, against one optimised motion (12.3.4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.baselines.earlier_designs import FourMotions, TestMotion, VandanjonDesign, vandanjon
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.criteria import ConditionNumber, DOptimality
from exciter.excitation.criteria.criterion import Criterion
from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Finding, claim, shown
from exciter.reproduction.khalil_dombre import set_up
from exciter.reproduction.khalil_dombre.steps import DATA, Repeated, error_plot, estimator, percent, repeat
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.robot import Motion
from exciter.typing import Array

SETTINGS = DATA["vandanjon"]
RATE = float(SETTINGS["rate"])
PHENOMENA: list[str] = DATA["printed"]["phenomena"]
UNION = "four kinds together"


def run(effort: Effort) -> Sequence[Part]:
    model, candidates = set_up.model(), effort.pick(*SETTINGS["candidates"].values())
    sigma, starts = set_up.torque_noise(DATA["noise"]), effort.pick(*SETTINGS["starts"].values())
    four = vandanjon(model, FourMotions(candidates=candidates, rate=SETTINGS["search_rate"]))
    length = sum(one.curve.duration for one in four.motions)
    optimised = {
        name: _optimised(criterion, noise, starts)
        for name, criterion, noise in (
            ("one motion, smallest cond(W)", ConditionNumber(), np.ones(model.n)),
            ("one motion, D-optimal", DOptimality(), sigma),
        )
    }
    kinds = {kind: [_sampled(one) for one in four.motions if one.purpose == kind] for kind in PHENOMENA}
    motions = {**kinds, UNION: [path for paths in kinds.values() for path in paths]}
    motions |= {name: [_repeated(found, length)] for name, found in optimised.items()}
    figures = {name: Excited.of(paths, sigma) for name, paths in motions.items()}
    times = effort.pick(*SETTINGS["repetitions"].values())
    found = _repetitions({name: motions[name] for name in (UNION, *optimised)}, sigma, times)
    certified = all(certify(model.robot, one.curve, ()).certified for one in four.motions)
    return (_part(four, optimised, figures, found, certified, length, times, (candidates, starts)),)


def _optimised(criterion: Criterion, noise: Array, starts: int) -> Design:
    return design(set_up.model(), set_up.family(), criterion=criterion, noise=noise, starts=starts, samples=500)


def _sampled(one: TestMotion) -> Motion:
    curve = one.curve
    return curve.motion(curve.start + np.arange(round(curve.duration * RATE)) / RATE)


def _repeated(found: Design, seconds: float) -> Motion:
    """Periods of an optimised motion, as long as all of Vandanjon's together."""
    return motion_of(found.trajectory, found.delta, np.arange(round(seconds * RATE)) / RATE)


@dataclass(frozen=True, eq=False)
class Excited:
    """What motions tell together: rank and condition number of W, σ (b,) of the parameters (infinite where none)."""

    seconds: float
    rank: int
    condition: float
    std: Array

    @classmethod
    def of(cls, paths: Sequence[Motion], sigma: Array) -> Excited:
        model = set_up.model()
        w = np.concatenate([model.regressor(path)[:, :, model.base.independent] for path in paths])
        b = w.shape[-1]
        _, singular, directions = np.linalg.svd(w.reshape(-1, b), full_matrices=False)
        rank = int((singular > 1e-9 * singular[0]).sum())
        weighted = np.linalg.qr((w / sigma[:, None]).reshape(-1, b), mode="r")
        inverse = np.linalg.pinv(weighted, rcond=1e-10)
        lost = np.linalg.norm(directions[rank:], axis=0) > 1e-6
        std = np.where(lost, np.inf, np.linalg.norm(inverse, axis=1))
        condition = float(singular[0] / singular[-1]) if rank == b else np.inf
        return cls(sum(len(path) for path in paths) / RATE, rank, condition, std)

    @property
    def determined(self) -> NDArray[np.bool_]:
        return np.isfinite(self.std)


def _repetitions(motions: Mapping[str, Sequence[Motion]], sigma: Array, times: int) -> dict[str, Repeated]:
    model = set_up.model()
    found: dict[str, Repeated] = {}
    for name, paths in motions.items():
        exact = [model.torque(path, set_up.chi()) for path in paths]

        def drawn(seed: int, paths: Sequence[Motion] = paths, exact: Sequence[Array] = exact) -> Problem:
            rng = np.random.default_rng(seed)
            runs = [
                Run.at(path, torque + sigma * rng.standard_normal(torque.shape), RATE, f"experiment {k + 1}")
                for k, (path, torque) in enumerate(zip(paths, exact, strict=True))
            ]
            return Problem(model, tuple(runs), folds=1, balanced=False)

        found |= repeat(drawn, {name: estimator(WeightedLeastSquares())}, set_up.true_values(), times)
    return found


def _part(
    four: VandanjonDesign,
    optimised: Mapping[str, Design],
    figures: Mapping[str, Excited],
    found: Mapping[str, Repeated],
    certified: bool,
    length: float,
    times: int,
    effort: tuple[int, int],
) -> Part:
    names = set_up.model().base.names
    relative = {name: 100.0 * one.std / np.abs(set_up.true_values()) for name, one in figures.items()}
    rows = [
        (
            name,
            one.seconds,
            one.rank,
            int(one.determined.sum()),
            None if one.rank < len(names) else one.condition,
            float(np.median(one.std[one.determined])) if one.determined.any() else None,
            float(relative[name][one.determined].max()) if one.determined.any() else None,
        )
        for name, one in figures.items()
    ]
    table = DataTable(
        "vandanjon",
        "What each kind of motion tells alone, and together",
        ("motions", "time [s]", "rank of W", "parameters determined", "cond(W)", "median σ", "largest σ [%]"),
        rows,
    )
    stds = DataTable(
        "vandanjon-std",
        "Predicted σ of every parameter (kg·m², kg·m, N·m·s/rad, N·m)",
        ("parameter", "value", *figures),
        [
            (name, float(value), *(float(one.std[k]) if one.determined[k] else None for one in figures.values()))
            for k, (name, value) in enumerate(zip(names, set_up.true_values(), strict=True))
        ],
    )
    candidates, starts = effort
    lines = [Line(name, relative[name], points=True) for name in (UNION, *optimised)]
    index = np.arange(1.0, len(names) + 1.0)
    return Part(
        "Section 12.3.4.2, Vandanjon",
        "Four kinds of motion, one phenomenon each, in one system of equations",
        f"{set_up.ROBOT} Joint limits of the robot. {len(four.motions)} experiments: inertia, "
        "centrifugal coupling and gravity for every joint, inertial coupling for every pair of neighbours; the other "
        "joints are locked. "
        f"Points of each: the best of {candidates} random pairs for cond(W) of all together (seed 0). One motion: "
        f"{set_up.HARMONICS}, {starts} starts (seed 0), repeated for the same {length:.0f} s. {RATE:g} Hz, torque "
        f"noise {DATA['noise']:g} % of the largest torques along the common motion; {times} logs (seeds 0 … "
        f"{times - 1}). "
        "Time between the experiments is not counted. Details of the motions are ours: the chapter describes "
        "them in two sentences.",
        _findings(four, optimised, figures, found, certified),
        (table, stds),
        (
            Plot("Predicted σ of every parameter", index, "parameter", "σ [% of the value]", lines, log=True),
            error_plot(found, f"Errors of all {len(names)} parameters over {times} logs"),
        ),
        "The chapter's points hold: nothing is taken as known, and all parameters are determined in one system. But "
        "one optimised motion of the same length tells more of most parameters.",
    )


def _findings(
    four: VandanjonDesign,
    optimised: Mapping[str, Design],
    figures: Mapping[str, Excited],
    found: Mapping[str, Repeated],
    certified: bool,
) -> tuple[Finding, ...]:
    count = len(set_up.model().base.names)
    ranks = {kind: figures[kind].rank for kind in PHENOMENA}
    union = figures[UNION]
    fewest = min(len(one.moving) for one in four.motions), max(len(one.moving) for one in four.motions)
    medians = {name: float(np.median(one.relative)) for name, one in found.items()}
    loss = {name: union.std / figures[name].std for name in optimised}
    best = "one motion, D-optimal"
    return (
        shown(
            "certified: the experiments, and the optimised motions, keep all limits",
            certified and all(one.certificate.certified for one in optimised.values()),
        ),
        claim(
            "a limited number of joints move at a time",
            fewest[1] < set_up.model().n,
            f"{fewest[0]} or {fewest[1]} of {set_up.model().n}, in {len(four.motions)} experiments of four kinds",
        ),
        shown(
            "the kinds complement each other: none alone is as well conditioned as all together",
            all(figures[kind].condition > union.condition for kind in PHENOMENA),
            "rank of W: "
            + ", ".join(f"{kind} {rank}" for kind, rank in ranks.items())
            + f", of {count}; inertial coupling alone has cond(W) = {figures['inertial coupling'].condition:.4g}",
        ),
        claim(
            "together they determine all parameters in one system of equations",
            union.rank == count,
            f"rank {union.rank}, cond(W) {union.condition:.3g}",
        ),
        claim(
            "no errors accumulate, for nothing is taken as known",
            found[UNION].honest(),
            f"95 % intervals hold the truth in {percent(found[UNION].covered()[0])} of cases",
        ),
        shown("cond(W), four kinds together", union.condition),
        *(shown(f"cond(W), {name}", figures[name].condition) for name in optimised),
        *(shown(f"median ‖δχ‖/‖χ‖, {name}", value) for name, value in medians.items()),
        shown(
            "σ of the four kinds over σ of the D-optimal motion of the same length, median over parameters",
            float(np.median(loss[best])),
            f"from {loss[best].min():.2f} to {loss[best].max():.2f}, above 1 for {(loss[best] > 1.0).sum()} of {count}",
        ),
        shown("one optimised motion of the same length is more accurate", medians[best] < medians[UNION]),
    )
