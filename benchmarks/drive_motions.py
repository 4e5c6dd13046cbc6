"""Motions for drives side by side: σ that a log of commands and encoder positions is expected to give.

    python benchmarks/drive_motions.py [ROBOT] [--kp 600] [--kd 30] [--starts 10] [--duration 10]

All last equally long and keep the same limits. Beside what ``design(…, actuators=…)`` finds, family by family and of
all of them, stand the default exciting motion (for torques), one sine, and triangles with corners as round as the
limits of acceleration ask for. Prints σ [%] of each kind of number for the best and the worst joint, that of the delay
in µs, the mean logarithm of all σ, and processor time."""

from __future__ import annotations

import argparse
import time

import numpy as np

import exciter as ex
from exciter.excitation.criteria.optimality_and_condition import LogSigma
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.piecewise import Stops
from exciter.excitation.trajectories.sweeps_and_steps import Chirp
from exciter.excitation.validation_motion.random_families import fastest_move, largest_swing
from exciter.identification.actuators.actuator_settings import DRIVE_FAMILIES, DriveMotionSettings
from exciter.identification.actuators.expected_drives import DriveProspect, ExpectedDrives

RATE_HZ, RISE_S = 200.0, 0.05
TRIANGLE_S = 4.0  # of one, there and back, as in logs of quadrupeds
SINE_HZ = 0.5
RANGE_SHARE = 0.6


def sine(robot: ex.Robot, duration: float) -> Curve:
    """One frequency, joints in different phases, as large as the limits allow."""
    middle = 0.5 * np.add(*robot.position_range())
    family, phase = Chirp(duration, SINE_HZ, SINE_HZ, fall=0.0), np.arange(robot.n) * 2.0 * np.pi / robot.n
    swing = np.column_stack([np.zeros(robot.n), np.cos(phase), np.sin(phase)])
    size = 0.9 * largest_swing(robot, family.curve(swing), middle)
    return family.curve(family.still(middle) + size[:, None] * swing)


def triangles(robot: ex.Robot, duration: float) -> Curve:
    """To and fro at a constant speed, turning at full acceleration; all joints together."""
    lower, upper = robot.position_range()
    middle, half = 0.5 * (lower + upper), 0.5 * RANGE_SHARE * (upper - lower)
    half = np.minimum(half, robot.limit("velocity") * 0.2 * TRIANGLE_S)
    ends = [middle - half, middle + half]
    t_j, t_a, t_v = fastest_move(robot, *ends, RISE_S)
    wanted = 0.5 * TRIANGLE_S
    cruise = max(wanted - 4.0 * t_j - 2.0 * t_a, t_v)  # slower in between, with the same corners
    count = max(1, round(duration / (4.0 * t_j + 2.0 * t_a + cruise)))
    family = Stops(((t_j, t_a, cruise),) * count).with_duration(duration)
    return family.curve(np.array([ends[k % 2] for k in range(count + 1)]).T)


def row(name: str, expected: ExpectedDrives, seconds: float) -> str:
    words = list(dict.fromkeys(u.kind.word for u in expected.numbers.unknowns))
    cells = []
    for word in words:
        own = [k for k, u in enumerate(expected.numbers.unknowns) if u.kind.word == word]
        std, values = expected.std[own], expected.values[own]
        relative = 100.0 * std / np.abs(np.where(values == 0.0, np.nan, values))
        cells.append(
            f"{1e6 * std.max():9.1f} µs" if word == "delay" else f"{relative.min():7.2f} …{relative.max():7.2f}"
        )
    mean = LogSigma()(expected.relative)[0] / len(expected.std)
    return f"{name:24}" + "".join(f"{cell:>20}" for cell in cells) + f"{mean:9.2f}{seconds:8.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robot", nargs="?", default="panda")
    parser.add_argument("--kp", type=float, default=600.0)
    parser.add_argument("--kd", type=float, default=30.0)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--duration", type=float, default=10.0)
    parser.add_argument("--velocity", type=float, default=None)
    parser.add_argument("--acceleration", type=float, default=None)
    given = parser.parse_args()
    limits = {key: value for key in ("velocity", "acceleration") if (value := getattr(given, key)) is not None}
    robot, law = ex.load(given.robot, **limits), ex.PositionControl(kp=given.kp, kd=given.kd)
    unknown = ("armature", "damping", "friction", "delay")
    asked = ex.ActuatorSettings(control=law, unknown=unknown, motion=DriveMotionSettings(duration=given.duration))
    prospect = DriveProspect.of(robot, asked, RATE_HZ)
    log = f"{given.duration:g} s at {RATE_HZ:g} Hz, encoders of σ {prospect.noise[0]:g}"
    print(f"{robot.name}, {log}; σ in %, best … worst joint")
    print(f"{'':24}" + "".join(f"{word:>20}" for word in unknown) + f"{'log σ':>9}{'cpu':>10}")

    def shown(name: str, curve: Curve, began: float) -> None:
        print(row(name, prospect.expected(prospect.response(curve)), time.process_time() - began), flush=True)

    shown("triangles", triangles(robot, given.duration), time.process_time())
    shown("one sine", sine(robot, given.duration), time.process_time())
    began = time.process_time()
    usual = ex.design(robot, ex.Fourier(period=given.duration, harmonics=5, at_rest=True), starts=4)
    shown("fourier, for torques", usual.curve, began)
    for word in (*DRIVE_FAMILIES, None):
        began = time.process_time()
        found = ex.design(robot, word, actuators=asked, starts=given.starts)
        assert found.certificate.certified
        shown("best of all families" if word is None else f"{word}, for drives", found.curve, began)


if __name__ == "__main__":
    main()
