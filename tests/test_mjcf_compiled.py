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
    anywhere = np.random.default_rng(0).normal(size=(40, 3))
    around = [
        (sine * np.cos(turn), sine * np.sin(turn), pole)
        for pole in (1.0, -1.0)
        for sine in (0.0, 1e-17, 3e-11, 2e-7, 1e-5, 1e-2)
        for turn in (0.3, 2.0, -2.8)
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
    assert capsule.rotation[0, 2] == pytest.approx(sine, rel=1e-9)


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
