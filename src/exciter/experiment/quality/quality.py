"""The quality check: all checks, on a recording or on a log larger than memory, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.quality.drive_checks import coupled_drives, delay, low_pass
from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.motion_checks import (
    excitation,
    moves_too_little,
    periodicity,
    resting_joints,
    standstill,
    velocity,
)
from exciter.experiment.quality.motion_checks import planned as planned_motion
from exciter.experiment.quality.sample_checks import (
    beyond_limits,
    duplicates,
    held,
    jitter,
    jumps,
    lost_samples,
    missing_values,
    outliers,
    quantisation,
    rate,
    repeated_rows,
    saturation,
    stuck,
)
from exciter.experiment.quality.sample_survey import CHUNK_SAMPLES, Survey, survey
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.quality.torque_checks import (
    explained,
    order_and_signs,
    torque_scale,
    units,
    unjudged,
    with_reasons,
    zero,
)
from exciter.experiment.recording.recording import Recording
from exciter.labelled import table_html
from exciter.notes import Note, Severity, note, texts
from exciter.robot.robot import Robot

Check = Callable[[Evidence], Iterator[Note]]
#: The first ones judge any log; the others need some samples in every channel.
CHECKS_OF_ANY_LOG: tuple[Check, ...] = (rate, jitter, lost_samples, duplicates, missing_values)
CHECKS_OF_ENOUGH_SAMPLES: tuple[Check, ...] = (
    units,
    stuck,
    repeated_rows,
    held,
    quantisation,
    saturation,
    beyond_limits,
    jumps,
    outliers,
    standstill,
    resting_joints,
    velocity,
    order_and_signs,
    torque_scale,
    zero,
    explained,
    coupled_drives,
    delay,
    low_pass,
    periodicity,
    planned_motion,
    moves_too_little,
    excitation,
)
CHECKS = CHECKS_OF_ANY_LOG + CHECKS_OF_ENOUGH_SAMPLES
TOO_LITTLE_DATA = "there are too few usable samples to check anything else"


@dataclass(frozen=True)
class Quality:
    """All findings on a recording, the gravest first. skipped: what could not be checked, and why.

    >>> quality = ex.inspect(robot, log)
    >>> quality.usable, quality.samples == len(log)
    (True, True)
    """

    joints: tuple[str, ...]
    samples: int
    duration: float
    rate: float
    findings: tuple[Note, ...]
    skipped: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", tuple(sorted(self.findings, key=lambda f: -f.severity)))

    def of(self, severity: Severity) -> tuple[Note, ...]:
        return tuple(f for f in self.findings if f.severity == severity)

    @property
    def problems(self) -> tuple[Note, ...]:
        return self.of(Severity.PROBLEM)

    @property
    def warnings(self) -> tuple[Note, ...]:
        return self.of(Severity.WARNING)

    @property
    def usable(self) -> bool:
        """No problem was found; warnings still ask for care."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """One sentence."""
        return f"{self.word}: {_listed(self.problems or self.warnings) or 'nothing suspicious was found'}"

    @property
    def word(self) -> str:
        """The verdict, short."""
        return "not usable as it is" if self.problems else "usable with care" if self.warnings else "usable"

    def __repr__(self) -> str:
        return f"<{self.verdict}>"

    def __str__(self) -> str:
        """The verdict, then a line for each finding."""
        findings = (f"{one.severity}: {one}" for one in self.findings)
        return "\n".join([self.verdict, *findings, *(f"not checked: {one.text}" for one in self.skipped)])

    def _repr_html_(self) -> str:
        rows = [[str(f.severity), f.subject, f.joint or "", f.text] for f in self.findings]
        return table_html(self.verdict, ("", "finding", "joint", ""), rows, whole=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "verdict": self.verdict,
            "usable": self.usable,
            "joints": list(self.joints),
            "samples": self.samples,
            "duration": self.duration,
            "rate": self.rate,
            "findings": [
                {
                    "severity": str(one.severity),
                    "what": one.subject,
                    "joint": one.joint,
                    "words": one.text,
                    "numbers": dict(one.numbers),
                }
                for one in self.findings
            ],
            "skipped": texts(self.skipped),
        }


def _listed(findings: tuple[Note, ...]) -> str:
    """``stuck sensor (joint_2, joint_3), delay``."""
    joints: dict[str, list[str]] = {}
    for finding in findings:
        joints.setdefault(finding.subject, []).extend([finding.joint] if finding.joint else [])
    return ", ".join(f"{what} ({', '.join(dict.fromkeys(of))})" if of else what for what, of in joints.items())


def check(
    recording: Recording,
    robot: Robot | None = None,
    model: DynamicModel | None = None,
    planned: Curve | None = None,
    thresholds: Thresholds | None = None,
) -> Quality:
    """The quality of a recording, before anything is computed from it; nothing is changed.

    robot, or a model of it: joints are taken by name. planned: the motion that was commanded.
    """
    return check_stream(recording.chunks(CHUNK_SAMPLES), robot, model, planned, thresholds)


def check_stream(
    pieces: Iterable[Recording],
    robot: Robot | None = None,
    model: DynamicModel | None = None,
    planned: Curve | None = None,
    thresholds: Thresholds | None = None,
) -> Quality:
    """The same of pieces in order of time, in memory that does not grow with them: counts are of all samples, expensive
    checks use evenly spread windows."""
    limits = thresholds or Thresholds()
    robot = model.robot if model is not None else robot
    arranged = pieces if robot is None else (piece.arranged(robot) for piece in pieces)
    counted = survey(arranged, robot, limits)
    if robot is not None and counted.about.gravity is not None:
        robot = replace(robot, gravity=np.array(counted.about.gravity))
    evidence = Evidence(counted, limits, robot, model, planned)
    with threadpool_limits(1):  # small matrices: threads would wait for each other
        chosen = CHECKS if enough(counted, limits) else CHECKS_OF_ANY_LOG
        findings = with_reasons([finding for one in chosen for finding in one(evidence)])
        left_out = tuple(skipped(evidence)) if chosen is CHECKS else (note("samples", TOO_LITTLE_DATA),)
    timing = counted.timing
    return Quality(
        joints=counted.joints,
        samples=timing.samples,
        duration=timing.duration,
        rate=timing.rate,
        findings=findings,
        skipped=left_out,
    )


def enough(counted: Survey, limits: Thresholds) -> bool:
    """Whether every channel has numbers in most of its samples, and there are some samples, at sane times."""
    most, timing = max(counted.missing.count.values(), default=0), counted.timing
    there = timing.samples >= limits.fewest_samples and most <= 0.5 * timing.samples
    return there and timing.longest <= limits.longest_step and timing.usual >= limits.shortest_step


def skipped(evidence: Evidence) -> Iterator[Note]:
    """What could not be checked, and why."""
    said = dict[str, str]()
    if not evidence.survey.windows.complete:
        part = sum(len(window) for window in evidence.windows)
        said["long log"] = f"the log is long: spectra, delay and excitation were judged on {part} samples in evenly "
        said["long log"] += "spread windows"
    if evidence.robot is None:
        said["robot"] = "no robot was given: limits, joint order, signs and excitation were not judged"
    elif not evidence.inertias_known:
        said["inertias"] = "the description's inertias are placeholders: joint order was not judged, signs by friction "
        said["inertias"] += "alone"
    if evidence.effort_name is None:
        said["torque"] = "neither torque nor current was recorded: signs, delay and excitation were not judged"
    elif evidence.effort_unit == "A":
        said["currents"] = "currents without gains: judged in amperes; identification needs gains [N·m/A]"
    if evidence.smooth is None:
        said["derivatives"] = "the recording is too short, or has too many gaps, for a filter: checks that need "
        said["derivatives"] += "derivatives were left out"
    if joints := unjudged(evidence):
        said["joint order"] = f"the joint order of {', '.join(joints)}: exchanged torques would not be noticed"
    if evidence.delays is not None and not evidence.delays.known:
        said["delay"] = f"the delay between torque and position is not determined: {evidence.delays.why_not()}"
    if evidence.planned is None:
        said["planned motion"] = "no planned motion was given to compare with"
    yield from (note(subject, text) for subject, text in said.items())
