"""The report of an identification, and of a validation, without a browser: what it says, and that its numbers hold."""

from __future__ import annotations

import base64
import html
import importlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

import exciter.parameters.terms
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.experiment.quality.quality import Quality
from exciter.experiment.recording import Payload
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.formulations import FORMULATIONS
from exciter.identification.formulations.dynamic import FilteredDynamic, InverseDynamic
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.identify_config import IdentifyConfig
from exciter.identification.information.estimate import STATUS_LEGEND
from exciter.identification.runs.run import load_torque
from exciter.identification.selection.cross_validated_trial import Choice
from exciter.identification.selection.friction_candidates import FRICTION_PARTS, FrictionCandidate, friction_candidates
from exciter.identification.selection.friction_choice import choose_friction
from exciter.notes import LONGEST_NOTE_LINE, lines, note, problem, shortened, warning
from exciter.parameters.parameter_names import DRIVE_TITLES, meaning, reading_order
from exciter.parameters.terms import Coulomb, Dahl, DriveCoupling, LoadFriction, Viscous
from exciter.parameters.terms.term import Column
from exciter.report.identification.report import Answers, identification_page, validation_page
from exciter.report.identification.runs import reported_runs
from exciter.robot import embedded_robots as embedded
from exciter.settings.write import in_full, named
from exciter.validation.comparison import IdentificationMethod, compare
from exciter.validation.friction_curves import friction_curves, friction_entries
from exciter.validation.inertia_matrix import PostureSearch, check_inertia_matrix
from exciter.validation.residuals import ResidualSpectrum, densities
from exciter.validation.validation import RunValidation, Validation, ValidationVerdict, graded, validate
from exciter_papers.known_load import recover_known_load
from support.report_identifications import NOISE, RATE, Identified, identified, quality_of, run_of

pytestmark = pytest.mark.slow

NO_RUNS = Validation(())
LOAD = Payload("tool", 20.0, (0.05, 0.02, 0.1), (0.3, 0.0, 0.0, 0.4, 0.0, 0.2))


@pytest.fixture(scope="module")
def arm() -> Identified:
    return identified(embedded.robot("kuka-ir361"))


@pytest.fixture(scope="module")
def report(arm: Identified, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    robot = arm.found.problem.model.robot
    quality = {"logs/run 1.csv": quality_of(robot)}
    notes = [replace(one, log=log) for log, found in quality.items() for one in found.warnings]
    notes += [note("delay", f"{k} ms", joint, "run 2.csv") for k, joint in enumerate(robot.joint_names)]
    verdict, held_out = ValidationVerdict(arm.fit, arm.unseen, tuple(notes)), arm.validation[0].runs
    page = identification_page(arm.found, verdict, {"terms": ["viscous"]}, held_out, quality=quality)
    page.write(path)
    return path.read_text(encoding="utf-8")


def words(text: str) -> str:
    """What a person reads, without markup, data and scripts."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", text.partition("<body>")[2] or text, flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body))).strip()


def section(text: str, key: str) -> str:
    return re.search(rf'<section id="{key}".*?</section>', text, re.S)[0]


def plots(text: str) -> list[dict]:
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', text, re.S)
    return [json.loads(block) for block in blocks]


def unpacked(data: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(data["f32"]), dtype="<f4").astype(float)


def cells(text: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.S)
    return [[words(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)] for row in rows]


# -- what it says ------------------------------------------------------------------------------------------------------


def test_three_sentences_in_plain_language(arm, report):
    lead = words(re.search(r'<p class="lead">(.*?)</p>', report, re.S)[1])
    count = len(arm.found.estimate.names)
    assert (
        f"{count} parameters of kuka-ir361 were identified from 1 run (run 1.csv; 7.99 s, 2 400 equations)"
        in lead.replace("\u202f", " ")
    )
    assert "by weighted least squares on the inverse dynamic model" in lead
    told = ValidationVerdict(arm.fit, arm.unseen)
    assert f"R{told.figures[1:]}. Careful: {told.cautions[0]}" in lead  # as the terminal says it
    assert told.lines[0] == f"kuka-ir361: {told.word}: {told.figures}"
    assert "of the torque on run 2.csv" in told.figures
    assert told.figures.endswith(arm.found.estimate.counted)
    assert f"Of a parameter, {STATUS_LEGEND}." in lead
    assert f"{sum(arm.found.estimate.poor_by_ratio)} are not reliably identified" in lead
    assert "validated on held-out motion" in lead
    assert not re.search(r"WeightedLeast|InverseDynamic|ParallelFilter|\w+\(\w+=", words(report))


def test_the_sections_are_there_and_linked(report):
    keys = re.findall(r'<section id="([^"]+)"', report)
    expected = ["residuals", "robot", "torque-run0", "torque-run1", "friction", "parameters", "conditioning"]
    assert keys[:7] == expected
    assert keys[7:] == ["histogram", "structure", "spectrum", "whiteness", "quality", "settings"]
    assert all(f'href="#{key}"' in report for key in keys)
    assert not re.search(r'(src|href)="(?!#|data:)', report.replace("https://github.com", ""))


def test_many_alike_notes_are_one_line(arm, report):
    notes = re.findall(r'<ul class="caveats">(.*?)</ul>', report, re.S)[-1]
    joints = ", ".join(arm.found.problem.model.robot.joint_names)
    assert re.findall(r"</span> (.*?)</li>", notes) == [f"run 1.csv: spikes: {joints}", f"run 2.csv: delay: {joints}"]


def test_findings_are_told_with_severity_joint_and_numbers(arm, report):
    rows = [row for row in cells(section(report, "quality")) if row]
    first = arm.found.problem.model.robot.joint_names[0]
    assert rows[0] == ["warning", "spikes", first, "2 samples stand out", "count 2"]
    assert [row[0].strip() for row in rows] == ["warning"] * 3 + ["note"]
    assert "no planned motion" in section(report, "quality")


def test_settings_to_repeat_it(report):
    text = words(section(report, "settings"))
    assert "terms: [viscous]" in text
    assert "viscous friction, Coulomb friction, offset" in text
    assert "weighted least squares" in text
    assert re.search(r"exciter \S+, Python 3\.\d+\.\d+, NumPy \S+, SciPy", text)


# -- that its numbers hold ---------------------------------------------------------------------------------------------


def test_residuals_are_those_of_the_identification(arm, report):
    """By compressed equations there, sample by sample here; and every table has its unit."""
    tables = re.findall(r"<table.*?</table>", section(report, "residuals"), re.S)
    overview, *tables = tables
    assert words(overview).startswith("Residual / torque of every log")
    assert len(tables) == 2
    for table, judged in zip(tables, (arm.found.fit, arm.found.validation[0]), strict=True):
        rows = [row for row in cells(table) if row]
        for j, row in enumerate(rows[:-1]):
            assert row[1] == "N·m"
            assert float(row[3]) == pytest.approx(judged.residuals.rms[j], rel=1e-3)
            assert float(row[6].split()[0]) == pytest.approx(judged.residuals.percent[j], rel=2e-3)
            assert float(row[7].split()[0]) == pytest.approx(judged.description.percent[j], rel=2e-3)
            assert row[9].replace("\u00a0", " ").strip() == "100 %"
        assert float(rows[-1][6].split()[0]) == pytest.approx(judged.residuals.total_percent, rel=2e-3)


def test_torque_plots_are_measured_predicted_and_band(arm, report):
    part = arm.validation[0].runs[0].parts[0]
    model = arm.found.judge.model
    drawn = plots(section(report, "torque-run1"))
    for j, plot in enumerate(drawn):
        lines = {line["name"]: unpacked(line["values"]) for line in plot["lines"]}
        np.testing.assert_allclose(lines["measured"], part.torque[:, j], atol=1e-3)
        chi = np.zeros(len(model.standard))
        chi[model.base.independent] = arm.found.estimate.values
        np.testing.assert_allclose(lines["predicted"], model.torque(part.motion, chi)[:, j], atol=1e-2)
        np.testing.assert_allclose(lines["residual"], lines["measured"] - lines["predicted"], atol=1e-2)
        assert (lines["lower end"] < lines["predicted"]).all()
        assert plot["yLabel"] == "torque [N·m]"
    assert len(drawn) == 3


def test_correlation_matrix_holds_the_estimates(arm, report):
    data = next(block for block in plots(section(report, "conditioning")) if "names" in block)
    std = arm.found.estimate.std
    assert tuple(data["names"]) == arm.found.estimate.names
    expected = arm.found.estimate.covariance / np.outer(std, std)
    np.testing.assert_allclose(unpacked(data["values"]).reshape(len(std), -1), expected, atol=1e-6)


def test_conditioning_is_that_of_the_equations(arm):
    """Singular values of W itself with columns of length one, and every pair that correlates strongly, once."""
    estimate, found = arm.found.estimate, arm.found.conditioning
    w = np.concatenate([rows.w.reshape(-1, len(estimate.names)) for _, rows in arm.found.problem.rows()])
    w = w / np.linalg.norm(w, axis=0)
    np.testing.assert_allclose(found.singular_values, np.linalg.svd(w, compute_uv=False), rtol=1e-8)
    strong = np.abs(np.triu(estimate.correlation, 1)) > 0.9
    assert {(a, b) for a, b, _ in found.pairs} == {
        (estimate.names[a], estimate.names[b]) for a, b in zip(*np.nonzero(strong), strict=True)
    }
    sizes = [abs(value) for *_, value in found.pairs]
    assert sizes == sorted(sizes, reverse=True) != []


@pytest.mark.parametrize("memory", [False, True])
def test_friction_curve_is_the_model_and_its_points_the_data(arm, memory):
    """Of exact parameters: the line is Fv q̇ + Fs sgn q̇ + offset, and points scatter about it as the noise does."""
    model = arm.found.judge.model
    problem, chi = arm.found.judge, arm.chi
    if memory:
        model = replace(model, terms=(Viscous(), Coulomb(Dahl(1e-3)), *model.terms[2:]))
        problem = replace(problem, model=model, runs=(run_of(model, chi, 3),))
    base = model.base.base_values(chi)
    estimate = replace(arm.found.estimate, values=base)
    (run,) = validate(problem, estimate).runs
    curves = friction_curves(model, estimate, [run.prediction])
    known = dict(zip(model.standard, chi, strict=True))
    for j, curve in enumerate(curves):
        v = curve.velocity
        fast = np.abs(v) > (0.2 if memory else 0.01) * np.abs(v).max()
        expected = known[f"Fv{j + 1}"] * v + known[f"Fs{j + 1}"] * np.sign(v) + known[f"off{j + 1}"]
        np.testing.assert_allclose(curve.friction[fast], expected[fast], rtol=1e-3, atol=5e-3)
        apart = np.median(np.abs(curve.measured - expected)[fast])  # pre-sliding leaves the line after a reversal
        assert 1.4826 * apart == pytest.approx(NOISE, rel=0.15)
        assert (np.diff(v) >= 0).all()
        assert (curve.joint, curve.unit, curve.velocity_unit) == (model.robot.joint_names[j], "N·m", "rad/s")
    assert len(curves) == 3


def test_density_of_white_noise_and_of_a_sine():
    """σ √(2/rate) per √Hz, whatever the gaps; the power of a sine is A²/2."""
    rng = np.random.default_rng(0)
    time = np.arange(40_000) / RATE
    _, found = densities(time, RATE, 0.7 * rng.standard_normal((len(time), 2)))
    assert np.sqrt((found**2).mean()) == pytest.approx(0.7 * np.sqrt(2 / RATE), rel=0.02)
    torn = np.concatenate([time[:20_000], time[20_000:] + 3.3])
    sine = 3.0 * np.sin(2 * np.pi * 12.5 * torn)[:, None]
    frequency, found = densities(torn, RATE, sine)
    step = frequency[1] - frequency[0]
    assert (found**2).sum() * step == pytest.approx(4.5, rel=0.01)
    assert frequency[int(found[:, 0].argmax())] == pytest.approx(12.5, abs=step)
    halves = [densities(torn[part], RATE, sine[part])[1] for part in (slice(20_000), slice(20_000, 40_000))]
    np.testing.assert_allclose(found, np.sqrt(np.mean(np.square(halves), axis=0)))
    assert densities(time[:20], RATE, sine[:20]) == ()


def test_frequencies_that_filters_emptied_are_told_from_those_with_torque():
    """Of either joint: one that has some of it counts, wherever gaps are before."""
    values = np.array([[1.0, 1e3], [1e-5, 1e-2], [1e-3, 1e-2], [1e-5, 1e-2]])
    assert ResidualSpectrum(("a", "b"), ("N", "N"), np.arange(4.0), values, np.zeros((4, 2))).filled == 3


# -- answers and checks ------------------------------------------------------------------------------------------------


def test_answers_and_checks_have_tables(arm, tmp_path):
    model = arm.found.problem.model
    loaded = carrying(model, arm.chi)
    known = recover_known_load(model, arm.found.problem.runs, (loaded,), LOAD)
    candidates = (FrictionCandidate("viscous", (Viscous(),)), FrictionCandidate("both", (Viscous(), Coulomb())))
    methods = (
        IdentificationMethod("weighted", InverseDynamic(), WeightedLeastSquares()),
        IdentificationMethod("ordinary", InverseDynamic(), OrdinaryLeastSquares()),
    )
    answers = Answers(
        payload=known.found,
        friction=choose_friction(arm.found.problem, candidates),
        comparison=compare(model, arm.found.problem.runs, methods),
        inertia=check_inertia_matrix(model, arm.found.estimate.values, search=PostureSearch(64, 1)),
        known_load=known,
    )
    identification_page(arm.found, ValidationVerdict(arm.fit, NO_RUNS), answers=answers).write(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    mass = next(row for row in cells(section(text, "payload")) if row)
    assert mass[0] == "mass"
    assert float(mass[1]) == pytest.approx(known.found.mass, rel=1e-3)
    assert mass[3] == "kg"
    assert {row[1] for row in cells(section(text, "friction-choice"))[1:4]} == {"both"}
    rows = [row for row in cells(section(text, "comparison")) if row]
    assert [row[0] for row in rows[:2]] == ["weighted", "ordinary"]
    assert answers.inertia.verdict in section(text, "inertia-matrix")
    assert f">{known.verdict}<" in section(text, "known-load")
    assert "not validated" in words(text)


def carrying(model: DynamicModel, chi: np.ndarray):
    run = run_of(model, chi, 4)
    (part,) = run.parts
    return replace(run, parts=(replace(part, torque=part.torque + load_torque(model, LOAD, part.motion)),))


def test_validation_report(arm, tmp_path):
    found = arm.found
    model = IdentifiedModel(found.problem.model, found.estimate, IdentifyConfig(), {}, Path("id"))
    never = arm.validation[0].runs
    validation = validate(found.judge, found.estimate, never)
    quality = {never[0].name: Quality(found.judge.joints, 800, 8.0, RATE, ())}
    verdict = ValidationVerdict(NO_RUNS, validation)
    validation_page(model, verdict, runs=never, quality=quality).write(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "were validated on 1 run (run 2.csv" in words(text)
    keys = re.findall(r'<section id="([^"]+)"', text)
    assert keys == [
        "residuals",
        "robot",
        "torque-run0",
        "friction",
        "histogram",
        "structure",
        "spectrum",
        "whiteness",
        "quality",
        "settings",
    ]


# -- the head of it ----------------------------------------------------------------------------------------------------


def spoilt_run(arm: Identified, percent: list[float]) -> RunValidation:
    """The fit, of which so much is left."""
    (run,) = validate(arm.found.judge, arm.found.estimate).runs
    found = replace(run.baselines.identified, percent=np.array(percent))
    return replace(run, baselines=replace(run.baselines, models=(found, *run.baselines.models[1:])))


def test_the_worst_joint_is_the_one_of_whose_torque_most_is_left(arm):
    """Not the one that is most above its noise, and also where it is down to its noise."""
    run = spoilt_run(arm, [6.0, 40.0, 9.0])
    sigma = np.array([0.001, 0.4, 0.002]) * run.floor.signal
    quiet = replace(run, floor=replace(run.floor, sigma=sigma))
    said = ValidationVerdict(NO_RUNS, Validation((quiet,))).figures
    rms, signal = run.baselines.identified.rms[1], run.baselines.signal[1]
    assert f", worst joint_2 with 40 % of its own ({rms:.3g} of {signal:.3g} N·m rms); " in said


def test_what_to_do_next_follows_from_what_was_seen(arm):
    fit, never = spoilt_run(arm, [1.0, 1.0, 15.0]), spoilt_run(arm, [1.0, 1.0, 1.0])
    still = warning("small motion", "it rests", "joint_1", fit.run)
    alone = ValidationVerdict(Validation((fit,)), NO_RUNS, (still,))
    assert [step.split(";")[0].split(":")[0] for step in alone.steps[:3]] == [
        "not validated",
        "the motion excites too little, so that prior knowledge decides part of the parameters",
        "do not rely on the predicted torque of joint_3",
    ]
    tried = ValidationVerdict(NO_RUNS, Validation((never,)), (replace(still, log="other.csv"),))
    assert not re.search("validate on it|exciter design|do not rely", " ".join(tried.steps))  # it may rest


def test_the_second_line_names_what_is_gravest(arm):
    """A problem, then a model that is of no use, then a warning on the model, then what the residuals ask for."""
    run = spoilt_run(arm, [1.0, 1.0, 1.0])
    on_log, on_model = warning("delay", "3 ms", None, run.run), warning("model error", "something is missing")
    notes = (on_log, note("gravity", "leans"), on_model)

    def second(run: RunValidation, notes) -> str:
        return ValidationVerdict(Validation((run,)), NO_RUNS, notes).lines[1]

    assert second(run, ()).startswith("Careful: not validated: ")
    assert second(run, notes).startswith("Careful: model error: something is missing (")
    assert second(run, (on_log,)).startswith("Careful: not validated: ")
    assert second(left_in_all(run, 300.0), notes).startswith("Careful: run 1.csv: worse than no model: residual 300 %")
    assert second(run, (*notes, problem("units", "are wrong"))).startswith("Careful: units: are wrong (")
    sure = replace(arm.found.estimate, covariance=1e-12 * arm.found.estimate.covariance)
    judged = replace(run, estimate=sure, structures=(), floor=replace(run.floor, sigma=None))
    fine = ValidationVerdict(NO_RUNS, Validation((judged,)))
    assert fine.cautions == ()
    assert fine.lines[1] == "No warnings: nothing speaks against using it"


def test_a_small_residual_is_no_more_than_fair_where_most_parameters_could_be_zero(arm):
    run, known = left_in_all(spoilt_run(arm, [1.0, 1.0, 1.0]), 1.0), arm.found.estimate
    half = len(known.values) // 2
    for unsure, tone in ((half, "good"), (half + 1, "fair")):
        std = np.where(np.arange(len(known.values)) < unsure, 10.0, 1e-3) * np.abs(known.values)
        told = ValidationVerdict(
            NO_RUNS, Validation((replace(run, estimate=replace(known, covariance=np.diag(std**2))),))
        )
        assert (told.grade, told.tone) == ("good", tone)
        assert ("most parameters not significant" in told.word) == (tone == "fair")


def test_several_runs_are_one_headline_with_all_samples_stacked(arm):
    """By other means: the residuals of both, joined and measured anew."""
    both = Validation((*arm.fit.runs, *arm.unseen.runs))
    measured, left = (
        np.concatenate([getattr(run.prediction, which) for run in both]) for which in ("measured", "residual")
    )
    np.testing.assert_allclose(
        both.stacked.identified.percent,
        100.0 * np.sqrt((left**2).sum(axis=0) / (measured**2).sum(axis=0)),
        rtol=1e-9,
    )
    assert both.total_percent == pytest.approx(100.0 * np.linalg.norm(left) / np.linalg.norm(measured), rel=1e-9)
    verdict = ValidationVerdict(NO_RUNS, both)
    assert "on run 1.csv, run 2.csv (" in verdict.figures
    assert f"residual {both.total_percent:.3g} % of the torque" in verdict.figures
    rows = [row[0] for row in verdict.rows]
    kind = "validation data"
    assert rows[:4] == [f"{kind}: run 1.csv", f"{kind}: run 2.csv", f"{kind}: all 2 logs", f"description, {kind}"]
    quiet = np.minimum(both[0].floor.sigma, both[1].floor.sigma)
    loud = np.maximum(both[0].floor.sigma, both[1].floor.sigma)
    assert ((quiet <= both.floor.sigma) & (both.floor.sigma <= loud)).all()
    unknown = replace(both[0], floor=replace(both[0].floor, sigma=None))
    assert Validation((unknown, both[1])).floor.total_percent is None


def test_forces_and_torques_that_are_added_are_said_to_be(arm):
    base = arm.fit.stacked
    assert base.total_name == "total"
    assert replace(base, units=("N", "N·m", "N·m")).total_name == "total (N and N·m added)"


def test_notes_are_short_and_those_of_several_logs_are_one():
    long = "condition number 5000; " + ", ".join(f"MX{k}" for k in range(100))
    still = [warning("small motion", f"it moves {k} rad: let it move more", f"j{k}") for k in (1, 2)]
    found = [replace(one, log=f"x/{log}.csv") for log in "ab" for one in (*still, warning("poor excitation", long))]
    told = lines([note("settings", "usual ones"), *found])
    assert told[0] == "a.csv, b.csv: small motion: j1, j2: let it move more"
    assert told[1] == f"a.csv, b.csv: poor excitation: {shortened(long)}"
    assert told[2:] == ["settings: usual ones"]
    assert shortened("as it is") == "as it is"
    assert len(shortened(long)) <= LONGEST_NOTE_LINE + 2
    assert shortened(long).endswith(" …")


def test_no_note_is_lost_where_they_are_put_together():
    """What is not of a log stands nowhere else, and two notes on one subject may say different things."""
    apart = [warning("offset", f"rises by {k} N·m", f"j{k}") for k in (1, 2)]
    assert lines(apart) == ["offset of j1: rises by 1 N·m", "offset of j2: rises by 2 N·m"]
    long = "smallest eigenvalue at " + ", ".join(f"joint_{k} {k} rad" for k in range(30))
    assert lines([warning("inertia matrix", long)]) == [f"inertia matrix: {long}"]
    mixed = [warning("delay", text, joint, "a.csv") for text, joint in (("1 ms", "j1"), ("2 ms", "j2"), ("all", None))]
    assert lines([*mixed, warning("delay", "odd", None, "a.csv")]) == [
        "a.csv: delay: j1, j2",
        "a.csv: delay: all",
        "a.csv: delay: odd",
    ]


def test_times_of_a_clock_count_from_the_beginning(arm):
    """Seconds since 1970 have no place in a plot, and float32 has no digits for them."""
    (run,) = validate(arm.found.judge, arm.found.estimate).runs
    late = replace(run, prediction=replace(run.prediction, time=run.prediction.time + 1.46e9))
    (drawn,) = reported_runs(ValidationVerdict(Validation((late,)), NO_RUNS))
    np.testing.assert_allclose(drawn.prediction.time, run.prediction.time - run.prediction.time[0], atol=1e-6)
    (kept,) = reported_runs(ValidationVerdict(Validation((run,)), NO_RUNS))
    assert kept.start == 0.0


# -- what was chosen ---------------------------------------------------------------------------------------------------


def test_choices_say_why_and_how_to_fix_them(arm, tmp_path):
    choices = [
        Choice("filter", "10 Hz", "ten times the band"),
        Choice("friction", "joint_1 …", "the simplest"),
        Choice("estimator", "31.6", "the strongest", "weight"),
        Choice("estimator", "consistent", "bodies"),
        Choice("gravity", "[0.01, 0, -9.81] m/s²", "the base leans"),
        Choice("noise", "from residuals", "always"),
    ]
    chosen = {"filter": {"cutoff": 10.0, "order": 4}, "estimator": {"consistent": {"weight": 31.622776, "offset": 0.1}}}
    settings = {"gravity": [0.0123456, 0.0, -9.81], "identify": {"automatic": False, **chosen}}
    answers = Answers(choices=choices)
    page = identification_page(arm.found, ValidationVerdict(arm.fit, NO_RUNS), settings, answers=answers)
    page.write(tmp_path / "r.html")
    rows = [row for row in cells(section((tmp_path / "r.html").read_text(encoding="utf-8"), "automatic")) if row]
    assert [row[0] for row in rows] == [one.setting for one in choices]
    assert [row[2] for row in rows] == [one.reason for one in choices]
    assert rows[0][3] == "identify: {filter: {cutoff: 10.0, order: 4}}"
    assert rows[1][3].startswith("identify: {friction: as-given}")
    assert rows[2][3] == "identify: {automatic: true, estimator: {consistent: {weight: 31.62}}}"
    assert rows[3][3] == "identify: {automatic: true, estimator: consistent}"
    assert rows[4][3] == "gravity: [0.01235, 0.0, -9.81]"
    assert rows[5][3] == "identify: {noise: …}"
    for row in (rows[0], *rows[2:5]):  # what is written there is a configuration
        config = IdentifyConfig.of(yaml.safe_load(row[3]), "report")
        assert config.automatic
        config.refuse_early(arm.found.problem.model.robot, planned=False)


def test_parts_of_friction_models_are_explained(arm, tmp_path):
    candidates = friction_candidates(None)[:2] + friction_candidates(None)[8:10]
    answers = Answers(friction=choose_friction(arm.found.problem, candidates))
    identification_page(arm.found, ValidationVerdict(arm.fit, NO_RUNS), answers=answers).write(tmp_path / "r.html")
    text = words(section((tmp_path / "r.html").read_text(encoding="utf-8"), "friction-choice"))
    for part in ("viscous Fv q̇", "Dahl Fs z", "√ Fr √|q̇| sgn q̇", "offset constant"):
        assert part in text
    assert "Stribeck" not in text
    names = {part for one in friction_candidates(LoadFriction()) for part in one.name.split(" + ")}
    assert {name.split()[0] for name in names} <= {name for name, _ in FRICTION_PARTS.values()}


def test_friction_of_load_and_of_coupled_motors_is_no_curve_over_velocity(arm):
    """With pre-sliding they have memory, as a joint's own friction has; but they depend on other joints."""
    model = arm.found.judge.model
    first, second = model.robot.joint_names[:2]
    shape = Dahl(1e-3)
    others = (LoadFriction(shape), DriveCoupling(first, second, 1.0, shape))
    both = replace(model, terms=(Viscous(), Coulomb(shape), *others))
    plain = replace(model, terms=(Viscous(), Coulomb(shape)))
    names = [[one.base.names[k] for *_, k in friction_entries(one)] for one in (both, plain)]
    assert names[0] == names[1]


def test_every_parameter_has_words():
    terms = {kind.symbol for kind in vars_of_columns()}
    assert terms <= set(DRIVE_TITLES)
    assert meaning("ZZR1", ["a", "b"]) == "inertia zz, link of a, and more"
    assert meaning("MX2", ["a", "b"]) == "mass × centre, x, link of b"
    assert meaning("Fr2", ["a", "b"]) == "friction with √speed, b"
    assert meaning("cog", ["a"]) == meaning("Fv3", ["a"]) == "–"
    names = ["ZZR1", "MX2", "Fv1", "Fs2", "Fv2", "cog", "Fs1"]
    assert [names[k] for k in reading_order(names)] == ["ZZR1", "MX2", "Fv1", "Fv2", "Fs1", "Fs2", "cog"]


def vars_of_columns() -> list[Column]:
    """Of all terms that the package has."""
    folder = Path(exciter.parameters.terms.__file__).parent
    modules = [importlib.import_module(f"exciter.parameters.terms.{path.stem}") for path in folder.glob("*.py")]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Column)]


# -- naming ------------------------------------------------------------------------------------------------------------


def test_settings_objects_in_words():
    assert named(WeightedLeastSquares()) == "weighted least squares"
    assert in_full(Coulomb()) == "Coulomb friction"
    assert (
        in_full(Coulomb(Dahl(0.002), ("a", "b")))
        == "Coulomb friction (shape: Dahl pre-sliding (delta: 0.002), joints: a, b)"
    )
    assert named(FilteredDynamic()).startswith("the filtered dynamic model")

    class SomethingNew:
        pass

    assert named(SomethingNew()) == "something new"


def test_estimators_and_formulations_all_have_words():
    for thing in (*ESTIMATORS, *FORMULATIONS):
        assert named(thing()) == thing.title
    assert len({thing.title for thing in (*ESTIMATORS, *FORMULATIONS)}) == len((*ESTIMATORS, *FORMULATIONS))


def test_a_joint_that_is_not_explained_spoils_the_verdict(arm):
    """However little it counts in the total."""
    (run,) = validate(arm.found.judge, arm.found.estimate).runs
    alone = ValidationVerdict(Validation((run,)), NO_RUNS)
    assert (alone.word, alone.tone) == ("good fit, not validated", "good")
    tried = ValidationVerdict(Validation((run,)), Validation((spoilt_run(arm, [1.0, 20.0, 1.0]),)))
    assert (tried.word, tried.tone) == ("good model but for joint_2, validated on held-out motion", "fair")
    assert (tried.grade, tried.weak_joints) == ("good", ("joint_2",))


def left_in_all(run: RunValidation, percent: float) -> RunValidation:
    """The same, of whose whole torque so much is left."""
    factor = percent / run.total_percent
    found = run.baselines.identified
    found = replace(found, rms=factor * found.rms, total_percent=percent)
    return replace(run, baselines=replace(run.baselines, models=(found, *run.baselines.models[1:])))


@pytest.mark.parametrize(("left", "grade"), [(4.9, "good"), (5.0, "fair"), (14.9, "fair"), (15.0, "poor")])
def test_all_runs_never_seen_decide_on_the_grade(arm, left, grade):
    """However bad the fit is; the worst of them is looked at, and named where it alone would be worse."""
    run = spoilt_run(arm, [1.0, 1.0, 1.0])
    fit = Validation((left_in_all(run, 80.0),))
    one = ValidationVerdict(fit, Validation((left_in_all(run, left),)))
    assert one.grade == one.tone == grade
    sizes = (0.5 * left, 1.2 * left, 0.4 * left)
    runs = tuple(left_in_all(run, x) for x in sizes)
    named = tuple(replace(one, baselines=replace(one.baselines, run=f"{k}.csv")) for k, one in enumerate(runs))
    verdict = ValidationVerdict(fit, unseen := Validation(named))
    assert unseen.total_percent == pytest.approx(np.sqrt(np.mean(np.square(sizes))), rel=1e-6)
    assert verdict.decisive is unseen.runs[1]
    assert verdict.sentences[0] == unseen.runs[1].verdict
    assert verdict.grade == graded(unseen.total_percent)
    assert verdict.weak_runs == (("1.csv",) if graded(sizes[1]) != verdict.grade else ())
    assert ValidationVerdict(fit, NO_RUNS).decisive is fit.runs[0]
    with pytest.raises(ExciterError, match="there are none"):
        ValidationVerdict(NO_RUNS, NO_RUNS)


def test_a_result_has_what_its_report_draws(arm, report):
    """Arrays by name and unit, without a report: friction curves, spectra, torque and its band, histograms."""
    verdict = ValidationVerdict(arm.fit, arm.unseen)
    run = verdict.decisive
    curves = {curve.joint: curve for curve in verdict.friction_curves}
    for plot in plots(section(report, "friction")):
        drawn = {line["name"]: unpacked(line["values"]) for line in plot["lines"]}
        np.testing.assert_allclose(drawn["identified friction"], curves[plot["title"]].friction, rtol=1e-6)
        np.testing.assert_allclose(drawn["measured − rest of the model"], curves[plot["title"]].measured, rtol=1e-6)
    for j, plot in enumerate(plots(section(report, "spectrum"))):
        assert plot["title"] == run.spectrum.joints[j]
        drawn = unpacked(plot["lines"][1]["values"])
        assert len(drawn) == run.spectrum.filled
        np.testing.assert_allclose(drawn, run.spectrum.residual[: len(drawn), j], rtol=1e-6)
    for j, plot in enumerate(plots(section(report, "histogram"))):
        shares = run.histograms[j].identified.percent
        assert shares.sum() == pytest.approx(100.0)
        np.testing.assert_allclose(unpacked(plot["lines"][0]["values"])[:-1], shares, rtol=1e-6)
    for j, plot in enumerate(plots(section(report, "torque-run1"))):
        lower = unpacked(plot["lines"][0]["values"])
        np.testing.assert_allclose(lower, (run.prediction.predicted - run.prediction.band)[:, j], rtol=1e-5, atol=1e-4)
