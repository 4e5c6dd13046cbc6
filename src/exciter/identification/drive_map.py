"""The cubic part of a drive, beside the parameters of the robot (seed 002, Remark 1): τ = K i + k i³.

As linear equations, W β − i K − i³ k = 0, the noisy currents are columns, and i³ has three times their relative noise.
Here currents stay measurements: i = g(W β), g the inverse of K i + k i³, by Gauss–Newton. Around β̂, K, k with
g(W β̂) = î and the slope s = K + 3 k î²,

    i − î = (W (β − β̂) − î ΔK − î³ Δk) / s + e,

so that the columns î and î³ are free of noise, and the errors e are the currents', of one size wherever the drive
saturates. The low-pass of the equations comes after: i³ is not that of a filtered current. K is known, or found from a
known load or known parameters as in ``drive_gains``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exciter.dynamics.load_effect import load_effect
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.signals.equation_rows import Rows, model_rows
from exciter.identification.drive_gains import (
    GAIN_RANK_TOLERANCE,
    LEAST_CURRENT_NOISE,
    Conditions,
    DriveGains,
    KnownParameter,
    conditions,
    identify_gains,
)
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import instants_first
from exciter.identification.information.compressed import Compressed, compress
from exciter.identification.information.jackknife import LEFT_OUT_STRETCHES, by_stretch, left_out_covariance, widened
from exciter.identification.runs.run import Run
from exciter.notes import Note, note, warning
from exciter.typing import Array

MOST_MAP_ROUNDS = 40
SETTLED_MAP_CHANGE = 1e-4  #: of its σ: a smaller change of k is none
NEAREST_TURNING_RATIO = 1.02  #: of the largest current measured: torque grows up to there at least
SIGNIFICANT_STD_RATIO = 2.0  #: σ of k that it must exceed to be told from zero
MOST_CURRENT_STEPS = 60


def current_of(torque: Array, gain: Array, cubic: Array) -> Array:
    """i (…, n) of K i + k i³ = τ, from the side of zero; where it does not get so far, at the turning point."""
    with np.errstate(divide="ignore"):
        most = np.where(cubic * gain < 0.0, np.sqrt(np.abs(gain / np.where(cubic == 0.0, 1.0, 3.0 * cubic))), np.inf)
    peak = np.abs(gain) * most * (2.0 / 3.0)
    within = np.clip(torque, -0.999 * peak, 0.999 * peak)
    low, high = np.zeros_like(within), np.minimum(np.abs(within / gain) * np.where(cubic * gain < 0.0, 1.5, 1.0), most)
    sign, wanted = np.sign(within * gain), np.abs(within)
    current = np.minimum(np.abs(within / gain), high)
    for _ in range(MOST_CURRENT_STEPS):  # of sizes: both sides are alike
        error = np.abs(gain) * current + np.sign(gain) * cubic * current**3 - wanted
        high, low = np.where(error > 0.0, current, high), np.where(error > 0.0, low, current)
        slope = np.abs(gain) + 3.0 * np.sign(gain) * cubic * current**2
        step = current - error / np.where(slope > 0.0, slope, np.inf)
        following = np.where((step >= low) & (step <= high), step, 0.5 * (low + high))
        if np.abs(following - current).max(initial=0.0) <= 1e-14 * np.abs(current).max(initial=1e-300):
            break
        current = following
    return np.asarray(sign * current)


@dataclass(frozen=True, eq=False)
class Unknowns:
    """β (b,), gains K (J,) [N·m/A] and cubic parts k (J,) [N·m/A³]."""

    beta: Array
    gain: Array
    cubic: Array


@dataclass(frozen=True, eq=False)
class CubicDrives:
    """The equations of runs of currents. carried (runs, b): what known loads add to β. size (J,): rms current [A], by
    which the columns are brought to one unit: unknown is k · size². fixed: whether the gains are known."""

    model: DynamicModel
    runs: tuple[Run, ...]
    formulation: InverseDynamic
    carried: Array
    size: Array
    fixed: bool

    @property
    def parameters(self) -> tuple[str, ...]:
        joints = self.model.robot.joint_names
        gains = () if self.fixed else tuple(f"K {joint}" for joint in joints)
        return (*self.model.base.names, *gains, *(f"k {joint}" for joint in joints))

    def rows(self, at: Unknowns) -> Iterator[tuple[int, Rows]]:
        """(number of the run, equations around the unknowns) piece by piece."""
        for index, run in enumerate(self.runs):
            bent = (self._bent(rows, at, self.carried[index]) for rows in self._as_measured(run))
            low_pass = self.formulation.parallel_filter
            for rows in bent if low_pass is None else low_pass.stream(bent):
                yield index, rows

    def _as_measured(self, run: Run) -> Iterator[Rows]:
        model = self.model
        return model_rows(model, run.parts, model.base.independent, dead_zone=self.formulation.zone(model))

    def _bent(self, rows: Rows, at: Unknowns, carried: Array) -> Rows:
        sides, n = rows.sides, self.model.n
        w, current = sides[..., :-1], sides[..., -1]
        expected = current_of(w @ (at.beta + carried), at.gain, at.cubic)
        slope = at.gain + 3.0 * at.cubic * expected**2
        y = current - expected - (w @ carried) / slope
        own = np.eye(n)
        columns = [w / slope[..., None]]
        linear = -(expected / slope)
        if self.fixed:
            y = y - linear * at.gain
        else:
            columns.append(linear[..., None] * own)
        columns.append((-(expected**3) / slope / self.size**2)[..., None] * own)
        wide = np.concatenate([*columns, y[..., None]], axis=-1).transpose(1, 2, 0).copy()
        return replace(rows, sides=instants_first(wide), parameters=self.parameters)

    def compressed(self, at: Unknowns) -> Compressed:
        folds = LEFT_OUT_STRETCHES
        labelled = ((index, self.runs[index].fold(rows.time, folds), rows) for index, rows in self.rows(at))
        return compress(labelled, self.parameters, self.model.robot.joint_names, len(self.runs), folds)

    def unknowns(self, x: Array, before: Unknowns, largest: Array) -> Unknowns:
        """Of a solution; the torque keeps growing up to the ``largest`` current (J,)."""
        b, n = len(self.model.base), self.model.n
        gain = before.gain if self.fixed else x[b : b + n]
        gain = np.where(np.sign(gain) == np.sign(before.gain), gain, before.gain)
        least = -1.0 / (3.0 * (NEAREST_TURNING_RATIO * largest) ** 2)
        return Unknowns(x[:b], gain, gain * np.maximum(x[-n:] / self.size**2 / gain, least))


def identify_map(
    model: DynamicModel,
    runs: Sequence[Run],
    gains: Array | None,
    known: Sequence[KnownParameter] = (),
    formulation: InverseDynamic | None = None,
) -> DriveGains:
    """runs: of currents (``in_amperes``). gains (J,) [N·m/A] where they are known; else they are found, too, from loads
    that runs state or parameters ``known``. ``DriveGains.cubic`` is the cubic part of each joint."""
    formulation = InverseDynamic() if formulation is None else formulation
    loads = [run.payload if run.payload is not None and run.payload.mass else None for run in runs]
    base = model.base
    for load in loads:
        if load is not None and load.missing:
            why = f"{' and '.join(load.missing)} of the load of {load.mass:g} kg are not given, and a cubic part needs "
            raise RecordingError(f"{why}them: say them under payload:, or leave current_map: out")
    start = identify_gains(model, runs, known, formulation) if gains is None else None
    carried = np.array(
        [np.zeros(len(base)) if one is None else load_effect(model, base, one.frame) @ one.phi for one in loads]
    )
    unloaded = tuple(replace(run, payload=None) for run in runs)
    currents = np.concatenate([part.torque for run in unloaded for part in run.parts])
    size, largest = np.sqrt((currents**2).mean(axis=0)), np.abs(currents).max(axis=0)
    if not (size > 0.0).all():
        joint = model.robot.joint_names[int(np.argmin(size))]
        raise RecordingError(f"the current of '{joint}' is zero throughout; give a log that has it, or lock the joint")
    equations = CubicDrives(model, unloaded, formulation, carried, size, fixed=gains is not None)
    stated = conditions(base, known) if start is not None else Conditions.none(len(base))
    n, b = model.n, len(base)
    at = Unknowns(
        np.zeros(b) if start is None else start.base,
        np.asarray(gains, dtype=float) if start is None else np.array(start.about_gains),
        np.zeros(n),
    )
    noise, fit = np.ones(n), None
    for round_ in range(MOST_MAP_ROUNDS):
        before = at.cubic * size**2
        if round_ == 0 and start is None:  # parameters of linear drives first
            at = replace(at, beta=_linear(equations, at))
        fit = CubicFit.of(equations.compressed(at), stated, noise if round_ else None)
        noise = fit.noise
        at = equations.unknowns(fit.x, at, largest)
        std = np.sqrt(fit.covariance.diagonal()[-n:])
        if round_ > 1 and (np.abs(at.cubic * size**2 - before) <= SETTLED_MAP_CHANGE * std).all():
            break
    assert fit is not None
    return _told(equations, fit, at, largest)


def _linear(equations: CubicDrives, at: Unknowns) -> Array:
    """β (b,) of drives without a cubic part."""
    none = Conditions.none(len(at.beta))
    whole = equations.compressed(at)
    b = len(at.beta)
    return CubicFit.of(whole.columns(np.arange(b)), none, None).x


@dataclass(frozen=True, eq=False)
class CubicFit:
    """x (p,) with its covariance (p, p), noise (J,) [A] and share (b, m): what β changes by per unit of the others."""

    x: Array
    covariance: Array
    noise: Array
    gram: Array
    freedom: float

    @classmethod
    def of(cls, compressed: Compressed, known: Conditions, noise: Array | None) -> CubicFit:
        """noise: that weights rows; None: found from a fit of equal weights first."""
        p, b = len(compressed.parameters), len(known.start)
        beside = known.beside(p - b)
        (together,) = compressed.by_joint.dense
        r, z = together[..., :-1], together[..., -1]
        rows = compressed.rows.sum(axis=0)
        if rows.sum() + known.count <= p:
            raise ParameterError(f"{rows.sum()} equations are too few; record longer, filter or decimate less")
        floor = LEAST_CURRENT_NOISE * np.maximum(compressed.rms, 1e-300)

        def solved(sigma: Array) -> tuple[Array, Array, Array]:
            """x, the inverse of the information in the free directions, and σ that the fit leaves."""
            a = (r / sigma[:, None, None]) @ beside.free
            y = z / sigma[:, None] - (r / sigma[:, None, None]) @ beside.start
            wide = np.vstack([a.reshape(-1, a.shape[-1]), beside.rows @ beside.free])
            right = np.append(y.ravel(), beside.values - beside.rows @ beside.start)
            scale = np.maximum(np.linalg.norm(wide, axis=0), 1e-300)
            u, singular, v = np.linalg.svd(wide / scale, full_matrices=False)
            if singular[-1] <= GAIN_RANK_TOLERANCE * singular[0]:
                lost = beside.free @ (v[-1] / scale)
                worst = compressed.parameters[int(np.argmax(np.abs(lost) * np.linalg.norm(r, axis=(0, 1))))]
                why = f"the currents do not determine {worst} beside the others; move more, or leave out current_map:"
                raise ParameterError(why)
            x = beside.start + beside.free @ (v.T @ ((u.T @ right) / singular) / scale)
            taken = (u[: r.shape[0] * r.shape[1]] ** 2).sum(axis=1).reshape(r.shape[:2]).sum(axis=1)
            left = ((z - r @ x) ** 2).sum(axis=1)
            found = np.maximum(np.sqrt(left / np.maximum(rows - taken, 1.0)), floor)
            return x, ((v.T / singular**2) @ v) / np.outer(scale, scale), found

        sigma = solved(np.maximum(compressed.rms, floor))[2] if noise is None else np.maximum(noise, floor)
        x, inverse, found = solved(sigma)
        weighted = compressed.factors / compressed.per_group(sigma)[..., None, None]
        slopes, left = weighted[..., :-1] @ beside.free, weighted @ np.append(-x, 1.0)
        stretched = slopes * np.sqrt(compressed.inflation)[..., None, None]
        flat = stretched.reshape(-1, stretched.shape[-1])
        stated = (beside.rows @ beside.free).T @ (beside.rows @ beside.free)
        whole = inverse @ (flat.T @ flat + stated) @ inverse
        whole = widened(whole, left_out_covariance(*by_stretch(compressed.fold, slopes, left), stated))
        gram = (weighted[..., :-1].reshape(-1, p)).T @ weighted[..., :-1].reshape(-1, p)
        freedom = float(compressed.independent.sum()) + known.count - p
        return cls(x, beside.free @ whole @ beside.free.T, found, gram, freedom)

    def shared(self, b: int) -> Array:
        """(b, b) of β, by what is not known of the drives: G cov G ᵀ, G = −(RᵀR)⁻¹ RᵀR of the drives' columns."""
        own, scale = self.gram[:b, :b], np.sqrt(np.maximum(self.gram.diagonal()[:b], 1e-300))
        inverse = np.linalg.pinv(own / np.outer(scale, scale), hermitian=True) / np.outer(scale, scale)
        share = inverse @ self.gram[:b, b:]
        return np.asarray(share @ self.covariance[b:, b:] @ share.T)


def _told(equations: CubicDrives, fit: CubicFit, at: Unknowns, largest: Array) -> DriveGains:
    n, b, joints = equations.model.n, len(at.beta), equations.model.robot.joint_names
    units = equations.size**-2
    drives = fit.covariance[b:, b:]
    covariance = np.zeros((n, n)) if equations.fixed else drives[:n, :n]
    std = np.sqrt(drives.diagonal()[-n:]) * units
    notes = list[Note]()
    faint = [name for name, k, s in zip(joints, at.cubic, std, strict=True) if abs(k) < SIGNIFICANT_STD_RATIO * s]
    if faint:
        notes.append(note("current map", f"the cubic part of {', '.join(faint)} is not told from zero"))
    bound = [
        name
        for name, k, g, most in zip(joints, at.cubic, at.gain, largest, strict=True)
        if k / g <= -0.999 / (3.0 * (NEAREST_TURNING_RATIO * most) ** 2)
    ]
    if bound:
        text = f"the torque of {', '.join(bound)} hardly grows with the largest currents: a cubic is not enough for "
        notes.append(warning("current map", f"{text}them; give a map: in recording.yaml"))
    return DriveGains(
        joints=joints,
        gains=at.gain,
        covariance=covariance,
        determined=np.ones(n, dtype=bool),
        names=equations.model.base.names,
        base=at.beta,
        noise=fit.noise,
        freedom=fit.freedom,
        notes=tuple(notes),
        cubic=at.cubic,
        cubic_std=std,
        shared=fit.shared(b),
        gains_known=equations.fixed,
    )
