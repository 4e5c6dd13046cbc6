"""A path in space seen from three sides, to one scale, as drawings that need no script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exciter.report.markup import Markup, element, number
from exciter.typing import Array

Place = Callable[[float, float], tuple[float, float]]  # metres → drawing units
SIDES = ((0, 1, "from above"), (0, 2, "from the side"), (1, 2, "from the front"))
AXES = ("x", "y", "z")
SIZE, EDGE = 220.0, 34.0  # drawing units: the square of the path, and room for the numbers


def projections(path: Array) -> Markup:
    """Three drawings of a path (N, 3) [m]: x–y, x–z, y–z."""
    span = round_span(float(np.ptp(path, axis=0).max()))
    drawings = (projection(path, a, b, side, span) for a, b, side in SIDES)
    return element("div", *drawings, class_="projections")


def round_span(size: float) -> float:
    """Side of the square that is shown [m]: a little more than the path needs."""
    return max(1.08 * size, 1e-3)


def tick_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, for three to seven lines in a span."""
    power = 10.0 ** np.floor(np.log10(span / 3.0))
    return float(max(step * power for step in (1.0, 2.0, 5.0) if step * power <= span / 3.0))


def projection(path: Array, a: int, b: int, side: str, span: float) -> Markup:
    middle = 0.5 * (path.min(axis=0) + path.max(axis=0))
    low_a, low_b = middle[a] - 0.5 * span, middle[b] - 0.5 * span
    scale = SIZE / span

    def place(u: float, v: float) -> tuple[float, float]:
        return EDGE + (u - low_a) * scale, SIZE + 6.0 - (v - low_b) * scale

    points = " ".join("{:.1f},{:.1f}".format(*place(p[a], p[b])) for p in path)
    start = place(path[0, a], path[0, b])
    label = f"Path seen {side}: {AXES[b]} over {AXES[a]}"
    figure = element(
        "svg",
        *grid(low_a, low_b, span, place),
        element("polyline", points=points, class_="path"),
        element("circle", cx=f"{start[0]:.1f}", cy=f"{start[1]:.1f}", r=4, class_="now"),
        viewBox=f"0 0 {SIZE + EDGE + 8:g} {SIZE + EDGE + 4:g}",
        role="img",
        aria_label=label,
        # where the moving robot's page finds the point of an instant: (u − a) scale + x …
        data_axes=f"{a} {b}",
        data_place=f"{EDGE - low_a * scale:.6g} {scale:.6g} {SIZE + 6.0 + low_b * scale:.6g} {-scale:.6g}",
    )
    return element("figure", element("figcaption", f"{AXES[b]} over {AXES[a]} [m], {side}"), figure)


def grid(low_a: float, low_b: float, span: float, place: Place) -> list[Markup]:
    """Lines and numbers."""
    step = tick_step(span)
    marks: list[Markup] = []
    for value in multiples(low_a, low_a + span, step):
        x, _ = place(value, low_b)
        marks.append(element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=6, y2=SIZE + 6))
        marks.append(element("text", number(value), x=f"{x:.1f}", y=SIZE + 22, text_anchor="middle"))
    for value in multiples(low_b, low_b + span, step):
        _, y = place(low_a, value)
        marks.append(element("line", x1=EDGE, x2=EDGE + SIZE, y1=f"{y:.1f}", y2=f"{y:.1f}"))
        marks.append(element("text", number(value), x=EDGE - 5, y=f"{y + 4:.1f}", text_anchor="end"))
    return marks


def multiples(low: float, high: float, step: float) -> list[float]:
    """Multiples of a step within [low, high], free of rounding dust."""
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]
