"""Settings as a file for --config, to be copied out of a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from exciter.report.markup import Markup, element, joined


def yaml_file(settings: Mapping[str, Any], name: str) -> Markup:
    plain = json.loads(json.dumps(settings, default=str))  # lists and text only, as YAML's safe half knows them
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
    title = f"Save this as {name} and give it to --config:"
    return joined(element("p", title, class_="note"), element("pre", text, class_="file", tabindex=0))
