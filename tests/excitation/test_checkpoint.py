"""A checkpoint is read like any foreign file, claims nothing that is not computed again, and grows by appending."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter import cli
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.design import design
from exciter.excitation.optimiser import run_starts as module
from exciter.excitation.optimiser.run_starts import Checkpoint
from exciter.excitation.optimiser.search import Search
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.robot import load
from exciter.workers import Processes
from support.terminal import without_progress

pytestmark = pytest.mark.slow

MODEL = DynamicModel(load("gautier-khalil"))
FAMILY = Fourier(6.0, 3, at_rest=True)
SAMPLES = 200


def designed(file, starts=3, **settings):
    return design(MODEL, FAMILY, samples=SAMPLES, starts=starts, checkpoint=file, **settings)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Header and three starts."""
    file = tmp_path_factory.mktemp("checkpoint") / "checkpoint.json"
    designed(file)
    return file.read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def whole():
    return designed(None)


def entry_with(line: bytes, **changes) -> bytes:
    return json.dumps({**json.loads(line), **changes}).encode() + b"\n"


def entry_without(line: bytes, name: str) -> bytes:
    return json.dumps({key: value for key, value in json.loads(line).items() if key != name}).encode() + b"\n"


NESTED = b"[" * 100_000 + b"\n"
DAMAGES = {
    "another kind of file": lambda head, one: b"{}\n",
    "no end of line": lambda head, one: b"{}",
    "a list": lambda head, one: b"[]\n",
    "not UTF-8": lambda head, one: head + b"\xff\xfe\n",
    "binary": lambda head, one: bytes(range(256)) + b"\n",
    "nested without end": lambda head, one: head + NESTED,
    "a header of nothing but nesting": lambda head, one: NESTED,
    "a line that is no object": lambda head, one: head + b"17\n",
    "a torn line in the middle": lambda head, one: head + one[: len(one) // 2] + b"\n" + one,
    "the same start twice": lambda head, one: head + one + one,
    "a key twice": lambda head, one: head + b'{"delta": null, ' + one[1:],
    "a value without a motion": lambda head, one: head + entry_with(one, delta=None),
    "NaN": lambda head, one: head + one.replace(b'"seconds": ', b'"seconds": NaN, "was": '),
    "a huge number": lambda head, one: head + one.replace(b'"seconds": ', b'"seconds": 1e999, "was": '),
    "digits without end": lambda head, one: head + one.replace(b'"seconds": ', b'"seconds": ' + b"9" * 9000),
    "a negative number of a start": lambda head, one: head + entry_with(one, number=-1),
    "a number of a start that is text": lambda head, one: head + entry_with(one, number="0"),
    "a truth value as a number": lambda head, one: head + entry_with(one, number=False),
    "another shape": lambda head, one: head + entry_with(one, delta=[[0.0]]),
    "ragged coefficients": lambda head, one: head + entry_with(one, delta=[[0.0], [0.0, 1.0]]),
    "words as coefficients": lambda head, one: head + entry_with(one, delta="delta"),
    "coefficients of another world": lambda head, one: head + entry_with(one, delta=[[1e300] * 7] * 3),
    "another duration": lambda head, one: head + entry_with(one, duration=60.0),
    "a history of words": lambda head, one: head + entry_with(one, history=["x"]),
    "a history of numbers": lambda head, one: head + entry_with(one, history=[1, 2]),
    "control characters for a terminal": lambda head, one: head + entry_with(one, obstacle="\x1b[2J"),
    "a value that is too good": lambda head, one: head + entry_with(one, value=-1e9),
    "a value that is a little too good": lambda head, one: (
        head + entry_with(one, value=json.loads(one)["value"] - 0.01)
    ),
    "no value": lambda head, one: head + entry_with(one, value=None),
    **{
        f"no {name}": lambda head, one, name=name: head + entry_without(one, name)
        for name in ("number", "delta", "value", "duration", "history", "evaluations", "seconds", "obstacle")
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_forged_checkpoint_is_refused_in_one_line_and_left_as_it_is(lines, tmp_path, damage):
    file = tmp_path / "checkpoint.json"
    content = DAMAGES[damage](lines[0], lines[1])
    file.write_bytes(content)
    with pytest.raises(ExciterError, match="is not a checkpoint of a design, or a damaged one: "):
        designed(file)
    assert file.read_bytes() == content


def test_a_start_that_is_said_to_have_found_nothing_is_run_again(lines, tmp_path, whole):
    """What has no motion cannot be judged again: a line that hides the best start must not decide."""
    file = tmp_path / "checkpoint.json"
    best = 1 + min(range(3), key=lambda k: whole.attempts[k].value)
    forged = entry_with(lines[best], delta=None, value=None, first_feasible=None, history=[], obstacle="torque")
    file.write_bytes(b"".join([*lines[:best], forged, *lines[best + 1 :]]))
    for _ in range(2):  # once more, with both lines of the same start
        resumed = designed(file)
        assert_allclose(resumed.delta, whole.delta, rtol=0, atol=0)
        assert [attempt.number for attempt in resumed.attempts] == [0, 1, 2]


def test_a_start_that_found_nothing_is_not_kept(tmp_path):
    objective = DesignObjective(MODEL, DOptimality(), MODEL.base.independent, np.ones(3))
    search = Search(FAMILY, objective, (), SAMPLES, 0)
    file = tmp_path / "checkpoint.json"
    Checkpoint.opened(file, search).append(replace(search.run(0), delta=None, value=np.inf))
    assert not file.exists()


def test_a_link_that_is_made_while_a_search_runs_is_not_followed(tmp_path):
    file, precious = tmp_path / "checkpoint.json", tmp_path / "precious"
    precious.write_bytes(b"precious\n")

    def link(_):
        if not file.is_symlink():
            file.symlink_to(precious)

    with pytest.raises(ExciterError, match="cannot write"):
        designed(file, progress=link)
    assert precious.read_bytes() == b"precious\n"
    assert file.is_symlink()


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    for name in ("pipe", "folder", "device", "nowhere"):
        with pytest.raises(ExciterError, match="damaged one: it is not a regular file"):
            designed(tmp_path / name)


def test_a_line_without_end_is_not_read_to_its_end(lines, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_LINE_BYTES", 10_000_000)
    file = tmp_path / "checkpoint.json"
    file.write_bytes(lines[0])
    os.truncate(file, 10**12)  # zeros, of which the disk keeps none
    with pytest.raises(ExciterError, match="a line is longer than 10 MB"):
        designed(file)


def test_coefficients_beyond_the_limits_do_not_win(lines, tmp_path):
    """Their value is what they say, and far better than what is allowed."""
    file, entry = tmp_path / "checkpoint.json", json.loads(lines[1])
    delta = 3.0 * np.array(entry["delta"])
    objective = DesignObjective(MODEL, DOptimality(), MODEL.base.independent, np.ones(3))
    value = objective.value(motion(FAMILY, delta, FAMILY.sample_times(SAMPLES)))
    assert value < entry["value"] - 10.0
    file.write_bytes(lines[0] + entry_with(lines[1], delta=delta.tolist(), value=value) + lines[2])
    with pytest.raises(ExciterError, match="the motion of start 0 breaks a limit"):
        designed(file)


def test_coefficients_that_the_family_does_not_have_are_refused(lines, tmp_path):
    """At rest at the start is what the family promises, and what no limit asks for."""
    file, delta = tmp_path / "checkpoint.json", np.array(json.loads(lines[1])["delta"])
    delta[:, 0] += 0.1
    objective = DesignObjective(MODEL, DOptimality(), MODEL.base.independent, np.ones(3))
    value = objective.value(motion(FAMILY, delta, FAMILY.sample_times(SAMPLES)))
    file.write_bytes(lines[0] + entry_with(lines[1], delta=delta.tolist(), value=value))
    with pytest.raises(ExciterError, match="coefficients of no motion of this family"):
        designed(file)


@pytest.mark.parametrize("cut", ["in the header", "after the header", "in the first start", "in the last start"])
def test_the_torn_last_line_of_a_killed_run_is_run_again(lines, tmp_path, whole, cut):
    file = tmp_path / "checkpoint.json"
    kept = {"in the header": 0, "after the header": 1, "in the first start": 1, "in the last start": 3}[cut]
    torn = b"" if cut == "after the header" else lines[kept][: len(lines[kept]) // 2]
    file.write_bytes(b"".join(lines[:kept]) + torn)
    resumed = designed(file)
    assert_allclose(resumed.delta, whole.delta, rtol=0, atol=0)
    assert [json.loads(line).get("number") for line in file.read_bytes().splitlines()] == [None, 0, 1, 2]


def test_a_resumed_search_on_two_processes_ends_as_on_one(lines, tmp_path, whole):
    file = tmp_path / "checkpoint.json"
    file.write_bytes(b"".join(lines[:2]))
    resumed = designed(file, workers=Processes(2))
    assert len(resumed.attempts) == 3
    assert_allclose([a.value for a in resumed.attempts], [a.value for a in whole.attempts], rtol=1e-6)
    assert_allclose(resumed.delta, whole.delta, rtol=0, atol=1e-3)  # kernels of another process: the last digit


def test_it_grows_by_appending(lines, tmp_path, monkeypatch):
    """Whatever is there is neither written nor read again: a thousand starts cost a thousand lines."""
    objective = DesignObjective(MODEL, DOptimality(), MODEL.base.independent, np.ones(3))
    search = Search(FAMILY, objective, (), SAMPLES, 0)
    file = tmp_path / "checkpoint.json"
    saved = Checkpoint.opened(file, search)
    attempt = search.run(0)
    saved.append(attempt)
    inode, sizes = file.stat().st_ino, [file.stat().st_size]
    monkeypatch.setattr(module, "LONGEST_LINE_BYTES", 0)  # no more than the last byte can be looked at
    for _ in range(20):
        before = file.read_bytes()
        saved.append(attempt)
        assert file.read_bytes().startswith(before)
        sizes.append(file.stat().st_size)
    assert file.stat().st_ino == inode
    assert set(np.diff(sizes)) == {len(file.read_bytes().splitlines(keepends=True)[-1])}


def test_the_command_says_it_in_one_line(capsys, tmp_path):
    (tmp_path / "checkpoint.json").write_text('{"fingerprint": 3}\n')
    with pytest.raises(SystemExit) as leaving:
        cli.main(["design", "gautier-khalil", "-o", str(tmp_path), "--starts", "1", "--resume"])
    assert leaving.value.code == 2
    said = without_progress(capsys.readouterr().err)
    assert said.count("\n") == 1
    assert "damaged one" in said
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.json"]


def interrupted(progress):
    raise KeyboardInterrupt


def test_a_new_search_that_finds_nothing_leaves_what_an_earlier_one_found(lines, tmp_path):
    """Forgotten --resume, a short time limit, Ctrl-C: finished starts are not lost before others take their place."""
    file = tmp_path / "checkpoint.json"
    file.write_bytes(b"".join(lines))
    with pytest.raises(ExciterError, match="in 1e-06 s"):
        designed(file, resume=False, time_limit=1e-6)
    assert file.read_bytes() == b"".join(lines)
    designed(file, resume=False, starts=1, progress=interrupted)  # with the motion of half a start
    assert file.read_bytes() == b"".join(lines)
    again = designed(file, resume=False, starts=1)  # the first start takes the place of all
    assert [json.loads(line).get("number") for line in file.read_bytes().splitlines()] == [None, 0]
    assert len(again.attempts) == 1


def test_a_new_motion_has_no_checkpoint_of_another_beside_it(lines, tmp_path):
    """None of its starts was complete, and what is left is of another problem: --resume would refuse it."""
    file = tmp_path / "checkpoint.json"
    file.write_bytes(b"".join(lines))
    designed(file, resume=False, starts=1, seed=1, progress=interrupted)
    assert not file.exists()


def test_a_new_search_without_a_motion_takes_its_own_starts_along(tmp_path, monkeypatch):
    file = tmp_path / "checkpoint.json"
    monkeypatch.setattr("exciter.excitation.design.promises", lambda *_: {"value": np.inf, "parameters": ("ZZ1",)})
    with pytest.raises(ExciterError, match="the criterion is infinite"):
        designed(file, resume=False, starts=1)
    assert not file.exists()
