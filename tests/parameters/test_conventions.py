"""Inertial parameters as every tool writes them; oracles: point masses, Pinocchio, MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from exciter.errors import ParameterError
from exciter.parameters import conventions as to
from exciter.parameters import inertial

SEEDS = st.integers(0, 10_000)
MANY = settings(derandomize=True, deadline=None, max_examples=30)


class Cloud:
    """Point masses in the joint frame; every inertial quantity by its definition."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        count = rng.integers(4, 20)
        self.masses = rng.uniform(0.1, 2.0, count)
        self.points = rng.normal(size=(count, 3)) * rng.uniform(0.05, 1.0, 3) + rng.normal(size=3)

    @property
    def mass(self) -> float:
        return float(self.masses.sum())

    @property
    def com(self) -> np.ndarray:
        return self.masses @ self.points / self.mass

    def inertia(self, about: np.ndarray, axes: np.ndarray) -> np.ndarray:
        """Σ m (|r|² 1 − r rᵀ) about a point, in axes given as the columns of a rotation."""
        r = (self.points - about) @ axes
        return sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(self.masses, r, strict=True))

    @property
    def phi(self) -> np.ndarray:
        i = self.inertia(np.zeros(3), np.eye(3))
        return np.array([self.mass, *(self.mass * self.com), i[0, 0], i[0, 1], i[1, 1], i[0, 2], i[1, 2], i[2, 2]])


def test_names_and_units_follow_pinocchio_order() -> None:
    assert inertial.names(2)[:10] == ("M1", "MX1", "MY1", "MZ1", "XX1", "XY1", "YY1", "XZ1", "YZ1", "ZZ1")
    assert inertial.names(3)[-1] == "ZZ3"
    assert inertial.names(3)[20:22] == ("M3", "MX3")
    assert len(inertial.units(3)) == len(inertial.names(3)) == 30
    assert dict(zip(inertial.names(1), inertial.units(1), strict=True)) == {
        **{"M1": "kg", "MX1": "kg·m", "MY1": "kg·m", "MZ1": "kg·m"},
        **dict.fromkeys(("XX1", "XY1", "YY1", "XZ1", "YZ1", "ZZ1"), "kg·m²"),
    }


@MANY
@given(SEEDS)
def test_mass_com_inertia_of_point_masses(seed: int) -> None:
    cloud = Cloud(seed)
    about_com = cloud.inertia(cloud.com, np.eye(3))
    mass, com, inertia = inertial.mass_com_inertia(cloud.phi)
    np.testing.assert_allclose(mass, cloud.mass)
    np.testing.assert_allclose(com, cloud.com, rtol=1e-12)
    np.testing.assert_allclose(inertia, about_com, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        inertial.from_mass_com_inertia(mass, cloud.com, about_com), cloud.phi, rtol=1e-9, atol=1e-10
    )


@MANY
@given(SEEDS)
def test_pinocchio_agrees(seed: int) -> None:
    import pinocchio as pin

    cloud = Cloud(seed)
    body = pin.Inertia(cloud.mass, cloud.com, cloud.inertia(cloud.com, np.eye(3)))
    np.testing.assert_allclose(to.from_pinocchio(body.toDynamicParameters()), cloud.phi, rtol=1e-9, atol=1e-10)
    back = pin.Inertia.FromDynamicParameters(to.to_pinocchio(cloud.phi))
    assert back.isApprox(body, 1e-9)


def test_pure_orders_by_name() -> None:
    tags = np.arange(10.0) + 1  # a number per name: where does each one end up?
    by_name = dict(zip(inertial.INERTIAL_NAMES, tags, strict=True))
    assert to.to_papers(tags).tolist() == [by_name[name] for name in to.PAPER_NAMES]
    idyntree = ("M", "MX", "MY", "MZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ")
    assert to.to_idyntree(tags).tolist() == [by_name[name] for name in idyntree]
    robot = np.random.default_rng(0).normal(size=(4, 10))
    for forward, backward in ((to.to_papers, to.from_papers), (to.to_idyntree, to.from_idyntree)):
        assert (backward(forward(robot)) == robot).all()
        assert (forward(backward(robot)) == robot).all()


@MANY
@given(SEEDS)
def test_idyntree_is_the_upper_triangle_row_by_row(seed: int) -> None:
    cloud = Cloud(seed)
    expected = cloud.inertia(np.zeros(3), np.eye(3))[np.triu_indices(3)]
    np.testing.assert_allclose(to.to_idyntree(cloud.phi)[4:], expected)


@MANY
@given(SEEDS)
def test_drake_unit_inertia(seed: int) -> None:
    cloud = Cloud(seed)
    unit = cloud.inertia(np.zeros(3), np.eye(3)) / cloud.mass
    body = to.to_drake(cloud.phi)
    np.testing.assert_allclose(body.com, cloud.com)
    np.testing.assert_allclose(body.moments, np.diag(unit))
    np.testing.assert_allclose(body.products, [unit[0, 1], unit[0, 2], unit[1, 2]])
    np.testing.assert_allclose(to.from_drake(body), cloud.phi, rtol=1e-12, atol=1e-14)


@MANY
@given(SEEDS)
def test_mujoco_principal_axes(seed: int) -> None:
    cloud = Cloud(seed)
    body = to.to_mujoco(cloud.phi)
    w, x, y, z = body.iquat
    axes = Rotation.from_quat([x, y, z, w]).as_matrix()
    np.testing.assert_allclose(cloud.inertia(cloud.com, axes), np.diag(body.diaginertia), atol=1e-9)
    assert body.diaginertia[0] >= body.diaginertia[1] >= body.diaginertia[2]
    np.testing.assert_allclose(to.from_mujoco(body), cloud.phi, rtol=1e-9, atol=1e-10)
    i = cloud.inertia(cloud.com, np.eye(3))
    np.testing.assert_allclose(
        body.fullinertia, [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]], rtol=1e-9, atol=1e-10
    )
    full = to.from_mujoco_full(body.mass, body.ipos, body.fullinertia)
    np.testing.assert_allclose(full, cloud.phi, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_mujoco_compiles_the_same_body(seed: int) -> None:
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    cloud = Cloud(seed)
    ours = to.to_mujoco(cloud.phi)

    def words(values: tuple[float, ...]) -> str:
        return " ".join(f"{v:.17g}" for v in values)

    def compiled(inertia: str) -> np.ndarray:
        model = mujoco.MjModel.from_xml_string(
            f"<mujoco><worldbody><body><freejoint/><inertial mass='{ours.mass:.17g}' "
            f"pos='{words(ours.ipos)}' {inertia}/></body></worldbody></mujoco>"
        )
        return to.from_mujoco(
            to.MuJoCoInertia(
                float(model.body_mass[1]),
                tuple(model.body_ipos[1].tolist()),
                tuple(model.body_iquat[1].tolist()),
                tuple(model.body_inertia[1].tolist()),
            )
        )

    full = compiled(f"fullinertia='{words(ours.fullinertia)}'")
    diagonal = compiled(f"quat='{words(ours.iquat)}' diaginertia='{words(ours.diaginertia)}'")
    np.testing.assert_allclose(full, cloud.phi, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(diagonal, cloud.phi, rtol=1e-8, atol=1e-9)


@MANY
@given(SEEDS)
def test_urdf_inertial_frame(seed: int) -> None:
    cloud = Cloud(seed)
    rpy = np.random.default_rng(seed).uniform(-3, 3, 3)
    axes = Rotation.from_euler("xyz", rpy).as_matrix()  # lower case: about fixed axes, as URDF means it
    six = cloud.inertia(cloud.com, axes)[np.triu_indices(3)]
    body = to.UrdfInertia(cloud.mass, tuple(cloud.com), tuple(rpy), *six)
    np.testing.assert_allclose(to.from_urdf(body), cloud.phi, rtol=1e-9, atol=1e-10)
    ours = to.to_urdf(cloud.phi)
    np.testing.assert_allclose((ours.ixx, ours.iyz), cloud.inertia(cloud.com, np.eye(3))[[0, 1], [0, 2]], atol=1e-10)
    np.testing.assert_allclose(to.from_urdf(ours), cloud.phi, rtol=1e-9, atol=1e-10)


def test_urdf_as_pinocchio_reads_it() -> None:
    import pinocchio as pin

    cloud = Cloud(5)
    rpy = (0.3, -0.7, 1.1)
    axes = Rotation.from_euler("xyz", rpy).as_matrix()
    six = dict(
        zip(
            ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
            cloud.inertia(cloud.com, axes)[np.triu_indices(3)],
            strict=True,
        )
    )
    entries = " ".join(f"{k}='{v:.17g}'" for k, v in six.items())
    xyz = " ".join(f"{v:.17g}" for v in cloud.com)
    model = pin.buildModelFromXML(
        f"<robot name='r'><link name='a'/><link name='b'><inertial><mass value='{cloud.mass:.17g}'/>"
        f"<origin xyz='{xyz}' rpy='0.3 -0.7 1.1'/><inertia {entries}/></inertial></link>"
        "<joint name='j' type='revolute'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/>"
        "<limit lower='-1' upper='1' effort='1' velocity='1'/></joint></robot>"
    )
    ours = to.from_urdf(to.UrdfInertia(cloud.mass, tuple(cloud.com), rpy, **six))
    np.testing.assert_allclose(ours, model.inertias[1].toDynamicParameters(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("convert", [to.to_drake, to.to_mujoco, to.to_urdf, inertial.mass_com_inertia])
def test_massless_body_has_no_centre_of_mass(convert: object) -> None:
    with pytest.raises(ParameterError, match=r"mass is 0.*positive mass"):
        convert(np.zeros(10))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("phi", "words"),
    [(np.zeros(9), "shape"), (np.full(10, np.nan), "NaN"), (["a"] * 10, "numbers"), (3.0, "shape")],
)
def test_bad_parameters_are_refused(phi: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        to.to_idyntree(phi)  # type: ignore[arg-type]


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="not symmetric"):
        inertial.from_mass_com_inertia(1.0, np.zeros(3), [[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(ParameterError, match="shapes"):
        inertial.from_mass_com_inertia(1.0, np.zeros(2), np.eye(3))
    with pytest.raises(ParameterError, match="iquat"):
        to.from_mujoco(to.MuJoCoInertia(1.0, (0, 0, 0), (0, 0, 0, 0), (1, 1, 1)))
