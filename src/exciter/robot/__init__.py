"""The robot: joints, frames, limits, gravity; read from URDF, MJCF or modified-DH tables, or embedded by name."""

from exciter.robot.limits import Limits
from exciter.robot.load import load
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Frame, Joint, Robot

__all__ = ["Frame", "Joint", "Limits", "Motion", "MotionGradient", "Robot", "load"]
