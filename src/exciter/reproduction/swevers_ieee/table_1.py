"""Table I: the minimal model of the paper against the base parameters of the same arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from exciter.reproduction.finding import same, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.swevers_ieee.set_up import (
    MOTION_SEED,
    PAPER,
    SIMULATION,
    model,
    order,
    sampled,
    some_motion,
    theta,
)
from exciter.typing import Array

LINES: list[dict[str, Any]] = PAPER["table_1"]["rows"]
SEED = 0  #: of random inertias


def groupings(corrected: bool) -> Array:
    """(21, 36) Table I as combinations of standard parameters: as printed, or with its misprint corrected."""
    distance = PAPER["table_1"]["distance"]
    symbols = {"l": distance, "l²": distance**2, "−l": -distance, "−l²": -(distance**2)}
    found = np.zeros((len(LINES), len(model().standard)))
    for row, line in zip(found, LINES, strict=True):
        for name, factor in (line.get("corrected", line["is"]) if corrected else line["is"]).items():
            row[model().standard.index(name)] = symbols.get(factor, factor)
    return found


def part() -> Part:
    """Nothing of it depends on a motion."""
    base, ours = model().base, model().base.grouping[order()]
    wrong = [k + 1 for k in np.flatnonzero(np.abs(groupings(corrected=False) - ours).max(axis=1) > 1e-12)]
    still = np.count_nonzero(np.abs(groupings(corrected=True) - ours).max(axis=1) > 1e-12)
    errors = {corrected: _torque_error(corrected) for corrected in (False, True)}
    values = dict(zip((line["standard"] for line in LINES), (line["value"] for line in LINES), strict=True))
    rows = [
        (k + 1, base.names[order()[k]], base.expression(int(order()[k])), line["value"], line["unit"], _remark(line))
        for k, line in enumerate(LINES)
    ]
    return Part(
        "Table I",
        "The minimal model",
        f"Base parameters of a chain with α = (0, 90°, 0), d₃ = {PAPER['table_1']['distance']:g} m, θ = (q1, q2 + 90°, "
        "q3), found by closed-form rules and confirmed by rank; b and c of the paper are Fv and Fs. The distance of "
        "joints 2 and 3 is not in this paper, but in the authors' ASME paper on this robot. Random inertias: standard "
        f"normal, seed {SEED}, along a drawn motion of seed {MOTION_SEED}.",
        (
            same("number of independent parameters", len(LINES), len(base), 0.0, base.decision.words),
            same(
                "lines of Table I that are base parameters as printed",
                len(LINES),
                len(LINES) - len(wrong),
                0.0,
                f"line {', '.join(map(str, wrong))}: the first moment along the link must be m₂ l_x, not m₂ l_z. "
                f"Torques of random inertias: largest error {errors[False]:.2g} N·m as printed, {errors[True]:.1g} "
                f"N·m corrected, when {still} lines differ",
            ),
            shown(
                "the embedded robot has the values of Table I",
                bool(np.allclose(base.base_values(model().nominal), theta(), rtol=0, atol=1e-12)),
                "largest difference "
                f"{np.abs(base.base_values(model().nominal) - theta()).max():.1g} over its {len(base)} base parameters",
            ),
            shown("the embedded robot has the joint limits of section IV-B", _limits_agree()),
            shown(
                "XX3 − YY3 is at most ZZ3, as for every rigid body",
                _of_a_body(values),
                f"{values['XX3']} against {values['ZZ3']} kg·m²: the values belong to no mass distribution; "
                "simulations of the torque do not mind",
            ),
        ),
        (
            DataTable(
                "table-1",
                "Table I and the base parameters found here",
                ("i", "name", "combination", "value", "unit", "remark"),
                rows,
            ),
        ),
        differences="Line 2 has l_z for l_x. In lines 1, 2, 4, 6 and 8 the length called l_z^1(2) is by its own "
        "definition the place of joint 2 in frame 1, but must be the distance from joint 2 to joint 3. Line 6 has "
        "'+ −' for '−'.",
    )


def _of_a_body(values: dict[str, float]) -> bool:
    """XX − YY ≤ ZZ of link 3: moments of inertia obey the triangle inequality. XX3 of Table I stands for XX3 − YY3."""
    return values["XX3"] <= values["ZZ3"]


def _remark(line: dict[str, Any]) -> str:
    return "misprint" if "corrected" in line else ""


def _torque_error(corrected: bool) -> float:
    """[N·m] Largest difference between the torques of random standard parameters and those of the 21 of Table I."""
    rng = np.random.default_rng(SEED)
    chi = rng.standard_normal(len(model().standard))
    motion = sampled(some_motion())
    values = np.empty(len(LINES))
    values[order()] = groupings(corrected) @ chi
    exact = model().torque(motion, chi)
    return float(np.abs(model().base.project(model().regressor(motion)) @ values - exact).max())


def _limits_agree() -> bool:
    limits = [joint.limits for joint in model().robot.joints]
    return all(
        (limit.lower, limit.upper, limit.velocity, limit.acceleration)
        == (-position, position, SIMULATION["velocity_limit"], SIMULATION["acceleration_limit"])
        for limit, position in zip(limits, SIMULATION["position_limits"], strict=True)
    )
