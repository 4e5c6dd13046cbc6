"""What may be repaired: settings, conservative unless asked for more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from exciter.errors import RecordingError, shown
from exciter.settings import Number, Settings, Switch, fill

Seconds = Annotated[float, Number(least=0.0, unit="s")]


@dataclass(frozen=True)
class Repairs(Settings):
    """The ``repair:`` section of a recording.yaml.

    duplicates: drop samples that copy the one before, time included. contradicting: also drop those that say
    something else at the same time. interpolate [s]: fill runs of NaN up to that long; 0: none. spikes: replace
    isolated outliers. unwrap: continue angles that wrap around over whole turns. longest_gap [s]: split the recording
    at longer ones, nothing is ever bridged there. cut_standstill: cut the standstill before and after the motion.
    shortest [s]: leave out pieces that are shorter.
    """

    duplicates: Switch = True
    contradicting: Switch = False
    interpolate: Seconds = 0.05
    spikes: Switch = False
    unwrap: Switch = False
    longest_gap: Annotated[float, Number(above=0.0, unit="s")] = 0.05
    cut_standstill: Switch = False
    shortest: Seconds = 0.5

    def __post_init__(self) -> None:
        for name in ("interpolate", "longest_gap", "shortest"):
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise RecordingError(f"repair: {name} is {shown(getattr(self, name))}; give a number of seconds ≥ 0")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | Repairs | None, where: str = "repair") -> Repairs:
        """From plain data; every key may be left out."""
        return fill(cls, data, where, error=RecordingError)
