"""The YAML file of ``--config``: a whole design as data.

limits: {torque: 50.0}                       # robot: limits, gravity, lock, mesh_root (``robot.options``)
terms: [rotor, viscous, coulomb]             # those that the description declares unless given
trajectory:
  family: fourier                            # the family's own settings beside it:
  period: 10.0
  harmonics: 5                               # or a list of those wanted
  at_rest: true                              # false: quintic ramps lead in and out
  periods: 3                                 # how often it is run through
  rate: 200                                  # rows per second of the files [Hz]
  ramps: {start: home}                       # or a posture, one number per joint
  duration_range: [5, 20]                    # the duration is free within [s]
criterion: d-optimal                         # or a weighted sum: {condition: 1.0, torque-activity: 0.1}
formulation: dynamic                         # or energy
noise: [1.0, 1.0, 0.5]                       # σ of the torques [N·m], one or per joint; energy: one number [J]
constraints: …                               # see ``constraints.constraint_settings``
samples: 2000                                # of the log over one period, which predictions count
starts: 16
seed: 0
jobs: 2
time_limit: 60                               # [s]
prior: [earlier_design, other/trajectory.csv]  # motions whose information is there already
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os.path import exists  # false, too, for a name that is too long
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError, ParameterError, shown
from exciter.excitation.config.robot_part import read_section, robot_options
from exciter.excitation.config.section import LARGEST_SEED, Section, number, per_joint
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.constraint_settings import ConstraintSettings
from exciter.excitation.criteria import DOptimality
from exciter.excitation.criteria.criterion import AnyCriterion
from exciter.excitation.criteria.energy import Energy
from exciter.excitation.criteria.formulation import Formulation
from exciter.excitation.criteria.inverse_dynamic import InverseDynamic
from exciter.excitation.criteria.registry import ALONE, WordsOfCriteria
from exciter.excitation.criteria.weighted_sum import bound
from exciter.excitation.families import DRAWN, FAMILIES, TO_DESIGN
from exciter.excitation.files.export import RATE
from exciter.excitation.files.read import read_trajectory
from exciter.excitation.files.samples import check_rows, sample
from exciter.excitation.objective import Objective
from exciter.excitation.trajectories.piecewise import LONGEST_MOTION, SHORTEST_MOTION
from exciter.excitation.trajectories.ramps import Ramps
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.excitation.validation_motion.random_points import RandomPoints
from exciter.excitation.validation_motion.random_spline import RandomSpline
from exciter.parameters.terms.registry import joint_terms
from exciter.robot import library
from exciter.robot.motion import Motion
from exciter.robot.options import RobotOptions
from exciter.robot.robot import Robot
from exciter.settings import fill, keys_of, written

Array = NDArray[np.float64]
FORMULATIONS = ("dynamic", "energy")
EXECUTION = ("periods", "rate", "ramps", "duration_range")
DRAWN_WORDS = tuple(cls.word for cls in DRAWN)
MOST_COUNTED = {"periods": 10_000, "samples": 1_000_000, "starts": 100_000, "jobs": 256}  # each takes memory or time
HIGHEST_ROW_RATE = 100_000.0  # [Hz]
LONGEST_SEARCH = 1e8  # [s] of a time limit


@dataclass(frozen=True)
class DesignConfig:
    """A design as it was asked for. What depends on the robot is kept as given and checked when it is made."""

    source: str = "configuration"
    robot: RobotOptions = field(default_factory=RobotOptions)
    terms: Any = None
    family: str = "fourier"
    settings: Mapping[str, Any] = field(default_factory=dict)
    periods: int = 1
    rate: float = RATE
    start: Any = None
    duration_range: tuple[float, float] | None = None
    criteria: str | Mapping[str, Any] = "d-optimal"
    formulation: str = "dynamic"
    noise: Any = None
    limits: ConstraintSettings = field(default_factory=ConstraintSettings)
    samples: int | None = None
    starts: int = 16
    seed: int = 0
    jobs: int = 1
    time_limit: float | None = None
    prior: tuple[Path, ...] = ()

    # -- made for a robot ----------------------------------------------------------------------------------------

    def model(self, robot: Robot) -> DynamicModel:
        return DynamicModel(robot, joint_terms(self.terms, robot, f"{self.source}: terms"))

    def trajectory(self) -> Trajectory | RandomPoints | RandomSpline:
        """The family to search in, or the kind of motion to draw."""
        where = f"{self.source}: trajectory"
        Section.of(self.settings, where, ("family", *keys_of(FAMILIES[self.family]), *EXECUTION))
        settings = {"at_rest": True, **self.settings} if self.family == "fourier" else self.settings
        family: Trajectory | RandomPoints | RandomSpline = fill(
            TO_DESIGN.hint, {"family": self.family, **settings}, where
        )
        if not isinstance(family, RandomPoints):  # how long that takes is found when it is drawn
            longest = family.duration if self.duration_range is None else self.duration_range[1]
            try:
                check_rows(longest * self.periods, self.rate)
            except MotionError as error:
                raise ExciterError(f"{where}: {error}") from None
        return family

    def criterion(self, model: DynamicModel, family: Trajectory | None = None) -> AnyCriterion:
        """family: of a motion that was drawn."""
        chosen = self.trajectory() if family is None else family
        assert not isinstance(chosen, RandomPoints | RandomSpline)
        where = f"{self.source}: criterion"
        made: AnyCriterion = fill(cast(Any, Annotated[Any, WordsOfCriteria()]), self.criteria, where)
        try:
            return bound(made, model, chosen)
        except ParameterError as error:
            raise ExciterError(f"{where}: {error}") from None

    def constraints(self, model: DynamicModel) -> tuple[Constraint, ...]:
        """They are the robot's: ``terms``, which say what is to be identified, have no part in them."""
        return self.limits.constraints(model.robot, f"{self.source}: constraints")

    def formulation_of(self) -> Formulation:
        """The rows; those of the energy model mix all joints, so that their noise is one number [J]."""
        if self.formulation == "dynamic":
            return InverseDynamic()
        where = f"{self.source}: noise, of a row of the energy model [J],"
        return Energy() if self.noise is None else Energy(noise=number(self.noise, where, above=0.0))

    def noise_of(self, robot: Robot) -> Array | None:
        """σ (n,) [N·m or N] of the torques; None where nothing is said, or where it is that of energies."""
        if self.noise is None or self.formulation == "energy":
            return None
        return per_joint(self.noise, f"{self.source}: noise", robot.joint_names, above=0.0)

    def ramps(self, robot: Robot) -> Ramps | None:
        """Ramps from and to a posture at rest, within the position limits; None leaves them to the design."""
        if self.start is None:
            return None
        posture = home(robot) if self.start == "home" else self._posture(robot)
        return Ramps(start=tuple(posture.tolist()), end=tuple(posture.tolist()))

    def _posture(self, robot: Robot) -> Array:
        where = f"{self.source}: trajectory: ramps: start"
        posture = per_joint(self.start, where, robot.joint_names)
        for joint, q in zip(robot.joints, posture, strict=True):
            if not joint.limits.lower <= q <= joint.limits.upper:
                raise ExciterError(
                    f"{where} has joint '{joint.name}' at {q:g}, outside its limits {joint.limits.lower:g} … "
                    f"{joint.limits.upper:g}; choose a posture inside"
                )
        return posture

    def prior_information(self, model: DynamicModel) -> Array | None:
        """H₀ (b, b) of the earlier motions, each executed once and recorded at ``rate``; None without any."""
        if not self.prior:
            return None
        noise = self.noise_of(model.robot)
        weights = np.ones(model.n) if noise is None else noise**-2.0
        columns = model.base.independent
        objective = Objective(model, DOptimality(), columns, weights, self.formulation_of())
        total = np.zeros((len(columns), len(columns)))
        for path in self.prior:
            if not exists(path):
                raise ExciterError(
                    f"{self.source}: prior has '{path}'; there is no such file or folder (paths start at the "
                    "configuration's own folder)"
                )
            samples = sample(read_trajectory(path, model.robot), self.rate)
            assert samples.qd is not None
            assert samples.qdd is not None
            total += objective.gram(Motion(samples.time, samples.q, samples.qd, samples.qdd))
        return total

    # -- changed copies ------------------------------------------------------------------------------------------

    def overridden(self, **flags: Any) -> DesignConfig:
        """With what the command line says; flags that are None were not given. Another family starts from its own
        defaults; a random motion is then executed once."""
        given = {key: value for key, value in flags.items() if value is not None}
        for flag, key, words in (("--trajectory", "family", TO_DESIGN.words), ("--criterion", "criteria", ALONE)):
            if key in given and given[key] not in words:
                raise ExciterError(f"{flag} is {shown(given[key])}; allowed are {', '.join(words)}")
        for key, most in MOST_COUNTED.items():
            if given.get(key, 0) > most:
                raise ExciterError(f"--{key} is {shown(given[key])}; give at most {most}")
        if given.get("family", self.family) != self.family:
            given["settings"] = {}
            if given["family"] in DRAWN_WORDS:
                given |= {"periods": DesignConfig.periods, "duration_range": None}
        return replace(self, **given)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain data; written as YAML they are a file for --config that asks for the same design."""
        execution = {
            "periods": self.periods,
            "rate": self.rate,
            "ramps": None if self.start is None else {"start": self.start},
            "duration_range": None if self.duration_range is None else list(self.duration_range),
        }
        settings = {
            **self._robot_part(),
            "terms": self.terms,
            "trajectory": _given({**written(self.trajectory()), **execution}),
            "criterion": self.criteria,
            "formulation": self.formulation,
            "noise": self.noise,
            "constraints": written(self.limits) or None,
            "samples": self.samples,
            "starts": self.starts,
            "seed": self.seed,
            "time_limit": self.time_limit,
            "prior": [str(path.resolve()) for path in self.prior] or None,
        }
        return _given(settings)

    def _robot_part(self) -> dict[str, Any]:
        robot = self.robot
        limits = {which: dict(v) if isinstance(v, Mapping) else v for which, v in robot.limits.items()}
        return {
            "limits": limits or None,
            "gravity": None if robot.gravity is None else list(robot.gravity),
            "lock": dict(robot.lock) or None,
            "mesh_root": None if robot.mesh_root is None else str(robot.mesh_root.resolve()),
        }


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is not None."""
    return {key: value for key, value in settings.items() if value is not None}


def home(robot: Robot) -> Array:
    """(n,) that of an embedded robot; otherwise zero, or the middle of the range where zero is outside."""
    if robot.name in library.names() and robot.joint_names == library.embedded(robot.name).joint_names:
        return library.home(robot.name)
    lower, upper = robot.position_range()
    return np.where((lower < 0.0) & (upper > 0.0), 0.0, 0.5 * (lower + upper))


# -- reading ---------------------------------------------------------------------------------------------------------


def read_config(path: str | Path) -> DesignConfig:
    """The configuration of a YAML file."""
    top, folder = read_section(Path(path)), Path(path).parent
    motion = top.get("trajectory")
    if motion is not None and not isinstance(motion, Mapping):
        motion = {"family": motion}
    settings = {str(key): value for key, value in (motion or {}).items()}
    execution = Section({key: settings.pop(key, None) for key in EXECUTION}, top.at("trajectory"))
    family = Section({"family": settings.pop("family", None)}, top.at("trajectory"))
    if family.get("family") in DRAWN_WORDS and "duration_range" in execution:
        raise ExciterError(
            f"{execution.at('duration_range')} is {shown(execution.get('duration_range'))}; a {family.get('family')} "
            "motion is drawn, not searched, so that its duration is not free; leave it out"
        )
    return DesignConfig(
        source=top.where,
        robot=robot_options(top, folder),
        terms=top.get("terms"),
        family=family.word("family", TO_DESIGN.words, DesignConfig.family),
        settings=settings,
        periods=execution.whole("periods", DesignConfig.periods, least=1, most=MOST_COUNTED["periods"]),
        rate=execution.number("rate", DesignConfig.rate, above=0.0, most=HIGHEST_ROW_RATE),
        start=execution.section("ramps", ("start",)).get("start"),
        duration_range=_duration_range(execution),
        criteria=top.get("criterion") if "criterion" in top else DesignConfig.criteria,
        formulation=top.word("formulation", FORMULATIONS, DesignConfig.formulation),
        noise=top.get("noise"),
        limits=fill(ConstraintSettings, top.get("constraints"), top.at("constraints")),
        samples=top.whole("samples", 0, least=2, most=MOST_COUNTED["samples"]) or None,
        starts=top.whole("starts", DesignConfig.starts, least=1, most=MOST_COUNTED["starts"]),
        seed=top.whole("seed", DesignConfig.seed, least=0, most=LARGEST_SEED),
        jobs=top.whole("jobs", DesignConfig.jobs, least=1, most=MOST_COUNTED["jobs"]),
        time_limit=top.number("time_limit", 0.0, above=0.0, most=LONGEST_SEARCH) or None,
        prior=tuple(_path(entry, top.at("prior"), folder) for entry in top.entries("prior")),
    )


def _duration_range(section: Section) -> tuple[float, float] | None:
    if "duration_range" not in section:
        return None
    shortest, longest = section.vector("duration_range", 2).tolist()
    if not SHORTEST_MOTION <= shortest < longest <= LONGEST_MOTION:
        raise ExciterError(
            f"{section.at('duration_range')} is {shortest:g} … {longest:g} s; give [shortest, longest], within "
            f"{SHORTEST_MOTION:g} to {LONGEST_MOTION:g} s"
        )
    return shortest, longest


def _path(entry: Any, where: str, folder: Path) -> Path:
    if not isinstance(entry, str):
        raise ExciterError(f"{where} has {shown(entry)}; give folders of earlier designs, or trajectory files")
    return folder / entry
