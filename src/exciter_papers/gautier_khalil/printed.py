"""Numbers as they were printed: what they say, how exactly, and the tables of the paper that are made of them. Do the
columns of Tables 3–12 agree with each other, within what rounding leaves open?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from exciter.typing import Array
from exciter.validation.inertia_matrix import base_chi, inertia_matrices
from exciter_papers.gautier_khalil.sequences import robot_model, true_parameters
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, published, same, shown

FOLDER, FILE = "gautier_khalil", "published_noise"


@dataclass(frozen=True)
class Printed:
    """half: half a unit of the last digit, the most that rounding can have changed it by."""

    value: float
    half: float

    @classmethod
    def of(cls, text: str) -> Printed:
        number = Decimal(text)
        exponent = number.as_tuple().exponent
        assert isinstance(exponent, int), f"'{text}' is no number"
        return cls(float(number), 0.5 * 10.0**exponent)

    @property
    def relative(self) -> float:
        """The half over the value."""
        return self.half / abs(self.value)


def data() -> dict[str, Any]:
    """Of ``published_noise.yaml``."""
    return published(FOLDER, FILE)


def noise_levels() -> tuple[float, ...]:
    """k"""
    return tuple(float(k) for k in data()["noise"]["k"])


@dataclass(frozen=True, eq=False)
class NoiseTable:
    """Tables 3–5 and 8–10: what was printed for one sequence, one number per k and column."""

    number: str
    sequence: str
    r: int
    cond: Printed
    equilibrium: Printed
    columns: dict[str, tuple[Printed, ...]]
    corrected: dict[str, Array]

    @classmethod
    def of(cls, number: str, sequence: str) -> NoiseTable:
        table = data()["tables"][number]
        own = table[sequence]
        columns = {
            key: tuple(Printed.of(text) for text in texts) for key, texts in own.items() if key not in ("cond", "s")
        }
        corrected = {key: np.array([one.value for one in values]) for key, values in columns.items()}
        for wrong in data()["misprints"]["tables"]:
            if (wrong["table"], wrong["sequence"]) == (number, sequence):
                at = data()["noise"]["k"].index(wrong["k"])
                corrected[wrong["column"]][at] = float(wrong["corrected"])
        return cls(number, sequence, table["r"], Printed.of(own["cond"]), Printed.of(own["s"]), columns, corrected)


@dataclass(frozen=True)
class PrintedSequence:
    """A sequence that the paper identifies with: what stands at the feet of its tables, with all digits."""

    cond: Printed
    equilibrium: Printed

    @classmethod
    def of(cls, r: int, sequence: str) -> PrintedSequence:
        tables = [NoiseTable.of(number, sequence) for number, table in data()["tables"].items() if table["r"] == r]
        cond = min((table.cond for table in tables), key=lambda one: one.half)
        return cls(cond, tables[0].equilibrium)


IDENTIFIED = (30, 15)  #: r of these sequences


@dataclass(frozen=True, eq=False)
class ParameterTable:
    """Tables 6, 7, 11 and 12, (15,) each: X, X̂, X − X̂, the same over X, and σ, as printed; corrected: with the
    misprints removed; half: what rounding leaves open of each column."""

    number: str
    sequence: str
    r: int
    k: float
    norms: str
    printed: Array
    corrected: Array
    half: Array

    @classmethod
    def of(cls, number: str) -> ParameterTable:
        table = data()["parameters"][number]
        numbers = [[Printed.of(text) for text in row] for row in table["rows"]]
        printed = np.array([[one.value for one in row] for row in numbers])
        corrected = printed.copy()
        for wrong in data()["misprints"]["parameters"]:
            if wrong["table"] == number:
                column = PRINTED_ESTIMATE_COLUMNS.index(wrong["column"])
                corrected[names().index(wrong["name"]), column] = float(wrong["corrected"])
        half = np.array([[one.half for one in row] for row in numbers])
        return cls(number, table["sequence"], table["r"], float(table["k"]), table["norms"], printed, corrected, half)

    def norm(self, column: str) -> Printed:
        """Of its k in the table of norms."""
        return NoiseTable.of(self.norms, self.sequence).columns[column][noise_levels().index(self.k)]

    @property
    def x(self) -> Array:
        """X (15,), corrected."""
        return self.corrected[:, 0]

    @property
    def error(self) -> Array:
        """X − X̂ (15,), as printed"""
        return self.printed[:, 2]

    @property
    def std(self) -> Array:
        """σ (15,)"""
        return self.printed[:, 4]


PRINTED_ESTIMATE_COLUMNS = ("X", "estimate", "error", "relative error", "σ")
PARAMETER_TABLES = ("6", "7", "11", "12")


def names() -> Sequence[str]:
    """Of the base parameters, in the paper's order, which is the product's."""
    found: list[str] = data()["names"]
    return found


POSTURES, SEED = 4000, 0
BINARY_ROUNDING = 1e-9  # of a number: what binary rounding adds to the rounding in print


def run(effort: Effort) -> Sequence[Part]:
    return _ratios(), _columns(), _statements(), _robot()


# -- Tables 3 and 8 ---------------------------------------------------------------------------------------------------


def _ratios() -> Part:
    findings, rows = [], []
    for number in ("3", "8"):
        for kind in ("optimum", "random"):
            table = NoiseTable.of(number, kind)
            cond = PrintedSequence.of(table.r, kind).cond
            parts = zip(*(table.columns[key] for key in ("dy", "dx", "ratio")), noise_levels(), strict=True)
            for dy, dx, ratio, k in parts:
                value = cond.value * dy.value / dx.value
                spread = value * (cond.relative + dy.relative + dx.relative)
                note = f"rounding of the printed figures leaves {value - spread:.4g} … {value + spread:.4g}"
                quantity = f"bound ratio of Table {number} from its other columns, {kind}, k = {k:g}"
                findings.append(same(quantity, ratio.value, value, spread + ratio.half, note))
                rows.append((number, kind, k, dy.value, dx.value, ratio.value, value))
    return Part(
        "Tables 3 and 8",
        "The bound ratio, computed from the other columns",
        "cond(W) ‖δY‖/‖Y‖ over ‖δX‖/‖X‖ with the printed figures; cond(W) with all its digits, from Tables 4 and 9. "
        "A printed ratio agrees when rounding can explain the difference.",
        findings,
        DataTable(
            "table-3-8-ratios",
            "Bound ratios of Tables 3 and 8",
            ("table", "sequence", "k", "‖δY‖/‖Y‖", "‖δX‖/‖X‖", "ratio, printed", "ratio, computed"),
            rows,
        ),
        differences="; ".join(
            f"Table {one['table']}, {one['sequence']}, k = {one['k']}: {one['printed']} is a misprint of "
            f"{one['corrected']}"
            for one in data()["misprints"]["tables"]
            if one["column"] == "ratio"
        )
        + ".",
    )


# -- Tables 6, 7, 11, 12 ----------------------------------------------------------------------------------------------


def _columns() -> Part:
    findings = [finding for number in PARAMETER_TABLES for finding in _checked(ParameterTable.of(number))]
    return Part(
        "Tables 6, 7, 11 and 12",
        "Errors, norms and standard deviations as printed",
        "X − X̂ and (X − X̂)/X are computed from the columns X and X̂, ‖δX‖/‖X‖ from the errors; all four tables have "
        "the same X. Differences count where rounding of the printed digits cannot explain them.",
        findings,
    )


def _checked(table: ParameterTable) -> list[Finding]:
    wrong = disagreements(table)
    corrections = [one for one in data()["misprints"]["parameters"] if one["table"] == table.number]
    words = "; ".join(
        f"{one['name']}: {one['column']} {one['printed']} must be {one['corrected']}" for one in corrections
    )
    left = disagreements(table, corrected=True)
    size = np.linalg.norm(table.x)
    printed = table.norm("dx")
    spread = np.linalg.norm(table.half[:, 2]) / size
    scaled = table.error / table.std
    return [
        claim(
            f"Table {table.number}: columns agree with each other in all 15 rows",
            not wrong,
            f"not in {', '.join(wrong)}; {words}; then {len(left)} disagree" if wrong else "",
        ),
        same(
            f"Table {table.number}: ‖δX‖/‖X‖ of its errors, against Table {table.norms}",
            printed.value,
            float(np.linalg.norm(table.error) / size),
            float(spread + printed.half),
        ),
        claim(
            f"Table {table.number}: all 15 errors are below 2 σ",
            (np.abs(scaled) < 2.0).all(),
            f"largest {np.abs(scaled).max():.3g} σ, root mean square {np.sqrt((scaled**2).mean()):.2f} σ",
        ),
    ]


def disagreements(table: ParameterTable, corrected: bool = False) -> list[str]:
    """Rows in which X is not that of most tables, or X − X̂ or (X − X̂)/X is not what X and X̂ give; by parameter and
    column."""
    x, estimate, error, relative, _ = (table.corrected if corrected else table.printed).T
    half = table.half.T * (1 + BINARY_ROUNDING)
    most = np.median([ParameterTable.of(number).printed[:, 0] for number in PARAMETER_TABLES], axis=0)
    difference = x - estimate
    # the error was rounded after the subtraction, the ratio after the division: each from numbers with more digits
    share = np.abs(half[2] / x) + np.abs(error / x**2) * half[0] + half[3]
    wrong = {
        PRINTED_ESTIMATE_COLUMNS[0]: np.abs(x - most) > half[0],
        PRINTED_ESTIMATE_COLUMNS[2]: np.abs(difference - error) > half[0] + half[1] + half[2],
        PRINTED_ESTIMATE_COLUMNS[3]: np.abs(error / x - relative) > share,
    }
    return [f"{name} ({key})" for key, flags in wrong.items() for name, bad in zip(names(), flags, strict=True) if bad]


# -- what the text says of them ---------------------------------------------------------------------------------------


def _statements() -> Part:
    six, seven, eleven, twelve = (ParameterTable.of(number) for number in PARAMETER_TABLES)
    ratio = six.std / eleven.std
    y = [table.norm("dy").value for table in (six, eleven)]
    conds = [PrintedSequence.of(table.r, table.sequence).cond.value for table in (seven, twelve)]
    lost = {
        table.number: [name for name, row in zip(names(), table.corrected, strict=True) if abs(row[1]) < 2.0 * row[4]]
        for table in (six, seven, eleven, twelve)
    }
    said = data()["said"]
    factor = conds[1] / conds[0]
    findings = [
        claim(
            "σ in Tables 6 and 11 are of the same size",
            (ratio < 10.0).all() and (ratio > 0.1).all(),
            f"Table 6 over Table 11: {ratio.min():.2g} … {ratio.max():.2g}, median {np.median(ratio):.2g}",
        ),
        same(
            "relative noise on Y, Table 6 over Table 11",
            said["perturbation_6_to_11"],
            y[0] / y[1],
            0.5,
            f"k is {six.k / eleven.k:g} times larger, but ‖δY‖/‖Y‖ of Tables 3 and 8 is {y[0]:.2g} and {y[1]:.2g}: "
            "max|Y| over the mean size of Y differs between the sequences, and so do the draws",
        ),
        same(
            "cond(W), Table 12 over Table 7",
            said["cond_growth_7_to_12"],
            factor,
            0.5,
            f"{conds[1]:g} over {conds[0]:g}: the text says ten times, its tables say {factor:.0f} times",
        ),
        claim(
            "some parameters are not significant (|X̂| < 2 σ) in Tables 7 and 12",
            bool(lost["7"] and lost["12"]),
            "; ".join(f"Table {number}: {', '.join(which) or 'none'}" for number, which in lost.items())
            + f". The sentence speaks of k = {seven.k:g}, but Table 12 is for k = {twelve.k:g}: its ‖δX‖/‖X‖ is that "
            f"of Table {twelve.norms} there",
        ),
    ]
    return Part(
        "Section 6.3, text", "What is said of Tables 6, 7, 11 and 12", "From the printed figures alone.", findings
    )


# -- X as a robot -----------------------------------------------------------------------------------------------------


def _robot() -> Part:
    x = dict(zip(names(), ParameterTable.of("6").x, strict=True))
    q = np.random.default_rng(SEED).uniform(-np.pi, np.pi, (POSTURES, robot_model().n))
    values = ParameterTable.of("6").x
    smallest = np.linalg.eigvalsh(inertia_matrices(robot_model(), base_chi(robot_model(), values), q)).min()
    room = x["ZZ3"] ** 2 - x["XXR3"] ** 2
    most = 0.5 * np.sqrt(room)
    findings = [
        same(
            "X of Table 6 is what the model of this robot has, largest difference",
            0.0,
            float(np.abs(values - true_parameters()).max()),
            5e-5,
        ),
        shown(
            "A(q) of X is positive definite",
            smallest > 0.0,
            f"smallest eigenvalue {smallest:.3g} kg·m² over {POSTURES} postures of the whole circle (seed {SEED})",
        ),
        shown(
            "a rigid body can have the inertia of link 3",
            abs(x["XY3"]) <= most,
            f"|XY3| is at most ½√(ZZ3² − XXR3²) = {most:.3g} kg·m², whatever the mass distribution, since ZZ3 = ∫(x² + "
            f"y²) dm, XXR3 = ∫(y² − x²) dm and XY3 = −∫xy dm; Table 6 has {x['XY3']:.4g}. The example stays a valid "
            "linear model",
        ),
    ]
    return Part(
        "Table 6, column X",
        "The parameters as those of a robot",
        "The inertia matrix from the base parameters alone; what rigid bodies allow, from the definition of "
        "the inertias.",
        findings,
    )
