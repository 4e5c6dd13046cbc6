"""Figures 2 and 3: the optimised trajectories, and how much of the limits they use."""

from __future__ import annotations

import numpy as np

from exciter.excitation.design import Design
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Finding, Value, closed, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.swevers_ieee.set_up import FAMILY


def part(c1: Design, c2: Design) -> Part:
    """c1, c2: the best motion by each criterion."""
    return Part(
        "Figures 2 and 3",
        "The optimised trajectories",
        "Best start of each criterion, one period. The figures of the paper show the same three positions; the "
        "coefficients behind them are not printed.",
        (
            closed(
                "coefficients of the trajectories in Figures 2 and 3",
                None,
                "never printed: the published motions themselves cannot be evaluated; "
                f"ours are drawn here, {FAMILY.coefficients} coefficients per joint in the table",
            ),
            *(finding for name, found in (("Figure 2, c1", c1), ("Figure 3, c2", c2)) for finding in _use(name, found)),
        ),
        (_coefficients("c1", c1), _coefficients("c2", c2)),
        (_plot("Figure 2: trajectory optimised by c1", c1), _plot("Figure 3: trajectory optimised by c2", c2)),
    )


def _use(name: str, found: Design) -> tuple[Finding, ...]:
    """How much of each kind of limit a motion uses, over all joints and all time."""
    kinds = {"position": "rad", "velocity": "rad/s", "acceleration": "rad/s²"}
    shares = (
        shown(
            f"{name}: largest {kind} as a share of its limit",
            max(abs(verdict.reached / verdict.limit) for verdict in verdicts),
            ", ".join(f"{verdict.where} {verdict.reached:+.3f} of {verdict.limit:+g} {unit}" for verdict in verdicts),
        )
        for kind, unit in kinds.items()
        for verdicts in [[verdict for verdict in found.certificate.limits if verdict.what == kind]]
    )
    return (*shares, _heights(name, found))


def _heights(name: str, found: Design) -> Finding:
    heights = sorted(
        (verdict for verdict in found.certificate.limits if verdict.what == "height"), key=lambda verdict: verdict.limit
    )
    reached = " … ".join(f"{verdict.reached:.3f}" for verdict in heights)
    allowed = " … ".join(f"{verdict.limit:g}" for verdict in heights)
    return shown(f"{name}: height of the tool [m]", reached, f"{allowed} m are allowed")


def _coefficients(name: str, found: Design) -> DataTable:
    rows: list[list[Value]] = [
        [label, *map(float, column)] for label, column in zip(FAMILY.labels, found.delta.T, strict=True)
    ]
    caption = f"Coefficients of (11) of our {name} motion: a, b [rad/s], q0 [rad]"
    return DataTable(f"coefficients-{name}", caption, ("coefficient", *found.model.robot.joint_names), rows)


def _plot(title: str, found: Design) -> Plot:
    time = np.linspace(0.0, FAMILY.period, 501)
    (basis,) = FAMILY.basis(time, 0)
    robot = found.model.robot
    low, high = robot.position_range()
    lines = [
        Line(name, basis @ row, "rad", float(low[j]), float(high[j]))
        for j, (name, row) in enumerate(zip(robot.joint_names, found.delta, strict=True))
    ]
    return Plot(title, time, "time [s]", "joint position [rad]", lines)
