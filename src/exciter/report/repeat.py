"""The last section of every report: every setting, version and hash that is needed to do it again."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import yaml

from exciter import __version__
from exciter.dynamics.model import DynamicModel
from exciter.report.markup import Markup, element, joined, number
from exciter.report.plain_words import listed
from exciter.report.section import Section, settings_list


def yaml_file(settings: Mapping[str, Any], name: str) -> Markup:
    plain = json.loads(json.dumps(settings, default=str))  # lists and text only, as YAML's safe half knows them
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
    title = f"Save this as {name} and give it to --config:"
    return joined(element("p", title, class_="note"), element("pre", text, class_="file", tabindex=0))


def repeat_section(
    values: Mapping[str, Any], settings: Mapping[str, Any], file: str, *contents: Markup, model: DynamicModel
) -> Section:
    """values: of this kind of report, by name; settings: plain data, shown as the YAML of ``file``."""
    shown = {**about_robot(model), **values, "versions": versions()}
    words = {key: value if isinstance(value, str) else json.dumps(value) for key, value in shown.items()}
    head = (yaml_file(settings, file),) if settings else ()
    return Section("settings", "Settings to repeat it", "", (*head, settings_list(words), *contents))


def about_robot(model: DynamicModel) -> dict[str, str]:
    robot = model.robot
    return {
        "robot": f"{robot.name} ({robot.n} joints: {', '.join(robot.joint_names)})",
        "source of the robot": robot.source or "not stated",
        "gravity [m/s²]": ", ".join(number(g) for g in robot.gravity),
        "joint terms": listed(model.terms),
    }


def versions() -> str:
    parts = {"exciter": __version__, "Python": platform.python_version()}
    parts |= {name: metadata.version(name.lower()) for name in ("NumPy", "SciPy")}
    return ", ".join(f"{name} {version}" for name, version in parts.items())
