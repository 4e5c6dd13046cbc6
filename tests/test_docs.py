"""What the documents show must work as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.config.constraint_config import KEYS as CONSTRAINT_KEYS
from exciter.excitation.config.constraint_config import OBSTACLES
from exciter.excitation.config.criterion_config import COMPANIONS
from exciter.excitation.config.design_config import read_config
from exciter.excitation.config.region_config import REGIONS
from exciter.excitation.config.robot_part import DESIGN_KEYS
from exciter.excitation.config.terms import WORDS
from exciter.excitation.config.trajectory_config import EXECUTION, FAMILIES
from exciter.excitation.criteria.registry import CRITERIA, settings_of
from exciter.experiment.recording import open_recording
from exciter.identification.config.estimators import WORDS as ESTIMATORS
from exciter.identification.config.formulations import WORDS as FORMULATIONS
from exciter.identification.config.identify_config import KEYS as IDENTIFY_KEYS
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.robot import load
from exciter.robot.options import options_from

ROOT = Path(__file__).parents[1]


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)


def test_readme_example_gives_what_its_comments_say(capsys):
    (code,) = blocks("README.md", "python")
    names: dict = {}
    exec(code, names)
    assert "ZZR1 = ZZ1 + Ia1 + YY2" in capsys.readouterr().out
    assert names["W"].shape == (1000, 7, 62)
    assert names["tau"].shape == (1000, 7)
    assert names["H"].shape == (62, 62)


def test_robot_documents(tmp_path):
    options, table = blocks("docs/robots.md", "yaml")
    given = options_from(yaml.safe_load(options))
    assert (given.limits["acceleration"], set(given.lock)) == (5.0, {"finger_1", "finger_2"})
    path = tmp_path / "arm.yaml"
    path.write_text(table, encoding="utf-8")
    robot = load(path)
    assert [j.kind for j in robot.joints] == ["revolute", "revolute", "prismatic"]
    assert robot.frame("tool").joint == 2


def test_design_document(tmp_path):
    """Its examples do what they say; its configuration, and the README's, are understood as they stand."""
    first, constraint, curve = blocks("docs/design.md", "python")
    names: dict = {}
    exec(first, names)
    assert names["designed"].certificate.certified
    assert len(names["motion"]) == 3
    exec(constraint, names)
    exec(curve, names)
    assert names["certificate"].certified
    assert names["columns"].names == ("load", "MX2")
    verdict = certify(names["robot"], names["curve"], [names["cable"]])
    cable = [limit for limit in verdict.limits if limit.what == "cable"]
    assert [limit.status for limit in cable] == ["holds", "holds"]
    assert cable[0].reached == pytest.approx(1 - 0.3, abs=1e-6)
    for document, robot in (("docs/design.md", "panda"), ("README.md", "ur10e")):
        text = blocks(document, "yaml")[0]
        path = tmp_path / "design.yaml"
        path.write_text(text, encoding="utf-8")
        config = read_config(path)
        arm = load(robot, config.robot)
        model = config.model(arm)
        assert config.trajectory().duration == 10.0
        assert len(config.constraints(model)) >= 3
        config.criterion(model)


def test_readme_describes_a_log(tmp_path):
    text = blocks("README.md", "yaml")[1]
    (tmp_path / "recording.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "log.csv").write_text("stamp,enc_1,enc_2,i_1,i_2\n0,0,90,2,1\n4,180,90,2,1\n", encoding="utf-8")
    recording = open_recording(tmp_path / "recording.yaml").read()
    assert recording.time.tolist() == [0.0, 0.004]
    assert recording.q[1].tolist() == pytest.approx([np.pi, np.pi / 2])
    assert recording.needed_torque()[0].tolist() == pytest.approx([25.0, 8.1])


def test_design_document_names_every_key():
    """Whatever the configuration understands is in the document, and the seeds were filled in."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    constraints = [*CONSTRAINT_KEYS, "margin", "payload", "clearance", "pairs", "meshes", "against", "any_of"]
    families = [key for keys, _ in FAMILIES.values() for key in keys]
    settings = {key for word in CRITERIA for key in settings_of(word)} - {"trajectory", "chi", "criterion"}
    words = (*DESIGN_KEYS, *EXECUTION, *constraints, *families, *REGIONS, *OBSTACLES, *CRITERIA, *COMPANIONS, *WORDS)
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
    config = IdentifyConfig.read(path)
    assert set(config.section.data) == set(IDENTIFY_KEYS)
    config.estimator(load("kuka-ir361"))
    text = (ROOT / "docs" / "identify.md").read_text(encoding="utf-8")
    for word, (keys, _) in {**ESTIMATORS, **FORMULATIONS}.items():
        assert f"`{word}`" in text, word
        for key in keys:
            assert key in text, f"{word}: {key}"
