"""``exciter schema``: the schemas accept every settings file that is shown anywhere, and mark what readers refuse."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from exciter.cli import main
from exciter.commands.schema import configuration_schema, fleet_schema, recording_schema
from exciter.errors import ExciterError
from exciter.experiment.recording.description import RecordingSettings
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.pipeline.fleet_settings import FleetSettings
from exciter.pipeline.settings_file import SettingsFile
from exciter.pipeline.starting_configuration import SCHEMA_FILE, starting_configuration
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.settings import fill, keys_of
from support.paths import ROOT
from support.starting_files import exciter, uncommented

SCHEMAS = {"exciter": configuration_schema(), "recording": recording_schema(), "fleet": fleet_schema()}
EXPONENT = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")


def as_editors_read(data: Any) -> Any:
    """YAML 1.2 has 1e3 as a number, and dates as text."""
    if isinstance(data, dict):
        return {str(key): as_editors_read(value) for key, value in data.items()}
    if isinstance(data, list):
        return [as_editors_read(one) for one in data]
    if isinstance(data, str) and EXPONENT.fullmatch(data):
        return float(data)
    return data if isinstance(data, str | int | float | None) else str(data)


def wrong(file: str, data: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMAS[file]).iter_errors(as_editors_read(data))]


def read(file: str, data: Any) -> None:
    if file == "recording":
        fill(RecordingSettings, data, "recording.yaml")
    elif file == "fleet":
        fill(FleetSettings, data, "fleet.yaml")
    else:
        settings = SettingsFile(data)
        _ = settings.robot, fill(SimulateSettings, settings.data.get("simulate"), "simulate")


def shown_anywhere() -> list[tuple[str, str, Any]]:
    """(where, kind of file, content) of the settings files of documents and examples, told by their keys."""
    texts = [
        (str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in ROOT.glob("examples/**/*.yaml")
    ]
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        found = re.findall(r"```yaml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
        texts += [(f"{path.name} {k}", text) for k, text in enumerate(found)]
    files = []
    for where, text in texts:
        data = yaml.safe_load(text)
        kinds = [
            file for file, one in SCHEMAS.items() if isinstance(data, dict) and set(data) <= set(one["properties"])
        ]
        files += [(where, kinds[0], data)] if kinds else []
    return files


def test_settings_files_shown_anywhere_fit_their_schema():
    files = shown_anywhere()
    kinds = [file for _, file, _ in files]
    assert kinds.count("exciter") > 7
    assert kinds.count("recording") > 11
    assert {where: said for where, file, data in files if (said := wrong(file, data))} == {}


@pytest.mark.parametrize("name", embedded.names())
def test_starting_configurations_fit_the_schema(name):
    text = starting_configuration(load(name), name)
    assert text.startswith(f"# yaml-language-server: $schema={SCHEMA_FILE}\n")
    for change in (str, uncommented):
        assert wrong("exciter", yaml.safe_load(change(text))) == []


@pytest.mark.parametrize("file", SCHEMAS)
def test_schemas_are_schemas(file, capsys):
    Draft202012Validator.check_schema(SCHEMAS[file])
    with pytest.raises(SystemExit) as left:
        main(["schema", file])
    assert left.value.code == 0
    assert json.loads(capsys.readouterr().out) == SCHEMAS[file]
    assert wrong(file, None) == wrong(file, {}) == []


def test_schemas_know_the_keys_that_readers_know():
    assert set(SCHEMAS["recording"]["properties"]) == set(keys_of(RecordingSettings))
    for key in SCHEMAS["exciter"]["properties"]:
        SettingsFile({key: None})
    with pytest.raises(ExciterError, match="unknown key") as error:
        SettingsFile({"x": 1})
    listed = re.search(r"valid names: ([^;]*)", str(error.value))
    assert listed is not None
    assert set(listed[1].split(", ")) == set(SCHEMAS["exciter"]["properties"])


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("exciter", {"gravty": [0, 0, 1]}),
        ("exciter", {"gravity": [0, 1]}),
        ("exciter", {"limits": {"speed": 1}}),
        ("exciter", {"limits": {"velocity": "fast"}}),
        ("exciter", {"lock": 3}),
        ("exciter", {"simulate": {"log": {"rate": 0}}}),
        ("exciter", {"simulate": {"control": {"law": "magic"}}}),
        ("exciter", {"simulate": {"control": {"bandwith": 1}}}),
        ("exciter", {"simulate": {"ripple": {"per_turn": 2}}}),
        ("exciter", {"simulate": {"encoder": {"side": "link"}}}),
        ("exciter", {"simulate": {"truth": {"bodies": 7}}}),
        ("recording", {"torqe": {}}),
        ("recording", {"position": {"columns": "q", "unit": "N·m"}}),
        ("recording", {"position": {"columns": [], "unit": "rad"}}),
        ("recording", {"time": {"column": "t", "unit": "min"}}),
        ("recording", {"windows": [[0, 1, 2]]}),
        ("recording", {"signs": [1, "x"]}),
        ("recording", {"repair": {"spike": True}}),
        ("recording", {"joints": ["a", "a"]}),
        ("fleet", {"description": "panda", "robot": {}}),
        ("fleet", {"description": "panda", "level": 1.5}),
        ("fleet", {"description": "panda", "control": "none"}),
        ("fleet", {"description": "panda", "robots": {"A": {"log": "a.csv"}}}),
        ("fleet", {"types": {"a": {"robots": {}}}}),
    ],
)
def test_what_readers_refuse_the_schema_marks(file, data):
    assert wrong(file, data)
    with pytest.raises(ExciterError):
        read(file, data)


def test_init_writes_the_schema_beside_the_configuration(tmp_path, monkeypatch, capsys):
    """Once for several configurations; another file of that name is not written over unless asked."""
    monkeypatch.chdir(tmp_path)
    assert exciter("init", "tx40", "-o", "below/a.yaml") == 0
    assert SCHEMA_FILE in capsys.readouterr().out
    path = tmp_path / "below" / SCHEMA_FILE
    assert json.loads(path.read_text(encoding="utf-8")) == SCHEMAS["exciter"]
    assert exciter("init", "panda", "-o", "below/b.yaml") == 0
    path.write_text("{}")
    assert exciter("init", "panda", "-o", "below/c.yaml") == 2
    assert f"{SCHEMA_FILE}' exists; " in capsys.readouterr().err
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.yaml", "b.yaml", SCHEMA_FILE]
    assert path.read_text() == "{}"
    assert exciter("init", "panda", "-o", "below/c.yaml", "--force") == 0
    assert json.loads(path.read_text(encoding="utf-8")) == SCHEMAS["exciter"]
