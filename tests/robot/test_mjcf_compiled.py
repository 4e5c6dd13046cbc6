"""Placements, masses and inertias of an MJCF file are those of the model that MuJoCo compiles from it."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from exciter.errors import RobotError
from exciter.robot import Robot, load
from exciter.robot.spatial import from_pseudo_inertia, rotation_to, transform_inertia

# -- orientations by one axis ------------------------------------------------------------------------------------------


def axes() -> np.ndarray:
    """All over the sphere, and at and around both poles, from far to closer than numbers can tell."""
    anywhere = np.random.default_rng(0).normal(size=(16, 3))
    around = [
        (sine * np.cos(turn), sine * np.sin(turn), pole)
        for pole in (1.0, -1.0)
        for sine in (0.0, 1e-17, 3e-11, 2e-7, 1e-5, 1e-2)
        for turn in (0.3, -2.8)
    ]
    return np.array([*anywhere, *np.eye(3), *-np.eye(3), (1.0, 0.0, -1.0), (-1.0, 0.0, -1.0), *around])


def test_zaxis_and_fromto_are_the_smallest_rotation_as_mujoco_has_it(tmp_path: Path) -> None:
    """Of bodies, geoms, sites and inertias alike. A rotation that takes z to the axis, but about another one, turns
    whatever hangs on the body: its weight, its shapes, its joint."""
    given = axes()
    bodies = "".join(
        f'<body name="b{k}" zaxis="{text}"><joint name="j{k}" axis="0 1 0"/>'
        f'<inertial mass="1" pos="0 0 0" diaginertia="1 1.5 2" zaxis="{text}"/>'
        f'<geom name="g{k}" type="box" size=".1 .2 .3" zaxis="{text}"/>'
        f'<geom name="f{k}" type="box" size=".1" fromto="{text} 0 0 0"/>'
        f'<site name="s{k}" zaxis="{text}"/><site name="t{k}" type="box" size=".1" fromto="0 0 0 {text}"/></body>'
        for k, axis in enumerate(given)
        for text in [" ".join(map(repr, axis.tolist()))]
    )
    path = tmp_path / "m.xml"
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>", encoding="utf-8")
    robot, model = load(path), mujoco.MjModel.from_xml_path(str(path))
    frames, shapes = {frame.name: frame for frame in robot.frames}, [s.rotation for s in robot.shapes]
    assert robot.joint_names == tuple(f"j{k}" for k in range(len(given)))
    for k in range(len(given)):
        for reached, quaternion in (
            (robot.joints[k].rotation, model.body(f"b{k}").quat),
            (shapes[2 * k], model.geom(f"g{k}").quat),
            (shapes[2 * k + 1], model.geom(f"f{k}").quat),
            (frames[f"s{k}"].rotation, model.site(f"s{k}").quat),
            (frames[f"t{k}"].rotation, model.site(f"t{k}").quat),
        ):
            np.testing.assert_allclose(reached, matrix(quaternion), atol=1e-9, err_msg=str(given[k]))
        np.testing.assert_allclose(robot.joints[k].inertia, compiled_inertia(model, f"b{k}"), atol=1e-9)


def test_rotations_to_an_axis_are_rotations_and_reach_it_to_the_last_digit() -> None:
    """Also where the smallest one is hardly defined: frames of joints are made by it."""
    for axis in axes():
        unit = axis / np.linalg.norm(axis)
        rotation = rotation_to(unit)
        np.testing.assert_allclose(rotation[:, 2], unit, rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=4e-15)
        assert np.linalg.det(rotation) > 0.0
    assert (rotation_to([0.0, 0.0, 1.0]) == np.eye(3)).all()


@pytest.mark.parametrize("sine", [1.1e-10, 9e-8])
def test_an_axis_that_versions_of_mujoco_read_differently_is_refused(tmp_path: Path, sine: float) -> None:
    text = """<mujoco><worldbody><body name="b" {body}><joint name="j"/><inertial mass="1" pos="0 0 0"
    diaginertia="1 1 1" {inertial}/><geom {geom}/><site name="s" {site}/></body></worldbody></mujoco>"""
    ends, path = f'fromto="{sine} 0 0 0 0 1"', tmp_path / "m.xml"

    def read(**words: str) -> Robot:
        given = {"body": "", "inertial": "", "geom": 'size="1"', "site": "", **words}
        path.write_text(text.format(**given), encoding="utf-8")
        return load(path)

    for place in ("body", "inertial", "site"):
        with pytest.raises(RobotError, match="of body 'b' points so nearly to -z"):
            read(**{place: f'zaxis="{sine} 0 -1"'})
    with pytest.raises(RobotError, match="give exactly 0 0 -1, or quat"):
        read(geom=f'type="box" size=".1" {ends}')
    capsule = read(geom=f'type="capsule" size=".1" {ends}').shapes[0]  # which looks the same either way
    model = mujoco.MjModel.from_xml_path(str(path))
    np.testing.assert_allclose(capsule.rotation, matrix(model.geom_quat[0]), rtol=0.0, atol=1e-15)


# -- masses and inertias -----------------------------------------------------------------------------------------------

#: Geoms of a body; those of the group 4 are beyond the second range of groups.
GEOMS = {
    "none": "",
    "a ball": '<geom size=".1" mass="3" pos=".2 0 0"/>',
    "a ball of another group": '<geom size=".1" mass="3" pos=".2 0 0" group="4"/>',
    "balls of both": '<geom size=".1" mass="3" pos=".2 0 0"/><geom size=".2" pos="0 .3 0" group="4"/>',
    "without a mass": '<geom size=".1" mass="0"/><geom type="box" size=".1 .1 .1" density="0"/>',
    "too light for MuJoCo": '<geom size=".1" mass="9e-15"/>',
    "a light one": '<geom size=".1" mass="1e-3"/>',
    "a mesh": '<geom type="mesh" mesh="m"/>',
    "a mesh beside a ball": '<geom type="mesh" mesh="m"/><geom size=".1" mass="3" pos=".2 0 0"/>',
    "a mesh of another group": '<geom type="mesh" mesh="m" group="4"/>',
    "a mesh without a mass": '<geom type="mesh" mesh="m" mass="0"/>',
    "a height field": '<geom type="hfield" hfield="h"/>',
}
OWN_INERTIA = '<inertial mass="2" pos=".1 0 .3" diaginertia="1 1.2 1.4" euler="10 20 30"/>'


@pytest.mark.parametrize("setting", ["true", "auto", "false"])
@pytest.mark.parametrize("groups", ["0 5", "0 2"])
@pytest.mark.parametrize("bounds", ["", 'boundmass="0.01" boundinertia="0.02"'])
def test_bodies_have_the_inertia_that_mujoco_compiles_or_it_is_said_to_be_missing(
    tmp_path: Path, setting: str, groups: str, bounds: str
) -> None:
    """Whether <inertial> or geoms count, every way to say it; fixed bodies are part of what carries them."""
    kinds = [(geoms, own) for geoms in GEOMS.values() for own in ("", OWN_INERTIA)]
    bodies = "".join(
        f'<body name="b{k}" pos="{k} 0 1"><joint name="j{k}" axis="0 1 0"/><inertial mass="1e-9" pos="0 0 0" '
        f'diaginertia="1e-9 1e-9 1e-9"/><body name="part{k}" pos=".1 .2 .3" euler="40 0 20">{own}{geoms}</body></body>'
        for k, (geoms, own) in enumerate(kinds)
    )
    path = tmp_path / "m.xml"
    path.write_text(
        f'<mujoco><compiler inertiafromgeom="{setting}" inertiagrouprange="{groups}" {bounds}/><asset><mesh name="m" '
        'vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>'
        f"<worldbody>{bodies}</worldbody></mujoco>",
        encoding="utf-8",
    )
    robot, model = load(path), mujoco.MjModel.from_xml_path(str(path))
    said = "".join(remark for remark in robot.lacking if "take their inertia from meshes" in remark)
    assert not said or ('inertiafromgeom="auto"' in said) == (setting == "true")
    missing = 0
    for k in range(len(kinds)):
        part = model.body(f"part{k}")
        expected = compiled_inertia(model, f"b{k}")
        expected = expected + transform_inertia(compiled_inertia(model, f"part{k}"), matrix(part.quat), part.pos)
        same = np.allclose(robot.joints[k].inertia, expected, rtol=1e-9, atol=1e-12)
        assert same != (f"'part{k}'" in said), (kinds[k], robot.joints[k].inertia, expected)
        missing += not same
    assert (missing > 0) == (setting != "false")


def test_a_fixed_body_of_meshes_takes_no_torque_from_anybody(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody><body name="foot">'
        '<geom type="mesh" mesh="m"/><body name="b"><joint name="j"/><geom size=".1"/></body></body></worldbody>'
        "</mujoco>",
        encoding="utf-8",
    )
    assert load(path).lacking == ()


def matrix(quaternion: np.ndarray) -> np.ndarray:
    found = np.empty(9)
    mujoco.mju_quat2Mat(found, quaternion)
    return found.reshape(3, 3)


def compiled_inertia(model: mujoco.MjModel, name: str) -> np.ndarray:
    """φ (10,) about the body's origin."""
    body = model.body(name)
    (mass,), moments = body.mass, body.inertia
    second = 0.5 * moments.sum() - moments  # ∫ x² dm, ∫ y² dm, ∫ z² dm
    own = from_pseudo_inertia(np.diag([*second, mass]))
    return transform_inertia(own, matrix(body.iquat), body.ipos)
