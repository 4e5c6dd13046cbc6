"""``route:`` and ``filter:`` of the section identify: how positions are differentiated, how equations are filtered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from exciter.errors import ExciterError, shown
from exciter.excitation.config.section import Section, says_none
from exciter.excitation.trajectories.fourier import MOST_HARMONICS
from exciter.experiment.signals.butterworth import Butterworth
from exciter.experiment.signals.filtered_differences import HIGHEST, FilteredDifferences
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.motion_band import motion_band
from exciter.experiment.signals.parallel_filter import ParallelFilter
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.route import Route
from exciter.experiment.signals.smoothing_spline import SmoothingSpline
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.run import Run

METHODS = {
    "differences": ("cutoff", "order", "rate", "measured_velocity", "bands"),
    "fourier": ("harmonics", "period", "settled"),
    "spline": ("knots_per_second", "degree", "rate"),
}
MOST_THINNED = 1_000_000  # samples of which one is kept
WIDE = 10.0  # times the band of the motion: dry friction, and what links make of a motion, reach beyond it
LOWEST = 3.0  # [Hz]
FILTER = ("cutoff", "order", "factor")


def route_of(top: Section) -> Route | None:
    """The route of ``route: {method: differences, cutoff: 20}``; None: the usual one for each log."""
    if "route" not in top:
        return None
    keys = ("method", *(key for keys in METHODS.values() for key in keys))
    section = top.section("route", tuple(dict.fromkeys(keys)))
    method = section.word("method", tuple(METHODS), "differences")
    for key in section.data:
        if key not in ("method", *METHODS[method]):
            raise ExciterError(f"{section.at(key)} does not go with the method {method}; it takes {METHODS[method]}")
    if method == "differences":
        return FilteredDifferences(
            _positive(section, "cutoff"),
            section.whole("order", 4, least=1, most=None),
            _positive(section, "rate"),
            section.flag("measured_velocity", False),
            bands=_positive(section, "bands"),
        )
    if method == "fourier":
        return FourierFit(_harmonics(section), _positive(section, "period"), _number(section, "settled"))
    return SmoothingSpline(
        _positive(section, "knots_per_second"),
        section.whole("degree", 5, least=4, most=None),
        _positive(section, "rate"),
    )


def filter_of(top: Section, parts: Iterable[Processed]) -> ParallelFilter | None:
    """What both sides of the equations go through: ``filter: {cutoff: 10}``, ``filter: none``; unless given, ten times
    the band of the motion, or what the positions went through if that is less."""
    pieces = tuple(parts)
    torque = min((piece.torque_bandwidth for piece in pieces), default=float("inf"))
    if says_none(top.get("filter")):
        return None
    if "filter" in top:
        if isinstance(top.get("filter"), str):
            raise ExciterError(f"{top.at('filter')} is {shown(top.get('filter'))}; give none, or {{cutoff: …}} [Hz]")
        section = top.section("filter", FILTER)
        if "cutoff" not in section:
            raise ExciterError(f"{section.where} has no cutoff; give it in Hz, or write filter: none")
        low_pass = Butterworth(section.number("cutoff", 0.0, above=0.0), section.whole("order", 4, least=1, most=None))
        return ParallelFilter(
            low_pass, section.whole("factor", 1, least=1, most=MOST_THINNED) if "factor" in section else None
        )
    if not pieces:
        return None
    rate = min(piece.rate for piece in pieces)
    position = min(piece.position_bandwidth for piece in pieces)
    band = motion_band(pieces)
    return ParallelFilter(stopped(Butterworth(min(position, wide(band, rate))), rate, torque))


def wide(band: float, rate: float) -> float:
    """[Hz] cut-off for equations of a motion up to ``band`` [Hz]."""
    return min(max(WIDE * band, LOWEST), HIGHEST * rate)


def stopped(low_pass: Butterworth, rate: float, torque: float) -> Butterworth:
    """The filter, lowered where it would pass what an analogue one took from the torque, above ``torque`` [Hz]."""
    return low_pass.stopped_at(torque, rate) if low_pass.stop(rate) > torque else low_pass


def filter_words(both: ParallelFilter | None) -> Any:
    """A filter as ``filter:`` has it, so that ``filter_of`` gives the same again."""
    if both is None:
        return "none"
    low_pass = both.low_pass
    assert isinstance(low_pass, Butterworth)  # there are no words for others
    words = {"cutoff": low_pass.cutoff, "order": low_pass.order}
    return words if both.factor is None else {**words, "factor": both.factor}


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


def _positive(section: Section, key: str) -> float | None:
    return section.number(key, 0.0, above=0.0) if key in section else None


def _number(section: Section, key: str) -> float | None:
    return section.number(key, 0.0) if key in section else None


def _harmonics(section: Section) -> int | tuple[int, ...] | None:
    given: Any = section.get("harmonics")
    whole = isinstance(given, int) and not isinstance(given, bool)
    listed = isinstance(given, list) and all(
        isinstance(h, int) and not isinstance(h, bool) and h <= MOST_HARMONICS for h in given
    )
    if given is None or (whole and given <= MOST_HARMONICS):
        return given if given is None else int(given)
    if not listed:
        raise ExciterError(
            f"{section.at('harmonics')} is {shown(given)}; give how many, or a list of those wanted, up to "
            f"{MOST_HARMONICS}"
        )
    return tuple(int(h) for h in given)
