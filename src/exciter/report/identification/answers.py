"""What was asked for beside the robot's parameters: a payload, drive gains."""

from __future__ import annotations

import math
from collections.abc import Sequence

from exciter.identification.drive_gains import DriveGains
from exciter.identification.payload import LOAD_QUANTITIES, LOAD_UNITS, PayloadEstimate
from exciter.notes import in_one_line, texts
from exciter.report.identification.parameters import listed
from exciter.report.markup import Markup, number, percent
from exciter.report.section import Section
from exciter.report.table import Bar, Cell, Table, Word

PAYLOAD_WORDS = {"mass": "mass", "c": "centre of mass, ", "I": "inertia about the centre, "}


def payload_section(payload: PayloadEstimate) -> Section:
    text = (
        f"The load on frame {payload.frame}, in axes of that frame; the inertia is about the centre of mass. Standard "
        f"deviations rest on this: {in_one_line(payload.assumptions)}."
    )
    low, high = payload.interval()
    rows: list[tuple[Cell, ...]] = [
        (quantity_words(name), value, std, unit, f"{number(a)} … {number(b)}" if math.isfinite(std) else "–")
        for name, unit, value, std, a, b in zip(
            LOAD_QUANTITIES, LOAD_UNITS, payload.values.tolist(), payload.std.tolist(), low, high, strict=True
        )
    ]
    table = Table(f"Payload on {payload.frame}", ("quantity", "value", "σ", "unit", "95 % interval"), rows)
    return Section("payload", "Payload", text, (table.html(), *said(texts(payload.notes))))


def quantity_words(name: str) -> str:
    """``centre of mass, x`` for cx, ``inertia about the centre, xy`` for Ixy."""
    return name if name == "mass" else f"{PAYLOAD_WORDS[name[0]]}{name[1:]}"


def gains_section(gains: DriveGains) -> Section:
    text = "Torque per current of every drive, found together with the parameters. "
    text += f"σ rest on this: {in_one_line(gains.assumptions)}."
    low, high = gains.interval()
    rows: list[tuple[Cell, ...]] = []
    for j, joint in enumerate(gains.joints):
        relative = float(gains.relative_std_percent[j])
        known = bool(gains.determined[j])
        length = math.log10(max(relative, 1e-3) / 0.1) / 3.0 if known else 0.0
        rows.append(
            (
                joint,
                float(gains.gains[j]),
                float(gains.std[j]) if known else math.nan,
                Bar(relative, percent(relative / 100.0) if known else "–", length),
                f"{number(low[j])} … {number(high[j])}" if known else "–",
                float(gains.noise[j]),
                Word("determined", "good") if known else Word("not determined", "poor"),
            )
        )
    headings = ("joint", "gain [N·m/A]", "σ [N·m/A]", "σ / gain", "95 % interval", "current noise σ [A]", "status")
    return Section(
        "gains", "Drive gains", text, (Table("Drive gains", headings, rows).html(), *said(texts(gains.notes)))
    )


def said(sentences: Sequence[str]) -> tuple[Markup, ...]:
    return (listed(sentences),) if sentences else ()
