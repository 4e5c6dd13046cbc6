"""Compiled kernels of the constraints: one sample at a time, all rows and their derivatives."""
