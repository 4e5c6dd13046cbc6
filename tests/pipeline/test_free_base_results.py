"""What becomes of logs of a free base: results of its six equations alone, and what is refused of contacts."""

from __future__ import annotations

from pathlib import Path

import pytest

import exciter as ex
from exciter.cli import main
from exciter.errors import ParameterError
from exciter.experiment.recording import write_recording
from exciter.experiment.virtual.standing import StandingNoise
from support.standing import QUADRUPED, flying
from support.terminal import without_progress

NOISE = StandingNoise(position=5e-5, torque=0.01, place=5e-5, attitude=1e-4)


def command(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    return int(left.value.code or 0)


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With measured forces, so that the six equations of the base tell parameters in kg."""
    path = tmp_path_factory.mktemp("flight") / "flight.csv"
    write_recording(flying().stood.recording(NOISE, forces=True), path)
    return path


@pytest.mark.parametrize("estimator", ["wls", "prior"])
def test_equations_of_the_base_end_with_a_verdict_and_predict_no_torques(
    flight: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], estimator: str
) -> None:
    folder = tmp_path / "found"
    asked = ("--base", "free", "--formulation", "base-link", "--estimator", estimator)
    assert command("identify", QUADRUPED, flight.with_suffix(".yaml"), "-o", folder, *asked) == 0
    out, err = capsys.readouterr()
    assert "quadruped: " in out
    assert "Careful: not validated" in out
    assert out.splitlines()[-1].startswith("the result is of formulation base-link, the six equations of a free base")
    assert without_progress(err) == ""
    assert not (folder / "identified.urdf").exists()
    for asked in (("validate", folder, flight), ("export", folder, "--format", "urdf", "-o", tmp_path / "robot.urdf")):
        assert command(*asked) == 2
        message = capsys.readouterr().err
        assert "formulation base-link, the six equations of a free base: it predicts no joint torques" in message
        assert "give other motion when you identify (validate)" in message
        assert "formulation dynamic" in message
    found = ex.open(folder)
    assert isinstance(found, ex.Identified)
    assert not found.predicts
    with pytest.raises(ParameterError, match="can be neither validated nor exported"):
        _ = found.as_model
