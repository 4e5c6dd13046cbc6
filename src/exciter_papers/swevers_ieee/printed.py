"""What the paper prints, recomputed: the minimal model of Table I against the base parameters of the same arm, counts
and columns of Table II, the interval of the ratios, equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.typing import Array
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, same, shown
from exciter_papers.swevers_ieee import set_up
from exciter_papers.swevers_ieee.monte_carlo import RUNS, Record, ratio_probability

# -- Table I -----------------------------------------------------------------------------------------------------------

LINES: list[dict[str, Any]] = set_up.IEEE_FIGURES["table_1"]["rows"]
PRINTED_CHECK_SEED = 0  #: of random inertias, and of the noise


def groupings(corrected: bool) -> Array:
    """(21, 36) Table I as combinations of standard parameters: as printed, or with its misprint corrected."""
    distance = set_up.IEEE_FIGURES["table_1"]["distance"]
    symbols = {"l": distance, "l²": distance**2, "−l": -distance, "−l²": -(distance**2)}
    found = np.zeros((len(LINES), len(set_up.model().standard)))
    for row, line in zip(found, LINES, strict=True):
        for name, factor in (line.get("corrected", line["is"]) if corrected else line["is"]).items():
            row[set_up.model().standard.index(name)] = symbols.get(factor, factor)
    return found


def table_1_part() -> Part:
    """Nothing of it depends on a motion."""
    base, ours = set_up.model().base, set_up.model().base.grouping[set_up.order()]
    wrong = [k + 1 for k in np.flatnonzero(np.abs(groupings(corrected=False) - ours).max(axis=1) > 1e-12)]
    still = np.count_nonzero(np.abs(groupings(corrected=True) - ours).max(axis=1) > 1e-12)
    errors = {corrected: _torque_error(corrected) for corrected in (False, True)}
    values = dict(zip((line["standard"] for line in LINES), (line["value"] for line in LINES), strict=True))
    rows = [
        (
            k + 1,
            base.names[set_up.order()[k]],
            base.expressions[int(set_up.order()[k])],
            line["value"],
            line["unit"],
            "misprint" if "corrected" in line else "",
        )
        for k, line in enumerate(LINES)
    ]
    return Part(
        "Table I",
        "The minimal model",
        f"Base parameters of a chain with α = (0, 90°, 0), d₃ = {set_up.IEEE_FIGURES['table_1']['distance']:g} m, θ "
        "= (q1, q2 "
        "+ 90°, q3), found by closed-form rules and confirmed by rank; b and c of the paper are Fv and Fs. The "
        "distance of joints 2 and 3 is not in this paper, but in the authors' ASME paper on this robot. Random "
        f"inertias: standard normal, seed {PRINTED_CHECK_SEED}, along a drawn motion of seed {set_up.MOTION_SEED}.",
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
                np.allclose(base.base_values(set_up.model().nominal), set_up.theta(), rtol=0, atol=1e-12),
                f"largest difference {np.abs(base.base_values(set_up.model().nominal) - set_up.theta()).max():.1g} "
                f"over its {len(base)} base parameters",
            ),
            shown("the embedded robot has the joint limits of section IV-B", _limits_agree()),
            shown(
                "XX3 − YY3 is at most ZZ3, as for every rigid body",
                _of_a_body(values),
                f"{values['XX3']} against {values['ZZ3']} kg·m²: the values belong to no mass distribution; "
                "simulations of the torque do not mind",
            ),
        ),
        DataTable(
            "table-1",
            "Table I and the base parameters found here",
            ("i", "name", "combination", "value", "unit", "remark"),
            rows,
        ),
        differences="Line 2 has l_z for l_x. In lines 1, 2, 4, 6 and 8 the length called l_z^1(2) is by its own "
        "definition the place of joint 2 in frame 1, but must be the distance from joint 2 to joint 3. Line 6 has "
        "'+ −' for '−'.",
    )


def _of_a_body(values: dict[str, float]) -> bool:
    """XX − YY ≤ ZZ of link 3: moments of inertia obey the triangle inequality. XX3 of Table I stands for XX3 − YY3."""
    return values["XX3"] <= values["ZZ3"]


def _torque_error(corrected: bool) -> float:
    """[N·m] Largest difference between the torques of random standard parameters and those of the 21 of Table I."""
    rng = np.random.default_rng(PRINTED_CHECK_SEED)
    drawn = rng.standard_normal(len(set_up.model().standard))
    motion = set_up.sampled(set_up.some_motion())
    values = np.empty(len(LINES))
    values[set_up.order()] = groupings(corrected) @ drawn
    exact = set_up.model().torque(motion, drawn)
    return float(np.abs(set_up.model().base.project(set_up.model().regressor(motion)) @ values - exact).max())


def _limits_agree() -> bool:
    limits = [joint.limits for joint in set_up.model().robot.joints]
    return all(
        (limit.lower, limit.upper, limit.velocity, limit.acceleration)
        == (-position, position, set_up.SIMULATION["velocity_limit"], set_up.SIMULATION["acceleration_limit"])
        for limit, position in zip(limits, set_up.SIMULATION["position_limits"], strict=True)
    )


PRINTED_COLUMNS: dict[str, Any] = {
    key: np.array(value) if isinstance(value, list) else value for key, value in set_up.IEEE_FIGURES["table_2"].items()
}
HALF_LAST_DIGIT = 5e-5  #: half a unit of the last digit of Table II
RATIO_DRAWS = 2000


def run(effort: Effort) -> Sequence[Part]:
    """Nothing here depends on the effort."""
    return table_1_part(), _table_2(), _interval(), _equations()


# -- Table II ------------------------------------------------------------------------------------------------------


def _table_2() -> Part:
    truth = np.array([line["value"] for line in LINES])
    outside = np.abs(PRINTED_COLUMNS["mean"] - truth) >= PRINTED_COLUMNS["sigma_mean"]
    ratios = PRINTED_COLUMNS["sigma_e"] / PRINTED_COLUMNS["sigma_c2"]
    low, high = PRINTED_COLUMNS["ratio_interval"]
    beyond = (ratios <= low) | (ratios >= high)
    larger = np.flatnonzero(PRINTED_COLUMNS["sigma_c2"] > PRINTED_COLUMNS["sigma_c1"]) + 1
    count = len(truth)
    return Part(
        "Table II, as printed",
        "Counts and columns recomputed",
        "From the digits of Tables I and II alone.",
        (
            same(
                "means within θ ± column 6",
                PRINTED_COLUMNS["means_inside"],
                count - outside.sum(),
                0.0,
                f"outside: {_listed(np.flatnonzero(outside) + 1)}",
            ),
            same(
                "ratios of columns 5 and 4 within the printed interval",
                PRINTED_COLUMNS["ratios_inside"],
                count - beyond.sum(),
                0.0,
                "outside: " + ", ".join(f"{k + 1} ({ratios[k]:.3f})" for k in np.flatnonzero(beyond)),
            ),
            claim(
                f"σ_c2 is smaller than σ_c1 except for parameters {_listed(PRINTED_COLUMNS['larger_with_c2'])}",
                np.array_equal(larger, PRINTED_COLUMNS["larger_with_c2"]),
                f"recomputed: {_listed(larger)}",
            ),
            *(_hadamard(name) for name in ("c1", "c2")),
            _column_6(),
        ),
    )


def _listed(numbers: NDArray[np.int64]) -> str:
    return ", ".join(str(k) for k in numbers)


def _hadamard(name: str) -> Finding:
    product = 2.0 * float(np.log10(PRINTED_COLUMNS[f"sigma_{name}"]).sum())
    determinant = float(np.log10(set_up.IEEE_FIGURES["designs"][name]["determinant"]))
    return claim(
        f"{name}: the printed determinant is at most the product of the printed variances (Hadamard)",
        determinant <= product,
        f"10^{determinant:.2f} and 10^{product:.2f}",
    )


def _column_6() -> Finding:
    exact = PRINTED_COLUMNS["sigma_c2"] / np.sqrt(RUNS)
    error = np.abs(PRINTED_COLUMNS["sigma_mean"] - exact)
    off = np.flatnonzero(error > HALF_LAST_DIGIT)
    return claim(
        f"column 6 is column 4 over √{RUNS}, within the rounding of both",
        (error <= HALF_LAST_DIGIT * (1.0 + 1.0 / np.sqrt(RUNS))).all(),
        "; ".join(
            f"line {k + 1}: printed column 4 would give {exact[k]:.5f} for {PRINTED_COLUMNS['sigma_mean'][k]:.4f}"
            for k in off
        ),
    )


# -- the interval of the ratios ------------------------------------------------------------------------------------


def formula_interval() -> Array:
    """(2,) (√(2 N_s − 1) ∓ z)/√(2 (N_s − 1)): Fisher's approximation, as printed."""
    root, z = np.sqrt(2.0 * RUNS - 1.0), PRINTED_COLUMNS["ratio_quantile"]
    return np.asarray(np.array([root - z, root + z]) / np.sqrt(2.0 * (RUNS - 1.0)))


def exact_interval() -> Array:
    """(2,) from quantiles of χ² with N_s − 1 degrees of freedom."""
    tail = (1.0 - PRINTED_COLUMNS["ratio_confidence"]) / 2.0
    return np.asarray(np.sqrt(stats.chi2.ppf([tail, 1.0 - tail], RUNS - 1) / (RUNS - 1.0)))


def _interval() -> Part:
    printed, formula, exact = PRINTED_COLUMNS["ratio_interval"], formula_interval(), exact_interval()
    inverse = 1.0 / formula[::-1]
    ratios = PRINTED_COLUMNS["sigma_e"] / PRINTED_COLUMNS["sigma_c2"]
    inside = {name: ((low < ratios) & (ratios < high)).sum() for name, (low, high) in _named(printed, formula, exact)}
    note = (
        f"exact χ² quantiles give {_range(exact)}. The inverse ratio would have {_range(inverse)} by the same formula, "
        "nearly what is printed"
    )
    return Part(
        "Section IV-B, interval of the ratios",
        f"The {100 * PRINTED_COLUMNS['ratio_confidence']:g} % interval of σ_e/σ_c2",
        f"{RUNS} runs: (N_s − 1) σ_e²/σ² is χ² with {RUNS - 1} degrees of freedom. The printed formula and exact "
        "quantiles.",
        (
            same("lower end by the printed formula", printed[0], formula[0], 5e-4, note),
            same("upper end by the printed formula", printed[1], formula[1], 5e-4, note),
            shown(
                "probability of the printed interval",
                ratio_probability(*printed),
                f"{ratio_probability(*formula):.4f} for that of the formula; {PRINTED_COLUMNS['ratio_confidence']} "
                "is stated",
            ),
            claim(
                f"the count of {PRINTED_COLUMNS['ratios_inside']} ratios does not depend on which interval is used",
                len(set(inside.values())) == 1,
                ", ".join(f"{name}: {count}" for name, count in inside.items()),
            ),
        ),
        DataTable(
            "interval",
            f"{100 * PRINTED_COLUMNS['ratio_confidence']:g} % interval of σ_e/σ_c2",
            ("by", "lower", "upper", "probability", "printed ratios inside"),
            [
                (name, low, high, ratio_probability(low, high), int(inside[name]))
                for name, (low, high) in _named(printed, formula, exact)
            ],
        ),
        differences="The printed ends are not what the printed formula gives. It is (N_s − 1) times "
        "the squared ratios, not the ratios, that has a χ² distribution. The text gives σ² and σ²/N_s as "
        "standard deviations; they are variances.",
    )


def _named(printed: Array, formula: Array, exact: Array) -> list[tuple[str, Array]]:
    return [("paper", printed), ("formula", formula), ("χ²", exact)]


def _range(ends: Array) -> str:
    return f"{ends[0]:.4f} … {ends[1]:.4f}"


# -- equations -----------------------------------------------------------------------------------------------------


def _equations() -> Part:
    large, small = Record(set_up.sampled(set_up.some_motion())), Record(set_up.sampled(0.5 * set_up.some_motion()))
    deviation = float(np.median(small.sigma / large.sigma))
    wanted, other = (-float(np.linalg.slogdet(record.covariance)[1]) for record in (large, small))
    gradient = large.rows.T @ (
        large.rows @ set_up.theta()
        - (set_up.model().torque(set_up.sampled(set_up.some_motion()), set_up.chi()) / set_up.TORQUE_NOISE_STD).ravel()
    )
    information = large.information.gram()
    product = float(np.linalg.norm(np.outer(gradient, gradient)) / np.linalg.norm(information))
    scores = np.random.default_rng(PRINTED_CHECK_SEED).standard_normal((RATIO_DRAWS, len(large.rows))) @ large.rows
    mean = float((scores * (scores @ large.covariance)).sum(axis=1).mean()) / len(LINES)
    return Part(
        "Equations (6) and (9)",
        "Fisher information and the sign of the criterion",
        f"A drawn motion (seed {set_up.MOTION_SEED}) and the same with half its coefficients; {RATIO_DRAWS} draws of "
        "torque "
        f"noise, seed {PRINTED_CHECK_SEED}.",
        (
            claim(
                "(6): the Fisher information is the product of the gradients at exact data",
                np.isclose(product, 1.0, atol=0.01),
                "with exact data residuals are zero, hence the gradient, hence the product: its norm is "
                f"{product:.0e} times that of FᵀΣ⁻¹F. The mean over noise, the first line of (6), is right: "
                f"{mean:.3f} ± {np.sqrt(2.0 / (RATIO_DRAWS * len(LINES))):.3f} times FᵀΣ⁻¹F over {RATIO_DRAWS} draws",
            ),
            claim(
                "minimising −log det M of the covariance M makes uncertainty small",
                wanted < other,
                f"the larger motion has −log det M = {wanted:.1f}, the smaller {other:.1f}, and σ that are "
                f"{deviation:.1f} times larger: it is log det M, or −log det of the information as in c2, that must "
                "be minimised",
            ),
        ),
        differences="In (6) the second line should be JᵀΣ⁻¹J with the Jacobian J of the residuals; the first lacks a "
        "transpose. In (4) e_q and e_τ lack the index i; Ψ after it is the Φ of (1); the Cramér–Rao bound depends on ϑ "
        "of (5), where the text has θ. r_ee is defined but no limit uses it.",
    )
