"""The four models with noise on positions and torques: repetitions, cut-offs, estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

import exciter as ex
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.processed_motion import Route
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.khalil_dombre.four_models import CHAPTER_FIGURES, DECIMATE, FOUR, INTERVAL, SAID
from exciter_papers.khalil_dombre.uncertainty import printed_std
from exciter_papers.paper import DataTable, Effort, Finding, Part, Value, claim, shown

NOISE_FIGURES = CHAPTER_FIGURES["noise"]
USUAL, OTHER = NOISE_FIGURES["usual"], NOISE_FIGURES["other"]
LOW, MIDDLE, HIGH = NOISE_FIGURES["cutoffs"]
EVENED: dict[str, Formulation] = {"power, rows evened": ex.Power(DECIMATE), "energy, rows evened": ex.Energy(INTERVAL)}
COMPARED_ESTIMATORS: dict[str, Estimator] = {
    "ordinary": ex.OrdinaryLeastSquares(),
    "weighted": ex.WeightedLeastSquares(),
}
CHOSEN, SERIES = "cut-off chosen from the data", "Fourier series fitted"
SEED, SIMULATED_SEED = 11, 15
NEAR, FAR = 1.5, 10.0  # errors over that of the best cut-off, by which one counts as found, and another one as bad


@dataclass(frozen=True, eq=False)
class Sample:
    """errors (R, p) of R repetitions; printed (R, p): standard deviations of [12.7]–[12.9]; torque (R,): rms of the
    torque error along the exact motion over rms of the torque; residual (R,): rms of the residual over rms of y."""

    errors: Array
    printed: Array
    torque: Array
    residual: Array

    @property
    def relative(self) -> Array:
        """(R,) ‖χ̂ − χ‖ / ‖χ‖."""
        return np.asarray(np.linalg.norm(self.errors, axis=1) / np.linalg.norm(set_up.true_values()))

    @property
    def typical(self) -> float:
        return float(np.median(self.relative))

    @property
    def bias_share(self) -> float:
        """Part of the mean square error that all repetitions have in common, without bias by their small number."""
        mean, count = self.errors.mean(axis=0), len(self.errors)
        scatter = self.errors.var(axis=0, ddof=1).sum() / count
        return float(max(0.0, mean @ mean - scatter) / (self.errors**2).sum(axis=1).mean())

    @property
    def over_printed(self) -> float:
        """Root mean square of error over printed σ; 1 where they are right."""
        return float(np.sqrt(np.mean((self.errors / self.printed) ** 2)))


Samples = Mapping[tuple[str, str, str], Sample]


def routes(cutoffs: Sequence[float]) -> dict[str, Route]:
    """By name: positions through Butterworth filters, and two ways that choose by themselves."""
    period, harmonics = CHAPTER_FIGURES["set_up"]["period"], CHAPTER_FIGURES["set_up"]["harmonics"]
    filters: dict[str, Route] = {of(f): FilteredDifferences(f, NOISE_FIGURES["order"]) for f in cutoffs}
    return filters | {
        CHOSEN: FilteredDifferences(order=NOISE_FIGURES["order"]),
        SERIES: FourierFit(harmonics, period, settled=0.0),
    }


def of(cutoff: float) -> str:
    return f"{cutoff:g} Hz"


def models_of(way: str) -> dict[str, Formulation]:
    """The four with every cut-off, evened rows beside them with the middle one; else the dynamic model alone."""
    if way in (CHOSEN, SERIES):
        return {"dynamic": FOUR["dynamic"]}
    return FOUR | EVENED if way == of(MIDDLE) else FOUR


def run(effort: Effort) -> Part:
    cutoffs = effort.pick((LOW, MIDDLE, HIGH), (2.0, 3.0, LOW, MIDDLE, 20.0, HIGH, 80.0))
    repetitions = effort.pick(2, 12)
    usual = monte_carlo(routes(cutoffs), USUAL["position"], USUAL["torque"], repetitions)
    chosen = simulated_choice(cutoffs, effort.pick(1, 5))
    other_route = {of(OTHER["cutoff"]): FilteredDifferences(OTHER["cutoff"], NOISE_FIGURES["order"])}
    other = monte_carlo(other_route, OTHER["position"], OTHER["torque"], effort.pick(1, repetitions))
    return _with_noise(usual, other, cutoffs, chosen, repetitions)


def monte_carlo(ways: Mapping[str, Route], position: float, percent: float, repetitions: int) -> Samples:
    """By route, model and estimator; seeds (SEED, 0), (SEED, 1), …; all see the same logs."""
    model = set_up.model()
    phi = model.regressor(set_up.motion(50.0))[:, :, model.base.independent]
    signal = np.sqrt(np.mean(set_up.torque(50.0) ** 2))
    drawn: dict[tuple[str, str, str], list[tuple[Array, Array, float, float]]] = {}
    for repetition in range(repetitions):
        log = set_up.recording((SEED, repetition), position, percent)
        for way, route in ways.items():
            part = route.apply(log)
            for name, formulation in models_of(way).items():
                problem = Problem(model, (Run((part,)),), formulation)
                for word, estimator in COMPARED_ESTIMATORS.items():
                    found = estimator.estimate(problem)
                    error = found.values - set_up.true_values()
                    torque = float(np.sqrt(np.mean((phi @ error) ** 2)) / signal)
                    rows = problem.compressed
                    residual = float(np.sqrt(rows.squares(found.values).sum() / rows.signal.sum()))
                    one = error, printed_std(problem, found), torque, residual
                    drawn.setdefault((way, name, word), []).append(one)
    return {key: Sample(*(np.array(column) for column in zip(*rows, strict=True))) for key, rows in drawn.items()}


def simulated_choice(cutoffs: Sequence[float], logs: int) -> float:
    """[Hz] The cut-off with the smallest error (dynamic model) in simulated logs, with parameters that are only
    believed and noise of other seeds than that of the logs it is used for."""
    model, chi = set_up.model(), set_up.chi()
    believed = chi * (1.0 + NOISE_FIGURES["believed"] * np.random.default_rng(SIMULATED_SEED).standard_normal(len(chi)))
    more = model.torque(set_up.motion(), believed) - set_up.torque()
    true = model.base.base_values(believed)
    errors = dict.fromkeys(cutoffs, 0.0)
    for k in range(logs):
        log = set_up.recording((SIMULATED_SEED, k), USUAL["position"], USUAL["torque"])
        log = replace(log, torque=log.needed_torque() + more)
        for cutoff in cutoffs:
            part = FilteredDifferences(cutoff, NOISE_FIGURES["order"]).apply(log)
            found = ex.OrdinaryLeastSquares().estimate(Problem(model, (Run((part,)),), FOUR["dynamic"]))
            errors[cutoff] += float(np.linalg.norm(found.values - true))
    return min(cutoffs, key=errors.__getitem__)


def _with_noise(usual: Samples, other: Samples, cutoffs: Sequence[float], chosen: float, repetitions: int) -> Part:
    noise = f"{USUAL['position']:g} rad, {USUAL['torque']:g} %"
    return Part(
        "12.4–12.7",
        "Four models with noise",
        f"{set_up.AS_BEFORE} White noise on positions ({USUAL['position']:g} rad) and torques ({USUAL['torque']:g} % "
        f"of the largest of each joint), {repetitions} repetitions (seeds ({SEED}, 0) …), ours. Positions through a "
        f"Butterworth filter of order {NOISE_FIGURES['order']} forwards and backwards, central differences [12.16]; "
        "equations "
        "as with exact data. Beside the chapter's: cut-off chosen from the data, and a Fourier series fitted to the "
        "positions, with the dynamic model; energy and power equations divided by the size of their errors (evened), "
        f"with {of(MIDDLE)}; weighted least squares. Cut-offs tried: {', '.join(f'{f:g}' for f in cutoffs)} Hz. One is "
        f"chosen by simulation: parameters wrong by {100 * NOISE_FIGURES['believed']:g} % (σ), other noise (seeds "
        f"({SIMULATED_SEED}, 0) …), smallest error of the dynamic model. Figures are medians over the repetitions.",
        (
            *_figures(usual, noise),
            *_figures(other, f"{OTHER['position']:g} rad, {OTHER['torque']:g} %", only=of(OTHER["cutoff"])),
            *_claims(usual, cutoffs, chosen),
        ),
        (_table("with-noise", f"Noise of {noise}", usual), _table("with-other-noise", "Other noise", other)),
        _plot(usual, cutoffs),
        "A cut-off far above the motion leaves noise in W; least squares then is wrong by many of the standard "
        "deviations that [12.7] prints.",
    )


def _figures(samples: Samples, noise: str, only: str | None = None) -> list[Finding]:
    ways = [only] if only else [of(f) for f in (LOW, MIDDLE, HIGH)]
    return [
        shown(
            f"relative error, {name} model, positions through {way} ({noise})",
            (one := samples[way, name, "ordinary"]).typical,
            f"least and largest of {len(one.relative)} repetitions: {one.relative.min():.2g}, {one.relative.max():.2g}",
        )
        for way in ways
        for name in FOUR
    ]


def _claims(samples: Samples, cutoffs: Sequence[float], simulated: float) -> tuple[Finding, ...]:
    at = {(f, name): samples[of(f), name, "ordinary"] for f in cutoffs for name in FOUR}
    apart = [
        float(np.median(np.linalg.norm(at[f, "dynamic"].errors - at[f, "filtered dynamic"].errors, axis=1)))
        / float(np.median(np.linalg.norm(at[f, "dynamic"].errors, axis=1)))
        for f in (LOW, MIDDLE, HIGH)
    ]
    grows = {name: at[HIGH, name].typical / at[MIDDLE, name].typical for name in FOUR}
    biased = at[HIGH, "dynamic"]
    best = min(cutoffs, key=lambda f: at[f, "dynamic"].typical)
    worst = max(cutoffs, key=lambda f: at[f, "dynamic"].typical)
    chosen, series = (samples[way, "dynamic", "ordinary"] for way in (CHOSEN, SERIES))
    torques = {name: 100.0 * float(np.median(at[MIDDLE, name].torque)) for name in FOUR}
    residuals = {name: 100.0 * float(np.median(at[MIDDLE, name].residual)) for name in FOUR}
    return (
        claim(
            SAID["equivalent"],
            max(apart) < 0.1,
            "difference of the two estimates over their error: "
            + ", ".join(f"{a:.2g} ({of(f)})" for a, f in zip(apart, (LOW, MIDDLE, HIGH), strict=True)),
        ),
        claim(
            SAID["robust_energy"],
            less_sensitive(grows),
            f"from {of(MIDDLE)} to {of(HIGH)} errors grow {grows['energy']:.0f} times (energy), {grows['power']:.0f} "
            f"(power), {grows['dynamic']:.0f} (dynamic); yet the energy model's error stays {_over(at, LOW):.1f}, "
            f"{_over(at, MIDDLE):.1f} and {_over(at, HIGH):.1f} times the dynamic model's at {of(LOW)}, {of(MIDDLE)} "
            f"and {of(HIGH)}",
        ),
        claim(
            SAID["biased"],
            biased.bias_share > 0.5,
            f"dynamic model: share of the mean square error that is the same in all repetitions "
            f"{biased.bias_share:.2f} at {of(HIGH)}, {at[LOW, 'dynamic'].bias_share:.2f} at {of(LOW)}, where the "
            "filter leaves next to no noise in W",
        ),
        shown(f"error over printed σ [12.7], rms, dynamic model, {of(HIGH)}", biased.over_printed),
        shown(f"error over printed σ [12.7], rms, dynamic model, {of(LOW)}", at[LOW, "dynamic"].over_printed),
        claim(
            SAID["simulate_filter"],
            well_chosen(*(at[f, "dynamic"].typical for f in (simulated, best, worst))),
            f"dynamic model: {of(simulated)} chosen by simulation (error {at[simulated, 'dynamic'].typical:.2g} in the "
            f"other logs), best {of(best)} ({at[best, 'dynamic'].typical:.2g}), worst {of(worst)} "
            f"({at[worst, 'dynamic'].typical:.2g}). Without simulating: {chosen.typical:.2g} with the "
            f"cut-off chosen from the data, {series.typical:.2g} with a Fourier series",
        ),
        claim(
            SAID["torque_errors"],
            all(
                hidden(*(each[name] / each["dynamic"] for each in (torques, residuals))) for name in ("power", "energy")
            ),
            f"at {of(MIDDLE)}, error of the torque along the exact motion, residual of the equations [% of rms]: "
            + ", ".join(f"{torques[name]:.2g}, {residuals[name]:.2g} ({name})" for name in FOUR),
        ),
    )


def less_sensitive(grows: Mapping[str, float]) -> bool:
    """Whether errors of the energy model grow less than half as much as the dynamic model's."""
    return grows["energy"] < 0.5 * grows["dynamic"]


def well_chosen(chosen: float, best: float, worst: float) -> bool:
    """By errors: near the best of the cut-offs, where another one would have been bad."""
    return chosen < NEAR * best and worst > FAR * best


def hidden(torque: float, residual: float) -> bool:
    """Whether errors of the torque, over those of the dynamic model, are more than twice what residuals tell."""
    return torque > 2.0 * max(1.0, residual)


def _over(at: Mapping[tuple[float, str], Sample], cutoff: float) -> float:
    return at[cutoff, "energy"].typical / at[cutoff, "dynamic"].typical


def _table(key: str, caption: str, samples: Samples) -> DataTable:
    headings = ["positions", "model"]
    for word in COMPARED_ESTIMATORS:
        headings += [f"median relative error, {word} least squares", "10 %", "90 %", "torque error [%]"]
    rows = []
    for way, name in dict.fromkeys((way, name) for way, name, _ in samples):
        row: list[Value] = [way, name]
        for word in COMPARED_ESTIMATORS:
            one = samples[way, name, word]
            low, high = np.quantile(one.relative, [0.1, 0.9])
            row += [one.typical, float(low), float(high), 100.0 * float(np.median(one.torque))]
        rows.append(row)
    return DataTable(key, f"{caption}: relative errors over repetitions", tuple(headings), rows)


def _plot(samples: Samples, cutoffs: Sequence[float]) -> Plot:
    lines = [Line(name, np.array([samples[of(f), name, "ordinary"].typical for f in cutoffs])) for name in FOUR]
    return Plot(
        "Relative error against the cut-off of the positions' filter",
        np.array(cutoffs),
        "cut-off [Hz]",
        "relative error",
        lines,
        log=True,
    )
