"""Settings files of an earlier version, read by the readers of today: those that documents, examples and tests of a
commit show, each either read, or refused with the reason.

    python benchmarks/old_settings.py [COMMIT]     # 005820a unless given: the last before one mechanism read them all

What is refused should be no settings file, or one that the tests of that commit wanted refused.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from exciter.errors import ExciterError
from exciter.experiment.recording.description import RecordingSettings
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import embedded_robots as embedded
from exciter.settings import fill, keys_of

ROOT = Path(__file__).parents[1]
BEFORE = "005820a"
BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)  # in documents
LITERALS = (
    re.compile(r'"""\n?((?:[a-z_]+:.*\n)+.*?)"""'),
    re.compile(r'write_text\(\s*"((?:[^"\\]|\\.)*)"'),
)  # in tests


def texts(commit: str) -> Iterator[tuple[str, str]]:
    """(where, text) of what may be YAML."""
    command = ["git", "archive", commit, "README.md", "docs", "examples", "tests"]
    packed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive.getmembers():
            if not member.isfile() or not member.name.endswith((".md", ".yaml", ".py")):
                continue
            content = archive.extractfile(member)
            assert content is not None
            text = content.read().decode("utf-8")
            if member.name.startswith("examples/") and member.name.endswith(".yaml"):
                yield member.name, text
            elif member.name.endswith(".md"):
                yield from ((f"{member.name} {k}", block) for k, block in enumerate(BLOCK.findall(text)))
            elif member.name.startswith("tests/"):
                found = [one for literal in LITERALS for one in literal.findall(text)]
                yield from ((f"{member.name} {k}", one.replace("\\n", "\n")) for k, one in enumerate(found))


def read(data: dict[str, Any]) -> None:
    keys = set(map(str, data))
    if keys <= set(keys_of(RecordingSettings)) and keys != {"gravity"}:
        fill(RecordingSettings, data, "recording.yaml")
        return
    file = SettingsFile(data)
    _ = file.robot, file.design, file.identify
    if data.get("simulate"):
        file.virtual(embedded.robot("gautier-khalil"), 0)


def main() -> None:
    commit = sys.argv[1] if len(sys.argv) > 1 else BEFORE
    counts = {"read": 0, "refused": 0}
    for where, text in texts(commit):
        try:
            data = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if not isinstance(data, dict):
            continue
        try:
            read(data)
            counts["read"] += 1
        except ExciterError as error:
            counts["refused"] += 1
            print(f"{where}: {str(error)[:130]}")
    print(f"of {commit}: {counts['read']} read, {counts['refused']} refused")


if __name__ == "__main__":
    main()
