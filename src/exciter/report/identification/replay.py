"""The robot replaying the motions that were recorded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.dynamics.dynamics import Dynamics
from exciter.report.identification.drawn import Drawn
from exciter.report.scene import Replay, Scene, picture_times
from exciter.report.section import Section
from exciter.robot.robot import Robot


def replay_section(robot: Robot, runs: Sequence[Drawn]) -> Section:
    frame = robot.tool_frame
    scene = Scene(robot, frame, [replay(robot, frame, drawn) for drawn in runs])
    text = f"The motion as it was recorded; the line is the path of frame {frame}."
    if len(runs) > 1:
        text += " Choose the run below the picture, or click into its torque plots."
    return Section("robot", "The robot replaying the runs", text, (scene.html(),))


def replay(robot: Robot, frame: str, drawn: Drawn) -> Replay:
    """Positions at even times, between those of the equations."""
    prediction = drawn.prediction
    time = picture_times(float(prediction.time[0]), float(prediction.time[-1]))
    q = np.stack([np.interp(time, prediction.time, column) for column in prediction.q.T], axis=1)
    _, path = Dynamics(robot).placement(frame, q)
    return Replay(f"{drawn.name} ({drawn.kind})", drawn.group, time, q, path)
