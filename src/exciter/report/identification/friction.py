"""Friction of every joint over its velocity: the curves, and what the measured torque says to them."""

from __future__ import annotations

from collections.abc import Sequence

from exciter.dynamics.model import DynamicModel
from exciter.report.identification.drawn import per_joint
from exciter.report.joint_choice import joint_choice
from exciter.report.markup import Markup
from exciter.report.plain_words import named
from exciter.report.plot import Line, Plot
from exciter.report.section import Section
from exciter.validation.friction_curves import NOT_OF_VELOCITY, FrictionCurve


def friction_section(model: DynamicModel, curves: Sequence[FrictionCurve], runs: Sequence[str]) -> Section:
    """runs: names of those whose instants the points are."""
    text = (
        "The line is the identified friction while a joint slides at constant speed, with its 95 % band, an offset "
        "included; points are what was measured less everything else the model predicts (every instant of "
        f"{', '.join(runs)}, thinned). A cloud that bends away from the line asks for another "
        "friction model."
    )
    if any(term.has_memory for term in model.bound):
        text += (
            " Near standstill points leave the line: after a reversal friction builds up over a short travel, and "
            "filters blur it."
        )
    others = [named(term) for term in model.terms if isinstance(term, NOT_OF_VELOCITY)]
    if others:
        text += f" Not in the picture, since velocity alone does not tell it: {', '.join(dict.fromkeys(others))}."
    names = model.robot.joint_names
    plots = {names.index(curve.joint): curve_plot(curve) for curve in curves}
    if len(curves) < model.n:
        text += f" No friction curve: {', '.join(name for j, name in enumerate(names) if j not in plots)}."
    return Section("friction", "Friction", text, (joint_choice(names), per_joint(plots)))


def curve_plot(curve: FrictionCurve) -> Markup:
    unit = curve.unit
    lines = [
        Line("lower end", curve.friction - curve.band, unit),
        Line("upper end", curve.friction + curve.band, unit),
        Line("measured less the rest", curve.measured, unit, points=True),
        Line("friction", curve.friction, unit),
    ]
    label = f"velocity [{curve.velocity_unit}]"
    return Plot(curve.joint, curve.velocity, label, f"friction [{unit}]", lines, band=(0, 1)).html()
