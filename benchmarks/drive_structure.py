"""Drives whose structure is none of the fit's: what is said of them, and whether intervals hold the truth.

    python benchmarks/drive_structure.py                       # 10 rigid robots, 4 of each wrong structure
    python benchmarks/drive_structure.py --draws 2 --structure backlash-motor --verbose

A robot of two joints in MuJoCo, drives and motion drawn anew each time; behind the drive of one joint is an elastic
gear (links ring at 8 to 20 Hz behind it; at 13 to 32 Hz, and damped more, with the encoder of the links, for that loop
is soon unstable), or backlash (a gap of 4 to 10 mrad with hard ends), motor and link two bodies, the encoder of control
and log on the motor's or on the links' side; or dry friction that changes with the position, with the load, or at low
speed. Gravity loads no joint: it would hold gears at one end of the gap. Logged at 200 Hz with a step of 30 µrad and
noise of 50 µrad. ``ex.actuators`` fits armature, damping, friction and delay as if all were rigid. Residuals of rigid
robots are looked at although they do not last.

Printed for each truth: which structure was named for the joint that has it (``nothing``: none; in brackets: how often
the right one was named as nearly as good), how often the other joint was accused; σ of armature, damping and friction
of that joint beside those of the same robot without it (median ratio); part of the 95 % intervals of all numbers that
hold the truth: that of the motor, of friction that changes the constant part of it."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core each
    os.environ[variable] = "1"

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

import exciter as ex
from exciter.identification.actuators import structure as fit_structure
from exciter.identification.actuators.actuator_fit import ActuatorFit
from exciter.identification.actuators.structure import LOOKED_AT_REPEATS

sys.path.insert(0, str(Path(__file__).parent))
from drive_intervals import ENCODER_STEP, NOISE, RATE, commands

STEP, SECONDS = 0.001, 10.0
ARMATURE, DAMPING, FRICTION = np.array([0.03, 0.015]), np.array([0.3, 0.12]), np.array([0.3, 0.1])
GAINS = np.array([[60.0, 1.5], [30.0, 0.7]])
LINK_INERTIA = np.array([0.087, 0.009])  # about the joints, roughly: how stiff a gear is that rings at a frequency
#: What is told by the fit of each truth
NAMES = {
    "rigid": "nothing",
    "elastic-motor": "elastic gear",
    "elastic-link": "elastic gear",
    "backlash-motor": "backlash",
    "backlash-link": "backlash",
    "position": "friction that changes with the position",
    "load": "friction that grows with the load",
    "stribeck": "friction at low speed",
}


@dataclass(frozen=True)
class Truth:
    """structure of a joint (one of NAMES), its size: [Hz], [rad] of half a gap, [N·m/rad], part of the load, [N·m]."""

    structure: str
    joint: int
    size: float
    drives: np.ndarray  # (3, 2) armature, damping, friction
    delay: float

    @property
    def two_bodies(self) -> bool:
        return self.structure.startswith(("elastic", "backlash"))


def drawn(structure: str, seed: int) -> Truth:
    rng = np.random.default_rng([99, seed])
    drives = np.array([ARMATURE, DAMPING, FRICTION]) * np.exp(rng.normal(0.0, 0.25, (3, 2)))
    joint, delay, at = seed % 2, rng.uniform(0.001, 0.008), rng.uniform()
    sizes = {
        "elastic": (8.0 + 12.0 * at) * (1.6 if structure.endswith("link") else 1.0),
        "backlash": 0.002 + 0.003 * at,
        "position": (0.4 + 0.6 * at) * drives[2, joint] / 0.4,
        "load": 0.1 + 0.1 * at,
        "stribeck": (0.5 + 0.5 * at) * drives[2, joint],
    }
    return Truth(structure, joint, sizes.get(structure.split("-")[0], 0.0), drives, delay)


def robot_text(truth: Truth) -> str:
    """MJCF; behind the motor of the joint a gear of its own, where the truth has one."""

    def gear(j: int) -> str:
        if truth.structure.startswith("elastic"):
            k = LINK_INERTIA[j] * (2 * np.pi * truth.size) ** 2
            ratio = (
                0.1 if truth.structure.endswith("link") else 0.03
            )  # less, and the loop by links' encoders is unstable
            return f'stiffness="{k:.6g}" damping="{2.0 * ratio * k / (2 * np.pi * truth.size):.6g}"'
        return (
            f'limited="true" range="{-truth.size:.6g} {truth.size:.6g}" solreflimit="0.002 1" '
            'solimplimit="0.99 0.999 0.0001" damping="0.002"'
        )

    def link(j: int, inertial: str, inner: str, place: str) -> str:
        arm, damp, dry = truth.drives[:, j]
        friction = f'damping="{damp:.9g}" frictionloss="{dry:.9g}"'
        joint = f'<joint name="{"ab"[j]}" axis="0 0 1" armature="{arm:.9g}" {friction}/>'
        if truth.two_bodies and j == truth.joint:
            rotor = '<inertial pos="0 0 0" mass="1e-4" diaginertia="1e-8 1e-8 1e-8"/>'
            return (
                f'<body pos="{place}">{joint}{rotor}<body><joint name="gear" axis="0 0 1" {gear(j)}/>'
                f"{inertial}{inner}</body></body>"
            )
        return f'<body pos="{place}">{joint}{inertial}{inner}</body>'

    second = link(1, '<inertial pos="0.1 0 0" mass="0.5" diaginertia="0.001 0.004 0.004"/>', "", "0.25 0 0")
    first = link(0, '<inertial pos="0.12 0 0" mass="0.8" diaginertia="0.002 0.01 0.01"/>', second, "0 0 0")
    told = "".join(f'<position joint="{n}" kp="{kp}" kv="{kd}"/>' for n, (kp, kd) in zip("ab", GAINS, strict=True))
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{STEP}" integrator="implicitfast">'
        '<flag contact="disable"/></option>'
        f"<worldbody>{first}</worldbody><actuator>{told}</actuator></mujoco>"
    )


def moved(truth: Truth, seed: int, seconds: float = SECONDS) -> ex.Recording:
    """A log, of a loop by hand with nothing of the fit's simulator."""
    rng = np.random.default_rng([7, seed])
    model = mujoco.MjModel.from_xml_string(robot_text(truth))
    data = mujoco.MjData(model)
    motors = [int(model.joint(name).qposadr[0]) for name in "ab"]
    gear = int(model.joint("gear").qposadr[0]) if truth.two_bodies else None
    t = np.arange(0.0, seconds, 1.0 / RATE)
    told = commands(2, rng, t)
    fine = np.arange(round(seconds / STEP) + 1) * STEP
    late = np.column_stack([np.interp(fine - truth.delay, t, column) for column in told.T])
    seen, j, link_side = np.empty((len(fine), 2)), truth.joint, truth.structure.endswith("link")
    data.qpos[motors] = told[0]
    plain = truth.drives[2, j]
    for k in range(len(fine)):
        q = data.qpos[motors]
        if link_side and gear is not None:
            q = q.copy()
            q[j] += data.qpos[gear]
        seen[k] = q
        data.ctrl[:] = late[k]
        if link_side and gear is not None:
            # the control sees the encoder that is logged, and its speed
            data.ctrl[j] -= data.qpos[gear] + GAINS[j, 1] / GAINS[j, 0] * data.qvel[gear]
        if truth.structure == "position":
            model.dof_frictionloss[motors[j]] = max(0.1 * plain, plain + truth.size * data.qpos[motors[j]])
        elif truth.structure == "load":
            torque = GAINS[j, 0] * (late[k, j] - data.qpos[motors[j]]) - GAINS[j, 1] * data.qvel[motors[j]]
            model.dof_frictionloss[motors[j]] = plain + truth.size * abs(torque)
        elif truth.structure == "stribeck":
            model.dof_frictionloss[motors[j]] = plain + truth.size * np.exp(-abs(data.qvel[motors[j]]) / 0.15)
        mujoco.mj_step(model, data)
    q = np.column_stack([np.interp(t, fine, column) for column in seen.T]) + rng.normal(0.0, NOISE, (len(t), 2))
    return ex.Recording.of(t, ENCODER_STEP * np.round(q / ENCODER_STEP), command=told, joints=("a", "b"))


def described(folder: Path) -> ex.Robot:
    """The rigid robot, with drives as a description would have them."""
    nominal = Truth("rigid", 0, 0.0, np.array([ARMATURE, DAMPING, FRICTION]), 0.0)
    file = folder / "double.xml"
    file.write_text(robot_text(nominal), encoding="utf-8")
    return ex.load(file)


def fitted(robot: ex.Robot, log: ex.Recording) -> ex.Actuators:
    return ex.actuators(robot, log, unknown=["armature", "damping", "friction", "delay"], alike=False)


def named(found: ex.Actuators) -> dict[str, ex.Note]:
    """Notes on the structure, by joint."""
    return {note.joint: note for note in found.fit.notes if note.subject == "structure" and note.joint}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, help="of every truth")
    parser.add_argument("--structure", nargs="*", default=list(NAMES), choices=list(NAMES))
    parser.add_argument("--verbose", action="store_true", help="print all notes")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        robot, without = described(Path(folder)), dict[int, ActuatorFit]()
        for structure in given.structure:
            row(robot, structure, given.draws or (10 if structure == "rigid" else 4), given.verbose, without)


def row(robot: ex.Robot, structure: str, draws: int, verbose: bool, without: dict[int, ActuatorFit]) -> None:
    """One line of the table; without: fits of the same robots with rigid drives, by seed."""
    said, accused, beside, covers, widened = Counter[str](), 0, 0, list[float](), list[float]()
    lasting, spent = 0, list[float]()
    fit_structure.LOOKED_AT_REPEATS = 0.0 if structure == "rigid" else LOOKED_AT_REPEATS
    for seed in range(draws):
        truth = drawn(structure, seed)
        log = moved(truth, seed)
        began = time.process_time()
        found = fitted(robot, log)
        spent.append(time.process_time() - began)
        notes, own = named(found), "ab"[truth.joint]
        family = str(notes[own].numbers["family"]) if own in notes else "nothing"
        said[family] += 1
        beside += own in notes and family != NAMES[structure] and NAMES[structure] in notes[own].text
        accused += "ab"[1 - truth.joint] in notes
        lasting += any(note.subject == "model error" and note.joint == own for note in found.fit.notes)
        low, high = found.fit.interval()
        values = np.concatenate([truth.drives.ravel(), [truth.delay]])
        covers.append(float(np.mean((low <= values) & (values <= high))))
        if structure == "rigid":
            without[seed] = found.fit
        else:
            if seed not in without:
                without[seed] = fitted(robot, moved(drawn("rigid", seed), seed)).fit
            rigid = without[seed]
            mine = [k for k, unknown in enumerate(found.fit.numbers.unknowns) if unknown.joints == (truth.joint,)]
            ratio = (found.fit.std / found.fit.values)[mine] / (rigid.std / rigid.values)[mine]
            widened.append(float(np.median(ratio)))
        if verbose:
            off = 100 * (found.fit.values / values - 1.0)
            print(f"  {structure} {seed}, joint {own}, {truth.size:.3g}: repeats {found.fit.fitted.repeats.round(1)}")
            print(f"    errors % {off.round(1)}, σ % {(100 * found.fit.std / found.fit.values).round(2)}")
            for note in notes.values():
                print(f"    {note}", flush=True)
    words = ", ".join(f"{name} {count}" for name, count in said.most_common())
    more = f", σ {np.median(widened):.1f} times" if widened else ""
    print(
        f"{structure:15} {draws:2} draws | {words} (right one beside: {beside}) | other joint accused {accused} | "
        f"model error {lasting} | intervals hold {100 * np.mean(covers):.0f} %{more} | {np.median(spent):.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
