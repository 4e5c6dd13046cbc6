"""One setting that was chosen, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Choice:
    """setting: its key in the configuration, where it can be overridden. value, reason: for people."""

    setting: str
    value: str
    reason: str

    @property
    def words(self) -> str:
        return f"{self.setting}: {self.value}; {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        return {"setting": self.setting, "value": self.value, "reason": self.reason}
