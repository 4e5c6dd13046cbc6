"""Where 8.66 could come from: Table 1 under every reading we could think of, each by four condition numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.criteria import ConditionNumber, NormalizedCondition
from exciter.reproduction.finding import Value, claim, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.swevers_asme.equations import NONE, G, L, Misprint, regressor
from exciter.reproduction.swevers_asme.set_up import ALL, FAMILY, INERT, INERTIAL, PAPER, SAMPLES, model_words, table_1
from exciter.typing import Array

MEASURES = ("friction", "friction, unit columns", "inertial", "inertial, unit columns")
PUBLISHED: float = PAPER["condition_number"]["friction"]
PRINTED = 0.005  # half a unit of its last digit
AROUND = 0.5  # of the published figure: where the density of condition numbers is counted
BATCH = 64
SAME = 1e-9  # condition numbers that differ by less, relative, are one
LITERAL = frozenset({Misprint.FACTOR, Misprint.FRICTION})
EVERY = frozenset(Misprint) - {Misprint.KYZ2, Misprint.KD2}  # those two are of parameters, not of the matrix
SIGNS = "signs of a, b, q0 of every joint"


@dataclass(frozen=True, eq=False)
class Reading:
    """A kind of reading: coefficients (R, 3, 11), and a model with its misprints, length [m] and gravity [m/s²]."""

    name: str
    deltas: Array
    wrong: frozenset[Misprint] = field(default=NONE)
    length: float = L
    g: float = G

    def condition_numbers(self) -> Array:
        """(4, R) in the order of ``MEASURES``."""
        parts = [self.deltas[k : k + BATCH] for k in range(0, len(self.deltas), BATCH)]
        return np.concatenate([self._part(part) for part in parts], axis=1)

    def _part(self, deltas: Array) -> Array:
        q, qd, qdd = (basis @ deltas.transpose(0, 2, 1) for basis in FAMILY.basis(FAMILY.sample_times(SAMPLES)))
        phi, _ = regressor(q, qd, qdd, self.wrong, self.length, self.g)
        rows = phi.reshape(len(deltas), -1, phi.shape[-1])
        found = []
        for gram in rows.transpose(0, 2, 1) @ rows:
            inertial = gram[: len(INERTIAL), : len(INERTIAL)]
            found.append([by(h)[0] for h in (gram, inertial) for by in (ConditionNumber(), NormalizedCondition())])
        return np.array(found).T


def both() -> Array:
    """(2, 3, 11) Table 1 as printed and swapped."""
    return np.stack([table_1(swapped=False), table_1(swapped=True)])


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
    half = 0.5 * 10.0 ** -PAPER["table_1"]["digits"] * np.eye(33).reshape(33, 3, 11)
    return np.asarray(table_1(swapped) + np.concatenate([half, -half]))


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
    return np.asarray(change * table_1(swapped=True))


def readings() -> Iterator[Reading]:
    table = both()
    yield Reading("as printed, and a and b swapped", table)
    for misprint in (one for one in Misprint if one in EVERY):
        yield Reading(f"misprint of {misprint}", table, frozenset({misprint}))
    yield Reading("missing factor 2 and printed sines of friction", table, LITERAL)
    yield Reading("(7)–(9) with every misprint", table, EVERY)
    for g in (9.8, 10.0, 1.0):
        yield Reading(f"g = {g:g} m/s²", table, g=g)
    yield Reading("lengths in mm", table, length=1e3 * L, g=1e3 * G)
    yield Reading(f"{1e3 * L:g} taken as metres", table, length=1e3 * L)
    yield Reading("joints 2, 3 from other zeros (quarter turns)", offsets())
    yield Reading(SIGNS, joint_signs())
    yield Reading("signs of a, b, q0, missing factor 2", joint_signs(), frozenset({Misprint.FACTOR}))
    yield Reading("one number with the other sign", single_signs())
    yield Reading("rows of other joints", rows_exchanged())


def sign_patterns() -> Iterator[Reading]:
    """Thousands, so that some come near any number by chance."""
    for joint in range(3):
        yield Reading(f"joint {joint + 1}: signs of its ten amplitudes, a and b swapped", coefficient_signs(joint))


def rounding() -> Array:
    """(4,) what rounding the printed coefficients can do to each condition number: worst case, to first order."""
    worst = []
    for swapped in (False, True):
        up, down = np.split(Reading("", rounded(swapped)).condition_numbers(), 2, axis=1)
        worst.append(0.5 * np.abs(up - down).sum(axis=1))
    return np.asarray(np.max(worst, axis=0))


def hits(values: Array, slack: Array) -> NDArray[np.int64]:
    """(4,) how many of (4, R) are the published figure, within its last digit and ``slack`` (4,)."""
    return np.asarray((np.abs(values - PUBLISHED) <= PRINTED + slack[:, None]).sum(axis=1))


def by_chance(values: Array, slack: Array) -> Array:
    """(4,) how many would be, were values as dense there as around it."""
    near = (np.abs(values - PUBLISHED) <= AROUND).sum(axis=1)
    return np.asarray(near * (PRINTED + slack) / AROUND)


def search() -> Part:
    """The readings, and how near to the published figure each comes."""
    found = {one.name: one.condition_numbers() for one in readings()}
    patterns = {one.name: one.condition_numbers() for one in sign_patterns()}
    slack = rounding()
    values = [np.concatenate(list(group.values()), axis=1) for group in (found, patterns)]
    swapped, signed = found["as printed, and a and b swapped"][0, 1], found[SIGNS][0]
    return Part(
        f"Table 1 and {PUBLISHED}",
        "Readings of Table 1",
        f"{model_words()} Every reading of the table and of the model that we could think of, by four condition "
        f"numbers: {ALL} (with friction) or {INERT}, columns as they are or of unit length. The paper's is the first. "
        f"Rounding of the printed coefficients can change the table's four by {_listed(slack, '.3f')} at most; that "
        f"much is allowed. Hits by chance: from the density of values within {AROUND:g} of {PUBLISHED}. Nothing is "
        "random.",
        (
            claim(
                f"a reading of Table 1 has the condition number {PUBLISHED}",
                any(bool(hits(group, slack)[0]) for group in values),
                f"with friction and columns as they are the smallest of all {sum(x.shape[1] for x in values)} is "
                f"{min(x[0].min() for x in values):.2f}. By the other three measures together "
                f"{_others(values[0], 'readings', slack)} and {_others(values[1], 'further sign patterns', slack)} hit "
                "it, some of which have their values in common: among so many a hit proves nothing. "
                f"Table 1 is not the trajectory of {PUBLISHED}, or the matrix was another one",
            ),
            shown(
                "signs of a, b, q0 of every joint with a smaller condition number than the swapped table's",
                int((signed < swapped * (1.0 - SAME)).sum()),
                f"of {len(signed)} patterns, printed and swapped, from {signed.min():.2f} to {signed.max():.2f}; the "
                f"swapped table has {swapped:.2f}: its signs are not what is wrong",
            ),
        ),
        (
            DataTable(
                "readings",
                f"Smallest condition numbers of each kind of reading, the one nearest to {PUBLISHED} by any measure, "
                "and how many hit it by each measure",
                ("reading", "tried", *MEASURES, f"nearest to {PUBLISHED}", "hits"),
                [_row(name, one, slack) for name, one in (found | patterns).items()],
            ),
        ),
    )


def _listed(numbers: Array, digits: str) -> str:
    return ", ".join(f"{x:{digits}}" for x in numbers)


def _others(values: Array, name: str, slack: Array) -> str:
    expected = by_chance(values, slack)[1:].sum()
    return f"{hits(values, slack)[1:].sum()} of {values.shape[1]} {name} ({expected:.0f} expected by chance)"


def _row(name: str, values: Array, slack: Array) -> tuple[Value, ...]:
    nearest = values.ravel()[np.abs(values - PUBLISHED).argmin()]
    counts = _listed(hits(values, slack).astype(float), "g")
    return name, values.shape[1], *(float(x) for x in values.min(axis=1)), float(nearest), counts
