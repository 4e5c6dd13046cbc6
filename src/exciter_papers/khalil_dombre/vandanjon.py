"""Vandanjon's four kinds of motion, alone and in one system of equations, against one optimised motion (12.3.4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import exciter as ex
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.criteria.criterion import Criterion
from exciter.excitation.design import Design, design
from exciter.excitation.experiments.four_motions import FourMotions, VandanjonDesign, vandanjon
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, shown

VANDANJON_SETTINGS = set_up.PROCEDURE_FIGURES["vandanjon"]
VANDANJON_SAMPLE_RATE = float(VANDANJON_SETTINGS["rate"])
PHENOMENA: list[str] = set_up.PROCEDURE_FIGURES["printed"]["phenomena"]
UNION, BEST = "four kinds together", "one motion, D-optimal"


def run(effort: Effort) -> Part:
    model, candidates = set_up.model(), effort.pick(*VANDANJON_SETTINGS["candidates"].values())
    sigma, starts = (
        set_up.torque_noise(set_up.PROCEDURE_FIGURES["noise"]),
        effort.pick(*VANDANJON_SETTINGS["starts"].values()),
    )
    four = vandanjon(model, FourMotions(candidates=candidates, rate=VANDANJON_SETTINGS["search_rate"]))
    length = sum(one.curve.duration for one in four.motions)
    criteria: dict[str, tuple[Criterion, Array]] = {
        "one motion, smallest cond(W)": (ex.ConditionNumber(), np.ones(model.n)),
        BEST: (ex.DOptimality(), sigma),
    }
    optimised = {
        name: design(model, set_up.family(), criterion=criterion, noise=noise, starts=starts, samples=500)
        for name, (criterion, noise) in criteria.items()
    }
    kinds = {
        kind: [set_up.sampled(one.curve, VANDANJON_SAMPLE_RATE) for one in four.motions if one.purpose == kind]
        for kind in PHENOMENA
    }
    motions = {**kinds, UNION: [path for paths in kinds.values() for path in paths]}
    time = (
        np.arange(round(length * VANDANJON_SAMPLE_RATE)) / VANDANJON_SAMPLE_RATE
    )  # periods, as long as all of Vandanjon's together
    motions |= {name: [motion_of(found.trajectory, found.delta, time)] for name, found in optimised.items()}
    figures = {name: Excited.of(paths, sigma) for name, paths in motions.items()}
    times = effort.pick(*VANDANJON_SETTINGS["repetitions"].values())
    weighted, true = set_up.estimator(ex.WeightedLeastSquares()), set_up.true_values()
    found: dict[str, set_up.RepeatedLogs] = {}
    for name in (UNION, *optimised):
        logs = [
            (f"experiment {k}", path, model.torque(path, set_up.chi())) for k, path in enumerate(motions[name], start=1)
        ]
        found |= set_up.repeat(
            partial(set_up.noisy, model, sigma, VANDANJON_SAMPLE_RATE, logs), {name: weighted}, true, times
        )
    names = model.base.names
    relative = {name: 100.0 * one.std / np.abs(true) for name, one in figures.items()}
    table = DataTable.by_rows(
        "vandanjon",
        "What each kind of motion tells alone, and together",
        [
            {
                "motions": name,
                "time [s]": one.seconds,
                "rank of W": one.rank,
                "parameters determined": one.determined.sum(),
                "cond(W)": None if one.rank < len(names) else one.condition,
                "median σ": np.median(one.std[one.determined]) if one.determined.any() else None,
                "largest σ [%]": relative[name][one.determined].max() if one.determined.any() else None,
            }
            for name, one in figures.items()
        ],
    )
    stds = DataTable(
        "vandanjon-std",
        "Predicted σ of every parameter (kg·m², kg·m, N·m·s/rad, N·m)",
        ("parameter", "value", *figures),
        [
            (name, true[k], *(one.std[k] if one.determined[k] else None for one in figures.values()))
            for k, name in enumerate(names)
        ],
    )
    lines = [Line(name, relative[name], points=True) for name in (UNION, *optimised)]
    index = np.arange(1.0, len(names) + 1.0)
    return Part(
        "Section 12.3.4.2, Vandanjon",
        "Four kinds of motion, one phenomenon each, in one system of equations",
        f"{set_up.ROBOT_STATEMENT} Joint limits of the robot. {len(four.motions)} experiments: inertia, centrifugal "
        "coupling and "
        "gravity for every joint, inertial coupling for every pair of neighbours; the other joints are locked. Points "
        f"of each: the best of {candidates} random pairs for cond(W) of all together (seed 0). One motion: "
        f"{set_up.HARMONICS}, {starts} starts (seed 0), repeated for the same {length:.0f} s. "
        f"{VANDANJON_SAMPLE_RATE:g} Hz, torque "
        f"noise {set_up.PROCEDURE_FIGURES['noise']:g} % of the largest torques along the common motion; {times} logs "
        "(seeds 0 … "
        f"{times - 1}). Time between the experiments is not counted. Details of the motions are ours: the chapter "
        "describes them in two sentences.",
        _findings(four, optimised, figures, found),
        (table, stds),
        (
            Plot("Predicted σ of every parameter", index, "parameter", "σ [% of the value]", lines, log=True),
            set_up.error_plot(found, f"Errors of all {len(names)} parameters over {times} logs"),
        ),
        "The chapter's points hold: nothing is taken as known, and all parameters are determined in one system. But "
        "one optimised motion of the same length tells more of most parameters.",
    )


@dataclass(frozen=True, eq=False)
class Excited:
    """What motions tell together: rank and condition number of W, σ (b,) of the parameters (infinite where none)."""

    seconds: float
    rank: int
    condition: float
    std: Array

    @classmethod
    def of(cls, paths: Sequence[ex.Motion], sigma: Array) -> Excited:
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
        return cls(sum(len(path) for path in paths) / VANDANJON_SAMPLE_RATE, rank, condition, std)

    @property
    def determined(self) -> NDArray[np.bool_]:
        return np.isfinite(self.std)


def _findings(
    four: VandanjonDesign,
    optimised: Mapping[str, Design],
    figures: Mapping[str, Excited],
    found: Mapping[str, set_up.RepeatedLogs],
) -> tuple[Finding, ...]:
    count = len(set_up.model().base.names)
    ranks = {kind: figures[kind].rank for kind in PHENOMENA}
    union = figures[UNION]
    fewest = min(len(one.moving) for one in four.motions), max(len(one.moving) for one in four.motions)
    loss, best = union.std / figures[BEST].std, np.median(found[BEST].relative)
    certified = all(certify(set_up.model().robot, one.curve, ()).certified for one in four.motions)
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
            f"95 % intervals hold the truth in {set_up.percent(found[UNION].covered()[0])} of cases",
        ),
        shown("cond(W), four kinds together", union.condition),
        *(shown(f"cond(W), {name}", figures[name].condition) for name in optimised),
        *set_up.median_errors(found),
        shown(
            "σ of the four kinds over σ of the D-optimal motion of the same length, median over parameters",
            np.median(loss),
            f"from {loss.min():.2f} to {loss.max():.2f}, above 1 for {(loss > 1.0).sum()} of {count}",
        ),
        shown("one optimised motion of the same length is more accurate", best < np.median(found[UNION].relative)),
    )
