"""What the paper says before any search: how many parameters there are, whether bodies can have those of Table I, and
the B-spline of section III-B.

Moments of a body obey XX ≤ YY + ZZ and YZ² ≤ YY ZZ. With the grouping of the inertia base parameters,
XXR_j = XX_j − YY_j + YY_j+1 and ZZR_j = ZZ_j + YY_j+1, the first gives XXR_j ≤ ZZR_j; the second, with ZZ_j ≤ ZZR_j,
YY_j ≥ YZ_j² / ZZR_j, while YY_j is part of ZZR_j−1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

import exciter as ex
from exciter.dynamics.model import inertia_base, numeric_model_base, random_states, static_base
from exciter.parameters.base import numeric_base
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.paper import DataTable, Effort, Part, claim, published, same, shown
from exciter_papers.rackl import set_up
from exciter_papers.rackl.set_up import names_16, names_31, paper_model

# -- how many parameters -----------------------------------------------------------------------------------------------

SEED, STATES = 0, 200
#: Links 2 to 7 mirror-symmetric about their y–z plane, 6 and 7 about a second plane, 7 of equal moments across its axis
MIRRORED, TWICE, ROUND = tuple(range(2, 8)), (6, 7), 7


def run(effort: Effort) -> Sequence[Part]:
    return (counts(paper_model()), spline_part(), labels_part(paper_model()))


def counts(model: ex.DynamicModel) -> Part:
    base, still, inertias = model.base, static_base(model), inertia_base(model)
    rows = model.regressor(random_states(model.robot, STATES, SEED)).reshape(-1, len(model.standard))
    numeric = {
        "all": len(numeric_model_base(model, seed=SEED)),
        "gravity": len(numeric_model_base(model, seed=SEED, static=True)),
        "inertias": rank_of(rows, second_moments(model)),
    }
    steps = reductions(model)
    reduced = [(words, rank_of(rows, matrix)) for words, matrix in steps]
    symmetric, left = reduced[-1][1], symmetric_names(model)
    return Part(
        "Section II-C",
        "How many parameters: static, dynamic, and the sixteen of Table I",
        f"Base parameters in closed form, and as the rank of the regressor at {STATES} random states (seed {SEED}). "
        "Table I has fewer parameters than the inertias alone have, so that symmetries of the links must have been "
        "used. The paper does not name them. These give its list: every link is symmetric about its y–z plane (XY = XZ "
        "= 0), links 6 and 7 about a second plane (YZ = 0), link 7 has equal moments across its axis (XX = YY).",
        (
            shown(
                "rank of the inertia columns under these symmetries", symmetric, f"Table I has {len(names_16())} rows"
            ),
            shown("Table I lists exactly the parameters that these symmetries leave", set(left) == set(names_16())),
            shown("base parameters of the whole dynamics, closed form", len(base)),
            shown("base parameters of the whole dynamics, numerical rank", numeric["all"], base.decision.words),
            shown("static base parameters (gravity), closed form", len(still), ", ".join(still.names)),
            shown("static base parameters (gravity), numerical rank", numeric["gravity"]),
            shown("dynamic base parameters (second moments, masses known), closed form", len(inertias)),
            shown("dynamic base parameters (second moments, masses known), numerical rank", numeric["inertias"]),
            shown(
                "static and dynamic parameters together are all parameters",
                len(still) + len(inertias) == len(base) and numeric["gravity"] + numeric["inertias"] == numeric["all"],
                "the split of the paper into two experiments loses nothing and counts nothing twice",
            ),
        ),
        (
            DataTable("symmetries", "From all second moments to Table I", ("assumed", "rank"), tuple(reduced)),
            DataTable(
                "inertia-base",
                "Dynamic base parameters, masses and first moments known",
                ("parameter", "in Table I"),
                tuple(
                    (text, name in names_16()) for text, name in zip(inertias.expressions, names_31(model), strict=True)
                ),
            ),
        ),
        differences=f"With the symmetries, {len(inertias) - symmetric} combinations are zero by assumption and not by "
        "measurement.",
    )


def second_moments(model: ex.DynamicModel) -> Array:
    """(p, 6 n): picks XX … ZZ of every link out of χ."""
    keep = [k for k, name in enumerate(model.standard) if name[:2] in ("XX", "XY", "XZ", "YY", "YZ", "ZZ")]
    return np.eye(len(model.standard))[:, keep]


def reductions(model: ex.DynamicModel) -> list[tuple[str, Array]]:
    """Second moments that are left, (p, ·), under one symmetry after the other."""
    matrix = second_moments(model)
    rows = [("nothing", matrix)]
    index = model.standard.index

    def without(*names: str) -> Array:
        gone = [index(name) for name in names]
        return matrix[:, ~matrix[gone].any(axis=0)]

    matrix = without(*(f"{kind}{j}" for j in MIRRORED for kind in ("XY", "XZ")))
    rows.append(("links symmetric about y–z: XY = XZ = 0", matrix))
    matrix = without(*(f"YZ{j}" for j in TWICE))
    rows.append(("links 6, 7 symmetric about a second plane: YZ = 0", matrix))
    both = without(f"XX{ROUND}", f"YY{ROUND}")
    equal = np.zeros(len(matrix))
    equal[[index(f"XX{ROUND}"), index(f"YY{ROUND}")]] = 1.0
    return [*rows, ("link 7 of equal moments: XX = YY", np.column_stack([both, equal]))]


def symmetric_names(model: ex.DynamicModel) -> list[str]:
    """Of the inertia base parameters in closed form, those that the symmetries leave different from zero."""
    base, matrix = inertia_base(model), reductions(model)[-1][1]
    part = matrix[[model.standard.index(name) for name in base.standard]]
    alive = np.abs(base.grouping @ part).max(axis=1) > 0.0
    return [base.standard[k] for k, lives in zip(base.independent, alive, strict=True) if lives]


def rank_of(rows: Array, matrix: Array) -> int:
    """Of the regressor rows (N, p) on the columns (p, k) of a reduction."""
    names = tuple(f"ZZ{k + 1}" for k in range(matrix.shape[1]))  # all in kg·m², whatever they are called
    return len(numeric_base(rows @ matrix, names))


# -- Table I as printed ------------------------------------------------------------------------------------------------

LINKS = (2, 3, 4, 5, 6)


def labels_part(model: ex.DynamicModel) -> Part:
    rows = published("rackl")["table_1"]
    printed = {name: value for name, value, _ in rows}
    value, percent = (np.array([row[k] for row in rows]) for k in (1, 2))
    poorly = published("rackl")["poorly"]
    trend = stats.spearmanr(value, percent)
    needed, allowed = printed["YZ2"] ** 2 / printed["ZZ2"], printed["ZZ1"]  # of YY2 [kg·m²], ZZ being ZZR at most
    readings = {words: impossible(table) for words, table in readings_of(printed).items()}
    free = dict(zip(model.base.names, model.base.base_values(model.nominal), strict=True))
    return Part(
        "Table I, as printed",
        "Can a robot have these parameters?",
        "The printed values alone, with the conditions that moments of real bodies obey. Grouping as in section II-C, "
        "masses and first moments known.",
        (
            shown(
                "bodies with the parameters of Table I can exist",
                not readings["as printed"],
                f"link 2: YZ = {printed['YZ2']:g} with ZZ ≤ {printed['ZZ2']:g} needs YY ≥ {needed:.2g} kg·m², and ZZ1, "
                f"which holds it, is {allowed:g}: {needed / allowed:.0f} times too small. Impossible as labelled are "
                f"links {listed(readings['as printed'])}. {_others(readings)}",
            ),
            shown("YY2 that YZ2 and ZZ2 as printed need [kg·m²], at least", needed),
            shown(
                "ZZR2 of our nominal robot when masses are not known beforehand [kg·m²]",
                free["ZZR2"],
                f"the largest value of Table I is {value.max():g}: it cannot list parameters that hold masses of later "
                "links, so that all masses must have been taken from CAD",
            ),
            claim(
                "most parameters are sufficiently estimated",
                float(np.mean(percent < poorly)) > 0.5,
                f"{int((percent < poorly).sum())} of {len(rows)} have a printed σ below {poorly:g} %",
            ),
            claim(
                "there is a slight trend on small parameters to be estimated worse",
                trend.statistic < 0.0,
                f"rank correlation of value and σ % {trend.statistic:.2f} (chance of a stronger one "
                f"{trend.pvalue:.2g})",
            ),
        ),
        DataTable(
            "labels",
            "Links that cannot exist, by how the labels are read",
            ("reading", "impossible links"),
            tuple((words, listed(links)) for words, links in readings.items()),
        ),
        differences="The labels cannot all be right. No reading we tried makes all "
        "links possible, so that we weight with the values as labelled.",
    )


def impossible(table: Mapping[str, float]) -> tuple[int, ...]:
    """Links for which XXR ≤ ZZR or YZ² / ZZR ≤ YY ≤ ZZR of the link before fails; printed digits are given the benefit
    of the doubt (half a unit of the last)."""
    found = []
    for j in LINKS:
        xx, zz, before = (table[name] for name in (f"XX{j}", f"ZZ{j}", f"ZZ{j - 1}"))
        half = 0.5e-4
        needs = max(table.get(f"YZ{j}", 0.0) - half, 0.0) ** 2 / (zz + half)
        if xx - half > zz + half or needs > before + half:
            found.append(j)
    return tuple(found)


def readings_of(printed: Mapping[str, float]) -> dict[str, dict[str, float]]:
    names, values = set_up.names_16(), list(printed.values())
    exchanged = dict(printed)
    for j in LINKS[:-1]:
        exchanged[f"YZ{j}"], exchanged[f"ZZ{j}"] = printed[f"ZZ{j}"], printed[f"YZ{j}"]
    return {
        "as printed": dict(printed),
        "every value one row higher": dict(zip(names, [*values[1:], values[-1]], strict=True)),
        "YZ and ZZ exchanged": exchanged,
    }


def listed(links: tuple[int, ...]) -> str:
    return ", ".join(map(str, links)) or "none"


def _others(readings: Mapping[str, tuple[int, ...]]) -> str:
    others = [f"with {words} {listed(links)}" for words, links in readings.items() if words != "as printed"]
    return "Read otherwise: " + "; ".join(others)


# -- the B-spline ------------------------------------------------------------------------------------------------------

POINTS, MANY = 6, 20  # n of the example, of n + 1 way-points; and of a longer one
DERIVATIVE_ROUNDING = 1e-9  # of the largest derivative: less is no jump, and no change


def spline_part() -> Part:
    printed = published("rackl")["spline"]
    family = set_up.spline(POINTS)
    p, n = family.degree, POINTS
    delta = family.interpolate(np.random.default_rng(SEED).uniform(-1.0, 1.0, (1, n + 1)))
    knots = 2 * (p + 1) + len(family.functions.knots) - 2
    jumps = [jump(family, delta, k) for k in range(p + 1)]
    start = family.curve(delta).pieces[0].derivatives(np.array([0]), np.array([0.0]), 3)[:, 0, 0]
    by_waypoint, by_control = reach(set_up.spline(MANY))
    time = family.sample_times(400)
    factor, constant = printed["knots"]["printed"]
    right = n + np.dot(printed["knots"]["corrected"], (p, 1))
    more, one = printed["control_points"]["printed"]
    return Part(
        "Section III-B",
        "The B-spline through way-points",
        f"Degree {p}, n = {n}: {n + 1} random way-points (seed {SEED}) over {family.duration:g} s, at rest at both "
        "ends; knots half-way between way-points, as printed below (21).",
        (
            same(
                f"number of knots for n = {n}, (22) n + 2 p + 1",
                n + factor * p + constant,
                knots,
                0,
                f"(22) is one short: two ends of p + 1 = {p + 1} knots and n = {n} half-way ones, as the paper itself "
                f"lists them, are n + 2 p + 2 = {right}",
            ),
            same(
                f"number of control points for n = {n}, (23) n + 1 + p",
                n + more * p + one,
                family.coefficients,
                0,
                f"(19) to (25) number them 0 … m, so that the last index is n + p = {family.coefficients - 1}; (23) "
                "calls their number m",
            ),
            claim(
                f"degree {p} makes the jerk continuous",
                max(jumps[:4]) < DERIVATIVE_ROUNDING,
                f"largest jump at a knot, relative: jerk {jumps[3]:.1e}, its derivative {jumps[4]:.2g}. "
                f"A degree of {p + 1} is not needed for this",
            ),
            claim("velocity and acceleration are zero at both ends, (26)–(29)", at_rest(family, delta)),
            shown(
                "jerk at the start [rad/s³]",
                start[3],
                "not zero: four conditions leave it free, and it begins with a jump from rest",
            ),
            claim(
                "the spline can be changed locally, without effect on the rest (control points)",
                by_control < 1.0,
                f"of a spline with n = {MANY}, one control point moves {100 * by_control:.0f} % of the time at most, "
                f"p + 1 = {p + 1} spans",
            ),
            claim(
                "the spline can be changed locally, without effect on the rest (way-points)",
                by_waypoint <= by_control,
                f"one way-point moves {100 * by_waypoint:.0f} % of it, less and less with distance: all control "
                "points solve one system (31). Way-points are what the paper optimises; what is local belongs to the "
                "control points",
            ),
        ),
        figures=Plot(
            "An example",
            time,
            "time [s]",
            "position [rad]",
            (
                Line("spline", (family.basis(time, 0)[0] @ delta[0]), "rad"),
                Line("way-points", _at_nearest(family, delta, time), "rad", points=True),
            ),
        ),
        differences="The text calls p = 4 order and degree; it is the degree. (32) has “v₀ · a₀” for “v₀, a₀” and "
        "a_m for a_n.",
    )


def jump(family: ex.BSpline, delta: Array, order: int) -> float:
    """Largest difference of a derivative on the two sides of an inner knot, of its largest value."""
    piece = family.curve(delta).pieces[0]
    knots = piece.knots
    spans = np.arange(len(knots) - 1)
    left = piece.derivatives(spans[:-1], knots[1:-1], order)[order]
    right = piece.derivatives(spans[1:], knots[1:-1], order)[order]
    size = np.abs(piece.derivatives(spans, knots[:-1], order)[order]).max()
    return float(np.abs(right - left).max() / size)


def at_rest(family: ex.BSpline, delta: Array) -> bool:
    ends = np.array([0.0, family.duration])
    parts = [basis @ delta.T for basis in family.basis(ends)[1:]]
    return bool(np.abs(parts).max() < DERIVATIVE_ROUNDING)


def reach(family: ex.BSpline) -> tuple[float, float]:
    """Largest share of the time during which the spline changes, of one way-point, and of one control point."""
    basis = family.basis(family.sample_times(4000), 0)[0]
    shares = []
    for functions in (basis @ family.free, basis):
        moved = np.abs(functions[1:-1]) > DERIVATIVE_ROUNDING * np.abs(functions).max()
        shares.append(float(moved.mean(axis=0).max()))
    return shares[0], shares[1]


def _at_nearest(family: ex.BSpline, delta: Array, time: Array) -> Array:
    """Way-points at the sample nearest to each, gaps elsewhere."""
    values = np.full(len(time), np.nan)
    at = np.abs(time[:, None] - family.waypoint_times).argmin(axis=0)
    values[at] = family.basis(family.waypoint_times, 0)[0] @ delta[0]
    return values
