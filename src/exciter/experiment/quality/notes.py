"""What deserves care, of logs and of what was made from them: one short line of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from exciter.experiment.quality.finding import Finding, Quality

LONGEST_NOTE = 170  #: characters; the whole text stands where the logs are judged
ENDS = ("; ", ": ", ", ")  #: where a note may be cut


def all_notes(notes: Iterable[str], quality: Mapping[str, Quality], joints: Sequence[str]) -> list[str]:
    """Warnings and problems of the logs, one line per kind; then the others, without those that say the same."""
    logs: dict[str, list[str]] = {}  # by what was found in them
    own = set()
    for run, found in quality.items():
        name = PurePath(run).name
        for line in grouped((*found.problems, *found.warnings)):
            logs.setdefault(line, []).append(name)
        own |= {f"{name}: {f.what}{'' if f.joint is None else f' of {f.joint}'}: {f.words}" for f in found.findings}
    lines = [f"{', '.join(names)}: {line}" for line, names in logs.items()]
    return lines + merged([note for note in notes if note not in own], joints)


def grouped(findings: Iterable[Finding]) -> list[str]:
    """One line for each kind of finding, with all joints it was made on: ``spikes: joint_1, joint_3``; and with what
    is said of all of them alike."""
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.what, []).append(finding)
    lines = []
    for what, some in kinds.items():
        joints = list(dict.fromkeys(finding.joint for finding in some if finding.joint))
        if len(joints) > 1:
            advice = {finding.words.partition(": ")[2] for finding in some}
            alike = advice.pop() if len(advice) == 1 else ""
            lines.append(f"{what}: {', '.join(joints)}{': ' if alike else ''}{shortened(alike)}")
        else:
            of = f" of {joints[0]}" if joints else ""
            lines.append(f"{what}{of}: {shortened(some[0].words)}")
    return lines


def shortened(words: str) -> str:
    """What is too long ends with a part of the sentence, and …"""
    if len(words) <= LONGEST_NOTE:
        return words
    head = words[:LONGEST_NOTE]
    cut = next((at for end in ENDS if (at := head.rfind(end)) > LONGEST_NOTE // 3), LONGEST_NOTE)
    return f"{head[:cut]} …"


def merged(notes: Sequence[str], joints: Sequence[str]) -> list[str]:
    """Notes ``log: what of joint: words`` that differ in joint and words alone become one line with all joints."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for note in notes:
        joint = next((j for j in joints if f" of {j}: " in note), None)
        key = note.partition(f" of {joint}: ")[0] if joint else note
        groups.setdefault(key, []).append((joint or "", note))
    return [
        members[0][1] if len(members) == 1 else f"{key}: {', '.join(dict.fromkeys(joint for joint, _ in members))}"
        for key, members in groups.items()
    ]
