"""Drives that were found as configuration of simulators for reinforcement learning: a Python file for each, of its own
actuator classes or fields. One table says which field holds which number; a comment says what has no field."""

from __future__ import annotations

import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import ClassVar

import numpy as np

from exciter.errors import visible
from exciter.identification.actuators.actuator_settings import ACTUATOR_KINDS
from exciter.typing import Array

COMMENT_COLUMNS = 98
WHOLE_STEPS = 1e-6  #: of a step: a delay that is nearer to a whole number of them is that many
NO_LIMIT_NM = 1e9  #: where a field needs one for every joint

Fields = Mapping[str, tuple[str, ...]]  #: by kind of ``ACTUATOR_KINDS``: names of the framework


@dataclass(frozen=True, eq=False)
class SnippetDrives:
    """numbers: (n,) of every kind; step [s], integrator: of the simulation that they were found with. described: (n,)
    of kinds that the robot's own description has anyway."""

    robot: str
    joints: tuple[str, ...]
    numbers: Mapping[str, Array]
    step: float
    integrator: str = "implicitfast"
    described: Mapping[str, Array] = dataclass_field(default_factory=dict)

    def by_joint(self, kind: str) -> dict[str, float]:
        return dict(zip(self.joints, np.asarray(self.numbers[kind], dtype=float).tolist(), strict=True))

    @property
    def lags(self) -> list[int]:
        """(n,) whole steps of delay, none where it is negative."""
        return [max(0, round(delay / self.step)) for delay in self.by_joint("delay").values()]

    @property
    def limited(self) -> bool:
        """Whether any joint has a torque limit."""
        return bool(np.isfinite(self.numbers["limit"]).any())

    def lag_line(self, name: str) -> str:
        """Of a framework that delays nothing itself."""
        return f"{name} = {dict(zip(self.joints, self.lags, strict=True))!r}"

    def limits(self) -> dict[str, float]:
        """One for every joint."""
        return {name: value if np.isfinite(value) else NO_LIMIT_NM for name, value in self.by_joint("limit").items()}


class DriveSnippet(ABC):
    """word: of the file's name; fields: what holds which number; remarks: what is to be known of them there."""

    word: ClassVar[str]
    title: ClassVar[str]
    fields: ClassVar[Fields]
    remarks: ClassVar[tuple[str, ...]]

    @property
    def file(self) -> str:
        return f"drives_{self.word}.py"

    @abstractmethod
    def code(self, drives: SnippetDrives) -> list[str]:
        """The lines below the comments."""

    def text(self, drives: SnippetDrives) -> str:
        head = f"Drives of {drives.robot} found by Exciter from command and encoder, for {self.title}."
        said = [head, *self.remarks, fitted_with(drives), *self._delay(drives), *self._missing(drives)]
        return "\n".join([*(line for one in said for line in comment(one)), "", *self.code(drives)]) + "\n"

    def _delay(self, drives: SnippetDrives) -> Iterator[str]:
        """Of every delay that was found, what whole steps make of it."""
        found = drives.by_joint("delay")
        for delay in dict.fromkeys(found.values()):
            steps, names = delay / drives.step, [name for name, one in found.items() if one == delay]
            whose = "" if len(names) == len(found) else f" of {', '.join(names)}"
            of = f"{1e3 * drives.step:.6g} ms, the step of the fit"
            if delay < 0.0:
                yield (
                    f"The delay{whose} came out negative, {1e3 * delay:.3g} ms: no simulator looks ahead; 0 steps here."
                )
            elif delay > 0.0 and abs(steps - round(steps)) > WHOLE_STEPS:
                yield (
                    f"The delay{whose}, {1e3 * delay:.4g} ms, is {steps:.3g} steps of {of}; {round(steps)} here: whole "
                    "steps alone are possible."
                )
            elif delay > 0.0:
                yield f"The delay{whose}, {1e3 * delay:.4g} ms, is {round(steps)} steps of {of}."

    def _missing(self, drives: SnippetDrives) -> Iterator[str]:
        """Numbers that were found, or given, and have no field."""
        for word, kind in ACTUATOR_KINDS.items():
            usual = drives.described.get(word, np.zeros(len(drives.joints)))
            values = {
                name: value
                for (name, value), one in zip(drives.by_joint(word).items(), usual, strict=True)
                if value != one
            }
            if word not in self.fields and any(value and np.isfinite(value) for value in values.values()):
                listed = ", ".join(f"{name} {value:.6g}" for name, value in values.items() if value)
                yield f"Not in here, for it has no field: {word} ({kind.title}) [{kind.unit}]: {listed}."


def fitted_with(drives: SnippetDrives) -> str:
    """Of rotors: a damping D at steps of h weighs as much as h/2 D of them, with either sign."""
    implicit = drives.integrator != "euler"
    heaviest = 0.5 * drives.step * float(np.max(drives.numbers["kd"]))
    return (
        f"armature is that of a simulation with steps of {1e3 * drives.step:.6g} ms, Kd "
        f"{'integrated implicitly' if implicit else 'computed once per step'}. Where steps differ, or Kd is "
        f"{'computed once per step' if implicit else 'integrated implicitly'}, fit again with simulator: {{step: …, "
        f"integrator: {'euler' if implicit else 'implicitfast'}}}: half a step of Kd is up to {heaviest:.2g} kg·m²."
    )


def comment(text: str) -> list[str]:
    """As lines of Python that no name of a joint can leave."""
    plain = " ".join(visible(text).split())
    return [f"# {line}" for line in textwrap.wrap(plain, COMMENT_COLUMNS, break_on_hyphens=False)]


def written(values: Mapping[str, float]) -> str:
    """A dict by joint, in full precision."""
    return f"{{{', '.join(f'{name!r}: {float(value)!r}' for name, value in values.items())}}}"


class IsaacLab(DriveSnippet):
    word, title = "isaaclab", "Isaac Lab (ArticulationCfg.actuators)"
    fields: ClassVar[Fields] = {
        "kp": ("stiffness",),
        "kd": ("damping",),
        "limit": ("effort_limit",),
        "armature": ("armature",),
        "friction": ("friction", "dynamic_friction"),
        "damping": ("viscous_friction",),
        "delay": ("min_delay", "max_delay"),
    }
    remarks = (
        "friction, dynamic_friction [N·m] and viscous_friction [N·m·s/rad] are so since Isaac Sim 5.0. In Isaac Sim "
        "4.5 friction is a coefficient of the load that a joint carries, and the two others do nothing: leave all "
        "three out there, dry friction cannot be said.",
        "effort_limit is called actuator_effort_limit since Isaac Lab 3.0, which still takes the old name.",
        "An explicit actuator computes Kd once per step; for ImplicitActuatorCfg leave min_delay and max_delay out.",
    )

    def code(self, drives: SnippetDrives) -> list[str]:
        """A group for every delay: min_delay is one number."""
        lags = drives.lags
        lines = ["from isaaclab.actuators import DelayedPDActuatorCfg", "", "DRIVES = {"]
        for lag in sorted(set(lags)):
            joints = [name for name, own in zip(drives.joints, lags, strict=True) if own == lag]
            group = "drives" if len(set(lags)) == 1 else f"drives_{lag}"
            lines += [f"    {group!r}: DelayedPDActuatorCfg(", f"        joint_names_expr={pattern(joints)!r},"]
            for kind, names in self.fields.items():
                if kind == "limit" and not drives.limited:
                    continue
                for name in names:
                    value = str(lag) if kind == "delay" else self._values(drives, kind, joints)
                    lines.append(f"        {name}={value},")
            lines.append("    ),")
        return [*lines, "}"]

    def _values(self, drives: SnippetDrives, kind: str, joints: Sequence[str]) -> str:
        of_all = drives.limits() if kind == "limit" else drives.by_joint(kind)
        return written({re.escape(name): of_all[name] for name in joints})


def pattern(joints: Sequence[str]) -> list[str]:
    """Names as regular expressions that fit nothing else."""
    return [re.escape(name) for name in joints]


class Mjlab(DriveSnippet):
    word, title = "mjlab", "mjlab (EntityArticulationInfoCfg.actuators)"
    fields: ClassVar[Fields] = {
        "kp": ("stiffness",),
        "kd": ("damping",),
        "limit": ("effort_limit",),
        "armature": ("armature",),
        "friction": ("frictionloss",),
        "damping": ("viscous_damping",),
        "delay": ("delay_min_lag", "delay_max_lag"),
    }
    remarks = (
        "frictionloss [N·m] and viscous_damping [N·m·s/rad] are MuJoCo's own, as in the fit. Versions of mjlab without "
        "viscous_damping take damping of the joints from the MJCF (identified.xml), those without delay_min_lag have "
        "DelayedActuatorCfg.",
    )

    def code(self, drives: SnippetDrives) -> list[str]:
        """One for each joint: its fields are single numbers."""
        lines = ["from mjlab.actuator import BuiltinPositionActuatorCfg", "", "DRIVES = ("]
        for j, joint in enumerate(drives.joints):
            lines += ["    BuiltinPositionActuatorCfg(", f"        target_names_expr=({re.escape(joint)!r},),"]
            for kind, names in self.fields.items():
                value = float(drives.numbers[kind][j])
                if np.isfinite(value):
                    written_value = str(drives.lags[j]) if kind == "delay" else repr(value)
                    lines += [f"        {name}={written_value}," for name in names]
            lines.append("    ),")
        return [*lines, ")"]


class Genesis(DriveSnippet):
    word, title = "genesis", "Genesis (RigidEntity)"
    fields: ClassVar[Fields] = {
        "kp": ("set_dofs_kp",),
        "kd": ("set_dofs_kv",),
        "limit": ("set_dofs_force_range",),
        "armature": ("set_dofs_armature",),
        "friction": ("set_dofs_frictionloss",),
        "damping": ("set_dofs_damping",),
        "delay": ("DELAY_STEPS",),
    }
    remarks = (
        "frictionloss [N·m] is as in MuJoCo. Genesis delays no command: hold each back by as many steps as DELAY_STEPS "
        "says before control_dofs_position.",
    )

    def code(self, drives: SnippetDrives) -> list[str]:
        lines = ["import numpy as np", "", "DRIVES = {"]
        for kind, (setter,) in self.fields.items():
            if kind not in ("limit", "delay"):
                lines.append(f"    {setter!r}: {written(drives.by_joint(kind))},")
        return [
            *lines,
            "}",
            f"FORCE_RANGE = {written(drives.limits()) if drives.limited else '{}'}",
            drives.lag_line(self.fields["delay"][0]),
            "",
            "",
            "def set_drives(robot):",
            '    """robot: an entity of a scene that was built."""',
            "    def dofs(joints):",
            "        return [robot.get_joint(name).dofs_idx_local[0] for name in joints]",
            "",
            "    for setter, values in DRIVES.items():",
            "        getattr(robot, setter)(np.array(list(values.values())), dofs(values))",
            "    if FORCE_RANGE:",
            "        most = np.array(list(FORCE_RANGE.values()))",
            f"        robot.{self.fields['limit'][0]}(-most, most, dofs(FORCE_RANGE))",
        ]


class LeggedGym(DriveSnippet):
    word, title = "legged_gym", "legged_gym and what is made of it (LeggedRobotCfg)"
    fields: ClassVar[Fields] = {
        "kp": ("stiffness",),
        "kd": ("damping",),
        "damping": ("damping",),
        "limit": ("effort",),
        "armature": ("armature",),
        "delay": ("DELAY_STEPS",),
    }
    remarks = (
        "damping is Kd and the viscous friction of the joint together, for there is no other place: the same unless "
        "torques are at their limit.",
        "Isaac Gym's friction of a joint is a coefficient of its load, no torque [N·m]: dry friction cannot be said.",
        "It delays no command: hold each back by as many steps as DELAY_STEPS says before _compute_torques.",
    )

    def code(self, drives: SnippetDrives) -> list[str]:
        """Gains are taken where their key is part of a joint's name, the last one counts: long names come last."""
        together = {name: value + drives.by_joint("damping")[name] for name, value in drives.by_joint("kd").items()}
        gains = {"stiffness": drives.by_joint("kp"), "damping": together}
        lines = ["class control:", "    control_type = 'P'"]
        for field, values in gains.items():
            ordered = dict(sorted(values.items(), key=lambda item: len(item[0])))
            lines.append(f"    {field} = {written(ordered)}")
        lines += ["", "", "DOF_PROPERTIES = {  # for _process_dof_props: props[field][self.dof_names.index(joint)]"]
        if drives.limited:
            lines.append(f"    {self.fields['limit'][0]!r}: {written(drives.limits())},")
        lines.append(f"    {self.fields['armature'][0]!r}: {written(drives.by_joint('armature'))},")
        return [*lines, "}", drives.lag_line(self.fields["delay"][0])]


DRIVE_SNIPPETS: tuple[DriveSnippet, ...] = (IsaacLab(), Mjlab(), Genesis(), LeggedGym())


def drive_snippets(drives: SnippetDrives) -> dict[str, str]:
    """The texts of all files by their names."""
    return {one.file: one.text(drives) for one in DRIVE_SNIPPETS}
