"""What a formulation is: a motion and its torque in, equations W χ = y out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.rows import Rows
from exciter.parameters.base import BaseParameters
from exciter.settings import Settings

IntArray = NDArray[np.int64]


class Formulation(Settings, ABC):
    """Settings of a formulation, frozen, without a robot."""

    @abstractmethod
    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: IntArray) -> Iterator[Rows]:
        """Equations for some of the standard parameters, piece by piece in order of time.

        pieces: of one recording, in order of time; they may follow each other without a gap (a log larger than
        memory), and a gap starts anew.
        """

    @abstractmethod
    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        """One name per equation of an instant: ``Rows.joints``."""

    def base(self, model: DynamicModel) -> BaseParameters:
        """What these equations can determine at best; its ``independent`` are the columns."""
        return model.base

    def units(self, model: DynamicModel) -> tuple[str, ...]:
        """Of ``base(model).standard``."""
        return model.units
