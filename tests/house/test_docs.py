"""What the documents show must work as it stands."""

import ast
import importlib.util
import inspect
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import exciter as ex
from exciter.cli import main
from exciter.commands.arguments import parser
from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.constraint import UserConstraint
from exciter.excitation.constraints.constraint_settings import OBSTACLES, REGIONS, ConstraintSettings
from exciter.excitation.criteria.weighted_sums import CRITERIA
from exciter.excitation.design_settings import DesignSettings, MotionSettings
from exciter.excitation.files.trajectory_files import FAMILIES, exact_data
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.excitation.validation_motion.random_families import random_trajectory
from exciter.experiment.recording import open_recording
from exciter.export.write import EXPORTS
from exciter.files import json_text
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.formulations import FORMULATIONS
from exciter.identification.identify_config import IdentifySettings
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.terms import TERM_REGISTRY, Coulomb, Viscous
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import load
from exciter.robot.load import options_from
from exciter.settings import keys_of
from support.paths import ROBOTS, ROOT
from support.scripts import script

pytestmark = pytest.mark.slow


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)


def test_readme_example_gives_what_its_comments_say(capsys):
    (code,) = blocks("README.md", "python")
    names: dict = {}
    exec(code, names)
    told = capsys.readouterr().out
    assert "ZZR1 = ZZ1 + YY2" in told
    assert "usable" in told
    assert names["motion"].certificate.certified
    assert names["found"].torque([0.1, 0.2, 0.3], [0, 0, 0], [0, 0, 0]).shape == (3,)


def test_robot_documents(tmp_path):
    loops, options, table = blocks("docs/robots.md", "yaml")
    closed = load(ROBOTS / "palletiser.urdf", options_from(yaml.safe_load(loops)))
    assert closed.joint_names == ("waist", "crank", "shoulder")
    given = options_from(yaml.safe_load(options))
    assert (given.limits["acceleration"], set(given.lock)) == (5.0, {"finger_1", "finger_2"})
    path = tmp_path / "arm.yaml"
    path.write_text(table, encoding="utf-8")
    robot = load(path)
    assert [j.kind for j in robot.joints] == ["revolute", "revolute", "prismatic"]
    assert robot.frame("tool").joint == 2


def test_design_document(tmp_path):
    """Its examples do what they say; its configuration, and the tour's, are understood as they stand."""
    first, constraint, curve, baselines = blocks("docs/design.md", "python")
    names: dict = {}
    exec(first, names)
    assert names["designed"].certificate.certified
    assert len(names["motion"]) == 3
    exec(constraint, names)
    exec(curve, names)
    assert names["certificate"].certified
    assert names["columns"].names == ("load", "MX2")
    own = names.copy()
    exec(baselines, own)
    assert len(own["poses"].q) >= len(own["poses"].parameters) // own["robot"].n
    assert own["friction"].cruises
    verdict = certify(names["robot"], names["curve"], [names["cable"]])
    cable = [limit for limit in verdict.limits if limit.what == "cable"]
    assert [limit.status for limit in cable] == ["holds", "holds"]
    assert cable[0].reached == pytest.approx(1 - 0.3, abs=1e-6)
    for document, robot in (("docs/design.md", "panda"), ("docs/tour.md", "ur10e")):
        text = blocks(document, "yaml")[0]
        path = tmp_path / "design.yaml"
        path.write_text(text, encoding="utf-8")
        config = SettingsFile.read(path).design
        arm = load(robot, config.robot)
        model = config.model(arm)
        assert config.motion.duration == 10.0
        assert len(config.constraints_of(arm)) >= 3
        config.criterion_of(model)


def test_dynamics_document_shows_an_exact_gradient(capsys):
    (code,) = blocks("docs/dynamics.md", "python")
    exec(code, {})
    figures = re.findall(r"direction (\S+), by differences (\S+)", capsys.readouterr().out)
    assert len(figures) == 2
    for exact, differences in figures:
        assert float(exact) == pytest.approx(float(differences), rel=1e-5)


def test_the_tour_describes_a_log(tmp_path):
    text = blocks("docs/tour.md", "yaml")[1]
    (tmp_path / "recording.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "log.csv").write_text("stamp,enc_1,enc_2,i_1,i_2\n0,0,90,2,1\n4,180,90,2,1\n", encoding="utf-8")
    recording = open_recording(tmp_path / "recording.yaml").read()
    assert recording.time.tolist() == [0.0, 0.004]
    assert recording.q[1].tolist() == pytest.approx([np.pi, np.pi / 2])
    assert recording.needed_torque()[0].tolist() == pytest.approx([25.0, 8.1])


def test_design_document_names_every_key():
    """Whatever the configuration understands is in the document, and the seeds were filled in."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    constraints = [*keys_of(ConstraintSettings), "margin", "payload", "clearance", "pairs", "meshes", "any_of"]
    constraints.append("against")
    settings = {key for kind in CRITERIA for key in keys_of(kind)} - {"chi", "criterion"}
    words = (
        *keys_of(DesignSettings),
        *keys_of(MotionSettings),
        *constraints,
        *REGIONS.words,
        *OBSTACLES.words,
        *CRITERIA.words,
    )
    words += TERM_REGISTRY.words
    for key in {*words, *settings}:
        assert re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", text), f"docs/design.md does not name '{key}'"
    assert "SEEDS" not in text


def test_documents_name_only_what_exists():
    """Every file a document links to is there."""
    for document in ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md"))]:
        text = (ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert ((ROOT / document).parent / target).exists(), f"{document} links to {target}"


def test_identify_document(tmp_path, capsys):
    """Its example runs, its configuration is understood, and it names every word there is."""
    (code,) = blocks("docs/identify.md", "python")
    names: dict = {}
    exec(code, names)
    assert "ZZR1" in capsys.readouterr().out
    assert len(names["full"].standard) == len(names["model"].standard)
    (settings,) = blocks("docs/identify.md", "yaml")
    path = tmp_path / "identify.yaml"
    path.write_text(settings, encoding="utf-8")
    config = SettingsFile.read(path).identify
    assert set(yaml.safe_load(settings)["identify"]) == set(keys_of(IdentifySettings))
    config.estimator(load("kuka-ir361"))
    text = (ROOT / "docs" / "identify.md").read_text(encoding="utf-8")
    for cls in (*ESTIMATORS, *FORMULATIONS):
        assert f"`{cls.word}`" in text, cls.word
        for key in keys_of(cls):
            assert key in text, f"{cls.word}: {key}"


# -- the pages about the whole -----------------------------------------------------------------------------------------


@cache
def parsed(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def has_name(path: Path, dotted: str) -> bool:
    """Whether a file defines a class, function or method."""
    body = parsed(path)
    for part in dotted.split("."):
        found = [node for node in body if getattr(node, "name", None) == part]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


def test_concepts_name_only_what_exists():
    """Every file and every name that an equation is mapped to is there, and every document has its table."""
    text = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8").partition("## ")[2]
    mapped = re.findall(r"`([\w/]+\.py)(?::([\w.]+))?`", text)
    assert len(mapped) > 120
    for file, name in mapped:
        path = (
            ROOT / file
            if file.startswith("tests/")
            else ROOT / "src" / ("" if file.startswith("exciter_papers/") else "exciter") / file
        )
        assert path.exists(), f"docs/concepts.md names {file}"
        assert not name or has_name(path, name), f"docs/concepts.md names {file}:{name}"
    assert all(f"[12.{k}" in text for k in (1, 3, 5, 10, 18, 22, 29, 38, 50))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 5 for line in rows)


def suite(module: str, like: str | None = None, **values) -> int:
    """Run those tests of a conformance suite that take parameters of these names (and are run for ``like``, too); how
    many they were."""
    count = 0
    for name, test in vars(importlib.import_module(module)).items():
        marks = [mark.args for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
        taken = {key for keys, _ in marks for key in ([keys] if isinstance(keys, str) else keys)}
        among = like is None or any(like in list(cases) for _, cases in marks)
        if name.startswith("test_") and taken and taken <= set(values) and among:
            test(**{key: value for key, value in values.items() if key in inspect.signature(test).parameters})
            count += 1
    return count


def test_extending_document_examples_pass_their_suites(monkeypatch):
    """The examples are complete, and do what the suites of their kinds ask."""
    term, family, criterion, _, formulation, estimator, _ = blocks("docs/extending.md", "python")
    names: dict = {"__name__": "extending"}
    monkeypatch.setitem(sys.modules, "extending", SimpleNamespace(__dict__=names))
    for code in (term, family, criterion, formulation, estimator):
        exec(code, names)
    terms = importlib.import_module("parameters.test_terms")
    assert suite("parameters.test_terms", robot=terms.ARM, term=names["CubicFriction"](), tags="d", seed=0) > 8
    monkeypatch.setitem(FAMILIES._classes, "stop-and-go", names["StopAndGo"])
    assert suite("excitation.test_trajectories", family=names["StopAndGo"](8.0, 4), start=2, end=2, n=1) > 7
    gram = np.diag([1.0, 2.0, 0.5, 3.0, 1.0, 1.0])
    criteria = importlib.import_module("excitation.test_criteria")
    make = lambda b: names["PredictionVariance"](tuple(map(tuple, gram[:b, :b])))  # noqa: E731
    monkeypatch.setitem(criteria.GRAM_CRITERIA, "prediction", make)
    assert suite("excitation.test_criteria", "d-optimal", name="prediction") == 2
    w = np.random.default_rng(0).standard_normal((9, 6))
    assert make(6)(w.T @ w)[0] == pytest.approx(np.log(np.trace(gram @ np.linalg.inv(w.T @ w))))
    formulations = importlib.import_module("identification.test_formulations")
    monkeypatch.setitem(formulations.ALL, "moving", names["Moving"](0.05))
    assert suite("identification.test_formulations", "inverse", name="moving", robot="turning") == 2
    model = DynamicModel(load("kuka-ir361"), (Viscous(), Coulomb()))
    motion = motion_of(Fourier(6.0, 5), 0.5 * np.random.default_rng(0).standard_normal((3, 11)), np.arange(3000) / 500)
    exact, errors = model.torque(motion), 5.0 * np.random.default_rng(1).standard_normal(motion.q.shape)
    for noise in (0.0 * errors, errors):
        problem = Problem(model, (Run.at(motion, exact + noise, 500.0),), folds=20)
        found, plain = names["Jackknife"]().estimate(problem), WeightedLeastSquares().estimate(problem)
        assert found.values == pytest.approx(plain.values)
    assert 0.6 < np.median(found.std / plain.std) < 1.6
    assert "Fc2" in DynamicModel(load("kuka-ir361"), (Viscous(), names["CubicFriction"]())).base.names


def test_extending_document_constraint_is_kept_and_its_bound_holds(tmp_path):
    names: dict = {}
    exec(blocks("docs/extending.md", "python")[3], names)
    robot, cable = ex.load("kuka-ir361"), names["Cable"](1, 2, 1.0)
    found = ex.design(robot, ex.Fourier(5.0, 3), constraints=[cable], starts=1)
    assert [one.status for one in found.certificate.limits if one.what == "cable"] == ["holds", "holds"]
    motion = found.curve.motion(np.linspace(found.curve.start, found.curve.end, 5001))
    assert 0.0 <= cable.values(motion).min() < 0.2  # it is what limits the motion
    differences = UserConstraint("same", cable.values, count=2).linearised(motion[:50])
    assert cable.linearised(motion[:50]).dq == pytest.approx(differences.dq, abs=1e-6)
    first, last = found.curve.knots[1:3]  # between the ramps
    for count in (5, 25, 250):
        cuts = np.linspace(first, last, count + 1)
        spans = Spans.of(found.curve, np.ones(count, dtype=int), cuts[:-1], cuts[1:])
        inside = found.curve.motion(np.linspace(cuts[:-1], cuts[1:], 21, axis=1).ravel())
        assert (cable.lower_bounds(spans) <= cable.values(inside).reshape(2, count, 21).min(axis=2) + 1e-12).all()


def test_extending_document_export_is_found_by_its_suffix(tmp_path, monkeypatch):
    monkeypatch.setattr(EXPORTS, "_classes", dict(EXPORTS._classes))
    exec(blocks("docs/extending.md", "python")[6], {})
    robot = ex.load("gautier-khalil")
    log = ex.simulate(robot, ex.design(robot, ex.RandomPoints(points=6))).recording
    found = ex.identify(robot, log, estimator=ex.WeightedLeastSquares())
    assert found.export(tmp_path / "parameters.csv") == (tmp_path / "parameters.csv",)
    lines = (tmp_path / "parameters.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == list(found.parameters.names)


def test_curvature_of_the_example_holds_between_samples():
    """The bound that certificates would rest on, against second differences of the entry."""
    names: dict = {"__name__": "extending"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "extending", SimpleNamespace(__dict__=names))
        exec(blocks("docs/extending.md", "python")[0], names)
    robot, h = load("kuka-ir361"), 1e-3
    bound = names["CubicFriction"]().bind(robot)
    time = np.arange(2000) * h
    speed = np.sin(3 * time)
    rates = np.array([1.0, 3.0, 9.0, 27.0])[:, None, None] * np.ones((4, 3, 1))
    second = np.diff(speed**3, 2) / h**2
    assert np.abs(second).max() <= bound.curvature(rates)[0, 0]


def test_safety_document(tmp_path, monkeypatch, capsys):
    """Its example certifies a motion at a tenth of the speed."""
    robot = load("panda")
    family = Fourier(10.0, 3, at_rest=True)
    curve = family.curve(random_trajectory(family, robot, 0))
    (tmp_path / "motion").mkdir()
    (tmp_path / "motion" / "trajectory.json").write_text(json_text(exact_data(curve, robot)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("docs/safety.md", "python")
    exec(code, {})
    assert capsys.readouterr().out.split() == ["True", "100.0"]


def commands(document: str) -> list[str]:
    """The lines of indented blocks that are commands, comments cut off; those that stand for a form left out."""
    lines = re.findall(r"^    (exciter .*)$", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE)
    cut = [line.partition("  #")[0].partition(" > ")[0].strip() for line in lines]
    return [line for line in cut if not set(line) & set("[…|")]


@pytest.mark.parametrize("document", ["README.md", *(f"docs/{path.name}" for path in sorted(ROOT.glob("docs/*.md")))])
def test_commands_of_documents_are_understood(document):
    """Every command line that is shown has words and options that exist."""
    known = parser()
    for line in commands(document):
        known.parse_args(shlex.split(line)[1:])


def test_getting_started_begins(tmp_path, monkeypatch, capsys):
    """Its commands up to the motion run as they stand, on an embedded robot; the search itself with one start."""
    monkeypatch.chdir(tmp_path)
    lines = commands("docs/getting-started.md")
    wanted = ("init", "base", "design", "check")
    assert [line.split()[1] for line in lines[:5]] == ["init", "base", "design", "design", "check"]
    for line in (line for line in lines if line.split()[1] in wanted):
        words = shlex.split(line.replace("arm.urdf", "kuka-ir361"))[1:]
        with pytest.raises(SystemExit) as left:
            main([*words, *(["--starts", "1"] if words[0] == "design" and words[-1] == "exciter.yaml" else [])])
        assert left.value.code == 0, f"{line}: {capsys.readouterr().err}"
        if words[0] == "init":  # a shorter motion, for the time it takes
            text = Path("exciter.yaml").read_text(encoding="utf-8")
            Path("exciter.yaml").write_text(text.replace("periods: 3", "periods: 1"), encoding="utf-8")
    assert (tmp_path / "check-motion" / "trajectory.ros2.yaml").exists()


def test_getting_started_in_python(tmp_path, monkeypatch, capsys):
    (code,) = blocks("docs/getting-started.md", "python")
    monkeypatch.chdir(tmp_path)
    exec(code, names := {})
    assert (tmp_path / "model" / "result.json").exists()
    assert names["found"].validation[0].total_percent < 5.0
    assert "certified" in capsys.readouterr().out


def test_choosing_document_quotes_the_benchmark():
    """The page's tables are those of the benchmark: the same titles and heads, and words that exist."""
    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    source = (ROOT / "benchmarks" / "choosing.py").read_text(encoding="utf-8")
    assert "python benchmarks/choosing.py" in text
    for title in ("Families", "Criteria", "Formulations", "Filters and uncertainty", "Estimators"):
        assert f"**{title}, kuka-ir361" in text
        assert f'"{title}, ' in source
    for word in re.findall(r"^\| `([\w-]+)`", text, re.MULTILINE):
        assert word in {*ESTIMATORS.words, *FORMULATIONS.words, *CRITERIA.words, *FAMILIES.words}, word


def test_api_page_is_current():
    """Written anew it is the same; else run: python docs/make_api.py."""
    assert script("docs", "make_api").main(["--check"]) == 0, "docs/api.md is not current; run: python docs/make_api.py"
