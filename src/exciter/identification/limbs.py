"""Limbs of a robot with a free base: what is lost while they stand on unknown forces, and how alike identical ones are.

Limbs that the description makes alike (as many joints of the same kinds, the same masses) are identified each for
itself: nothing says that they were built, loaded and wired alike. How far their masses differ says how good an estimate
is that was not told so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.notes import Note, note
from exciter.robot.robot import Robot
from exciter.typing import Array

ALIKE_MASS_FRACTION = 1e-3  #: by which masses of limbs may differ in a description that means the same
MOST_NAMED = 12  #: parameters in a sentence


@dataclass(frozen=True, eq=False)
class LimbSpread:
    """limbs: joints of each, from the base outwards. mass (limbs, links) [kg]; spread (links,): largest less smallest
    over the mean, of the links at the same place."""

    limbs: tuple[tuple[str, ...], ...]
    mass: Array

    @property
    def spread(self) -> Array:
        return np.asarray(np.ptp(self.mass, axis=0) / np.maximum(np.abs(self.mass.mean(axis=0)), 1e-300))

    @property
    def note(self) -> Note:
        names = ", ".join(limb[0] for limb in self.limbs)
        each = ", ".join(f"{100.0 * one:.3g} %" for one in self.spread)
        text = (
            f"limbs that the description makes alike ({names} and below): their masses differ by {each}, link by link"
        )
        return note("identical limbs", text, spread=self.spread.tolist())


def identical_limbs(robot: Robot) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Groups of limbs that are alike, each the joints of a limb from the base link outwards."""
    limbs = [_limb(robot, j) for j, joint in enumerate(robot.bodies) if joint.parent == robot.base_link]
    groups: list[list[tuple[int, ...]]] = []
    for limb in (one for one in limbs if one[0] not in robot.free_base):
        for group in groups:
            if _alike(robot, group[0], limb):
                group.append(limb)
                break
        else:
            groups.append([limb])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def _limb(robot: Robot, first: int) -> tuple[int, ...]:
    return tuple(j for j in range(robot.n_bodies) if first in robot.ancestors(j))


def _alike(robot: Robot, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    if len(one) != len(other):
        return False
    pairs = [(robot.bodies[a], robot.bodies[b]) for a, b in zip(one, other, strict=True)]
    below = [(robot.parents[a] - a, robot.parents[b] - b) for a, b in zip(one[1:], other[1:], strict=True)]
    masses = np.array([[a.inertia[0], b.inertia[0]] for a, b in pairs])
    same = np.ptp(masses, axis=1) <= ALIKE_MASS_FRACTION * masses.max(axis=1)
    return bool(same.all()) and all(a.kind == b.kind for a, b in pairs) and all(a == b for a, b in below)


def limb_spreads(model: DynamicModel, chi: ArrayLike) -> Iterator[LimbSpread]:
    """Of a full set of standard parameters."""
    masses, names = np.asarray(chi, dtype=float)[: model.inertial_size : 10], model.robot.tree_names
    for group in identical_limbs(model.robot):
        yield LimbSpread(
            tuple(tuple(names[j] for j in limb) for limb in group), np.array([masses[[*x]] for x in group])
        )


def standing_notes(model: DynamicModel) -> Iterator[Note]:
    """What is lost where forces of the ground are not known."""
    if not any(model.stances):
        return
    feet = dict.fromkeys(contact.frame for stance in model.stances for contact in stance)
    whole = replace(model, stances=()).base
    counts = f"{len(model.base)} of {len(whole)} base "
    text = f"forces of the ground on {', '.join(feet)} are not known and taken off: {counts}"
    lost = [name for name in whole.names if name not in model.base.names]
    if lost:
        more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
        text += f"parameters are left; changed or gone are {', '.join(lost[:MOST_NAMED])}{more}"
    else:
        text += "parameters are left, none is lost"
    yield note("contacts", text, left=len(model.base), before=len(whole), lost=lost)
