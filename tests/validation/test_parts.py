"""Motion unlike the training motion: automatic settings lose what little they must, where least squares lose all.

All splits of all robots: ``benchmarks/parts.py``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from exciter.experiment.recording import Recording
from exciter.experiment.signals.processed_motion import Processed, motion_band
from exciter.identification.runs.run import Run
from exciter.robot import Motion
from support.log_parts import ALIKE, COUNT, cut, splits
from support.paths import SHARED_DATA
from support.real_data import require_data
from support.scripts import benchmark

pytestmark = pytest.mark.real

TIME = np.arange(8001) / 1000.0
SLOW_FAST, LOW_HIGH = "slow → fast", "joint 2: low → high"


# -- real robots -------------------------------------------------------------------------------------------------------


@cache
def left(robot: str, split: str, method: str = "automatic"):
    require_data(robot)
    script, logs = benchmark("parts"), logs_of(robot)
    return logs.fit(logs.splits[split], script.METHODS[method]).left(logs.splits[split].test)


@cache
def logs_of(robot: str):
    return benchmark("parts").Logs.read(robot, SHARED_DATA)


def test_fast_motion_is_predicted_from_slow_where_excitation_is_poor():
    """kr300: least squares leave ten times the torque, automatic settings twice what they leave of motion alike."""
    require_data("kr300")
    unlike = left("kr300", SLOW_FAST).total
    assert unlike < 2.7 * left("kr300", ALIKE).total
    assert unlike < 0.1 * left("kr300", SLOW_FAST, "wls").total
    assert unlike < 0.4 * left("kr300", SLOW_FAST).description


def test_one_part_of_the_range_is_predicted_from_another():
    """lwr4: about 0.4 of what least squares leave, and of what the description leaves."""
    require_data("lwr4")
    unlike = left("lwr4", LOW_HIGH)
    assert unlike.total < 0.55 * left("lwr4", LOW_HIGH, "wls").total
    assert unlike.total < 0.6 * unlike.description


# -- the recipe --------------------------------------------------------------------------------------------------------


def test_neither_rest_nor_a_short_remnant_tells_the_band_of_a_motion():
    whole = moving(TIME)
    rest = replace(whole, motion=Motion(TIME, *(1e-6 * np.random.default_rng(0).standard_normal((3, len(TIME), 2)))))
    assert motion_band([whole]) == pytest.approx(0.75, abs=0.25)
    assert motion_band([whole, rest, whole[:250]]) == pytest.approx(motion_band([whole]), rel=0.35)
    assert motion_band([rest]) > 10.0


def moving(time: np.ndarray) -> Processed:
    """Two joints at 0.5 Hz."""
    w = np.pi * time[:, None] + np.array([0.0, 1.0])
    return Processed(Motion(time, np.sin(w), np.pi * np.cos(w), -(np.pi**2) * np.sin(w)), np.cos(w), 1000.0)


# -- splitting ---------------------------------------------------------------------------------------------------------


def recording() -> Recording:
    """Joint 1 is fast while the second quarter and the last one last; joint 2 goes up all the time."""
    fast = (TIME % 4.0) > 2.0
    q = np.column_stack([np.cumsum(np.where(fast, 5.0, 1.0)) * 1e-3, 0.5 * TIME])
    return Recording(joints=("a", "b"), time=TIME, q=q)


def test_halves_are_slow_and_fast_and_low_and_high():
    found = splits([recording()])
    assert set(found) == {ALIKE, "every other: odd → even", SLOW_FAST, LOW_HIGH, "joint 1: low → high"}
    assert found[SLOW_FAST].train == (((0.0, 2.0), (4.0, 6.0)),)
    assert found[SLOW_FAST].test == (((2.0, 4.0), (6.0, 8.0)),)
    assert (found[LOW_HIGH].train, found[LOW_HIGH].test) == ((((0.0, 4.0),),), (((4.0, 8.0),),))
    back = found[LOW_HIGH].back
    assert (back.name, back.train) == ("joint 2: high → low", found[LOW_HIGH].test)


def test_nothing_is_trained_on_and_judged():
    logs = [recording(), recording()]
    for split in splits(logs).values():
        lasts = [last - first for spans in (*split.train, *split.test) for first, last in spans]
        assert sum(lasts) == pytest.approx(16.0)
        for train, test in zip(split.train, split.test, strict=True):
            assert not any(a[0] < b[1] and b[0] < a[1] for a in train for b in test)
    assert COUNT == 8


def test_a_part_of_a_run_has_the_instants_of_its_stretches():
    run = cut(Run((moving(TIME),)), ((1.0, 2.0), (4.0, 4.5)))
    assert [len(part) for part in run.parts] == [1000, 500]
    assert run.span == (1.0, 4.499)
