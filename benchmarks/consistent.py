"""Time of a physically consistent estimate of a 7-axis arm, and what priors and physics buy on recorded logs.

    python benchmarks/consistent.py [--samples 20000] [--uncompressed 300] [--data DIR]

Setting: Panda, rotor inertia, viscous and Coulomb friction and offset per joint, 10 s of a poor motion with 5 % noise.
The same semidefinite program is then given to the same solver without compression: all rows of W, one slack per row,
in the units of the parameters; for ``--uncompressed`` samples, because more take too long. Ratios are what counts.
With ``--data`` (a folder as in examples/real), held-out residuals of least squares, of physics, and of priors whose
weight cross-validation chose.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # one core
    os.environ[variable] = "1"

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import clarabel
import numpy as np
from scipy import sparse

from exciter.dynamics.model import DynamicModel
from exciter.experiment.recording import read_recording
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.physical import AUTO, PhysicallyConsistent, Prior
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.compressed import ResidualSizes
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import Entropic, svec
from exciter.identification.physical.prior_values import UniformRods
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import Motion, load
from exciter.robot.spatial import pseudo_inertia

TERMS = (RotorInertia(), Viscous(), Coulomb(), Offset())
REAL = Path(__file__).parents[1] / "examples" / "real"
PAIR = ("recording", "held_out")  # to train on, and to be judged by
CUTOFFS = {"lwr4": 5.0, "kr300": 10.0}  # [Hz]


def poor_problem(samples: int) -> Problem:
    """10 s of slow sines."""
    model = DynamicModel(load("panda"), TERMS)
    rng = np.random.default_rng(0)
    t = 10.0 * np.arange(samples)[:, None] / samples
    a, w, phase = rng.uniform(0.05, 0.2, (3, 7)) * np.array([[1.0], [10.0], [30.0]])
    q = a * np.sin(w * t + phase)
    motion = Motion(t[:, 0], q, a * w * np.cos(w * t + phase), -(w**2) * q)
    chi = model.nominal.copy()
    chi[70:77] = 0.05
    noise = 0.05 * np.sqrt((model.torque(motion, chi) ** 2).mean(axis=0))
    return Problem(model, (Run.at(motion, synthetic_recording(model, motion, chi, noise).torque, samples / 10.0),))


def uncompressed(problem: Problem) -> np.ndarray:
    """χ by the same solver from all rows: min ‖W χ − y‖², every link's pseudo-inertia ⪰ 0, terms ≥ 0."""
    part = problem.runs[0].parts[0]
    model = problem.model
    noise = WeightedLeastSquares().estimate(problem).noise
    w = (model.regressor(part.motion) / noise[:, None]).reshape(-1, len(model.standard))
    y = (part.torque / noise).ravel()
    rows, p = w.shape
    objective = sparse.block_diag([sparse.csc_matrix((p, p)), sparse.identity(rows)], format="csc")
    signs = np.array([flag for term in model.bound for flag in term.nonnegative])
    terms = np.eye(p)[70:][signs]
    bodies = np.kron(np.eye(model.n), svec(pseudo_inertia(np.eye(10))).T)
    g = np.vstack([np.pad(bodies, ((0, 0), (0, p - 70))), terms])
    top = sparse.hstack([sparse.csc_matrix(w), -sparse.identity(rows)])
    bottom = sparse.hstack([sparse.csc_matrix(-g), sparse.csc_matrix((len(g), rows))])
    cones = [clarabel.ZeroConeT(rows), *[clarabel.PSDTriangleConeT(4)] * model.n, clarabel.NonnegativeConeT(len(terms))]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    right = np.concatenate([y, np.zeros(len(g))])
    a = sparse.vstack([top, bottom], format="csc")
    solution = clarabel.DefaultSolver(objective, np.zeros(p + rows), a, right, cones, settings).solve()
    print(f"  uncompressed: {solution.status}, {solution.iterations} iterations")
    return np.array(solution.x)[:p]


def median_time(work: Callable[[], object], rounds: int = 5) -> float:
    """[s]"""
    times = []
    for _ in range(rounds):
        clock = time.perf_counter()
        work()
        times.append(time.perf_counter() - clock)
    return statistics.median(times)


def recorded(folder: Path, name: str) -> tuple[Problem, Problem]:
    """Two runs of a real robot, to learn from and to be judged by."""
    robot = load(folder / f"{name}.urdf")
    model = DynamicModel(robot, TERMS)
    equations = InverseDynamic(ParallelFilter(Butterworth(CUTOFFS[name], 4)))
    runs = [Run.of(read_recording(REAL / name / f"{x}.yaml", folder=folder.parent).arranged(robot)) for x in PAIR]
    return Problem(model, (runs[0],), equations), Problem(model, (runs[1],), equations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--uncompressed", type=int, default=300)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()

    problem = poor_problem(options.samples)
    clock = time.perf_counter()
    problem.compressed  # noqa: B018
    print(f"Panda, {len(problem.model.standard)} parameters, {options.samples} samples")
    print(f"  compression {time.perf_counter() - clock:.2f} s (once, whatever the estimator)")
    for name, estimator in (
        ("weighted least squares", WeightedLeastSquares()),
        ("physically consistent", PhysicallyConsistent()),
        ("prior, weight given", Prior(weight=10.0)),
        ("prior, weight by cross-validation", Prior()),
        ("entropic prior, weight by cross-validation", Prior(Entropic())),
        ("consistent with prior, weight by cross-validation", PhysicallyConsistent(Prior(weight=AUTO))),
    ):
        print(f"  {median_time(lambda e=estimator: e.estimate(problem), 3):8.3f} s  {name}")

    few = poor_problem(options.uncompressed)
    few.compressed  # noqa: B018
    ours = median_time(lambda: PhysicallyConsistent().estimate(few))
    whole = median_time(lambda: uncompressed(few), 1)
    print(f"{options.uncompressed} samples: compressed {ours:.3f} s, all rows {whole:.2f} s, ratio {whole / ours:.0f}")

    for name in CUTOFFS if options.data else ():
        train, held_out = recorded(options.data / name, name)
        print(f"{name}: held-out residual [% of torque]")
        for words, estimator in (
            ("weighted least squares", WeightedLeastSquares()),
            ("physically consistent", PhysicallyConsistent()),
            ("prior by cross-validation", Prior()),
            ("consistent with that prior", PhysicallyConsistent(Prior(weight=AUTO))),
            ("consistent with rods as prior", PhysicallyConsistent(Prior(values=UniformRods(), weight=AUTO))),
        ):
            values = estimator.estimate(train).values
            print(f"  {ResidualSizes.of(held_out.compressed, values).total_percent:6.2f}  {words}")


if __name__ == "__main__":
    main()
