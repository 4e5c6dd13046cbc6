"""``simulate:`` of the file of ``--config``: a virtual robot as data. Numbers per joint: one for all, a list, by name.

simulate:
  truth: {seed: 0, bodies: 0.1, friction: 0.2}           # drawn around the description; or {file: truth.json}
         # and on top: rotor_inertia, viscous, coulomb, stribeck, stribeck_velocity, springs: [{joint, base_arm, …}]
  control: {law: computed-torque, bandwidth: 20, damping: 1.0, rate: 1000}   # or pd; stiffness, derivative: the gains
  start: {at_rest: true, error: 0.0}
  drive: {gear: 100, torque_constant: 0.1}
  encoder: {counts: 4096, side: motor, noise: 0.0, velocity_noise: 0.001}    # counts: none
  torque: {signal: torque, side: motor, noise: 0.5, noise_before_filter: false}   # signal: current; side: link
  ripple: {amplitude: 0.3, per_turn: 6}
  filter: {order: 8, cutoff: 40}
  log: {rate: 500, jitter: 0.0, dropped: 0.0, lead_out: false}
  flexibility: {stiffness: 20000, damping: 20, encoder: motor}
  payload: {frame: flange, mass: 2.0, centre: [0, 0, 0.05], inertia: [0, 0, 0, 0, 0, 0]}
  simulation_rate: 4000
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from exciter.errors import ExciterError
from exciter.excitation.config.robot_part import read_section
from exciter.excitation.config.section import LARGEST_SEED, Section, per_joint, says_none
from exciter.experiment.recording import AnalogFilter, Payload
from exciter.experiment.virtual.control import ComputedTorque, Control, GravityPD
from exciter.experiment.virtual.draw import Spread, draw
from exciter.experiment.virtual.drive import Drive
from exciter.experiment.virtual.encoder import Encoder
from exciter.experiment.virtual.flexibility import Flexibility
from exciter.experiment.virtual.friction import FIELDS as FRICTION
from exciter.experiment.virtual.meter import TorqueMeter
from exciter.experiment.virtual.ripple import Ripple
from exciter.experiment.virtual.sampling import Sampling
from exciter.experiment.virtual.spring import CompensationSpring
from exciter.experiment.virtual.truth import Truth, read_truth
from exciter.experiment.virtual.virtual_robot import Start, VirtualRobot
from exciter.robot.robot import Robot

LAWS: dict[str, type[Control]] = {"computed-torque": ComputedTorque, "pd": GravityPD}
SIDES = ("motor", "link")
T = TypeVar("T")
SPRING = tuple(field.name for field in fields(CompensationSpring))
KEYS: dict[str, tuple[str, ...]] = {
    "truth": ("file", "seed", "bodies", "friction", "rotor_inertia", *FRICTION, "springs"),
    "control": ("law", "bandwidth", "damping", "rate", "stiffness", "derivative"),
    "start": ("at_rest", "error"),
    "drive": ("gear", "torque_constant"),
    "encoder": ("counts", "side", "noise", "velocity_noise"),
    "torque": ("signal", "side", "noise", "noise_before_filter"),
    "ripple": ("amplitude", "per_turn"),
    "filter": ("order", "cutoff"),
    "log": ("rate", "jitter", "dropped", "lead_out"),
    "flexibility": ("stiffness", "damping", "encoder"),
    "payload": ("frame", "mass", "centre", "inertia"),
    "simulation_rate": (),
}


def read_virtual(path: Path | None, robot: Robot, seed: int) -> VirtualRobot:
    """The virtual robot of a file; without one, that of the defaults. seed: of the truth, unless the file has one."""
    top = Section({}, "configuration") if path is None else read_section(path)
    return virtual_from(top.section("simulate", tuple(KEYS)), robot, seed, Path() if path is None else path.parent)


def virtual_from(given: Section, robot: Robot, seed: int, folder: Path) -> VirtualRobot:
    """The virtual robot of the section; relative paths start at ``folder``."""
    parts = {key: given.section(key, keys) for key, keys in KEYS.items() if keys}

    def made(key: str, maker: Callable[[Section, Robot], T]) -> T:
        with named(parts[key]):
            return maker(parts[key], robot)

    ripple, analog = made("ripple", _ripple), made("filter", _filter)
    with named(given):
        return VirtualRobot(
            robot,
            made("truth", lambda section, _: _truth(section, robot, seed, folder)),
            control=made("control", control_of),
            start=made("start", _start),
            drive=made("drive", _drive),
            encoder=made("encoder", _encoder),
            meter=made("torque", lambda section, _: _meter(section, ripple, analog, robot)),
            sampling=made("log", _sampling),
            flexibility=made("flexibility", _flexibility) if "flexibility" in given else None,
            payload=made("payload", _payload) if "payload" in given else None,
            simulation_rate=given.number("simulation_rate", 0.0, above=0.0) or None,
        )


@contextmanager
def named(section: Section) -> Iterator[None]:
    """Whatever is wrong inside says where it stands."""
    try:
        yield
    except ExciterError as error:
        message = str(error)
        raise ExciterError(message if message.startswith(section.where) else f"{section.where}: {message}") from None


def _start(section: Section, robot: Robot) -> Start:
    return Start(section.flag("at_rest", True), _joints(section, "error", robot, 0.0))


def _drive(section: Section, robot: Robot) -> Drive:
    return Drive(**{key: _joints(section, key, robot, getattr(Drive, key)) for key in KEYS["drive"]})


def _joints(section: Section, key: str, robot: Robot, default: Any) -> Any:
    """A tuple with one number per joint, or the default."""
    if key not in section:
        return default
    return tuple(per_joint(section.get(key), section.at(key), robot.joint_names).tolist())


def _truth(section: Section, robot: Robot, seed: int, folder: Path) -> Truth:
    if "file" in section:
        drawn = [key for key in ("seed", "bodies", "friction") if key in section]
        if drawn:
            raise ExciterError(f"{section.where} has a file, so that nothing is drawn; leave out {drawn[0]}")
        truth = _truth_file(section, robot, folder)
    else:
        spread = Spread(section.number("bodies", Spread.bodies), section.number("friction", Spread.friction))
        truth = draw(robot, section.whole("seed", seed, least=0, most=LARGEST_SEED), spread)
    changed = {key: _joints(section, key, robot, None) for key in FRICTION if key in section}
    springs = tuple(_spring(entry, section.at("springs")) for entry in section.entries("springs"))
    return replace(
        truth,
        rotor_inertia=_joints(section, "rotor_inertia", robot, truth.rotor_inertia),
        friction=replace(truth.friction, **changed),
        springs=springs or truth.springs,
    )


def _truth_file(section: Section, robot: Robot, folder: Path) -> Truth:
    name = section.get("file")
    if not isinstance(name, str):
        raise ExciterError(f"{section.at('file')} must be the name of a file that exciter simulate --truth wrote")
    return read_truth(folder / name, robot)


def _spring(entry: Any, where: str) -> CompensationSpring:
    section = Section.of(entry, where, SPRING)
    if not isinstance(section.get("joint"), str):
        raise ExciterError(f"{where}: a spring has no joint; give its name")
    values = {key: section.number(key, 0.0) for key in SPRING[1:] if key in section}
    missing = [key for key in ("base_arm", "link_arm", "offset", "stiffness") if key not in values]
    if missing:
        raise ExciterError(f"{where}: the spring of joint '{section.get('joint')}' has no {missing[0]}")
    return CompensationSpring(section.get("joint"), **values)


def control_of(section: Section, robot: Robot) -> Control:
    law = LAWS[section.word("law", tuple(LAWS), "computed-torque")]
    return law(
        section.number("bandwidth", Control.bandwidth, above=0.0),
        section.number("damping", Control.damping, above=0.0),
        section.number("rate", 0.0, above=0.0) or None,
        _joints(section, "stiffness", robot, None),
        _joints(section, "derivative", robot, None),
    )


def _encoder(section: Section, robot: Robot) -> Encoder:
    none = says_none(section.get("counts"))
    counts = None if none else _joints(section, "counts", robot, Encoder.counts)
    on_motor = section.word("side", ("motor", "joint"), "motor") == "motor"
    noise = _joints(section, "noise", robot, Encoder.noise)
    return Encoder(counts, on_motor, noise, _joints(section, "velocity_noise", robot, None))


def _meter(section: Section, ripple: Ripple | None, analog: AnalogFilter | None, robot: Robot) -> TorqueMeter:
    return TorqueMeter(
        current=section.word("signal", ("torque", "current"), "torque") == "current",
        link_side=section.word("side", SIDES, "motor") == "link",
        noise=_joints(section, "noise", robot, None),
        noise_before_filter=section.flag("noise_before_filter", False),
        ripple=ripple,
        filter=analog,
    )


def _ripple(section: Section, robot: Robot) -> Ripple | None:
    if not section.data:
        return None
    if "amplitude" not in section:
        raise ExciterError(f"{section.where} has no amplitude; give it in N·m (N where it slides) at the joint")
    amplitude = _joints(section, "amplitude", robot, 0.0)
    return Ripple(amplitude, _joints(section, "per_turn", robot, Ripple.per_turn))


def _filter(section: Section, robot: Robot) -> AnalogFilter | None:
    if not section.data:
        return None
    return AnalogFilter(section.whole("order", 8, least=1, most=None), section.number("cutoff", 40.0, above=0.0))


def _sampling(section: Section, robot: Robot) -> Sampling:
    return Sampling(
        section.number("rate", Sampling.rate, above=0.0),
        section.number("jitter", Sampling.jitter, least=0.0),
        section.number("dropped", Sampling.dropped, least=0.0),
        section.flag("lead_out", Sampling.lead_out),
    )


def _flexibility(section: Section, robot: Robot) -> Flexibility:
    if "stiffness" not in section:
        raise ExciterError(f"{section.where} has no stiffness; give it in N·m/rad")
    on_link = section.word("encoder", SIDES, "motor") == "link"
    return Flexibility(_joints(section, "stiffness", robot, 0.0), _joints(section, "damping", robot, 0.0), on_link)


def _payload(section: Section, robot: Robot) -> Payload:
    if "frame" not in section or "mass" not in section:
        raise ExciterError(f"{section.where} needs a frame and a mass [kg]; frames are {', '.join(robot.frame_names)}")
    centre = section.vector("centre", 3, (0.0,) * 3).tolist()
    inertia = section.vector("inertia", 6, (0.0,) * 6).tolist()
    return Payload(str(section.get("frame")), section.number("mass", 0.0, least=0.0), tuple(centre), tuple(inertia))
