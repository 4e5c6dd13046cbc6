"""The quality of a recording, before anything is computed from it; and repairs, each one asked for and reported."""

from exciter.experiment.quality.quality import Quality, check
from exciter.experiment.quality.repair import Repaired, repair
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.recording import Repairs

__all__ = ["Quality", "Repaired", "Repairs", "Thresholds", "check", "repair"]
