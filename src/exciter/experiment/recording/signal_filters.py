"""The filters of a recording, by signal and joint: one of the torque of all joints, or whatever differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from exciter.errors import ExciterError, RecordingError, shown
from exciter.experiment.recording.analogue_filter import (
    AnalogFilter,
    AnalogResponse,
    MeasuredResponse,
    TransferFunction,
    ZerosPolesGain,
)
from exciter.settings import Settings
from exciter.settings.field_markers import Kind, inside, wrong
from exciter.settings.fill import filled, json_schema

FILTERED_SIGNALS = ("torque", "position", "velocity")  #: torque: or current
NO_FILTER = "none"
RESPONSES: tuple[type[AnalogResponse], ...] = (AnalogFilter, TransferFunction, ZerosPolesGain, MeasuredResponse)
JointFilters = tuple[AnalogResponse | None, ...]


def _class_of(given: Mapping[Any, Any]) -> type[AnalogResponse]:
    """By the keys, whichever way of saying it they are of."""
    keys = set(given)
    if keys & {"numerator", "denominator"}:
        return TransferFunction
    if keys & {"zeros", "poles"}:
        return ZerosPolesGain
    return MeasuredResponse if keys & {"frequency", "phase", "phase_rad", "gain_db", "file"} else AnalogFilter


@dataclass(frozen=True)
class OfJoints(Kind):
    """One filter for all joints, a list in their order, or by name of all of them; none: this joint has no filter."""

    wanted = "{order: …, cutoff: …} [Hz], {numerator, denominator}, {zeros, poles, gain}, {frequency, gain, phase}, "
    wanted += "{file: …}, or such by joint"

    def check(self, given: Any, context: Mapping[str, Any]) -> JointFilters:
        robot = context.get("robot")
        joints: Any = context.get("joints") if robot is None else robot.joint_names
        if isinstance(given, list | tuple):
            if not given or (joints is not None and len(given) not in (1, len(joints))):
                raise wrong(f" has {len(given)} filters; give one, or one for each of {len(joints or ())} joints")
            return self._each({f" {k + 1}": one for k, one in enumerate(given)}, context)
        if isinstance(given, Mapping) and set(given) & set(joints or ()):
            for name in given:
                if name not in joints:
                    raise wrong(f": '{name}' is no joint; joints are {', '.join(joints)}")
            for name in joints:
                if name not in given:
                    raise wrong(f" says nothing of joint '{name}'; give a filter, or none, for every joint")
            return self._each({f": {name}": given[name] for name in joints}, context)
        return (self.one(given, context),)

    def _each(self, entries: Mapping[str, Any], context: Mapping[str, Any]) -> JointFilters:
        found = list[AnalogResponse | None]()
        for place, entry in entries.items():
            with inside(place):
                none = entry is None or (isinstance(entry, str) and entry.strip().lower() == NO_FILTER)
                found.append(None if none else self.one(entry, context))
        if all(one is None for one in found):
            raise wrong(" is none for every joint; leave it out")
        return tuple(found)

    def one(self, given: Any, context: Mapping[str, Any]) -> AnalogResponse:
        if isinstance(given, AnalogResponse):
            return given
        if not isinstance(given, Mapping):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        found: AnalogResponse = filled(_class_of(given), given, context)
        return found

    def schema(self) -> dict[str, Any]:
        one = [json_schema(cls) for cls in RESPONSES]
        each = {"anyOf": [*one, {"const": NO_FILTER}, {"type": "null"}]}
        return {"anyOf": [*one, {"type": "array", "items": each}, {"type": "object", "additionalProperties": each}]}


@dataclass(frozen=True)
class SignalFilters(Settings):
    """The filters of each signal: one of all joints, or one each in the order of the joints; () where there is none.
    torque: of torque or current."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    torque: Annotated[JointFilters, OfJoints()] = ()
    position: Annotated[JointFilters, OfJoints()] = ()
    velocity: Annotated[JointFilters, OfJoints()] = ()

    def __post_init__(self) -> None:
        if not (self.torque or self.position or self.velocity):
            raise RecordingError("it names no filter; give one under torque, position or velocity, or leave it out")

    def spelling(self, data: dict[str, Any]) -> Any:
        return {key: each[0] if len(each) == 1 else each for key, each in data.items()}


AnyAnalogFilter = AnalogResponse | SignalFilters


class OfSignals(OfJoints):
    """Filters of the torque, or by signal; kept in the shortest form."""

    wanted = f"{OfJoints.wanted}, or by {', '.join(FILTERED_SIGNALS)}"

    def check(self, given: Any, context: Mapping[str, Any]) -> AnyAnalogFilter:  # type: ignore[override]
        if isinstance(given, SignalFilters):
            return given
        if isinstance(given, Mapping) and set(given) & set(FILTERED_SIGNALS):
            found: SignalFilters = filled(SignalFilters, given, context)
            alone = len(found.torque) == 1 and not (found.position or found.velocity) and found.torque[0]
            return alone or found
        each = super().check(given, context)
        return each[0] if len(each) == 1 and each[0] is not None else SignalFilters(torque=each)

    def value(self, given: Any) -> Any:
        return given if isinstance(given, AnalogResponse | SignalFilters) else self.check(given, {})

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [*super().schema()["anyOf"], json_schema(SignalFilters)]}


def filters_of(given: AnyAnalogFilter | None, signal: str, n: int) -> JointFilters:
    """(n,) one for each joint; all None where the signal has no filter."""
    each = (given,) if isinstance(given, AnalogResponse) and signal == "torque" else ()
    if isinstance(given, SignalFilters):
        each = getattr(given, signal)
    if len(each) not in (0, 1, n):
        raise RecordingError(f"filter: {signal} has {len(each)} filters for {n} joints; give one, or one for each")
    return tuple(each) if len(each) == n else (each or (None,)) * n


def arranged_filters(given: AnyAnalogFilter | None, columns: Sequence[int]) -> AnyAnalogFilter | None:
    """The same for joints in another order."""
    if not isinstance(given, SignalFilters):
        return given
    each = {name: getattr(given, name) for name in FILTERED_SIGNALS}
    return SignalFilters(**{k: x if len(x) < 2 else tuple(x[c] for c in columns) for k, x in each.items()})


def named_filters(given: AnyAnalogFilter, signals: Sequence[str] = FILTERED_SIGNALS) -> str:
    """In words, each kind once."""
    if isinstance(given, AnalogResponse):
        return given.words
    parts = list[str]()
    for name in signals:
        if found := dict.fromkeys(one.words for one in getattr(given, name) if one is not None):
            parts.append(f"{' and '.join(found)} of the {name}")
    return ", ".join(parts)
