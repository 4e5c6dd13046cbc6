"""The quality check: all checks, on a recording or on a log larger than memory, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.plan import PlannedStage
from exciter.experiment.quality import base_checks as free_base
from exciter.experiment.quality import command_checks as command
from exciter.experiment.quality import motion_checks as motion
from exciter.experiment.quality import sample_checks as samples
from exciter.experiment.quality import stage_checks as stages
from exciter.experiment.quality import torque_checks as torque
from exciter.experiment.quality.evidence import CHUNK_SAMPLES, Evidence
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.base_joints import arranged_pieces
from exciter.experiment.recording.recording import FOR_COMMANDS, Recording
from exciter.labelled import table_html
from exciter.notes import Note, Severity, note, texts
from exciter.robot.robot import Robot
from exciter.workers import one_thread

Check = Callable[[Evidence], Iterator[Note]]
CHECKS_OF_ANY_LOG: tuple[Check, ...] = samples.CHECKS_OF_TIME
CHECKS = CHECKS_OF_ANY_LOG + samples.CHECKS_OF_VALUES + motion.CHECKS_OF_REST  # these need samples in every channel
CHECKS += command.CHECKS_OF_COMMANDS
CHECKS += free_base.CHECKS_OF_A_FREE_BASE + torque.CHECKS_OF_TORQUE + motion.CHECKS_OF_EXCITATION
TOO_LITTLE_DATA = "there are too few usable samples to check anything else"


@dataclass(frozen=True)
class Quality:
    """All findings on a recording, the gravest first. skipped: what could not be checked, and why.

    >>> quality = ex.inspect(robot, log)
    >>> quality.usable, quality.samples == len(log)
    (True, True)"""

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
        """One sentence: ``usable with care: stuck sensor (joint_2, joint_3), delay``."""
        joints: dict[str, list[str]] = {}
        for finding in self.problems or self.warnings:
            joints.setdefault(finding.subject, []).extend([finding.joint] if finding.joint else [])
        listed = ", ".join(f"{what} ({', '.join(dict.fromkeys(of))})" if of else what for what, of in joints.items())
        return f"{self.word}: {listed or 'nothing suspicious was found'}"

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
        verdict = {"verdict": self.verdict, "usable": self.usable, "joints": list(self.joints)}
        extent = {"samples": self.samples, "duration": self.duration, "rate": self.rate}
        keys = ("severity", "what", "joint", "words", "numbers")
        rows = ((str(f.severity), f.subject, f.joint, f.text, dict(f.numbers)) for f in self.findings)
        findings = [dict(zip(keys, row, strict=True)) for row in rows]
        return {**verdict, **extent, "findings": findings, "skipped": texts(self.skipped)}


def check(
    recording: Recording | Iterable[Recording],
    robot: Robot | None = None,
    model: DynamicModel | None = None,
    planned: Curve | None = None,
    thresholds: Thresholds | None = None,
    *,
    loaded: bool = False,
    stage: PlannedStage | None = None,
) -> Quality:
    """The quality of a recording, before anything is computed from it; nothing is changed. Of one given as pieces in
    order of time, in bounded memory: expensive checks use evenly spread windows. robot, or a model of it: joints are
    taken by name. planned: the motion that was commanded. loaded: the robot carries a load that nobody knows. stage:
    of a plan, that the log is of: what makes no sense for its purpose is not asked, and what it must be is."""
    robot = model.robot if model is not None else robot
    pieces = recording.chunks(CHUNK_SAMPLES) if isinstance(recording, Recording) else recording
    arranged = pieces if robot is None else arranged_pieces(pieces, robot)
    evidence = Evidence(arranged, thresholds or Thresholds(), robot, model, planned, loaded=loaded, stage=stage)
    timing, limits, most = evidence.timing, evidence.limits, max(evidence.missing.count.values(), default=0)
    enough = timing.samples >= limits.fewest_samples and most <= 0.5 * timing.samples  # with numbers, in every channel
    enough = enough and timing.longest <= limits.longest_step and timing.usual >= limits.shortest_step
    with one_thread():  # small matrices: threads would wait for each other
        chosen = stages.checks_of(CHECKS, stage) if enough else CHECKS_OF_ANY_LOG
        findings = torque.with_reasons([finding for one in chosen for finding in one(evidence)])
        skipped = _skipped(evidence) if enough else {"samples": TOO_LITTLE_DATA}
    left_out = tuple(note(subject, text) for subject, text in skipped.items())
    extent: dict[str, Any] = {name: getattr(timing, name) for name in ("samples", "duration", "rate")}
    return Quality(joints=evidence.joints, findings=findings, skipped=left_out, **extent)


def _skipped(evidence: Evidence) -> dict[str, str]:
    said = dict[str, str]()
    if not evidence.spread.complete:
        part = f"{sum(map(len, evidence.windows))} samples in evenly spread windows"
        said["long log"] = f"the log is long: spectra, delay and excitation were judged on {part}"
    if evidence.robot is None:
        said["robot"] = "no robot was given: limits, joint order, signs and excitation were not judged"
    elif evidence.other_units:
        said["units"] = "positions or times are in another unit: torques were not judged"
    elif evidence.too_short:
        said["short log"] = f"the log is shorter than {evidence.limits.shortest_judged:g} s: torques were not judged"
    elif evidence.at_limits:
        said["drives at their limits"] = (
            "drives are at their limits nearly all the time: order and signs were not judged"
        )
    elif evidence.in_turns:
        said["stage"] = f"joint order, and signs beyond those of friction: {stages.as_planned(evidence)}"
    elif not evidence.inertias_known:
        unjudged = "joint order was not judged, signs by friction alone"
        said["inertias"] = f"the description's inertias are placeholders: {unjudged}"
    if evidence.effort_name is None:
        said["torque"] = "neither torque nor current was recorded: signs, delay and excitation were not judged; "
        said["torque"] += FOR_COMMANDS if command.commanded(evidence) else "identification needs one of them"
    elif evidence.effort_unit == "A":
        said["currents"] = "currents without gains: judged in amperes; identification needs gains [N·m/A]"
    if evidence.smooth is None:
        why = "the recording is too short, or has too many gaps, for a filter"
        said["derivatives"] = f"{why}: checks that need derivatives were left out"
    if evidence.held:
        joints = ", ".join(evidence.joints[j] for j in evidence.held)
        said["locked joints"] = f"the torque of {joints}, which the stage does not move: friction holds them"
    if evidence.unusable:
        joints = ", ".join(evidence.joints[j] for j in evidence.unusable)
        said["unusable torque"] = f"the torque of {joints}, which the recording.yaml calls unusable"
    if found := [j for j in evidence.arrangement.unclear if j not in evidence.silent]:
        joints = ", ".join(evidence.joints[j] for j in found)
        said["joint order"] = f"the joint order of {joints}: exchanged torques would not be noticed"
    if (delays := evidence.delays) is not None and not delays.known:
        why = "too few samples, or the torques hardly depend on it"
        why = why if delays.edge is None else f"the best fit lies {1e3 * abs(delays.edge):.3g} ms or more off"
        said["delay"] = f"the delay between torque and position is not determined: {why}"
    if evidence.planned is None:
        said["planned motion"] = "no planned motion was given to compare with"
    return said
