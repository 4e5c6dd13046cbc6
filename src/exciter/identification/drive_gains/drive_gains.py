"""Drive gains K [N·m/A] from currents: of a robot that carries a known load, or has parameters known beforehand.

K_j I_j = W_j (β + A φ): as linear equations in (β, K) the noisy currents are columns, and least squares draws every
gain towards zero; total least squares (Gautier and Briot 2014) asks for one noise in all columns, while W hardly has
any. Here the currents stay on the side of the measurements,

    I_j = (W_j (β + A φ)) / K_j + e_j,

which is bilinear, has its noise where it is, and is solved by Gauss–Newton on compressed equations: maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.recording import Recording
from exciter.experiment.recording.about import Repairs
from exciter.experiment.signals.processed import Route
from exciter.identification.drive_gains.bilinear import Bilinear, Conditions, KnownParameter, conditions
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import assumed
from exciter.identification.information.problem import Problem
from exciter.identification.runs.load import load_chi
from exciter.identification.runs.run import Run
from exciter.notes import Note, in_one_line, texts, warning
from exciter.typing import Array

ROUNDS, SETTLED = 20, 1e-4  # of the noise: rounds at most, and the relative change that ends them
LEAST = 1e-6  # of the currents: a smaller noise is not believed, and would hide conditions with errors
TAKES_PART = 1e-6  # of a unit vector: more, and a gain belongs to a direction
WEAK = 0.15  # relative σ of a gain, beyond which first-order intervals are rough
NOT_FIXED = (
    "currents alone give the gains only up to a common factor; give a run with a known load (payload:), or parameters "
    "that are known"
)
ASSUMPTIONS = assumed(
    "errors are white, in the currents alone, of one variance per joint",
    "the known load and parameters without an error are exact",
)


def current_run(
    recording: Recording, route: Route | None = None, repairs: Repairs | None = None, name: str = "run"
) -> Run:
    """A run whose torque is the current [A], whatever gains the recording has."""
    return Run.of(in_amperes(recording, name), route, repairs, name)


def in_amperes(recording: Recording, name: str = "run") -> Recording:
    """A recording whose torque is the current [A], whatever gains it has."""
    if recording.current is None:
        raise RecordingError(f"{name} has no currents; drive gains need them: give current: in its recording.yaml")
    return replace(recording, torque=None, about=replace(recording.about, gains=(1.0,) * recording.n))


@dataclass(frozen=True, eq=False)
class DriveGains:
    """gains (J,) [N·m/A, N/A] and their covariance (J, J); NaN and infinite where not ``determined``.

    base (b,): the base parameters of the same fit, without load, by ``names``. noise (J,) [A]: σ of the currents.
    freedom: rows less parameters, of independent rows.
    """

    joints: tuple[str, ...]
    gains: Array
    covariance: Array
    determined: NDArray[np.bool_]
    names: tuple[str, ...]
    base: Array
    noise: Array
    freedom: float
    assumptions: tuple[Note, ...] = ASSUMPTIONS
    notes: tuple[Note, ...] = ()

    @property
    def std(self) -> Array:
        return np.sqrt(self.covariance.diagonal())

    @property
    def relative_std_percent(self) -> Array:
        return np.where(self.determined, 100.0 * self.std / np.abs(self.gains), np.inf)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends (J,) of the confidence interval of each gain (Student)."""
        reach = float(stats.t.ppf(0.5 + 0.5 * level, max(self.freedom, 1.0))) * self.std
        return self.gains - reach, self.gains + reach

    @property
    def about_gains(self) -> tuple[float, ...]:
        """For ``About.gains``; refused unless all are determined."""
        if not self.determined.all():
            raise ParameterError(self.notes[0].text)
        return tuple(self.gains.tolist())

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        low, high = self.interval()
        rows = zip(self.joints, *np.where(self.determined, [self.gains, self.std, low, high], np.nan), strict=True)
        return {
            "gains": [
                {"joint": j, **dict(zip(("value", "std", "low", "high"), map(_plain, numbers), strict=True))}
                for j, *numbers in rows
            ],
            "unit": "N·m/A",
            "current_noise": dict(zip(self.joints, self.noise.tolist(), strict=True)),
            "assumption": in_one_line(self.assumptions),
            "words": texts(self.notes),
        }


def identify_gains(
    model: DynamicModel,
    runs: Sequence[Run],
    known: Sequence[KnownParameter] = (),
    formulation: Formulation | None = None,
) -> DriveGains:
    """runs: of currents (``current_run``), with and without a known load (``Run.payload``); known: parameters that are
    known beforehand. One of both is needed: currents alone give every gain only up to a factor."""
    formulation = InverseDynamic() if formulation is None else formulation
    if formulation.equations(model) != model.robot.joint_names:
        raise ParameterError(f"{type(formulation).__name__} mixes joints, and their gains differ; use inverse dynamics")
    for run in runs:
        if run.recording is not None and not _in_amperes(run.recording):
            raise RecordingError(f"{run.name} has no currents; drive gains need them: make runs with current_run")
    payloads = [run.payload for run in runs]
    unloaded = tuple(replace(run, payload=None) for run in runs)
    problem = Problem(model, unloaded, formulation, folds=1, balanced=False)  # loads would look like noise
    carried = [
        np.zeros(len(problem.names)) if x is None else problem.base.base_values(load_chi(model, x)) for x in payloads
    ]
    if not known and not np.any(carried):
        raise ParameterError(NOT_FIXED)
    compressed = problem.compressed
    return gains_of(compressed, np.array(carried)[compressed.run], conditions(problem.base, known))


def gains_of(compressed: Compressed, carried: Array, known: Conditions | None = None) -> DriveGains:
    """The same from compressed equations of currents; carried (G, b): what the known load adds to β in each piece."""
    known = Conditions.none(len(compressed.parameters)) if known is None else known
    equations = Bilinear(compressed, carried, known)
    rows = compressed.rows.sum(axis=0)
    if rows.sum() + known.count <= len(compressed.parameters) + len(rows):
        raise ParameterError(f"{rows.sum()} equations are too few; record longer, filter or decimate less")
    signal = np.sqrt(compressed.signal / np.maximum(rows, 1))
    if not (signal > 0.0).all():
        joint = compressed.joints[int(np.argmin(signal))]
        raise RecordingError(f"the current of '{joint}' is zero throughout; give a log that has it, or lock the joint")
    noise = np.maximum(equations.free_noise(), LEAST * signal)
    starts = equations.starts()
    if not starts:
        raise ParameterError(NOT_FIXED)
    x = min((equations.solve(x, noise) for x in starts), key=lambda x: equations.cost(x, noise))
    for _ in range(ROUNDS):
        x = equations.solve(x, noise)
        took = equations.taken(x, noise)
        before = noise
        noise = np.maximum(np.sqrt(equations.squares(x) / np.maximum(rows - took, 1.0)), LEAST * signal)
        if (np.abs(noise - before) <= SETTLED * noise).all():
            break
    return _judged(equations, x, noise)


def _judged(equations: Bilinear, x: Array, noise: Array) -> DriveGains:
    compressed, n = equations.compressed, len(noise)
    sigma = compressed.per_group(noise)
    scale, singular, directions, lost = equations.decomposed(x, sigma)
    # A⁻¹ B A⁻¹: rows that are worth fewer independent ones count as so many
    inverse = (directions.T / singular**2) @ directions
    meat = equations.jacobian(x, sigma / np.sqrt(compressed.inflation)) / scale @ inverse
    k, gains = x[-n:], 1.0 / x[-n:]
    covariance = ((meat.T @ meat) / np.outer(scale, scale))[-n:, -n:] * np.outer(gains**2, gains**2)  # of K = 1/k
    determined = ~(np.abs(lost[:, -n:]) > TAKES_PART).any(axis=0) & np.isfinite(k) & (k != 0.0)
    notes: tuple[Note, ...] = ()
    if not determined.all():
        named = ", ".join(j for j, sure in zip(compressed.joints, determined, strict=True) if not sure)
        text = (
            f"the gains of {named} are not determined: nothing that is known reaches their torques; put the load where "
            "they feel it, move more joints at a time, or give parameters of their links"
        )
        if not determined.any():
            raise ParameterError(text)
        notes = (warning("gains", text),)
    relative = np.sqrt(covariance.diagonal()) / np.abs(gains)
    rough = determined & (relative > WEAK)
    weak = [f"{compressed.joints[j]} ({100 * relative[j]:.0f} %)" for j in np.flatnonzero(rough)]
    if weak:
        text = f"known only roughly, and intervals are too: the gains of {', '.join(weak)}"
        notes += (warning("gains", text),)
    covariance[~determined], covariance[:, ~determined] = 0.0, 0.0
    covariance[~determined, ~determined] = np.inf
    freedom = float(compressed.independent.sum()) + equations.known.count - len(compressed.parameters) - n
    values = np.where(determined, gains, np.nan)
    beta = equations.beta(x)
    return DriveGains(
        compressed.joints, values, covariance, determined, compressed.parameters, beta, noise, freedom, notes=notes
    )


def _in_amperes(recording: Recording) -> bool:
    """Whether what a run takes for the torque is the current."""
    return recording.torque is None and recording.current is not None and set(recording.about.gains or ()) == {1.0}


def _plain(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
