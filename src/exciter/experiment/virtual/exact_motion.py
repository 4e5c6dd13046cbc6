"""What a simulated robot really did, sample by sample: a recording that also knows the accelerations."""

from __future__ import annotations

from dataclasses import dataclass

from exciter.experiment.recording.recording import Recording
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class ExactMotion(Recording):
    """q, qd, qdd (N, n) of the links and torque of the drives, without noise, counts, filter or ripple, in SI units.

    Written like any recording; a table has the columns ``<joint>.q``, ``.qd``, ``.qdd``, ``.tau``. Who reads it as a
    recording gets all but the accelerations, which no sensor of a joint gives.
    """

    qdd: Array | None = None

    @property
    def signals(self) -> tuple[str, ...]:
        known = ("q", "qd", "qdd", "torque")
        return tuple(name for name in known if getattr(self, name) is not None)
