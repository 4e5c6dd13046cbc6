"""The whole way as functions: the same results as the commands', without a word printed, and nothing half-written."""

import json

import pytest

from exciter.cli import main
from exciter.errors import ExciterError
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.optimiser.deadline import Deadline
from exciter.excitation.validation_motion.random_families import RandomSpline
from exciter.experiment.recording import open_recording
from exciter.export.write import write_model
from exciter.pipeline.check import check, slow
from exciter.pipeline.design import Designed, design
from exciter.pipeline.inspect import inspect
from exciter.pipeline.simulate import simulate
from exciter.robot import load

pytestmark = pytest.mark.slow

NAME = "gautier-khalil"
ROBOT = load(NAME)
CONFIG = DesignSettings(starts=1)
OF_A_RUN = ("seconds", "starts", "sha256", "versions")  # other every time, but the motion is the same


@pytest.fixture(scope="module")
def designed() -> Designed:
    return design(ROBOT, settings=CONFIG)


def run(*words: object) -> None:
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    assert left.value.code == 0


def test_a_design_saved_from_python_is_that_of_the_command(designed, tmp_path, capsys):
    _, data = designed.write(tmp_path / "library")
    assert capsys.readouterr() == ("", "")
    run("design", NAME, "-o", tmp_path / "command", "--starts", 1)
    names = {path.name for path in (tmp_path / "command").iterdir()} - {"checkpoint.json"}
    assert {path.name for path in (tmp_path / "library").iterdir()} == names
    for name in names - {"design.json", "design.npz", "report.html"}:  # which have the seconds inside
        assert (tmp_path / "library" / name).read_bytes() == (tmp_path / "command" / name).read_bytes(), name
    command = json.loads((tmp_path / "command" / "design.json").read_text())
    library = json.loads((tmp_path / "library" / "design.json").read_text())
    assert library.keys() == command.keys() == data.keys()
    assert {k: v for k, v in library.items() if k not in OF_A_RUN} == {
        k: v for k, v in command.items() if k not in OF_A_RUN
    }


def test_a_motion_drawn_from_python_needs_no_folder():
    drawn = design(ROBOT, RandomSpline(), settings=CONFIG, time_limit=1e-9)  # a limit is that of a search
    assert not drawn.design.attempts
    assert drawn.design.certificate.certified
    assert drawn.sha256 is not None


def test_a_folder_that_was_made_for_nothing_is_removed(designed, tmp_path):
    with pytest.raises(ExciterError, match="give more time"):
        designed.write(tmp_path / "new", deadline=Deadline.after(0.0))
    assert not list(tmp_path.iterdir())


def test_rehearsal_inspection_and_slow_run_of_a_design_without_a_word(designed, tmp_path, capsys):
    curve = designed.design.curve
    assert check(ROBOT, curve, CONFIG).certificate.certified
    slowed = slow(ROBOT, curve, 0.5, CONFIG, origin="motion")
    slowed.write(tmp_path / "slow")
    assert json.loads((tmp_path / "slow" / "design.json").read_text())["duration"] == 2.0 * curve.duration
    simulated = simulate(ROBOT, curve, seed=3)
    log, truth = tmp_path / "log.csv", tmp_path / "secret" / "truth.json"
    assert simulated.save(log, truth) == (log, tmp_path / "log.yaml", truth)
    assert json.loads(truth.read_text())["seed"] == simulated.seed == 3
    assert inspect(ROBOT, open_recording(log), planned=curve).usable
    assert capsys.readouterr() == ("", "")


def test_a_format_that_nobody_writes_is_named_with_those_that_are(tmp_path):
    with pytest.raises(ExciterError, match=r"unknown format 'urdff'.*did you mean 'urdf'"):
        write_model(None, tmp_path / "arm.urdf", "urdff")
