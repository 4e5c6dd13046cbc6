"""Appendix: two systems of two equations that show what a condition number says, in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.criteria.optimality_and_condition import NormalizedCondition
from exciter.identification.information.information import Information
from exciter.typing import Array
from exciter_papers.gautier_khalil.sequences import ENERGY_PAPER_FIGURES
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, same, shown

Exact = NDArray[np.object_]  #: of fractions, which NumPy adds and multiplies exactly
EXACT_TOLERANCE = 0.0  # tolerance where fractions must agree
FLOATING_TOLERANCE = 1e-9  # relative, of results in floating point


def run(effort: Effort) -> Sequence[Part]:
    return (
        _example_1(ENERGY_PAPER_FIGURES["appendix"]["example_1"]),
        _example_2(ENERGY_PAPER_FIGURES["appendix"]["example_2"]),
    )


# -- exact arithmetic on 2 × 2 systems ---------------------------------------------------------------------------------


def exact(texts: Sequence[Any]) -> Exact:
    """A vector, or a matrix by its rows."""
    return np.asarray(np.vectorize(Fraction, otypes=[object])(texts))


def determinant(a: Exact) -> Fraction:
    found: Fraction = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    return found


def inverse(a: Exact) -> Exact:
    """Cramer's rule."""
    return np.asarray(np.array([[a[1, 1], -a[0, 1]], [-a[1, 0], a[0, 0]]]) / determinant(a))


def norm_1(x: Exact) -> Fraction:
    """The sum of sizes of a vector; of a matrix, the largest in a column."""
    found: Fraction = np.abs(x).sum(axis=0).max() if x.ndim == 2 else np.abs(x).sum()
    return found


def floating(a: Exact) -> Array:
    return a.astype(np.float64)


def solved(a: Exact, y: Exact) -> Array:
    """Least squares by the orthogonal transformations that identification uses."""
    return Information.empty(len(y)).add(floating(a), floating(y)).solve()[0]


def _exactly(quantity: str, printed: str, value: Fraction, note: str = "") -> Finding:
    """The printed number is the value itself; met without any tolerance, in fractions."""
    met = Fraction(printed) == value
    return same(quantity, float(printed), float(value), EXACT_TOLERANCE if met else -1.0, note or "equal as fractions")


def _rounded(quantity: str, printed: str, value: Fraction, note: str = "") -> Finding:
    """Within half a unit of the last printed digit, decided in fractions."""
    digits = printed.lower().partition("e")
    places = len(digits[0].partition(".")[2]) - int(digits[2] or 0)
    half = Fraction(1, 2) * Fraction(10) ** -places
    met = abs(value - Fraction(printed)) <= half
    return same(quantity, float(printed), float(value), float(half) if met else -1.0, note)


# -- example 1 ---------------------------------------------------------------------------------------------------------


def _example_1(printed: dict[str, Any]) -> Part:
    a, y, dy = (exact(printed[key]) for key in ("A", "Y", "dY"))
    back = inverse(a)
    x, dx = back @ y, back @ dy
    moved, both = x + dx, y + dy
    error_y, error_x = norm_1(dy) / norm_1(y), norm_1(dx) / norm_1(x)
    cond = norm_1(a) * norm_1(back)
    numeric, with_floats = float(np.linalg.cond(floating(a), 1)), solved(a, both)
    off = float(np.abs(with_floats - floating(moved)).max())
    about = printed["about"]
    return Part(
        "Appendix, example 1",
        "An ill-conditioned system in the 1-norm",
        "A X = Y and a small change of Y, in exact fractions by Cramer's rule; beside it in floating point by the "
        "square-root information filter that identification uses. Vector norms are sums of sizes, the matrix norm is "
        "the largest sum over a column.",
        (
            _exactly("det A", printed["determinant"], determinant(a)),
            *(
                _exactly(f"(A⁻¹)_{i + 1}{j + 1}", printed["inverse"][i][j], back[i, j])
                for i in range(2)
                for j in range(2)
            ),
            *(_exactly(f"X_{i + 1}", printed["X"][i], x[i]) for i in range(2)),
            _exactly("‖δY‖", printed["norm_dY"], norm_1(dy)),
            _rounded("‖δY‖/‖Y‖", printed["error_Y"], error_y, f"exactly {error_y}"),
            *(_exactly(f"(X + δX)_{i + 1}", printed["X_perturbed"][i], moved[i]) for i in range(2)),
            *(_exactly(f"δX_{i + 1}", printed["dX"][i], dx[i]) for i in range(2)),
            _exactly("‖δX‖/‖X‖", printed["error_X"], error_x),
            _exactly("‖A‖", printed["norm_A"], norm_1(a)),
            _exactly("‖A⁻¹‖", printed["norm_inverse"], norm_1(back)),
            _exactly("Cond₁(A)", printed["cond"], cond),
            _rounded("Cond(W) of the example, section 3", about["cond"], cond),
            _rounded("relative error of Y, section 3", about["error_Y"], error_y),
            _rounded("relative error of X, section 3", about["error_X"], error_x),
            claim(
                "the bound (12) is attained: ‖δX‖/‖X‖ = Cond ‖δY‖/‖Y‖",
                error_x == cond * error_y,
                f"both are exactly {error_x}; the sign printed between them is <",
            ),
            claim(
                "both solutions are exact, without rounding",
                (a @ moved == both).all() and (a @ x == y).all(),
                "A X = Y and A (X + δX) = Y + δY hold in fractions",
            ),
            shown("Cond₁(A) in floating point", numeric, f"relative error {abs(numeric / float(cond) - 1):.1e}"),
            shown("floating point agrees", abs(off) < FLOATING_TOLERANCE, f"X + δX off by {off:.1e}"),
        ),
        DataTable(
            "example-1",
            "Exact and in floating point",
            ("quantity", "exact", "floating point"),
            [
                ["Cond₁(A)", str(cond), numeric],
                ["X₁ + δX₁", str(moved[0]), with_floats[0]],
                ["X₂ + δX₂", str(moved[1]), with_floats[1]],
            ],
        ),
        differences="The inequality printed below the condition number is an equality, as the text after it says. The "
        "number (A7) of the perturbed solution is not legible.",
    )


# -- example 2 ---------------------------------------------------------------------------------------------------------


def _example_2(printed: dict[str, Any]) -> Part:
    a, y = exact(printed["A"]), exact(printed["Y"])
    back = inverse(a)
    x = back @ y
    cond = a[0, 0] / a[1, 1]  # diagonal: its singular values are its elements
    findings: list[Finding] = [
        *(_exactly(f"X_{i + 1}", printed["X"][i], x[i]) for i in range(2)),
        _exactly("Cond₂(A)", printed["cond"], cond),
    ]
    rows = []
    for which in ("first", "second"):
        dy = exact(printed[which]["dY"])
        dx = back @ dy
        error_y, error_x = dy @ dy / (y @ y), dx @ dx / (x @ x)  # squared: roots of fractions are none
        slack = cond**2 * error_y / error_x
        first_order = Fraction(printed["error_Y"]) ** 2
        findings += [
            claim(
                f"{which} perturbation: ‖δY‖/‖Y‖ ≅ {printed['error_Y']}",
                abs(error_y / first_order - 1) <= Fraction(1, 10**11),
                f"its square over 10⁻¹² is exactly {error_y / first_order}",
            ),
            _exactly(f"{which} perturbation: (‖δX‖/‖X‖)²", printed[which]["error_X_squared"], error_x),
            claim(f"{which} perturbation: the bound (12) holds", slack >= 1),
            shown(f"{which} perturbation: bound over error", float(slack) ** 0.5),
        ]
        rows.append([which, float(error_y) ** 0.5, float(error_x) ** 0.5, float(cond**2 * error_y) ** 0.5])
    gram = floating(a).T @ floating(a)
    scaled = NormalizedCondition()(gram)[0]
    numeric = float(np.linalg.cond(floating(a)))
    findings += [
        shown("Cond₂(A) in floating point", numeric),
        shown("Cond₂ with columns of unit length", scaled, "well scaled, the same system is perfectly conditioned"),
    ]
    return Part(
        "Appendix, example 2",
        "What scaling does to a condition number, in the 2-norm",
        "A diagonal system and two perturbations of Y, in exact fractions; norms squared, so that they are fractions. "
        "The last figure is the criterion with columns of unit length that designs may use here.",
        findings,
        DataTable(
            "example-2", "Relative errors and the bound (12)", ("perturbation", "‖δY‖/‖Y‖", "‖δX‖/‖X‖", "bound"), rows
        ),
    )
