"""What following a stream gives: parameters over time with their standard deviations, and alarms; kept in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from exciter.archive import archived, opened
from exciter.dynamics.model import DynamicModel
from exciter.files import Seal, csv_line, prepare, staged
from exciter.identification.following.follow_settings import FollowSettings
from exciter.identification.following.residual_alarm import ResidualAlarm
from exciter.identification.identify_config import IdentifyConfig
from exciter.identification.information.estimate import finite_or_none, student_quantile
from exciter.notes import Note
from exciter.pipeline.saving import REPORT_FILE, versions
from exciter.report.follow_report import follow_page
from exciter.report.page import Page
from exciter.settings import written
from exciter.typing import Array

FOLLOWED_ARCHIVE, HISTORY_FILE = "followed.npz", "history.csv"
FOLLOWED_SEAL = Seal("followed.json", (FOLLOWED_ARCHIVE, HISTORY_FILE, REPORT_FILE), "follow again")
NORMAL_FREEDOM = 1e9  #: as many degrees of freedom as a normal distribution


@dataclass(frozen=True, eq=False, kw_only=True)
class Followed:
    """Parameters (p,) at instants time (K,) [s] of the log: values and std (K, p), NaN where not determined yet.
    covariance (p, p) and noise (J,), σ of the equations of ``joints``: at the end. alarms: of residuals. used, skipped:
    equations. latency [s]: from a sample to its answer. started: from what. judged: whether the noise was known in the
    end. settings: as asked for; config: of the model and its equations.

    >>> followed = ex.follow(robot, log, start=found)
    >>> followed
    <... parameters of gautier-khalil over ... s, no alarm>
    >>> followed.save("followed").name
    'followed'"""

    model: DynamicModel
    config: IdentifyConfig
    settings: FollowSettings
    names: tuple[str, ...]
    units: tuple[str, ...]
    joints: tuple[str, ...]
    time: Array
    values: Array
    std: Array
    covariance: Array
    noise: Array
    alarms: tuple[ResidualAlarm, ...]
    used: int
    skipped: int
    latency: float
    started: str
    judged: bool = True
    notes: tuple[Note, ...] = ()
    versions: Mapping[str, str] = field(default_factory=versions)

    @property
    def determined(self) -> tuple[bool, ...]:
        """Per parameter, at the end."""
        return tuple(bool(one) for one in np.isfinite(self.std[-1]))

    @cached_property
    def band(self) -> tuple[Array, Array]:
        """Lower and upper ends (K, p) of the 95 % interval."""
        reach = student_quantile(0.95, NORMAL_FREEDOM) * self.std
        return self.values - reach, self.values + reach

    @cached_property
    def drifting(self) -> tuple[str, ...]:
        """Parameters that were allowed to drift."""
        return tuple(name for name, rate in zip(self.names, self.settings.walks(self.names), strict=True) if rate.any())

    def to_dict(self) -> dict[str, Any]:
        """The content of followed.json."""
        low, high = self.band
        robot = self.model.robot
        return {
            "parameters": [
                {
                    "name": name,
                    "unit": unit,
                    "value": finite_or_none(self.values[-1, k]),
                    "std": finite_or_none(self.std[-1, k]),
                    "interval": [finite_or_none(low[-1, k]), finite_or_none(high[-1, k])],
                    "determined": self.determined[k],
                    "drifts": name in self.drifting,
                }
                for k, (name, unit) in enumerate(zip(self.names, self.units, strict=True))
            ],
            "time": [float(self.time[0]), float(self.time[-1])],
            "alarms": [one.to_dict() for one in self.alarms],
            "noise": dict(zip(self.joints, self.noise.tolist(), strict=True)),
            "covariance": self.covariance.tolist(),
            "equations": {"used": self.used, "skipped": self.skipped},
            "latency": self.latency,
            "judged": self.judged,
            "start": self.started,
            "settings": {"follow": written(self.settings), **self.config.to_dict()},
            "notes": [str(one) for one in self.notes],
            "robot": {"name": robot.name, "joints": list(robot.joint_names), "gravity": robot.gravity.tolist()},
            "versions": dict(self.versions),
        }

    def history(self) -> str:
        """The content of history.csv: time, then value and σ of each parameter; empty where not determined."""
        header = ["time", *(f"{name}{end}" for name in self.names for end in ("", ".std"))]
        table = np.stack([self.values, self.std], axis=2).reshape(len(self.time), -1)
        rows = [
            [f"{t:.9g}", *("" if not np.isfinite(x) else f"{x:.9g}" for x in row)]
            for t, row in zip(self.time, table, strict=True)
        ]
        return "\n".join([csv_line(header), *(",".join(row) for row in rows)]) + "\n"

    def save(self, folder: str | Path) -> Path:
        """The files of ``exciter follow -o``: all of them or none. ``open`` reads them back."""
        self.write(Path(folder))
        return Path(folder)

    def write(self, folder: Path) -> dict[str, Any]:
        """followed.json, followed.npz, history.csv and the report; the content of followed.json."""
        prepare(folder)
        with staged(folder, FOLLOWED_SEAL) as stage:
            (stage / FOLLOWED_ARCHIVE).write_bytes(archived(self))
            (stage / HISTORY_FILE).write_text(self.history(), encoding="utf-8")
            self.report().write(stage / REPORT_FILE)
            return FOLLOWED_SEAL.write(stage, self.to_dict())

    @classmethod
    def open(cls, folder: str | Path) -> Followed:
        """What ``save``, or the command, wrote."""
        return opened(Path(folder), FOLLOWED_SEAL, FOLLOWED_ARCHIVE, cls)

    def report(self) -> Page:
        """The whole report, which a notebook shows, and ``write`` keeps."""
        return follow_page(self)

    def _repr_html_(self) -> str:
        return self.report().head

    def __repr__(self) -> str:
        number = len(self.alarms)
        alarms = "no alarm" if not number else f"{number} alarm{'' if number == 1 else 's'}"
        span = self.time[-1] - self.time[0]
        return f"<{len(self.names)} parameters of {self.model.robot.name} over {span:.4g} s, {alarms}>"
