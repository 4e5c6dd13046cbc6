"""XML changed at a few places only: every other byte stays what it was, comments and white space included.

A parser says where elements begin and end; changes are made to the text at these positions, never by writing the tree
again. As for every description: no DTD, no entities, bounded depth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from exciter.errors import RobotError
from exciter.robot.xml_safety import DEEPEST_XML, parse_xml, read_bytes

TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")
ATTRIBUTE = re.compile(rb"""\s+([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
DECLARED = re.compile(r"""(<\?xml[^>]*?encoding\s*=\s*["'])([^"']+)""")
UTF8_ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii")


def xml_of(path: Path) -> str:
    """The text of an XML file in whatever encoding it declares; the text itself then declares UTF-8, where it declares
    any. Line ends stay."""
    parse_xml(path)  # refused here if at all
    content = read_bytes(path)
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    found = DECLARED.match(content.decode("utf-16" if wide else "latin-1").removeprefix("ï»¿"))
    encoding = "utf-16" if wide else found[2] if found else "utf-8"
    try:
        text = content.decode(encoding)
    except (ValueError, LookupError) as error:
        raise RobotError(f"'{path}' cannot be read as {encoding}: {error}; save it as UTF-8") from None
    return text if encoding.lower() in UTF8_ENCODINGS else DECLARED.sub(r"\g<1>UTF-8", text, count=1)


@dataclass(frozen=True)
class Span:
    """Bytes of an element: its first tag is start … opened, the whole start … end; empty: it is one tag, <a/>."""

    start: int
    opened: int
    end: int
    empty: bool


class EditableXml:
    """A tree with the positions of its elements, and the changes to be made. Each place is changed once at most."""

    def __init__(self, text: str) -> None:
        try:
            self.data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise RobotError(f"the text of the description is not Unicode: {error}") from None
        self.spans: dict[Element, Span] = {}
        self.prologue: list[tuple[int, int]] = []  # comments before the root element
        self.root = self._parsed()
        self.newline = "\r\n" if b"\r\n" in self.data else "\n"
        self._edits: list[tuple[int, int, str]] = []

    def _parsed(self) -> Element:
        builder, parser = TreeBuilder(), expat.ParserCreate("utf-8")
        path: list[tuple[Element, int]] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            if len(path) >= DEEPEST_XML:
                raise RobotError(f"the description nests more than {DEEPEST_XML} elements")
            path.append((builder.start(tag, attributes), parser.CurrentByteIndex))

        def end(tag: str) -> None:
            builder.end(tag)
            element, begin = path.pop()
            found = TAG.match(self.data, begin)
            assert found is not None  # the parser has accepted it
            empty = bool(found[1])
            last = found.end() if empty else self.data.index(b">", parser.CurrentByteIndex) + 1
            self.spans[element] = Span(begin, found.end(), last, empty)

        def comment(data: str) -> None:
            if not path and not self.spans:
                begin = parser.CurrentByteIndex
                self.prologue.append((begin, self.data.index(b"-->", begin + 4) + 3))

        def refuse(*_: object) -> None:
            raise RobotError("the description has a DTD or an entity; remove the <!DOCTYPE …> part")

        parser.StartElementHandler, parser.EndElementHandler, parser.CommentHandler = start, end, comment
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
        try:
            parser.Parse(self.data, True)
        except (expat.ExpatError, ValueError) as error:
            raise RobotError(f"the description is not well-formed XML: {error}") from None
        return builder.close()

    # -- changes -----------------------------------------------------------------------------------------------------

    def set(self, element: Element, attribute: str, value: str) -> None:
        """Give an attribute another value, or the element one more attribute."""
        span = self.spans[element]
        tag, last = self.data[span.start : span.opened], 0
        for found in ATTRIBUTE.finditer(tag):
            last = found.end()
            if found[1].decode() == attribute:
                begin, stop = found.span(2 if found[2] is not None else 3)
                self._edits.append((span.start + begin, span.start + stop, value))
                return
        at = span.start + (last or 1 + len(element.tag.encode()))
        self._edits.append((at, at, f' {attribute}="{value}"'))

    def remove(self, element: Element, attribute: str) -> None:
        """Take an attribute away, where the element has it."""
        span = self.spans[element]
        for found in ATTRIBUTE.finditer(self.data[span.start : span.opened]):
            if found[1].decode() == attribute:
                self._edits.append((span.start + found.start(), span.start + found.end(), ""))

    def insert(self, parent: Element, lines: Sequence[str], *, last: bool = False) -> None:
        """New children, as lines indented among themselves, before the first child or after the last one; laid out as
        the children that are there."""
        span = self.spans[parent]
        own = self._indentation(span.start) or ""
        children = list(parent)
        inner = self._indentation(self.spans[children[0]].start) if children else own + "  "
        if inner is None:  # all on one line
            text = "".join(line.strip() for line in lines)
        else:
            text = "".join(f"{self.newline}{inner}{line}" for line in lines)
        if span.empty:
            slash = self.data[: span.opened].rindex(b"/")
            slash -= len(self.data[:slash]) - len(self.data[:slash].rstrip())
            self._edits.append((slash, span.end, f">{text}{self.newline}{own}</{parent.tag}>"))
            return
        at = self.spans[children[-1]].end if last and children else span.opened
        self._edits.append((at, at, text))

    def head(self, comment: str, marker: str) -> None:
        """A comment before the root element, in place of the one that begins with the marker."""
        for begin, stop in self.prologue:
            if self.data[begin:stop].decode().startswith(f"<!-- {marker}"):
                self._edits.append((begin, stop, comment))
                return
        at = self.spans[self.root].start
        self._edits.append((at, at, comment + self.newline))

    def text(self) -> str:
        """The changed text."""
        parts, at = [], 0
        for begin, stop, new in sorted(self._edits, key=lambda edit: edit[:2]):  # stable: insertions keep their order
            parts += [self.data[at:begin], new.encode("utf-8")]
            at = stop
        return b"".join([*parts, self.data[at:]]).decode("utf-8")

    def _indentation(self, at: int) -> str | None:
        """White space before a tag that begins its line; None for one that does not."""
        line = self.data[self.data.rfind(b"\n", 0, at) + 1 : at]
        return None if line.strip() else line.decode()
