"""The virtual robot: an independent engine with secret parameters, to rehearse on."""

from exciter.experiment.virtual.control import ComputedTorque, Control, GravityPD
from exciter.experiment.virtual.draw import Spread, draw
from exciter.experiment.virtual.drive import Drive
from exciter.experiment.virtual.encoder import Encoder
from exciter.experiment.virtual.exact_motion import ExactMotion
from exciter.experiment.virtual.flexibility import Flexibility
from exciter.experiment.virtual.friction import Friction
from exciter.experiment.virtual.meter import TorqueMeter
from exciter.experiment.virtual.ripple import Ripple
from exciter.experiment.virtual.sampling import Sampling
from exciter.experiment.virtual.spring import CompensationSpring
from exciter.experiment.virtual.truth import Truth, read_truth, truth_from
from exciter.experiment.virtual.virtual_robot import Simulated, Start, VirtualRobot

__all__ = [
    "CompensationSpring",
    "ComputedTorque",
    "Control",
    "Drive",
    "Encoder",
    "ExactMotion",
    "Flexibility",
    "Friction",
    "GravityPD",
    "Ripple",
    "Sampling",
    "Simulated",
    "Spread",
    "Start",
    "TorqueMeter",
    "Truth",
    "VirtualRobot",
    "draw",
    "read_truth",
    "truth_from",
]
