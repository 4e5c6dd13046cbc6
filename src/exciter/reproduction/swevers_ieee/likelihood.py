"""Maximum likelihood against weighted least squares, from sixteen noisy periods (sections II-A, V-A, V-B)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.excitation.criteria import CramerRao, DOptimality
from exciter.excitation.objective import Objective
from exciter.experiment.recording import Recording
from exciter.experiment.signals.central_differences import first_difference, second_difference
from exciter.experiment.signals.periods import PeriodAverage, average_periods
from exciter.experiment.virtual import Friction, Spread, TorqueMeter, Truth, draw
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Finding, claim, same, shown
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.reproduction.swevers_ieee.experiment import (
    PERIODS,
    POSITION_VARIANCE,
    TORQUE_VARIANCE,
    Pair,
    averaged,
    executed,
    logged,
    periodic,
)
from exciter.reproduction.swevers_ieee.set_up import FAMILY, NOISE, SAMPLES, model, optimised, sampled, theta
from exciter.robot.motion import Motion

Array = NDArray[np.float64]
ANGLES = (1e-10, 1e-8, 1e-6, 1e-4)  # [rad²] of the average; the last lies beyond any encoder
QUIET = 0.1  # of the paper's torque noise: what angles then matter beside
STARTS = 2  # of the motion c2
SAME = 0.01  # σ: a smaller difference shows in no digit of Table II
CHANCE = 1e-3  # of a false alarm, two-sided


def run(effort: Effort) -> Sequence[Part]:
    found = optimised(DOptimality(), STARTS)
    motion = sampled(found.delta)
    repetitions = effort.pick(3, 40)
    measured = repeated(motion, np.sqrt(TORQUE_VARIANCE), np.sqrt(POSITION_VARIANCE), repetitions)
    cases = [
        repeated(motion, scale * NOISE, np.full(3, np.sqrt(variance)), repetitions)
        for scale in (1.0, QUIET)
        for variance in ANGLES
    ]
    machine = on_machine(found.delta, repetitions)
    return variance_part(measured), estimators_part(measured, cases, machine), fisher_part(motion, cases)


# -- repetitions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """Logs with the same noise: σ (3,) of averaged torques [N·m] and angles [rad], the estimates of each log, and the
    squared deviations between periods (R, 2, 3) of angles and torques. truth (21,)."""

    torque_noise: Array
    position_noise: Array
    pairs: tuple[Pair, ...]
    differences: tuple[Estimate, ...]
    squares: Array
    truth: Array

    def errors(self, word: str) -> Array:
        """(R, 21) of an estimator, in σ of maximum likelihood."""
        found = {"ml": [p.ml for p in self.pairs], "wls": [p.wls for p in self.pairs], "plain": self.differences}
        return np.array([(e.values - self.truth) / p.ml.std for e, p in zip(found[word], self.pairs, strict=True)])

    def rms(self, word: str) -> float:
        return float(np.sqrt((self.errors(word) ** 2).mean()))

    @property
    def apart(self) -> float:
        """ML and WLS: the largest difference of any parameter in any log, in σ."""
        return max(pair.apart for pair in self.pairs)

    @property
    def apart_careful(self) -> float:
        """The same, WLS without torques whose direction of friction is uncertain."""
        return max(pair.apart_careful for pair in self.pairs)

    @property
    def bias(self) -> float:
        """The largest mean error of maximum likelihood over its standard error."""
        errors = self.errors("ml")
        return float(np.abs(errors.mean(axis=0)).max() * np.sqrt(len(errors)))

    @property
    def bias_limit(self) -> float:
        """What chance makes of it at most, over all parameters."""
        return float(stats.norm.isf(0.5 * CHANCE / len(self.truth)))

    @property
    def chance(self) -> float:
        """Two-sided chance of Σ eᵀC⁻¹e under the covariances of maximum likelihood: χ², 21 degrees of freedom a log."""
        squares = 0.0
        for pair in self.pairs:
            error = pair.ml.values - self.truth
            squares += float(error @ np.linalg.solve(pair.ml.covariance, error))
        return two_sided(squares, len(self.truth) * len(self.pairs))


def two_sided(squares: float, freedom: int) -> float:
    """Chance of a χ² so far from its middle."""
    return float(2.0 * min(stats.chi2.cdf(squares, freedom), stats.chi2.sf(squares, freedom)))


def repeated(motion: Motion, torque_noise: Array, position_noise: Array, repetitions: int) -> Case:
    """Seeds 0, 1, …: the same draws for every size of the noise."""
    logs = (logged(motion, torque_noise, position_noise, seed) for seed in range(repetitions))
    return _case(logs, torque_noise, position_noise, theta())


def _case(logs: Iterable[Recording], torque_noise: Array, position_noise: Array, truth: Array) -> Case:
    pairs, plain, squares = [], [], []
    for log in logs:
        average = average_periods(log)
        pair = Pair.of(averaged(log, average))
        differences = Problem(model(), (differenced(average),), folds=1)
        pairs.append(pair)
        plain.append(WeightedLeastSquares(tuple(pair.ml.noise)).estimate(differences))
        squares.append(between_periods(log))
    return Case(torque_noise, position_noise, tuple(pairs), tuple(plain), np.array(squares), truth)


def between_periods(log: Recording) -> Array:
    """(2, 3) Σ_k Σ_j (x_j(k) − x̄(k))² of angles and torques."""
    signals = np.array([log.q, log.needed_torque()]).reshape(2, PERIODS, SAMPLES, -1)
    return np.asarray(((signals - signals.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2)))


def differenced(mean: PeriodAverage) -> Run:
    """The averaged angles differentiated sample by sample, without a series."""
    around = np.concatenate([mean.q[-1:], mean.q, mean.q[:1]])
    derivatives = first_difference(around, mean.rate), second_difference(around, mean.rate)
    return Run.at(Motion(mean.time, mean.q, *derivatives), mean.torque, mean.rate)


def on_machine(delta: Array, repetitions: int) -> Case:
    """A machine with dry friction executes the motion once; its settled period, sixteen times with noise of its own.

    The controller sees no noise, so that one execution stands for all periods.
    """
    truth = nearest_machine()
    simulated = executed(truth, periodic(delta, 2), TorqueMeter(noise=0.0))
    period = average_periods(simulated.recording)
    sigma = np.sqrt(PERIODS) * np.array([np.sqrt(POSITION_VARIANCE), np.sqrt(TORQUE_VARIANCE)])

    def log(seed: int) -> Recording:
        rng = np.random.default_rng(seed)
        shape = (PERIODS * len(period.time), 3)
        q, torque = (np.tile(x, (PERIODS, 1)) for x in (period.q, period.torque))
        start = float(period.time[0])
        return Recording(
            simulated.recording.joints,
            start + np.arange(len(q)) / period.rate,
            q + sigma[0] * rng.standard_normal(shape),
            torque=torque + sigma[1] * rng.standard_normal(shape),
            about=replace(simulated.recording.about, settled=start),
        )

    known = dict(zip(truth.model.standard, truth.chi, strict=True))
    values = model().base.base_values([known.get(name, 0.0) for name in model().standard])
    return _case(map(log, range(repetitions)), np.sqrt(TORQUE_VARIANCE), np.sqrt(POSITION_VARIANCE), values)


def nearest_machine() -> Truth:
    """The bodies nearest to Table I that can exist, with its friction."""
    robot = model().robot
    friction = Friction(*(tuple(robot.friction[name].tolist()) for name in ("viscous", "coulomb")))
    return replace(draw(robot, 0, Spread(0.0, 0.0)), friction=friction)


# -- the parts ---------------------------------------------------------------------------------------------------------


def variance_part(case: Case) -> Part:
    freedom = (PERIODS - 1) * SAMPLES
    true = np.array([POSITION_VARIANCE, TORQUE_VARIANCE])
    right = case.squares / (PERIODS * freedom)
    printed = case.squares / (PERIODS * (PERIODS * SAMPLES - 1))
    ours = np.array([pair.ml.noise**2 for pair in case.pairs])
    total = freedom * right.size

    def chance(variances: Array) -> float:
        return two_sided(float((freedom * variances / true).sum()), total)

    bias, exact = float((printed / true).mean()), float((right / true).mean())
    expected = freedom / (PERIODS * SAMPLES - 1)
    corrected = true / expected
    findings = [
        claim(
            "the printed divisor 16 N − 1 gives the variance of the noise without bias",
            chance(printed) > CHANCE,
            f"the mean over periods is taken at each of the N samples, which costs N degrees of freedom: the printed "
            f"estimate is {bias:.4f} of the true variance (expected: 15 N/(16 N − 1) = {expected:.4f}); "
            f"χ² of {total} degrees of freedom has the chance {chance(printed):.1g}",
        ),
        shown(
            "mean estimated over true variance, divisor 15 N",
            exact,
            f"two-sided chance of its χ²: {chance(right):.2f}",
        ),
        shown(
            "largest difference of the product's torque variances from divisor 15 N, relative",
            float(np.abs(ours / right[:, 1] - 1.0).max()),
        ),
        claim(
            "the torque noise of the simulations (25, 26, 10 (N·m)²) is the measured one",
            bool((np.round(TORQUE_VARIANCE) == np.round(NOISE**2)).all()),
            "rounded; with the right divisor the measured variances would have been "
            + ", ".join(f"{v:.2f}" for v in corrected[1]),
        ),
    ]
    rows = [
        [signal, joint + 1, true[k, joint], corrected[k, joint], *means[k, joint]]
        for k, signal in enumerate(("angle [rad²]", "torque [(N·m)²]"))
        for joint in range(3)
        for means in [np.stack([printed.mean(axis=0), right.mean(axis=0)], axis=-1)]
    ]
    table = DataTable(
        "noise-variance",
        "Variance of the averaged signals: published, published with the right divisor, and estimated from virtual "
        "logs whose true variance is the published one",
        ("signal", "joint", "published", "published, right divisor", "16 N − 1 (mean)", "15 N (mean)"),
        rows,
    )
    return Part(
        "Section V-A, variances",
        "Noise estimated from the difference between periods",
        f"{len(case.pairs)} virtual logs (seeds 0 …) of {PERIODS} periods with {SAMPLES} samples each, motion c2, "
        "white noise on angles and torques. The published variances of the averages serve as the true ones; a recorded "
        f"sample has {PERIODS} times as much. Tests with a false-alarm chance of {CHANCE:g}.",
        tuple(findings),
        (table,),
        differences="The published variances are too small by a sixteenth, σ by 3 %: too little to matter.",
    )


def estimators_part(measured: Case, cases: Sequence[Case], machine: Case) -> Part:
    count, loud, last = len(measured.pairs), cases[ANGLES.index(1e-6)], cases[-1]
    quiet = cases[len(ANGLES) + ANGLES.index(1e-6)]
    findings: list[Finding] = [
        claim(
            "with the measured noise of angles, ML and WLS do not differ",
            measured.apart < SAME,
            f"at most {measured.apart:.1g} σ in {count} logs with the published variances",
        ),
        claim(
            "the same on a virtual machine with controller and dry friction",
            machine.apart < SAME,
            f"at most {machine.apart:.1g} σ; errors are {machine.rms('ml'):.2f} σ rms and the mean one of a parameter "
            f"is up to {_mean(machine):.2f} ± {count**-0.5:.2f} σ: dry friction holds joints at reversals, which no "
            "sgn q̇ describes",
        ),
        shown(
            "largest |ML − WLS| at an angle variance of 1e-6 rad² [σ]",
            loud.apart,
            f"torque noise of the paper; {loud.apart_careful:.2g} σ once WLS, too, leaves out torques at reversals "
            "whose direction of friction is uncertain: a single one, taken with the wrong sign, matters more than the "
            "noise of all other angles",
        ),
        shown(
            "… with a tenth of the torque noise [σ]",
            quiet.apart,
            f"{quiet.apart_careful:.2g} σ without torques of uncertain direction",
        ),
        shown(
            f"rms error of WLS over that of ML where angles matter ({_named(last)})",
            last.rms("wls") / last.rms("ml"),
            f"largest difference {last.apart:.2g} σ",
        ),
    ]
    every = (measured, *cases)
    worst = min(every, key=lambda case: case.chance)
    most = max(every, key=lambda case: case.bias)
    findings.append(
        claim(
            "ML is unbiased and efficient, whatever the noise",
            most.bias < most.bias_limit and worst.chance > CHANCE,
            f"{len(every)} sizes of noise; the largest mean error of a parameter is {most.bias:.2f} standard errors "
            f"(chance allows {most.bias_limit:.2f}), χ² of all errors under the Cramér–Rao bound has the chance "
            f"{worst.chance:.2g} or more",
        )
    )
    rows = [
        [
            _torques(case),
            _angles(case),
            case.apart,
            case.apart_careful,
            *(case.rms(w) for w in ("ml", "wls", "plain")),
            case.bias,
            case.chance,
        ]
        for case in (measured, *cases, machine)
    ]
    rows[-1][0] = "measured; virtual machine"
    table = DataTable(
        "ml-and-wls",
        "Maximum likelihood, weighted least squares on the fitted series, and on angles differenced sample by sample",
        (
            "torque noise",
            "angle variance [rad²]",
            "largest |ML − WLS| [σ]",
            "… no uncertain directions [σ]",
            "ML rms error [σ]",
            "WLS rms error [σ]",
            "differences rms error [σ]",
            "ML bias [standard errors]",
            "χ² chance",
        ),
        rows,
    )
    return Part(
        "Section V-B, estimators",
        "Maximum likelihood against weighted least squares",
        f"{count} virtual logs of {PERIODS} periods for every size of the noise (seeds 0 …, the same draws), motion "
        "c2. Data come from (1), (2) and (11) with θ of Table I: no machine can have it, for a rigid body needs "
        f"XX3 − YY3 ≤ ZZ3, and Table I says {_excess():.2f} kg·m² more. The machine of the second finding has the "
        "nearest bodies that exist. Noise is estimated from the periods; variances are those of the average. WLS is "
        "what ML starts from, as in the paper: a series fitted to the angles, then (7). σ is that of ML.",
        tuple(findings),
        (table,),
        (_plot(cases),),
        "The paper's explanation, small noise of the angles, is half of it. The series averages the angles over all "
        f"{PERIODS * SAMPLES} samples and has no noise above its last harmonic: with ten thousand times the measured "
        f"variance, errors of WLS and ML are still {loud.rms('wls'):.3f} and {loud.rms('ml'):.3f} σ rms beside the "
        "paper's torque noise. Angles differenced sample by sample would have ruined the estimate.",
    )


def fisher_part(motion: Motion, cases: Sequence[Case]) -> Part:
    case = cases[-1]
    criterion = CramerRao(FAMILY, tuple(case.position_noise), tuple(_standard()))
    observed = Objective(model(), criterion, model().base.independent, case.torque_noise**-2.0).observed(motion)
    bound = np.sqrt(np.diag(np.linalg.inv(criterion.information(observed))))
    linear = np.sqrt(np.diag(np.linalg.inv(observed.gram)))
    stated = np.mean([pair.ml.std for pair in case.pairs], axis=0)
    scatter = np.std([pair.ml.values for pair in case.pairs], axis=0, ddof=1)
    freedom = len(case.pairs) - 1
    chances = [two_sided(freedom * float(s / b) ** 2, freedom) for s, b in zip(scatter, stated, strict=True)]
    findings = (
        same(
            "median of the bound by ML over that of the design criterion (6)",
            1.0,
            float(np.median(stated / bound)),
            0.02,
            f"two independent programs; {_named(case)}; ML leaves out some torques at reversals",
        ),
        claim(
            "ML scatters as the corrected bound (6) says",
            min(chances) > CHANCE / len(chances),
            f"{len(chances)} tests of (R − 1)s²/σ² as χ² with {freedom} degrees of freedom; the smallest chance is "
            f"{min(chances):.2g}, false alarm {CHANCE:g} for all together; mean ratio s/σ "
            f"{float(np.mean(scatter / stated)):.3f}",
        ),
        shown(
            "median of the bound (6) over σ of (9), which takes angles as exact",
            float(np.median(bound / linear)),
            _named(case),
        ),
    )
    rows = [[name, *values] for name, *values in zip(model().base.names, linear, bound, stated, scatter, strict=True)]
    table = DataTable(
        "cramer-rao", f"σ of each parameter: {_named(case)}", ("parameter", "(9)", "(6)", "ML", "Monte Carlo"), rows
    )
    return Part(
        "Equation (6)",
        "The Cramér–Rao bound with noisy angles",
        f"The loudest case of the estimators above, {_named(case)}, where angles matter; {len(case.pairs)} logs.",
        findings,
        (table,),
    )


# -- helpers -----------------------------------------------------------------------------------------------------------


def _standard() -> Array:
    chi = np.zeros(len(model().standard))
    chi[model().base.independent] = theta()
    return chi


def _excess() -> float:
    values = dict(zip([model().base.standard[k] for k in model().base.independent], theta(), strict=True))
    return float(values["XX3"] - values["ZZ3"])


def _mean(case: Case) -> float:
    return float(np.abs(case.errors("ml").mean(axis=0)).max())


def _torques(case: Case) -> str:
    scale = case.torque_noise[0] / NOISE[0]
    return "a tenth" if scale < 0.5 else ("of the paper" if scale == 1.0 else "measured")


def _angles(case: Case) -> float | str:
    variance = case.position_noise**2
    return float(f"{variance[0]:.6g}") if np.ptp(variance) == 0.0 else "measured"


def _named(case: Case) -> str:
    angles = _angles(case)
    if isinstance(angles, str):
        return "measured noise"
    return f"torque noise {_torques(case)}, angle variance {angles:.0e} rad²"


def _plot(cases: Sequence[Case]) -> Plot:
    words = {"ml": "ML", "wls": "WLS on the series", "plain": "WLS on differences"}
    lines = [
        Line(f"{words[word]}, torque noise {_torques(group[0])}", np.array([case.rms(word) for case in group]))
        for group in (cases[: len(ANGLES)], cases[len(ANGLES) :])
        for word in words
    ]
    return Plot(
        "rms error of the parameters, in σ of ML",
        np.log10(np.array(ANGLES)),
        "log10 of the angle variance [rad²]",
        "rms error [σ]",
        lines,
        log=True,
    )
