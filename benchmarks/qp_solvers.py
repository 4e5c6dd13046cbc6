"""Solvers of quadratic problems on those that designs really pose: time, share solved, error of the step.

    python benchmarks/qp_solvers.py [--seeds 4] [--most 200]

Records the subproblems of the design of benchmarks/design.py (Franka Panda, 63 variables), once with joint limits only
and once with torque, height and capsule limits too, and solves each anew, without a warm start, by every solver that
is installed, in turn. A solver's time begins with our arrays and includes turning them into its own form. The reference
is PIQP with tight tolerances; how far it may be off is computed from its multipliers, not believed. Processor time.

ProxQP, Clarabel and quadprog are no dependencies of Exciter: pip install proxsuite clarabel quadprog
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import importlib.metadata
import importlib.util
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import daqp
import numpy as np
import piqp
from design import further_limits, new_search, panda
from scipy.sparse import csc_matrix, triu

from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.optimiser import quadratic_program

Array = np.ndarray
CLOSE = 0.01  # relative error of a step that does no harm


@dataclass(frozen=True)
class Quadratic:
    """min ½ dᵀ H d + gᵀ d with box₀ ≤ d ≤ box₁ and low ≤ A d ≤ high."""

    hessian: Array
    gradient: Array
    box: tuple[Array, Array]
    a: Array
    low: Array
    high: Array

    def one_sided(self) -> tuple[Array, Array]:
        """G, h of G d ≤ h: upper bounds of the rows, their lower ones, those of the box; infinite ones left out."""
        eye = np.eye(len(self.gradient))
        g = np.vstack([self.a, -self.a, eye, -eye])
        h = np.concatenate([self.high, -self.low, self.box[1], -self.box[0]])
        finite = np.isfinite(h)
        return g[finite], h[finite]


Solver = Callable[[Quadratic], Array | None]


# -- solvers ---------------------------------------------------------------------------------------------------------


def by_exciter(p: Quadratic) -> Array | None:
    nothing = np.zeros(len(p.gradient) + len(p.a))  # no multipliers are expected
    step = quadratic_program.solved(p.hessian, p.gradient, p.box, p.a, p.low, p.high, nothing, math.inf)
    return None if step is None else step[0]


def by_daqp(p: Quadratic) -> Array | None:
    upper, lower = (np.concatenate([box, rows]) for box, rows in ((p.box[1], p.high), (p.box[0], p.low)))
    d, _, flag, _ = daqp.solve(
        p.hessian, p.gradient, p.a, np.minimum(upper, 1e30), np.maximum(lower, -1e30), primal_tol=1e-9
    )
    return np.array(d) if flag == 1 else None


def by_piqp(p: Quadratic) -> Array | None:
    status, result = run_piqp(p, 1e-9)
    return np.array(result.x) if status == piqp.PIQP_SOLVED else None


def run_piqp(p: Quadratic, tolerance: float) -> tuple[Any, Any]:
    """Status and result."""
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = tolerance
    solver.setup(p.hessian, p.gradient, None, None, p.a, p.low, p.high, *p.box)
    return solver.solve(), solver.result


def by_proxqp(p: Quadratic) -> Array | None:
    from proxsuite import proxqp

    solver = proxqp.dense.QP(len(p.gradient), 0, len(p.a), True)
    solver.settings.eps_abs = 1e-7
    empty = np.zeros((0, len(p.gradient))), np.zeros(0)
    solver.init(p.hessian, p.gradient, *empty, p.a, np.maximum(p.low, -1e20), np.minimum(p.high, 1e20), *p.box)
    solver.solve()
    return solver.results.x if solver.results.info.status == proxqp.PROXQP_SOLVED else None


def by_clarabel(p: Quadratic) -> Array | None:
    import clarabel

    g, h = p.one_sided()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(h))]
    solver = clarabel.DefaultSolver(csc_matrix(triu(p.hessian)), p.gradient, csc_matrix(g), h, cones, settings)
    solution = solver.solve()
    return np.array(solution.x) if solution.status == clarabel.SolverStatus.Solved else None


def by_quadprog(p: Quadratic) -> Array | None:
    import quadprog

    g, h = p.one_sided()
    try:
        return quadprog.solve_qp(p.hessian, -p.gradient, -g.T, -h)[0]
    except ValueError:  # says that constraints are inconsistent, or H is not positive definite
        return None


SOLVERS: dict[str, tuple[str, Solver]] = {
    "DAQP": ("daqp", by_daqp),
    "PIQP": ("piqp", by_piqp),
    "ProxQP": ("proxsuite", by_proxqp),
    "Clarabel": ("clarabel", by_clarabel),
    "quadprog": ("quadprog", by_quadprog),
}


# -- problems --------------------------------------------------------------------------------------------------------


def recorded(constraints: tuple[Constraint, ...], seeds: int, most: int) -> list[Quadratic]:
    """Problems of designs from several seeds, evenly over their course."""
    found: list[Quadratic] = []

    def solve(
        h: Array, g: Array, box: tuple[Array, Array], a: Array, low: Array, high: Array, begin: Array, seconds: float
    ) -> quadratic_program.Step | None:
        lower, upper = box
        found.append(Quadratic(h.copy(), g.copy(), (lower.copy(), upper.copy()), a.copy(), low.copy(), high.copy()))
        return original(h, g, box, a, low, high, begin, seconds)

    original, quadratic_program.solved = quadratic_program.solved, solve  # the optimiser's own calls pass through here
    try:
        for seed in range(seeds):
            new_search(panda(), seed, constraints).run(0)
    finally:
        quadratic_program.solved = original
    return found[:: -(-len(found) // most)]


def reference(p: Quadratic) -> tuple[Array, float] | None:
    """d and a bound of its relative error in the norm of H; None where there is no solution.

    f(d) less the dual function of any multipliers z ≥ 0 is at least half of the squared error in that norm.
    """
    status, found = run_piqp(p, 1e-11)
    if status == piqp.PIQP_PRIMAL_INFEASIBLE:
        return None
    d, (g, h) = np.array(found.x), p.one_sided()
    every = np.concatenate([found.z_u, found.z_l, found.z_bu, found.z_bl])
    z = every[np.isfinite(np.concatenate([p.high, p.low, *p.box[::-1]]))]
    slope = p.gradient + g.T @ z
    dual = -0.5 * slope @ np.linalg.solve(p.hessian, slope) - h @ z
    gap = p.gradient @ d + 0.5 * d @ p.hessian @ d - dual
    return d, float(np.sqrt(2.0 * abs(gap) / (d @ p.hessian @ d)))


# -- measuring -------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What one solver made of all problems: times of all [s], errors of the steps it found."""

    solve: Solver
    seconds: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def add(self, problem: Quadratic, wanted: Array) -> None:
        began = time.process_time()
        d = self.solve(problem)
        self.seconds.append(time.process_time() - began)
        if d is not None:
            self.errors.append(float(np.linalg.norm(d - wanted) / np.linalg.norm(wanted)))

    def __str__(self) -> str:
        count = len(self.seconds)
        mean, median = 1e3 * statistics.fmean(self.seconds), 1e3 * statistics.median(self.seconds)
        solved, close = len(self.errors) / count, sum(error < CLOSE for error in self.errors) / count
        return f"{mean:9.2f}{median:9.2f}{solved:9.1%}{close:12.1%}{max(self.errors, default=np.nan):12.0e}"


def table(title: str, constraints: tuple[Constraint, ...], seeds: int, most: int) -> None:
    recordings = recorded(constraints, seeds, most)
    solvable = [(p, found) for p in recordings if (found := reference(p)) is not None]
    rows = statistics.fmean(len(p.a) for p, _ in solvable)
    size = len(recordings[0].gradient)
    print(f"\n{title}: {len(solvable)} problems with {size} variables, {rows:.0f} rows on average")
    print(f"left out because they have no solution: {len(recordings) - len(solvable)}")
    print(f"the reference is off by {max(found[1] for _, found in solvable):.0e} of a step or less (norm of H)")
    print(f"{'':<32}{'mean ms':>9}{'median':>9}{'solved':>9}{'error < 1 %':>12}{'largest':>12}")
    tallies = {"as used: DAQP, else PIQP": Tally(by_exciter)}
    for name, (package, solve) in SOLVERS.items():
        if importlib.util.find_spec(package) is None:
            print(f"{name:<32}not installed")
            continue
        solve(solvable[0][0])  # loads it
        tallies[f"{name} {importlib.metadata.version(package)}"] = Tally(solve)
    turns = list(tallies.values())
    for problem, (wanted, _) in solvable:
        for tally in turns:
            tally.add(problem, wanted)
        turns.append(turns.pop(0))  # another one is the first to touch the next problem's memory
    for name, tally in tallies.items():
        print(f"{name:<32}{tally}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4, help="designs of each kind")
    parser.add_argument("--most", type=int, default=200, help="problems of each kind")
    given = parser.parse_args()
    table("joint limits only", (), given.seeds, given.most)
    table("with torque, height and capsules", further_limits(panda()), given.seeds, given.most)


if __name__ == "__main__":
    main()
