"""What thirty axes cost, and how costs grow with their number.

    python benchmarks/axes.py grow [--axes 6 12 24 48] [--chain]
    python benchmarks/axes.py robot URDF [--log-seconds 60] [--design-seconds 60] [--config F]

grow: arms of six axes around one base, as many as asked for; beside it (--chain) one chain of as many axes, in which
every joint moves all that follow. For each number `exciter base`, a design of one start, and an automatic `exciter
identify` of 20 s at 200 Hz, of torques along that motion with noise. The last column is the exponent by which the time
of a step grew since the number before: 1 when it grows as the number of axes does.
robot: of one description `exciter base`, a certified design of one start with self-collision, `exciter simulate` at 500
Hz, `exciter identify`, and the inertia matrix of what was found at 10,000 random postures. Settings of design and
simulate are those of SETTINGS, by the robot's name, unless --config gives others: the base stands on nothing, and
drives keep a quarter of their torque, for the drawn robot is heavier than its description.
Every figure is a command in a process of its own: seconds of the processor beside those on the wall, for the machine
may have other things to do, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import yaml
from memory import MEGABYTE, Measured, measured

import exciter as ex
from exciter.dynamics.model import DynamicModel
from exciter.excitation.files.trajectory_files import trajectory_from
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Recording
from exciter.experiment.recording.own_log_format import write_chunks
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot.motion import Motion
from exciter.validation.inertia_matrix import base_chi, inertia_matrices

ARM_AXES = ("z", "y", "y", "x", "y", "x")  # of the six joints of an arm
ARM_LENGTHS = (0.2, 0.4, 0.35, 0.1, 0.1, 0.08)  # [m] from one joint to the next
ARM_MASSES = (6.0, 8.0, 5.0, 2.0, 1.5, 0.5)  # [kg]
ARM_TORQUES = (200.0, 200.0, 120.0, 40.0, 40.0, 15.0)  # [N·m]
ARM_DISTANCE = 3.0  # [m] between neighbours, so that they cannot meet
CHAIN_LIGHTENING = 0.9  # masses of a chain, from one six to the next
GROWTH_SECONDS, GROWTH_RATE = 20, 200  # of the log, [s] and [Hz]
LOG_RATE = 500  # [Hz] of the log of one robot
JUDGED_POSTURES = 10_000
MOST_HEAVIER, FRICTION_SHARE = 0.3, 0.05  # of a link than described; of friction in the mean torque
IN_THE_AIR = {"constraints": {"ground": "none", "torque": {"margin": 0.25}}}
GRIPPER_TORQUE = 6.0  # [N·m] of TALOS, whose description has no more torque than dry friction there
SETTINGS = {
    "talos": {"limits": {"torque": dict.fromkeys(("gripper_left_joint", "gripper_right_joint"), GRIPPER_TORQUE)}}
}
POSITION_NOISE, TORQUE_NOISE_SHARE = 2e-5, 0.005  # [rad]; of the torque of a joint


def urdf(axes: int, *, chain: bool) -> str:
    """Arms beside each other, or one chain."""
    parts = ['<robot name="axes">', '<link name="base"/>']
    parent = "base"
    for k in range(axes):
        arm, at = divmod(k, len(ARM_AXES))
        first = at == 0 and not (chain and arm)
        parent = "base" if first else parent
        origin = f"{ARM_DISTANCE * arm} 0 0.1" if first else f"0 0 {ARM_LENGTHS[at - 1]}"
        axis = " ".join("1" if name == ARM_AXES[at] else "0" for name in "xyz")
        mass, length = ARM_MASSES[at] * (CHAIN_LIGHTENING**arm if chain else 1.0), ARM_LENGTHS[at]
        heavy = mass * (0.003 + length**2 / 12.0)
        torque = ARM_TORQUES[at] * (axes / len(ARM_AXES) if chain else 1.0) ** 2
        parts.append(
            f'<joint name="j{k + 1}" type="revolute"><parent link="{parent}"/><child link="l{k + 1}"/>'
            f'<origin xyz="{origin}"/><axis xyz="{axis}"/>'
            f'<limit lower="-2.5" upper="2.5" velocity="3" effort="{torque}"/></joint>'
            f'<link name="l{k + 1}"><inertial><origin xyz="0.01 0.02 {length / 2}"/><mass value="{mass}"/>'
            f'<inertia ixx="{heavy}" iyy="{heavy}" izz="{0.004 * mass}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        parent = f"l{k + 1}"
    return "\n".join([*parts, "</robot>"])


def write_log(path: str, motion_file: Path, log: Path) -> None:
    """Positions and torques along a designed motion, as if it were followed exactly: a chain of 24 axes is beyond the
    controller of the virtual robot. Links are heavier than described, each by a part of its own; noise on both."""
    robot, made, rng = ex.load(path), json.loads(motion_file.read_text()), np.random.default_rng(0)
    trajectory = trajectory_from(made["trajectory"])
    time = np.arange(GROWTH_SECONDS * GROWTH_RATE) / GROWTH_RATE
    coefficients = np.array([made["coefficients"][name] for name in robot.joint_names])
    period = motion_of(trajectory, coefficients, time[time < trajectory.duration - 0.5 / GROWTH_RATE])
    turns = round(len(time) / len(period))
    motion = Motion.at(*(np.tile(one, (turns, 1)) for one in (period.q, period.qd, period.qdd)))
    model = DynamicModel(robot, (Viscous(), Coulomb()))
    heavier = np.repeat(rng.uniform(1.0, 1.0 + MOST_HEAVIER, robot.n_bodies), 10)
    friction = np.abs(model.torque(motion)).mean(axis=0) * FRICTION_SHARE
    chi = np.concatenate([heavier * np.ravel(model.nominal[: model.inertial_size]), friction, friction])
    torque = model.torque(motion, chi)
    noise = rng.standard_normal((2, *torque.shape))
    q, tau = motion.q + POSITION_NOISE * noise[0], torque + TORQUE_NOISE_SHARE * torque.std(axis=0) * noise[1]
    write_chunks([Recording(robot.joint_names, time, q, torque=tau)], log)


def line(name: str, found: Measured, before: Measured | None = None, ratio: float = 2.0) -> str:
    text = f"{name:30} {found.processor:8.1f} s {found.seconds:8.1f} s {found.peak / MEGABYTE:8.0f} MB"
    if before is not None:
        text += f"   {np.log(found.processor / before.processor) / np.log(ratio):6.2f}"
    return text


def grow(axes: list[int], *, chain: bool) -> None:
    title = "one chain" if chain else "arms of six axes"
    print(f"{title:30} {'processor':>10} {'wall':>10} {'peak':>11}   growth")
    before = dict[str, Measured]()
    for index, n in enumerate(axes):
        steps = steps_of(n, chain=chain)
        ratio = n / axes[index - 1] if index else 2.0
        for name, found in steps.items():
            print(line(f"{n} axes: {name}", found, before.get(name), ratio), flush=True)
        before = steps


def steps_of(n: int, *, chain: bool) -> dict[str, Measured]:
    """Of a robot of n axes."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        robot, log = str(at / "robot.urdf"), str(at / "log.csv")
        Path(robot).write_text(urdf(n, chain=chain))
        (at / "design.yaml").write_text(
            "constraints: {ground: none}\n"
            f"trajectory: {{family: fourier, period: {GROWTH_SECONDS / 2}}}\n"
            f"simulate: {{log: {{rate: {GROWTH_RATE}}}}}\n"
        )
        settings = ("--config", str(at / "design.yaml"), "-q")
        steps = {"base": measured("base", robot)}
        steps["design"] = measured("design", robot, "-o", str(at / "out"), "--starts", "1", *settings)
        write_log(robot, at / "out/trajectory.json", Path(log))
        steps["identify"] = measured("identify", robot, log, "-o", str(at / "found"), "-q")
    return steps


def one_robot(path: Path, log_seconds: float, design_seconds: float, config: Path | None) -> None:
    robot = ex.load(path)
    print(f"{robot.name}: {robot.n} axes in {len(robot.limbs)} limbs of {[len(limb) for limb in robot.limbs]}")
    print(f"{'':30} {'processor':>10} {'wall':>10} {'peak':>11}")
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        shipped = IN_THE_AIR | SETTINGS.get(robot.name, {})
        given = shipped if config is None else yaml.safe_load(config.read_text())
        given = {**given, "simulate": {**given.get("simulate", {}), "log": {"rate": LOG_RATE}}}
        print(f"settings: {given}")
        (at / "settings.yaml").write_text(yaml.safe_dump(given))
        settings = ("--config", str(at / "settings.yaml"))
        print(line("base", measured("base", str(path))), flush=True)
        asked = ("--starts", "1", "--time-limit", f"{design_seconds:g}", "-q", *settings)
        print(line("design", measured("design", str(path), "-o", str(at / "out"), *asked)), flush=True)
        made = json.loads((at / "out/design.json").read_text())
        duration = made["trajectory"]["period"] if "trajectory" in made else 10.0
        more = ("--periods", str(round(log_seconds / duration)), *settings, "-q")
        log = str(at / "log.csv")
        found = measured("simulate", str(path), str(at / "out/trajectory.json"), "-o", log, *more)
        print(line("simulate", found), flush=True)
        print(line("identify", measured("identify", str(path), log, "-o", str(at / "found"), "-q")), flush=True)
        result = ex.open(at / "found")
        print(f"certified: {made['certificate']['certified']}, {made['criterion']} {made['value']:.1f}")
        print(f"physically consistent: {result.physically_consistent}; {result.fit[0].total_percent:.2f} % residual")
        model: DynamicModel = result.identification.problem.model
        low, high = robot.position_range()
        q = low + (high - low) * np.random.default_rng(0).random((JUDGED_POSTURES, robot.n))
        matrices = inertia_matrices(model, base_chi(model, result.identification.estimate.values), q)
        positive = int((np.linalg.eigvalsh(matrices)[:, 0] > 0.0).sum())
        print(f"positive definite inertia matrix: {positive} of {JUDGED_POSTURES} postures")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(dest="what", required=True)
    growing = parts.add_parser("grow")
    growing.add_argument("--axes", type=int, nargs="+", default=[6, 12, 24, 48])
    growing.add_argument("--chain", action="store_true")
    single = parts.add_parser("robot")
    single.add_argument("path", type=Path)
    single.add_argument("--log-seconds", type=float, default=60.0)
    single.add_argument("--design-seconds", type=float, default=60.0)
    single.add_argument("--config", type=Path)
    given = parser.parse_args()
    if given.what == "grow":
        grow(given.axes, chain=given.chain)
    else:
        one_robot(given.path, given.log_seconds, given.design_seconds, given.config)


if __name__ == "__main__":
    main()
