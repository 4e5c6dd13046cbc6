"""Essential parameters: those that are not significant are set to zero, the others estimated again (12.7; Pham 91b).

Backward elimination on the compressed equations, never back to the rows. The next candidate is the parameter with the
largest relative standard deviation [12.10]. It goes when the residual does not rise significantly, by an F-test of
that step, and by one of all that was dropped so far together against the whole model; else elimination ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy import stats

from exciter.errors import ParameterError, unknown_name
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.weighted import reweighted
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import WHITE, Estimate, assumed, enough_rows, linear_estimate
from exciter.identification.information.problem import Problem
from exciter.notes import Note, done
from exciter.settings import Names, Number
from exciter.typing import Array

LEVEL = 0.05
CHOSEN = assumed(
    "chosen by the same data: intervals of the parameters kept hold given that those dropped are zero, which a test "
    "cannot prove, and are somewhat too narrow for parameters near the level of the test"
)


@dataclass(frozen=True)
class Step:
    """One parameter put to the test. relative_std_percent: its relative σ [12.10] then. f, probability: of the step;
    together: probability of all dropped so far, this one included. before, after: root mean square residual of an
    independent equation, in units of its noise. dropped: what was decided."""

    name: str
    relative_std_percent: float
    f: float
    probability: float
    together: float
    before: float
    after: float
    dropped: bool

    @property
    def note(self) -> Note:
        what = "dropped" if self.dropped else "kept, and with it the rest"
        text = (
            f"{self.name} {what}: relative σ {self.relative_std_percent:.3g} %, F = {self.f:.3g} (p = "
            f"{self.probability:.2g}; all dropped together p = {self.together:.2g}), residual {self.before:.5f} → "
            f"{self.after:.5f} of the noise"
        )
        return done("essential", text)


@dataclass(frozen=True)
class Essential(Estimator):
    """level: probability with which a parameter that is zero is kept all the same. keep: parameters that stay."""

    word, title = "essential", "least squares on the essential parameters"
    level: Annotated[float, Number(above=0.0, below=1.0)] = LEVEL
    keep: Names = ()

    def estimate(self, problem: Problem) -> Estimate:
        compressed = problem.compressed
        enough_rows(compressed)
        steps = self.steps(compressed)
        dropped = {step.name for step in steps if step.dropped}
        kept = np.array([k for k, name in enumerate(problem.names) if name not in dropped], dtype=np.int64)
        reduced = compressed.columns(kept)
        values, noise = reweighted(reduced, reduced.parameters)
        found = linear_estimate(problem, reduced, values, noise, noise, WHITE + CHOSEN)
        every, covariance = np.zeros(len(problem.names)), np.zeros((len(problem.names),) * 2)
        every[kept], covariance[np.ix_(kept, kept)] = values, found.covariance
        count = done("essential", f"{len(kept)} essential of {len(problem.names)} parameters")
        return replace(found, values=every, covariance=covariance, notes=(count, *(step.note for step in steps)))

    def steps(self, compressed: Compressed) -> tuple[Step, ...]:
        """The evidence, in order; the last one is what elimination stopped at, where it did."""
        names = compressed.parameters
        unknown = [name for name in self.keep if name not in names]
        if unknown:
            raise ParameterError(unknown_name("parameter", unknown[0], names))
        _, noise = reweighted(compressed, names)
        # over its noise and √inflation, a group of rows counts for as many as are independent
        information = compressed.information(compressed.per_group(noise) * np.sqrt(compressed.inflation))
        count = float(compressed.independent.sum())
        freedom = max(count - len(names), 1.0)
        kept, squares, risen = list(range(len(names))), information.residual, 0.0
        steps: list[Step] = []
        while len(kept) > 1:
            values, std = _solved(information.r[:, kept], information.z)
            free = [i for i, k in enumerate(kept) if names[k] not in self.keep]
            if not free:
                break
            size = np.abs(values) / std
            i = min(free, key=lambda i: size[i])
            f = float(size[i] ** 2)  # what the squared residual rises by, over the noise's variance
            risen += f
            step = Step(
                names[kept[i]],
                float(100.0 / max(size[i], 1e-300)),
                f,
                float(stats.f.sf(f, 1, freedom)),
                float(stats.f.sf(risen / (len(steps) + 1), len(steps) + 1, freedom)),
                float(np.sqrt(squares / count)),
                float(np.sqrt((squares + f) / count)),
                True,
            )
            steps.append(replace(step, dropped=min(step.probability, step.together) >= self.level))
            if not steps[-1].dropped:
                break
            squares += f
            kept.pop(i)
        return tuple(steps)


def _solved(r: Array, z: Array) -> tuple[Array, Array]:
    """Parameters (k,) of R x = z (p, k) and their standard deviations for rows of unit variance."""
    factor: Array = np.asarray(np.linalg.qr(np.column_stack([r, z]), mode="r"))
    k = r.shape[1]
    inverse = np.linalg.inv(factor[:k, :k])
    return inverse @ factor[:k, k], np.sqrt((inverse**2).sum(axis=1))
