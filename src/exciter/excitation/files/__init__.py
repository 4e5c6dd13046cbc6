"""Motions on disk: exact, as rows of a table, as ROS 2 messages; read from any of them."""

from exciter.excitation.files.export import Exported, export
from exciter.excitation.files.read import read_trajectory
from exciter.excitation.files.row_files import MotionSamples, sample

__all__ = ["Exported", "MotionSamples", "export", "read_trajectory", "sample"]
