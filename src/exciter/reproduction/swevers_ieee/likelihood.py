"""Maximum likelihood against weighted least squares, for many sizes of the noise (sections II-A, V-B)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Finding, claim, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.swevers_ieee.experiment import C2, PERIODS, POSITION_VARIANCE, TORQUE_VARIANCE
from exciter.reproduction.swevers_ieee.repetitions import CHANCE, Case, on_machine, repeated
from exciter.reproduction.swevers_ieee.set_up import FAMILY, NOISE, SAMPLES, model, sampled, theta
from exciter.typing import Array

ANGLES = (1e-10, 1e-8, 1e-6, 1e-4)  # [rad²] of the average; the last lies beyond any encoder
LOUD = 1e-6  # [rad²], of these: the largest that an encoder may have
QUIET = 0.1  # of the paper's torque noise: what angles then matter beside
SAME = 0.01  # σ: a smaller difference shows in no digit of Table II


@dataclass(frozen=True, eq=False)
class Cases:
    """Logs along one motion with the published noise, with every size of noise (of the angles for both sizes of that of
    the torques), and of a machine."""

    measured: Case
    sizes: tuple[Case, ...]
    machine: Case

    @classmethod
    def along(cls, delta: Array, repetitions: int) -> Cases:
        motion = sampled(delta)
        return cls(
            repeated(motion, np.sqrt(TORQUE_VARIANCE), np.sqrt(POSITION_VARIANCE), repetitions),
            tuple(
                repeated(motion, scale * NOISE, np.full(3, np.sqrt(variance)), repetitions)
                for scale in (1.0, QUIET)
                for variance in ANGLES
            ),
            on_machine(delta, repetitions),
        )

    @property
    def loud(self) -> tuple[Case, Case]:
        """Of the largest noise of an encoder: with the paper's torque noise, with a tenth."""
        place = ANGLES.index(LOUD)
        return self.sizes[place], self.sizes[len(ANGLES) + place]

    @property
    def loudest(self) -> Case:
        return self.sizes[-1]


def estimators_part(cases: Cases) -> Part:
    measured, machine, last = cases.measured, cases.machine, cases.loudest
    count = len(measured.pairs)
    every = (measured, *cases.sizes)
    worst = min(every, key=lambda case: case.chance)
    most = max(every, key=lambda case: case.bias)
    findings = (
        claim(
            "with the measured noise of angles, ML and WLS do not differ",
            measured.apart.max() < SAME,
            f"at most {measured.apart.max():.1g} σ in {count} logs with the published variances",
        ),
        claim(
            "the same on a virtual machine with controller and dry friction",
            machine.apart.max() < SAME,
            f"at most {machine.apart.max():.1g} σ; errors are {machine.rms('ml'):.2f} σ rms and the mean one of a "
            f"parameter is up to {_mean(machine):.2f} ± {count**-0.5:.2f} σ: dry friction holds joints at reversals, "
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
            most.bias < most.bias_limit and worst.chance > CHANCE,
            f"{len(every)} sizes of noise; the largest mean error of a parameter is {most.bias:.2f} standard errors "
            f"(chance allows {most.bias_limit:.2f}), χ² of all errors under the Cramér–Rao bound has the chance "
            f"{worst.chance:.2g} or more",
        ),
    )
    rows = [
        [
            case.torques,
            case.angles,
            float(np.median(case.apart)),
            case.apart.max(),
            case.apart_careful.max(),
            case.misled,
            *(case.rms(w) for w in ("ml", "wls", "plain")),
            case.bias,
            case.chance,
        ]
        for case in (*every, machine)
    ]
    rows[-1][0] = "measured; virtual machine"
    table = DataTable(
        "ml-and-wls",
        "Maximum likelihood, weighted least squares on the fitted series, and on angles differenced sample by sample. "
        "|ML − WLS| is that of the parameter where it is largest",
        (
            "torque noise",
            "angle variance [rad²]",
            "median |ML − WLS| [σ]",
            "largest |ML − WLS| [σ]",
            "… no uncertain directions [σ]",
            "logs with a wrong direction",
            "ML rms error [σ]",
            "WLS rms error [σ]",
            "differences rms error [σ]",
            "ML bias [standard errors]",
            "χ² chance",
        ),
        rows,
    )
    loud = cases.loud[0]
    times = LOUD / POSITION_VARIANCE
    return Part(
        "Section V-B, estimators",
        "Maximum likelihood against weighted least squares",
        f"{count} virtual logs of {PERIODS} periods for every size of the noise (seeds 0 …, the same draws), {C2}. "
        "Data come from (1), (2) and (11) with θ of Table I: no machine can have it, for a rigid body needs "
        f"XX3 − YY3 ≤ ZZ3, and Table I says {_excess():.2f} kg·m² more. The machine of the second finding has the "
        "nearest bodies that exist. Noise is estimated from the periods. Variances, "
        f"{ANGLES[0]:.0e} … {ANGLES[-1]:.0e} rad² of the angles, are those of the average, as in section V-A; a "
        f"recorded sample has {PERIODS} times as much. WLS is what ML starts from, as in the paper: a series fitted to "
        "the angles, then (7). σ is that of ML.",
        findings,
        (table,),
        (_plot(cases.sizes),),
        "The paper's explanation, small noise of the angles, is half of it. The series averages the angles over all "
        f"{PERIODS * SAMPLES} samples and has no noise above its last harmonic: with "
        f"{round(times.min(), -2):.0f} … {round(times.max(), -2):.0f} times the measured variance, errors of WLS and "
        f"ML are still {loud.rms('wls'):.3f} and {loud.rms('ml'):.3f} σ rms beside the paper's torque noise. Angles "
        f"differenced sample by sample would have ruined the estimate. Noise of q̈ by the series is √(2/N Σ (lω)⁴) of "
        f"that of the angles, {acceleration_noise(LOUD):.1g} rad/s² at {LOUD:.0e} rad² here, and grows with the square "
        "of ω = 2π/period: beside the same torque noise, that of the "
        "angles harms a faster motion more.",
    )


def apart_finding(case: Case) -> Finding:
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
        f"|ML − WLS| of the parameter where it is largest, angle variance {LOUD:.0e} rad², torque noise "
        f"{case.torques}: median of the logs [σ]",
        float(np.median(case.apart)),
        note,
    )


def acceleration_noise(variance: float) -> float:
    """[rad/s²] standard deviation of q̈ by a series (11), fitted to N samples of white noise of a variance [rad²]."""
    speeds = 2.0 * np.pi / FAMILY.period * np.array(FAMILY.numbers)
    return float(np.sqrt(variance * 2.0 / SAMPLES * (speeds**4).sum()))


def _excess() -> float:
    values = dict(zip([model().base.standard[k] for k in model().base.independent], theta(), strict=True))
    return float(values["XX3"] - values["ZZ3"])


def _mean(case: Case) -> float:
    return float(np.abs(case.errors("ml").mean(axis=0)).max())


def _plot(cases: tuple[Case, ...]) -> Plot:
    words = {"ml": "ML", "wls": "WLS on the series", "plain": "WLS on differences"}
    lines = [
        Line(f"{words[word]}, torque noise {group[0].torques}", np.array([case.rms(word) for case in group]))
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
