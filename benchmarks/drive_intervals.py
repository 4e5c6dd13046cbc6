"""Drives of virtual robots from command and encoder: how far numbers are off, and whether intervals cover.

    python benchmarks/drive_intervals.py                      # 109 draws of 1 to 29 joints
    python benchmarks/drive_intervals.py --joints 3 --draws 20
    python benchmarks/drive_intervals.py --joints 29 --seeds 0 1 --append draws.jsonl   # what is there is not run again
    python benchmarks/drive_intervals.py --draws 0 --append draws.jsonl                 # the table of what is there

Every draw is another robot: armature, damping and dry friction of each joint (a factor of 1.35, one σ), the delay of
the command (1 to 12 ms), masses, lengths and the motion (sums of sines). MuJoCo moves it by the position actuators
of its own file, step by step. Logged at 200 Hz are the command and encoder positions: a step of 30 µrad, noise of 50
µrad, samples that are taken 0.1 ms (σ) early or late, 1 % of them lost. The fit knows the robot without its drives and
the gains. Each robot moves twice, by different motions, with a fit of each: do they agree? With 29 joints it is a
humanoid that is held at its pelvis: legs of six joints, a waist of three, and behind it two arms of seven.

Printed: median errors, of the delay in ms; part of 95 % intervals that have the truth in them, ± its standard error
from draw to draw; z = (found − truth)/σ, root of mean squares, of all numbers and of armature, damping, friction and
delay by themselves; part of the numbers whose two fits differ by less than 1.96 σ of the difference; roll-outs and
processor time of a fit. With ``--append`` every draw is one line of a file as soon as it is done, and the table is that
of all draws in it, of whatever runs."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core each
    os.environ[variable] = "1"

import argparse
import itertools
import json
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import mujoco
import numpy as np
from scipy.interpolate import CubicHermiteSpline

import exciter as ex
from exciter.identification.actuators.actuator_fit import ActuatorFit

#: Limbs of a robot: (joints, limb that it hangs on or -1)
TREES = {
    1: [(1, -1)],
    3: [(3, -1)],
    6: [(6, -1)],
    12: [(3, -1)] * 4,
    29: [(6, -1), (6, -1), (3, -1), (7, 2), (7, 2)],  # legs, waist, arms
}
DRAWS = {1: 60, 3: 30, 6: 12, 12: 5, 29: 2}
KINDS = ("armature", "damping", "friction")
STEP, RATE, SECONDS = 0.001, 200.0, 10.0
ENCODER_STEP, NOISE, JITTER_S, LOST = 3e-5, 5e-5, 1e-4, 0.01
SPREAD = 0.3  # σ of logarithms
WORDS = ("values", "std", "low", "high")


def body(name: str, depth: int, rng: np.random.Generator, drive: tuple[float, float, float], inner: str) -> str:
    length, mass = 0.2 * rng.uniform(0.7, 1.2), 1.2 * 0.8**depth * rng.uniform(0.7, 1.3)
    axis = ("0 0 1", "0 1 0", "1 0 0")[depth % 3]
    inertia = mass * length**2 * np.array([0.15, 0.2, 0.2])
    return (
        f'<body pos="{length:.4f} 0 0"><joint name="{name}" axis="{axis}" armature="{drive[0]:.9g}" '
        f'damping="{drive[1]:.9g}" frictionloss="{drive[2]:.9g}"/>'
        f'<inertial pos="{0.5 * length:.4f} 0.01 0.02" mass="{mass:.4f}" '
        f'diaginertia="{inertia[0]:.6f} {inertia[1]:.6f} {inertia[2]:.6f}"/>{inner}</body>'
    )


def described(joints: int, seed: int, drives: np.ndarray, gains: np.ndarray) -> str:
    """MJCF of a robot with these drives (n, 3): the same bodies for one seed."""
    rng = np.random.default_rng(seed)
    limbs, first = TREES[joints], 0
    firsts = list[int]()
    for count, _ in limbs:
        firsts.append(first)
        first += count

    def limb(k: int, depth: int) -> str:
        inner = "".join(limb(m, depth + limbs[k][0]) for m, (_, parent) in enumerate(limbs) if parent == k)
        for i in reversed(range(limbs[k][0])):
            j = firsts[k] + i
            inner = body(f"j{j}", depth + i, rng, tuple(drives[j]), inner)
        return inner

    bodies = "".join(limb(k, 0) for k, (_, parent) in enumerate(limbs) if parent < 0)
    told = "".join(f'<position joint="j{j}" kp="{kp:.9g}" kv="{kd:.9g}"/>' for j, (kp, kd) in enumerate(gains))
    return (
        f'<mujoco><option timestep="{STEP}" integrator="implicitfast"><flag contact="disable"/></option>'
        f"<worldbody>{bodies}</worldbody><actuator>{told}</actuator></mujoco>"
    )


def commands(joints: int, rng: np.random.Generator, instants: np.ndarray) -> np.ndarray:
    """(T, n): six sines each of 0.1 to 4 Hz, speeds of about 1 rad/s."""
    f = np.exp(rng.uniform(np.log(0.1), np.log(4.0), (joints, 6)))
    phase = rng.uniform(0.0, 2 * np.pi, (joints, 6))
    size = 0.6 / (2 * np.pi * f)
    angle = 2 * np.pi * f[None] * instants[:, None, None] + phase[None]
    return np.asarray((np.minimum(size, 0.5) * np.sin(angle)).sum(axis=-1))


def logged(text: str, delay: float, rng: np.random.Generator) -> ex.Recording:
    """What a log of the robot would say: a loop by hand, with nothing of the fit's simulator."""
    model = mujoco.MjModel.from_xml_string(text)
    data, n = mujoco.MjData(model), model.nq
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    told = commands(n, rng, t)
    fine = np.arange(round(SECONDS / STEP) + 1) * STEP
    q, v = np.empty((2, len(fine), n))
    late = np.column_stack([np.interp(fine - delay, t, column) for column in told.T])
    data.qpos[:] = told[0]
    for k in range(len(fine)):
        q[k], v[k] = data.qpos, data.qvel
        data.ctrl[:] = late[k]
        mujoco.mj_step(model, data)
    taken = np.clip(t + rng.normal(0.0, JITTER_S, len(t)), 0.0, fine[-1])
    seen = CubicHermiteSpline(fine, q, v)(taken) + rng.normal(0.0, NOISE, (len(t), n))
    kept = rng.random(len(t)) >= LOST
    kept[0] = True
    seen = np.round(seen / ENCODER_STEP) * ENCODER_STEP
    return ex.Recording.of(t[kept], seen[kept], command=told[kept], joints=[f"j{j}" for j in range(n)])


@dataclass(frozen=True)
class Draw:
    """What became of one robot, moved twice: truth (3 n + 1,); values, std, low, high of both motions; roll-outs and
    processor times [s] of the fits."""

    joints: int
    seed: int
    truth: list[float]
    values: list[list[float]]
    std: list[list[float]]
    low: list[list[float]]
    high: list[list[float]]
    rollouts: list[int]
    seconds: list[float]


def drawn(joints: int, seed: int, folder: Path) -> Draw:
    """One robot, two motions."""
    rng = np.random.default_rng([joints, seed])
    depth = np.concatenate([np.arange(c) + (3 if parent >= 0 else 0) for c, parent in TREES[joints]])
    about = np.column_stack([0.03 * 0.9**depth, 0.3 * 0.9**depth, 0.3 * 0.85**depth])
    drives = about * np.exp(rng.normal(0.0, SPREAD, about.shape))
    gains = np.column_stack([60.0 * 0.9**depth, 1.5 * 0.9**depth])
    delay = rng.uniform(0.001, 0.012)
    file = folder / "robot.xml"
    bare = about.mean(axis=0)[None].repeat(joints, 0)
    file.write_text(described(joints, seed, bare, gains), encoding="utf-8")
    robot = ex.load(file)
    order = [int(name[1:]) for name in robot.joint_names]
    truth = np.concatenate([*drives[order].T, [delay]])
    found, seconds = list[ActuatorFit](), list[float]()
    for _ in range(2):
        log = logged(described(joints, seed, drives, gains), delay, rng)
        began = time.process_time()
        found.append(ex.actuators(robot, log, unknown=[*KINDS, "delay"], alike=False).fit)
        seconds.append(time.process_time() - began)
    ends = [fit.interval() for fit in found]
    return Draw(
        joints=joints,
        seed=seed,
        truth=truth.tolist(),
        values=[fit.values.tolist() for fit in found],
        std=[fit.std.tolist() for fit in found],
        low=[low.tolist() for low, _ in ends],
        high=[high.tolist() for _, high in ends],
        rollouts=[fit.fitted.rollouts for fit in found],
        seconds=seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--joints", type=int, nargs="*", default=list(TREES), choices=list(TREES))
    parser.add_argument("--draws", type=int, help="of every size: seeds from 0")
    parser.add_argument("--seeds", type=int, nargs="*", help="instead of so many draws")
    parser.add_argument("--append", type=Path, help="file of draws; those in it count, and are not run again")
    given = parser.parse_args()
    file: Path | None = given.append
    done = [Draw(**json.loads(line)) for line in file.read_text("utf-8").splitlines()] if file and file.exists() else []
    known = {(one.joints, one.seed) for one in done}
    with tempfile.TemporaryDirectory() as folder:
        for joints in given.joints:
            seeds = range(DRAWS[joints] if given.draws is None else given.draws)
            for seed in seeds if given.seeds is None else given.seeds:
                if (joints, seed) in known:
                    continue
                done.append(drawn(joints, seed, Path(folder)))
                if file:
                    with file.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(asdict(done[-1])) + "\n")
    print(
        "joints draws | median error % armature damping friction, delay ms | within 95 % | "
        "z: armature damping friction delay | two agree | roll-outs, s"
    )
    sizes = [joints for joints in TREES if any(one.joints == joints for one in done)]
    hits = [row(joints, [one for one in done if one.joints == joints]) for joints in sizes]
    every = list(itertools.chain.from_iterable(hits))
    print(f"all {len(every)} draws: {percent(every)} % of the intervals cover, draw by draw")


def percent(parts: list[float]) -> str:
    return f"{100 * np.mean(parts):.1f} ± {100 * np.std(parts) / len(parts) ** 0.5:.1f}"


def row(joints: int, results: list[Draw]) -> list[float]:
    """One line of the table; part of the intervals that cover, draw by draw."""
    truth = np.array([one.truth for one in results])[:, None]  # (D, 1, p)
    values, std, low, high = (np.array([getattr(one, word) for one in results]) for word in WORDS)  # (D, 2, p)
    relative = 100.0 * np.abs(values / truth - 1.0)[..., :-1].reshape(-1, 3, joints)
    middle = np.median(relative.transpose(1, 0, 2).reshape(3, -1), axis=1)
    late = 1e3 * np.abs(values - truth)[..., -1]
    z = (values - truth) / std
    kinds = [*(z[..., k * joints : (k + 1) * joints] for k in range(3)), z[..., -1]]
    covers = np.mean((low <= truth) & (truth <= high), axis=(1, 2)).tolist()
    agree = np.mean(np.abs(values[:, 0] - values[:, 1]) <= 1.96 * np.hypot(std[:, 0], std[:, 1]))
    spent, rollouts = (np.median([getattr(one, word) for one in results]) for word in ("seconds", "rollouts"))
    print(
        f"{joints:6} {len(results):5} | {middle[0]:.2f} {middle[1]:.2f} {middle[2]:.2f}, {np.median(late):.3f} "
        f"(at most {late.max():.3f}) | {percent(covers)} | {rms(z):.2f}: {' '.join(f'{rms(k):.2f}' for k in kinds)} | "
        f"{100 * agree:.1f} % | {rollouts:.0f}, {spent:.1f}",
        flush=True,
    )
    return list(covers)


def rms(z: np.ndarray) -> float:
    return float(np.sqrt(np.mean(z**2)))


if __name__ == "__main__":
    main()
