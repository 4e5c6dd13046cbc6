"""Which parameters a motion is to determine best, and what is known of the others.

parameters: inertia                        # what a static experiment leaves open; the rest is estimated along
parameters: {of: inertia, known: gravity}  # Rackl's Π_dyn: gravity was found at rest, friction is estimated along
parameters: {of: [friction, "ZZ*"], known: others}
parameters: {of: payload, known: others}   # the ten parameters of a load at the tool, on a robot that is known

Words: inertia and gravity (parameters of links that do not and do act at rest), links (both), friction, rotor, the
name of a joint (its link and its drive), a base parameter, or a pattern of such names; others: all that is left.

Parameters that are neither chosen nor known are a nuisance: unknown, estimated along, and not of interest. The
criterion is then of the chosen block of the covariance, by the Schur complement (``ReducedInformation``); columns of
known ones are left out, which promises too much where they are not known as well as that.

A load changes the parameters of the robot that carries it, and cannot be told from them by one log. Where the robot is
a nuisance, earlier motions (``prior``) were recorded without the load; without any, the designed motion is run twice,
with the load and without: β + A φ less β, each known with the information H, so ½ AᵀHA is told about φ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Any

import numpy as np

from exciter.dynamics.load_effect import LOAD_NAMES, load_effect, visible_load
from exciter.dynamics.model import DynamicModel
from exciter.dynamics.parameter_kinds import columns_at_rest, friction_columns
from exciter.errors import ParameterError, unknown_name
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.notes import Note, note
from exciter.parameters.parameter_names import split_name
from exciter.parameters.terms import RotorInertia
from exciter.settings import Names, Settings
from exciter.settings.field_markers import Text
from exciter.typing import Array, BoolArray

PAYLOAD_WORD, OTHERS_WORD = "payload", "others"
KINDS = ("inertia", "gravity", "links", "friction", "rotor")  #: words for kinds of parameters
TWO_LOGS_NOTE = note("payload", "to be run twice, with the load and without it: two logs tell it from the robot")
TWO_RUNS = np.sqrt(0.5)  # of the load's columns, where the robot is as unknown as the load: half of the information


@dataclass(frozen=True)
class ChosenParameters(Settings):
    """of: what the motion is for; known: what need not be estimated along. Words, names and patterns of parameters,
    names of joints. frame: that carries the load, the tool unless given.

    >>> friction = ex.ChosenParameters("friction")
    >>> motion = ex.design(robot, ex.Fourier(period=5, harmonics=3), parameters=friction, terms=["viscous"], starts=1)
    >>> list(motion.predicted_std)
    ['Fv1', 'Fv2', 'Fv3']"""

    of: Names
    known: Names = ()
    frame: Annotated[str | None, Text("a frame")] = None

    def __post_init__(self) -> None:
        if not self.of:
            raise ParameterError(f"parameters are none; give {', '.join((*KINDS, PAYLOAD_WORD))}, joints or names")
        if (PAYLOAD_WORD in self.of and len(self.of) > 1) or PAYLOAD_WORD in self.known:
            raise ParameterError("the payload is no parameter of the robot: choose it alone, of: payload")
        if self.frame is not None and PAYLOAD_WORD not in self.of:
            raise ParameterError(f"frame '{self.frame}' is where a load is; it goes with of: {PAYLOAD_WORD}")

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, str):
            return {"of": [word.strip() for word in given.split(",") if word.strip()]}
        return {"of": given} if isinstance(given, list | tuple) else given

    def spelling(self, data: dict[str, Any]) -> Any:
        return list(self.of) if set(data) == {"of"} else data

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, schema]}

    def notes(self, prior: Array | None) -> tuple[Note, ...]:
        """What must be done for the promise to hold."""
        two_logs = PAYLOAD_WORD in self.of and OTHERS_WORD not in self.known and prior is None
        return (TWO_LOGS_NOTE,) if two_logs else ()

    def columns(self, model: DynamicModel, prior: Array | None = None) -> tuple[DesignColumns, Array | None]:
        """And the information of earlier experiments about them, from that about the base parameters (b, b)."""
        if PAYLOAD_WORD in self.of:
            return self._of_a_load(model, prior)
        base = model.base
        chosen = _marked(model, self.of)
        known = self._known(model, chosen)
        if (both := chosen & known).any():
            name = base.names[int(np.flatnonzero(both)[0])]
            raise ParameterError(f"{name} is chosen and known; leave it out of one")
        kept = np.flatnonzero(~known)
        selected = base.independent[kept]
        columns = DesignColumns(
            tuple(base.names[k] for k in kept),
            selected,
            model.layout(selected),
            nuisance=None if chosen[kept].all() else ~chosen[kept],
            known=tuple(base.names[k] for k in np.flatnonzero(known)),
        )
        return columns, None if prior is None else prior[np.ix_(kept, kept)]

    def _known(self, model: DynamicModel, chosen: BoolArray) -> BoolArray:
        """(b,) of the base parameters."""
        words = tuple(word for word in self.known if word != OTHERS_WORD)
        known = _marked(model, words)
        return known | ~chosen if OTHERS_WORD in self.known else known

    def _of_a_load(self, model: DynamicModel, prior: Array | None) -> tuple[DesignColumns, Array | None]:
        base, frame = model.base, self.frame or model.robot.tool_frame
        kept, _ = visible_load(effect := load_effect(model, base, frame))
        if not len(kept):
            raise ParameterError(f"no motion of this robot shows anything of a load on '{frame}'; name another frame")
        names, effect = tuple(LOAD_NAMES[k] for k in kept), effect[:, kept]
        known = self._known(model, np.zeros(len(base), dtype=bool))
        layout, beside = model.layout(base.independent), np.flatnonzero(~known)
        told = tuple(base.names[k] for k in np.flatnonzero(known))
        if known.all():
            return DesignColumns(names, base.independent, layout, effect, known=told), None
        if prior is not None:
            together = np.zeros((len(names) + len(beside),) * 2)
            together[len(names) :, len(names) :] = prior[np.ix_(beside, beside)]
            every, nuisance = np.hstack([effect, np.eye(len(base))[:, beside]]), np.arange(len(together)) >= len(names)
            every_name = names + tuple(base.names[k] for k in beside)
            return DesignColumns(every_name, base.independent, layout, every, nuisance, told), together
        if known.any():
            raise ParameterError(
                "a load on a robot of which only some parameters are known needs earlier motions without it: give "
                f"prior, known: {OTHERS_WORD}, or nothing known"
            )
        return DesignColumns(names, base.independent, layout, TWO_RUNS * effect), None


def _marked(model: DynamicModel, words: tuple[str, ...]) -> BoolArray:
    """(b,) base parameters that some words mean; every word must mean one at least."""
    base = model.base
    marked = np.zeros(len(base), dtype=bool)
    for word in words:
        meant = _meant(model, word)
        if not meant.any():
            if word in (*KINDS, *model.robot.tree_names):
                raise ParameterError(
                    f"no base parameter of this model is meant by {word}; it has {', '.join(base.names)}"
                )
            valid = (*KINDS, PAYLOAD_WORD, *model.robot.tree_names, *base.names)
            raise ParameterError(unknown_name("parameter or word", word, valid))
        marked |= meant
    return marked


def _meant(model: DynamicModel, word: str) -> BoolArray:
    base, links = model.base, model.inertial_size
    inertial = np.arange(len(model.standard)) < links
    if word in KINDS:
        if word == "friction":
            standard = friction_columns(model)
        elif word == "rotor":
            standard = _rotors(model)
        else:
            at_rest = columns_at_rest(model)
            standard = inertial & {"inertia": ~at_rest, "gravity": at_rest, "links": inertial}[word]
        return np.asarray(standard[base.independent])
    if word in (names := model.robot.tree_names):  # the body, and terms of the joint
        numbers = {True: names.index(word) + 1, False: 0}
        if word in model.robot.joint_names:
            numbers[False] = model.robot.joint_names.index(word) + 1
        return np.array([split_name(model.standard[k])[1] == numbers[bool(k < links)] for k in base.independent])
    return np.array([fnmatchcase(name, word) for name in base.names])


def _rotors(model: DynamicModel) -> BoolArray:
    found = np.zeros(len(model.standard), dtype=bool)
    for term, (_, at) in zip(model.terms, model.term_columns, strict=True):
        found[at] = isinstance(term, RotorInertia)
    return found
