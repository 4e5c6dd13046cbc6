"""Wrong input about mimic joints, loops, contacts and free bases: by the command, one line that says what is wrong and
what to do, exit code 2, nothing written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exciter import cli
from support.paths import ROBOTS
from support.standing import quadruped
from support.terminal import without_progress

PALLETISER, LOOPS, QUADRUPED = (ROBOTS / name for name in ("palletiser.urdf", "palletiser.yaml", "quadruped.urdf"))
CONNECT = "loops: [{connect: [rod_end, tail]}]\n"


@pytest.fixture
def refused(capsys, tmp_path, monkeypatch):
    """The line of a command, run where nothing may be left; CONFIG stands for a file with this text."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object, config: str | None = None) -> str:
        if config is not None:
            Path("config.yaml").write_text(config, encoding="utf-8")
            words = (*words, "--config", "config.yaml")
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(SystemExit) as leaving:
            cli.main([str(word) for word in words])
        out, err = capsys.readouterr()
        err = without_progress(err)
        assert leaving.value.code == 2
        assert out == ""
        assert err.startswith("exciter: ")
        assert err.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before
        return err

    return run


def mimicking(**leaders: str) -> Path:
    """The palletiser, joints of which follow others."""
    text = PALLETISER.read_text(encoding="utf-8")
    for joint, leader in leaders.items():
        start = f'<joint name="{joint}" type="revolute">'
        assert start in text
        text = text.replace(start, f'{start}<mimic joint="{leader}"/>')
    Path("robot.urdf").write_text(text, encoding="utf-8")
    return Path("robot.urdf")


# -- loops ---------------------------------------------------------------------------------------------------------


def test_a_loop_that_cannot_close(refused) -> None:
    line = refused("base", PALLETISER, config="loops: [{weld: [flange, column]}]")
    assert "weld of 'flange' and 'column' cannot close in any posture tried: 0.331 m are missing" in line
    assert "check its frames, or give a posture" in line


def test_a_loop_at_no_frame(refused) -> None:
    line = refused("design", PALLETISER, "-o", "out", config="loops: [{connect: [rod_end, tael]}]")
    assert "loops: unknown frame 'tael'" in line
    assert "did you mean 'tail'?" in line
    assert line.count("crank,") == 1  # names that links and joints share are listed once


def test_drives_that_are_not_there(refused) -> None:
    assert "actuated: unknown joint 'wrist'" in refused("base", PALLETISER, config=f"{CONNECT}actuated: [wrist]")
    assert "posture: unknown joint 'wrist'" in refused("base", PALLETISER, config=f"{CONNECT}posture: {{wrist: 1}}")


def test_drives_that_cannot_lead(refused) -> None:
    """Rod and elbow turn against each other, so both are one drive, and the waist has none."""
    line = refused("base", PALLETISER, config=f"{CONNECT}actuated: [rod, elbow]")
    assert "actuated: 'elbow' cannot lead" in line
    assert "no drive moves 'waist', 'crank'; name joints that move on their own" in line


def test_a_motion_of_a_joint_without_a_drive(refused) -> None:
    line = refused("design", PALLETISER, "-o", "out", config=f"{CONNECT}actuated: [waist, crank]")
    assert "no drive moves 'rod' of 'palletiser', so no motion can be asked of that" in line
    assert "actuated: …" in line


@pytest.mark.parametrize("command", ["check", "slow", "simulate"])
def test_a_motion_on_which_the_loop_does_not_stay_closed(refused, command: str) -> None:
    """Crank and upper arm a right angle apart: the parallelogram is flat, and may go on crossed."""
    time = np.linspace(0.0, 4.0, 401)
    rise = (time / 4.0) ** 3 * (10.0 - 15.0 * (time / 4.0) + 6.0 * (time / 4.0) ** 2)
    table = np.column_stack([time, *(end * rise for end in (0.1, 1.15, -0.68))])
    head = "time,waist.q,crank.q,shoulder.q"
    np.savetxt("motion.csv", table, fmt="%.9g", delimiter=",", header=head, comments="")
    further = {"check": (), "slow": ("--speed", "50", "-o", "slow"), "simulate": ("-o", "log.csv")}
    line = refused(command, PALLETISER, "motion.csv", *further[command], "--config", LOOPS)
    assert "the loop connect of 'rod_end' and 'tail' is singular at" in line
    assert "crank = 0.98" in line or "crank = 0.99" in line
    assert "keep away from it by limits" in line


# -- mimic joints --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [None, CONNECT], ids=["tree", "loops"])
def test_a_mimic_of_a_mimic_of_itself(refused, config: str | None) -> None:
    line = refused("base", mimicking(waist="shoulder", shoulder="waist"), config=config)
    assert "in a circle (mimic): 'waist' → 'shoulder' → 'waist'; let one of them lead" in line
    line = refused("base", mimicking(waist="waist"), config=config)
    assert "in a circle (mimic): 'waist' → 'waist'" in line


@pytest.mark.parametrize("config", [None, CONNECT], ids=["tree", "loops"])
def test_a_mimic_of_a_joint_that_is_not_there(refused, config: str | None) -> None:
    line = refused("base", mimicking(waist="wrist"), config=config)
    assert "mimic of 'waist': unknown joint 'wrist'; valid names: waist, crank" in line


# -- free bases ----------------------------------------------------------------------------------------------------


def log(*lines: str) -> Path:
    """A short log of the quadruped, described without base and contacts but for these lines."""
    joints, time = quadruped().joint_names[6:], np.arange(200) / 100.0
    signals = [np.sin(2.0 * time + k) for k in range(24)]
    still = np.tile([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0], (200, 1))
    head = [
        "t",
        *(f"{word}.{joint}" for word in ("q", "tau") for joint in joints),
        "x",
        "y",
        "z",
        "qw",
        "qx",
        "qy",
        "qz",
    ]
    table = np.column_stack([time, *signals, still])
    np.savetxt("log.csv", table, fmt="%.6g", delimiter=",", header=",".join(head), comments="")
    known = [
        "file: log.csv",
        "time: {column: t}",
        f"joints: [{', '.join(joints)}]",
        'position: {columns: "q.{joint}", unit: rad}',
        'torque: {columns: "tau.{joint}", unit: N·m}',
    ]
    Path("log.yaml").write_text("\n".join([*known, *lines]), encoding="utf-8")
    return Path("log.yaml")


PLACE, TURN = "base_position: {columns: [x, y, z]}", "base_orientation: {columns: [qw, qx, qy, qz], order: wxyz}"


@pytest.mark.parametrize("command", ["identify", "inspect"])
@pytest.mark.parametrize("lines", [(), (TURN,), (PLACE,)], ids=["nothing", "no place", "no attitude"])
def test_a_free_base_without_base_motion(refused, command: str, lines: tuple[str, ...]) -> None:
    where = ("-o", "out") if command == "identify" else ()
    line = refused(command, QUADRUPED, log(*lines), *where, "--base", "free")
    assert "the robot's base is free, but the log does not say how it moved" in line
    assert "give base_orientation: and base_position: (or base_twist:)" in line


@pytest.mark.parametrize("command", ["identify", "inspect"])
def test_contacts_at_no_frame(refused, command: str) -> None:
    where = ("-o", "out") if command == "identify" else ()
    given = log(PLACE, TURN, "contacts: {frames: [LF_foot, RF_foot, LH_foot, RH_fot]}")
    line = refused(command, QUADRUPED, given, *where, "--base", "free")
    assert "contacts: a contact is at no frame: unknown frame 'RH_fot'" in line
    assert "did you mean 'RH_foot'?" in line
    assert "others" in line  # of fifty frames those that are like it
    assert len(line) < 400
