"""Drive gains K [N·m/A] from currents: of a robot that carries a known load, or has parameters known beforehand.

K_j I_j = W_j (β + A φ): as linear equations in (β, K) the noisy currents are columns, and least squares draws gains to
zero; total least squares (Gautier and Briot 2014) asks for one noise in all columns, while W hardly has any. Here
currents stay measurements,

    I_j = (W_j (β + A φ)) / K_j + e_j,

which is bilinear, has its noise where it is, and is solved by Gauss–Newton on compressed equations: maximum likelihood.
Parameters known beforehand (a link weighed, a drawing) are linear conditions C β = d on the base parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from scipy import linalg

from exciter.dynamics.load_effect import LOAD_NAMES, load_effect
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError, unknown_name
from exciter.experiment.recording import Recording
from exciter.experiment.recording.current_map import PolynomialMap
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.compressed import Compressed, until_noise_settles
from exciter.identification.information.estimate import assumed, finite_or_none, student_interval
from exciter.identification.information.jackknife import (
    LEFT_OUT_STRETCHES,
    by_stretch,
    left_out_covariance,
    widened,
)
from exciter.identification.information.problem import Problem
from exciter.identification.payload import with_load_columns
from exciter.identification.runs.run import Run
from exciter.notes import Note, in_one_line, texts, warning
from exciter.parameters.base import BaseParameters
from exciter.typing import Array, BoolArray

GAIN_NOISE_CHANGE = 1e-4  #: relative change of σ, below which weights and residuals agree
LEAST_CURRENT_NOISE = 1e-6  #: of the currents: a smaller noise is not believed, and would hide conditions with errors
GAIN_DIRECTION_SHARE = 1e-6  #: of a unit vector: more, and a gain belongs to a direction
ROUGH_GAIN_STD = 0.15  #: relative σ of a gain, beyond which first-order intervals are rough
GAINS_NOT_FIXED = (
    "currents alone give the gains only up to a common factor; give a run with a known load (payload:), or parameters "
    "that are known"
)
GAIN_ASSUMPTIONS = assumed(
    "errors are white, in the currents alone, of one variance per joint",
    "what is known of loads, and parameters known without an error, are exact",
)
KNOWN_RANK_TOLERANCE = 1e-10  #: relative singular value below which a direction is none
EXACT_VARIANCE_FRACTION = 1e-12  #: of the largest variance: less is none
KNOWN_VALUES_TOLERANCE = 1e-6  #: of their size, by which exact values may contradict each other
GAIN_RANK_TOLERANCE = 1e-9  #: relative singular value below which the equations say nothing
START_QUOTIENT_FACTOR = 1.5  #: times the best quotient: a start that leaves more is none


@dataclass(frozen=True)
class KnownParameter:
    """A base or standard parameter by name, its value and standard deviation (SI); std 0: exact."""

    name: str
    value: float
    std: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and np.isfinite(self.std) and self.std >= 0.0):
            raise ParameterError(f"{self.name} is known as {self.value} ± {self.std}; give finite numbers, std ≥ 0")


@dataclass(frozen=True, eq=False)
class Conditions:
    """β = start + free θ holds exactly; rows (m, b) β = values (m,) with errors of standard deviation one."""

    start: Array
    free: Array
    rows: Array
    values: Array

    @classmethod
    def none(cls, b: int) -> Conditions:
        return cls(start=np.zeros(b), free=np.eye(b), rows=np.zeros((0, b)), values=np.zeros(0))

    def beside(self, more: int) -> Conditions:
        """Of parameters with ``more`` of them after β, of which nothing is known."""
        start, rows = np.pad(self.start, (0, more)), np.pad(self.rows, ((0, 0), (0, more)))
        return replace(self, start=start, free=linalg.block_diag(self.free, np.eye(more)), rows=rows)

    @property
    def count(self) -> int:
        return int(self.free.shape[0] - self.free.shape[1] + len(self.values))


def conditions(base: BaseParameters, known: Sequence[KnownParameter]) -> Conditions:
    """All that known parameters say about the base parameters. A standard parameter rarely stands alone in them: with
    χ_S known and χ_U not, β = P_S χ_S + P_U χ_U, so that lᵀ β = lᵀ P_S χ_S is known for every l with lᵀ P_U = 0."""
    names = [item.name for item in known]
    if len(set(names)) < len(names):
        raise ParameterError(f"{next(n for n in names if names.count(n) > 1)} is given twice as known; give it once")
    for name in names:
        if name not in base.names and name not in base.standard:
            raise ParameterError(unknown_name("parameter", name, (*base.names, *base.standard)))
    whole = [item for item in known if item.name in base.names]
    parts = [item for item in known if item.name not in base.names]
    c = np.eye(len(base))[[base.names.index(item.name) for item in whole]]
    d, covariance = np.array([item.value for item in whole]), np.diag([item.std**2 for item in whole])
    if parts:
        inside = [base.standard.index(item.name) for item in parts]
        unknown = base.grouping[:, np.setdiff1d(np.arange(len(base.standard)), inside)]
        lengths = np.maximum(np.linalg.norm(unknown, axis=0), 1e-300)
        more = linalg.null_space((unknown / lengths).T, rcond=KNOWN_RANK_TOLERANCE).T  # lᵀ, (m, b)
        if not len(more):
            raise ParameterError(_hint(base, inside))
        their = more @ base.grouping[:, inside]
        values, variances = np.array([x.value for x in parts]), np.array([x.std**2 for x in parts])
        c, d = np.vstack([c, more]), np.append(d, their @ values)
        covariance = linalg.block_diag(covariance, (their * variances) @ their.T)
    # directions without an error become exact, the others rows over their errors
    variances, directions = np.linalg.eigh(covariance)
    exact = variances <= EXACT_VARIANCE_FRACTION * max(float(variances.max(initial=0.0)), 0.0)
    rotated, values = directions.T @ c, directions.T @ d
    start, free = np.zeros(len(base)), np.eye(len(base))
    if exact.any():
        start = np.asarray(np.linalg.lstsq(rotated[exact], values[exact], rcond=None)[0], dtype=np.float64)
        if np.abs(rotated[exact] @ start - values[exact]).max() > KNOWN_VALUES_TOLERANCE * np.abs(values[exact]).max():
            raise ParameterError("the known parameters contradict each other; give one value for each, or errors")
        free = linalg.null_space(rotated[exact], rcond=KNOWN_RANK_TOLERANCE)
    sigma = np.sqrt(variances[~exact])
    return Conditions(start=start, free=free, rows=rotated[~exact] / sigma[:, None], values=values[~exact] / sigma)


def _hint(base: BaseParameters, inside: list[int]) -> str:
    """What is missing, in the shortest case."""
    names = ", ".join(base.standard[i] for i in inside)
    touched = [k for k in range(len(base)) if set(base.members(k)) & set(inside)]
    if not touched:
        return f"{names} has no effect on this robot's torques, so that it fixes nothing; give others"
    shortest = min(touched, key=lambda k: len(set(base.members(k)) - set(inside)))
    missing = ", ".join(base.standard[i] for i in base.members(shortest) if i not in inside)
    whole = base.expressions[shortest]
    return f"{names} alone fixes no base parameter; {whole} would be fixed if {missing} were given, too"


@dataclass(frozen=True, eq=False)
class Bilinear:
    """Unknowns x = (θ, k): β = start + free θ, and k = 1/K, one per joint."""

    compressed: Compressed
    carried: Array
    known: Conditions

    @property
    def size(self) -> int:
        """Of θ."""
        return int(self.known.free.shape[1])

    def beta(self, x: Array) -> Array:
        return np.asarray(self.known.start + self.known.free @ x[: self.size])

    def starts(self) -> list[Array]:
        """Candidates from the linear equations R (β + a) = K z, all conditions on β taken as exact.

        With a scale s of whatever is known they are homogeneous in (θ, s, K), and only the columns z are noisy. With θ
        and s eliminated, the residual over Σ N σ² K², what noise makes of it, is least for the gains: mixed total least
        squares. Gains that nothing connects with the others have an eigenvector of their own."""
        factors, size = self.compressed.factors, self.size
        g, n, wide = factors.shape[:3]
        lines = self.known.rows @ self.known.free
        held = np.linalg.lstsq(lines, self.known.values - self.known.rows @ self.known.start, rcond=None)[0]
        free = linalg.null_space(lines, rcond=GAIN_RANK_TOLERANCE) if len(lines) else np.eye(size)
        fixed = self.known.start + self.known.free @ held + self.carried
        r = factors[..., :-1]
        known = np.einsum("gjrp,gp->gjr", r, fixed)[..., None]
        exact = np.concatenate([r @ (self.known.free @ free), known], axis=-1).reshape(g * n * wide, -1)
        noisy = np.einsum("gjr,jk->gjrk", factors[..., -1], np.eye(n)).reshape(g * n * wide, n)
        scale = np.maximum(np.linalg.norm(exact, axis=0), 1e-300)
        shape = np.linalg.lstsq(exact / scale, noisy, rcond=GAIN_RANK_TOLERANCE)[0] / scale[:, None]
        left = noisy - exact @ shape
        noise = np.maximum(self.compressed.rows.sum(axis=0) * self.free_noise() ** 2, 1e-20 * self.compressed.signal)
        quotients, vectors = linalg.eigh(left.T @ left, np.diag(noise))
        found = []
        for gains in vectors.T[quotients <= START_QUOTIENT_FACTOR * abs(quotients[0])]:
            unknown = shape @ gains
            if abs(unknown[-1]) * scale[-1] > 1e-9 * np.abs(unknown * scale).max():
                gains = gains / unknown[-1]
                # gains that are not there at all begin like the others
                typical = float(np.median(np.abs(gains))) or 1.0
                k = 1.0 / np.where(np.abs(gains) > 1e-3 * typical, gains, typical)
                found.append(np.append(held + free @ (unknown[:-1] / unknown[-1]), k))
        return found

    def free_noise(self) -> Array:
        """(J,) [A] what every joint's own fit, without a word from the others, leaves."""
        rows = self.compressed.rows - np.linalg.matrix_rank(self.compressed.factors[..., :-1])
        left = self.compressed.factors[..., -1, -1] ** 2
        return np.asarray(np.sqrt(left.sum(axis=0) / np.maximum(rows.sum(axis=0), 1)))

    def torques(self, x: Array) -> Array:
        """(G, J, p + 1) R (β + a), of which currents are k times as much [N·m]."""
        moved = self.beta(x) + self.carried
        return np.asarray(np.einsum("gjrp,gp->gjr", self.compressed.factors[..., :-1], moved))

    def unexplained(self, x: Array) -> Array:
        """(G, J, p + 1) residual currents [A]."""
        return np.asarray(self.compressed.factors[..., -1] - x[self.size :][:, None] * self.torques(x))

    def slopes(self, x: Array) -> Array:
        """(G, J, p + 1, unknowns) of explained currents."""
        k, r = x[self.size :], self.compressed.factors[..., :-1]
        slopes = np.zeros((*r.shape[:3], len(x)))
        slopes[..., : self.size] = k[:, None, None] * (r @ self.known.free)
        slopes[..., self.size :] = self.torques(x)[..., None] * np.eye(len(k))[:, None]
        return slopes

    def jacobian(self, x: Array, sigma: Array) -> Array:
        """(m, unknowns) of all that is explained, over its errors; sigma (G, J)."""
        rows = (self.slopes(x) / sigma[..., None, None]).reshape(-1, len(x))
        return np.vstack([rows, np.pad(self.known.rows @ self.known.free, ((0, 0), (0, len(x) - self.size)))])

    def residuals(self, x: Array, sigma: Array) -> Array:
        """(m,) the same of what is not explained."""
        conditions = self.known.values - self.known.rows @ self.beta(x)
        return np.append((self.unexplained(x) / sigma[..., None]).ravel(), conditions)

    def solve(self, x: Array, noise: Array) -> Array:
        """Least squares of k alone, each with its best θ, which is linear: variable projection (Golub & Pereyra 1973),
        the Jacobian as Kaufman simplified it. Together they lie in a narrow bent valley, whose end is far."""
        sigma, size = self.compressed.per_group(noise), self.size

        def best(k: Array) -> tuple[Array, Array]:
            """x, and an orthonormal basis (m, r) of the columns of θ."""
            at = np.append(x[:size], k)
            columns = self.jacobian(at, sigma)[:, :size]
            scale = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
            u, singular, v = np.linalg.svd(columns / scale, full_matrices=False)
            rank = int((singular > GAIN_RANK_TOLERANCE * singular[0]).sum()) if size else 0
            u = u[:, :rank]
            at[:size] += v[:rank].T @ ((u.T @ self.residuals(at, sigma)) / singular[:rank]) / scale
            return at, u

        def slope(k: Array) -> Array:
            at, u = best(k)
            along = self.jacobian(at, sigma)[:, size:]
            return np.asarray(u @ (u.T @ along) - along)

        found = scipy.optimize.least_squares(
            lambda k: self.residuals(best(k)[0], sigma), x[size:], slope, x_scale="jac", xtol=1e-12, ftol=1e-14,
            gtol=1e-14, max_nfev=100,
        )  # fmt: skip
        return best(found.x)[0]

    def decomposed(self, x: Array, sigma: Array) -> tuple[Array, Array, Array, Array]:
        """Of the Jacobian: scale (u,) of columns, singular values (r,) > 0, their directions (r, u), and the others."""
        jacobian = self.jacobian(x, sigma)
        scale = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        upper = np.linalg.qr(jacobian / scale, mode="r")
        _, singular, directions = np.linalg.svd(upper)
        rank = int((singular > GAIN_RANK_TOLERANCE * singular[0]).sum())
        return scale, singular[:rank], directions[:rank], directions[rank:]

    def left_out_covariance(self, x: Array, noise: Array) -> Array:
        """(u, u) of all unknowns, from leaving out stretches of time."""
        sigma = self.compressed.per_group(noise)[..., None]
        slopes, left = self.slopes(x) / sigma[..., None], self.unexplained(x) / sigma
        rows = np.pad(self.known.rows @ self.known.free, ((0, 0), (0, len(x) - self.size)))
        return left_out_covariance(*by_stretch(self.compressed.fold, slopes, left), rows.T @ rows)

    def taken(self, x: Array, noise: Array) -> Array:
        """(J,) degrees of freedom that each joint's rows gave to the fit."""
        sigma = self.compressed.per_group(noise)
        scale, singular, directions, _ = self.decomposed(x, sigma)
        rotated = self.slopes(x) / sigma[..., None, None] / scale @ (directions.T / singular)
        return np.asarray(((rotated**2).sum(axis=(2, 3)) * self.compressed.inflation).sum(axis=0))


def in_amperes(recording: Recording, name: str = "run") -> Recording:
    """A recording whose torque is the current [A], whatever gains it has."""
    if recording.current is None:
        raise RecordingError(
            f"{name} has no currents [A], which gain-free, gains: and current_map: are for; give current: in "
            "recording.yaml"
        )
    return replace(recording, torque=None, about=replace(recording.about, gains=(1.0,) * recording.n, map=None))


@dataclass(frozen=True, eq=False)
class DriveGains:
    """gains (J,) [N·m/A, N/A] and their covariance (J, J); NaN and infinite where not ``determined``. base (b,): base
    parameters of the same fit, without load, by ``names``. noise (J,) [A]: of currents. freedom: see ``Estimate``.

    cubic, cubic_std (J,) [N·m/A³]: k of τ = K i + k i³, where it was asked for (``drive_map``); shared (b, b): what is
    then not known of the base parameters because of the drives; gains_known: K was stated."""

    joints: tuple[str, ...]
    gains: Array
    covariance: Array
    determined: BoolArray
    names: tuple[str, ...]
    base: Array
    noise: Array
    freedom: float
    assumptions: tuple[Note, ...] = GAIN_ASSUMPTIONS
    notes: tuple[Note, ...] = ()
    cubic: Array | None = None
    cubic_std: Array | None = None
    shared: Array | None = None
    gains_known: bool = False

    @property
    def std(self) -> Array:
        return np.sqrt(self.covariance.diagonal())

    @property
    def relative_std_percent(self) -> Array:
        return np.where(self.determined, 100.0 * self.std / np.abs(self.gains), np.inf)

    @property
    def relative_covariance(self) -> Array:
        """(J, J) of gains over their size."""
        return np.asarray(self.covariance / np.outer(self.gains, self.gains))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends (J,) of the confidence interval of each gain (Student)."""
        return student_interval(self.gains, self.std, self.freedom, level)

    @property
    def about_gains(self) -> tuple[float, ...]:
        """For ``About.gains``; refused unless all are determined."""
        if not self.determined.all():
            raise ParameterError(self.notes[0].text)
        return tuple(self.gains.tolist())

    @property
    def about_map(self) -> tuple[PolynomialMap, ...]:
        """For ``About.map``, where there is a cubic part."""
        assert self.cubic is not None
        pairs = zip(self.about_gains, self.cubic.tolist(), strict=True)
        return tuple(PolynomialMap((gain, 0.0, cubic)) for gain, cubic in pairs)

    @property
    def sentence(self) -> str:
        """``drive gains [N·m/A]: joint_1 10.2 ± 0.1``, and the cubic parts."""
        each = zip(self.joints, self.gains, self.std, strict=True)
        known = "as stated, " if self.gains_known else ""
        listed = ", ".join(f"{name} {value:.5g} ± {std:.2g}" for name, value, std in each)
        text = f"drive gains [N·m/A]: {known}{listed}"
        if self.cubic is None or self.cubic_std is None:
            return text
        cubes = zip(self.joints, self.cubic, self.cubic_std, strict=True)
        return f"{text}; cubic parts [N·m/A³]: " + ", ".join(f"{name} {k:.4g} ± {std:.2g}" for name, k, std in cubes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        low, high = self.interval()
        cubic = {}
        if self.cubic is not None and self.cubic_std is not None:
            cubes = zip(self.joints, self.cubic.tolist(), self.cubic_std.tolist(), strict=True)
            cubic = {"cubic": [{"joint": j, "value": k, "std": std, "unit": "N·m/A³"} for j, k, std in cubes]}
        rows = zip(self.joints, *np.where(self.determined, [self.gains, self.std, low, high], np.nan), strict=True)
        return {
            "gains": [
                {"joint": j, **dict(zip(("value", "std", "low", "high"), map(finite_or_none, numbers), strict=True))}
                for j, *numbers in rows
            ],
            **cubic,
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
    """runs: of currents (``in_amperes``), with and without a known load (``Run.payload``); known: parameters that are
    known beforehand. One of both is needed: currents alone give every gain only up to a factor. What is not known of a
    load, its centre or inertia, is an unknown of the fit; runs that state the same load carry the same."""
    formulation = InverseDynamic() if formulation is None else formulation
    if formulation.equations(model) != model.robot.joint_names:
        raise ParameterError(f"{type(formulation).__name__} mixes joints, and their gains differ; use inverse dynamics")
    for run in runs:
        log = run.recording  # what the run takes for the torque must be the current
        if log is not None and (log.torque is not None or log.current is None or set(log.about.gains or ()) != {1.0}):
            raise RecordingError(
                f"{run.name} has no currents; drive gains need them: make runs of in_amperes(recording)"
            )
    unloaded = tuple(replace(run, payload=None) for run in runs)
    problem = Problem(model, unloaded, formulation, folds=1, balanced=False)  # loads would look like noise
    base, b = problem.base, len(problem.names)
    loads = [payload if (payload := run.payload) is not None and payload.mass else None for run in runs]
    effects = {load: load_effect(model, base, load.frame) for load in loads if load is not None}
    open_loads = [load for load in effects if load.missing]
    labels = [f"{LOAD_NAMES[i]} {k + 1}" for k, load in enumerate(open_loads) for i in load.unknown]
    carried, columns = np.zeros((len(runs), b + len(labels))), np.zeros((len(runs), b, len(labels)))
    for k, load in enumerate(loads):
        if load is not None:
            carried[k, :b] = effects[load] @ load.stated
            columns[k] = np.hstack(
                [np.zeros((b, 0)), *(effects[one][:, one.unknown] * (one == load) for one in open_loads)]
            )
    if not known and not carried.any():
        raise ParameterError(GAINS_NOT_FIXED)
    both = list[Bilinear]()
    for some in (problem, replace(problem, folds=LEFT_OUT_STRETCHES)):
        equations = with_load_columns(some.compressed, columns[some.compressed.run], (*problem.names, *labels))
        beside = conditions(base, known).beside(len(labels))
        both.append(Bilinear(equations, carried[some.compressed.run], beside))
    found = gains_of(both[0].compressed, both[0].carried, both[0].known, both[1])
    return replace(found, names=problem.names, base=found.base[:b])


def gains_of(
    compressed: Compressed, carried: Array, known: Conditions | None = None, stretches: Bilinear | None = None
) -> DriveGains:
    """The same from compressed equations of currents; carried (G, b): what the known load adds to β in each piece.
    stretches: the same equations in stretches of time; σ is not below what leaving out one after the other shows."""
    known = Conditions.none(len(compressed.parameters)) if known is None else known
    equations = Bilinear(compressed, carried, known)
    rows = compressed.rows.sum(axis=0)
    if rows.sum() + known.count <= len(compressed.parameters) + len(rows):
        raise ParameterError(f"{rows.sum()} equations are too few; record longer, filter or decimate less")
    signal = compressed.rms
    if not (signal > 0.0).all():
        joint = compressed.joints[int(np.argmin(signal))]
        raise RecordingError(f"the current of '{joint}' is zero throughout; give a log that has it, or lock the joint")
    noise = np.maximum(equations.free_noise(), LEAST_CURRENT_NOISE * signal)
    starts = equations.starts()
    if not starts:
        raise ParameterError(GAINS_NOT_FIXED)

    def cost(x: Array) -> float:
        return float((equations.residuals(x, compressed.per_group(noise)) ** 2).sum())

    x = min((equations.solve(x, noise) for x in starts), key=cost)

    def fit(noise: Array) -> tuple[Array, Array]:
        nonlocal x
        x = equations.solve(x, noise)
        squares = (equations.unexplained(x) ** 2).sum(axis=(0, 2))
        found = np.sqrt(squares / np.maximum(rows - equations.taken(x, noise), 1.0))
        return x, np.maximum(found, LEAST_CURRENT_NOISE * signal)

    return _judged(equations, *until_noise_settles(fit, noise, GAIN_NOISE_CHANGE)[:2], stretches)


def _judged(equations: Bilinear, x: Array, noise: Array, stretches: Bilinear | None) -> DriveGains:
    compressed, n = equations.compressed, len(noise)
    sigma = compressed.per_group(noise)
    scale, singular, directions, lost = equations.decomposed(x, sigma)
    # A⁻¹ B A⁻¹: rows that are worth fewer independent ones count as so many
    inverse = (directions.T / singular**2) @ directions
    meat = equations.jacobian(x, sigma / np.sqrt(compressed.inflation)) / scale @ inverse
    k, gains = x[-n:], 1.0 / x[-n:]
    whole = (meat.T @ meat) / np.outer(scale, scale)
    if stretches is not None:
        whole = widened(whole, stretches.left_out_covariance(x, noise))
    covariance = whole[-n:, -n:] * np.outer(gains**2, gains**2)  # of K = 1/k
    determined = ~(np.abs(lost[:, -n:]) > GAIN_DIRECTION_SHARE).any(axis=0) & np.isfinite(k) & (k != 0.0)
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
    rough = determined & (relative > ROUGH_GAIN_STD)
    weak = [f"{compressed.joints[j]} ({100 * relative[j]:.0f} %)" for j in np.flatnonzero(rough)]
    if weak:
        text = f"known only roughly, and intervals are too: the gains of {', '.join(weak)}"
        notes += (warning("gains", text),)
    covariance[~determined], covariance[:, ~determined] = 0.0, 0.0
    covariance[~determined, ~determined] = np.inf
    freedom = float(compressed.independent.sum()) + equations.known.count - len(compressed.parameters) - n
    return DriveGains(
        joints=compressed.joints,
        gains=np.where(determined, gains, np.nan),
        covariance=covariance,
        determined=determined,
        names=compressed.parameters,
        base=equations.beta(x),
        noise=noise,
        freedom=freedom,
        notes=notes,
    )
