"""A section: a heading, a sentence of explanation, and figures or tables; and what sections share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exciter.report.markup import Markup, element, joined


@dataclass(frozen=True)
class Section:
    """``key`` is the anchor; ``contents`` are markup."""

    key: str
    title: str
    explanation: str
    contents: tuple[Markup, ...]

    def html(self) -> Markup:
        heading = element("h2", self.title, id=f"{self.key}-title")
        text = element("p", self.explanation, class_="explanation") if self.explanation else ""
        return element("section", heading, text, *self.contents, id=self.key, aria_labelledby=f"{self.key}-title")


def figures(values: Mapping[str, str]) -> Markup:
    """A row of single figures, each under its name."""
    items = (element("div", element("dt", name), element("dd", value)) for name, value in values.items())
    return element("dl", *items, class_="figures")


def folded(title: str, *contents: Markup, opened: bool = False) -> Markup:
    """Contents that open on demand."""
    return element("details", element("summary", title), *contents, open=opened)


def settings_list(settings: Mapping[str, Any]) -> Markup:
    """Names and values, one below the other."""
    pairs = (joined(element("dt", name), element("dd", value)) for name, value in settings.items())
    return element("dl", *pairs, class_="settings")


# -- buttons that show all joints or one of them, on every plot of the page at once ----------------------------------


def joint_choice(joints: Sequence[str]) -> Markup:
    buttons = (
        element("button", name, type="button", aria_pressed="true" if k == 0 else "false", data_joint=k - 1)
        for k, name in enumerate(["all", *joints])
    )
    return element("div", *buttons, class_="joints", role="group", aria_label="Joints shown")
