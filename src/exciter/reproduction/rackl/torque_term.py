"""What the free duration and the torque term of (15) do: nothing with equal weights, something with a large ξ₂."""

from __future__ import annotations

from exciter.excitation.design import Design
from exciter.reproduction.finding import shown
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.reproduction.rackl import designs, set_up
from exciter.reproduction.rackl.bound import Weighted, weighted

SLOWER = 2.0  # times as long: how far the duration is changed


def part(effort: Effort, found: Design, reached: Weighted) -> Part:
    """found: optimised with ξ₂ = ξ₁, with payload; reached: its λ."""
    weights, chi = set_up.weights_16(), set_up.loaded_chi(found.model)
    torque = designs.torque_sum(found, chi)
    heavy = designs.equal_summands(reached.condition, torque)
    active = designs.full_criterion(effort.pick(1, 4), payload=True, xi_2=heavy)
    condition = weighted(active, weights).condition
    slower = weighted(found, weights, SLOWER).condition
    summand = set_up.XI_2 / torque
    return Part(
        "Section III-A, criterion (15)",
        "The torque term and the free duration",
        f"The trajectory of Figure 3 (ξ₂ = ξ₁), and one found with ξ₂ = {heavy:.0f} ξ₁: for this value both summands "
        "of (15) are equal at the trajectory of Figure 3, the mean |τ| of all joints summed in "
        f"N·m. {len(active.attempts)} starts, seed {designs.SEED}; limits and payload as there. ξ₁ and ξ₂ are not "
        "published.",
        (
            shown(
                "relative change of λ when the same way-points take longer",
                abs(slower / reached.condition - 1.0),
                f"{SLOWER:g} times as long; rounding alone. Every row of the inertia columns is of second order in "
                "1/t_f, so that λ cannot depend on t_f: with λ alone, a free t_f decides nothing but which limits hold",
            ),
            shown(
                "share of the torque term in (15), ξ₂ = ξ₁ [%]",
                100.0 * summand / (set_up.XI_1 * reached.condition + summand),
                "too small to have an effect; its weight depends on the units",
            ),
            shown("duration of the optimised trajectory, ξ₂ = ξ₁ [s]", found.trajectory.duration),
            shown(
                "Σ mean |τ| with equal summands over that with ξ₂ = ξ₁",
                designs.torque_sum(active, chi) / torque,
                f"while λ becomes {condition / reached.condition:.2f} times as large",
            ),
            shown("all limits hold with equal summands, certified for all time", active.certificate.certified),
        ),
        (
            DataTable(
                "torque-term",
                "Criterion (15) with two values of ξ₂",
                ("ξ₂ / ξ₁", "λ", "Σ mean |τ| [N·m]", "duration [s]"),
                [
                    (xi / set_up.XI_1, value, designs.torque_sum(one, chi), one.trajectory.duration)
                    for xi, value, one in ((set_up.XI_2, reached.condition, found), (heavy, condition, active))
                ],
            ),
        ),
    )
