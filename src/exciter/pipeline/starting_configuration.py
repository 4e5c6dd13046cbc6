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
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.formulations import FORMULATIONS
from exciter.notes import texts
from exciter.robot.robot import Robot
from exciter.settings import written

SCHEMA_FILE = "exciter.schema.json"  #: beside the configuration, for editors
GRAVITY_BESIDE = "m/s² in the frame of the description's root link; turn it if that one hangs or stands on a wall"


def starting_configuration(robot: Robot, source: str) -> str:
    """YAML for --config of every command. No text of the description can end a line, and so a comment."""
    lines = [*_head(robot, source), *_robot(robot), *_design(robot), *_rest().splitlines()]
    return "\n".join(map(visible, lines)) + "\n"


def _head(robot: Robot, source: str) -> Iterator[str]:
    source = shlex.quote(source)
    yield f"# yaml-language-server: $schema={SCHEMA_FILE}"
    yield f"# Settings of {robot.name} for base, design, check, simulate, inspect and identify."
    yield "#"
    yield f"#   exciter design {source} -o design --config THIS_FILE"
    yield f"#   exciter check {source} design/trajectory.csv --config THIS_FILE"
    yield f"#   exciter identify {source} log.csv -o found --config THIS_FILE"
    yield "#"
    yield "# Units are SI: m, rad, s, kg, N·m. A line behind # shows what holds without it, or what could be said."
    yield from (f"# Note: {remark}" for remark in texts(robot.remarks))


def _robot(robot: Robot) -> Iterator[str]:
    yield ""
    yield "# -- the robot -------------------------------------------------------------------------------------------"
    yield f"# gravity: {flow(robot.gravity.tolist())}    # {GRAVITY_BESIDE}"
    yield "limits:                    # one number for all joints, or by name; .inf where there is none"
    missing = robot.rateless
    of = "" if len(missing) == robot.n else f" for {', '.join(map(repr, missing))}"
    for which in ("lower", "upper", "velocity", "acceleration", "jerk", "torque"):
        values = {joint.name: getattr(joint.limits, which) for joint in robot.joints}
        known = {name: round(value, 9) for name, value in values.items() if math.isfinite(value)}
        needed = which == "velocity" and missing
        required = f"required{of}: the description has none; or give acceleration"
        if not known:
            yield f"  # {which}: 1.0             # {required if needed else 'the description has none'}"
        elif which == "acceleration" and any(joint.limits.assumed for joint in robot.joints):
            yield f"  # {which}: {flow(known)}    # assumed from the velocities: give your own"
        else:
            yield f"  # {which}: {flow(known)}    # as described{f'; {required}' if needed else ''}"
    yield f"# lock: {flow({robot.joint_names[-1]: 0.0})}          # freeze a joint at a position"
    usual = flow(written(USUAL_TERMS))
    yield f"terms: {usual}    # of drives; no rotor where sensors on the links measure torque; docs/parameters.md"


DESIGN_HEAD = f"""
# -- exciter design, exciter check -----------------------------------------------------------------------
trajectory:
  family: fourier          # bspline, quintic, acceleration; to validate on: random-points, random-spline
  period: 10               # s
  harmonics: 5
  periods: 3               # how often it is run through: averages and noise come from repetition
  # rate: 200              # Hz, rows of the files
# criterion: d-optimal     # {", ".join(SUFFICIENT_CRITERIA)}
# noise: 1.0               # σ of the torques [N·m], one or per joint: how joints are weighed
constraints:"""


def _design(robot: Robot) -> Iterator[str]:
    frames = [frame.name for frame in robot.frames] or [robot.joint_names[-1]]
    yield from DESIGN_HEAD.splitlines()
    if any(math.isfinite(joint.limits.torque) for joint in robot.joints):
        yield "  torque: {margin: 0.1}    # 10 % of the torque limits are kept free"
    else:
        yield "  # torque: {margin: 0.1}  # needs limits: torque"
    if robot.collision_pairs:
        yield f"  # self_collision: {{clearance: 0.02}}    # m, of {len(robot.collision_pairs)} pairs of bodies"
    else:
        yield "  # self_collision: false    # the description has no bodies that could be kept apart"
    given = robot.ground is not None
    height = f"{robot.ground:<17g}" if given else f"{robot.base_bottom:<17.4g}"
    assumed = "" if given else ": assumed"
    yield f"  # ground: {height}# m, along z of the base, of what the robot is mounted on{assumed}; or none"
    yield f"  # workspace: {flow([{'frame': robot.tool_frame, 'z_min': 0.1}])}    # frames: {', '.join(frames)}"
    if robot.capsules:
        yield "  # obstacles: [{box: {lower: [0.4, -1, 0], upper: [0.8, 1, 0.3]}}]    # around it: only you know"
    else:
        yield "  # Obstacles need bodies with shapes; the description has none, so that only frames can be kept away."


def _rest() -> str:
    return f"""\
# starts: 16               # random starts, the best one counts
# seed: 0
# time_limit: 60           # s

# -- exciter simulate: a robot to rehearse on ------------------------------------------------------------
# simulate:
#   control: {{law: computed-torque, bandwidth: 20}}    # Hz; or pd
#   encoder: {{counts: 4096}}
#   torque: {{noise: 0.5}}                              # N·m
#   log: {{rate: 500}}                                  # Hz

# -- exciter identify ------------------------------------------------------------------------------------
identify:
  uncertainty: correlated  # hac, independent
  # What is left open is chosen from the logs, with its reason in the report, unless an estimator is given.
  # automatic: true        # also with the estimator below; false: usual settings, and wls
  # formulation: dynamic   # {", ".join(FORMULATIONS.words)}
  # estimator: consistent  # {", ".join(ESTIMATORS.words)}
  # filter: {{cutoff: 10}}   # Hz, of both sides of the equations
  # route: {{method: differences, cutoff: 20}}    # Hz, of positions before they are differentiated
  # friction: as-given     # that of terms: above, instead of choosing it for each joint
  # evaluation: {{cutoff: 10}}    # Hz; what percentages are of, to compare them with others'"""


def flow(value: Any) -> str:
    """YAML on one line."""
    text = str(yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False))
    return text.replace("\n...", "").strip()
