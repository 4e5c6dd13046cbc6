"""Recordings: what was measured, where it came from, and how it is kept on disk."""

from exciter.experiment.recording.own_log_format import write_chunks, write_recording
from exciter.experiment.recording.recording import About, AnalogFilter, Payload, Recording, SourceFile
from exciter.experiment.recording.recording_file import RecordingFile, open_recording, read_recording

__all__ = ["About", "AnalogFilter", "Payload", "Recording", "RecordingFile", "SourceFile"]
__all__ += ["open_recording", "read_recording", "write_chunks", "write_recording"]
