"""A route: how recorded positions become q, q̇, q̈ beside the torque."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.processed import Processed


class Route(ABC):
    """Settings of one way to differentiate, frozen. Choices left open (None) are made from the data and told."""

    @abstractmethod
    def apply(self, recording: Recording) -> Processed:
        """The recording's motion and torque at uniform instants.

        The recording has torque (or current with gains), no NaN, no duplicates and no long gap (``quality.repair``).
        """


class StreamingRoute(Route):
    """A route that looks at a neighbourhood only, so that a log larger than memory can pass in pieces."""

    @abstractmethod
    def stream(self, chunks: Iterable[Recording]) -> Iterator[Processed]:
        """The same for pieces of a log, in order; choices left open are made once, from its beginning. A long gap
        starts a new part, and parts too short for the route are left out."""
