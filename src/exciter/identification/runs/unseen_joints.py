"""Joints that runs tell nothing of: those that never move, and those whose torque is unusable throughout.

Friction and rotor inertia act while a joint moves. Of one that stands still they have no equation: what a fit found for
them would be made of the noise of an encoder. And as friction holds it, with whatever that takes, the torque of its
motor says nothing of its weight either: it has no equation at all, but where torque is measured behind the gear. Of a
joint without equations the model is without all terms that act on this joint alone. Some of what the links are is not
seen either, and least squares has no prior to take its place: ``UnseenJoints.remedy``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from exciter.experiment.recording.recording import LINK_SIDE
from exciter.identification.runs.run import Run, common_side
from exciter.notes import Note, note
from exciter.parameters.terms.coupled_friction import LoadFriction
from exciter.parameters.terms.friction import DryFriction, SqrtViscous, Viscous
from exciter.parameters.terms.rotor_offset_springs import Ripple, RotorInertia
from exciter.parameters.terms.term import JointTerm
from exciter.parameters.terms.user_term import UserTerm
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray

#: [rad, m] by which gears bend, and controllers let a joint give way that they hold: so far nothing need slide
HELD_TRAVEL = 1e-3
MOVING_TRAVEL_SIGMAS = 20.0  #: of the noise left in positions: less is no motion
MOTION_TERMS = (Viscous, DryFriction, SqrtViscous, LoadFriction, Ripple, RotorInertia)  #: that no joint at rest shows


@dataclass(frozen=True)
class UnseenJoints:
    """still: joints that never move, by name, and where they stand [rad, m]. silent: joints without usable torque;
    held: those of them that friction holds."""

    still: Mapping[str, float]
    silent: tuple[str, ...]
    held: tuple[str, ...] = ()

    @classmethod
    def of(cls, robot: Robot, runs: Sequence[Run]) -> UnseenJoints:
        moved = np.zeros(robot.n, dtype=bool)
        for run in runs:
            for parts in (run.bounded.parts, run.parts):  # all of a long log only where its sample shows no motion
                moved |= np.zeros_like(moved) if moved.all() else _moved(parts, robot.n)
        stands = next(part.motion.q[0] for run in runs for part in run.bounded.parts if len(part))
        still = {name: float(stands[j]) for j, name in enumerate(robot.joint_names) if not moved[j]}
        still = still if moved.any() else {}
        silent = {robot.joint_names[j] for j in set.intersection(*(set(run.silent) for run in runs))}
        held = () if common_side(runs) == LINK_SIDE else tuple(name for name in still if name not in silent)
        return cls(still, tuple(name for name in robot.joint_names if name in {*silent, *held}), held)

    def terms(self, given: Iterable[JointTerm], robot: Robot) -> tuple[JointTerm, ...]:
        """Without what these joints do not show; a term of other joints alone stays the very same."""
        kept = list[JointTerm]()
        for term in given:
            without = {*self.silent, *(self.still if isinstance(term, MOTION_TERMS) else ())}
            if isinstance(term, UserTerm) or not without:
                kept.append(term)
            elif "joints" in (names := [field.name for field in fields(term)]):  # type: ignore[arg-type]
                kept += _on_others(term, without, robot)
            elif "joint" not in names or getattr(term, "joint", None) not in without:
                kept.append(term)
        return tuple(kept)

    @property
    def notes(self) -> tuple[Note, ...]:
        still = "never moves in these logs: no friction and no rotor inertia are identified for it"
        held = f"{still}, and as friction holds it its torque is not used"
        silent = "its torque is unusable in all logs: identified around it, without friction, rotor inertia and offset"
        found = [note("motion", held if name in self.held else still, name) for name in self.still]
        return (*found, *(note("torque", silent, name) for name in self.silent if name not in self.still))

    @property
    def remedy(self) -> str:
        """In words: why least squares without a prior cannot do, and what can."""
        still, silent = list(self.still), [name for name in self.silent if name not in self.still]
        why = [f"{', '.join(still)} never move{'s' * (len(still) == 1)} in these logs"] if still else []
        why += [f"the torque of {', '.join(silent)} is unusable"] if silent else []
        at = ", ".join(f"{name}: {self.still[name]:.4g}" for name in still)
        lock = f"lock what stands still (lock: {{{at}}}), " if still else ""
        return f"{' and '.join(why)}: {lock}give a log that shows it, or take an estimator with a prior (consistent)"


def _moved(parts: Iterable[Any], n: int) -> BoolArray:
    """(n,) whether a joint travels further than noise, and than one that is held."""
    low, high, noise = np.full(n, np.inf), np.full(n, -np.inf), np.zeros(n)
    for part in parts:
        if len(part):
            q: Array = part.motion.q
            low, high = np.minimum(low, q.min(axis=0)), np.maximum(high, q.max(axis=0))
            noise = noise if part.position_noise is None else np.maximum(noise, part.position_noise)
    return np.asarray(high - low > np.maximum(HELD_TRAVEL, MOVING_TRAVEL_SIGMAS * noise))


def _on_others(term: Any, without: set[str], robot: Robot) -> list[JointTerm]:
    """The term on the joints that are left, if any; numbers of a list are then by name."""
    bound = sorted({row for row, _ in term.bind(robot).rows}) if term.joints is None else ()
    had = term.joints or tuple(robot.joint_names[j] for j in bound)
    left = tuple(name for name in had if name not in without)
    if len(left) == len(had):
        return [term]
    return [replace(_by_name(term, had), joints=left)] if left else []


def _by_name(settings: Any, joints: Sequence[str]) -> Any:
    """Lists with a number per joint, also those of a friction shape, as numbers by name."""
    changes = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        listed = isinstance(value, tuple | list) and len(value) == len(joints) and field.name != "joints"
        if listed and all(isinstance(one, int | float) for one in value):
            changes[field.name] = dict(zip(joints, value, strict=True))
        elif is_dataclass(value):
            changes[field.name] = _by_name(value, joints)
    return replace(settings, **changes) if changes else settings
