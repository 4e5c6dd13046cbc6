"""Reading XML that nobody vouches for: no DTD, no entities, bounded size and depth, paths below one folder.

A description is parsed here, once; whoever works on it sees the tree that was checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os.path import exists, isdir, isfile  # false, too, for a name that is too long
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from exciter.errors import RobotError, shown
from exciter.notes import Note, note
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT

LARGEST_DESCRIPTION_BYTES = 20_000_000
UNBOUNDED_ATTRIBUTES = (
    "lower", "upper", "effort", "velocity", "range", "actuatorfrcrange", "forcerange", "ctrlrange", "actrange"
)  # limits, which may be no limit  # fmt: skip
PACKAGE_MANIFEST = "package.xml"  # that a ROS package has in its folder
DEEPEST_XML = 200  # nested elements; later readers are recursive


def read_bytes(path: Path, what: str = "robot description", limit: int = LARGEST_DESCRIPTION_BYTES) -> bytes:
    """The content of a regular file that is not larger than ``limit`` bytes."""
    if isdir(path):
        raise RobotError(f"'{path}' is a folder; give the {what} file inside it")
    if not exists(path):
        raise RobotError(f"there is no file '{path}'; check the path of the {what}")
    if not isfile(path):
        raise RobotError(f"'{path}' is not a regular file; give the path of a {what} file on disk")
    try:
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except OSError as error:
        raise RobotError(f"cannot read '{path}': {error.strerror}") from None
    if len(content) > limit:
        raise RobotError(f"'{path}' is larger than {limit / 1e6:g} MB; a {what} is far smaller")
    return content


def parse_xml(path: Path) -> Element:
    """The root element of an XML file, or one line saying where and why it is refused."""
    content = read_bytes(path)
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST_XML:
            raise RobotError(f"'{path}' nests more than {DEEPEST_XML} elements (line {parser.CurrentLineNumber})")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        problem = f"'{path}' has a DTD or an entity (line {parser.CurrentLineNumber})"
        raise RobotError(f"{problem}; neither is allowed in a robot description: remove the <!DOCTYPE …> part")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # the last two: an encoding nobody knows
        raise RobotError(f"'{path}' is not well-formed XML: {error}") from None
    return builder.close()


def refuse_xacro(root: Element, path: Path) -> None:
    """Macros must be expanded first. (A mere declaration of the xacro namespace is harmless.)"""
    values = [value for element in root.iter() for value in element.attrib.values()]
    macros = path.suffix == ".xacro" or any(element.tag.startswith("xacro:") for element in root.iter())
    if macros or any("${" in value or "$(" in value for value in values):
        plain = path.stem.removesuffix(".urdf") + ".urdf"
        target = plain if plain != path.name else f"{path.stem}.expanded.urdf"
        raise RobotError(f"'{path}' is a xacro file; expand it first: xacro {path.name} > {target}")


def numbers(element: Element, attribute: str, count: int, owner: str) -> tuple[float, ...] | None:
    """The finite numbers of one attribute, ``count`` of them; None when absent."""
    text, where = element.get(attribute), f"in <{element.tag}> of {owner}"
    if text is None:
        return None
    try:
        if "_" in text:  # Python would read 1_0 as ten; no other reader does
            raise ValueError
        values = tuple(float(word) for word in text.split())
    except ValueError:
        raise RobotError(f"{attribute}={shown(text)} {where} is not a number") from None
    if not all(map(math.isfinite, values)):
        raise RobotError(f'{attribute}="{text}" {where} is not finite; give a number or leave it out')
    if attribute not in UNBOUNDED_ATTRIBUTES and any(abs(value) > LARGEST_OF_A_ROBOT for value in values):
        raise RobotError(f"{attribute}={shown(text)} {where} is beyond {LARGEST_OF_A_ROBOT:g}")
    if len(values) != count:
        expected = "one number" if count == 1 else f"{count} numbers"
        raise RobotError(f'{attribute}="{text}" {where} must be {expected}')
    return values


def number(element: Element | None, attribute: str, owner: str, default: float = 0.0) -> float:
    """One finite number, or the default where element or attribute is absent."""
    values = None if element is None else numbers(element, attribute, 1, owner)
    return default if values is None else values[0]


def check_numbers(element: Element, counts: Mapping[str, Mapping[str, int]], owner: str) -> None:
    """Every attribute below ``element`` that ``counts[tag]`` knows holds that many finite numbers."""
    for child in element.iter():
        for attribute, count in counts.get(child.tag, {}).items():
            numbers(child, attribute, count, owner)


def asset_path(reference: str, folder: Path, root: Path | None = None) -> Path | None:
    """Where a mesh or texture lies: below ``root`` whatever the file says, or None: such a file is never looked at.
    Plain paths are seen from the description's ``folder``, ``package://name/rest`` is ``root/name/rest``, or else
    ``root`` and as much of its end as is a file there: ``root/rest`` and so on. Other schemes lead nowhere. Without a
    root that is the folder, or the package of that name, with its manifest, around it or beside one that is."""
    around, root = root is None, folder if root is None else root
    text = reference.strip().replace("\\", "/")  # a Windows path must not climb either
    scheme, separator, rest = text.partition("://")
    if separator and scheme in ("package", "model"):
        inside = PurePosixPath(rest.lstrip("/"))
        candidates = [root / PurePosixPath(*inside.parts[k:]) for k in range(max(len(inside.parts), 1))]
    elif separator and scheme != "file":
        return None
    else:
        candidates = [folder / (rest if separator else text)]
    if text[1:2] == ":" or not all(_is_below(candidate, root) for candidate in candidates):
        return None
    found = next((candidate for candidate in candidates if isfile(candidate)), None)
    if found is None and around and separator and scheme in ("package", "model"):
        found = _in_package(inside, folder)
    return candidates[0] if found is None else found


def _in_package(inside: PurePosixPath, folder: Path) -> Path | None:
    """The file ``name/rest`` of a package: the nearest folder of that name around ``folder``, or beside one that is,
    that calls itself a package by its manifest, and nothing outside it; a name alone would open 'home'. None: there is
    none."""
    for above in folder.resolve().parents if inside.parts else ():
        package = above / inside.parts[0]
        if isfile(package / PACKAGE_MANIFEST):
            file = above / inside
            return file if isfile(file) and _is_below(file, package) else None
    return None


def outside_note(references: Sequence[str], root: Path) -> Note:
    """Of meshes and textures that ``asset_path`` keeps closed."""
    count = f"files outside the allowed folder '{root}': {len(references)} (first: {shown(references[0])})"
    advice = "for pictures and distances give mesh_root, a folder that holds them (http:// and the like: a copy)"
    return note("mesh files", f"{count}; they are not opened; {advice}")


def _is_below(path: Path, root: Path) -> bool:
    """With every link and .. resolved."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name too long, an embedded NUL
        return False
