"""The Cramér–Rao bound (6) with noisy angles: what ML reaches, and when a design needs it (II-A, III-B, V-A)."""

from __future__ import annotations

import numpy as np

from exciter.excitation.criteria import CramerRao, DOptimality
from exciter.excitation.criteria.criterion import Objective
from exciter.excitation.design import Design
from exciter.reproduction.finding import claim, same, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.swevers_ieee.experiment import C2, POSITION_VARIANCE, TORQUE_VARIANCE
from exciter.reproduction.swevers_ieee.repetitions import CHANCE, Case, two_sided
from exciter.reproduction.swevers_ieee.set_up import FAMILY, chi, model, sampled
from exciter.robot.motion import Motion
from exciter.typing import Array

WRONG = (0.5, 2.0)  # times the true parameters: believed when a motion is designed


def bound_of(delta: Array, known: Array, angles: float | Array, torques: Array) -> float:
    """log det of the Cramér–Rao bound on θ (6) along a motion, for parameters that are believed; variances of angles
    [rad²] and torques [(N·m)²]."""
    sigma = tuple(np.broadcast_to(np.sqrt(angles), 3).tolist())
    criterion = CramerRao(FAMILY, sigma, tuple(known.tolist()))
    return Objective(model(), criterion, model().base.independent, 1.0 / torques).value(sampled(delta))


def fisher_part(motion: Motion, case: Case) -> Part:
    """case: logs along the motion, angles so noisy that they matter."""
    criterion = CramerRao(FAMILY, tuple(case.position_noise), tuple(chi()))
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
            f"two independent implementations here; {case}; ML leaves out some torques at reversals",
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
            str(case),
        ),
    )
    rows = [[name, *values] for name, *values in zip(model().base.names, linear, bound, stated, scatter, strict=True)]
    table = DataTable(
        "cramer-rao", f"σ of each parameter: {case}", ("parameter", "(9)", "(6)", "ML", "Monte Carlo"), rows
    )
    return Part(
        "Equation (6)",
        "The Cramér–Rao bound with noisy angles",
        f"The case of the estimators above with the most angle noise, "
        f"{case}, where angles matter; {len(case.pairs)} logs (seeds 0 …), "
        f"{C2}.",
        findings,
        (table,),
    )


def needless_part(c2: Design) -> Part:
    """At the paper's noise the bound is (9), whatever is believed."""
    exact = Objective(model(), DOptimality(), model().base.independent, 1.0 / TORQUE_VARIANCE).value(sampled(c2.delta))
    lost = {
        factor: bound_of(c2.delta, factor * chi(), POSITION_VARIANCE, TORQUE_VARIANCE) - exact
        for factor in (1.0, *WRONG)
    }
    findings = (
        claim(
            "with the measured noise, angles may be taken as exact in the design",
            max(lost.values()) < 1e-3,
            f"log det of the bound (6) is above that of (9) by {lost[1.0]:.1g}, of {exact:.1f}; "
            + ", ".join(f"{lost[factor]:.1g} for {factor:g} times the parameters" for factor in WRONG),
        ),
        shown("the motion keeps all limits at every instant", c2.certificate.certified),
    )
    return Part(
        "Sections III-B and V-A, criterion",
        "When the bound does not need the parameters",
        f"{C2[0].upper()}{C2[1:]}, with the published variances of averaged angles and torques.",
        findings,
    )
