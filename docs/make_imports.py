"""Draw docs/imports.svg, which sub-folder imports which, from the code itself (CONTRIBUTING.md shows it).

    python docs/make_imports.py            # writes docs/imports.svg
    python docs/make_imports.py --check    # exit code 1 when it is not current, or when there is a circle

A row is a folder of ``src/exciter`` in the order of the flow; its sub-folders stand from left to right so that each
imports only what is left of it. Every arrow, from who imports to what is imported, therefore points up or to the left:
a circle could not be drawn. Arrows that follow from others (a imports b, b imports c, hence a → c) are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from house import circles, import_graph, modules  # noqa: E402

PICTURE = Path(__file__).with_name("imports.svg")
BESIDE = "beside the folders"  #: the row of files that are in no folder
BOX_WIDTH, BOX_HEIGHT = 138, 26  # [px]
COLUMN, ROW, LEFT, TOP = 160, 70, 150, 34  # [px]


class Place(NamedTuple):
    row: int
    column: int

    @property
    def x(self) -> int:
        return LEFT + COLUMN * self.column

    @property
    def y(self) -> int:
        return TOP + ROW * self.row


def rows_of(graph: dict[str, set[str]]) -> dict[str, list[str]]:
    """Folders with their rooms, each after what it imports. A file in no folder stands in the first row, or in that of
    the last folder that it imports."""
    folders = {room.partition("/")[0] for room in graph if (ROOT / "src" / "exciter" / room.partition("/")[0]).is_dir()}
    above: dict[str, set[str]] = {folder: set() for folder in folders}
    for room, imported in graph.items():
        if (folder := room.partition("/")[0]) in folders:
            above[folder] |= {one.partition("/")[0] for one in imported} & folders - {folder}
    names = [BESIDE, *TopologicalSorter({name: sorted(above[name]) for name in sorted(above)}).static_order()]
    order = list(TopologicalSorter({room: sorted(graph[room]) for room in sorted(graph)}).static_order())
    row: dict[str, str] = {}
    for room in order:
        folder = room.partition("/")[0]
        last = max((names.index(row[one]) for one in graph[room]), default=0)
        row[room] = folder if folder in folders else names[last]
    return {name: [room for room in order if row[room] == name] for name in names}


def reduced(graph: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Imports that do not follow from others."""
    reach: dict[str, set[str]] = {}
    for room in TopologicalSorter(graph).static_order():
        reach[room] = set().union(graph[room], *(reach[one] for one in graph[room]))
    return {
        (room, one)
        for room, imported in graph.items()
        for one in imported
        if not any(one in reach[other] for other in imported - {one})
    }


def drawing(graph: dict[str, set[str]]) -> str:
    rows = rows_of(graph)
    place = {room: Place(r, c) for r, rooms in enumerate(rows.values()) for c, room in enumerate(rooms)}
    width = LEFT + COLUMN * max(map(len, rows.values()))
    height = TOP + ROW * len(rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    lines += [arrow(place[room], place[one]) for room, one in sorted(reduced(graph))]
    for r, (name, rooms) in enumerate(rows.items()):
        middle = TOP + ROW * r + BOX_HEIGHT // 2 + 4
        lines.append(f'<text x="8" y="{middle}" font-weight="bold">{name}</text>')
        for room in rooms:
            x, y = place[room].x, place[room].y
            title = room.rpartition("/")[2] if "/" in room else f"{room}{'/' if room == name else '.py'}"
            lines.append(
                f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5" fill="#eef2ff" '
                'stroke="#4051b5"/>'
                f'<text x="{x + BOX_WIDTH // 2}" y="{y + 17}" text-anchor="middle">{title}</text>'
            )
    return "\n".join([*lines, "</svg>"]) + "\n"


def arrow(start: Place, end: Place) -> str:
    """Within a row an arc above the boxes, between rows a line."""
    if start.row == end.row:
        x, to = start.x + BOX_WIDTH // 3, end.x + 2 * BOX_WIDTH // 3
        lift = start.y - 10 - 5 * min(start.column - end.column, 5)
        path, stroke = f"M{x} {start.y}C{x} {lift} {to} {lift} {to} {end.y}", "#4051b5"
    else:
        x, to = start.x + BOX_WIDTH // 2, end.x + BOX_WIDTH // 2
        path, stroke = f"M{x} {start.y}L{to} {end.y + BOX_HEIGHT}", "#b9c0dc"
    return f'<path d="{path}" fill="none" stroke="{stroke}" marker-end="url(#tip)"/>'


def main(arguments: Sequence[str]) -> int:
    src = ROOT / "src"
    graph = import_graph(
        {path: tree for path, tree in modules(src).items() if path.is_relative_to(src / "exciter")}, src
    )
    if found := circles(graph):
        print("circles: " + "; ".join(", ".join(sorted(group)) for group in found))
        return 1
    text = drawing(graph)
    if "--check" in arguments:
        return int(not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != text)
    PICTURE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
