"""Rackl et al. 2012, Figure 4 as a test: it says yes to the identified model, and no where it must."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from exciter.validation.prediction import Prediction, predictions
from exciter_papers.paper import Verdict
from exciter_papers.rackl import experiment, occurrence, set_up

pytestmark = pytest.mark.papers


def test_error_occurrences_by_brute_force():
    """The chance by all pairs, and its distribution by exchanging blocks one by one."""
    rng = np.random.default_rng(1)
    own, cad = rng.standard_normal(60), 1.3 * rng.standard_normal(60)
    found = occurrence.occurrence(1, own, cad, 10)
    assert found.closer == pytest.approx((np.abs(own)[:, None] < np.abs(cad)).mean())
    chances = []
    for flips in range(2**6):
        swap = np.repeat([bool(flips >> k & 1) for k in range(6)], 10)
        first, second = np.abs(np.where(swap, cad, own)), np.abs(np.where(swap, own, cad))
        chances.append((first[:, None] < second).mean())
    assert found.better == pytest.approx(np.mean(np.array(chances) >= found.closer - 1e-9))
    assert found.worse == pytest.approx(np.mean(np.array(chances) <= found.closer + 1e-9))


def test_the_test_of_figure_4_says_no_to_a_wrong_model():
    """On the log of one robot: its own identified model, that of another robot, and CAD in the place of both."""
    model = set_up.paper_model()
    motions = experiment.Motions.of(model)
    one, other = (experiment.synthetic_experiment(model, motions, seed) for seed in (1, 2))
    problem = experiment.judged(one)

    def judged(estimate, joints=(1, 3)):
        prediction = Prediction.join(list(predictions(problem, estimate)))
        return occurrence.occurrence_finding("better", occurrence.occurrences(prediction, joints)).verdict

    assert judged(one.two_steps) is Verdict.MET
    assert judged(other.two_steps) is not Verdict.MET
    cad = replace(one.two_steps, values=model.base.base_values(model.nominal))
    assert judged(cad) is Verdict.UNDECIDED  # neither better nor worse than itself
    worse = replace(one.two_steps, values=one.truth + 3.0 * (cad.values - one.truth))
    assert judged(worse) is Verdict.DIFFERS


def test_the_test_of_figure_4_has_the_stated_rate_of_false_alarms():
    """Errors that last, of two models that are equally good."""
    rng = np.random.default_rng(0)
    white = rng.standard_normal((2, 1000, 1000))
    lasting = np.cumsum(white, axis=2)
    lasting = lasting[:, :, 50:] - lasting[:, :, :-50]  # errors of half a second
    alarms = [occurrence.occurrence(0, own, cad, 100).better < 0.01 for own, cad in zip(*lasting, strict=True)]
    assert stats.binomtest(sum(alarms), len(alarms), 0.01, alternative="greater").pvalue > 0.001
    assert occurrence.sure([0.004, 0.006, 0.5]) == [False, False, False]
    assert occurrence.sure([0.006, 0.003, 0.5]) == [False, True, False]
    assert occurrence.sure([0.004, 0.001, 0.5]) == [True, True, False]


def test_statements_over_robots_say_no_where_they_must():
    clear = np.zeros((200, 2), dtype=bool)
    clear[:150] = True
    assert occurrence.smaller_finding("s", clear, "why").verdict is Verdict.MET
    assert occurrence.smaller_finding("s", ~clear, "why").verdict is Verdict.DIFFERS
    clear[:, 1] = np.arange(200) < 105
    assert occurrence.smaller_finding("s", clear, "why").verdict is Verdict.UNDECIDED
    assert occurrence.equal_finding("e", clear[:, 0], "why").verdict is Verdict.DIFFERS
    assert occurrence.equal_finding("e", ~clear[:, 0], "why").verdict is Verdict.MET
    assert occurrence.equal_finding("e", clear[:, 1], "why").verdict is Verdict.UNDECIDED
