"""``exciter schema``: what the settings files may hold, for editors."""

from __future__ import annotations

import argparse
import json
from typing import Any

from exciter.excitation.design_settings import DesignSettings
from exciter.experiment.recording.description import RecordingSettings
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.identification.identify_config import IdentifySettings
from exciter.pipeline.campaign_settings import CampaignSettings
from exciter.pipeline.settings_file import CAMPAIGN, IDENTIFY, SIMULATE
from exciter.robot.load import RobotOptions
from exciter.settings.fill import file_schema


def run(arguments: argparse.Namespace) -> None:
    print(schema_text(arguments.file), end="")


def schema_text(file: str) -> str:
    """Of exciter.yaml, the file of --config, or of recording.yaml."""
    schema = recording_schema() if file == "recording" else configuration_schema()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def configuration_schema() -> dict[str, Any]:
    top = ((None, RobotOptions), (None, DesignSettings))
    parts = (*top, (IDENTIFY, IdentifySettings), (SIMULATE, SimulateSettings), (CAMPAIGN, CampaignSettings))
    return file_schema("Settings of Exciter", parts)


def recording_schema() -> dict[str, Any]:
    return file_schema("recording.yaml of Exciter", [(None, RecordingSettings)])
