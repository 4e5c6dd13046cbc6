"""An identified model as something that moves: direct dynamics with dry friction that holds a joint at rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.engine import writable
from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.model import DynamicModel
from exciter.experiment.recording import Payload
from exciter.identification.closed_loop.closed_loop import CLOSED_LOOP_KERNELS, TERM_FORCE_ROWS, joint_forces
from exciter.identification.closed_loop.simulated_problem import dry_friction
from exciter.identification.runs.run import load_chi
from exciter.notes import Note, note, warning
from exciter.parameters.terms import JointTerm, Sign
from exciter.parameters.terms.dry_friction import DryFriction
from exciter.robot.motion import Motion
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class SimulatedArm:
    """model, chi: what is simulated, dry friction with the true sign and not below zero. whole, beside: the model as it
    was given, and χ of those of its terms that the simulator does not have, zero for all others. notes: on what was
    changed."""

    model: DynamicModel
    chi: Array
    whole: DynamicModel
    beside: Array
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, model: DynamicModel, chi: Array, payload: Payload | None = None) -> SimulatedArm:
        """Standard parameters χ (p,) of ``model``, and a known load on top of them."""
        terms = tuple(_with_sign(term) for term in model.terms if type(term) in TERM_FORCE_ROWS)
        simulated = DynamicModel(model.robot, terms, model.engine)
        known = dict(zip(model.standard, chi, strict=True))
        own = np.array([known[name] for name in simulated.standard])
        if payload is not None and payload.mass:
            own = own + load_chi(simulated, payload)
        dry = dry_friction(simulated)
        missing = ~np.isin(model.standard, simulated.standard)
        notes = _notes(model, dry & (own < 0.0), simulated)
        return cls(simulated, np.where(dry, np.maximum(own, 0.0), own), model, np.where(missing, chi, 0.0), notes)

    def recorded(self, motion: Motion) -> Array:
        """(N, n) torque of the terms that the simulator does not have, along a recorded motion [N·m or N]."""
        if not self.beside.any():
            return np.zeros_like(motion.q)
        return self.whole.torque(motion, self.beside)

    def kernel(self) -> tuple[Any, tuple[Any, ...]]:
        """The compiled steps in time, and the arm as they take it (``closed_loop.kernels.forward``)."""
        dynamics, chain = self.model.dynamics, self.model.dynamics.chain
        inertias = dynamics.chain_inertias(self.chi[: 10 * self.model.n])
        fixed = writable(chain.rotation, chain.origin, chain.gravity, inertias)
        arm = (chain.parent, chain.prismatic, *fixed, *writable(joint_forces(self.model, self.chi)))
        return kernels("forward", CLOSED_LOOP_KERNELS), arm


def _with_sign(term: JointTerm) -> JointTerm:
    return replace(term, shape=Sign()) if isinstance(term, DryFriction) else term


def _notes(model: DynamicModel, negative: NDArray[np.bool_], simulated: DynamicModel) -> tuple[Note, ...]:
    said = list[Note]()
    other = [type(term).__name__ for term in model.terms if type(term) not in TERM_FORCE_ROWS]
    if other:
        text = f"the simulator does not have {', '.join(other)}: their torque is taken along the recorded motion"
        said.append(note("joint terms", text))
    shaped = {type(t.shape).__name__ for t in model.terms if isinstance(t, DryFriction) and type(t) in TERM_FORCE_ROWS}
    if shaped - {"Sign"}:
        text = (
            f"dry friction with {', '.join(sorted(shaped - {'Sign'}))} is simulated with the true sign of the "
            "velocity, and holds joints at rest"
        )
        said.append(note("dry friction", text))
    if negative.any():
        names = ", ".join(name for name, below in zip(simulated.standard, negative, strict=True) if below)
        text = f"dry friction below zero, which no joint has, is simulated as none: {names}"
        said.append(warning("dry friction", text))
    return tuple(said)
