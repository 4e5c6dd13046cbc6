"""A simulator that is driven by the identified model, compared with what the robot did (§ 12.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.identification.closed_loop.closed_loop import ClosedLoop
from exciter.identification.runs.run import Run
from exciter.parameters.terms.term import PerJoint
from exciter.validation.followed import Followed, Following, simulate_closed_loop
from exciter.validation.open_loop import Horizons, OpenLoop, simulate_open_loop


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """The same run in both ways: under a controller, and driven by the measured torque for a short time."""

    run: str
    closed_loop: Followed
    open_loop: OpenLoop

    @property
    def sentences(self) -> tuple[str, ...]:
        said = (*self.closed_loop.sentences, *self.open_loop.sentences)
        return tuple(dict.fromkeys(said))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "run": self.run,
            "closed_loop": self.closed_loop.to_dict(),
            "open_loop": self.open_loop.to_dict(),
            "words": list(self.sentences),
        }


def simulate_run(
    model: DynamicModel,
    values: ArrayLike,
    run: Run,
    horizons: Horizons | None = None,
    following: Following | None = None,
    loop: ClosedLoop | None = None,
    dead_zone: PerJoint = 0.0,
) -> SimulatedRun:
    """values (b,) of the model's base parameters; see ``simulate_open_loop`` and ``simulate_closed_loop``."""
    closed = simulate_closed_loop(model, values, run, following, loop, dead_zone)
    return SimulatedRun(run.name, closed, simulate_open_loop(model, values, run, horizons))
