"""Section 5: the quintic segment, its extrema, and what the paper says of them as functions of the time u_f."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.experiments.segment_times import Segments, shortest_times
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.gautier_khalil.sequences import assumed_limits, robot_model
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, same, shown

SEGMENT_SEED = 5
TRIED_SEGMENT_TIMES = np.geomspace(0.05, 100.0, 200)  # u_f [s] at which extrema are compared
SEGMENT_ROUNDING = 1e-9  # relative: less is rounding
DENSE_INSTANTS_PER_SEGMENT = 2001  # instants of a segment that extrema are compared with
RECIPE_ACCELERATION = 1.0  # [rad/s²] acceleration limit of the recipe of 5.2
COUNTEREXAMPLE_TIMES = (1.0, 2.0, 20.0)  # u_f [s] of the counterexample


def segments_part(effort: Effort) -> Part:
    random = random_segments(effort.pick(300, 4000))
    highest = peaks(random)
    rises = np.asarray(((highest[..., 1:] - highest[..., :-1]) > SEGMENT_ROUNDING * highest[..., 1:]).any(axis=-1))
    counter = Segments.between([[0.0], [1.0]], [[1.0], [1.0]])

    def largest(times: Iterable[float]) -> list[float]:
        """|q̈| [rad/s²] of the counterexample."""
        return [float(counter.peaks(np.array([1.0 / u]), 2)[1, 0, 0]) for u in times]

    turns, times = largest(COUNTEREXAMPLE_TIMES), np.geomspace(0.8, 20.0, 400)
    findings = [*_formulas(random), *_claims(random, rises, turns), _recipe(effort)]
    return Part(
        "Section 5",
        "Quintic segments: coefficients, extrema, shortest times",
        f"{assumed_limits()}. {len(random.travel)} random segments of one joint, ends uniform within these limits "
        f"(seed {SEGMENT_SEED}); extrema exactly, from the roots of the next derivative, at "
        f"{len(TRIED_SEGMENT_TIMES)} times u_f from "
        f"{TRIED_SEGMENT_TIMES[0]:g} to {TRIED_SEGMENT_TIMES[-1]:g} s.",
        findings,
        DataTable(
            "counterexample",
            "Largest |q̈| of the segment q = 0 → 1 rad, q̇ = 1 rad/s at both ends",
            ("u_f [s]", "largest |q̈| [rad/s²]"),
            list(zip(COUNTEREXAMPLE_TIMES, turns, strict=True)),
        ),
        Plot(
            "Largest acceleration of the segment 0 → 1 rad with 1 rad/s at both ends",
            times,
            "u_f [s]",
            "rad/s²",
            [Line("largest |q̈|", np.array(largest(times)), "rad/s²")],
        ),
        "Two formulas are misprinted: the extrema of q̇ are at the roots of 3a₃ + 6a₄u + 10a₅u² = 0 (u is missing), "
        "those of q̈ at the roots of the jerk, 6a₃ + 24a₄u + 60a₅u² = 0 (the text has q̈ = 0). The largest |q̈| is no "
        "monotone function of u_f, so the shortest time has to be searched from the short side, as is done here.",
    )


def random_segments(count: int) -> Segments:
    """(count, 1): one joint."""
    rng = np.random.default_rng(SEGMENT_SEED)
    robot = robot_model().robot
    high, speed = robot.limit("upper")[0], robot.limit("velocity")[0]
    q, qd = rng.uniform(-high, high, (2, count, 1)), rng.uniform(-speed, speed, (2, count, 1))
    return Segments(q[0], qd[0], q[1], qd[1])


def peaks(segments: Segments) -> Array:
    """(2, R, T): largest |q̇| and |q̈| over ``TRIED_SEGMENT_TIMES``."""
    found = [segments.peaks(np.full(len(segments.travel), 1.0 / u), 2)[..., 0] for u in TRIED_SEGMENT_TIMES]
    return np.stack(found, axis=-1)


def coefficients(segments: Segments, u: float) -> Array:
    """a₀ … a₅ (28), (6, R)."""
    a, va, vb = segments.travel[:, 0], segments.qd_start[:, 0], segments.qd_end[:, 0]
    return np.array(
        [
            segments.q_start[:, 0],
            va,
            np.zeros_like(a),
            10 * a / u**3 - (6 * va + 4 * vb) / u**2,
            -15 * a / u**4 + (8 * va + 7 * vb) / u**3,
            6 * a / u**5 - 3 * (va + vb) / u**4,
        ]
    )


def _values(a: Array, u: Array, order: int) -> Array:
    """The order-th derivative of polynomials (6, R) at u (…, R) or (…, 1)."""
    for _ in range(order):
        a = a[1:] * np.arange(1.0, len(a))[:, None]
    return sum((c * u**power for power, c in enumerate(a)), np.zeros(np.broadcast_shapes(u.shape, a[0].shape)))


def _positions(segments: Segments, u: float) -> Array:
    """(2, R): highest q and −lowest q; sampled, to some 1e-6 of the travel."""
    q = _values(coefficients(segments, u), np.linspace(0.0, u, 201)[:, None], 0)
    return np.stack([q.max(axis=0), -q.min(axis=0)])


# -- formulas --------------------------------------------------------------------------------------------------------


def _formulas(segments: Segments) -> list[Finding]:
    u = 1.7
    a, ends = coefficients(segments, u), np.array([[0.0], [u]])
    wanted = np.array(
        [
            [segments.q_start[:, 0], segments.q_end[:, 0]],
            [segments.qd_start[:, 0], segments.qd_end[:, 0]],
            np.zeros((2, a.shape[1])),
        ]
    )
    gap = max(float(np.abs(_values(a, ends, order) - goal).max()) for order, goal in enumerate(wanted))
    inside = np.linspace(0.0, u, DENSE_INSTANTS_PER_SEGMENT)[:, None]
    dense = [np.abs(_values(a, inside, order)).max(axis=0) for order in (1, 2)]
    exact = segments.peaks(np.full(len(segments.travel), 1.0 / u), 2)[..., 0]
    velocity, printed_velocity, acceleration, printed = _by_roots(a, u)
    scale = [one.max() for one in exact]
    missed = float((np.abs(printed_velocity - exact[0]) > 1e-6 * scale[0]).mean())
    return [
        same("(28) against the conditions (27), largest difference [rad, rad/s, rad/s²]", 0.0, gap, 1e-12),
        same(
            "extrema of q̇ from 3a₃ + 6a₄u + 10a₅u² = 0, largest difference to the exact ones [rad/s]",
            0.0,
            float(np.abs(velocity - exact[0]).max()),
            1e-9,
            "the equation with the missing u put in",
        ),
        claim(
            "extrema of q̇ from 3a₃ + 6a₄ + 10a₅u² = 0, as printed",
            missed == 0.0,
            f"wrong for {100 * missed:.0f} % of the segments: a₄ has lost its u",
        ),
        same(
            "extrema of q̈ from 6a₃ + 24a₄u + 60a₅u² = 0, largest difference to the exact ones [rad/s²]",
            0.0,
            float(np.abs(acceleration - exact[1]).max()),
            1e-9,
            "roots of the jerk",
        ),
        claim(
            "extrema of q̈ from q̈ = 0, as printed",
            np.allclose(printed, exact[1]),
            f"at those instants q̈ is zero by definition (here up to {printed.max():.1g} rad/s²): the jerk is meant",
        ),
        shown(
            f"largest |q̇|, |q̈| by roots, less those of {DENSE_INSTANTS_PER_SEGMENT} samples [rad/s, rad/s²]",
            f"{(exact[0] - dense[0]).max():.1g}, {(exact[1] - dense[1]).max():.1g}",
            "sampling never exceeds the exact values and comes near them",
        ),
    ]


def _by_roots(a: Array, u: float) -> tuple[Array, Array, Array, Array]:
    """Largest |q̇| by the corrected and by the printed equation, and |q̈| likewise, (R,) each."""
    ends = np.array([0.0, u])
    found: list[list[float]] = [[], [], [], []]
    for column in a.T:
        rate = np.polynomial.Polynomial(column).deriv()
        force = rate.deriv()
        equations = (
            [3 * column[3], 6 * column[4], 10 * column[5]],
            [3 * column[3] + 6 * column[4], 0.0, 10 * column[5]],
            [6 * column[3], 24 * column[4], 60 * column[5]],
            [3 * column[3], 6 * column[4], 10 * column[5]],
        )
        for values, equation, curve in zip(found, equations, (rate, rate, force, force), strict=True):
            roots = np.polynomial.Polynomial(equation).roots()
            inner = np.real(roots[np.abs(np.imag(roots)) < 1e-12 * u])
            inner = inner[(inner >= 0.0) & (inner <= u)]
            values.append(float(np.abs(curve(np.append(inner, ends))).max()))
    first, second, third, fourth = (np.array(values) for values in found)
    return first, second, third, fourth


# -- monotone or not --------------------------------------------------------------------------------------------------


def _claims(segments: Segments, rises: NDArray[np.bool_], turns: list[float]) -> list[Finding]:
    velocity, acceleration = (float(flags.mean()) for flags in rises)
    falls = _falling_positions(segments)
    steps = ", ".join(
        f"{value:.4g} rad/s² at u_f = {u:g} s" for value, u in zip(turns, COUNTEREXAMPLE_TIMES, strict=True)
    )
    return [
        claim(
            "largest |q̇| never grows with u_f",
            velocity == 0.0,
            f"grows for {100 * velocity:g} % of {len(segments.travel)} segments; it must not: it is convex in 1/u_f (a "
            "largest of absolute values of functions linear in it) and at 1/u_f → 0 it is the larger end velocity, "
            "below which it never is",
        ),
        claim(
            "largest |q̈| is a decreasing function of u_f",
            acceleration == 0.0,
            f"counterexample q = 0 → 1 rad, q̇ = 1 rad/s at both ends: {steps}. It grows somewhere for "
            f"{100 * acceleration:.1f} % of {len(segments.travel)} random segments",
        ),
        claim(
            "extrema of q never shrink with u_f",
            falls == 0.0,
            f"shrink for {100 * falls:g} % of the segments; they must not, by the same argument with u_f in "
            "place of 1/u_f",
        ),
    ]


def _falling_positions(segments: Segments) -> float:
    """Share of segments whose highest or −lowest position falls somewhere; sampled at the same relative instants, at
    which each position is linear in u_f, so that the largest of them is convex too."""
    values = np.stack([_positions(segments, u) for u in TRIED_SEGMENT_TIMES[::8]], axis=-1)
    falls = (values[..., 1:] < values[..., :-1] - SEGMENT_ROUNDING * (1.0 + np.abs(values[..., 1:]))).any(axis=(0, 2))
    return float(falls.mean())


# -- the three steps of 5.2 -------------------------------------------------------------------------------------------


def _recipe(effort: Effort) -> Finding:
    """u_fa = max over joints of each joint's own shortest time: do the other joints still obey?"""
    robot, count = robot_model().robot, effort.pick(400, 2000)
    rng = np.random.default_rng(SEGMENT_SEED + 1)
    high, speed, most = robot.limit("upper"), robot.limit("velocity"), np.full(robot.n, RECIPE_ACCELERATION)
    q, qd = rng.uniform(-high, high, (2, count, 3)), rng.uniform(-speed, speed, (2, count, 3))
    all_joints = Segments(q[0], qd[0], q[1], qd[1])
    alone = np.stack(
        [
            shortest_times(Segments(q[0, :, [j]].T, qd[0, :, [j]].T, q[1, :, [j]].T, qd[1, :, [j]].T), np.inf, most[j])
            for j in range(3)
        ]
    )
    longest = alone.max(axis=0)
    broken = float(((all_joints.peaks(1.0 / longest, 2)[1] / most).max(axis=1) > 1.0 + 1e-6).mean())
    return claim(
        "with u_f the longest of the joints' own shortest times, no joint exceeds its acceleration",
        broken == 0.0,
        f"one does in {100 * broken:.1f} % of {count} random segments of three joints at {RECIPE_ACCELERATION:g} "
        "rad/s² (no limit "
        "is printed), since |q̈| is not monotone; here the time is searched for all joints together",
    )
