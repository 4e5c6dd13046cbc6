"""Names, notes, titles and file names that try to be something else: every output is read back by the reader for its
format, and holds the same names and nothing more. What does not print is refused in names, and harmless elsewhere."""

import csv
import ctypes
import io
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pinocchio
import pytest
import yaml

from exciter.cli import main
from exciter.commands.common import console
from exciter.errors import ExciterError, unseen, visible
from exciter.excitation.files.row_files import MotionSamples, csv_text, parse_csv, parse_ros2, ros2_json, ros2_yaml
from exciter.experiment.recording import Recording, open_recording, write_recording
from exciter.experiment.recording.recording import About
from exciter.export.data import json_result, yaml_result
from exciter.export.generated_code import c_code, python_module
from exciter.export.mjcf import mjcf_text
from exciter.export.sdf import sdf_text
from exciter.export.urdf import identified_urdf, urdf_text
from exciter.files import csv_cells, csv_line, json_text
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.identify_config import IdentifyConfig
from exciter.notes import note
from exciter.parameters.terms import UserTerm
from exciter.pipeline.starting_configuration import starting_configuration
from exciter.report.design_report import design_page
from exciter.report.identification.report import identification_page, validation_page
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.robot.robot import Frame
from exciter.validation.validation import Validation, ValidationVerdict, validate
from support import export_cases
from support.estimates import estimate_of
from support.mdh_writing import write_mdh
from support.report_designs import designed
from support.report_identifications import identified, quality_of

pytestmark = pytest.mark.slow

PRINTABLE = (
    # YAML, and words that YAML takes for something else
    "a: b", "x # gravity: 0", "{a: [b", "- gravity", "no", "1e3", "null", "~", "*a", "&a", "'", "%TAG",
    "!!python/name:os.system",
    # XML and HTML
    "--", "---->", "-->", "<!--", "]]>", "</script><script>1</script>", "&lt;&#10;", "<robot name='x'/>",
    "\" onload=\"x",
    # C, Python, templates, shells
    "*/ int x; /*", "/*", "//", "??/", "tail\\", "%n%s", '"""', "${x}$(id)`id`", "#{x}",
    "int", "class", "a-b", "a.b", "a_b",
    # tables
    "a,b", "a;b", "a|b", '"', 'a"b', "=cmd|'/c calc'!A0", " leading", "trailing ", "in  side",
    "#1", "a.q", "a", "time", "t",
    # terminals and people
    "[red]a[/]", "[link=http://x]a[/link]", ":bomb:", "关节", "сустав", "é", "x" * 10_000,
)  # fmt: skip
UNPRINTABLE = (
    "a\ngravity: [0, 0, 0]", "a\tb", "a\rb", "a\0b", "\x1b[31ma", "\x07", "a\x7f", "a\x85b", "\x9b31m",
    "a\u2028b", "a\u2029b", "a\u202eb", "\u2066a", "a\u200bb", "\ufeffa", "\udc80", "a\uffffb", "\U000e0001a",
)  # fmt: skip
SIX = [PRINTABLE[k : k + 6] for k in range(0, len(PRINTABLE) - 5, 6)] + [PRINTABLE[-6:]]


def called(robot, names):
    """The robot with these names for joints, links, bodies, frames and itself, and in its notes."""
    joints = tuple(replace(j, name=names[k % len(names)], link=f"{names[k]}l") for k, j in enumerate(robot.joints))
    new = {capsule.name: f"{names[k % len(names)]}c{k}" for k, capsule in enumerate(robot.capsules)}
    return replace(
        robot,
        name=names[0],
        joints=joints,
        frames=tuple(Frame(f"{name}f", k % robot.n, np.eye(3), np.full(3, 0.1 * k)) for k, name in enumerate(names)),
        capsules=tuple(replace(capsule, name=new[capsule.name]) for capsule in robot.capsules),
        collision_pairs=tuple((new[a], new[b]) for a, b in robot.collision_pairs),
        source=" ".join(names),
        notes=tuple(note("name", f"of {name}") for name in names),
    )


@pytest.fixture(scope="module", params=SIX, ids=lambda names: names[0][:12])
def hostile(request):
    return called(embedded.robot("tx40"), request.param)


@pytest.fixture(scope="module")
def found(hostile):
    """A model with a full set, and one parameter whose name is hostile too."""
    own = UserTerm(f"{hostile.name}---><x/>-----", hostile.joint_names[0], lambda q, qd, qdd: q, 1.0, 0.0, 0.0)
    return export_cases.identified(hostile, (*export_cases.TERMS, own))


def everything(robot):
    return (robot.name, robot.joint_names, [joint.link for joint in robot.joints], {f.name for f in robot.frames})


def test_descriptions_keep_names(hostile, tmp_path):
    """Modified-DH YAML, URDF and MJCF; URDF with what looks like xacro is refused as that."""
    write_mdh(hostile, tmp_path / "robot.yaml")
    assert everything(load(tmp_path / "robot.yaml")) == everything(hostile)
    (tmp_path / "robot.urdf").write_text(urdf_text(hostile), encoding="utf-8")
    if "${" in urdf_text(hostile):
        with pytest.raises(ExciterError, match="xacro"):
            load(tmp_path / "robot.urdf")
        return
    back = load(tmp_path / "robot.urdf")
    assert (back.name, back.joint_names) == (hostile.name, hostile.joint_names)
    assert {frame.name for frame in hostile.frames} <= set(back.frame_names)


@pytest.mark.parametrize("name", UNPRINTABLE, ids=ascii)
def test_names_that_do_not_print_are_refused(name, tmp_path):
    """By every reader, in one line, and shown so that nothing happens."""
    robot = embedded.robot("kuka-ir361")
    first = robot.joints[0]
    places = {
        "robot's": lambda: replace(robot, name=name),
        "joint": lambda: replace(robot, joints=(replace(first, name=name), *robot.joints[1:])),
        "link": lambda: replace(robot, joints=(replace(first, link=name), *robot.joints[1:])),
        "frame": lambda: replace(robot, frames=(Frame(name, 0, np.eye(3), np.zeros(3)),)),
        "capsule": lambda: replace(robot, capsules=(replace(embedded.robot("tx40").capsules[0], name=name),)),
    }
    for what, made in places.items():
        with pytest.raises(ExciterError, match=f"the {what} name .* do not print") as refused:
            made()
        assert visible(name) in str(refused.value)
        assert not unseen(str(refused.value))
    reference = "".join(f"&#{ord(c)};" for c in name)
    for file, text in (
        ("a.urdf", f'<robot name="r"><link name="b"/><link name="{reference}"/></robot>'),
        ("a.mjcf", f'<mujoco><worldbody><body name="{reference}"><joint/></body></worldbody></mujoco>'),
        ("a.yaml", f"name: {json.dumps(name)}\njoints: [{{joint: a}}]"),
    ):
        (tmp_path / file).write_text(text, encoding="utf-8")
        with pytest.raises(ExciterError, match=r"do not print|well-formed|not valid YAML") as refused:
            load(tmp_path / file)
        assert not unseen(str(refused.value))


def test_configuration_says_nothing_of_its_own(hostile):
    """``exciter init``: as written, and with the lines behind # that name something."""
    text = starting_configuration(hostile, f"{hostile.name}\ngravity: [0, 0, 0]")
    plain = starting_configuration(called(embedded.robot("tx40"), [f"j{k}" for k in range(6)]), "tx40")
    assert list(yaml.safe_load(text)) == list(yaml.safe_load(plain))
    assert len(text.split("\n")) == len(plain.split("\n"))
    behind = [line.lstrip(" #") for line in text.split("\n") if re.match(r" *# (lock|workspace|lower):", line)]
    said = {key: value for line in behind for key, value in yaml.safe_load(line).items()}
    assert list(said["lower"]) == list(hostile.joint_names)
    assert said["lock"] == {hostile.joint_names[-1]: 0.0}
    assert said["workspace"] == [{"frame": hostile.frames[-1].name, "z_min": 0.1}]


def test_motions_read_back_for_the_same_joints(hostile):
    """trajectory.csv, also as Python's csv reads it; ROS 2 messages as YAML and as JSON."""
    rng = np.random.default_rng(1)
    samples = MotionSamples(np.arange(4) * 0.1, *rng.standard_normal((3, 4, hostile.n)))
    text = csv_text(samples, hostile.joint_names)
    headings = next(csv.reader(io.StringIO(text)))
    assert headings == ["time", *(f"{name}.{word}" for name in hostile.joint_names for word in ("q", "qd", "qdd"))]
    as_yaml, as_json = ros2_yaml(samples, hostile.joint_names), ros2_json(samples, hostile.joint_names)
    messages = (yaml.safe_load(as_yaml), json.loads(as_json))
    backs = [parse_csv(text, hostile, "it"), *(parse_ros2(message, hostile, "it") for message in messages)]
    for back in backs:
        for kind in ("q", "qd", "qdd"):
            np.testing.assert_array_equal(getattr(back, kind), getattr(samples, kind))


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_recordings_read_back_with_notes(hostile, suffix, tmp_path):
    rng = np.random.default_rng(2)
    notes = {"by": hostile.name, "of": "\x1b[31m\u202e"}
    q, torque = rng.standard_normal((2, 5, hostile.n))
    recording = Recording(hostile.joint_names, np.arange(5) * 0.01, q, torque=torque, about=About(notes=notes))
    write_recording(recording, tmp_path / f"log{suffix}")
    back = open_recording(tmp_path / f"log{suffix}").read()
    assert back.joints == hostile.joint_names
    assert back.about.notes == notes
    np.testing.assert_array_equal(back.torque, torque)


def test_headings_of_tables_are_cells_again():
    row = ["time", *PRINTABLE, ""]
    assert csv_cells(csv_line(row), ",") == row == next(csv.reader([csv_line(row)]))
    assert csv_cells('a ; "b;c" ;"d"e; "f', ";") == ["a", "b;c", '"d"e', '"f']


# -- files for other tools ---------------------------------------------------------------------------------------------


def test_xml_holds_the_robot_and_nothing_else(hostile, found, tmp_path):
    """As an XML parser, Pinocchio and MuJoCo read it; comments included."""
    model, chi = found
    urdf, mjcf, sdf = identified_urdf(model, chi), mjcf_text(model, chi), sdf_text(model, chi)
    plain = export_cases.identified(called(embedded.robot("tx40"), [f"j{k}" for k in range(6)]))
    for text, like in ((urdf, identified_urdf(*plain)), (mjcf, mjcf_text(*plain)), (sdf, sdf_text(*plain))):
        comments = ElementTree.TreeBuilder(insert_comments=True)
        root = ElementTree.fromstring(text, ElementTree.XMLParser(target=comments))
        assert [e.tag for e in root.iter()] == [e.tag for e in ElementTree.fromstring(like).iter()]
    joints = [e.get("name") for e in ElementTree.fromstring(urdf).iter("joint") if e.get("type") != "fixed"]
    assert tuple(joints) == hostile.joint_names
    assert tuple(pinocchio.buildModelFromXML(urdf).names)[1:] == hostile.joint_names
    simulated = mujoco.MjModel.from_xml_string(mjcf)
    assert tuple(simulated.joint(k).name for k in range(simulated.njnt)) == hostile.joint_names
    assert {simulated.site(k).name for k in range(simulated.nsite)} == {frame.name for frame in hostile.frames}
    np.testing.assert_allclose(simulated.opt.gravity, hostile.gravity)
    if "${" not in urdf:  # which is taken for xacro
        (tmp_path / "own.urdf").write_text(urdf, encoding="utf-8")
        own = load(tmp_path / "own.urdf")
        again = identified_urdf(*export_cases.identified(own), tmp_path / "own.urdf")
        assert tuple(pinocchio.buildModelFromXML(again).names)[1:] == hostile.joint_names


def test_comment_in_the_users_own_urdf_stays_one(tmp_path):
    """Links of one body are named in it."""
    inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    evil = "---&gt;&lt;robot name='other'&gt;&lt;!---"
    (tmp_path / "a.urdf").write_text(
        f"""<robot name="r"><link name="base"/><link name="moved">{inertial}</link><link name="{evil}">{inertial}</link>
        <joint name="j" type="continuous"><parent link="base"/><child link="moved"/></joint>
        <joint name="f" type="fixed"><parent link="moved"/><child link="{evil}"/></joint></robot>""",
        encoding="utf-8",
    )
    text = identified_urdf(*export_cases.identified(load(tmp_path / "a.urdf")), tmp_path / "a.urdf")
    assert "one body" in text
    root = ElementTree.fromstring(text)
    assert (root.get("name"), len(root)) == ("r", 5)
    assert pinocchio.buildModelFromXML(text).name == "r"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler: gcc is not installed")
def test_code_holds_names_as_strings_only(hostile, tmp_path):
    model, chi = export_cases.identified(hostile)
    values = model.base.base_values(chi)
    code = c_code(model, values, header="own.h")
    (tmp_path / "own.c").write_text(code.source, encoding="ascii")
    (tmp_path / "own.h").write_text(code.header, encoding="ascii")
    flags = ["-std=c99", "-trigraphs", "-Wall", "-Wextra", "-Werror", "-O0", "-shared", "-fPIC"]
    done = subprocess.run(["gcc", *flags, "own.c", "-o", "own.so", "-lm"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    prefix = re.search(r"(\w+)_joint_names", code.header)[1]
    names = (ctypes.c_char_p * hostile.n).in_dll(ctypes.CDLL(str(tmp_path / "own.so")), f"{prefix}_joint_names")
    assert tuple(name.decode("utf-8") for name in names) == hostile.joint_names
    text = python_module(model, values)
    space = {"__name__": "own"}
    exec(compile(text, "own.py", "exec"), space)
    assert tuple(space["JOINTS"]) == hostile.joint_names
    plain = export_cases.identified(called(embedded.robot("tx40"), [f"j{k}" for k in range(6)]))[0]
    usual = {"__name__": "own"}
    exec(compile(python_module(plain, plain.base.base_values(chi)), "own.py", "exec"), usual)
    assert set(space) == set(usual)


def test_results_as_data_keep_names(hostile, found):
    model, chi = found
    record = {"runs": [{"log": f"{hostile.name}.csv", "words": list(PRINTABLE)}]}
    texts = json_result(model, estimate_of(model, chi), record), yaml_result(model, estimate_of(model, chi), record)
    for data in (json.loads(texts[0]), yaml.load(texts[1], getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
        assert [joint["name"] for joint in data["joints"]] == list(hostile.joint_names)
        assert data["runs"] == record["runs"]
        assert data["parameters"][-1]["name"] == model.base.names[-1]


def test_results_as_data_escape_what_does_not_print():
    """What logs are called and say is not refused: it reads back, and UTF-8 holds it."""
    model, chi = export_cases.identified(embedded.robot("kuka-ir361"))
    record = {"runs": [{"log": "é\x1b\udc80.csv", "words": list(UNPRINTABLE)}]}
    texts = json_result(model, estimate_of(model, chi), record), yaml_result(model, estimate_of(model, chi), record)
    for text, data in zip(texts, (json.loads(texts[0]), yaml.safe_load(texts[1])), strict=True):
        assert not unseen(text, keep="\n")
        assert text.encode("utf-8")
        assert data["runs"] == record["runs"]


# -- pages -------------------------------------------------------------------------------------------------------------


class Read(HTMLParser):
    """Tags in order, text for people, and the data of scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.scripts, self.inside = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        events = [key for key, _ in attrs if key.startswith("on")]
        self.tags.append((tag, *events))
        self.inside = tag

    def handle_data(self, data):
        (self.scripts if self.inside == "script" else self.text).append(data)


def pages(folder, names, log):
    """The three reports of one robot: names is whatever is to be seen."""
    robot = called(embedded.robot("kuka-ir361"), names)
    design_page(designed(robot), settings={"command": names[1]}).write(folder / "design.html")
    made = identified(robot)
    quality = {"logs/run 1.csv": quality_of(robot)}
    notes = tuple(note("name", name, None, log) for name in names)
    verdict, held_out = ValidationVerdict(made.fit, made.unseen, notes), made.validation[0].runs
    identification_page(made.found, verdict, {"terms": [log]}, held_out, quality=quality).write(folder / "found.html")
    model = IdentifiedModel(made.found.problem.model, made.found.estimate, IdentifyConfig(), {}, Path(names[2]))
    never = tuple(replace(run, name=log) for run in made.validation[0].runs)
    seen = validate(made.found.judge, made.found.estimate, never)
    validation_page(model, ValidationVerdict(Validation(()), seen, notes), runs=never).write(folder / "validated.html")
    return [Read((folder / f"{page}.html").read_text(encoding="utf-8")) for page in ("design", "found", "validated")]


def test_pages_show_names_and_run_nothing(tmp_path):
    names = ("</script><img src=x onerror=alert(1)>&amp;<!--", '-->\'" onclick="x" ]]>', "[[${7*7}]]</title><style>")
    (tmp_path / "plain").mkdir()
    plain = pages(tmp_path / "plain", ("joint a of it", "joint b of it", "joint c of it"), "log.csv")
    for page, like in zip(pages(tmp_path, names, "a\x1b\u202e\udc80<b>.csv"), plain, strict=True):
        assert page.tags == like.tags
        shown = "".join(page.text)
        assert not unseen(shown, keep="\n\t")
        assert all(name in shown for name in names)
        assert [script for script in page.scripts if not script.startswith("{")] == [
            script for script in like.scripts if not script.startswith("{")
        ]
        data = [json.loads(script) for script in page.scripts if script.startswith("{")]
        assert [sorted(block) for block in data] == [sorted(json.loads(s)) for s in like.scripts if s.startswith("{")]


# -- terminals ---------------------------------------------------------------------------------------------------------


def exciter(*arguments):
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    return left.value.code or 0


@pytest.mark.parametrize("name", ["[red]a[/]", "[link=http://x]a[/link]", ":bomb:", "%n"])
def test_terminal_shows_markup_as_it_is(name, tmp_path, capsys):
    path = tmp_path / "robot.yaml"
    write_mdh(called(embedded.robot("kuka-ir361"), (name, "b", "c")), path)
    assert exciter("base", path, "--mdh") == 0
    out = capsys.readouterr().out
    assert out.startswith(name)
    assert len(re.findall(rf"(?m)^{re.escape(name)} ", out)) == 1
    assert f"note: of {name}" in out


def test_terminal_is_sent_nothing_but_text(tmp_path, capsys, monkeypatch):
    """What files are called, and what is in them, reaches standard output and error as escapes at most."""
    monkeypatch.chdir(tmp_path)
    odd = "".join(UNPRINTABLE).replace("\0", "").replace("/", "")[:60]
    console().print(odd, style="bold")
    console().print(f"[bold]{odd}[/]")
    assert exciter("check", "tx40", f"{odd}.csv") == 2
    assert exciter("base", f"{odd}.urdf") == 2
    assert exciter("init", "tx40", "-o", f"{odd}.txt") == 2
    assert exciter("base", "tx40", f"--{odd}") == 2
    Path("a.yaml").write_text(json.dumps({"gravity": odd, "limits": {odd: odd}}), encoding="utf-8")
    assert exciter("base", "tx40", "--config", "a.yaml") == 2
    Path("a.csv").write_bytes(f"time,{odd}.q\n0,0\n1,1\n".replace("\n", "", 0).encode("utf-8", "surrogatepass"))
    assert exciter("inspect", "tx40", "a.csv") == 2
    assert exciter("base", "tx40", "--lock", odd) == 2
    out, err = capsys.readouterr()
    assert not unseen(out, keep="\n")
    assert not unseen(err, keep="\n")
    assert len(err.splitlines()) == 7
    assert r"\x1b[31ma" in out
    assert r"\x1b[31ma" in err


def test_data_on_standard_output_reads_back(tmp_path, capsys):
    """--json has escapes for what does not print, also for file names that are no Unicode."""
    text = json_text({"log": list(UNPRINTABLE)})
    assert not unseen(text, keep="\n")
    assert json.loads(text) == {"log": list(UNPRINTABLE)}
    folder = os.fsdecode(bytes(tmp_path) + b"/\xff\x9b")
    os.mkdir(folder)
    shutil.copy(embedded.path("kuka-ir361"), f"{folder}/robot.yaml")
    assert exciter("base", f"{folder}/robot.yaml", "--json") == 0
    assert json.loads(capsys.readouterr().out)["joints"] == 3
