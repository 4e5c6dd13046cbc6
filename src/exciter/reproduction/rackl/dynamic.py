"""The dynamic step: optimised trajectories beside random ones, and what a known payload changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.excitation.design import Design
from exciter.excitation.trajectories.piecewise import BSpline
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import at_most, claim, shown
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.reproduction.published import published
from exciter.reproduction.rackl import designs, labels, loaded_design, random_splines, set_up, torque_term
from exciter.reproduction.rackl.bound import Weighted, weighted

AXIS = 1  # the one that Figure 3 shows, from 0
LIMITS = "joint limits, torque limits, box and sphere"


def run(effort: Effort) -> Sequence[Part]:
    found = designs.full_criterion(effort.pick(2, 12), payload=True)
    bare = designs.full_criterion(effort.pick(1, 12), payload=False)
    plain = {
        len(names): designs.plain(names, effort.pick(1, 8))
        for names in (set_up.names_16(), set_up.names_31(found.model))
    }
    reached = weighted(found, set_up.weights_16())
    return (
        optimised(effort, found, reached, plain),
        torque_term.part(effort, found, reached),
        random_splines.part(effort, reached.condition, {k: d.condition_number for k, d in plain.items()}),
        loaded_design.part(found, bare),
    )


def optimised(effort: Effort, found: Design, reached: Weighted, plain: dict[int, Design]) -> Part:
    weights, target = set_up.weights_16(), published("rackl")["condition"]["optimised"]
    lowest = weighted(designs.smallest_bound(effort.pick(1, 8)), weights)
    printed = {row[0]: row[1] for row in published("rackl")["table_1"]}
    readings = {
        words: weighted(designs.weighted_only(values, effort.pick(1, 6)), values)
        for words, table in labels.readings_of(printed).items()
        if (values := tuple(table[name] for name in set_up.names_16())) != weights
    }
    everything = [found, *plain.values()]
    assert isinstance(found.trajectory, BSpline)
    return Part(
        "Section IV, Figure 3",
        "The optimised trajectory",
        f"B-spline of degree {found.trajectory.degree} through {set_up.SEGMENTS + 1} way-points per joint, criterion "
        "(15) "
        f"with |τ|, {LIMITS} of (33)–(44), kept for all time and not at samples; duration free within "
        f"{set_up.DURATIONS[0]:g} … {set_up.DURATIONS[1]:g} s. {len(found.attempts)} starts, seed {designs.SEED}. "
        f"{set_up.OPEN}, the number of way-points, a steel payload of {set_up.payload().mass:.2f} kg. Φ_CAD is not "
        "published: the values of Table I stand for it.",
        (
            at_most(
                "condition number λ of the optimised trajectory, (15)",
                target,
                reached.condition,
                explanation(target, reached, lowest),
            ),
            shown(
                f"{LIMITS} hold, certified for all time",
                all(one.certificate.certified for one in everything),
                f"{len(everything)} designs; the paper checks selected points",
            ),
            claim("velocity and acceleration are zero at both ends", ends_at_rest(found)),
            shown("lower bound of λ on our trajectory: longest over shortest column", reached.bound),
            shown("smallest such bound of any motion we found, the bound itself minimised", lowest.bound),
            shown("condition number, the sixteen columns of Table I without weights", plain[16].condition_number),
            shown("condition number, all 31 inertia columns without weights", plain[31].condition_number),
        ),
        (starts_table(found), ratios_table(reached, lowest, readings)),
        figures_3(found),
        differences(readings),
    )


def explanation(target: float, reached: Weighted, lowest: Weighted) -> str:
    return (
        f"λ ≥ longest/shortest weighted column, here {reached.longest} and {reached.shortest}: {reached.bound:.1f} "
        f"on our trajectory. Minimising that bound alone, we found none below {lowest.bound:.1f}, which is "
        f"{lowest.bound / target:.1f} times {target:g}; not a proof. The weights of the authors, Φ_CAD, are not "
        "published"
    )


def differences(readings: dict[str, Weighted]) -> str:
    limits = published("rackl")["limits"]
    others = "; ".join(f"{words} λ = {one.condition:.0f}" for words, one in readings.items())
    return (
        "(15) sums signed torques: they may cancel, and the sum may be negative; we sum |τ|. (17) lacks the norm of "
        f"x_ee, (36) prints ≤ for a radius that is {limits['sphere']:g} m. The sphere (41) follows from the box: "
        f"z ≥ {limits['box_lower'][2]:g} m (35) keeps the end-effector outside. With the values of Table I read "
        f"otherwise as weights: {others}."
    )


def ends_at_rest(found: Design) -> bool:
    ends = found.curve.motion(np.array([0.0, found.curve.duration]))
    return bool(max(np.abs(ends.qd).max(), np.abs(ends.qdd).max()) < 1e-9)


def starts_table(found: Design) -> DataTable:
    rows = [(one.number, one.value, one.trajectory.duration, one.feasible) for one in found.attempts]
    headings = ("start", "criterion (15)", "duration [s]", "all limits kept")
    return DataTable("starts", "Every start of the optimisation", headings, rows)


def ratios_table(reached: Weighted, lowest: Weighted, readings: dict[str, Weighted]) -> DataTable:
    rows = [
        (words, one.condition, one.bound, one.longest, one.shortest)
        for words, one in {"Table I as weights": reached, "smallest bound": lowest, **readings}.items()
    ]
    headings = ("optimised for", "λ", "lower bound of λ", "longest column", "shortest column")
    return DataTable("bounds", "Weighted condition numbers and their lower bounds", headings, rows)


def figures_3(found: Design) -> tuple[Plot, ...]:
    """Position, velocity and acceleration of one joint between their limits; way-points as dots."""
    assert isinstance(found.trajectory, BSpline)
    robot, spline = found.model.robot, found.trajectory
    points = spline.waypoint_times
    time = np.union1d(np.linspace(0.0, spline.duration, 1000), points)
    motion = found.curve.motion(time)
    dots = np.where(np.isin(time, points), motion.q[:, AXIS], np.nan)
    plots, name = [], set_up.joint_name(AXIS)
    limits = {kind: float(robot.limit(kind)[AXIS]) for kind in ("velocity", "acceleration")}
    low, high = (float(limit[AXIS]) for limit in robot.position_range())
    for title, unit, values, lower, upper in (
        ("Position", "rad", motion.q, low, high),
        ("Velocity", "rad/s", motion.qd, -limits["velocity"], limits["velocity"]),
        ("Acceleration", "rad/s²", motion.qdd, -limits["acceleration"], limits["acceleration"]),
    ):
        lines = [Line(name, values[:, AXIS], unit)]
        if title == "Position":
            lines.append(Line("optimised points", dots, unit, points=True))
        lines += [
            Line(f"{side} limit", np.full(len(time), limit), unit, width=1.2, colour="poor")
            for side, limit in (("lower", lower), ("upper", upper))
        ]
        plots.append(
            Plot(f"{title} of {name} (Figure 3)", time, "time [s]", f"{title.lower()} [{unit}]", lines, "figure-3")
        )
    return tuple(plots)
