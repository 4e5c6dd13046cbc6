"""Files of logs as tables of numbers."""

from exciter.experiment.sources.open import open_source
from exciter.experiment.sources.source import MOST_COLUMNS, Source

__all__ = ["MOST_COLUMNS", "Source", "open_source"]
