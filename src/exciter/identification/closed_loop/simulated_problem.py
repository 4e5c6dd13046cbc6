"""A problem with the simulated motion in place of the measured one, and how estimators come to rest on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.differentiation import FilteredDifferences, first_difference, second_difference
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.closed_loop.closed_loop import ClosedLoop, SimulatedRun, Unmovable
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run, load_chi
from exciter.notes import Note, done, note, warning
from exciter.parameters.terms.coulomb_and_presliding import DryFriction
from exciter.robot.motion import Motion
from exciter.typing import Array

SHORTEST_STEP_FRACTION = 0.02  # part of a step towards parameters that no arm can be simulated with
MOST_SHORTENED_STEPS = 4  # steps in a row that had to be shortened
NEGLIGIBLE_CHANGE_FRACTION = 1e-9  # of the torque: a change this small is none
WANDERING_CHANGE_SIGMAS = 0.3  # σ: a smaller change that does not fall is accepted,
FIRST_SIMULATIONS = 3  # but not in the first rounds


@dataclass(frozen=True, eq=False)
class SimulatedPieces:
    """Pieces of ``run`` along the simulated motion of a robot with χ, made anew whenever they are gone through.

    While a joint is held by dry friction, its drive gives less than Φχ says: the difference is added to the measured
    torque, so that the equations hold for the true parameters at rest too. With a route, that of the measured motion,
    the torque is also less by what differentiation makes of positions: Φχ of the simulated motion, less Φχ of simulated
    positions that went through the route, dry friction left aside.
    """

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
        simulated = _Overlapping(self.loop, model, chi)
        for piece in self.run.parts:
            if not len(piece):
                continue
            filter_, edge = self._differentiation(piece)
            found = simulated.around(piece.motion.time, piece.rate, edge)
            own = slice(edge, len(found.torque) - edge)
            motion = replace(found.motion[own], time=piece.motion.time)
            changed = piece.torque + model.torque(motion, chi) - found.torque[own]
            if filter_ is not None:
                seen, smooth = self._differentiated(found.motion, filter_, piece.rate, edge), np.where(dry, 0.0, chi)
                changed = changed - model.torque(motion, smooth) + model.torque(seen, smooth)
            yield replace(piece, motion=motion, torque=changed)

    def _differentiation(self, piece: Processed) -> tuple[Butterworth | None, int]:
        """The low-pass of the route, and samples that it takes at each end."""
        route = self.route
        cutoff = None if route is None else piece.position_bandwidth if route.cutoff is None else route.cutoff
        if route is None or cutoff is None or not np.isfinite(cutoff):
            return None, 0
        low_pass = Butterworth(cutoff, route.order)
        return low_pass, max(1, low_pass.settle(piece.rate, route.edge))

    def _differentiated(self, motion: Motion, low_pass: Butterworth, rate: float, edge: int) -> Motion:
        """As ``FilteredDifferences`` does it."""
        assert self.route is not None
        wider = slice(edge - 1, len(motion) - edge + 1)
        q = low_pass.zero_phase(motion.q, rate)[wider]
        qd, qdd = first_difference(q, rate), second_difference(q, rate)
        if self.route.measured_velocity:
            smooth = low_pass.zero_phase(motion.qd, rate)[wider]
            qd, qdd = smooth[1:-1], first_difference(smooth, rate)
        return Motion(motion.time[edge : len(motion) - edge], q[1:-1], qd, qdd)


def dry_friction(model: DynamicModel) -> NDArray[np.bool_]:
    """(p,) which standard parameters are those of dry friction."""
    terms = zip(model.terms, model.bound, strict=True)
    names = {name for term, bound in terms if isinstance(term, DryFriction) for name in bound.names}
    return np.array([name in names for name in model.standard])


class _Overlapping:
    """A simulated run that is looked at in stretches which overlap."""

    def __init__(self, loop: ClosedLoop, model: DynamicModel, chi: Array) -> None:
        self._simulation, self._offset = loop.simulation(model, chi), loop.offset
        self._last: SimulatedRun | None = None

    def around(self, time: Array, rate: float, edge: int) -> SimulatedRun:
        """At ``time`` (N,) [s] of the recording and ``edge`` samples before and after; on the simulation's clock."""
        beyond = np.arange(1, edge + 1) / rate
        at = np.maximum(np.concatenate([time[0] - beyond[::-1], time, time[-1] + beyond]) - self._offset, 0.0)
        last = self._last
        if last is None or at[0] > last.motion.time[-1]:
            self._last = self._simulation.at(at)
            return self._last
        kept = slice(int(np.searchsorted(last.motion.time, at[0] - 0.5 / rate)), None)
        new = self._simulation.at(at[at > last.motion.time[-1] + 0.5 / rate])
        torque = np.concatenate([last.torque[kept], new.torque])
        self._last = SimulatedRun(last.motion[kept].followed_by(new.motion), torque)
        return self._last


@dataclass(frozen=True, eq=False)
class Loops:
    """The closed loop of every run of a problem; route: how the measured motion was differentiated, where that is to
    be made up for."""

    problem: Problem
    loops: tuple[ClosedLoop, ...]
    route: FilteredDifferences | None = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        loop: ClosedLoop | tuple[ClosedLoop, ...] | None,
        route: FilteredDifferences | None = None,
    ) -> Loops:
        """loop: one for all runs, where they repeat the same motion, or one for each."""
        if loop is None:
            raise ParameterError("the controlled robot is simulated; give the closed loop of the experiment")
        loops = loop if isinstance(loop, tuple) else (loop,) * len(problem.runs)
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
        return cls(problem, loops, route)

    def simulated(self, values: Array) -> Problem:
        """The same torques beside the motion of a robot with base parameters ``values`` (p,): ``SimulatedPieces``."""
        chi = np.zeros(len(self.problem.model.standard))
        chi[self.problem.base.independent] = values
        runs = []
        for run, loop in zip(self.problem.runs, self.loops, strict=True):
            pieces = SimulatedPieces(run, loop, self.problem.model, chi, self.route)
            runs.append(replace(run, parts=tuple(pieces) if isinstance(run.parts, tuple) else pieces))
        return self.problem.along(tuple(runs))

    def settle(self, start: Array, update: Update, rounds: int, tolerance: float, exact: bool) -> SimulatedFit:
        """Simulate, update, and again, until the parameters change by less than ``tolerance`` σ.

        start (p,): where to begin; where that leads to parameters no arm can be simulated with, at the nominal values.
        A step to such parameters is halved. exact: whether the answer must be one that can be simulated; otherwise it
        is accepted after several halved steps in a row, since instruments of nearby parameters serve as well.

        A joint that rests in one simulation and creeps in the next changes sides of its dry friction: such a change
        need not fall to nothing, and is accepted when it is small beside σ.
        """
        try:
            return self._settle(start, update, rounds, tolerance, exact)
        except Unmovable as error:
            nominal = self.problem.base.base_values(self.problem.model.nominal)
            found = self._settle(nominal, update, rounds, tolerance, exact)
            text = f"started from nominal values: from those of least squares, {error.why}"
            return replace(found, notes=(note("start", text), *found.notes))

    def _settle(self, start: Array, update: Update, rounds: int, tolerance: float, exact: bool) -> SimulatedFit:
        before, blocked, moved = np.inf, 0, np.inf
        along = self.simulated(start)
        for number in range(1, rounds + 1):
            found = update(along)
            change = found.values - start
            moved = float(np.abs(change / found.std).max())
            size = float(np.linalg.norm(found.factor @ change) / np.linalg.norm(found.factor @ found.values))
            wanders = number > FIRST_SIMULATIONS and not blocked and 0.5 * before < moved < WANDERING_CHANGE_SIGMAS
            if moved <= tolerance or size <= NEGLIGIBLE_CHANGE_FRACTION or wanders:
                text = f"settled after {number} simulations, the last changed parameters by {moved:.1g} σ"
                return replace(found, notes=(done("iterations", text),))
            if blocked >= MOST_SHORTENED_STEPS and not exact:
                text = f"instruments are those of values {moved:.2g} σ away: with the estimated ones no arm moves"
                return replace(found, notes=(warning("instruments", text),))
            part, along = self._towards(start, change)
            before, blocked, start = moved, blocked + 1 if part < 1.0 else 0, start + part * change
        raise ParameterError(
            f"after {rounds} simulations the parameters still change by {moved:.2g} σ; is this the controller and the "
            "reference the robot had (gains, rate, clock's offset)? If so, allow more rounds"
        )

    def _towards(self, start: Array, change: Array) -> tuple[float, Problem]:
        """The largest part of the step, 1, ½, ¼, …, after which an arm can be simulated; and that."""
        part = 1.0
        while True:
            try:
                return part, self.simulated(start + part * change)
            except Unmovable:
                if part < SHORTEST_STEP_FRACTION:
                    raise
                part *= 0.5


@dataclass(frozen=True, eq=False)
class SimulatedFit:
    """values, std (p,), noise (J,) per equation; factor (…, p): weighted rows, or what stands for them; along: the
    simulated problem they come from; notes: how it went."""

    values: Array
    std: Array
    noise: Array
    factor: Array
    along: Problem
    notes: tuple[Note, ...] = ()


Update = Callable[[Problem], SimulatedFit]
