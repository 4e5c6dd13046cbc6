"""``terms:`` of the configuration and of the command line: joint terms by word.

terms: none
terms: [rotor, viscous, coulomb, offset, {stribeck: {velocity: 0.1}}, {drive-coupling: {first: j5, second: j6}}]
terms: [ripple, {load-friction: {links: [[4.2, 0.1, …], …], springs: [{term: {gas-spring: {…}}, value: 900}]}}]
terms: [{coulomb: {shape: {dahl: {delta: 1e-3}}, joints: [j1]}}]   # shape: sign (unless given), tanh or dahl
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from exciter.errors import ExciterError, shown
from exciter.excitation.config.section import plain, says_none
from exciter.parameters.terms import (
    AsymmetricCoulomb,
    Coulomb,
    CoupledSqrtViscous,
    Dahl,
    DriveCoupling,
    FrictionShape,
    GasSpring,
    GravitySpring,
    JointTerm,
    LoadFriction,
    Offset,
    Ripple,
    RotorInertia,
    Sign,
    Spring,
    SqrtViscous,
    Stribeck,
    Tanh,
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
    "ripple": Ripple,
    "spring": Spring,
    "gravity-spring": GravitySpring,
    "gas-spring": GasSpring,
    "drive-coupling": DriveCoupling,
    "coupled-sqrt-viscous": CoupledSqrtViscous,
}
SHAPES: dict[str, Callable[..., FrictionShape]] = {"sign": Sign, "tanh": Tanh, "dahl": Dahl}


def joint_terms(given: Any, robot: Robot, where: str) -> tuple[JointTerm, ...]:
    """Joint terms of a list of words, or of words with settings; without any, those that the description declares."""
    if given is None:
        return declared_terms(robot)
    if says_none(given):
        return ()
    if not isinstance(given, list):
        raise ExciterError(f"{where} is {shown(given)}; give none, or a list of {', '.join(WORDS)}")
    terms = [_term(entry, where) for entry in given]
    return tuple(term for k, term in enumerate(terms) if term not in terms[:k])


def term_words(terms: Iterable[JointTerm]) -> list[Any]:
    """Terms as ``terms:`` has them, so that ``joint_terms`` gives the same again."""
    return [_word(term, WORDS) for term in terms]


def _word(given: Any, words: Mapping[str, Callable[..., Any]]) -> Any:
    word = next((word for word, kind in words.items() if kind is type(given)), None)
    if word is None or not is_dataclass(given):
        raise ExciterError(f"{type(given).__name__} has no word in a configuration; allowed are {', '.join(words)}")
    settings = {
        field.name: _plain(getattr(given, field.name), field.name)
        for field in fields(given)
        if getattr(given, field.name) != _default(field)
    }
    return {word: settings} if settings else word


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, FrictionShape):
        return _word(value, SHAPES)
    if name == "springs":
        return [{"term": _word(term, WORDS), "value": _plain(known, "value")} for term, known in value]
    if isinstance(value, Mapping):
        return dict(value)
    return [_plain(one, name) for one in value] if isinstance(value, tuple) else value


def _term(entry: Any, where: str) -> JointTerm:
    made: JointTerm = _made(entry, where, WORDS, "none, or a list of ")
    return made


def _made(entry: Any, where: str, words: Mapping[str, Callable[..., Any]], either: str = "") -> Any:
    """What an entry, a word or a word with settings, stands for."""
    word, settings = next(iter(entry.items())) if isinstance(entry, Mapping) and len(entry) == 1 else (entry, None)
    if not isinstance(word, str) or word not in words:
        raise ExciterError(f"{where} has {shown(word)}; allowed are {either}{', '.join(words)}")
    if settings is not None and not isinstance(settings, Mapping):
        raise ExciterError(f"{where}: {word} is {shown(settings)}; give its settings as a mapping")
    given = {str(key): plain(value) for key, value in (settings or {}).items()}
    if words is WORDS and "shape" in given:
        given["shape"] = _made((settings or {})["shape"], f"{where}: {word}: shape", SHAPES)
    if words is WORDS and "springs" in given:
        given["springs"] = _springs((settings or {})["springs"], f"{where}: {word}: springs")
    try:
        return words[word](**given)
    except (TypeError, AttributeError):
        keys = ", ".join(_keys(words[word]))
        has = "has no settings" if settings is None else f"has {shown(settings)}"
        raise ExciterError(f"{where}: {word} {has}; give it as {{{word}: {{{keys}}}}}") from None


def _springs(given: Any, where: str) -> tuple[Any, ...]:
    """Pairs of a term and the value of its parameter, or values."""
    entries = given if isinstance(given, list | tuple) else [given]
    for entry in entries:
        if not isinstance(entry, Mapping) or set(entry) != {"term", "value"}:
            raise ExciterError(f"{where} has {shown(entry)}; give a list of {{term: {{gas-spring: …}}, value: …}}")
    return tuple((_made(entry["term"], where, WORDS), plain(entry["value"])) for entry in entries)


def _keys(kind: Callable[..., Any]) -> list[str]:
    """What a term takes: ``velocity: …``, and in brackets what may be left out."""
    given = fields(kind) if isinstance(kind, type) and is_dataclass(kind) else ()
    needed = [f"{field.name}: …" for field in given if _default(field) is MISSING]
    return needed + [f"[{field.name}: …]" for field in given if _default(field) is not MISSING]
