"""A model on trial: how well it predicts stretches of time that were left out of its fit.

Fits resemble those of the final estimate, and are fast: weighted least squares in base parameters, pulled to the
prior (``base_prior``), with friction, rotor inertia and stiffness ≥ 0."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import yaml

from exciter.identification.estimators.least_squares import bounded
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.compressed import Compressed, Score, cross_validate
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import nonnegative_base
from exciter.identification.physical.prior_metric import Reference, StandardEquations, base_prior
from exciter.identification.physical.prior_values import PriorValues
from exciter.typing import Array, BoolArray

TRIAL_NOISE_ROUNDS = 4  # of weights and residuals
LEAST_TRIAL_NOISE = 1e-6  # of the torque: less noise than this is not believed


@dataclass(frozen=True)
class Choice:
    """key: of the configuration, where it can be overridden; part: of what stands there. value, reason: for people."""

    key: str
    value: str
    reason: str
    part: str = ""

    @property
    def setting(self) -> str:
        return f"{self.key}: {self.part}" if self.part else self.key

    def override(self, settings: Mapping[str, Any]) -> str:
        """What asks for the same alone, ``identify: {filter: {cutoff: 9}}``; settings: with all that was chosen."""
        if self.key in ("friction", "terms"):
            return "identify: {friction: as-given}, and terms: as at the end of this report, or your own"
        if self.key == "gravity":
            return _in_a_line({self.key: settings.get(self.key, "…")})
        given = settings.get("identify", {}).get(self.key, "…")
        if self.key != "estimator":
            return _in_a_line({"identify": {self.key: given}})
        word, inside = next(iter(given.items())) if isinstance(given, Mapping) else (given, {})
        asked = {word: {self.part: inside.get(self.part, "…")}} if self.part else word
        return _in_a_line({"identify": {"automatic": True, self.key: asked}})  # an estimator asked for turns others off

    def to_dict(self) -> dict[str, Any]:
        return {"setting": self.setting, "value": self.value, "reason": self.reason}


def _in_a_line(settings: Mapping[str, Any]) -> str:
    rounded = json.loads(json.dumps(settings), parse_float=lambda digits: float(f"{float(digits):.4g}"))
    text = yaml.safe_dump(rounded, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return str(text).strip()[1:-1]


@dataclass(frozen=True, eq=False)
class Trial:
    """problem: of joint torques; values: where the prior comes from; offset: see ``Prior``."""

    problem: Problem
    values: PriorValues
    offset: float | None = None

    @property
    def projecting(self) -> Formulation:
        """How forces of the ground are taken off, see ``Problem.projecting``."""
        return self.problem.projecting

    def projected(self, projecting: Formulation) -> Trial:
        """With forces of the ground taken off as in another trial; the same where there are none."""
        if projecting == self.problem.formulation:
            return self
        return replace(self, problem=replace(self.problem, formulation=projecting))

    @cached_property
    def reference(self) -> Reference:
        equations = StandardEquations.of(self.problem)
        found = self.values.reference(equations)
        return found if self.offset is None else found.with_small_offsets(equations, self.offset)

    @cached_property
    def prior(self) -> Callable[[float], Array]:
        """(m, b + 1) of a weight, see ``base_prior``; kept."""
        return cache(partial(base_prior, self.problem.base, self.reference))

    @cached_property
    def _bound(self) -> BoolArray:
        return nonnegative_base(self.problem)

    @cached_property
    def noise(self) -> Callable[[float], Array]:
        """(J,) rms of the residuals of a fit with a prior of some weight, weighted by them; kept."""
        return cache(self._noise)

    def _noise(self, weight: float) -> Array:
        compressed = self.problem.compressed
        rows, signal = np.maximum(compressed.rows.sum(axis=0), 1), compressed.rms
        noise = np.maximum(signal, 1e-300)
        for _ in range(TRIAL_NOISE_ROUNDS):
            squares = compressed.squares(self.fit(compressed.information(noise), weight)).sum(axis=0)
            noise = np.maximum(np.sqrt(squares / rows), np.maximum(LEAST_TRIAL_NOISE * signal, 1e-300))
        return noise

    def fit(self, information: Information, weight: float) -> Array:
        """(b,) β of equations over their noise, with a prior of ``weight``."""
        rows = self.prior(weight)
        r, z = np.vstack([information.r, rows[:, :-1]]), np.append(information.z, rows[:, -1])
        return bounded(Information(r, z), self._bound)

    def scores(self, weights: Array, noise: Array) -> tuple[Score, ...]:
        """Of fits with each of ``weights``, on what was left out; noise (J,): weights of equations, and their unit."""

        def fits(kept: Compressed) -> list[Array]:
            information = kept.information(noise)
            return [self.fit(information, float(weight)) for weight in weights]

        return cross_validate(self.problem.compressed, fits, noise)

    def best_score(self, weights: Array, noise: Array) -> Score:
        return min(self.scores(weights, noise), key=lambda score: score.mean)
