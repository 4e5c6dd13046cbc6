"""``exciter schema``: what the settings files may hold, for editors."""

from __future__ import annotations

import argparse
import json

from exciter.pipeline.settings_file import configuration_schema, recording_schema


def run(arguments: argparse.Namespace) -> None:
    print(schema_text(arguments.file), end="")


def schema_text(file: str) -> str:
    """Of exciter.yaml, the file of --config, or of recording.yaml."""
    schema = recording_schema() if file == "recording" else configuration_schema()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
