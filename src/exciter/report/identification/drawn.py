"""The runs of a report as its sections draw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from exciter.report.markup import Markup, element
from exciter.validation.prediction import Prediction
from exciter.validation.validation import RunValidation
from exciter.validation.verdict import Verdict

CLOCK = 1e6  #: [s] a log that begins later has the time of a clock: what is drawn counts from its beginning
FIT, UNSEEN = "identified from", "never seen"


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a model makes of a run. group: of the plots over its time. seen: whether it was identified from."""

    found: RunValidation
    group: str
    seen: bool

    @cached_property
    def start(self) -> float:
        """[s] that is taken off all times."""
        first = float(self.found.prediction.time[0])
        return first if abs(first) > CLOCK else 0.0

    @cached_property
    def prediction(self) -> Prediction:
        found = self.found.prediction
        return replace(found, time=found.time - self.start)

    @property
    def name(self) -> str:
        return self.found.name

    @property
    def kind(self) -> str:
        return FIT if self.seen else UNSEEN


def drawn_runs(verdict: Verdict) -> tuple[Drawn, ...]:
    """The runs identified from, then those never seen."""
    kinds = [(run, seen) for found, seen in ((verdict.fit, True), (verdict.unseen, False)) for run in found.runs]
    return tuple(Drawn(run, f"run{k}", seen) for k, (run, seen) in enumerate(kinds))


def per_joint(parts: Mapping[int, Markup]) -> Markup:
    """By the number of the joint, side by side where there is room; the choice of a joint shows its part alone."""
    shown = (element("div", part, class_="of-joint", data_joint=j) for j, part in parts.items())
    return element("div", *shown, class_="pair")
