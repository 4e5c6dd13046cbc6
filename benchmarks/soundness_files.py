"""Tries to break certificates by what stands in files; ``certificate_soundness.py`` runs it.

Trajectory files made by hand: polynomial spans and Fourier pieces that jump, pieces shifted in time, joints in another
order, families that are repeated. Descriptions: URDF without masses, with placeholders or without friction, configured
with any ``terms:`` and a payload; URDF whose collision shapes differ from what is drawn. The truth is computed from the
text of the files, by NumPy, Pinocchio and coal. A trial fails when
- a position or velocity that jumps is certified, or read where nothing certifies it; one that does not, is not,
- a file that starts or ends while moving is certified, or one that does not is said to,
- a torque limit that is really broken is kept, one with 1 % to spare is not, or one that rests on missing data holds,
- a limit that nobody gave is counted.
"""

from __future__ import annotations

import json
import math
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin
import yaml
from certificate_soundness import STILL, Case, Truth, dense, unsound_intervals, wrong_verdicts

from exciter.errors import MotionError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.not_checked import unchecked
from exciter.excitation.files.trajectory_files import exact_data, read_trajectory
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier, FourierPiece
from exciter.excitation.trajectories.piecewise import BSpline
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.notes import texts
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import Robot, load
from exciter.robot.geometry import Shape
from exciter.robot.motion import Motion
from exciter.settings import written
from support.robots import random_robot

Array = np.ndarray
#: MeshDistance has to tell collision shapes from visual ones for ``shapes_trial``; where it cannot, it is left out.
MEASURES_COLLISION_SHAPES = hasattr(Shape, "collides")
AT_REST = {"velocity": 1e-6, "acceleration": 1e-3}  #: parts of the limits below which there is none
CLEAR_JUMP, NO_JUMP = 1e-8, 5e-10  #: [rad, rad/s] what must be found, and what must not
WORDS = ("position", "velocity")


# -- trajectory files that jump ---------------------------------------------------------------------------------


def span_states(piece: dict[str, Any], span: int, end: int) -> Array:
    """(n, 3) q, q̇, q̈ at one end (0, 1) of a span, from the numbers of the file alone."""
    if piece["kind"] == "polynomial":
        at = end * (piece["knots"][span + 1] - piece["knots"][span])
        spans = [np.polynomial.Polynomial(joint[span]) for joint in piece["coefficients"]]
        return np.array([[polynomial.deriv(k)(at) for k in range(3)] for polynomial in spans])
    s = piece[("start", "end")[end]] - piece["phase_time"]
    rows = []
    for a, b, offset in zip(piece["a"], piece["b"], piece["offset"], strict=True):
        states = np.array([offset, 0.0, 0.0])
        for number, p, r in zip(piece["harmonics"], a, b, strict=True):
            w = piece["omega"] * number
            c, d = math.cos(w * s), math.sin(w * s)
            states += [p / w * d - r / w * c, p * c + r * d, w * (r * c - p * d)]
        rows.append(states)
    return np.array(rows)


def true_jumps(pieces: list[dict[str, Any]]) -> tuple[Array, float]:
    """(n, 3) largest jump of q, q̇, q̈ of every joint, and the widest gap in time between pieces [s]."""
    ends = [piece["knots"] if piece["kind"] == "polynomial" else [piece["start"], piece["end"]] for piece in pieces]
    spans = [(piece, k) for piece, knots in zip(pieces, ends, strict=True) for k in range(len(knots) - 1)]
    jumps = [span_states(*after, 0) - span_states(*before, 1) for before, after in pairwise(spans)]
    gaps = [abs(after[0] - before[-1]) for before, after in pairwise(ends)]
    still = np.zeros_like(span_states(*spans[0], 0))
    return np.abs([still, *jumps]).max(axis=0), max(gaps, default=0.0)


def draw_polynomials(rng: np.random.Generator, n: int) -> list[dict[str, Any]]:
    """Quintic spans, smooth at first; then some coefficients are moved, whole spans or all that follow."""
    rows = int(rng.integers(3, 9))
    knots = np.cumsum(rng.uniform(0.1, 1.0, rows)) + (1.7e9 if rng.random() < 0.05 else 0.0)
    states = rng.standard_normal((3, rows, n))
    if rng.random() < 0.5:  # from rest to rest, up to a little
        states[1:, [0, -1]] *= rng.choice([0.0, 1e-8, 1e-5, 1e-3])
    coefficients = np.array(PolynomialPiece.from_samples(knots, *states).coefficients)
    for _ in range(int(rng.integers(0, 3))):
        joint, span, order = rng.integers(n), int(rng.integers(1, rows - 1)), rng.integers(3)
        last = span + 1 if rng.random() < 0.5 else rows - 1
        coefficients[joint, span:last, order] += rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-12.0, 0.0)
    cuts = [0, *sorted(set(rng.integers(1, rows - 1, int(rng.integers(0, 3))).tolist())), rows - 1]
    return [
        {"kind": "polynomial", "knots": knots[a : b + 1].tolist(), "coefficients": coefficients[:, a:b].tolist()}
        for a, b in pairwise(cuts)
    ]


def draw_series(rng: np.random.Generator, n: int) -> list[dict[str, Any]]:
    """One series in stretches, of which some are joined wrongly: offset, amplitude or phase."""
    a, b = rng.standard_normal((2, n, 2))
    at = np.cumsum(rng.uniform(0.3, 2.0, int(rng.integers(2, 5))))
    whole = {"kind": "fourier", "omega": 1.3, "harmonics": [1, 3], "phase_time": 0.0}
    whole |= {"a": a.tolist(), "b": b.tolist(), "offset": rng.standard_normal(n).tolist()}
    pieces = [json.loads(json.dumps({**whole, "start": s, "end": e})) for s, e in pairwise(at)]
    if rng.random() < 0.7:
        piece, size = pieces[int(rng.integers(len(pieces)))], 10.0 ** rng.uniform(-12.0, 0.0)
        kind, joint = rng.choice(["a", "b", "offset", "phase_time"]), int(rng.integers(n))
        if kind == "phase_time":
            piece[kind] += size
        elif kind == "offset":
            piece[kind][joint] += size
        else:
            piece[kind][joint][0] += size
    return pieces


def true_ends(pieces: list[dict[str, Any]]) -> Array:
    """(2, n, 3) q, q̇, q̈ at the start and at the end."""
    last = len(pieces[-1]["knots"]) - 2 if pieces[-1]["kind"] == "polynomial" else 0
    return np.array([span_states(pieces[0], 0, 0), span_states(pieces[-1], last, 1)])


def draw_family(rng: np.random.Generator, n: int) -> tuple[dict[str, Any], Array, Array]:
    """A file without pieces, run through several times, the jumps (n, 3) where it begins again, and its ends."""
    family = Fourier(3.0, 2) if rng.random() < 0.4 else BSpline(3.0, 4)
    delta = rng.standard_normal((n, family.coefficients))
    if rng.random() < 0.3:  # comes back, up to a little
        delta[:] = delta[:, :1] + rng.choice([0.0, 1e-12, 1e-6]) * delta
    periods = int(rng.integers(1, 4))
    ends = np.stack([np.stack([b[k] @ delta.T for b in family.basis(np.array([0.0, 3.0]), 2)]) for k in (0, 1)])
    jumps = np.abs(ends[1] - ends[0]).T if periods > 1 else np.zeros((n, 3))
    return {"trajectory": written(family), "coefficients": delta, "periods": periods}, jumps, ends.transpose(0, 2, 1)


def file_trial(seed: int, samples: int = 0) -> list[str]:
    """Everything that is wrong with what is said of one file made by hand."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    robot = random_robot(seed, n, prismatic=0.3).with_limits(jerk=1e9, upper=1e9, lower=-1e9)
    order = rng.permutation(n)
    names, kind = [robot.joint_names[k] for k in order], rng.choice(["spans", "spans", "series", "family", "shifted"])
    data: dict[str, Any] = {"joints": names}
    gap = 0.0
    if kind == "family":
        family, jumps, ends = draw_family(rng, n)
        family["coefficients"] = dict(zip(names, family["coefficients"].tolist(), strict=True))
        data |= family
    else:
        pieces = draw_series(rng, n) if kind == "series" else draw_polynomials(rng, n)
        if kind == "shifted":
            moved, dt = pieces[-1], rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-6.0, 0.0)
            if len(pieces) > 1:
                moved["knots"] = [t + dt for t in moved["knots"]]
        jumps, gap = true_jumps(pieces)
        ends = true_ends(pieces)
        data["pieces"] = pieces
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trajectory.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        found = judge_file(robot, path, names, jumps, gap) + judge_ends(robot, path, names, ends, gap)
    return [f"file {seed}, {kind}: {line}" for line in found]


def judge_file(robot: Robot, path: Path, names: list[str], jumps: Array, gap: float) -> list[str]:
    """jumps (n, 3): those of q, q̇, q̈ that are really there, of the joints in the order of ``names``."""
    try:
        curve = read_trajectory(path, robot, jumps=True)
    except MotionError as error:
        return [] if gap > 1e-9 else [f"refused: {error}"]
    if gap > 1e-5:
        return [f"a gap of {gap:.3g} s was read"]
    clock = 16.0 * float(np.spacing(curve.end))  # rounding of the times: a jump of that size may be either
    certificate, found = certify(robot, curve), []
    told = {(v.where, v.what): v for v in certificate.limits if v.status == "broken"}
    unsure = clock * 100.0 + gap * 100.0
    for name, row in zip(names, jumps, strict=True):
        for order, word in enumerate(WORDS):
            verdict = told.get((name, f"jump of {word}"))
            if row[order] > CLEAR_JUMP + unsure and verdict is None:
                found.append(f"{word} of {name} jumps by {row[order]:.3g}, not told")
            if row[order] < NO_JUMP - unsure and verdict is not None:
                found.append(f"{word} of {name} jumps by {row[order]:.3g}, told as {verdict.reached:.3g}")
            if verdict and abs(verdict.reached - row[order]) > 1e-6 * row[order] + 1e-9 + unsure:
                found.append(f"{word} of {name} jumps by {row[order]:.9g}, told as {verdict.reached:.9g}")
        if row[2] > 1.0 and row[:2].max() < NO_JUMP and (name, "jerk") not in told:
            found.append(f"acceleration of {name} jumps by {row[2]:.3g}: jerk not broken")
    if certificate.certified and jumps[:, :2].max(initial=0.0) > CLEAR_JUMP + unsure:
        found.append("certified")
    try:
        read_trajectory(path, robot)
        refused = False
    except MotionError:
        refused = True
    if refused != any("jump" in what for _, what in told):
        found.append(f"{'refused' if refused else 'accepted'} where nothing certifies it, against the certificate")
    return found


def judge_ends(robot: Robot, path: Path, names: list[str], ends: Array, gap: float) -> list[str]:
    """ends (2, n, 3): q, q̇, q̈ at the start and at the end, of the joints in the order of ``names``."""
    if gap > 1e-9:
        return []  # judged before
    certificate, found = certify(robot, read_trajectory(path, robot, jumps=True), from_rest=True), []
    told = {(v.where, v.what) for v in certificate.limits if v.status == "broken"}
    clock = 100.0 * 16.0 * float(np.spacing(certificate.duration))
    for order, (what, part) in enumerate(AT_REST.items(), start=1):
        limits = dict(zip(robot.joint_names, robot.limit(what), strict=True))
        for end, word in enumerate(("from", "to")):
            for name, size in zip(names, np.abs(ends[end, :, order]), strict=True):
                said = (name, f"jump of {what} {word} rest") in told
                if size > 1.1 * part * limits[name] + clock and not (said and not certificate.certified):
                    found.append(f"{what} of {name} {word} rest is {size:.3g}, not told")
                if size < 0.9 * part * limits[name] - clock and said:
                    found.append(f"{what} of {name} {word} rest is {size:.3g}, told")
    return found


# -- descriptions that lack something -----------------------------------------------------------------------------

TERMS = (
    "null",
    "none",
    "[viscous]",
    "[coulomb]",
    "[rotor, offset]",
    "[{coulomb: {shape: {tanh: {width: 1.0}}}}]",
    "[viscous, {coulomb: {shape: {dahl: {delta: 0.5}}}}]",
    "[{coulomb: {joints: [j1]}}, {viscous: {joints: [j1]}}]",
    "[{stribeck: {velocity: 0.1}}]",
)
MASSES = ("given", "given", "given", "none", "alike", "one missing", "one placeholder", "one unreal")
WRONG_BODIES = {"one placeholder": (1e-6, np.full(3, 1e-9)), "one unreal": (1.0, np.array([0.02, 0.02, 0.06]))}
FRICTION = ("given", "given", "given", "none", "one missing", "damping alone", "dry alone")


def draw_urdf(rng: np.random.Generator, n: int, masses: str, friction: str, effort: Array) -> tuple[str, Array, Array]:
    """The text, and the viscous and dry friction (n,) that it declares."""
    viscous, dry = rng.uniform(0.1, 2.0, (2, n))
    missing = int(rng.integers(n))
    which = missing if friction == "one missing" else slice(None)
    if friction not in ("given", "damping alone"):
        viscous[which] = 0.0
    if friction not in ("given", "dry alone"):
        dry[which] = 0.0
    text = ['<robot name="drawn"><link name="l0"/>']
    bare = int(rng.integers(n)) if masses.startswith("one ") else -1
    for j in range(n):
        axis, origin, centre = rng.standard_normal(3), 0.4 * rng.standard_normal(3), 0.2 * rng.standard_normal(3)
        mass, moments = rng.uniform(0.5, 4.0), rng.uniform(0.02, 0.03, 3)
        if masses == "alike":
            mass, moments, centre = 1.0, np.full(3, 0.01), np.zeros(3)
        if j == bare:
            mass, moments = WRONG_BODIES.get(masses, (0.0, moments))
        inertial = "" if masses == "none" or mass == 0.0 else _inertial(mass, centre, moments)
        text.append(
            f'<link name="l{j + 1}">{inertial}</link><joint name="j{j + 1}" type="revolute"><parent link="l{j}"/>'
            f'<child link="l{j + 1}"/><origin xyz="{_numbers(origin)}"/>'
            f'<axis xyz="{_numbers(axis / np.linalg.norm(axis))}"/>'
            f'<limit lower="-50" upper="50" velocity="100" effort="{float(effort[j])!r}"/>'
            f'<dynamics damping="{float(viscous[j])!r}" friction="{float(dry[j])!r}"/></joint>'
        )
    return "".join([*text, "</robot>"]), viscous, dry


def _inertial(mass: float, centre: Array, moments: Array) -> str:
    x, y, z = (float(moment) for moment in moments)
    return (
        f'<inertial><origin xyz="{_numbers(centre)}"/><mass value="{float(mass)!r}"/>'
        f'<inertia ixx="{x!r}" iyy="{y!r}" izz="{z!r}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def _numbers(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)


def description_trial(seed: int, samples: int = 2000) -> list[str]:
    """Everything that is wrong with the torque limits of one URDF, read, configured and certified as a user does."""
    rng = np.random.default_rng(seed)
    n, masses, friction = int(rng.integers(2, 5)), str(rng.choice(MASSES)), str(rng.choice(FRICTION))
    state = rng.bit_generator.state
    text, viscous, dry = draw_urdf(rng, n, masses, friction, np.full(n, 1e6))
    a, b = 0.5 * rng.standard_normal((2, n, 2))
    a[rng.permutation(n)[2:]] = 0.0
    curve = Curve((FourierPiece(0.0, 4.0, np.pi / 2, np.array([1, 2]), a, b, rng.uniform(-1, 1, n)),))
    payload = rng.uniform(0.5, 3.0) if rng.random() < 0.3 else 0.0
    centre, terms = 0.2 * rng.standard_normal(3), str(rng.choice(TERMS))
    slack = float(rng.choice([0.01, -(10.0 ** rng.uniform(-7.0, -3.0))]))
    motion = dense(curve, samples)
    highest, lowest = pinocchio_torque(text, motion, viscous, dry, payload, centre)
    tau = np.maximum(np.maximum(highest, -lowest).max(axis=0), 1e-3)
    after, rng.bit_generator.state = rng.bit_generator.state, state  # the same robot again, with limits near the truth
    text, *_ = draw_urdf(rng, n, masses, friction, tau * (1.0 + slack))
    rng.bit_generator.state = after
    settings: dict[str, Any] = {"terms": yaml.safe_load(terms)}
    if payload:
        load_ = {"frame": f"l{n}", "mass": float(payload), "centre": centre.tolist()}
        settings["constraints"] = {"torque": {"payload": load_}}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("robot.urdf", "config.yaml", "trajectory.json")]
        paths[0].write_text(text, encoding="utf-8")
        paths[1].write_text(yaml.safe_dump(settings), encoding="utf-8")
        config = SettingsFile.read(paths[1]).design
        robot = load(paths[0], config.robot)
        paths[2].write_text(json.dumps(exact_data(curve, robot)), encoding="utf-8")
        moved = read_trajectory(paths[2], robot)
    constraints = config.constraints_of(robot)
    certificate = certify(robot, moved, constraints)
    sentences = texts(unchecked(robot, constraints, certificate))
    told = [sentence for sentence in sentences if sentence.startswith("torque")]
    found = []
    for limit in certificate.limits:
        if limit.what == "acceleration" and limit.status == "holds":
            found.append(f"acceleration of {limit.where}, which nobody gave, counts as proved")
        if limit.what != "torque":
            continue
        j = robot.index(limit.where)
        bound = tau[j] * (1.0 + slack)
        room = 1.0 - (highest[:, j].max() if limit.upper else -lowest[:, j].min()) / bound
        lacking = masses in ("none", "alike") or 0.0 in (viscous[j], dry[j]) or _carries_nothing(text, j, n)
        said = f"torque of {limit.where} with masses {masses}, friction {friction}, terms {terms}: {limit.status}"
        if lacking and limit.status == "holds":
            found.append(f"missing data, {said}")
        if room < -1e-9 and limit.status in ("holds", "assumed") and _moves(moved, j, motion):
            found.append(f"broken by {room:.3g}, {said}")
        if slack > 0 and limit.status != ("assumed" if lacking else "holds"):
            found.append(f"with {room:.3g} to spare, {said}")
        if lacking and not any(s.startswith("torque:") or limit.where in s.partition(":")[0] for s in told):
            found.append(f"not told as not checked, {said}")
    return [f"description {seed}: {line}" for line in found]


def _moves(curve: Curve, j: int, motion: Motion) -> bool:
    """Friction of a joint that stands may act either way, or not at all: only of one that moves it is known."""
    return bool((np.abs(motion.qd[:, j]) > STILL).any())


def _carries_nothing(text: str, j: int, n: int) -> bool:
    """Whether a body from joint j on has no mass in the text, a placeholder's, or the inertia of no body."""
    links = text.split('<link name="l')[2:]
    return any("<inertial>" not in x or 'value="1e-06"' in x or 'izz="0.06"' in x for x in links[j:n])


def pinocchio_torque(
    text: str, motion: Motion, viscous: Array, dry: Array, payload: float, centre: Array
) -> tuple[Array, Array]:
    """Highest and lowest torque (N, n) that the text means, by Pinocchio's own reader; joints at rest may stick."""
    model = pin.buildModelFromXML(text)
    if payload:
        last = model.njoints - 1
        model.inertias[last] = model.inertias[last] + pin.Inertia(payload, centre, np.zeros((3, 3)))
    data, rows = model.createData(), []
    for q, qd, qdd in zip(motion.q, motion.qd, motion.qdd, strict=True):
        rows.append(pin.rnea(model, data, q, qd, qdd).copy())
    smooth, stuck = np.array(rows) + viscous * motion.qd, np.abs(motion.qd) < STILL
    return tuple(smooth + dry * np.where(stuck, side, np.sign(motion.qd)) for side in (1.0, -1.0))  # type: ignore[return-value]


# -- what is drawn is not what collides -----------------------------------------------------------------------------


def shapes_trial(seed: int, samples: int = 500) -> list[str]:
    """Distances of bodies whose visual and collision shapes differ, against coal on what Pinocchio reads as collision.

    Needs a MeshDistance that measures collision shapes (``MEASURES_COLLISION_SHAPES``).
    """
    rng = np.random.default_rng(seed)
    axes = [_numbers(axis / np.linalg.norm(axis)) for axis in rng.standard_normal((2, 3))]
    links = [f'<link name="l{k}">{_solid(rng, "visual")}{_solid(rng, "collision")}</link>' for k in range(3)]
    joints = [
        f'<joint name="j{k + 1}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="{_numbers(0.6 * rng.standard_normal(3))}"/><axis xyz="{axes[k]}"/>'
        '<limit lower="-9" upper="9" velocity="9" effort="9"/></joint>'
        for k in range(2)
    ]
    a, b = 0.4 * rng.standard_normal((2, 2, 1))
    curve = Curve((FourierPiece(0.0, 2.0, np.pi, np.array([1]), a, b, rng.uniform(-1, 1, 2)),))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(f'<robot name="drawn">{"".join(links + joints)}</robot>', encoding="utf-8")
        robot = load(path)
        model = pin.buildModelFromUrdf(str(path))
        geometry = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.COLLISION)
    apart = 0.1 * shape_truth(model, geometry, 0.0)(dense(curve, samples)).min()
    if apart < 0.02:
        return []

    def near(slack: float) -> tuple[Constraint, Truth]:
        clearance = float(apart - 0.1 * slack)
        return MeshDistance(robot, (("base", "j2"),), clearance), shape_truth(model, geometry, clearance)

    case, motion = Case("collision shapes", near, 1e-5), dense(curve, samples)
    found = unsound_intervals(case, curve, rng, 20) + wrong_verdicts(case, robot, curve, motion, rng)
    return [f"shapes {seed}: {line}" for line in found]


def _solid(rng: np.random.Generator, role: str) -> str:
    kind = rng.choice(["box", "sphere", "cylinder"])
    size = rng.uniform(0.05, 0.3, 3)
    given = {
        "box": f'<box size="{_numbers(size)}"/>',
        "sphere": f'<sphere radius="{float(size[0])!r}"/>',
        "cylinder": f'<cylinder radius="{float(size[0])!r}" length="{float(size[1])!r}"/>',
    }[kind]
    return f'<{role}><origin xyz="{_numbers(0.2 * rng.standard_normal(3))}"/><geometry>{given}</geometry></{role}>'


def shape_truth(model: Any, geometry: Any, clearance: float) -> Truth:
    """Distance of the base and the last body by coal, in units of 0.1 m."""
    data, placed = model.createData(), geometry.createData()
    first, last = (
        next(k for k, shape in enumerate(geometry.geometryObjects) if shape.parentJoint == joint) for joint in (0, 2)
    )
    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-10  # as it comes, it stops some micrometres too early

    def rows(motion: Motion) -> Array:
        values = []
        for q in motion.q:
            pin.updateGeometryPlacements(model, data, geometry, placed, q)
            sides = []
            for k in (first, last):
                at = placed.oMg[k]
                sides += [geometry.geometryObjects[k].geometry, coal.Transform3s(at.rotation, at.translation)]
            values.append(coal.distance(*sides, request, coal.DistanceResult()) - clearance)
        return np.array([values]) / 0.1

    return rows
