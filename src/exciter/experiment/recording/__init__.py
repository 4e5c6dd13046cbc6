"""Recordings: what was measured, where it came from, and how it is kept on disk."""

from exciter.experiment.recording.analogue_filter import (
    AnalogFilter,
    MeasuredResponse,
    TransferFunction,
    ZerosPolesGain,
)
from exciter.experiment.recording.own_log_format import write_chunks, write_recording
from exciter.experiment.recording.recording import About, Payload, Recording, SourceFile
from exciter.experiment.recording.recording_file import RecordingFile, open_recording, read_recording
from exciter.experiment.recording.signal_filters import SignalFilters

__all__ = ["About", "AnalogFilter", "Payload", "Recording", "RecordingFile", "SourceFile"]
__all__ += ["MeasuredResponse", "SignalFilters", "TransferFunction", "ZerosPolesGain"]
__all__ += ["open_recording", "read_recording", "write_chunks", "write_recording"]
