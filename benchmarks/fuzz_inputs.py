"""Every reader of Exciter with valid files for it, for ``fuzz_readers.py``: those that the program writes itself, or
that come with it. Reading goes as far as a command does, slow steps on a share of the inputs."""

from __future__ import annotations

import hashlib
import io
import json
import math
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import fuzz_constrained as constrained
from fuzz_damage import BOMBS

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.files.row_files import csv_text, ros2_json, ros2_yaml, sample
from exciter.excitation.files.trajectory_files import exact_data, read_trajectory
from exciter.excitation.optimiser.run_starts import Checkpoint
from exciter.excitation.optimiser.search import Search
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import BSpline
from exciter.excitation.trajectories.ramps import ramped
from exciter.excitation.validation_motion.random_families import RandomPoints, RandomSpline
from exciter.experiment.plan import Plan
from exciter.experiment.quality import Repairs, check, repair
from exciter.experiment.recording import open_recording
from exciter.experiment.sources.open_source import open_source
from exciter.experiment.virtual.true_parameters import draw, read_truth
from exciter.export.ros2 import joint_trajectory
from exciter.identification.identified_model import IdentifiedModel
from exciter.parameters.consistency import dummies
from exciter.parameters.terms import joint_terms
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.robot.robot import Robot
from exciter.robot.yaml_file import parse_yaml
from support.log_files import WRITERS

CHECKED = 0.1  # of the logs and trajectories, on which the slow next step is tried, too
ROBOTS = Path(__file__).parents[1] / "tests" / "robots"
ARM = "gautier-khalil"
PLAN = """
experiment: static
robot: gautier-khalil
estimator: static
stages:
- {name: poses, purpose: rest, motion: poses/m.json, log: logs/poses.csv, moves: [joint_1], dwells: [[0.0, 1.0]]}
- name: sweeps
  purpose: constant-velocity
  motion: sweeps/trajectory.json
  log: logs/sweeps.csv
  cruises: [{joint: joint_1, speed: 0.5, start: 1.0, end: 2.0}]
"""


@cache
def arm() -> Robot:
    return embedded.robot(ARM)


@lru_cache(50)
def _model(words: str) -> DynamicModel:
    return DynamicModel(arm(), joint_terms(json.loads(words), arm(), "terms"))


@cache
def motion_files() -> dict[str, bytes]:
    """trajectory.csv, .json and messages of short motions of the arm, as the program writes them."""
    robot, files = arm(), {}
    for name, family in (("fourier", Fourier(2.0, 2)), ("spline", BSpline(2.0, 3))):
        delta = 0.1 * np.random.default_rng(0).standard_normal((robot.n, len(family.labels)))
        curve = family.curve(delta)
        if isinstance(family, Fourier):
            curve = ramped(family, delta, robot, periods=1)
            exact = exact_data(curve, robot, family, delta)
            files[f"{name}.json"] = json.dumps(exact).encode()
            exact.pop("pieces")
            files["family.json"] = json.dumps(exact).encode()
        rows = sample(curve, 5.0)
        files[f"{name}.exact.json"] = json.dumps(exact_data(curve, robot)).encode()
        files[f"{name}.csv"] = csv_text(rows, robot.joint_names).encode()
        files[f"{name}.ros2.yaml"] = ros2_yaml(rows, robot.joint_names).encode()
        files[f"{name}.ros2.json"] = ros2_json(rows, robot.joint_names).encode()
    return files


@cache
def log_files() -> dict[str, bytes]:
    """One small log of the arm in every format, and tables of foreign ones."""
    robot = arm()
    names = [f"{joint}.{word}" for joint in robot.joint_names for word in ("q", "qd", "tau")]
    time_ = np.arange(60) / 100.0
    table = np.column_stack([time_, *(np.sin(2.0 * time_ + k) for k in range(len(names)))])
    stream = io.StringIO()
    np.savetxt(stream, table, fmt="%.9g", delimiter=",", header=",".join(["time", *names]), comments="")
    files = {"log.csv": stream.getvalue().encode()}
    native = io.BytesIO()
    q, qd, tau = (np.ascontiguousarray(table[:, 1 + k :: 3]) for k in range(3))
    about = json.dumps({"period": 0.3, "notes": {"a": "b"}})
    np.savez(native, time=time_, q=q, qd=qd, torque=tau, joints=np.array(robot.joint_names), about=np.array(about))
    files["native.npz"] = native.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        for kind, (write, _) in WRITERS.items():
            at = Path(folder) / kind
            at.mkdir()
            path = write(at, table[:30, :4])
            if path.is_file():
                files[f"{kind}{path.suffix}"] = path.read_bytes()
            elif kind == "sage":
                files |= {f"{file.stem}.list": file.read_bytes() for file in path.iterdir()}
    return files


RECORDINGS = (
    {
        "file": "log.csv", "joints": list(embedded.robot(ARM).joint_names), "time": {"column": "time", "unit": "s"},
        "position": {"columns": "{joint}.q", "unit": "rad"}, "velocity": {"columns": "{joint}.qd", "unit": "rad/s"},
        "torque": {"columns": "{joint}.tau", "unit": "N·m", "side": "motor", "unusable": [arm().joint_names[0]]},
        "windows": [[0.0, 0.3], [0.35, 0.5]],
        "gravity": [0, 0, -9.81], "payload": {"frame": "flange", "mass": 1.0, "centre": [0, 0, 0.1]}, "period": 0.2,
        "settled": 0.1, "filter": {"order": 4, "cutoff": 40}, "notes": {"who": "me"}, "signs": [1] * arm().n,
        "offset": {"values": [0.0] * arm().n, "unit": "deg"}, "repair": {"interpolate": 0.02, "longest_gap": 0.1},
    },
    {
        "file": "log.csv", "format": "csv", "delimiter": ",", "header": True, "comment": "#", "skip": 0, "decimal": ".",
        "missing": ["ERR"], "joints": list(arm().joint_names), "time": {"rate": 100.0},
        "position": {"columns": [1 + 3 * k for k in range(arm().n)], "unit": "rad", "factor": 1.0},
        "current": {"columns": [3 + 3 * k for k in range(arm().n)], "unit": "A", "gains": [10.0] * arm().n},
        "drive": {"position": [1.0] * arm().n, "torque": [2.0] * arm().n}, "gravity": {"exactly": [0, 0, -9.81]},
        "windows": [{"rows": [0, 20]}, {"percent": [60, 100]}], "delay": {"current": 0.004},
    },
    {
        "file": "log.csv", "joints": list(arm().joint_names), "time": {"column": "time", "unit": "s"},
        "position": {"columns": "{joint}.q", "unit": "rad"},
        "current": {
            "columns": "{joint}.tau", "unit": "A",
            "map": [
                {"saturation": {"gain": 12.0, "limit": 900.0}}, {"polynomial": {"odd": [12, 0, -1e-6], "even": [1e-5]}},
                *[{"table": {"current": [0, 50, 500], "torque": [0, 40, 300]}}] * (arm().n - 2),
            ],
        },
        "filter": {
            "torque": [{"numerator": [1], "denominator": [4e-6, 4e-3, 1]}, *["none"] * (arm().n - 1)],
            "position": {"poles": [-400, [-150, 200]], "zeros": [-110], "gain": 1.0},
            "velocity": {"frequency": [1, 10, 40], "gain_db": [0, -0.2, -3], "phase_rad": [-0.02, -0.2, -1]},
        },
    },
)  # fmt: skip
DESIGNS = (
    "limits: {torque: 50.0, acceleration: 5.0, velocity: 2.0}\nterms: [rotor, viscous, coulomb]\n"
    "trajectory: {family: fourier, period: 10.0, harmonics: 5, at_rest: true, periods: 3, rate: 200, "
    "ramps: {start: home}, duration_range: [5, 20]}\ncriterion: d-optimal\nformulation: dynamic\nnoise: 1.0\n"
    "samples: 2000\nstarts: 16\nseed: 0\njobs: 2\ntime_limit: 60\ngravity: [0, 0, -9.81]\n",
    "trajectory: {family: bspline, duration: 10, segments: 8, degree: 5, variables: waypoints}\n"
    "criterion: {condition: 1.0, torque-activity: 0.1}\nconstraints:\n  torque: {margin: 0.1}\n  workspace:\n"
    "    - {frame: FRAME, z_min: -5, x_max: 5}\n    - {frame: FRAME, outside_cylinder: {radius: 0.01, upper: 0.4}}\n"
    "    - any_of: [{frame: FRAME, z_min: -6}, {frame: FRAME, inside_sphere: {centre: [0, 0, 0], radius: 9}}]\n",
    "trajectory: {family: quintic, times: [0, 1, 2, 3]}\ncriterion: {cramer-rao: {joint_noise: 1.0e-4}}\nlock: []\n"
    "terms: [rotor, {coulomb: {smooth: 0.01}}, offset, {gas-spring: {joint: JOINT}}]\n",
    "trajectory: {family: acceleration, duration: 5, intervals: 20}\nformulation: energy\nnoise: 0.5\n",
    "trajectory: {family: chirp, duration: 10, lowest: 0.2, highest: 2.0, sweeps: 2, fall: 1.0, rise: 0.1}\n",
    "trajectory: {family: steps, rises: [0.5, 0.4], holds: [0.2, 1.0, 0.3]}\ncriterion: log-sigma\n",
    "trajectory: {family: random-points, points: 20, rest: 0.2, rise: 0.05, draws: 2000}\n",
    "trajectory: {family: random-spline, duration: 20, segments: 20, degree: 5, draws: 50}\n",
)
IDENTIFICATIONS = (
    "terms: [rotor, viscous, coulomb, offset]\nidentify: {formulation: dynamic, estimator: consistent, "
    "route: {method: differences, cutoff: 20, order: 4, measured_velocity: true}, filter: {cutoff: 10, order: 4}, "
    "dead_zone: 0.02, evaluation: {cutoff: 10, order: 4}, noise: 1.0, uncertainty: correlated, folds: 10, "
    "friction: choose, accept_problems: false}\n",
    "identify: {formulation: {energy: {interval: 0.05}}, estimator: {irls: {c: 4.0}}, route: {method: fourier, "
    "harmonics: 5, period: 2.0}, gains: identify, control: {law: pd, bandwidth: 20, damping: 1.0}}\n",
    "identify: {formulation: {filtered: {a: 20}}, estimator: {tls: {errors: {ZZR1: 0.1}}}, route: {method: spline, "
    "knots_per_second: 20, degree: 5}, dead_zone: {JOINT: 0.1}}\n",
    "identify: {estimator: {consistent: {weight: 0.1, margin: 1.0e-4, bounds: [{joint: JOINT, mass: [0.1, 20]}]}}}\n",
    "identify: {estimator: {two-step: {wrist: 1}}}\n", "identify: {estimator: {essential: {level: 5}}}\n",
)  # fmt: skip
SIMULATIONS = (
    "simulate: {truth: {seed: 0, bodies: 0.1, friction: 0.2}, control: {law: computed-torque, bandwidth: 20, "
    "damping: 1.0, rate: 1000}, start: {at_rest: true, error: 0.0}, drive: {gear: 100, torque_constant: 0.1}, "
    "encoder: {counts: 4096, side: motor, noise: 0.0, velocity_noise: 0.001}, torque: {signal: torque, side: motor, "
    "noise: 0.5}, ripple: {amplitude: 0.3, per_turn: 6}, filter: {order: 8, cutoff: 40}, log: {rate: 500, jitter: 0.0, "
    "dropped: 0.0}, flexibility: {stiffness: 20000, damping: 20, encoder: motor}, simulation_rate: 4000}\n",
    "simulate: {truth: {seed: 1, viscous: 1.0, coulomb: 2.0, stribeck: 0.5, stribeck_velocity: 0.1, rotor_inertia: 1},"
    " control: {law: pd, stiffness: 100, derivative: 10}, payload: {frame: FRAME, mass: 2.0, centre: [0, 0, 0.05]}}\n",
)
OPTIONS = (
    "limits: {acceleration: 5.0, velocity: {JOINT: 1.0}}\ngravity: [0, 0, -9.81]\nlock: {JOINT: 0.1}\nmesh_root: ..\n",
)


def _named(texts: Iterable[str]) -> list[bytes]:
    frame = arm().frame_names[-1]
    return [text.replace("FRAME", frame).replace("JOINT", arm().joint_names[0]).encode() for text in texts]


def design(path: Path, rng: random.Random) -> None:
    config = SettingsFile.read(path).design
    family = config.motion
    robot = config.robot.apply(arm())
    config.noise_of(robot)
    config.formulation_of()
    config.ramps(robot)
    config.to_dict()
    if robot.n == arm().n and rng.random() < 0.2:
        model = config.model(robot)
        config.constraints_of(robot)
        if not isinstance(family, RandomPoints | RandomSpline):
            config.criterion_of(model)


def identification(path: Path, rng: random.Random) -> None:
    config = SettingsFile.read(path).identify
    robot = config.robot.apply(arm())
    config.formulation(())
    _ = config.route, config.uncertainty, config.settings.folds, config.known_parameters
    config.to_dict()
    if rng.random() < CHECKED:
        config.refuse_early(robot, planned=True)


def log(path: Path, rng: random.Random) -> None:
    recording = open_recording(path).read()
    if rng.random() < CHECKED and set(recording.joints) == set(arm().joint_names):
        check(recording, arm())
        repair(recording.arranged(arm()), Repairs())


def described_log(path: Path, rng: random.Random) -> None:
    (path.parent / "log.csv").write_bytes(log_files()["log.csv"])
    file = open_recording(path)
    recording, repairs = file.read(), file.repair
    if rng.random() < CHECKED and set(recording.joints) == set(arm().joint_names):
        check(recording, arm())
        repair(recording.arranged(arm()), repairs)


def table(path: Path, rng: random.Random) -> None:
    """Any file of numbers, as a recording.yaml would have it read."""
    source = open_source(path)
    for _ in source.blocks(range(len(source.names)), 100):
        pass
    if rng.random() < 0.3:
        open_recording(path).read()


def lists(path: Path, rng: random.Random) -> None:
    """A folder of SAGE, of which one file, or both, are damaged."""
    with tempfile.TemporaryDirectory() as folder:
        whole = log_files()
        both = {name: whole[f"{name}.list"] for name in ("control", "state_motor")}
        for name in rng.choice((["control"], ["state_motor"], list(both))):
            both[name] = path.read_bytes()
        for name, content in both.items():
            (Path(folder) / f"{name}.csv").write_bytes(content)
        table(Path(folder), rng)


def trajectory(path: Path, rng: random.Random) -> None:
    curve = read_trajectory(path, arm())
    if rng.random() < CHECKED:
        certify(arm(), curve, [])


def checkpoint(path: Path, rng: random.Random) -> None:
    """A design that was interrupted. (Its folder is the user's, its content is not.)"""
    Checkpoint.opened(path, _search()).attempts(starts=4)


@cache
def _search() -> Any:
    model = _model('["viscous"]')
    objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(model.n))
    return Search(Fourier(2.0, 2), objective, (), 100, 0)


@cache
def checkpoint_file() -> bytes:
    """As an interrupted search leaves it: two starts, one of which found nothing."""
    search = _search()
    with tempfile.TemporaryDirectory() as folder:
        kept = Checkpoint.opened(Path(folder) / "checkpoint.json", search)
        kept.append(search.run(0))
        kept.append(replace(search.run(1), delta=None, value=math.inf, obstacle="position of joint_1"))
        return kept.path.read_bytes()


def result(path: Path, rng: random.Random) -> None:
    """A folder of ``exciter identify``: result.json damaged, the description beside it whole."""
    folder = path.parent
    shutil.copy(_description(), folder / "robot.yaml")
    path.replace(folder / "result.json")
    found = IdentifiedModel.read(folder)
    _ = found.values, found.chi, found.gains, found.equivalent


def _description() -> Path:
    return embedded.path(ARM)


@cache
def result_file() -> bytes:
    words = ["rotor", "viscous"]
    model = DynamicModel(arm(), joint_terms(words, arm(), "terms"))
    names = model.base.names
    about = {
        "name": ARM, "joints": list(arm().joint_names), "gravity": arm().gravity.tolist(), "file": "robot.yaml",
        "sha256": hashlib.sha256(_description().read_bytes()).hexdigest(),
    }  # fmt: skip
    none, one = dict.fromkeys(arm().joint_names, 0.0), dict.fromkeys(arm().joint_names, 1.0)
    data = {
        "parameters": [{"name": name, "value": 0.5, "std": 0.1, "unit": "kg"} for name in names],
        "physically_consistent": True, "settings": {"terms": words, "identify": {"filter": {"cutoff": 10}}},
        "terms": words, "judged_through": {"cutoff": 10.0, "order": 4}, "dead_zone": none, "noise": one,
        "covariance": np.eye(len(names)).tolist(), "assumption": "white", "words": ["a"], "degrees_of_freedom": 100.0,
        "condition_number": 10.0, "condition_number_normalized": None, "robot": about, "versions": {"exciter": "0"},
        "standard": dict.fromkeys(model.standard, 0.1), "runs": [{"log": "log.csv", "sources": []}],
        "gains": {"gains": [{"value": 1.0}]},
    }  # fmt: skip
    return json.dumps(data).encode()


def designed(path: Path, rng: random.Random) -> None:
    """A folder of ``exciter design``, of which one file is damaged, for ``export --format ros2``."""
    folder, content = path.parent, path.read_bytes()
    files = {"trajectory.csv": "fourier.csv", "trajectory.json": "fourier.json"}
    for name, source in files.items():
        (folder / name).write_bytes(motion_files()[source])
    (folder / "design.json").write_bytes(design_file())
    (folder / rng.choice((*files, "design.json", "design.json"))).write_bytes(content)
    joint_trajectory(folder)


def design_file() -> bytes:
    names = {"trajectory.csv": "fourier.csv", "trajectory.json": "fourier.json"}
    hashes = {name: hashlib.sha256(motion_files()[source]).hexdigest() for name, source in names.items()}
    files = {"certificate": {"certified": True}, "rate": 5.0}
    return json.dumps({"robot": {"joints": list(arm().joint_names)}, "files": files, "sha256": hashes}).encode()


def truth(path: Path, rng: random.Random) -> None:
    found = read_truth(path, arm())
    if rng.random() < CHECKED:
        _ = found.chi


@cache
def truth_file() -> bytes:
    return json.dumps(draw(arm(), 0).to_dict()).encode()


File = tuple[str, str, bytes]  # suffix, kind of damage, content


@dataclass(frozen=True)
class Reader:
    """read: a path, as far as a command goes. files: what is damaged. weight: share of the inputs."""

    read: Callable[[Path, random.Random], object]
    files: Callable[[], list[File]]
    weight: float


def _robot(path: Path, rng: random.Random) -> None:
    robot = load(path)
    if rng.random() < CHECKED:
        dummies(robot)
        draw(robot, 0)


def _options(path: Path, rng: random.Random) -> None:
    SettingsFile.read(path).robot.apply(arm())


def _plan(path: Path, rng: random.Random) -> None:
    Plan.is_one(path)
    Plan.read(path).refuse_other(arm())


def _yaml(path: Path, rng: random.Random) -> None:
    parse_yaml(path.read_text("utf-8", "replace"), "text")


def _virtual(path: Path, rng: random.Random) -> None:
    SettingsFile.read(path).virtual(arm(), 0)


def _of_tests(end: str) -> Callable[[], list[File]]:
    return lambda: [(Path(end).suffix or end, "xml", path.read_bytes()) for path in sorted(ROBOTS.glob(f"*{end}"))]


def _each(suffix: str, texts: Iterable[bytes]) -> list[File]:
    return [(suffix, "xml", text) for text in texts]


def _trees(texts: Iterable[str]) -> Callable[[], list[File]]:
    return lambda: [(".yaml", "tree", text) for text in _named(texts)]


def _one(file: Callable[[], bytes]) -> Callable[[], list[File]]:
    return lambda: [(".json", "tree", file())]


def _chosen(files: Callable[[], dict[str, bytes]], end: str, kind: str) -> Callable[[], list[File]]:
    return lambda: [(Path(name).suffix, kind, text) for name, text in files().items() if name.endswith(end)]


def _embedded() -> list[File]:
    return [(".yaml", "tree", embedded.path(name).read_bytes()) for name in (ARM, "kuka-ir361")]


def _any_yaml() -> list[File]:
    return [*_trees((*DESIGNS, *SIMULATIONS))(), *((".yaml", "text", text.encode()) for text in BOMBS)]


def _of_design() -> list[File]:
    files = (*_chosen(motion_files, "fourier.json", "tree")(), *_chosen(motion_files, "fourier.csv", "text")())
    return [(".json", "tree", design_file()), *files]


READERS: dict[str, Reader] = {
    "urdf": Reader(_robot, _of_tests(".urdf"), 5),
    "mjcf": Reader(_robot, _of_tests(".xml"), 5),
    "mdh": Reader(_robot, _embedded, 5),
    "options": Reader(_options, _trees(OPTIONS), 15),
    "yaml": Reader(_yaml, _any_yaml, 20),
    "design": Reader(design, _trees(DESIGNS), 8),
    "identify": Reader(identification, _trees(IDENTIFICATIONS), 8),
    "simulate": Reader(_virtual, _trees(SIMULATIONS), 4),
    "plan": Reader(_plan, _trees([PLAN]), 4),
    "recording": Reader(described_log, _trees(map(json.dumps, RECORDINGS)), 4),
    "csv": Reader(log, _chosen(log_files, "log.csv", "text"), 8),
    "text": Reader(table, _chosen(log_files, ".csv", "text"), 8),
    "npz": Reader(table, _chosen(log_files, ".npz", "zip"), 6),
    "npy": Reader(table, _chosen(log_files, ".npy", "binary"), 10),
    "mat": Reader(table, _chosen(log_files, ".mat", "binary"), 6),
    "pt": Reader(table, _chosen(log_files, ".pt", "zip"), 6),
    "parquet": Reader(table, _chosen(log_files, ".parquet", "binary"), 4),
    "sage": Reader(lists, _chosen(log_files, ".list", "text"), 4),
    "mcap": Reader(table, _chosen(log_files, ".mcap", "binary"), 1),
    "db3": Reader(table, _chosen(log_files, ".db3", "binary"), 0.5),
    "trajectory-csv": Reader(trajectory, _chosen(motion_files, ".csv", "text"), 10),
    "trajectory-json": Reader(trajectory, _chosen(motion_files, ".json", "tree"), 10),
    "trajectory-yaml": Reader(trajectory, _chosen(motion_files, ".yaml", "tree"), 5),
    "truth": Reader(truth, _one(truth_file), 5),
    "result": Reader(result, _one(result_file), 1),
    "designed": Reader(designed, _of_design, 3),
    "loops": Reader(constrained.closed, _trees(constrained.LOOPS), 1),
    "mimics": Reader(constrained.coupled, lambda: _each(".urdf", constrained.coupled_files()), 3),
    "equalities": Reader(constrained.coupled, lambda: _each(".xml", constrained.tied_files()), 1),
    "free-base": Reader(constrained.free, _of_tests("quadruped.urdf"), 2),
    "base-log": Reader(constrained.base_log, lambda: _trees(constrained.base_logs())(), 4),
    "checkpoint": Reader(checkpoint, lambda: [(".json", "lines", checkpoint_file())], 2),
}


@cache
def seeds_of(name: str) -> list[File]:
    return READERS[name].files()
