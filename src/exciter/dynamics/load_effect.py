"""What a load that a frame carries does to the base parameters: β of the loaded robot is β + A φ."""

from __future__ import annotations

import numpy as np
import scipy

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters
from exciter.robot.robot import BASE
from exciter.robot.spatial import inertia_transform
from exciter.typing import Array, Index

LOAD_RANK_TOLERANCE = 1e-8  #: of A with columns of length one: a smaller diagonal of its factor is none
LOAD_NAMES = tuple(f"{name} of the load" for name in inertial.INERTIAL_NAMES)


def load_effect(model: DynamicModel, base: BaseParameters, frame: str) -> Array:
    """A (b, 10): how φ of a load on ``frame``, in its axes, changes the base parameters."""
    place = model.robot.frame(frame)
    if place.joint == BASE:
        raise ParameterError(f"the load is on '{place.name}', which is fixed on the base; name a frame that moves")
    link = place.joint
    columns = [base.standard.index(f"{name}{link + 1}") for name in inertial.INERTIAL_NAMES]
    rotation, translation = model.mdh.rotations[link], model.mdh.translations[link]
    to_link = inertia_transform(rotation.T, -rotation.T @ translation)
    effect: Array = base.grouping[:, columns] @ to_link @ inertia_transform(place.rotation, place.translation)
    return effect


def visible_load(effect: Array) -> tuple[Index, Array]:
    """Which of φ to keep (r,) so that A loses nothing, most often all; and the changes (10, 10 − r) without effect."""
    length = np.linalg.norm(effect, axis=0)
    scale = np.where(length > LOAD_RANK_TOLERANCE * length.max(), length, np.inf)
    r, order = scipy.linalg.qr(effect / scale, mode="r", pivoting=True)
    rank = int((np.abs(np.diag(r)) > LOAD_RANK_TOLERANCE).sum())
    kept, lost = order[:rank], order[rank:]
    hidden = np.zeros((10, len(lost)))
    hidden[lost, np.arange(len(lost))] = 1.0
    finite = np.where(np.isfinite(scale), scale, 1.0)
    share = scipy.linalg.solve_triangular(r[:rank, :rank], r[:rank, rank:]) if rank else np.zeros((0, len(lost)))
    hidden[kept] = -share * finite[lost] / finite[kept][:, None]
    ascending = np.argsort(kept)
    return np.asarray(kept[ascending], dtype=np.int64), hidden
