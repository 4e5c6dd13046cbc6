"""Write docs/api.md: every public name of the package with its signature and the first sentence of its docstring.

    python docs/make_api.py            # writes docs/api.md
    python docs/make_api.py --check    # exit code 1 when it is not current

Sources are read, not imported: the page depends on the files alone, not on the machine.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "exciter"
PAGE = ROOT / "docs" / "api.md"
FOLDERS = (  # in the order of the flow; of each what a reader should know first
    ("", "Errors, files, results as folders"),
    ("robot", "Robots, their joints, limits and frames"),
    ("parameters", "Inertial parameters, joint terms, base parameters, physical consistency"),
    ("dynamics", "From motion to regressor rows, torques, energies, and their gradients"),
    ("excitation", "Trajectories, criteria, constraints, certificates, design, files"),
    ("experiment", "Recordings, signal processing, data quality, the virtual robot"),
    ("identification", "Formulations, estimators, uncertainty, payload, drive gains"),
    ("validation", "How far an identified model is to be trusted"),
    ("pipeline", "The whole way as functions: objects in, one object out that holds everything"),
    ("report", "Pages in HTML"),
    ("export", "Files for other tools"),
    ("reproduction", "The papers behind the methods, run again"),
)
HIDDEN = ("commands", "config", "kernels")  # the command line, its files, and compiled code behind the engines
TOP = ("errors.py", "files.py", "saving.py")  # of the package itself
INTRODUCTION = """# API

Every public class and function, folder by folder along the flow: signature, and what it does in one sentence. Names are
imported from their file, `from exciter.excitation.design import design`. Methods, shapes and units are in docstrings.
This page is written by `python docs/make_api.py`; the folders `commands`, `config` and `kernels` are left out.
"""


def page() -> str:
    """The whole page."""
    known = {folder for folder, _ in FOLDERS}
    unknown = sorted(p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists() and p.name not in known)
    if left := [name for name in unknown if name not in HIDDEN]:
        raise SystemExit(f"docs/make_api.py does not know the folder {left[0]}; add it to FOLDERS")
    return "\n".join([INTRODUCTION, *(line for folder in FOLDERS for line in section(*folder))])


def section(folder: str, about: str) -> Iterator[str]:
    """Lines of one folder; nothing where it has no public name."""
    paths = sorted((SOURCE / folder).glob("**/*.py" if folder else "*.py"), key=lambda path: path.as_posix())
    files = [(path, list(entries(path))) for path in paths if shown(path)]
    if not any(names for _, names in files):
        return
    yield f"## {folder or 'exciter'}\n\n{about}.\n"
    for path, names in files:
        if names:
            place = path.relative_to(SOURCE).as_posix()
            yield f"[`{place}`](../src/exciter/{place})\n"
            yield from names
            yield ""


def shown(path: Path) -> bool:
    parts = path.relative_to(SOURCE).parts
    return path.name != "__init__.py" and (len(parts) > 1 or path.name in TOP) and not set(parts) & set(HIDDEN)


def entries(path: Path) -> Iterator[str]:
    """One line per public class or function of a file."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            words = sentence(ast.get_docstring(node))
            yield f"- `{signature(node)}`" + (f": {words}" if words else "")


def signature(node: ast.ClassDef | ast.FunctionDef) -> str:
    if isinstance(node, ast.FunctionDef):
        result = f" → {ast.unparse(node.returns)}" if node.returns else ""
        return f"{node.name}({', '.join(arguments(node.args))}){result}"
    given = [item for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    fields = [field(item) for item in given if is_field(item)] if is_dataclass(node) else initial(node)
    bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) not in ("ABC", "Protocol")]
    kind = f" ({', '.join(bases)})" if bases else ""
    return f"{node.name}({', '.join(fields)}){kind}"


def is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(mark) for mark in node.decorator_list)


def is_field(item: ast.AnnAssign) -> bool:
    return "ClassVar" not in ast.unparse(item.annotation) and not ast.unparse(item.target).startswith("_")


def field(item: ast.AnnAssign) -> str:
    """A field of a dataclass; of default factories only that there is a default."""
    if item.value is None:
        return ast.unparse(item.target)
    made = isinstance(item.value, ast.Call) and ast.unparse(item.value.func) == "field"
    return f"{ast.unparse(item.target)}={'…' if made else short(item.value)}"


def initial(node: ast.ClassDef) -> list[str]:
    made = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    return arguments(made[0].args)[1:] if made else []


def arguments(given: ast.arguments) -> list[str]:
    """Names with defaults, without annotations."""
    plain = [*given.posonlyargs, *given.args]
    first = len(plain) - len(given.defaults)
    words = [a.arg + (f"={short(given.defaults[k - first])}" if k >= first else "") for k, a in enumerate(plain)]
    words += [f"*{given.vararg.arg}"] if given.vararg else ["*"] if given.kwonlyargs else []
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    words += [a.arg + (f"={short(default)}" if default is not None else "") for a, default in pairs]
    return words + ([f"**{given.kwarg.arg}"] if given.kwarg else [])


def short(default: ast.expr) -> str:
    text = ast.unparse(default)
    return text if len(text) <= 24 else "…"


def sentence(text: str | None) -> str:
    """The first one, on one line, in the page's notation."""
    if not text:
        return ""
    whole = " ".join(text.split("\n\n")[0].split()).replace("``", "`")
    return re.split(r"(?<=[^.\d].[.])\s+(?=[A-Z`])", whole, maxsplit=1)[0]


def main(words: list[str]) -> int:
    if words == ["--check"]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
