"""What the drives move, where it is asked for: masses of links, and point masses on them.

The link of a joint is all that is rigidly on it. Another ``mass`` means its inertia in the same proportion and its
centre where it was. A ``payload`` is a point at a place that the settings give, since a mass and how far off it is
cannot be told apart by one joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exciter.errors import ParameterError
from exciter.identification.actuators.actuator_settings import LINK_KINDS, ActuatorSettings, by_pattern
from exciter.robot.names import named
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

PAYLOAD_SHARE = 0.02  #: of the heaviest link, where the search for a payload begins


@dataclass(frozen=True, eq=False)
class ChangedLink:
    """The link of a joint that is not as described: its mass over the described one [kg]; payload [kg] at place (3,)
    [m] in the frame of the file's body or link that the joint moves."""

    joint: str
    described: float
    ratio: float
    payload: float
    place: Array


def link_masses(robot: Robot) -> Array:
    """(n,) [kg] of the description."""
    return np.array([joint.inertia[0] for joint in robot.joints])


def payload_places(robot: Robot, settings: ActuatorSettings) -> dict[int, Array]:
    """By joint: where the payload of its link is (3,) [m], in the joint's frame."""
    asked = "payload" in settings.unknown or "payload" in settings.known
    if asked and not settings.payload:
        raise ParameterError(
            f"payload is asked for, but not where it is; give a place, as payload: {{{robot.tool_frame}: [0, 0, 0.05]}}"
        )
    if settings.payload and not asked:
        raise ParameterError(
            "payload: has a place, but is not among the unknown; add payload to unknown:, or to known:"
        )
    found = dict[int, Array]()
    for name, at in settings.payload.items():
        frame = robot.frame(name)
        carrier = "" if frame.joint == BASE else robot.tree_names[frame.joint]
        if carrier not in robot.joint_names:
            why = f"follows other joints ('{carrier}')" if carrier else "does not move"
            raise ParameterError(f"payload: '{name}' {why}; give a frame, or a joint, of {named(robot.joint_names)}")
        j = robot.joint_names.index(carrier)
        if j in found:
            raise ParameterError(f"payload: two of them are on the link of joint '{carrier}'; give one place")
        found[j] = frame.translation + frame.rotation @ np.array(at)
    return found


def changed_links(robot: Robot, settings: ActuatorSettings, numbers: Mapping[str, Array]) -> tuple[ChangedLink, ...]:
    """Links whose numbers (n,) differ from the description."""
    masses, places = link_masses(robot), payload_places(robot, settings)
    found = list[ChangedLink]()
    for j, joint in enumerate(robot.joints):
        payload = float(numbers["payload"][j])
        ratio = float(numbers["mass"][j]) / masses[j] if masses[j] > 0.0 else 1.0
        if payload or ratio != 1.0:
            own = robot.frame(joint.link) if joint.link in robot.frame_names else robot.frame(joint.name)
            place = own.rotation.T @ (places.get(j, own.translation) - own.translation)
            found.append(ChangedLink(joint.name, float(masses[j]), ratio, payload, place))
    return tuple(found)


def sought_links(robot: Robot, settings: ActuatorSettings) -> tuple[ChangedLink, ...]:
    """Links that a fit will change, with numbers that stand for any."""
    masses, payload = link_masses(robot), np.zeros(robot.n)
    given = by_pattern(settings.known.get("mass", {}), robot.joint_names, "known: mass")
    sought = 2.0 * masses if "mass" in settings.unknown else masses
    payload[list(payload_places(robot, settings))] = 1.0
    return changed_links(robot, settings, {"mass": np.where(np.isnan(given), sought, given), "payload": payload})


def start_of_links(robot: Robot, settings: ActuatorSettings) -> dict[str, Array]:
    """(n,) of ``LINK_KINDS`` to begin with: as described, without a payload where none can be."""
    masses, payload = link_masses(robot), np.zeros(robot.n)
    payload[list(payload_places(robot, settings))] = PAYLOAD_SHARE * max(float(masses.max()), 1.0)
    return dict(zip(LINK_KINDS, (masses, payload), strict=True))
