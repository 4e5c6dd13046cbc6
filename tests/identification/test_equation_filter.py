"""``filter:`` by words: Chebyshev and ``decimate`` of the papers beside Butterworth, against SciPy's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import signal

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.low_pass_filter import Butterworth, Chebyshev
from exciter.identification.equation_filter import EquationFilter
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares
from exciter.identification.identify_config import IdentifyConfig, judged_words
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Viscous
from exciter.robot import load
from exciter.settings import fill, written
from support.robots import smooth_motion

RATE = 1000.0
SPELLINGS = {  # filter: in a file → low-pass and factor at 1 kHz
    "decimate": ("decimate", Chebyshev(40.0, 8, 0.05), 10),
    "by a factor": ({"decimate": 5}, Chebyshev(80.0, 8, 0.05), 5),
    "of any band": ({"cutoff": 40, "kind": "chebyshev"}, Chebyshev(40.0, 8, 0.05), 10),
    "of any form": (
        {"cutoff": 30, "kind": "chebyshev", "order": 6, "ripple": 0.5, "factor": 1},
        Chebyshev(30.0, 6, 0.5),
        1,
    ),
    "butterworth": ({"cutoff": 30, "factor": 4}, Butterworth(30.0, 4), 4),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_filter_is_what_its_words_say(name):
    given, low_pass, factor = SPELLINGS[name]
    made = fill(EquationFilter, given, "filter")
    assert made.parallel.at(RATE) == (low_pass, factor)
    assert fill(EquationFilter, written(made), "filter") == made == EquationFilter.of(made.parallel)
    assert replace(made) == made


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("decimation", "filter is 'decimation'; give none, decimate"),
        ({"decimate": 5, "cutoff": 3}, "decimate says all"),
        ({"decimate": 0}, "factor is 0"),
        ({"cutoff": 10, "ripple": 0.1}, "Butterworth filter has none"),
        ({"cutoff": 10, "kind": "bessel"}, "kind is 'bessel'; allowed are butterworth, chebyshev"),
        ({"cutoff": 10, "kind": "chebyshev", "ripple": 4}, "ripple is 4"),
        ({"kind": "chebyshev"}, "has no cutoff"),
    ],
)
def test_what_is_no_filter_is_refused(given, message):
    with pytest.raises(ExciterError, match=message):
        fill(EquationFilter, given, "filter")


def _run(noise: float = 0.0) -> tuple[DynamicModel, Run]:
    model = DynamicModel(load("gautier-khalil"), (Viscous(),))
    motion = smooth_motion(model.robot, np.arange(9000) / RATE, 1)
    errors = noise * np.random.default_rng(1).standard_normal(motion.q.shape)
    return model, Run.at(motion, model.torque(motion) + errors, RATE)


@pytest.mark.parametrize("name", ["decimate", "by a factor", "of any form"])
def test_the_answer_is_that_of_scipy(name):
    """cheby1 forwards and backwards over both sides, one of so many kept, and plain least squares."""
    given, low_pass, factor = SPELLINGS[name]
    model, run = _run(noise=1.0)
    config = IdentifyConfig.of({"identify": {"filter": given, "estimator": "ols", "dead_zone": 0}}, "here")
    problem = config.problem(model, (run,))
    rows = Rows.join([rows for _, rows in problem.rows()])
    part = run.parts[0]
    sides = np.dstack([model.regressor(part.motion)[:, :, model.base.independent], part.torque])
    sos = signal.cheby1(low_pass.order, low_pass.ripple, low_pass.cutoff, fs=RATE, output="sos")
    kept = np.rint(rows.time * RATE).astype(int)
    assert (np.diff(kept) == factor).all()
    dense = signal.sosfiltfilt(sos, sides, axis=0, padlen=4000)[kept]
    assert_allclose(rows.sides, dense, atol=1e-3 * np.abs(dense).max())  # what edges may leave
    inner = slice(len(kept) // 3, -len(kept) // 3)
    assert_allclose(rows.sides[inner], dense[inner], atol=1e-9 * np.abs(dense).max())
    w, y = (side.reshape(-1, *side.shape[2:]) for side in (rows.w, rows.y))
    found = OrdinaryLeastSquares().estimate(problem)
    assert_allclose(found.values, np.linalg.lstsq(w, y)[0], rtol=1e-7)


def test_what_noise_is_left_follows_the_filter():
    """White noise of σ = 1 through it: σ of the residuals, and how many rows are independent."""
    model, run = _run(noise=1.0)
    for given in ("decimate", {"decimate": 25}, {"cutoff": 40, "kind": "chebyshev", "factor": 1}):
        config = IdentifyConfig.of({"identify": {"filter": given, "estimator": "ols", "dead_zone": 0}}, "here")
        problem, both = config.problem(model, (run,)), config.settings.filter.parallel
        low_pass, factor = both.at(RATE)
        band = low_pass.noise_bandwidth(RATE)
        taps = low_pass.zero_phase(signal.unit_impulse(8001, 4000), RATE)  # an even order passes a constant by −0.1 dB
        assert 2.0 * band / RATE == pytest.approx((taps**2).sum() / taps.sum() ** 2, rel=1e-3)
        found = OrdinaryLeastSquares().estimate(problem)
        assert_allclose(found.noise, np.sqrt(2.0 * band / RATE), rtol=0.15)
        worth = problem.compressed.independent.sum() / problem.compressed.rows.sum()
        assert worth == pytest.approx(min(1.0, 2.0 * band * factor / RATE), rel=1e-6)


def test_percentages_say_what_they_are_of():
    model, run = _run()
    config = IdentifyConfig.of({"identify": {"filter": {"decimate": 5}}}, "here")
    words = judged_words(config.problem(model, (run,)).formulation)
    assert "through a Chebyshev low-pass at 0.8 of the half rate that is left, one of 5 kept, order 8" in words
