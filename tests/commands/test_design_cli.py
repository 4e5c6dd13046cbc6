"""``exciter design`` and ``exciter check`` as a user meets them: files, promised keys, exit codes, no half results."""

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

from exciter import cli
from exciter.excitation.files.trajectory_files import read_trajectory
from exciter.robot import embedded_robots as embedded
from support.terminal import without_progress

pytestmark = pytest.mark.slow

ROBOT = "gautier-khalil"
PROMISED = [
    "criterion",
    "value",
    "condition_number",
    "condition_number_normalized",
    "log_det",
    "predicted_std",
    "certificate",
    "seconds",
    "evaluations",
    "seed",
]
RESULTS = {
    "trajectory.csv",
    "trajectory.json",
    "trajectory.ros2.yaml",
    "design.npz",
    "trajectory.ros2.json",
    "design.json",
    "report.html",
}
CONFIG = """
terms: [viscous]
limits: {acceleration: 4.0, jerk: 60.0}
trajectory: {period: 4.0, harmonics: 3, periods: 2, rate: 50, ramps: {start: home}}
noise: [1.0, 2.0, 0.5]
constraints: {workspace: [{frame: tool, z_min: -0.5}]}
"""


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as leaving:
        cli.main([str(a) for a in arguments])
    output = capsys.readouterr()
    return leaving.value.code, output.out, without_progress(output.err)


def command(*arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return [sys.executable, "-W", "error", "-m", "exciter", *map(str, arguments)], environment


@pytest.fixture(scope="module")
def designed(tmp_path_factory):
    """One design for all tests of its files: folder, configuration, and what was printed."""
    folder = tmp_path_factory.mktemp("design")
    config = folder / "config.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    words, environment = command("design", ROBOT, "-o", folder / "out", "--config", config, "--json")
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    said = [line for line in without_progress(done.stderr).splitlines() if "compiling numerical kernels" not in line]
    assert (done.returncode, said) == (0, []), done.stderr
    return folder / "out", config, done.stdout


def test_the_files_and_the_promised_keys(designed):
    folder, _, out = designed
    assert {path.name for path in folder.iterdir()} >= RESULTS
    data = json.loads((folder / "design.json").read_text())
    assert json.loads(out) == data
    assert list(data)[: len(PROMISED)] == PROMISED
    assert data["criterion"] == "d-optimal"
    assert data["certificate"]["certified"] is data["files"]["certificate"]["certified"] is True
    assert data["value"] == pytest.approx(data["log_det"])
    assert list(data["predicted_std"]) == [p["name"] for p in data["parameters"]]
    assert all(0 < std < 100 for std in data["predicted_std"].values())
    assert data["noise"] == [1.0, 2.0, 0.5]
    assert len(data["robot"]["sha256"]) == 64
    whats = {limit["what"] for limit in data["certificate"]["limits"]}
    assert whats >= {"position", "velocity", "acceleration", "jerk", "height", "distance"}


def test_the_motion_is_what_was_asked_for(designed):
    """Two periods between ramps that start and end at home, the same in every file."""
    folder, _, _ = designed
    robot = embedded.robot(ROBOT)
    exact = read_trajectory(folder / "trajectory.json", robot)
    ends = exact.motion([exact.start, exact.end])
    np.testing.assert_allclose(ends.q, np.tile(embedded.home(ROBOT), (2, 1)), rtol=0, atol=1e-9)
    assert np.abs(ends.qd).max() < 1e-9
    middle = 0.5 * (exact.start + exact.end)
    around = exact.motion([middle - 2.0, middle + 2.0])
    np.testing.assert_allclose(around.q[0], around.q[1], rtol=0, atol=1e-9)
    time_ = np.linspace(exact.start, exact.end, 3001)
    for name in RESULTS - {"design.json", "design.npz", "report.html", "trajectory.json"}:
        file = read_trajectory(folder / name, robot)
        inside = np.clip(time_ - exact.start, file.start, file.end)
        np.testing.assert_allclose(file.motion(inside).q, exact.motion(time_).q, rtol=0, atol=1e-7)


def test_check_certifies_every_file(capsys, designed):
    folder, config, _ = designed
    for name in ("trajectory.csv", "trajectory.json", "trajectory.ros2.yaml", "trajectory.ros2.json"):
        code, out, err = run(capsys, "check", ROBOT, folder / name, "--config", config)
        assert (code, err) == (0, "")
        assert "certified: " in out
        assert "NOT" not in out
    for heading in ("limit", "allowed", "reached", "at [s]", "margin", "status"):
        assert heading in out


def test_check_finds_what_is_broken(capsys, designed, tmp_path):
    """The same rows, run through in two thirds of the time."""
    folder, config, _ = designed
    lines = (folder / "trajectory.csv").read_text().splitlines()
    rows = np.loadtxt(lines[1:], delimiter=",")
    rows[:, 0] /= 1.5
    rows[:, 2::3] *= 1.5
    rows[:, 3::3] *= 1.5**2
    np.savetxt(tmp_path / "fast.csv", rows, fmt="%.17g", delimiter=",", header=lines[0], comments="")
    code, out, _ = run(capsys, "check", ROBOT, tmp_path / "fast.csv", "--config", config)
    assert code == 1
    assert "NOT certified" in out
    code, out, _ = run(capsys, "check", ROBOT, tmp_path / "fast.csv", "--config", config, "--json")
    assert code == 1
    data = json.loads(out)
    assert data["certified"] is False
    broken = [limit for limit in data["limits"] if limit["status"] == "broken"]
    assert {limit["what"] for limit in broken} & {"velocity", "acceleration", "jerk"}
    for limit in broken:
        assert limit["margin"] < 0
        assert 0 <= limit["at"] <= rows[-1, 0]


def test_a_limit_between_samples_is_found(capsys, designed, tmp_path):
    """Rows that keep every limit while the quintic between them does not."""
    robot = embedded.robot(ROBOT)
    head = "time," + ",".join(f"{joint}.{word}" for joint in robot.joint_names for word in ("q", "qd", "qdd"))
    still = ["0"] * 6
    swing = robot.limit("velocity")[0] * 0.99
    rows = [",".join([str(t), "0", str(v * swing), "0", *still]) for t, v in ((0, 1), (0.3, -1), (0.6, 1))]
    (tmp_path / "swing.csv").write_text("\n".join([head, *rows]))
    code, out, _ = run(capsys, "check", ROBOT, tmp_path / "swing.csv", "--json")
    broken = [limit for limit in json.loads(out)["limits"] if limit["status"] == "broken"]
    assert code == 1
    assert {limit["where"] for limit in broken} == {robot.joint_names[0]}


def test_the_same_seed_gives_the_same_files(designed, tmp_path, capsys):
    folder, config, _ = designed
    code, out, err = run(capsys, "design", ROBOT, "-o", tmp_path, "--config", config)
    assert (code, err) == (0, "")
    assert "certified: " in out
    # To the last bit, also when one process compiled the kernels itself and the other has them from the disk cache.
    values = [json.loads((where / "design.json").read_text())["value"] for where in (tmp_path, folder)]
    assert values[0] == values[1]
    for name in ("trajectory.csv", "trajectory.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_resuming_gives_what_an_uninterrupted_run_gives(capsys, designed, tmp_path):
    _, config, _ = designed
    once, twice = tmp_path / "once", tmp_path / "twice"
    assert run(capsys, "design", ROBOT, "-o", once, "--config", config, "--starts", 3)[0] == 0
    assert run(capsys, "design", ROBOT, "-o", twice, "--config", config, "--starts", 1)[0] == 0
    assert run(capsys, "design", ROBOT, "-o", twice, "--config", config, "--starts", 3, "--resume")[0] == 0
    assert (once / "trajectory.json").read_bytes() == (twice / "trajectory.json").read_bytes()
    starts = [json.loads((folder / "design.json").read_text())["starts"] for folder in (once, twice)]
    assert [s["value"] for s in starts[0]] == [s["value"] for s in starts[1]]
    assert len(starts[0]) == 3
    code, _, err = run(capsys, "design", ROBOT, "-o", twice, "--config", config, "--seed", 9, "--resume")
    assert code == 2
    assert "another design" in err


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX systems")
def test_ctrl_c_leaves_what_was_reached(capsys, designed, tmp_path):
    _, config, _ = designed
    words, environment = command("design", ROBOT, "-o", tmp_path, "--config", config, "--starts", 100000)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # background jobs ignore it
    with subprocess.Popen(words, env=environment, preexec_fn=heeded, **pipes) as process:
        deadline = time.monotonic() + 300
        while not (tmp_path / "checkpoint.json").exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert "--resume" in out
    assert {path.name for path in tmp_path.iterdir()} == RESULTS | {"checkpoint.json"}
    assert json.loads((tmp_path / "design.json").read_text())["interrupted"] is True
    assert run(capsys, "check", ROBOT, tmp_path / "trajectory.csv", "--config", config)[0] == 0


def test_a_time_limit_is_no_failure(capsys, designed, tmp_path):
    _, config, _ = designed
    words = ("design", ROBOT, "-o", tmp_path, "--config", config, "--starts", 100000, "--time-limit", 4, "--json")
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert json.loads(out)["interrupted"] is True
    assert len(json.loads(out)["starts"]) < 1000


# -- what is not in the certificate ------------------------------------------------------------------------------------

BARE = """<robot name="bare"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="{kind}"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>{limit}</joint>
<link name="camera"/><joint name="k" type="fixed"><parent link="a"/><child link="camera"/></joint></robot>"""
LIMIT = '<limit lower="-1" upper="1" effort="{effort}" velocity="1"/>'


def bare(folder, kind="revolute", effort=0):
    path = folder / "bare.urdf"
    path.write_text(BARE.format(kind=kind, limit="" if kind == "continuous" else LIMIT.format(effort=effort)))
    return path


def test_remarks_and_what_is_not_checked_stand_beside_the_verdict(capsys, tmp_path):
    robot, folder = bare(tmp_path), tmp_path / "out"
    code, out, err = run(capsys, "design", robot, "-o", folder, "--starts", 1)
    assert (code, err) == (0, "")
    assert "note: acceleration limits of all joints are assumed" in out
    for what in ("torque: the robot has no torque limits", "self-collision: no pair", "people and whatever"):
        assert f"not checked: {what}" in out
    assert "frame 'b' moves within" in out  # not the camera, which is fixed on the base
    data = json.loads((folder / "design.json").read_text())
    assert any("are assumed" in remark for remark in data["remarks"])
    assert "acceleration of all joints: 2 rad/s² was assumed" in data["not_checked"][0]
    assert len(data["not_checked"]) == 5
    report = (folder / "report.html").read_text(encoding="utf-8")
    lead = report[: report.index('<dl class="figures">')]
    assert all(text in html.unescape(lead) for text in (*data["remarks"], *data["not_checked"]))
    code, out, _ = run(capsys, "check", robot, folder / "trajectory.csv")
    assert code == 0
    assert "not checked: torque" in out
    assert "note: acceleration limits" in out
    code, out, _ = run(capsys, "check", robot, folder / "trajectory.csv", "--json")
    *of_robot, of_noise = data["remarks"]
    assert (json.loads(out)["not_checked"], json.loads(out)["remarks"]) == (data["not_checked"], of_robot)
    assert of_noise.startswith("predictions assume noise of σ 1 N·m")


def test_rows_without_velocities_are_certified_with_a_word_of_how_they_are_joined(capsys, tmp_path):
    """As a spline; a controller that joins them by straight lines does something else. Files of ``slow`` have all."""
    robot, says = bare(tmp_path), "how a controller joins rows without velocities: a spline through the positions was"
    rows = [(k, 0.1 * (3 * (k / 4) ** 2 - 2 * (k / 4) ** 3), 0.15 * (k / 4) * (1 - k / 4)) for k in range(5)]
    keys = ("positions", "velocities")
    files = {}
    for count in (1, 2):
        table, message = files[count] = tmp_path / f"t{count}.csv", tmp_path / f"t{count}.json"
        header = ",".join(["time", "j.q", "j.qd"][: 1 + count])
        table.write_text("\n".join([header, *(",".join(map(str, row[: 1 + count])) for row in rows)]))
        points = [
            {"time_from_start": {"sec": k}} | {key: [value] for key, value in zip(keys[:count], values, strict=False)}
            for k, *values in rows
        ]
        message.write_text(json.dumps({"joint_names": ["j"], "points": points}))
    for file in files[1]:
        code, out, _ = run(capsys, "check", robot, file)
        assert (code, f"not checked: {says}" in out) == (0, True)
        data = json.loads(run(capsys, "check", robot, file, "--json")[1])
        assert any(text.startswith(says) for text in data["not_checked"])
        slow = tmp_path / f"slow{file.suffix}"
        code, out, _ = run(capsys, "slow", robot, file, "--speed", 50, "-o", slow)
        assert (code, f"not checked: of {file.name}, {says}" in out) == (0, True)
        assert any(says in text for text in json.loads((slow / "design.json").read_text())["not_checked"])
        files[2] = (*files[2], slow / "trajectory.csv", slow / "trajectory.json", slow / "trajectory.ros2.json")
    for file in files[2]:
        code, out, _ = run(capsys, "check", robot, file)
        assert (code, says in out) == (0, False)


def test_a_motion_without_any_limit_is_not_called_certified(capsys, tmp_path):
    robot = bare(tmp_path, kind="continuous")
    (tmp_path / "t.csv").write_text("time,j.q,j.qd\n0,0,0\n1,1,0")
    code, out, _ = run(capsys, "check", robot, tmp_path / "t.csv")
    assert code == 0
    assert "nothing to certify: there is no limit" in out
    assert "not checked: any limit: the robot has none" in out


@pytest.mark.parametrize(
    ("rows", "ends"), [("0,0,1\n1,1,0", ["from"]), ("0,0,0\n1,1,1", ["to"]), ("0,0,1\n1,1,1", ["from", "to"])]
)
def test_no_file_that_starts_or_ends_moving_is_fit_to_run(capsys, tmp_path, rows, ends):
    """An arm that stands cannot follow it: ``check`` says so like of any jump, and ``slow`` writes nothing."""
    robot, file = bare(tmp_path, effort=5), tmp_path / "t.csv"
    file.write_text(f"time,j.q,j.qd\n{rows}")
    code, out, _ = run(capsys, "check", robot, file, "--json")
    jumps = [limit for limit in json.loads(out)["limits"] if limit["status"] == "broken" and "jump" in limit["what"]]
    assert (code, json.loads(out)["certified"]) == (1, False)
    assert [(jump["what"], jump["where"]) for jump in jumps] == [(f"jump of velocity {end} rest", "j") for end in ends]
    assert [jump["at"] for jump in jumps] == [{"from": 0.0, "to": 1.0}[end] for end in ends]
    assert "NOT certified" in run(capsys, "check", robot, file)[1]
    code, _, err = run(capsys, "slow", robot, file, "--speed", 10, "-o", tmp_path / "slow")
    assert code == 2
    assert "jump of velocity" in err
    assert not (tmp_path / "slow").exists()


def test_rounded_rows_get_a_hint(capsys, tmp_path):
    robot = bare(tmp_path, effort=5)
    t = np.arange(0.0, 4.0, 0.001)
    q = 0.5 * (1 - np.cos(np.pi / 2 * t))
    for digits, hint in ((5, True), (17, False)):
        rows = [f"{a:.3f},{b:.{digits}f},{c:.17g}" for a, b, c in zip(t, q, np.gradient(q, t), strict=True)]
        (tmp_path / "t.csv").write_text("\n".join(["time,j.q,j.qd", *rows]))
        code, out, _ = run(capsys, "check", robot, tmp_path / "t.csv")
        assert ("hint: the positions look rounded to 5 decimals" in out) is hint
        assert ("accelerations up to 60 rad/s²" in out) is hint
        if hint:
            assert code == 1
            assert re.search(r"NOT certified: of \d+ limits, \d+ broken", out)


ARM = """<robot name="arm"><link name="base"/>
<link name="one">{mass}</link><link name="two">{lighter}</link>
<joint name="j" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 1 0"/>{facts}</joint>
<joint name="k" type="revolute"><parent link="one"/><child link="two"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>{facts}
</joint></robot>"""
MASS = """<inertial><origin xyz="0.1 0 0"/><mass value="0.2"/>
<inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial>"""


def arm(folder, *, mass=MASS, effort=3.0, dynamics='<dynamics friction="5" damping="0.1"/>'):
    path = folder / "arm.urdf"
    limit = f'<limit lower="-1" upper="1" effort="{effort}" velocity="1"/>'
    path.write_text(ARM.format(mass=mass, lighter=mass.replace("0.002", "0.0015"), facts=limit + dynamics))
    return path


def swing(folder):
    """A slow quintic from rest to rest."""
    path = folder / "swing.csv"
    head = ",".join(["time", *(f"{name}.{word}" for name in "jk" for word in ("q", "qd", "qdd"))])
    path.write_text(f"{head}\n0,0,0,0,0,0,0\n4,0.4,0,0,0.4,0,0\n")
    return path


NO_GROUND = "constraints: {ground: none}"  # the arm of these tests has no height
TERMS = (
    "none",
    "[viscous]",
    "[rotor, viscous]",
    "[{coulomb: {shape: {tanh: {width: 100.0}}}}]",
    "[viscous, {coulomb: {shape: {dahl: {delta: 100.0}}}}]",
    "[{coulomb: {joints: [j]}}]",
    "[offset]",
)


@pytest.mark.parametrize("terms", TERMS)
def test_what_is_identified_has_no_part_in_the_torque_proof(capsys, tmp_path, terms):
    """Drives of 3 N·m against a friction of 5 N·m: no choice of terms makes the motion possible."""
    robot, motion, config, folder = arm(tmp_path), swing(tmp_path), tmp_path / "config.yaml", tmp_path / "out"
    config.write_text(f"{{terms: {terms}, {NO_GROUND}}}")
    code, out, _ = run(capsys, "check", robot, motion, "--config", config, "--json")
    broken = {limit["where"] for limit in json.loads(out)["limits"] if limit["status"] == "broken"}
    assert (code, broken) == (1, {"j", "k"})
    code, _, err = run(capsys, "slow", robot, motion, "--speed", 50, "-o", folder, "--config", config)
    assert code == 2
    assert "breaks a limit: torque of j" in err
    for family in ("fourier", "random-spline, draws: 2, segments: 4, duration: 5"):
        config.write_text(f"{{terms: {terms}, {NO_GROUND}, starts: 1, trajectory: {{family: {family}}}}}")
        code, _, err = run(capsys, "design", robot, "-o", folder, "--config", config)
        assert code == 2
        assert re.search("joints 'j', 'k' cannot move: a dry friction of 5 N·m|infeasible: .* torque of [jk]", err)
    assert not folder.exists() or not list(folder.iterdir())


def test_drives_that_overcome_the_friction_are_certified(capsys, tmp_path):
    """The counterpart: with 8 N·m all is proved, and nothing of the torque is left unchecked."""
    robot, motion, config = arm(tmp_path, effort=8.0), swing(tmp_path), tmp_path / "config.yaml"
    config.write_text(NO_GROUND)
    code, out, _ = run(capsys, "check", robot, motion, "--config", config, "--json")
    found = json.loads(out)
    assert code == 0
    assert [limit["status"] for limit in found["limits"] if limit["what"] == "torque"] == ["holds"] * 4
    assert not any(text.startswith("torque") for text in found["not_checked"])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"mass": ""}, "torque: the description has no masses that could be a robot's: no link has a mass"),
        ({"mass": MASS.replace('"0.2"', '"0"')}, "torque: the description has no masses that could be a robot's"),
        ({"dynamics": ""}, "torque: the description declares no friction"),
        ({"dynamics": '<dynamics friction="0" damping="0"/>'}, "torque: the description declares no friction"),
        ({"dynamics": '<dynamics damping="0.1"/>'}, "torque: the description declares damping and no Coulomb friction"),
        ({"effort": 1e6}, "torque: the limit of 1e+06 N·m is a placeholder"),
    ],
    ids=["no masses", "masses of zero", "no friction", "friction of zero", "damping alone", "no limit"],
)
def test_a_torque_that_rests_on_missing_data_is_not_counted(capsys, tmp_path, changes, says):
    """In the terminal, in JSON and in the report alike; a payload, which is known, makes no arm known."""
    robot, folder, config = arm(tmp_path, **{"effort": 50.0, **changes}), tmp_path / "out", tmp_path / "config.yaml"
    config.write_text(
        "{constraints: {ground: none, torque: {payload: {frame: two, mass: 1.0}}}, trajectory: {rate: 20}}"
    )
    code, out, err = run(capsys, "design", robot, "-o", folder, "--starts", 1, "--config", config)
    assert (code, err) == (0, "")
    data = json.loads((folder / "design.json").read_text())
    by_status = {word: {x["what"] for x in data["certificate"]["limits"] if x["status"] == word} for word in STATUSES}
    assert by_status == {"holds": {"position", "velocity"}, "assumed": {"acceleration", "torque"}, **NONE}
    count = sum(x["status"] == "holds" for x in data["certificate"]["limits"])
    assert (count, data["certificate"]["proved"], data["certificate"]["assumed"]) == (6, 6, 6)
    assert "certified: 6 limits hold" in out
    assert "; 6 more are kept, but rest on what was assumed or is missing" in out
    assert f"not checked: {says}" in out
    assert "not checked: acceleration of all joints: 2 rad/s² were assumed" in out
    report = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    assert "6 limits are proved to hold" in report
    assert says in report[: report.index('<dl class="figures">')]
    assert report.count('<span class="word unproved">assumed</span>') == 6
    assert report.count('<span class="word good">holds</span>') == 6
    code, out, _ = run(capsys, "check", robot, folder / "trajectory.csv", "--config", config)
    assert code == 0
    assert "certified: 6 limits hold" in out
    assert len(re.findall(r"^(torque|acceleration) .* assumed *$", out, re.M)) == 6
    assert f"not checked: {says}" in out


STATUSES = ("holds", "assumed", "open", "broken")
NONE = {"open": set(), "broken": set()}
JOINTS = embedded.robot(ROBOT).joint_names
STILL = [[0, 0, 0, 0]] * 2


def teleporting(folder):
    """A trajectory.json in which the first joint stands at 0 for a second, and then at 0.5."""
    piece = {"kind": "polynomial", "knots": [0, 1, 2], "coefficients": [[[0, 0, 0, 0], [0.5, 0, 0, 0]], STILL, STILL]}
    path = folder / "teleport.json"
    path.write_text(json.dumps({"joints": JOINTS, "pieces": [piece]}))
    return path


def test_a_joint_that_teleports_is_not_certified(capsys, tmp_path):
    path = teleporting(tmp_path)
    code, out, err = run(capsys, "check", ROBOT, path)
    assert (code, err) == (1, "")
    assert re.search(rf"jump of position +{JOINTS[0]} +≤ 1\S* rad +0\.5 +1\.0000 .*broken", out)
    assert re.search(r"NOT certified: of \d+ limits, 1 broken", out)
    code, out, _ = run(capsys, "check", ROBOT, path, "--json")
    found = json.loads(out)
    assert (code, found["certified"]) == (1, False)
    first = found["limits"][0]
    assert (first["what"], first["where"], first["status"]) == ("jump of position", JOINTS[0], "broken")
    assert (first["reached"], first["at"]) == (0.5, 1.0)


def test_no_command_works_with_a_joint_that_teleports(capsys, tmp_path):
    path, target = teleporting(tmp_path), tmp_path / "out"
    config = tmp_path / "config.yaml"
    config.write_text(f"prior: [{path.name}]")
    log = tmp_path / "log.csv"
    head = ",".join(["time", *(f"{name}.{what}" for name in JOINTS for what in ("q", "tau"))])
    log.write_text("\n".join([head, *(f"{0.01 * k:.2f}," + ",".join(["0.1"] * 6) for k in range(100))]))
    for words in (
        ("simulate", ROBOT, path, "-o", target / "log.csv"),
        ("slow", ROBOT, path, "--speed", 50, "-o", target),
        ("inspect", ROBOT, log, "--planned", path),
        ("design", ROBOT, "-o", target, "--config", config),
    ):
        code, out, err = run(capsys, *words)
        assert (code, out) == (2, ""), words[0]
        assert f"the position of joint '{JOINTS[0]}' jumps from 0 to 0.5 at 1 s" in err, words[0]
        assert err.count("\n") == 1
        assert not target.exists() or not list(target.iterdir())


# -- bad input: one line, exit 2, no file -----------------------------------------------------------------------------

BAD = [
    ("limits: {lower: 1.0, upper: -1.0}", "joint_1.*lower limit 1 and upper limit -1"),
    ("limits: {velocity: 0}", "velocity limit of joint 'joint_1' is 0"),
    ("trajectory: {ramps: {start: [3, 0, 0]}}", "joint 'joint_1' at 3, outside its limits"),
    ("trajectory: {period: 0}", "period is 0; give a number ≥ 0.001"),
    ("trajectory: {period: 1.0e-4}", "period is 0.0001; give a number ≥ 0.001"),
    ("constraints: {workspace: [{frame: tool, z_min: 50}]}", "infeasible.*height of tool at least 50 m"),
    (
        "constraints: {workspace: [{frame: tool, z_min: 0.3}, {frame: tool, z_max: 0.2}]}",
        "infeasible",
    ),
    ("terms: [coulomb, {stribeck: {velocity: 1e9}}]", "infinite: .*excites Fs1, Fs2, Fs3, Fst1, Fst2, Fst3"),
    ("samples: 3", "infinite: .* with 3 samples; .*take more samples"),
    ("noise: -1", "noise is -1; give a number > 0"),
    ("prior: [nowhere.csv]", "nowhere.csv'; there is no such file or folder"),
    ("criterion: beauty", "'beauty'"),
]


@pytest.mark.parametrize(("text", "says"), BAD)
def test_bad_input_gets_one_line_and_no_file(capsys, tmp_path, text, says):
    config = tmp_path / "config.yaml"
    config.write_text(text)
    code, out, err = run(capsys, "design", ROBOT, "-o", tmp_path / "out", "--config", config)
    assert (code, out) == (2, ""), err
    assert err.startswith("exciter: ")
    assert err.count("\n") == 1, err
    assert re.search(says, err), err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("design", ROBOT), "-o"),
        (("design", "nobody", "-o", "{}"), "nobody"),
        (("design", ROBOT, "-o", "{}", "--trajectory", "circle"), "--trajectory is 'circle'; allowed are fourier"),
        (("design", ROBOT, "-o", "{}", "--criterion", "beauty"), "--criterion is 'beauty'; allowed are d-optimal"),
        (
            ("design", ROBOT, "-o", "{}/a/b", "--criterion", "cramer-rao"),
            "needs joint_noise; give criterion: {cramer-rao: {joint_noise: 1.0e-4}}",
        ),
        (
            ("design", ROBOT, "-o", "{}/a", "--parameters", "Foo"),
            "--parameters: unknown parameter or word 'Foo'",
        ),
        (("design", ROBOT, "-o", "{}/a", "--gravity", "1e40", "0", "0"), "exciter: --gravity is 1e+40"),
        (("design", ROBOT, "-o", "{}", "--starts", "0"), "'0' is not a whole number ≥ 1"),
        (("design", ROBOT, "-o", "{}", "--seed", "x"), "'x'"),
        (("design", ROBOT, "-o", "{}", "--time-limit", "-3"), "'-3' is not a positive number"),
        (("design", ROBOT, "-o", "/proc/nowhere"), "cannot write to '/proc/nowhere'"),
        (("check", ROBOT), "TRAJECTORY"),
        (("check", ROBOT, "{}/missing.csv"), "no file"),
        (("check", "nobody", "x.csv"), "nobody"),
    ],
)
def test_bad_words_get_one_line(capsys, tmp_path, words, says):
    code, out, err = run(capsys, *(word.format(tmp_path) for word in words))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert says in err
    assert list(tmp_path.iterdir()) == []


def test_other_commands_leave_the_design_part_aside(capsys, designed):
    _, config, _ = designed
    code, out, _ = run(capsys, "base", ROBOT, "--config", config, "--json")
    assert code == 0
    assert json.loads(out)["joints"] == 3
