"""Rows of the numbers per joint that the kernel simulates with, see ``joint_forces``."""

from __future__ import annotations

ROTOR_ROW, VISCOUS_ROW, ROOT_ROW, ROOT_WIDTH_ROW, FORWARD_ROW, BACKWARD_ROW = range(6)
STRIBECK_ROW, STRIBECK_VELOCITY_ROW, OFFSET_ROW, SINE_ROW, COSINE_ROW, STIFFNESS_ROW = range(6, 12)
PRELOAD_ROW, BASE_ARM_ROW, LINK_ARM_ROW, ARM_OFFSET_ROW, FREE_LENGTH_ROW = range(12, 17)
FORCE_ROW_COUNT = 17
