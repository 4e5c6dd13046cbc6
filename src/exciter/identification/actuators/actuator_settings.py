"""``actuators:`` of the file of ``--config``: the control law of the drives, what of it is unknown, how it is fitted.

actuators:
  control: {kp: 20, kd: 1.5, limit: {'*calf*': 45.4, '*': 23.7}}   # τ = Kp (command − q) − Kd q̇; held: true
  unknown: [armature, damping, friction, offset, delay]   # also kp, kd, limit, bias, measurement_delay, mass, payload
  shared: {armature: ['*_hip_*', '*_thigh_*', '*_calf_*']}         # joints of a pattern have one value
  alike: true                     # joints that the description makes alike are, about, as far as the logs say so
  known: {friction: {FL_calf: 0.8}}   # values that are held
  payload: {tool: [0, 0, 0.05]}   # where a point mass is, in the frame of that name or joint [m]; if payload is unknown
  segment: 2.0                    # [s] simulated at a time, from a state of its own
  simulator: {integrator: implicitfast, step: 0.0025}              # the MJCF's own unless given
  motion: {duration: 10, families: [chirp, fourier, steps], lowest: 0.1, highest: 10, noise: 1.0e-4}   # if designed"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.errors import ExciterError, ParameterError, unknown_name
from exciter.excitation.criteria.criterion import AnyCriterion
from exciter.excitation.criteria.optimality_and_condition import LogSigma
from exciter.excitation.criteria.weighted_sums import WordsOfCriteria
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.sweeps_and_steps import Chirp, Steps
from exciter.excitation.trajectories.trajectory import Duration
from exciter.settings import ByName, Number, OneWord, Settings
from exciter.settings.field_markers import Flag, Kind, ListOfTexts, Refused, Vector
from exciter.typing import Array


@dataclass(frozen=True)
class ActuatorKind:
    """One number of every drive. positive: searched by its logarithm. scale: of what people write, where nothing is
    known. spread: relative σ (of the logarithm), or σ in its unit, by which a value may differ from its start."""

    word: str
    title: str
    unit: str
    positive: bool
    scale: float
    spread: float


ACTUATOR_KINDS = {
    kind.word: kind
    for kind in (
        ActuatorKind("armature", "rotor inertia behind the gear", "kg·m²", True, 0.01, 3.0),
        ActuatorKind("damping", "viscous friction", "N·m·s/rad", True, 0.1, 3.0),
        ActuatorKind("friction", "dry friction", "N·m", True, 0.1, 3.0),
        ActuatorKind("kp", "stiffness of the control", "N·m/rad", True, 20.0, 1.0),
        ActuatorKind("kd", "damping of the control", "N·m·s/rad", True, 0.5, 1.0),
        ActuatorKind("limit", "torque limit", "N·m", True, 30.0, 1.0),
        ActuatorKind("offset", "constant torque", "N·m", False, 0.0, 10.0),
        ActuatorKind("bias", "encoder minus true position", "rad", False, 0.0, 0.1),
        ActuatorKind("delay", "from command to torque", "s", False, 0.0, 0.02),
        ActuatorKind("measurement_delay", "from position to log", "s", False, 0.0, 0.02),
        ActuatorKind("mass", "link that the joint moves, its inertia in proportion", "kg", True, 0.0, 1.0),
        ActuatorKind("payload", "point mass on that link", "kg", True, 0.0, 3.0),
    )
}
LINK_KINDS = ("mass", "payload")  #: of what the drives move
DRIVE_KINDS = ("armature", "damping", "friction")  #: of the mechanism, which a description may give
SHARED_BY_ALL = ("delay", "measurement_delay")  #: unless settings say otherwise
INTEGRATORS = ("implicitfast", "euler")
DRIVE_FAMILIES = (Chirp.word, Fourier.word, Steps.word)  #: of motions that are designed for drives
DEFAULT_UNKNOWN = ("armature", "damping", "friction", "offset", "delay")


@dataclass(frozen=True)
class ByPattern(Kind):
    """One number for all joints, or by joint or wildcard; the first pattern that fits counts."""

    number: Number

    @property
    def wanted(self) -> str:
        return f"{self.number.wanted}, or one by joint or pattern"

    def check(self, given: Any, context: Mapping[str, Any]) -> Mapping[str, float]:
        if isinstance(given, Mapping):
            return {str(name): self.number.number(value) for name, value in given.items()}
        return {"*": self.number.number(given)}

    def schema(self) -> dict[str, Any]:
        one = self.number.schema()
        return {"anyOf": [one, {"type": "object", "additionalProperties": one}]}


def by_pattern(given: Mapping[str, float], joints: Sequence[str], what: str) -> Array:
    """(n,) of the joints; NaN where no pattern fits."""
    for pattern in given:
        if not any(fnmatchcase(name, pattern) for name in joints):
            raise ParameterError(f"{what}: {unknown_name('joint', pattern, joints)}")
    fits = [[value for pattern, value in given.items() if fnmatchcase(name, pattern)] for name in joints]
    return np.array([found[0] if found else np.nan for found in fits])


POSITIVE_BY_PATTERN = ByPattern(Number(above=0.0))


@dataclass(frozen=True)
class PositionControl(Settings):
    """What the drives do with a command: τ = clip(Kp (command(t − delay) − q − bias) − Kd q̇, ± limit). kp [N·m/rad], kd
    [N·m·s/rad], limit [N·m] by joint or pattern; what is not given is that of the position actuators of the robot's
    MJCF, the limit the robot's own. held: each command stays until the next one comes; else they are on lines between.

    >>> ex.PositionControl(kp=20.0, kd={"*knee": 1.0, "*": 1.5}).kd
    {'*knee': 1.0, '*': 1.5}"""

    refusal: ClassVar[type[ExciterError]] = ParameterError
    kp: Annotated[Mapping[str, float], POSITIVE_BY_PATTERN] = field(default_factory=dict)
    kd: Annotated[Mapping[str, float], ByPattern(Number(least=0.0))] = field(default_factory=dict)
    limit: Annotated[Mapping[str, float], POSITIVE_BY_PATTERN] = field(default_factory=dict)
    held: Annotated[bool, Flag()] = False


@dataclass(frozen=True)
class SimulatorSettings(Settings):
    """MuJoCo's integrator and step [s]; None: as the MJCF has them, else implicitfast and 2 ms at most, an even part of
    what the log has between its samples."""

    integrator: Annotated[str | None, OneWord(INTEGRATORS)] = None
    step: Annotated[float | None, Number(above=0.0, most=0.1, unit="s")] = None


@dataclass(frozen=True)
class SomeWords(Kind):
    """A list of words that are known; what: one of them is called so."""

    known: tuple[str, ...]
    what: str

    @property
    def wanted(self) -> str:
        return f"a list of {', '.join(self.known)}"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[str, ...]:
        words = ListOfTexts(f"{self.what} names").check(given, context)
        for word in words:
            if word not in self.known:
                raise Refused(f": {unknown_name(self.what, word, self.known)}")
        return tuple(dict.fromkeys(words))

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"enum": list(self.known)}}


@dataclass(frozen=True)
class DriveMotionSettings(Settings):
    """What a motion for drives may be, and how its log is expected. duration [s]; families that are tried; lowest,
    highest [Hz]: of what they move with. noise: σ of the encoders [rad or m], by joint or pattern, white. criterion:
    one of information alone."""

    refusal: ClassVar[type[ExciterError]] = ParameterError
    duration: Duration = 10.0
    families: Annotated[tuple[str, ...], SomeWords(DRIVE_FAMILIES, "family")] = DRIVE_FAMILIES
    lowest: Annotated[float, Number(above=0.0, unit="Hz")] = 0.1
    highest: Annotated[float, Number(above=0.0, unit="Hz")] = 10.0
    noise: Annotated[Mapping[str, float], POSITIVE_BY_PATTERN] = field(default_factory=lambda: {"*": 1e-4})
    criterion: Annotated[AnyCriterion, WordsOfCriteria()] = field(default_factory=LogSigma)

    def __post_init__(self) -> None:
        if not self.lowest < self.highest:
            raise ParameterError(f"frequencies from {self.lowest:g} to {self.highest:g} Hz; give lowest < highest")
        if not self.families:
            raise ParameterError(f"no families for drives; give some of {', '.join(DRIVE_FAMILIES)}")


@dataclass(frozen=True)
class ActuatorSettings(Settings):
    """control: None: as the MJCF's position actuators have it. unknown: what is sought. shared: joints of one pattern
    have one value, by kind. alike: joints of which the description says the same differ by as much as the logs show, no
    more. known: values to hold, by kind. payload: where point masses are, (3,) [m] in the frame of that name, or in a
    joint's own. segment [s]: how long roll-outs are. loss: in σ of residuals, beyond which they count less.
    accept_problems: fit logs, too, in which units, signs or columns seem wrong. motion: what a motion that is designed
    for them may be.

    >>> ex.ActuatorSettings(control=ex.PositionControl(kp=20.0, kd=1.5)).segment
    2.0"""

    refusal: ClassVar[type[ExciterError]] = ParameterError
    control: PositionControl | None = None
    unknown: Annotated[tuple[str, ...], SomeWords(tuple(ACTUATOR_KINDS), "kind")] = DEFAULT_UNKNOWN
    shared: Annotated[Mapping[str, tuple[str, ...]], ByName(ListOfTexts("patterns"), tuple(ACTUATOR_KINDS), "kind")] = (
        field(default_factory=dict)
    )
    alike: Annotated[bool, Flag()] = True
    known: Annotated[Mapping[str, Mapping[str, float]], ByName(ByPattern(Number()), tuple(ACTUATOR_KINDS), "kind")] = (
        field(default_factory=dict)
    )
    payload: Annotated[Mapping[str, tuple[float, ...]], ByName(Vector(3, "m"), what="frame")] = field(
        default_factory=dict
    )
    segment: Annotated[float, Number(above=0.0, unit="s")] = 2.0
    loss: Annotated[float | None, Number(above=0.0, open="none")] = 1.345
    simulator: SimulatorSettings = field(default_factory=SimulatorSettings)
    accept_problems: Annotated[bool, Flag()] = False
    motion: DriveMotionSettings = field(default_factory=DriveMotionSettings)
