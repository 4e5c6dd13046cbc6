"""Exciting trajectories of a UR10 by FIGAROH and by Exciter: criterion reached and processor time, in one run.

    python benchmarks/peer_figaroh.py --python PATH [--seed 0] [--starts 16] [--collisions]

PATH is the interpreter of an environment of its own with FIGAROH (cyipopt has no wheels and is built against IPOPT):

    apt-get install coinor-libipopt-dev liblapack-dev libblas-dev pkg-config g++
    python -m venv figaroh && figaroh/bin/pip install figaroh cyipopt example-robot-data

FIGAROH runs with the settings of its UR10 example: two stretches of 7 way-points, 2 s apart, 20 samples per second,
100 iterations of IPOPT each, 10 % of every range kept free at either end; the condition number of its base regressor,
no friction. Self-collision, which its example avoids where meshes are found, is off unless asked for; Exciter's always
is. Exciter then designs for the same robot, parameters (FIGAROH's own base columns), duration, number of way-points and
samples, within the tighter of FIGAROH's limits, with no more acceleration than FIGAROH's motion has (which FIGAROH does
not limit), by a B-spline of degree 5. Processor seconds of one core; Exciter's are medians over different seeds, with
compiled kernels in the cache.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # linear algebra on one core
    os.environ[variable] = "1"

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # this file runs in both environments, and neither has the other's package
    from exciter.dynamics.model import DynamicModel
    from exciter.excitation.criteria.criterion import AnyCriterion
    from exciter.robot import Motion, Robot

HOW = "FIGAROH was not found; make an environment for it as the top of this file says, and give --python PATH"
SEGMENTS, WAYPOINTS, STEP, RATE, SOFT, ITERATIONS = 2, 7, 2.0, 20, 0.1, 100
DURATION = SEGMENTS * (WAYPOINTS - 1) * STEP  # [s]
REPEATS = 3  # of every design of Exciter, from different seeds
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")


# -- in the environment of FIGAROH -----------------------------------------------------------------------------------


def peer_settings() -> dict[str, Any]:
    """The few of its settings that its UR10 example gives, for this problem."""
    parts = {"friction": False, "joint_offset": False, "actuator_inertia": False}
    problem = {"include_external_forces": False, "use_joint_torques": True, "model_components": parts}
    search = {"soft_lim": SOFT, "max_attempts": 500, "max_iterations": ITERATIONS}
    shape = {"waypoints": WAYPOINTS, "frequency": RATE, "segment_duration": STEP}
    return {
        "robot": {"name": "ur10"},
        "tasks": {
            "identification": {"enabled": True, "problem": problem, "signal_processing": {}},
            "optimal_trajectory": {"enabled": True, "problem": search, "trajectory": shape},
        },
    }


def run_peer(out: Path, seed: int, collisions: bool) -> None:
    """FIGAROH's trajectory, its base regressor along it and its limits, to a file."""
    import yaml
    from figaroh.optimal.base_optimal_trajectory import BaseOptimalTrajectory, BaseTrajectoryIPOPTProblem
    from figaroh.tools.robot import load_robot

    class Planner(BaseOptimalTrajectory):
        def create_ipopt_problem(self, *problem: Any) -> Any:
            return BaseTrajectoryIPOPTProblem(self, *problem)

    settings = out.with_suffix(".yaml")
    settings.write_text(yaml.safe_dump(peer_settings()))
    urdf = ur10()
    robot = load_robot(str(urdf), package_dirs=str(urdf.parents[4]), load_by_urdf=True)
    if not collisions:
        robot.geom_model = None
    np.random.seed(seed)  # noqa: NPY002 - the generator FIGAROH draws from
    began = time.process_time()
    planner = Planner(robot, [f"{name}_joint" for name in JOINTS], str(settings))
    joints = [robot.model.joints[robot.model.getJointId(name)] for name in planner.active_joints]
    planner.identif_config["act_idxq"] = [joint.idx_q for joint in joints]
    planner.identif_config["act_idxv"] = [joint.idx_v for joint in joints]
    planner.initialize()
    found = planner.solve(stack_reps=SEGMENTS)
    seconds = time.process_time() - began
    stretches = list(zip(found["P_F"], found["V_F"], found["A_F"], strict=True))
    limits = planner.CB
    np.savez(
        out,
        seconds=seconds,
        motion=np.array(stretches),  # (stretches, 3, N, n)
        regressor=np.array([planner._stack_base_regressors(*stretch) for stretch in stretches]),
        converged=[bool(data["converged"]) for data in found["iteration_data"]],
        lower=limits.lower_q,
        upper=limits.upper_q,
        velocity=np.minimum(-limits.lower_dq, limits.upper_dq),
        torque=np.minimum(-limits.lower_effort, limits.upper_effort),
        urdf=str(urdf),
    )


def ur10() -> Path:
    """The description in the package example-robot-data."""
    from importlib.metadata import files

    found = [file for file in files("example-robot-data") or [] if file.name == "ur10_robot.urdf"]
    return Path(str(found[0].locate())).resolve()


# -- in our own ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """What is printed of a trajectory: figures for FIGAROH's columns, and whether limits hold for all time."""

    name: str
    seconds: float
    condition: float
    normalized: float
    log_det: float
    limits: str

    def __str__(self) -> str:
        figures = f"{self.seconds:9.2f}{self.condition:9.2f}{self.normalized:9.2f}{self.log_det:9.1f}"
        return f"{self.name:<34}{figures}   {self.limits}"


def peer_columns(model: DynamicModel, motion: Motion, regressor: np.ndarray) -> tuple[np.ndarray, float]:
    """C with W_peer = W C from rows (N, n, b) of its regressor, and the largest relative difference that remains."""
    base = model.base.independent
    ours, theirs = (rows.reshape(-1, rows.shape[-1]) for rows in (model.regressor(motion)[..., base], regressor))
    combination = np.linalg.lstsq(ours, theirs, rcond=None)[0]
    columns = np.zeros((len(model.standard), theirs.shape[1]))
    columns[base] = combination
    return columns, float(np.abs(ours @ combination - theirs).max() / np.abs(theirs).max())


def judge_peer(robot: Robot, motion: Motion) -> str:
    """Its motion between the samples too, against the limits of the description (which has none of acceleration)."""
    from exciter.dynamics.model import DynamicModel
    from exciter.excitation.certificate.adaptive import certify
    from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
    from exciter.excitation.files.row_files import MotionSamples

    free = robot.with_limits(acceleration=np.inf)
    curve = MotionSamples(motion.time, motion.q, motion.qd, motion.qdd).curve()
    return verdict(certify(free, curve, (TorqueLimits(DynamicModel(free)),)))


def verdict(certificate: Any) -> str:
    if certificate.certified:
        return f"all {len(certificate.limits)} hold for all t"
    return "; ".join(f"{v.what} of {v.where} is {v.status}" for v in certificate.limits if v.status != "holds")


def run_ours(model: DynamicModel, columns: np.ndarray, criterion: AnyCriterion, samples: int, starts: int) -> Line:
    """The median of designs with that many starts each, by its criterion; the median of their seconds."""
    from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
    from exciter.excitation.criteria.criterion import evaluate
    from exciter.excitation.design import design
    from exciter.excitation.trajectories.piecewise import BSpline
    from exciter.excitation.trajectories.trajectory import motion

    family = BSpline(duration=DURATION, segments=round(DURATION / STEP))
    problem = {"criterion": criterion, "constraints": (TorqueLimits(model),), "columns": columns, "samples": samples}
    design(model, family, **problem, starts=1)  # loads the kernels
    found, seconds = [], []
    for seed in range(REPEATS):
        began = time.process_time()
        found.append(design(model, family, **problem, seed=seed, starts=starts))
        seconds.append(time.process_time() - began)
    middle = sorted(found, key=lambda one: one.value)[REPEATS // 2]
    figures = evaluate(model, motion(family, middle.delta, family.sample_times(samples)), 1.0, columns)
    return Line(
        f"Exciter, {criterion.name}, {starts} start{'s'[: starts > 1]}",
        statistics.median(seconds),
        figures.condition_number,
        figures.condition_number_normalized,
        figures.log_det,
        verdict(middle.certificate),
    )


def compare(peer: Any, version: str, starts: int) -> None:
    from exciter.dynamics.model import DynamicModel
    from exciter.excitation.criteria.criterion import evaluate
    from exciter.excitation.criteria.optimality_and_condition import ConditionNumber, DOptimality
    from exciter.robot import Motion, load

    described = load(str(peer["urdf"]))
    stretches = peer["motion"]
    count, n = stretches.shape[2:]
    q, qd, qdd = stretches.transpose(1, 0, 2, 3).reshape(3, -1, n)
    rows = Motion(np.arange(len(q)) / RATE, q, qd, qdd)  # as FIGAROH counts them: the seam twice
    whole = np.delete(np.arange(len(q)), count * np.arange(1, SEGMENTS))
    executed = Motion(np.arange(len(whole)) / RATE, q[whole], qd[whole], qdd[whole])
    robot = described.with_limits(
        lower=peer["lower"],
        upper=peer["upper"],
        velocity=peer["velocity"],
        torque=peer["torque"],
        acceleration=np.abs(qdd).max(axis=0),
    )
    model = DynamicModel(robot)
    regressor = peer["regressor"].reshape(SEGMENTS, n, count, -1).transpose(0, 2, 1, 3)  # its rows: joint by joint
    columns, difference = peer_columns(model, rows, regressor)
    figures = evaluate(model, rows, 1.0, columns)
    flat = peer["regressor"].reshape(-1, regressor.shape[-1])
    print(f"UR10, {columns.shape[1]} base parameters, {DURATION:g} s, {len(q)} samples")
    print(f"both regressors agree to {difference:.0e}; FIGAROH's condition number by itself {np.linalg.cond(flat):.4f}")
    print(f"\n{'':<34}{'CPU s':>9}{'cond':>9}{'norm.':>9}{'log det':>9}   limits")
    print(
        Line(
            f"FIGAROH {version}, {SEGMENTS} × {WAYPOINTS} way-points",
            float(peer["seconds"]),
            figures.condition_number,
            figures.condition_number_normalized,
            figures.log_det,
            judge_peer(described, executed),
        )
    )
    for criterion in (ConditionNumber(), DOptimality()):
        for number in (1, starts):
            print(run_ours(model, columns, criterion, len(q), number), flush=True)
    print(f"\nFIGAROH's solver converged: {', '.join('yes' if done else 'no' for done in peer['converged'])}")


def peer_version(python: str) -> str | None:
    """Of FIGAROH there, if it can run: it is of no use without IPOPT and the description of the robot."""
    ask = "import cyipopt, importlib.metadata as m; m.version('example-robot-data'); print(m.version('figaroh'))"
    try:
        answer = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter that has FIGAROH")
    parser.add_argument("--seed", type=int, default=0, help="of FIGAROH's random numbers")
    parser.add_argument("--starts", type=int, default=16, help="of Exciter, beside a single one")
    parser.add_argument("--collisions", action="store_true", help="let FIGAROH avoid self-collision")
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)  # this process is FIGAROH's
    given = parser.parse_args()
    if given.peer:
        return run_peer(given.peer, given.seed, given.collisions)
    version = peer_version(given.python)
    if version is None:
        return print(HOW)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "peer.npz"
        command = [given.python, __file__, "--peer", str(out), "--seed", str(given.seed)]
        command += ["--collisions"] * given.collisions
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with np.load(out) as peer:
            if len(peer["motion"]) < SEGMENTS:
                return print(
                    f"FIGAROH {version} found {len(peer['motion'])} of {SEGMENTS} stretches; try another --seed"
                )
            compare(dict(peer), version, given.starts)
    return None


if __name__ == "__main__":
    main()
