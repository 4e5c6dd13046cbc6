"""What a motion of a staged experiment is for, and the stretches of it that its equations are taken from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from exciter.errors import ExciterError
from exciter.settings import Amount, Name, Number, OneWord, Settings

#: What a stage is for: standing still; one joint at constant velocity; some joints locked; the four kinds of test
#: motions of Vandanjon; everything at once.
PURPOSES = (
    "rest",
    "constant-velocity",
    "locked",
    "gravity",
    "inertia",
    "centrifugal-coupling",
    "inertial-coupling",
    "excitation",
)
Purpose = Annotated[str, OneWord(PURPOSES)]


@dataclass(frozen=True)
class Cruise(Settings):
    """From start to end [s] the joint moves at ``speed`` [rad/s or m/s], signed, and no other joint moves."""

    joint: Name
    speed: Amount
    start: Annotated[float, Number(least=0.0, unit="s")]
    end: Annotated[float, Number(above=0.0, unit="s")]

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise ExciterError(f"a stretch from {self.start:g} to {self.end:g} s; the end must come after the start")
