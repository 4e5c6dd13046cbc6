"""Table 1 of the paper, as printed and swapped: condition numbers, exact extrema, the reach of the tool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate, LimitVerdict
from exciter.reproduction.finding import Finding, Value, claim, same, shown
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.reproduction.swevers_asme.readings import PRINTED, PUBLISHED, coefficient_signs, rounding, search
from exciter.reproduction.swevers_asme.set_up import (
    ALL,
    FAMILY,
    INERT,
    PAPER,
    columns_words,
    figures,
    heights,
    model_words,
    robot,
    sampled,
    table_1,
    workspace,
)
from exciter.typing import Array

SAME = 1e-9  # [rad/s] two extrema that differ by less are one
ORDERS = {"velocity": 1, "acceleration": 2}  # of the derivative
FINE = 20_000  # samples that show the tool's reach


def run(effort: Effort) -> Sequence[Part]:
    """Nothing here depends on the effort."""
    return [evaluated(), search()]


def evaluated() -> Part:
    """Both readings of Table 1 against the paper's figures and limits."""
    parts = {"as printed": table_1(swapped=False), "a and b swapped": table_1(swapped=True)}
    certificates = {name: _certificate(delta) for name, delta in parts.items()}
    findings: list[Finding] = []
    slack = rounding()[0]
    for name, delta in parts.items():
        raw, unit = figures(delta).condition_number, figures(delta).condition_number_normalized
        without = figures(delta, friction=False)
        findings.append(
            same(
                f"condition number of A, {name}",
                PUBLISHED,
                raw,
                PRINTED,
                f"the last printed digit of the coefficients is worth {slack:.3f} at most; columns of unit length: "
                f"{unit:.3f}; without friction {without.condition_number:.3f} and "
                f"{without.condition_number_normalized:.3f}. See the search over readings",
            )
        )
        findings.append(_within("velocity", name, certificates[name]))
        findings.append(_within("acceleration", name, certificates[name]))
    findings += [*_evidence_of_swap(), *_reach(parts["a and b swapped"])]
    return Part(
        "Table 1",
        "The published trajectory, evaluated",
        f"{model_words()} {columns_words()} "
        "Extrema are exact, for all time (roots of the derivative's trigonometric polynomial), not of "
        "samples. In the swapped reading column a of the table is the amplitude of the sine of q̇ and b that of the "
        "cosine; nothing in the paper says so.",
        tuple(findings),
        (_limits_table(certificates), _figures_table(parts)),
        differences="With (5) as printed the trajectory breaks every velocity limit. With a and b in each other's "
        "place joints 1 and 3 just reach the limit: they are swapped in the table or in (5). The acceleration limit is "
        "broken under both readings; the constraint block prints q̇ in its acceleration lines, so that it was "
        f"apparently never enforced for Table 1. The condition number is not {PUBLISHED} nor near it. The last line of "
        "(5), q̈, has a_k for a_l.",
    )


def _certificate(delta: Array) -> Certificate:
    return certify(robot(), FAMILY.curve(delta), workspace(robot()))


def _of(certificate: Certificate, what: str) -> list[LimitVerdict]:
    return [limit for limit in certificate.limits if limit.what == what]


def _within(what: str, name: str, certificate: Certificate) -> Finding:
    """Whether a limit holds for all time, to the digits that are printed."""
    verdicts = _of(certificate, what)
    slack = _rounding(ORDERS[what])
    reached = ", ".join(f"{limit.reached:.4f}" for limit in verdicts)
    holds = all(limit.reached <= limit.limit + slack for limit in verdicts)
    unit = verdicts[0].unit
    return claim(
        f"{what} limits hold, {name}",
        holds,
        f"largest |{('q', 'q̇', 'q̈')[ORDERS[what]]}| of joints 1, 2, 3: {reached} {unit}; limit {verdicts[0].limit:g} "
        f"{unit}; the last printed digit of the coefficients is worth {slack:.4f} {unit} at most",
    )


def _rounding(order: int) -> float:
    """What rounding the printed coefficients can do to q̇ (order 1) or q̈ (2)."""
    half = 0.5 * 10.0 ** -PAPER["table_1"]["digits"]
    rates = (2.0 * np.pi / FAMILY.period * np.array(FAMILY.numbers)) ** (order - 1)
    return float(half * np.sqrt(2.0) * rates.sum())


def _evidence_of_swap() -> list[Finding]:
    """The peak velocity of joint 1 over all signs of its amplitudes."""
    limit = PAPER["limits"]["velocity"]
    deltas = coefficient_signs(0)[:, 0]
    peaks = FAMILY.curve(deltas).extremum(1).size
    own = float(FAMILY.curve(table_1(swapped=True)).extremum(1).size[0])
    lower, equal = int((peaks < own - SAME).sum()), int((np.abs(peaks - own) <= SAME).sum())
    return [
        shown(
            "joint 1, swapped: sign patterns of its amplitudes with a lower peak velocity",
            lower,
            f"of {len(peaks)}; {equal} (time reversed, mirrored, half a period later) have the same peak "
            f"{own:.4f} rad/s, the others up to {peaks.max():.3f} rad/s, median {np.median(peaks):.3f}: this is an "
            f"optimised series, and it ends at the limit of {limit:g} rad/s",
        )
    ]


def _reach(delta: Array) -> list[Finding]:
    base = PAPER["limits"]["base"]
    x = heights(robot()).points(sampled(delta, samples=FINE))
    radius, height = np.hypot(x[0], x[1]), x[2]
    product = (base["height"] - height) * (base["radius"] - radius)
    return [
        claim(
            f"the end effector keeps the printed constraint ({1e3 * base['height']:g} − z)"
            f"({1e3 * base['radius']:g} − r) ≤ 0 [mm²], a and b swapped",
            bool(product.max() <= 0.0),
            f"z from {height.min():.3f} to {height.max():.3f} m, r up to {radius.max():.3f} m: above the base and "
            f"within {base['radius']:g} m of its axis all the time, which the product demands of whatever is higher "
            f"than {base['height']:g} m; the text only forbids being low and near at once",
        )
    ]


def _limits_table(certificates: dict[str, Certificate]) -> DataTable:
    first, second = certificates.values()
    rows: list[tuple[Value, ...]] = [
        (f"{a.what} of {a.where} [{a.unit}]", a.limit, a.reached, _status(a), b.reached, _status(b))
        for a, b in zip(first.limits, second.limits, strict=True)
    ]
    headings = ("limit", "value", "as printed", "verdict", "swapped", "verdict")
    return DataTable("table-1-limits", "Table 1 against every limit of the paper, for all time", headings, rows)


def _status(limit: LimitVerdict) -> str:
    within = limit.what in ORDERS and limit.reached <= limit.limit + _rounding(ORDERS[limit.what])
    return "broken by less than the rounding" if limit.status == "broken" and within else limit.status


def _figures_table(parts: dict[str, Array]) -> DataTable:
    rows: list[tuple[Value, ...]] = []
    for name, delta in parts.items():
        for friction in (True, False):
            found = figures(delta, friction)
            rows.append((name, ALL if friction else INERT, found.condition_number, found.condition_number_normalized))
    return DataTable(
        "table-1-condition",
        "Condition numbers of A for Table 1",
        ("reading", "parameters", "columns as they are", "columns of unit length"),
        rows,
    )
