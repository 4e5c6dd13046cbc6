"""Maps from current to torque: monotone both ways, read and written, in the virtual robot, and behind a filter."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import exciter as ex
from exciter.errors import ExciterError, RecordingError
from exciter.experiment.recording import About, Recording, TransferFunction, open_recording, write_recording
from exciter.experiment.recording.current_map import (
    PolynomialMap,
    SaturationMap,
    TableMap,
    mapped,
    unmapped,
)
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.virtual.sensors import GearedDrive, TorqueMeter
from exciter.experiment.virtual.virtual_robot import SimulateSettings

MAPS = {
    "cubic": PolynomialMap((12.0, 0.0, -0.02)),
    "signed square": PolynomialMap((12.0, -0.3)),
    "uneven": PolynomialMap((12.0,), (0.1,)),
    "backwards": PolynomialMap((-7.5, 0.0, 0.01)),
    "saturation": SaturationMap(12.0, 90.0),
    "table": TableMap((0.0, 5.0, 10.0, 15.0), (0.0, 60.0, 115.0, 150.0)),
    "whole table": TableMap((-10.0, 0.0, 4.0, 10.0), (90.0, 0.0, -40.0, -80.0)),
}


@pytest.mark.parametrize("name", MAPS)
def test_there_and_back(name):
    """The slope beside differences; the inverse; what lies beyond is refused, missing samples stay missing."""
    one = MAPS[name]
    low, high = (float(np.clip(end, -12.0, 12.0)) for end in one.reach)
    current = np.linspace(0.97 * low, 0.97 * high, 301)
    torque, step = one.to_torque(current), 1e-6
    assert (np.diff(torque) * np.sign(one.small_gain) > 0.0).all()
    differences = (one.values(current + step) - one.values(current - step)) / (2.0 * step)
    assert_allclose(one.slopes(current), differences, rtol=1e-5, atol=1e-5)
    assert_allclose(one.to_current(torque), current, atol=1e-9)
    assert np.isnan(one.to_torque(np.array([np.nan]))).all()
    if np.isfinite(one.reach[1]):
        with pytest.raises(RecordingError, match=r"the current of 'a' reaches .* A, and its map ends at"):
            one.to_torque(np.array([0.0, 1.01 * one.reach[1]]), "a")
        with pytest.raises(ExciterError, match=r"'a' needs .* N·m, and its drive gives"):
            one.to_current(np.array([1e4]), "a")


def test_a_saturation_is_a_table_of_itself():
    """Two ways: a formula, and monotone cubics through its values."""
    whole = SaturationMap(12.0, 90.0)
    i = np.linspace(0.0, 20.0, 401)
    table = TableMap(tuple(i), tuple(whole.values(i)))
    at = np.linspace(-19.0, 19.0, 77)
    assert_allclose(table.to_torque(at), whole.to_torque(at), atol=2e-4)


FORMS = {
    "map: {saturation: {gain: 12, limit: 90}}": (MAPS["saturation"],) * 2,
    "map: [{polynomial: {odd: [12, 0, -0.02]}}, 7.5]": (MAPS["cubic"], PolynomialMap((7.5,))),
    "map: {b: {table: {current: [0, 5, 10, 15], torque: [0, 60, 115, 150]}}, a: 3}": (
        PolynomialMap((3.0,)),
        MAPS["table"],
    ),
}


def described(folder, text: str) -> Recording:
    rows = "\n".join(f"{k / 100},0,1,{2 + k},{3 - k / 2}" for k in range(9))
    (folder / "log.dat").write_text(f"t,q1,q2,i1,i2\n{rows}")
    whole = "file: log.dat\njoints: [a, b]\ntime: {column: t}\nposition: {columns: [q1, q2], unit: rad}\n"
    (folder / "recording.yaml").write_text(f"{whole}current: {{columns: [i1, i2], unit: A, {text}}}\n")
    return open_recording(folder / "recording.yaml").read()


@pytest.mark.parametrize("text", FORMS)
def test_a_description_says_it_and_own_files_keep_it(text, tmp_path):
    recording = described(tmp_path, text)
    assert recording.about.map == FORMS[text]
    expected = np.column_stack([one.values(x) for one, x in zip(FORMS[text], recording.current.T, strict=True)])
    assert_allclose(recording.needed_torque(), expected)
    assert recording.side == "motor"
    for name in ("own.csv", "own.npz"):
        write_recording(recording, tmp_path / name)
        again = open_recording(tmp_path / name).read()
        assert again.about.map == FORMS[text]
        assert_allclose(again.needed_torque(), expected)
    turned = Recording(("b", "a"), recording.time, recording.q, current=recording.current, about=recording.about)

    class Two:
        joint_names, n, free_base = ("a", "b"), 2, ()

    assert turned.arranged(Two()).about.map == FORMS[text][::-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("map: {saturation: {gain: 0, limit: 9}}", "gain is 0"),
        ("map: {saturation: {gain: 3}}", "limit"),
        ("map: {saturation: {gain: 3, limit: -1}}", "limit is -1"),
        ("map: {polynomial: {odd: []}}", "begins with the gain"),
        ("map: {polynomial: {odd: [0, 1]}}", "begins with the gain"),
        ("map: {table: {current: [0, 1], torque: [0]}}", "as many of both"),
        ("map: {table: {current: [0, 1, 2], torque: [0, 3, 2]}}", "all along"),
        ("map: {table: {current: [1, 2], torque: [1, 2]}}", "begin at 0"),
        ("map: {spline: {}}", "polynomial, saturation, table"),
        ("map: {a: 3}", "must name every joint once"),
        ("map: [1, 2, 3]", "has 3 entries"),
        ("map: 3, gains: [1, 2]", "both say what currents mean"),
        ("map: {saturation: {gain: 1e9, limit: 1e40}}", "limit is"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(text, said, tmp_path):
    with pytest.raises(RecordingError, match=said) as error:
        described(tmp_path, text)
    assert "\n" not in str(error.value)


def test_periods_are_averaged_and_unfiltered_before_they_are_mapped():
    """τ(H⁻¹ of the mean current), not H⁻¹ of the mean of τ: exact for a drive that is far from a gain."""
    period, rate = 2.0, 200.0
    time = np.arange(int(6 * period * rate)) / rate
    analog, bent = TransferFunction((1.0,), (0.02, 1.0)), SaturationMap(10.0, 40.0)
    tones = np.arange(1.0, 6.0) / period
    before = (np.sin(2.0 * np.pi * np.outer(time, tones) + tones) * 3.0).sum(axis=1)
    filtered = ((3.0 * analog.response(tones)) * np.exp(1j * (2.0 * np.pi * np.outer(time, tones) + tones))).sum(axis=1)
    q = np.sin(2.0 * np.pi * time / period)[:, None]
    about = About(period=period, settled=0.0, filter=analog, map=(bent,))
    processed = FourierFit().apply(Recording(("a",), time, q, current=filtered.imag[:, None], about=about))
    truth = bent.values(before)
    assert_allclose(processed.torque[:, 0], truth[: len(processed)], atol=1e-8 * np.abs(truth).max())
    late = bent.values(filtered.imag)
    assert np.abs(late - truth).max() > 0.2 * np.abs(truth).max()


def test_a_virtual_drive_that_saturates(tmp_path):
    """Its currents stand for the torque it gave; a log says all of it, its gains, or nothing, as asked."""
    robot = ex.load("gautier-khalil")
    motion = ex.design(robot, ex.RandomPoints(points=3), seed=1)
    maps = (SaturationMap(30.0, 900.0), PolynomialMap((40.0,)), PolynomialMap((25.0,)))
    quiet, found = TorqueMeter(current=True, noise=0.0), {}
    for stated in ("map", "gains", "nothing"):
        drive = GearedDrive(map=maps, stated=stated)
        found[stated] = ex.simulate(robot, motion, SimulateSettings(drive=drive, torque=quiet))
    run = found["map"]
    about = run.recording.about
    assert about.map[0] == SaturationMap(30.0, 900.0)
    assert_allclose(run.recording.needed_torque()[1:-1], run.torque[1:-1], rtol=1e-9, atol=1e-6)
    assert found["gains"].recording.about.gains == (30.0, 40.0, 25.0)
    assert not found["nothing"].recording.about.knows_torques
    error = np.abs(found["gains"].recording.needed_torque() - run.torque)
    assert error[:, 0].max() > 1e-4 * np.abs(run.torque[:, 0]).max()
    assert error[:, 1].max() < 1e-9 * np.abs(run.torque[:, 1]).max()
    weak = SimulateSettings(drive=GearedDrive(map=(maps[0], SaturationMap(30.0, 1.0), maps[2])), torque=quiet)
    with pytest.raises(ExciterError, match=r"'joint_2' needs .* its drive gives -1 … 1 N·m"):
        ex.simulate(robot, motion, weak)


def test_lists_of_one_map_are_of_all_joints():
    maps, current = (SaturationMap(3.0, 5.0),), np.array([[0.1, -0.2, 0.3]])
    torque = mapped(maps, current, ("a", "b", "c"))
    assert_allclose(unmapped(maps, torque, ("a", "b", "c")), current)
    with pytest.raises(RecordingError, match="leave one out"):
        replace(About(gains=(1.0,)), map=maps)
