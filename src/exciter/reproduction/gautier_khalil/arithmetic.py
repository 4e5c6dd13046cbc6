"""Tables 3–12 as printed: do their columns agree with each other, within what rounding leaves open?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.reproduction.finding import Finding, claim, same, shown
from exciter.reproduction.gautier_khalil.point_sequences import true_parameters
from exciter.reproduction.gautier_khalil.printed import (
    COLUMNS,
    PARAMETER_TABLES,
    NoiseTable,
    ParameterTable,
    PrintedSequence,
    data,
    names,
    noise_levels,
)
from exciter.reproduction.gautier_khalil.sequences import robot_model
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.validation.inertia_matrix import base_chi, inertia_matrices

POSTURES, SEED = 4000, 0
ROUNDED = 1e-9  # of a number: what binary rounding adds to the rounding in print


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
        tuple(findings),
        (
            DataTable(
                "table-3-8-ratios",
                "Bound ratios of Tables 3 and 8",
                ("table", "sequence", "k", "‖δY‖/‖Y‖", "‖δX‖/‖X‖", "ratio, printed", "ratio, computed"),
                rows,
            ),
        ),
        (),
        "; ".join(_misprinted_ratios()) + ".",
    )


def _misprinted_ratios() -> list[str]:
    return [
        f"Table {one['table']}, {one['sequence']}, k = {one['k']}: {one['printed']} is a misprint of {one['corrected']}"
        for one in data()["misprints"]["tables"]
        if one["column"] == "ratio"
    ]


# -- Tables 6, 7, 11, 12 ----------------------------------------------------------------------------------------------


def _columns() -> Part:
    findings = [finding for number in PARAMETER_TABLES for finding in _checked(ParameterTable.of(number))]
    return Part(
        "Tables 6, 7, 11 and 12",
        "Errors, norms and standard deviations as printed",
        "X − X̂ and (X − X̂)/X are computed from the columns X and X̂, ‖δX‖/‖X‖ from the errors; all four "
        "tables have the "
        "same X. Differences count where rounding of the printed digits cannot explain them.",
        tuple(findings),
    )


def _checked(table: ParameterTable) -> list[Finding]:
    wrong = disagreements(table)
    corrections = [one for one in data()["misprints"]["parameters"] if one["table"] == table.number]
    words = "; ".join(
        f"{one['name']}: {one['column']} {one['printed']} must be {one['corrected']}" for one in corrections
    )
    left = disagreements(table, corrected=True)
    size = np.linalg.norm(table.x)
    printed = NoiseTable.of(table.norms, table.sequence).columns["dx"][noise_levels().index(table.k)]
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
            bool((np.abs(scaled) < 2.0).all()),
            f"largest {np.abs(scaled).max():.3g} σ, root mean square {np.sqrt((scaled**2).mean()):.2f} σ",
        ),
    ]


def disagreements(table: ParameterTable, corrected: bool = False) -> list[str]:
    """Rows in which X is not that of most tables, or X − X̂ or (X − X̂)/X is not what X and X̂ give; by parameter and
    column."""
    x, estimate, error, relative, _ = (table.corrected if corrected else table.printed).T
    half = table.half.T * (1 + ROUNDED)
    most = np.median([ParameterTable.of(number).printed[:, 0] for number in PARAMETER_TABLES], axis=0)
    difference = x - estimate
    # the error was rounded after the subtraction, the ratio after the division: each from numbers with more digits
    share = np.abs(half[2] / x) + np.abs(error / x**2) * half[0] + half[3]
    wrong = {
        COLUMNS[0]: np.abs(x - most) > half[0],
        COLUMNS[2]: np.abs(difference - error) > half[0] + half[1] + half[2],
        COLUMNS[3]: np.abs(error / x - relative) > share,
    }
    return [f"{name} ({key})" for key, flags in wrong.items() for name, bad in zip(names(), flags, strict=True) if bad]


# -- what the text says of them ---------------------------------------------------------------------------------------


def _statements() -> Part:
    six, seven, eleven, twelve = (ParameterTable.of(number) for number in PARAMETER_TABLES)
    ratio = six.std / eleven.std
    y = [_relative_noise(table) for table in (six, eleven)]
    conds = [PrintedSequence.of(table.r, table.sequence).cond.value for table in (seven, twelve)]
    lost = {table.number: _insignificant(table) for table in (six, seven, eleven, twelve)}
    said = data()["said"]
    factor = conds[1] / conds[0]
    findings = [
        claim(
            "σ in Tables 6 and 11 are of the same size",
            bool((ratio < 10.0).all() and (ratio > 0.1).all()),
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
            + f". The sentence speaks of k = {seven.k:g}, but Table 12 is for k = {twelve.k:g}: its ‖δX‖/‖X‖ is "
            "that of "
            f"Table {twelve.norms} there",
        ),
    ]
    return Part(
        "Section 6.3, text",
        "What is said of Tables 6, 7, 11 and 12",
        "From the printed figures alone.",
        tuple(findings),
    )


def _relative_noise(table: ParameterTable) -> float:
    """‖δY‖/‖Y‖ of the table of norms."""
    found = NoiseTable.of(table.norms, table.sequence).columns["dy"][noise_levels().index(table.k)]
    return found.value


def _insignificant(table: ParameterTable) -> list[str]:
    return [name for name, row in zip(names(), table.corrected, strict=True) if abs(row[1]) < 2.0 * row[4]]


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
            bool(smallest > 0.0),
            f"smallest eigenvalue {smallest:.3g} kg·m² over {POSTURES} postures of the whole circle (seed {SEED})",
        ),
        shown(
            "a rigid body can have the inertia of link 3",
            bool(abs(x["XY3"]) <= most),
            f"|XY3| is at most ½√(ZZ3² − XXR3²) = {most:.3g} kg·m², whatever the mass distribution, since ZZ3 = "
            "∫(x² + y²) dm, "
            f"XXR3 = ∫(y² − x²) dm and XY3 = −∫xy dm; Table 6 has {x['XY3']:.4g}. The example stays a valid "
            "linear model",
        ),
    ]
    return Part(
        "Table 6, column X",
        "The parameters as those of a robot",
        "The inertia matrix from the base parameters alone; what rigid bodies allow, from the definition of "
        "the inertias.",
        tuple(findings),
    )
