"""Write docs/api.md: the names of the front door, and the protocols that extensions follow, as their docstrings say.

python docs/make_api.py            # writes docs/api.md
python docs/make_api.py --check    # exit code 1 when it is not current
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import exciter as ex

PAGE = Path(__file__).with_name("api.md")
STUB = Path(ex.__file__).with_suffix(".pyi")
WITH_MEMBERS = ("What goes in", "What comes out")  # sections whose classes people call methods of
PROTOCOLS = (  # what one's own class follows, and where it is imported from
    ("exciter.parameters.terms", "JointTerm"),
    ("exciter.parameters.terms", "BoundTerm"),
    ("exciter.parameters.terms", "FrictionShape"),
    ("exciter.excitation.trajectories.trajectory", "Trajectory"),
    ("exciter.excitation.criteria.criterion", "Criterion"),
    ("exciter.excitation.constraints.constraint", "Constraint"),
    ("exciter.identification.formulations.formulation", "Formulation"),
    ("exciter.identification.estimators.estimator", "Estimator"),
    ("exciter.export.write", "Export"),
)
LONGEST_DEFAULT = 24  # characters of one that is shown
INTRODUCTION = """# API

What `import exciter as ex` offers. Examples go on from this one:

```python
{story}
```

Everything below works on its own, too, and every example is run by the tests. What is not here is imported from its
file, whose docstring explains it; [extending.md](extending.md) shows classes of your own.
This page is written by `python docs/make_api.py`.
"""


def page() -> str:
    story = "\n".join(line[4:] for line in example(ex.__doc__ or "").splitlines()).replace("ex\n", "ex\n\n", 1)
    return "\n".join([INTRODUCTION.format(story=story), *front_door(), *protocols()]) + "\n"


def front_door() -> Iterator[str]:
    """Sections and names in the order of the stub."""
    section = ""
    for line in STUB.read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") and "noqa" not in line:
            section = line[2:].partition(":")[0]
            yield f"## {line[2:]}\n"
        elif found := re.match(r"from \S+ import (\w+) as", line):
            thing = getattr(ex, found[1])
            yield f"### `{found[1]}{signature(thing)}`\n"
            yield f"{words(thing)}\n\n```python\n{example(inspect.getdoc(thing) or '')}\n```\n"
            if section in WITH_MEMBERS:
                yield from members(thing, [name for name in vars(thing) if not name.startswith("_")])


def protocols() -> Iterator[str]:
    yield "## Protocols, for classes of your own\n"
    yield "What a class must have; [extending.md](extending.md) has a complete one of each kind.\n"
    for module, name in PROTOCOLS:
        thing = getattr(import_module(module), name)
        bases = [base for base in reversed(thing.__mro__) if base is thing or getattr(base, "_is_protocol", False)]
        keys = dict.fromkeys(key for base in bases for key in vars(base))
        wanted = getattr(thing, "__abstractmethods__", ()) or [key for key in keys if key[0] != "_"]
        yield f"### `{name}`\n\n`from {module} import {name}`: {words(thing)}\n"
        yield from members(thing, [key for key in keys if key in wanted or key == "__call__"])


def members(thing: type, names: list[str]) -> Iterator[str]:
    """A line for each that says something."""
    lines = []
    for name in names:
        member = inspect.getattr_static(thing, name)
        if not (isinstance(member, property | cached_property | classmethod) or inspect.isfunction(member)):
            continue
        text = " ".join(words(member).partition("\n\n")[0].split())
        given = signature(getattr(thing, name), own=True) if callable(getattr(thing, name)) else ""
        if text or given:
            lines.append(f"- `{name}{given}`" + (f": {text}" if text else ""))
    if lines:
        yield "\n".join(lines) + "\n"


def signature(thing: Any, *, own: bool = False) -> str:
    """Names and defaults, without annotations; own: of a method, without self."""
    if isinstance(thing, type) and issubclass(thing, Exception):
        return ""
    listed = [one for one in inspect.signature(thing).parameters.values() if not (own and one.name == "self")]
    texts, keywords = [], False
    for one in listed:
        if one.kind is one.KEYWORD_ONLY and not keywords:
            texts.append("*")
            keywords = True
        mark = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        texts.append(mark + one.name + ("" if one.default is one.empty else f"={default(one.default)}"))
    return f"({', '.join(texts)})"


def default(value: Any) -> str:
    text = "…" if callable(value) else repr(value)
    return text if len(text) <= LONGEST_DEFAULT and text != "<factory>" else "…"


def words(thing: Any) -> str:
    """A docstring up to its example, in the page's notation."""
    return (inspect.getdoc(thing) or "").partition(">>>")[0].strip().replace("``", "`")


def example(text: str) -> str:
    """The examples of a docstring, as they stand."""
    lines = inspect.cleandoc(text).splitlines()
    first = next((k for k, line in enumerate(lines) if line.startswith(">>>")), len(lines))
    last = next((k for k in range(first, len(lines)) if not lines[k].strip()), len(lines))
    return "\n".join(lines[first:last])


def main(given: list[str]) -> int:
    if given == ["--check"]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
