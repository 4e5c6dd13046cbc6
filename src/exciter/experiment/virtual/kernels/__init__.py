"""Compiled kernels of the virtual robot: one state at a time."""
