"""Small files that stand for enormous ones, and numbers that no robot has, are told in one line before they cost
memory or time, or overflow."""

import io
import json
import re
import zipfile
from collections.abc import Mapping

import numpy as np
import pytest

from exciter.commands.arguments import parser
from exciter.errors import ExciterError, MotionError, RecordingError, RobotError, shown
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.files.trajectory_files import read_trajectory
from exciter.excitation.trajectories.fourier import Fourier
from exciter.experiment.quality import check
from exciter.experiment.recording import Recording, open_recording
from exciter.experiment.recording.description import RecordingSettings
from exciter.experiment.sources.open_source import open_source
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.export.ros2 import joint_trajectory
from exciter.notes import texts
from exciter.parameters.consistency import consistency_margin
from exciter.parameters.inertial import from_mass_com_inertia
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.robot.load import RobotOptions
from exciter.robot.yaml_file import DEEPEST_YAML, MOST_ALIASED_VALUES, parse_json, parse_yaml
from exciter.settings import Number, fill, keys_of

pytestmark = pytest.mark.slow

ARM = embedded.robot("gautier-khalil")
LISTS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"b{k}: &b{k} [{','.join([f'*b{k - 1}' if k else '*a'] * 9)}]\n" for k in range(9)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"b{k}: &b{k} {{<<: [{','.join([f'*b{k - 1}' if k else '*a'] * 9)}]}}\n" for k in range(9)
)


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# -- YAML and JSON -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [LISTS, MERGES, "a: &a [*a]", "a: &a {b: *a}"], ids=["lists", "merges", "itself", "its own part"]
)
def test_aliases_are_counted_as_what_they_stand_for(text, tmp_path):
    with pytest.raises(RobotError, match=f"stands for more than {MOST_ALIASED_VALUES} values"):
        parse_yaml(text, "text")
    with pytest.raises(MotionError, match="stands for more than"):
        read_trajectory(write(tmp_path, "motion.yaml", text), ARM)
    with pytest.raises(RecordingError, match="stands for more than"):
        open_recording(write(tmp_path, "recording.yaml", text))
    (tmp_path / "bag").mkdir()
    write(tmp_path / "bag", "metadata.yaml", text)
    with pytest.raises(RecordingError, match="stands for more than"):
        open_source(tmp_path / "bag")


def test_aliases_of_a_moderate_size_are_read():
    text = "usual: &usual {rate: 200, ramps: [1, 2]}\nfirst: *usual\nsecond: {<<: *usual, rate: 100}\n"
    usual = {"rate": 200, "ramps": [1, 2]}
    assert parse_yaml(text, "text") == {"usual": usual, "first": usual, "second": {**usual, "rate": 100}}


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_nesting_has_an_end(opening):
    with pytest.raises(RobotError, match=f"nested deeper than {DEEPEST_YAML}"):
        parse_yaml(opening * 100_000, "text")
    with pytest.raises(RobotError, match="nested too deeply"):
        parse_json("[" * 200_000, "text")


@pytest.mark.parametrize(
    "number",
    ["9" * 400, "9" * 5000, "0x" + "f" * 399, "1" + ":1" * 300, "!!int ''", "!!bool x", "!!timestamp x"],
    ids=["400 digits", "5000 digits", "hexadecimal", "sexagesimal", "int", "bool", "timestamp"],
)
def test_a_value_that_is_no_number_is_told_with_its_line(number):
    with pytest.raises(RobotError, match=r"is not valid YAML \(line 2, column"):
        parse_yaml(f"a: 1\nb: {number}\n", "text")


def test_a_number_is_not_computed_from_more_digits_than_it_can_have():
    """In sixties, 300 000 of them take minutes."""
    with pytest.raises(RobotError, match="a number of 600001 characters; at most 400 are read"):
        parse_yaml("1" + ":1" * 300_000, "text")


def test_whole_numbers_of_json_fit_into_floating_point():
    assert parse_json("[1, -2, 1e5]", "text") == [1, -2, 1e5]
    for digits in (320, 5000):
        with pytest.raises(RobotError, match="too large"):
            parse_json(f'{{"a": {"9" * digits}}}', "text")


# -- messages ----------------------------------------------------------------------------------------------------------


class Endless(Mapping):
    """A value larger than any memory: who walks through it fails."""

    def __init__(self):
        self.asked = 0

    def __getitem__(self, key):
        return key

    def __iter__(self):
        while True:
            self.asked += 1
            assert self.asked < 200
            yield self.asked

    def __len__(self):
        return 10**9


class Bottomless(Endless):
    """And so is each of its values."""

    def __getitem__(self, key):
        return self


@pytest.mark.parametrize(
    "given",
    ["x" * 10**6, ["y" * 10**6], 10**5000, [[10**5000]], Endless(), {"a": Endless()}, Bottomless()],
    ids=["text", "texts", "digits", "nested digits", "endless", "nested endless", "bottomless"],
)
def test_a_value_is_shown_in_eighty_characters_without_walking_through_it(given):
    assert len(shown(given)) <= 90


def test_what_fits_is_shown_as_the_file_has_it():
    assert shown({"a": ["b", None, True, 1.5]}) == '{"a": ["b", null, true, 1.5]}'
    assert shown(None) == "missing"
    assert shown("two words") == "'two words'"


def test_a_message_is_one_printable_line_of_a_length_that_is_read():
    text = str(ExciterError(f"given \x1b[31m\u202e{'x' * 10**6}\n; do this"))
    assert text.isprintable()
    assert len(text) <= 2100
    assert text.endswith("; do this")


# -- counts ------------------------------------------------------------------------------------------------------------

COUNTS = [
    "trajectory: {periods: 50000000}", "trajectory: {harmonics: 50000000}", "trajectory: {harmonics: [50000000]}",
    "trajectory: {rate: 1.0e+12}", "trajectory: {period: 1.0e+12}", "samples: 50000000", "starts: 50000000",
    "jobs: 50000000", "seed: 100000000000000000000", "time_limit: 1.0e+12",
    "trajectory: {duration_range: [1, 1.0e+12]}",
    "trajectory: {family: bspline, segments: 50000000}", "trajectory: {family: bspline, duration: 1.0e+12}",
    "trajectory: {family: quintic, segments: 50000000}", "trajectory: {family: acceleration, intervals: 50000000}",
    "trajectory: {family: random-points, draws: 50000000}", "trajectory: {family: random-spline, draws: 50000000}",
    "trajectory: {family: chirp, highest: 50000000}", "trajectory: {family: steps, steps: 50000000}",
    "trajectory: {periods: 5000, period: 100, rate: 1000}", "trajectory: {period: 1.0e-9}",
]  # fmt: skip


@pytest.mark.parametrize("text", COUNTS)
def test_counts_and_their_products_have_a_bound_that_is_said(text, tmp_path):
    with pytest.raises(ExciterError, match=r"at most|within| to "):
        _ = SettingsFile.read(write(tmp_path, "design.yaml", text)).design


@pytest.mark.parametrize("flag", ["starts", "jobs", "periods", "samples"])
def test_flags_have_the_bounds_of_the_file(flag):
    with pytest.raises(ExciterError, match=f"--{flag} is 50000000; give a whole number ≥ ., at most"):
        DesignSettings().overridden(**{flag: 50_000_000})


def test_a_count_of_the_command_line_has_digits_that_can_be_counted(capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["simulate", "panda", "t.csv", "-o", "log.csv", "--periods", "9" * 5000])
    assert len(capsys.readouterr().err) < 300


def test_a_number_that_no_robot_has_is_refused():
    with pytest.raises(ExciterError, match=r"a is 1e[+]31; give a number, not beyond 1e[+]30"):
        fill(Number().hint, 1e31, "a")


def test_a_motion_is_repeated_as_often_as_it_can_be_looked_at():
    with pytest.raises(MotionError, match="give at most 50000"):
        Fourier(1.0, 2).curve(np.zeros((1, 5))).repeated(50_000_000)


# -- numbers no robot has ----------------------------------------------------------------------------------------------

URDF = """<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="0 0 {length}"/><mass value="{mass}"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>
<mesh filename="{mesh}"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 {axis}"/>
<limit lower="-{limit}" upper="{limit}" velocity="{limit}" effort="{limit}"/></joint></robot>"""
MJCF = """<mujoco><asset><mesh name="m" file="{mesh}"/></asset><worldbody><body name="b">
<joint name="j" axis="0 0 {axis}" pos="0 0 {length}"/>
<geom type="capsule" size="{size} {size}" mass="{mass}"/></body></worldbody></mujoco>"""
PLAIN = {"length": "1", "mass": "1", "axis": "1", "limit": "1", "mesh": "m.stl", "size": "0.1"}


@pytest.mark.parametrize(
    ("text", "name", "key"),
    [(URDF, "r.urdf", key) for key in ("length", "mass", "axis")]
    + [(MJCF, "r.xml", key) for key in ("length", "mass", "axis", "size")],
)
def test_a_description_with_numbers_that_overflow_is_refused(text, name, key, tmp_path):
    with pytest.raises(RobotError, match=r"beyond 1e\+30"):
        load(write(tmp_path, name, text.format(**PLAIN | {key: "1e308"})))


def test_a_geom_too_small_for_its_volume_is_refused(tmp_path):
    with pytest.raises(RobotError, match="positive sizes"):
        load(write(tmp_path, "r.xml", MJCF.format(**PLAIN | {"size": "1e-320"})))


@pytest.mark.parametrize("size", [5e-324, 1e-320, 1e-160])
def test_the_lightest_body_there_is_can_be_judged(size):
    """Warnings are errors here: the product of its scales would be zero."""
    assert consistency_margin(from_mass_com_inertia(size, [0.0, 0.0, 0.05], np.zeros((3, 3)))) > -1e-6


@pytest.mark.parametrize("key", ["d", "r", "alpha"])
def test_a_table_with_numbers_that_overflow_is_refused(key, tmp_path):
    text = f"name: r\njoints:\n- {{joint: j, {key}: 1.0e+308, limits: {{lower: -1, upper: 1}}}}\n"
    with pytest.raises(RobotError, match=r"beyond 1e\+30"):
        load(write(tmp_path, "r.yaml", text))


def test_the_largest_number_there_is_means_no_limit(tmp_path):
    robot = load(write(tmp_path, "r.urdf", URDF.format(**PLAIN | {"limit": "1.7976931348623157e308"})))
    assert np.isinf([robot.limit(name)[0] for name in ("lower", "upper", "velocity", "torque")]).all()


@pytest.mark.parametrize(
    "mesh", ["x" * 300, "x" * 5000, "package://" + "x" * 5000 + "/a.stl"], ids=["long", "longer", "package"]
)
@pytest.mark.parametrize(("text", "name"), [(URDF, "r.urdf"), (MJCF, "r.xml")])
def test_a_mesh_whose_name_no_file_can_have_is_absent(text, name, mesh, tmp_path):
    assert load(write(tmp_path, name, text.format(**PLAIN | {"mesh": mesh}))).joint_names == ("j",)


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "x" * 5000 + ".csv"], ids=["long", "longer"])
def test_a_file_whose_name_cannot_be_is_not_there(name, tmp_path):
    with pytest.raises(ExciterError, match="there is no file"):
        read_trajectory(name, ARM)
    with pytest.raises(ExciterError, match="there is no file"):
        open_recording(name)
    recording = {"file": name, "joints": ["a"], "time": {"rate": 1}, "position": {"columns": ["0"], "unit": "rad"}}
    with pytest.raises(ExciterError, match="there is no file"):
        open_recording(write(tmp_path, "recording.yaml", json.dumps(recording)))


# -- motions and logs --------------------------------------------------------------------------------------------------


def rows(time, q=0.1):
    head = ",".join(["time", *(f"{name}.{word}" for name in ARM.joint_names for word in ("q", "qd"))])
    return "\n".join([head, *(",".join([repr(t), *[repr(q)] * 2 * ARM.n]) for t in time)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rows([0.0, 1.0], q=1e308), "beyond 1e"),
        (rows([0.0, 1e308]), "beyond 1e"),
        (rows([1.0, float(np.nextafter(1.0, 2.0))]), "less than a nanosecond later"),
        (rows([0.0, 1e-320]), "less than a nanosecond later"),
    ],
)
def test_rows_between_which_nothing_can_be_computed_are_refused(text, message, tmp_path):
    with pytest.raises(MotionError, match=message):
        read_trajectory(write(tmp_path, "t.csv", text), ARM)


def fourier(**changes):
    piece = {"kind": "fourier", "start": 0.0, "end": 1.0, "omega": 6.0, "harmonics": [1], "phase_time": 0.0}
    piece |= {"a": [[0.1]] * ARM.n, "b": [[0.1]] * ARM.n, "offset": [0.0] * ARM.n}
    return json.dumps({"joints": list(ARM.joint_names), "pieces": [piece | changes]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"harmonics": [10**9]}, "1 to 200"),
        ({"harmonics": [1e300]}, "beyond|1 to 200"),
        ({"a": [[1e308]] * ARM.n}, "beyond 1e"),
        ({"omega": 1e-300}, "ω must be at least"),
        ({"phase_time": 1e30}, "too few digits left"),
        ({"omega": 10**310}, "too large"),
    ],
)
def test_a_series_that_cannot_be_evaluated_is_refused(changes, message, tmp_path):
    read_trajectory(write(tmp_path, "good.json", fourier()), ARM)
    with pytest.raises(MotionError, match=message):
        read_trajectory(write(tmp_path, "bad.json", fourier(**changes)), ARM)


def test_a_design_whose_rate_is_no_rate_is_not_exported(tmp_path):
    write(tmp_path, "trajectory.csv", rows([0.0, 1.0]))
    write(tmp_path, "trajectory.json", fourier())
    for rate in (0, -1, 1e999):
        files = {"certificate": {"certified": True}, "rate": rate}
        write(tmp_path, "design.json", json.dumps({"robot": {"joints": list(ARM.joint_names)}, "files": files}))
        with pytest.raises(ExciterError, match="cannot be read as a design"):
            joint_trajectory(tmp_path)


def test_a_time_beyond_every_clock_is_told(tmp_path):
    with pytest.raises(RecordingError, match=r"the time of sample 1 is 1e\+299 s; no clock goes beyond"):
        open_recording(write(tmp_path, "log.csv", rows([0.0, 1e299]))).read()


@pytest.mark.parametrize("unit", [1e-320, 1e-300, 1e20])
def test_a_log_without_time_between_its_samples_is_judged_by_its_times_alone(unit):
    """Warnings are errors here: speeds over such steps would overflow."""
    time = np.arange(200) * unit
    q = np.sin(np.arange(200)[:, None] * [[0.1, 0.2, 0.3]])
    quality = check(Recording(ARM.joint_names, time, q, torque=q), ARM)
    assert not quality.usable
    assert texts(quality.skipped) == ["there are too few usable samples to check anything else"]


def test_texts_of_characters_that_do_not_exist_are_refused(tmp_path):
    """NumPy makes strings of them at which Python itself fails."""
    names = np.array(ARM.joint_names)
    joints = io.BytesIO()
    np.save(joints, names)
    damaged = joints.getvalue()[: -names.nbytes] + b"\xff" * names.nbytes
    with zipfile.ZipFile(tmp_path / "log.npz", "w") as archive:
        for key, content in (("time", np.arange(3.0)), ("q", np.zeros((3, ARM.n)))):
            stream = io.BytesIO()
            np.save(stream, content)
            archive.writestr(f"{key}.npy", stream.getvalue())
        archive.writestr("joints.npy", damaged)
    with pytest.raises(RecordingError, match="characters that do not exist"):
        open_recording(tmp_path / "log.npz")


ODD_VALUES = (True, 1e400, float("nan"), "x", [[]], [None], {"a": {}}, [1, [2]], b"x", 10**400)


@pytest.mark.parametrize("cls", [RecordingSettings, SimulateSettings, RobotOptions])
def test_odd_values_are_settings_or_one_line(cls):
    """Whatever stands at a key or one below, with and without joints that are known."""
    assert "unknown key" in refusal(cls, {"x": 1}, {})
    for key in keys_of(cls):
        inner = {one for part in re.findall(r"keys ([\w, ]+)", refusal(cls, {key: 5}, {})) for one in part.split(", ")}
        for value in (*ODD_VALUES, *({name: odd} for name in inner for odd in ODD_VALUES)):
            for context in ({}, {"joints": ("a", "b")}):
                assert "\n" not in refusal(cls, {key: value}, context)


def refusal(cls, data, context) -> str:
    try:
        fill(cls, data, "f.yaml", **context)
    except ExciterError as error:
        return str(error)
    return ""
