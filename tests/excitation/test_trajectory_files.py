"""Trajectory files: what is written is what is read, what other tools write is understood, what is wrong is refused."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from scipy.interpolate import BPoly, CubicHermiteSpline, CubicSpline

from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.files import MotionSamples, export, read_trajectory, sample
from exciter.excitation.files.row_files import Rounding, csv_text, ros2_json, ros2_yaml, unchecked_rows
from exciter.excitation.files.trajectory_files import exact_curve, exact_data, rates, same_curve
from exciter.excitation.trajectories import ramps
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier, FourierPiece
from exciter.excitation.trajectories.piecewise import AccelerationSequence, BSpline, Quintic, Stops
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.files import json_text, staged
from exciter.settings import written
from support.trajectory_tables import JOINTS, ROBOT, YES, ramped, series, table


def coefficients(piece: FourierPiece) -> np.ndarray:
    return np.hstack([piece.a, piece.b, piece.offset[:, None]])


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def evaluate(curve: Curve, time):
    motion = curve.motion(time)
    return np.stack([motion.q, motion.qd, motion.qdd])


TIMES = np.sort(np.random.default_rng(3).uniform(0.0, 10.0, 200))


# -- writing and reading ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [("t.csv", csv_text), ("t.ros2.yaml", ros2_yaml), ("t.yml", ros2_yaml), ("t.json", ros2_json)],
)
def test_rows_come_back_bit_for_bit(tmp_path, name, text):
    """Tiny, huge and awkward numbers included: YAML 1.1 takes 1e-05 for a word, six digits change a torque."""
    rows = sample(ramped(), 50.0)
    q = rows.q.copy()
    q[1] = 1e-5, -3e-300, 1.0 / 3.0
    q[2] = 12345678.901234567, 2.5e22, 0.0
    samples = MotionSamples(rows.time, q, rows.qd, rows.qdd)
    back = read_trajectory(write(tmp_path / name, text(samples, JOINTS)), ROBOT, jumps=True)  # as huge as these jump
    assert same_curve(back, samples.curve())


@pytest.mark.parametrize("loads", [yaml.safe_load, json.loads])
def test_ros_messages_have_the_fields_of_the_interface(loads):
    rows = sample(ramped(), 20.0)
    q = rows.q.copy()
    q[1] = 1e-5, -3e-300, 2.5e22  # words, not numbers, to a YAML 1.1 reader unless written with a point
    samples = MotionSamples(rows.time, q, rows.qd, rows.qdd)
    message = loads((ros2_json if loads is json.loads else ros2_yaml)(samples, JOINTS))
    assert list(message) == ["joint_names", "points"]
    assert message["joint_names"] == list(JOINTS)
    assert len(message["points"]) == len(samples.time)
    for k, point in enumerate(message["points"]):
        assert list(point) == ["positions", "velocities", "accelerations", "time_from_start"]
        assert point["positions"] == samples.q[k].tolist()
        assert point["velocities"] == samples.qd[k].tolist()
        assert point["accelerations"] == samples.qdd[k].tolist()
        at = point["time_from_start"]
        assert set(at) == {"sec", "nanosec"}
        assert 0 <= at["nanosec"] < 10**9
        assert at["sec"] + at["nanosec"] * 1e-9 == pytest.approx(samples.time[k], abs=1e-12)


def test_the_table_has_the_promised_columns():
    lines = csv_text(sample(ramped(), 10.0), JOINTS).splitlines()
    promised = ["time", *(f"{name}.{word}" for name in JOINTS for word in ("q", "qd", "qdd"))]
    assert lines[0].split(",") == promised
    assert all(len(line.split(",")) == len(promised) for line in lines)


def test_samples_are_on_the_curve_at_the_rate_and_on_every_knot():
    curve = ramped()
    samples = sample(curve, 200.0)
    assert samples.time[0] == 0.0
    assert samples.time[-1] == pytest.approx(curve.end, abs=1e-9)
    steps = np.diff(samples.time)
    assert steps.min() > 0.49 / 200
    assert steps.max() < 1.51 / 200
    assert np.median(steps) == pytest.approx(1 / 200, rel=1e-9)
    for knot in curve.knots:
        assert np.abs(samples.time - knot).min() < 1e-9
    inside = (samples.time > 2) & (samples.time < 9)
    first = np.zeros(inside.sum(), dtype=np.int64)
    exact = series().shifted(1.2345678901).derivatives(first, samples.time[inside], 0)[0].T
    np.testing.assert_allclose(samples.q[inside], exact, rtol=0, atol=1e-13)


def test_a_curve_that_starts_later_is_written_from_zero():
    late = sample(ramped().shifted(5.0), 50.0)
    np.testing.assert_allclose(late.time, sample(ramped(), 50.0).time, rtol=0, atol=2e-9)
    np.testing.assert_allclose(late.q, sample(ramped(), 50.0).q, rtol=0, atol=1e-8)


def test_the_resampled_motion_hardly_differs_from_the_exact_one():
    """Quintics through rows on the knots: no swing of the jerk, whatever the rate; a spline family is met exactly."""
    curve = ramped()
    for rate in (50.0, 200.0):
        back = sample(curve, rate).curve()
        for order, error in enumerate((1e-9, 1e-7, 1e-5, 3e-3)):
            scale = (50.0 / rate) ** (6 - order)
            want, have = curve.extremum(order), back.extremum(order)
            assert np.abs(have.highest - want.highest).max() < max(error * scale, 1e-12 * 10 ** (2 * order))
            assert np.abs(have.lowest - want.lowest).max() < max(error * scale, 1e-12 * 10 ** (2 * order))


# -- how rows are joined ------------------------------------------------------------------------------------------


def test_interpolation_follows_the_columns(tmp_path):
    """Against scipy's own interpolants."""
    rows = table(Curve((series(),)), 15)
    full = read_trajectory(write(tmp_path / "a.csv", csv_text(rows, JOINTS)), ROBOT)
    quintic = BPoly.from_derivatives(rows.time, np.stack([rows.q, rows.qd, rows.qdd], axis=1))
    partly = read_trajectory(
        write(tmp_path / "b.csv", csv_text(MotionSamples(rows.time, rows.q, rows.qd), JOINTS)), ROBOT
    )
    cubic = CubicHermiteSpline(rows.time, rows.q, rows.qd)
    only = read_trajectory(write(tmp_path / "c.csv", csv_text(MotionSamples(rows.time, rows.q), JOINTS)), ROBOT)
    spline = CubicSpline(rows.time, rows.q, bc_type="not-a-knot")
    for curve, oracle in ((full, quintic), (partly, cubic), (only, spline)):
        want = np.stack([oracle(TIMES, k) for k in range(3)])
        np.testing.assert_allclose(evaluate(curve, TIMES), want, rtol=1e-9, atol=1e-9)
    assert np.abs(only.jumps(2)).max() < 1e-9  # continuous acceleration
    assert np.abs(partly.jumps(2)).max() > 1e-3


FOREIGN = {
    "order": ("{2}.q,time,{0}.q,{1}.q\n", ","),
    "semicolons": ("{2}.q; time ;{0}.q;{1}.q\n", ";"),
    "blanks": ("  {2}.q   time {0}.q\t{1}.q\n", "  "),
    "savetxt": ("# {2}.q time {0}.q {1}.q\n", " "),
    "quotes": ('"{2}.position","t","{0}.pos","{1}"\n', ","),
    "bom and slashes": ("\ufeff{2}/position,Time,{0}/position,{1}/position\r\n", ","),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_tables_of_other_tools(tmp_path, name):
    rows = table(Curve((series(),)))
    head, mark = FOREIGN[name]
    columns = np.column_stack([rows.q[:, 2], rows.time, rows.q[:, :2]]).tolist()
    text = head.format(*JOINTS) + "\n".join(mark.join(map(repr, row)) for row in columns)
    curve = read_trajectory(write(tmp_path / "t.csv", text), ROBOT)
    np.testing.assert_allclose(evaluate(curve, TIMES)[0], CubicSpline(rows.time, rows.q)(TIMES), rtol=0, atol=1e-12)


def test_recorded_torques_are_left_aside(tmp_path):
    rows = table(Curve((series(),)))
    header = ",".join(["time", *(f"{j}.q" for j in JOINTS), *(f"{j}.tau" for j in JOINTS)])
    body = "\n".join(",".join(map(repr, map(float, row))) for row in np.column_stack([rows.time, rows.q, rows.q]))
    curve = read_trajectory(write(tmp_path / "log.csv", f"{header}\n{body}"), ROBOT)
    np.testing.assert_allclose(curve.motion(rows.time).q, rows.q, rtol=0, atol=1e-13)


def test_whole_numbers_and_others_may_stand_in_one_row(tmp_path):
    points = [
        {"positions": [0, 0.5, 1], "velocities": [0, 0.0, 0], "time_from_start": {"sec": 0, "nanosec": 0}},
        {"positions": [1, 0.5, 0.0], "velocities": [0.0, 0, 0], "time_from_start": {"sec": 1, "nanosec": 0}},
    ]
    message = {"joint_names": list(JOINTS), "points": points}
    curve = read_trajectory(write(tmp_path / "goal.json", json.dumps(message)), ROBOT)
    assert curve.motion([0.0, 1.0]).q.tolist() == [[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]]


def test_how_rows_without_velocities_are_joined_is_said_of_any_such_piece():
    rows = table(Curve((series(),)), 5)
    spline = replace(rows, qd=None, qdd=None).curve()
    still = Curve((PolynomialPiece.from_samples([-1.0, 0.0], rows.q[[0, 0]], 0 * rows.q[:2], 0 * rows.q[:2]),))
    assert unchecked_rows(spline)
    assert unchecked_rows(Curve((*still.pieces, *spline.pieces))) == unchecked_rows(spline)
    assert not unchecked_rows(still)


def test_ros_messages_of_other_tools(tmp_path):
    rows = table(Curve((series(),)), 11)
    order = [2, 0, 1]
    points = [
        {"positions": rows.q[k][order].tolist(), "velocities": [], "time_from_start": {"secs": int(rows.time[k])}}
        for k in range(11)
    ]
    message = {"trajectory": {"header": {}, "joint_names": [JOINTS[k] for k in order], "points": points}}
    curve = read_trajectory(write(tmp_path / "goal.yaml", yaml.safe_dump(message)), ROBOT)
    np.testing.assert_allclose(evaluate(curve, TIMES)[0], CubicSpline(rows.time, rows.q)(TIMES), rtol=0, atol=1e-12)


# -- the exact file -----------------------------------------------------------------------------------------------


def test_pieces_may_have_their_joints_in_any_order(tmp_path):
    """A ramp, a series and a ramp: rows of every kind of piece go to the joints that the file names."""
    curve, order = ramped(), [2, 0, 1]
    data = json.loads(json_text(exact_data(curve, ROBOT, None, None, 1)))
    data["joints"] = [JOINTS[k] for k in order]
    for piece in data["pieces"]:
        for name in {"coefficients", "a", "b", "offset"} & piece.keys():
            piece[name] = [piece[name][k] for k in order]
    assert {piece["kind"] for piece in data["pieces"]} == {"polynomial", "fourier"}
    assert same_curve(read_trajectory(write(tmp_path / "trajectory.json", json.dumps(data)), ROBOT), curve)


def test_the_exact_file_gives_the_same_curve(tmp_path):
    family, curve, delta = Fourier(10.0, (1, 2, 5)), ramped(), coefficients(series())
    done = export(tmp_path, ROBOT, curve, family, delta, lambda _: YES, rate=100.0)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "trajectory.csv",
        "trajectory.json",
        "trajectory.ros2.json",
        "trajectory.ros2.yaml",
    ]
    assert same_curve(read_trajectory(tmp_path / "trajectory.json", ROBOT), curve)
    assert same_curve(read_trajectory(str(tmp_path), ROBOT), curve)
    assert same_curve(read_trajectory(tmp_path, ROBOT), curve)
    data = json.loads((tmp_path / "trajectory.json").read_text())
    assert data["trajectory"]["family"] == "fourier"
    assert data["coefficients"][JOINTS[1]] == delta[1].tolist()
    assert done.rows == len((tmp_path / "trajectory.csv").read_text().splitlines()) - 1
    data["joints"] = data["joints"][::-1]  # then the rows belong to other joints
    data["coefficients"] = dict(zip(JOINTS[::-1], delta.tolist(), strict=True))
    turned = read_trajectory(write(tmp_path / "turned.json", json.dumps(data)), ROBOT)
    np.testing.assert_array_equal(turned.motion([3.0]).q[0], curve.motion([3.0]).q[0][::-1])


def test_a_hand_written_file_by_coefficients(tmp_path):
    family = Fourier(8.0, 2)
    delta = 0.1 * np.arange(15.0).reshape(3, 5)
    data = {
        "joints": list(JOINTS),
        "trajectory": written(family),
        "coefficients": dict(zip(JOINTS, delta.tolist(), strict=True)),
        "periods": 2,
    }
    curve = read_trajectory(write(tmp_path / "t.json", json.dumps(data)), ROBOT)
    assert curve.end == pytest.approx(16.0)
    time = np.linspace(0, 7.9, 50)
    np.testing.assert_allclose(curve.motion(time).q, family.basis(time)[0] @ delta.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(curve.motion(time + 8).qd, family.basis(time)[1] @ delta.T, rtol=0, atol=1e-12)


def teleport(**changes):
    """A file whose one piece has two spans: the first joint stands at 0, then at 1."""
    piece = {"kind": "polynomial", "knots": [0, 1, 2], "coefficients": [[[0, 0], [1, 0]]] + [[[0, 0]] * 2] * 2}
    return {"joints": list(JOINTS), "pieces": [{**piece, **changes}]}


def by_periods(periods, family=None):
    family = BSpline(4.0, 5) if family is None else family
    delta = np.linspace(0.0, 0.5, family.coefficients) * np.ones((3, 1))
    rows = dict(zip(JOINTS, delta.tolist(), strict=True))
    return {"joints": list(JOINTS), "trajectory": written(family), "coefficients": rows, "periods": periods}


FOURIER = {"kind": "fourier", "omega": 1.0, "harmonics": [1], "a": [[0.1]] * 3, "b": [[0.2]] * 3, "offset": [0.0] * 3}
STRETCHES = [{**FOURIER, "start": k, "end": k + 1.0, "phase_time": phase} for k, phase in enumerate((0.0, 0.5))]
JUMPING = {
    "spans of a piece": (teleport(), "position", 1.0),
    "velocity": (teleport(coefficients=[[[0, 0], [0, 1e-3]]] * 3), "velocity", 1.0),
    "series at another phase": ({"joints": list(JOINTS), "pieces": STRETCHES}, "position", 1.0),
    "a family that does not come back": (by_periods(3), "position", 4.0),
    "series that come back to another place": (
        {"joints": list(JOINTS), "pieces": [{**STRETCHES[0], "end": 1.0}, {**STRETCHES[1], "phase_time": 1.0}]},
        "position",
        1.0,
    ),
}


@pytest.mark.parametrize("name", JUMPING)
def test_a_file_that_jumps_is_refused_where_nothing_certifies_it(tmp_path, name):
    data, what, at = JUMPING[name]
    path = write(tmp_path / "t.json", json.dumps(data))
    says = f"'{path}': the {what} of joint '{JOINTS[0]}' jumps from .* at {at:g} s"
    with pytest.raises(MotionError, match=says) as error:
        read_trajectory(path, ROBOT)
    assert "\n" not in str(error.value)
    curve = read_trajectory(path, ROBOT, jumps=True)
    first = next(jump for jump in curve.breaks() if jump.joint == 0)
    assert (first.what, first.at) == (what, pytest.approx(at))
    limits = certify(ROBOT, curve).limits
    assert (limits[0].what, limits[0].status) == (f"jump of {what}", "broken")


@pytest.mark.parametrize("periods", [0, -1, 2.5, "3", True, None, 10**12])
def test_periods_of_a_file_are_a_whole_number(tmp_path, periods):
    path = write(tmp_path / "t.json", json.dumps(by_periods(periods, Fourier(8.0, 2))))
    with pytest.raises(MotionError, match=r"cannot be repeated .* times; "):
        read_trajectory(path, ROBOT)


FAMILIES = {
    "a series within ramps": (Fourier(5.0, (1, 3)), 3),
    "a series at rest": (Fourier(5.0, 3, at_rest=True), 2),
    "a series by joint": (Fourier(5.0, dict(zip(ROBOT.joint_names, (2, 4, (1, 3)), strict=True))), 2),
    "a spline": (BSpline(4.0, 5), 1),
    "a spline, again and again": (BSpline(4.0, 5), 3),
    "quintics": (Quintic((0.0, 1.0, 1.5, 3.5)), 2),
    "quintics of short spans": (Quintic((0.0, 0.01, 0.02, 0.03)), 1),
    "accelerations": (AccelerationSequence(4.0, 6), 2),
    "stops": (Stops(((0.2, 0.1, 0.5), (0.3, 0.0, 0.2)), 0.5), 2),
}


@pytest.fixture(params=FAMILIES)
def of_a_family(request):
    """trajectory.json of a small motion from rest to rest, some periods of it."""
    family, periods = FAMILIES[request.param]
    rng = np.random.default_rng(1)
    delta = 0.01 * family.random(rng, 3)
    curve = ramps.ramped(family, delta, ROBOT, periods=periods)
    return json.loads(json_text(exact_data(curve, ROBOT, family, delta, periods))), curve


def test_what_a_design_writes_above_its_pieces_is_true_of_them(tmp_path, of_a_family):
    data, curve = of_a_family
    assert same_curve(read_trajectory(write(tmp_path / "t.json", json.dumps(data)), ROBOT), curve)


def without_last(rows):
    return {name: row[:-1] for name, row in rows.items()}


CONTRADICTIONS = {
    "a longer duration": (lambda d: {"duration": 1.001 * d["duration"]}, "its motion lasts"),
    "a duration in words": (lambda d: {"duration": "long"}, "expected seconds"),
    "no duration": (lambda d: {"duration": None}, "expected seconds"),
    "a period more": (lambda d: {"periods": d["periods"] + 1}, "times through the trajectory"),
    "half a period": (lambda d: {"periods": d["periods"] + 0.5}, "cannot be repeated"),
    "a coefficient less": (lambda d: {"coefficients": without_last(d["coefficients"])}, "coefficients of shape"),
    "another coefficient": (
        lambda d: {"coefficients": {**d["coefficients"], JOINTS[1]: [c + 1e-3 for c in d["coefficients"][JOINTS[1]]]}},
        "times through the trajectory",
    ),
    "coefficients of another joint": (
        lambda d: {"coefficients": {**d["coefficients"], "joint_9": [0.0]}},
        "for no others",
    ),
    "no coefficients": (lambda d: {"coefficients": None}, "by name"),
    "a label less": (lambda d: {"labels": d["labels"][1:]}, "labels"),
    "another family": (
        lambda d: {"trajectory": written(Fourier(7.0, 11)), "labels": list(Fourier(7.0, 11).labels)},
        "coefficients of shape",
    ),
    "no family": (lambda d: {"trajectory": None}, "trajectory is missing; give a mapping with family: fourier"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_file_whose_pieces_are_not_what_it_says_of_them_is_refused(tmp_path, of_a_family, name):
    """It is for people, and for the next design: nobody can know which of both was meant."""
    change, says = CONTRADICTIONS[name]
    data, _ = of_a_family
    with pytest.raises(MotionError, match=says) as error:
        read_trajectory(write(tmp_path / "t.json", json.dumps({**data, **change(data)})), ROBOT)
    assert "\n" not in str(error.value)


def test_pieces_of_another_motion_than_the_coefficients_are_refused(tmp_path, of_a_family):
    """Wherever a number of the exciting part differs; what rounding does to it is no difference."""
    data, _ = of_a_family
    exciting = next(
        k for k, piece in enumerate(data["pieces"]) if piece["kind"] == "fourier" or len(piece["knots"]) > 2
    )
    piece = data["pieces"][exciting]
    fourier = piece["kind"] == "fourier"

    def changed(name, at, factor):
        values = np.array(piece[name], dtype=float)
        size = np.abs(values[..., 0] if name == "coefficients" else values).max()
        values[at] += (factor - 1.0) * size
        pieces = [*data["pieces"][:exciting], {**piece, name: values.tolist()}, *data["pieces"][exciting + 1 :]]
        return write(tmp_path / "t.json", json.dumps({**data, "pieces": pieces}))

    for name in ("a", "b", "offset", "omega") if fourier else ("coefficients",):
        shape = np.shape(piece[name])
        for at in (tuple(0 for _ in shape), tuple(k - 1 for k in shape)):
            if name == "coefficients":
                at = (*at[:2], 0)  # in a constant: higher powers add less the shorter their span is
            with pytest.raises(MotionError, match="times through the trajectory"):
                read_trajectory(changed(name, at, 1.001), ROBOT, jumps=True)
            read_trajectory(changed(name, at, 1.0 + 1e-9), ROBOT, jumps=True)


def other_span(piece):
    knots = np.array(piece["knots"])
    knots[1] += 0.01 * (knots[2] - knots[1])
    return {**piece, "knots": knots.tolist()}


CHANGED_PIECES = {
    "other harmonics": (Fourier(5.0, (1, 3)), lambda piece: {**piece, "harmonics": [1, 2]}),
    "more harmonics": (
        Fourier(5.0, (1, 3)),
        lambda piece: {**piece, "harmonics": [1, 3, 4], **{x: [[*row, 0.0] for row in piece[x]] for x in "ab"}},
    ),
    "another kind": (BSpline(4.0, 5), lambda piece: {**FOURIER, "start": 0.0, "end": 4.0, "phase_time": 0.0}),
    "spans of other lengths": (BSpline(4.0, 5), other_span),
    "a polynomial instead of a series": (
        Fourier(5.0, (1, 3)),
        lambda piece: {"kind": "polynomial", "knots": [0.0, 5.0], "coefficients": [[[0.0, 0.0]]] * 3},
    ),
}


@pytest.mark.parametrize("name", CHANGED_PIECES)
def test_pieces_of_another_form_are_not_those_of_the_family(tmp_path, name):
    family, change = CHANGED_PIECES[name]
    delta = 0.01 * np.random.default_rng(1).standard_normal((3, family.free.shape[1])) @ family.free.T
    data = json.loads(json_text(exact_data(family.curve(delta), ROBOT, family, delta)))
    del data["periods"]  # one, unless it is said
    assert same_curve(exact_curve(data, ROBOT, "file"), family.curve(delta))
    with pytest.raises(MotionError, match="do not run 1 times through the trajectory"):
        exact_curve({**data, "pieces": [change(data["pieces"][0])]}, ROBOT, "file")


def test_coefficients_for_no_joint_in_particular_are_refused(tmp_path):
    """Three numbers for three joints would pass for a joint of three coefficients."""
    data = {**by_periods(1, Fourier(8.0, 1)), "coefficients": dict.fromkeys(JOINTS, 0.1)}
    with pytest.raises(MotionError, match=r"coefficients of shape \(3,\); this trajectory has 3 for each of 3 joints"):
        read_trajectory(write(tmp_path / "t.json", json.dumps(data)), ROBOT)


def test_the_duration_is_compared_relative_to_itself(tmp_path):
    for period in (0.01, 1000.0):
        data = by_periods(1, Fourier(period, 1))
        for share, refused in ((1.0 + 5e-7, False), (1.0 + 2e-6, True), (1.0 - 2e-6, True)):
            path = write(tmp_path / "t.json", json.dumps({**data, "duration": share * period}))
            if refused:
                with pytest.raises(MotionError, match="its motion lasts"):
                    read_trajectory(path, ROBOT)
            else:
                read_trajectory(path, ROBOT)


def test_a_duration_that_contradicts_a_hand_written_file_is_refused(tmp_path):
    data = by_periods(2, Fourier(8.0, 2))
    assert read_trajectory(write(tmp_path / "t.json", json.dumps({**data, "duration": 16.0})), ROBOT).end == 16.0
    with pytest.raises(MotionError, match="its duration is 8 s, and its motion lasts 16 s"):
        read_trajectory(write(tmp_path / "t.json", json.dumps({**data, "duration": 8})), ROBOT)


# -- export: read back and certified, or nothing --------------------------------------------------------------------


def exported(tmp_path, certify, rate=200.0):
    family = Fourier(10.0, 5)
    delta = np.zeros((3, family.coefficients))
    with staged(tmp_path) as stage:
        return export(stage, ROBOT, ramped(end=2.0), family, delta, certify, rate=rate)


def test_more_rows_where_the_rows_break_a_limit(tmp_path):
    seen = []

    def certify(curve):
        seen.append(len(curve.knots))
        return YES if len(seen) == 3 else SimpleNamespace(certified=False, limits=())

    assert exported(tmp_path, certify).rate == 800.0
    assert seen[0] * 3.9 < seen[2] < seen[0] * 4.1
    assert len((tmp_path / "trajectory.csv").read_text().splitlines()) == seen[2] + 1
    assert rates(300.0) == (300.0, 600.0, 1000.0)
    assert rates(2000.0) == (2000.0,)


def test_rows_that_break_a_limit_are_never_written(tmp_path):
    broken = SimpleNamespace(
        what="torque", where="j1", unit="N·m", status="broken", reached=12.0, limit=10.0, upper=True
    )
    (tmp_path / "trajectory.csv").write_text("the one before")
    with pytest.raises(ExciterError, match=r"1000 Hz.*torque of j1 comes to 12 N·m with a limit of 10"):
        exported(tmp_path, lambda _: SimpleNamespace(certified=False, limits=(broken,)))
    assert [p.name for p in tmp_path.iterdir()] == ["trajectory.csv"]
    assert (tmp_path / "trajectory.csv").read_text() == "the one before"


def test_an_interruption_leaves_nothing(tmp_path):
    def certify(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exported(tmp_path, certify)
    assert list(tmp_path.iterdir()) == []


# -- bad input ------------------------------------------------------------------------------------------------------

HEAD = "time," + ",".join(f"{name}.q" for name in JOINTS)
ROWS = "\n".join(f"{t},0.1,{0.25 * t},0.3" for t in range(6))
BAD_TABLES = [
    ("", "empty"),
    (HEAD, "no rows"),
    (f"{HEAD}\n0,0,0,0\n1,0,0,0\n2,0,0,0", "3 rows.*at least 4"),
    (f"{HEAD}\n{ROWS}".replace("0.5", "nan"), "NaN or infinity in q of line 4"),
    (f"{HEAD}\n{ROWS}\n5,0,0,0", "does not increase: line 7 has 5 s and line 8 has 5 s"),
    (f"{HEAD}\n{ROWS}\n1,0,0,0", "does not increase"),
    (f"{HEAD}\n{ROWS}\n6,0,0", "line 8 has 3 values; the header names 4"),
    (f"{HEAD}\n{ROWS}\n6,0,fast,0", "line 8 has 'fast'"),
    (f"\n\n\n{HEAD}\n# rows\n\n{ROWS}\n\n6,0,fast,0", "line 14 has 'fast'"),
    (f"{HEAD}\n{ROWS}".replace(f"{JOINTS[1]}.q", "elbow.q"), f"column 'elbow.q'.*{JOINTS[1]}"),
    (f"{HEAD}\n{ROWS}".replace(f"{JOINTS[1]}.q", f"{JOINTS[0]}.q"), "two columns"),
    (f"{HEAD}\n{ROWS}".replace(f"{JOINTS[1]}.q", f"{JOINTS[1]}.qd"), f"no column '{JOINTS[1]}.q'"),
    (f"{HEAD}\n{ROWS}".replace("time", f"{JOINTS[1]}.tau"), "no column 'time'"),
    (f"{HEAD},{JOINTS[0]}.qd\n{ROWS}".replace("0.3", "0.3,0"), f"no column '{JOINTS[1]}.qd'"),
]


@pytest.mark.parametrize(("text", "says"), BAD_TABLES)
def test_bad_tables_get_one_line(tmp_path, text, says):
    with pytest.raises(MotionError, match=says) as error:
        read_trajectory(write(tmp_path / "t.csv", text), ROBOT)
    assert "\n" not in str(error.value)


def test_points_of_a_message_are_named_as_such(tmp_path):
    twice = [{"positions": [0, 0, 0], "velocities": [0, 0, 0], "time_from_start": {"sec": k}} for k in (0, 1, 1)]
    with pytest.raises(MotionError, match="point 2 has 1 s and point 3 has 1 s"):
        read_trajectory(write(tmp_path / "t.json", json.dumps(message(points=twice))), ROBOT)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_rounding_is_seen_and_its_accelerations_are_foretold(columns):
    """Against the motion through rounded rows itself: never more than 12 ε/h² off, and not much less at the worst."""
    exact = sample(Curve((series(),)), 500.0)
    blocks = [exact.q, exact.qd, exact.qdd][:columns]
    assert Rounding.of(MotionSamples(exact.time, *blocks).curve()) is None
    rounded = MotionSamples(exact.time, np.round(exact.q, 6), *blocks[1:]).curve()
    found = Rounding.of(rounded)
    assert (found.decimals, found.step) == (6, pytest.approx(0.002))
    assert found.acceleration == pytest.approx(12 * 5e-7 / 0.002**2)
    middle = np.linspace(exact.time[3], exact.time[-4], 40_001)
    error = np.abs(rounded.motion(middle).qdd - Curve((series(),)).motion(middle).qdd).max()
    assert 0.3 * found.acceleration < error < 1.01 * found.acceleration
    assert found.matters
    coarse = sample(Curve((series(),)), 20.0)
    assert not Rounding.of(MotionSamples(coarse.time, np.round(coarse.q, 6), coarse.qd, coarse.qdd).curve()).matters
    assert "rounded to 6 decimals" in str(found)
    assert Rounding.of(table(ramped(), 9).curve()) is None  # few rows


def test_accelerations_without_velocities_are_refused(tmp_path):
    head = "time," + ",".join(f"{name}.{word}" for word in ("q", "qdd") for name in JOINTS)
    with pytest.raises(MotionError, match="no velocities"):
        read_trajectory(write(tmp_path / "t.csv", f"{head}\n0,0,0,0,0,0,0\n1,0,0,0,0,0,0"), ROBOT)


def message(**changes):
    point = {"positions": [0, 0, 0], "velocities": [0, 0, 0]}
    points = [{**point, "time_from_start": {"sec": k, "nanosec": 0}} for k in range(3)]
    return {"joint_names": list(JOINTS), "points": points, **changes}


def exact(**changes):
    piece = {"kind": "polynomial", "knots": [0, 1], "coefficients": [[[0, 0.1]]] * 3}
    return {"joints": list(JOINTS), "pieces": [{**piece, **changes}]}


BAD_DATA = [
    ([], "neither"),
    ({"a": 1}, "neither"),
    (message(joint_names=["a"]), "joint_names"),
    (message(points=3), "no list of points"),
    (message(points=[{"positions": [0, 0]}]), "time_from_start"),
    (message(points=[{"positions": [0, 0], "time_from_start": {"sec": 0}}]), "3 positions"),
    (message(points=[{"positions": [0, 0, "x"], "time_from_start": {"sec": 0}}]), "not numbers"),
    (message(points=[{"positions": [0, 0, 0], "time_from_start": 0.5}]), "time_from_start 0.5"),
    (message(points=[{"time_from_start": {"sec": 0}}]), "without positions"),
    (message(points=message()["points"][:1]), "has 1 row;"),
    (message(points=message()["points"][::-1]), "does not increase"),
    ({**exact(), "joints": ["a"]}, "for the joints"),
    ({**exact(), "pieces": []}, "no pieces"),
    (exact(kind="magic"), "magic"),
    (exact(knots=[1, 0]), "increase"),
    (exact(knots=None), "knots"),
    (exact(coefficients=[[[0, float("nan")]]] * 3), "NaN"),
    (exact(coefficients=[[[0, 0.1]]]), "1 rows for 3 joints"),
    (exact(coefficients=[[[0, 0.1]]] * 4), "4 rows for 3 joints"),
    (exact(coefficients=0.1), "form of a trajectory.json"),
    (exact(coefficients=[[[0, 1.1e30]]] * 3), "beyond 1e\\+30"),
    (exact(knots=[0, 0.5e-9]), "increase, by more than 5e-10 s"),
    ({"joints": list(JOINTS), "trajectory": {"family": "magic"}, "coefficients": {}}, "magic"),
    ({"joints": list(JOINTS), "trajectory": written(Fourier()), "coefficients": {}}, JOINTS[0]),
    ({"joints": list(JOINTS), "pieces": [exact()["pieces"][0]] * 2}, "piece"),
]


@pytest.mark.parametrize(("data", "says"), BAD_DATA)
def test_bad_data_gets_one_line(tmp_path, data, says):
    with pytest.raises(MotionError, match=says) as error:
        read_trajectory(write(tmp_path / "t.json", json.dumps(data)), ROBOT)
    assert "\n" not in str(error.value)


def goal(**beside):
    return {"trajectory": message(), "goal_time_tolerance": {"sec": 1, "nanosec": 0}, **beside}


OTHER = message(points=[])  # without a single point it is another motion all the same
TWO_MOTIONS = {
    "a goal around a message": message(trajectory=OTHER),
    "a robot trajectory around a message": message(joint_trajectory=OTHER),
    "a list of trajectories beside a message": message(trajectory=[OTHER]),
    "nothing beside a message": message(trajectory=None),
    "points beside a goal": goal(points=OTHER["points"]),
    "names beside a goal": goal(joint_names=list(JOINTS)),
    "two kinds of goal": goal(joint_trajectory=OTHER),
    "two kinds of goal within one": {"joint_trajectory": goal(joint_trajectory=OTHER)},
    "pieces beside points": message(pieces=exact()["pieces"]),
    "pieces beside a goal": goal(**exact()),
    "coefficients beside points": message(coefficients={}),
    "a body that floats": goal(multi_dof_trajectory={"joint_names": ["base"], "points": [{}]}),
    "points beside pieces": {**exact(), "points": OTHER["points"]},
    "a message beside pieces": {**exact(), "joint_trajectory": {"points": []}},
}


@pytest.mark.parametrize("name", TWO_MOTIONS)
@pytest.mark.parametrize("kind", ["json", "yaml"])
def test_a_file_with_two_motions_is_refused_for_nobody_knows_which_is_executed(tmp_path, name, kind):
    text = {"json": json.dumps, "yaml": yaml.safe_dump}[kind](TWO_MOTIONS[name])
    with pytest.raises(MotionError, match="two motions in one file") as error:
        read_trajectory(write(tmp_path / f"t.{kind}", text), ROBOT, jumps=True)
    assert "\n" not in str(error.value)


def test_what_a_goal_says_beside_its_motion_is_no_other_motion(tmp_path):
    empty = {"joint_names": [], "points": []}
    for data in (goal(multi_dof_trajectory=empty), {"joint_trajectory": message(header={"frame_id": "base"})}):
        assert read_trajectory(write(tmp_path / "t.json", json.dumps(data)), ROBOT).duration == 2.0


NO_NUMBERS = [True, False, "0", "1e-05", None, [0], 10**400]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: str(value)[:9])
def test_numbers_of_a_motion_are_numbers(tmp_path, value):
    """NumPy takes true for 1 and "0" for 0; a controller may not."""
    points = [{**message()["points"][k], "positions": [0, value, 0]} for k in range(3)]
    coefficients = [[[0, value]], [[0, 0.1]], [[0, 0.1]]]
    family = {"joints": list(JOINTS), "trajectory": written(Fourier(1.0, 1))}
    rows = {joint: [value, 0.1, 0.1] for joint in JOINTS}
    for data in (
        message(points=points),
        exact(coefficients=coefficients),
        exact(knots=[0, value]),
        {**family, "coefficients": rows},
    ):
        for kind, text in (("json", json.dumps), ("yaml", yaml.safe_dump)):
            with pytest.raises(MotionError) as error:
                read_trajectory(write(tmp_path / f"t.{kind}", text(data)), ROBOT, jumps=True)
            assert "\n" not in str(error.value)


def test_names_of_joints_are_words(tmp_path):
    joints = tuple(replace(joint, name=str(k)) for k, joint in enumerate(ROBOT.joints))
    data = message(joint_names=[0, 1, 2])
    with pytest.raises(MotionError, match="joint_names"):
        read_trajectory(write(tmp_path / "t.json", json.dumps(data)), replace(ROBOT, joints=joints))


def test_bad_files_get_one_line(tmp_path):
    for name, text, says in (
        ("t.json", "{", "not valid JSON"),
        ("t.yaml", "a: [", "not valid YAML"),
        ("t.bag", "", "ends in '.bag'"),
    ):
        with pytest.raises(MotionError, match=says):
            read_trajectory(write(tmp_path / name, text), ROBOT)
    with pytest.raises(MotionError, match="no file"):
        read_trajectory(tmp_path / "missing.csv", ROBOT)
    with pytest.raises(MotionError, match="no file"):
        read_trajectory(tmp_path, ROBOT)  # a folder without trajectory.json
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MotionError, match="is a binary file; expected text"):
        read_trajectory(tmp_path / "binary.csv", ROBOT)
    (tmp_path / "binary.csv").write_bytes("Winkel,größe".encode("latin-1"))
    with pytest.raises(MotionError, match="not UTF-8"):
        read_trajectory(tmp_path / "binary.csv", ROBOT)
