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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from exciter.errors import ExciterError
from exciter.experiment.recording import AnalogFilter, Payload
from exciter.experiment.virtual.control import AnyLaw, ComputedTorque
from exciter.experiment.virtual.sensors import Encoder, GearedDrive, Sampling, TorqueMeter, TorqueRipple
from exciter.experiment.virtual.true_parameters import FRICTION_FIELDS as FRICTION
from exciter.experiment.virtual.true_parameters import CompensationSpring, Flexibility, Spread, Truth, draw, read_truth
from exciter.experiment.virtual.virtual_robot import Start, VirtualRobot
from exciter.parameters.terms.term import PerJoint
from exciter.robot.robot import Robot
from exciter.settings import Number, PerJointNumber, Place, Settings, Whole
from exciter.settings.field_markers import LARGEST_SEED

Known = Annotated[PerJoint | None, PerJointNumber(least=0.0)]  #: of the truth; None: as drawn


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
        changed = {key: value for key in FRICTION if (value := getattr(self, key)) is not None}
        return replace(
            truth,
            rotor_inertia=truth.rotor_inertia if self.rotor_inertia is None else self.rotor_inertia,
            friction=replace(truth.friction, **changed),
            springs=self.springs or truth.springs,
        )


@dataclass(frozen=True)
class SimulateSettings(Settings):
    """A virtual robot: its true parameters, its controller, its drives and its sensors."""

    truth: TruthSettings = field(default_factory=TruthSettings)
    control: AnyLaw = field(default_factory=ComputedTorque)
    start: Start = field(default_factory=Start)
    drive: GearedDrive = field(default_factory=GearedDrive)
    encoder: Encoder = field(default_factory=Encoder)
    torque: TorqueMeter = field(default_factory=TorqueMeter)
    ripple: TorqueRipple | None = None
    filter: AnalogFilter | None = None
    log: Sampling = field(default_factory=Sampling)
    flexibility: Flexibility | None = None
    payload: Payload | None = None
    simulation_rate: Annotated[float | None, Number(above=0.0, most=1e7, unit="Hz")] = None

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        """An empty ripple or filter is none."""
        if not isinstance(given, Mapping):
            return given
        return {key: value for key, value in given.items() if value != {} or key not in ("ripple", "filter")}

    def virtual(self, robot: Robot, seed: int) -> VirtualRobot:
        """seed: of the truth, unless the settings have one."""
        same = ("control", "start", "drive", "encoder", "flexibility", "payload", "simulation_rate")
        meter = replace(self.torque, ripple=self.ripple, filter=self.filter)
        given: dict[str, Any] = {name: getattr(self, name) for name in same}
        return VirtualRobot(robot, self.truth.truth(robot, seed), meter=meter, sampling=self.log, **given)
