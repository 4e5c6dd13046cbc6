"""Whether a robot can have standard parameters: bodies that exist, friction and rotors that take and store energy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.identification.physical.physics import rotor_matrices
from exciter.parameters.consistency import consistency

ROUNDING = 1e-9  # of the largest rotor


def physical_problems(model: DynamicModel, chi: ArrayLike) -> tuple[str, ...]:
    """What is wrong with χ (p,), in words; nothing for a robot that can exist."""
    values = np.asarray(chi, dtype=float)
    names = [f"the body of joint '{name}'" for name in model.robot.joint_names]
    bodies = consistency(model.joint_frame_inertias(values), names)
    problems = [str(link) for link in bodies.links if not link.consistent]
    terms = values[10 * model.n :]
    wanted = [flag for term in model.bound for flag in term.nonnegative]
    for name, value, positive in zip(model.standard[10 * model.n :], terms, wanted, strict=True):
        if positive and value < 0.0:
            problems.append(f"{name} is negative ({value:.4g})")
    rotors = np.tensordot(terms, rotor_matrices(model), axes=1)
    if np.linalg.eigvalsh(rotors)[0] < -ROUNDING * np.abs(rotors).max(initial=0.0) and not problems:
        problems.append("the inertia of coupled rotors is not positive")
    return tuple(problems)
