"""Recordings of any shape."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from exciter.experiment.recording import (
    About,
    AnalogFilter,
    MeasuredResponse,
    Payload,
    Recording,
    SignalFilters,
    SourceFile,
    TransferFunction,
)
from exciter.experiment.recording.current_map import SaturationMap

VALUES = st.floats(allow_nan=True, allow_infinity=True, width=64)


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


NUMBER = st.floats(-1e9, 1e9)


NAMES = st.text(st.characters(categories=("L", "N"), include_characters="_-./ #;|%"), min_size=1, max_size=8)


def filters(n: int):
    """Of the torque, of every signal, of every joint."""
    classical = st.builds(AnalogFilter, st.integers(1, 20), st.floats(0.1, 1e5))
    rational = st.builds(TransferFunction, st.just((1.0,)), st.tuples(st.floats(1e-4, 1.0), st.just(1.0)))
    table = st.builds(
        MeasuredResponse, st.just((1.0, 2.0, 4.0)), st.tuples(*[st.floats(0.1, 2.0)] * 3), st.just((0.0,) * 3)
    )
    one = classical | rational | table
    each = st.tuples(*[one] * n) | st.tuples(one)
    return one | st.builds(SignalFilters, torque=each, position=each)


def meanings(n: int):
    """Of currents: gains, maps or nothing."""
    maps = st.tuples(*[st.builds(SaturationMap, st.floats(0.1, 1e3), st.floats(0.1, 1e3))] * n)
    gains = st.tuples(*[NUMBER] * n)
    return st.one_of(st.just({}), st.fixed_dictionaries({"gains": gains}), st.fixed_dictionaries({"map": maps}))


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
        filter=maybe(filters(n)),
        **draw(meanings(n)),
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
    return Recording(joints, time, *measured, draw(abouts(n)), temperature=draw(some), command=draw(some))


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
