"""On which side of the gears torques are measured: read, kept, and what the identified model makes of it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml

from exciter.cli import main
from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.recording import About, Recording, open_recording, read_recording, write_recording
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.identify_config import IdentifyConfig
from exciter.identification.runs.run import Run, common_side
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import Motion
from exciter.robot import embedded_robots as embedded

pytestmark = pytest.mark.slow

ARM = "kuka-ir361"
TORQUE = {"columns": ["ta", "tb"], "unit": "N·m"}
CURRENT = {"columns": ["ia", "ib"], "unit": "A"}
GEARS = {"position": [100, 80], "torque": [100, 80]}


def described(folder, **parts) -> Recording:
    """A log of two joints, described by a recording.yaml."""
    table = np.column_stack([np.arange(5) / 100.0, np.ones((5, 6))])
    np.savetxt(folder / "log.csv", table, delimiter=",", header="t,qa,qb,ta,tb,ia,ib", comments="")
    known = {
        "file": "log.csv",
        "joints": ["a", "b"],
        "time": {"column": "t"},
        "position": {"columns": ["qa", "qb"], "unit": "rad"},
    }
    (folder / "recording.yaml").write_text(yaml.safe_dump(known | parts), encoding="utf-8")
    return read_recording(folder / "recording.yaml")


@pytest.mark.parametrize(
    ("parts", "side"),
    [
        ({"torque": TORQUE}, None),
        ({"torque": TORQUE | {"side": "link"}}, "link"),
        ({"torque": TORQUE | {"side": "motor"}}, "motor"),
        ({"torque": TORQUE, "drive": GEARS}, "motor"),
        ({"torque": TORQUE, "drive": {"torque": [100, 80]}}, "motor"),
        ({"torque": TORQUE, "drive": {"position": [100, 80]}}, None),  # torques are at the joints, however they came
        ({"torque": TORQUE | {"side": "link"}, "drive": {"position": [100, 80]}}, "link"),
        ({"current": CURRENT}, "motor"),
        ({"current": CURRENT | {"side": "motor"}}, "motor"),
        ({"torque": TORQUE, "current": CURRENT | {"gains": [3, 2]}}, "motor"),
        ({"torque": TORQUE | {"side": "link"}, "current": CURRENT | {"gains": [3, 2]}}, "link"),
        ({}, None),
    ],
)
def test_the_side_is_as_given_or_as_gears_and_currents_tell(tmp_path, parts, side):
    assert described(tmp_path, **parts).side == side


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"torque": TORQUE | {"side": "left"}}, "torque: side is 'left'; allowed are motor, link"),
        ({"torque": TORQUE | {"side": ["motor"]}}, "allowed are motor, link"),
        ({"current": CURRENT | {"side": "link"}}, "currents are the motors'; leave side out"),
        ({"torque": TORQUE | {"side": "link"}, "drive": GEARS}, "side is link, but drive: torque"),
        ({"position": {"columns": ["qa", "qb"], "unit": "rad", "side": "link"}}, "'side'"),
    ],
)
def test_contradictions_are_refused_in_one_line(tmp_path, parts, words):
    with pytest.raises(RecordingError, match=words.replace("(", r"\(")) as error:
        described(tmp_path, **parts)
    assert "\n" not in str(error.value)


def test_about_refuses_other_words():
    with pytest.raises(RecordingError, match="side is 'joint'; allowed are motor, link"):
        About(side="joint")


@pytest.mark.parametrize("suffix", ["csv", "npz"])
@pytest.mark.parametrize("side", [None, "motor", "link"])
def test_it_is_kept_in_files(tmp_path, suffix, side):
    time = np.arange(4) / 10.0
    recording = Recording(("a",), time, time[:, None], torque=time[:, None], about=About(side=side))
    write_recording(recording, tmp_path / f"log.{suffix}")
    assert read_recording(tmp_path / f"log.{suffix}").about.side == side


def test_it_is_kept_beside_gains(tmp_path):
    time = np.arange(4) / 10.0
    about = About(side="link", gains=(2.0,))
    recording = Recording(("a",), time, time[:, None], torque=time[:, None], current=time[:, None], about=about)
    for name in ("log.csv", "log.npz"):
        write_recording(recording, tmp_path / name)
        read = read_recording(tmp_path / name).about
        assert (read.side, read.gains) == ("link", (2.0,))


def test_known_programs_say_it(tmp_path):
    columns = ["time", *(f"state.{s}[{k}]" for s in ("q", "dq", "tau_J") for k in range(7))]
    (tmp_path / "franka.csv").write_text(",".join(columns) + "\n" + ("0," * 21 + "0\n") * 3, encoding="utf-8")
    assert open_recording(tmp_path / "franka.csv").about.side == "link"


# -- identification ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Logs of a small arm: torques with the rotors in them, and torques behind the gears; two motions of each."""
    folder, robot = tmp_path_factory.mktemp("sides"), embedded.robot(ARM)
    time = np.arange(0.0, 12.0, 0.01)
    for side, terms in (("motor", (RotorInertia(), Viscous(), Coulomb(), Offset())), ("link", (Viscous(), Coulomb()))):
        model = DynamicModel(robot, terms)
        chi = model.nominal.copy()
        for name, value in {"Ia": 8.0, "Fv": 5.0, "Fs": 3.0, "off": 1.0}.items():
            chi[[k for k, one in enumerate(model.standard) if one.startswith(name)]] = value
        for run, start in (("a", 0.0), ("b", 40.0)):
            w, phase = np.array([1.1, 1.7, 2.3]), (time + start)[:, None]
            q = 0.8 * np.sin(w * phase) + 0.3 * np.sin(2.6 * w * phase)
            qd = 0.8 * w * np.cos(w * phase) + 0.78 * w * np.cos(2.6 * w * phase)
            qdd = -0.8 * w**2 * np.sin(w * phase) - 2.028 * w**2 * np.sin(2.6 * w * phase)
            log = synthetic_recording(model, Motion(time, q, qd, qdd), chi, noise=0.5, position_noise=1e-6)
            write_recording(
                Recording(log.joints, log.time, log.q, torque=log.torque, about=About(side=side)),
                folder / f"{side}_{run}.csv",
            )
    return folder


def exciter(*arguments) -> int:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    return int(left.value.code or 0)


def rotors(folder) -> list[str]:
    data = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return [one["name"] for one in data["parameters"] if one["name"].startswith("Ia")]


@pytest.mark.parametrize("flags", [["--estimator", "wls"], []], ids=["as asked", "automatic"])
def test_links_have_no_rotor_inertia(logs, tmp_path, flags):
    assert exciter("identify", ARM, logs / "link_a.csv", "-o", tmp_path, *flags) == 0
    data = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert not rotors(tmp_path)
    assert any("torques are measured on the links: they have no rotor inertia in them" in one for one in data["words"])
    assert "rotor" not in [*data["settings"]["terms"], *data["terms"]]
    assert not flags or data["settings"]["terms"] == ["viscous", "coulomb", "offset"]
    again = IdentifiedModel.read(tmp_path)  # the same model
    assert again.model.base.names == tuple(one["name"] for one in data["parameters"])
    assert data["total_percent"] < 2.0


@pytest.mark.parametrize(
    ("sides", "common"),
    [
        (["link"], "link"),
        (["link", "link"], "link"),
        (["motor", "motor"], "motor"),
        (["link", None], None),
        ([None, "motor"], None),
        ([None], None),
    ],
)
def test_all_logs_must_say_it(sides, common):
    time = np.arange(50) / 100.0
    motion = Motion(time, *np.zeros((3, 50, 1)))
    known = [Recording(("a",), time, motion.q, torque=motion.q, about=About(side=side)) for side in sides]
    runs = [replace(Run.at(motion, motion.q, 100.0, f"run {k}"), recording=one) for k, one in enumerate(known)]
    assert common_side(runs) == common


@pytest.mark.parametrize("side", [None, "motor", "link"])
def test_terms_that_are_given_stay(side):
    robot = embedded.robot(ARM)
    assert len(IdentifyConfig(terms=(RotorInertia(),), side=side).model(robot).terms) == 1
    usual = {type(term) for term in IdentifyConfig(side=side).model(robot).terms}
    assert (RotorInertia in usual) == (side != "link")
    assert usual >= {Viscous, Coulomb, Offset}


def test_both_sides_together_are_refused(logs, tmp_path, capsys):
    assert exciter("identify", ARM, logs / "link_a.csv", logs / "motor_b.csv", "-o", tmp_path / "out") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "link_a.csv has torques measured on the links" in error
    assert "motor_b.csv on the motors" in error
    assert not (tmp_path / "out").exists()


def test_a_log_of_the_other_side_is_told_when_validating(logs, tmp_path, capsys):
    given = (logs / "link_a.csv", "-o", tmp_path, "--validate", logs / "motor_b.csv", "--estimator", "wls")
    assert exciter("identify", ARM, *given) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "motor_b.csv: torques: measured on the motors, the model is of torques on the links" in told
