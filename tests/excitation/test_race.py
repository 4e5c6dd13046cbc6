"""Starts that cannot reach what the first few came to are given up, and no others."""

import numpy as np
import pytest

import exciter as ex
from exciter.excitation.optimiser.deadline import NEVER
from exciter.excitation.optimiser.track import OUTDONE_ITERATIONS, Track

#: values of the iterations 6 to 50 or so above the bar [nats], of seeds 20 and 29
UR10E = (
    "100 91 76 64 51 47 42 40 40 38 38 37 35 34 31 30 29 27 25 24 23 23 22 21 21 20 19 19 18 18 18 17 16 16 15 15 15"
)
TX40 = (
    "90.5 90.5 73.6 54.4 44.3 39.9 29.8 26.9 24.5 20.6 19 17.9 17.1 15.3 13.4 11.2 10.3 9.9 8.7 8.2 7.9 7.1 7.1 7 6.8 "
)
TX40 += "6 5.4 4.9 4.6 4.4 4.4 4.3 4.1 3.84 3.78 3.75 3.73 3.6 3.56 3.49"


def iterations(values: list[float], bar: float) -> int:
    """After how many the start of these values was given up; all of them where it was not."""
    track = Track(NEVER, None, 0.0, bar)
    for k, value in enumerate(values):
        if track(k + 1, value, np.zeros(1)):
            assert track.outdone
            return k + 1
    assert not track.outdone
    return len(values)


def test_a_start_that_falls_fast_enough_goes_on():
    values = list(-100.0 * (1.0 - 0.9 ** np.arange(60)))
    assert iterations(values, bar=-100.0) == 60
    assert iterations(values, bar=np.inf) == 60


def test_one_that_has_come_to_rest_far_from_the_bar_is_given_up():
    values = [*np.linspace(0.0, -50.0, 20), *[-50.0] * 40]
    assert OUTDONE_ITERATIONS < iterations(values, bar=-60.0) < 50
    assert iterations(values, bar=-50.0) == 60  # it is there


@pytest.mark.parametrize("above", [UR10E, TX40], ids=["ur10e", "tx40"])
def test_those_that_won_in_the_end_go_on(above):
    """Best starts of 16: they rest for a while far from the bar, which they pass by 2 and 3 nats in the end."""
    values = [float(value) for value in above.split()]
    assert iterations(values, bar=0.0) == len(values)


def test_none_is_given_up_before_its_gain_is_known():
    assert iterations([0.0] * 60, bar=-1.0) == OUTDONE_ITERATIONS + 1


def test_without_a_race_all_starts_run_to_their_end():
    """And the race returns what they return: starts that were given up did not have the best motion."""
    family = ex.Fourier(period=4.0, harmonics=2)
    every, raced = (ex.design("gautier-khalil", family, starts=8, seed=1, race=race).design for race in (False, True))
    assert [one.feasible for one in every.attempts] == [True] * 8
    assert any(one.outdone for one in raced.attempts)
    ended = {one.number: one.value for one in raced.attempts if not one.outdone}
    assert ended == {one.number: one.value for one in every.attempts if one.number in ended}
    assert raced.value == every.value
