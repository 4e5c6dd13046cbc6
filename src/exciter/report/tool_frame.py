"""Which frame stands for the tool when none is named."""

from __future__ import annotations

from exciter.robot.robot import BASE, Robot


def tool_frame(robot: Robot) -> str:
    """The last frame on a joint with the most joints below it, so that it moves; such a joint's own where none is."""
    depths = [len(robot.ancestors(k)) for k in range(robot.n)]
    deepest = {k for k, depth in enumerate(depths) if depth == max(depths)}
    tools = [frame.name for frame in robot.frames if frame.joint != BASE and frame.joint in deepest]
    return tools[-1] if tools else robot.joint_names[max(deepest)]
