"""The robot, limits, splines and weights of the paper, and what it leaves open.

The masses and shapes of the LWR 4 are not published. In their place stands the embedded description ``lwr4``: bodies
of uniform density whose masses add up to the data sheet's. Way-points, duration, weights ξ, payload and noise are not
published either; the noise is that of public logs of another such arm.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

import exciter as ex
from exciter.dynamics.model import inertia_base
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import OutsideSphere
from exciter.experiment.recording import Payload
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.virtual.true_parameters import Spread
from exciter.identification.runs.run import load_chi
from exciter.typing import Array
from exciter_papers.paper import published, text_of

TOOL = "flange"
SEGMENTS, DURATION = 8, 10.0  # way-points less one, and [s] where the search begins: not published
DURATIONS = 5.0, 20.0  # [s] within which the duration is free
XI_1 = XI_2 = 1.0  # of (15): not published
POSITION_NOISE_STD = 2e-6  # [rad] σ of every position sample; not published
STEEL, RADIUS, HEIGHT = 7850.0, 0.05, 0.05  # [kg/m³], [m] of the payload, a cylinder on the flange: not published
OPEN = (
    "Not published, and assumed here: masses and shapes of the links (bodies of uniform density, together as heavy as "
    "the data sheet says), ξ₁ = ξ₂ = 1 in (15)"
)


@cache
def paper_model() -> ex.DynamicModel:
    """The LWR 4+ with the limits of (37)–(44), rigid bodies only: the torque sensors are behind gears and friction."""
    limits = published("rackl")["limits"]
    robot = ex.load("lwr4").with_limits(
        lower=np.deg2rad(limits["lower"]),
        upper=np.deg2rad(limits["upper"]),
        **{kind: limits[kind] for kind in ("velocity", "acceleration", "torque")},
    )
    return ex.DynamicModel(robot)


def limits_of(model: ex.DynamicModel, chi: Array | None = None) -> tuple[Constraint, ...]:
    """Box (33)–(35), sphere (41) and torque limits (44), these with χ where it is not the description's."""
    limits = published("rackl")["limits"]
    robot = model.robot
    return (
        ex.Box(robot, TOOL, np.array(limits["box_lower"]), np.array(limits["box_upper"])),
        OutsideSphere(robot, TOOL, limits["sphere"]),
        TorqueLimits(model) if chi is None else TorqueLimits(model, chi),
    )


def payload() -> Payload:
    mass = STEEL * np.pi * RADIUS**2 * HEIGHT
    across, along = mass * (3.0 * RADIUS**2 + HEIGHT**2) / 12.0, 0.5 * mass * RADIUS**2
    return Payload(TOOL, mass, (0.0, 0.0, 0.5 * HEIGHT), (across, 0.0, 0.0, across, 0.0, along))


def loaded_chi(model: ex.DynamicModel) -> Array:
    """χ (p,) of the description with the payload on the flange."""
    return model.nominal + load_chi(model, payload())


def spline(segments: int = SEGMENTS, duration: float = DURATION) -> ex.BSpline:
    return ex.BSpline(duration, segments, published("rackl")["spline"]["degree"])


def names_16() -> tuple[str, ...]:
    """Of Table I."""
    return tuple(row[0] for row in published("rackl")["table_1"])


def weights_16() -> tuple[float, ...]:
    """Values of Table I [kg·m²], where Φ_CAD of (15) would be needed: it is not published."""
    return tuple(float(row[1]) for row in published("rackl")["table_1"])


def names_31(model: ex.DynamicModel) -> tuple[str, ...]:
    """Second moments that stand for the inertia base parameters."""
    base = inertia_base(model)
    return tuple(base.standard[k] for k in base.independent)


def columns(model: ex.DynamicModel, names: tuple[str, ...]) -> NDArray[np.int64]:
    return np.array([model.standard.index(name) for name in names])


def repeated_noise() -> Array:
    """σ (n,) [N·m] of one run, of which two differ by the published rms."""
    return np.asarray(np.array(published("rackl")["repeatability"]["torque"]) / np.sqrt(2.0))


def torque_noise() -> Array:
    """σ (n,) [N·m] of a sample, white: as much of it passes the filter of the decimation as one run of the source
    has."""
    return np.asarray(repeated_noise() * np.sqrt(0.5 * sampling_rate() / passed_band()))


def sampling_rate() -> float:
    """[Hz] of the paper's logs."""
    return float(published("rackl")["filter"]["sampling_rate"])


def passed_band() -> float:
    """[Hz] that the filter of the decimation passes."""
    return ParallelFilter().at(sampling_rate())[0].cutoff


def noise_words() -> str:
    rows = ", ".join(text_of(float(one), 2) for one in torque_noise())
    given = published("rackl")["repeatability"]
    differ = ", ".join(f"{one:g}" for one in given["torque"])
    return (
        f"Torque noise is not published. Two runs of one command of another LWR 4 differ by {differ} N·m rms "
        f"({given['source']}). Ours is white, σ = {rows} N·m of joints 1 … {len(torque_noise())} in every sample at "
        f"{sampling_rate():g} Hz: what passes the {passed_band():g} Hz of the decimation is about the noise of one of "
        "these runs"
    )


def cad_error() -> float:
    """[%] by which masses, sizes and places of our true links differ from the description, as a deviation."""
    return 100.0 * Spread().bodies


def joint_name(joint: int) -> str:
    """As the paper has it; joint: from 0."""
    return f"joint {joint + 1}"
