"""What the processor allows, and what the kernels reach of it: floating-point operations, and bytes to and from memory.

    python benchmarks/roofline.py [--rounds 9]

Setting as of ``regressor.py``: Franka Panda, 1000 samples, base parameters with friction, one core, processor time.
Allowed: products of matrices (OpenBLAS) and sums of two arrays (NumPy), small ones that stay in the cache and large
ones. Counted: additions, multiplications and divisions that the source of a kernel asks for, per sample, by its syntax
tree, times how often it is called for one sample; of products of packed rows, what their sizes say. A multiplication
that is fused with an addition counts as two."""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import ast
import inspect
import statistics
import time
from collections.abc import Callable
from functools import cache

import numpy as np

from exciter.dynamics.engine import NumbaEngine
from exciter.dynamics.kernels import blocks
from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.parameters.terms import Coulomb, Tanh, Viscous
from exciter.robot import load

SAMPLES = 1000
OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def seconds(work: Callable[[], object], rounds: int, at_least: float = 0.02) -> float:
    """Median processor time of a call."""
    work()
    means = []
    for _ in range(rounds):
        start, calls = time.process_time(), 0
        while time.process_time() - start < at_least:
            work()
            calls += 1
        means.append((time.process_time() - start) / calls)
    return statistics.median(means)


@cache
def operations(name: str) -> int:
    """Of a kernel, for one sample: what stands in its loop over samples, and in the small functions called there; all
    of a function without such a loop."""
    tree = ast.parse(inspect.getsource(getattr(blocks, name).py_func)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    return sum(_counted(loop.body) for loop in loops) if loops else _counted(tree.body)


def _counted(body: list[ast.stmt]) -> int:
    total = 0
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, OPERATIONS):
            total += 1
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and hasattr(blocks, node.func.id):
            total += operations(node.func.id)
        if isinstance(node, ast.Subscript):  # indices are no floating-point numbers
            total -= sum(isinstance(inner, ast.BinOp) for inner in ast.walk(node.slice))
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds

    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 768, 768))
    peak = 2 * len(a) ** 3 / seconds(lambda: np.matmul(a, b, out=c), rounds)
    print(f"products of matrices: {peak / 1e9:.1f} Gflop/s")
    bandwidth = {}
    for words, numbers in (("in the cache", 25_000), ("in memory", 20_000_000)):
        x, y, z = rng.standard_normal((3, numbers))
        bandwidth[words] = 24 * numbers / seconds(lambda x=x, y=y, z=z: np.add(x, y, out=z), rounds)
        print(f"sum of two arrays, {words}: {bandwidth[words] / 1e9:.1f} GB/s")

    robot = load("panda")
    model = DynamicModel(robot, (Viscous(), Coulomb(Tanh(0.03))), NumbaEngine())
    trajectory = Fourier(period=10.0, harmonics=5)
    delta = 0.3 * rng.standard_normal((robot.n, trajectory.coefficients))
    motion = motion_of(trajectory, delta, trajectory.sample_times(SAMPLES))
    layout, chain = model.layout(model.base.independent), model.dynamics.chain
    pairs, n = len(chain.joint), chain.n
    rows = [
        sum((layout.inertial[chain.link_of[k]] >= 0).sum() for k in np.flatnonzero(chain.joint == j))
        + ((layout.term_row == j) & (layout.term_column >= 0)).sum()
        for j in range(n)
    ]
    square = np.array(rows, dtype=float)

    forward = n * sum(map(operations, ("sin_cos", "place", "accelerate"))) + (pairs - n) * operations("carry_screw")
    made = pairs * operations("regressor_rows")
    gram = float((square * (square + 1)).sum())
    seeds = float((2 * square**2).sum())
    back = pairs * operations("regressor_adjoint") + (pairs - n) * operations("carry_screw_adjoint")
    back += n * operations("accelerate_adjoint")
    weights, memory = np.ones(n), model.dynamics.regressor(motion)
    dfdh = DOptimality()(model.rows(motion, layout, weights).gram())[1]
    kernels: dict[str, tuple[float, Callable[[], object]]] = {
        "W": (forward + made, lambda: model.dynamics.regressor(motion, out=memory)),
        "Gram matrix": (forward + made + gram, lambda: model.rows(motion, layout, weights).gram()),
        "adjoint": (forward + made + seeds + back, lambda: model.rows(motion, layout, weights).pullback(dfdh)),
    }
    print(f"\nper sample: outward recursion {forward:.0f}, rows {made:.0f}, Gram matrix of packed rows {gram:.0f}, "
          f"seeds {seeds:.0f}, way back {back:.0f} operations")  # fmt: skip
    print(f"\n{'':16}{'flop/sample':>12}{'µs/sample':>11}{'Gflop/s':>9}{'of peak':>9}")
    for name, (count, work) in kernels.items():
        took = seconds(work, rounds) / SAMPLES
        print(f"{name:16}{count:>12.0f}{1e6 * took:>11.3f}{count / took / 1e9:>9.1f}{count / took / peak:>9.0%}")
    written = 8 * 10 * pairs
    least = 1e6 * written / bandwidth["in memory"]
    print(f"W writes {written} bytes a sample: {least:.3f} µs if memory did nothing else")


if __name__ == "__main__":
    main()
