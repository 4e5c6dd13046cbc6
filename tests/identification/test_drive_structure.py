"""Drives with a structure that the fit lacks: named in words with its size, σ wider; of rigid drives nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from exciter.identification.actuators import structure
from exciter.identification.actuators.actuator_fit import uncertainty
from exciter.identification.actuators.structure import LackingTorque, LogMotion, _crossed, _selected
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


@pytest.mark.parametrize("kind", ["elastic-motor", "backlash-link", "load"])
def test_intervals_count_what_the_structure_moved(virtual, robot, kind):
    """Of a robot with a structure that the fit lacks, all numbers but one at most; by scatter alone hardly half."""
    truth = virtual.drawn(kind, 0)
    fit = virtual.fitted(robot, virtual.moved(truth, 0)).fit
    values = np.concatenate([truth.drives.ravel(), [truth.delay]])
    low, high = fit.interval()
    assert ((low <= values) & (values <= high)).sum() >= len(values) - 1
    scatter = np.sqrt(np.diag(uncertainty(fit.fitted, np.zeros_like(fit.covariance))[0]))
    off = np.array([u.coordinate(v) for u, v in zip(fit.numbers.unknowns, values, strict=True)]) - fit.fitted.x
    assert (np.abs(off) > 2.5 * scatter).sum() >= 2


@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_noise_that_lasts_is_no_structure(seconds):
    """Traces of which chance explains a fifth and more of residuals that last."""
    rng, part = np.random.default_rng(3), np.exp(-1.0 / (200.0 * seconds))

    def lasting(count):
        return signal.lfilter([np.sqrt(1.0 - part**2)], [1.0, -part], rng.normal(size=(2000, count)), axis=0)

    shape = LackingTorque("any", lambda: np.zeros(0), lambda size: "any", positive=False)
    named = 0
    for _ in range(60):
        known, traces = lasting(6), [[[column[:, None]] for column in lasting(20).T]]
        named += bool(_selected([0], known, lasting(1), {0: traces[0]}, {0: [[shape] * 20]}, np.ones(1), [2000], 20))
    assert named <= 3
