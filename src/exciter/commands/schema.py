"""``exciter schema``: what the settings files may hold, for editors."""

from __future__ import annotations

import argparse
import json
from typing import Any

from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.experiments.registry import EXPERIMENTS
from exciter.experiment.plan import Plan
from exciter.experiment.recording.description import RecordingSettings
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.identification.actuators.actuator_settings import ActuatorSettings
from exciter.identification.following.follow_settings import FollowSettings
from exciter.identification.identify_config import IdentifySettings
from exciter.pipeline.campaign_settings import CampaignSettings
from exciter.pipeline.fleet_settings import FleetSettings
from exciter.pipeline.settings_file import ACTUATORS, CAMPAIGN, EXPERIMENT, FOLLOW, IDENTIFY, SIMULATE
from exciter.robot.load import RobotOptions
from exciter.settings import OneOf
from exciter.settings.fill import file_schema


def run(arguments: argparse.Namespace) -> None:
    print(schema_text(arguments.file), end="")


def schema_text(file: str) -> str:
    """Of exciter.yaml, the file of --config, of recording.yaml, of plan.yaml, or of fleet.yaml."""
    made = {"recording": recording_schema, "plan": plan_schema, "fleet": fleet_schema}.get(file, configuration_schema)
    return json.dumps(made(), indent=2, ensure_ascii=False) + "\n"


def configuration_schema() -> dict[str, Any]:
    sections = (
        (IDENTIFY, IdentifySettings),
        (SIMULATE, SimulateSettings),
        (FOLLOW, FollowSettings),
        (CAMPAIGN, CampaignSettings),
        (ACTUATORS, ActuatorSettings),
    )
    schema = file_schema("Settings of Exciter", ((None, RobotOptions), (None, DesignSettings), *sections))
    schema["properties"][EXPERIMENT] = OneOf(EXPERIMENTS).schema()
    return schema


def plan_schema() -> dict[str, Any]:
    return file_schema("plan.yaml of Exciter", [(None, Plan)])


def fleet_schema() -> dict[str, Any]:
    return file_schema("fleet.yaml of Exciter", [(None, FleetSettings)])


def recording_schema() -> dict[str, Any]:
    return file_schema("recording.yaml of Exciter", [(None, RecordingSettings)])
