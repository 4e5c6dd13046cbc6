"""The virtual robot: an independent engine with secret parameters, to rehearse on."""

from exciter.experiment.virtual.control import ComputedTorque, Control, GravityPD
from exciter.experiment.virtual.motion_execution import ExactMotion
from exciter.experiment.virtual.sensors import Encoder, GearedDrive, Sampling, TorqueMeter, TorqueRipple
from exciter.experiment.virtual.true_parameters import CompensationSpring, Flexibility, Spread, TrueFriction, Truth
from exciter.experiment.virtual.true_parameters import draw as draw
from exciter.experiment.virtual.true_parameters import read_truth as read_truth
from exciter.experiment.virtual.virtual_robot import Simulated, Start, VirtualRobot

__all__ = ["CompensationSpring", "ComputedTorque", "Control", "Encoder", "ExactMotion", "Flexibility", "GearedDrive"]
__all__ += ["GravityPD", "Sampling", "Simulated", "Spread", "Start", "TorqueMeter", "TorqueRipple", "TrueFriction"]
__all__ += ["Truth", "VirtualRobot", "draw", "read_truth"]
