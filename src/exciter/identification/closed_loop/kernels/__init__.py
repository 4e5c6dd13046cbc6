"""Compiled kernels of the simulated closed loop."""
