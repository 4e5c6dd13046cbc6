"""How far errors of measurement can carry a least-squares solution (Gautier & Khalil 1992, (11)–(13)).

(Y + δY) = (W + δW)(X + δX). For as many equations as parameters the paper has ‖δX‖/‖X‖ ≤ cond(W) ‖δY‖/‖Y‖ (12) and,
relative to X + δX, cond(W) ‖δW‖/‖W‖ (13). For more equations (its footnote: Lawson & Hanson 1974) the exact change is

    δX = Ŵ⁺ δY − Ŵ⁺ δW X + (ŴᵀŴ)⁻¹ δWᵀ ρ,    Ŵ = W + δW,  ρ = Y − W X,  ‖Ŵ⁺‖ ≤ ‖W⁺‖ / (1 − cond ‖δW‖/‖W‖),

so that with κ = cond(W), α = ‖δW‖/‖W‖, κ̂ = κ / (1 − κ α) and all else over ‖W‖ ‖X‖

    ‖δX‖/‖X‖ ≤ κ̂ (‖δY‖/(‖W‖ ‖X‖) + α) + κ̂² α ‖ρ‖/(‖W‖ ‖X‖)        where κ α < 1.

Without ρ and with ‖Y‖ ≤ ‖W‖ ‖X‖ this is (12), and it is never larger. Bounds are attained by the worst errors there
are; errors by chance stay far below, for most of δY lies where no parameter could have put it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.independent_blocks import independent_blocks
from exciter.typing import Array

ASSUMED = (
    "of the least-squares solution of these equations, in the worst case: all errors in the one direction that the "
    "parameters feel most; norms add parameters of different units, and rows over their noise"
)


@dataclass(frozen=True)
class PerturbationBounds:
    """dy: ‖δY‖/‖W X‖, dw: ‖δW‖/‖W‖, None where it is not known; of ‖δX‖/‖X‖: by_dy (12), by_dw (13), by_both (11),
    None where no bound exists. expected: √(trace of the covariance)/‖X‖, what chance makes of δY."""

    condition_number: float
    dy: float
    by_dy: float
    dw: float | None = None
    by_dw: float | None = None
    by_both: float | None = None
    expected: float | None = None

    @classmethod
    def of(
        cls, w: ArrayLike, x: ArrayLike, dy: float, dw: float | None = None, residual: float = 0.0
    ) -> PerturbationBounds | None:
        """W (m, b), or any R with RᵀR = WᵀW; X (b,); dy ‖δY‖, dw ‖δW‖ in the 2-norm; residual ‖ρ‖. None where W is
        singular, X zero, or an error is no number: no bound exists then."""
        w, x = np.asarray(w, dtype=float), np.asarray(x, dtype=float)
        if w.ndim != 2 or w.shape[1] != len(x):
            raise ParameterError(f"W has shape {w.shape}, and there are {x.shape} parameters; give one column for each")
        singular = np.linalg.svd(w, compute_uv=False)
        length, fitted = float(np.linalg.norm(x)), float(np.linalg.norm(w @ x))
        usable = np.isfinite([dy, residual, *singular]).all() and len(w) >= len(x) and fitted > 0.0
        if not (usable and singular[-1] > 0.0):
            return None
        largest, cond = float(singular[0]), float(singular[0] / singular[-1])
        unit = largest * length  # ‖W‖ ‖X‖
        by_dw = by_both = alpha = None
        if dw is not None and np.isfinite(dw):
            alpha = dw / largest
            if cond * alpha < 1.0:
                raised = cond / (1.0 - cond * alpha)
                by_dw = raised * alpha + raised**2 * alpha * residual / unit
                by_both = by_dw + raised * dy / unit
        chance = float(np.sqrt((singular**-2.0).sum())) / length
        return cls(cond, dy / fitted, cond * dy / unit, alpha, by_dw, by_both, chance)

    @property
    def sentence(self) -> str:
        """``errors … can change the parameters by … %``"""
        text = f"errors of {100 * self.dy:.3g} % in Y, what is measured, can change ‖X‖ by {100 * self.by_dy:.3g} % "
        text += "at most (12)"
        if self.dw is not None and self.by_dw is None:
            text += f"; for errors of {100 * self.dw:.3g} % in W (13) gives no bound at this condition number"
        elif self.dw is not None and self.by_dw is not None and self.by_both is not None:
            text += f", errors of {100 * self.dw:.3g} % in W by {100 * self.by_dw:.3g} % (13)"
            text += f", both by {100 * self.by_both:.3g} % (11)"
        if self.expected is not None:
            text += f"; by chance {100 * self.expected:.3g} % are expected of those in Y"
        return text

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "assumption": ASSUMED}


def norm_2(matrix: Array) -> float:
    """The largest singular value; of limbs that have no column in common the largest of each."""
    blocks = independent_blocks(matrix)
    parts = [matrix] if len(blocks) <= 1 else [matrix[np.ix_(*block)] for block in blocks]
    return max(float(np.linalg.norm(part, 2)) for part in parts)
