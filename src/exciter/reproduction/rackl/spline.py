"""The B-spline of section III-B: how many knots and control points, how smooth, and how local."""

from __future__ import annotations

import numpy as np

from exciter.excitation.trajectories.piecewise import BSpline
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import claim, same, shown
from exciter.reproduction.paper import Part
from exciter.reproduction.published import published
from exciter.reproduction.rackl import set_up
from exciter.typing import Array

POINTS, MANY, SEED = 6, 20, 0  # n of the example, of n + 1 way-points; and of a longer one
ROUNDING = 1e-9  # of the largest derivative: less is no jump, and no change


def part() -> Part:
    printed = published("rackl")["spline"]
    family = set_up.spline(POINTS)
    p, n = family.degree, POINTS
    delta = family.interpolate(np.random.default_rng(SEED).uniform(-1.0, 1.0, (1, n + 1)))
    knots = 2 * (p + 1) + len(family.functions.knots) - 2
    jumps = [jump(family, delta, k) for k in range(p + 1)]
    start = family.curve(delta).pieces[0].derivatives(np.array([0]), np.array([0.0]), 3)[:, 0, 0]
    by_waypoint, by_control = reach(set_up.spline(MANY))
    time = family.sample_times(400)
    factor, constant = printed["knots"]["printed"]
    right = n + np.dot(printed["knots"]["corrected"], (p, 1))
    more, one = printed["control_points"]["printed"]
    return Part(
        "Section III-B",
        "The B-spline through way-points",
        f"Degree {p}, n = {n}: {n + 1} random way-points (seed {SEED}) over {family.duration:g} s, at rest at both "
        "ends; knots half-way between way-points, as printed below (21).",
        (
            same(
                f"number of knots for n = {n}, (22) n + 2 p + 1",
                n + factor * p + constant,
                knots,
                0,
                f"(22) is one short: two ends of p + 1 = {p + 1} knots and n = {n} half-way ones, as the paper itself "
                f"lists them, are n + 2 p + 2 = {right}",
            ),
            same(
                f"number of control points for n = {n}, (23) n + 1 + p",
                n + more * p + one,
                family.coefficients,
                0,
                f"(19) to (25) number them 0 … m, so that the last index is n + p = {family.coefficients - 1}; (23) "
                "calls their number m",
            ),
            claim(
                f"degree {p} makes the jerk continuous",
                max(jumps[:4]) < ROUNDING,
                f"largest jump at a knot, relative: jerk {jumps[3]:.1e}, its derivative {jumps[4]:.2g}. "
                f"A degree of {p + 1} is not needed for this",
            ),
            claim("velocity and acceleration are zero at both ends, (26)–(29)", at_rest(family, delta)),
            shown(
                "jerk at the start [rad/s³]",
                float(start[3]),
                "not zero: four conditions leave it free, and it begins with a jump from rest",
            ),
            claim(
                "the spline can be changed locally, without effect on the rest (control points)",
                by_control < 1.0,
                f"of a spline with n = {MANY}, one control point moves {100 * by_control:.0f} % of the time at most, "
                f"p + 1 = {p + 1} spans",
            ),
            claim(
                "the spline can be changed locally, without effect on the rest (way-points)",
                by_waypoint <= by_control,
                f"one way-point moves {100 * by_waypoint:.0f} % of it, less and less with distance: all control "
                "points solve one system (31). Way-points are what the paper optimises; what is local belongs to the "
                "control points",
            ),
        ),
        figures=(
            Plot(
                "An example",
                time,
                "time [s]",
                "position [rad]",
                (
                    Line("spline", (family.basis(time, 0)[0] @ delta[0]), "rad"),
                    Line("way-points", _at_nearest(family, delta, time), "rad", points=True),
                ),
            ),
        ),
        differences="The text calls p = 4 order and degree; it is the degree. (32) has “v₀ · a₀” for “v₀, a₀” and "
        "a_m for a_n.",
    )


def jump(family: BSpline, delta: Array, order: int) -> float:
    """Largest difference of a derivative on the two sides of an inner knot, of its largest value."""
    piece = family.curve(delta).pieces[0]
    knots = piece.knots
    spans = np.arange(len(knots) - 1)
    left = piece.derivatives(spans[:-1], knots[1:-1], order)[order]
    right = piece.derivatives(spans[1:], knots[1:-1], order)[order]
    size = np.abs(piece.derivatives(spans, knots[:-1], order)[order]).max()
    return float(np.abs(right - left).max() / size)


def at_rest(family: BSpline, delta: Array) -> bool:
    ends = np.array([0.0, family.duration])
    parts = [basis @ delta.T for basis in family.basis(ends)[1:]]
    return bool(np.abs(parts).max() < ROUNDING)


def reach(family: BSpline) -> tuple[float, float]:
    """Largest share of the time during which the spline changes, of one way-point, and of one control point."""
    basis = family.basis(family.sample_times(4000), 0)[0]
    shares = []
    for functions in (basis @ family.free, basis):
        moved = np.abs(functions[1:-1]) > ROUNDING * np.abs(functions).max()
        shares.append(float(moved.mean(axis=0).max()))
    return shares[0], shares[1]


def _at_nearest(family: BSpline, delta: Array, time: Array) -> Array:
    """Way-points at the sample nearest to each, gaps elsewhere."""
    values = np.full(len(time), np.nan)
    at = np.abs(time[:, None] - family.waypoint_times).argmin(axis=0)
    values[at] = family.basis(family.waypoint_times, 0)[0] @ delta[0]
    return values
