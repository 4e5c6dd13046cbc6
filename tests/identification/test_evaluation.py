"""``evaluation:`` of identify: percentages against a computation of their own, and that nothing else depends on it."""

from __future__ import annotations

import io
import json
import math
from contextlib import redirect_stdout

import numpy as np
import pytest
import yaml
from scipy import signal

from exciter.cli import main
from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import write_recording
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import Motion
from exciter.robot import embedded_robots as embedded
from exciter.validation.validation import validate
from support.terminal import without_progress

pytestmark = pytest.mark.slow

ARM = "kuka-ir361"
RATE = 125.0
ROUTE = (4, 21.0)  # order of one pass, cut-off [Hz]
SETTINGS = {
    "estimator": "wls",
    "route": {"cutoff": ROUTE[1], "order": ROUTE[0]},
    "filter": {"cutoff": 6.0},
    "dead_zone": 0.15,
}
EVALUATION = (3, 7.3)
WORDS = (
    "Percentages are of the measured torque through a Butterworth low-pass of 7.3 Hz, order 3, forwards and backwards; "
    "the prediction went through the same, and every sample counts, at rest too."
)

WINDOWS = [[0.0, 11.0], [12.5, 20.0]]  # a gap: what lies beside it is an edge


def exciter(*arguments) -> int:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    return int(left.value.code or 0)


def arm() -> DynamicModel:
    return DynamicModel(embedded.robot(ARM), (RotorInertia(), Viscous(), Coulomb(), Offset()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """log.yaml and other.yaml: two motions with dry friction and noise; slow enough at reversals for the dead zone."""
    folder, model = tmp_path_factory.mktemp("logs"), arm()
    chi = model.nominal.copy()
    for k, name in enumerate(model.standard):
        if name.startswith(("Ia", "Fv", "Fs", "off")):
            chi[k] = 5.0 + k % 7
    for name, seed in (("log", 0), ("other", 1)):
        time = np.arange(2500) / RATE
        delta = 0.5 * np.random.default_rng(seed).standard_normal((3, 7))
        motion = motion_of(Fourier(10.0, 3), delta, time)
        recording = synthetic_recording(model, motion, chi, noise=20.0, position_noise=1e-5, seed=seed)
        write_recording(recording, folder / f"{name}.csv")
        described = {"file": f"{name}.csv", "format": "exciter", "windows": WINDOWS}
        (folder / f"{name}-split.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    return folder


def identified(folder, out, evaluation=None) -> dict:
    asked = {**SETTINGS, **({} if evaluation is None else {"evaluation": evaluation})}
    (folder / "identify.yaml").write_text(yaml.safe_dump({"identify": asked}), encoding="utf-8")
    logs = [folder / "log-split.yaml", "--validate", folder / "other-split.yaml", "--config", folder / "identify.yaml"]
    screen = io.StringIO()
    with redirect_stdout(screen):
        assert exciter("identify", ARM, *logs, "-o", out) == 0
    (out / "screen.txt").write_text(screen.getvalue(), encoding="utf-8")
    return json.loads((out / "result.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def with_key(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("with")
    return out, identified(folder, out, {"order": EVALUATION[0], "cutoff": EVALUATION[1]})


@pytest.fixture(scope="module")
def without_key(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("without")
    return out, identified(folder, out)


# -- the figure, written out -------------------------------------------------------------------------------------------


def low_pass(order: int, cutoff: float) -> tuple[np.ndarray, int]:
    """Sections, and after how many samples an edge has faded to a thousandth."""
    poles = signal.butter(order, cutoff, fs=RATE, output="zpk")[1]
    edge = math.ceil(math.log(1e-3) / math.log(np.abs(poles).max())) + 1
    return signal.butter(order, cutoff, fs=RATE, output="sos"), edge


def through(values: np.ndarray, order: int, cutoff: float) -> np.ndarray:
    sections, edge = low_pass(order, cutoff)
    return signal.sosfiltfilt(sections, values, axis=0, padlen=edge)


def by_hand(path, result: dict) -> tuple[np.ndarray, float]:
    """100 · RMS(τ_f − τ̂_f)/RMS(τ_f) per joint and of all, straight from the CSV."""
    model, table = arm(), np.genfromtxt(path, delimiter=",", names=True, deletechars="")
    names = embedded.robot(ARM).joint_names
    chi = np.zeros(len(model.standard))
    chi[model.base.independent] = [one["value"] for one in result["parameters"]]
    errors, sizes = np.zeros(3), np.zeros(3)
    for start, end in WINDOWS:
        part = table[(table["time"] >= start) & (table["time"] <= end)]
        q = through(np.column_stack([part[f"{name}.q"] for name in names]), *ROUTE)
        torque, edge = np.column_stack([part[f"{name}.tau"] for name in names]), low_pass(*ROUTE)[1]
        qd, qdd = (q[2:] - q[:-2]) * RATE / 2.0, (q[2:] - 2.0 * q[1:-1] + q[:-2]) * RATE**2
        kept = slice(edge, len(q) - edge)
        inner = slice(edge - 1, len(q) - edge - 1)
        motion = Motion(part["time"][kept], q[kept], qd[inner], qdd[inner])
        measured = through(torque[kept], *EVALUATION)
        predicted = through(model.torque(motion, chi), *EVALUATION)
        cut = low_pass(*EVALUATION)[1]
        errors += ((measured - predicted)[cut:-cut] ** 2).sum(axis=0)
        sizes += (measured[cut:-cut] ** 2).sum(axis=0)
    return 100.0 * np.sqrt(errors / sizes), 100.0 * math.sqrt(errors.sum() / sizes.sum())


@pytest.mark.parametrize("which", ["log", "other"])
def test_percentages_are_those_of_the_definition(folder, with_key, which):
    _, result = with_key
    joints, total = by_hand(folder / f"{which}.csv", result)
    told = result["residuals"] if which == "log" else result["validation"][0]["joints"]
    all_told = result["total_percent"] if which == "log" else result["validation"][0]["total_percent"]
    np.testing.assert_allclose([one["percent"] for one in told.values()], joints, rtol=1e-6)
    assert all_told == pytest.approx(total, rel=1e-6)


def test_validate_judges_by_the_same_figure(folder, with_key, tmp_path, capsys):
    out, result = with_key
    assert exciter("validate", out, folder / "other-split.yaml", "-o", tmp_path) == 0
    (run,) = (data := json.loads((tmp_path / "validation.json").read_text(encoding="utf-8")))["runs"]
    assert run["total_percent"] == pytest.approx(result["validation"][0]["total_percent"], rel=1e-9)
    for joint, one in run["models"]["identified"]["joints"].items():
        assert one["percent"] == pytest.approx(result["validation"][0]["joints"][joint]["percent"], rel=1e-9)
    assert data["percentages"] == result["percentages"] == WORDS
    assert WORDS in " ".join(capsys.readouterr().out.split())
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert WORDS in report
    assert "it has no equation, and both drop" not in report  # nothing is left out of what is drawn


def test_what_the_filter_alone_makes_alike_is_no_missing_term():
    """Whiteness is judged of samples that are apart: of white errors a tenth of the band has a tenth."""
    model, time = arm(), np.arange(5000) / RATE
    motion = motion_of(Fourier(10.0, 3), 0.5 * np.random.default_rng(0).standard_normal((3, 7)), time)
    torque = model.torque(motion, model.nominal) + 20.0 * np.random.default_rng(1).standard_normal((5000, 3))
    judge = InverseDynamic(ParallelFilter(Butterworth(EVALUATION[1], EVALUATION[0]), factor=1))
    problem = Problem(model, (Run.at(motion, torque, RATE),), judge)
    (run,) = validate(problem, WeightedLeastSquares().estimate(problem)).runs
    for one in run.whiteness:
        assert one.slow == pytest.approx(0.1, abs=0.05)
    assert not any("correlate" in word for word in run.sentences)


def test_nothing_but_percentages_depends_on_it(with_key, without_key):
    (_, with_it), (_, without) = with_key, without_key
    assert with_it["parameters"] == without["parameters"]
    for key in ("covariance", "condition_number", "equations", "noise", "drift", "terms", "words", "notes"):
        assert with_it[key] == without[key], key
    assert with_it["total_percent"] != pytest.approx(without["total_percent"], rel=0.01)


def test_without_it_percentages_are_of_what_was_identified_from(without_key):
    _, result = without_key
    assert result["judged_through"] == {"cutoff": 6.0, "order": 4}
    assert set(result["dead_zone"].values()) == {0.15}
    assert "through a Butterworth low-pass of 6 Hz" in result["percentages"]
    assert "While a joint with dry friction rests, it does not count" in result["percentages"]


def test_report_and_screen_say_what_percentages_are_of(with_key):
    out, result = with_key
    assert result["judged_through"] == {"cutoff": 7.3, "order": 3, "factor": 1}
    assert WORDS in (out / "report.html").read_text(encoding="utf-8")
    assert WORDS in " ".join((out / "screen.txt").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"cutoff": -3}, "evaluation: cutoff is -3; give a number > 0"),
        ({"cutoff": 0}, "evaluation: cutoff is 0; give a number > 0"),
        ({"cutoff": "low"}, "evaluation: cutoff is 'low'; give a number > 0"),
        ({"order": 4}, "evaluation has no cutoff; give a number > 0 [Hz]"),
        ({"cutoff": 5, "order": 0}, "evaluation: order is 0; give a whole number ≥ 1"),
        ({"cutoff": 5, "order": 99}, "evaluation: Butterworth(cutoff=5.0, order=99): the order must be 1 … 20"),
        ({"cutoff": 5, "factor": 2}, "evaluation: unknown key 'factor'; valid names: cutoff, order"),
        (5, "evaluation is 5; give a mapping with some of the keys cutoff, order"),
        ({"cutoff": 62.5}, "evaluation: a cut-off of 62.5 Hz needs samples at more than 125 Hz, they come at 125 Hz"),
    ],
)
def test_bad_settings_are_refused_in_one_line(folder, tmp_path, capsys, given, told):
    path = tmp_path / "identify.yaml"
    path.write_text(yaml.safe_dump({"identify": {**SETTINGS, "evaluation": given}}), encoding="utf-8")
    assert exciter("identify", ARM, folder / "log.csv", "-o", tmp_path / "out", "--config", path) == 2
    (line,) = without_progress(capsys.readouterr().err).strip().splitlines()
    assert told in line
    assert not (tmp_path / "out").exists()


def test_a_force_plate_has_no_torques_to_evaluate(folder, tmp_path, capsys):
    path = tmp_path / "identify.yaml"
    path.write_text("identify: {formulation: base-wrench, evaluation: {cutoff: 5}}", encoding="utf-8")
    assert exciter("identify", ARM, folder / "log.csv", "-o", tmp_path / "out", "--config", path) == 2
    assert "base-wrench has none: leave evaluation: out" in capsys.readouterr().err
