"""``exciter init``, ``exciter completion``, --quiet: a configuration that every command takes, comments included."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from exciter.pipeline.settings_file import SettingsFile
from exciter.pipeline.starting_configuration import starting_configuration
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from support.paths import ROBOTS
from support.starting_files import exciter, uncommented

DESCRIBED = [*embedded.names(), *sorted(map(str, ROBOTS.glob("*.urdf")))]


@pytest.mark.parametrize("source", DESCRIBED, ids=lambda source: Path(source).stem)
@pytest.mark.parametrize("change", [str, uncommented])
def test_every_command_takes_the_file(source, change, tmp_path):
    """As written, and with everything that stands behind a #, whose words must not go out of date."""
    robot, path = load(source), tmp_path / "exciter.yaml"
    path.write_text(change(starting_configuration(robot, source)), encoding="utf-8")
    design = SettingsFile.read(path).design
    described = load(source, design.robot)
    model = design.model(described)
    design.criterion_of(model), design.constraints_of(described), design.noise_of(described)
    SettingsFile.read(path).virtual(described, 0)
    config = SettingsFile.read(path).identify
    config.refuse_early(described, planned=False)
    if change is str and not any(joint.limits.assumed for joint in robot.joints):
        assert [joint.limits for joint in described.joints] == [joint.limits for joint in robot.joints]
    if change is uncommented:
        assert set(yaml.safe_load(path.read_text(encoding="utf-8"))) >= {"simulate", "criterion", "seed"}


def test_init_writes_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert exciter("init", "tx40") == 0
    assert "exciter.yaml" in capsys.readouterr().out
    first = Path("exciter.yaml").read_text(encoding="utf-8")
    assert "joint_6" in first
    assert exciter("init", "panda") == 2
    assert "exists" in capsys.readouterr().err
    assert Path("exciter.yaml").read_text(encoding="utf-8") == first
    assert exciter("init", "panda", "--force", "-q") == 0
    assert capsys.readouterr().out == ""
    assert "joint_7" in Path("exciter.yaml").read_text(encoding="utf-8")
    assert exciter("init", "panda", "-o", "new/folder/settings.txt") == 2
    assert not Path("new").exists()


def test_quiet_keeps_data(capsys):
    assert exciter("robots", "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert exciter("base", "kuka-ir361", "--quiet", "--json") == 0
    assert json.loads(capsys.readouterr().out)["joints"] == 3


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_commands_and_words(tmp_path, capsys):
    """The script is asked as bash asks it."""
    assert exciter("completion", "bash") == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")

    def completed(*words: str) -> set[str]:
        quoted = " ".join(f"'{word}'" for word in words)
        asked = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _shtab_exciter; echo ${{COMPREPLY[@]}}"
        ask = f"source {script}; {asked}"
        said = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
        return set(said.stdout.split())

    assert {"validate", "design"} <= completed("exciter", "")
    assert completed("exciter", "exp") == {"export"}
    assert "consistent" in completed("exciter", "identify", "--estimator", "")
    assert {"urdf", "mjcf", "sdf", "yaml", "c", "ros2"} <= completed("exciter", "export", "--format", "")
