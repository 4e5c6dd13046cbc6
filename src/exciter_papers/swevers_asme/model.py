"""Section 4.1: equations (7)–(9) of the model written out, corrected or with any of the misprints, against the dynamics
of the robot; and the paper's barycentric parameters.

Joint 1 turns about the vertical Z, joints 2 and 3 about Y; the arm is upright at q2 = q3 = 0. p = q2 + q3.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum

import numpy as np

import exciter as ex
from exciter.typing import Array
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, same, shown
from exciter_papers.swevers_asme import set_up

L: float = set_up.EXPERIMENT["joint_distance"]  #: [m] l_z^23
GRAVITY = 9.81  #: [m/s²]
BARYCENTRIC_NAMES = (
    "kzz1",
    "kyz2",
    "kd2",
    "kyy2",
    "mbz2",
    "kyz3",
    "kd3",
    "kyy3",
    "mbz3",
    *(f"{letter}{j}" for letter in "cv" for j in (1, 2, 3)),
)


class Misprint(StrEnum):
    """What is wrong in the text of section 4.1, each on its own."""

    FACTOR = "(7): q̇1 q̇2 sin 2q2 and q̇1 (q̇2 + q̇3) sin 2p without their factor 2"
    RATE = "(7): 2 q̇1 sin q2 sin p where q̈1 is meant"
    SINE = "(8): k_d³ 2 q̇1² cos p without sin p"
    SIGNS = "(8): a parenthesis that turns the signs of q̇3² sin q3 and 2 q̇2 q̇3 sin q3"
    BRACKETS = "(8), (9): the terms with l_z²³ outside the brackets of mb_z³"
    FRICTION = "(7), (8): c1 sin q1 and c2 sin q̇2 where the sign of the velocity is meant"
    KYZ2 = "k_yz²: − l_y³³ m³ without the factor l_z²³"
    KD2 = "k_d²: brackets lost, so that m³ l_z²³² and m² (l_y²² ² + l_z²² ²) have the wrong sign"


NONE: frozenset[Misprint] = frozenset()


def regressor(
    q: Array, qd: Array, qdd: Array, wrong: Collection[Misprint] = NONE, length: float = L, g: float = GRAVITY
) -> tuple[Array, Array]:
    """Φ (…, 3, 15) in the order of ``BARYCENTRIC_NAMES`` for states (…, 3), and torque (…, 3) of no parameter: zero
    but for the misprint of the brackets."""
    _, q2, q3 = np.moveaxis(q, -1, 0)
    v1, v2, v3 = np.moveaxis(qd, -1, 0)
    a1, a2, a3 = np.moveaxis(qdd, -1, 0)
    p, vp, ap = q2 + q3, v2 + v3, a2 + a3
    s2, c2, s3, c3, sp, cp = np.sin(q2), np.cos(q2), np.sin(q3), np.cos(q3), np.sin(p), np.cos(p)
    two = 1.0 if Misprint.FACTOR in wrong else 2.0
    phi, known = np.zeros((*q.shape, len(BARYCENTRIC_NAMES))), np.zeros(q.shape)
    one, second, third = (phi[..., j, :] for j in range(3))
    one[..., 0] = a1
    one[..., 1] = a2 * c2 - v2**2 * s2
    one[..., 2] = a1 * np.cos(2 * q2) - two * v1 * v2 * np.sin(2 * q2)
    one[..., 5] = ap * cp - vp**2 * sp
    one[..., 6] = a1 * np.cos(2 * p) - two * v1 * vp * np.sin(2 * p)
    turning = v1 if Misprint.RATE in wrong else a1
    one[..., 8] = length * (2 * turning * s2 * sp + 2 * v1 * v2 * np.sin(q2 + p) + 2 * v1 * v3 * cp * s2)
    second[..., 1] = a1 * c2
    second[..., 2] = v1**2 * np.sin(2 * q2)
    second[..., 3] = a2
    second[..., 4] = -g * s2
    third[..., 5] = a1 * cp
    third[..., 6] = v1**2 * np.sin(2 * p)
    third[..., 7] = ap
    second[..., 5:8] = third[..., 5:8]
    if Misprint.SINE in wrong:
        second[..., 6] = 2 * v1**2 * cp
    sign = 1.0 if Misprint.SIGNS in wrong else -1.0
    swing2 = (2 * a2 + a3) * c3 - v1**2 * np.sin(q2 + p) + sign * (v3**2 + 2 * v2 * v3) * s3
    swing3 = a2 * c3 - v1**2 * cp * s2 + v2**2 * s3
    for row, target, swing in ((1, second, swing2), (2, third, swing3)):
        target[..., 8] = -g * sp
        if Misprint.BRACKETS in wrong:
            known[..., row] = length * swing
        else:
            target[..., 8] += length * swing
    for j in range(3):
        phi[..., j, 9 + j] = np.sign(qd[..., j])
        phi[..., j, 12 + j] = qd[..., j]
    if Misprint.FRICTION in wrong:
        one[..., 9], second[..., 10] = np.sin(q[..., 0]), np.sin(v2)
    return phi, known


def barycentric(arm: ex.Robot, wrong: Collection[Misprint] = NONE) -> Array:
    """θ (15,) of a robot with symmetric bodies, as ``BARYCENTRIC_NAMES``: the paper's formulas, friction last."""
    m, ly, lz, xx, yy, zz = (np.array(x) for x in zip(*(_body(phi) for phi in arm.inertias[1:]), strict=True))
    xx_about, zz_about = xx + m * (ly**2 + lz**2), zz + ly**2 * m  # about the joint
    carried = m[1] * L**2
    kyz2 = -ly[0] * lz[0] * m[0] - (1.0 if Misprint.KYZ2 in wrong else L) * ly[1] * m[1]
    lost = xx[0] - carried - m[0] * (ly[0] ** 2 + lz[0] ** 2) if Misprint.KD2 in wrong else xx_about[0] + carried
    inertial = [
        arm.inertias[0, 9] + 0.5 * (xx_about.sum() + carried + zz_about.sum()),
        kyz2,
        0.5 * (zz_about[0] - lost),
        yy[0] + carried + lz[0] ** 2 * m[0],
        lz[0] * m[0] + L * m[1],
        -ly[1] * lz[1] * m[1],
        0.5 * (zz_about[1] - xx_about[1]),
        yy[1] + lz[1] ** 2 * m[1],
        lz[1] * m[1],
    ]
    return np.array([*inertial, *arm.friction["coulomb"], *arm.friction["viscous"]])


def _body(phi: Array) -> tuple[float, float, float, float, float, float]:
    """m, l_y, l_z and I_xx, I_yy, I_zz about the centre of mass, in the paper's axes X, Y, Z = y, z, x of the table."""
    m, (lz, _, ly) = phi[0], phi[1:4] / phi[0]
    return m, ly, lz, phi[6] - m * (ly**2 + lz**2), phi[9] - m * lz**2, phi[4] - m * ly**2


def torque(arm: ex.Robot, motion: ex.Motion, wrong: Collection[Misprint] = NONE, friction: bool = True) -> Array:
    """τ (N, 3) [N·m] by the paper's equations."""
    phi, known = regressor(motion.q, motion.qd, motion.qdd, wrong)
    theta = barycentric(arm, wrong)
    if not friction:
        theta[9:] = 0.0
    return np.asarray(phi @ theta + known)


#: names of the paper → those of the product, whose x, y, z are the paper's Z, X, Y
AUGMENTED_BODY_NAMES = {
    "kzz1": "kzz1",
    **{
        f"{theirs}{j}": f"{ours}{j}"
        for theirs, ours in (("kyz", "kxz"), ("kd", "kd"), ("kyy", "kzz"), ("mbz", "mbx"))
        for j in (2, 3)
    },
    **{f"{theirs}{j}": f"{ours}{j}" for theirs, ours in (("c", "Fs"), ("v", "Fv")) for j in (1, 2, 3)},
}


def augmented(arm: ex.Robot) -> tuple[Array, float]:
    """θ (15,) by the general rules of augmented bodies, in the order of ``BARYCENTRIC_NAMES``; and the largest of the
    other parameters that these have, zero for symmetric bodies."""
    found = {name: value for name, _, value in ex.base(arm, set_up.ASME_FRICTION_TERMS).barycentric_rows()}
    mine = np.array([found.pop(AUGMENTED_BODY_NAMES[name]) for name in BARYCENTRIC_NAMES])
    return mine, max(map(abs, found.values()))


# -- against the dynamics of the robot ---------------------------------------------------------------------------------

MODEL_DIFFERENCE_ROUNDING = 1e-9  # [N·m, J] above which a difference is an error


def run(effort: Effort) -> Sequence[Part]:
    motion = set_up.sampled(set_up.table_1(swapped=True))
    return [_corrected(motion), _printed(motion)]


def _set_up() -> str:
    masses = set_up.robot().inertias[:, 0]
    return (
        f"States: the {set_up.ASME_SAMPLES} samples of Table 1 with a and b swapped. The paper gives no masses; the "
        "robot "
        f"has plausible symmetric bodies (link 2: {masses[1]:g} kg, link 3: {masses[2]:g} kg) and the friction of the "
        "authors' IEEE paper, so errors in N·m are of the right size, not the paper's. The work of the torques without "
        "friction over one period is zero for every true model, because the motion ends in the state it began in. Each "
        "misprint is taken alone."
    )


def work(motion: ex.Motion, tau: Array) -> float:
    """∮ q̇ᵀτ dt [J] of one period; the sum over even samples is exact but for rounding."""
    return float((motion.qd * tau).sum() * set_up.ASME_FAMILY.period / len(motion))


def _corrected(motion: ex.Motion) -> Part:
    phi, _ = regressor(motion.q, motion.qd, motion.qdd)
    ours = set_up.columns().rows(set_up.model().regressor(motion)[:, :, set_up.columns().selected])
    difference = float(np.abs(phi - ours).max())
    tau = set_up.model().torque(motion)
    error = float(np.abs(torque(set_up.robot(), motion) - tau).max())
    gained = work(motion, torque(set_up.robot(), motion, friction=False))
    rank = int(np.linalg.matrix_rank(phi.reshape(-1, len(BARYCENTRIC_NAMES))))
    listed = set_up.ASME_FIGURES["parameter_list"]
    general, rest = augmented(set_up.robot())
    return Part(
        "Equations (7)–(9)",
        "The model, corrected",
        _set_up(),
        (
            claim(
                f"the corrected equations are linear in {set_up.ALL} and give the robot's torques",
                difference < MODEL_DIFFERENCE_ROUNDING and error < MODEL_DIFFERENCE_ROUNDING,
                f"regressor of 3 × {len(BARYCENTRIC_NAMES)} entries: differs by {difference:.1e} at most from that "
                "of the general "
                f"recursive dynamics; torques by {error:.1e} N·m (largest torque {np.abs(tau).max():.0f} N·m)",
            ),
            claim(
                "the parameters are those of augmented bodies",
                float(np.abs(general - barycentric(set_up.robot())).max()) < MODEL_DIFFERENCE_ROUNDING
                and rest < MODEL_DIFFERENCE_ROUNDING,
                f"general rules (exciter base --barycentric) give the {len(general)} printed ones, k_yz² and k_d² as "
                f"corrected, and {rest:.1g} for the others, which bodies symmetric to the Y–Z plane do not have",
            ),
            same(
                "independent parameters",
                set_up.EXPERIMENT["parameters"],
                rank,
                0,
                f"rank of A; the paper's list has {len(listed)} names, {len(set(listed))} of them different",
            ),
            claim(
                "energy is conserved without friction",
                abs(gained) < MODEL_DIFFERENCE_ROUNDING,
                f"work over one period {gained:.1e} J",
            ),
        ),
        differences="Corrections: factor 2 in both sin 2q terms of (7); q̈1 for q̇1 in its mb_z³ term, whose symbol is "
        "mb_z³, not mb_x³; sin p in the k_d³ term of (8); brackets of the mb_z³ terms of (8) and (9); sign(q̇) for the "
        "sines of Coulomb friction; l_z²³ in k_yz²; brackets in k_d².",
    )


def _printed(motion: ex.Motion) -> Part:
    truth = set_up.model().torque(motion)
    rows = []
    errors, works = {}, {}
    for misprint in Misprint:
        error = np.abs(torque(set_up.robot(), motion, {misprint}) - truth).max(axis=0)
        rigid = torque(set_up.robot(), motion, {misprint}, friction=False)
        errors[misprint], works[misprint] = float(error.max()), work(motion, rigid)
        rows.append((str(misprint), *(_rounded(float(x)) for x in (*error, works[misprint]))))
    breaking = [misprint for misprint in Misprint if abs(works[misprint]) > MODEL_DIFFERENCE_ROUNDING]
    factor = Misprint.FACTOR
    findings: list[Finding] = [
        claim(
            "equations (7)–(9) as printed are the robot's dynamics",
            max(errors.values()) < MODEL_DIFFERENCE_ROUNDING,
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
        findings,
        DataTable(
            "misprints",
            "Each misprint alone: largest torque error over the motion, and work per period without friction "
            "(zero for a true model; wrong friction or parameter values do not show there)",
            ("misprint", "joint 1 [N·m]", "joint 2 [N·m]", "joint 3 [N·m]", "work [J]"),
            rows,
        ),
        differences="The text at hand comes from a scan, so that some of these may be errors of recognition. The "
        "missing factor 2 hardly is: three terms of (7) lack it alike.",
    )


def _rounded(value: float) -> float:
    return 0.0 if abs(value) < MODEL_DIFFERENCE_ROUNDING else value
