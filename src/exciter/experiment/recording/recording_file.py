"""A log on disk, native or described: read in pieces, whatever its size, or whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exciter.errors import RecordingError
from exciter.experiment.recording.about import About, SourceFile
from exciter.experiment.recording.clock import Clock
from exciter.experiment.recording.description import Description
from exciter.experiment.recording.lockstep import Lockstep, explained, fingerprints
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.repairs import Repairs
from exciter.notes import Note, warning
from exciter.typing import Array

ROWS = 65_536
MOST_BYTES = 1_000_000_000  # of samples in memory at once; joining them takes three times as much for a moment
FIELDS = {"position": "q", "velocity": "qd"} | {name: name for name in ("torque", "current", "wrench", "temperature")}


@dataclass(frozen=True, eq=False)
class RecordingFile:
    """A log that ``open_recording`` understood; nothing but its beginning has been read.

    files: (name, path) of all that it is read from. native: written by Exciter, so that every bit is kept.
    """

    path: Path
    description: Description
    columns: Lockstep
    files: tuple[tuple[str, Path], ...]
    native: bool = False

    @property
    def joints(self) -> tuple[str, ...]:
        return self.description.joints

    @property
    def signals(self) -> tuple[str, ...]:
        """Which of q, qd, torque, current, wrench, temperature there are."""
        return tuple(FIELDS[part.name] for part in self.columns.parts if part.name in FIELDS)

    @property
    def repair(self) -> Repairs:
        """What the recording.yaml lets be repaired."""
        return self.description.repair

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is allowed, but seldom meant."""
        if self.description.drive.keeps_power:
            return ()
        text = (
            "torque is not the transpose of drive: position, so that power differs between motors and joints; "
            "with Rp given, Rt = Rpᵀ unless losses are meant"
        )
        return (warning("drive", text, None, str(self.path)),)

    @cached_property
    def sources(self) -> tuple[SourceFile, ...]:
        """The files, with their SHA-256."""
        return fingerprints(self.files)

    @cached_property
    def about(self) -> About:
        """sources: what a native file says it was made from, otherwise the files themselves."""
        about = self.description.about
        return about if about.sources else replace(about, sources=self.sources)

    def chunks(self, rows: int = ROWS) -> Iterator[Recording]:
        """Pieces of at most ``rows`` samples, in order; what they hold does not depend on where they are cut."""
        if rows < 1:
            raise RecordingError(f"pieces of {rows} samples were asked for; give at least 1")
        clock, kept = Clock(self.description.time, str(self.path), partial(explained, self.columns)), 0
        for block in self.columns.blocks(rows):
            with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is told below, or is the log's
                piece = self._piece(block, clock)
            if piece is not None:
                kept += len(piece)
                yield piece
        if not clock.samples:
            raise RecordingError(f"{self.path} has no samples")
        if not kept:
            windows = ", ".join(f"{start:g} … {end:g}" for start, end in self.description.windows)
            raise RecordingError(
                f"{self.path}: windows keep none of its {clock.samples} samples: they ask for {windows} s, and the log "
                f"ends at {clock.last:g} s"
            )

    def read(self, limit: int = MOST_BYTES) -> Recording:
        """All of it; refused where its samples take more than ``limit`` bytes."""
        parts, size = [], 0
        for piece in self.chunks():
            size += sum(getattr(piece, name).nbytes for name in ("time", *piece.everything))
            if size > limit:
                raise RecordingError(
                    f"{self.path} is too large to be read at once: more than {limit / 1e9:g} GB of samples; "
                    "read it in pieces (chunks), or keep less of it (windows)"
                )
            parts.append(piece)
        return replace(Recording.join(parts), name=str(self.path), repairs=self.repair, notes=self.notes)

    def _piece(self, block: Mapping[str, Array], clock: Clock) -> Recording | None:
        """The next samples in SI units, on the joint side; None where no window keeps any."""
        first = clock.samples
        column = block["time"][:, 0] if "time" in block else None
        time = clock.instants(column, len(next(iter(block.values()))))
        keep = self._kept(time)
        if not keep.any():
            return None
        values = {}
        for signal in self.description.signals:
            if signal.name in block:
                joint_side = getattr(self.description.drive, signal.name)(signal.si(block[signal.name]))
                if not self.native:  # whose numbers are what they are
                    signal.check(joint_side, signal.of(self.joints), first)
                values[FIELDS[signal.name]] = joint_side[keep]
        return Recording(self.joints, time[keep], **values, about=self.about)

    def _kept(self, time: Array) -> NDArray[np.bool_]:
        windows = self.description.windows
        keep = np.full(len(time), not windows)
        for start, end in windows:
            keep |= (time >= start) & (time <= end)
        return keep
