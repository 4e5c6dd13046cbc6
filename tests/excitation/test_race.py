"""Starts that cannot reach what the first few came to are given up, and no others."""

import numpy as np

import exciter as ex
from exciter.excitation.optimiser.deadline import NEVER
from exciter.excitation.optimiser.track import OUTDONE_ITERATIONS, Track


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
    assert OUTDONE_ITERATIONS < iterations(values, bar=-60.0) < 40
    assert iterations(values, bar=-50.0) == 60  # it is there


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
