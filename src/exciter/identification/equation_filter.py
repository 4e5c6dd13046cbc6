"""``filter:`` of an identification: the low-pass that both sides of the equations go through; and ``evaluation:``, that
of the torques by which all methods are compared.

filter: {cutoff: 10}                       # Butterworth; [Hz]
filter: {cutoff: 40, kind: chebyshev}      # type I, of order 8 with 0.05 dB of ripple unless given
filter: decimate                           # the papers': the same at 0.8 of the new half rate, one of 10 kept
filter: none                               # rows as measured"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from exciter.errors import ExciterError, RecordingError, shown
from exciter.experiment.signals.equation_rows import DECIMATION_FACTOR, ParallelFilter
from exciter.experiment.signals.low_pass_filter import LARGEST_RIPPLE_DB, Butterworth, Chebyshev
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.runs.run import Run, bounded_parts
from exciter.settings import Number, Settings, Whole
from exciter.settings.field_markers import OneWord, wrong

MOST_SAMPLES_PER_ROW = 1_000_000  # samples of which one is kept
NO_FILTER_WORD, DECIMATE_WORD = "none", "decimate"
LOW_PASS_WORDS = BUTTERWORTH, CHEBYSHEV = "butterworth", "chebyshev"


@dataclass(frozen=True)
class EquationFilter(Settings):
    """``{cutoff: 10, order: 4, factor: 5}``: a Butterworth low-pass, cutoff [Hz] and order of one pass, and of how many
    samples one is kept, unless given what the cut-off allows; ``none``, or a cutoff of None: as measured. kind:
    chebyshev, of order 8 and with a ripple of 0.05 dB unless given. ``decimate``, ``{decimate: 5}``: the papers', which
    is the Chebyshev filter at 0.8 of the new half rate [12.21]ff., one of 10 samples kept, or of as many as given.

    >>> found = ex.identify(robot, log, automatic=False, filter="decimate")
    >>> found.config.settings.filter.factor
    10"""

    cutoff: Annotated[float | None, Number(above=0.0, unit="Hz", open=NO_FILTER_WORD)]
    order: Annotated[int | None, Whole(1)] = None
    factor: Annotated[int | None, Whole(1, MOST_SAMPLES_PER_ROW)] = None
    kind: Annotated[str, OneWord(LOW_PASS_WORDS)] = BUTTERWORTH
    ripple: Annotated[float | None, Number(above=0.0, most=LARGEST_RIPPLE_DB, unit="dB")] = None

    def __post_init__(self) -> None:
        if self.kind == BUTTERWORTH and self.ripple is not None:
            raise ExciterError(f"ripple is {self.ripple:g} dB; a Butterworth filter has none: say kind: {CHEBYSHEV}")
        own = self.order in (None, Chebyshev.order) and self.ripple in (None, Chebyshev.ripple)
        if self.decimates and not own:
            raise ExciterError(
                f"{DECIMATE_WORD} has order {Chebyshev.order} and {Chebyshev.ripple:g} dB; for another filter give "
                f"kind: {CHEBYSHEV} with a cutoff [Hz]"
            )
        left_open: dict[str, Any] = {"order": Butterworth.order}
        if self.kind == CHEBYSHEV:
            left_open = {"order": Chebyshev.order, "ripple": Chebyshev.ripple}
        if self.decimates:
            left_open["factor"] = DECIMATION_FACTOR
        for name, usual in left_open.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, usual)
        _ = self.parallel  # refuses orders that no filter has

    @classmethod
    def of(cls, both: ParallelFilter | None) -> EquationFilter:
        if both is None:
            return cls(None)
        if (low_pass := both.low_pass) is None:
            return cls(None, None, both.factor, CHEBYSHEV)
        if isinstance(low_pass, Chebyshev):
            return cls(low_pass.cutoff, low_pass.order, both.factor, CHEBYSHEV, low_pass.ripple)
        assert isinstance(low_pass, Butterworth)  # there are no settings for others
        return cls(low_pass.cutoff, low_pass.order, both.factor)

    @property
    def decimates(self) -> bool:
        """Whether the factor decides on the cut-off."""
        return self.kind == CHEBYSHEV and self.cutoff is None

    @property
    def parallel(self) -> ParallelFilter | None:
        if self.cutoff is None:
            return ParallelFilter(factor=self.factor) if self.decimates else None
        assert self.order is not None  # since it was made
        if self.ripple is None:
            return ParallelFilter(Butterworth(self.cutoff, self.order), self.factor)
        return ParallelFilter(Chebyshev(self.cutoff, self.order, self.ripple), self.factor)

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, Mapping) and DECIMATE_WORD in given:
            if len(given) > 1:
                raise wrong(f" is {shown(given)}; {DECIMATE_WORD} says all: give {{{DECIMATE_WORD}: 10}} alone")
            return {"cutoff": NO_FILTER_WORD, "kind": CHEBYSHEV, "factor": given[DECIMATE_WORD]}
        if not isinstance(given, str):
            return given
        if (word := given.strip().lower()) not in (NO_FILTER_WORD, DECIMATE_WORD):
            raise wrong(f" is {shown(given)}; give none, {DECIMATE_WORD}, or {{cutoff: …}} [Hz]")
        return {"cutoff": NO_FILTER_WORD} | ({"kind": CHEBYSHEV} if word == DECIMATE_WORD else {})

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        factor = Whole(1, MOST_SAMPLES_PER_ROW).schema()
        decimate = {"type": "object", "properties": {DECIMATE_WORD: factor}, "required": [DECIMATE_WORD]}
        shut = {**decimate, "additionalProperties": False}
        return {"anyOf": [{"enum": [NO_FILTER_WORD, DECIMATE_WORD]}, schema, shut]}

    def spelling(self, data: dict[str, Any]) -> Any:
        if self.decimates:
            return {DECIMATE_WORD: self.factor}
        return NO_FILTER_WORD if self.cutoff is None else {"cutoff": self.cutoff, "order": self.order, **data}


@dataclass(frozen=True)
class EvaluationFilter(Settings):
    """``{cutoff: 10, order: 4}``: cutoff [Hz] and order of one pass.

    Percentages are 100 · RMS(τ_f − τ̂_f) / RMS(τ_f) over every sample: τ_f is the measured torque through a zero-phase
    Butterworth filter, τ̂_f the prediction through the same one. Edges are cut; nothing is decimated, and rest counts
    like motion. So methods with filters and dead zones of their own are compared by one figure."""

    cutoff: Annotated[float, Number(above=0.0, unit="Hz")]
    order: Annotated[int, Whole(1)] = 4

    def __post_init__(self) -> None:
        _ = self.parallel  # refuses orders that no filter has

    @property
    def parallel(self) -> ParallelFilter:
        return ParallelFilter(Butterworth(self.cutoff, self.order), factor=1)

    def judging(self, runs: Iterable[Run], where: str) -> InverseDynamic:
        """Of runs, which must allow it; where: the setting stands, for messages."""
        try:
            for part in bounded_parts(runs):
                self.parallel.at(part.rate, part.torque_bandwidth)
        except RecordingError as error:
            raise ExciterError(f"{where}: {error}") from None
        return InverseDynamic(self.parallel, 0.0)
