"""YAML and JSON from users: plain data only, of bounded size, and one clear line when something is wrong.

A few hundred bytes of YAML can stand for more values than any memory holds, by aliases of aliases: what aliases stand
for is counted before any of it is made."""

from __future__ import annotations

import json
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from exciter.errors import ExciterError, RobotError, shown
from exciter.files import Seal, unique_keys
from exciter.robot.xml_safety import read_bytes

LARGEST_YAML_BYTES = 1_000_000
MOST_ALIASED_VALUES = 100_000  # values that all aliases of a file stand for together
TOO_MANY_VALUES = f"stands for more than {MOST_ALIASED_VALUES} values; write them out"
DEEPEST_YAML = 100  # lists and mappings in each other
LONGEST_NUMBER_TEXT = 400  # characters; 309 digits hold the largest number there is
LARGEST_WHOLE_NUMBER = 10**300  # so that every whole number is a number in floating point, too
CONSTRUCTOR_ERRORS = (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError)  # of constructors

if yaml.__with_libyaml__:
    from yaml._yaml import CParser as YamlEvents  # some ten times as fast
else:
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class YamlEvents(Reader, Scanner, Parser):  # type: ignore[no-redef]
        """Events by Python alone."""

        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)


class _Loader(Composer, YamlEvents, SafeConstructor, Resolver):
    """Plain data. Refused are a key that is there twice (one of both would be lost without a word), data nested
    deeper than ``DEEPEST_YAML``, aliases of more than ``MOST_ALIASED_VALUES`` values or of themselves, and numbers
    longer than ``LONGEST_NUMBER_TEXT``."""

    def __init__(self, text: str) -> None:
        YamlEvents.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)
        self.depth = self.aliased = 0
        self.values = 0  # read so far, those of aliases included
        self.sizes: dict[str, int] = {}  # values that an anchor stands for

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            anchor = str(event.anchor)
            if anchor in self.anchors and anchor not in self.sizes:
                raise _problem(event, f"the alias {shown(anchor)} is inside itself: it {TOO_MANY_VALUES}")
            size = self.sizes.get(anchor, 0)  # an unknown one is the composer's to refuse
            self.values, self.aliased = self.values + size, self.aliased + size
            if self.aliased > MOST_ALIASED_VALUES:
                raise _problem(event, f"with its aliases it {TOO_MANY_VALUES}")
            return super().compose_node(parent, index)
        self.depth += 1
        if self.depth > DEEPEST_YAML:
            raise _problem(event, f"lists and mappings are nested deeper than {DEEPEST_YAML}")
        before = self.values
        self.values += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        if event.anchor is not None:
            self.sizes[event.anchor] = self.values - before
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            return super().construct_object(node, deep)
        if len(node.value) > LONGEST_NUMBER_TEXT and node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
            raise _problem(node, f"a number of {len(node.value)} characters; at most {LONGEST_NUMBER_TEXT} are read")
        try:
            value = super().construct_object(node, deep)
        except CONSTRUCTOR_ERRORS:
            kind = node.tag.rpartition(":")[2]
            raise _problem(node, f"{shown(node.value)} cannot be read as {shown(kind)}") from None
        if isinstance(value, int) and abs(value) > LARGEST_WHOLE_NUMBER:
            raise _problem(node, f"{shown(value)} is too large")
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is not None and name in seen and name != "<<":
                raise _problem(key, f"the key {shown(name)} is there twice")
            seen.add(name)
        return super().construct_mapping(node, deep)


def _problem(at: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


def read_yaml(path: str | Path, what: str) -> Any:
    """The content of a YAML file; ``what`` says in errors what the file should be."""
    content = read_bytes(Path(path), what, LARGEST_YAML_BYTES)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise RobotError(f"{what} '{path}' is not text; expected YAML in UTF-8") from None
    return parse_yaml(text, f"{what} '{path}'")


def parse_yaml(text: str, source: str) -> Any:
    """The data of a YAML document; ``source`` says in errors where it comes from."""
    loader = None
    try:
        loader = _Loader(text)
        return loader.get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise RobotError(f"{source} is not valid YAML{where}: {problem}") from None
    except (RecursionError, ValueError):
        raise RobotError(f"{source} is nested too deeply or holds impossible numbers") from None
    finally:
        if loader is not None:
            loader.dispose()


def _whole(text: str) -> int:
    value = int(text) if len(text) <= LONGEST_NUMBER_TEXT else LARGEST_WHOLE_NUMBER + 1
    if abs(value) > LARGEST_WHOLE_NUMBER:
        raise ValueError(f"a whole number of {len(text)} digits is too large")
    return value


def parse_json(text: str, source: str) -> Any:
    """The data of a JSON document, as ``parse_yaml``."""
    try:
        return json.loads(text, parse_int=_whole, object_pairs_hook=unique_keys)
    except RecursionError:
        raise RobotError(f"{source} is not valid JSON: lists and mappings are nested too deeply") from None
    except ValueError as error:
        raise RobotError(f"{source} is not valid JSON: {error}") from None


def sealed_json(folder: Path, seal: Seal, maker: str, what: str) -> Any:
    """The data of the seal of a folder that a command, the ``maker``, wrote; ``what`` it is, in words."""
    path = folder / seal.name
    seal.refuse_open(folder)
    if not isfile(path):
        raise ExciterError(f"there is no {seal.name} in '{folder}'; give a folder that {maker} wrote")
    try:
        return parse_json(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ExciterError(f"cannot read '{path}': {error.strerror}; check its permissions") from None
    except (ValueError, RobotError):
        raise ExciterError(f"'{path}' cannot be read as {what}; {seal.again}") from None
