"""The example of section 4: KUKA IR 361, three axes, its 15 parameters, limits and Fourier series; and Table 1."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from exciter import Box, Coulomb, DynamicModel, Fourier, HalfSpace, Motion, Robot, Viscous
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.workspace import InsideCylinder, OutsideCylinder
from exciter.excitation.criteria.criterion import Figures, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.trajectories.trajectory import motion
from exciter.robot import load
from exciter.typing import Array
from exciter_papers.paper import published

ASME_FIGURES = published("swevers_asme")
EXPERIMENT = ASME_FIGURES["experiment"]
ASME_SAMPLES: int = EXPERIMENT["samples"]
ASME_FAMILY = Fourier(EXPERIMENT["period"], EXPERIMENT["harmonics"])  #: eq. (5)
ASME_FRICTION_TERMS = (Viscous(), Coulomb())
#: χ = C θ: the barycentric parameters of section 4.1 in standard ones of the modified-DH frames, whose x, y, z are the
#: paper's Z, X, Y. k_d enters as half the difference of two moments, so that XX = k_d, YY = −k_d stand for it.
BARYCENTRIC_GROUPINGS: Mapping[str, Mapping[str, float]] = {
    "kzz1": {"ZZ1": 1.0},
    "kyz2": {"XZ2": 1.0},
    "kd2": {"XX2": 1.0, "YY2": -1.0},
    "kyy2": {"ZZ2": 1.0},
    "mbz2": {"MX2": 1.0},
    "kyz3": {"XZ3": 1.0},
    "kd3": {"XX3": 1.0, "YY3": -1.0},
    "kyy3": {"ZZ3": 1.0},
    "mbz3": {"MX3": 1.0},
}
FRICTION: Mapping[str, Mapping[str, float]] = {
    f"{ours}{j}": {f"{theirs}{j}": 1.0} for ours, theirs in (("c", "Fs"), ("v", "Fv")) for j in (1, 2, 3)
}
ALL, INERT = f"{EXPERIMENT['parameters']} parameters", f"{len(BARYCENTRIC_GROUPINGS)} inertial parameters"  #: for texts


@cache
def robot(acceleration_limit: bool = True) -> Robot:
    """Limits of the joints are the paper's; inertias, which it does not give, are plausible ones."""
    arm = load("kuka-ir361-asme")
    return arm if acceleration_limit else arm.with_limits(acceleration=np.inf)


@cache
def model(acceleration_limit: bool = True) -> DynamicModel:
    return DynamicModel(robot(acceleration_limit), ASME_FRICTION_TERMS)


def columns(friction: bool = True) -> DesignColumns:
    """Of the matrix A (3): all 15 parameters, or the 9 inertial ones."""
    return DesignColumns.combined(model(), {**BARYCENTRIC_GROUPINGS, **FRICTION} if friction else BARYCENTRIC_GROUPINGS)


@cache
def model_words() -> str:
    """For the texts ``set_up`` of the parts."""
    (tool,) = (frame for frame in robot().frames if frame.name == "tool")
    return (
        f"Robot kuka-ir361-asme: KUKA IR 361, axes 1 to {robot().n}, {ALL} ({len(BARYCENTRIC_GROUPINGS)} barycentric, "
        f"{len(FRICTION)} of friction), {ASME_FAMILY.harmonics} harmonics of {1.0 / ASME_FAMILY.period:g} Hz, "
        f"{ASME_SAMPLES} samples "
        f"of one period at {EXPERIMENT['rate']:g} Hz. Not in the paper: the height of the shoulder "
        f"({robot().joints[0].translation[2]:g} m) and the length from elbow to end effector "
        f"({np.linalg.norm(tool.translation):g} m), which are those of the model of this robot in Orocos KDL; g = "
        f"{np.linalg.norm(robot().gravity):g} m/s²."
    )


def columns_words() -> str:
    """Eq. (5) and the columns of A, so that anyone can build it."""
    columns = ", ".join(" − ".join(standard) for standard in {**BARYCENTRIC_GROUPINGS, **FRICTION}.values())
    return (
        "q̇ = Σ (a_l cos lωt + b_l sin lωt) (5); swapped: a_l sin lωt + b_l cos lωt. Columns of A, in standard "
        f"parameters of the modified-DH frames of this robot, not scaled: {columns}."
    )


def heights(arm: Robot) -> Box:
    low, high = ASME_FIGURES["limits"]["height"]
    return Box(arm, "tool", np.array([-np.inf, -np.inf, low]), np.array([np.inf, np.inf, high]))


def workspace(arm: Robot) -> tuple[Constraint, ...]:
    """Height limits, and what the text says of the base: not r < 0.5 m and z < 1.6 m at once."""
    base = ASME_FIGURES["limits"]["base"]
    return heights(arm), OutsideCylinder(arm, "tool", base["radius"], upper=base["height"])


def printed_workspace(arm: Robot, above: bool) -> tuple[Constraint, ...]:
    """The printed product (1.6 m − z)(0.5 m − r) ≤ 0 instead: near the axis and high (above), or far and low. Both
    regions meet in one edge only, so that a motion stays in one of them."""
    radius, height = ASME_FIGURES["limits"]["base"]["radius"], ASME_FIGURES["limits"]["base"]["height"]
    if above:
        return heights(arm), HalfSpace(arm, "tool", np.array([0, 0, 1.0]), height), InsideCylinder(arm, "tool", radius)
    return heights(arm), HalfSpace(arm, "tool", np.array([0, 0, -1.0]), -height), OutsideCylinder(arm, "tool", radius)


def table_1(swapped: bool) -> Array:
    """δ (3, 11) of Table 1, with eq. (5) as printed, or with a and b in each other's place."""
    table = ASME_FIGURES["table_1"]
    first, second = ("b", "a") if swapped else ("a", "b")
    return np.column_stack([table[first], table[second], table["q0"]])


def sampled(delta: Array, family: Fourier = ASME_FAMILY, samples: int = ASME_SAMPLES) -> Motion:
    return motion(family, delta, family.sample_times(samples))


def figures(delta: Array, friction: bool = True, family: Fourier = ASME_FAMILY) -> Figures:
    """Condition numbers of A for one period."""
    return evaluate(model(), sampled(delta, family), 1.0, columns(friction))
