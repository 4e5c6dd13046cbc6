"""``filter:`` of the section identify: what both sides of the equations go through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from exciter.errors import shown
from exciter.experiment.signals.filtered_differences import HIGHEST, FilteredDifferences
from exciter.experiment.signals.low_pass import Butterworth
from exciter.experiment.signals.processed import Processed, motion_band
from exciter.experiment.signals.route import Route
from exciter.experiment.signals.rows import ParallelFilter
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.run import Run
from exciter.settings import Number, Settings, Whole
from exciter.settings.wrong import wrong

MOST_THINNED = 1_000_000  # samples of which one is kept
WIDE = 10.0  # times the band of the motion: dry friction, and what links make of a motion, reach beyond it
LOWEST = 3.0  # [Hz]
NONE = "none"  #: no filter


@dataclass(frozen=True)
class EquationFilter(Settings):
    """``{cutoff: 10, order: 4, factor: 5}``: a Butterworth low-pass, cutoff [Hz] and order of one pass, and of how many
    samples one is kept, unless given what the cut-off allows; ``none``, or a cutoff of None: as measured."""

    cutoff: Annotated[float | None, Number(above=0.0, unit="Hz", open=NONE)]
    order: Annotated[int, Whole(1)] = 4
    factor: Annotated[int | None, Whole(1, MOST_THINNED)] = None

    def __post_init__(self) -> None:
        _ = self.parallel  # refuses orders that no filter has

    @classmethod
    def of(cls, both: ParallelFilter | None) -> EquationFilter:
        if both is None:
            return cls(None)
        assert isinstance(both.low_pass, Butterworth)  # there are no settings for others
        return cls(both.low_pass.cutoff, both.low_pass.order, both.factor)

    @property
    def parallel(self) -> ParallelFilter | None:
        return None if self.cutoff is None else ParallelFilter(Butterworth(self.cutoff, self.order), self.factor)

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if not isinstance(given, str):
            return given
        if given.strip().lower() != NONE:
            raise wrong(f" is {shown(given)}; give none, or {{cutoff: …}} [Hz]")
        return {"cutoff": NONE}

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [{"const": NONE}, schema]}

    def spelling(self, data: dict[str, Any]) -> Any:
        return NONE if self.cutoff is None else {"cutoff": self.cutoff, "order": self.order, **data}


def usual_filter(pieces: Sequence[Processed]) -> ParallelFilter | None:
    """Ten times the band of the motion, or what the positions went through if that is less."""
    if not pieces:
        return None
    rate = min(piece.rate for piece in pieces)
    position = min(piece.position_bandwidth for piece in pieces)
    torque = min(piece.torque_bandwidth for piece in pieces)
    return ParallelFilter(stopped(Butterworth(min(position, wide(motion_band(pieces), rate))), rate, torque))


def wide(band: float, rate: float) -> float:
    """[Hz] cut-off for equations of a motion up to ``band`` [Hz]."""
    return min(max(WIDE * band, LOWEST), HIGHEST * rate)


def stopped(low_pass: Butterworth, rate: float, torque: float) -> Butterworth:
    """The filter, lowered where it would pass what an analogue one took from the torque, above ``torque`` [Hz]."""
    return low_pass.stopped_at(torque, rate) if low_pass.stop(rate) > torque else low_pass


def differentiated(route: Route | None, runs: Iterable[Run]) -> FilteredDifferences | None:
    """The filtered differences that runs went through, chosen or given; None where it was another route."""
    if isinstance(route, FilteredDifferences):
        return route
    parts = [part for run in runs for part in run.bounded.parts]
    chosen = route is None and parts and all(part.position_bandwidth < float("inf") for part in parts)
    return FilteredDifferences() if chosen else None


def noise_share(formulation: Formulation, runs: Iterable[Run]) -> float:
    """σ of filtered white noise over that of its samples; one for equations that go through no filter."""
    both: ParallelFilter | None = getattr(formulation, "parallel_filter", None)
    if both is None:
        return 1.0
    rate, limit = min((part.rate, part.torque_bandwidth) for run in runs for part in run.bounded.parts)
    return float(min(1.0, 2.0 * both.at(rate, limit)[0].noise_bandwidth(rate) / rate) ** 0.5)
