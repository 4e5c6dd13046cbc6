"""A log while it is written: text that a pipe or a growing file brings, by its header or a recording.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from exciter.errors import ExciterError, RecordingError
from exciter.experiment.recording import description
from exciter.experiment.recording.own_log_format import companion
from exciter.experiment.recording.recording_file import RecordingFile, recording_as_described
from exciter.experiment.sources.live_text import MOST_BAD_LINES, Feed, LiveText, Told
from exciter.experiment.sources.open_source import READER_OF_SUFFIX
from exciter.robot.yaml_file import read_yaml
from exciter.settings import keys_of, known_keys

TEXT_FORMATS = ("csv", "exciter", "ur-rtde", "libfranka")  #: of which lines can be read one by one
STREAM_FILE = "stream.csv"  #: what a description may call what it does not name


def open_live(
    path: Path | None,
    described: Path | None = None,
    *,
    wait: float | None = None,
    most_bad: int = MOST_BAD_LINES,
    tell: Told = lambda line: None,
    feed: Feed | None = None,
) -> RecordingFile:
    """Of a file that grows, or standard input (None). described: recording.yaml of foreign columns; its ``file`` does
    not count. wait [s]: see ``Feed``, which is made unless given. tell: is told each line that is left out."""
    feed = Feed(path, wait, tell) if feed is None else feed
    try:
        user = _described(path, described)
        reading = None if user is None else description.reading_of(user, str(described or path))
        if path is not None and READER_OF_SUFFIX.get(path.suffix.lower(), "csv") != "csv":
            raise RecordingError(f"'{path}' is no text that grows line by line; give a .csv, or identify from the log")
        options: dict[str, Any] = {} if reading is None else dict(reading.options)
        source = LiveText(feed, most_bad=most_bad, tell=tell, **options)
        if user is None:
            form = description.recognised(source)
            if form is None:
                listed = ", ".join(source.names[:8]) + (", …" if len(source.names) > 8 else "")
                why = f"{feed.name} begins with {listed}, where the first line must name columns (time, <joint>.q, "
                raise RecordingError(f"{why}<joint>.tau, …); describe others in a recording.yaml")
            user = {"file": STREAM_FILE, "format": form}
        file = recording_as_described(Path(feed.name), user, (), source)
    except ExciterError as error:
        raise RecordingError(str(error)) from None
    if any(own is not source for own, _ in file.columns.values()):
        raise RecordingError(f"{described}: a stream is one source; leave the file: of single signals out")
    if file.given.windows:
        raise RecordingError(f"{described}: windows are of whole logs; leave them out to follow a stream")
    if "time" not in file.columns:
        raise RecordingError(f"{described}: time: a stream needs a column of time; lines may get lost")
    source.time_column = file.columns["time"][1][0]
    return replace(file, path=Path(feed.name))


def _described(path: Path | None, described: Path | None) -> dict[str, Any] | None:
    """What is said of the columns; its file is the stream."""
    if described is None and path is not None:
        described = companion(path)
    if described is None:
        return None
    given = read_yaml(described, "recording")
    if not isinstance(given, Mapping):
        raise RecordingError(f"{described} is no recording.yaml; see docs/recordings.md")
    top = known_keys(given, str(described), keys_of(description.RecordingSettings), error=RecordingError)
    form = top.get("format")
    if form is None and isinstance(name := top.get("file"), str):
        form = READER_OF_SUFFIX.get(Path(name).suffix.lower(), "csv")
    if form is not None and form not in TEXT_FORMATS:
        why = f"{described}: format {form} cannot be read line by line"
        raise RecordingError(f"{why}; a stream is text: {', '.join(TEXT_FORMATS)}")
    return {**top, "file": STREAM_FILE}
