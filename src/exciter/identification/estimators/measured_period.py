"""One measured period: a series fitted to the joint angles, the torques, and the noise of both.

Torque errors are compared line by line where an analogue filter cut the torque: only lines it has, each over its own
noise. Undoing a filter H multiplies white noise of the samples by 1/|H| at every line, and leaves nothing above a
bandwidth, where the model's torque goes on. Over one period both are sums of lines, so the comparison is exact when
lines above are left out on both sides and the others divided by 1/|H|: errors of the rows are white again.

An instant whose torque is not used has a share in every line. It is missing, not zero: its torque is an unknown of its
own in front of the filter, and what rows could tell of these unknowns is taken out of them (least squares with the
unknowns beside β and δ is the same). Errors of the rows left stay white, and none of the hidden torque is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.recording.analogue_filter import AnalogResponse
from exciter.experiment.recording.signal_filters import filters_of
from exciter.experiment.signals.processed_motion import FourierSeries, Processed
from exciter.identification.formulations.formulation import blocks
from exciter.identification.information.problem import zero_torque
from exciter.identification.runs.run import Run, load_chi
from exciter.robot.motion import Motion
from exciter.typing import Array, BoolArray, Index

GivenNoise = Array | None
LEAST_NOISE_FRACTION = 1e-9  # of a signal: noise below it is rounding
GIVEN_NOISE_FREEDOM = 1e9  # degrees of freedom of a noise that was given
UNCERTAIN_SPEED_SIGMAS = 4.0  # σ of q̇ within which joint terms must change as their derivative says,
NONSMOOTH_COLUMN_FRACTION = 0.5  # to this part of their size
HIDDEN_TORQUE_FRACTION = 1e-4  # of a torque at hidden instants: what may remain of it in rows


@dataclass(frozen=True, eq=False)
class TorqueSpectrum:
    """weights (L,) of lines 0 … L − 1 of a period of ``samples``. gain: σ with the filter undone over σ recorded.
    hidden (h, 2 L − 1): orthonormal directions in which torques at instants that are not used reach the lines."""

    samples: int
    weights: Array
    gain: float
    hidden: Array

    @classmethod
    def below(cls, bandwidth: float, period: float, samples: int, analog: AnalogResponse | None) -> TorqueSpectrum:
        """Lines up to ``bandwidth`` [Hz]; white noise of σ per sample of the torque as it is becomes σ per row. analog:
        the filter that was undone; None: unknown, or joints differ, so that noise within the band is taken as even."""
        top = int(min(bandwidth * period, (samples - 1) // 2))
        if top < 1:
            raise RecordingError(
                f"the torque is whole up to {bandwidth:.4g} Hz, less than one line of a period of {period:.6g} s; "
                "another estimator would not do better: give the right filter and period"
            )
        frequency = np.arange(top + 1) / period
        growth = np.ones(top + 1) if analog is None else 1.0 / np.abs(analog.response(frequency))
        gain = float(np.sqrt((growth[0] ** 2 + 2.0 * (growth[1:] ** 2).sum()) / samples))
        return cls(samples=samples, weights=gain / growth, gain=gain, hidden=np.zeros((0, 2 * top + 1)))

    def without(self, instants: BoolArray) -> TorqueSpectrum:
        """Whatever the torque is at instants (N,).

        Unit torques there give lines whose Gram matrix is S K S: K the circulant of the weights' squares, S the choice
        of instants. Its eigenvectors are combinations of these torques whose lines are orthogonal, of length √λ."""
        at = np.flatnonzero(instants)
        kernel, least = np.fft.irfft(self.weights**2, self.samples), HIDDEN_TORQUE_FRACTION * self.weights.max()
        gram = kernel[(at[:, None] - at) % self.samples]
        torque = linalg.eigh(gram, subset_by_value=(least**2, np.inf))[1] if len(at) else gram
        spread = np.zeros((torque.shape[1], self.samples))
        spread[:, at] = torque.T
        plain = replace(self, hidden=self.hidden[:0])
        return replace(self, hidden=np.linalg.qr(plain.of(spread).T)[0].T)

    @property
    def rows(self) -> int:
        """How many are independent."""
        return 2 * len(self.weights) - 1 - len(self.hidden)

    def of(self, x: Array) -> Array:
        """(k, 2 L − 1) of samples x (k, N): mean, cosines, sines, by an orthonormal transformation."""
        lines = np.fft.rfft(x)[:, : len(self.weights)] * (self.weights / np.sqrt(self.samples))
        pairs = np.sqrt(2.0) * lines[:, 1:]
        rows = np.concatenate([lines[:, :1].real, pairs.real, pairs.imag], axis=1)
        return np.asarray(rows - (rows @ self.hidden.T) @ self.hidden)


@dataclass(frozen=True, eq=False)
class Measured:
    """Unknown are δ (c,), the coefficients of eq. (11) that the joints use, joint after joint, and β (p,).

    series: fitted to all recorded angles by least squares, with their noise: for the likelihood of the angles a
    sufficient statistic, Σ ((q_m − q(δ))/σ_q)² = ‖root (δ − δ̂)‖² + what no δ explains. torque (N, n) at ``time`` (N,).
    noise (n,): σ of one torque, known from noise_freedom degrees of freedom per joint. columns: of the standard
    parameters, those β stands for. load: standard parameters of a known payload. spectra: what torque errors of each
    joint are compared in, None: as they are. kept (n, N): torques that are used; which ones is decided along δ̂ of the
    angles alone and stays: were it decided anew with every δ, a step could lower the cost by bringing samples to
    rest."""

    model: DynamicModel
    columns: Index
    series: FourierSeries
    time: Array
    torque: Array
    noise: Array
    noise_freedom: float
    load: Array
    spectra: tuple[TorqueSpectrum, ...] | None
    kept: BoolArray

    @classmethod
    def of(
        cls, model: DynamicModel, columns: Index, run: Run, piece: Processed, angles: GivenNoise, torques: GivenNoise
    ) -> Measured:
        """angles, torques (n,): σ of a recorded sample; None: as samples vary between periods, NaN for a single one."""
        if piece.motion.n != model.n:
            raise RecordingError(f"{run.name} has {piece.motion.n} joints, the robot {model.n}; see Recording.arranged")
        if (series := piece.series) is None:
            raise RecordingError(
                f"{run.name} is no average over periods, which maximum likelihood needs; give the recording's period "
                "[s] where the motion repeats, with route: fourier or none, or use another estimator"
            )
        for name, size in zip(model.robot.joint_names, _size(piece.torque), strict=True):
            if size == 0.0:
                raise zero_torque(name, run.name)
        count, periods = len(piece), series.samples / len(piece)
        least = LEAST_NOISE_FRACTION * piece.motion.q.std(axis=0).max()
        angles = np.maximum(series.noise if angles is None else angles, least)
        given = None if run.recording is None else run.recording.about.filter
        each = set(filters_of(given, "torque", model.n))
        analog = next(iter(each)) if len(each) == 1 else None
        cut = np.isfinite(piece.torque_bandwidth)
        spectrum = TorqueSpectrum.below(piece.torque_bandwidth, series.period, count, analog) if cut else None
        if torques is not None:
            noise = torques / np.sqrt(periods) * (1.0 if spectrum is None else spectrum.gain)
        else:
            noise = np.full(model.n, np.nan) if piece.torque_noise is None else piece.torque_noise
        return cls(
            model=model,
            columns=columns,
            series=replace(series, noise=angles),
            time=piece.motion.time,
            torque=piece.torque,
            noise=np.maximum(noise, LEAST_NOISE_FRACTION * _size(piece.torque)),
            noise_freedom=GIVEN_NOISE_FREEDOM if torques is not None else max((periods - 1.0) * count, 1.0),
            load=np.zeros(len(model.standard)) if run.payload is None else load_chi(model, run.payload),
            spectra=None if spectrum is None else (spectrum,) * model.n,
            kept=np.ones(piece.torque.shape[::-1], dtype=bool),
        )

    @property
    def floor(self) -> Array:
        """(n,) the least noise that torques are believed to have."""
        return LEAST_NOISE_FRACTION * _size(self.torque)

    @property
    def delta(self) -> Array:
        """δ̂ (c,) of the angles alone."""
        return self.series.delta[self.series.used]

    @cached_property
    def root(self) -> Array:
        """(c, c) upper triangular: rootᵀ root is the information of the angles on δ."""
        c, at = int(self.series.used.sum()), 0
        root = np.zeros((c, c))
        for used, sigma in zip(self.series.used, self.series.noise, strict=True):
            block = np.linalg.cholesky(self.series.gram[np.ix_(used, used)]).T / sigma
            root[at : at + len(block), at : at + len(block)] = block
            at += len(block)
        return root

    @cached_property
    def bases(self) -> tuple[Array, ...]:
        """B₀, B₁, B₂ (N, 2 h + 1)."""
        return self.series.trajectory.basis(self.time - self.series.start)

    def coefficients(self, delta: Array) -> Array:
        """(n, 2 h + 1) of δ (c,)."""
        whole = np.zeros_like(self.series.delta)
        whole[self.series.used] = delta
        return whole

    def motion(self, delta: Array) -> Motion:
        whole = self.coefficients(delta)
        return Motion(self.time, *(basis @ whole.T for basis in self.bases))

    def chi(self, beta: Array) -> Array:
        """Standard parameters that take the torque of β and of the payload."""
        chi = self.load.copy()
        chi[self.columns] += beta
        return chi

    @property
    def rows(self) -> Index:
        """(n,) torque equations."""
        if self.spectra is not None:
            return np.array([one.rows for one in self.spectra])
        return np.asarray(self.kept.sum(axis=1))

    def compared(self, joint: int, errors: Array, part: slice) -> Array:
        """(k, rows) of what is compared, from (k, N) of a joint's torques in a part of the period."""
        return errors * self.kept[joint, part] if self.spectra is None else self.spectra[joint].of(errors)

    def using(self, kept: BoolArray) -> Measured:
        """Some of the torques (n, N)."""
        if self.spectra is None or (kept == self.kept).all():
            return replace(self, kept=kept)
        spectra = tuple(one.without(~some) for one, some in zip(self.spectra, kept, strict=True))
        return replace(self, kept=kept, spectra=spectra)

    def squares(self, delta: Array, beta: Array) -> Array:
        """(n,) Σ of squared torque errors [(N·m)²]."""
        left = (self.torque - self.model.torque(self.motion(delta), self.chi(beta))).T
        return np.array([(self.compared(j, left[j : j + 1], slice(None)) ** 2).sum() for j in range(self.model.n)])

    def linear(self, delta: Array) -> Array:
        """(n, p + 1, p + 1) triangular factors of [Φ_j, τ_j] along a trajectory, not divided by noise."""
        size = len(self.columns) + 1
        factors = np.zeros((self.model.n, size, size))
        for part, some in self._parts(self.motion(delta)):
            phi = self.model.regressor(some).transpose(1, 2, 0)[:, self.columns]
            torque = (self.torque[part] - self.model.torque(some, self.load)).T
            for j in range(self.model.n):
                rows = self.compared(j, np.concatenate([phi[j], torque[j : j + 1]]), part)
                found = np.linalg.qr(np.vstack([factors[j], rows.T]), mode="r")
                factors[j, : len(found)] = found
        return factors

    def gram(self, delta: Array, beta: Array) -> Array:
        """(n, c + p + 1, c + p + 1): [∂τ_j/∂δ, ∂τ_j/∂β, e_j]ᵀ times itself, not divided by noise: torque errors e of
        each joint and how steps of δ and β lower them. (The rest of J is ``root``.)"""
        size = len(delta) + len(beta) + 1
        gram = np.zeros((self.model.n, size, size))
        for j, rows in self.jacobian(delta, beta):
            gram[j] += rows @ rows.T
        return gram

    def jacobian(self, delta: Array, beta: Array) -> Iterator[tuple[int, Array]]:
        """(joint, (c + p + 1, rows) ∂τ_j/∂δ, ∂τ_j/∂β and e_j), part by part of the period. ∂τ_j/∂(q, q̇, q̈) of all
        instants at once is the adjoint of τ_j: n passes of Newton–Euler, joint terms without memory included."""
        model, chi, used = self.model, self.chi(beta), self.series.used
        for part, some in self._parts(self.motion(delta)):
            bases = [np.ascontiguousarray(basis[part].T) for basis in self.bases]
            phi = model.regressor(some).transpose(1, 2, 0)[:, self.columns]  # (n, p, N)
            left = (self.torque[part] - model.torque(some, chi)).T
            for j, seed in enumerate(np.eye(model.n)):
                slope = model.torque_pullback(some, np.tile(seed, (len(some), 1)), chi)
                slopes = zip((slope.q.T, slope.qd.T, slope.qdd.T), bases, strict=True)
                of_delta: Array = sum((one[:, None] * basis for one, basis in slopes), np.zeros(()))
                yield j, self.compared(j, np.concatenate([of_delta[used], phi[j], left[j : j + 1]]), part)

    def _parts(self, motion: Motion) -> Iterator[tuple[slice, Motion]]:
        parts = blocks(len(motion)) if self.spectra is None else [slice(len(motion))]  # a line has all instants in it
        return ((part, motion[part]) for part in parts)

    def beyond(self, zone: Array) -> Measured:
        """Without torques of joints that are slower than a dead zone (n,) [rad/s, m/s], as ``model_rows``."""
        return self.using(self.kept & ~(np.abs(self.motion(self.delta).qd) < zone).T) if zone.any() else self

    def certain(self) -> Measured:
        """Without torques that are no smooth function of the trajectory within its noise.

        Coulomb friction jumps where q̇ changes sign. The series knows q̇ to σ; where it is below 4 σ the sign is a guess,
        wrong by 2 Fs, and no derivative says so. Told for the columns of any joint term: values at q̇ ± 4 σ against the
        derivative, left out where they differ by half the column's size. (Terms linear or quadratic in q̇ never do.)"""
        motion, model = self.motion(self.delta), self.model
        reach = UNCERTAIN_SPEED_SIGMAS * self.series.noise_of_derivatives[1]
        up, down = (model.term_values(replace(motion, qd=motion.qd + sign * reach)) for sign in (1, -1))
        size = np.sqrt((model.term_values(motion) ** 2).mean(axis=1))
        kept = self.kept.copy()
        for entry, (row, _) in enumerate(model.entries):
            seeds = np.zeros_like(up)
            seeds[entry] = 1.0
            slope = model.terms_pullback(motion, seeds).qd @ reach
            kept[row] &= np.abs(up[entry] - down[entry] - 2.0 * slope) <= NONSMOOTH_COLUMN_FRACTION * size[entry]
        return self.using(kept)


def _size(torque: Array) -> Array:
    """(n,) rms."""
    return np.asarray(np.sqrt((torque**2).mean(axis=0)))
