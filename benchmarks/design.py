"""Speed of the design beside SLSQP and IPOPT, and what further limits and the certificate cost, all in one run.

    python benchmarks/design.py [--seeds 9] [--tolerance 0.5] [--cap 60]

Setting: Franka Panda (7 axes), 5 harmonics, 10 s, at rest at the start, D-optimality, viscous and Coulomb friction, one
start per seed, one core. All get the same variables, random start, criterion (250 samples, smooth friction signs) and
joint limits on the same grid; the others without the jerk limits, which never matter here and would only slow them
down. Pinocchio's part is its joint torque regressor, sample by sample; the rest is NumPy.

Compared is the time to the same criterion value. It is the one our optimiser ends with plus ``tolerance`` [nat], or,
where another one converges to something worse, its own best plus ``tolerance``. One that is not done after ``cap``
seconds counts as that, and its ratio is a lower bound (≥). The set-up of the others (rows, casadi's graph) is not
counted, ours is. "to whole": the same times over a whole start of ours, which goes on to convergence and a certificate.

Processor seconds of this process. Every seed runs all of them one after the other, ours before, between and after.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # linear algebra on one core
    os.environ[variable] = "1"

import argparse
import contextlib
import functools
import statistics
import time
from collections.abc import Callable, Sequence
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
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.optimiser.deadline import NEVER
from exciter.excitation.optimiser.limits import JointLimits
from exciter.excitation.optimiser.search import (
    LEAST_COARSE_SAMPLES,
    SIGN_SMOOTHING_SPEED,
    Attempt,
    Search,
)
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
    objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(model.n))
    trajectory = Fourier(period=10.0, harmonics=5, at_rest=True)
    return Search(trajectory, objective, constraints, SAMPLES, seed)


def start_of(search: Search) -> Array:
    """y, where the search's start number 0 begins."""
    return search._begun(0, NEVER)[1]


def bounded_rows(limits: JointLimits) -> tuple[Array, Array, Array]:
    """A (M, size) and bounds of low ≤ A y ≤ high, in half ranges: position, velocity and acceleration."""
    origin = np.zeros(limits.variables.size)
    at, joint = np.divmod(np.arange(3 * len(limits.grid.time) * limits.variables.n), limits.variables.n)
    return limits.rows(origin, at, joint)


class Problem:
    """The criterion of the optimiser, twice: compiled with its exact gradient, and through Pinocchio."""

    def __init__(self, search: Search) -> None:
        self.limits, self.variables = search.limits, search.variables
        self.grid = self.variables.grid(search.trajectory.sample_times(LEAST_COARSE_SAMPLES))
        terms = tuple(term.smoothed(SIGN_SMOOTHING_SPEED) for term in search.model.terms)
        weights = SAMPLES / LEAST_COARSE_SAMPLES * search.objective.weights
        model = DynamicModel(search.model.robot, terms, search.model.engine)
        self.objective = DesignObjective(model, DOptimality(), search.objective.columns, weights)
        self.oracle = to_pinocchio(model.dynamics.robot)
        self.data = self.oracle.createData()

    def value_and_gradient(self, y: Array) -> tuple[float, Array]:
        at = self.variables.motion(self.grid, y)
        value, gradient = self.objective.value_and_gradient(at)
        return value, self.variables.pullback(self.grid, y, at, gradient)

    def through_pinocchio(self, y: Array) -> float:
        at, model = self.variables.motion(self.grid, y), self.objective.model
        columns = np.asarray(self.objective.columns)
        inertial = columns < model.inertial_size
        w = np.zeros((len(at), model.n, len(columns)))
        for k in range(len(at)):
            phi = pin.computeJointTorqueRegressor(self.oracle, self.data, at.q[k], at.qd[k], at.qdd[k])
            w[k][:, inertial] = phi[:, columns[inertial]]
        friction = np.flatnonzero(~inertial)
        for (row, _), values, column in zip(model.entries, model.term_values(at), friction, strict=True):
            w[:, row, column] = values
        flat = np.sqrt(SAMPLES / LEAST_COARSE_SAMPLES) * w.reshape(-1, len(columns))
        sign, log_det = np.linalg.slogdet(flat.T @ flat)
        return -log_det if sign > 0 else np.inf


# -- the others ------------------------------------------------------------------------------------------------------


class Stop(Exception):
    """Enough of this run."""


@dataclass(frozen=True)
class Run:
    """seconds until the value at which it is compared; reached: that is ours; capped: it might have become better."""

    seconds: float
    level: float
    reached: bool
    capped: bool


def time_to(level: float, history: Sequence[tuple[float, float]]) -> float:
    """When a value of (seconds, value) … was at the level for the first time."""
    return next(seconds for seconds, value in history if value <= level)


@dataclass
class Race:
    """Follows a run: the values met within the limits, each better than the last, and when."""

    limits: JointLimits
    target: float
    cap: float
    began: float = field(default_factory=time.process_time)
    met: list[tuple[float, float]] = field(default_factory=list)

    def meet(self, y: Array, value: float) -> None:
        if value < self.best and self.limits.room(y) >= -1e-6:
            self.met.append((time.process_time() - self.began, value))

    @property
    def best(self) -> float:
        return self.met[-1][1] if self.met else np.inf

    @property
    def capped(self) -> bool:
        return time.process_time() - self.began > self.cap

    @property
    def over(self) -> bool:
        return self.best <= self.target or self.capped

    def run(self, tolerance: float) -> Run:
        reached = self.best <= self.target
        if self.capped and not reached:
            return Run(self.cap, self.target, False, True)
        level = max(self.target, self.best + tolerance)
        return Run(time_to(level, self.met), level, reached, False)


def slsqp(problem: Problem, y: Array, race: Race, *, exact: bool) -> None:
    """SciPy's, with default settings."""
    a, low, high = bounded_rows(problem.limits)
    rows, bounds = np.vstack([a, -a]), np.concatenate([low, -high])
    limits = {"type": "ineq", "fun": lambda at: rows @ at - bounds, "jac": lambda _: rows}

    def criterion(at: Array) -> Any:
        found: Any = problem.value_and_gradient(at) if exact else problem.through_pinocchio(at)
        race.meet(at, found[0] if exact else found)
        if race.over:
            raise Stop
        return found

    race.began = time.process_time()
    with contextlib.suppress(Stop):
        minimize(criterion, y, jac=exact, method="SLSQP", constraints=[limits], options={"maxiter": 1000})


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


class Value(casadi.Callback):
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


class Gradient(casadi.Callback):
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


class Watch(casadi.Callback):
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


def ipopt(problem: Problem, y: Array, race: Race) -> None:
    """casadi's, with default settings but for the Hessian, which it builds up from gradients."""
    a, low, high = bounded_rows(problem.limits)
    value, watch = Value(Evaluations(problem, race), len(y)), Watch(race, len(y), len(a))
    x = casadi.MX.sym("x", len(y))
    settings = {
        "print_time": False,
        "iteration_callback": watch,
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "ipopt.hessian_approximation": "limited-memory",
        "ipopt.jac_d_constant": "yes",
    }
    rows = casadi.sparsify(casadi.DM(a))
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, "f": value(x), "g": rows @ x}, settings)
    race.began = time.process_time()
    solver(x0=y, lbg=low, ubg=high)


OTHERS: dict[str, Callable[[Problem, Array, Race], None]] = {
    "SLSQP, finite differences, Pinocchio": functools.partial(slsqp, exact=False),
    "SLSQP, our exact gradient": functools.partial(slsqp, exact=True),
    "IPOPT, our exact gradient": ipopt,
}


# -- measuring -------------------------------------------------------------------------------------------------------


@dataclass
class Seed:
    """Processor seconds of one seed; ours several times."""

    runs: dict[str, Run] = field(default_factory=dict)
    joint: list[float] = field(default_factory=list)
    histories: list[list[tuple[float, float]]] = field(default_factory=list)
    every: list[float] = field(default_factory=list)
    certificate: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    first_certified: bool = False

    def to_level(self, name: str) -> float:
        """Ours, with joint limits only, until the value at which another one is compared."""
        return statistics.median(time_to(self.runs[name].level, history) for history in self.histories)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def ours(model: DynamicModel, number: int, constraints: tuple[Constraint, ...], measured: Seed) -> Attempt:
    """Once with joint limits only, once with all limits; the attempt of the former."""
    seconds, joint = timed(lambda: new_search(model, number).run(0))
    measured.joint.append(seconds)
    measured.histories.append([(t * seconds / joint.seconds, value) for t, value in joint.history])
    seconds, every = timed(lambda: new_search(model, number, constraints).run(0))
    measured.every.append(seconds)
    if not (joint.feasible and every.feasible):
        raise SystemExit(f"seed {number} gave no certified trajectory; there is nothing to compare")
    measured.first.append(every.first_feasible / every.seconds * seconds)
    curve = every.trajectory.curve(every.delta)
    seconds, certificate = timed(lambda: certify(model.robot, curve, constraints))
    assert certificate.certified
    measured.certificate.append(seconds)
    return joint


def measure(model: DynamicModel, number: int, tolerance: float, cap: float) -> Seed:
    measured, constraints = Seed(), further_limits(model)
    attempt = ours(model, number, constraints, measured)
    search, problem = new_search(model, number), Problem(new_search(model, number))
    y, target = start_of(search), attempt.history[-1][1] + tolerance
    values = attempt.history[0][1], problem.value_and_gradient(y)[0], problem.through_pinocchio(y)
    assert np.ptp(values) < 1e-6, f"not the same start or criterion: {values}"
    for name, solve in OTHERS.items():
        race = Race(problem.limits, target, cap)
        solve(problem, y, race)
        measured.runs[name] = race.run(tolerance)
        ours(model, number, constraints, measured)
    full = new_search(model, number, constraints)
    measured.first_certified = full.certified(start_of(full))
    return measured


@dataclass(frozen=True)
class Line:
    """Ratio of the medians of two times, the ratios of single seeds, and the ratio to a whole start of ours."""

    name: str
    times: list[float]
    reference: list[float]
    wanted: str = ""
    note: str = ""
    bound: str = ""
    whole: list[float] | None = None

    def __str__(self) -> str:
        top, bottom = statistics.median(self.times), statistics.median(self.reference)
        single = [a / b for a, b in zip(self.times, self.reference, strict=True)]
        ratio, seeds = f"{self.bound}{top / bottom:.3g}", f"{min(single):.3g} … {max(single):.3g}"
        whole = "" if self.whole is None else f"{self.bound}{top / statistics.median(self.whole):.3g}"
        return f"{self.name:<44}{ratio:>8}{self.wanted:>7}{seeds:>18}{top:>9.3f}{bottom:>8.3f}{whole:>9}   {self.note}"


HEAD = f"{'':<44}{'ratio':>8}{'wanted':>7}{'of single seeds':>18}{'median s':>9}{'to s':>8}{'to whole':>9}"


def lines(seeds: list[Seed]) -> list[Line]:
    kinds = ("joint", "every", "certificate", "first")
    joint, every, certificate, first = ([statistics.median(getattr(seed, kind)) for seed in seeds] for kind in kinds)
    table = []
    for name, wanted in zip(OTHERS, ("≥ 20", "", "≥ 4"), strict=True):
        runs = [seed.runs[name] for seed in seeds]
        bound = "≥ " if any(run.capped for run in runs) else ""
        note = f"our value reached by {sum(run.reached for run in runs)} of {len(runs)}"
        to_level = [seed.to_level(name) for seed in seeds]
        table.append(Line(f"{name} / ours", [run.seconds for run in runs], to_level, wanted, note, bound, joint))
    proved = f"certified in {sum(seed.first_certified for seed in seeds)} of {len(seeds)}"
    table.append(Line("all limits / joint limits only", every, joint, "≤ 5"))
    table.append(Line("first feasible trajectory / all limits", first, every, "≤ 0.1", proved))
    table.append(Line("complete certificate / all limits", certificate, every, "≤ 0.1"))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--tolerance", type=float, default=0.5, help="[nat] that counts as the same criterion")
    parser.add_argument("--cap", type=float, default=60.0, help="[s] for each of the others")
    given = parser.parse_args()
    model = panda()
    ours(model, 0, further_limits(model), Seed())  # loads the kernels
    seeds = []
    for number in range(given.seeds):
        seeds.append(measure(model, number, given.tolerance, given.cap))
        times = ", ".join(f"{name} {run.seconds:.2f}" for name, run in seeds[-1].runs.items())
        mine = f"ours {statistics.median(seeds[-1].joint):.3f}, all limits {statistics.median(seeds[-1].every):.3f}"
        print(f"seed {number}: {mine}; {times} [s]", flush=True)
    print(f"\n{HEAD}")
    for line in lines(seeds):
        print(line)


if __name__ == "__main__":
    main()
