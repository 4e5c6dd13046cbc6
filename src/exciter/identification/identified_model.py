"""An identified model as its folder holds it: result.json and a copy of the description, read back to predict with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from exciter.archive import opened
from exciter.dynamics.contacts import GroundContact
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, shown
from exciter.experiment.recording.current_map import CurrentMap, PolynomialMap
from exciter.files import Seal, inside
from exciter.identification.formulations.base_link import BaseLink
from exciter.identification.formulations.dynamic import BaseWrench
from exciter.identification.identify_config import IdentifyConfig, IdentifySettings, terms_of
from exciter.identification.information.estimate import Estimate, assumed
from exciter.notes import done
from exciter.robot import Motion, Robot, load
from exciter.robot.yaml_file import sealed_json
from exciter.settings import fill
from exciter.typing import Array

ROBOT_COPY = "robot"  #: the description beside the result, with the suffix it had
IDENTIFIED_URDF = "identified.urdf"
RESULT_ARCHIVE = "result.npz"  #: the whole result, to be opened again
IDENTIFIED_LOOPS = "identified_loops.yaml"  #: what a URDF cannot say of closed loops
RESULT_SEAL = Seal(
    "result.json",
    (f"{ROBOT_COPY}.*", IDENTIFIED_URDF, IDENTIFIED_LOOPS, RESULT_ARCHIVE, "report.html"),
    "identify again",
)
RESULT_FILE = RESULT_SEAL.name
RESULT_KINDS: dict[str, type | tuple[type, ...]] = {  # what is read of it
    **dict.fromkeys(("parameters", "terms", "covariance", "words", "runs"), list),
    **dict.fromkeys(("settings", "dead_zone", "noise", "robot", "versions"), dict),
    **dict.fromkeys(("condition_number", "condition_number_normalized"), (int, float, type(None))),
    "physically_consistent": (bool, type(None)),
    "judged_through": (dict, str),
    "assumption": str,
    "degrees_of_freedom": (int, float),
    "standard": (dict, type(None)),
}
LARGEST_PARAMETER = 1e12  #: of any number: more is no robot


@dataclass(frozen=True)
class BesideKnown:
    """A base parameter, its value and 95 % interval as identified, and as known."""

    name: str
    unit: str
    true: float
    value: float
    interval: tuple[float, float]

    @property
    def inside(self) -> bool:
        """Whether what is known lies within the interval."""
        return self.interval[0] <= self.true <= self.interval[1]


@dataclass(frozen=True, eq=False)
class IdentifiedModel:
    """model: with the joint terms that were identified; estimate: of its base parameters. config: how logs are read and
    filtered, to do the same with others. data: all of result.json. folder: it is from. description: robot's file."""

    model: DynamicModel
    estimate: Estimate
    config: IdentifyConfig
    data: Mapping[str, Any]
    folder: Path | None = None
    description: Path | None = None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Of a folder that ``exciter identify`` wrote."""
        data, where = read_result(folder), str(folder / RESULT_FILE)
        try:
            config = IdentifyConfig.of(data["settings"], where)
            robot, file = _robot(folder, config, data["robot"]), data["robot"]["file"]
            terms = terms_of(data["terms"] or "none", f"{where}: terms") or ()
            stances = tuple(tuple(GroundContact(*one) for one in stance) for stance in data.get("stances", ()))
            model = DynamicModel(robot, terms, stances=stances)
            found = cls.of(data, model, config, where)
            _ = found.gains, found.map
            return replace(found, folder=folder, description=None if file is None else inside(folder, file))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            why = " ".join(f"{type(error).__name__} {error}".split())[:80]
            raise ExciterError(f"'{folder / RESULT_FILE}' is damaged ({why}); identify again") from None

    @classmethod
    def of(cls, data: Mapping[str, Any], model: DynamicModel, config: IdentifyConfig, where: str = "result") -> Self:
        """Of the content of a result.json, which is ``where``."""
        estimate = _estimate(data, model)
        if estimate.names != predicting_names(model, config):
            raise ParameterError(f"the {where} {no_torques(config)}")
        if config.settings.evaluation is None:  # else judged by that, and what was identified from does not matter
            through = {"filter": data["judged_through"], "dead_zone": data["dead_zone"]}
            judge = fill(IdentifySettings, through, where)
            config = config.with_settings(filter=judge.filter, dead_zone=judge.dead_zone)
        return cls(model=model, estimate=estimate, config=replace(config, terms=model.terms), data=data)

    def __repr__(self) -> str:
        return f"<{self.model.robot.name}: {self.estimate!r}>"

    def beside(self, known: Mapping[str, float]) -> tuple[BesideKnown, ...]:
        """The parameters beside known standard ones by name, of a truth for example; what is not named is zero."""
        true = self.model.base.base_values([known.get(name, 0.0) for name in self.model.standard])
        low, high = self.estimate.interval()
        numbers = np.column_stack([true, self.estimate.values, low, high]).tolist()
        return tuple(
            BesideKnown(name=name, unit=unit, true=x, value=value, interval=(a, b))
            for name, unit, (x, value, a, b) in zip(self.estimate.names, self.estimate.units, numbers, strict=True)
        )

    @property
    def values(self) -> Array:
        """(p,) base parameters."""
        return self.estimate.values

    @property
    def of_torques(self) -> bool:
        """Whether it predicts torques; else currents, and drive gains are not known."""
        return self.estimate.names == self.model.base.names

    def refuse_currents(self) -> None:
        if not self.of_torques:
            raise ParameterError(
                "the model is of currents over unknown drive gains (formulation gain-free): it has no torques and no "
                "links to write; find the gains (gains:) and identify again"
            )

    @property
    def chi(self) -> Array | None:
        """A full set of standard parameters, where one was found that bodies can have."""
        return self.estimate.standard if self.data["physically_consistent"] is True else None

    @property
    def equivalent(self) -> Array:
        """Standard parameters with the same torques, whether or not bodies can have them."""
        if self.chi is not None:
            return self.chi
        chi = np.zeros(len(self.model.standard))
        chi[self.model.base.independent] = self.values
        return chi

    @property
    def gains(self) -> tuple[float, ...] | None:
        """[N·m/A] that were found with the parameters."""
        found = self.data.get("gains")
        return None if not found else tuple(float(one["value"]) for one in found["gains"])

    @property
    def map(self) -> tuple[CurrentMap, ...] | None:
        """What torque currents stand for, where their cubic part was found with the parameters."""
        found = self.data.get("gains")
        if not found or "cubic" not in found or self.gains is None:
            return None
        cubes = (float(one["value"]) for one in found["cubic"])
        return tuple(PolynomialMap((gain, 0.0, cubic)) for gain, cubic in zip(self.gains, cubes, strict=True))

    def torque(self, motion: Motion) -> Array:
        """(N, n) predicted along a motion [N·m or N]."""
        self.refuse_currents()
        return self.model.torque(motion, self.equivalent)


def predicting_names(model: DynamicModel, config: IdentifyConfig) -> tuple[str, ...]:
    """Base parameters that an estimate must be of to predict torques, or currents over unknown gains."""
    return config.evaluation(()).base(model).names if config.of_currents else model.base.names


def no_torques(config: IdentifyConfig) -> str:
    """Of a result with other parameters: why it predicts no torques, and what to do."""
    formulation = config.settings.formulation
    if not isinstance(formulation, BaseLink | BaseWrench):  # of joint torques by its settings, and yet of others
        return "has other parameters than its robot and settings give; identify again"
    return (
        f"is of formulation {formulation.word}, {formulation.title}: it predicts no joint torques, and can be neither "
        "validated nor exported; give other motion when you identify (validate), or identify with formulation dynamic"
    )


def read_result(folder: Path) -> dict[str, Any]:
    """result.json, as plain data of the right kind."""
    path = folder / RESULT_FILE
    data = sealed_json(folder, RESULT_SEAL, "exciter identify", "a result")
    for key, kind in RESULT_KINDS.items():
        if not isinstance(data, dict) or key not in data:
            raise ExciterError(f"'{path}' has no {key}: it is not a result of exciter identify; identify again")
        if not isinstance(data[key], kind):
            raise ExciterError(f"'{path}' is damaged: {key} is {shown(data[key])}; identify again")
    return dict(data)


def _robot(folder: Path, config: IdentifyConfig, about: Mapping[str, Any]) -> Robot:
    if about["file"] is None:  # Python code made the robot, or changed it
        return _kept(folder)
    path = inside(folder, about["file"])
    if not isfile(path):
        raise ExciterError(f"there is no copy of the robot's description ('{path.name}') in '{folder}'; identify again")
    if hashlib.sha256(path.read_bytes()).hexdigest() != about["sha256"]:
        raise ExciterError(
            f"'{path}' is not the description that {RESULT_FILE} beside it was made from; identify again"
        )
    anywhere = Path(folder.absolute().anchor)  # meshes are not needed: none is opened, wherever it is said to lie
    options = replace(config.robot, mesh_root=anywhere, meshes=False)
    robot = load(path, options).with_gravity(about["gravity"])
    if list(robot.joint_names) != list(about["joints"]):
        raise ExciterError(f"'{path}' is not the robot of {RESULT_FILE} beside it: its joints differ; identify again")
    robot = replace(robot, name=str(about["name"]))
    try:  # with the shapes it was identified with, whose files may be far from the copy; not where the archive has none
        kept = _kept(folder)
        seen: Any = {key: getattr(kept, key) for key in ("shapes", "capsules", "collision_pairs")}
    except (ExciterError, AttributeError):
        return robot
    return replace(robot, **seen) if kept.joint_names == robot.joint_names else robot


def _kept(folder: Path) -> Robot:
    """That of the archive."""
    whole: Any = opened(folder, RESULT_SEAL, RESULT_ARCHIVE, object)
    return cast(Robot, whole.robot)


def _estimate(data: Mapping[str, Any], model: DynamicModel) -> Estimate:
    parameters, noise, standard = data["parameters"], data["noise"], data["standard"]
    values, covariance = _numbers([one["value"] for one in parameters]), _numbers(data["covariance"])
    p = len(parameters)
    if not (np.abs(values) < LARGEST_PARAMETER).all():
        raise ValueError("a value is not finite")
    if covariance.shape != (p, p) or np.isnan(covariance).any() or (covariance.diagonal() < 0.0).any():
        raise ValueError(f"the covariance is not one of {p} parameters")
    chi = None if standard is None else _numbers([standard[name] for name in model.standard])
    if chi is not None and not (np.abs(chi) < LARGEST_PARAMETER).all():
        raise ValueError("a standard parameter is not finite")
    return Estimate(
        names=tuple(str(one["name"]) for one in parameters),
        units=tuple(str(one["unit"]) for one in parameters),
        values=values,
        covariance=covariance,
        joints=tuple(noise),
        noise=_numbers(list(noise.values())),
        freedom=float(data["degrees_of_freedom"]),
        assumptions=assumed(data["assumption"]),
        **{key: float(_numbers([data[key]])[0]) for key in ("condition_number", "condition_number_normalized")},
        standard=chi,
        notes=tuple(done("estimate", str(text)) for text in data["words"]),
    )


def _numbers(values: Any) -> Array:
    """JSON has no infinity: null stands for it."""
    array = np.array(values, dtype=object)
    array[array == None] = np.inf  # noqa: E711  elementwise
    return array.astype(float)
