"""Exciter identifies the dynamics of robots: robot → parameters → dynamics → excitation → … → validated model."""

from importlib.metadata import version

__version__ = version("exciter")
