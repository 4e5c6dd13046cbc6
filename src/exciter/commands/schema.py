"""``exciter schema``: what the settings files may hold, for editors."""

from __future__ import annotations

import argparse
import json
from typing import Any

from exciter.excitation.design_settings import DesignSettings
from exciter.experiment.recording.description import RecordingSettings
from exciter.experiment.virtual.config import SimulateSettings
from exciter.identification.config.identify_config import IdentifySettings
from exciter.robot.load import RobotOptions
from exciter.settings.schema import file_schema

CONFIGURATION = (
    (None, RobotOptions),
    (None, DesignSettings),
    ("identify", IdentifySettings),
    ("simulate", SimulateSettings),
)


def run(arguments: argparse.Namespace) -> int:
    print(schema_text(arguments.file), end="")
    return 0


def schema_text(file: str) -> str:
    return json.dumps(schema(file), indent=2, ensure_ascii=False) + "\n"


def schema(file: str) -> dict[str, Any]:
    """Of exciter.yaml, the file of --config, or of recording.yaml."""
    if file == "recording":
        return file_schema("recording.yaml of Exciter", [(None, RecordingSettings)])
    return file_schema("Settings of Exciter, the file of --config", CONFIGURATION)
