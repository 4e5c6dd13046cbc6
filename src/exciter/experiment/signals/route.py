"""A route: how recorded positions become q, q̇, q̈ beside the torque."""

from __future__ import annotations

from abc import ABC, abstractmethod

from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.processed import Processed


class Route(ABC):
    """Settings of one way to differentiate, frozen. Choices left open (None) are made from the data and told."""

    @abstractmethod
    def apply(self, recording: Recording) -> Processed:
        """The recording's motion and torque at uniform instants.

        The recording has torque (or current with gains), no NaN, no duplicates and no long gap (``quality.repair``).
        """
