"""Formulations: without noise all say the same, in pieces as whole; with noise they differ as the chapter says."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import signal
from scipy.stats import chi2

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.excitation.criteria.observation_rows import DesignColumns, EnergyRows
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.low_pass_filter import Chebyshev, SecondOrder
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from exciter.identification.formulations.dynamic import FilteredDynamic, InverseDynamic
from exciter.identification.formulations.energy import Energy, Power
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.gain_free import GainFree
from exciter.identification.information.compressed import one_thread
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import with_correlated_errors
from exciter.parameters.terms import Coulomb, Dahl, Offset, RotorInertia, Spring, Viscous
from exciter.robot import Motion, load
from support.paths import ROBOTS
from support.robots import smooth_motion

pytestmark = pytest.mark.slow

SLOW = ParallelFilter(SecondOrder.of(30.0))
EXACT = {
    "inverse": InverseDynamic(),
    "inverse filtered": InverseDynamic(ParallelFilter()),
    "gain-free": GainFree(),
    "gain-free filtered": GainFree(ParallelFilter()),
}
NUMERIC = {
    "filtered": FilteredDynamic(),
    "filtered a": FilteredDynamic(SLOW),
    "energy": Energy(),
    "energy overlapping": Energy(0.2, 0.03, even=False),
    "power": Power(),
    "power a": Power(SLOW, even=False),
}
ALL = EXACT | NUMERIC
SPRUNG = (RotorInertia(), Viscous(), Coulomb(), Spring("joint_2", 0.5, 0.2, offset=0.4, free_length=0.3))
MODELS = {
    "turning": lambda: DynamicModel(load("gautier-khalil"), (RotorInertia(), Viscous(), Coulomb(), Offset())),
    "sliding": lambda: DynamicModel(
        load(ROBOTS / "gantry.urdf").with_gravity([3.0, -2.0, -8.0]), (Viscous(), Coulomb())
    ),
    "spring": lambda: DynamicModel(load("kuka-ir361").with_gravity([2.0, 1.0, -9.0]), SPRUNG),
}
model_of = cache(lambda name: MODELS[name]())


def truth(model: DynamicModel) -> np.ndarray:
    """The description's χ; joint terms of order one where it knows nothing."""
    own = model.nominal.copy()
    unknown = np.arange(len(own)) >= model.inertial_size
    own[unknown] += np.random.default_rng(3).uniform(0.5, 3.0, len(own))[unknown]
    return own


def exact(model: DynamicModel, rate: float, duration: float = 8.0) -> Processed:
    motion = smooth_motion(model.robot, np.arange(round(duration * rate)) / rate, seed=5)
    return Processed(motion, model.torque(motion, truth(model)), rate)


def error(model: DynamicModel, formulation: Formulation, *parts: Processed) -> float:
    found = WeightedLeastSquares().estimate(Problem(model, (Run(parts),), formulation))
    base = formulation.base(model)  # of equations free of gains: the same of every joint, here with gains of one
    true = base.base_values(np.tile(truth(model), len(base.standard) // len(model.standard)))
    return float(np.linalg.norm(found.values - true) / np.linalg.norm(true))


def rows_of(model: DynamicModel, formulation: Formulation, pieces: list[Processed]) -> Rows:
    parts = list(formulation.rows(model, pieces, formulation.base(model).independent))
    assert all(part.joints == formulation.equations(model) for part in parts)
    return Rows.join(parts)


def sticking(model: DynamicModel, zone: float) -> Processed:
    """Exact but where a joint is slower than ``zone``: there dry friction is anything up to its size."""
    part = exact(model, 500.0, 20.0)
    speed, rng = part.motion.qd, np.random.default_rng(8)
    friction = dict(zip(model.standard, truth(model), strict=True))
    size = np.array([friction[f"Fs{j + 1}"] for j in range(model.n)])
    held = rng.uniform(-1.0, 1.0, speed.shape) - np.sign(speed)
    return replace(part, torque=part.torque + np.where(np.abs(speed) < zone, size * held, 0.0))


# -- without noise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", MODELS)
@pytest.mark.parametrize("name", ALL)
def test_all_give_the_same_parameters(name: str, robot: str) -> None:
    """Inverse dynamic to rounding; the others to 5·10⁻⁵ are asked for, their stencils leave far less at 1 kHz."""
    model = model_of(robot)
    assert error(model, ALL[name], exact(model, 1000.0)) < (1e-10 if name in EXACT else 1e-7)


@pytest.mark.parametrize(("formulation", "order"), [(FilteredDynamic(SLOW), 6), (Power(SLOW), 6), (Energy(0.2), 4)])
def test_errors_fall_with_the_rate_at_their_order(formulation: Formulation, order: int) -> None:
    """Six for a derivative over seven samples, four for the integral of cubics."""
    model = model_of("turning")
    slow, fast = (error(model, formulation, exact(model, rate, 20.0)) for rate in (40.0, 80.0))
    assert slow < 1e-3
    assert 2.0 ** (order - 1) < slow / fast < 2.0 ** (order + 1)


@pytest.mark.parametrize("name", NUMERIC)
def test_accelerations_are_not_used(name: str) -> None:
    model = model_of("spring")
    part = exact(model, 200.0)
    m = part.motion
    other = replace(part, motion=Motion(m.time, m.q, m.qd, np.random.default_rng(0).standard_normal(m.q.shape)))
    a, b = (rows_of(model, NUMERIC[name], [piece]) for piece in (part, other))
    assert_allclose(a.sides, b.sides, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_pieces_give_the_rows_of_the_whole(name: str) -> None:
    """Cut anywhere, into single samples too; a gap starts anew, so that both sides of it are as if alone."""
    model = model_of("sliding")
    part = exact(model, 250.0, 20.0)
    cuts = [0, 1, 2, 3, 5, 60, 61, 2300, 2301, 4990, len(part)]
    pieces = [part[a:b] for a, b in pairwise(cuts)]
    whole, cut = (rows_of(model, ALL[name], given) for given in ([part], pieces))
    assert_allclose(whole.time, cut.time, rtol=0, atol=1e-12)
    assert_allclose(whole.sides, cut.sides, rtol=0, atol=1e-10 * np.abs(whole.sides).max())
    assert (whole.rate, whole.bandwidth) == (cut.rate, cut.bandwidth)
    before, after = part[:2100], part[2200:]
    apart = [rows_of(model, ALL[name], [half]) for half in (before, after)]
    gap = rows_of(model, ALL[name], [before[:700], before[700:], after])
    assert_allclose(gap.time, np.concatenate([half.time for half in apart]), rtol=0, atol=1e-12)
    both = np.concatenate([half.sides for half in apart])
    assert_allclose(gap.sides, both, rtol=0, atol=1e-10 * np.abs(both).max())
    assert not ((gap.time > before.motion.time[-1]) & (gap.time < after.motion.time[0])).any()


@pytest.mark.parametrize("both", [None, ParallelFilter()])
def test_rest_says_nothing(both: ParallelFilter | None) -> None:
    """Whatever holds a joint at rest, equations without rest are exact, and filtered they stay so."""
    model = model_of("turning")
    part = sticking(model, 0.1)
    assert error(model, InverseDynamic(both), part) > 1e-3
    for zone in (0.1, (0.1, 0.2, 0.15), {"joint_1": 0.1, "joint_2": 0.1, "joint_3": 0.1}):
        assert error(model, InverseDynamic(both, zone), part) < 1e-10
    assert error(model, InverseDynamic(both, (0.1, 0.1, 0.0)), part) > 1e-6


@pytest.mark.parametrize("interval", [0.05, 0.2, 0.2034])
def test_a_design_for_the_energy_model_counts_on_the_rows_that_are_identified_from(interval: float) -> None:
    """The same interval [s] means the same W; what friction takes is summed by a finer rule in the identification."""
    model, time = model_of("turning"), np.arange(0.0, 4.0, 0.01)
    motion = smooth_motion(model.robot, time)
    piece = Processed(motion, model.torque(motion), 100.0)
    columns = model.base.independent
    found = np.concatenate([rows.w[:, 0] for rows in Energy(interval, even=False).rows(model, [piece], columns)])
    design = EnergyRows(interval).rows(model, motion[1:-1], DesignColumns.of(model), np.ones(model.n)).w
    assert len(found) == len(design) == 397 // round(100 * interval)
    stored = ~np.array([name.startswith("F") or name.startswith("O") for name in model.base.names])
    scale = np.abs(design).max(axis=0)
    assert (np.abs(found - design)[:, stored] < 1e-12 * scale[stored]).all()
    assert (np.abs(found - design) < 2e-3 * scale).all()


def test_rest_does_not_make_errors_look_small() -> None:
    """Joints that rest for half of the time: intervals still cover, as rows that are not there are not counted."""
    model = model_of("turning")
    part = exact(model, 100.0, 20.0)
    zone = tuple(np.quantile(np.abs(part.motion.qd), 0.5, axis=0))
    problem = Problem(model, (Run((part,)),), InverseDynamic(ParallelFilter(Chebyshev(10.0)), zone))
    assert_allclose(problem.compressed.rows.sum(axis=0), 0.5 * sum(len(r) for _, r in problem.rows()), rtol=0.05)
    scale, true, rng = part.torque.std(axis=0), model.base.base_values(truth(model)), np.random.default_rng(1)
    errors = []
    with one_thread():
        for _ in range(30):
            noisy = replace(part, torque=part.torque + 0.05 * scale * rng.standard_normal(part.torque.shape))
            drawn = replace(problem, runs=(Run((noisy,)),))
            found = with_correlated_errors(drawn, WeightedLeastSquares().estimate(drawn))
            errors.append((found.values - true) / found.std)
    assert 0.9 < np.sqrt(np.mean(np.square(errors))) < 1.12


def test_a_run_without_equations_of_a_joint_leaves_it_to_the_others() -> None:
    model = model_of("turning")
    part = exact(model, 100.0, 10.0)
    q, qd, qdd = (np.array(values) for values in (part.motion.q, part.motion.qd, part.motion.qdd))
    q[:, 1], qd[:, 1], qdd[:, 1] = 0.3, 0.0, 0.0
    motion = Motion(part.motion.time, q, qd, qdd)
    still = Processed(
        motion, model.torque(motion, truth(model)) + np.array([0.0, 3.0, 0.0]), 100.0
    )  # held by dry friction
    both = Problem(model, (Run((part,)), Run((still,), "still")), InverseDynamic(None, 0.01))
    found = WeightedLeastSquares().estimate(both)
    assert_allclose(found.values, model.base.base_values(truth(model)), rtol=1e-6, atol=1e-6)
    with pytest.raises(RecordingError, match="'joint_2' rests throughout: it never leaves"):
        WeightedLeastSquares().estimate(replace(both, runs=both.runs[1:]))
    off = replace(part, torque=part.torque * [1.0, 0.0, 1.0])
    with pytest.raises(RecordingError, match="the torque of 'joint_2' is zero throughout still"):
        WeightedLeastSquares().estimate(replace(both, runs=(both.runs[0], Run((off,), "still"))))


def test_only_joints_that_slide_have_a_dead_zone() -> None:
    robot = load("gautier-khalil")
    for terms, dead in (((Viscous(),), 0.0), ((Coulomb(Dahl(1e-3)),), 0.0), ((Coulomb(joints=("joint_2",)),), 0.5)):
        assert InverseDynamic(None, 0.5).zone(DynamicModel(robot, terms)).tolist() == [0.0, dead, 0.0]
    for wrong in (-1.0, float("nan"), (0.1, 0.1)):
        with pytest.raises(ParameterError):
            InverseDynamic(None, wrong).zone(DynamicModel(robot, (Coulomb(),)))


def test_friction_that_remembers_sees_the_whole_motion() -> None:
    """Dahl friction over more samples than are worked on at once, also where the motion comes in pieces."""
    model = DynamicModel(load("gautier-khalil"), (Coulomb(Dahl(0.05)),))
    part = exact(model, 500.0, 10.0)
    for formulation in NUMERIC.values():
        assert error(model, formulation, part) < 1e-6
        whole, cut = rows_of(model, formulation, [part]), rows_of(model, formulation, [part[:900], part[900:]])
        assert_allclose(cut.sides, whole.sides, rtol=1e-9, atol=1e-9 * np.abs(whole.sides).max())


def test_second_order_filter_is_that_of_the_chapter() -> None:
    """Gain a²/(ω² + a²) of [12.29]; and the causal F(s), s F(s), discretised by Tustin's rule, agree on parameters."""
    a, rate = 20.0, 1000.0
    low_pass = SecondOrder.of(a)
    f = np.linspace(0.1, 20.0, 40)
    gain = np.abs(signal.freqz_sos(low_pass.sections(rate), worN=f, fs=rate)[1]) ** 2
    assert_allclose(gain, a**2 / ((2 * np.pi * f) ** 2 + a**2), rtol=5e-3)
    model = model_of("turning")
    part, columns = exact(model, rate), model.base.independent
    b1, b2 = (b[:, :, columns] for b in model.momentum_rows(part.motion))
    plain, derived = (signal.bilinear(top, [1.0, 2 * a, a * a], rate) for top in ([a * a], [a * a, 0.0]))
    w = signal.lfilter(*derived, b1, axis=0) + signal.lfilter(*plain, b2, axis=0)
    y = signal.lfilter(*plain, part.torque, axis=0)
    keep = slice(2000, None)  # s F(s) of the first sample's momentum fades
    causal = np.linalg.lstsq(w[keep].reshape(-1, len(columns)), y[keep].ravel())[0]
    true = model.base.base_values(truth(model))
    assert np.linalg.norm(causal - true) < 5e-5 * np.linalg.norm(true)
    assert error(model, FilteredDynamic(ParallelFilter(low_pass)), part) < 1e-9


# -- with noise: the chapter's claims ----------------------------------------------------------------------------------


@cache
def chapter() -> tuple[DynamicModel, np.ndarray, Motion]:
    """The set-up of the figures: the robot with X of its Table 6, friction Fc = (3, 4, 2), Fv = (1.5, 2, 1)."""
    model = DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb()))
    friction = {"Fv1": 1.5, "Fv2": 2.0, "Fv3": 1.0, "Fs1": 3.0, "Fs2": 4.0, "Fs3": 2.0}
    chi = np.array([friction.get(name, x) for name, x in zip(model.standard, model.nominal, strict=True)])
    delta = 0.4 * np.random.default_rng(7).standard_normal((3, 11))
    return model, chi, motion_of(Fourier(10.0, 5), delta, np.arange(20_000) / 1000.0)


def test_accuracy_with_noise_is_ordered_as_the_chapter_says() -> None:
    """2·10⁻⁴ rad and 2 % of torque, 10 Hz: filtered = dynamic, energy and power many times worse; evened rows are
    better, but one equation per instant stays one."""
    model, chi, motion = chapter()
    true, torque = model.base.base_values(chi), model.torque(motion, chi)
    kinds = (InverseDynamic(ParallelFilter()), FilteredDynamic(), Power(even=False), Energy(even=False), Energy())
    errors, between = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q = motion.q + 2e-4 * rng.standard_normal(motion.q.shape)
        noisy = torque + 0.02 * np.abs(torque).max(axis=0) * rng.standard_normal(torque.shape)
        part = FilteredDifferences(10.0).apply(Recording(model.robot.joint_names, motion.time, q, torque=noisy))
        found = [WeightedLeastSquares().estimate(Problem(model, (Run((part,)),), kind)).values for kind in kinds]
        errors.append([np.linalg.norm(values - true) / np.linalg.norm(true) for values in found])
        between.append(np.linalg.norm(found[0] - found[1]) / np.linalg.norm(true))
    dynamic, filtered, power, energy, evened = np.sqrt(np.mean(np.square(errors), axis=0))
    assert max(between) < 1e-3
    assert abs(filtered / dynamic - 1.0) < 0.02
    assert dynamic < 0.006
    assert 4.0 < power / dynamic < 20.0
    assert 4.0 < energy / dynamic < 20.0
    assert 1.5 < evened / dynamic < energy / dynamic


@pytest.mark.parametrize(("a", "least"), [(10.0, 0.25), (20.0, 0.12), (40.0, 0.05)])
def test_filtering_one_side_only_is_biased(a: float, least: float) -> None:
    """F(s) = a²/(s + a)² on Y alone, by hand: tens of per cent without any noise; on both sides nothing."""
    model, chi, motion = chapter()
    columns, true = model.base.independent, model.base.base_values(chi)
    w, y = model.regressor(motion)[:, :, columns], model.torque(motion, chi)
    plain = signal.bilinear([a * a], [1.0, 2 * a, a * a], 1000.0)
    late = signal.lfilter(*plain, y, axis=0)[2000:]
    biased = np.linalg.lstsq(w[2000:].reshape(-1, len(columns)), late.ravel())[0]
    assert np.linalg.norm(biased - true) > least * np.linalg.norm(true)
    both = FilteredDynamic(ParallelFilter(SecondOrder.of(a)))
    found = OrdinaryLeastSquares().estimate(Problem(model, (Run.at(motion, y, 1000.0),), both))
    assert np.linalg.norm(found.values - true) < 1e-8 * np.linalg.norm(true)


# -- uncertainty -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["filtered", "filtered a", "energy", "energy overlapping", "power"])
def test_reported_covariance_is_the_real_one(name: str) -> None:
    """White torque noise, another one per joint: unbiased, and errors over their covariance follow χ²."""
    formulation = {
        "filtered": FilteredDynamic(ParallelFilter(factor=4)),
        "filtered a": FilteredDynamic(ParallelFilter(SecondOrder.of(30.0))),
        "energy": Energy(0.1),
        "energy overlapping": Energy(0.1, 0.05),
        "power": Power(ParallelFilter(factor=4)),
    }[name]
    model, chi, motion = chapter()
    motion = motion[::10]
    true, torque, noise = model.base.base_values(chi), model.torque(motion, chi), np.array([2.0, 4.0, 1.0])
    rng, runs = np.random.default_rng(11), 60
    squares, errors, level = 0.0, [], 0.0
    for _ in range(runs):
        noisy = torque + noise * rng.standard_normal(torque.shape)
        part = Processed(motion, noisy, 100.0, torque_noise=noise)
        found = WeightedLeastSquares().estimate(Problem(model, (Run((part,)),), formulation, folds=1))
        off = found.values - true
        squares += off @ np.linalg.solve(found.covariance, off)
        errors.append(off / found.std)
        level += float(found.freedom) / runs
    p = len(true)
    correction = p * level / (level - 2.0)  # σ is estimated: Hotelling's T², not χ²
    low, high = chi2.ppf([0.001, 0.999], p * runs) / (p * runs)
    assert low < squares / (runs * correction) < high
    assert (np.abs(np.mean(errors, axis=0)) < 4.5 / np.sqrt(runs)).all()


def test_rows_as_printed_have_errors_that_grow_with_speed() -> None:
    """Why rows are evened: of [12.49] as printed, intervals in which noisy joints are fast have larger errors."""
    model, _, motion = chapter()
    motion, rng, noise = motion[::10], np.random.default_rng(2), np.array([0.3, 3.0, 1.0])
    loud = ((motion.qd * noise) ** 2).sum(axis=1)
    for even in (True, False):
        errors = []
        for _ in range(40):
            torque = noise * rng.standard_normal(motion.q.shape)
            errors.append(rows_of(model, Energy(even=even), [Processed(motion, torque, 100.0, torque_noise=noise)]))
        size = np.mean([rows.y[:, 0] ** 2 for rows in errors], axis=0)
        more = np.interp(errors[0].time, motion.time, loud) > np.median(loud)
        ratio = np.sqrt(np.mean(size[more]) / np.mean(size[~more]))
        assert abs(ratio - 1.0) < 0.1 if even else ratio > 1.5


def test_rows_say_what_they_are_worth() -> None:
    """Intervals that overlap are worth as many as fit side by side."""
    model = model_of("turning")
    part = exact(model, 100.0)
    apart, overlapping = (rows_of(model, Energy(0.2, step), [part]) for step in (None, 0.05))
    assert apart.independent == pytest.approx(len(apart))
    assert len(overlapping) > 3.5 * len(apart)
    assert overlapping.independent == pytest.approx(len(apart), rel=0.03)
    assert (apart.joints, Power().equations(model)) == (("energy",), ("power",))


# -- what cannot be ----------------------------------------------------------------------------------------------------


def test_torque_cut_by_an_analogue_filter() -> None:
    """The filtered model stops below, and says so; the power of such a torque cannot be made whole."""
    model = model_of("turning")
    cut = replace(exact(model, 1000.0), torque_bandwidth=30.0)
    rows = rows_of(model, FilteredDynamic(), [cut])
    assert np.isinf(rows.torque_bandwidth)
    assert "lowered from 40 Hz" in rows.notes[-1].text
    rows.equations()
    with pytest.raises(RecordingError, match="lets the regressor pass"):
        rows_of(model, FilteredDynamic(ParallelFilter(Chebyshev(40.0))), [cut])
    for formulation in (Energy(), Power()):
        with pytest.raises(RecordingError, match="use the dynamic or the filtered dynamic model"):
            rows_of(model, formulation, [cut])


def test_bad_settings_and_logs_are_refused() -> None:
    for given in ({"interval": 0.0}, {"interval": float("nan")}, {"interval": 0.1, "step": 0.2}, {"step": 0.0}):
        with pytest.raises(ParameterError, match=r"interval is|step is"):
            Energy(**given)
    model = model_of("turning")
    part = exact(model, 100.0, 3.0)
    later = Motion(part.motion.time + 10.0, part.motion.q, part.motion.qd, part.motion.qdd)
    for formulation in NUMERIC.values():
        with pytest.raises((RecordingError, ParameterError), match="no equations"):
            error(model, formulation, part[:6])
        with pytest.raises(RecordingError, match="joints"):
            rows_of(model_of("sliding"), formulation, [part])
        with pytest.raises(RecordingError, match="Hz follow others"):
            rows_of(model, formulation, [part, replace(part, motion=later, rate=50.0)])
