"""Drive gains: exact on exact currents, unbiased where least squares is not, and clear about what is not determined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import About, Payload, Recording
from exciter.identification.drive_gains import (
    Bilinear,
    Conditions,
    KnownParameter,
    conditions,
    gains_of,
    identify_gains,
    in_amperes,
)
from exciter.identification.formulations.energy import Energy
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run, load_chi, load_torque
from exciter.notes import texts
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import Joint, Limits, Robot, load
from support.robots import random_inertia, random_rotation

pytestmark = pytest.mark.slow

RATE, GAINS = 100.0, np.array([50.0, 30.0, -20.0])  # the third motor counts backwards
LOAD = Payload("tool", 10.0, (0.05, 0.0, 0.1), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
NOISE = np.array([0.5, 1.0, 0.6])  # [A] a tenth to a fifth of the currents


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load("kuka-ir361"), (Viscous(), Coulomb()))


def path(model: DynamicModel, samples: int = 500):
    family = Fourier(period=5.0, harmonics=5)
    delta = 0.4 * np.random.default_rng(5).standard_normal((model.n, len(family.labels)))
    return motion_of(family, delta, np.arange(samples) * 5.0 / samples)


def run_of(model: DynamicModel, payload: Payload | None = None, gains: np.ndarray = GAINS, noise: float = 0.0) -> Run:
    motion = path(model)
    torque = model.torque(motion) + (0.0 if payload is None else load_torque(model, payload, motion))
    current = torque / gains + noise * np.random.default_rng(3).standard_normal(torque.shape)
    return replace(Run.at(motion, current, RATE), payload=payload)


def base_of(model: DynamicModel) -> dict[str, float]:
    return dict(zip(model.base.names, model.base.base_values(model.nominal), strict=True))


def test_a_known_load_gives_exact_gains(model):
    found = identify_gains(model, [run_of(model), run_of(model, LOAD)])
    assert_allclose(found.gains, GAINS, rtol=1e-9)
    assert_allclose(found.base, model.base.base_values(model.nominal), atol=1e-6)
    assert found.determined.all()
    only = identify_gains(model, [run_of(model, LOAD), run_of(model, replace(LOAD, mass=4.0))])  # two loads do as well
    assert_allclose(only.gains, GAINS, rtol=1e-8)


def test_gains_fit_into_a_recording(model):
    """From currents in a log to gains in its description, and to torques."""
    motion = path(model)
    logs = []
    for payload in (None, LOAD):
        torque = model.torque(motion) + (0.0 if payload is None else load_torque(model, payload, motion))
        about = About(payload=payload, gains=(7.0, 7.0, 7.0))  # whatever was believed
        logs.append(Recording(model.robot.joint_names, motion.time, motion.q, current=torque / GAINS, about=about))
    runs = [Run.of(in_amperes(log), name="run") for log in logs]
    cut = slice(40, -40)  # what the route does to the ends
    exact = [Run.at(motion[cut], log.current[cut], RATE) for log in logs]
    assert_allclose(runs[1].parts[0].torque[100], logs[1].current[runs[1].parts[0].motion.time[100] == motion.time][0])
    assert runs[1].payload == LOAD
    found = identify_gains(model, [exact[0], replace(exact[1], payload=LOAD)])
    told = replace(logs[0], about=replace(logs[0].about, gains=found.about_gains))
    assert_allclose(told.needed_torque(), model.torque(motion), rtol=1e-6, atol=1e-6)
    assert_allclose(identify_gains(model, runs).gains, GAINS, rtol=0.05)  # from differentiated positions
    with pytest.raises(ExciterError, match="has no currents"):
        in_amperes(replace(logs[0], current=None, torque=logs[0].current))


# -- statistics --------------------------------------------------------------------------------------------------------


def drawn(exact: Compressed, rng: np.random.Generator) -> Compressed:
    """The same motion measured again: an orthogonal transformation of white noise is white noise."""
    factors, p = exact.factors.copy(), len(exact.parameters)
    factors[..., :p, -1] += NOISE[:, None] * rng.standard_normal((*factors.shape[:2], p))
    factors[..., p, -1] = NOISE * np.sqrt(rng.chisquare(exact.rows - p))
    return exact.with_factors(factors)


def least_squares(compressed: Compressed, carried: np.ndarray) -> np.ndarray:
    """K of [W, −diag(I)] (β, K) = −W a: what one would write down first."""
    r, z = compressed.factors[..., :-1], compressed.factors[..., -1]
    columns = np.einsum("gjr,jk->gjrk", z, np.eye(z.shape[1]))
    w = np.concatenate([r, -columns], axis=-1).reshape(-1, r.shape[-1] + z.shape[1])
    y = -np.einsum("gjrp,gp->gjr", r, carried).ravel()
    return np.linalg.lstsq(w, y, rcond=None)[0][r.shape[-1] :]


def test_unbiased_and_covering_where_least_squares_is_neither(model):
    runs = tuple(replace(run_of(model, payload), payload=None) for payload in (None, LOAD))
    exact = Problem(model, runs, folds=1).compressed
    carried = np.array([np.zeros(len(model.base)), model.base.base_values(load_chi(model, LOAD))])
    rng, count = np.random.default_rng(4), 120
    values, covered, plain, noise, squares = [], np.zeros(3), [], [], 0.0
    for _ in range(count):
        data = drawn(exact, rng)
        found = gains_of(data, carried)
        low, high = found.interval()
        covered += (low < GAINS) & (high > GAINS)
        values.append(found.gains)
        noise.append(found.noise**2)
        plain.append(least_squares(data, carried))
        error = found.gains - GAINS
        squares += error @ np.linalg.solve(found.covariance, error)
    spread = np.std(values, axis=0)
    assert (np.abs(np.mean(values, axis=0) - GAINS) < 4.0 * spread / np.sqrt(count)).all()
    assert_allclose(found.std, spread, rtol=0.25)
    assert_allclose(np.mean(noise, axis=0), NOISE**2, rtol=0.03)
    assert (covered / count > 0.90).all()
    assert 0.92 <= covered.mean() / count <= 0.98
    assert 0.75 < squares / (3 * count) < 1.3
    bias = np.mean(plain, axis=0) / GAINS - 1.0
    assert (bias < -0.02).all()  # drawn towards zero
    assert (np.abs(bias) > 5.0 * np.std(plain, axis=0) / np.abs(GAINS) / np.sqrt(count)).all()


def test_the_minimum_is_reached(model):
    """No slope is left in any of the unknowns, however poor the data."""
    runs = tuple(replace(run_of(model, payload), payload=None) for payload in (None, LOAD))
    exact = Problem(model, runs, folds=1).compressed
    carried = np.array([np.zeros(len(model.base)), model.base.base_values(load_chi(model, LOAD))])
    rng = np.random.default_rng(4)
    for _ in range(3):
        equations = Bilinear(drawn(exact, rng), carried, Conditions.none(len(model.base)))
        for start in equations.starts():
            x, sigma = equations.solve(start, NOISE), equations.compressed.per_group(NOISE)
            jacobian, left = equations.jacobian(x, sigma), equations.residuals(x, sigma)
            assert (np.abs(jacobian.T @ left) < 1e-7 * np.linalg.norm(jacobian, axis=0) * np.linalg.norm(left)).all()


# -- parameters known beforehand ---------------------------------------------------------------------------------------


def test_known_parameters_give_exact_gains(model):
    """A base parameter; standard parameters that make up one; both with errors."""
    base = base_of(model)
    chi = dict(zip(model.standard, model.nominal, strict=True))
    for known in (
        [KnownParameter("ZZR1", base["ZZR1"])],
        [KnownParameter("MX2", chi["MX2"]), KnownParameter("M3", chi["M3"])],
        [
            KnownParameter("MXR2", base["MXR2"], 0.5),
            KnownParameter("MY3", base["MY3"]),
            KnownParameter("MX2", chi["MX2"]),
            KnownParameter("M3", chi["M3"], 1),
        ],
    ):
        found = identify_gains(model, [run_of(model)], known)
        assert_allclose(found.gains, GAINS, rtol=1e-7)


def test_what_is_known_badly_gives_bad_gains(model):
    """One parameter sets the scale: 5 % of it are 5 % of every gain, and load and parameter together are better."""
    base, exact = base_of(model), run_of(model)
    found = identify_gains(model, [exact], [KnownParameter("ZZR1", base["ZZR1"], 0.05 * base["ZZR1"])])
    assert_allclose(found.relative_std_percent, 5.0, rtol=1e-3)
    assert found.covariance[0, 1] > 0.99 * found.std[0] * found.std[1]
    noisy = [run_of(model, noise=0.5), run_of(model, LOAD, noise=0.5)]
    alone = identify_gains(model, noisy)
    both = identify_gains(model, noisy, [KnownParameter("ZZR1", base["ZZR1"], 0.01 * base["ZZR1"])])
    assert (both.std < alone.std).all()
    chi = dict(zip(model.standard, model.nominal, strict=True))
    parts = [KnownParameter("MX2", chi["MX2"], 0.3), KnownParameter("M3", chi["M3"], 0.5)]
    expected = 100.0 * np.hypot(0.3, 0.48 * 0.5) / abs(base["MXR2"])  # MXR2 = MX2 + 0.48 M3
    assert_allclose(identify_gains(model, [exact], parts).relative_std_percent, expected, rtol=1e-3)
    rough = identify_gains(model, [exact], [KnownParameter("ZZR1", base["ZZR1"], 0.3 * base["ZZR1"])])
    assert any("known only roughly" in word and "joint_1 (30 %)" in word for word in texts(rough.notes))


def test_combinations_of_known_standard_parameters(model):
    """Conditions against their definition: any χ with the known values satisfies them, and they are all there is."""
    rng = np.random.default_rng(6)
    names = ("MX2", "M3", "YY3", "XX3", "Fs1")
    chi = rng.standard_normal(len(model.standard))
    index = [model.standard.index(name) for name in names]
    found = conditions(model.base, [KnownParameter(name, chi[k]) for name, k in zip(names, index, strict=True)])
    assert found.count == 3  # MXR2, XXR3, Fs1
    for _ in range(3):
        other = rng.standard_normal(len(chi))
        other[index] = chi[index]
        beta = model.base.base_values(other)
        left = beta - found.start
        assert_allclose(found.free @ (found.free.T @ left), left, atol=1e-9)
    for wrong, match in (
        ([KnownParameter("MX2", 1.0)], "MXR2 = MX2 . 0.48 M3 would be fixed if M3"),
        ([KnownParameter("M1", 1.0)], "no effect"),
        ([KnownParameter("Q7", 1.0)], "unknown parameter 'Q7'"),
        ([KnownParameter("MY2", 1.0), KnownParameter("MY2", 2.0)], "given twice"),
        ([KnownParameter("MXR2", 1.0), KnownParameter("MX2", 5.0), KnownParameter("M3", 5.0)], "contradict"),
    ):
        with pytest.raises(ParameterError, match=match):
            conditions(model.base, wrong)
    with pytest.raises(ParameterError, match="finite"):
        KnownParameter("MY2", np.nan)


# -- what is not determined --------------------------------------------------------------------------------------------


def two_arms() -> Robot:
    rng = np.random.default_rng(9)
    joints = [
        Joint(
            name, "revolute", parent, random_rotation(rng), 0.4 * rng.standard_normal(3), np.array([0.0, 0.0, 1.0]),
            Limits(-2.5, 2.5, 2.0, 5.0), random_inertia(rng),
        )
        for name, parent in (("left_1", -1), ("left_2", 0), ("right_1", -1), ("right_2", 2))
    ]  # fmt: skip
    return Robot("two arms", tuple(joints), gravity=np.array([1.0, 2.0, -9.0]))


def test_gains_that_nothing_reaches_are_named():
    """The load is on the left arm; the right one shares nothing with it."""
    model = DynamicModel(two_arms(), (Viscous(),))
    gains = np.array([4.0, 3.0, 2.0, 1.0])
    payload = Payload("left_2", 1.0, (0.2, 0.1, 0.1), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    for noise in (0.0, 0.02):
        found = identify_gains(model, [run_of(model, None, gains, noise), run_of(model, payload, gains, noise)])
        assert found.determined.tolist() == [True, True, False, False]
        assert_allclose(found.gains[:2], gains[:2], rtol=1e-7 if noise == 0.0 else 0.1)
        assert np.isnan(found.gains[2:]).all()
        assert "right_1, right_2 are not determined" in found.notes[0].text
        assert found.to_dict()["gains"][2] == {
            "joint": "right_1",
            "value": None,
            "std": None,
            "low": None,
            "high": None,
        }
        with pytest.raises(ParameterError, match="right_1, right_2 are not determined"):
            _ = found.about_gains
    base = base_of(model)
    name = next(name for name in base if name.startswith("ZZ") and name.endswith("4"))
    both = [run_of(model, None, gains), run_of(model, payload, gains)]
    assert_allclose(identify_gains(model, both, [KnownParameter(name, base[name])]).gains, gains, rtol=1e-7)


def test_bad_input_is_one_clear_line(model):
    empty, loaded = run_of(model), run_of(model, LOAD)
    torque = Recording(model.robot.joint_names, path(model).time, path(model).q, torque=np.ones((500, 3)))
    amperes = replace(torque, torque=None, current=torque.torque, about=About(gains=(2.0, 2.0, 2.0)))
    still = Run.at(path(model), np.zeros((500, 3)), RATE)
    for match, call in (
        ("up to a common factor", lambda: identify_gains(model, [empty])),
        ("up to a common factor", lambda: identify_gains(model, [empty], [KnownParameter("Fv1", 0.0)])),
        ("has no currents", lambda: identify_gains(model, [replace(empty, recording=torque), loaded])),
        ("has no currents", lambda: identify_gains(model, [replace(empty, recording=amperes), loaded])),
        ("mixes joints", lambda: identify_gains(model, [empty, loaded], formulation=Energy())),
        ("zero throughout", lambda: identify_gains(model, [still, replace(still, payload=LOAD)])),
        ("too few", lambda: identify_gains(model, [short(model, None), short(model, LOAD)])),
        ("at least one recording", lambda: identify_gains(model, [], [KnownParameter("MY2", 1.0)])),
    ):
        with pytest.raises(ExciterError, match=match) as told:
            call()
        assert "\n" not in str(told.value)


def short(model: DynamicModel, payload: Payload | None) -> Run:
    run = run_of(model, payload)
    return replace(run, parts=(run.parts[0][:4],), span=None)
