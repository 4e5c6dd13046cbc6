"""Recordings of any shape."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from exciter.experiment.recording import About, AnalogFilter, Payload, Recording, SourceFile

VALUES = st.floats(allow_nan=True, allow_infinity=True, width=64)


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


NUMBER = st.floats(-1e9, 1e9)


NAMES = st.text(st.characters(categories=("L", "N"), include_characters="_-./ #;|%"), min_size=1, max_size=8)


@st.composite
def abouts(draw, n: int) -> About:
    """Anything that may be known of a recording of ``n`` joints."""

    def maybe(strategy):
        return draw(st.none() | strategy)

    def triple():
        return st.tuples(NUMBER, NUMBER, NUMBER)

    payload = st.builds(Payload, st.text(min_size=1, max_size=5), st.floats(0, 1e3), triple(), st.tuples(*[NUMBER] * 6))
    return About(
        period=maybe(st.floats(1e-6, 1e6)),
        settled=maybe(NUMBER),
        gravity=maybe(triple()),
        payload=maybe(payload.filter(lambda p: p.frame.isprintable())),
        filter=maybe(st.builds(AnalogFilter, st.integers(1, 20), st.floats(0.1, 1e5))),
        gains=maybe(st.tuples(*[NUMBER] * n)),
        sources=tuple(draw(st.lists(st.builds(SourceFile, TEXT, TEXT), min_size=1, max_size=2))),
        notes=draw(st.dictionaries(TEXT, TEXT, max_size=2)),
    )


@st.composite
def recordings(draw, samples: int = 2) -> Recording:
    """Any joints, any samples: missing, infinite, subnormal, −0."""
    names = NAMES.filter(lambda name: name.strip() == name)
    joints = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    n, rows = len(joints), draw(st.integers(samples, 9))
    steps = draw(arrays(float, rows, elements=st.floats(0, 1e6)))
    time = draw(NUMBER) + np.cumsum(steps)
    signal = arrays(float, (rows, n), elements=VALUES)
    some = st.none() | signal
    measured = [draw(signal), draw(some), draw(some), draw(some)]
    return Recording(joints, time, *measured, draw(abouts(n)), temperature=draw(some))


def same(a: Recording, b: Recording) -> bool:
    """Every bit of every number (whichever NaN it is), the joints, and what is known beside them."""
    numbers = all(
        np.array_equal(getattr(a, k), getattr(b, k), equal_nan=True)
        and np.array_equal(np.signbit(finite(getattr(a, k))), np.signbit(finite(getattr(b, k))))
        for k in ("time", *a.everything)
    )
    return numbers and (a.joints, a.everything, a.about) == (b.joints, b.everything, b.about)


def finite(values: np.ndarray) -> np.ndarray:
    return np.nan_to_num(values, nan=1.0)


def plain(**changes) -> Recording:
    time = np.array([0.0, 1.0, 1.5, 4.0])
    q = np.arange(8.0).reshape(4, 2)
    return replace(Recording(("a", "b"), time, q, torque=-q), **changes)
