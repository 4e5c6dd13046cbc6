"""``campaign:`` of a settings file: which σ is wanted, and how rounds of design, log and identification reach it.

campaign:
  target: {"*": 5 %, "Fs*": 0.1, MX4: {percent: 10, sigma: 0.02}}   # of parameters by name; or one for all: 5 %
  torque: 1 %                # of the predicted torque of joints: rms over random states; or by joint, or [N·m]
  negligible: 0.1 %          # σ of a parameter is small enough where all torque that it moves is less; none: never
  rounds: 10                 # at most
  criterion: targets         # or d-optimal, cramer-rao
  joint_noise: 1.0e-3        # σ of positions [rad, m], for the Cramér–Rao bound: the first guess
  logs: virtual              # or real
  shortest: 0.25             # of the length of a round: the last one may be as short"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, shown, unknown_name
from exciter.excitation.criteria.targets import Targets, torque_squares, usual_torques
from exciter.settings import Number, OneWord, PerJointNumber, Settings, Whole
from exciter.settings.field_markers import Kind, inside, wrong
from exciter.settings.fill import filled, json_schema
from exciter.typing import Array

PERCENTAGE = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*%\s*")
EVERY_NAME = "*"
MOST_ROUNDS = 1000
TARGETS, D_OPTIMAL, CRAMER_RAO = "targets", "d-optimal", "cramer-rao"
VIRTUAL, REAL = "virtual", "real"
USUAL_TORQUE_PERCENT = 1.0  # where nothing is wanted in particular
Percentage = Annotated[float | None, Number(above=0.0, unit="%")]


@dataclass(frozen=True)
class WantedSigma(Settings):
    """σ of at most so many per cent of the value, or at most sigma, in the unit of what it is of: the larger counts."""

    percent: Percentage = None
    sigma: Annotated[float | None, Number(above=0.0)] = None

    def __post_init__(self) -> None:
        if self.percent is None and self.sigma is None:
            raise ExciterError("no σ is given; give percent, sigma, or both")

    def of(self, size: Array) -> Array:
        """σ allowed for values of such a size."""
        return np.maximum(0.01 * (self.percent or 0.0) * size, self.sigma or 0.0)


class SigmaWanted(Kind):
    """``5 %``, a number in the unit of the quantity, or both as a mapping."""

    wanted = "a percentage (5 %), a number > 0 in its unit, or {percent: 5, sigma: 0.01}, of which the larger counts"

    def check(self, given: Any, context: Mapping[str, Any]) -> WantedSigma:
        if isinstance(given, WantedSigma):
            return given
        if isinstance(given, Mapping):
            return filled(WantedSigma, given, context)  # type: ignore[no-any-return]
        relative = PERCENTAGE.fullmatch(given) if isinstance(given, str) else None
        try:
            if relative is not None:
                return WantedSigma(percent=Number(above=0.0).number(relative[1]))
            return WantedSigma(sigma=Number(above=0.0).number(given))
        except ValueError:
            raise wrong(f" is {shown(given)}; give {self.wanted}") from None

    def schema(self) -> dict[str, Any]:
        number = {"type": "number", "exclusiveMinimum": 0}
        return {"anyOf": [number, {"type": "string", "pattern": "%"}, json_schema(WantedSigma)]}


class SigmaByName(Kind):
    """One for all, or by name, with wildcards; of several that fit, the last counts."""

    wanted = f"{SigmaWanted.wanted}; one for all, or by name, where * and ? stand for any letters"

    def check(self, given: Any, context: Mapping[str, Any]) -> dict[str, WantedSigma]:
        by_name = isinstance(given, Mapping) and not set(given) <= {"percent", "sigma"}
        if isinstance(given, Mapping) and not given:
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        found = {}
        for name, one in given.items() if by_name else ((EVERY_NAME, given),):
            with inside(f": {name}" if by_name else ""):
                found[str(name)] = SigmaWanted().check(one, context)
        return found

    def schema(self) -> dict[str, Any]:
        one = SigmaWanted().schema()
        return {"anyOf": [one, {"type": "object", "additionalProperties": one}]}


class PercentOrNone(Kind):
    wanted = "a percentage (1 %), or none"

    def check(self, given: Any, context: Mapping[str, Any]) -> float:
        """[%], 0 for none."""
        if isinstance(given, str) and given.strip().lower() == "none":
            return 0.0
        relative = PERCENTAGE.fullmatch(given) if isinstance(given, str) else None
        try:
            return Number(least=0.0, most=100.0).number(given if relative is None else relative[1])
        except ValueError:
            raise wrong(f" is {shown(given)}; give {self.wanted}") from None

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "number", "minimum": 0, "maximum": 100}, {"type": "string"}]}


@dataclass(frozen=True)
class CampaignSettings(Settings):
    """Rounds until every σ that is wanted is reached, as the section ``campaign:`` of a file asks for them.

    target: σ of parameters, by name; torque: σ of predicted torques, by joint. Neither: torques to 1 %. negligible [%]:
    of a joint's rms torque. joint_noise [rad, m]: σ of one recorded position.

    >>> settings = ex.CampaignSettings(target={"ZZ*": "5 %"}, rounds=4)
    >>> settings.target["ZZ*"].percent
    5.0"""

    target: Annotated[Mapping[str, WantedSigma] | None, SigmaByName()] = None
    torque: Annotated[Mapping[str, WantedSigma] | None, SigmaByName()] = None
    negligible: Annotated[float, PercentOrNone()] = 0.1
    rounds: Annotated[int, Whole(1, MOST_ROUNDS)] = 10
    criterion: Annotated[str, OneWord((TARGETS, D_OPTIMAL, CRAMER_RAO))] = TARGETS
    joint_noise: Annotated[Any, PerJointNumber(above=0.0, unit="rad, m")] = None
    logs: Annotated[str, OneWord((VIRTUAL, REAL))] = VIRTUAL
    shortest: Annotated[float, Number(above=0.0, most=1.0)] = 0.25

    def __post_init__(self) -> None:
        if self.criterion == CRAMER_RAO and self.joint_noise is None:
            raise ExciterError("cramer-rao needs joint_noise, σ of a recorded position [rad, m]; give about what it is")
        if self.criterion == D_OPTIMAL and self.joint_noise is not None:
            raise ExciterError("joint_noise is for cramer-rao or targets; d-optimal takes positions as exact")

    @property
    def noisy_positions(self) -> bool:
        """Whether information is that of the Cramér–Rao bound."""
        return self.joint_noise is not None

    def goals(self, model: DynamicModel) -> Goals:
        """Whose names are compared with the robot's now."""
        target, torque = self.target or {}, self.torque or {}
        if not target and not torque:
            torque = {EVERY_NAME: WantedSigma(percent=USUAL_TORQUE_PERCENT)}
        of_parameters = fitting(target, model.base.names, "target", "parameter")
        of_joints = fitting(torque, model.robot.joint_names, "torque", "joint")
        return Goals(model, of_parameters, of_joints, self.negligible)


def fitting(
    given: Mapping[str, WantedSigma], names: Iterable[str], what: str, kind: str
) -> tuple[WantedSigma | None, ...]:
    """For each name the last entry that fits it; every entry must fit one."""
    names = tuple(names)
    for pattern in given:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ExciterError(f"{what}: {unknown_name(kind, pattern, names)}")
    last = {name: one for pattern, one in given.items() for name in names if fnmatchcase(name, pattern)}
    return tuple(last.get(name) for name in names)


@dataclass(frozen=True, eq=False)
class Goals:
    """What is wanted of a model: of each of its b base parameters, of the torque of each of its n joints.

    A parameter is known well enough where σ ≤ percent of |value|, or ≤ sigma, or where no joint's torque has more than
    ``negligible`` [%] of its rms from an error of σ: a relative σ of what is zero could never be reached."""

    model: DynamicModel
    parameters: tuple[WantedSigma | None, ...]
    joints: tuple[WantedSigma | None, ...]
    negligible: float

    @cached_property
    def squares(self) -> Array:
        """(n, b, b): see ``torque_squares``."""
        return torque_squares(self.model)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all goals: parameters, then torques of joints."""
        chosen = zip(self.model.base.names, self.parameters, strict=True)
        torques = zip(self.model.robot.joint_names, self.joints, strict=True)
        return (*(n for n, one in chosen if one), *(f"torque of {n}" for n, one in torques if one))

    @property
    def units(self) -> tuple[str, ...]:
        chosen = zip(self.model.base.independent, self.parameters, strict=True)
        torques = zip(self.model.robot.joints, self.joints, strict=True)
        return (
            *(self.model.units[k] for k, one in chosen if one),
            *("N" if joint.is_prismatic else "N·m" for joint, one in torques if one),
        )

    def criterion(self, values: Array) -> Targets:
        """For parameters of such values (b,)."""
        sigma, torque = self._allowed(values)
        return Targets(
            sigma=tuple(sigma.tolist()) if any(self.parameters) else None,
            torque=tuple(torque.tolist()) if any(self.joints) else None,
        )

    def _allowed(self, values: Array) -> tuple[Array, Array]:
        """σ (b,) and (n,) that are allowed; zero where nothing is wanted."""
        usual = usual_torques(self.squares, values)
        effect = np.sqrt(np.diagonal(self.squares, axis1=1, axis2=2))  # (n, b) rms of φ_ji
        shares = np.divide(usual[:, None], effect, out=np.full(effect.shape, np.inf), where=effect > 0)
        small = 0.01 * self.negligible * shares.min(axis=0)
        sizes = zip(self.parameters, np.abs(values), small, strict=True)
        sigma = [0.0 if one is None else max(float(one.of(size)), least) for one, size, least in sizes]
        torque = [0.0 if one is None else float(one.of(u)) for one, u in zip(self.joints, usual, strict=True)]
        for name, one, allowed in zip(self.model.base.names, self.parameters, sigma, strict=True):
            if one is not None and not allowed > 0.0:
                raise ParameterError(f"{name} is 0, of which no percentage can be reached; give sigma for it, too")
        return np.array(sigma), np.array(torque)

    def wanted(self, values: Array) -> Array:
        """(k,) σ allowed, of every goal."""
        both = np.concatenate(self._allowed(values))
        return np.asarray(both[both > 0])

    def sigma(self, covariance: Array) -> Array:
        """(k,) σ of every goal."""
        chosen = [one is not None for one in self.parameters]
        moved = [one is not None for one in self.joints]
        torque = np.einsum("jbc,bc->j", self.squares[moved], covariance, optimize=True)
        return np.asarray(np.sqrt(np.maximum(np.concatenate([covariance.diagonal()[chosen], torque]), 0.0)))

    def ratios(self, values: Array, covariance: Array) -> Array:
        """(k,) σ over what is allowed: reached where none is above one."""
        return np.asarray(self.sigma(covariance) / self.wanted(values))
