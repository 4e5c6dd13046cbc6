"""Flexible joints: a spring and a damper between the motor and the link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.experiment.recording.about import SIDES
from exciter.parameters.terms.term import PerJoint
from exciter.settings import OneWord, PerJointNumber, Settings
from exciter.typing import Array


@dataclass(frozen=True)
class Flexibility(Settings):
    """Motor θ and link q of every joint: the link gets K (θ − q) + D (θ̇ − q̇), the motor J θ̈ + friction(θ̇) more.

    stiffness K [N·m/rad], damping D [N·m·s/rad]; J is the rotor inertia, seen at the joint. The controller works on θ.
    encoder_on_link: the log has q, else θ.
    """

    called: ClassVar[Mapping[str, str]] = {"encoder_on_link": "encoder"}
    stiffness: Annotated[PerJoint, PerJointNumber(least=0.0, unit="N·m/rad")]
    damping: Annotated[PerJoint, PerJointNumber(least=0.0, unit="N·m·s/rad")] = 0.0
    encoder_on_link: Annotated[bool, OneWord(SIDES, (False, True))] = False


def needed_rate(inertia: Array, rotor: Array, stiffness: Array, damping: Array) -> float:
    """[Hz] two steps per radian of the fastest mode, ω² of (M⁻¹ + J⁻¹) K, which is K (1/I + 1/J) of a single joint; one
    per time constant of the dampers, (M⁻¹ + J⁻¹) D. inertia (n, n): M(q) of the links [kg·m²]."""
    mobility = np.linalg.inv(inertia) + np.diag(1.0 / rotor)
    springs, dampers = (np.abs(np.linalg.eigvals(mobility * values)).max() for values in (stiffness, damping))
    return float(max(2.0 * np.sqrt(springs), dampers))
