"""One robot of a fleet: identified with the settings of its type, kept in its own folder, or refused with a reason.

    DIR/robots/NAME/result.json, …   as ``exciter identify`` writes it
    DIR/robots/NAME/robot.json       written last: from which inputs (hashes), and the numbers that are compared

What is done stays done as long as the inputs are the same. A task is a function of plain data and of files, so that
other processes and other machines that see the same folders can do it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np

from exciter import __version__
from exciter.errors import ExciterError, ParameterError
from exciter.experiment.recording import open_recording
from exciter.experiment.recording.recording import Payload, Recording
from exciter.files import Seal, prepare, readable_json, staged
from exciter.files import sha256 as hash_of
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.identified_model import RESULT_SEAL
from exciter.identification.identify_config import IdentifyConfig, with_uncertainty
from exciter.identification.information.estimate import Estimate
from exciter.pipeline.fleet_settings import LogOfRobot, RobotAsked
from exciter.pipeline.identified import Identified
from exciter.pipeline.identify import identify
from exciter.pipeline.inspect import naming
from exciter.pipeline.settings_file import loaded
from exciter.remote_files import address, is_url, place_of, version_of
from exciter.robot.yaml_file import sealed_json
from exciter.settings import fill, written
from exciter.typing import Array
from exciter.validation.fleet.type_comparison import LogNumbers, RobotNumbers
from exciter.validation.validation import validate

IDENTIFIED, REFUSED = "identified", "refused"  #: status of a robot
ROBOT_SEAL = Seal("robot.json", (), "run the fleet again")
RESULT_SHA = "result_sha256"
USUAL_SHARE = 0.8  #: of the residuals of a joint, the smallest, by which robots are compared
LONGEST_REASON = 400  #: characters


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotOfFleet:
    """What became of a robot. numbers: what is compared, of those that were identified; reason: of those that were not.
    residual_percent (J,): of the torque. terms: of its model, as data. sources: hashes of its logs."""

    name: str
    status: str
    logs: tuple[LogOfRobot, ...]
    reason: str = ""
    parameters: tuple[str, ...] = ()
    numbers: RobotNumbers | None = None
    total_percent: float = float("nan")
    residual_percent: tuple[float, ...] = ()
    terms: Any = None
    sources: tuple[str, ...] = ()
    seconds: float = 0.0
    robot_sha256: str | None = None

    @property
    def identified(self) -> bool:
        return self.status == IDENTIFIED

    def refused(self, reason: str) -> RobotOfFleet:
        """The same, not compared, and why."""
        return replace(self, status=REFUSED, reason=reason, numbers=None)


# -- what a robot is identified from ---------------------------------------------------------------------------------


def task_of(asked: RobotAsked, config: IdentifyConfig, when: tuple[float, ...], place: Path | None) -> dict[str, Any]:
    """Plain data for a worker. when: of each log; place: its folder, None: it is kept nowhere."""
    own: dict[str, Any] = {
        "name": asked.name,
        "description": asked.description,
        "payload": None if asked.payload is None else dict(asked.payload),
        "logs": [[log.path, log.date] for log in asked.logs],
        "when": list(when),
        "settings": config.to_dict(),
        "place": None if place is None else str(place),
    }
    return {**own, "inputs": inputs_hash(own)}


def inputs_hash(task: Mapping[str, Any]) -> str:
    """Of all that the result depends on: files by their content, not by their place; dates are read with the result."""
    files = [{Path(address(path)).name: log_hashes(path)} for path, _ in task["logs"]]
    described = hash_of(Path(task["description"])) if isfile(task["description"]) else task["description"]
    kept = {key: task[key] for key in ("payload", "settings")}
    text = readable_json({**kept, "files": files, "description": described, "exciter": __version__})
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def log_hashes(path: str) -> list[str]:
    """Of a log and the files that it names; of one that cannot be read, of itself alone. Of a URL its version: workers
    fetch it, not who hands robots out."""
    own = [hash_of(Path(path))] if isfile(path) else []
    try:
        if is_url(path):
            return [version_of(path)]
        return [*own, *(source.sha256 for source in open_recording(path).sources)]
    except (ExciterError, OSError):
        return own


def kept_robot(task: Mapping[str, Any]) -> RobotOfFleet | None:
    """What an earlier run found from the same inputs; None: it is to be done."""
    if task["place"] is None:
        return None
    place = Path(task["place"])
    if not ROBOT_SEAL.is_there(place):
        return None
    try:
        data = sealed_json(place, ROBOT_SEAL, "exciter fleet", "a robot")
        if data["inputs"] != task["inputs"]:
            return None
        if data["status"] == IDENTIFIED:
            RESULT_SEAL.refuse_changed(place, {})
            if hash_of(place / RESULT_SEAL.name) != data[RESULT_SHA]:
                return None
        return robot_from(data, task)
    except (ExciterError, KeyError, IndexError, TypeError, ValueError, OSError):
        return None


# -- identified --------------------------------------------------------------------------------------------------------


def robot_of_fleet(task: dict[str, Any]) -> dict[str, Any]:
    """A robot identified, or refused; the content of robot.json, which is written behind all else."""
    try:
        found = identified_robot(task)
        data = identified_data(task, found)
    except (ExciterError, np.linalg.LinAlgError) as error:
        found = None
        data = {"name": task["name"], "status": REFUSED, "reason": str(error)[:LONGEST_REASON]}
    data["inputs"] = task["inputs"]
    if task["place"] is None:
        return data
    place = Path(task["place"])
    prepare(place)
    if found is not None:
        found.save(place)
        data[RESULT_SHA] = hash_of(place / RESULT_SEAL.name)
    with staged(place, ROBOT_SEAL) as stage:
        ROBOT_SEAL.write(stage, data)
    return data


def identified_robot(task: Mapping[str, Any], **changes: Any) -> Identified:
    config = IdentifyConfig.of(task["settings"], "settings of the type")
    robot, options = loaded(task["description"], config.robot)
    logs = [recording(path, task["payload"]) for path, _ in task["logs"]]
    return identify(robot, logs, replace(config, robot=options), **changes)


def recording(path: str, payload: Mapping[str, Any] | None) -> Any:
    """A log; with the payload of the fleet's file, where that says one."""
    if payload is None:
        return place_of(path, "the log")
    with naming(address(path)):
        read: Recording = open_recording(path).read()
        carried = fill(Payload, payload, "payload")
        return replace(read, name=address(path), about=replace(read.about, payload=carried))


def identified_data(task: Mapping[str, Any], found: Identified) -> dict[str, Any]:
    estimate, fit = found.estimate, found.identification.fit.residuals
    if estimate.names != found.model.base.names or estimate.joints != found.robot.joint_names:
        raise ParameterError("a fleet compares base parameters of joint torques; leave formulation out")
    of_logs = [found.estimate] if len(task["logs"]) == 1 else of_each_log(found)
    return {
        "name": task["name"],
        "status": IDENTIFIED,
        "parameters": list(estimate.names),
        "values": estimate.values.tolist(),
        "covariance": estimate.covariance.tolist(),
        "residual": usual_residual(found, of_logs).tolist(),
        "residual_percent": [one["percent"] for one in fit.to_dict().values()],
        "total_percent": fit.total_percent,
        "each_log": [
            {"number": k, "values": one.values.tolist(), "covariance": one.covariance.tolist()}
            for k, one in enumerate(of_logs)
            if one is not None and len(of_logs) > 1
        ],
        "terms": written(found.model.terms),
        "sources": sorted({one.sha256 for run in found.identification.problem.runs for one in run.sources}),
        "seconds": found.identification.seconds,
        "robot_sha256": found.sha256,
    }


def usual_residual(found: Identified, of_logs: Sequence[Estimate | None]) -> Array:
    """(J,) rms of the residual of each joint without its largest fifth: whether a joint sticks for a moment where it
    turns round is chance, and decides the rms of a whole log; what a worn gear does it does all the way. Of every log
    by its own parameters, where it has them: what changes from log to log is drift, and no residual."""
    judge, each = found.identification.judge, list[Array]()
    for run, own in zip(judge.runs, of_logs, strict=True):
        (fit,) = validate(replace(judge, runs=(run,)).bounded, found.estimate if own is None else own)
        each.append(np.abs(np.asarray(fit.residual)))
    left = np.sort(np.concatenate(each), axis=0)  # NaN last
    known = np.isfinite(left).sum(axis=0)
    kept = [left[: max(1, int(USUAL_SHARE * count)), j] for j, count in enumerate(known.tolist())]
    return np.array([float(np.sqrt(np.mean(one**2))) for one in kept])


def of_each_log(found: Identified) -> list[Estimate | None]:
    """The same parameters from every log by itself; None of one that does not determine them."""
    identification, estimates = found.identification, list[Estimate | None]()
    for run in identification.problem.runs:
        problem = replace(identification.problem, runs=(run,))
        try:
            one = identification.estimator.estimate(problem)
            estimates.append(with_uncertainty(problem, identification.estimator, one, found.config.uncertainty))
        except (ParameterError, np.linalg.LinAlgError):
            estimates.append(None)
    return estimates


def robot_from(data: Mapping[str, Any], task: Mapping[str, Any]) -> RobotOfFleet:
    """Of the content of robot.json, and of what was asked: where its logs are now, and of when."""
    logs = tuple(LogOfRobot(address(path), day) for path, day in task["logs"])
    if data["status"] != IDENTIFIED:
        return RobotOfFleet(name=data["name"], status=REFUSED, reason=data["reason"], logs=logs)
    each = tuple(
        LogNumbers(
            log=Path(logs[one["number"]].path).stem,
            when=float(task["when"][one["number"]]),
            values=np.array(one["values"]),
            covariance=np.array(one["covariance"]),
        )
        for one in data["each_log"]
    )
    values, covariance, residual = (np.array(data[key], dtype=float) for key in ("values", "covariance", "residual"))
    return RobotOfFleet(
        name=data["name"],
        status=IDENTIFIED,
        logs=logs,
        parameters=tuple(data["parameters"]),
        numbers=RobotNumbers(data["name"], values, covariance, residual, logs=each),
        total_percent=float(data["total_percent"]),
        residual_percent=tuple(float("nan") if x is None else x for x in data["residual_percent"]),
        terms=data["terms"],
        sources=tuple(data["sources"]),
        seconds=float(data["seconds"]),
        robot_sha256=data["robot_sha256"],
    )


# -- settings of a type ----------------------------------------------------------------------------------------------


def chosen_by_robot(task: dict[str, Any]) -> dict[str, Any]:
    """What the logs of one robot would have chosen: settings as data, or why there are none."""
    try:
        return {"name": task["name"], "settings": identified_robot(task).config.to_dict()}
    except (ExciterError, np.linalg.LinAlgError) as error:
        return {"name": task["name"], "reason": str(error)[:LONGEST_REASON]}


USUAL_ESTIMATOR = WeightedLeastSquares()  #: no prior pulls robots towards the description, and so towards each other
