"""The command as a user meets it: what it prints, the JSON it promises, and one clear line when something is wrong."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import exciter as ex
from exciter import cli
from exciter.commands.arguments import parser
from exciter.errors import ExciterError
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import embedded_robots as embedded
from support.paths import ROBOTS, ROOT
from support.terminal import without_progress

pytestmark = pytest.mark.slow


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as leaving:
        cli.main([str(a) for a in arguments])
    output = capsys.readouterr()
    return leaving.value.code, output.out, without_progress(output.err)


def fails(capsys, *arguments):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("exciter: ")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("identfy", "panda"), "did you mean 'identify'?"),
        (("base", "panda", "--jsonn"), "did you mean '--json'?"),
        (("validate", "found", "log.csv", "--verbosse"), "did you mean '--verbose'?"),
        (("export", "found", "--format", "urdff", "-o", "x"), "did you mean 'urdf'?"),
        (("export", "found", "--format", "nothing", "-o", "x"), ""),
    ],
)
def test_a_word_that_is_spelled_nearly_so_is_named(capsys, words, near):
    said = fails(capsys, *words)
    assert near in said
    assert ("did you mean" in said) == bool(near)


GROUPINGS = [
    "ZZR1 = ZZ1 + YY2 + YY3 + 0.4 MZ3 + 0.29 M3",
    "XXR2 = XX2 - YY2 - 0.25 M3",
    "XZR2 = XZ2 - 0.5 MZ3 - 0.1 M3",
    "ZZR2 = ZZ2 + 0.25 M3",
    "MXR2 = MX2 + 0.5 M3",
    "XXR3 = XX3 - YY3",
]


def test_base_json_keeps_its_contract(capsys):
    code, out, err = run(capsys, "base", "gautier-khalil", "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    promised = ["robot", "joints", "standard", "inertial_base", "base", "parameters", "unidentifiable"]
    assert list(data) == [*promised, "method", "evidence", "notes"]
    assert data["parameters"][0] == {"name": "ZZR1", "expression": GROUPINGS[0], "unit": "kg·m²"}
    assert (data["robot"], data["joints"], data["standard"]) == ("gautier-khalil", 3, 30)
    assert (data["inertial_base"], data["base"]) == (15, 15)
    regrouped = [p["expression"] for p in data["parameters"] if p["expression"] != p["name"]]
    assert regrouped == GROUPINGS
    reasons = {p["name"]: p["reason"] for p in data["unidentifiable"]}
    assert reasons["M1"] == "joint 1 is vertical: the mass of link 1 never does work"


@pytest.mark.parametrize(
    ("robot", "inertial"),
    [("puma560", 36), ("ur10e", 36), ("tx40", 36), ("panda", 43), ("lwr4", 43), ("kuka-ir361", 15)],
)
def test_base_counts(capsys, robot, inertial):
    data = json.loads(run(capsys, "base", robot, "--json")[1])
    terms = json.loads(run(capsys, "base", robot, "--json", "--terms", "viscous,coulomb")[1])
    numeric = json.loads(run(capsys, "base", robot, "--json", "--numeric")[1])
    assert data["inertial_base"] == inertial
    assert terms["base"] == inertial + 2 * data["joints"]
    assert numeric["parameters"] == data["parameters"]


def test_base_of_parts(capsys):
    def base(*options):
        return json.loads(run(capsys, "base", "panda", "--json", "--terms", "none", *options)[1])["base"]

    assert (base(), base("--only", "gravity"), base("--only", "inertia")) == (43, 12, 31)
    on_the_wall, weightless = ("--gravity", "9.81", "0", "0"), ("--gravity", "0", "0", "0")
    assert base(*on_the_wall) == base(*on_the_wall, "--numeric") == 45  # link 1 is now lifted, too: MX1, MY1
    assert base(*weightless) == base(*weightless, "--numeric") == 39  # first moments about the spherical shoulder
    assert base("--lock", "joint_7", "--lock", "joint_6=0.5") < 43


def test_base_takes_the_terms_of_the_configuration(capsys, tmp_path):
    """As a design does; --terms goes before it, and a file without terms leaves those declared."""
    config = write(tmp_path / "design.yaml", "terms: [rotor, viscous, coulomb]\nstarts: 3\n")

    def base(*options):
        return json.loads(run(capsys, "base", "kuka-ir361", "--json", *options)[1])["base"]

    assert base("--config", config) == base("--terms", "rotor,viscous,coulomb") == 22  # a rotor is lost in ZZ1
    assert base("--config", config, "--terms", "viscous") == base("--terms", "viscous") == 15 + 3
    assert base("--config", write(tmp_path / "none.yaml", "terms: none")) == 15
    assert base("--config", write(tmp_path / "other.yaml", "starts: 3")) == base()
    wrong = write(tmp_path / "wrong.yaml", "terms: [glue]")
    assert "wrong.yaml: terms 1 is 'glue'" in fails(capsys, "base", "panda", "--config", wrong)


COMMANDS = (
    "demo",
    "base",
    "design",
    "check",
    "slow",
    "simulate",
    "campaign",
    "fleet",
    "inspect",
    "identify",
    "actuators",
    "follow",
    "validate",
    "export",
    "init",
    "schema",
    "reproduce",
    "robots",
    "completion",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(capsys, monkeypatch, command):
    """A paragraph, examples whose words the command understands, and a page that is there."""
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    description = out.partition("\n\n")[2].partition("\n\n")[0]
    assert len(description.split()) > 15
    examples = re.findall(rf"^  exciter ({command}.*)$", out, re.MULTILINE)
    assert examples
    for example in examples:
        parser().parse_args(re.split(" +[#>] ", example)[0].split())
    root = ROOT
    assert all((root / page).is_file() for page in re.findall(r"[\w/-]+\.md", out))
    assert re.search(r"[\w/-]+\.md", out)


def test_help_fits_the_command(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    texts = {command: run(capsys, command, "--help")[1] for command in COMMANDS}
    reads = {c: re.search(r"of which this command reads (.*)", t)[1] for c, t in texts.items() if "--config F" in t}
    assert "simulate:" in reads["simulate"]
    assert "terms" in reads["base"]
    assert "constraints" in reads["check"]
    assert len(set(reads.values())) == len(reads)
    for word in ("Exit code 0", "1 when a problem", "2 on wrong input"):
        assert word in texts["inspect"]
    commands = re.findall(r"^    (\w+)\s", run(capsys, "--help")[1], re.MULTILINE)
    assert commands == list(COMMANDS)


def test_base_table_is_readable(capsys):
    code, out, _ = run(capsys, "base", "kuka-ir361", "--all")
    assert code == 0
    assert "15 inertial, 6 of joint terms" in " ".join(out.split())
    assert "only in combination" in out
    assert "N·m·s/rad" in out


def test_base_of_a_file_and_its_notes(capsys):
    code, out, _ = run(capsys, "base", ROBOTS / "two_arms.urdf")
    assert code == 0
    assert "note: acceleration limits" in out


def test_robots_lists_every_embedded_robot(capsys):
    assert [r["name"] for r in json.loads(run(capsys, "robots", "--json")[1])] == list(embedded.names())
    out = run(capsys, "robots")[1]
    assert all(name in out for name in embedded.names())


def test_demo_tells_the_story_and_writes_its_result(capsys, tmp_path):
    """From description to model; the folder is one that other commands take."""
    folder = tmp_path / "new" / "folder"
    code, out, _ = run(capsys, "demo", "--robot", "kuka-ir361", "-o", folder)
    assert code == 0
    result, demo = (json.loads((folder / name).read_text()) for name in ("result.json", "demo.json"))
    inside = [p["interval"][0] <= p["true"] <= p["interval"][1] for p in demo["parameters"]]
    assert sum(inside) == demo["inside"] >= 0.8 * len(inside)
    assert len(result["comparison"]["methods"]) >= 4
    assert result["validation"][0]["total_percent"] < 0.5 * result["validation"][0]["description_percent"]
    assert {"report.html", "identified.urdf", "truth.json", "design", "other"} <= {
        path.name for path in folder.iterdir()
    }
    for text in ("robot", "design", "certified", "experiment", "identify", "ZZR1", "95 % interval", "report.html"):
        assert text in out
    commands = re.findall(r"\$ exciter (.*)", out)
    assert [command.split()[0] for command in commands] == ["design", "design", "simulate", "simulate", "identify"]
    for command in commands:
        parser().parse_args(command.split())
    assert run(capsys, "validate", folder, folder / "other.csv")[0] == 0
    assert run(capsys, "export", folder, "--format", "mjcf", "-o", tmp_path / "arm.xml")[0] == 0


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


ONE_JOINT = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="{mass}"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>{visual}</link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="{lower}" upper="1" effort="1" velocity="1"/></joint>{more}</robot>"""
GOOD = {"mass": "1", "lower": "-1", "visual": "", "more": ""}
LOOP = """<link name="c"/><joint name="k" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
<limit effort="1" velocity="1" lower="-1" upper="1"/></joint><joint name="l" type="revolute"><parent link="c"/>
<child link="b"/><axis xyz="0 0 1"/><limit effort="1" velocity="1" lower="-1" upper="1"/></joint>"""
MESH = '<visual><geometry><mesh filename="{}"/></geometry></visual>'


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"mass": "-1"}, "mass"),
        ({"lower": "nan"}, "nan"),
        ({"more": LOOP}, "'b'"),
    ],
)
def test_bad_robots_get_one_line(capsys, tmp_path, change, says):
    path = write(tmp_path / "robot.urdf", ONE_JOINT.format(**{**GOOD, **change}))
    assert says in fails(capsys, "base", path).lower()


@pytest.mark.parametrize("mesh", ["../../outside.stl", "/etc/passwd"])
def test_meshes_outside_the_folder_are_a_remark(capsys, tmp_path, mesh):
    path = write(tmp_path / "robot.urdf", ONE_JOINT.format(**{**GOOD, "visual": MESH.format(mesh)}))
    code, out, _ = run(capsys, "base", path)
    assert code == 0
    assert mesh in out
    assert "not opened" in out


def test_bad_files_get_one_line(capsys, tmp_path):
    assert run(capsys, "base", write(tmp_path / "fine.urdf", ONE_JOINT.format(**GOOD)))[0] == 0
    assert "panda" in fails(capsys, "base", "no-such-robot")
    assert "missing.urdf" in fails(capsys, "base", tmp_path / "missing.urdf")
    fails(capsys, "base", tmp_path)
    fails(capsys, "base", write(tmp_path / "broken.urdf", "<robot name='x'><link"))
    entity = '<!DOCTYPE r [<!ENTITY e "x">]><robot name="&e;"><link name="a"/></robot>'
    assert "DTD" in fails(capsys, "base", write(tmp_path / "entity.urdf", entity)).replace("DOCTYPE", "DTD")
    fails(capsys, "base", write(tmp_path / "table.yaml", "joints: [1, 2"))


def test_bad_options_get_one_line(capsys, tmp_path):
    assert "joint_9" in fails(capsys, "base", "panda", "--lock", "joint_9")
    assert "fast" in fails(capsys, "base", "panda", "--lock", "joint_7=fast")
    assert "glue" in fails(capsys, "base", "panda", "--terms", "glue")
    assert "joint_9" in fails(capsys, "base", "panda", "--config", write(tmp_path / "c.yaml", "lock: [joint_9]"))
    fails(capsys, "base", "panda", "--config", tmp_path / "none.yaml")
    fails(capsys, "base", "panda", "--gravity", "0", "0", "nan")
    fails(capsys, "base", "panda", "--only", "wind")
    fails(capsys, "base")
    fails(capsys, "dance")
    fails(capsys)
    fails(capsys, "demo", "--robot", "nobody")
    fails(capsys, "demo", "--seed", "-1")
    fails(capsys, "demo", "-o", "")
    fails(capsys, "base", "x" * 300 + ".urdf")
    fails(capsys, "base", "panda", "--lock", "joint_7=")
    fails(capsys, "demo", "-o", write(tmp_path / "file", "") / "below")


def test_help_is_quick_and_a_closed_pipe_is_no_error():
    """`exciter --help` must not wait for numerics; `exciter base panda | head -1` must not complain."""
    code = "import sys, exciter.cli\ntry: exciter.cli.main(['-h'])\nexcept SystemExit: print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
    pipe = f"{sys.executable} -m exciter base panda | head -1"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True, check=True)
    assert done.stderr == ""


READERS_LEAVE = """
import contextlib, gc, io, json, os, sys
import exciter as ex
from exciter.cli import main
from exciter.errors import ExciterError
from exciter.pipeline.settings_file import SettingsFile

asked = json.load(sys.stdin)
for words, _ in asked[::len(asked) - 1]:  # one of each command, so that not every child imports what it needs
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main(words)
gc.freeze()  # nor looks through all of it at its end
codes = []
for words, stream in asked:
    sys.stderr.flush()
    if (pid := os.fork()) == 0:
        reader, writer = os.pipe()
        os.dup2(writer, stream)
        os.close(writer)
        os.close(reader)
        main(words)  # leaves as a command does: what is buffered is written once more at the end
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(json.dumps(codes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made in another way here")
def test_the_verdict_is_the_exit_code_when_nobody_reads_to_the_end(tmp_path):
    """A broken trajectory is no good one because its table went through ``head``; nor is a log without torques."""
    robot = write(tmp_path / "arm.urdf", ONE_JOINT.format(**GOOD))
    moves = {"bad": "0,0,0\n1,0.5,9\n2,0,0\n", "good": "0,0,0\n20,0.5,0\n40,0,0\n"}
    bad, good = (write(tmp_path / f"{name}.csv", f"time,j.q,j.qd\n{rows}") for name, rows in moves.items())
    rows = "".join(f"{0.01 * k},{math.sin(0.03 * k)},0\n" for k in range(500))
    log = write(tmp_path / "log.csv", f"time,j.q,j.tau\n{rows}")
    none = tmp_path / "none.csv"
    cases = [
        (("check", robot, bad), 1, 1),
        (("check", robot, bad), 2, 1),
        (("check", robot, bad, "--json"), 1, 1),
        (("check", robot, good), 1, 0),
        (("check", robot, good, "--json"), 1, 0),
        (("check", robot, none), 1, 2),
        (("check", robot, none), 2, 2),
        (("inspect", robot, log), 1, 1),
        (("inspect", robot, log, "--json"), 1, 1),
    ]
    asked = [([str(word) for word in words], stream) for words, stream, _ in cases]
    done = subprocess.run(
        [sys.executable, "-c", READERS_LEAVE],
        env={**os.environ, "EXCITER_ENGINE": "numpy"},
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    codes = json.loads(done.stdout.splitlines()[-1])
    assert codes == [code for _, _, code in cases]
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("redirect", ["2> /dev/full", "> /dev/full 2> /dev/full"])
def test_an_error_that_cannot_be_shown_is_one(redirect):
    command = f"{sys.executable} -m exciter base no-such-robot {redirect}"
    assert subprocess.run(["bash", "-c", command]).returncode == 2


def test_exit_codes_are_told_as_they_are(capsys):
    """Code 0 of ``check`` is no proof of what was assumed; an interruption has a code of its own."""
    told = " ".join(run(capsys, "check", "--help")[1].split())
    assert "0 when no limit is broken or open: each is proved for all time, or kept and named as assumed" in told
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for text in (run(capsys, "--help")[1], readme):
        codes = text.partition("Exit codes: ")[2]
        assert all(code in codes for code in ("0 done", "1 a check failed", "2 wrong input", "130 interrupted"))


def test_flags_go_before_the_file_and_into_the_reading(capsys, tmp_path):
    """A mimic pair is one joint, locked by its leader, a pattern or both; --lock overrides lock: of --config."""
    follower = """<link name="c"/><joint name="k" type="revolute"><parent link="a"/><child link="c"/><axis xyz="0 0 1"/>
    <limit effort="1" velocity="1" lower="-1" upper="1"/></joint><link name="d"/><joint name="m" type="revolute">
    <parent link="a"/><child link="d"/><axis xyz="0 0 1"/><mimic joint="k"/>
    <limit effort="1" velocity="1" lower="-1" upper="1"/></joint>"""
    path = write(tmp_path / "gripper.urdf", ONE_JOINT.format(**{**GOOD, "more": follower}))
    assert json.loads(run(capsys, "base", path, "--json")[1])["joints"] == 2
    for flags in (("--lock", "k"), ("--lock", "[km]"), ("--lock", "k", "--lock", "m"), ("--only", "j")):
        assert json.loads(run(capsys, "base", path, "--json", *flags)[1])["joints"] == 1
    assert "joint 'm' follows 'k', and cannot be locked alone" in fails(capsys, "base", path, "--lock", "m")
    assert "it follows 'k', and is at 0.5 then" in fails(capsys, "base", path, "--lock", "k=0.5", "--lock", "m=0.1")
    assert "unknown joint 'g*'" in fails(capsys, "base", path, "--lock", "g*")
    config = write(tmp_path / "config.yaml", "lock: {k: 0.5}\nlimits: {acceleration: 3}")
    data = json.loads(run(capsys, "base", path, "--json", "--config", config, "--lock", "k=0.1", "--all", "--mdh")[1])
    assert "'k' at 0.1, 'm' at 0.1" in " ".join(data["notes"])
    assert not any("assumed" in note for note in data["notes"])
    assert len(data["verdicts"]) == data["standard"]
    assert data["mdh"][0]["joint"] == "j"


def test_strange_names_are_printed_as_they_are(capsys, tmp_path):
    text = ONE_JOINT.format(**GOOD).replace('"r"', '"my[/x] arm"').replace('"j"', '"[red]j1"')
    code, out, _ = run(capsys, "base", write(tmp_path / "robot.urdf", text), "--mdh")
    assert code == 0
    assert "my[/x] arm" in out
    assert "d [m]" in out
    assert "[red]j1" in out


@pytest.mark.parametrize(
    ("environment", "redirect", "code", "says"),
    [
        ({"PYTHONIOENCODING": "ascii"}, "", 0, ""),
        ({}, "> /dev/full", 2, "exciter: cannot write the output: No space left on device"),
        ({"EXCITER_ENGINE": "wrong"}, "demo", 2, "exciter: EXCITER_ENGINE is 'wrong'; allowed are auto, numba, numpy"),
        ({"NUMBA_DISABLE_JIT": "1"}, "", 0, ""),
    ],
)
def test_unfriendly_surroundings(environment, redirect, code, says):
    arguments = "demo --robot gautier-khalil" if redirect == "demo" else f"base kuka-ir361 {redirect}"
    command = f"{sys.executable} -W error -m exciter {arguments}"
    done = subprocess.run(["bash", "-c", command], env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert without_progress(done.stderr).strip() == says


def test_a_fleet_that_is_stopped_says_how_to_go_on(monkeypatch, capsys, tmp_path):
    """Robots that are done are kept: the same command takes the others."""

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("exciter.commands.fleet.fleet", stopped)
    with pytest.raises(SystemExit) as left:
        cli.main(["fleet", "fleet.yaml", "-o", str(tmp_path / "out"), "--jobs", "1"])
    assert left.value.code == 130
    told = "exciter: interrupted: the same command goes on with the robots that are missing"
    assert told in capsys.readouterr().err


def test_estimators_that_simulate_refuse_what_cannot_be_simulated_first():
    """Not asking for a plan that would not help: a free base here."""
    robot = ex.load(ROBOTS / "quadruped.urdf", base="free")
    with pytest.raises(ExciterError, match=r"^didim simulates .*'quadruped' cannot be: its base is free"):
        SettingsFile.read(None).identify.overridden(estimator="didim").refuse_early(robot, planned=False)
