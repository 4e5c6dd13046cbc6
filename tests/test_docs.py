"""What the documents show must work as it stands."""

import re
from pathlib import Path

import yaml

from exciter.excitation.config.design_config import read_config
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
    """Its example designs a certified motion; its configuration, and the README's, are understood as they stand."""
    (code,) = blocks("docs/design.md", "python")
    names: dict = {}
    exec(code, names)
    assert names["designed"].certificate.certified
    assert len(names["motion"]) == 3
    for document, robot in (("docs/design.md", "panda"), ("README.md", "ur10e")):
        (text,) = blocks(document, "yaml")
        path = tmp_path / "design.yaml"
        path.write_text(text, encoding="utf-8")
        config = read_config(path)
        arm = load(robot, config.robot)
        model = config.model(arm)
        assert config.trajectory().duration == 10.0
        assert len(config.constraints(model)) >= 3
        config.criterion(model)


def test_documents_name_only_what_exists():
    """Every file a document links to is there."""
    for document in ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md"))]:
        text = (ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert ((ROOT / document).parent / target).exists(), f"{document} links to {target}"
