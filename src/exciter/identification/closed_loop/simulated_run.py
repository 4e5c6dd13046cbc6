"""The pieces of a run with the simulated motion in place of the measured one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.filtered_differences import FilteredDifferences, first_difference, second_difference
from exciter.experiment.signals.low_pass import Butterworth
from exciter.experiment.signals.processed import Processed
from exciter.identification.closed_loop.closed_loop import ClosedLoop
from exciter.identification.closed_loop.simulation import Simulated
from exciter.identification.load import load_chi
from exciter.identification.run import Run
from exciter.parameters.terms.dry_friction import DryFriction
from exciter.robot.motion import Motion
from exciter.typing import Array


class SimulatedPieces:
    """Pieces of ``run`` along the simulated motion, made anew whenever they are gone through.

    While a joint is held by dry friction, its drive gives less than Φχ says: the difference is added to the measured
    torque, so that the equations hold for the true parameters at rest too. With a route, that of the measured motion,
    the torque is also less by what differentiation makes of positions: Φχ of the simulated motion, less Φχ of simulated
    positions that went through the route, dry friction left aside.
    """

    def __init__(
        self, run: Run, loop: ClosedLoop, model: DynamicModel, chi: Array, route: FilteredDifferences | None
    ) -> None:
        self._dry = dry_friction(model)
        self._chi = np.where(self._dry, np.maximum(chi, 0.0), chi)  # what is simulated, see ``joint_forces``
        if run.payload is not None and run.payload.mass:
            self._chi += load_chi(model, run.payload)
        self._run, self._loop, self._model, self._route = run, loop, model, route

    def __iter__(self) -> Iterator[Processed]:
        simulated = _Overlapping(self._loop, self._model, self._chi)
        for piece in self._run.parts:
            if not len(piece):
                continue
            filter_, edge = self._differentiation(piece)
            found = simulated.around(piece.motion.time, piece.rate, edge)
            own = slice(edge, len(found.torque) - edge)
            motion, torque = found.motion[own], found.torque[own]
            motion = Motion(piece.motion.time, motion.q, motion.qd, motion.qdd)
            changed = piece.torque + self._model.torque(motion, self._chi) - torque
            if filter_ is not None:
                seen = self._differentiated(found.motion, filter_, piece.rate, edge)
                chi = np.where(self._dry, 0.0, self._chi)
                changed = changed - self._model.torque(motion, chi) + self._model.torque(seen, chi)
            yield replace(piece, motion=motion, torque=changed)

    def _differentiation(self, piece: Processed) -> tuple[Butterworth | None, int]:
        """The low-pass of the route, and samples that it takes at each end."""
        route = self._route
        cutoff = None if route is None else piece.position_bandwidth if route.cutoff is None else route.cutoff
        if route is None or cutoff is None or not np.isfinite(cutoff):
            return None, 0
        low_pass = Butterworth(cutoff, route.order)
        return low_pass, max(1, low_pass.settle(piece.rate, route.edge))

    def _differentiated(self, motion: Motion, low_pass: Butterworth, rate: float, edge: int) -> Motion:
        """As ``FilteredDifferences`` does it."""
        assert self._route is not None
        wider = slice(edge - 1, len(motion) - edge + 1)
        q = low_pass.zero_phase(motion.q, rate)[wider]
        qd, qdd = first_difference(q, rate), second_difference(q, rate)
        if self._route.measured_velocity:
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
        self._last: Simulated | None = None

    def around(self, time: Array, rate: float, edge: int) -> Simulated:
        """At ``time`` (N,) [s] of the recording and ``edge`` samples before and after; on the simulation's clock."""
        beyond = np.arange(1, edge + 1) / rate
        at = np.maximum(np.concatenate([time[0] - beyond[::-1], time, time[-1] + beyond]) - self._offset, 0.0)
        last = self._last
        if last is None or at[0] > last.motion.time[-1]:
            self._last = self._simulation.at(at)
            return self._last
        kept = slice(int(np.searchsorted(last.motion.time, at[0] - 0.5 / rate)), None)
        new = self._simulation.at(at[at > last.motion.time[-1] + 0.5 / rate])
        old, more = last.motion[kept], new.motion
        parts = ((getattr(old, name), getattr(more, name)) for name in ("time", "q", "qd", "qdd"))
        motion = Motion(*(np.concatenate(both) for both in parts))
        self._last = Simulated(motion, np.concatenate([last.torque[kept], new.torque]))
        return self._last
