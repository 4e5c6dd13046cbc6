"""The identified arm simulated, and in open loop over short horizons: driven by the measured torque, where does it go?

``SimulatedArm``: the direct dynamics of a model, with dry friction that holds a joint at rest. From a measured state
q̈ = A⁻¹(Γ_measured − h(q, q̇)) is integrated for a fraction of a second, from many instants of a log, and the position it
leads to is compared with the recorded one. Longer horizons say less: an arm without its controller is not stable, and
any error grows. Compared with the description's own parameters, and with no model: constant velocity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.recording import Payload
from exciter.experiment.signals.processed_motion import Processed
from exciter.files import by_name, finite
from exciter.identification.closed_loop.closed_loop import TERM_FORCE_ROWS, dry_friction, forward_kernel
from exciter.identification.runs.run import Run, load_chi
from exciter.notes import Note, note, texts, warning
from exciter.parameters.terms import Sign
from exciter.parameters.terms.friction import DryFriction
from exciter.robot.motion import Motion
from exciter.typing import Array
from exciter.validation.inertia_matrix import base_chi

TORQUE_HOLD_S = 2e-3  # over which the measured torque is averaged and held, unless the log is slower
LONGEST_INTEGRATION_STEP_S = 1e-3
DIVERGED_DISTANCE = 1e3  # [rad or m] from the recording, beyond which a simulation has diverged
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Horizons:
    """seconds: how far to integrate [s]; starts: instants of the log to start from, evenly over it, at most."""

    seconds: tuple[float, ...] = (0.05, 0.1, 0.2)
    starts: int = 150

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", tuple(sorted(float(h) for h in self.seconds)))
        if not self.seconds or not all(0.0 < h < 60.0 for h in self.seconds):
            raise ParameterError(f"horizons are {list(self.seconds)}; give seconds, more than 0 and less than 60")
        if self.starts < 1:
            raise ParameterError(f"starts is {self.starts}; give 1 or more")


@dataclass(frozen=True, eq=False)
class OpenLoop:
    """rms (H, n) of the simulated position less the recorded one after ``horizons`` (H,) [s], in ``units``: of the
    identified ``model``, of the ``description`` and at ``constant_velocity``. starts: of how many simulations; stopped,
    description_stopped: of these, how many no arm could go on with (A ⊁ 0, or lost), not in the rms; NaN: all."""

    run: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    horizons: Array
    starts: int
    model: Array
    description: Array
    constant_velocity: Array
    stopped: int
    description_stopped: int
    notes: tuple[Note, ...] = ()

    @property
    def relative(self) -> Array:
        """(H,) error of the model over that at constant velocity: rms over joints of the ratios that are defined."""
        return self._over_constant(self.model)

    @property
    def description_relative(self) -> Array:
        return self._over_constant(self.description)

    def _over_constant(self, rms: Array) -> Array:
        moved = self.constant_velocity > 0.0
        ratio = np.where(moved, rms, 0.0) / np.where(moved, self.constant_velocity, 1.0)
        return np.asarray(np.sqrt((ratio**2).sum(axis=1) / np.maximum(moved.sum(axis=1), 1)))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        said = []
        for what, stopped in (("the identified model", self.stopped), ("the description", self.description_stopped)):
            if stopped:
                said.append(
                    f"in {stopped} of {self.starts} simulations {what} could not move: its inertia matrix is not "
                    "positive definite there, or the simulation diverged; figures are of the others"
                )
        if np.isfinite(self.model).all():
            said.append(self._summary())
        return (*said, *texts(self.notes))

    def _summary(self) -> str:
        last = zip(self.joints, self.model[-1], self.units, strict=True)
        each = ", ".join(f"{joint} {value:.2g} {unit}" for joint, value, unit in last)
        text = (
            f"driven by the measured torque for {self.horizons[-1]:g} s, the identified model ends this far from the "
            f"recorded position (rms of {self.starts} starts): {each}; {_share(self.relative[-1])} the error at "
            "constant velocity"
        )
        if np.isfinite(self.description).all():
            text += f", the description {_share(self.description_relative[-1])} it"
        if self.relative[-1] >= 1.0:
            text += "; the model is of no use for simulation over this time"
        return text

    def to_dict(self) -> dict[str, Any]:
        kinds = ("model", "description", "constant_velocity")
        rows = [
            {
                "seconds": float(horizon),
                "relative_to_constant_velocity": self.relative[k],
                "description_relative_to_constant_velocity": self.description_relative[k],
                "joints": by_name(self.joints, unit=self.units, **{kind: getattr(self, kind)[k] for kind in kinds}),
            }
            for k, horizon in enumerate(self.horizons)
        ]
        about = {name: getattr(self, name) for name in ("run", "starts", "stopped", "description_stopped")}
        return finite({**about, "horizons": rows, "words": list(self.sentences)})


def simulate_open_loop(model: DynamicModel, values: ArrayLike, run: Run, horizons: Horizons | None = None) -> OpenLoop:
    """values (b,) of the model's base parameters; run: motion and measured torque, a known payload included."""
    horizons = horizons or Horizons()
    arms = [SimulatedArm.of(model, chi, run.payload) for chi in (base_chi(model, values), model.nominal)]
    count, ends = 0, None
    squares = np.zeros((3, len(horizons.seconds), model.n))
    counted = np.zeros(squares.shape[:2], dtype=np.int64)
    assert run.span is not None
    wanted = np.linspace(run.span[0], max(run.span[1] - horizons.seconds[-1], run.span[0]), horizons.starts)
    for part in run.parts:
        if not len(part):
            continue
        motion, time = part.motion, part.motion.time
        group = max(1, round(part.rate * TORQUE_HOLD_S))  # samples over which the torque is held
        steps = group * np.array([max(1, round(h * part.rate / group)) for h in horizons.seconds])  # to each end
        near = wanted[(wanted >= time[0] - 0.5 / part.rate) & (wanted <= time[-1])]
        at = np.rint((near - time[0]) * part.rate).astype(np.int64)
        starts = np.unique(at[(at >= 0) & (at <= len(part) - 1 - steps[-1])])
        if not len(starts):
            continue
        count += len(starts)
        seconds = steps / part.rate  # horizons as whole samples
        ends = seconds if ends is None else ends
        driven = [_simulated(arm, part, group, starts, steps) for arm in arms]
        straight = motion.q[starts][:, None] + seconds[:, None] * motion.qd[starts][:, None]
        for k, positions in enumerate((*driven, straight)):
            errors = positions - motion.q[starts[:, None] + steps]
            good = np.asarray(np.isfinite(errors).all(axis=2))
            squares[k] += (np.where(good[..., None], errors, 0.0) ** 2).sum(axis=0)
            counted[k] += good.sum(axis=0)
    if ends is None:
        raise RecordingError(
            f"{run.name} has no stretch of {horizons.seconds[-1]:g} s without a gap to simulate; give shorter horizons"
        )
    rms = np.sqrt(squares / np.maximum(counted, 1)[..., None])
    rms[counted == 0] = np.nan
    return OpenLoop(
        run=run.name,
        joints=model.robot.joint_names,
        units=tuple("m" if joint.is_prismatic else "rad" for joint in model.robot.joints),
        horizons=ends,
        starts=count,
        model=rms[0],
        description=rms[1],
        constant_velocity=rms[2],
        stopped=count - int(counted[0, -1]),
        description_stopped=count - int(counted[1, -1]),
        notes=arms[0].notes,
    )


def _simulated(arm: SimulatedArm, part: Processed, group: int, starts: IntArray, ends: IntArray) -> Array:
    """(S, H, n) positions after ``ends`` (H,) samples, the torque held over ``group`` of them; NaN once it stopped."""
    kernel, chain = forward_kernel(arm.model, arm.chi)
    torque = part.torque - arm.recorded(part.motion)
    total = np.concatenate([np.zeros((1, torque.shape[1])), np.cumsum(0.5 * (torque[1:] + torque[:-1]), axis=0)])
    held = (total[group:] - total[:-group]) / group  # mean of the intervals that follow each sample (trapezium rule)
    steps = int(np.ceil(group / part.rate / LONGEST_INTEGRATION_STEP_S - 1e-9))
    step = group / part.rate / steps
    found = np.full((len(starts), len(ends), arm.model.n), np.nan)
    for k, start in enumerate(starts.tolist()):
        q, qd, done = part.motion.q[start].copy(), part.motion.qd[start].copy(), 0
        for h, end in enumerate(ends.tolist()):
            push = held[start + done : start + end : group]
            if not all(kernel.advance(chain, q, qd, torque, step, steps, 0.0) for torque in push):
                break
            if not (np.abs(q - part.motion.q[start + end]) < DIVERGED_DISTANCE).all():
                break
            found[k, h], done = q, end
    return found


def _share(ratio: float) -> str:
    return f"{100.0 * ratio:.3g} % of" if ratio < 10.0 else f"{ratio:.0f} times"


@dataclass(frozen=True, eq=False)
class SimulatedArm:
    """model, chi: what is simulated, dry friction with the true sign and not below zero. whole, beside: the model as it
    was given, and χ of its terms that the simulator does not have, zero for all others. notes: on what was changed."""

    model: DynamicModel
    chi: Array
    whole: DynamicModel
    beside: Array
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, model: DynamicModel, chi: Array, payload: Payload | None = None) -> SimulatedArm:
        """Standard parameters χ (p,) of ``model``, and a known load on top of them."""
        kept = (term for term in model.terms if type(term) in TERM_FORCE_ROWS)
        terms = tuple(replace(term, shape=Sign()) if isinstance(term, DryFriction) else term for term in kept)
        simulated = DynamicModel(model.robot, terms, model.engine)
        known = dict(zip(model.standard, chi, strict=True))
        own = np.array([known[name] for name in simulated.standard])
        if payload is not None and payload.mass:
            own = own + load_chi(simulated, payload)
        dry = dry_friction(simulated)
        notes = _notes(model, dry & (own < 0.0), simulated)
        own = np.where(dry, np.maximum(own, 0.0), own)
        beside = np.where(np.isin(model.standard, simulated.standard), 0.0, chi)
        return cls(model=simulated, chi=own, whole=model, beside=beside, notes=notes)

    def recorded(self, motion: Motion) -> Array:
        """(N, n) torque of the terms that the simulator does not have, along a recorded motion [N·m or N]."""
        return self.whole.torque(motion, self.beside) if self.beside.any() else np.zeros_like(motion.q)


def _notes(model: DynamicModel, negative: NDArray[np.bool_], simulated: DynamicModel) -> tuple[Note, ...]:
    said = list[Note]()
    other = [type(term).__name__ for term in model.terms if type(term) not in TERM_FORCE_ROWS]
    if other:
        text = f"the simulator does not have {', '.join(other)}: their torque is taken along the recorded motion"
        said.append(note("joint terms", text))
    kept = [term for term in model.terms if isinstance(term, DryFriction) and type(term) in TERM_FORCE_ROWS]
    if shaped := {type(term.shape).__name__ for term in kept} - {"Sign"}:
        how = "is simulated with the true sign of the velocity, and holds joints at rest"
        said.append(note("dry friction", f"dry friction with {', '.join(sorted(shaped))} {how}"))
    if negative.any():
        names = ", ".join(name for name, below in zip(simulated.standard, negative, strict=True) if below)
        text = f"dry friction below zero, which no joint has, is simulated as none: {names}"
        said.append(warning("dry friction", text))
    return tuple(said)
