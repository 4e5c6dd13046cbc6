"""A known load, recovered: identify without it and with it, compare what was found with what was mounted (§ 12.7).

It tests the whole chain at once, torque units and gains, frames, friction that must not change with the load, and
uncertainties, against something weighed on a scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import linalg

from exciter.dynamics.load_effect import load_effect
from exciter.errors import ParameterError
from exciter.experiment.recording import Payload
from exciter.files import by_name, finite
from exciter.identification import payload as payloads
from exciter.identification.information.problem import Problem
from exciter.identification.payload import LOAD_CONFIDENCE, LOAD_QUANTITIES, LOAD_UNITS, PayloadEstimate
from exciter.notes import Note, texts
from exciter.typing import Array, BoolArray

NEARLY_RECOVERED_PERCENT = 10.0  # [%] of the load's own torque, within which a load counts as nearly recovered
WEAK_TEST_PERCENT = 10.0  # [%] of the load's own torque: an uncertainty beyond it makes agreement worth little
RECOVERED, WEAKLY, NEARLY, MISSED = "recovered", "recovered, but weakly", "nearly recovered", "not recovered"


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """known (10,): LOAD_QUANTITIES of the load that was mounted, NaN where nothing is said of one, known_std (10,) of
    them; found: what was identified. Only what is known is compared.
    distance: between both, in the metric of their uncertainties, m, m·c and inertia about the frame together
    (√(T²/k) of the k that the robot shows; 1 is what chance gives), and farthest: what it exceeds in 5 % of cases.
    torque_percent: rms of the torque that the difference makes in the loaded runs, of the load's own torque;
    torque_percent_std: the same of one σ (the root of the expected square)."""

    known: Array
    known_std: Array
    found: PayloadEstimate
    distance: float
    farthest: float
    torque_percent: float
    torque_percent_std: float
    notes: tuple[Note, ...] = ()

    @property
    def errors(self) -> Array:
        """(10,) found less known; NaN where the robot cannot show a quantity, or it is not known."""
        return self.found.values - self.known

    @property
    def compared(self) -> BoolArray:
        """(10,) which of LOAD_QUANTITIES are both known and shown."""
        return self.found.determined & np.isfinite(self.known)

    @cached_property
    def std(self) -> Array:
        """(10,) σ of ``errors``."""
        return np.hypot(self.found.std, self.known_std)

    @cached_property
    def sigmas(self) -> Array:
        """(10,) ``errors`` over their σ; NaN where not determined."""
        good = self.compared & (self.std > 0.0)
        return np.where(good, self.errors / np.where(good, self.std, 1.0), np.nan)

    @property
    def outside(self) -> tuple[str, ...]:
        """Quantities whose error exceeds what chance makes in 5 % of cases in any of them (Student, Bonferroni)."""
        count = max(int(self.compared.sum()), 1)
        limit = scipy.stats.t.ppf(1.0 - 0.5 * (1.0 - LOAD_CONFIDENCE) / count, max(self.found.freedom, 1.0))
        return tuple(LOAD_QUANTITIES[k] for k in np.flatnonzero(np.abs(self.sigmas) > limit))

    @property
    def agrees(self) -> bool:
        """Whether uncertainty explains the difference. Asked of m, m·c and the inertia about the frame, in which the
        equations are linear; c = (m·c)/m of a load that is hardly felt is far from it."""
        return self.distance <= self.farthest

    @property
    def verdict(self) -> str:
        if self.agrees:
            return WEAKLY if self.torque_percent_std > WEAK_TEST_PERCENT else RECOVERED
        return NEARLY if self.torque_percent < NEARLY_RECOVERED_PERCENT else MISSED

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        torque = f"the difference makes {self.torque_percent:.2g} % of the load's own torque"
        torque += f", one σ {self.torque_percent_std:.2g} %"
        if self.agrees:
            weak = "; excite more, or mount a heavier load, to make this a test" if self.verdict == WEAKLY else ""
            why = f"the difference is within its uncertainty; {torque}{weak}"
        else:
            named = f" ({', '.join(self.outside)} most)" if self.outside else ""
            why = f"it differs by {self.distance:.2g} times what chance gives{named}; {torque}; uncertainties are too "
            why += "small, friction changes with the load, or frame, gains or load are not as given"
        said = [f"the known load is {self.verdict}: {why}"]
        figures = zip(self.errors, LOAD_UNITS, self.sigmas, strict=True)
        errors = [f"{error:+.2g} {unit} ({sigmas:+.2g} σ)" for error, unit, sigmas in figures]
        if self.compared[0]:
            said.append(f"mass {self.found.mass:.4g} kg, known {self.known[0]:.4g} kg: {errors[0]}")
        if self.compared[1:4].all():
            apart = 1e3 * float(np.linalg.norm(self.found.centre - self.known[1:4]))
            worst = 1 + int(np.argmax(np.abs(self.sigmas[1:4])))
            said.append(f"its centre is {apart:.3g} mm from the known one, {LOAD_QUANTITIES[worst]} {errors[worst]}")
        if hidden := [LOAD_QUANTITIES[k] for k in np.flatnonzero(~self.found.determined)]:
            said.append(f"not compared, because no motion of this robot shows them: {', '.join(hidden)}")
        if unsaid := [LOAD_QUANTITIES[k] for k in np.flatnonzero(np.isnan(self.known))]:
            said.append(f"not compared, because the log does not state them: {', '.join(unsaid)}")
        return (*said, *texts((*self.notes, *self.found.fit_notes)))

    def to_dict(self) -> dict[str, Any]:
        columns = {"found": self.found.values, "std": self.std, "error": self.errors, "sigmas": self.sigmas}
        rows = by_name(LOAD_QUANTITIES, name=LOAD_QUANTITIES, unit=LOAD_UNITS, known=self.known, **columns)
        numbers = {key: getattr(self, key) for key in ("distance", "farthest", "torque_percent", "torque_percent_std")}
        about = {"verdict": self.verdict, "frame": self.found.frame, "quantities": list(rows.values())}
        return finite({**about, **numbers, "words": list(self.sentences)})


def judge_known_load(
    found: PayloadEstimate, known: Payload, with_load: Problem, known_std: ArrayLike = 0.0, notes: tuple[Note, ...] = ()
) -> KnownLoad:
    """A load that was identified already; with_load: the problem of the loaded runs."""
    if found.frame != known.frame:
        wrong = f"the load was identified on '{found.frame}' and is known on '{known.frame}'; give both on one frame"
        raise ParameterError(wrong)
    if not known.mass:
        raise ParameterError("the known load has no mass; give its mass, and centre and inertia where they are known")
    std = np.asarray(known_std, dtype=float)
    if std.shape not in ((), (10,)) or not (std >= 0.0).all():
        raise ParameterError("known_std must be one number ≥ 0, or ten: mass, centre, inertia")
    said = np.setdiff1d(np.arange(10), known.unknown)  # of φ
    phi = found.phi.copy()
    phi[said] = known.stated[said]
    rows = with_load.measured.factors[..., :-1] @ load_effect(with_load.model, with_load.base, known.frame)
    gram = np.einsum("gjri,gjrk->ik", rows, rows)
    own, change = max(float(phi @ gram @ phi), 1e-300), found.phi - phi
    of_said = np.ix_(said, said)
    squares = float(change @ gram @ change), float(np.trace(gram[of_said] @ found.covariance[of_said]))
    percent, percent_std = (100.0 * float(np.sqrt(max(square, 0.0) / own)) for square in squares)
    values = np.full(10, np.nan)
    values[said] = payloads.quantities(phi)[said]
    stds = np.where(np.isnan(values), 0.0, std)
    inverse = np.linalg.inv(payloads.gradient(phi))
    covariance = found.covariance + (inverse * stds**2) @ inverse.T
    # √(T²/k) of Δφ seen along what the robot shows, and its 95 % limit (Hotelling)
    shown = np.eye(10)[:, said]  # (10, k), scaled below
    shown = shown @ linalg.null_space(found.hidden.T @ shown) if found.hidden.size else shown
    across, spread = shown.T @ change, shown.T @ covariance @ shown
    scale = np.sqrt(np.maximum(spread.diagonal(), 1e-300))
    across, spread = across / scale, spread / np.outer(scale, scale)
    distance = float(across @ np.linalg.pinv(spread, hermitian=True) @ across)
    count = max(len(across), 1)
    limit = float(scipy.stats.f.ppf(LOAD_CONFIDENCE, count, max(found.freedom, 1.0)))
    return KnownLoad(
        known=values,
        known_std=stds,
        found=found,
        distance=float(np.sqrt(max(distance, 0.0) / count)),
        farthest=float(np.sqrt(limit)),
        torque_percent=percent,
        torque_percent_std=percent_std,
        notes=notes,
    )
