"""σ of drives: degrees of freedom of a variance that is summed over lags; commands that a log lost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from exciter.identification.actuators.lost_commands import held_commands, with_lost_commands
from exciter.identification.actuators.score_covariance import correlated_scores, window_freedom
from exciter.identification.actuators.shooting_fit import repeated

DRAWS = 400


@pytest.mark.parametrize(("lags", "lasting"), [(0, 0.0), (10, 0.0), (40, 0.8)])
@pytest.mark.parametrize("shape", ["even", "rare"])
def test_degrees_of_freedom_are_those_of_the_scatter(lags, lasting, shape):
    """2 mean²/variance of the estimated variance, of errors that are drawn; few where few samples count."""
    rng, n = np.random.default_rng(1), 1000
    size = np.ones((n, 1)) if shape == "even" else np.exp(-0.5 * ((np.arange(n) - 300.0) / 30.0) ** 2)[:, None]
    halves = [size[: n // 2], size[n // 2 :]]
    found = np.empty(DRAWS)
    for k in range(DRAWS):
        errors = signal.lfilter([1.0], [1.0, -lasting], rng.normal(size=(n, 1)), axis=0)
        found[k] = correlated_scores(np.split(size * errors, 2), lags)[0, 0]
    scatter = 2.0 * found.mean() ** 2 / found.var()
    told = window_freedom([half**2 for half in halves], lags)[0]
    assert told == pytest.approx(scatter, rel=0.3)


def test_lags_over_whole_stretches_leave_as_many_as_there_are():
    assert window_freedom([np.ones((50, 1))] * 7, 10**6)[0] == pytest.approx(7.0, rel=1e-3)


def test_a_short_stretch_does_not_hide_that_residuals_last():
    """As one that a pause in the log leaves: samples of long ones say the same as before."""
    rng = np.random.default_rng(4)
    long = [signal.lfilter([1.0], [1.0, -0.95], rng.normal(size=(400, 1)), axis=0) for _ in range(10)]
    assert repeated([*long, long[0][:4]]) == pytest.approx(repeated(long), rel=0.05)
    assert repeated(long)[0] > 20.0


def test_instants_that_are_written_twice_are_taken_once():
    time = np.delete(np.arange(100) / 100.0, 50)
    twice = np.insert(time, 20, time[20])
    instants, filled = with_lost_commands(twice, np.sin(twice)[:, None])
    np.testing.assert_allclose(filled, with_lost_commands(time, np.sin(time)[:, None])[1])
    assert np.all(np.diff(instants) > 0.0)


def test_commands_of_lost_samples_are_filled_where_they_are_smooth():
    time, rng = np.arange(400) / 200.0, np.random.default_rng(0)
    smooth, jumps = np.sin(2 * np.pi * 3.0 * time), np.repeat(rng.normal(size=40), 10)
    kept = rng.random(len(time)) > 0.05
    kept[[0, 1, -2, -1]] = True
    command = np.column_stack([smooth, jumps])
    instants, filled = with_lost_commands(time[kept], command[kept])
    assert instants == pytest.approx(time)
    assert np.abs(filled[:, 0] - smooth).max() < 1e-4 < np.abs(np.interp(time, time[kept], smooth[kept]) - smooth).max()
    np.testing.assert_allclose(filled[:, 1], np.interp(time, time[kept], jumps[kept]), atol=1e-12)
    same, untouched = with_lost_commands(time, command)
    assert same is time
    assert untouched is command


def test_held_commands_are_lines_whose_samples_are_means_over_a_step():
    time, step, late = np.array([0.0, 0.01, 0.02, 0.03]), 0.004, 0.0013
    command = np.array([[1.0], [3.0], [2.0], [5.0]])
    instants, lines = held_commands(time, command, step)
    fine = np.linspace(0.0, step, 4000, endpoint=False) + step / 8000.0
    for at in np.arange(0.002, 0.024, step):  # at 0.03 and later nothing comes
        held = command[np.searchsorted(time, at - late + fine, side="right") - 1, 0]
        assert np.interp(at - late, instants, lines[:, 0]) == pytest.approx(held.mean(), abs=2e-3)
