"""Recordings: what was measured, where it came from, and how it is kept on disk."""

from exciter.experiment.recording.about import About, AnalogFilter, Payload, SourceFile
from exciter.experiment.recording.recording import Recording

__all__ = ["About", "AnalogFilter", "Payload", "Recording", "SourceFile"]
