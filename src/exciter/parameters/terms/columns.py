"""The columns a term adds to the regressor: names, units, and which entries can be non-zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from exciter.errors import ParameterError
from exciter.robot.robot import Robot
from exciter.settings import Text

#: Units of a parameter for a revolute (or continuous) and for a prismatic joint.
Units = tuple[str, str]
TORQUE: Units = ("N·m", "N")
Joint = Annotated[str, Text("a joint")]


@dataclass(frozen=True)
class Columns:
    """k columns on n joints; ``rows`` lists (joint row, column) of the entries, in their order."""

    n: int
    names: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[tuple[int, int], ...]
    nonnegative: tuple[bool, ...]
    conservative: tuple[bool, ...]

    @property
    def joints(self) -> list[int]:
        """Joint row of each entry."""
        return [joint for joint, _ in self.rows]


@dataclass(frozen=True)
class Column:
    """One kind of column: its symbol, its units, and what physics says about its parameter."""

    symbol: str
    units: Units
    nonnegative: bool = False
    conservative: bool = False


def joint_columns(robot: Robot, joints: list[int], *kinds: Column) -> Columns:
    """For every kind one column per joint, acting on that joint alone; kinds one after the other."""
    pairs = [(kind, joint) for kind in kinds for joint in joints]
    return Columns(
        n=robot.n,
        names=tuple(f"{kind.symbol}{joint + 1}" for kind, joint in pairs),
        units=tuple(unit(robot, joint, kind.units) for kind, joint in pairs),
        rows=tuple((joint, column) for column, (_, joint) in enumerate(pairs)),
        nonnegative=tuple(kind.nonnegative for kind, _ in pairs),
        conservative=tuple(kind.conservative for kind, _ in pairs),
    )


def unit(robot: Robot, joint: int, units: Units) -> str:
    return units[robot.joints[joint].is_prismatic]


def joint_indices(robot: Robot, joints: tuple[str, ...] | str | None) -> list[int]:
    """Indices of the named joints, all joints for None; unknown and repeated names are refused."""
    if joints is None:
        return list(range(robot.n))
    names = (joints,) if isinstance(joints, str) else tuple(joints)
    if len(set(names)) != len(names) or not names:
        raise ParameterError(f"a term was given the joints {list(names)}; name at least one joint, each once")
    return [robot.index(name) for name in names]


def revolute_index(robot: Robot, joint: str, what: str) -> int:
    """Index of a joint that turns, for terms whose geometry is a lever."""
    index = robot.index(joint)
    if robot.joints[index].is_prismatic:
        raise ParameterError(
            f"{what} acts on a lever that turns, but joint '{joint}' is prismatic; name a revolute one"
        )
    return index


def revolute_indices(robot: Robot, joints: tuple[str, ...] | str | None, what: str) -> list[int]:
    """Indices of the named joints, which must turn; all that turn for None."""
    turning = [index for index, joint in enumerate(robot.joints) if not joint.is_prismatic]
    wanted = turning if joints is None else joint_indices(robot, joints)
    if not wanted:
        raise ParameterError(
            f"{what} repeats every turn, but no joint of robot '{robot.name}' turns; leave the term out"
        )
    sliding = [robot.joint_names[index] for index in wanted if index not in turning]
    if sliding:
        raise ParameterError(f"{what} repeats every turn, but joint '{sliding[0]}' is prismatic; name revolute joints")
    return wanted
