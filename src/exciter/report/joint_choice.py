"""Buttons that show all joints or one of them, on every plot of the page at once."""

from __future__ import annotations

from collections.abc import Sequence

from exciter.report.markup import Markup, element


def joint_choice(joints: Sequence[str]) -> Markup:
    buttons = (
        element("button", name, type="button", aria_pressed="true" if k == 0 else "false", data_joint=k - 1)
        for k, name in enumerate(["all", *joints])
    )
    return element("div", *buttons, class_="joints", role="group", aria_label="Joints shown")
