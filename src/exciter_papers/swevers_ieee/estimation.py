"""All that is run along one motion c2: preprocessing, variance of the noise, maximum likelihood against weighted least
squares, and the Cramér–Rao bound (6) with noisy angles (sections II, III, V)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exciter import DOptimality, Motion
from exciter.excitation.criteria.cramer_rao import CramerRao
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.design import Design
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, same, shown
from exciter_papers.swevers_ieee import experiment, preprocessing
from exciter_papers.swevers_ieee.set_up import (
    IEEE_FAMILY,
    IEEE_SAMPLES,
    TORQUE_NOISE_STD,
    chi,
    model,
    optimised,
    sampled,
    theta,
)


def run(effort: Effort) -> Sequence[Part]:
    c2 = optimised(DOptimality(), experiment.ESTIMATION_DESIGN_STARTS)
    cases = Cases.along(c2.delta, effort.pick(3, 40))
    return (
        *preprocessing.parts(c2.delta, effort),
        variance_part(cases.measured),
        estimators_part(cases),
        fisher_part(sampled(c2.delta), cases.loudest),
        needless_part(c2),
    )


# -- variance of the noise from the difference between periods ---------------------------------------------------------


def variance_part(case: experiment.NoiseCase) -> Part:
    """case: logs with the published variances."""
    freedom = (experiment.RECORDED_PERIODS - 1) * IEEE_SAMPLES
    true = np.array([experiment.POSITION_VARIANCE, experiment.TORQUE_VARIANCE])
    right = case.squares / (experiment.RECORDED_PERIODS * freedom)
    printed = case.squares / (experiment.RECORDED_PERIODS * (experiment.RECORDED_PERIODS * IEEE_SAMPLES - 1))
    ours = np.array([pair.ml.noise**2 for pair in case.pairs])
    total = freedom * right.size

    def chance(variances: Array) -> float:
        return experiment.two_sided(float((freedom * variances / true).sum()), total)

    bias, exact = float((printed / true).mean()), float((right / true).mean())
    expected = freedom / (experiment.RECORDED_PERIODS * IEEE_SAMPLES - 1)
    corrected = true / expected
    findings = (
        claim(
            "the printed divisor 16 N − 1 gives the variance of the noise without bias",
            chance(printed) > experiment.EXPERIMENT_FALSE_ALARM_CHANCE,
            f"the mean over periods is taken at each of the N samples, which costs N degrees of freedom: the printed "
            f"estimate is {bias:.4f} of the true variance (expected: 15 N/(16 N − 1) = {expected:.4f}); "
            f"χ² of {total} degrees of freedom has the chance {chance(printed):.1g}",
        ),
        shown(
            "mean estimated over true variance, divisor 15 N", exact, f"two-sided chance of its χ²: {chance(right):.2f}"
        ),
        shown(
            "largest difference of Exciter's torque variances from divisor 15 N, relative",
            np.abs(ours / right[:, 1] - 1.0).max(),
        ),
        claim(
            f"the torque noise of the simulations ({', '.join(f'{v:.0f}' for v in TORQUE_NOISE_STD**2)} (N·m)²) is "
            "the measured "
            "one",
            (np.round(experiment.TORQUE_VARIANCE) == np.round(TORQUE_NOISE_STD**2)).all(),
            "rounded; with the right divisor the measured variances would have been "
            + ", ".join(f"{v:.2f}" for v in corrected[1]),
        ),
    )
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
        f"{len(case.pairs)} virtual logs (seeds 0 …) of {experiment.RECORDED_PERIODS} periods with {IEEE_SAMPLES} "
        "samples each, "
        f"{experiment.C2}, white noise on angles and torques. The published variances of the averages serve as the "
        f"true ones; a recorded sample has {experiment.RECORDED_PERIODS} times as much. Tests with a false-alarm "
        "chance of "
        f"{experiment.EXPERIMENT_FALSE_ALARM_CHANCE:g}.",
        findings,
        table,
        differences=f"The published variances are too small by {100 * (1 - expected):.1f} %, σ by "
        f"{100 * (1 - np.sqrt(expected)):.1f} %: too little to matter.",
    )


# -- maximum likelihood against weighted least squares -----------------------------------------------------------------

TRIED_ANGLE_VARIANCES = (1e-10, 1e-8, 1e-6, 1e-4)  # [rad²] of the average; the last lies beyond any encoder
LARGEST_ENCODER_VARIANCE = 1e-6  # [rad²], of these: the largest that an encoder may have
QUIET_TORQUE_NOISE_RATIO = 0.1  # of the paper's torque noise: what angles then matter beside
INVISIBLE_SIGMA_DIFFERENCE = 0.01  # σ: a smaller difference shows in no digit of Table II


@dataclass(frozen=True, eq=False)
class Cases:
    """Logs along one motion with the published noise, with every size of noise (of the angles for both sizes of that of
    the torques), and of a machine."""

    measured: experiment.NoiseCase
    sizes: tuple[experiment.NoiseCase, ...]
    machine: experiment.NoiseCase

    @classmethod
    def along(cls, delta: Array, repetitions: int) -> Cases:
        motion = sampled(delta)
        return cls(
            experiment.repeated(
                motion, np.sqrt(experiment.TORQUE_VARIANCE), np.sqrt(experiment.POSITION_VARIANCE), repetitions
            ),
            tuple(
                experiment.repeated(motion, scale * TORQUE_NOISE_STD, np.full(3, np.sqrt(variance)), repetitions)
                for scale in (1.0, QUIET_TORQUE_NOISE_RATIO)
                for variance in TRIED_ANGLE_VARIANCES
            ),
            experiment.on_machine(delta, repetitions),
        )

    @property
    def loud(self) -> tuple[experiment.NoiseCase, experiment.NoiseCase]:
        """Of the largest noise of an encoder: with the paper's torque noise, with a tenth."""
        place = TRIED_ANGLE_VARIANCES.index(LARGEST_ENCODER_VARIANCE)
        return self.sizes[place], self.sizes[len(TRIED_ANGLE_VARIANCES) + place]

    @property
    def loudest(self) -> experiment.NoiseCase:
        return self.sizes[-1]


def estimators_part(cases: Cases) -> Part:
    measured, machine, last = cases.measured, cases.machine, cases.loudest
    count = len(measured.pairs)
    every = (measured, *cases.sizes)
    worst = min(every, key=lambda case: case.chance)
    most = max(every, key=lambda case: case.bias)
    mean = np.abs(machine.errors("ml").mean(axis=0)).max()
    findings = (
        claim(
            "with the measured noise of angles, ML and WLS do not differ",
            measured.apart.max() < INVISIBLE_SIGMA_DIFFERENCE,
            f"at most {measured.apart.max():.1g} σ in {count} logs with the published variances",
        ),
        claim(
            "the same on a virtual machine with controller and dry friction",
            machine.apart.max() < INVISIBLE_SIGMA_DIFFERENCE,
            f"at most {machine.apart.max():.1g} σ; errors are {machine.rms('ml'):.2f} σ rms and the mean one of a "
            f"parameter is up to {mean:.2f} ± {count**-0.5:.2f} σ: dry friction holds joints at reversals, "
            "which no sgn q̇ describes",
        ),
        *(apart_finding(case) for case in cases.loud),
        shown(
            f"rms error of WLS over that of ML where angles matter ({last})",
            last.rms("wls") / last.rms("ml"),
            f"largest |ML − WLS| of a log: median {np.median(last.apart):.2g} σ, at most {last.apart.max():.2g} σ",
        ),
        claim(
            "ML is unbiased and efficient, whatever the noise",
            most.bias < most.bias_limit and worst.chance > experiment.EXPERIMENT_FALSE_ALARM_CHANCE,
            f"{len(every)} sizes of noise; the largest mean error of a parameter is {most.bias:.2f} standard errors "
            f"(chance allows {most.bias_limit:.2f}), χ² of all errors under the Cramér–Rao bound has the chance "
            f"{worst.chance:.2g} or more",
        ),
    )
    table = DataTable.by_rows(
        "ml-and-wls",
        "Maximum likelihood, weighted least squares on the fitted series, and on angles differenced sample by sample. "
        "|ML − WLS| is that of the parameter where it is largest",
        [
            {
                "torque noise": case.torques if case is not machine else "measured; virtual machine",
                "angle variance [rad²]": case.angles,
                "median |ML − WLS| [σ]": np.median(case.apart),
                "largest |ML − WLS| [σ]": case.apart.max(),
                "… no uncertain directions [σ]": case.apart_careful.max(),
                "logs with a wrong direction": case.misled,
                "ML rms error [σ]": case.rms("ml"),
                "WLS rms error [σ]": case.rms("wls"),
                "differences rms error [σ]": case.rms("plain"),
                "ML bias [standard errors]": case.bias,
                "χ² chance": case.chance,
            }
            for case in (*every, machine)
        ],
    )
    loud = cases.loud[0]
    times = LARGEST_ENCODER_VARIANCE / experiment.POSITION_VARIANCE
    values = dict(zip([model().base.standard[k] for k in model().base.independent], theta(), strict=True))
    excess = values["XX3"] - values["ZZ3"]
    return Part(
        "Section V-B, estimators",
        "Maximum likelihood against weighted least squares",
        f"{count} virtual logs of {experiment.RECORDED_PERIODS} periods for every size of the noise (seeds 0 …, the "
        "same "
        f"draws), {experiment.C2}. Data come from (1), (2) and (11) with θ of Table I: no machine can have it, for a "
        f"rigid body needs XX3 − YY3 ≤ ZZ3, and Table I says {excess:.2f} kg·m² more. The machine of the second "
        "finding has the nearest bodies that exist. Noise is estimated from the periods. Variances, "
        f"{TRIED_ANGLE_VARIANCES[0]:.0e} … "
        f"{TRIED_ANGLE_VARIANCES[-1]:.0e} rad² of the angles, are those of the average, as in section V-A; a "
        "recorded sample has "
        f"{experiment.RECORDED_PERIODS} times as much. WLS is what ML starts from, as in the paper: a series fitted "
        "to the "
        "angles, then (7). σ is that of ML.",
        findings,
        table,
        _plot(cases.sizes),
        "The paper's explanation, small noise of the angles, is half of it. The series averages the angles over all "
        f"{experiment.RECORDED_PERIODS * IEEE_SAMPLES} samples and has no noise above its last harmonic: with "
        f"{round(times.min(), -2):.0f} … {round(times.max(), -2):.0f} times the measured variance, errors of WLS and "
        f"ML are still {loud.rms('wls'):.3f} and {loud.rms('ml'):.3f} σ rms beside the paper's torque noise. Angles "
        "differenced sample by sample would have ruined the estimate. Noise of q̈ by the series is √(2/N Σ (lω)⁴) of "
        f"that of the angles, {acceleration_noise(LARGEST_ENCODER_VARIANCE):.1g} rad/s² at "
        f"{LARGEST_ENCODER_VARIANCE:.0e} rad² here, and grows with the square "
        "of ω = 2π/period: beside the same torque noise, that of the angles harms a faster motion more.",
    )


def apart_finding(case: experiment.NoiseCase) -> Finding:
    """How far ML and WLS are apart in the logs of a case, and what torques of a wrong direction have to do with it."""
    note = (
        f"the largest of {len(case.apart)} logs {case.apart.max():.2g}. Once WLS, too, leaves out torques at "
        f"reversals whose direction of friction is uncertain: median {np.median(case.apart_careful):.2g}, largest "
        f"{case.apart_careful.max():.2g}"
    )
    if case.wrong is not None and case.misled:
        wrong = case.wrong > 0
        note += (
            f". In {case.misled} of {len(wrong)} logs a sample has the wrong direction: "
            f"there {case.apart[wrong].min():.2g} or more"
        )
        note += f", in all others at most {case.apart[~wrong].max():.2g}" if not wrong.all() else ""
    return shown(
        f"|ML − WLS| of the parameter where it is largest, angle variance {LARGEST_ENCODER_VARIANCE:.0e} rad², "
        "torque noise "
        f"{case.torques}: median of the logs [σ]",
        np.median(case.apart),
        note,
    )


def acceleration_noise(variance: float) -> float:
    """[rad/s²] standard deviation of q̈ by a series (11), fitted to N samples of white noise of a variance [rad²]."""
    speeds = 2.0 * np.pi / IEEE_FAMILY.period * np.array(IEEE_FAMILY.numbers)
    return float(np.sqrt(variance * 2.0 / IEEE_SAMPLES * (speeds**4).sum()))


def _plot(cases: tuple[experiment.NoiseCase, ...]) -> Plot:
    words = {"ml": "ML", "wls": "WLS on the series", "plain": "WLS on differences"}
    lines = [
        Line(f"{words[word]}, torque noise {group[0].torques}", np.array([case.rms(word) for case in group]))
        for group in (cases[: len(TRIED_ANGLE_VARIANCES)], cases[len(TRIED_ANGLE_VARIANCES) :])
        for word in words
    ]
    return Plot(
        "rms error of the parameters, in σ of ML",
        np.log10(np.array(TRIED_ANGLE_VARIANCES)),
        "log10 of the angle variance [rad²]",
        "rms error [σ]",
        lines,
        log=True,
    )


# -- the Cramér–Rao bound ----------------------------------------------------------------------------------------------

BELIEVED_PARAMETER_RATIOS = (0.5, 2.0)  # times the true parameters: believed when a motion is designed


def bound_of(delta: Array, known: Array, angles: float | Array, torques: Array) -> float:
    """log det of the Cramér–Rao bound on θ (6) along a motion, for parameters that are believed; variances of angles
    [rad²] and torques [(N·m)²]."""
    sigma = tuple(np.broadcast_to(np.sqrt(angles), 3).tolist())
    criterion = CramerRao(IEEE_FAMILY, sigma, tuple(known.tolist()))
    return DesignObjective(model(), criterion, model().base.independent, 1.0 / torques).value(sampled(delta))


def fisher_part(motion: Motion, case: experiment.NoiseCase) -> Part:
    """case: logs along the motion, angles so noisy that they matter."""
    criterion = CramerRao(IEEE_FAMILY, tuple(case.position_noise), tuple(chi()))
    observed = DesignObjective(model(), criterion, model().base.independent, case.torque_noise**-2.0).observed(motion)
    bound = np.sqrt(np.diag(np.linalg.inv(criterion.information(observed)[0])))
    linear = np.sqrt(np.diag(np.linalg.inv(observed.gram)))
    stated = np.mean([pair.ml.std for pair in case.pairs], axis=0)
    scatter = np.std([pair.ml.values for pair in case.pairs], axis=0, ddof=1)
    freedom = len(case.pairs) - 1
    chances = [experiment.two_sided(freedom * float(s / b) ** 2, freedom) for s, b in zip(scatter, stated, strict=True)]
    findings = (
        same(
            "median of the bound by ML over that of the design criterion (6)",
            1.0,
            float(np.median(stated / bound)),
            0.02,
            f"two independent implementations here; {case}; ML leaves out some torques at reversals",
        ),
        claim(
            "ML scatters as the corrected bound (6) says",
            min(chances) > experiment.EXPERIMENT_FALSE_ALARM_CHANCE / len(chances),
            f"{len(chances)} tests of (R − 1)s²/σ² as χ² with {freedom} degrees of freedom; the smallest chance is "
            f"{min(chances):.2g}, false alarm {experiment.EXPERIMENT_FALSE_ALARM_CHANCE:g} for all together; mean "
            "ratio s/σ "
            f"{float(np.mean(scatter / stated)):.3f}",
        ),
        shown(
            "median of the bound (6) over σ of (9), which takes angles as exact", np.median(bound / linear), str(case)
        ),
    )
    rows = [[name, *values] for name, *values in zip(model().base.names, linear, bound, stated, scatter, strict=True)]
    table = DataTable(
        "cramer-rao", f"σ of each parameter: {case}", ("parameter", "(9)", "(6)", "ML", "Monte Carlo"), rows
    )
    return Part(
        "Equation (6)",
        "The Cramér–Rao bound with noisy angles",
        f"The case of the estimators above with the most angle noise, {case}, where angles matter; {len(case.pairs)} "
        f"logs (seeds 0 …), {experiment.C2}.",
        findings,
        table,
    )


def needless_part(c2: Design) -> Part:
    """At the paper's noise the bound is (9), whatever is believed."""
    exact = DesignObjective(model(), DOptimality(), model().base.independent, 1.0 / experiment.TORQUE_VARIANCE).value(
        sampled(c2.delta)
    )
    lost = {
        factor: bound_of(c2.delta, factor * chi(), experiment.POSITION_VARIANCE, experiment.TORQUE_VARIANCE) - exact
        for factor in (1.0, *BELIEVED_PARAMETER_RATIOS)
    }
    findings = (
        claim(
            "with the measured noise, angles may be taken as exact in the design",
            max(lost.values()) < 1e-3,
            f"log det of the bound (6) is above that of (9) by {lost[1.0]:.1g}, of {exact:.1f}; "
            + ", ".join(
                f"{lost[factor]:.1g} for {factor:g} times the parameters" for factor in BELIEVED_PARAMETER_RATIOS
            ),
        ),
        shown("the motion keeps all limits at every instant", c2.certificate.certified),
    )
    return Part(
        "Sections III-B and V-A, criterion",
        "When the bound does not need the parameters",
        f"{experiment.C2[0].upper()}{experiment.C2[1:]}, with the published variances of averaged angles and torques.",
        findings,
    )
