"""Results as YAML and JSON, and motions as ROS 2 messages, read back by the tools they are for."""

import json
from dataclasses import replace

import numpy as np
import pinocchio
import pytest
import yaml
from numpy.testing import assert_allclose, assert_array_equal

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.files import export, read_trajectory
from exciter.excitation.files.trajectory_files import DESIGN, same_curve
from exciter.excitation.trajectories.fourier import Fourier
from exciter.export.data import json_result, model_data, yaml_result
from exciter.export.ros2 import joint_trajectory, write_joint_trajectory
from exciter.export.write import Json, Yaml
from exciter.parameters.terms import Coulomb, DriveCoupling, Offset, RotorInertia, Tanh, UserTerm, Viscous, joint_terms
from exciter.robot import load
from support.estimates import estimate_of
from support.export_cases import as_found
from support.paths import ROBOTS
from support.robots import CASES, states

RECORD = {
    "residuals": {"joint_1": {"rms": 0.1, "percent": 1.0}},
    "total_percent": 1.25,
    "validation": [],
    "robot": {"name": "tx40", "sha256": "ab" * 32},
    "runs": [{"log": "a.csv", "sources": [{"name": "a.csv", "sha256": "cd" * 32}], "words": []}],
    "settings": {"identify": {"estimator": "consistent"}},
    "versions": {"exciter": "0"},
    "words": ["not for others"],
}


@pytest.fixture(scope="module")
def tx40():
    terms = (RotorInertia(), Viscous(), Coulomb(Tanh(1e-5)), Offset(), DriveCoupling("joint_5", "joint_6"))
    model = DynamicModel(CASES["tx40"](), terms)
    chi = np.where(model.nominal == 0.0, 1e-5 / 3.0, model.nominal)
    chi[: model.inertial_size] = model.nominal[: model.inertial_size]
    for k, name in enumerate(model.standard):
        if name.startswith("Iam"):
            chi[k] = 1e-7  # less than the rotors it couples
    return model, chi


@pytest.fixture(scope="module")
def written(tx40, tmp_path_factory):
    model, _ = tx40
    folder, estimate = tmp_path_factory.mktemp("data"), estimate_of(*tx40)
    found = as_found(model, estimate.values, estimate, RECORD)
    paths = [*Yaml().write(found, folder / "model.yaml"), *Json().write(found, folder / "model.json")]
    as_yaml, as_json = (path.read_text(encoding="utf-8") for path in paths)
    return estimate, yaml.safe_load(as_yaml), json.loads(as_json)


# -- YAML and JSON -----------------------------------------------------------------------------------------------------


def test_both_files_hold_the_same_numbers_bit_for_bit(tx40, written):
    estimate, data, from_json = written
    assert data == from_json
    model, chi = tx40
    assert [one["name"] for one in data["parameters"]] == list(model.base.names)
    for key, wanted in (("value", estimate.values), ("std", estimate.std)):
        assert [one[key] for one in data["parameters"]] == wanted.tolist()
    for key, wanted in (("unit", estimate.units), ("expression", model.base.expressions), ("status", estimate.status)):
        assert [one[key] for one in data["parameters"]] == list(wanted)
    assert_array_equal(data["covariance"], estimate.covariance)
    assert {one["name"]: one["value"] for one in data["standard"]} == dict(zip(model.standard, chi, strict=True))
    assert data["noise"] == dict(zip(model.robot.joint_names, estimate.noise.tolist(), strict=True))
    assert data["assumption"] == "errors that are correlated"
    assert data["degrees_of_freedom"] == 1234.0


def test_it_says_where_it_comes_from(tx40, written):
    data = written[1]
    assert data["robot"] == {"name": "tx40", "gravity": [0.0, 0.0, -9.81], "sha256": "ab" * 32}
    assert data["runs"][0]["sources"][0]["sha256"] == "cd" * 32
    for key in ("residuals", "total_percent", "settings", "versions"):
        assert data[key] == RECORD[key]
    assert "words" not in data
    terms = joint_terms(data["terms"], tx40[0].robot, "terms")
    assert terms == tx40[0].terms


def test_friction_is_found_by_joint(tx40, written):
    estimate, data, _ = written
    value = dict(zip(estimate.names, estimate.values.tolist(), strict=True))
    std = dict(zip(estimate.names, estimate.std.tolist(), strict=True))
    second = {one["name"]: one for one in data["joint_parameters"]["joint_2"]}
    assert second["Fv2"] == {
        "name": "Fv2", "term": "viscous", "value": value["Fv2"], "std": std["Fv2"], "unit": "N·m·s/rad"
    }  # fmt: skip
    assert second["Fs2"]["term"] == "coulomb"
    coupled = [joint for joint, some in data["joint_parameters"].items() if "fvm6" in {one["name"] for one in some}]
    assert coupled == ["joint_5", "joint_6"]
    listed = {one["name"] for some in data["joint_parameters"].values() for one in some}
    assert listed == set(estimate.names[tx40[0].base.inertial_count :])


@pytest.mark.parametrize("which", ["tx40", "gripper_arm"])
def test_pinocchio_gets_the_same_torques_from_the_file_alone(which, tx40):
    """A model built of what the file says of joints and bodies: a tree with prismatic joints too."""
    model = tx40[0] if which == "tx40" else DynamicModel(load(ROBOTS / "gripper_arm.urdf"))
    data = json.loads(json_result(model, estimate_of(model, model.nominal)))
    rebuilt = pinocchio.Model()
    rebuilt.gravity.linear = np.array(data["robot"]["gravity"])
    for joint, body in zip(data["joints"], data["bodies"], strict=True):
        slides = joint["kind"] == "prismatic"
        kind = pinocchio.JointModelPrismaticUnaligned if slides else pinocchio.JointModelRevoluteUnaligned
        placement = pinocchio.SE3(np.array(joint["rotation"]), np.array(joint["translation"]))
        parent = 0 if joint["parent"] is None else rebuilt.getJointId(joint["parent"])
        number = rebuilt.addJoint(parent, kind(np.array(joint["axis"])), placement, joint["name"])
        assert body["joint"] == joint["name"]
        rebuilt.inertias[number] = pinocchio.Inertia(body["mass"], np.array(body["com"]), np.array(body["inertia"]))
    motion = states(model.robot, 10)
    order = [rebuilt.joints[rebuilt.getJointId(name)].idx_v for name in model.robot.joint_names]
    oracle = rebuilt.createData()
    tau = []
    for state in zip(motion.q, motion.qd, motion.qdd, strict=True):
        arranged = np.zeros((3, model.n))
        arranged[:, order] = state
        tau.append(pinocchio.rnea(rebuilt, oracle, *arranged)[order])
    wanted = DynamicModel(model.robot).torque(motion)
    assert_allclose(tau, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())


def test_bodies_are_left_out_with_the_reason(tx40):
    model, chi = tx40
    alone = model_data(model, estimate_of(model, chi, standard=False))
    assert alone["standard"] is None
    assert alone["bodies"] is None
    assert "the estimator consistent" in alone["bodies_missing"]
    assert alone["robot"]["sha256"] is None
    wrong = chi.copy()
    wrong[10] = -1.0
    unphysical = model_data(model, estimate_of(model, wrong))
    assert unphysical["standard"] is not None
    assert unphysical["bodies"] is None
    assert "negative mass" in unphysical["bodies_missing"]
    assert model_data(model, estimate_of(model, chi))["bodies_missing"] is None


def test_a_body_without_mass_has_its_inertia_about_the_origin():
    model = DynamicModel(CASES["gautier-khalil"]())
    chi = np.zeros(len(model.standard))
    chi[[4, 6, 9]] = 0.2, 0.2, 0.3  # no mass, but inertia
    body = model_data(model, replace(estimate_of(model, chi), standard=chi))["bodies"][0]
    assert body["mass"] == 0.0
    assert body["com"] == [0.0, 0.0, 0.0]
    assert_allclose(np.linalg.eigvalsh(body["inertia"]), [0.2, 0.2, 0.3], atol=1e-15)


def test_what_is_not_known_is_null_and_what_is_foreign_is_named(tmp_path):
    own = UserTerm("Kc2", "joint_2", lambda q, qd, qdd: q**3, dq=lambda q, qd, qdd: 3 * q**2, dqd=0.0, dqdd=0.0)
    model = DynamicModel(CASES["gautier-khalil"](), (own,))
    estimate = estimate_of(model, model.nominal)
    covariance = estimate.covariance.copy()
    covariance[0, 0] = np.inf
    estimate = replace(estimate, covariance=covariance)
    data = json.loads(json_result(model, estimate))
    assert data == yaml.safe_load(yaml_result(model, estimate))
    assert data["covariance"][0][0] is None
    assert data["parameters"][0]["std"] is None
    assert data["terms"][0]["UserTerm"]["name"] == "Kc2"
    with pytest.raises(ParameterError, match="not of this model"):
        model_data(DynamicModel(CASES["gautier-khalil"]()), estimate)
    for form, name in ((Yaml(), "a.json"), (Json(), "a.txt")):
        with pytest.raises(ExciterError, match="must end in"):
            form.write(as_found(model, estimate.values, estimate, {}), tmp_path / name)
    assert not list(tmp_path.iterdir())


# -- ROS 2 -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def design(tmp_path):
    """A folder as exciter design writes it."""
    robot, trajectory = CASES["gautier-khalil"](), Fourier(period=2.0, harmonics=2)
    delta = 0.1 * np.random.default_rng(0).standard_normal((robot.n, len(trajectory.labels)))
    curve = trajectory.curve(delta)
    wide = robot.with_limits(lower=-9.0, upper=9.0, velocity=99.0, acceleration=999.0, jerk=99999.0, torque=9999.0)
    written = export(tmp_path, robot, curve, trajectory, delta, lambda one: certify(wide, one), rate=50.0)
    files = {"rate": written.rate, "rows": written.rows, "certificate": written.certificate.to_dict()}
    about = {"robot": {"name": robot.name, "joints": list(robot.joint_names)}, "files": files}
    DESIGN.write(tmp_path, about)
    return robot, tmp_path


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_the_message_is_the_certified_table(design, suffix):
    robot, folder = design
    path = write_joint_trajectory(folder / f"out{suffix}", folder)
    loads = json.loads if suffix == ".json" else yaml.safe_load
    message = loads(path.read_text(encoding="utf-8"))
    assert message["joint_names"] == list(robot.joint_names)
    assert set(message["points"][0]) == {"positions", "velocities", "accelerations", "time_from_start"}
    assert same_curve(read_trajectory(path, robot), read_trajectory(folder / "trajectory.csv", robot))


def test_a_folder_without_a_certified_motion_is_refused(design):
    _, folder = design
    about = json.loads((folder / "design.json").read_text())
    table = (folder / "trajectory.csv").read_text()
    changed = table.splitlines()
    cells = changed[9].split(",")
    cells[1] = repr(float(cells[1]) + 1e-6)
    changed[9] = ",".join(cells)
    (folder / "trajectory.csv").write_text("\n".join(changed), encoding="utf-8")
    with pytest.raises(ExciterError, match=r"changed since; design again"):
        joint_trajectory(folder)
    (folder / "trajectory.csv").write_text(table, encoding="utf-8")
    joint_trajectory(folder)
    (folder / "trajectory.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(ExciterError, match=r"changed since; design again"):
        joint_trajectory(folder)
    DESIGN.write(folder, about)
    with pytest.raises(ExciterError, match="cannot be read as a table"):
        joint_trajectory(folder)
    (folder / "trajectory.csv").write_text(table, encoding="utf-8")
    DESIGN.write(folder, about)
    about = json.loads((folder / "design.json").read_text())
    for rate in (1e15, 25.0):  # no memory for the first
        about["files"]["rate"] = rate
        (folder / "design.json").write_text(json.dumps(about), encoding="utf-8")
        with pytest.raises(ExciterError, match="changed since"):
            joint_trajectory(folder)
    about["files"]["certificate"]["certified"] = False
    (folder / "design.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ExciterError, match="not certified"):
        joint_trajectory(folder)
    (folder / "design.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ExciterError, match="cannot be read as a design"):
        joint_trajectory(folder)
    (folder / "trajectory.csv").unlink()
    with pytest.raises(ExciterError, match=r"no trajectory.csv.*exciter design.*exciter identify exports as urdf"):
        joint_trajectory(folder)
