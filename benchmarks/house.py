"""The house in numbers: files, lines, imports, names that mean two things, complexity, files of one ``identify``.

    python benchmarks/house.py              # this checkout
    python benchmarks/house.py --no-trace   # without the traced identification

Another checkout is measured by its own ``src``: ``PYTHONPATH=OTHER/src python benchmarks/house.py --src OTHER/src``.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]


@cache
def modules(src: Path) -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(src.rglob("*.py"))}


def import_lines(tree: ast.Module) -> int:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum(node.end_lineno - node.lineno + 1 for node in nodes)


def constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Module-level names in capitals, with what they are given."""
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if (
            isinstance(node, ast.Assign | ast.AnnAssign)
            and isinstance(target, ast.Name)
            and target.id.isupper()
            and value
        ):
            yield target.id, value


def is_number(value: ast.expr) -> bool:
    try:
        return isinstance(ast.literal_eval(value), int | float)
    except ValueError:
        return False


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All of a module; gone through once."""
    return tuple(ast.walk(tree))


def repeated_classes(trees: dict[Path, ast.Module]) -> dict[str, int]:
    """Class names that stand for two or more classes, with how many."""
    found: dict[str, int] = defaultdict(int)
    for tree in trees.values():
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name] += 1
    return {name: count for name, count in found.items() if count > 1}


def repeated_constants(trees: dict[Path, ast.Module]) -> dict[str, int]:
    """Names of module constants that have two or more values, with how many; variables of types are none."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        for name, value in constants(tree):
            if ast.unparse(value).startswith("TypeVar("):
                continue
            found[name].add(ast.unparse(value) if is_number(value) else f"{path}: {ast.unparse(value)}")
    return {name: len(values) for name, values in found.items() if len(values) > 1}


# -- the import graph by sub-folder ------------------------------------------------------------------------------------


def folder_of(module: str, known: dict[str, Path], src: Path) -> str:
    """The room of a module: its folder below ``exciter``; a file beside the folders is its own room."""
    parts = known[module].relative_to(src).parts
    return "/".join(parts[1:-1]) or parts[-1].removesuffix(".py")


def import_graph(trees: dict[Path, ast.Module], src: Path) -> dict[str, set[str]]:
    """Which rooms of ``exciter`` each room imports, inside functions and for types included."""
    known = {
        ".".join(path.relative_to(src).with_suffix("").parts).removesuffix(".__init__"): path
        for path in trees
        if path.relative_to(src).parts[0] == "exciter"
    }
    graph: dict[str, set[str]] = {}
    for module, path in known.items():
        here = folder_of(module, known, src)
        imported = graph.setdefault(here, set())
        for node in nodes(trees[path]):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [one if one in known else node.module for one in whole]
            imported |= {folder_of(name, known, src) for name in names if name in known} - {here}
    for front in ("__init__", "__main__"):
        graph.pop(front, None)
    return {room: imported - {"__init__"} for room, imported in graph.items()}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of rooms that import each other, by whatever way."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for room in graph.get(todo.pop(), set()) - seen:
                seen.add(room)
                todo.append(room)
        reach[start] = seen
    found = {frozenset({room, *(other for other in reach[room] if room in reach.get(other, ()))}) for room in graph}
    return [set(group) for group in found if len(group) > 1]


# -- one identification ------------------------------------------------------------------------------------------------


def traced_identify(package: Path) -> tuple[int, int]:
    """Files of the package that one automatic identification runs through, and its deepest stack of their functions."""
    import exciter as ex

    robot = ex.load("kuka-ir361")
    motion = ex.design(robot, ex.Fourier(period=10, harmonics=5), starts=1)
    log = ex.simulate(robot, motion).recording
    identify = ex.identify  # imported before: a file that is only imported takes no part
    files: set[str] = set()
    depth = deepest = 0

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, deepest
        if event in ("call", "return") and frame.f_code.co_filename.startswith(str(package)):
            files.add(frame.f_code.co_filename)
            depth += 1 if event == "call" else -1
            deepest = max(deepest, depth)

    sys.setprofile(look)
    try:
        identify(robot, log)
    finally:
        sys.setprofile(None)
    return len(files), deepest


def complexity(trees: dict[Path, ast.Module]) -> float:
    """Mean cyclomatic complexity of functions and classes, as radon counts it."""
    from radon.complexity import cc_visit

    blocks = [block.complexity for path in trees for block in cc_visit(path.read_text(encoding="utf-8"))]
    return statistics.mean(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src", type=Path, default=ROOT / "src")
    parser.add_argument("--no-trace", action="store_true")
    parser.add_argument("--names", action="store_true", help="list the names that mean two things")
    arguments = parser.parse_args()
    src = arguments.src.resolve()
    trees = modules(src)
    package = {path: tree for path, tree in trees.items() if is_package(path, src)}
    for title, part in (("exciter", package), ("papers", {p: t for p, t in trees.items() if p not in package})):
        lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in part}
        full = [length for path, length in lengths.items() if path.name != "__init__.py"]
        longest = max(lengths, key=lambda path: lengths[path])
        print(f"{title}: {len(part)} files, {sum(lengths.values())} lines, median {statistics.median(full):.0f}")
        print(f"  largest {lengths[longest]} ({longest.relative_to(src)})")
        print(f"  lines of imports {sum(map(import_lines, part.values()))}")
        numbers = sum(is_number(value) for tree in part.values() for _, value in constants(tree))
        print(f"  numeric constants {numbers}")
        print(f"  mean complexity {complexity(part):.2f} (radon)")
    classes, values = repeated_classes(trees), repeated_constants(trees)
    print(f"class names of several classes {len(classes)}; constant names of several values {len(values)}")
    if arguments.names:
        print(" ", ", ".join(sorted(classes)), "\n ", ", ".join(sorted(values)))
    print(f"circles between sub-folders {len(found := circles(import_graph(package, src)))}")
    for group in found:
        print("  " + ", ".join(sorted(group)))
    if not arguments.no_trace:
        files, depth = traced_identify(src / "exciter")
        print(f"one identify: {files} files, depth {depth}")


def is_package(path: Path, src: Path) -> bool:
    """Part of ``exciter`` proper: the papers are counted by themselves, wherever they stand."""
    return path.relative_to(src).parts[0] == "exciter" and "reproduction" not in path.relative_to(src).parts


if __name__ == "__main__":
    main()
