"""A folder of the package imports only from folders that come before it in the flow."""

import ast
from pathlib import Path

import exciter

FLOW = (
    "errors",
    "files",
    "workers",
    "robot",
    "parameters",
    "dynamics",
    "excitation",
    "experiment",
    "identification",
    "validation",
    "pipeline",
    "report",
    "export",
    "saving",
    "reproduction",
    "arguments",
    "commands",
    "cli",
)
ROOT = Path(exciter.__file__).parent


def imported_parts(path: Path) -> set[str]:
    """Parts of exciter that a file imports, inside functions and for types included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            names = [node.module or ""]
            if node.module == "exciter":
                names = [f"exciter.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("exciter.")} - {"__version__"}
    return found


def test_imports_follow_the_flow():
    wrong = []
    for path in ROOT.rglob("*.py"):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part in ("__init__", "__main__"):
            continue
        assert part in FLOW, f"{path} is in no known part of the package"
        allowed = set(FLOW[: FLOW.index(part) + 1])
        wrong += [f"{path.relative_to(ROOT)} imports exciter.{p}" for p in imported_parts(path) - allowed]
    assert not wrong, "\n".join(wrong)


def test_every_module_is_short_enough_to_read():
    long = {str(p.relative_to(ROOT)): n for p in ROOT.rglob("*.py") if (n := len(p.read_text().splitlines())) > 500}
    assert not long, long
