"""A double pendulum whose drives are known, moved by commands in a loop of our own."""

from __future__ import annotations

import mujoco
import numpy as np

import exciter as ex
from exciter.identification.actuators.actuator_settings import ActuatorSettings, PositionControl

ARMATURE, DAMPING, FRICTION = np.array([0.03, 0.012]), np.array([0.25, 0.1]), np.array([0.3, 0.08])
KP, KD, DELAY, RATE = np.array([60.0, 25.0]), np.array([1.5, 0.6]), 0.0043, 200.0
ENCODER_STEP, NOISE = 3e-5, 5e-5
DOUBLE = """<mujoco><option timestep="0.001" integrator="implicitfast"/><worldbody>
<body><joint name="a" axis="0 1 0" armature="0.02" damping="0.2" frictionloss="0.2"/>
<inertial pos="0.1 0 0" mass="1.0" diaginertia="0.01 0.02 0.02"/>
<body pos="0.25 0 0"><joint name="b" axis="0 1 0" armature="0.02" damping="0.2" frictionloss="0.2"/>
<inertial pos="0.08 0 0" mass="0.3" diaginertia="0.0005 0.002 0.002"/></body></body></worldbody>
<actuator><position name="pa" joint="a" kp="1"/><position name="pb" joint="b" kp="1"/></actuator></mujoco>"""


def commands(time, seed):
    rng = np.random.default_rng(seed)
    frequency, phase, size = rng.uniform(0.2, 2.5, (2, 5)), rng.uniform(0, 6, (2, 5)), rng.uniform(0.05, 0.25, (2, 5))
    waves = np.sin(2 * np.pi * frequency * time[:, None, None] + phase)
    return (size / np.sqrt(frequency) * waves).sum(axis=2)


def moved(seed, seconds=6.0, bias=0.0, text=DOUBLE, held=False):
    """(time, command, q) of a loop written out step by step: MuJoCo moves the bodies, the torque is applied by hand and
    the control's damping is the joint's, which implicitfast treats alike. held: each command until the next."""
    model = mujoco.MjModel.from_xml_string(text)
    model.dof_armature[:], model.dof_damping[:], model.dof_frictionloss[:] = ARMATURE, DAMPING + KD, FRICTION
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    model.opt.iterations, model.opt.tolerance = 100, 1e-12
    data = mujoco.MjData(model)
    mujoco.mj_setConst(model, data)
    mujoco.mj_resetData(model, data)
    time, step = np.arange(int(seconds * RATE)) / RATE, model.opt.timestep
    told, q = commands(time, seed), np.zeros((len(time), 2))
    data.qpos[:] = told[0]
    for k in range(len(time)):
        q[k] = data.qpos
        for tick in range(round(1.0 / RATE / step)):
            at = time[k] + tick * step - DELAY
            if held:
                now = told[max(0, int(np.floor(at * RATE + 1e-9)))]
            else:
                now = [np.interp(at, time, told[:, j]) for j in range(2)]
            data.qfrc_applied[:] = KP * (now - data.qpos - bias)
            mujoco.mj_step(model, data)
    return time, told, q + bias


def noisy(seed, **more):
    time, told, q = moved(seed, **more)
    rng = np.random.default_rng([seed, 1])
    q = ENCODER_STEP * np.round((q + NOISE * rng.standard_normal(q.shape)) / ENCODER_STEP)
    return ex.Recording.of(time, q, command=told, joints=("a", "b"), name="log.csv")


def settings(**more):
    law = PositionControl(kp={"a": 60.0, "b": 25.0}, kd={"a": 1.5, "b": 0.6})
    return ActuatorSettings(**{"control": law, "unknown": ("armature", "damping", "friction", "delay"), **more})
