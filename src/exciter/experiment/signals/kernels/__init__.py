"""Compiled kernels of filters."""
