"""The embedded robots: published geometry and parameters, sensible limits, and bodies that can exist."""

import math

import numpy as np
import pinocchio as pin
import pytest

from exciter.errors import RobotError
from exciter.robot import embedded_robots as embedded
from exciter.robot.description import read_urdf
from exciter.robot.mdh import in_mdh_frames
from exciter.robot.mdh_file import read_mdh
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import Robot
from exciter.robot.spatial import pseudo_inertia
from support.paths import SHARED_DATA

NAMES = ("gautier-khalil", "kuka-ir361", "kuka-ir361-asme", "lwr4", "panda", "puma560", "tx40", "ur10e")
#: Published base values that no rigid body can have; the rest of the robot is consistent.
NOT_PHYSICAL = {("gautier-khalil", "joint_3"), ("kuka-ir361", "joint_3")}

robots = pytest.mark.parametrize("name", NAMES)


def placement(robot: Robot, q, frame: str) -> np.ndarray:
    model = to_pinocchio(robot)
    data = model.createData()
    pin.framesForwardKinematics(model, data, np.asarray(q, dtype=float))
    return np.array(data.oMf[model.getFrameId(frame)].homogeneous)


def torque(robot: Robot, q, v, a) -> np.ndarray:
    model = to_pinocchio(robot)
    return np.array(pin.rnea(model, model.createData(), q, v, a))


def test_names():
    assert embedded.names() == NAMES
    with pytest.raises(RobotError, match="unknown embedded robot 'pnada'; valid names: gautier-khalil"):
        embedded.robot("pnada")


@robots
def test_loads_and_says_where_it_comes_from(name):
    robot = embedded.robot(name)
    assert robot is embedded.robot(name)
    assert robot.name == name
    assert robot.nominal
    assert len(robot.source) > 100
    assert robot.frames
    assert len(robot.shapes) == len(robot.capsules) > robot.n
    np.testing.assert_array_equal(read_mdh(embedded.path(name)).inertias, robot.inertias)


@robots
def test_limits(name):
    robot = embedded.robot(name)
    for which in ("lower", "upper", "velocity", "acceleration"):
        assert np.isfinite(robot.limit(which)).all()
    home = embedded.home(name)
    assert (robot.limit("lower") <= home).all()
    assert (home <= robot.limit("upper")).all()
    time_to_full_speed = robot.limit("velocity") / robot.limit("acceleration")
    assert (time_to_full_speed > 0.05).all()
    assert (time_to_full_speed < 1.0).all()
    assert (np.abs(torque(robot, home, 0 * home, 0 * home)) < robot.limit("torque")).all()  # can hold itself


@robots
def test_frames_are_those_of_the_table(name):
    robot = embedded.robot(name)
    again, table = in_mdh_frames(robot)
    assert again is robot
    for row in table.rows:
        for angle in (row.alpha, row.theta):
            assert angle / (math.pi / 2) == round(angle / (math.pi / 2))


@robots
def test_bodies_can_exist(name):
    robot = embedded.robot(name)
    for joint in robot.joints:
        smallest = np.linalg.eigvalsh(pseudo_inertia(joint.inertia))[0]
        assert (smallest < 0) == ((name, joint.name) in NOT_PHYSICAL)
    for values in robot.friction.values():
        assert (values >= 0).all()


@robots
def test_inertia_matrix_is_positive_definite(name):
    """Also where single bodies are not physical: what identification sees of them is."""
    model = to_pinocchio(embedded.robot(name))
    rng = np.random.default_rng(0)
    for q in rng.uniform(-3, 3, (50, model.nq)):
        m = np.array(pin.crba(model, model.createData(), q))
        m = np.triu(m) + np.triu(m, 1).T
        assert np.linalg.eigvalsh(m)[0] > 0


# -- collision ---------------------------------------------------------------------------------------------------


def segment_distance(p1, q1, p2, q2) -> float:
    """Smallest distance of two segments: a convex quadratic on the unit square; inside, or on an edge."""

    def to_point(point, start, end):
        along = end - start
        s = np.clip((point - start) @ along / max(along @ along, 1e-30), 0, 1)
        return np.linalg.norm(point - start - s * along)

    best = min(to_point(p1, p2, q2), to_point(q1, p2, q2), to_point(p2, p1, q1), to_point(q2, p1, q1))
    u, v, w = q1 - p1, q2 - p2, p1 - p2
    gram = np.array([[u @ u, -(u @ v)], [-(u @ v), v @ v]])
    if np.linalg.det(gram) > 1e-12:
        s, t = np.linalg.solve(gram, [-(u @ w), v @ w])
        if 0 <= s <= 1 and 0 <= t <= 1:
            best = min(best, np.linalg.norm(w + s * u - t * v))
    return float(best)


def clearances(robot: Robot, q) -> dict[tuple[str, str], float]:
    model = to_pinocchio(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    capsules = {}
    for c in robot.capsules:
        where = data.oMi[c.joint + 1]
        capsules[c.name] = (where.act(np.array(c.start)), where.act(np.array(c.end)), c.radius)
    result = {}
    for a, b in robot.collision_pairs:
        (p1, q1, r1), (p2, q2, r2) = capsules[a], capsules[b]
        result[a, b] = segment_distance(p1, q1, p2, q2) - r1 - r2
    return result


def test_segment_distance_against_sampling():
    rng = np.random.default_rng(0)
    s = np.linspace(0, 1, 201)[:, None]
    for points in rng.normal(size=(30, 4, 3)):
        p1, q1, p2, q2 = points
        brute = np.linalg.norm((p1 + s * (q1 - p1))[:, None] - (p2 + s * (q2 - p2))[None], axis=2).min()
        exact = segment_distance(p1, q1, p2, q2)
        assert exact <= brute + 1e-12
        assert brute < exact + 0.05


@robots
def test_home_is_free_of_collision(name):
    robot = embedded.robot(name)
    on = {c.name: c.joint for c in robot.capsules}
    assert robot.collision_pairs
    for a, b in robot.collision_pairs:
        assert abs(on[a] - on[b]) > 1  # neighbours always touch
    assert min(clearances(robot, embedded.home(name)).values()) > 0.02


@pytest.mark.parametrize("name", ["kuka-ir361", "panda", "tx40", "ur10e"])
def test_collisions_do_occur_somewhere(name):
    robot = embedded.robot(name)
    rng = np.random.default_rng(0)
    samples = rng.uniform(robot.limit("lower"), robot.limit("upper"), (300, robot.n))
    assert min(min(clearances(robot, q).values()) for q in samples) < 0


@robots
def test_capsules_cover_the_way_from_joint_to_joint(name):
    """Every joint origin but a tool's lies in, or close to, a capsule of its own body or of its neighbours."""
    robot = embedded.robot(name)
    home = embedded.home(name)
    model = to_pinocchio(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, home)
    for i in range(robot.n):
        distances = []
        for c in robot.capsules:
            if c.joint in (i, robot.joints[i].parent):
                where = data.oMi[c.joint + 1]
                start, end = where.act(np.array(c.start)), where.act(np.array(c.end))
                point = data.oMi[i + 1].translation
                distances.append(segment_distance(start, end, point, point) - c.radius)
        assert min(distances) < 0.1


# -- published geometry ------------------------------------------------------------------------------------------

AT_ZERO = {  # tool at q = 0: position [m] and direction of its z axis
    "panda": ("flange", (0.088, 0, 0.333 + 0.316 + 0.384 - 0.107), (0, 0, -1)),
    "ur10e": ("tool0", (-0.6127 - 0.57155, -0.17415 - 0.11655, 0.1807 - 0.11985), (0, -1, 0)),
    "puma560": ("flange", (0.4318 - 0.0203, 0.2435 - 0.0934, 0.4331 + 0.05625), (0, 0, 1)),
    "tx40": ("flange", (0.225, 0.035, 0.32 + 0.225 + 0.065), (0, 0, 1)),
    "lwr4": ("flange", (0, 0, 0.31 + 0.4 + 0.39 + 0.078), (0, 0, 1)),
    "kuka-ir361": ("tool", (-0.765, 0, 1.02 + 0.48), (-1, 0, 0)),
    "kuka-ir361-asme": ("tool", (0, 0, 1.02 + 0.48 + 0.765), (0, 0, 1)),
}


@pytest.mark.parametrize("name", AT_ZERO)
def test_tool_at_zero(name):
    frame, position, direction = AT_ZERO[name]
    robot = embedded.robot(name)
    tool = placement(robot, np.zeros(robot.n), frame)
    np.testing.assert_allclose(tool[:3, 3], position, atol=1e-12)
    np.testing.assert_allclose(tool[:3, 2], direction, atol=1e-12)


def test_kuka_tool_follows_the_papers_formulas():
    """Height and reach: forearm across the upper arm in one paper, along it in the other."""
    ieee, asme = embedded.robot("kuka-ir361"), embedded.robot("kuka-ir361-asme")
    for q in np.random.default_rng(0).uniform(-1, 1, (10, 3)):
        p = q[1] + q[2]
        z = placement(ieee, q, "tool")[2, 3]
        assert z == pytest.approx(1.02 + 0.48 * math.cos(q[1]) - 0.765 * math.sin(p), abs=1e-12)
        tool = placement(asme, q, "tool")[:3, 3]
        assert tool[2] == pytest.approx(1.02 + 0.48 * math.cos(q[1]) + 0.765 * math.cos(p), abs=1e-12)
        assert math.hypot(*tool[:2]) == pytest.approx(abs(0.48 * math.sin(q[1]) + 0.765 * math.sin(p)), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "path", "last"), [("tx40", "tx40/tx40.urdf", "joint_6"), ("panda", "panda/panda.urdf", "joint_7")]
)
def test_same_joint_angles_as_the_public_description(name, path, last):
    if not (SHARED_DATA / path).exists():
        pytest.skip(f"real robot description {path} is not here")
    robot, other = embedded.robot(name), read_urdf(SHARED_DATA / path)
    assert robot.joint_names == other.joint_names
    for q in np.random.default_rng(0).uniform(-1, 1, (5, robot.n)):
        np.testing.assert_allclose(placement(robot, q, last), placement(other, q, last), atol=1e-9)


# -- published parameters ----------------------------------------------------------------------------------------

TABLE_6 = {  # Gautier & Khalil 1992
    "ZZ1": 5.0186, "XX2": -2.05, "XY2": 0.7, "XZ2": -1.07, "YZ2": 0.65, "ZZ2": 6.55, "MX2": 4.3, "MY2": 0.6,
    "XX3": 0.7634, "XY3": 0.6872, "XZ3": 0.55, "YZ3": -0.6, "ZZ3": 0.9646, "MX3": 0.528, "MY3": 1.14,
}  # fmt: skip
TABLE_I = {  # Swevers et al. 1997, IEEE
    "ZZ1": 45.38, "MX2": -0.31, "MY2": -2.22, "XX2": -28.69, "XY2": 0.3, "XZ2": -0.2, "YZ2": 3.36, "ZZ2": 41.74,
    "MX3": 0.07, "MY3": 2.6, "XX3": 8.21, "XY3": 0.07, "XZ3": -0.21, "YZ3": 0.69, "ZZ3": 7.63,
}  # fmt: skip
ORDER = ("M", "MX", "MY", "MZ", "XX", "XY", "YY", "XZ", "YZ", "ZZ")


def standard(robot: Robot) -> dict[str, float]:
    return {f"{k}{j + 1}": float(v) for j, row in enumerate(robot.inertias) for k, v in zip(ORDER, row, strict=True)}


def grouped(p: dict[str, float], d: float, r: float) -> dict[str, float]:
    """The groupings of a vertical joint, a horizontal one, and one parallel to that at (d, r)."""
    return p | {
        "ZZ1": p["ZZ1"] + p["YY2"] + p["YY3"] + 2 * r * p["MZ3"] + (d * d + r * r) * p["M3"],
        "XX2": p["XX2"] - p["YY2"] - d * d * p["M3"],
        "XZ2": p["XZ2"] - d * p["MZ3"] - d * r * p["M3"],
        "ZZ2": p["ZZ2"] + d * d * p["M3"],
        "MX2": p["MX2"] + d * p["M3"],
        "XX3": p["XX3"] - p["YY3"],
    }


@pytest.mark.parametrize(
    ("name", "values", "d", "r"), [("gautier-khalil", TABLE_6, 0.5, 0.2), ("kuka-ir361", TABLE_I, 0.48, 0.0)]
)
def test_base_parameters_are_the_published_ones(name, values, d, r):
    robot = embedded.robot(name)
    base = grouped(standard(robot), d, r)
    for key, value in values.items():
        assert base[key] == pytest.approx(value, abs=1e-9)
    # and by dynamics alone: a robot with nothing but the published values needs the same torques
    model = to_pinocchio(robot)
    rng = np.random.default_rng(0)
    bare = np.array([values.get(f"{k}{j}", 0.0) for j in (1, 2, 3) for k in ORDER])
    for q, v, a in rng.normal(size=(10, 3, 3)):
        regressor = np.array(pin.computeJointTorqueRegressor(model, model.createData(), q, v, a))
        np.testing.assert_allclose(regressor @ bare, torque(robot, q, v, a), atol=1e-9)


def test_why_two_published_sets_are_not_physical():
    """Second moments ∫x² and ∫y² of link 3 follow from base values alone and contradict ∫xy, or are negative."""
    xx, yy = (TABLE_6["ZZ3"] - TABLE_6["XX3"]) / 2, (TABLE_6["ZZ3"] + TABLE_6["XX3"]) / 2
    assert xx * yy < TABLE_6["XY3"] ** 2
    assert TABLE_I["ZZ3"] - TABLE_I["XX3"] < 0


def test_asme_model_of_the_kuka():
    """The corrected closed-form equations of the paper, with the barycentric parameters of our bodies."""
    robot = embedded.robot("kuka-ir361-asme")
    (_, m2, m3), length, g = robot.inertias[:, 0], 0.48, 9.81
    bodies = []  # paper's axes (X, Y, Z) are the table's (y, z, x)
    for phi in robot.inertias[1:]:
        m, c = phi[0], phi[1:4] / phi[0]
        lz, lx, ly = c
        assert lx == 0
        bodies.append((m, ly, lz, phi[6], phi[9], phi[4]))  # Ixx, Iyy, Izz about the joint
    (_, ly2, lz2, xx2, yy2, zz2), (_, ly3, lz3, xx3, yy3, zz3) = bodies
    kzz1 = robot.inertias[0, 9] + 0.5 * (xx2 + m3 * length**2 + zz2 + xx3 + zz3)
    kyz2, kyz3 = -ly2 * lz2 * m2 - length * ly3 * m3, -ly3 * lz3 * m3
    kd2, kd3 = 0.5 * (zz2 - xx2 - m3 * length**2), 0.5 * (zz3 - xx3)
    kyy2, kyy3 = yy2 + m3 * length**2, yy3
    mb2, mb3 = lz2 * m2 + length * m3, lz3 * m3
    rng = np.random.default_rng(0)
    for q, v, a in rng.normal(size=(10, 3, 3)):
        (_, q2, q3), (v1, v2, v3), (a1, a2, a3) = q, v, a
        p, vp, ap = q2 + q3, v2 + v3, a2 + a3
        s2, c2, sp, cp, s3, c3 = np.sin(q2), np.cos(q2), np.sin(p), np.cos(p), np.sin(q3), np.cos(q3)
        tau1 = (
            kzz1 * a1
            + kyz2 * (a2 * c2 - v2**2 * s2)
            + kd2 * (a1 * np.cos(2 * q2) - 2 * v1 * v2 * np.sin(2 * q2))
            + kyz3 * (ap * cp - vp**2 * sp)
            + kd3 * (a1 * np.cos(2 * p) - 2 * v1 * vp * np.sin(2 * p))
            + mb3 * length * (2 * a1 * s2 * sp + 2 * v1 * v2 * np.sin(2 * q2 + q3) + 2 * v1 * v3 * cp * s2)
        )
        tau3 = kyz3 * a1 * cp + kd3 * v1**2 * np.sin(2 * p) + kyy3 * ap
        tau2 = kyz2 * a1 * c2 + kd2 * v1**2 * np.sin(2 * q2) + kyy2 * a2 - mb2 * g * s2 + tau3
        swing = (2 * a2 + a3) * c3 - v1**2 * np.sin(2 * q2 + q3) - (v3**2 + 2 * v2 * v3) * s3
        tau2 += mb3 * (-g * sp + length * swing)
        tau3 += mb3 * (-g * sp + length * (a2 * c3 - v1**2 * cp * s2 + v2**2 * s3))
        np.testing.assert_allclose(torque(robot, q, v, a), [tau1, tau2, tau3], atol=1e-9)


# As manufacturers and papers publish them: [rad], [rad/s], [N·m].
PUBLISHED_LIMITS = {
    "panda": {
        "lower": [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973],
        "upper": [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973],
        "velocity": [2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61],
        "acceleration": [15, 7.5, 10, 12.5, 15, 20, 20],
        "jerk": [7500, 3750, 5000, 6250, 7500, 10000, 10000],
        "torque": [87, 87, 87, 87, 12, 12, 12],
    },
    "lwr4": {
        "upper": np.radians([170, 120, 170, 120, 170, 120, 170]),
        "velocity": [1.88, 1.88, 2.22, 2.22, 3.56, 3.20, 3.20],  # Rackl et al. (42)
        "torque": [176, 176, 100, 100, 100, 38, 38],
    },
    "kuka-ir361": {"upper": [1.6, 1.2, 1.2], "velocity": [1.45] * 3, "acceleration": [3.0] * 3},
    "ur10e": {"velocity": np.radians([120, 120, 180, 180, 180, 180]), "torque": [330, 330, 150, 56, 56, 56]},
    "tx40": {"velocity": np.radians([287, 287, 430, 410, 320, 700])},
}


@pytest.mark.parametrize("name", PUBLISHED_LIMITS)
def test_published_limits(name):
    for which, values in PUBLISHED_LIMITS[name].items():
        np.testing.assert_allclose(embedded.robot(name).limit(which), values, rtol=2e-4, err_msg=which)
