"""YAML files from users: plain data only, of bounded size, and one clear line when something is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from exciter.errors import RobotError
from exciter.robot.xml_safety import read_bytes

MAX_BYTES = 1_000_000


class _Loader(yaml.SafeLoader):
    """Plain data; a key that is there twice is refused, for one of both would be lost without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is not None and name in seen and name != "<<":
                raise yaml.MarkedYAMLError(problem=f"the key '{name}' is there twice", problem_mark=key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def read_yaml(path: str | Path, what: str) -> Any:
    """The content of a YAML file; ``what`` says in errors what the file should be."""
    content = read_bytes(Path(path), what, MAX_BYTES)
    try:
        return yaml.load(content.decode("utf-8"), _Loader)
    except UnicodeDecodeError:
        raise RobotError(f"{what} '{path}' is not text; expected YAML in UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise RobotError(f"{what} '{path}' is not valid YAML{where}: {problem}") from None
    except (RecursionError, ValueError):
        raise RobotError(f"{what} '{path}' is nested too deeply or holds impossible numbers") from None
