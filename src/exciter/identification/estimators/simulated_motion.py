"""Estimators that simulate the closed loop: DIDIM and instrumental variables (IDIM-IV). Both need the controller."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.differentiation import FilteredDifferences, low_passed_differences
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.closed_loop.closed_loop import ClosedLoop, SimulatedRun, Simulation, Unmovable, dry_friction
from exciter.identification.estimators.estimator import Estimator, Rounds
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.compressed import Labelled, compress, until_noise_settles
from exciter.identification.information.estimate import WHITE, Estimate, assumed, linear_estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run, load_chi
from exciter.notes import Note, done, note, warning
from exciter.robot.motion import Motion
from exciter.settings import Positive
from exciter.typing import Array

KNOWN_CONTROLLER = assumed("controller and reference are known, and keep the motion from depending on the parameters")
SHORTEST_STEP_FRACTION = 0.02  # part of a step towards parameters that no arm can be simulated with
MOST_SHORTENED_STEPS = 4  # steps in a row that had to be shortened
NEGLIGIBLE_CHANGE_FRACTION = 1e-9  # of the torque: a change this small is none
WANDERING_CHANGE_SIGMAS = 0.3  # σ: a smaller change that does not fall is accepted,
FIRST_SIMULATIONS = 3  # but not in the first rounds
INSTRUMENT_ASSUMPTIONS = assumed(
    "errors of the equations are stationary, of any colour and correlated between joints",
    "the simulated motion knows nothing of them, so controller and reference are known",
)
COVARIANCE_BLOCK_INSTANTS = 4096  # instants that are looked at together; what is farther apart counts as independent
INSTANTS_PER_LAG = 4  # lags of the autocovariance are at most so small a part of the instants
MOST_COVARIANCE_LAGS = 256


class SimulatingEstimator(Estimator):
    """route: how the measured motion was differentiated, where that is to be made up for. exact: whether the answer
    must be one that can be simulated; otherwise it is accepted after several shortened steps in a row, since
    instruments of nearby parameters serve as well."""

    loop: ClosedLoop | tuple[ClosedLoop, ...] | None
    route: FilteredDifferences | None = None
    rounds: int
    tolerance: float
    exact: ClassVar[bool]

    @abstractmethod
    def update(self, problem: Problem, noise: Array, along: Problem) -> SimulatedFit:
        """From the equations ``along`` the simulated motion; noise (J,): of least squares on the measured one."""

    def loops(self, problem: Problem) -> tuple[ClosedLoop, ...]:
        """Of every run: one for all, where they repeat the same motion, or one of each."""
        problem.refuse_silent("a simulation of the controlled robot")
        problem.refuse_currents("a simulation of the controlled robot")
        if self.loop is None:
            raise ParameterError("the controlled robot is simulated; give the closed loop of the experiment")
        loops = self.loop if isinstance(self.loop, tuple) else (self.loop,) * len(problem.runs)
        if len(loops) != len(problem.runs):
            raise ParameterError(
                f"{len(loops)} closed loops for {len(problem.runs)} recordings; give one for all, or one for each"
            )
        if not np.array_equal(problem.base.independent, problem.model.base.independent):
            raise ParameterError(
                f"{type(problem.formulation).__name__} does not tell all that a simulation needs; use a formulation "
                "of joint torques (InverseDynamic, for example)"
            )
        for run, one in zip(problem.runs, loops, strict=True):
            assert run.span is not None
            one.refuse(problem.model, run.span, run.name)
        return loops

    def simulated(self, problem: Problem, values: Array) -> Problem:
        """The same torques beside the motion of a robot with base parameters ``values`` (p,): ``SimulatedPieces``."""
        chi = np.zeros(len(problem.model.standard))
        chi[problem.base.independent] = values
        runs = []
        for run, loop in zip(problem.runs, self.loops(problem), strict=True):
            pieces = SimulatedPieces(run, loop, problem.model, chi, self.route)
            runs.append(replace(run, parts=tuple(pieces) if isinstance(run.parts, tuple) else pieces))
        return problem.along(tuple(runs))

    def settle(self, problem: Problem) -> SimulatedFit:
        """Simulate, update, and again, until the parameters change by less than the tolerance.

        From weighted least squares on the measured motion; where that leads to parameters no arm can be simulated with,
        from the nominal values. A step to such parameters is halved.

        A joint that rests in one simulation and creeps in the next changes sides of its dry friction: such a change
        need not fall to nothing, and is accepted when it is small beside σ."""
        self.loops(problem)
        start, noise = problem.compressed.enough().reweighted()
        try:
            return self._settle(problem, start, noise)
        except Unmovable as error:
            found = self._settle(problem, problem.base.base_values(problem.model.nominal), noise)
            text = f"started from nominal values: from those of least squares, {error.why}"
            return replace(found, notes=(note("start", text), *found.notes))

    def _settle(self, problem: Problem, start: Array, noise: Array) -> SimulatedFit:
        before, blocked, moved = np.inf, 0, np.inf
        along = self.simulated(problem, start)
        for number in range(1, self.rounds + 1):
            found = self.update(problem, noise, along)
            change = found.values - start
            moved = float(np.abs(change / found.std).max())
            size = float(np.linalg.norm(found.factor @ change) / np.linalg.norm(found.factor @ found.values))
            wanders = number > FIRST_SIMULATIONS and not blocked and 0.5 * before < moved < WANDERING_CHANGE_SIGMAS
            if moved <= self.tolerance or size <= NEGLIGIBLE_CHANGE_FRACTION or wanders:
                text = f"settled after {number} simulations, the last changed parameters by {moved:.1g} σ"
                return replace(found, notes=(done("iterations", text),))
            if blocked >= MOST_SHORTENED_STEPS and not self.exact:
                text = f"instruments are those of values {moved:.2g} σ away: with the estimated ones no arm moves"
                return replace(found, notes=(warning("instruments", text),))
            part, along = self._towards(problem, start, change)
            before, blocked, start = moved, blocked + 1 if part < 1.0 else 0, start + part * change
        raise ParameterError(
            f"after {self.rounds} simulations the parameters still change by {moved:.2g} σ; is this the controller and "
            "the reference the robot had (gains, rate, clock's offset)? If so, allow more rounds"
        )

    def _towards(self, problem: Problem, start: Array, change: Array) -> tuple[float, Problem]:
        """The largest part of the step, 1, ½, ¼, …, after which an arm can be simulated; and that."""
        part = 1.0
        while True:
            try:
                return part, self.simulated(problem, start + part * change)
            except Unmovable:
                if part < SHORTEST_STEP_FRACTION:
                    raise
                part *= 0.5


@dataclass(frozen=True, eq=False)
class SimulatedFit:
    """values, std (p,), noise (J,); factor (…, p): weighted rows, or what stands for them; along: as simulated."""

    values: Array
    std: Array
    noise: Array
    factor: Array
    along: Problem
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class DIDIM(SimulatingEstimator):
    """Direct and inverse dynamic identification models (Gautier, Janot, Vandanjon 2013). Only torques are measured.
    loop: of all runs, or one of each. rounds: simulations at most; tolerance: settled when no parameter changes by more
    than this part of its σ.

    The closed loop is simulated with the present parameters; the regressor Φ(q, q̇, q̈) of the simulated motion is free
    of noise, and least squares on the measured torques gives the next parameters. This is Gauss–Newton on y − τ(χ) with
    ∂τ/∂χ ≈ Φ: the controller makes the simulated robot follow the reference whatever its parameters, so ∂q/∂χ is small.

    The reference matters more than the gains: on a virtual arm of three axes (100 Hz, 1e-3 rad, 10 s) the predicted
    torque was wrong by 0.26 %, by 0.25 … 0.29 % with gains 20 % off, by 4 % with a clock 10 ms off: residuals tell."""

    word, title = "didim", "matching the torque of a simulation (DIDIM)"
    inner, exact = ("loop",), True
    loop: ClosedLoop | tuple[ClosedLoop, ...] | None = None
    rounds: Rounds = 20
    tolerance: Positive = 1e-3

    def estimate(self, problem: Problem) -> Estimate:
        found = self.settle(problem)
        compressed, noise, assumptions = found.along.compressed, found.noise, WHITE + KNOWN_CONTROLLER
        estimate = linear_estimate(problem, compressed, found.values, noise, noise, assumptions)
        return replace(estimate, notes=found.notes)

    def update(self, problem: Problem, noise: Array, along: Problem) -> SimulatedFit:
        values, noise = along.compressed.reweighted()
        information = along.compressed.information(noise)
        std = np.sqrt(np.diag(np.linalg.inv(information.gram())))
        return SimulatedFit(values=values, std=std, noise=noise, factor=information.r, along=along)


@dataclass(frozen=True)
class InstrumentalVariables(SimulatingEstimator):
    """Instrumental variables with simulated instruments (IDIM-IV; Janot, Vandanjon, Gautier 2014).
    loop: of all runs, or one of each. rounds: simulations at most; tolerance: settled when no parameter changes by more
    than this part of its σ.

    Noise on the joints makes W itself noisy, and least squares biased: E(Wᵀe) ≠ 0. Z, the same regressor along the
    motion of a simulated closed loop, is independent of that noise; then χ = (ZᵀΣ⁻¹W)⁻¹ ZᵀΣ⁻¹y. Z needs parameters, so
    it is made anew with every χ, from weighted least squares on, until they agree. Both sides and the instruments go
    through the same formulation.

    The remaining bias is of second order (of q̇², say), so light filtering helps. The direction of dry
    friction is taken from the simulation in W too: the sign of a noisy velocity is wrong around every reversal, on
    average less than ±1, and no instrument mends that. route: how the measured motion was differentiated; the simulated
    positions then go through it too, and what it does to them (corners at reversals, the controller's steps between two
    samples, the gain of central differences) is made up for. Without, a log of 100 Hz with dry friction leaves 0.6 % of
    the torque wrong, noise or not. σ tends to be too large, by 10 % or so: see ``coloured_covariance``."""

    word, title = "iv", "instrumental variables"
    inner, exact = ("loop", "route"), False
    loop: ClosedLoop | tuple[ClosedLoop, ...] | None = None
    route: FilteredDifferences | None = None
    rounds: Rounds = 20
    tolerance: Positive = 1e-3

    def estimate(self, problem: Problem) -> Estimate:
        found, compressed = self.settle(problem), problem.compressed
        independent = float(compressed.independent.sum())
        freedom = max(independent - len(found.values), 1.0)
        meat = coloured_covariance(lambda: _series(problem, found), found.noise)
        bread = np.linalg.inv(found.factor)
        return Estimate.of(
            problem,
            compressed.information(),
            values=found.values,
            covariance=bread @ meat @ bread.T * (independent / freedom),
            noise=found.noise,
            freedom=freedom,
            assumptions=INSTRUMENT_ASSUMPTIONS,
            notes=found.notes,
        )

    def update(self, problem: Problem, noise: Array, along: Problem) -> SimulatedFit:
        """χ with the instruments of ``along``, weights and residuals in agreement; σ as if errors were white."""
        p = len(problem.names)
        cross = np.zeros((len(problem.joints), p, 2 * p + 1))  # Zᵀ [W y Z] per joint

        def labelled() -> Iterator[Labelled]:
            for run, measured, instruments in _pairs(problem, along):
                z = instruments.w.transpose(1, 2, 0)
                cross[:, :, : p + 1] += z @ measured.sides.transpose(1, 0, 2)
                cross[:, :, p + 1 :] += z @ z.transpose(0, 2, 1)
                yield run, np.zeros(len(measured), dtype=np.int64), measured

        compressed = compress(labelled(), problem.names, problem.joints, len(problem.runs), 1)

        def fit(noise: Array) -> tuple[tuple[Array, Array], Array]:
            weighted = (cross / (noise**2)[:, None, None]).sum(axis=0)
            values = _solved(weighted[:, :p], weighted[:, p])
            return (values, weighted), compressed.noise_of(values, noise)

        (values, weighted), noise, _ = until_noise_settles(fit, noise)
        inverse = np.linalg.inv(weighted[:, :p])
        std = np.sqrt(np.diag(inverse @ weighted[:, p + 1 :] @ inverse.T))
        return SimulatedFit(values=values, std=std, noise=noise, factor=weighted[:, :p], along=along)


def _solved(matrix: Array, right: Array) -> Array:
    scale = np.sqrt(np.abs(np.diag(matrix)))
    try:
        return np.asarray(np.linalg.solve(matrix / np.outer(scale, scale), right / scale) / scale)
    except np.linalg.LinAlgError:
        raise ParameterError(
            "the simulated motion does not excite all parameters; is this the reference that the robot followed?"
        ) from None


def _pairs(problem: Problem, along: Problem) -> Iterator[tuple[int, Rows, Rows]]:
    """Measured equations and those of the simulated motion at the same instants. Of dry friction, the measured ones
    have what was simulated: its direction, and what it held back at rest (``SimulatedPieces``)."""
    dry = np.flatnonzero(dry_friction(problem.model)[problem.base.independent])
    simulated = np.append(dry, len(problem.names))
    rests = isinstance(problem.formulation, InverseDynamic) and problem.formulation.zone(problem.model).any()
    seen = _resting_as(problem, along) if rests else problem
    for (run, measured), (_, instruments) in zip(seen.rows(), along.rows(), strict=True):
        assert np.array_equal(measured.time, instruments.time)
        sides = measured.sides.copy(order="K")
        sides[..., simulated] = instruments.sides[..., simulated]
        yield run, replace(measured, sides=sides), instruments


@dataclass(frozen=True, eq=False)
class RestingAs:
    """Pieces of a run whose joints count as resting when they rest in another, gone through anew every time."""

    parts: Iterable[Processed]
    other: Iterable[Processed]

    def __iter__(self) -> Iterator[Processed]:
        there = (piece for piece in self.parts if len(piece))
        for piece, other in zip(there, self.other, strict=True):
            yield replace(piece, speed=other.motion.qd)


def _resting_as(problem: Problem, along: Problem) -> Problem:
    """A dead zone leaves out the same equations of both, told by the simulated motion: told by the measured one, which
    equations there are would depend on the noise that instruments must not know of."""
    pairs = zip(problem.runs, along.runs, strict=True)
    parts = [(run, RestingAs(run.parts, other.parts)) for run, other in pairs]
    return problem.along(
        tuple(replace(run, parts=tuple(made) if isinstance(run.parts, tuple) else made) for run, made in parts)
    )


def _series(problem: Problem, found: SimulatedFit) -> Iterator[Rows]:
    """Instruments over time, and beside them the residuals."""
    for _, measured, instruments in _pairs(problem, found.along):
        sides = instruments.sides.copy(order="K")
        sides[..., -1] = measured.y - measured.w @ found.values
        yield replace(instruments, sides=sides)


# -- the problem along the simulated motion ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SimulatedPieces:
    """Pieces of ``run`` along the simulated motion of a robot with χ, made anew whenever they are gone through.

    While a joint is held by dry friction, its drive gives less than Φχ says: the difference is added to the measured
    torque, so that the equations hold for the true parameters at rest too. With a route, that of the measured motion,
    the torque is also less by what differentiation makes of positions: Φχ of the simulated motion, less Φχ of simulated
    positions that went through the route, dry friction left aside."""

    run: Run
    loop: ClosedLoop
    model: DynamicModel
    chi: Array
    route: FilteredDifferences | None

    def __iter__(self) -> Iterator[Processed]:
        model, dry = self.model, dry_friction(self.model)
        chi = np.where(dry, np.maximum(self.chi, 0.0), self.chi)  # what is simulated, see ``joint_forces``
        if self.run.payload is not None and self.run.payload.mass:
            chi += load_chi(model, self.run.payload)
        simulation, found = self.loop.simulation(model, chi), None
        for piece in self.run.parts:
            if not len(piece):
                continue
            route, low_pass, edge = self.route, None, 0  # the low-pass of the route takes samples at each end
            cutoff = None if route is None else piece.position_bandwidth if route.cutoff is None else route.cutoff
            if route is not None and cutoff is not None and np.isfinite(cutoff):
                low_pass = Butterworth(cutoff, route.order)
                edge = max(1, low_pass.settle(piece.rate, route.edge))
            time, beyond = piece.motion.time, np.arange(1, edge + 1) / piece.rate
            at = np.concatenate([time[0] - beyond[::-1], time, time[-1] + beyond]) - self.loop.offset
            found = _further(simulation, found, np.maximum(at, 0.0), 1.0 / piece.rate)
            own = slice(edge, len(found.torque) - edge)
            motion = replace(found.motion[own], time=time)
            changed = piece.torque + model.torque(motion, chi) - found.torque[own]
            if route is not None and low_pass is not None:
                qd = found.motion.qd if route.measured_velocity else None
                seen = Motion(time, *low_passed_differences(low_pass, piece.rate, found.motion.q, qd, own))
                smooth = np.where(dry, 0.0, chi)
                changed = changed - model.torque(motion, smooth) + model.torque(seen, smooth)
            yield replace(piece, motion=motion, torque=changed)


def _further(simulation: Simulation, last: SimulatedRun | None, at: Array, interval: float) -> SimulatedRun:
    """At instants (N,) [s] of the simulation's clock, whose stretch may overlap with the last one."""
    if last is None or at[0] > last.motion.time[-1]:
        return simulation.at(at)
    kept = slice(int(np.searchsorted(last.motion.time, at[0] - 0.5 * interval)), None)
    new = simulation.at(at[at > last.motion.time[-1] + 0.5 * interval])
    return SimulatedRun(last.motion[kept].followed_by(new.motion), np.concatenate([last.torque[kept], new.torque]))


# -- covariance of Zᵀe for errors of any colour ----------------------------------------------------------------------


def coloured_covariance(series: Callable[[], Iterable[Rows]], noise: Array) -> Array:
    """(p, p) of Σ zᵀ e / noise²; series: instruments z as W and residuals e as y, gone through twice, in order of time;
    noise (n,): the weights.

    Σ z_tᵀ R(t − s) z_s, with R(k) the autocovariance of the residuals. Filtered rows whose noise comes from
    differentiated positions have errors far from white: most of their variance is where the motion has nothing. What
    counts is their spectrum at the frequencies of Z; so R is taken from the residuals, joints together, with a Parzen
    window, and summed over frequencies, block by block."""
    longest, count, lagged = 1, 0, np.zeros((MOST_COVARIANCE_LAGS + 1, len(noise), len(noise)))
    for block in _blocks(series()):
        longest, count = max(longest, len(block)), count + len(block)
        lagged += _lagged(block.y / noise)
    lags = min(max(longest // INSTANTS_PER_LAG, 1), MOST_COVARIANCE_LAGS)
    covariance = lagged[: lags + 1] / count * scipy.signal.windows.parzen(2 * lags + 1)[lags:, None, None]
    total: Array = sum((_seen(block.w / noise[:, None], covariance) for block in _blocks(series())), np.zeros(()))
    return 0.5 * (total + total.T)


def _lagged(errors: Array) -> Array:
    """(lags + 1, n, n): Σ_t e_{t+k} e_tᵀ of errors (T, n), tapered: what is strong beside the motion must not leak."""
    taper = scipy.signal.windows.hann(len(errors) + 2)[1:-1, None]
    length = _length(len(errors))
    wave = scipy.fft.rfft(errors * taper / np.sqrt((taper**2).mean()), length, axis=0)
    found = scipy.fft.irfft(wave[:, :, None] * wave[:, None, :].conj(), length, axis=0)
    return np.asarray(found[: MOST_COVARIANCE_LAGS + 1])


def _seen(z: Array, covariance: Array) -> Array:
    """(p, p) Σ_ts z_tᵀ R(t − s) z_s of instruments z (T, n, p), R(k) = covariance[k], R(−k) = R(k)ᵀ."""
    length, p = _length(len(z)), z.shape[2]
    circular = np.zeros((length, *covariance.shape[1:]))
    circular[: len(covariance)] = covariance
    circular[-len(covariance) + 1 :] = covariance[:0:-1].swapaxes(1, 2)
    wave, spectrum = scipy.fft.rfft(z, length, axis=0), scipy.fft.rfft(circular, axis=0)
    seen = spectrum @ wave * (2.0 / length)
    seen[[0] if length % 2 else [0, -1]] *= 0.5  # every other frequency stands for two
    return np.asarray((wave.reshape(-1, p).conj().T @ seen.reshape(-1, p)).real)


def _length(samples: int) -> int:
    """Of transforms that do not fold lags onto each other."""
    return int(scipy.fft.next_fast_len(samples + MOST_COVARIANCE_LAGS + 1, real=True))


def _blocks(series: Iterable[Rows]) -> Iterator[Rows]:
    """Pieces that follow each other without a gap put together, at most COVARIANCE_BLOCK_INSTANTS instants long."""
    held: list[Rows] = []
    for piece in series:
        while len(piece):
            gap = bool(held) and not 0.0 < piece.time[0] - held[-1].time[-1] < 1.5 / piece.rate
            room = COVARIANCE_BLOCK_INSTANTS - sum(map(len, held))
            if gap or not room:
                yield Rows.join(held)
                held, room = [], COVARIANCE_BLOCK_INSTANTS
            held.append(piece[:room])
            piece = piece[room:]
    if held:
        yield Rows.join(held)
