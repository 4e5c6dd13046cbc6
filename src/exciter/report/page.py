"""The page: one HTML file that holds its style, its scripts and its data, and never asks the network for anything."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from exciter import __version__
from exciter.errors import ExciterError
from exciter.files import staged
from exciter.report.markup import Markup, element, escaped, joined
from exciter.report.section import Section

STYLES = ("uplot.min.css", "report.css")
SCRIPTS = ("uplot.min.js", "mat.js", "base.js", "plots.js", "heatmap.js", "scene.js")


FRAME_HEIGHT = 900  #: [pixels] of a page in a notebook


def asset(name: str) -> str:
    return (files("exciter.report") / "assets" / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Page:
    """A title, what was done in a few sentences, and the sections."""

    title: str
    summary: Markup
    sections: Sequence[Section]

    def __repr__(self) -> str:
        return f"<report: {self.title}, {len(self.sections)} sections>"

    def html(self) -> str:
        scripts = [asset(name) for name in SCRIPTS]
        links = (element("li", element("a", s.title, href=f"#{s.key}")) for s in self.sections)
        return Template(asset("page.html")).substitute(
            title=escaped(self.title),
            policy=escaped(policy(scripts)),
            style="\n".join(asset(name) for name in STYLES),
            licence=escaped(asset("uplot.LICENSE.txt").replace("--", "—")),
            summary=self.summary,
            contents=joined(*links),
            sections=joined(*(section.html() for section in self.sections)),
            scripts="".join(f"<script>{text}</script>\n" for text in scripts),
            version=escaped(__version__),
        )

    @property
    def head(self) -> str:
        """Title and summary alone, for a notebook."""
        return f"<div><h3>{escaped(self.title)}</h3>{self.summary}</div>"

    def _repr_html_(self) -> str:
        """The whole page, in a frame of its own."""
        style = f"width: 100%; height: {FRAME_HEIGHT}px; border: 0"
        return f'<iframe srcdoc="{escaped(self.html())}" style="{style}"></iframe>'

    def write(self, path: str | Path) -> None:
        """Write to a temporary name, then rename: a reader never sees half a report."""
        text, path = self.html(), Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with staged(path.parent) as stage:
                (stage / path.name).write_text(text, encoding="utf-8", newline="\n")
                os.chmod(stage / path.name, 0o644)
        except OSError as error:
            raise ExciterError(f"cannot write '{path}': {error.strerror}; choose another place") from None


def policy(scripts: Sequence[str]) -> str:
    """Content security policy: nothing from outside, and no script but these."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}"
