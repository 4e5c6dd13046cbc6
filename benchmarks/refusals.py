"""Are healthy logs of unknown robots accepted, and faulty ones found? Random robots, torques by Pinocchio.

    python benchmarks/refusals.py                                     # 200 robots of 3 to 30 joints
    python benchmarks/refusals.py --robots 40 --seed 7 --joints 3-10 --healthy

Every robot is a random chain or tree, 5 to 80 cm per link. Its description is what the check gets; the robot that made
the log has masses up to 30 % off, centres up to 0.2 gyration radii, inertias accordingly (each body a body), and
friction, rotor inertia and offsets that no description states, each ±50 % about what is usual. The log: 30 s of sums of
sines, torques from Pinocchio's Newton–Euler with 1 … 2 % noise, positions in steps of an encoder of 2¹⁷ … 2²⁰.

Healthy logs: every finding of severity problem is a false refusal, and printed. Faults are put into the same logs, one
at a time, at joints drawn from those where they are visible at all: where they change what offset, friction and rotor
inertia of a joint cannot take up by more than ``VISIBLE_SHARE`` of the torque of some joint. Found: a finding of the
right subject that names the joint (of two exchanged ones, either), as a problem or as a warning. "Believable" are
faults that were missed and can only be missed: by Pinocchio's regressor and bounded least squares, a robot as near to
the description as the true one leaves no more of the faulty log than of the healthy one. A zero that is off at the last
joint is one: it is its body, turned.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.optimize import lsq_linear

from exciter.experiment.quality import Quality, check
from exciter.experiment.recording import Recording
from exciter.notes import Severity
from exciter.robot import Robot, load
from exciter.typing import Array

VISIBLE_SHARE = 0.1  # of the torque of some joint
BELIEVABLE_FACTOR = 1.2  # times what is left of the healthy log
ZERO_OFF_RAD = np.radians(10.0)
RATE_HZ, SECONDS = 200.0, 30.0
MASS_SHARE, CENTRE_SHARE = 0.3, 0.2  # of the description's mass, and of the gyration radius
FAULTS = ("torques exchanged", "positions exchanged", "torque sign", "position sign", "unit", "zero")
SUBJECTS = {"torques exchanged": "joint order", "positions exchanged": "joint order", "torque sign": "sign"}
SUBJECTS |= {"position sign": "sign", "zero": "zero"}


@dataclass(frozen=True)
class Body:
    """length [m] along x; mass [kg], centre (3,) [m], second moments (3, 3) [kg·m²] about the centre."""

    mass: float
    centre: Array
    second: Array

    @property
    def gyration_radius(self) -> float:
        return float(np.sqrt(np.trace(self.second) / self.mass))

    def drawn(self, rng: np.random.Generator) -> Body:
        """A body near this one."""
        mass = self.mass * rng.uniform(1.0 - MASS_SHARE, 1.0 + MASS_SHARE)
        away = rng.standard_normal(3)
        away *= CENTRE_SHARE * self.gyration_radius * rng.uniform() ** (1.0 / 3.0) / np.linalg.norm(away)
        stretch = np.eye(3) + 0.15 * rng.uniform(-1.0, 1.0, (3, 3))
        return Body(mass, self.centre + away, mass / self.mass * stretch @ self.second @ stretch.T)

    def urdf(self) -> str:
        i = np.trace(self.second) * np.eye(3) - self.second
        x, y, z = self.centre
        moments = " ".join(f'i{a}{b}="{i[p, r]:.12g}"' for a, b, p, r in ENTRIES)
        return (
            f'<inertial><origin xyz="{x:.12g} {y:.12g} {z:.12g}"/><mass value="{self.mass:.12g}"/>'
            f"<inertia {moments}/></inertial>"
        )


PINOCCHIO_ORDER = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
ENTRIES = [("x", "x", 0, 0), ("x", "y", 0, 1), ("x", "z", 0, 2), ("y", "y", 1, 1), ("y", "z", 1, 2), ("z", "z", 2, 2)]


def random_body(rng: np.random.Generator, length: float) -> Body:
    """A block that reaches from its joint to about the next one."""
    width = length * rng.uniform(0.15, 0.5, 2)
    size = np.array([length * rng.uniform(0.8, 1.3), *width])
    mass = rng.uniform(800.0, 3000.0) * float(size.prod())
    centre = np.array([0.5 * length, 0.0, 0.0]) + 0.15 * size * rng.uniform(-1.0, 1.0, 3)
    turn = np.linalg.qr(np.eye(3) + 0.2 * rng.standard_normal((3, 3)))[0]
    return Body(mass, centre, turn @ np.diag(mass * size**2 / 12.0) @ turn.T)


@dataclass(frozen=True, eq=False)
class Case:
    """A robot by its description, a healthy log of a robot near it, both as Pinocchio has them; q, q̇, q̈ as they are."""

    seed: int
    kind: str
    robot: Robot
    log: Recording
    true: pin.Model
    described: pin.Model
    motion: tuple[Array, Array, Array]
    bodies: list[Body]


def tree(rng: np.random.Generator, n: int) -> tuple[str, list[int]]:
    """Kind, and parents (−1: base)."""
    if n < 6 or rng.uniform() < 0.6:
        return "chain", list(range(-1, n - 1))
    trunk, parents = int(rng.integers(1, 4)), list[int]()
    tips = list[int]()
    branches = int(rng.integers(2, min(5, n - trunk) + 1))
    for k in range(n):
        if k < trunk:
            parents.append(k - 1)
        elif len(tips) < branches:
            parents.append(trunk - 1)
            tips.append(k)
        else:
            which = (k - trunk) % branches
            parents.append(tips[which])
            tips[which] = k
    return "tree", parents


def case(seed: int, least: int, most: int) -> Case:
    rng = np.random.default_rng(seed)
    n = round(np.exp(rng.uniform(np.log(least), np.log(most))))  # small ones are more common
    kind, parents = tree(rng, n)
    depth = [0] * n
    for k, parent in enumerate(parents):
        depth[k] = 0 if parent < 0 else depth[parent] + 1
    first = np.exp(rng.uniform(np.log(0.05), np.log(0.8 if max(depth) < 10 else 0.2)))
    taper = rng.uniform(0.8, 1.0)
    lengths = [first * taper**d * rng.uniform(0.6, 1.4) for d in depth]
    bodies = [random_body(rng, length) for length in lengths]
    slides = [rng.uniform() < 0.08 for _ in range(n)]
    joints = []
    for k, parent in enumerate(parents):
        place = [0.0, 0.0, first] if parent < 0 else [lengths[parent], 0.0, 0.0]
        square = rng.uniform() < 0.7
        turn = rng.choice([0.0, np.pi / 2, -np.pi / 2, np.pi], 3) if square else rng.uniform(-np.pi, np.pi, 3)
        axis = np.eye(3)[rng.choice(3, p=[0.2, 0.4, 0.4])]
        reach, speed = (lengths[k], 5.0 * lengths[k]) if slides[k] else (2.9, 8.0)
        joints.append(
            f'<joint name="joint_{k + 1}" type="{"prismatic" if slides[k] else "revolute"}">'
            f'<parent link="{"base" if parent < 0 else f"link_{parent + 1}"}"/><child link="link_{k + 1}"/>'
            f'<origin xyz="{" ".join(map(str, place))}" rpy="{" ".join(map(str, turn))}"/>'
            f'<axis xyz="{" ".join(map(str, axis))}"/>'
            f'<limit lower="{-reach}" upper="{reach}" velocity="{speed}" effort="1e5"/></joint>'
        )

    def text(own: list[Body]) -> str:
        links = "".join(f'<link name="link_{k + 1}">{body.urdf()}</link>' for k, body in enumerate(own))
        return f'<robot name="robot_{seed}"><link name="base"/>{links}{"".join(joints)}</robot>'

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"robot_{seed}.urdf"
        path.write_text(text(bodies), encoding="utf-8")
        robot = load(path)
    described, true = (pin.buildModelFromXML(text(own)) for own in (bodies, [body.drawn(rng) for body in bodies]))
    order = [int(name.removeprefix("joint_")) - 1 for name in robot.joint_names]  # a tree is read branch by branch
    motion = random_motion(rng, robot, np.array(lengths)[order], np.array(slides)[order])
    log = recorded(rng, robot, true, motion)
    return Case(seed, kind, robot, log, true, described, motion, [bodies[k] for k in order])


def random_motion(rng: np.random.Generator, robot: Robot, lengths: Array, slides: Array) -> tuple[Array, Array, Array]:
    """q, q̇, q̈ (N, n): sums of four sines."""
    t, n = np.arange(int(RATE_HZ * SECONDS))[:, None, None] / RATE_HZ, robot.n
    w = 2.0 * np.pi * np.exp(rng.uniform(np.log(0.07), np.log(0.7), (n, 4)))
    a, phase = rng.uniform(0.2, 1.0, (n, 4)) / np.sqrt(w), rng.uniform(0.0, 2.0 * np.pi, (n, 4))
    a *= (rng.uniform(0.5, 1.4, n) * np.where(slides, 0.4 * lengths, 1.0) / a.sum(axis=1))[:, None]
    middle = np.where(slides, 0.0, rng.uniform(-1.0, 1.0, n))
    q = middle + (a * np.sin(w * t + phase)).sum(axis=2)
    return q, (a * w * np.cos(w * t + phase)).sum(axis=2), (-a * w**2 * np.sin(w * t + phase)).sum(axis=2)


def bodies_torque(model: pin.Model, names: tuple[str, ...], q: Array, qd: Array, qdd: Array) -> Array:
    """(N, n) by Newton–Euler, joints by name."""
    data = model.createData()
    at = [model.joints[model.getJointId(name)].idx_v for name in names]
    x, xd, xdd = (np.empty_like(one) for one in (q, qd, qdd))
    x[:, at], xd[:, at], xdd[:, at] = q, qd, qdd
    tau = np.array([pin.rnea(model, data, *row) for row in zip(x, xd, xdd, strict=True)])
    return tau[:, at]


def recorded(rng: np.random.Generator, robot: Robot, true: pin.Model, motion: tuple[Array, Array, Array]) -> Recording:
    q, qd, qdd = motion
    tau = bodies_torque(true, robot.joint_names, *motion)
    size, n = tau.std(axis=0), robot.n
    size = np.maximum(size, 1e-3 * size.max())
    about = (0.1 * size, 0.1 * size / qd.std(axis=0), 0.05 * size / qdd.std(axis=0), 0.03 * size)
    coulomb, viscous, rotor, offset = (one * rng.uniform(0.5, 1.5, n) for one in about)
    offset *= rng.choice([-1.0, 1.0], n)
    tau = tau + coulomb * np.sign(qd) + viscous * qd + rotor * qdd + offset
    tau += rng.uniform(0.01, 0.02, n) * tau.std(axis=0) * rng.standard_normal(tau.shape)
    step = np.where([joint.is_prismatic for joint in robot.joints], 1e-5, 2.0 * np.pi / 2.0 ** rng.integers(17, 21, n))
    t = np.arange(len(q)) / RATE_HZ
    return Recording(robot.joint_names, t, np.round(q / step) * step, None, tau)


# -- faults ------------------------------------------------------------------------------------------------------------


def changed_torque(one: Case, tau: Array, q: tuple[Array, Array, Array]) -> float:
    """The largest share of a joint's torque by which τ, which the log would hold, differs from the model's at the
    motion that it would hold, of what drives cannot take up. Of the true robot: uncertain bodies are no fault."""
    step = slice(None, None, 20)
    q = tuple(x[step] for x in q)
    left = tau[step] - bodies_torque(one.true, one.robot.joint_names, *q)
    size = np.maximum(one.log.torque[step].std(axis=0), 1e-300)
    for j, basis in enumerate(drives(q)):
        left[:, j] -= basis @ (basis.T @ left[:, j])
    return float((left.std(axis=0) / size).max())


def drives(motion: tuple[Array, Array, Array]) -> list[Array]:
    """(N, 4) per joint: orthonormal columns of offset, friction and rotor inertia."""
    _, qd, qdd = motion
    each = zip(qd.T, qdd.T, strict=True)
    return [np.linalg.qr(np.column_stack([np.ones_like(v), v, np.sign(v), a]))[0] for v, a in each]


def bounded_residual(one: Case, tau: Array, motion: tuple[Array, Array, Array]) -> float:
    """RMS over the noise of what the best robot within the bounds of the true ones leaves (a box around the ball)."""
    n, names, step = one.robot.n, one.robot.joint_names, slice(None, None, 30)
    q, y = tuple(x[step] for x in motion), tau[step]
    model, data = one.described, one.described.createData()
    ids = [model.getJointId(name) for name in names]
    at = [model.joints[k].idx_v for k in ids]
    x = [np.empty_like(part) for part in q]
    for full, part in zip(x, q, strict=True):
        full[:, at] = part
    rows = np.array([pin.computeJointTorqueRegressor(model, data, *row) for row in zip(*x, strict=True)])[:, at]
    rows = rows.reshape(len(y), n, n, 10)[:, :, [k - 1 for k in ids]]
    changes, nominal = np.zeros((n, 10, 10)), np.zeros((n, 10))
    for k, body in enumerate(one.bodies):
        m, c, r = body.mass, body.centre, body.gyration_radius
        root = np.array([*(r * np.sqrt(m / 3.0) * np.eye(3)[i] for i in range(3))])

        def inertial(mass: float, centre: Array, second: Array) -> Array:
            i = (np.trace(second) + mass * centre @ centre) * np.eye(3) - second - mass * np.outer(centre, centre)
            return np.array([mass, *(mass * centre), *(i[p] for p in PINOCCHIO_ORDER)])

        nominal[k] = inertial(m, c, body.second)
        changes[k, 0] = MASS_SHARE * nominal[k]
        for i in range(3):
            changes[k, 1 + i] = inertial(m, c + CENTRE_SHARE * r * np.eye(3)[i], body.second) - nominal[k]
        for k2, (i, j) in enumerate(PINOCCHIO_ORDER):
            second = np.outer(root[i], root[j])
            changes[k, 4 + k2] = 0.3 * (inertial(m, c, body.second + 0.5 * (second + second.T)) - nominal[k])
    columns = (rows.reshape(len(y), n, n, 1, 10) @ changes.swapaxes(1, 2)).reshape(len(y), n, 10 * n)
    left, noise = y - np.einsum("Njkp,kp->Nj", rows, nominal), 0.015 * one.log.torque.std(axis=0)
    stacked = list[Array]()
    for j, basis in enumerate(drives(q)):
        both = np.column_stack([columns[:, j], left[:, j]]) / noise[j]
        stacked.append(both - basis @ (basis.T @ both))
    triangle = np.linalg.qr(np.concatenate(stacked), mode="r")
    found = lsq_linear(triangle[:, :-1], triangle[:, -1], bounds=(-1.0, 1.0), tol=1e-6)
    return float(np.sqrt(2.0 * found.cost / y.size))


Faulty = tuple[Recording, tuple[str, ...], tuple[Array, Array, Array]]


def faulty(one: Case, fault: str, rng: np.random.Generator) -> Faulty | None:
    """A log with the fault, the joints that may be named, and the motion that it pretends; None: visible at none."""
    log, n, names = one.log, one.robot.n, one.robot.joint_names
    if fault == "unit":
        turning = [j for j, joint in enumerate(one.robot.joints) if not joint.is_prismatic]
        if rng.uniform() < 0.5:
            return replace(log, torque=1e3 * log.torque), ("unit of torque",), one.motion
        q = log.q.copy()
        q[:, turning] = np.degrees(q[:, turning])
        return replace(log, q=q), ("unit of position",), one.motion
    pairs = fault.endswith("exchanged")
    choices = [(i, j) for i in range(n) for j in range(i)] if pairs else [(j,) for j in range(n)]
    slides = [joint.is_prismatic for joint in one.robot.joints]
    for joints in rng.permutation(np.array(choices)).tolist():
        of = [slides[j] for j in joints]
        if (fault == "zero" and of[0]) or (fault == "positions exchanged" and of[0] != of[1]):
            continue
        q, tau, motion = log.q.copy(), log.torque.copy(), [x.copy() for x in one.motion]
        if fault == "torques exchanged":
            tau[:, joints] = tau[:, joints[::-1]]
        elif fault == "positions exchanged":
            for x in (q, *motion):
                x[:, joints] = x[:, joints[::-1]]
        elif fault == "torque sign":
            tau[:, joints] *= -1.0
        elif fault == "position sign":
            for x in (q, *motion):
                x[:, joints] *= -1.0
        else:
            shift = ZERO_OFF_RAD * rng.choice([-1.0, 1.0])
            for x in (q, motion[0]):
                x[:, joints] += shift
        if changed_torque(one, tau, tuple(motion)) > VISIBLE_SHARE:
            return replace(log, q=q, torque=tau), tuple(names[j] for j in joints), tuple(motion)
    return None


def verdict(quality: Quality, fault: str, wanted: tuple[str, ...]) -> str:
    """problem, warning or silent; and whether problems of another subject stood beside."""

    def right(severity: Severity) -> bool:
        found = [f for f in quality.findings if f.severity == severity]
        if fault == "unit":
            return any(f.subject == wanted[0] for f in found)
        named = ({f.joint, *f.numbers.get("rivals", ())} for f in found if f.subject == SUBJECTS[fault])
        return any(not names.isdisjoint(wanted) for names in named)

    return "problem" if right(Severity.PROBLEM) else "warning" if right(Severity.WARNING) else "silent"


# -- all of it ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    seed: int
    what: str
    told: str
    lines: tuple[str, ...]
    seconds: float
    beside: bool = False


def outcomes(seed: int, least: int, most: int, faults: tuple[str, ...]) -> list[Outcome]:
    one = case(seed, least, most)
    name, rng, found = f"robot {seed} ({one.kind}, {one.robot.n} joints)", np.random.default_rng([seed, 1]), []
    for what in ("healthy", *faults):
        given = (one.log, (), one.motion) if what == "healthy" else faulty(one, what, rng)
        if given is None:
            found.append(Outcome(seed, what, "not visible", (), 0.0))
            continue
        log, wanted, motion = given
        start = time.perf_counter()
        quality = check(log, one.robot)
        seconds = time.perf_counter() - start
        told = verdict(quality, what, wanted) if wanted else "refused" if quality.problems else "accepted"
        warned = [f for f in quality.warnings if f.subject in SUBJECTS.values()]
        if told == "accepted" and warned:
            told = "warned"
        if told == "silent" and what != "unit":
            faulted, healthy = (
                bounded_residual(one, log.torque, motion),
                bounded_residual(one, one.log.torque, one.motion),
            )
            told = "believable" if faulted < BELIEVABLE_FACTOR * healthy else told
        right = wanted[0] if what == "unit" else SUBJECTS.get(what)
        shown = [f for f in quality.problems if f.subject != right] + (warned if told != "problem" else [])
        lines = [f"{f.severity}: {f.subject} {f.joint or ''}: {f.text[:150]}" for f in shown]
        head = f"{name}, {what} {' '.join(wanted)}: {told}"
        lines = (
            [] if told in ("accepted", "problem", "believable") and not lines else [head, *(f"    {x}" for x in lines)]
        )
        beside = any(f.subject != right for f in quality.problems)
        found.append(Outcome(seed, what, told, tuple(lines), seconds, beside))
    return found


def table(found: list[Outcome], faults: tuple[str, ...]) -> Iterator[str]:
    healthy = Counter(one.told for one in found if one.what == "healthy")
    said = f"{healthy['refused']} refused, {healthy['warned']} with a warning of zero, sign or order"
    yield f"healthy: {healthy.total()} robots, {said}"
    yield "| fault | logs | problem | warning | silent | found | beside other problems | believable | not visible |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for fault in faults:
        told = Counter(one.told for one in found if one.what == fault)
        count = told["problem"] + told["warning"] + told["silent"]
        beside = sum(one.beside for one in found if one.what == fault)
        share = f"{100.0 * (told['problem'] + told['warning']) / max(count, 1):.1f} %"
        cells = (fault, count, told["problem"], told["warning"], told["silent"], share, beside)
        yield f"| {' | '.join(map(str, (*cells, told['believable'], told['not visible'])))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--joints", default="3-30")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--healthy", action="store_true", help="no faults")
    parser.add_argument("--faults", nargs="*", default=FAULTS)
    given = parser.parse_args()
    least, most = map(int, given.joints.split("-"))
    faults = () if given.healthy else tuple(given.faults)
    seeds = [1000 * given.seed + k for k in range(given.robots)]
    found = list[Outcome]()
    with ProcessPoolExecutor(min(given.processes, 2)) as pool:
        for one in pool.map(outcomes, seeds, *([x] * len(seeds) for x in (least, most, faults))):
            found += one
            for outcome in one:
                print(*outcome.lines, sep="\n", end="\n" if outcome.lines else "", flush=True)
    print(*table(found, faults), sep="\n")
    seconds = [one.seconds for one in found]
    print(f"{np.mean(seconds):.2f} s a check, {max(seconds):.2f} s the slowest")


if __name__ == "__main__":
    main()
