"""``terms:`` of the configuration and of the command line: joint terms by word.

terms: none
terms: [rotor, viscous, coulomb, offset, {stribeck: {velocity: 0.1}}, {drive-coupling: {first: j5, second: j6}}]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exciter.errors import ExciterError
from exciter.excitation.config.section import plain, shown
from exciter.parameters.terms import (
    AsymmetricCoulomb,
    Coulomb,
    DriveCoupling,
    GasSpring,
    GravitySpring,
    JointTerm,
    LoadFriction,
    Offset,
    RotorInertia,
    Spring,
    SqrtViscous,
    Stribeck,
    Viscous,
)
from exciter.parameters.terms.declared import declared_terms
from exciter.robot.robot import Robot

WORDS: dict[str, Callable[..., JointTerm]] = {
    "rotor": RotorInertia,
    "viscous": Viscous,
    "coulomb": Coulomb,
    "offset": Offset,
    "asymmetric-coulomb": AsymmetricCoulomb,
    "sqrt-viscous": SqrtViscous,
    "stribeck": Stribeck,
    "load-friction": LoadFriction,
    "spring": Spring,
    "gravity-spring": GravitySpring,
    "gas-spring": GasSpring,
    "drive-coupling": DriveCoupling,
}


def joint_terms(given: Any, robot: Robot, where: str) -> tuple[JointTerm, ...]:
    """Joint terms of a list of words, or of words with settings; without any, those that the description declares."""
    if given is None:
        return declared_terms(robot)
    if given == "none":
        return ()
    if not isinstance(given, list):
        raise ExciterError(f"{where} is {shown(given)}; give none, or a list of {', '.join(WORDS)}")
    return tuple(dict.fromkeys(_term(entry, where) for entry in given))


def _term(entry: Any, where: str) -> JointTerm:
    word, settings = next(iter(entry.items())) if isinstance(entry, Mapping) and len(entry) == 1 else (entry, None)
    if not isinstance(word, str) or word not in WORDS:
        raise ExciterError(f"{where} has {shown(word)}; allowed are none, or a list of {', '.join(WORDS)}")
    if settings is not None and not isinstance(settings, Mapping):
        raise ExciterError(f"{where}: {word} is {shown(settings)}; give its settings as a mapping")
    try:
        return WORDS[word](**{str(key): plain(value) for key, value in (settings or {}).items()})
    except (TypeError, AttributeError) as error:
        what = str(error).replace("__init__() ", "")
        raise ExciterError(f"{where}: {word} cannot be made of {shown(dict(settings or {}))}: {what}") from None
