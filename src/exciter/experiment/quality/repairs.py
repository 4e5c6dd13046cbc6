"""What may be repaired: settings, conservative unless asked for more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from exciter.errors import ExciterError, RecordingError, shown
from exciter.excitation.config.section import Section


@dataclass(frozen=True)
class Repairs:
    """The ``repair:`` section of a recording.yaml.

    duplicates: drop samples that copy the one before, time included. contradicting: also drop those that say
    something else at the same time. interpolate [s]: fill runs of NaN up to that long; 0: none. spikes: replace
    isolated outliers. unwrap: continue angles that wrap around over whole turns. longest_gap [s]: split the recording
    at longer ones, nothing is ever bridged there. cut_standstill: cut the standstill before and after the motion.
    shortest [s]: leave out pieces that are shorter.
    """

    duplicates: bool = True
    contradicting: bool = False
    interpolate: float = 0.05
    spikes: bool = False
    unwrap: bool = False
    longest_gap: float = 0.05
    cut_standstill: bool = False
    shortest: float = 0.5

    def __post_init__(self) -> None:
        for name in ("interpolate", "longest_gap", "shortest"):
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise RecordingError(f"repair: {name} is {shown(getattr(self, name))}; give a number of seconds ≥ 0")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None, where: str = "repair") -> Repairs:
        """From plain data; every key may be left out."""
        try:
            section = Section.of(data, where, [f.name for f in fields(cls)])
            plain = cls()
            return cls(
                duplicates=section.flag("duplicates", plain.duplicates),
                contradicting=section.flag("contradicting", plain.contradicting),
                interpolate=section.number("interpolate", plain.interpolate, least=0.0),
                spikes=section.flag("spikes", plain.spikes),
                unwrap=section.flag("unwrap", plain.unwrap),
                longest_gap=section.number("longest_gap", plain.longest_gap, above=0.0),
                cut_standstill=section.flag("cut_standstill", plain.cut_standstill),
                shortest=section.number("shortest", plain.shortest, least=0.0),
            )
        except RecordingError:
            raise
        except ExciterError as error:
            raise RecordingError(str(error)) from None
