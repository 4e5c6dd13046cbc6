"""The robot replaying the motions that were recorded."""

from __future__ import annotations

from collections.abc import Sequence

from exciter.report.identification.drawn import Drawn
from exciter.report.scene import Replay, Scene
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
    pictures = drawn.prediction.pictures(robot, frame)
    return Replay(f"{drawn.name} ({drawn.kind})", drawn.group, pictures.time, pictures.q, pictures.path)
