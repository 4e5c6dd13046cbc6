"""The YAML file of ``--config``: a whole design as data.

limits: {torque: 50.0}                       # robot: limits, gravity, lock, mesh_root (``robot.options``)
terms: [rotor, viscous, coulomb]             # those that the description declares unless given
trajectory:
  family: fourier                            # the family's own settings beside it (``families``):
  period: 10.0
  harmonics: 5                               # or a list of those wanted
  at_rest: true                              # false: quintic ramps lead in and out
  periods: 3                                 # how often it is run through
  rate: 200                                  # rows per second of the files [Hz]
  ramps: {start: home}                       # or a posture, one number per joint
  duration_range: [5, 20]                    # the duration is free within [s]
criterion: d-optimal                         # or a weighted sum: {condition: 1.0, torque-activity: 0.1}
parameters: {of: inertia, known: gravity}    # what it is for, all unless given (``criteria.chosen_parameters``)
formulation: dynamic                         # or energy
noise: [1.0, 1.0, 0.5]                       # σ of the torques [N·m], one or per joint; energy: one number [J]
constraints: …                               # see ``constraints.constraint_settings``
samples: 2000                                # of the log over one period, which predictions count
starts: 16
race: true                                   # starts that cannot win are given up; false: all run to their end
seed: 0
jobs: 2
time_limit: 60                               # [s]
prior: [earlier_design, other/trajectory.csv]  # motions whose information is there already"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from os.path import exists  # false, too, for a name that is too long
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, shown
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.constraint_settings import ConstraintSettings
from exciter.excitation.criteria.chosen_parameters import ChosenParameters
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective
from exciter.excitation.criteria.observation_rows import DesignColumns, DesignRows, EnergyRows, TorqueRows
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.criteria.weighted_sums import DESIGN_ROWS, WordsOfCriteria, bound
from exciter.excitation.files.row_files import check_rows, sample
from exciter.excitation.files.trajectory_files import DEFAULT_FILE_RATE_HZ, DRAWN_FAMILIES, TO_DESIGN, read_trajectory
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import Ramps
from exciter.excitation.trajectories.trajectory import LONGEST_MOTION_S, SHORTEST_MOTION_S, Trajectory
from exciter.excitation.validation_motion.random_families import RandomMotion, RandomPoints
from exciter.notes import Note, note
from exciter.parameters.terms import Terms, declared_terms
from exciter.robot import embedded_robots as embedded
from exciter.robot.load import RobotOptions
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Number, OneOf, OneWord, PerJointNumber, Settings, Vector, Whole, fill, keys_of, written
from exciter.settings.field_markers import LARGEST_SEED, Flag, Place
from exciter.settings.fill import flags, place, settings_fields
from exciter.typing import Array

USUAL_FAMILY = Fourier(at_rest=True)
HOME_WORD = "home"
HIGHEST_ROW_RATE_HZ = 100_000.0  # [Hz]
LONGEST_SEARCH_S = 1e8  # [s] of a time limit


class Posture(PerJointNumber):
    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        return given if given == HOME_WORD else super().check(given, context)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"const": HOME_WORD}, super().schema()]}


@dataclass(frozen=True)
class RampSettings(Settings):
    """start: the posture at rest where ramps begin and end."""

    start: Annotated[Any, Posture()] = None


@dataclass(frozen=True)
class MotionSettings(Settings):
    """A family to search in, or a motion to draw, and how it is run, whatever it is."""

    flat: ClassVar[tuple[str, ...]] = ("motion",)
    complete: ClassVar[bool] = True
    motion: Annotated[Trajectory | RandomMotion, TO_DESIGN] = USUAL_FAMILY
    periods: Annotated[int, Whole(1, 10_000)] = 1
    rate: Annotated[float, Number(above=0.0, most=HIGHEST_ROW_RATE_HZ, unit="Hz")] = DEFAULT_FILE_RATE_HZ
    ramps: RampSettings | None = None
    duration_range: Annotated[tuple[float, float] | None, Vector(2, "s")] = None

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        """A word alone is the family. A robot is started standing still unless at_rest is false."""
        given = {"family": given} if isinstance(given, str) else given
        if isinstance(given, Mapping) and given.get("family") in (None, Fourier.word) and given.get("at_rest") is None:
            return {**given, "at_rest": True}
        return given

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(TO_DESIGN.words)}, schema]}

    def __post_init__(self) -> None:
        if self.duration_range is not None:
            shortest, longest = self.duration_range
            if self.drawn:
                raise ExciterError(
                    f"duration_range is {shown(list(self.duration_range))}; a {self.family} motion is drawn, not "
                    "searched, so that its duration is not free; leave it out"
                )
            if not SHORTEST_MOTION_S <= shortest < longest <= LONGEST_MOTION_S:
                raise ExciterError(
                    f"duration_range is {shortest:g} … {longest:g} s; give [shortest, longest], within "
                    f"{SHORTEST_MOTION_S:g} to {LONGEST_MOTION_S:g} s"
                )
        if not isinstance(self.motion, RandomPoints):  # how long that takes is found when it is drawn
            longest = self.motion.duration if self.duration_range is None else self.duration_range[1]
            check_rows(longest * self.periods, self.rate)

    @property
    def drawn(self) -> bool:
        return isinstance(self.motion, DRAWN_FAMILIES)

    @property
    def family(self) -> str:
        return str(written(self.motion)["family"])


class EarlierMotion(Place):
    wanted = "the folder of an earlier design, or a trajectory file"


@dataclass(frozen=True)
class DesignSettings(Settings):
    """A design as it was asked for; what depends on the robot is compared with it when it is made.

    robot: how it is to be loaded; source: begins messages; both stand beside the other keys of a file. given: keys that
    do not come from there, as a flag or a keyword spells them.

    >>> settings = ex.DesignSettings(starts=1, seed=7, noise=0.5)
    >>> ex.design(robot, ex.BSpline(duration=6), settings=settings).config.seed
    7"""

    inner: ClassVar[tuple[str, ...]] = ("source", "robot", "given")
    complete: ClassVar[bool] = True
    source: str = "configuration"
    robot: RobotOptions = field(default_factory=RobotOptions)
    terms: Terms | None = None
    trajectory: MotionSettings = field(default_factory=MotionSettings)
    criterion: Annotated[AnyCriterion, WordsOfCriteria()] = field(default_factory=DOptimality)
    parameters: ChosenParameters | None = None
    formulation: Annotated[DesignRows, OneOf(DESIGN_ROWS)] = field(default_factory=TorqueRows)
    noise: Annotated[Any, PerJointNumber(above=0.0)] = None
    constraints: ConstraintSettings = field(default_factory=ConstraintSettings)
    samples: Annotated[int | None, Whole(2, 1_000_000)] = None
    starts: Annotated[int, Whole(1, 100_000)] = 16
    race: Annotated[bool, Flag()] = True
    seed: Annotated[int, Whole(0, LARGEST_SEED)] = 0
    jobs: Annotated[int, Whole(1, 256)] = 1
    time_limit: Annotated[float | None, Number(above=0.0, most=LONGEST_SEARCH_S, unit="s")] = None
    prior: tuple[Annotated[Path, EarlierMotion()], ...] = ()
    given: Mapping[str, str] = field(default_factory=dict, compare=False)

    def place(self, key: str) -> str:
        """Of a setting, for messages."""
        return place(key, self.source, self.given)

    def model(self, robot: Robot) -> DynamicModel:
        return DynamicModel(robot, declared_terms(robot) if self.terms is None else self.terms)

    motion = property(attrgetter("trajectory.motion"))  # the family to search in, or the kind of motion to draw
    periods = property(attrgetter("trajectory.periods"))
    rate = property(attrgetter("trajectory.rate"))
    duration_range = property(attrgetter("trajectory.duration_range"))

    def columns_of(self, model: DynamicModel, known: Array | None = None) -> tuple[DesignColumns, Array | None]:
        """The parameters that the motion is for, and what earlier motions told of them. known (b, b): beside that."""
        prior = self.prior_information(model)
        if known is not None:
            prior = known if prior is None else known + prior
        if self.parameters is None:
            return DesignColumns.of(model), prior
        try:
            return self.parameters.columns(model, prior)
        except ExciterError as error:
            raise ExciterError(f"{self.place('parameters')}: {error}") from None

    def criterion_of(
        self, model: DynamicModel, family: Trajectory | None = None, columns: DesignColumns | None = None
    ) -> AnyCriterion:
        """The criterion with what it leaves open. family: of a motion that was drawn; columns: it is about."""
        try:
            return bound(self.criterion, model, self.motion if family is None else family, columns)
        except ParameterError as error:
            raise ExciterError(f"{self.place('criterion')}: {error}") from None

    def constraints_of(self, robot: Robot) -> tuple[Constraint, ...]:
        """They are the robot's: ``terms``, which say what is to be identified, have no part in them."""
        return self.constraints.constraints(robot, self.place("constraints"))

    def formulation_of(self) -> DesignRows:
        """The rows; those of the energy model mix all joints, so that their noise is one number [J]."""
        if not isinstance(self.formulation, EnergyRows) or self.noise is None:
            return self.formulation
        where = f"{self.place('noise')}, of a row of the energy model [J],"
        return replace(self.formulation, noise=fill(Number(above=0.0).hint, self.noise, where))

    def noise_of(self, robot: Robot) -> Array | None:
        """σ (n,) [N·m or N] of the torques; None where nothing is said, or where it is that of energies."""
        if self.noise is None or isinstance(self.formulation, EnergyRows):
            return None
        return _of_joints(PerJointNumber(above=0.0), self.noise, self.place("noise"), robot)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What predictions rest on where nothing is said of it."""
        if self.noise is not None:
            return ()
        energy = isinstance(self.formulation, EnergyRows)
        level = "1 J in a row of the energy model" if energy else "1 N·m (1 N) in torques"
        text = f"predictions assume noise of σ {level}, for noise: is not given; predicted σ are in proportion to it"
        return (note("noise", text),)

    def ramps(self, robot: Robot) -> Ramps | None:
        """Ramps from and to a posture at rest, within the position limits; None leaves them to the design."""
        start = None if self.trajectory.ramps is None else self.trajectory.ramps.start
        if start is None:
            return None
        where = f"{self.place('trajectory')}: ramps: start"
        posture = home(robot) if start == HOME_WORD else _of_joints(PerJointNumber(), start, where, robot)
        for joint, q in zip(robot.joints, posture, strict=True):
            if start != HOME_WORD and not joint.limits.lower <= q <= joint.limits.upper:
                raise ExciterError(
                    f"{where} has joint '{joint.name}' at {q:g}, outside its limits {joint.limits.lower:g} … "
                    f"{joint.limits.upper:g}; choose a posture inside"
                )
        return Ramps(start=tuple(posture.tolist()), end=tuple(posture.tolist()))

    def prior_information(self, model: DynamicModel) -> Array | None:
        """H₀ (b, b) of the earlier motions, each executed once and recorded at ``rate``; None without any."""
        if not self.prior:
            return None
        noise, columns = self.noise_of(model.robot), model.base.independent
        weights = np.ones(model.n) if noise is None else noise**-2.0
        objective = DesignObjective(model, DOptimality(), columns, weights, self.formulation_of())
        total = np.zeros((len(columns), len(columns)))
        for path in self.prior:
            if not exists(path):
                raise ExciterError(
                    f"{self.place('prior')} has '{path}'; there is no such file or folder (paths start at the "
                    "configuration's own folder)"
                )
            total += objective.gram(Motion(*vars(sample(read_trajectory(path, model.robot), self.rate)).values()))
        return total

    def overridden(self, **words: Any) -> DesignSettings:
        """With what the command line says (None: nothing); another family has its defaults, a random one runs once."""
        own, of_motion = settings_fields(DesignSettings), settings_fields(MotionSettings)
        top, run = dict[str, Any](), dict[str, Any]()
        said = {key: value for key, value in words.items() if value is not None}
        spelled = flags(said)
        for key, value in said.items():
            where = spelled[key]
            if key == "trajectory":
                if fill(OneWord(TO_DESIGN.words).hint, value, where) != self.trajectory.family:
                    run["motion"] = fill(MotionSettings, value, where).motion
                if isinstance(run.get("motion"), DRAWN_FAMILIES):
                    run |= {"periods": MotionSettings.periods, "duration_range": None}
            elif key in of_motion:
                run[key] = fill(of_motion[key], value, where)
            else:
                top[key] = fill(own[key], value, where)
        given = {**self.given, **spelled}
        return replace(self, trajectory=replace(self.trajectory, **run), given=given, **top)

    def spelling(self, data: dict[str, Any]) -> Any:
        """How many processes share the work, and where the file lies, make no other design."""
        data.pop("jobs")
        data["prior"] = [str(path.resolve()) for path in self.prior]
        data["terms"] = "none" if self.terms == () else data.get("terms")
        kept = {key: data.get(key) for key in keys_of(DesignSettings)}
        return {key: value for key, value in kept.items() if value is not None and value not in ([], {})}

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain data; written as YAML they are a file for --config that asks for the same design."""
        plain: dict[str, Any] = written(self.robot) | written(self)
        return plain


def _of_joints(kind: PerJointNumber, given: Any, where: str, robot: Robot) -> Array:
    """(n,) of a setting by joint that was read before its robot was known."""
    value: Any = fill(kind.hint, given, where, robot=robot)
    listed = [value[name] for name in robot.joint_names] if isinstance(value, Mapping) else value
    return np.array(np.broadcast_to(np.asarray(listed, dtype=float), (robot.n,)))


def home(robot: Robot) -> Array:
    """(n,) that of an embedded robot; otherwise zero, or the middle of the range where zero is outside."""
    if robot.name in embedded.names() and robot.joint_names == embedded.robot(robot.name).joint_names:
        return embedded.home(robot.name)
    lower, upper = robot.position_range()
    return np.where((lower < 0.0) & (upper > 0.0), 0.0, 0.5 * (lower + upper))
