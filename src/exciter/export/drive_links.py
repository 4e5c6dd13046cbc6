"""Masses of links and payloads that were found beside drives, in the user's own MJCF or URDF.

Mass and moments of every <inertial> of a link (all that is rigidly on its joint, or locked there) are multiplied by
what was found over what was described. A payload is one more body, fixed where it is, a point. Inertias that MuJoCo
would compute from geoms are not in the file: such links are refused, in words, before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

from exciter.errors import RobotError
from exciter.export.robot_xml import free_name
from exciter.export.xml_edit import EditableXml, xml_of
from exciter.identification.actuators.moved_links import ChangedLink
from exciter.robot.spatial import URDF_MOMENTS
from exciter.robot.xml_safety import number as read_number
from exciter.robot.xml_safety import numbers as read_numbers

SAME_MASS = 1e-6  #: relative, between the masses of a link's <inertial> and that of the link
MJCF_MOMENTS = {"diaginertia": 3, "fullinertia": 6}
POINT = "0 0 0"


def refuse_unwritable(path: Path, tree: Sequence[str], links: Sequence[ChangedLink]) -> None:
    """Links whose masses cannot be written into the file; nothing is."""
    if links:
        write_links(EditableXml(xml_of(path)), tree, links)


def write_links(xml: EditableXml, tree: Sequence[str], links: Sequence[ChangedLink]) -> None:
    """tree: names of all joints that move."""
    taken = {element.get("name", "") for element in xml.root.iter()}
    for link in links:
        name = free_name(f"payload_{link.joint}", taken)
        if xml.root.tag == "mujoco":
            _mjcf_link(xml, tree, link, name)
        else:
            _urdf_link(xml, tree, link, name)


def _refuse_other_mass(link: ChangedLink, total: float) -> None:
    if link.ratio != 1.0 and abs(total - link.described) > SAME_MASS * link.described:
        raise RobotError(
            f"mass of joint '{link.joint}': the file's <inertial> elements of its link have {total:.6g} kg of "
            f"{link.described:.6g} kg; give <inertial> for what is computed from geoms, or leave mass out of unknown:"
        )


def _written(values: Sequence[float], ratio: float) -> str:
    return " ".join(repr(float(ratio * value)) for value in values)


def _mjcf_link(xml: EditableXml, tree: Sequence[str], link: ChangedLink, payload: str) -> None:
    if any(compiler.get("inertiafromgeom") == "true" for compiler in xml.root.iter("compiler")):
        raise RobotError(
            f"mass of joint '{link.joint}': the file says inertiafromgeom=\"true\", by which MuJoCo looks at no "
            "<inertial>; remove that, or leave masses and payload out of unknown:"
        )
    own = next(
        (body for body in xml.root.iter("body") if any(one.get("name") == link.joint for one in _joints(body))), None
    )
    if own is None:
        raise RobotError(f"the MJCF has no joint '{link.joint}'; give the file that the robot was read from")
    owner = f"the link of joint '{link.joint}'"
    inertials = [one for body in _rigid(own, tree) for one in body.findall("inertial")]
    _refuse_other_mass(link, sum(read_number(one, "mass", owner) for one in inertials))
    if link.ratio != 1.0:
        for one in inertials:
            for word, count in {"mass": 1, **MJCF_MOMENTS}.items():
                if values := read_numbers(one, word, count, owner):
                    xml.set(one, word, _written(values, link.ratio))
    if link.payload:
        inertial = f'<inertial pos="{POINT}" mass="{link.payload!r}" diaginertia="{POINT}"/>'
        line = f'<body name={quoteattr(payload)} pos="{_written(link.place.tolist(), 1.0)}">{inertial}</body>'
        xml.insert(own, [line], last=True)


def _joints(body: Element) -> Iterator[Element]:
    """Its own joints, in frames or not."""
    for child in body:
        if child.tag == "joint":
            yield child
        elif child.tag == "frame":
            yield from _joints(child)


def _rigid(body: Element, tree: Sequence[str]) -> Iterator[Element]:
    """The body, and bodies below it that no joint of the tree moves."""
    if body.tag == "body":
        yield body
    for child in body:
        moves = child.tag == "body" and any(one.get("name") in tree for one in _joints(child))
        if child.tag in ("body", "frame") and not moves:
            yield from _rigid(child, tree)


def _urdf_link(xml: EditableXml, tree: Sequence[str], link: ChangedLink, payload: str) -> None:
    ends = {
        one.get("name", ""): tuple(end.get("link", "") for end in (*one.findall("parent"), *one.findall("child")))
        for one in xml.root.findall("joint")
    }
    if link.joint not in ends:
        raise RobotError(f"the URDF has no joint '{link.joint}'; give the file that the robot was read from")
    rigid = [ends[link.joint][1]]
    for name in rigid:  # grows while links fixed on links are found
        rigid += [child for joint, (parent, child) in ends.items() if parent == name and joint not in tree]
    owner = f"the link of joint '{link.joint}'"
    parts = [one for e in xml.root.findall("link") if e.get("name") in rigid for one in e.findall("inertial")[:1]]
    _refuse_other_mass(link, sum(read_number(one.find("mass"), "value", owner) for one in parts))
    if link.ratio != 1.0:
        for one in parts:
            for tag, words in (("mass", ("value",)), ("inertia", URDF_MOMENTS)):
                for element in one.findall(tag)[:1]:
                    for word in words:
                        if values := read_numbers(element, word, 1, owner):
                            xml.set(element, word, _written(values, link.ratio))
    if link.payload:
        moments = " ".join(f'{word}="0"' for word in URDF_MOMENTS)
        inertial = f'<inertial><mass value="{link.payload!r}"/><inertia {moments}/></inertial>'
        lines = [
            f"<link name={quoteattr(payload)}>{inertial}</link>",
            f'<joint name={quoteattr(payload)} type="fixed"><parent link={quoteattr(rigid[0])}/>'
            f"<child link={quoteattr(payload)}/>"
            f'<origin xyz="{_written(link.place.tolist(), 1.0)}"/></joint>',
        ]
        xml.insert(xml.root, lines, last=True)
