"""Which standard parameters are of which kind, by what they do: friction takes energy, gravity acts at rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.robot.motion import Motion
from exciter.typing import BoolArray

RANDOM_REST_POSES = 100  # random ones, to see which columns act at rest
ACTING_COLUMN_FRACTION = 1e-9  # of the largest entry


def friction_columns(model: DynamicModel, joints: Sequence[int] = ()) -> BoolArray:
    """(standard,) columns of joint terms that store no energy, in the equations of some joints, all unless given."""
    found = np.zeros(len(model.standard), dtype=bool)
    for term, at in model.term_columns:
        for row, column in term.rows:
            found[at.start + column] |= not term.conservative[column] and (not joints or row in joints)
    return found


def columns_at_rest(model: DynamicModel) -> BoolArray:
    """(standard,) gravity (first moments), springs, offsets: all that a torque at rest depends on, friction aside."""
    poses = np.random.default_rng(0).uniform(-np.pi, np.pi, (RANDOM_REST_POSES, model.n))
    size = np.abs(model.regressor(Motion.at(poses))).max(axis=(0, 1))
    acting: BoolArray = size > ACTING_COLUMN_FRACTION * size.max()
    return acting & ~friction_columns(model)
