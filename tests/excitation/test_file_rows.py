"""Edges of trajectory files: the first and the last row, what is refused with which row, and that two files are one
motion only where they are it bit for bit."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from exciter.errors import ExciterError, MotionError
from exciter.excitation.files.row_files import (
    MOST_FILE_ROWS,
    MotionSamples,
    Rounding,
    _numbers_text,
    _time,
    check_rows,
    csv_text,
    json_as_written,
    message_as_written,
    parse_csv,
    parse_ros2,
    ros2_json,
    ros2_yaml,
    sample,
)
from exciter.excitation.files.trajectory_files import (
    DEFAULT_FILE_RATE_HZ,
    NODES_PER_ROW,
    ROS2_JSON,
    TABLE_FILE,
    TIMED_ROWS,
    exact_curve,
    exact_data,
    export,
    export_seconds,
    rates,
    read_trajectory,
    same_curve,
    slowed,
)
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from support.trajectory_tables import JOINTS, ROBOT, YES, ramped, series, table

Array = np.ndarray


# -- lines ------------------------------------------------------------------------------------------------------------

HIDDEN_ENDS = ["\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
TWO_ROWS = "{a},0,0,0,0,0,0{end}{b},0,0,0,0,0,0"


def moved(*rows: str) -> str:
    header = ["time", *(f"{name}.{word}" for name in JOINTS for word in ("q", "qd"))]
    return "\n".join([",".join(header), *rows])


@pytest.mark.parametrize("mark", HIDDEN_ENDS, ids=ascii)
def test_no_row_is_read_that_other_readers_do_not_see(mark: str, tmp_path: Path) -> None:
    """Nor is one left out: where some end a line and others do not, nobody knows what is executed."""
    rest = (TWO_ROWS.format(a=0, b=1, end="\n"), TWO_ROWS.format(a=4, b=5, end="\n"))
    message = ros2_yaml(table(ramped(), 5), JOINTS)
    for name, text, line in (
        ("rows.csv", moved(rest[0], TWO_ROWS.format(a=2, b=3, end=mark), rest[1]), 4),
        ("comment.csv", moved(rest[0], f"# away{mark}2,0,0,0,0,0,0", rest[1]), 4),
        ("blank.csv", moved(rest[0], mark, rest[1]), 4),
        ("end.csv", moved(rest[0], *rest[1:]) + mark, 5),
        ("message.yaml", f"# away{mark}\n{message}", 1),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        with pytest.raises(MotionError, match=rf"line {line} has the character .*; remove it") as error:
            read_trajectory(tmp_path / name, ROBOT)
        assert "\n" not in str(error.value)


def test_a_file_has_one_way_to_end_its_lines(tmp_path: Path) -> None:
    """Behind a comment, a row that only readers of old files see; "\\n" and "\\r\\n" are one to all of them."""
    for text, fine in (
        (moved("0,0,0,0,0,0,0", "# away\r1,0.5,0,0,0,0,0", "2,0,0,0,0,0,0"), False),
        (moved("0,0,0,0,0,0,0\r\n1,0,0,0,0,0,0", "2,0,0,0,0,0,0"), True),
    ):
        (tmp_path / "rows.csv").write_text(text, encoding="utf-8", newline="")
        if fine:
            assert read_trajectory(tmp_path / "rows.csv", ROBOT).knots.tolist() == [0.0, 1.0, 2.0]
            continue
        with pytest.raises(MotionError, match=r"and a '\\r' alone, at which some readers begin a new line"):
            read_trajectory(tmp_path / "rows.csv", ROBOT)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=ascii)
def test_lines_end_as_all_systems_end_them(end: str, tmp_path: Path) -> None:
    text = moved(*(f"{k},0,0,0,0,0,0" for k in range(4)), "").replace("\n", end)
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8", newline="")
    assert read_trajectory(tmp_path / "rows.csv", ROBOT).knots.tolist() == [0.0, 1.0, 2.0, 3.0]


# -- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [3.0, 10.0, 50.0])
@pytest.mark.parametrize("knots", [[0.0, 1.0], [0.0, 0.313, 1.0], [0.0, 0.34, 0.36, 0.9], [2.0, 2.043, 3.071]])
def test_rows_are_the_knots_and_what_of_the_grid_is_half_a_step_from_them(rate: float, knots: list[float]) -> None:
    curve = Curve((PolynomialPiece(knots, np.zeros((1, len(knots) - 1, 2))),))
    own = np.array(knots) - knots[0]
    grid = [k / rate for k in range(1, 1000) if k / rate < own[-1] - 1e-12]
    kept = [t for t in grid if np.abs(own - t).min() > 0.5 / rate + 1e-12]
    expected = np.unique(np.round([*own, *kept], 9))
    np.testing.assert_allclose(sample(curve, rate).time, expected, atol=1e-9)


def test_more_rows_than_can_be_read_are_refused() -> None:
    check_rows(MOST_FILE_ROWS / 100.0, 100.0)
    with pytest.raises(MotionError, match="at most 1000000"):
        check_rows(MOST_FILE_ROWS / 100.0 + 0.02, 100.0)
    with pytest.raises(MotionError, match="at most 1000000"):
        sample(Curve((PolynomialPiece([0.0, 2.0], np.zeros((1, 1, 2))),)), 1e6)
    assert rates(100.0, MOST_FILE_ROWS / 400.0) == (100.0, 200.0, 400.0)
    assert rates(100.0) == (100.0, 200.0, 400.0, 800.0, 1000.0)
    assert rates(100.0, MOST_FILE_ROWS / 1000.0)[-1] == 1000.0
    assert rates(100.0, MOST_FILE_ROWS / 999.0)[-1] == 800.0
    assert DEFAULT_FILE_RATE_HZ == 200.0


def test_the_time_of_an_export_is_that_of_a_few_rows_and_of_a_certificate_with_more_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, module = list[str](), sys.modules["exciter.excitation.files.trajectory_files"]

    def noted(path: Path, robot: Any) -> Curve:
        read.append(path.name)
        return read_trajectory(path, robot)

    monkeypatch.setattr(module, "read_trajectory", noted)
    curve = ramped()
    count = len(sample(curve, 50.0).time)
    for nodes, share in (
        (100, NODES_PER_ROW * count / 100),
        (0, NODES_PER_ROW * count),
        (10**6, 1.0),
    ):
        clock = iter([10.0, 13.0])
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda clock=clock: next(clock)))
        assert export_seconds(ROBOT, curve, 50.0, 2.0, nodes) == pytest.approx(3.0 * count / TIMED_ROWS + 2.0 * share)
    assert read == [TABLE_FILE, ROS2_JSON] * 3  # the YAML is compared with it


def rows(count: int, *, qd: bool) -> MotionSamples:
    still = np.zeros((count, 2))
    return MotionSamples(np.arange(count) / 10.0, still, still if qd else None)


def test_a_motion_has_enough_rows_of_numbers_in_the_order_of_time() -> None:
    """Each complaint names the first row that it is about."""

    def says(samples: MotionSamples, words: str) -> None:
        with pytest.raises(MotionError, match=words):
            samples.checked("file", lambda k: f"row {k}")

    for qd, least in ((True, 2), (False, 4)):
        assert rows(least, qd=qd).checked("file", str).curve().duration == pytest.approx((least - 1) / 10.0)
        says(rows(least - 1, qd=qd), f"q {'and q̇' if qd else 'alone'} needs at least {least}")
    good = rows(9, qd=True)
    for bad in (np.nan, np.inf, -np.inf, 1e300, -1e300):
        for name, word in (("time", "time"), ("q", "q"), ("qd", "q̇")):
            values = np.array(getattr(good, name))
            values[3], values[6] = bad, bad
            says(replace(good, **{name: values}), f"in {word} of row 3")
    for late in (0.1, 0.05, 0.1 + 4e-10):
        time = np.array(good.time)
        time[2] = time[5] = late
        says(replace(good, time=time), "row 1 has 0.1.* s and row 2 has")


# -- tables and messages ----------------------------------------------------------------------------------------------


def test_a_column_has_one_meaning() -> None:
    header = ["time", *(f"{name}.q" for name in JOINTS)]
    numbers = "\n".join(",".join([f"0.{k}", *"000"]) for k in range(5))

    def parsed(names: list[str], lines: str) -> MotionSamples:
        return parse_csv(",".join(names) + "\n" + lines, ROBOT, "file")

    assert len(parsed(header, numbers).time) == 5
    wider = "\n".join(line + ",7" for line in numbers.splitlines())
    for twice in ("time", f"{JOINTS[1]}.q"):
        with pytest.raises(MotionError, match="two columns"):
            parsed([*header, twice], wider)
    even = "\n".join(line + ",7,8" for line in numbers.splitlines())  # torques may be there, as often as they like
    assert len(parsed([*header, f"{JOINTS[0]}.tau", f"{JOINTS[0]}.effort"], even).time) == 5
    for lines in (wider, "\n".join(line.rpartition(",")[0] for line in numbers.splitlines())):
        with pytest.raises(MotionError, match=r"4 names in its header and [35] numbers"):
            parsed(header, lines)
    assert len(parsed([f" {name} " for name in header], numbers).time) == 5
    assert len(parsed([f'" {name} "' for name in header], numbers).time) == 5
    blanks = replace(ROBOT, joints=(replace(ROBOT.joints[0], name=" a "), *ROBOT.joints[1:]))
    assert len(parse_csv(csv_text(table(ramped(), 5), blanks.joint_names), blanks, "file").time) == 5
    named = replace(ROBOT, joints=(replace(ROBOT.joints[0], name="time"), *ROBOT.joints[1:]))
    text = ",".join(["time", "time.q", *header[2:]]) + "\n" + numbers
    assert parse_csv(text, named, "file").time[-1] == 0.4  # a joint of that name has its columns, time has its own
    with pytest.raises(MotionError, match="1 row; a motion given by q alone needs at least 4"):
        parsed(header, "0,0,0,0")


def test_a_message_says_all_of_every_point() -> None:
    def point(k: int, **others: Any) -> dict[str, Any]:
        return {"positions": [0, 0, 0], "velocities": [0, 0, 0], "time_from_start": {"sec": k}, **others}

    def parsed(*points: Any) -> MotionSamples:
        return parse_ros2({"joint_names": list(JOINTS), "points": list(points)}, ROBOT, "file")

    assert parsed(point(0), point(1)).time.tolist() == [0.0, 1.0]
    bare = {"positions": [0, 0, 0], "accelerations": [1, 1, 1]}
    with pytest.raises(MotionError, match="accelerations but no velocities"):
        parsed(*({**bare, "time_from_start": {"sec": k}} for k in range(5)))
    for no_point in (3, None, "x", [0, 0, 0]):
        with pytest.raises(MotionError, match="has no list of points"):
            parsed(point(0), no_point, point(2))
    for wrong in ({"positions": [0, 0]}, {"velocities": [0, 0, 0, 0]}, {"velocities": []}, {"velocities": 3}):
        with pytest.raises(MotionError, match="point 2 must have 3"):
            parsed(point(0), point(1, **wrong))


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({"sec": 2, "nanosec": 500_000_000}, 2.5),
        ({"secs": 2, "nsecs": 500_000_000}, 2.5),
        ({"sec": 2, "nanosec": 5, "secs": 2, "nsecs": 5}, 2.000000005),
        ({"sec": 2, "secs": 3}, None),
        ({"nanosec": 5, "nsecs": 6}, None),
        ({"sec": 3}, 3.0),
        ({"nanosec": 1}, 1e-9),
        ({"sec": 2.5}, None),
        ({"sec": True}, None),
        ({"sec": 1, "nanosec": 0.5}, None),
        ({"sec": 1, "minutes": 1}, None),
        ({"sec": "1"}, None),
        ({"sec": 2**32 - 1}, 2.0**32 - 1.0),
        ({"sec": 2**32}, None),
        ({"sec": 1, "nanosec": -(2**32)}, None),
        ({"sec": 10**400}, None),
        (1.5, None),
        (None, None),
    ],
)
def test_times_of_messages_are_whole_nanoseconds(given: Any, seconds: float | None) -> None:
    if seconds is not None:
        assert _time(given, 0, "file") == seconds
        return
    with pytest.raises(MotionError, match="point 1 has time_from_start"):
        _time(given, 0, "file")


def test_numbers_have_a_point_that_yaml_wants() -> None:
    for value in (1e-05, 1.5e-07, 1e22, 0.1, -2.0, 1e300, 123456789.125):
        text = _numbers_text([-value, value])
        assert json.loads(text) == yaml.safe_load(text) == [-value, value]
        assert text.count(".") == 2
    samples = table(ramped(), 5)
    text = ros2_yaml(samples, JOINTS)
    assert message_as_written(text) == json.loads(ros2_json(samples, JOINTS))
    assert json_as_written(text) == ros2_json(samples, JOINTS)
    lines = text.splitlines()
    for changed in (lines[1:], [lines[0], *lines[2:]], [*lines[:2], *lines[3:]], [*lines, lines[-1]], [*lines, "x: 1"]):
        assert message_as_written("\n".join(changed)) is json_as_written("\n".join(changed)) is None


@pytest.mark.parametrize("name", ["trajectory.csv", "another.csv"])
def test_no_motion_is_read_from_a_folder_whose_writer_was_stopped(name: str, tmp_path: Path) -> None:
    """Also where design.json has no hash of it: which of two designs it is of, nobody knows."""
    (tmp_path / name).write_text(csv_text(table(ramped(), 5), JOINTS), encoding="utf-8")
    assert read_trajectory(tmp_path / name, ROBOT).n == ROBOT.n
    (tmp_path / "design.json").write_text('{"unfinished": "design", "sha256": {}}', encoding="utf-8")
    with pytest.raises(ExciterError, match="is not whole: the run that wrote it was stopped"):
        read_trajectory(tmp_path / name, ROBOT)


@pytest.mark.parametrize("key", ["sec", "nanosec"])
def test_a_time_that_no_message_holds_is_refused_however_the_file_is_read(key: str, tmp_path: Path) -> None:
    """A message that has the form of our own takes another way than one that has not, and both have bounds."""
    text = ros2_yaml(table(ramped(), 5), JOINTS)
    wrong = re.sub(rf'"{key}": [0-9]+', f'"{key}": {"9" * 400}', text)
    for name, content in (("own.yaml", wrong), ("foreign.yaml", "# mine\n" + wrong)):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(ExciterError, match="a whole number of 400 digits is too large"):
            read_trajectory(tmp_path / name, ROBOT)


# -- the exact motion -------------------------------------------------------------------------------------------------


def test_the_exact_file_says_how_long_the_motion_is_and_which_family_it_is_of() -> None:
    late = ramped().shifted(5.0)
    assert exact_data(late, ROBOT)["duration"] == pytest.approx(late.duration)
    family = Fourier(10.0, 2)
    delta = np.zeros((3, family.coefficients))
    assert exact_data(late, ROBOT, family, delta)["periods"] == 1
    for given in ((None, None), (family, None), (None, delta)):
        assert set(exact_data(late, ROBOT, *given)) == {"joints", "duration", "pieces"}
    once = exact_data(late, ROBOT, family, delta)
    del once["pieces"], once["duration"]
    for periods, duration in ((None, 10.0), (1, 10.0), (3, 30.0)):
        data = {**once, "periods": periods} if periods else {k: v for k, v in once.items() if k != "periods"}
        assert exact_curve(data, ROBOT, "file").duration == pytest.approx(duration)
    for bad in (np.nan, np.inf, 1.1e30, -1.1e30):
        wrong = {**once["coefficients"], JOINTS[1]: [*once["coefficients"][JOINTS[1]][:-1], bad]}
        with pytest.raises(MotionError, match="the coefficients have NaN, infinity, or a number beyond"):
            exact_curve({**once, "coefficients": wrong}, ROBOT, "file")
    unknown: Any = SimpleNamespace(start=0.0, end=1.0, pieces=(object(),))
    with pytest.raises(MotionError, match="has no exact form"):
        exact_data(unknown, ROBOT)


def test_pieces_are_made_of_numbers_that_can_be_evaluated() -> None:
    good = json.loads(json.dumps(exact_data(Curve((series(),)), ROBOT)))
    assert exact_curve(good, ROBOT, "file").duration == 10.0

    def says(words: str, **changes: Any) -> None:
        with pytest.raises(MotionError, match=words):
            exact_curve({**good, "pieces": [{**good["pieces"][0], **changes}]}, ROBOT, "file")

    for harmonics in ([1.5, 2, 5], [1, 2, 5.5], [0.5, 1.5, 2.5]):
        says("whole numbers", harmonics=harmonics)
    for bad in (np.nan, np.inf, 1.1e30, -1.1e30):
        says("NaN, infinity, or a number beyond", omega=bad)
        says("NaN, infinity, or a number beyond", offset=[0.0, bad, 0.0])
    for pieces in ([], {}, None, "x", {"kind": "fourier"}):
        with pytest.raises(MotionError, match="has no pieces"):
            exact_curve({**good, "pieces": pieces}, ROBOT, "file")
    knots = {"kind": "polynomial", "coefficients": np.zeros((3, 2, 2)).tolist()}
    for second, refused in ((0.5e-9, True), (0.6e-9, False), (-1.0, True), (0.0, True)):
        data = {"joints": good["joints"], "pieces": [{**knots, "knots": [0.0, second, 1.0]}]}
        if refused:
            with pytest.raises(MotionError, match="must increase"):
                exact_curve(data, ROBOT, "file")
        else:
            assert exact_curve(data, ROBOT, "file").duration == 1.0


# -- one motion in four files -----------------------------------------------------------------------------------------


def test_curves_are_the_same_only_bit_for_bit() -> None:
    """Wherever the difference is: between the knots, in time, in one joint of one span."""
    samples = table(ramped(), 9)
    curve = samples.curve()
    assert same_curve(curve, samples.curve())
    for name in ("time", "q", "qd", "qdd"):
        for k in range(9):
            values = np.array(getattr(samples, name))
            values[(k, *(() if name == "time" else (1,)))] += 1e-9
            assert not same_curve(curve, replace(samples, **{name: values}).curve())
            assert not same_curve(replace(samples, **{name: values}).curve(), curve)
    assert not same_curve(curve, table(ramped(), 10).curve())
    [piece] = curve.pieces
    assert isinstance(piece, PolynomialPiece)
    for span in range(8):
        h = piece.knots[span + 1] - piece.knots[span]
        coefficients = np.zeros((*piece.coefficients.shape[:2], 10))
        coefficients[..., : piece.coefficients.shape[2]] = piece.coefficients
        bump = np.polynomial.Polynomial.fromroots([0.0] * 4 + [h] * 4)  # nothing at either knot, up to the jerk
        coefficients[2, span, :9] += bump.coef
        other = Curve((PolynomialPiece(piece.knots, coefficients),))
        assert not same_curve(curve, other)


def test_all_files_are_written_and_read_back_as_one_motion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curve = ramped(end=1.0)
    certified: list[Curve] = []

    def certify(read: Curve) -> Any:
        certified.append(read)
        return YES

    written = export(tmp_path, ROBOT, curve, None, None, certify)
    assert written.rate == 200.0
    assert written.rows == len(certified[0].knots)
    for name in ("trajectory.csv", "trajectory.ros2.yaml", "trajectory.ros2.json"):
        assert same_curve(read_trajectory(tmp_path / name, ROBOT), certified[0])
    exact = read_trajectory(str(tmp_path), ROBOT)
    time = np.linspace(0.0, curve.end, 99)
    np.testing.assert_allclose(exact.motion(time).q, curve.motion(time).q, atol=1e-15)
    assert "periods" not in json.loads((tmp_path / "trajectory.json").read_text())
    family = Fourier(10.0, 2)
    export(tmp_path, ROBOT, curve, family, np.zeros((3, family.coefficients)), certify)
    assert json.loads((tmp_path / "trajectory.json").read_text())["periods"] == 1
    monkeypatch.setattr(sys.modules[export.__module__], "same_curve", lambda one, other: False)
    with pytest.raises(ExciterError, match="does not read back as it was written"):
        export(tmp_path, ROBOT, curve, None, None, certify)


def test_slow_motions_have_the_shape_of_the_whole() -> None:
    curve = ramped(end=3.0).shifted(2.0)
    for speed in (0.01, 0.3, 1.0):
        slow = slowed(curve, speed)
        assert (slow.start, slow.duration) == (0.0, pytest.approx(curve.duration / speed))
        time = np.linspace(0.0, curve.duration, 50)
        fast, now = curve.motion(curve.start + time), slow.motion(np.minimum(time / speed, slow.end))
        for order, name in enumerate(("q", "qd", "qdd")):
            expected = getattr(fast, name) * speed**order
            np.testing.assert_allclose(getattr(now, name), expected, atol=1e-9 * speed**order)
    unknown: Any = SimpleNamespace(start=0.0, shifted=lambda by: SimpleNamespace(pieces=(object(),)))
    with pytest.raises(MotionError, match="a object cannot be slowed down"):
        slowed(unknown, 0.5)
    for speed in (0.0099, 1.0001, 0.0, -1.0, np.nan):
        with pytest.raises(MotionError, match="a speed of"):
            slowed(curve, speed)


# -- rounding ---------------------------------------------------------------------------------------------------------


def rounded(decimals: int, count: int, *, shift: float = 0.0, sign: float = 1.0) -> Curve:
    """Two joints, of which the second hardly moves, at 100 Hz."""
    time = np.arange(count) / 100.0
    q = np.stack([sign * (shift + np.round(np.sin(time), decimals)), 0 * time], axis=1)
    qd = np.stack([sign * np.cos(time), 0 * time], axis=1)
    return MotionSamples(time, q, qd, -q).curve()


def test_rounding_is_seen_in_enough_rows_of_any_size() -> None:
    for sign in (1.0, -1.0):
        for decimals in (3, 6, 9):
            found = Rounding.of(rounded(decimals, 60, sign=sign))
            assert found is not None
            assert (found.decimals, found.step) == (decimals, pytest.approx(0.01))
            assert found.peak == pytest.approx(rounded(decimals, 60, sign=sign).extremum(2).size.max())
        assert Rounding.of(rounded(10, 60, sign=sign)) is None
        far = Rounding.of(rounded(6, 60, shift=3000.0, sign=sign))  # doubles of that size know 12 decimals
        assert far is not None
        assert far.decimals == 6
    assert Rounding.of(rounded(6, 20)) is not None
    assert Rounding.of(rounded(6, 19)) is None
    for peak, matters in ((59.0, True), (61.0, False)):  # 0.6 rad/s² at 1 ms and 7 decimals
        assert Rounding(7, 1e-3, peak).matters == matters


def test_a_table_of_one_joint_keeps_all_digits() -> None:
    samples = table(ramped(), 7)
    back = parse_csv(csv_text(samples, JOINTS), ROBOT, "file")
    for name in ("time", "q", "qd", "qdd"):
        assert np.array_equal(getattr(back, name), getattr(samples, name))
