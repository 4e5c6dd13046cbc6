"""``criterion:`` of the configuration: a word, or a weighted sum of words.

    criterion: d-optimal
    criterion: {condition: 1.0, torque-activity: 0.1}
    criterion: {cramer-rao: {joint_noise: 1.0e-4}}             # settings beside an optional weight
    criterion: {condition-scaled: {weight: 2.0}, torque-activity: 1.0}

What a criterion needs of the robot is taken from it unless given: a-priori values are those of the description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, shown
from exciter.excitation.config.section import number, plain
from exciter.excitation.criteria.criterion import AnyCriterion
from exciter.excitation.criteria.equilibrium import Equilibrium
from exciter.excitation.criteria.registry import CRITERIA, criterion_from, settings_of
from exciter.excitation.criteria.torque_activity import InverseTorque
from exciter.excitation.criteria.weighted_sum import WeightedSum
from exciter.excitation.trajectories.trajectory import Trajectory

#: Meaningful beside another criterion only.
COMPANIONS: dict[str, Callable[[], AnyCriterion]] = {"torque-activity": InverseTorque, "equilibrium": Equilibrium}

#: Of settings without a default, for messages.
EXAMPLES = {"joint_noise": "1.0e-4"}


def criterion(given: Any, model: DynamicModel, trajectory: Trajectory, where: str) -> AnyCriterion:
    """The criterion of a word or of a mapping from words to weights or settings."""
    entries = {given: 1.0} if isinstance(given, str) else given
    if not isinstance(entries, Mapping) or not entries:
        raise ExciterError(
            f"{where} is {shown(given)}; give one of {', '.join(CRITERIA)}, or a mapping of words to weights"
        )
    for word in entries:
        if word not in CRITERIA and word not in COMPANIONS:
            raise ExciterError(f"{where} is {shown(word)}; allowed are {', '.join((*CRITERIA, *COMPANIONS))}")
    if all(word in COMPANIONS for word in entries):
        raise ExciterError(f"{where}: {', '.join(entries)} alone says nothing of the parameters; add a criterion")
    parts = tuple(_part(word, entry, model, trajectory, f"{where}: {word}") for word, entry in entries.items())
    return parts[0][1] if len(parts) == 1 else WeightedSum(parts)


def _part(word: str, entry: Any, model: DynamicModel, trajectory: Trajectory, where: str) -> tuple[float, AnyCriterion]:
    settings = dict(entry) if isinstance(entry, Mapping) else {"weight": entry}
    weight = number(settings.pop("weight", 1.0), f"{where}: weight" if isinstance(entry, Mapping) else where, above=0.0)
    if word in COMPANIONS:
        if settings:
            raise ExciterError(f"{where} has a weight only; given {shown(settings)}")
        return weight, COMPANIONS[word]()
    known = settings_of(word)
    if "trajectory" in known:
        settings["trajectory"] = trajectory
    if "values" in known and "values" not in settings:
        settings["values"] = _nominal_sizes(model, where)
    for name in (name for name, needed in known.items() if needed and name not in settings):
        example = EXAMPLES.get(name, "…")
        raise ExciterError(
            f"{where} needs {name}; give criterion: {{{word}: {{{name}: {example}}}}} in the file of --config"
        )
    try:
        return weight, criterion_from(word, {key: plain(value) for key, value in settings.items()})
    except ExciterError as error:
        raise ExciterError(f"{where}: {error}") from None
    except (TypeError, ValueError) as error:
        raise ExciterError(f"{where} has settings that cannot be used: {error}") from None


def _nominal_sizes(model: DynamicModel, where: str) -> tuple[float, ...]:
    sizes = np.abs(model.base.base_values(model.nominal))
    for name, size in zip(model.base.names, sizes, strict=True):
        if not size > 0:
            raise ExciterError(
                f"{where} needs the size of every parameter; {name} is 0 in the description, give values"
            )
    return tuple(sizes.tolist())
