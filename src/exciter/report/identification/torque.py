"""Measured and predicted torque of a run, and what lies between them."""

from __future__ import annotations

from exciter.report.identification.drawn import Drawn, per_joint
from exciter.report.joint_choice import joint_choice
from exciter.report.markup import Markup
from exciter.report.plot import Line, Plot
from exciter.report.section import Section


def torque_section(drawn: Drawn) -> Section:
    prediction = drawn.prediction
    seen = "This run was identified from." if drawn.seen else "This motion was never used for identification."
    rests = prediction.moves is not None and not prediction.moves.all()
    resting = "; where a joint with dry friction rests it has no equation, and both drop towards zero" if rests else ""
    text = (
        f"{seen} Measured and predicted are shown as they enter the equations, filtered alike{resting}. The band is "
        "the 95 % confidence band of the prediction that the parameters' covariance gives; it is often too narrow to "
        "be seen. Click into a plot to send the robot above to that instant."
    )
    if drawn.start:
        text += " Time counts from the beginning of the log."
    if not prediction.complete:
        text += f" Only the first {len(prediction)} instants are drawn."
    plots = {j: torque_plot(drawn, j) for j in range(len(prediction.joints))}
    contents = (joint_choice(prediction.joints), per_joint(plots))
    return Section(f"torque-{drawn.group}", f"Torque of {drawn.name}, {drawn.kind}", text, contents)


def torque_plot(drawn: Drawn, j: int) -> Markup:
    prediction = drawn.prediction
    name, unit = prediction.joints[j], prediction.units[j]
    predicted, band = prediction.predicted[:, j], prediction.band[:, j]
    lines = [
        Line("lower end", predicted - band, unit),
        Line("upper end", predicted + band, unit),
        Line("measured", prediction.measured[:, j], unit, width=5.0, colour="halo"),
        Line("predicted", predicted, unit, width=1.4),
        Line("residual", prediction.residual[:, j], unit, width=1.2),
    ]
    label = f"{'force' if unit == 'N' else 'torque'} [{unit}]" if unit else "both sides"
    return Plot(name, prediction.time, "time [s]", label, lines, group=drawn.group, band=(0, 1)).html()
