"""Motions on disk: exact, as rows of a table, as ROS 2 messages; read from any of them."""

from exciter.excitation.files.row_files import MotionSamples, sample
from exciter.excitation.files.trajectory_files import Exported, export, read_trajectory

__all__ = ["Exported", "MotionSamples", "export", "read_trajectory", "sample"]
