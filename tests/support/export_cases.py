"""Identified sets to export: robots of every kind with parameters that a robot can have, far from the description's."""

from types import SimpleNamespace

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia

TERMS = (RotorInertia(), Viscous(), Coulomb())


def identified(robot, terms=TERMS, far=0.1, seed=0):
    """A model and a full set: every body of the description deformed at random (it stays a body), positive terms."""
    model = DynamicModel(robot, terms)
    rng = np.random.default_rng(seed)
    chi = rng.uniform(0.05, 0.8, len(model.standard))
    for i, phi in enumerate(model.nominal[: model.inertial_size].reshape(-1, 10)):
        change = np.eye(4) + far * rng.standard_normal((4, 4))
        change[3, :3] = 0.0
        chi[10 * i : 10 * i + 10] = from_pseudo_inertia(change @ pseudo_inertia(phi) @ change.T)
    return model, chi


def as_found(model, values, estimate=None, data=None):
    """What an export asks of an identified model."""
    return SimpleNamespace(
        model=model,
        values=values,
        estimate=estimate or SimpleNamespace(std=np.abs(values)),
        data=data,
        chi=None,
        refuse_currents=lambda: None,
    )


def without(model, chi, *symbols):
    """χ with the parameters of some joint terms set to zero."""
    kept = [name.rstrip("0123456789") not in symbols for name in model.standard]
    return np.where(kept, chi, 0.0)
