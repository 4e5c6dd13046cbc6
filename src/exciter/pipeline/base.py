"""Which parameters of a robot can be identified, in which combinations, and why the others cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from exciter.dynamics.model import DynamicModel, inertia_base, numeric_model_base, static_base
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import ExciterError
from exciter.notes import texts
from exciter.parameters.barycentric import BarycentricParameters, barycentric
from exciter.parameters.identifiability import Identifiability, identifiability
from exciter.parameters.terms import JointTerm, ListOfTerms
from exciter.pipeline.settings_file import loaded
from exciter.robot.load import RobotOptions
from exciter.robot.robot import Robot
from exciter.settings import OneWord, fill
from exciter.settings.fill import checked

BASE_PARTS = ("gravity", "inertia")


@dataclass(frozen=True, eq=False, kw_only=True)
class FoundBase:
    """A model and what becomes of each of its standard parameters."""

    model: DynamicModel
    verdicts: Identifiability

    @property
    def units(self) -> tuple[str, ...]:
        """(b,) of the base parameters."""
        known, base = dict(zip(self.model.standard, self.model.units, strict=True)), self.verdicts.base
        return tuple(known[base.standard[k]] for k in base.independent)

    @property
    def table_error(self) -> float:
        """[rad] How far axes that are nearly parallel are turned in the modified-DH table, which has them parallel."""
        joints = enumerate(self.model.dynamics.robot.bodies)
        return max(float(abs(self.model.mdh.transform(k)[:3, :3] - joint.rotation).max()) for k, joint in joints)

    @cached_property
    def barycentric(self) -> BarycentricParameters:
        """The same parameters as those of augmented bodies (``exciter.parameters.barycentric``); for robots whose
        joints turn, and for the whole model."""
        if len(self.verdicts.base) != len(self.model.base):
            raise ExciterError("barycentric parameters are those of the whole model; leave out only")
        return barycentric(self.model.dynamics.robot, self.model.base, self.model.units)

    def __repr__(self) -> str:
        return "\n".join(self.verdicts.base.expressions)

    def to_dict(self, *, everything: bool = False, table: bool = False, augmented: bool = False) -> dict[str, Any]:
        """Plain data: the promised keys first, then what else a program may want. augmented: barycentric parameters,
        with their values in the description."""
        data, base = self.verdicts.to_dict(), self.verdicts.base
        for parameter, unit in zip(data["parameters"], self.units, strict=True):
            parameter["unit"] = unit
        data |= {"method": base.method, "evidence": base.decision.words, "notes": texts(self.model.robot.remarks)}
        if everything:
            keys = ("name", "status", "enters", "reason")
            data["verdicts"] = [{key: getattr(one, key) for key in keys} for one in self.verdicts.verdicts]
        if table:
            data["mdh"] = [vars(row) for row in self.model.mdh.rows]
        if augmented:
            data["barycentric"] = [
                {"name": name, "unit": unit, "is": self.barycentric.combination(k), "value": float(value)}
                for k, (name, unit, value) in enumerate(self.barycentric_rows())
            ]
        return data

    def barycentric_rows(self) -> list[tuple[str, str, float]]:
        """Name, unit, and value in the description."""
        found = self.barycentric
        return list(zip(found.names, found.units, found.values(self.model.nominal).tolist(), strict=True))


def base(
    robot: Robot | str | Path,
    terms: Sequence[JointTerm | str] = (),
    *,
    only: Literal["gravity", "inertia"] | None = None,
    numeric: bool = False,
) -> FoundBase:
    """What torques can tell of the bodies, and of joint terms beside them (objects, or words of a settings file).

    only: of poses at rest, or of second moments; numeric: decided from random samples instead of in closed form.

    >>> print(ex.base(robot, [ex.Viscous(), ex.Coulomb()]))
    ZZR1 = ZZ1 + YY2 + YY3 + 0.4 MZ3 + 0.29 M3
    ...
    >>> print(ex.base(robot).barycentric)
    kzz1 = ZZ1 + 0.5 XX2 + 0.5 YY2 + 0.165 M3 + 0.4 MZ3 + 0.5 XX3 + 0.5 YY3
    ..."""
    chosen: tuple[JointTerm, ...] = fill(ListOfTerms().hint, () if terms is None else terms, "terms")
    only = checked(Annotated[str | None, OneWord(BASE_PARTS)], only, "only")
    model = DynamicModel(loaded(robot, RobotOptions())[0], chosen, NumpyEngine())  # a handful of samples at most
    if only == "inertia":
        if numeric:
            raise ExciterError("only inertia: this is decided in closed form; leave out numeric")
        found = inertia_base(model)
    elif numeric:
        found = numeric_model_base(model, static=only == "gravity")
    else:
        found = static_base(model) if only == "gravity" else model.base
    verdicts = identifiability(model.dynamics.robot, found, kinetic=only != "gravity")
    return FoundBase(model=model, verdicts=verdicts)
