"""A body carried by a frame of the robot, in the terms of the dynamic model: which link, and its ten parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exciter.dynamics.model import BaseReaction, DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.recording import Payload
from exciter.experiment.signals.processed import Processed
from exciter.parameters import inertial
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE
from exciter.robot.spatial import transform_inertia
from exciter.typing import Array


def load_parameters(model: DynamicModel, payload: Payload) -> tuple[int, Array]:
    """The link (from 0) that carries the payload, and φ (10,) of the payload in that link's modified-DH frame."""
    frame = model.robot.frame(payload.frame)
    if frame.joint == BASE:
        raise ParameterError(f"the payload is on '{frame.name}', which is fixed on the base; name one that moves")
    body = inertial.from_mass_com_inertia(payload.mass, payload.centre, inertial.symmetric(*payload.inertia))
    seen = transform_inertia(body, frame.rotation, frame.translation)
    rotation, translation = model.mdh.rotations[frame.joint], model.mdh.translations[frame.joint]
    return frame.joint, transform_inertia(seen, rotation.T, -rotation.T @ translation)


def load_chi(model: DynamicModel, payload: Payload) -> Array:
    """The payload alone as standard parameters χ (p,) of the model."""
    link, phi = load_parameters(model, payload)
    chi = np.zeros(len(model.standard))
    chi[10 * link : 10 * link + 10] = phi
    return chi


def without_load(model: DynamicModel, payload: Payload, piece: Processed) -> Processed:
    """Less the torque, and the wrench on the base, that the payload alone takes."""
    torque = piece.torque - load_torque(model, payload, piece.motion)
    if piece.wrench is None:
        return replace(piece, torque=torque)
    wrench = piece.wrench - BaseReaction(model).wrench(piece.motion, load_chi(model, payload))
    return replace(piece, torque=torque, wrench=wrench)


def load_torque(model: DynamicModel, payload: Payload, motion: Motion) -> Array:
    """(N, n) torque that the payload alone takes [N·m]."""
    return model.dynamics.inverse_dynamics(motion, load_chi(model, payload)[: 10 * model.n])
