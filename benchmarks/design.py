"""Speed of the design beside SLSQP and IPOPT, and what further limits and the certificate cost, all in one run.

    python benchmarks/design.py [--seeds 5] [--tolerance 0.5] [--cap 60]

Setting: Franka Panda (7 axes), 5 harmonics, 10 s, at rest at the start, D-optimality, viscous and Coulomb friction, one
start per seed, one core. Ours is a start from nothing to its certificate: grids, posture and certificate count.
The others get the same variables, random start, criterion (250 samples, smooth friction signs) and joint limits on the
same grid, without the jerk limits, which never matter here and would only slow them down; their set-up is not counted.
They are done as soon as they have met a motion within the limits whose criterion is at most ``tolerance`` [nat] above
the one our optimiser ended with, or when they converge, or after ``cap`` processor seconds; a median with runs of the
latter two is a lower bound (≥). Criterion by Pinocchio: its joint torque regressor, sample by sample, and NumPy.
Processor seconds of this process; every seed times all of them one after the other, ours before, between and after.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # linear algebra on one core
    os.environ[variable] = "1"

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi
import numpy as np
import pinocchio as pin
from scipy.optimize import minimize

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.torque import TorqueLimits
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.excitation.criteria import DOptimality
from exciter.excitation.objective import Objective
from exciter.excitation.optimiser.joint_limits import JointLimits
from exciter.excitation.optimiser.search import COARSE, SMOOTHING, Attempt, Search
from exciter.excitation.optimiser.start import random_start
from exciter.excitation.trajectories.fourier import Fourier
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load
from exciter.robot.pinocchio_model import to_pinocchio

Array = np.ndarray
SAMPLES = 1000  # of the log that the criterion stands for
TORQUE, HEIGHT, CLEARANCE = 0.6, 0.25, 0.01  # part of the torque limits, of the flange [m], of the capsules [m]


# -- the problem -----------------------------------------------------------------------------------------------------


def panda() -> DynamicModel:
    return DynamicModel(load("panda"), (Viscous(), Coulomb()))


def further_limits(model: DynamicModel) -> tuple[Constraint, ...]:
    torque = TorqueLimits(model, margin=1.0 - TORQUE)
    height = HalfSpace(model.robot, "flange", np.array([0.0, 0.0, 1.0]), HEIGHT)
    return torque, height, CapsuleDistance(model.robot, clearance=CLEARANCE)


def new_search(model: DynamicModel, seed: int, constraints: tuple[Constraint, ...] = ()) -> Search:
    """Nothing prepared: what a start needs is made within its time."""
    objective = Objective(model, DOptimality(), model.base.independent, np.ones(model.n))
    trajectory = Fourier(period=10.0, harmonics=5, at_rest=True)
    return Search(model, trajectory, DOptimality(), objective, constraints, SAMPLES, seed)


def start_of(search: Search) -> Array:
    """y, where the search's start number 0 begins."""
    rng = np.random.default_rng(np.random.SeedSequence(search.seed, spawn_key=(0,)))
    return random_start(search.limits, search.nonlinear, search.posture, rng)[1]


def bounded_rows(limits: JointLimits) -> tuple[Array, Array, Array]:
    """A (M, size) and bounds of low ≤ A y ≤ high, in half ranges: position, velocity and acceleration."""
    origin = np.zeros(limits.variables.size)
    at, joint = np.divmod(np.arange(3 * len(limits.grid.time) * limits.variables.n), limits.variables.n)
    return limits.rows(origin, at, joint)


class Problem:
    """The criterion of the optimiser, twice: compiled with its exact gradient, and through Pinocchio."""

    def __init__(self, search: Search) -> None:
        self.limits, self.variables = search.limits, search.variables
        self.grid = self.variables.grid(search.trajectory.sample_times(COARSE))
        terms = tuple(term.smoothed(SMOOTHING) for term in search.model.terms)
        weights = SAMPLES / COARSE * search.objective.weights
        model = DynamicModel(search.model.robot, terms, search.model.engine)
        self.objective = Objective(model, DOptimality(), search.objective.columns, weights)
        self.oracle = to_pinocchio(model.dynamics.robot)
        self.data = self.oracle.createData()

    def value_and_gradient(self, y: Array) -> tuple[float, Array]:
        at = self.variables.motion(self.grid, y)
        value, gradient = self.objective.value_and_gradient(at)
        return value, self.variables.pullback(self.grid, y, at, gradient)

    def through_pinocchio(self, y: Array) -> float:
        at, model = self.variables.motion(self.grid, y), self.objective.model
        columns = np.asarray(self.objective.columns)
        inertial = columns < 10 * model.n
        w = np.zeros((len(at), model.n, len(columns)))
        for k in range(len(at)):
            phi = pin.computeJointTorqueRegressor(self.oracle, self.data, at.q[k], at.qd[k], at.qdd[k])
            w[k][:, inertial] = phi[:, columns[inertial]]
        friction = np.flatnonzero(~inertial)
        for (row, _), values, column in zip(model.entries, model.term_values(at), friction, strict=True):
            w[:, row, column] = values
        flat = np.sqrt(SAMPLES / COARSE) * w.reshape(-1, len(columns))
        sign, log_det = np.linalg.slogdet(flat.T @ flat)
        return -log_det if sign > 0 else np.inf


# -- the others ------------------------------------------------------------------------------------------------------


class Stop(Exception):
    """Enough of this run."""


@dataclass
class Race:
    """One run against a target: when it was met for the first time, and the best value within the limits."""

    limits: JointLimits
    target: float
    cap: float
    began: float = field(default_factory=time.process_time)
    reached: float | None = None
    best: float = np.inf

    def meet(self, y: Array, value: float) -> None:
        if value < self.best and self.limits.room(y) >= -1e-6:
            self.best = value
        if self.reached is None and self.best <= self.target:
            self.reached = time.process_time() - self.began

    @property
    def over(self) -> bool:
        return self.reached is not None or time.process_time() - self.began > self.cap

    def seconds(self) -> float:
        return time.process_time() - self.began if self.reached is None else self.reached


@dataclass(frozen=True)
class Run:
    """seconds until the target, or until the end without it; best: criterion met within the limits."""

    seconds: float
    reached: bool
    best: float


def slsqp(problem: Problem, y: Array, target: float, cap: float, *, exact: bool) -> Run:
    a, low, high = bounded_rows(problem.limits)
    rows, bounds = np.vstack([a, -a]), np.concatenate([low, -high])
    race = Race(problem.limits, target, cap)

    def stop_when(value: float, at: Array) -> None:
        race.meet(at, value)
        if race.over:
            raise Stop

    def with_gradient(at: Array) -> tuple[float, Array]:
        value, gradient = problem.value_and_gradient(at)
        stop_when(value, at)
        return value, gradient

    def plain(at: Array) -> float:
        value = problem.through_pinocchio(at)
        stop_when(value, at)
        return value

    limits = {"type": "ineq", "fun": lambda at: rows @ at - bounds, "jac": lambda _: rows}
    options = {"maxiter": 1000, "ftol": 1e-6 * abs(target)}
    try:
        minimize(
            with_gradient if exact else plain, y, jac=exact, method="SLSQP", constraints=[limits], options=options
        )
    except Stop:
        pass
    return Run(race.seconds(), race.reached is not None, race.best)


class Evaluations:
    """Value and gradient of the last point: IPOPT asks for them one after the other."""

    def __init__(self, problem: Problem, race: Race) -> None:
        self.problem, self.race = problem, race
        self.at: Array | None = None
        self.found: tuple[float, Array] = (np.inf, np.zeros(0))

    def __call__(self, y: Array) -> tuple[float, Array]:
        if self.at is None or not np.array_equal(y, self.at):
            self.at, self.found = y.copy(), self.problem.value_and_gradient(y)
            self.race.meet(y, self.found[0])
        return self.found


class Value(casadi.Callback):  # type: ignore[misc]
    """The criterion for casadi."""

    def __init__(self, evaluations: Evaluations, size: int) -> None:
        casadi.Callback.__init__(self)
        self.evaluations, self.size = evaluations, size
        self.construct("criterion", {})

    def get_sparsity_in(self, _: int) -> Any:
        return casadi.Sparsity.dense(self.size, 1)

    def eval(self, given: list[Any]) -> list[Any]:
        return [self.evaluations(np.array(given[0]).ravel())[0]]

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, _in: Any, _out: Any, options: Any) -> Any:
        self.derivative = Gradient(self.evaluations, self.size, name, options)  # casadi does not keep it alive
        return self.derivative


class Gradient(casadi.Callback):  # type: ignore[misc]
    """Its derivative: of the variables and the value, as casadi wants it."""

    def __init__(self, evaluations: Evaluations, size: int, name: str, options: Any) -> None:
        casadi.Callback.__init__(self)
        self.evaluations, self.size = evaluations, size
        self.construct(name, options)

    def get_n_in(self) -> int:
        return 2

    def get_sparsity_in(self, which: int) -> Any:
        return casadi.Sparsity.dense(1 if which else self.size, 1)

    def get_sparsity_out(self, _: int) -> Any:
        return casadi.Sparsity.dense(1, self.size)

    def eval(self, given: list[Any]) -> list[Any]:
        return [casadi.DM(self.evaluations(np.array(given[0]).ravel())[1]).T]


class Watch(casadi.Callback):  # type: ignore[misc]
    """Ends IPOPT between two iterations."""

    def __init__(self, race: Race, size: int, rows: int) -> None:
        casadi.Callback.__init__(self)
        self.race, self.sizes = race, {"x": size, "f": 1, "g": rows, "lam_x": size, "lam_g": rows, "lam_p": 0}
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return int(casadi.nlpsol_n_out())

    def get_sparsity_in(self, which: int) -> Any:
        return casadi.Sparsity.dense(self.sizes[casadi.nlpsol_out(which)], 1)

    def eval(self, given: list[Any]) -> list[Any]:
        return [int(self.race.over)]


def ipopt(problem: Problem, y: Array, target: float, cap: float, options: dict[str, Any] | None = None) -> Run:
    a, low, high = bounded_rows(problem.limits)
    race = Race(problem.limits, target, cap)
    value, watch = Value(Evaluations(problem, race), len(y)), Watch(race, len(y), len(a))
    x = casadi.MX.sym("x", len(y))
    settings = {
        "print_time": False,
        "iteration_callback": watch,
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "ipopt.hessian_approximation": "limited-memory",
        "ipopt.jac_d_constant": "yes",
        "ipopt.max_iter": 3000,
        **(options or {}),
    }
    rows = casadi.sparsify(casadi.DM(a))
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, "f": value(x), "g": rows @ x}, settings)
    race.began = time.process_time()
    solver(x0=y, lbg=low, ubg=high)
    return Run(race.seconds(), race.reached is not None, race.best)
