"""Rows of the numbers per joint that the kernel simulates with, see ``joint_forces``."""

from __future__ import annotations

ROTOR, VISCOUS, ROOT, ROOT_WIDTH, FORWARD, BACKWARD, STRIBECK, STRIBECK_VELOCITY, OFFSET = range(9)
SINE, COSINE, STIFFNESS, PRELOAD, BASE_ARM, LINK_ARM, ARM_OFFSET, FREE_LENGTH = range(9, 17)
COUNT = 17
