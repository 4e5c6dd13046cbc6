"""Arrays with names and units: what a notebook shows, draws and turns into pandas, where pandas is installed."""

from __future__ import annotations

import html
import importlib
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from exciter.errors import ExciterError, unknown_name
from exciter.typing import Array

MOST_ROWS_SHOWN = 12  #: of a table in a notebook; more are cut in the middle


@dataclass(frozen=True, eq=False)
class Labelled:
    """values (N, K): column k is ``columns[k]`` in ``units[k]``. index (N,): what the rows stand for, instants [s] or
    names; index_name: with its unit, ``time [s]``. title: what it is, ``predicted torque``."""

    title: str
    values: Array
    columns: tuple[str, ...]
    units: tuple[str, ...]
    index: Array | tuple[str, ...]
    index_name: str

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype) if copy or dtype is not None else self.values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __getitem__(self, column: str) -> Array:
        """(N,) a column by its name."""
        if column not in self.columns:
            raise ExciterError(unknown_name("column", str(column), self.columns))
        found: Array = self.values[:, self.columns.index(column)]
        return found

    @property
    def headings(self) -> tuple[str, ...]:
        """``joint_2 [N·m]``"""
        named = zip(self.columns, self.units, strict=True)
        return tuple(f"{name} [{unit}]" if unit else name for name, unit in named)

    def to_pandas(self) -> Any:
        """A DataFrame with these names and units."""
        pandas = needed("pandas")
        index = pandas.Index(self.index, name=self.index_name)
        return pandas.DataFrame(np.array(self.values), index=index, columns=list(self.headings))

    def plot(
        self, columns: str | tuple[str, ...] | None = None, axes: Any = None, *, title: str | None = None, **style: Any
    ) -> Any:
        """Lines over the index, or a map where rows and columns are the same names; returns matplotlib's axes."""
        axes = drawn_on(axes)
        given = self.columns if columns is None else columns
        chosen = tuple(given) if isinstance(given, list | tuple) else (given,)
        axes.set_title(self.title if title is None else title)
        if isinstance(self.index, tuple):
            image = axes.imshow(self.values, aspect="auto", **style)
            axes.set_xticks(range(len(self.columns)), self.columns, rotation=90)
            axes.set_yticks(range(len(self.index)), self.index)
            axes.figure.colorbar(image)
            return axes
        for name in chosen:
            axes.plot(self.index, self[name], **{"label": name, **style})
        units = {self.units[self.columns.index(name)] for name in chosen}
        axes.set_xlabel(self.index_name)
        axes.set_ylabel(f"[{', '.join(sorted(units))}]")
        axes.legend()
        return axes

    def _repr_html_(self) -> str:
        caption = f"{self.title}, {len(self)} × {len(self.columns)}"
        index = [f"{x:.6g}" if isinstance(x, float) else str(x) for x in np.asarray(self.index).tolist()]
        rows = [[name, *(f"{x:.5g}" for x in row)] for name, row in zip(index, self.values.tolist(), strict=True)]
        return table_html(caption, (self.index_name, *self.headings), rows)

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self)} × {len(self.columns)}: {', '.join(self.headings)}>"


def table_html(caption: str, headings: tuple[str, ...], rows: list[list[str]], *, whole: bool = False) -> str:
    """A table for a notebook; long ones are cut in the middle unless all rows are wanted."""
    half = MOST_ROWS_SHOWN // 2
    cut = len(rows) > MOST_ROWS_SHOWN and not whole
    shown = [*rows[:half], ["…"] * len(headings), *rows[-half:]] if cut else rows
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headings)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in shown)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def needed(module: str) -> Any:
    """A library that only notebooks need."""
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise ExciterError(f"this needs {name}, which is not installed; pip install 'exciter[notebook]'") from None


def drawn_on(axes: Any) -> Any:
    """Axes of matplotlib, new ones unless given."""
    return needed("matplotlib.pyplot").subplots(layout="constrained")[1] if axes is None else axes


@dataclass(frozen=True)
class Parameter:
    """One parameter: value and σ in ``unit``; interval: of 95 %; relative_std_percent: infinite where the value is 0;
    status: good, fair, weak or not significant; expression: which standard parameters it combines. ratio_to_best:
    relative σ over the smallest one; poor_by_ratio: whether it is more than ten [12.10]."""

    name: str
    value: float
    std: float
    unit: str
    relative_std_percent: float
    interval: tuple[float, float]
    status: str
    expression: str
    ratio_to_best: float
    poor_by_ratio: bool

    def __repr__(self) -> str:
        return f"<{self.name}: {self.value:.5g} ± {self.std:.2g} {self.unit}, {self.status}>"


class Table(tuple[Parameter, ...]):
    """Parameters in order: iterates, and indexes by number or by name."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            found = [one for one in self if one.name == key]
            if not found:
                raise ExciterError(unknown_name("parameter", key, self.names))
            return found[0]
        got = super().__getitem__(key)
        return Table(got) if isinstance(key, slice) else got

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self)

    @property
    def values(self) -> Array:
        """(p,)"""
        return np.array([one.value for one in self])

    @property
    def std(self) -> Array:
        """(p,)"""
        return np.array([one.std for one in self])

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each parameter, indexed by name."""
        headings = ("name", "value", "std", "unit", "relative_std_percent", "lower", "upper", "status", "expression")
        more = ("ratio_to_best", "poor_by_ratio")
        rows = [(*astuple(one)[:5], *one.interval, *astuple(one)[6:]) for one in self]
        return needed("pandas").DataFrame(rows, columns=[*headings, *more]).set_index("name")

    def plot(self, axes: Any = None) -> Any:
        """Relative standard deviations; returns matplotlib's axes."""
        axes = drawn_on(axes)
        axes.bar(self.names, [one.relative_std_percent for one in self])
        axes.set_yscale("log")
        axes.set_ylabel("relative standard deviation [%]")
        axes.tick_params(axis="x", rotation=90)
        return axes

    def _repr_html_(self) -> str:
        rows = [[one.name, f"{one.value:.5g}", f"{one.std:.2g}", one.unit, one.status, one.expression] for one in self]
        return table_html(f"{len(self)} parameters", ("name", "value", "σ", "unit", "status", "expression"), rows)

    def __repr__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        lines = [f"{one.name:{width}}  {one.value:>12.5g} ± {one.std:<9.2g} {one.unit}" for one in self]
        return "\n".join(lines)
