"""An identified model as YAML or JSON, with its covariance: what was found, how sure it is, and what it rests on.

Numbers are written so that they read back bit for bit. Both files hold the same; σ that are not known are null.

    robot               name, gravity [m/s²] in the base frame, SHA-256 of the description
    joints              name, kind, parent (null: the base), link; placement in the parent's joint frame at q = 0; axis
    parameters          base parameters: name, value, std, unit, status, expression in standard parameters
    covariance          of the parameters, in their order
    joint_parameters    by joint, what of the parameters acts at it: friction, rotor inertia, offsets, springs
    standard            a full set of standard parameters, where one was found
    bodies              mass, centre of mass and inertia about it in axes of the joint frame, where bodies can have them
    terms               joint terms and their settings, as ``terms:`` of a configuration"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import yaml

from exciter import __version__
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, unseen
from exciter.files import json_text
from exciter.identification.information.estimate import Estimate
from exciter.identification.physical.bounds import physical_problems
from exciter.notes import in_one_line
from exciter.parameters.inertial import inertia_matrix, mass_com_inertia
from exciter.robot.coupling import LinearCoupling
from exciter.robot.robot import BASE, Robot
from exciter.settings import written
from exciter.typing import Array

DATA_FORMAT = {"name": "exciter model", "version": 1}
CONVENTIONS = {
    "units": "SI; angles in rad, torques in N·m (forces in N and positions in m for prismatic joints)",
    "joints": "rotation and translation of the joint frame in the parent's joint frame at q = 0; axis in its own",
    "parameters": "base parameters; expressions in standard parameters, which refer to modified Denavit-Hartenberg "
    "frames (Khalil-Kleinfinger), inertias about their origins, XY = -∫ x y dm",
    "bodies": "in axes of the joint frame of the description; com from its origin, inertia (3 x 3) about com",
}
#: What of result.json says where the numbers come from.
RECORDED_KEYS = (
    "residuals",
    "total_percent",
    "validation",
    "condition_number",
    "condition_number_normalized",
    "payload",
    "gains",
    "drift",
    "runs",
    "settings",
    "versions",
)
Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def model_data(model: DynamicModel, estimate: Estimate, record: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Plain data of an estimate of a model's base parameters; record: result.json, for residuals and hashes."""
    if estimate.names != model.base.names:
        raise ParameterError(
            f"the estimate is of {len(estimate.names)} parameters, {', '.join(estimate.names[:3])} …, and not of this "
            "model's base parameters; give both of one identification"
        )
    record, robot, chi = record or {}, model.robot, estimate.standard
    bodies, missing = _bodies(model, chi)
    standard = None if chi is None else _rows(name=model.standard, value=chi.tolist(), unit=model.units)
    return {
        "format": DATA_FORMAT,
        "written_by": f"exciter {__version__}",
        "conventions": CONVENTIONS,
        "robot": {
            "name": robot.name,
            "gravity": robot.gravity.tolist(),
            "sha256": record.get("robot", {}).get("sha256"),
        },
        "joints": [
            {
                "name": joint.name,
                "kind": joint.kind,
                "parent": None if joint.parent == BASE else robot.tree_names[joint.parent],
                "link": joint.link or None,
                "rotation": joint.rotation.tolist(),
                "translation": joint.translation.tolist(),
                "axis": joint.axis.tolist(),
                **_followed(robot, joint.name),
            }
            for joint in robot.bodies
        ],
        "parameters": _rows(
            name=estimate.names,
            value=estimate.values.tolist(),
            std=estimate.std.tolist(),
            unit=estimate.units,
            status=estimate.status,
            expression=model.base.expressions,
        ),
        "covariance": estimate.covariance.tolist(),
        "assumption": in_one_line(estimate.assumptions),
        "degrees_of_freedom": estimate.freedom,
        "noise": dict(zip(estimate.joints, estimate.noise.tolist(), strict=True)),
        "joint_parameters": _joint_parameters(model, estimate),
        "terms": [written(term) for term in model.terms],
        "standard": standard,
        "bodies": bodies,
        "bodies_missing": missing,
        **{key: record[key] for key in RECORDED_KEYS if key in record},
    }


def json_result(model: DynamicModel, estimate: Estimate, record: Mapping[str, Any] | None = None) -> str:
    return json_text(model_data(model, estimate, record))


def yaml_result(model: DynamicModel, estimate: Estimate, record: Mapping[str, Any] | None = None) -> str:
    """The same data: numbers in a row on one line. Where a text has characters that do not print, all beyond ASCII are
    written as escapes, and slowly: the fast writer cannot hold the halves of surrogate pairs."""
    data = json.loads(json_result(model, estimate, record))
    odd = bool(unseen(json.dumps(data, ensure_ascii=False)))
    writer = yaml.SafeDumper if odd else Dumper
    text = yaml.dump(data, Dumper=writer, default_flow_style=None, sort_keys=False, allow_unicode=not odd, width=10**6)
    return str(text)


def _followed(robot: Robot, name: str) -> dict[str, Any]:
    """Of a joint that follows others: which, and by what factor; nothing of others."""
    coupling, body = robot.coupling, robot.body(name)
    if name in robot.joint_names or not isinstance(coupling, LinearCoupling):
        return {}
    row = coupling.matrix[body]
    follows = {robot.joint_names[k]: float(row[k]) for k in np.flatnonzero(row)}
    return {"follows": follows, "offset": float(coupling.offset[body])}


def _rows(**columns: Iterable[Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _joint_parameters(model: DynamicModel, estimate: Estimate) -> dict[str, list[dict[str, Any]]]:
    """By joint, the base parameters whose own column belongs to a joint term there."""
    kept = {int(column): k for k, column in enumerate(model.base.independent)}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in model.robot.joint_names}
    at, std = model.inertial_size, estimate.std
    for term, bound in zip(model.terms, model.bound, strict=True):
        described = written(term)
        word = described if isinstance(described, str) else str(next(iter(described)))
        for joint, column in bound.rows:
            k = kept.get(at + column)
            if k is not None:
                about = {"name": estimate.names[k], "term": word, "value": float(estimate.values[k])}
                about |= {"std": float(std[k]), "unit": estimate.units[k]}
                found[model.robot.joint_names[joint]].append(about)
        at += len(bound.names)
    return found


def _bodies(model: DynamicModel, chi: Array | None) -> tuple[list[dict[str, Any]] | None, str | None]:
    """Mass, centre and inertia of every body; or why there are none."""
    if chi is None:
        way = "identify with the estimator consistent for a full set"
        return None, f"base parameters do not tell the bodies apart; {way}"
    problems = physical_problems(model, chi)
    if problems:
        return None, f"no body can have the standard set: {problems[0]}"
    bodies = []
    for joint, phi in zip(model.robot.bodies, model.joint_frame_inertias(chi), strict=True):
        mass, com, inertia = 0.0, np.zeros(3), inertia_matrix(phi)  # no mass, no centre: about the origin
        if phi[0] != 0.0:
            mass, com, inertia = mass_com_inertia(phi)
        about = {"mass": mass, "com": com.tolist(), "inertia": inertia.tolist()}
        bodies.append({"joint": joint.name, "link": joint.link or None, **about})
    return bodies, None
