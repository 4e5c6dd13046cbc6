"""Whether residuals are white: what noise alone leaves; anything else is a filter, or a model that misses something."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from exciter.errors import ParameterError
from exciter.identification.information.estimate import Estimate
from exciter.identification.uncertainty.correlation import Correlation, Taper, correlations
from exciter.identification.uncertainty.equations import Equations, LinearFit

LAGS = 20  # that the test looks at
LEVEL = 0.01  # of the test
SLOW = 0.1  # of the band: the share of power there is told
COLOURED = 1.5  # times the power of white residuals, from which on a part of the band is said to have too much


@dataclass(frozen=True)
class Whiteness:
    """Of one joint's residuals. neighbour: correlation of samples that follow each other. p_value: of the test of Ljung
    and Box over 20 lags. fades [s]: after which no correlation is seen, infinite where it is as far as was looked.
    slow: share of the power in the lowest tenth of the band, 0.1 when white. interval [s] between samples."""

    joint: str
    neighbour: float
    p_value: float
    fades: float
    slow: float
    interval: float

    @property
    def white(self) -> bool:
        return self.p_value >= LEVEL

    @property
    def sentence(self) -> str:
        if self.white:
            return f"{self.joint}: residuals look like white noise"
        text = f"{self.joint}: residuals {self.interval:.3g} s apart correlate by {self.neighbour:.2f}"
        if np.isfinite(self.fades):
            text += f", gone after {self.fades:.3g} s"
        else:
            text += ", and are alike for as long as was looked at"
        if self.slow > COLOURED * SLOW:
            text += f"; {100 * self.slow:.0f} % of their power is in the lowest tenth of the band: filtered rows, or a "
            text += "model that misses something"
        return text


def whiteness(equations: Equations, estimate: Estimate) -> tuple[Whiteness, ...]:
    """Of every joint, in one pass over the rows; of rows at the rate that most of them have."""
    if estimate.names != equations.names:
        raise ParameterError("the estimate is of other parameters than the equations")
    everything = np.arange(len(estimate.values))
    fit = LinearFit.of(equations.compressed, estimate.values, np.asarray(estimate.noise, dtype=float), everything)
    found = max(correlations(equations, fit), key=lambda c: float(c.rows.sum()))
    return tuple(_of_joint(found, j, joint) for j, joint in enumerate(equations.joints))


def _of_joint(found: Correlation, j: int, joint: str) -> Whiteness:
    rho, n = found.autocorrelation[:, j], float(found.rows[j])
    lags = min(LAGS, len(rho) - 1, int(n) - 1)
    k = np.arange(1, lags + 1)
    statistic = n * (n + 2.0) * (rho[1 : lags + 1] ** 2 / (n - k)).sum()
    taper = Taper.parzen(len(rho) - 1)
    k = np.arange(1, len(rho))
    slow = SLOW + 2.0 * (taper.weights[1:] * rho[1:] * np.sin(SLOW * np.pi * k) / (np.pi * k)).sum()
    fading = found.fading[j]
    return Whiteness(
        joint,
        float(rho[1]),
        float(stats.chi2.sf(statistic, lags)) if lags > 0 else 1.0,  # nothing to compare
        fading.lag / found.rate if fading.faded else float("inf"),
        float(np.clip(slow, 0.0, 1.0)),
        1.0 / found.rate,
    )
