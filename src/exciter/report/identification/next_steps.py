"""What to do with a model, or about it, after a first look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exciter.experiment.quality.finding import Quality
from exciter.identification.identification import Identification
from exciter.report.identification.drawn import Drawn, decisive

POOR_MOTION = ("small motion", "poor excitation")  #: findings of the quality check


def next_steps(
    found: Identification, runs: Sequence[Drawn], quality: Mapping[str, Quality], weak: Sequence[str]
) -> list[str]:
    """The most urgent first. weak: joints of whose torque too much is left."""
    steps = []
    if all(run.seen for run in runs):
        steps.append(
            "Record other motion and give it with --validate: a fit alone does not tell how well the model predicts."
        )
    names = {run.name for run in found.problem.runs}
    seen = {finding.what for log, one in quality.items() if log in names for finding in one.warnings}
    if any(what in seen for what in POOR_MOTION):
        steps.append(
            "Let the robot move more (exciter design): this motion excites too little, so that prior knowledge decides "
            "part of the parameters. Until then trust the model for motion like that of the logs."
        )
    if weak:
        steps.append(
            f"Do not rely on the predicted torque of {', '.join(weak)}: much of it is left, see What the model misses. "
            "Where the torque itself is small this may not matter."
        )
    missed = [one for one in decisive(runs).found.structures or () if one.found]
    if missed:
        most = max(missed, key=lambda one: one.share)
        steps.append(
            f"What is left of {most.joint} depends on {most.quantity}: the model may lack a term. See What the model "
            "misses."
        )
    if found.physically_consistent:
        steps.append(
            "exciter export writes the model for simulators and controllers; exciter validate judges it on other logs."
        )
    return steps
