"""The true parameters of a virtual robot: hidden from estimators, whose results are compared with them.

They are given, read from a file, or drawn by a seed: near the description, always those of a machine that can exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, RobotError
from exciter.experiment.recording.recording import TORQUE_SIDES, Payload
from exciter.files import by_name
from exciter.notes import Note, note, texts
from exciter.parameters import inertial
from exciter.parameters.consistency import link_consistency
from exciter.parameters.terms import Coulomb, GravitySpring, JointTerm, RotorInertia, Spring, Stribeck, Viscous
from exciter.parameters.terms.term import PerJoint, check_within, per_joint
from exciter.robot.loop_reach import within_reach
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE, Robot
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia, transform_inertia
from exciter.robot.xml_safety import read_bytes
from exciter.robot.yaml_file import parse_json
from exciter.settings import Number, OneWord, PerJointNumber, Place, Settings, Text, Whole
from exciter.settings.field_markers import LARGEST_SEED
from exciter.typing import Array

LARGEST_SETTING = 1e12
SMALLEST_SETTING = 1.0 / LARGEST_SETTING  # a quotient of two settings is finite
RANDOM_STREAMS = ("truth", "instants", "dropped", "position", "velocity", "torque", "ripple")
FRICTION_FIELDS = ("viscous", "coulomb", "stribeck", "stribeck_velocity")
MOST_TRUTH_BYTES = 20_000_000  # of a truth.json
RAISED_BODY_EIGENVALUE = 1e-3  # smallest eigenvalue, in scaled units, of a body that the description gets wrong
TYPICAL_POSTURES = 64  # over which inertias and weights are averaged
USUAL_ACCELERATION, USUAL_VELOCITY = 5.0, 2.0  # [rad/s², rad/s] where a description has no limits
INVENTED_SHARES = {"rotor_inertia": 0.2, "coulomb": 0.03, "viscous": 0.03}  # of inertia, torque, torque at full speed
INVENTED_SUBJECT = "friction"  # of the note on these
Known = Annotated[PerJoint | None, PerJointNumber(least=0.0)]  #: of the truth; None: as drawn
MOST_ROTOR_ACCELERATION = 300.0  # [rad/s²] of a drive without load: no invented rotor is lighter


def resolved(value: PerJoint, robot: Robot, what: str, *, least: float = 0.0, positive: bool = False) -> Array:
    """(n,) at least ``least``, or SMALLEST_SETTING; one for all joints, by name, or in order."""
    check_within(value, SMALLEST_SETTING if positive else least, LARGEST_SETTING, what)
    return per_joint(value, robot.joint_names, what)[:, 0]


def stream(seed: int, effect: str) -> np.random.Generator:
    """Random numbers of one effect: switching another one on or off does not change them."""
    return np.random.default_rng([seed, RANDOM_STREAMS.index(effect)])


@dataclass(frozen=True)
class TrueFriction:
    """Γ = Fv q̇ + (Fs + Fst exp(−(q̇/v_s)²)) sgn q̇. viscous Fv [N·m·s/rad], coulomb Fs [N·m], stribeck Fst [N·m],
    stribeck_velocity v_s [rad/s]; N and m where joints slide. At rest, up to Fs + Fst keeps a joint there."""

    viscous: PerJoint = 0.0
    coulomb: PerJoint = 0.0
    stribeck: PerJoint = 0.0
    stribeck_velocity: PerJoint = 0.1

    def array(self, name: str) -> Array:
        """(n,) of one field, once it is that of a ``Truth``."""
        return np.array(getattr(self, name), dtype=float)


@dataclass(frozen=True)
class CompensationSpring(Settings):
    """Between a point at ``base_arm`` [m] from the joint's axis on the side before it and one at ``link_arm`` [m] on
    the link, q + ``offset`` [rad] apart as seen from the axis: stiffness [N/m], free length [m], tension there [N].

    The formulas are those of ``parameters.terms.spring``; without free length and preload those of ``gravity_spring``.
    """

    refusal: ClassVar[type[ExciterError]] = ParameterError
    joint: Annotated[str, Text("a joint")]
    base_arm: Annotated[float, Number(unit="m")]
    link_arm: Annotated[float, Number(unit="m")]
    offset: Annotated[float, Number(unit="rad")]
    stiffness: Annotated[float, Number(above=0.0, unit="N/m")]
    free_length: Annotated[float, Number(unit="m")] = 0.0
    preload: Annotated[float, Number(unit="N")] = 0.0

    def __post_init__(self) -> None:
        Spring(self.joint, self.base_arm, self.link_arm, self.offset, self.free_length)  # checks the lengths

    @property
    def modelled(self) -> tuple[JointTerm, dict[str, float]]:
        """The joint term that describes it, and its parameters, by their names without the number of the joint."""
        if self.free_length == 0.0 and self.preload == 0.0:  # a mere sine of the angle
            sine = self.stiffness * self.base_arm * self.link_arm
            return GravitySpring(self.joint, self.offset), {"Gs": sine, "Gc": 0.0}
        term = Spring(self.joint, self.base_arm, self.link_arm, self.offset, self.free_length)
        return term, {"Ks": self.stiffness, "Ps": self.preload}


@dataclass(frozen=True)
class Flexibility(Settings):
    """Motor θ and link q of every joint: the link gets K (θ − q) + D (θ̇ − q̇), the motor J θ̈ + friction(θ̇) more.

    stiffness K [N·m/rad], damping D [N·m·s/rad]; J is the rotor inertia, seen at the joint. The controller works on θ.
    encoder_on_link: the log has q, else θ."""

    called: ClassVar[Mapping[str, str]] = {"encoder_on_link": "encoder"}
    stiffness: Annotated[PerJoint, PerJointNumber(least=0.0, unit="N·m/rad")]
    damping: Annotated[PerJoint, PerJointNumber(least=0.0, unit="N·m·s/rad")] = 0.0
    encoder_on_link: Annotated[bool, OneWord(TORQUE_SIDES, (False, True))] = False


@dataclass(frozen=True, eq=False)
class Truth:
    """robot: with the true inertias, of bodies that can exist; rotor_inertia [kg·m², kg]: at the joint."""

    robot: Robot
    rotor_inertia: PerJoint = 0.0
    friction: TrueFriction = field(default_factory=TrueFriction)
    springs: tuple[CompensationSpring, ...] = ()
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        friction = dict[str, tuple[float, ...]]()
        for key in FRICTION_FIELDS:
            given, positive = getattr(self.friction, key), key == "stribeck_velocity"
            friction[key] = tuple(resolved(given, self.robot, key.replace("_", " "), positive=positive).tolist())
        rotor = tuple(resolved(self.rotor_inertia, self.robot, "rotor_inertia").tolist())
        own = {"springs": tuple(self.springs), "friction": TrueFriction(**friction), "rotor_inertia": rotor}
        for name, value in own.items():
            object.__setattr__(self, name, value)
        for joint in self.robot.bodies:
            verdict = link_consistency(joint.inertia, f"the body of joint '{joint.name}'")
            if not verdict.consistent:
                raise ParameterError(f"{verdict}; the virtual robot can only be built of bodies that exist")
        for spring in self.springs:
            spring.modelled[0].bind(self.robot)  # the joint is there, and turns
        if len({spring.joint for spring in self.springs}) < len(self.springs):
            raise ParameterError("two springs on one joint; give one that has the effect of both")

    @property
    def rotor(self) -> Array:
        """(n,) rotor inertia."""
        return np.array(self.rotor_inertia, dtype=float)

    def loaded(self, payload: Payload | None) -> Truth:
        """The same robot with a payload, which becomes part of the body that carries it; a point mass where
        no more is given of it."""
        if payload is None:
            return self
        frame = self.robot.frame(payload.frame)
        if frame.joint == BASE:
            raise ParameterError(f"the payload is on '{frame.name}', which is fixed on the base; name one that moves")
        body = payload.simulated.phi
        if not (verdict := link_consistency(body, "the payload")).consistent:
            raise ParameterError(f"{verdict}; give the inertia about its centre, Ixx, Ixy, Ixz, Iyy, Iyz, Izz")
        inertias = self.robot.inertias
        inertias[frame.joint] += transform_inertia(body, frame.rotation, frame.translation)
        return replace(self, robot=self.robot.with_inertias(inertias))

    @cached_property
    def model(self) -> DynamicModel:
        """The model in which ``chi`` is exact: its terms are those the robot has."""
        known = {"rotor_inertia": self.rotor, **{k: self.friction.array(k) for k in ("viscous", "coulomb")}}
        kinds = (("rotor_inertia", RotorInertia), ("viscous", Viscous), ("coulomb", Coulomb))
        terms: list[JointTerm] = [term() for name, term in kinds if known[name].any()]
        if self.friction.array("stribeck").any():
            terms.append(Stribeck(velocity=tuple(self.friction.array("stribeck_velocity").tolist())))
        robot = replace(self.robot, friction=known)
        return DynamicModel(robot, (*terms, *(spring.modelled[0] for spring in self.springs)))

    @cached_property
    def chi(self) -> Array:
        """χ: the standard parameters in the order of ``model.standard``, with τ = Φχ."""
        values = dict(zip(self.model.standard, self.model.nominal, strict=True))
        values |= {f"Fst{j + 1}": value for j, value in enumerate(self.friction.array("stribeck"))}
        for spring in self.springs:
            number = self.robot.index(spring.joint) + 1
            values |= {f"{name}{number}": value for name, value in spring.modelled[1].items()}
        return np.array([values[name] for name in self.model.standard])

    def to_dict(self) -> dict[str, Any]:
        """Standard and base parameters by name, and what ``truth_from`` needs: links, rotors, friction, springs."""
        model, base = self.model, self.model.base
        units = dict(zip(model.standard, model.units, strict=True))
        named = zip(model.standard, self.chi.tolist(), model.units, strict=True)
        kept = zip(base.names, base.expressions, base.base_values(self.chi).tolist(), base.independent, strict=True)
        bodies = dict(zip(inertial.INERTIAL_NAMES, self.robot.inertias.T.tolist(), strict=True))
        return {
            "robot": self.robot.name,
            "joints": list(self.robot.joint_names),
            "parameters": [{"name": n, "value": v, "unit": u} for n, v, u in named],
            "base": [{"name": n, "expression": e, "value": v, "unit": units[model.standard[k]]} for n, e, v, k in kept],
            "links": by_name(self.robot.tree_names, **bodies),
            "rotor_inertia": self.rotor.tolist(),
            "friction": {name: self.friction.array(name).tolist() for name in FRICTION_FIELDS},
            "springs": [asdict(spring) for spring in self.springs],
            "notes": texts(self.notes),
        }


def read_truth(path: str | Path, robot: Robot) -> Truth:
    """The truth that ``exciter simulate --truth`` wrote; robot: its description."""
    source = f"'{path}'"
    try:
        data = parse_json(read_bytes(Path(path), "truth", MOST_TRUTH_BYTES).decode("utf-8"), source)
    except UnicodeDecodeError:
        raise ParameterError(f"{source} is not valid JSON: it is not text in UTF-8") from None
    except RobotError as error:
        raise ParameterError(str(error)) from None
    return truth_from(data, robot, source)


def truth_from(data: Any, robot: Robot, source: str) -> Truth:
    """The truth of plain data as ``to_dict`` gives it; parameters and base follow from the rest and are not read."""
    names, bodies = robot.joint_names, robot.tree_names

    def ordered(values: Any) -> tuple[float, ...]:
        if len(values) != robot.n:
            raise ValueError(f"{len(values)} values for {robot.n} joints")
        return tuple(float(values[list(data.get("joints", names)).index(name)]) for name in names)

    if not isinstance(data, Mapping) or "links" not in data:
        raise ParameterError(f"{source} has no 'links'; expected a truth that was saved")
    try:
        links = data["links"]
        if set(links) != set(bodies):
            raise ParameterError(f"{source} is for the joints {', '.join(links)}; this robot has {', '.join(bodies)}")
        inertias = [[float(links[name][key]) for key in inertial.INERTIAL_NAMES] for name in bodies]
        friction = {name: ordered(values) for name, values in data.get("friction", {}).items()}
        if unknown := sorted(set(friction) - set(FRICTION_FIELDS)):
            raise ValueError(f"unknown friction '{unknown[0]}'")
        return Truth(
            robot=robot.with_inertias(inertias),
            rotor_inertia=ordered(data.get("rotor_inertia", [0.0] * robot.n)),
            friction=TrueFriction(**friction),
            springs=tuple(CompensationSpring(**spring) for spring in data.get("springs", ())),
            notes=tuple(note("truth", str(text)) for text in data.get("notes", ())),
        )
    except ExciterError as error:
        raise ParameterError(str(error) if str(error).startswith(source) else f"{source}: {error}") from None
    except KeyError as error:
        raise ParameterError(f"{source} lacks {error} of a link") from None
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise ParameterError(f"{source} does not have the form of a truth that was saved: {error}") from None


@dataclass(frozen=True)
class Spread(Settings):
    """How far the truth lies from the description: relative standard deviations of masses, sizes, places, friction."""

    refusal: ClassVar[type[ExciterError]] = ParameterError
    bodies: Annotated[float, Number(least=0.0, most=1.0)] = 0.1
    friction: Annotated[float, Number(least=0.0, most=2.0)] = 0.2


def draw(robot: Robot, seed: int = 0, spread: Spread | None = None) -> Truth:
    """The truth of a robot and a seed, whatever motion is executed later."""
    spread = spread or Spread()
    rng = stream(seed, "truth")
    described, notes = believed(robot)
    inertias = np.array([_altered(phi, spread.bodies, rng) for phi in described.inertias])
    factor = np.exp(spread.friction * rng.standard_normal((3, robot.n)))
    known = (np.abs(described.friction.get(key, np.zeros(robot.n))) for key in INVENTED_SHARES)
    rotor, coulomb, viscous = (tuple((scale * x).tolist()) for scale, x in zip(factor, known, strict=True))
    return Truth(robot.with_inertias(inertias), rotor, TrueFriction(viscous, coulomb), notes=notes)


@lru_cache(maxsize=1)  # asked for by truth, controller and closed loop of one robot, and by every seed
def believed(robot: Robot) -> tuple[Robot, tuple[Note, ...]]:
    """The description, completed to a machine that can be built, as the controller knows it; and what was assumed.
    Bodies that cannot exist become the nearest that can; friction and rotors are invented where there are neither."""
    inertias, notes = robot.inertias, list[Note]()
    if not inertias[:, 0].any():
        why = f"the description of '{robot.name}' has no masses, so there is nothing to draw a truth around; give a "
        raise ParameterError(f"{why}description that has them")
    for j, joint in enumerate(robot.bodies):
        if not link_consistency(joint.inertia).consistent:
            inertias[j] = nearest_body(joint.inertia)
            text = f"no body can have the parameters the description gives to joint '{joint.name}': the truth is drawn "
            notes.append(note("inertias", text + "around the nearest body that exists", joint.name))
    robot = robot.with_inertias(inertias)
    if any(key in robot.friction and robot.friction[key].any() for key in INVENTED_SHARES):
        return robot, tuple(notes)
    torque, velocity = drive_torque(robot), robot.limit("velocity")
    speed = np.where(np.isfinite(velocity), velocity, USUAL_VELOCITY)
    rotor, coulomb, viscous = INVENTED_SHARES.values()
    invented = {
        "rotor_inertia": np.maximum(rotor * typical_inertia(robot), torque / MOST_ROTOR_ACCELERATION),
        "coulomb": coulomb * torque,
        "viscous": viscous * torque / speed,
    }
    return replace(robot, friction={**robot.friction, **invented}), (*notes, _invented(tuple(invented)))


def _invented(keys: Sequence[str]) -> Note:
    """What was made up where the description is silent; keys: of what, as in ``INVENTED_SHARES``."""
    share = {key: f"{100 * INVENTED_SHARES[key]:g} % of the drive's torque" for key in keys}
    ways = {"rotor_inertia": "rotors that fit the drives", "coulomb": "dry friction ", "viscous": "viscous friction "}
    each = ", ".join(ways[key] + (share[key] if key != "rotor_inertia" else "") for key in keys)
    terms = ", ".join("rotor" if key == "rotor_inertia" else key for key in keys)
    text = f"the description speaks neither of friction nor of rotors: values were invented ({each}); identify with "
    return note(INVENTED_SUBJECT, text + terms)


def nearest_body(phi: Array) -> Array:
    """φ (10,) whose pseudo-inertia, scaled to unit mass and size, has no eigenvalue below RAISED_BODY_EIGENVALUE."""
    j = pseudo_inertia(phi)
    mass = abs(phi[0]) if inertial.has_centre(phi) else 1.0
    root = np.sqrt(mass)
    size = np.sqrt(np.linalg.norm(j[:3, :3], 2)) or np.linalg.norm(j[:3, 3]) / root or root
    scale = np.array([size, size, size, root])
    values, vectors = np.linalg.eigh(j / np.outer(scale, scale))
    raised = (vectors * np.maximum(values, RAISED_BODY_EIGENVALUE)) @ vectors.T
    return from_pseudo_inertia(raised * np.outer(scale, scale))


def _altered(phi: Array, spread: float, rng: np.random.Generator) -> Array:
    """Stretched, sheared and moved by a random affine map A, made heavier or lighter: A J Aᵀ is a body, whatever A."""
    j = pseudo_inertia(phi)
    size = np.sqrt(max(np.trace(j[:3, :3]), 0.0)) / np.sqrt(phi[0]) if phi[0] > 0.0 else 0.0
    change = np.eye(4)
    change[:3, :3] += 0.5 * spread * rng.standard_normal((3, 3))
    change[:3, 3] = 0.5 * spread * size * rng.standard_normal(3)
    heavier = np.exp(spread * rng.standard_normal())
    return from_pseudo_inertia(heavier * change @ j @ change.T)


def typical_inertia(robot: Robot) -> Array:
    """(n,) mean diagonal of the inertia matrix over postures within the limits [kg·m²]."""
    q = within_reach(robot, np.random.default_rng(0).uniform(*robot.position_range(), (TYPICAL_POSTURES, robot.n)))
    return np.asarray(np.diagonal(Dynamics(robot).inertia_matrix(q), axis1=1, axis2=2).mean(axis=0))


def drive_torque(robot: Robot) -> Array:
    """(n,) [N·m] what the drives are made for: the torque limit, or weight and a usual acceleration together."""
    limit = robot.limit("torque")
    if np.isfinite(limit).all():
        return limit
    q = within_reach(robot, np.random.default_rng(0).uniform(*robot.position_range(), (TYPICAL_POSTURES, robot.n)))
    weight = np.abs(Dynamics(robot).inverse_dynamics(Motion.at(q))).max(axis=0)
    acceleration = robot.limit("acceleration")
    usual = np.where(np.isfinite(acceleration), acceleration, USUAL_ACCELERATION)
    return np.where(np.isfinite(limit), limit, weight + np.abs(typical_inertia(robot)) * usual)


@dataclass(frozen=True)
class TruthSettings(Settings):
    """The true parameters: drawn by a seed around the description, or those of a file; what is given beside holds."""

    flat: ClassVar[tuple[str, ...]] = ("spread",)
    file: Annotated[Path | None, Place("a truth that was saved")] = None
    seed: Annotated[int | None, Whole(0, LARGEST_SEED)] = None
    spread: Spread | None = None
    rotor_inertia: Known = None
    viscous: Known = None
    coulomb: Known = None
    stribeck: Known = None
    stribeck_velocity: Annotated[PerJoint | None, PerJointNumber(above=0.0, unit="rad/s")] = None
    springs: tuple[CompensationSpring, ...] = ()

    def __post_init__(self) -> None:
        if self.file is not None and not (self.seed is None and self.spread is None):
            drawn = "bodies and friction" if self.seed is None else "seed"
            raise ExciterError(f"there is a file, so that nothing is drawn; leave out {drawn}")

    def truth(self, robot: Robot, seed: int) -> Truth:
        """seed: where none is given."""
        drawn = seed if self.seed is None else self.seed
        truth = draw(robot, drawn, self.spread) if self.file is None else read_truth(self.file, robot)
        rotor = truth.rotor_inertia if self.rotor_inertia is None else self.rotor_inertia
        changed = {key: value for key in FRICTION_FIELDS if (value := getattr(self, key)) is not None}
        friction, springs = replace(truth.friction, **changed), self.springs or truth.springs
        open_keys = [key for key in INVENTED_SHARES if getattr(self, key) is None]
        notes = [one for one in truth.notes if one.subject != INVENTED_SUBJECT or self.file is not None]
        if len(notes) < len(truth.notes) and open_keys:  # of what is given here, nothing is invented
            notes.append(_invented(open_keys))
        return replace(truth, rotor_inertia=rotor, friction=friction, springs=springs, notes=tuple(notes))
