"""Information: any order, any number of threads, sample by sample or larger than memory, it is one and the same."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.engine import NumbaEngine
from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.recording.own_log_format import write_recording
from exciter.experiment.recording.recording import About, Recording
from exciter.experiment.recording.recording_file import open_recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares, Sequential, WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information import sequential as bierman
from exciter.identification.information.compressed import Compressed, compress
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.information.sequential import LiveIdentification, SequentialEstimator
from exciter.identification.runs.run import Run, StreamedParts
from exciter.parameters.terms import Coulomb, Dahl, RotorInertia, Viscous
from exciter.robot import load
from support.robots import random_robot, smooth_motion, states
from support.scripts import benchmark

USUAL = (RotorInertia(), Viscous(), Coulomb())
NOISE = np.array([2.0, 0.5, 0.1])


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Two runs of a robot with three axes, torque with noise; folds=3."""
    model = DynamicModel(load("gautier-khalil"), USUAL)
    runs = []
    for seed, samples in ((1, 1500), (2, 700)):
        motion = smooth_motion(model.robot, np.arange(samples) * 0.01, seed)
        noise = NOISE * np.random.default_rng(seed).standard_normal((samples, 3))
        runs.append(Run.at(motion, model.torque(motion) + noise, 100.0))
    return Problem(model, tuple(runs), folds=3)


def labelled(problem: Problem, size: int = 200) -> list:
    """The problem's rows in small pieces."""
    return [
        (run, problem.runs[run].fold(piece.time, problem.folds), piece)
        for run, rows in problem.rows()
        for piece in (rows[k : k + size] for k in range(0, len(rows), size))
    ]


def compressed(problem: Problem, pieces: object, jobs: int = 1) -> Compressed:
    return compress(pieces, problem.names, problem.joints, len(problem.runs), problem.folds, jobs)


def stacked(problem: Problem, noise: np.ndarray = NOISE) -> tuple[np.ndarray, np.ndarray]:
    """W and y of all rows over their noise: the oracle."""
    pieces = [rows.equations(noise) for _, rows in problem.rows()]
    return np.concatenate([w for w, _ in pieces]), np.concatenate([y for _, y in pieces])


# -- square-root information -----------------------------------------------------------------------------------------


def test_information_adds_up_in_any_order():
    """Square-root information against NumPy's least squares, in pieces, merged either way round."""
    rng = np.random.default_rng(4)
    w, y = rng.standard_normal((60, 5)), rng.standard_normal(60)
    expected, residual, *_ = np.linalg.lstsq(w, y)
    parts = [Information.empty(5).add(w[k : k + 20], y[k : k + 20]) for k in (0, 20, 40)]
    for first, second, third in ((0, 1, 2), (2, 0, 1)):
        total = parts[first].merge(parts[second]).merge(parts[third])
        values, covariance = total.solve()
        assert_allclose(values, expected, rtol=1e-10)
        assert_allclose(covariance, np.linalg.inv(w.T @ w), rtol=1e-9)
        assert_allclose(total.residual, residual[0], rtol=1e-10)
        assert total.rows == 60
        other = rng.standard_normal(5)
        assert_allclose(total.squares(other), ((w @ other - y) ** 2).sum(), rtol=1e-12)


def test_experiments_combine_by_their_noise():
    """Two experiments of different accuracy, and what was known before, against the equations all at once."""
    rng = np.random.default_rng(5)
    true, sigmas = rng.standard_normal(4), (0.1, 3.0)
    w = [rng.standard_normal((30, 4)) for _ in sigmas]
    y = [a @ true + s * rng.standard_normal(30) for a, s in zip(w, sigmas, strict=True)]
    spread = rng.standard_normal((4, 4))
    known, covariance = true + 0.1, spread @ spread.T + np.eye(4)
    total = Information.of_estimate(known, covariance)
    assert_allclose(total.solve()[0], known, rtol=1e-10)
    assert_allclose(total.solve()[1], covariance, rtol=1e-9)
    for a, b, s in zip(w, y, sigmas, strict=True):
        total = total.merge(Information.empty(4).add(a, b).weight(s))
    inverse = np.linalg.inv(covariance)
    gram = inverse + sum(a.T @ a / s**2 for a, s in zip(w, sigmas, strict=True))
    right = inverse @ known + sum(a.T @ b / s**2 for a, b, s in zip(w, y, sigmas, strict=True))
    assert_allclose(total.solve()[0], np.linalg.solve(gram, right), rtol=1e-9)
    assert_allclose(total.gram(), gram, rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e6], ids=["alike", "units apart"])
def test_undetermined_parameters_are_named(scale: float):
    """Whatever the units: columns of lengths from 1e-6 to 1e6 are determined, dependent ones are not."""
    rng = np.random.default_rng(6)
    names, units = tuple("abcdef"), np.geomspace(1 / scale, scale, 6)
    good = rng.standard_normal((50, 6))

    def lost(w: np.ndarray) -> set[str]:
        information = Information.empty(6).add(w * units, np.ones(len(w)))
        return {names[k] for k in information.undetermined()}

    zero, rounding, twice, sum_of_three, two_pairs = (good.copy() for _ in range(5))
    zero[:, 2] = 0.0
    rounding[:, 2] = 1e-17 * rng.standard_normal(50) / units[2] / scale
    twice[:, 4] = -3.0 * twice[:, 1]
    sum_of_three[:, 5] = sum_of_three[:, 0] + sum_of_three[:, 3]
    two_pairs[:, [1, 3]] = two_pairs[:, [0, 2]]
    assert lost(good) == set()
    assert lost(zero) == lost(rounding) == {"c"}
    assert lost(twice) == {"b", "e"}
    assert lost(sum_of_three) == {"a", "d", "f"}
    assert lost(two_pairs) == {"a", "b", "c", "d"}
    assert lost(zero * 0.0) == set(names)
    assert lost(twice + 1e-8 * good[::-1]) == set()  # badly, but determined
    values, _ = Information.empty(6).add(good * units, good @ np.ones(6)).solve(names)
    assert_allclose(values * units, 1.0, rtol=1e-12)
    with pytest.raises(ParameterError, match="the rows do not determine all 6 parameters: b, e;"):
        Information.empty(6).add(twice * units, np.ones(50)).solve(names)
    with pytest.raises(ParameterError, match="4 rows do not determine all 6 parameters: "):
        Information.empty(6).add(good[:4] * units, np.ones(4)).solve(names)
    with pytest.raises(ParameterError, match=r"a0, .* a11 and 8 more;"):
        Information.empty(20).solve([f"a{k}" for k in range(20)])


def test_bad_information_is_refused():
    some = Information.empty(2).add(np.eye(2), np.ones(2))
    for w, y in ((np.eye(3), np.ones(3)), (np.eye(2), np.ones(3)), (np.eye(2), np.ones((2, 1))), (np.ones(2), 1.0)):
        with pytest.raises(ParameterError, match=r"give \(m, 2\) and \(m,\)"):
            some.add(w, y)
    for bad in (np.nan, np.inf):
        with pytest.raises(ParameterError, match="NaN or infinity"):
            some.add(np.full((2, 2), bad), np.ones(2))
        with pytest.raises(ParameterError, match="NaN or infinity"):
            replace(some, r=np.full((2, 2), bad)).solve()
        with pytest.raises(ParameterError, match="finite numbers"):
            Information.of_estimate(np.ones(2), np.full((2, 2), bad))
    for sigma in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="standard deviation"):
            some.weight(sigma)
    with pytest.raises(ParameterError, match="not the same"):
        some.merge(Information.empty(3))
    with pytest.raises(ParameterError, match="covariance of shape"):
        Information.of_estimate(np.ones(2), np.eye(3))
    with pytest.raises(ParameterError, match="variances above zero"):
        Information.of_estimate(np.ones(2), np.diag([1.0, 0.0]))
    with pytest.raises(ParameterError, match="not positive definite"):
        Information.of_estimate(np.ones(2), np.ones((2, 2)))
    assert replace(some, r=np.full((2, 2), np.nan)).undetermined() == (0, 1)


# -- compression -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_pieces_compress_in_any_order_and_by_any_number_of_threads(problem: Problem, jobs: int):
    """Against W as a whole: what is estimated, its covariance, what is left; the same for every group of rows."""
    w, y = stacked(problem)
    expected, residual, *_ = np.linalg.lstsq(w, y)
    reference = problem.compressed
    for order in (np.arange, np.random.default_rng(7).permutation):
        pieces = labelled(problem)
        found = compressed(problem, [pieces[k] for k in order(len(pieces))], jobs)
        information = found.information(NOISE)
        values, covariance = information.solve(problem.names)
        assert_allclose(values, expected, rtol=1e-9)
        assert_allclose(covariance, np.linalg.inv(w.T @ w), rtol=1e-9, atol=1e-12 * np.abs(covariance).max())
        assert_allclose(information.residual, residual[0], rtol=1e-10)
        assert_allclose(found.squares(expected), reference.squares(expected), rtol=1e-9)
        assert_allclose(found.factors, np.triu(found.factors))
        for name in ("rows", "independent", "run", "fold"):
            assert_allclose(getattr(found, name), getattr(reference, name))
        per_group = np.random.default_rng(8).uniform(0.5, 2.0, found.rows.shape)
        w_of = reference.factors[..., :-1] / per_group[..., None, None]
        expected_gram = np.einsum("gjrp,gjrq->pq", w_of, w_of)
        assert_allclose(found.information(per_group).gram(), expected_gram, rtol=1e-9, atol=1e-9)
    assert_allclose(replace(problem, jobs=jobs).compressed.information(NOISE).gram(), w.T @ w, rtol=1e-8, atol=1e-9)


def test_parts_compressed_elsewhere_merge(problem: Problem):
    """Runs compressed by themselves, put together either way round, say what all of them say."""
    alone = [replace(problem, runs=(run,)).compressed for run in problem.runs]
    expected = problem.measured.information(NOISE).solve()
    for first, second in (alone, alone[::-1]):
        values, covariance = first.merge(second).information(NOISE).solve()
        assert_allclose(values, expected[0], rtol=1e-9)
        assert_allclose(covariance, expected[1], rtol=1e-9, atol=1e-12 * np.abs(covariance).max())


def test_columns_may_appear_late(problem: Problem):
    """A robot that rests first: columns of velocities and accelerations are zero until it moves."""
    model = problem.model
    moving = smooth_motion(model.robot, np.arange(400) * 0.01, 3)
    fade = np.where(np.arange(400) < 200, 0.0, 1.0)[:, None]
    motion = replace(moving, qd=fade * moving.qd, qdd=fade * moving.qdd)
    late = replace(problem, runs=(Run.at(motion, model.torque(motion), 100.0),), folds=1)
    w, _ = stacked(late, np.ones(3))
    for jobs in (1, 2):
        found = compressed(late, labelled(late, 100), jobs)
        assert_allclose(found.information().gram(), w.T @ w, rtol=1e-10, atol=1e-10 * np.abs(w.T @ w).max())


def test_exact_data_gives_exact_parameters():
    """Seven axes: parameters to 1e-10, although the rows of a joint alone do not determine its columns."""
    model = DynamicModel(load("panda"), USUAL)
    motion = smooth_motion(model.robot, np.arange(4000) * 0.01, 1)
    exact = Problem(model, (Run.at(motion, model.torque(motion), 100.0),), jobs=2)
    true = model.base.base_values(model.nominal)
    found = OrdinaryLeastSquares().estimate(exact)
    assert np.abs(found.values - true).max() < 1e-10 * np.abs(true).max()
    assert (found.noise < 1e-11).all()
    singular = np.linalg.svd(exact.compressed.factors[0, 0, :-1, :-1], compute_uv=False)
    assert (singular < 1e-12 * singular[0]).any()


def test_an_error_in_a_thread_is_the_callers(problem: Problem):
    def broken() -> Iterator:
        yield from labelled(problem)[:5]
        raise RecordingError("the disk is gone")

    for jobs in (1, 2):
        with pytest.raises(RecordingError, match="the disk is gone"):
            compressed(problem, broken(), jobs)
        with pytest.raises(ParameterError, match="no equations"):
            compressed(problem, [], jobs)
        cut = [(run, fold, replace(rows, torque_bandwidth=10.0)) for run, fold, rows in labelled(problem)]
        with pytest.raises(RecordingError, match="analogue filter"):
            compressed(problem, cut, jobs)
    with pytest.raises(ParameterError, match="0 jobs"):
        compressed(problem, [], 0)


@pytest.mark.parametrize("engine", [NumpyEngine(), NumbaEngine()], ids=lambda e: e.name)
def test_wanted_columns_come_in_any_order_and_pieces(engine: NumpyEngine):
    """Of a tree with joints that slide, and friction that remembers; against the whole regressor."""
    for terms in (USUAL, (Viscous(), Coulomb(Dahl(0.05)))):
        model = DynamicModel(random_robot(2, 5, tree=True), terms, engine)
        motion, wanted = states(model.robot, 150), np.random.default_rng(9).permutation(len(model.standard))[:20]
        whole = model.regressor(motion)
        found = np.concatenate([phi for _, phi in model.regressor_chunks(motion, 64, model.layout(wanted), room=1)])
        assert_allclose(found[:, :, :-1], whole[:, :, wanted], rtol=1e-9, atol=1e-9)
        assert not found[:, :, -1].any()
        assert_allclose(np.concatenate([phi for _, phi in model.regressor_chunks(motion, 64)]), whole, atol=1e-9)


# -- one instant after the other -------------------------------------------------------------------------------------


@pytest.fixture(params=[NumpyEngine(), NumbaEngine()], ids=lambda e: e.name)
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Reflections by NumPy, and compiled."""
    monkeypatch.setattr(bierman, "default_engine", lambda: request.param)
    return request.param.name


def instants(samples: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """w (N, 3, 6) with zeros as a robot's has, y (N, 3) and σ (3,)."""
    rng = np.random.default_rng(10)
    w = rng.standard_normal((samples, 3, 6)) * np.tri(3, 6, 3)[::-1, ::-1]
    w[:5, :, 3] = 0.0
    return w, w @ np.arange(1.0, 7.0) + NOISE * rng.standard_normal((samples, 3)), NOISE


def least_squares(w: np.ndarray, y: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By normal equations; sigma (N, 3)."""
    flat, right = (w / sigma[..., None]).reshape(-1, w.shape[2]), (y / sigma).ravel()
    covariance = np.linalg.inv(flat.T @ flat)
    return covariance @ flat.T @ right, covariance


def test_every_instant_ends_in_least_squares(either: str):
    w, y, sigma = instants()
    live = SequentialEstimator(tuple("abcdef"), sigma)
    assert live._absorb is bierman._absorb or either == "numba"
    with pytest.raises(ParameterError, match="0 rows do not determine"):
        _ = live.values
    for k in range(60):
        live.update(w[k], y[k])
        if k >= 10:
            values, covariance = least_squares(w[: k + 1], y[: k + 1], np.tile(sigma, (k + 1, 1)))
            assert_allclose(live.values, values, rtol=1e-9)
            assert_allclose(live.covariance, covariance, rtol=1e-9, atol=1e-12)
    assert live.information.rows == 180
    assert_allclose(live.information.residual, (((y - w @ values) / sigma) ** 2).sum(), rtol=1e-10)
    at_once = SequentialEstimator(tuple("abcdef"), sigma)
    at_once.update(w, y)
    assert_allclose(at_once.values, live.values, rtol=1e-12)


def test_what_was_known_before_counts(either: str):
    """The second half after the information of the first half is the whole."""
    w, y, sigma = instants()
    first = SequentialEstimator(tuple("abcdef"), sigma)
    first.update(w[:30], y[:30])
    second = SequentialEstimator(tuple("abcdef"), sigma, prior=first.information)
    second.update(w[30:], y[30:])
    values, covariance = least_squares(w, y, np.tile(sigma, (60, 1)))
    assert_allclose(second.values, values, rtol=1e-9)
    assert_allclose(second.covariance, covariance, rtol=1e-9, atol=1e-12)
    assert second.information.rows == 180


def test_the_past_is_forgotten(either: str):
    """Against least squares with weights that fade; and a parameter that jumps is followed."""
    w, y, sigma = instants()
    y = y + np.where(np.arange(60) < 30, 0.0, 1.0)[:, None] * 5.0 * w[:, :, 2]
    live, stubborn = (SequentialEstimator(tuple("abcdef"), sigma, forgetting=f) for f in (0.8, 1.0))
    live.update(w[:20], y[:20])
    for k in range(20, 60):
        live.update(w[k], y[k])
    stubborn.update(w, y)
    faded = sigma / np.sqrt(0.8 ** np.arange(59, -1, -1.0))[:, None]
    values, covariance = least_squares(w, y, faded)
    assert_allclose(live.values, values, rtol=1e-9)
    assert_allclose(live.covariance, covariance, rtol=1e-9, atol=1e-12)
    assert live.information.rows == 15  # 3 / (1 − 0.8)
    assert abs(live.values[2] - 8.0) < 0.3 < abs(stubborn.values[2] - 8.0)


def test_what_is_not_excited_is_forgotten_and_named(either: str):
    """However long: what is left must not become numbers that are slow to calculate with."""
    w, y, sigma = instants(300)
    w[20:, :, 4] = 0.0
    live = SequentialEstimator(tuple("abcdef"), sigma, forgetting=0.01 if either == "numba" else 0.5)
    live.update(w, y)
    with pytest.raises(ParameterError, match=r"do not determine all 6 parameters: .*\be\b"):
        _ = live.values
    left = np.abs(live._factor[live._factor != 0.0])
    assert left.min() > 1e-210


def test_sequential_is_weighted_least_squares(problem: Problem):
    """Values and covariance, with σ given and with σ from the residuals, on rows as measured and filtered."""
    filtered = replace(problem, formulation=InverseDynamic(ParallelFilter(factor=2)))
    for each in (problem, filtered):
        for noise in ((2.0, 0.5, 0.1), None):
            expected = WeightedLeastSquares(noise).estimate(each)
            found = Sequential(noise).estimate(each)
            assert_allclose(found.values, expected.values, rtol=1e-9, atol=1e-10 * np.abs(expected.values).max())
            scale = np.outer(expected.std, expected.std)
            assert_allclose(found.covariance / scale, expected.covariance / scale, atol=1e-9)
            assert found.assumptions == expected.assumptions
    with pytest.raises(ParameterError, match="give one positive number, or 3"):
        Sequential((1.0, 2.0)).estimate(problem)


def test_samples_as_they_come(problem: Problem):
    """From q, q̇, q̈ and torque to the parameters of batch least squares."""
    live = LiveIdentification(problem.model, NOISE)
    for run in problem.runs:
        for piece in run.parts:
            m = piece.motion
            for k in range(100):
                live.update(m.q[k], m.qd[k], m.qdd[k], piece.torque[k])
            live.update(m.q[100:], m.qd[100:], m.qdd[100:], piece.torque[100:])
    expected = WeightedLeastSquares(tuple(NOISE)).estimate(replace(problem, balanced=False))
    assert_allclose(live.estimator.values, expected.values, rtol=1e-9, atol=1e-10 * np.abs(expected.values).max())
    assert_allclose(np.sqrt(live.estimator.covariance.diagonal()), expected.std, rtol=1e-9)


def test_bad_samples_are_refused(problem: Problem):
    w, y, sigma = instants()
    live = SequentialEstimator(tuple("abcdef"), sigma)
    live.update(w, y)
    before = live.values
    for bad_w, bad_y in ((w[0] * np.nan, y[0]), (w[0], y[0] * np.inf)):
        with pytest.raises(ParameterError, match="NaN or infinity"):
            live.update(bad_w, bad_y)
    for bad_w, bad_y in ((w[0, :2], y[0, :2]), (w[0], y[1:3]), (w[0][:, :5], y[0]), (w[None], y[None])):
        with pytest.raises(ParameterError, match=r"give \(3, 6\) and \(3,\)"):
            live.update(bad_w, bad_y)
    assert_allclose(live.values, before, rtol=0.0)
    for noise in (0.0, [1.0, -1.0], np.nan, [[1.0]]):
        with pytest.raises(ParameterError, match="noise"):
            SequentialEstimator(tuple("ab"), noise)
    for forgetting in (0.0, 1.1, np.nan):
        with pytest.raises(ParameterError, match="forgetting"):
            SequentialEstimator(tuple("ab"), 1.0, forgetting=forgetting)
    with pytest.raises(ParameterError, match="prior is of 6"):
        SequentialEstimator(tuple("ab"), 1.0, prior=live.information)
    with pytest.raises(ParameterError, match="Dahl"):
        LiveIdentification(DynamicModel(load("gautier-khalil"), (Coulomb(Dahl(0.05)),)), 1.0)


# -- logs larger than memory -----------------------------------------------------------------------------------------


def test_a_log_in_pieces_is_the_log(problem: Problem, tmp_path):
    """Joints in another order, a gap, pieces of a few hundred samples; against the recording read at once."""
    model, route = problem.model, FilteredDifferences(cutoff=20.0, rate=200.0)
    time = np.arange(4000) / 200.0
    time[2500:] += 3.0
    motion = smooth_motion(model.robot, time, 4)
    order = [2, 0, 1]
    names = tuple(model.robot.joint_names[k] for k in order)
    torque = model.torque(motion) + 0.01 * np.random.default_rng(11).standard_normal(motion.q.shape)
    about = About(period=5.0)
    recording = Recording(names, time, motion.q[:, order], torque=torque[:, order], about=about)
    write_recording(recording, tmp_path / "log.npz")
    file = open_recording(tmp_path / "log.npz")
    whole = Run.of(recording.arranged(model.robot), route)
    parts = StreamedParts(lambda: (chunk.arranged(model.robot) for chunk in file.chunks(300)), route)
    pieces = Run(parts, "log.npz", whole.span, about.period)
    assert sum(1 for _ in pieces.parts) > 3
    assert sum(map(len, pieces.parts)) == sum(map(len, whole.parts))
    first, *_, last = pieces.parts
    assert (first.motion.time[0], last.motion.time[-1]) == whole.span
    found, expected = (replace(problem, runs=(run,)).compressed for run in (pieces, whole))
    assert_allclose(found.rows, expected.rows)
    values, covariance = expected.information().solve()
    assert_allclose(found.information().solve()[0], values, rtol=1e-9, atol=1e-9 * np.abs(values).max())
    assert_allclose(found.information().solve()[1], covariance, rtol=1e-7, atol=1e-9 * np.abs(covariance).max())
    assert_allclose(found.squares(values), expected.squares(values), rtol=1e-6)


# -- the benchmark ---------------------------------------------------------------------------------------------------


def test_the_benchmark_compares_the_same_thing(capsys):
    script = benchmark("identify")
    found = script.measure([500, 1500], 1500, run=lambda kind, samples: script.WORK[kind](samples))
    assert found["difference"] < 1e-9
    printed = capsys.readouterr().out
    assert "EXTRAPOLATED" not in printed
    assert "both really run" in printed
    assert "updates/s" in printed
