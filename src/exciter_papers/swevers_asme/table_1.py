"""Table 1 of the paper, as printed and swapped: condition numbers, exact extrema, the reach of the tool; and where 8.66
could come from: the table under every reading we could think of, each by four condition numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate, LimitVerdict
from exciter.excitation.criteria.criterion import rounding as smallest_share
from exciter.typing import Array
from exciter_papers.paper import DataTable, Effort, Finding, Part, Value, claim, same, shown
from exciter_papers.swevers_asme import set_up
from exciter_papers.swevers_asme.model import GRAVITY, NONE, L, Misprint, regressor

# -- readings ----------------------------------------------------------------------------------------------------------

READING_MEASURES = ("friction", "friction, unit columns", "inertial", "inertial, unit columns")
PUBLISHED_CONDITION: float = set_up.ASME_FIGURES["condition_number"]["friction"]
LAST_DIGIT_HALF_UNIT = 0.005  # half a unit of its last digit
DENSITY_WINDOW_RATIO = 0.5  # of the published figure: where the density of condition numbers is counted
READINGS_AT_ONCE = 64
SAME_READING_TOLERANCE = 1e-9  # condition numbers (relative) and extrema [rad/s] that differ by less are one
LITERAL = frozenset({Misprint.FACTOR, Misprint.FRICTION})
EVERY = frozenset(Misprint) - {Misprint.KYZ2, Misprint.KD2}  # those two are of parameters, not of the matrix
SIGNS = "signs of a, b, q0 of every joint"


@dataclass(frozen=True, eq=False)
class TableReading:
    """A kind of reading: coefficients (R, 3, 11), and a model with its misprints, length [m] and gravity [m/s²]."""

    name: str
    deltas: Array
    wrong: frozenset[Misprint] = field(default=NONE)
    length: float = L
    g: float = GRAVITY

    def condition_numbers(self) -> Array:
        """(4, R) in the order of ``READING_MEASURES``."""
        bases = set_up.ASME_FAMILY.basis(set_up.ASME_FAMILY.sample_times(set_up.ASME_SAMPLES))
        parts = [self.deltas[k : k + READINGS_AT_ONCE] for k in range(0, len(self.deltas), READINGS_AT_ONCE)]
        return np.concatenate([self._part(part, bases) for part in parts], axis=1)

    def _part(self, deltas: Array, bases: tuple[Array, ...]) -> Array:
        q, qd, qdd = (basis @ deltas.transpose(0, 2, 1) for basis in bases)
        phi, _ = regressor(q, qd, qdd, self.wrong, self.length, self.g)
        rows = phi.reshape(len(deltas), -1, phi.shape[-1])
        gram, inert = rows.transpose(0, 2, 1) @ rows, len(set_up.BARYCENTRIC_GROUPINGS)
        return np.array([by for h in (gram, gram[:, :inert, :inert]) for by in (conditions(h), conditions(even(h)))])


def conditions(h: Array) -> Array:
    """(R,) condition numbers of W from WᵀW (R, b, b): ``ConditionNumber`` of thousands at once, without slopes."""
    values = np.linalg.eigh(h)[0]
    regular = values[:, 0] > values[:, -1] * smallest_share(h[0])
    ratio = np.divide(values[:, -1], values[:, 0], out=np.full(len(h), np.inf), where=regular)
    return np.asarray(np.sqrt(ratio))


def even(h: Array) -> Array:
    """WᵀW with columns of unit length; one that is zero stays."""
    diagonal = np.diagonal(h, axis1=1, axis2=2)
    scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
    return np.asarray(h * (scale[:, :, None] * scale[:, None, :]))


def both() -> Array:
    """(2, 3, 11) Table 1 as printed and swapped."""
    return np.stack([set_up.table_1(swapped=False), set_up.table_1(swapped=True)])


def joint_signs() -> Array:
    """(256, 3, 11): a, b and q0 of every joint with any sign, but for what changes nothing: mirroring joint 1 and its
    offset."""
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=7)))
    change = np.ones((len(signs), 3, 11))
    change[:, 0, 5:10] = signs[:, :1]
    for joint, at in ((1, 1), (2, 4)):
        change[:, joint, :5], change[:, joint, 5:10] = signs[:, [at]], signs[:, [at + 1]]
        change[:, joint, 10] = signs[:, at + 2]
    return np.concatenate([change * delta for delta in both()])


def rounded(swapped: bool) -> Array:
    """(66, 3, 11): one number of the table half a unit of its last digit larger, or smaller."""
    half = 0.5 * 10.0 ** -set_up.ASME_FIGURES["table_1"]["digits"] * np.eye(33).reshape(33, 3, 11)
    return np.asarray(set_up.table_1(swapped) + np.concatenate([half, -half]))


def single_signs() -> Array:
    """(66, 3, 11): one number of the table with the other sign."""
    change = 1.0 - 2.0 * np.eye(33).reshape(33, 3, 11)
    return np.concatenate([change * delta for delta in both()])


def offsets() -> Array:
    """(32, 3, 11): joints 2 and 3 counted from other zeros, in quarter turns."""
    quarter = np.array(list(itertools.product(np.pi / 2 * np.arange(4), repeat=2)))
    change = np.zeros((len(quarter), 3, 11))
    change[:, 1:, 10] = quarter
    return np.concatenate([delta + change for delta in both()])


def rows_exchanged() -> Array:
    """(12, 3, 11): rows of the table given to other joints."""
    return np.stack([delta[list(order)] for delta in both() for order in itertools.permutations(range(3))])


def coefficient_signs(joint: int) -> Array:
    """(1024, 3, 11): a and b swapped, the ten amplitudes of one joint with any signs."""
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=10)))
    change = np.ones((len(signs), 3, 11))
    change[:, joint, :10] = signs
    return np.asarray(change * set_up.table_1(swapped=True))


def readings() -> Iterator[TableReading]:
    table = both()
    yield TableReading("as printed, and a and b swapped", table)
    for misprint in (one for one in Misprint if one in EVERY):
        yield TableReading(f"misprint of {misprint}", table, frozenset({misprint}))
    yield TableReading("missing factor 2 and printed sines of friction", table, LITERAL)
    yield TableReading("(7)–(9) with every misprint", table, EVERY)
    for g in (9.8, 10.0, 1.0):
        yield TableReading(f"g = {g:g} m/s²", table, g=g)
    yield TableReading("lengths in mm", table, length=1e3 * L, g=1e3 * GRAVITY)
    yield TableReading(f"{1e3 * L:g} taken as metres", table, length=1e3 * L)
    yield TableReading("joints 2, 3 from other zeros (quarter turns)", offsets())
    yield TableReading(SIGNS, joint_signs())
    yield TableReading("signs of a, b, q0, missing factor 2", joint_signs(), frozenset({Misprint.FACTOR}))
    yield TableReading("one number with the other sign", single_signs())
    yield TableReading("rows of other joints", rows_exchanged())


def rounding() -> Array:
    """(4,) what rounding the printed coefficients can do to each condition number: worst case, to first order."""
    worst = []
    for swapped in (False, True):
        up, down = np.split(TableReading("", rounded(swapped)).condition_numbers(), 2, axis=1)
        worst.append(0.5 * np.abs(up - down).sum(axis=1))
    return np.asarray(np.max(worst, axis=0))


def hits(values: Array, slack: Array) -> NDArray[np.int64]:
    """(4,) how many of (4, R) are the published figure, within its last digit and ``slack`` (4,)."""
    return np.asarray((np.abs(values - PUBLISHED_CONDITION) <= LAST_DIGIT_HALF_UNIT + slack[:, None]).sum(axis=1))


def by_chance(values: Array, slack: Array) -> Array:
    """(4,) how many would be, were values as dense there as around it."""
    near = (np.abs(values - PUBLISHED_CONDITION) <= DENSITY_WINDOW_RATIO).sum(axis=1)
    return np.asarray(near * (LAST_DIGIT_HALF_UNIT + slack) / DENSITY_WINDOW_RATIO)


def search() -> Part:
    """The readings, and how near to the published figure each comes."""
    found = {one.name: one.condition_numbers() for one in readings()}
    patterns = {  # thousands, so that some come near any number by chance
        f"joint {j}: signs of its ten amplitudes, a and b swapped": TableReading("", signs).condition_numbers()
        for j, signs in enumerate(map(coefficient_signs, range(3)), start=1)
    }
    slack = rounding()
    values = [np.concatenate(list(group.values()), axis=1) for group in (found, patterns)]
    swapped, signed = found["as printed, and a and b swapped"][0, 1], found[SIGNS][0]
    return Part(
        f"Table 1 and {PUBLISHED_CONDITION}",
        "Readings of Table 1",
        f"{set_up.model_words()} Every reading of the table and of the model that we could think of, by four condition "
        f"numbers: {set_up.ALL} (with friction) or {set_up.INERT}, columns as they are or of unit length. The paper's "
        f"is the first. Rounding of the printed coefficients can change the table's four by {_listed(slack, '.3f')} at "
        f"most; that much is allowed. Hits by chance: from the density of values within {DENSITY_WINDOW_RATIO:g} of "
        f"{PUBLISHED_CONDITION}. "
        "Nothing is random.",
        (
            claim(
                f"a reading of Table 1 has the condition number {PUBLISHED_CONDITION}",
                any(bool(hits(group, slack)[0]) for group in values),
                f"with friction and columns as they are the smallest of all {sum(x.shape[1] for x in values)} is "
                f"{min(x[0].min() for x in values):.2f}. By the other three measures together "
                f"{_others(values[0], 'readings', slack)} and {_others(values[1], 'further sign patterns', slack)} hit "
                "it, some of which have their values in common: among so many a hit proves nothing. "
                f"Table 1 is not the trajectory of {PUBLISHED_CONDITION}, or the matrix was another one",
            ),
            shown(
                "signs of a, b, q0 of every joint with a smaller condition number than the swapped table's",
                int((signed < swapped * (1.0 - SAME_READING_TOLERANCE)).sum()),
                f"of {len(signed)} patterns, printed and swapped, from {signed.min():.2f} to {signed.max():.2f}; the "
                f"swapped table has {swapped:.2f}: its signs are not what is wrong",
            ),
        ),
        DataTable(
            "readings",
            f"Smallest condition numbers of each kind of reading, the one nearest to {PUBLISHED_CONDITION} by any "
            "measure, "
            "and how many hit it by each measure",
            ("reading", "tried", *READING_MEASURES, f"nearest to {PUBLISHED_CONDITION}", "hits"),
            [_row(name, one, slack) for name, one in (found | patterns).items()],
        ),
    )


def _listed(numbers: Array, digits: str) -> str:
    return ", ".join(f"{x:{digits}}" for x in numbers)


def _others(values: Array, name: str, slack: Array) -> str:
    expected = by_chance(values, slack)[1:].sum()
    return f"{hits(values, slack)[1:].sum()} of {values.shape[1]} {name} ({expected:.0f} expected by chance)"


def _row(name: str, values: Array, slack: Array) -> tuple[Value, ...]:
    nearest = values.ravel()[np.abs(values - PUBLISHED_CONDITION).argmin()]
    counts = _listed(hits(values, slack).astype(float), "g")
    return name, values.shape[1], *(float(x) for x in values.min(axis=1)), float(nearest), counts


# -- as printed and swapped --------------------------------------------------------------------------------------------

DERIVATIVE_ORDERS = {"velocity": 1, "acceleration": 2}  # of the derivative
REACH_SAMPLES = 20_000  # samples that show the tool's reach


def run(effort: Effort) -> Sequence[Part]:
    """Nothing here depends on the effort."""
    return [evaluated(), search()]


def evaluated() -> Part:
    """Both readings of Table 1 against the paper's figures and limits."""
    parts = {"as printed": set_up.table_1(swapped=False), "a and b swapped": set_up.table_1(swapped=True)}
    certificates = {name: _certificate(delta) for name, delta in parts.items()}
    findings: list[Finding] = []
    slack = rounding()[0]
    for name, delta in parts.items():
        raw, unit = set_up.figures(delta).condition_number, set_up.figures(delta).condition_number_normalized
        without = set_up.figures(delta, friction=False)
        findings.append(
            same(
                f"condition number of A, {name}",
                PUBLISHED_CONDITION,
                raw,
                LAST_DIGIT_HALF_UNIT,
                f"the last printed digit of the coefficients is worth {slack:.3f} at most; columns of unit length: "
                f"{unit:.3f}; without friction {without.condition_number:.3f} and "
                f"{without.condition_number_normalized:.3f}. See the search over readings",
            )
        )
        findings.append(_within("velocity", name, certificates[name]))
        findings.append(_within("acceleration", name, certificates[name]))
    findings += [_evidence_of_swap(), _reach(parts["a and b swapped"])]
    return Part(
        "Table 1",
        "The published trajectory, evaluated",
        f"{set_up.model_words()} {set_up.columns_words()} Extrema are exact, for all time (roots of the derivative's "
        "trigonometric polynomial), not of samples. In the swapped reading column a of the table is the amplitude of "
        "the sine of q̇ and b that of the cosine; nothing in the paper says so.",
        findings,
        (_limits_table(certificates), _figures_table(parts)),
        differences="With (5) as printed the trajectory breaks every velocity limit. With a and b in each other's "
        "place joints 1 and 3 just reach the limit: they are swapped in the table or in (5). The acceleration limit is "
        "broken under both readings; the constraint block prints q̇ in its acceleration lines, so that it was "
        f"apparently never enforced for Table 1. The condition number is not {PUBLISHED_CONDITION} nor near it. The "
        "last line of "
        "(5), q̈, has a_k for a_l.",
    )


def _certificate(delta: Array) -> Certificate:
    return certify(set_up.robot(), set_up.ASME_FAMILY.curve(delta), set_up.workspace(set_up.robot()))


def _within(what: str, name: str, certificate: Certificate) -> Finding:
    """Whether a limit holds for all time, to the digits that are printed."""
    verdicts = [limit for limit in certificate.limits if limit.what == what]
    slack = _rounding(DERIVATIVE_ORDERS[what])
    reached = ", ".join(f"{limit.reached:.4f}" for limit in verdicts)
    holds = all(limit.reached <= limit.limit + slack for limit in verdicts)
    unit = verdicts[0].unit
    return claim(
        f"{what} limits hold, {name}",
        holds,
        f"largest |{('q', 'q̇', 'q̈')[DERIVATIVE_ORDERS[what]]}| of joints 1, 2, 3: {reached} {unit}; limit "
        f"{verdicts[0].limit:g} "
        f"{unit}; the last printed digit of the coefficients is worth {slack:.4f} {unit} at most",
    )


def _rounding(order: int) -> float:
    """What rounding the printed coefficients can do to q̇ (order 1) or q̈ (2)."""
    half = 0.5 * 10.0 ** -set_up.ASME_FIGURES["table_1"]["digits"]
    rates = (2.0 * np.pi / set_up.ASME_FAMILY.period * np.array(set_up.ASME_FAMILY.numbers)) ** (order - 1)
    return float(half * np.sqrt(2.0) * rates.sum())


def _evidence_of_swap() -> Finding:
    """The peak velocity of joint 1 over all signs of its amplitudes."""
    limit = set_up.ASME_FIGURES["limits"]["velocity"]
    deltas = coefficient_signs(0)[:, 0]
    peaks = set_up.ASME_FAMILY.curve(deltas).extremum(1).size
    own = float(set_up.ASME_FAMILY.curve(set_up.table_1(swapped=True)).extremum(1).size[0])
    lower, equal = (
        int((peaks < own - SAME_READING_TOLERANCE).sum()),
        int((np.abs(peaks - own) <= SAME_READING_TOLERANCE).sum()),
    )
    return shown(
        "joint 1, swapped: sign patterns of its amplitudes with a lower peak velocity",
        lower,
        f"of {len(peaks)}; {equal} (time reversed, mirrored, half a period later) have the same peak "
        f"{own:.4f} rad/s, the others up to {peaks.max():.3f} rad/s, median {np.median(peaks):.3f}: this is an "
        f"optimised series, and it ends at the limit of {limit:g} rad/s",
    )


def _reach(delta: Array) -> Finding:
    base = set_up.ASME_FIGURES["limits"]["base"]
    x = set_up.heights(set_up.robot()).points(set_up.sampled(delta, samples=REACH_SAMPLES))
    radius, height = np.hypot(x[0], x[1]), x[2]
    product = (base["height"] - height) * (base["radius"] - radius)
    return claim(
        f"the end effector keeps the printed constraint ({1e3 * base['height']:g} − z)"
        f"({1e3 * base['radius']:g} − r) ≤ 0 [mm²], a and b swapped",
        product.max() <= 0.0,
        f"z from {height.min():.3f} to {height.max():.3f} m, r up to {radius.max():.3f} m: above the base and "
        f"within {base['radius']:g} m of its axis all the time, which the product demands of whatever is higher "
        f"than {base['height']:g} m; the text only forbids being low and near at once",
    )


def _limits_table(certificates: dict[str, Certificate]) -> DataTable:
    first, second = certificates.values()
    rows = [
        (f"{a.what} of {a.where} [{a.unit}]", a.limit, a.reached, _status(a), b.reached, _status(b))
        for a, b in zip(first.limits, second.limits, strict=True)
    ]
    headings = ("limit", "value", "as printed", "verdict", "swapped", "verdict")
    return DataTable("table-1-limits", "Table 1 against every limit of the paper, for all time", headings, rows)


def _status(limit: LimitVerdict) -> str:
    within = limit.what in DERIVATIVE_ORDERS and limit.reached <= limit.limit + _rounding(DERIVATIVE_ORDERS[limit.what])
    return "broken by less than the rounding" if limit.status == "broken" and within else limit.status


def _figures_table(parts: dict[str, Array]) -> DataTable:
    rows = []
    for name, delta in parts.items():
        for words, friction in ((set_up.ALL, True), (set_up.INERT, False)):
            found = set_up.figures(delta, friction)
            rows.append((name, words, found.condition_number, found.condition_number_normalized))
    headings = ("reading", "parameters", "columns as they are", "columns of unit length")
    return DataTable("table-1-condition", "Condition numbers of A for Table 1", headings, rows)
