"""How much better an estimated model is than CAD on the validation trajectory, by the noise: many robots, no logs.

Noise of the decimated torques and what a model gets wrong add up as squares. A hundred robots and more take no longer
so than a few that execute their motions and are identified, which are the check.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.curve import Curve
from exciter.reproduction.paper import DataTable
from exciter.reproduction.published import published
from exciter.reproduction.rackl import set_up
from exciter.reproduction.rackl.experiment import true_chi
from exciter.typing import Array

ROBOTS = 200  # seeds 1 … 200
INSTANTS = 200  # of the trajectory
CLEARLY = 0.9  # of the CAD model's error: less is clearly smaller


def torque_rms(model: DynamicModel, curve: Curve, wrong: Array) -> Array:
    """(m, n) [N·m] rms of the torques of base parameters (m, b) that are too much, along a curve."""
    rows = model.base.project(model.regressor(curve.motion(np.linspace(0.0, curve.duration, INSTANTS))))
    return np.asarray(np.sqrt(np.square(np.einsum("Njb,mb->mNj", rows, wrong)).mean(axis=1)))


def cad_errors(model: DynamicModel, curve: Curve, robots: int = ROBOTS) -> Array:
    """(robots, n) [N·m] rms of what CAD gets wrong, without noise."""
    differences = [model.nominal - true_chi(model, seed) for seed in range(1, 1 + robots)]
    return torque_rms(model, curve, np.array([model.base.base_values(one) for one in differences]))


def expected(noise: Array, own: Array, cad: Array, factor: float = 1.0) -> Array:
    """Ratio of the rms errors, estimated model over CAD, with ``factor`` times the noise [N·m]: what the estimated
    model gets wrong, own [N·m], grows with the noise, what CAD does, does not."""
    return np.asarray(factor * np.hypot(noise, own) / np.hypot(factor * noise, cad))


def clearly_better(ratios: Array) -> Array:
    """(n,) share of robots."""
    return np.asarray((ratios < CLEARLY).mean(axis=0))


def wider() -> float:
    """How many times larger σ is when the noise of the source fills the source's band only."""
    return float(np.sqrt(set_up.passed_band() / published("rackl")["repeatability"]["band"]))


def hidden(ratios: Array, joints: Array) -> str:
    """Joints for which the estimated model is not clearly better with most robots."""
    found = [set_up.joint_name(j) for j in joints if not clearly_better(ratios)[j] > 0.5]
    return ", ".join(found) or "no joint"


def noise_table(scan: Mapping[float, Array]) -> DataTable:
    """scan: ratios (robots, n) by how many times larger noise is."""
    rows = [
        (factor, set_up.cad_error() / factor, *np.median(ratios, axis=0).tolist()) for factor, ratios in scan.items()
    ]
    joints = (set_up.joint_name(j) for j in range(len(rows[0]) - 2))
    caption = (
        "Median ratio of the errors, estimated model over CAD, by noise. Or, in the second column, with our noise and "
        "another error of CAD: only the ratio of the two counts"
    )
    return DataTable("figure-4-noise", caption, ("noise, of ours", "or CAD error [%]", *joints), rows)
