"""The house: folders import along the flow, sub-folders in no circle, a name means one thing."""

import ast
import importlib
import re
from pathlib import Path

import exciter
from support.scripts import benchmark, script

FLOW = (
    "typing",
    "errors",
    "notes",
    "settings",
    "files",
    "remote_files",
    "archive",
    "labelled",
    "independent_blocks",
    "workers",
    "cluster",
    "kept_results",
    "robot",
    "parameters",
    "dynamics",
    "excitation",
    "experiment",
    "identification",
    "validation",
    "report",
    "export",
    "pipeline",
    "commands",
    "cli",
)
ROOT = Path(exciter.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z]+")

house = benchmark("house")


def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of a module, itself first; a file is parsed once for all tests."""
    return house.nodes(house.modules(ROOT.parent)[path])


def imported_parts(path: Path) -> set[str]:
    """Parts of exciter that a file imports, inside functions and for types included."""
    found = set()
    for node in nodes(path):
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


#: A report lays out what results hold, so that who has no page has the same figures: nothing here is for it.
COMPUTING = (
    "scipy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.interp",
    "numpy.random",
    "exciter.dynamics.dynamics",
    "exciter.excitation.design.design",
    "exciter.identification.estimators",
    "exciter.identification.identification.identify",
    "exciter.identification.uncertainty.conditioning.explain",
    "exciter.validation.baselines.baselines",
    "exciter.validation.friction_curves.friction_curves",
    "exciter.validation.residuals.histograms",
    "exciter.validation.prediction.predictions",
    "exciter.validation.residuals.densities",
    "exciter.validation.residuals.residual_spectrum",
    "exciter.validation.structure.structures",
    "exciter.validation.validation.validate",
    "exciter.validation.validation.validate_both",
)


def computing(path: Path) -> set[str]:
    """What of ``COMPUTING`` a file imports, or reaches through a module that it imports."""
    whole: dict[str, str] = {}
    used = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            whole |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            whole |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.add((node.value.id, node.attr))
    names = {*whole.values(), *(f"{whole[module]}.{name}" for module, name in used if module in whole)}
    return {name for name in names for part in COMPUTING if f"{name}.".startswith(f"{part}.")}


def test_reports_compute_nothing():
    paths = (ROOT / "report").rglob("*.py")
    wrong = {str(path.relative_to(ROOT)): found for path in paths if (found := computing(path))}
    assert not wrong
    files = ("residuals.py", "prediction.py", "validation.py")
    noticed = {name for file in files for name in computing(ROOT / "validation" / file)}
    assert {"scipy.signal", "numpy.linalg", "exciter.dynamics.dynamics.Dynamics"} <= noticed


def test_only_a_command_knows_the_papers():
    """They use the package as anybody does; the package does without them."""
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    assert {path.parts[0] for path, text in texts.items() if "exciter_papers" in text} == {"commands"}


def test_papers_take_from_the_front_door_what_it_offers():
    """As anybody does; inner modules are for what a user does not need."""
    offered = {name: getattr(exciter, name) for name in exciter.__all__}
    beside = []
    for path in (ROOT.parent / "exciter_papers").rglob("*.py"):
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("exciter."):
                names = {alias.name for alias in node.names} & set(offered)
                module = importlib.import_module(node.module)
                beside += [f"{path.name}: {n}" for n in names if getattr(module, n, None) is offered[n]]
    assert not beside


def test_every_module_is_short_enough_to_read():
    """Of the papers, too."""
    paths = [*ROOT.rglob("*.py"), *(ROOT.parent / "exciter_papers").rglob("*.py")]
    long = {str(path.relative_to(ROOT.parent)): n for path in paths if (n := len(path.read_text().splitlines())) > 500}
    assert not long, long


def test_sub_folders_do_not_import_in_circles():
    """By whatever way; docs/imports.svg shows the graph, and is current."""
    trees = house.modules(ROOT.parent)
    assert not house.circles(house.import_graph(trees, ROOT.parent))
    assert house.circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}], "a circle is noticed"
    assert script("docs", "make_imports").main(["--check"]) == 0, "run: python docs/make_imports.py"


def test_a_name_means_one_thing():
    """One class for a name of a class, one value for the name of a constant, in the package and the papers."""
    trees = house.modules(ROOT.parent)
    assert not house.repeated_classes(trees)
    assert not house.repeated_constants(trees)
    twice = {Path("a.py"): ast.parse("SLOW = 1.0\nclass A: ..."), Path("b.py"): ast.parse("SLOW = 2.0\nclass A: ...")}
    assert (house.repeated_classes(twice), house.repeated_constants(twice)) == ({"A": 2}, {"SLOW": 2}), "it is noticed"


def spoken(path: Path) -> set[str]:
    """Ways to a terminal that a file knows."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input"):
            found.add(f"{node.func.id}()")
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found |= {name.split(".")[0] for name in names} & {"argparse", "rich"}
    return found


def test_only_commands_know_of_a_terminal():
    """The library neither parses words of a command line nor prints: what it has to say, its results hold."""
    wrong = {}
    for path in (*ROOT.rglob("*.py"), *(ROOT.parent / "exciter_papers").rglob("*.py")):
        package, part, *_ = path.relative_to(ROOT.parent).parts
        if (package, part) not in (("exciter", "commands"), ("exciter", "cli.py")) and (ways := spoken(path)):
            wrong[str(path.relative_to(ROOT.parent))] = ways
    assert not wrong
    assert spoken(ROOT / "commands" / "design.py"), "the check would notice nothing"


def kept_sentences(path: Path) -> set[str]:
    """Fields and properties of classes that keep remarks as plain sentences."""
    found = set()
    for node in nodes(path):
        for one in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(one, ast.AnnAssign):
                name, kind = ast.unparse(one.target), one.annotation
            else:
                name, kind = getattr(one, "name", ""), getattr(one, "returns", None)
            plain = kind is not None and ast.unparse(kind) in ("tuple[str, ...]", "list[str]")
            found |= {name} & {"words", "remarks"} if plain else set()
    return found


def test_what_is_remarked_travels_as_notes():
    """Sentences are put together where they are shown. ``words`` of the settings are what a file may say."""
    paths = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "settings"]
    assert not {str(path.relative_to(ROOT)): found for path in paths if (found := kept_sentences(path))}
    assert kept_sentences(ROOT / "settings" / "registry.py") == {"words"}, "the check would notice nothing"


def test_the_library_does_not_speak_of_flags():
    """Its messages serve Python and the command line alike: they name settings (time_limit), not flags."""
    wrong = []
    for path in ROOT.rglob("*.py"):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part in ("commands", "cli", "__main__", "report"):  # which people of the command line read
            continue
        if path.name == "starting_configuration.py":
            continue
        documented = {
            id(node.body[0].value)
            for node in nodes(path)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                wrong += [f"{path.relative_to(ROOT)}:{node.lineno} {flag}" for flag in FLAG.findall(node.value)]
    assert not wrong, "\n".join(wrong)
