"""Table I on robots whose truth is known: estimates, their σ, and whether these are honest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from exciter.dynamics.base import inertia_base
from exciter.dynamics.model import DynamicModel
from exciter.identification.estimate import Estimate
from exciter.reproduction.finding import claim, closed, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.published import published
from exciter.reproduction.rackl import set_up
from exciter.reproduction.rackl.experiment import Experiment
from exciter.reproduction.rackl.repetition import Repetition
from exciter.typing import Array

CHANCE = 0.01  # of a false alarm, of every test
LEVEL = 0.95
LIGHTEST = "ZZ7"
EXTENT = 3.0  # σ, were an error level the extent of a histogram and not an rms


def part(virtual: Experiment, repeated: Sequence[Repetition], robot_seed: int) -> Part:
    estimate, model = virtual.two_steps, virtual.model
    rows = {row[0]: row[1:] for row in published("rackl")["table_1"]}
    moments = second_moments(model, virtual.chi, estimate)
    chosen = [set_up.names_31(model).index(name) for name in rows]
    percent, size = moments.percent[chosen], np.abs(moments.true[chosen])
    trend = stats.spearmanr(size, percent)
    squares = np.array([distance(one) for one in repeated])
    fits = stats.kstest(squares, "chi2", args=(len(model.base),))
    outside, most = misses(repeated), int(stats.binom.isf(CHANCE / len(model.base), len(repeated), 1.0 - LEVEL))
    level = published("rackl")["figure_4"]["level"]
    hours = samples_needed(virtual, level, rows[LIGHTEST]) / 3600.0 / set_up.sampling_rate()
    poorly = published("rackl")["poorly"]
    big = size > np.median(size)
    return Part(
        "Table I",
        "Estimated parameters and their standard deviations",
        f"A virtual robot (seed {robot_seed}) whose links differ from the description by about "
        f"{set_up.cad_error():g} % executes the optimised trajectory (first start of the design); the log of its poses "
        "at rest comes straight from the model. Sensors behind the gears, so no friction. "
        f"{set_up.noise_words()}. Positions through a Butterworth filter of "
        f"{published('rackl')['filter']['cutoff']:g} Hz forwards and backwards. Static then dynamic step, (7) and (8). "
        f"The same with {len(repeated)} other robots and fresh noise (seeds 1 … {len(repeated)}), for the statistics. "
        "Masses are not published.",
        (
            closed(
                "the sixteen values and σ % of Table I",
                f"{len(rows)} values",
                "logs, payload and CAD values of the authors' robot are not published; ours is another robot. The "
                "table below has the same layout",
            ),
            shown(
                "true parameters lie within the intervals of the two steps",
                bool((outside <= most).all()),
                f"{100 * LEVEL:g} % intervals of {len(model.base)} parameters, {len(repeated)} robots: "
                f"{100 * (1 - outside.mean() / len(repeated)):.1f} % contain the truth; intervals of one parameter "
                f"that miss it: {outside.max()} at most, chance allows {most} (false alarm {100 * CHANCE:g} %)",
            ),
            shown(
                "errors of the two steps over σ, rms of all parameters and robots",
                rms_of_sigmas(repeated),
                "one where σ is right, less where it is too large",
            ),
            shown(
                "errors of one fit of all equations are as large as their covariance (11) says",
                fits.pvalue > CHANCE,
                f"eᵀC⁻¹e of {len(repeated)} robots against χ² with {len(model.base)} degrees of freedom: mean "
                f"{squares.mean():.1f}, chance of a larger distance (Kolmogorov–Smirnov) {fits.pvalue:.2g}",
            ),
            claim(
                "small parameters are estimated worse than large ones (σ %)",
                bool(trend.statistic < 0.0 and trend.pvalue < 0.05),
                f"of the {len(rows)}, those above the median size have σ % up to {percent[big].max():.0f}, the others "
                f"up to {percent[~big].max():.0f}; rank correlation of size and σ % {trend.statistic:.2f}",
            ),
            shown(f"parameters of Table I with σ below {poorly:g} %", int((percent < poorly).sum())),
            shown(
                f"length of a log [h] that σ of {LIGHTEST} in Table I would take",
                hours,
                f"with errors of {level:g} N·m rms at joint {LIGHTEST[-1]}, as Figure 4 is described, at "
                f"{set_up.sampling_rate():g} Hz ({hours / EXTENT**2:.0f} h if {level:g} N·m is their extent of "
                f"{EXTENT:g} σ): by (11) σ is at least the error over the length of the column, whose rows are as "
                "large as the largest of our optimised trajectory. (11) takes every sample as independent; "
                "filtered ones are not, and Table I is too optimistic",
            ),
        ),
        (layout(model, moments),),
        differences="The text calls (6) weighted, it is ordinary least squares; (10) has τ for Y. No torque can "
        "separate second moments from masses of later links: the authors must have taken these from CAD, the table "
        "below takes them as known exactly.",
    )


def samples_needed(virtual: Experiment, error: float, printed: Sequence[float]) -> float:
    """Instants after which σ of LIGHTEST is as printed (value, σ %): σ ≥ error / ‖column‖."""
    motion = virtual.problem.runs[1].parts
    model, column = virtual.model, virtual.model.standard.index(LIGHTEST)
    rows = np.concatenate([model.regressor(part.motion)[:, :, column] for part in motion])
    sigma = printed[0] * printed[1] / 100.0
    return float((error / sigma) ** 2 / (rows**2).sum(axis=1).max())


def distance(one: Repetition) -> float:
    """eᵀC⁻¹e of the fit of all equations."""
    error = one.one_step.values - one.truth
    scale = one.one_step.std
    return float((error / scale) @ np.linalg.solve(one.one_step.covariance / np.outer(scale, scale), error / scale))


def misses(repeated: Sequence[Repetition]) -> Array:
    """(p,) how often the interval of each parameter does not contain the truth."""
    found = []
    for one in repeated:
        low, high = one.two_steps.interval(LEVEL)
        found.append((one.truth < low) | (one.truth > high))
    return np.asarray(np.sum(found, axis=0))


@dataclass(frozen=True, eq=False)
class Moments:
    """Inertia base parameters (31,) [kg·m²] when masses and first moments are known: of the description, true, and
    identified with their σ."""

    nominal: Array
    true: Array
    identified: Array
    std: Array

    @property
    def percent(self) -> Array:
        """σ % as (13) has it."""
        return np.asarray(100.0 * self.std / np.abs(self.identified))


def second_moments(model: DynamicModel, chi: Array, estimate: Estimate) -> Moments:
    """From the estimate of all base parameters, what masses and first moments of the true χ add to them taken off."""
    base, inertias = model.base, inertia_base(model)
    own = [base.standard[k] for k in base.independent]
    rows = [own.index(name) for name in set_up.names_31(model)]
    at = [model.standard.index(name) for name in inertias.standard]
    known = np.array(chi)
    known[at] = 0.0
    nominal, true = (inertias.base_values(values[at]) for values in (model.nominal, chi))
    return Moments(nominal, true, (estimate.values - base.base_values(known))[rows], estimate.std[rows])


def rms_of_sigmas(repeated: Sequence[Repetition]) -> float:
    sigmas = [(one.two_steps.values - one.truth) / one.two_steps.std for one in repeated]
    return float(np.sqrt(np.mean(np.square(sigmas))))


def layout(model: DynamicModel, moments: Moments) -> DataTable:
    printed = {row[0]: row[1:] for row in published("rackl")["table_1"]}
    error = (moments.identified - moments.true) / moments.std
    numbers = moments.nominal, moments.true, moments.identified, moments.std, moments.percent, error
    rows = [
        (text, *printed.get(name, (None, None)), *row)
        for text, name, row in zip(
            inertia_base(model).names, set_up.names_31(model), np.transpose(numbers).tolist(), strict=True
        )
    ]
    headings = (
        "parameter", "published", "published σ %", "nominal", "true", "identified", "σ", "σ %", "error / σ",
    )  # fmt: skip
    caption = "Layout of Table I, masses and first moments known: published values of another robot, then ours [kg·m²]"
    return DataTable("table-1", caption, headings, rows)
