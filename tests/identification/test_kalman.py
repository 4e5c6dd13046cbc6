"""The Kalman filter of drifting parameters: the textbook's, least squares without drift, both engines alike."""

import numpy as np
import pytest

from exciter.errors import ParameterError
from exciter.identification.information import kalman
from exciter.identification.information.information import Information
from exciter.identification.information.kalman import KalmanFilter
from exciter.identification.information.sequential import SequentialEstimator

P, M, N = 9, 3, 60
NAMES = tuple(f"p{k}" for k in range(P))
NOISE = np.array([0.1, 0.4, 2.0])
DRIFT = np.array([0.0, 0.3, 0.0, 2.0, 0.05, 0.0, 0.0, 0.1, 0.7])


@pytest.fixture(params=["kernel", "plain"])
def engine(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(kalman, "default_engine", lambda: type("Plain", (), {"name": "numpy"}))


def equations(seed: int = 0):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((N, M, P)) * np.geomspace(0.01, 100.0, P)
    y = w @ rng.standard_normal(P) + NOISE * rng.standard_normal((N, M))
    return w, y, rng.uniform(0.0, 0.2, N)


def textbook(values, covariance, w, y, seconds, share=1.0):
    """P⁺ = (I − K W) P⁻ in Joseph's form, instant by instant; and innovations with their covariance."""
    told = []
    for wt, yt, dt in zip(w, y, seconds, strict=True):
        covariance = covariance + np.diag(DRIFT**2 * dt)
        s = wt @ covariance @ wt.T + np.diag(NOISE**2 / share)
        error, gain = yt - wt @ values, covariance @ wt.T @ np.linalg.inv(s)
        values, left = values + gain @ error, np.eye(P) - gain @ wt
        covariance = left @ covariance @ left.T + gain @ np.diag(NOISE**2 / share) @ gain.T
        told.append((error, s))
    return values, covariance, told


def test_it_is_the_textbooks_filter(engine):
    w, y, seconds = equations()
    start, spread = np.arange(P, dtype=float), np.diag(np.geomspace(0.1, 10.0, P) ** 2)
    values, covariance, told = textbook(start, spread, w, y, seconds, share=0.4)
    live = KalmanFilter(NAMES, NOISE, Information.of_estimate(start, spread), DRIFT)
    live.update(w, y, seconds, share=0.4)
    assert live.values == pytest.approx(values, rel=1e-9, abs=1e-9 * np.abs(values).max())
    assert live.covariance == pytest.approx(covariance, rel=1e-8, abs=1e-12)

    one = KalmanFilter(NAMES, NOISE / np.sqrt(0.4), Information.of_estimate(start, spread), DRIFT)
    for k, (error, s) in enumerate(told[:5]):
        one.walk(seconds[k])
        seen = one.innovations(w[k], y[k])
        assert seen.error[0] == pytest.approx(error, rel=1e-9, abs=1e-9)
        assert seen.std[0] ** 2 == pytest.approx(s.diagonal(), rel=1e-9)
        assert seen.total[0] == pytest.approx(error @ np.linalg.solve(s, error), rel=1e-8)
        one.update(w[k], y[k])


def test_without_drift_it_is_least_squares_from_no_knowledge_at_all(engine):
    w, y, seconds = equations()
    live, bierman = KalmanFilter(NAMES, NOISE), SequentialEstimator(NAMES, NOISE)
    for part in (slice(0, 7), slice(7, 8), slice(8, N)):
        live.update(w[part], y[part], seconds[part])
        bierman.update(w[part], y[part])
    flat = (w / NOISE[:, None]).reshape(-1, P), (y / NOISE).ravel()
    assert live.values == pytest.approx(np.linalg.lstsq(*flat, rcond=None)[0], rel=1e-9)
    assert live.values == pytest.approx(bierman.values, rel=1e-11)
    assert live.covariance == pytest.approx(bierman.covariance, rel=1e-9)
    assert live.information.rows == bierman.information.rows == N * M


def test_what_is_not_determined_is_said_and_predicts_nothing(engine):
    """Parameter 3 has no part in the equations so far; 4 and 5 only together."""
    w, y, seconds = equations()
    w = w.copy()
    w[:, :, 3], w[:, :, 5] = 0.0, 2.0 * w[:, :, 4]
    live = KalmanFilter(NAMES, NOISE, drift=DRIFT)
    live.update(w, y, seconds)
    belief = live.belief()
    assert np.flatnonzero(~belief.determined).tolist() == [3, 4, 5]
    others = [0, 1, 2, 6, 7, 8]
    reduced = KalmanFilter([NAMES[k] for k in (*others, 4)], NOISE, drift=0.0)
    free = KalmanFilter(NAMES, NOISE)
    free.update(w, y)
    reduced.update(w[:, :, [*others, 4]], y)
    assert free.belief().values[others] == pytest.approx(reduced.values[:-1], rel=1e-8)
    assert free.belief().std[others] == pytest.approx(np.sqrt(reduced.covariance.diagonal())[:-1], rel=1e-8)
    alike, unlike = w[0].copy(), w[0].copy()
    unlike[0, 3] = 1.0
    unlike[1] = 0.0  # no equation
    assert free.innovations(alike, y[0]).counted.all()
    seen = free.innovations(unlike, np.where([False, True, False], 0.0, y[0]))
    assert seen.counted[0].tolist() == [False, False, True]
    assert seen.squares[0, :2].tolist() == [0.0, 0.0]
    assert seen.total[0] == pytest.approx(seen.squares[0, 2], rel=1e-9)


def test_an_hour_without_equations_is_one_long_walk(engine):
    w, y, _ = equations()
    live = KalmanFilter(NAMES, NOISE, drift=DRIFT)
    live.update(w, y)
    before = live.covariance
    live.walk(3600.0)
    after = before + 3600.0 * np.diag(DRIFT**2)
    scale = np.sqrt(np.outer(after.diagonal(), after.diagonal()))
    assert live.covariance / scale == pytest.approx(after / scale, abs=1e-9)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"noise": [1.0, 0.0, 1.0]}, "noise"), ({"drift": -1.0}, "drift"), ({"prior": Information.empty(2)}, "prior")],
)
def test_what_cannot_be_is_refused(wrong, told):
    with pytest.raises(ParameterError, match=told):
        KalmanFilter(**{"names": NAMES, "noise": NOISE, **wrong})


def test_time_does_not_run_backwards():
    w, y, _ = equations()
    with pytest.raises(ParameterError, match="backwards"):
        KalmanFilter(NAMES, NOISE).update(w, y, -1.0)
