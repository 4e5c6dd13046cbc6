"""What the model misses: residuals against velocity, load, position, time and temperature."""

from __future__ import annotations

import math
from itertools import groupby

from exciter.report.identification.drawn import Drawn, per_joint
from exciter.report.identification.parameters import listed
from exciter.report.joint_choice import joint_choice
from exciter.report.markup import Markup, chance, percent
from exciter.report.plot import Line, Plot
from exciter.report.section import Section, folded
from exciter.report.table import Bar, Cell, Table, Word
from exciter.validation.structure import Structure


def structure_section(drawn: Drawn) -> Section | None:
    """None where the run is too short to tell."""
    if not drawn.found.structures:
        return None
    joints = drawn.prediction.joints
    text = (
        f"Mean residual of {drawn.name} ({drawn.kind}) in bins of a quantity, with two standard errors to both sides, "
        "which hold for residuals that are alike from instant to instant. A mean that leaves zero shows what the model "
        "misses."
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.joint,
            one.quantity,
            Bar(one.share, percent(max(one.share, 0.0)), one.share),
            Bar(one.dependence.p_value, chance(one.dependence.p_value), math.nan),
            Word("depends", "fair") if one.found else Word("by chance", "good"),
        )
        for one in drawn.found.structures
    ]
    headings = ("joint", "quantity", "share of the residual's variance", "chance of so much", "verdict")
    table = Table(f"Whether the residual of {drawn.name} depends on a quantity", headings, rows)
    said = [one.words for one in drawn.found.structures if one.found]
    words = listed(said) if said else listed(["nothing is missed that velocity, load, position or time would show"])
    by_quantity = sorted(drawn.found.structures, key=lambda one: one.quantity)
    ordered = sorted(
        ((quantity, list(some)) for quantity, some in groupby(by_quantity, key=lambda one: one.quantity)),
        key=lambda pair: ("velocity", "load", "time", "position", "temperature").index(pair[0]),
    )
    plots = [
        folded(
            f"Against {quantity}",
            per_joint({joints.index(one.joint): structure_plot(one, drawn) for one in sorted_by(some, joints)}),
            opened=k == 0,
        )
        for k, (quantity, some) in enumerate(ordered)
    ]
    return Section("structure", "What the model misses", text, (words, joint_choice(joints), *plots, table.html()))


def sorted_by(some: list[Structure], joints: tuple[str, ...]) -> list[Structure]:
    return sorted(some, key=lambda one: joints.index(one.joint))


def structure_plot(one: Structure, drawn: Drawn) -> Markup:
    found = one.dependence
    lower, upper = found.band
    unit = drawn.prediction.units[drawn.prediction.joints.index(one.joint)]
    lines = [
        Line("lower end", lower, unit),
        Line("upper end", upper, unit),
        Line("mean residual", found.means, unit, colour="c1"),
    ]
    label = f"{one.quantity} [{one.unit}]" if one.unit else one.quantity
    title = f"residual [{unit}]" if unit else "residual"
    band = "± 2 standard errors"
    centres = found.centres - (drawn.start if one.quantity == "time" else 0.0)
    return Plot(one.joint, centres, label, title, lines, band=(0, 1), band_label=band, level=0.0).html()
