"""Sections 5 and 6.2: the optimum points joined by quintics, the check of positions, and what it takes to pass it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import exciter as ex
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.experiments.motion_through_points import PointsExperiment, motion_through_points
from exciter.excitation.experiments.points import PointSearch, optimise_points
from exciter.excitation.experiments.segment_times import Interpolated, interpolate_points
from exciter.excitation.trajectories.curve import Curve
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.gautier_khalil import sequences
from exciter_papers.gautier_khalil.printed import data
from exciter_papers.gautier_khalil.segments import segments_part
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, closed, same, shown

EQUATIONS, SEED = 30, 0
TRIED_ACCELERATIONS = (1.0, 2.0, 5.0, 20.0)  # [rad/s²]
LIMIT_REDUCTION_RATIO = 0.8  # by which the limits of the points are reduced, each time
LEAVING = "segments that leave, of 30"
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def run(effort: Effort) -> Sequence[Part]:
    points = optimum_points(effort, 1.0)
    unchecked = _curve(_joined(points, _own_acceleration(), False))
    ways = [
        Way("as in 5.2, positions not checked", unchecked, points.cond),
        _drawn_in(points),
        _smaller_limits(effort),
        _within_limits(effort),
    ]
    return segments_part(effort), _points_part(points, ways, effort), _figures_part(ways)


# -- points -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Points:
    """q, q̇ (33, 3): 31 optimum points between rest at q = 0 at both ends. cond: of W at the 31."""

    q: Array
    qd: Array
    cond: float


def optimum_points(effort: Effort, share: float) -> Points:
    """Within a share of the limits; positions of joint 1, which W does not depend on, uniformly distributed (6.2)."""
    robot = sequences.robot_model().robot
    lower, upper, speed = robot.limit("lower"), robot.limit("upper"), robot.limit("velocity")
    small = robot.with_limits(lower=share * lower, upper=share * upper, velocity=share * speed)
    whole = PointSearch(equations=EQUATIONS, starts=16, keep=4, seed=SEED)
    search = whole if share == 1.0 and not effort.quick else sequences.short_search(EQUATIONS, SEED)
    found = optimise_points(ex.DynamicModel(small), search)
    q = found.q.copy()
    q[:, 0] = np.random.default_rng(SEED).uniform(share * lower[0], share * upper[0], len(q))
    rest = np.zeros((1, robot.n))
    return Points(np.vstack([rest, q, rest]), np.vstack([rest, found.qd, rest]), _cond(q, found.qd))


def _cond(q: Array, qd: Array) -> float:
    return float(np.linalg.cond(sequences.Sequences(q[None], qd[None]).w[0]))


# -- ways to a motion -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Way:
    """A motion, how it was made, and cond(W) at the points it passes."""

    name: str
    curve: Curve
    cond: float
    words: str = ""

    @property
    def certified(self) -> bool:
        return certify(sequences.robot_model().robot, self.curve).certified


def _joined(points: Points, acceleration: float, checked: bool) -> Interpolated:
    robot = sequences.robot_model().robot
    lower, upper = robot.position_range() if checked else (-np.inf, np.inf)
    return interpolate_points(points.q, points.qd, robot.limit("velocity"), acceleration, lower, upper)


def _curve(joined: Interpolated) -> Curve:
    return joined.trajectory.curve(joined.delta)


def _own_acceleration() -> float:
    return float(sequences.robot_model().robot.limit("acceleration")[0])


def _drawn_in(points: Points) -> Way:
    joined = _joined(points, _own_acceleration(), True)
    kept = ", ".join(f"{share:.2f}" for share in joined.kept)
    words = f"positions and velocities of the joints are {kept} times those of the optimum"
    q, qd = (half.T[1:-1] for half in np.split(joined.delta, 2, axis=1))
    name = "points moved towards the centre until no segment leaves the limits"
    return Way(name, _curve(joined), _cond(q, qd), words)


def _smaller_limits(effort: Effort) -> Way:
    """The paper's remedy: points optimised anew within smaller limits."""
    lower, upper = sequences.robot_model().robot.position_range()
    share = 1.0
    while True:
        share *= LIMIT_REDUCTION_RATIO
        points = optimum_points(effort, share)
        joined = _joined(points, _own_acceleration(), False)
        reached = _curve(joined).extremum(0)
        if (reached.lowest >= lower).all() and (reached.highest <= upper).all():
            name = "points optimised anew within smaller limits (the paper's remedy)"
            return Way(name, _curve(joined), points.cond, f"limits of the points {share:.2f} times the true ones")


def _within_limits(effort: Effort) -> Way:
    settings = PointsExperiment(equations=EQUATIONS, keep=effort.pick(1, 2), rounds=effort.pick(1, 3))
    found = motion_through_points(sequences.robot_model(), settings, starts=effort.pick(4, 8), seed=SEED).final
    words = "points and limits of the whole motion at once, then times shortened; rest is the first and the last point"
    cond = found.condition_number(sequences.robot_model())
    return Way("points found within the limits of the motion (ours)", found.curve, cond, words)


# -- section 6.2 ------------------------------------------------------------------------------------------------------


def _points_part(points: Points, ways: Sequence[Way], effort: Effort) -> Part:
    said, robot = data()["trajectory"], sequences.robot_model().robot
    rows = [_left(points, acceleration) for acceleration in TRIED_ACCELERATIONS]
    moved = points.q[1:-1] + np.array([0.3, 0.0, 0.0])
    here, there = (
        sequences.energies(sequences.robot_model(), ex.Motion.at(q, points.qd[1:-1])) for q in (points.q[1:-1], moved)
    )
    change = np.abs(there - here).max()
    others = ways[1:]
    leaving = [int(row[LEAVING]) for row in rows]
    findings: list[Finding] = [
        same("points", said["points"], EQUATIONS + 1, 0.0),
        same(
            "variables (23b)",
            sequences.ENERGY_PAPER_FIGURES["variables"][EQUATIONS],
            (EQUATIONS + 1) * (2 * robot.n - 1),
            0.0,
            f"W does not depend on q₁: it changes by {change:.1g} when q₁ does",
        ),
        shown("cond(W) of the 31 points", points.cond, f"the paper says about {said['cond']}; judged with Table 2"),
        shown(
            f"segments between the points that leave the position limits, of {EQUATIONS}, joined in the shortest times",
            f"{min(leaving)} … {max(leaving)}",
            f"for accelerations of {TRIED_ACCELERATIONS[-1]:g} … {TRIED_ACCELERATIONS[0]:g} rad/s², by up to "
            f"{max(row['excess [°]'] for row in rows):.0f}°: the step “verifying the position constraints” is "
            "essential",
        ),
        claim(
            "the calculated trajectory respects position, velocity and acceleration limits",
            all(way.certified for way in others),
            "certified for all time: " + "; ".join(f"{way.name}: {'yes' if way.certified else 'no'}" for way in ways),
        ),
        *(shown(f"cond(W), {way.name}", way.cond, f"{way.curve.duration:.0f} s; {way.words}") for way in others),
        _energy_theorem(ways[1]),
    ]
    return Part(
        "Section 6.2",
        "The 31-point trajectory and the check of its positions",
        f"{sequences.assumed_limits()}, acceleration {_own_acceleration():g} rad/s² where not said otherwise (ours: "
        f"none is printed). 31 points of least cond(W) (seed {SEED}), q₁ uniform (seed {SEED}), rest at q = 0 before "
        "and after, quintic segments in the shortest times (the true minimum, see section 5). Remedy of the paper: "
        f"points anew within limits {LIMIT_REDUCTION_RATIO:g}, {LIMIT_REDUCTION_RATIO:g}², … times the true ones, "
        f"until no segment leaves. Ours: {EQUATIONS + 1} points as the coefficients of a quintic motion from rest to "
        "rest, cond(W) at them minimised within all limits, segments then as short as their points allow "
        f"({effort.pick(4, 8)} starts; experiment points).",
        findings,
        (
            DataTable.by_rows("position-check", "Optimum points joined, positions not checked", rows),
            DataTable(
                "ways",
                "Ways to a motion through 31 points",
                ("way", "cond(W)", "duration [s]", "certified"),
                [(way.name, way.cond, way.curve.duration, way.certified) for way in ways],
            ),
        ),
        differences="The optimum of the points alone is not one of a motion: quintics swing out between points that "
        "lie near the limits and pass them at high speed. Either remedy gives up much of the small cond(W); a design "
        "of the whole motion keeps it, with every limit certified.",
    )


def _left(points: Points, acceleration: float) -> dict[str, float]:
    """How many segments leave the position limits, between points and with both ends, and by how much at most."""
    joined = _joined(points, acceleration, False)
    lower, upper = sequences.robot_model().robot.position_range()
    curve, excess = _curve(joined), []
    for start, end in zip(curve.knots[:-1], curve.knots[1:], strict=True):
        q = curve.motion(np.linspace(start, end, 201)).q
        excess.append(max(float((q - upper).max()), float((lower - q).max())))
    out = np.array(excess) > 1e-9
    return {
        "acceleration [rad/s²]": acceleration,
        "duration [s]": curve.duration,
        LEAVING: float(out[1:-1].sum()),
        "of 32 with both ends": float(out.sum()),
        "excess [°]": float(np.rad2deg(max(excess))),
    }


def _energy_theorem(way: Way) -> Finding:
    """(7): the work of the torques over each segment against Δh X."""
    model, knots = sequences.robot_model(), way.curve.knots
    centre, half = 0.5 * (knots[1:] + knots[:-1]), 0.5 * np.diff(knots)
    motion = way.curve.motion((centre[:, None] + half[:, None] * NODES).ravel())
    power = (model.torque(motion) * motion.qd).sum(axis=1).reshape(-1, len(NODES))
    work = half * (power @ WEIGHTS)
    at = way.curve.motion(knots)
    exact = np.diff(sequences.energies(model, at), axis=0) @ sequences.true_parameters()
    return same(
        "(7) along the motion: work of the torques less Δh X, over the largest",
        0.0,
        float(np.abs(work - exact).max() / np.abs(exact).max()),
        1e-10,
        f"{way.name}; Gauss–Legendre quadrature",
    )


# -- figures 3 to 5 ---------------------------------------------------------------------------------------------------


def _figures_part(ways: Sequence[Way]) -> Part:
    time = np.linspace(0.0, max(way.curve.duration for way in ways), 1200)
    return Part(
        "Figures 3–5",
        "Exciting trajectories of axes 1, 2 and 3",
        "The motions of section 6.2.",
        (
            closed(
                "curves of Figures 3, 4 and 5",
                None,
                "neither the optimum sequence nor the limits were published: another sequence has other curves. Ours "
                "are below; the unchecked one leaves the limits that are drawn",
            ),
        ),
        (),
        tuple(_axis(ways, joint, time) for joint in range(sequences.robot_model().n)),
    )


def _axis(ways: Sequence[Way], joint: int, time: Array) -> Plot:
    low, high = (float(np.rad2deg(limit[joint])) for limit in sequences.robot_model().robot.position_range())
    lines = []
    for way in ways:
        inside = time <= way.curve.duration
        values = np.full(len(time), np.nan)
        values[inside] = np.rad2deg(way.curve.motion(time[inside]).q[:, joint])
        lines.append(Line(way.name, values, "°", low, high))
    return Plot(f"Figure {joint + 3}: axis {joint + 1}", time, "time [s]", "position [°]", lines, group="figures-3-5")
