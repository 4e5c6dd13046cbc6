"""Drives with a structure that the fit lacks: named in words with its size, σ wider; of rigid drives nothing."""

from __future__ import annotations

import numpy as np
import pytest

from exciter.identification.actuators import structure
from exciter.identification.actuators.structure import LogMotion, _crossed
from support.scripts import benchmark

SECONDS = 3.0


@pytest.fixture(scope="module")
def virtual():
    return benchmark("drive_structure")


@pytest.fixture(scope="module")
def robot(virtual, tmp_path_factory):
    return virtual.described(tmp_path_factory.mktemp("gears"))


@pytest.fixture(scope="module")
def rigid(virtual, robot):
    """Residuals that do not last are looked at all the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structure, "LOOKED_AT_REPEATS", 0.0)
        return virtual.fitted(robot, virtual.moved(virtual.drawn("rigid", 0), 0, SECONDS))


def test_of_rigid_drives_nothing_is_said(virtual, rigid):
    assert not virtual.named(rigid)
    assert not [note for note in rigid.fit.notes if note.subject == "model error"]


@pytest.mark.parametrize("kind", ["elastic-motor", "backlash-link", "position"])
def test_a_wrong_structure_is_named(virtual, robot, rigid, kind):
    """Of the joint that has it, and of no other; its size about right; σ of that joint is wider than without it."""
    truth = virtual.drawn(kind, 0)
    found = virtual.fitted(robot, virtual.moved(truth, 0, SECONDS))
    notes, joint = virtual.named(found), "ab"[truth.joint]
    assert list(notes) == [joint]
    note = notes[joint]
    assert note.numbers["family"] == virtual.NAMES[kind]
    assert note.numbers["share"] > 0.4
    size = {"backlash": 2e3 * truth.size}.get(kind.split("-")[0], truth.size)
    unit = {"elastic": "Hz", "backlash": "mrad", "position": "N·m per rad"}[kind.split("-")[0]]
    told = float(note.text.split(f" {unit}")[0].split()[-1])
    assert 0.6 * size < told < 1.5 * size
    side = {"motor": "on the motor's side", "link": "on the links' side"}.get(kind.split("-")[-1], "")
    assert side in note.text
    own = [k for k, unknown in enumerate(found.fit.numbers.unknowns) if unknown.joints == (truth.joint,)]
    assert np.median(found.fit.std[own] / rigid.fit.std[own]) > 2.0


@pytest.mark.parametrize("half", [0.0005, 0.005])
def test_a_gap_is_crossed_in_its_time(half):
    """Of a load that changes its sign steadily, motor and links part with t³: (12 half / (slope (1/J + 1/rotor)))^⅓."""
    step, slope, inertia, rotor = 1e-4, 30.0, 0.05, 0.02
    time = step * np.arange(4000)
    load = slope * (0.1 - time)[:, None]
    numbers = {"armature": np.array([rotor])}
    nothing = np.zeros_like(load)
    motion = LogMotion(
        None, numbers, time, nothing, nothing, nothing, nothing, load, *[np.array([inertia])] * 3, rate=200.0
    )
    x, v, _ = _crossed(motion, 0, half)
    assert np.allclose(x[time < 0.1], -half)
    there = time[np.flatnonzero(x >= half)[0]] - 0.1
    assert there == pytest.approx((12.0 * half / (slope * (1.0 / inertia + 1.0 / rotor))) ** (1 / 3), abs=5 * step)
    assert v[-1] == 0.0
