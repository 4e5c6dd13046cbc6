"""How many parameters there are: the whole dynamics, gravity alone, inertias alone, and Table I."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.dynamics.base import inertia_base, numeric_model_base, random_states, static_base
from exciter.dynamics.model import DynamicModel
from exciter.parameters.base import numeric_base
from exciter.reproduction.finding import shown
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.reproduction.rackl import labels, spline
from exciter.reproduction.rackl.set_up import names_16, names_31, paper_model
from exciter.typing import Array

SEED, STATES = 0, 200
#: Links 2 to 7 mirror-symmetric about their y–z plane, 6 and 7 about a second plane, 7 of equal moments across its axis
MIRRORED, TWICE, ROUND = tuple(range(2, 8)), (6, 7), 7


def run(effort: Effort) -> Sequence[Part]:
    return (counts(paper_model()), spline.part(), labels.part(paper_model()))


def counts(model: DynamicModel) -> Part:
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
        "used. The paper does not name them. These give its list: every link is symmetric about its y–z plane "
        "(XY = XZ = 0), links 6 and 7 about a second plane (YZ = 0), link 7 has equal moments across its axis "
        "(XX = YY).",
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


def second_moments(model: DynamicModel) -> Array:
    """(p, 6 n): picks XX … ZZ of every link out of χ."""
    keep = [k for k, name in enumerate(model.standard) if name[:2] in ("XX", "XY", "XZ", "YY", "YZ", "ZZ")]
    return np.eye(len(model.standard))[:, keep]


def reductions(model: DynamicModel) -> list[tuple[str, Array]]:
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


def symmetric_names(model: DynamicModel) -> list[str]:
    """Of the inertia base parameters in closed form, those that the symmetries leave different from zero."""
    base, matrix = inertia_base(model), reductions(model)[-1][1]
    part = matrix[[model.standard.index(name) for name in base.standard]]
    alive = np.abs(base.grouping @ part).max(axis=1) > 0.0
    return [base.standard[k] for k, lives in zip(base.independent, alive, strict=True) if lives]


def rank_of(rows: Array, matrix: Array) -> int:
    """Of the regressor rows (N, p) on the columns (p, k) of a reduction."""
    names = tuple(f"ZZ{k + 1}" for k in range(matrix.shape[1]))  # all in kg·m², whatever they are called
    return len(numeric_base(rows @ matrix, names))
