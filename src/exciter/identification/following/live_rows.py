"""Equations of a log while it grows: the route to derivatives, the formulation and the filter that a batch goes
through, each as soon as what it looks at is there. Rows are those of ``identify`` on the same samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Payload, Recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.noise import peeked_at_motion
from exciter.experiment.signals.processed_motion import Processed, StreamingRoute
from exciter.experiment.signals.resample import peeked, sampling_rate
from exciter.identification.formulations.base_link import BaseLink
from exciter.identification.formulations.dynamic import BaseWrench
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.identify_config import IdentifyConfig, passed_share
from exciter.identification.runs.run import Run, without_load
from exciter.notes import Note, note
from exciter.typing import Array

STREAM_RATE_SAMPLES = 64  #: from which the rate of a stream is told
CHOOSING_SECONDS = 10.0  #: of motion, from which settings that were left open are chosen
PLANNING_SECONDS = 1.0  #: where none is


@dataclass(frozen=True, eq=False)
class LiveRows:
    """Rows of a stream with all settings made. chunks: of the samples, from the first on; typical: what choices were
    made from. latency [s]: from a sample to its equation. rate [Hz]: of the samples. torque_rms (n,): of typical ones;
    torque_noise (n,): σ of one, where it could be told. share: σ of filtered noise over that of a sample."""

    model: DynamicModel
    route: StreamingRoute
    formulation: Formulation
    chunks: Iterable[Recording]
    typical: Recording
    look_ahead: float
    latency: float
    rate: float
    share: float
    torque_rms: Array
    torque_noise: Array | None
    notes: tuple[Note, ...]
    payload: Payload | None = None
    silent: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        model: DynamicModel,
        config: IdentifyConfig,
        chunks: Iterable[Recording],
        look_ahead: float,
    ) -> LiveRows:
        """Of pieces that have the robot's joints, in order of time."""
        beginning, stream = peeked(filter(len, chunks), STREAM_RATE_SAMPLES)
        if beginning is None:
            raise RecordingError("the stream ended before its first sample")
        about = beginning.about
        if about.filter is not None:
            why = "an analogue filter before the sampling is undone on whole logs only"
            raise RecordingError(f"{why}: identify from the log, or leave filter: out of its recording.yaml")
        rate, notes = sampling_rate(beginning.time), list[Note]()
        route = config.route or FilteredDifferences()
        if not isinstance(route, StreamingRoute):
            text = f"a stream cannot be averaged over periods ({route.word}): its positions are low-passed instead"
            notes.append(note("route", text))
            route = FilteredDifferences()
        settings, open_route = config.settings, getattr(route, route.from_motion) is None
        choose = open_route or settings.filter is None or settings.dead_zone is None
        if choose:
            typical, stream = peeked_at_motion(stream, int(CHOOSING_SECONDS * rate))
        else:
            typical, stream = peeked(stream, int(PLANNING_SECONDS * rate))
        assert typical is not None
        runs: tuple[Run, ...] = ()
        if choose:
            runs = (Run(tuple(route.stream([typical], typical)), "the stream's beginning"),)
        formulation = config.formulation(runs)
        if isinstance(formulation, BaseWrench | BaseLink):
            raise RecordingError(f"{formulation.word} is not followed: choose dynamic, filtered, energy or power")
        plan = route.plan(typical)
        samples, seconds = plan.margin
        made = float(plan.known["rate"])
        latency, share, limit = max(samples / rate, look_ahead * seconds), 1.0, float(plan.known["torque_bandwidth"])
        both: ParallelFilter | None = getattr(formulation, "parallel_filter", None)
        if both is not None:
            latency += look_ahead * both.at(made, limit)[0].reach(made) / made
            share = passed_share(both, made, limit)
            prompt: Any = {"parallel_filter": replace(both, look_ahead=look_ahead)}
            if hasattr(formulation, "a"):  # its own filter, which is this one
                prompt["a"] = None
            formulation = cast(Formulation, replace(cast(Any, formulation), **prompt))
        torque = typical.needed_torque()
        return cls(
            model=model,
            route=route,
            formulation=formulation,
            chunks=stream,
            typical=typical,
            look_ahead=look_ahead,
            latency=latency,
            rate=made,
            share=share,
            torque_rms=(torque**2).mean(axis=0) ** 0.5,
            torque_noise=plan.known.get("torque_noise"),
            notes=(*notes, *plan.known["notes"]),
            payload=about.payload,
            silent=beginning.silent,
        )

    def __iter__(self) -> Iterator[Rows]:
        """Once: a stream is not read again."""
        pieces = map(self._ready, self.route.stream(self.chunks, self.typical, self.look_ahead))
        columns = self.formulation.base(self.model).independent
        rows = self.formulation.rows(self.model, pieces, columns)
        return (one for one in rows if len(one))

    def _ready(self, piece: Processed) -> Processed:
        piece = replace(piece, silent=self.silent) if self.silent else piece
        carried = self.payload is not None and self.payload.mass
        return without_load(self.model, self.payload, piece) if carried and self.payload is not None else piece
