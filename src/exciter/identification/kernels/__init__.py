"""Compiled kernels of the sequential estimator."""
