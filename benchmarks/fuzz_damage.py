"""Damage to files, for ``fuzz_readers.py``: trees, texts, bytes and archives; the same random numbers do the same."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import re
import struct
import warnings
import zipfile
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml

NUMBERS = (
    "nan", "inf", "-inf", ".nan", ".inf", "1e308", "-1e308", "1.8e308", "1e-320", "-0.0", "0", "-1", "1", "2", "1e999",
    "9" * 400, "1" + "0" * 20, "2147483648", "9223372036854775808", "1e5", "1e-9", "1e12", "1e299", "0x10", "1_0", "",
    "true", "~", "3.14.15", "1e", "--1", "50000000", "0.1", "1.5", "-7",
)  # fmt: skip
WORDS = (
    "", " ", "base", "none", "true", "null", "nan", "~", "<<", "*a", "&a", "..", "../../etc/passwd", "/", "a" * 300,
    "x" * 5000, "\x00", "\x1b[31m", "\u202e", "é", "𝄞", "\ufeff", "{joint}", "%s", "{}", "joint1", "time", "file:///a",
    "package://x/y", "'", '"', "\\", "\n", "\t", "#", ": ", "- ", "[", "]]>", "&amp;", "None", "all", "0", "-",
)  # fmt: skip
TREES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 10**20, 10**400, 1e308, -1e308, 5e-324, -0.0, 0.5, 50_000_000, 1e12, "", "x", [],
    {}, [[]], [None], {"a": 1}, [1, 2, 3], [0.0] * 3, [1e308] * 3, [1, "a"], "nan", "inf", "1e3", [True], {"": {}},
)  # fmt: skip


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bits, blocks, lengths."""
    if not data:
        return rng.randbytes(rng.randrange(20))
    at, kind = rng.randrange(len(data)), rng.randrange(9)
    length = min(len(data) - at, 1 << rng.randrange(8))
    if kind == 0:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data[:at] + rng.randbytes(length) + data[at:]
    if kind == 3:
        return data[:at] + data[at : at + length] * rng.choice((2, 3, 10)) + data[at + length :]
    if kind == 4:
        return data[:at] + data[at + length :]
    if kind == 5:
        return data[:at] + bytes(length) + data[at + length :]
    if kind == 6:
        form = rng.choice(("<H", "<I", "<Q", ">I", "<d"))
        values: tuple[float, ...] = (np.nan, np.inf, 1e308) if form == "<d" else (0, 1, 0x7F, 0xFFFF)
        if form in ("<I", ">I", "<Q") and rng.random() < 0.5:
            values = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000)
        new = struct.pack(form, rng.choice(values))
        return data[:at] + new + data[at + len(new) :]
    if kind == 7:
        other = rng.randrange(len(data))
        return data[:at] + data[other : other + length] + data[at + length :]
    return data[:at] + rng.choice(WORDS).encode() + data[at + rng.randrange(2) * length :]


TOKEN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[A-Za-z_][\w.-]*|\s+|.", re.DOTALL)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def damaged_text(text: str, rng: random.Random) -> str:
    """Numbers, words, lines, brackets."""
    kind = rng.randrange(8)
    if kind < 3 and (found := list(NUMBER.finditer(text))):
        one = rng.choice(found)
        return text[: one.start()] + rng.choice(NUMBERS) + text[one.end() :]
    if kind == 3:
        tokens = TOKEN.findall(text)
        k, j = rng.randrange(len(tokens) or 1), rng.randrange(len(tokens) or 1)
        if tokens:
            tokens[k], tokens[j] = (tokens[j], tokens[k]) if rng.random() < 0.5 else (rng.choice(WORDS), tokens[j])
        return "".join(tokens)
    if kind == 4:
        lines = text.split("\n")
        k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        how = rng.randrange(4)
        if how == 0:
            lines.insert(j, lines[k])
        elif how == 1:
            del lines[k]
        elif how == 2:
            lines[k], lines[j] = lines[j], lines[k]
        else:
            lines[k] = " " * rng.randrange(5) + lines[k]
        return "\n".join(lines)
    if kind == 5:
        at = rng.randrange(len(text) + 1)
        return (
            text[:at]
            + rng.choice(("[", "{", "]", "}", "<", ">", ",", ":", "&a ", "*a", "!!int ", "? ", "|"))
            + text[at:]
        )
    if kind == 6:
        at = rng.randrange(len(text) + 1)
        deep = rng.choice(("[", "{a: ", "<link>", "- ", '{"a":', "[*a,")) * rng.choice((3, 120, 3000))
        return text[:at] + deep + text[at:]
    return damaged_bytes(text.encode("utf-8", "surrogatepass"), rng).decode("utf-8", "surrogateescape")


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (list or mapping, key) of plain data."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in inside:
            found.append((node, key))
            if isinstance(value, dict | list):
                waiting.append(value)
    return found


def damage_tree(tree: Any, rng: random.Random) -> None:
    """Values, keys, types, nesting; in place."""
    found = places(tree)
    if not found:
        return
    node, key = rng.choice(found)
    kind = rng.randrange(10)
    if kind < 4:
        node[key] = copy.deepcopy(rng.choice(TREES))
    elif kind == 4:
        node[key] = rng.choice(WORDS)
    elif kind == 5:
        del node[key]
    elif kind == 6:
        other, at = rng.choice(found)
        if at in other if isinstance(other, dict) else at < len(other):
            node[key] = copy.deepcopy(other[at])
    elif kind == 7:
        new = rng.choice((str(rng.choice(found)[1]), rng.choice(WORDS)))
        if isinstance(node, dict):
            node[new] = node.pop(key)
        else:
            node.insert(rng.randrange(len(node) + 1), copy.deepcopy(node[key]))
    elif kind == 8:
        for _ in range(rng.choice((1, 1, 2, 150))):
            node[key] = [node[key]] if rng.random() < 0.5 else {"a": node[key]}
    elif isinstance(node[key], int | float) and not isinstance(node[key], bool):
        with contextlib.suppress(OverflowError):
            node[key] = node[key] * rng.choice((-1, 0, 1e-12, 1e6, 1e15, 1e300))
    elif isinstance(node[key], list):
        node[key] = node[key] * rng.choice((2, 3, 50))


def damage_xml(root: ElementTree.Element, rng: random.Random) -> None:
    """Attributes, elements; in place."""
    elements = list(root.iter())
    one, other = rng.choice(elements), rng.choice(elements)
    kind = rng.randrange(8)
    if kind < 4 and one.attrib:
        name = rng.choice(list(one.attrib))
        words = one.attrib[name].split()
        if kind < 2 and words:
            words[rng.randrange(len(words))] = rng.choice(NUMBERS)
            one.attrib[name] = " ".join(words)
        elif kind == 2:
            one.attrib[name] = rng.choice((*WORDS, *NUMBERS, *other.attrib.values()))
        else:
            one.attrib[rng.choice((name + "x", *other.attrib))] = one.attrib.pop(name)
    elif kind == 4 and len(one):
        one.remove(rng.choice(list(one)))
    elif kind == 5:
        one.append(copy.deepcopy(other) if len(list(other.iter())) < 50 else ElementTree.Element("link"))
    elif kind == 6:
        one.tag = other.tag
    else:
        element = one
        for _ in range(rng.choice((1, 3, 250))):
            element = ElementTree.SubElement(element, other.tag, other.attrib)


UNPRINTABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
EIGHT = [(f"b{k}", f"*b{k - 1}" if k else "*a") for k in range(8)]
BOMBS = (
    "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{b}: &{b} [{','.join([a] * 9)}]\n" for b, a in EIGHT),
    "a: &a {x: 1}\n" + "".join(f"{b}: &{b} {{<<: [{','.join([a] * 9)}]}}\n" for b, a in EIGHT),
    "&a [*a]\n", "&a {b: *a}\n", "joints: &j [*j, *j]\n",
)  # fmt: skip


def damaged(content: bytes, kind: str, rng: random.Random) -> bytes:
    """A few damages to a valid file; kind: xml, tree (YAML and JSON), lines (of JSON), text,
    binary, zip."""
    times = rng.choice((1, 1, 1, 2, 3, 6))
    if rng.random() < 0.1 and kind != "zip":
        for _ in range(times):
            content = damaged_bytes(content, rng)
        return content
    if kind == "xml" and rng.random() < 0.7:
        root = copy.deepcopy(_xml(content))
        for _ in range(times):
            damage_xml(root, rng)
        return UNPRINTABLE.sub("", ElementTree.tostring(root, encoding="unicode")).encode()
    if kind in ("tree", "lines") and rng.random() < 0.7:
        tree = copy.deepcopy(_tree(content) if kind == "tree" else _lines(content))
        for _ in range(times):
            damage_tree(tree, rng)
        ascii_only = rng.random() < 0.5
        parts = [tree] if kind == "tree" else tree
        text = "".join(json.dumps(part, ensure_ascii=ascii_only) + "\n" * (kind == "lines") for part in parts)
        if rng.random() < 0.3:
            text = damaged_text(text, rng)
        return text.encode("utf-8", "surrogateescape")
    if kind == "zip" and rng.random() < 0.6:
        return damaged_zip(content, rng)
    if kind in ("binary", "zip"):
        for _ in range(times):
            content = damaged_bytes(content, rng)
        return content
    text = content.decode("utf-8", "surrogateescape")
    if kind == "tree" and rng.random() < 0.02:
        text = rng.choice(BOMBS) + text
    for _ in range(times):
        text = damaged_text(text, rng)
    return text.encode("utf-8", "surrogateescape")


@lru_cache(200)
def _xml(content: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(content)


@lru_cache(200)
def _tree(content: bytes) -> Any:
    return yaml.safe_load(content)


@lru_cache(200)
def _lines(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.splitlines()]


def damaged_zip(content: bytes, rng: random.Random) -> bytes:
    """Members damaged, renamed, twice there; the archive itself is whole, checksums included."""
    out = io.BytesIO()
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w", packing) as made:
        names = archive.namelist()
        chosen = rng.choice(names)
        for name in names:
            data = archive.read(name)
            if name == chosen and rng.random() < 0.7:
                array = name.endswith(".npy")
                head = 10 + struct.unpack_from("<H", data, 8)[0] if array else 0
                if rng.random() < 0.5 and array:
                    data = (
                        data[:10]
                        + damaged_text(data[10:head].decode("latin-1"), rng).encode("utf-8", "replace")[:5000]
                        + data[head:]
                    )
                else:
                    data = damaged_bytes(data, rng)
            elif name == chosen:
                name = rng.choice((rng.choice(names), rng.choice(WORDS) + ".npy", name.removesuffix(".npy")))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made.writestr(zipfile.ZipInfo(name.replace("\x00", "") or "a"), data, packing)
    return out.getvalue()
