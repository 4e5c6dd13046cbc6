"""Mutants of a module: what is changed, by its syntax tree, and how a running interpreter gets the changed code."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

PACKAGE = Path(__file__).parents[1] / "src" / "exciter"
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip
COMPARED: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
RENAMED = {
    a: b
    for pair in (
        ("min", "max"), ("minimum", "maximum"), ("any", "all"), ("argmin", "argmax"), ("floor", "ceil"),
        ("isfinite", "isnan"), ("zeros", "ones"), ("zeros_like", "ones_like"), ("cos", "sin"), ("sum", "max"),
    )
    for a, b in (pair, pair[::-1])
}  # fmt: skip
RENAMED["max"] = "min"
DROPPED_CALLS = ("abs", "sqrt", "conj")
Found = tuple[ast.AST, ast.AST | None]  # a node, and what takes its place; None: nothing does
Place = tuple[str, ast.stmt, Any, Any]  # function, statement, node, what takes its place


@dataclass(frozen=True)
class Mutant:
    """One change: ``statement`` with ⟦old → new⟧ in it, of a function of a module (a path below the package)."""

    module: str
    function: str
    change: str
    line: int = field(compare=False)
    last_line: int = field(compare=False)
    tree: ast.Module = field(compare=False, repr=False)
    swap: tuple[ast.AST, ast.AST] = field(compare=False, repr=False)
    again: str = ""  # what tells it from the same change of the same words further up in the function

    @property
    def key(self) -> str:
        return f"{self.module} {self.function}: {self.change}"

    def code(self) -> Any:
        """The compiled module with the change in it; only the function or class that it is in is copied."""
        node, new = self.swap
        body = list(self.tree.body)
        k = next(k for k, one in enumerate(body) if one.lineno <= self.line <= (one.end_lineno or one.lineno))
        body[k] = ast.fix_missing_locations(_Replace(node, new).visit(_copied(body[k], node)))
        return compile(ast.Module(body, []), str(PACKAGE / self.module), "exec", dont_inherit=True)


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, new: ast.AST) -> None:
        self.node, self.new = node, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.node else self.generic_visit(node)


def _copied(tree: Any, kept: ast.AST) -> Any:
    """A copy of all nodes but the one that will be replaced."""
    if tree is kept or not isinstance(tree, ast.AST | list):
        return tree
    if isinstance(tree, list):
        return [_copied(part, kept) for part in tree]
    new = type(tree)(**{name: _copied(value, kept) for name, value in ast.iter_fields(tree)})
    return ast.copy_location(new, tree)


def mutants(module: str) -> list[Mutant]:
    """All of a module, in the order of its lines."""
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    found: list[Mutant] = []
    for function, statement, node, new in _places(tree.body, "", {}):
        swap = (node, ast.Pass() if new is None else new)
        before, after = (ast.unparse(_header(_Replace(*pair).visit(_copied(statement, node)))) for pair in (
            (node, node), swap))  # fmt: skip
        if before != after:
            last = getattr(statement, "end_lineno", statement.lineno)
            change = _marked(before, after)
            again = sum(m.function == function and m.change.removesuffix(m.again) == change for m in found)
            mark = f" (number {again + 1})" if again else ""
            found.append(Mutant(module, function, change + mark, statement.lineno, last, tree, swap, mark))
    return found


def _header(statement: Any) -> ast.AST:
    """A statement without the block below it."""
    if getattr(statement, "body", None) and isinstance(statement, ast.stmt):
        kept = {name: value for name, value in ast.iter_fields(statement) if name not in ("body", "orelse", "handlers")}
        return ast.fix_missing_locations(type(statement)(**kept, body=[ast.Expr(ast.Constant(...))], orelse=[]))
    return ast.fix_missing_locations(statement)


def _marked(before: str, after: str) -> str:
    """Both in one line, what differs between brackets."""
    before, after = (" ".join(text.removesuffix("...").split()) for text in (before, after))
    short = min(len(before), len(after))
    start = next((k for k in range(short) if before[k] != after[k]), short)
    while start and before[start - 1] not in " ([,":
        start -= 1
    end = next((k for k in range(short - start) if before[-1 - k] != after[-1 - k]), short - start)
    while end and before[-end] not in " )],":
        end -= 1
    old, new, tail = before[start : len(before) - end], after[start : len(after) - end], before[len(before) - end :]
    return f"{before[:start]}⟦{old} → {new}⟧{tail}"


def _places(block: Sequence[ast.stmt], function: str, bound: dict[str, bool]) -> Iterator[Place]:
    """Of all statements of a block; bound: names that have a value."""
    for statement in block:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            name = f"{function}.{statement.name}".lstrip(".")
            if isinstance(statement, ast.FunctionDef):
                for default in (*statement.args.defaults, *filter(None, statement.args.kw_defaults)):
                    yield from ((name, statement, *found) for found in _inside(default))
            inner = {a.arg: True for a in ast.walk(statement) if isinstance(a, ast.arg)}
            yield from _places(statement.body, name, {**bound, **inner} if function else inner)
            continue
        if _skipped(statement):
            continue
        if _can_go(statement, bound):
            yield function, statement, statement, None
        if isinstance(statement, ast.AugAssign):
            yield from ((function, statement, *found) for found in _changes(statement))
        if not isinstance(statement, ast.Raise):
            for name, part in ast.iter_fields(statement):
                if name not in ("annotation", "body", "orelse", "handlers", "finalbody"):
                    for node in part if isinstance(part, list) else [part]:
                        yield from ((function, statement, *found) for found in _inside(node))
        for name in _targets(statement):
            bound[name] = True
        for name in ("body", "orelse", "finalbody"):
            yield from _places(getattr(statement, name, []), function, bound)
        for handler in getattr(statement, "handlers", []):
            yield from _places(handler.body, function, bound)


def _skipped(statement: ast.stmt) -> bool:
    """Imports, docstrings, assertions for the type checker, lists of names, arrays made read-only."""
    text = ast.unparse(statement)
    return (
        isinstance(statement, ast.Import | ast.ImportFrom | ast.Assert)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or text.endswith(".flags.writeable = False")
        or text.startswith(("if TYPE_CHECKING", "__all__", "Array = ", "Index = ", "Complex = ", "Sums = "))
    )


def _targets(statement: ast.stmt) -> list[str]:
    given = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return [node.id for target in given if target for node in ast.walk(target) if isinstance(node, ast.Name)]


def _can_go(statement: ast.stmt, bound: dict[str, bool]) -> bool:
    """Whether the code still runs without it: calls, refusals, jumps, and what gives a new value to what has one."""
    if isinstance(statement, ast.Assign):
        first = statement.targets[0]
        return isinstance(first, ast.Subscript) or (isinstance(first, ast.Name) and first.id in bound)
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Yield | ast.YieldFrom)
    return isinstance(statement, ast.AugAssign | ast.Raise | ast.Continue | ast.Break)


def _inside(node: Any) -> Iterator[Found]:
    """Changes of an expression and of its parts; none of texts."""
    if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr):
        return
    yield from _changes(node)
    if isinstance(node, ast.UnaryOp) and ast.unparse(node) == "-1":
        return  # the last one, or "as many as there are": −2 means no more than −1
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if not (isinstance(part, ast.keyword) and part.arg in ("strict", "dtype")) and name != "annotation":
                yield from _inside(part)


def _changes(node: ast.AST) -> Iterator[Found]:
    """Of one node."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        yield node, _with(node, op=SWAPPED[type(node.op)]())
    if isinstance(node, ast.Compare):
        for k, operator in enumerate(node.ops):
            for new in COMPARED[type(operator)]:
                yield node, _with(node, ops=[*node.ops[:k], new(), *node.ops[k + 1 :]])
    if isinstance(node, ast.Constant):
        yield from ((node, ast.Constant(value)) for value in _numbers(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node, node.operand
        if ast.unparse(node) == "-1":
            yield node, ast.Constant(0)
    if isinstance(node, ast.IfExp):
        yield node, ast.IfExp(node.test, node.orelse, node.body)
    if isinstance(node, ast.Slice):
        for side in ("lower", "upper"):
            end = getattr(node, side)
            if end is not None and not isinstance(end, ast.Constant):
                yield end, ast.BinOp(end, ast.Add(), ast.Constant(1))
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in RENAMED:
            yield node.func, _renamed(node.func, RENAMED[name])
        if name == "where" and len(node.args) == 3:
            yield node, ast.Call(node.func, [node.args[0], *node.args[:0:-1]], node.keywords)
        if name in DROPPED_CALLS:
            yield node, node.args[0] if node.args else node.func.value


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    """A node with some fields changed. Operators are never replaced by themselves: Python shares one node of each."""
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **fields}), node)


def _renamed(function: Any, name: str) -> ast.AST:
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, ast.Load())
    return ast.Name(name, ast.Load())


def _numbers(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1)
    if isinstance(value, float):
        return (2.0 * value, 0.5 * value) if value else (1.0,)
    return ()


# -- a mutant in place of the code -------------------------------------------------------------------------------------


def graft(module: ModuleType, code: Any) -> None:
    """Give the functions, defaults and constants of changed code to a module that others have imported already."""
    fresh = {**{k: v for k, v in vars(module).items() if k.startswith("__")}}
    exec(code, fresh)
    _graft(vars(module), fresh, module.__name__)


def _graft(old: Any, new: dict[str, Any], module: str) -> None:
    for name, value in new.items():
        before = old.get(name)
        if name.startswith("__") and not isinstance(before, FunctionType):
            continue
        if isinstance(value, type) and isinstance(before, type) and value.__module__ == module:
            _graft(_Attributes(before), dict(vars(value)), module)
            factories = [getattr(kind, "__dataclass_fields__", {}) for kind in (before, value)]
            kept, given = ({k: f.default_factory for k, f in fields.items()} for fields in factories)
            _graft(kept, given, module)
            continue
        given, has = _function(value), _function(before)
        if given is not None and has is not None:
            if given.__code__.co_freevars == has.__code__.co_freevars and given.__module__ == module:
                has.__code__, has.__defaults__, has.__kwdefaults__ = (
                    given.__code__, given.__defaults__, given.__kwdefaults__)  # fmt: skip
            elif before is has and given.__module__ == module:  # without super(), say: code of other cells
                old[name] = _with_cells(given, has)
        elif isinstance(value, int | float | tuple | dict | str) and repr(value) != repr(before):
            for other in list(sys.modules.values()) if isinstance(old, dict) else ():
                if getattr(other, "__dict__", {}).get(name) is before:
                    setattr(other, name, value)
            old[name] = value


class _Attributes(dict[str, Any]):
    """Those of a class, to be read and set."""

    def __init__(self, owner: type) -> None:
        super().__init__(vars(owner))
        self.owner = owner

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self.owner, name, value)


def _with_cells(given: FunctionType, has: FunctionType) -> FunctionType:
    """Changed code that needs fewer variables from around it than before, with those and the globals of before."""
    cells = dict(zip(has.__code__.co_freevars, has.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in given.__code__.co_freevars)
    changed = FunctionType(given.__code__, has.__globals__, has.__name__, given.__defaults__, closure)
    changed.__kwdefaults__ = given.__kwdefaults__
    return changed


def _function(given: Any) -> FunctionType | None:
    """What is behind a property, a class method, a cache."""
    for name in ("fget", "__func__", "func", "__wrapped__"):
        given = getattr(given, name, given)
    return given if isinstance(given, FunctionType) else None
