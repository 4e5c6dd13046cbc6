"""The robots of a type together: their comparison, and its rows for tables, files and the report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.identification.identify_config import IdentifyConfig, terms_of
from exciter.pipeline.fleet_robots import RobotOfFleet
from exciter.pipeline.saving import robot_data
from exciter.report.fleet_report import TypeShown
from exciter.robot.robot import Robot
from exciter.settings import written
from exciter.validation.fleet.groups import ParameterGroups
from exciter.validation.fleet.type_comparison import TypeComparison, compare_robots


@dataclass(frozen=True, eq=False, kw_only=True)
class TypeOfFleet:
    """A type. config: the settings of all its robots; chosen_from: the robots that they were chosen from. load: frame
    of a load; unit: of the time over which friction may change. robots: in the order of the file."""

    name: str
    robot: Robot
    sha256: str | None
    config: IdentifyConfig
    chosen_from: tuple[str, ...]
    load: str | None
    unit: str
    robots: tuple[RobotOfFleet, ...]
    level: float
    control: str

    @property
    def identified(self) -> tuple[RobotOfFleet, ...]:
        return tuple(one for one in self.robots if one.identified)

    @property
    def refused(self) -> tuple[RobotOfFleet, ...]:
        return tuple(one for one in self.robots if not one.identified)

    @cached_property
    def model(self) -> DynamicModel:
        terms = self.identified[0].terms if self.identified else written(self.config.terms_or_usual)
        return DynamicModel(self.robot, terms_of(terms, "terms") or ())

    @cached_property
    def groups(self) -> ParameterGroups:
        return ParameterGroups.of(self.model, self.load)

    @cached_property
    def comparison(self) -> TypeComparison:
        numbers = [one.numbers for one in self.identified if one.numbers is not None]
        return compare_robots(self.groups, numbers, self.level, self.control)


def rows_of(kind: TypeOfFleet) -> list[dict[str, Any]]:
    found, identified = kind.comparison, kind.identified
    joints = found.groups.joints
    order = sorted(range(len(identified)), key=lambda k: (not found.differs[k], _last(float(found.robot_p_values[k]))))
    rows = []
    for k in order:
        reasons = [one.text.replace("{unit}", kind.unit[:-1]) for one in found.reasons(k)]
        rows.append(
            {
                "robot": identified[k].name,
                "type": kind.name,
                "status": found.verdict(k),
                "p_value": float(found.robot_p_values[k]),
                "adjusted_p_value": float(found.adjusted[k]),
                "distance": float(found.distance[k]),
                "total_percent": identified[k].total_percent,
                "friction_percent": dict(zip(joints, found.friction_percent[k].tolist(), strict=True)),
                "residual_ratio": dict(zip(joints, found.residual_ratio[k].tolist(), strict=True)),
                "reasons": reasons,
                "tests": [
                    {"kind": one.asked.kind, "joint": one.asked.joint, "p_value": one.p_value, **one.numbers}
                    for one in found.reasons(k)
                ],
                "logs": [log.path for log in identified[k].logs],
            }
        )
    none = dict.fromkeys(("p_value", "adjusted_p_value", "distance", "total_percent"))
    for one in kind.refused:
        empty: dict[str, Any] = {"friction_percent": {}, "residual_ratio": {}, "tests": []}
        logs = [log.path for log in one.logs]
        row = {"robot": one.name, "type": kind.name, "status": "refused", **none, **empty, "reasons": [one.reason]}
        rows.append({**row, "logs": logs})
    return rows


def shown_type(kind: TypeOfFleet) -> TypeShown:
    found, rows = kind.comparison, rows_of(kind)
    place = {name: k for k, name in enumerate(found.names)}
    return TypeShown(
        name=kind.name,
        comparison=found,
        order=[place[row["robot"]] for row in rows if row["robot"] in place],
        texts={row["robot"]: row["reasons"] for row in rows if row["status"] == "differs"},
        refused={one.name: one.reason for one in kind.refused},
        total_percent=[one.total_percent for one in kind.identified],
        unit=kind.unit,
        model=kind.model,
        settings=kind.config.to_dict(),
        chosen_from=kind.chosen_from,
    )


def _last(p: float) -> float:
    return float("inf") if np.isnan(p) else p


def type_data(kind: TypeOfFleet) -> dict[str, Any]:
    found, groups = kind.comparison, kind.groups
    parameters = [
        {
            "name": name,
            "unit": groups.units[b],
            "value": float(found.type_values[b]),
            "spread": float(found.type_spread[b]),
            "std_of_one": float(found.own_sigma[b]) if len(found.robots) else None,
            "compared_by_logarithm": bool(found.logarithmic[b]),
        }
        for b, name in enumerate(groups.names)
    ]
    drift = [
        {
            "robot": found.names[k],
            "joint": joint,
            "parameter": groups.names[b],
            "relative": bool(found.logarithmic[b]),
            "slope": float(one.slope[a]),
            "interval": [float(one.interval()[0][a]), float(one.interval()[1][a])],
        }
        for joint, which, of_robots in zip(groups.joints, groups.friction, found.trends, strict=True)
        for k, one in enumerate(of_robots)
        if one is not None
        for a, b in enumerate(which.tolist())
    ]
    return {
        "name": kind.name,
        "robot": robot_data(kind.robot, kind.sha256),
        "robots": len(kind.robots),
        "identified": len(kind.identified),
        "parameters": parameters,
        "drift": drift,
        "drift_unit": f"1/{kind.unit[:-1]}",
        "tests": [one.words for one in found.asked],
        "chosen_from": list(kind.chosen_from),
        "settings": kind.config.to_dict(),
    }
