"""A folder is whole or refused, whenever its writer is killed; nothing outside a folder is deleted or followed."""

import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from exciter.cli import main
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.files import export
from exciter.excitation.files.trajectory_files import DESIGN, MOTION_FILES, read_trajectory
from exciter.excitation.trajectories.fourier import Fourier
from exciter.experiment.recording import Recording, read_recording
from exciter.experiment.recording.own_log_format import write_recording
from exciter.experiment.recording.recording import About
from exciter.export.ros2 import joint_trajectory
from exciter.files import HASHES, STAGE_PREFIX, Seal, inside, prepare, scratch, sha256, staged, write_json
from exciter.identification.identified_model import RESULT_KINDS, RESULT_SEAL, IdentifiedModel, read_result
from exciter.pipeline.identified import unsealed_result
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.robot.load import RobotOptions
from support.killing import KILLED, answer, killed_at, states
from support.terminal import without_progress

pytestmark = pytest.mark.slow

ROBOT_NAME = "gautier-khalil"


# -- designs ---------------------------------------------------------------------------------------------------------


def write_design(folder, amplitude):
    robot, trajectory = embedded.robot(ROBOT_NAME), Fourier(period=1.0, harmonics=1)
    delta = amplitude * np.ones((robot.n, len(trajectory.labels)))
    wide = robot.with_limits(lower=-9.0, upper=9.0, velocity=99.0, acceleration=999.0, jerk=99999.0, torque=9999.0)
    with staged(folder, DESIGN) as stage:
        curve = trajectory.curve(delta)
        files = export(stage, robot, curve, trajectory, delta, lambda one: certify(wide, one), rate=20.0)
        (stage / "report.html").write_text(f"<p>{amplitude}</p>")
        about = {"name": robot.name, "joints": list(robot.joint_names)}
        DESIGN.write(stage, {"robot": about, "files": files.to_dict()})


def motion_answers(folder):
    """Every way in which a command takes the motion of a folder; the position at one instant, or None."""
    robot = embedded.robot(ROBOT_NAME)

    def at(path):
        return round(float(read_trajectory(path, robot).motion([0.25]).q[0, 0]), 6)

    found = [answer(lambda p=p: at(p)) for p in (folder, *(folder / n for n in MOTION_FILES))]
    message = answer(lambda: joint_trajectory(folder, as_json=True))
    if message is not None:
        (folder / "message.json").write_text(message)
        message = at(folder / "message.json")
    return [*found, message]


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    """Two designs, and what is read of each."""
    folders = []
    for name, amplitude in (("old", 0.1), ("new", 0.3)):
        folder = tmp_path_factory.mktemp(name)
        write_design(folder, amplitude)
        folders.append(folder)
    old, new = (motion_answers(folder)[0] for folder in folders)
    assert old != new
    return folders, old, new


@pytest.mark.parametrize("redesign", [True, False], ids=["over_an_older_one", "in_an_empty_folder"])
def test_a_design_killed_between_any_two_renames_is_old_or_new_or_refused(tmp_path, designs, redesign):
    (before, source), old, new = designs

    def write(folder):
        with staged(folder, DESIGN) as stage:
            for path in source.iterdir():
                if path.name not in (DESIGN.name, "message.json"):
                    shutil.copyfile(path, stage / path.name)
            DESIGN.write(stage, json.loads((source / DESIGN.name).read_text()))

    seen = []
    for folder in states(tmp_path, before if redesign else None, write):
        found = set(motion_answers(folder))
        assert len(found) == 1, f"{folder.name}: {found}: parts of two designs, or a part of one"
        seen += found
    first = old if redesign else None
    assert seen[0] == first
    assert seen[-1] == new
    assert None in seen
    assert set(seen) == {first, None, new}
    assert seen == sorted(seen, key=[first, None, new].index if redesign else [None, new].index)


def test_a_folder_of_which_a_writer_was_killed_is_whole_after_the_next_one(tmp_path, designs):
    (before, _), _, new = designs
    for k in (3, 5, 7):
        folder = tmp_path / str(k)
        shutil.copytree(before, folder)
        assert killed_at(k, lambda folder=folder: write_design(folder, 0.3))
        write_design(folder, 0.3)
        assert set(motion_answers(folder)) == {new}


@pytest.fixture
def design(tmp_path, designs):
    folder = tmp_path / "design"
    shutil.copytree(designs[0][0], folder)
    return folder


@pytest.fixture(params=["check", "slow", "simulate", "export"])
def refused(request, design, capsys, monkeypatch):
    """What a command says in one line when it refuses a folder; before any work, and nothing is written."""
    words = {
        "check": ["check", ROBOT_NAME, design / "trajectory.csv"],
        "slow": ["slow", ROBOT_NAME, design / "trajectory.json", "--speed", 50, "-o", design / "slow"],
        "simulate": ["simulate", ROBOT_NAME, design, "-o", design / "out" / "log.csv"],
        "export": ["export", design, "--format", "ros2", "-o", design / "out" / "m.yaml"],
    }[request.param]
    begun = "exciter.excitation.design_settings.DesignSettings.constraints_of"

    def said():
        monkeypatch.setattr(begun, lambda *_: pytest.fail("limits were prepared before the file was read"))
        with pytest.raises(SystemExit) as left:
            main([*map(str, words)])
        error = without_progress(capsys.readouterr().err)
        assert left.value.code == 2
        assert error.count("\n") == 1
        assert not (design / "slow").exists()
        assert not (design / "out").exists()
        return error

    return said


def test_a_file_that_is_not_the_one_of_design_json_is_refused_by_every_command(refused, design, designs):
    shutil.copyfile(designs[0][1] / "trajectory.csv", design / "trajectory.csv")  # of the other design
    assert "trajectory.csv' is not the file that design.json beside it was written with" in refused()


def entries(folder):
    """Content and identity of every file below a folder."""
    return {path: (path.read_bytes(), path.stat().st_ino) for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["simulate", "MOTION", "-o", "HERE/trajectory.csv"], "trajectory.csv"),
        (["simulate", "MOTION", "-o", "HERE/Trajectory.CSV"], "Trajectory.CSV"),
        (["simulate", "MOTION", "-o", "NEW/log.csv", "--motion", "HERE/trajectory.csv"], "trajectory.csv"),
        (["simulate", "MOTION", "-o", "NEW/log.csv", "--truth", "HERE/design.json"], "design.json"),
        (["simulate", "MOTION", "-o", "NEW/log.csv", "--truth", "HERE/checkpoint.json"], "checkpoint.json"),
        (["simulate", "MOTION", "-o", "HERE/trajectory.ros2.csv"], "trajectory.ros2.yaml"),
        (["simulate", "MOTION", "-o", "FOUND/robot.csv"], "robot.csv"),
        (["inspect", "LOG", "-o", "HERE/trajectory.csv"], "trajectory.csv"),
        (["inspect", "LOG", "-o", "HERE/trajectory.ros2.csv"], "trajectory.ros2.yaml"),
        (["init", "--force", "-o", "HERE/trajectory.ros2.yaml"], "trajectory.ros2.yaml"),
        (["init", "--force", "-o", "FOUND/robot.yaml"], "robot.yaml"),
        (["export", "--format", "ros2", "-o", "HERE/trajectory.ros2.yaml"], "trajectory.ros2.yaml"),
        (["export", "--format", "json", "-o", "HERE/checked/validation.json"], "validation.json"),
        (["export", "--format", "c", "-o", "FOUND/motor.c"], "motor.h"),
        (["export", "--format", "json", "-o", "HERE/papers/rackl-2012.json"], "rackl-2012.json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_command_writes_one_file_over_a_file_of_a_result(words, name, design, tmp_path, capsys):
    """Neither a motion that was certified, nor its seal, nor what a search can go on from; told before any work."""
    (design / "checkpoint.json").write_text("{}")
    sets = {"found/result.json": ["motor.h"], "design/checked/validation.json": [], "design/papers/rackl-2012.json": []}
    for path, companions in sets.items():
        (tmp_path / path).parent.mkdir()
        write_json(tmp_path / path, {HASHES: dict.fromkeys(companions, "0" * 64)})
    places = {"HERE": design, "FOUND": tmp_path / "found", "NEW": tmp_path / "new"}
    for key, place in places.items():
        words = [word.replace(key, str(place)) for word in words]
    files = {"MOTION": str(design / "trajectory.json"), "LOG": str(design / "trajectory.csv")}
    command, *rest = [files.get(word, word) for word in words]
    before = entries(tmp_path)
    with pytest.raises(SystemExit) as left:
        main([command, str(design) if command == "export" else ROBOT_NAME, *rest])
    error = without_progress(capsys.readouterr().err)
    assert left.value.code == 2
    assert error.count("\n") == 1
    assert f"/{name}' is " in error
    assert "choose another name" in error
    assert entries(tmp_path) == before
    assert not (tmp_path / "new").exists()


def seals(text):
    """Seals that show nothing, of the text of a good one."""
    data = json.loads(text)
    without = {key: value for key, value in data.items() if key != HASHES}
    upper = {name: digest.upper() for name, digest in data[HASHES].items()}
    first = json.dumps(data[HASHES])
    return {
        "nothing": "",
        "no JSON": text[:-3],
        "binary": bytes(range(256)),
        "UTF-16": text.encode("utf-16"),
        "a list": f"[{text}]",
        "a number": "17",
        "nested without end": "[" * 100_000,
        "a byte-order mark": b"\xef\xbb\xbf" + text.encode(),
        "no hashes": json.dumps(without),
        "an empty object": "{}",
        "hashes of nothing": json.dumps({**without, HASHES: {}}),
        "a list of hashes": json.dumps({**without, HASHES: [*data[HASHES].values()]}),
        "null": json.dumps({**without, HASHES: None}),
        "upper case": json.dumps({**without, HASHES: upper}),
        "a hash cut short": json.dumps({**without, HASHES: {**data[HASHES], "trajectory.csv": "0" * 63}}),
        "a hash that is too long": json.dumps({**without, HASHES: {**data[HASHES], "trajectory.csv": "0" * 65}}),
        "a hash that is a number": json.dumps({**without, HASHES: {**data[HASHES], "trajectory.csv": 0}}),
        "a name that leads out": json.dumps({**without, HASHES: {**data[HASHES], "../precious": "0" * 64}}),
        "hashes twice": json.dumps(without)[:-1] + f', "{HASHES}": {first}, "{HASHES}": {first}}}',
        "a name twice": json.dumps(without)[:-1] + f', "{HASHES}": {first[:-1]}, {first[1:]}}}',
        "another key twice": '{"robot": 1, ' + text.lstrip()[1:],
    }


@pytest.mark.parametrize("damage", seals(json.dumps({HASHES: {"a": "0"}})))
def test_beside_a_design_json_that_shows_no_hashes_no_motion_is_read(design, damage):
    """Whatever file of the folder is asked for; alone, in another folder, it counts for itself."""
    path, robot = design / DESIGN.name, embedded.robot(ROBOT_NAME)
    shutil.copyfile(design / "trajectory.csv", design / "mine.csv")
    content = seals(path.read_text())[damage]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for name in (*MOTION_FILES, "mine.csv"):
        with pytest.raises(ExciterError, match=r"design\.json' does not show.*design again, or copy the file alone"):
            read_trajectory(design / name, robot)
    assert set(motion_answers(design)) == {None}
    path.unlink()
    assert read_trajectory(design, robot).duration == pytest.approx(1.0)


@pytest.mark.parametrize(("text", "line"), [("", 1), ("garbage", 1), ('{"a": 1,\n}', 2)])
def test_a_design_json_that_is_no_json_is_called_so(design, text, line):
    (design / DESIGN.name).write_text(text)
    with pytest.raises(ExciterError, match=rf"it is not readable JSON \(line {line}\); design again"):
        read_trajectory(design, embedded.robot(ROBOT_NAME))


def test_a_damaged_or_older_design_json_is_refused_by_every_command(refused, design):
    path = design / DESIGN.name
    text = path.read_text()
    for damage in ("no JSON", "no hashes", "a name twice"):
        path.write_text(seals(text)[damage])
        said = refused()
        assert "design.json' does not show" in said or "design.json' cannot be read as a design; design again" in said


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to nothing"])
def test_a_design_json_that_is_no_file_shows_nothing(design, kind):
    path = design / DESIGN.name
    path.unlink()
    {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "link to nothing": lambda: path.symlink_to("x")}[kind]()
    with pytest.raises(ExciterError, match="it is no regular file"):
        read_trajectory(design, embedded.robot(ROBOT_NAME))


def test_a_motion_that_design_json_has_no_hash_of_is_refused(design):
    path = design / DESIGN.name
    data = json.loads(path.read_text())
    del data[HASHES]["trajectory.csv"]
    path.write_text(json.dumps(data))
    robot = embedded.robot(ROBOT_NAME)
    with pytest.raises(ExciterError, match=r"no hash of it.*design again, or copy the file alone"):
        read_trajectory(design / "trajectory.csv", robot)
    assert read_trajectory(design / "trajectory.json", robot).duration == pytest.approx(1.0)


@pytest.mark.parametrize("damage", ["no JSON", "no hashes", "a list"])
def test_a_design_is_written_over_a_damaged_one(design, designs, damage):
    path = design / DESIGN.name
    path.write_text(seals(path.read_text())[damage])
    write_design(design, 0.3)
    assert set(motion_answers(design)) == {designs[2]}


def test_a_trajectory_that_moved_to_a_folder_with_another_design_json_is_refused(design, designs):
    shutil.copyfile(designs[0][1] / DESIGN.name, design / DESIGN.name)
    assert set(motion_answers(design)) == {None}


def test_a_trajectory_alone_counts_for_itself(tmp_path, design, designs):
    robot, alone = embedded.robot(ROBOT_NAME), tmp_path / "alone" / "trajectory.csv"
    alone.parent.mkdir()
    shutil.copyfile(design / "trajectory.csv", alone)
    assert read_trajectory(alone, robot).duration == pytest.approx(1.0)
    (design / "mine.csv").write_bytes(alone.read_bytes())  # a design.json does not speak of it
    assert read_trajectory(design / "mine.csv", robot).duration == pytest.approx(1.0)


def test_a_link_to_a_file_of_a_design_is_that_file(tmp_path, design):
    link = tmp_path / "latest.csv"
    link.symlink_to(design / "trajectory.csv")
    robot = embedded.robot(ROBOT_NAME)
    read_trajectory(link, robot)
    (design / "trajectory.csv").write_text((design / "trajectory.csv").read_text() + "\n")
    with pytest.raises(ExciterError, match=r"not the file that design\.json"):
        read_trajectory(link, robot)


def test_a_report_that_was_changed_or_removed_is_nobodys_motion(design, designs):
    (design / "report.html").write_text("notes of a person")
    assert set(motion_answers(design)) == {designs[1]}
    (design / "report.html").unlink()
    (design / "trajectory.ros2.yaml").unlink()
    assert answer(lambda: joint_trajectory(design)) is not None


# -- results and logs ------------------------------------------------------------------------------------------------


def write_result(folder, value, urdf):
    kinds = {key: (kind[0] if isinstance(kind, tuple) else kind)() for key, kind in RESULT_KINDS.items()}
    with staged(folder, RESULT_SEAL) as stage:
        (stage / "robot.urdf").write_text(f"<robot name='{value}'/>")
        if urdf:
            (stage / "identified.urdf").write_text(f"<robot name='identified {value}'/>")
        RESULT_SEAL.write(stage, {**kinds, "words": [value]})


def test_a_result_killed_between_any_two_renames_is_old_or_new_or_refused(tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    write_result(old, "old", urdf=True)
    texts = {path.name: path.read_text() for path in old.iterdir()}
    seen = []
    for folder in states(tmp_path, old, lambda folder: write_result(folder, "new", urdf=False)):
        value = answer(lambda folder=folder: read_result(folder)["words"][0])
        seen.append(value)
        there = {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
        if value == "old":
            assert there == texts
        if value == "new":
            assert set(there) == {"result.json", "robot.urdf"}  # nothing of the old one beside it
            assert "new" in there["robot.urdf"]
        if value is None:
            with pytest.raises(ExciterError, match=r"not whole.*identify again"):
                read_result(folder)
    assert seen[0] == "old"
    assert seen[-1] == "new"
    assert None in seen


def log(value):
    time = np.arange(4.0)
    table = np.full((4, 1), value)
    return Recording(("a",), time, table, torque=table, about=About(period=value))


def test_a_log_killed_between_any_two_renames_is_old_or_new_or_refused(tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    write_recording(log(1.0), old / "log.csv")
    (old / "truth.json").write_text("of the old log")

    def write(folder):
        write_recording(log(2.0), folder / "log.csv", remove=[folder / "truth.json"])
        write_json(folder / "truth.json", {"of": "the new log"})

    seen = []
    for folder in states(tmp_path, old, write):
        for name in ("log.csv", "log.yaml"):
            found = answer(lambda path=folder / name: read_recording(path))
            assert found is None or found.about.period == found.q[0, 0], "samples of one log, words of the other"
            seen.append(None if found is None else float(found.q[0, 0]))
        truth = folder / "truth.json"
        if found is not None and truth.exists():
            assert ("old" in truth.read_text()) == (seen[-1] == 1.0)
    assert {seen[0], seen[-1]} == {1.0, 2.0}


# -- names that a file gives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["../../precious", "robot.d/../../../precious", "{absolute}", "sub/precious", "..", "", "..\\precious", 3, None],
)
def test_a_name_in_a_result_that_leads_out_is_neither_read_nor_deleted(tmp_path, name):
    precious = tmp_path / "precious"
    precious.write_text("<robot/>")
    folder = tmp_path / "one" / "result"
    (folder / "sub").mkdir(parents=True)
    (folder / "robot.d").mkdir()
    (folder / "sub" / "precious").write_text("<robot/>")
    given = str(precious) if name == "{absolute}" else name
    write_result(folder, "old", urdf=False)
    data = json.loads((folder / "result.json").read_text())
    digest = sha256(precious)
    data |= {"robot": {"file": given, "sha256": digest}, HASHES: {str(given): digest}}
    (folder / "result.json").write_text(json.dumps(data))
    with pytest.raises(ExciterError, match=r"plain name|damaged|no result.npz"):
        IdentifiedModel.read(folder)
    with pytest.raises(ExciterError, match="no plain name"):
        inside(folder, given)
    write_result(folder, "new", urdf=False)
    assert precious.exists()
    assert (folder / "sub" / "precious").exists()


@pytest.mark.parametrize("name", ["../robot.urdf", "{absolute}", "thesis.tex", "linked.urdf", "robot.urdf"])
def test_of_a_result_without_hashes_only_its_own_copy_is_replaced(tmp_path, name):
    folder, precious = tmp_path / "result", tmp_path / "robot.urdf"
    folder.mkdir()
    write_result(folder, "old", urdf=False)
    data = json.loads((folder / "result.json").read_text())
    del data[HASHES]
    precious.write_bytes((folder / "robot.urdf").read_bytes())
    (folder / "thesis.tex").write_bytes(precious.read_bytes())
    (folder / "linked.urdf").symlink_to(precious)
    given = str(precious) if name == "{absolute}" else name
    (folder / "result.json").write_text(json.dumps({**data, "robot": {"file": given, "sha256": sha256(precious)}}))
    assert [path.name for path in unsealed_result(folder)] == (["robot.urdf"] if name == "robot.urdf" else [])


def test_a_link_out_of_a_folder_is_not_followed(tmp_path):
    precious, folder = tmp_path / "precious.urdf", tmp_path / "result"
    precious.write_text("<robot/>")
    folder.mkdir()
    for name in ("robot.urdf", "identified.urdf", "result.json"):
        (folder / name).symlink_to(precious)
    with pytest.raises(ExciterError, match="link out of its folder"):
        inside(folder, "robot.urdf")
    write_result(folder, "new", urdf=True)  # the links are replaced, and what they led to stays
    assert precious.read_text() == "<robot/>"
    assert not any(path.is_symlink() for path in folder.iterdir())


def test_only_own_and_unchanged_files_of_an_older_set_are_removed(tmp_path):
    seal = Seal("all.json", ("own.*",), "do it again")

    def write(*names):
        with staged(tmp_path, seal) as stage:
            for name in names:
                (stage / name).write_text(name)
            seal.write(stage, {})

    write("own.a", "own.b", "own.c", "thesis.tex")
    (tmp_path / "own.b").write_text("changed by a person")
    write("own.c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.json", "own.b", "own.c", "thesis.tex"]


def test_meshes_that_a_result_names_are_not_opened(tmp_path, monkeypatch):
    mesh = '<collision><geometry><mesh filename="/etc/passwd"/></geometry></collision>'
    path = tmp_path / "robot.urdf"
    path.write_text(ONE_JOINT.format(name="j", mesh=mesh))
    monkeypatch.setattr("exciter.robot.description.enclosing_capsule", lambda *_: pytest.fail("a mesh was opened"))
    assert load(path, RobotOptions(mesh_root=Path("/"), meshes=False)).n == 1


@pytest.mark.parametrize("kind", ["text", "link", "folder"])
def test_a_checkpoint_of_somebody_else_is_neither_deleted_nor_followed(tmp_path, kind, capsys):
    path, precious = tmp_path / "out" / "checkpoint.json", tmp_path / "precious.json"
    path.parent.mkdir()
    precious.write_text('{"fingerprint": "", "attempts": []}')
    if kind == "text":
        path.write_text("weights")
    elif kind == "link":
        path.symlink_to(precious)
    else:
        path.mkdir()
    with pytest.raises(SystemExit) as left:
        main(["design", ROBOT_NAME, "-o", str(path.parent), "--starts", "1"])
    assert left.value.code == 2
    assert "is not a checkpoint of a design; remove it" in capsys.readouterr().err
    assert os.path.lexists(path)
    assert precious.exists()


# -- what killed runs leave ------------------------------------------------------------------------------------------


def stages(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(".exciter"))


def test_left_over_folders_of_killed_runs_are_cleaned_and_live_ones_are_kept(tmp_path):
    for k in (0, 1, 2, 4):
        killed_at(k, lambda: write_json(tmp_path / "a.json", {}))
    assert stages(tmp_path)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("")
    (tmp_path / f"{STAGE_PREFIX}abcdefgh").symlink_to(precious)
    (tmp_path / ".exciter-settings").mkdir()
    with scratch(tmp_path) as alive:
        prepare(tmp_path)
        assert stages(tmp_path) == sorted([".exciter-settings", f"{STAGE_PREFIX}abcdefgh", alive.name])
        assert (precious / "file").exists()
    assert not alive.exists()


def test_a_folder_of_another_process_that_lives_is_kept(tmp_path):
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        with scratch(tmp_path):
            os.write(tell, b"!")
            signal.pause()
        os._exit(0)
    os.read(told, 1)
    before = stages(tmp_path)
    assert len(before) == 1
    prepare(tmp_path)
    assert stages(tmp_path) == before
    os.kill(child, KILLED)
    os.waitpid(child, 0)
    prepare(tmp_path)
    assert not stages(tmp_path)


# -- names of joints -------------------------------------------------------------------------------------------------

ONE_JOINT = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>{mesh}</link>
<joint name="{name}" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize("name", ["a&#10;b", "\U0001f916 arm\u2028"])  # all that prints can be written
def test_a_joint_name_that_cannot_be_written_is_refused_before_the_search(tmp_path, name, monkeypatch, capsys):
    monkeypatch.setattr("exciter.pipeline.design.search.design", lambda *_, **__: pytest.fail("the search was begun"))
    path, out = tmp_path / "robot.urdf", tmp_path / "out"
    path.write_text(ONE_JOINT.format(name=name, mesh=""), encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["design", str(path), "-o", str(out)])
    said = without_progress(capsys.readouterr().err)
    assert left.value.code == 2
    assert "rename" in said
    assert said.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("command", ["simulate", "inspect"])
def test_a_joint_name_that_cannot_head_a_log_is_refused_before_any_work(tmp_path, command, monkeypatch, capsys):
    for work in ("simulate.read_trajectory", "inspect.open_recording"):
        monkeypatch.setattr(f"exciter.commands.{work}", lambda *_, **__: pytest.fail("the work was begun"))
    path = tmp_path / "robot.urdf"
    path.write_text(ONE_JOINT.format(name="a&#9;b", mesh=""), encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main([command, str(path), str(tmp_path / "given.csv"), "-o", str(tmp_path / "log.csv")])
    assert left.value.code == 2
    assert "rename it" in capsys.readouterr().err
