"""Masses of links with intervals: what the equations tell of each, and what had to be known from elsewhere.

Torques show base parameters β = P χ, of which a link's mass is but a part: by itself it is not known, however long one
measures. An estimate with a prior χ ~ (χ₀, Q⁻¹), 1/√λ of a body's size (``Prior.weight``), has it with

    cov χ = Q⁻¹ − G P Q⁻¹ + G cov(β) Gᵀ,        G = Q⁻¹ Pᵀ (P Q⁻¹ Pᵀ)⁻¹

the first two of what β does not tell, which the prior must be right about, the last of β, whatever errors are counted
there. Without a prior (λ = 0) the former have no bounds: σ is then said to be infinite where torques do not tell a
mass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from exciter.identification.estimators.physical import Prior
from exciter.identification.information.estimate import Estimate, student_interval
from exciter.identification.information.problem import Problem
from exciter.identification.limbs import limb_spreads
from exciter.identification.physical.penalised_fit import TRACE_WEIGHT, PhysicalEstimate
from exciter.identification.physical.prior_metric import StandardEquations, link_rows
from exciter.notes import Note, note
from exciter.typing import Array

LEAST_SHOWN_SHARE = 1e-3  # of a variance, whose degrees of freedom count: with less, all of it is known
UNKNOWN_MASS_FRACTION = 1.0  #: of the mass: with a larger σ from what is not told, nothing is known of it


@dataclass(frozen=True, eq=False)
class LinkMasses:
    """mass, std (n,) [kg] of the bodies by name; told (n,): part of the prior's variance that the equations took away,
    1: the mass is theirs alone. freedom (n,): of σ, as of the estimate for the share that is of equations; what the
    prior says is known (Satterthwaite 1946)."""

    names: tuple[str, ...]
    mass: Array
    std: Array
    told: Array
    freedom: Array

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends (n,)."""
        return student_interval(self.mass, self.std, self.freedom, level)

    @property
    def note(self) -> Note:
        rows = zip(self.names, self.mass.tolist(), self.std.tolist(), strict=True)
        numbers = {name: [mass, std] for name, mass, std in rows if mass}
        if not np.isfinite(list(numbers.values())).all():
            text = (
                "torques do not tell masses of single links, and there is no prior: those of the full set are one of "
            )
            return note("link masses", f"{text}many choices; give the estimator a weight, or leave it out")
        each = ", ".join(f"{name} {m:.3g} ± {s:.2g}" for name, (m, s) in numbers.items())
        return note("link masses", f"masses [kg, σ] of links by torques and prior together: {each}", masses=numbers)


def link_masses(problem: Problem, estimate: Estimate, prior: Prior) -> LinkMasses | None:
    """Of an estimate with a full set of parameters; prior: with which it was found. None for others."""
    if not isinstance(estimate, PhysicalEstimate) or estimate.standard is None:
        return None
    equations = StandardEquations.of(problem)
    reference, weight = prior.values.reference(equations), estimate.choice.weight if estimate.choice else prior.weight
    known = float(weight) if isinstance(weight, int | float) else 0.0
    size, p = equations.grouping.shape[1], equations.links
    root = np.diag(np.append(np.zeros(p), np.sqrt(TRACE_WEIGHT) / equations.term_scale))
    root[:p] = link_rows(np.sqrt(known + TRACE_WEIGHT) * reference.whitening, size)
    spread = np.linalg.inv(root)
    spread = spread @ spread.T  # Q⁻¹
    across = equations.grouping @ spread
    scale = np.sqrt((across * equations.grouping).sum(axis=1))  # units differ
    told = linalg.solve(across @ equations.grouping.T / np.outer(scale, scale), across / scale[:, None], assume_a="pos")
    gain = (told / scale[:, None]).T  # G
    masses = slice(0, p, 10)
    before, hidden = spread.diagonal()[masses], (spread - gain @ across).diagonal()[masses].clip(min=0.0)
    shown = np.einsum("ib,bc,ic->i", gain[masses], estimate.covariance, gain[masses])
    share = np.maximum(shown / np.maximum(hidden + shown, 1e-300), LEAST_SHOWN_SHARE)
    mass = estimate.standard[masses]
    std = np.sqrt(hidden + shown)
    if not known:
        std = np.where(np.sqrt(hidden) > UNKNOWN_MASS_FRACTION * np.abs(mass), np.inf, std)
    return LinkMasses(
        names=problem.model.robot.tree_names,
        mass=mass,
        std=std,
        told=1.0 - hidden / np.maximum(before, 1e-300),
        freedom=estimate.freedom / share**2,
    )


def notes_of_links(problem: Problem, estimate: Estimate, prior: Prior | None) -> Iterator[Note]:
    """Of a full set: how far limbs that are alike differ, and masses with their σ; prior: with which it was found."""
    if estimate.standard is None:
        return
    for spread in limb_spreads(problem.model, estimate.standard):
        yield spread.note
    if prior is not None and (masses := link_masses(problem, estimate, prior)) is not None:
        yield masses.note
