"""A full set of identified parameters as a robot: what every export to another tool starts from.

Base parameters alone describe many robots and no single one; URDF, MJCF and SDF need one. A set is refused when it is
not there, and when no robot can have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import FRICTION_KEY_BY_SYMBOL, DynamicModel
from exciter.errors import ParameterError
from exciter.identification.physical.bounds import physical_problems
from exciter.parameters.consistency import presentable
from exciter.robot.robot import Robot
from exciter.typing import Array


def full_set(model: DynamicModel, chi: ArrayLike | None, form: str) -> Array:
    """χ (p,), checked: there, of this model, of a robot that can exist. form: what it is for, in words."""
    if chi is None:
        raise ParameterError(
            f"only base parameters are known, which no single robot has, and {form} describes one; identify with "
            "the estimator consistent to get a full set (what torques cannot tell then comes from the description), or "
            "export yaml, c or python, which need base parameters only"
        )
    values = np.asarray(chi, dtype=float)
    if values.shape != (len(model.standard),) or not np.isfinite(values).all():
        raise ParameterError(
            f"χ has shape {values.shape}; {form} needs {len(model.standard)} finite numbers, the model's standard set"
        )
    problems = physical_problems(model, values)
    if problems:
        raise ParameterError(f"{problems[0]}; identify with the estimator 'consistent' to get a robot that can exist")
    return values


def identified_robot(model: DynamicModel, chi: ArrayLike | None, form: str = "a robot") -> Robot:
    """The robot of a model with standard parameters χ (p,): inertias in its joint frames, rotor inertia and friction.

    Joints without such a term in the model have none, whatever the description says. Refused when no robot can have
    these parameters; bodies on the edge of what can exist are made ``presentable``.
    """
    values = full_set(model, chi, form)
    named = dict(zip(model.standard, values.tolist(), strict=True))
    friction = {
        key: np.array([named.get(f"{symbol}{j + 1}", 0.0) for j in range(model.n)])
        for symbol, key in FRICTION_KEY_BY_SYMBOL.items()
    }
    inertias = np.array([presentable(phi) for phi in model.joint_frame_inertias(values)])
    return replace(model.robot.with_inertias(inertias), friction=friction)


def left_out(model: DynamicModel, chi: ArrayLike, held: Sequence[str] = ("Fv", "Fs")) -> dict[str, str]:
    """Parameters of joint terms that are not zero and have no place in a file that holds the symbols ``held`` (URDF's
    unless given), by name, each with its value and unit."""
    named = zip(model.standard[10 * model.n :], model.units[10 * model.n :], strict=True)
    values = np.asarray(chi, dtype=float)[10 * model.n :].tolist()
    kept = {f"{symbol}{j + 1}" for symbol in held for j in range(model.n)}
    every = zip(named, values, strict=True)
    return {name: f"{value:.9g} {unit}" for (name, unit), value in every if value and name not in kept}


def provenance(model: DynamicModel, chi: ArrayLike, held: Sequence[str], *, gravity: bool) -> str:
    """What the top of a file says: where its numbers come from, and what is not in it. gravity: whether it is."""
    words = ["Inertias and friction identified by Exciter."]
    lost = [f"{name} {value}" for name, value in left_out(model, chi, held).items()]
    if lost:
        words.append(f"Identified too, but without a place here: {', '.join(lost)}.")
    if not gravity:
        words.append(f"Gravity was ({', '.join(f'{v:g}' for v in model.robot.gravity)}) m/s² in the base frame.")
    return " ".join(words)
