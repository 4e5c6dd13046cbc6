"""The report of a stream that was followed: parameters over time with their bands, and alarms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.identification.following.follow_settings import FollowSettings
from exciter.identification.following.residual_alarm import ResidualAlarm
from exciter.notes import Note, Severity, notable, texts
from exciter.parameters.parameter_names import meaning, reading_order
from exciter.report.markup import explained, many, number
from exciter.report.page import Page, settings_section
from exciter.report.parts import Bar, Cards, Folded, HtmlTable, PerJoint, Remarks, Section, Sentences, Summary, Word
from exciter.report.plot import Line, Plot, band_lines
from exciter.typing import Array

MOST_ALARMS_LISTED = 200
MOST_DRAWN_STD_RATIO = 10.0  #: to the last: values that are less sure, and larger than the last value, are not drawn


class FollowedStream(Protocol):
    """What the report is made of: a ``Followed``."""

    @property
    def model(self) -> DynamicModel: ...
    @property
    def settings(self) -> FollowSettings: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def units(self) -> tuple[str, ...]: ...
    @property
    def joints(self) -> tuple[str, ...]: ...
    @property
    def time(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def std(self) -> Array: ...
    @property
    def noise(self) -> Array: ...
    @property
    def alarms(self) -> tuple[ResidualAlarm, ...]: ...
    @property
    def used(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def latency(self) -> float: ...
    @property
    def started(self) -> str: ...
    @property
    def judged(self) -> bool: ...
    @property
    def notes(self) -> tuple[Note, ...]: ...
    @property
    def band(self) -> tuple[Array, Array]: ...
    @property
    def drifting(self) -> tuple[str, ...]: ...
    @property
    def determined(self) -> tuple[bool, ...]: ...
    def to_dict(self) -> dict[str, Any]: ...


def follow_page(followed: FollowedStream) -> Page:
    moving = [k for k in reading_order(followed.names) if followed.names[k] in followed.drifting]
    still = [k for k in reading_order(followed.names) if followed.names[k] not in followed.drifting]
    sections = [
        *([alarm_section(followed)] if followed.alarms else []),
        *([history_section(followed, "drifting", "Parameters that may drift", moving)] if moving else []),
        *([history_section(followed, "still", "Parameters that stay", still)] if still else []),
        parameter_section(followed),
        reproduce_section(followed),
    ]
    return Page(f"{followed.model.robot.name}, followed", headline(followed), sections)


def headline(followed: FollowedStream) -> Summary:
    lasting = [one for one in followed.alarms if one.until is None]
    badge = Word("no alarm", "good") if followed.judged else Word("not judged", "unproved")
    if followed.alarms:
        badge = Word(many(len(followed.alarms), "alarm"), "poor" if lasting else "fair")
    figures = {
        "followed": f"{number(followed.time[-1] - followed.time[0])} s",
        "equations used": f"{followed.used:,}".replace(",", "\u202f"),
        "left out in alarm": f"{followed.skipped:,}".replace(",", "\u202f"),
        "parameters determined": f"{sum(followed.determined)} of {len(followed.names)}",
        "sample to answer": f"{number(followed.latency, 3)} s",
    }
    sentences = (explained("followed_done", followed=followed), explained("followed_alarms", followed=followed))
    return Summary(badge, sentences, (Remarks(Word("note", "fair"), texts(notable(followed.notes))), Cards(figures)))


def alarm_section(followed: FollowedStream) -> Section:
    rows = [
        (
            one.joint,
            float(one.since),
            "lasts" if one.until is None else float(one.until),
            float(one.raised),
            float(one.ratio),
            np.nan if one.torque is None else float(one.torque),
            np.nan if one.mean is None else float(one.mean),
        )
        for one in followed.alarms[:MOST_ALARMS_LISTED]
    ]
    size = "residual / expected"
    headings = ("joint", "since [s]", "until [s]", "noticed [s]", size, "rms [N·m, N]", "mean [N·m, N]")
    more = len(followed.alarms) - len(rows)
    caption = f"{more} more in followed.json" if more else ""
    table = HtmlTable(caption, headings, rows, "whole")
    return Section("alarms", "Alarms", explained("followed_alarm_table", alarm=followed.settings.alarm), (table,))


def history_section(followed: FollowedStream, key: str, title: str, which: Sequence[int]) -> Section:
    """A plot for each parameter."""
    plots = {place: _history(followed, k) for place, k in enumerate(which)}
    content = PerJoint(plots)
    folded = key == "still" and len(which) > 0
    part = Folded(f"{many(len(which), 'plot')}", (content,)) if folded else content
    return Section(key, title, explained(f"followed_{key}"), (part,))


def _history(followed: FollowedStream, k: int) -> Plot:
    name, unit = followed.names[k], followed.units[k]
    std, value = followed.std[:, k], followed.values[-1, k]
    drawn = std <= max(
        np.abs(np.nan_to_num(value)), MOST_DRAWN_STD_RATIO * std[-1]
    )  # else the beginning hides the rest
    values = np.where(drawn, followed.values[:, k], np.nan)
    low, high = (np.where(drawn, end[:, k], np.nan) for end in followed.band)
    alarmed = np.zeros(len(followed.time), dtype=bool)
    for one in followed.alarms:
        alarmed |= (followed.time >= one.since) & (followed.time <= (np.inf if one.until is None else one.until))
    lines = [*band_lines(low, high, unit), Line(name, values, unit)]
    if alarmed.any():
        there = np.where(alarmed, values, np.nan)
        lines.append(Line("in alarm", there, unit, points=True, width=4.0, colour="poor"))
    title = f"{name}: {meaning(name, followed.model.robot.joint_names, followed.model.robot.tree_names)}"
    return Plot(title, followed.time, "time [s]", f"{name} [{unit}]", lines, group="history", band=(0, 1))


def parameter_section(followed: FollowedStream) -> Section:
    order = reading_order(followed.names)
    low, high = followed.band
    joints = followed.model.robot.joint_names
    rows = []
    for k in order:
        value, std = float(followed.values[-1, k]), float(followed.std[-1, k])
        known = followed.determined[k]
        relative = 100.0 * std / abs(value) if known and value else np.nan
        words = "may drift" if followed.names[k] in followed.drifting else "stays"
        rows.append(
            (
                followed.names[k],
                meaning(followed.names[k], joints, followed.model.robot.tree_names),
                followed.units[k],
                value,
                std,
                Bar.relative_std(relative),
                float(low[-1, k]),
                float(high[-1, k]),
                words if known else "not determined yet",
            )
        )
    headings = ("parameter", "what it is", "unit", "value", "σ", "σ [%]", "from", "to", "drift")
    noise = HtmlTable.by_column(
        "σ of the equations of each joint", {"joint": list(followed.joints), "σ": followed.noise}
    )
    table = HtmlTable("at the end; from, to: 95 % interval", headings, rows)
    return Section("parameters", "Parameters at the end", explained("followed_parameters"), (table, noise))


def reproduce_section(followed: FollowedStream) -> Section:
    settings = followed.to_dict()["settings"]
    values = {"started from": followed.started, "from a sample to its answer [s]": number(followed.latency, 3)}
    done = Sentences(texts(one for one in followed.notes if one.severity is Severity.DONE))
    return settings_section(values, settings, "exciter.yaml", done, model=followed.model)
