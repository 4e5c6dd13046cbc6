"""What a recording is good for, in words and numbers, before anything is computed; and repairs, explicit and told."""

from exciter.experiment.quality.quality import CHECKS, Quality, check, check_stream
from exciter.experiment.quality.repair import Repaired, repair
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.about import Repairs

__all__ = [
    "CHECKS",
    "Quality",
    "Repaired",
    "Repairs",
    "Thresholds",
    "check",
    "check_stream",
    "repair",
]
