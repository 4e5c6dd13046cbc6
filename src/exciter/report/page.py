"""The page: one HTML file that holds its style, its scripts and its data, and never asks the network for anything."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

from exciter import __version__
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.files import write_texts
from exciter.report.markup import PagePart, number, templates
from exciter.report.parts import Configuration, NamedValues, Section
from exciter.robot.robot import Robot
from exciter.settings import yaml_text
from exciter.settings.write import listed

STYLE_SHEETS = ("uplot.min.css", "report.css")
SCRIPTS = ("uplot.min.js", "mat.js", "base.js", "plots.js", "heatmap.js", "scene.js")
NOTEBOOK_FRAME_PIXELS = 900  #: height of a page in a notebook


def asset(name: str) -> str:
    return (files("exciter.report") / "assets" / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Page:
    """A title, what was done in a few sentences, and the sections."""

    title: str
    summary: PagePart
    sections: Sequence[Section]

    def __repr__(self) -> str:
        return f"<report: {self.title}, {len(self.sections)} sections>"

    def html(self) -> str:
        scripts = [asset(name) for name in SCRIPTS]
        return templates().get_template("page.html").render(
            page=self,
            policy=policy(scripts),
            style="\n".join(asset(name) for name in STYLE_SHEETS),
            licence=asset("uplot.LICENSE.txt").replace("--", "—"),
            scripts=scripts,
            version=__version__,
        )  # fmt: skip

    @property
    def head(self) -> str:
        """Title and summary alone, for a notebook."""
        return str(self._notebook.head(self))

    def _repr_html_(self) -> str:
        """The whole page, in a frame of its own."""
        return str(self._notebook.frame(self, NOTEBOOK_FRAME_PIXELS))

    @property
    def _notebook(self) -> Any:
        return templates().get_template("notebook.html").module

    def write(self, path: str | Path) -> None:
        """Write to a temporary name, then rename: a reader never sees half a report."""
        text, path = self.html(), Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ExciterError(f"cannot write '{path}': {error.strerror}; choose another place") from None
        write_texts(path.parent, {path.name: text})


def policy(scripts: Sequence[str]) -> str:
    """Content security policy: nothing from outside, and no script but these."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}"


def settings_section(
    values: Mapping[str, Any], settings: Mapping[str, Any], file: str, *contents: PagePart, model: DynamicModel | Robot
) -> Section:
    """The last one of every report: every setting, version and hash that is needed to do it again.

    values: of this kind of report, by name; settings: plain data, shown as the YAML of ``file``. model: of which it is,
    or the robot where there are no joint terms."""
    robot = model if isinstance(model, Robot) else model.robot
    about = {
        "robot": f"{robot.name} ({robot.n} joints: {', '.join(robot.joint_names)})",
        "source of the robot": robot.source or "not stated",
        "gravity in the base frame [m/s²]": ", ".join(number(g) for g in robot.gravity),
        **({} if isinstance(model, Robot) else {"joint terms": listed(model.terms)}),
    }
    versions = {"exciter": __version__, "Python": platform.python_version()}
    versions |= {name: metadata.version(name.lower()) for name in ("NumPy", "SciPy")}
    shown = {**about, **values, "versions": ", ".join(map(" ".join, versions.items()))}
    words = {key: value if isinstance(value, str) else json.dumps(value) for key, value in shown.items()}
    plain = json.loads(json.dumps(settings, default=str))  # lists and text only, as YAML's safe half knows them
    head = (Configuration(file, yaml_text(plain)),) if settings else ()
    return Section("settings", "Settings to reproduce this result", "", (*head, NamedValues(words), *contents))
