"""A configuration to start from: what a robot's description says and leaves open, and every section with its defaults.

Lines that can be left as they are stand behind a #. What is not behind one holds already."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from typing import Any

import yaml

from exciter.errors import visible
from exciter.excitation.criteria.weighted_sums import SUFFICIENT_CRITERIA
from exciter.experiment.quality.evidence import USUAL_TERMS
from exciter.export import templates
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.formulations import FORMULATIONS
from exciter.robot.robot import Robot
from exciter.settings import written

SCHEMA_FILE = "exciter.schema.json"  #: beside the configuration, for editors


def starting_configuration(robot: Robot, source: str) -> str:
    """YAML for --config of every command. No text of the description can end a line, and so a comment."""
    made = templates("exciter.pipeline", finalize=lambda value: visible(str(value)))
    made.filters["flow"] = flow
    return made.get_template("exciter.yaml.in").render(
        schema=SCHEMA_FILE,
        source=shlex.quote(source),
        robot=robot,
        limits=_limits(robot),
        terms=written(USUAL_TERMS),
        torques=any(math.isfinite(joint.limits.torque) for joint in robot.joints),
        frames=[frame.name for frame in robot.frames] or [robot.joint_names[-1]],
        criteria=SUFFICIENT_CRITERIA,
        formulations=FORMULATIONS.words,
        estimators=ESTIMATORS.words,
    )


def _limits(robot: Robot) -> Iterator[tuple[str, str, str]]:
    """Of each kind its word, what is known of it, and what to do about it."""
    missing, assumed = robot.rateless, any(joint.limits.assumed for joint in robot.joints)
    of = "" if len(missing) == robot.n else f" for {', '.join(map(repr, missing))}"
    required = f"required{of}: the description has none; or give acceleration"
    for which in ("lower", "upper", "velocity", "acceleration", "jerk", "torque"):
        values = {joint.name: getattr(joint.limits, which) for joint in robot.joints}
        known = {name: round(value, 9) for name, value in values.items() if math.isfinite(value)}
        needed = which == "velocity" and missing
        if not known:
            yield which, "1.0             ", required if needed else "the description has none"
        elif which == "acceleration" and assumed:
            yield which, f"{flow(known)}    ", "assumed from the velocities: give your own"
        else:
            yield which, f"{flow(known)}    ", f"as described{f'; {required}' if needed else ''}"


def flow(value: Any) -> str:
    """YAML on one line."""
    text = str(yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False))
    return text.replace("\n...", "").strip()
