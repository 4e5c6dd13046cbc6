"""Compiled kernels: blocks of samples, one idea per file."""
