"""A robot to rehearse on: it executes a motion, and what its sensors say is logged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import ExciterError, shown
from exciter.experiment.virtual import Simulated, VirtualRobot
from exciter.experiment.virtual.motion_execution import Progress
from exciter.experiment.virtual.standing_run import StandingRun
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.pipeline.settings_file import AnyMotion, SettingsFile, counted, curve_of, loaded
from exciter.robot.robot import Robot
from exciter.robot.stance import footings

ASSUMED_TORQUE_LIMIT = 50.0  #: [N·m or N] of a drive whose limit is not known
ROTOR_ACCELERATION = 200.0  #: [rad/s² or m/s²] at which the torque limit moves a rotor alone
CONTROLLER_BANDWIDTH_HZ = 20.0  #: [Hz] of the controller, for a rotor alone


def simulate(
    robot: Robot | str | Path,
    motion: AnyMotion,
    virtual: VirtualRobot | SimulateSettings | str | Path | None = None,
    *,
    periods: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Simulated | StandingRun:
    """Execute a motion (a curve, a design, or a file) on a virtual robot: of the defaults unless given as an object, as
    settings, or as a YAML file. seed: of whatever chance does to the log, and to the truth of the defaults; progress is
    told which part of the motion is done. A robot on its feet (``Robot.stand``) stands on MuJoCo's ground meanwhile.

    >>> simulated = ex.simulate(robot, motion, seed=3)
    >>> simulated.recording
    <recording: ... samples, 5.5 s, 500 Hz; q, torque of joint_1, joint_2, joint_3>"""
    periods, seed = counted(periods, "periods"), counted(seed, "seed", 0) or 0
    file = SettingsFile.read(virtual) if isinstance(virtual, str | Path) else SettingsFile()
    robot = loaded(robot, file.robot)[0]
    if footings(robot):
        if isinstance(virtual, VirtualRobot):
            raise ExciterError(f"robot '{robot.name}' stands on its feet: give SimulateSettings, or a YAML file")
        settings = virtual if isinstance(virtual, SimulateSettings) else file.simulate(robot)
        return settings.stand(robot, curve_of(motion, robot), periods=periods, seed=seed)
    if isinstance(virtual, SimulateSettings):
        virtual = virtual.virtual(robot, seed)
    elif virtual is None or isinstance(virtual, str | Path):
        virtual = file.virtual(robot, seed)
    elif not isinstance(virtual, VirtualRobot):
        raise ExciterError(f"virtual is {shown(virtual)}; give a VirtualRobot, SimulateSettings, or a YAML file")
    return virtual.run(curve_of(motion, robot), periods=periods, seed=seed, progress=progress)


def virtual_settings(robot: Robot, seed: int) -> dict[str, Any]:
    """Settings of a virtual robot as drives make it: where the description knows of no rotors, they have an inertia,
    and gains that fit it. Light joints without rotors stick at every reversal, which no drive with gears does."""
    settings: dict[str, Any] = {"truth": {"seed": seed}, "log": {"rate": 200}, "simulation_rate": 2000}
    if not np.any(robot.friction.get("rotor_inertia", 0.0)):
        limit = robot.limit("torque")
        rotor = np.where(np.isfinite(limit), limit, ASSUMED_TORQUE_LIMIT) / ROTOR_ACCELERATION
        omega = 2.0 * np.pi * CONTROLLER_BANDWIDTH_HZ
        gains = {"stiffness": (rotor * omega**2).tolist(), "derivative": (2.0 * rotor * omega).tolist()}
        settings["truth"]["rotor_inertia"] = rotor.tolist()
        settings["control"] = {"law": "pd", **gains}
    return settings
