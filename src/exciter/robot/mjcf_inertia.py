"""The inertia of an MJCF body: from <inertial> or from its geoms, as MuJoCo's compiler decides."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from exciter.errors import RobotError
from exciter.robot.mjcf_geoms import geom_inertia, weighs_by_mesh
from exciter.robot.mjcf_settings import Compiler, orientation
from exciter.robot.spatial import transform_inertia
from exciter.robot.xml_safety import number, numbers
from exciter.typing import Array

Central = tuple[Array, Array]  # (10,) about the centre of mass in the body's axes, and the centre of mass (3,)
LIGHTEST_GEOM = 1e-14  # [kg] below which MuJoCo takes no inertia from a geom
MASSLESS: Central = (np.zeros(10), np.zeros(3))


def body_inertia(body: Element, geoms: list[Element], compiler: Compiler, owner: str) -> tuple[Central, bool]:
    """Inertia about the centre of mass, and the centre; and whether it lacks the share of meshes. ``geoms``: the
    body's, defaults written on them. Where none of them weighs, <inertial> holds whatever the compiler is told."""
    inertial = body.find("inertial")
    inferred = compiler.inertia_from_geom == "true" or (compiler.inertia_from_geom == "auto" and inertial is None)
    first, last = compiler.inertia_groups
    counted = [geom for geom in geoms if inferred and first <= number(geom, "group", owner) <= last]
    meshed = any(weighs_by_mesh(geom) for geom in counted)
    weights = [phi for geom in counted if (phi := geom_inertia(geom, compiler, owner))[0] >= LIGHTEST_GEOM]
    if inertial is not None and not weights and not meshed:
        return _bounded(_from_inertial(inertial, compiler, owner), compiler), False
    total = np.sum([np.zeros(10), *weights], axis=0)
    # MuJoCo puts the mass that bounds give a body without any at the coordinates of the body itself, in its own frame
    given = numbers(body, "pos", 3, owner) or (0.0, 0.0, 0.0)
    centre = total[1:4] / total[0] if total[0] > 0 else np.array(given)
    return _bounded((transform_inertia(total, np.eye(3), -centre), centre), compiler), meshed


def _from_inertial(inertial: Element, compiler: Compiler, owner: str) -> Central:
    mass = number(inertial, "mass", owner)
    if mass < 0:
        raise RobotError(f"{owner} has the negative mass {mass:g} kg; masses must be zero or positive")
    centre = np.array(numbers(inertial, "pos", 3, owner) or (0.0, 0.0, 0.0))
    full = numbers(inertial, "fullinertia", 6, owner)
    diagonal = numbers(inertial, "diaginertia", 3, owner)
    if full is None and diagonal is None:
        raise RobotError(f"<inertial> of {owner} has neither diaginertia nor fullinertia; give one")
    xx, yy, zz, xy, xz, yz = full if full is not None else (*(diagonal or ()), 0.0, 0.0, 0.0)
    own = np.array([mass, 0, 0, 0, xx, xy, yy, xz, yz, zz])
    return transform_inertia(own, orientation(inertial, compiler, owner), np.zeros(3)), centre


def _bounded(central: Central, compiler: Compiler) -> Central:
    """After MuJoCo's lower bounds on mass and principal moments."""
    own, centre = central[0].copy(), central[1]
    own[0] = max(own[0], compiler.bound_mass)
    if compiler.bound_inertia > 0:
        xx, xy, yy, xz, yz, zz = own[4:]
        values, vectors = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        matrix = vectors @ np.diag(np.maximum(values, compiler.bound_inertia)) @ vectors.T
        own[4:] = matrix[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    return own, centre
