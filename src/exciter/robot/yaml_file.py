"""YAML files from users: plain data only, of bounded size, and one clear line when something is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from exciter.errors import RobotError
from exciter.robot.xml_safety import read_bytes

MAX_BYTES = 1_000_000


def read_yaml(path: str | Path, what: str) -> Any:
    """The content of a YAML file; ``what`` says in errors what the file should be."""
    content = read_bytes(Path(path), what, MAX_BYTES)
    try:
        return yaml.safe_load(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise RobotError(f"{what} '{path}' is not text; expected YAML in UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise RobotError(f"{what} '{path}' is not valid YAML{where}: {problem}") from None
    except (RecursionError, ValueError):
        raise RobotError(f"{what} '{path}' is nested too deeply or holds impossible numbers") from None
