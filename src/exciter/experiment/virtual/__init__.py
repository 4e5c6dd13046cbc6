"""The virtual robot: an independent engine with secret parameters, to rehearse on."""

from exciter.experiment.virtual.control import ComputedTorque, Control, GravityPD
from exciter.experiment.virtual.execute import ExactMotion
from exciter.experiment.virtual.sensors import Drive, Encoder, Ripple, Sampling, TorqueMeter
from exciter.experiment.virtual.truth import (
    CompensationSpring,
    Flexibility,
    Friction,
    Spread,
    Truth,
    draw,
    read_truth,
    truth_from,
)
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
