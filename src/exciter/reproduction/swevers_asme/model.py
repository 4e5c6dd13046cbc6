"""Section 4.1: the equations of the model, corrected and as printed, against the dynamics of the robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.reproduction.finding import Finding, claim, same, shown
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.reproduction.swevers_asme.equations import NAMES, Misprint, regressor, torque
from exciter.reproduction.swevers_asme.set_up import (
    ALL,
    EXPERIMENT,
    FAMILY,
    PAPER,
    SAMPLES,
    columns,
    model,
    robot,
    sampled,
    table_1,
)
from exciter.robot.motion import Motion
from exciter.typing import Array

ROUNDING = 1e-9  # [N·m, J] above which a difference is an error


def run(effort: Effort) -> Sequence[Part]:
    motion = sampled(table_1(swapped=True))
    return [_corrected(motion), _printed(motion)]


def _set_up() -> str:
    masses = robot().inertias[:, 0]
    return (
        f"States: the {SAMPLES} samples of Table 1 with a and b swapped. The paper gives no masses; the robot has "
        f"plausible symmetric bodies (link 2: {masses[1]:g} kg, link 3: {masses[2]:g} kg) and the friction of the "
        "authors' IEEE paper, so errors in N·m are of the right size, not the paper's. The work of the torques without "
        "friction over one period is zero for every true model, because the motion ends in the state it began in. Each "
        "misprint is taken alone."
    )


def work(motion: Motion, tau: Array) -> float:
    """∮ q̇ᵀτ dt [J] of one period; the sum over even samples is exact but for rounding."""
    return float((motion.qd * tau).sum() * FAMILY.period / len(motion))


def _corrected(motion: Motion) -> Part:
    phi, _ = regressor(motion.q, motion.qd, motion.qdd)
    ours = columns().rows(model().regressor(motion)[:, :, columns().selected])
    difference = float(np.abs(phi - ours).max())
    tau = model().torque(motion)
    error = float(np.abs(torque(robot(), motion) - tau).max())
    gained = work(motion, torque(robot(), motion, friction=False))
    rank = int(np.linalg.matrix_rank(phi.reshape(-1, len(NAMES))))
    listed = PAPER["parameter_list"]
    return Part(
        "Equations (7)–(9)",
        "The model, corrected",
        _set_up(),
        (
            claim(
                f"the corrected equations are linear in {ALL} and give the robot's torques",
                bool(difference < ROUNDING and error < ROUNDING),
                f"regressor of 3 × {len(NAMES)} entries: differs by {difference:.1e} at most from that of the general "
                f"recursive dynamics; torques by {error:.1e} N·m (largest torque {np.abs(tau).max():.0f} N·m)",
            ),
            same(
                "independent parameters",
                EXPERIMENT["parameters"],
                rank,
                0,
                f"rank of A; the paper's list has {len(listed)} names, {len(set(listed))} of them different",
            ),
            claim(
                "energy is conserved without friction",
                abs(gained) < ROUNDING,
                f"work over one period {gained:.1e} J",
            ),
        ),
        differences="Corrections: factor 2 in both sin 2q terms of (7); q̈1 for q̇1 in its mb_z³ term, whose symbol is "
        "mb_z³, not mb_x³; sin p in the k_d³ term of (8); brackets of the mb_z³ terms of (8) and (9); sign(q̇) for the "
        "sines of Coulomb friction; l_z²³ in k_yz²; brackets in k_d².",
    )


def _printed(motion: Motion) -> Part:
    truth = model().torque(motion)
    rows: list[tuple[str | float, ...]] = []
    errors, works = {}, {}
    for misprint in Misprint:
        error = np.abs(torque(robot(), motion, {misprint}) - truth).max(axis=0)
        errors[misprint], works[misprint] = float(error.max()), work(motion, _rigid(motion, misprint))
        rows.append((str(misprint), *(_rounded(float(x)) for x in (*error, works[misprint]))))
    breaking = [misprint for misprint in Misprint if abs(works[misprint]) > ROUNDING]
    factor = Misprint.FACTOR
    findings: list[Finding] = [
        claim(
            "equations (7)–(9) as printed are the robot's dynamics",
            max(errors.values()) < ROUNDING,
            f"each of {len(errors)} misprints changes torques by {min(errors.values()):.2g} … "
            f"{max(errors.values()):.2g} N·m; {len(breaking)} of them make or destroy energy",
        ),
        shown(
            "largest torque error of the missing factor 2 in (7) [N·m]",
            errors[factor],
            f"no robot has such a model: its energy changes by {works[factor]:.2g} J per period without friction",
        ),
    ]
    return Part(
        "Equations (7)–(9), as printed",
        "Misprints of the model",
        _set_up(),
        tuple(findings),
        (
            DataTable(
                "misprints",
                "Each misprint alone: largest torque error over the motion, and work per period without friction "
                "(zero for a true model; wrong friction or parameter values do not show there)",
                ("misprint", "joint 1 [N·m]", "joint 2 [N·m]", "joint 3 [N·m]", "work [J]"),
                rows,
            ),
        ),
        differences="The text at hand comes from a scan, so that some of these may be errors of recognition. The "
        "missing factor 2 hardly is: three terms of (7) lack it alike.",
    )


def _rounded(value: float) -> float:
    return 0.0 if abs(value) < ROUNDING else value


def _rigid(motion: Motion, misprint: Misprint) -> Array:
    return torque(robot(), motion, {misprint}, friction=False)
