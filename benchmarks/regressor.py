"""Speed of the dynamics core, as ratios to Pinocchio's regressor called in a Python loop, all in one run.

    python benchmarks/regressor.py [--rounds 15]

Setting: Franka Panda (7 axes), N = 1000 samples, Fourier trajectory with 77 coefficients, viscous and Coulomb
friction, D-optimality on the base parameters, one core, processor time. Every round times the reference and each
candidate next to each other; the median of the rounds' ratios is printed, because absolute times on a shared machine
mean little. Criterion and gradient by the coefficients are those of the optimiser, whose matrices of the instants are
made once; "from the trajectory" makes them anew each time. Finite differences are 77 one-sided differences of the same
criterion evaluated through Pinocchio.

Two threads are compared with one on the wall, call by call in turn, as the machine is; then again while another process
keeps the last core busy.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # linear algebra on one core
    os.environ[variable] = "1"

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle

import numpy as np
import pinocchio as pin

from exciter.dynamics.engine import NumbaEngine
from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.optimiser.limits import Variables
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.excitation.trajectories.trajectory import pullback
from exciter.parameters.terms import Coulomb, Tanh, Viscous
from exciter.robot import load
from exciter.robot.pinocchio_model import to_pinocchio

SAMPLES = 1000
TARGETS = {
    "Numba W": 0.05,
    "Numba criterion + gradient": 0.5,
    "NumPy criterion + gradient": 8.0,
}
TWO_OVER_ONE = 1.1  # of two threads on a busy machine


def seconds(work: Callable[[], object], at_least: float = 0.05) -> float:
    """Median processor time of one call, over calls in a row that last long enough for caches and clock to settle."""
    work()
    times: list[float] = []
    while not times or sum(times) < at_least:
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def on_the_wall(works: list[Callable[[], object]], calls: int) -> list[float]:
    """Mean time of a call of each, in turn: who waits for a core that is busy waits long, and rarely."""
    total = [0.0] * len(works)
    for _ in range(calls):
        for k, work in enumerate(works):
            start = time.perf_counter()
            work()
            total[k] += time.perf_counter() - start
    return [one / calls for one in total]


def keep_busy() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    while True:
        pass


@contextmanager
def one_core_busy() -> Iterator[None]:
    busy = multiprocessing.get_context("spawn").Process(target=keep_busy, daemon=True)
    busy.start()
    time.sleep(2.0)  # until it has begun
    try:
        yield
    finally:
        busy.terminate()
        busy.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds

    robot = load("panda")
    terms = (Viscous(), Coulomb(Tanh(0.03)))
    trajectory = Fourier(period=10.0, harmonics=5)
    times = trajectory.sample_times(SAMPLES)
    delta = 0.3 * np.random.default_rng(0).standard_normal((robot.n, trajectory.coefficients))
    motion = motion_of(trajectory, delta, times)
    criterion, weights = DOptimality(), np.ones(robot.n)

    def objective(engine: NumbaEngine | NumpyEngine) -> DesignObjective:
        model = DynamicModel(robot, terms, engine)
        return DesignObjective(model, criterion, model.base.independent, weights)

    def value_and_gradient(objective: DesignObjective) -> tuple[float, np.ndarray]:
        """With respect to the coefficients."""
        value, gradient = objective.value_and_gradient(motion_of(trajectory, delta, times))
        return value, pullback(trajectory, times, gradient)

    variables = Variables(trajectory, robot.n)
    grid = variables.grid(times)
    near = cycle([variables.from_delta(delta), variables.from_delta(delta * (1.0 + 1e-12))])  # a motion is kept once

    def optimised(objective: DesignObjective) -> tuple[float, np.ndarray]:
        """As the optimiser asks for it."""
        y = next(near)
        at = variables.motion(grid, y)
        value, gradient = objective.value_and_gradient(at)
        return value, variables.pullback(grid, y, at, gradient)

    one, two, plain = objective(NumbaEngine()), objective(NumbaEngine(threads=2)), objective(NumpyEngine())

    pinocchio = to_pinocchio(one.model.dynamics.robot)
    data = pinocchio.createData()
    columns = np.asarray(one.columns)
    inertial = columns < 10 * robot.n

    def pinocchio_loop() -> None:
        for q, qd, qdd in zip(motion.q, motion.qd, motion.qdd, strict=True):
            pin.computeJointTorqueRegressor(pinocchio, data, q, qd, qdd)

    def criterion_through_pinocchio(x: np.ndarray) -> float:
        m = motion_of(trajectory, x, times)
        w = np.zeros((SAMPLES, robot.n, len(columns)))
        for k in range(SAMPLES):
            phi = pin.computeJointTorqueRegressor(pinocchio, data, m.q[k], m.qd[k], m.qdd[k])
            w[k][:, inertial] = phi[:, columns[inertial]]
        for (row, _), values, column in zip(
            one.model.entries, one.model.term_values(m), columns[~inertial], strict=True
        ):
            w[:, row, np.searchsorted(columns, column)] = values
        flat = w.reshape(-1, len(columns))
        return criterion(flat.T @ flat)[0]

    def finite_differences() -> np.ndarray:
        reference, step, gradient = criterion_through_pinocchio(delta), 1e-6, np.empty(delta.size)
        for k in range(delta.size):
            moved = delta.copy()
            moved.flat[k] += step
            gradient[k] = (criterion_through_pinocchio(moved) - reference) / step
        return gradient

    value, exact = value_and_gradient(one)
    print(f"criterion {value:.6f}, through Pinocchio {criterion_through_pinocchio(delta):.6f}")
    differences = finite_differences()
    error = np.abs(exact.ravel() - differences).max() / np.abs(exact).max()
    print(f"exact gradient against one-sided finite differences: {error:.1e}")

    layout = one.model.layout(one.columns)
    memory = one.model.dynamics.regressor(motion)  # Pinocchio, too, writes into memory it has
    candidates: dict[str, Callable[[], object]] = {
        "Numba W": lambda: one.model.dynamics.regressor(motion, out=memory),
        "Numba W in newly allocated memory": lambda: one.model.dynamics.regressor(motion),
        "Numba Gram matrix": lambda: one.model.rows(motion, layout, weights).gram(),
        "Numba criterion + gradient": lambda: optimised(one),
        "… from the trajectory": lambda: value_and_gradient(one),
        "NumPy W": lambda: plain.model.dynamics.regressor(motion),
        "NumPy criterion + gradient": lambda: optimised(plain),
    }
    ratios: dict[str, list[float]] = {name: [] for name in candidates}
    for work in (*candidates.values(), pinocchio_loop):
        work()
    for _ in range(rounds):
        for name, work in candidates.items():
            reference = seconds(pinocchio_loop)
            ratios[name].append(seconds(work) / reference)
    speedup = [seconds(finite_differences, 0.0) / seconds(lambda: value_and_gradient(one)) for _ in range(3)]

    print(f"\nratio to Pinocchio's regressor in a Python loop (median of {rounds} rounds)   [target]")
    for name, values in ratios.items():
        target = f"[≤ {TARGETS[name]:g}]" if name in TARGETS else ""
        print(f"  {name:42s} {np.median(values):8.3f}   {target}")
    print(
        f"\nexact gradient: {np.median(speedup):.0f} times faster than finite differences through Pinocchio   [≥ 100]"
    )

    both: list[Callable[[], object]] = [lambda: optimised(one), lambda: optimised(two)]
    single, double = on_the_wall(both, 40 * rounds)
    print(f"\ncriterion + gradient on the wall, two threads / one: {double / single:.2f} as the machine is")
    with one_core_busy():
        single, double = on_the_wall(both, 40 * rounds)
    print(f"{double / single:.2f} while another process keeps a core busy   [≤ {TWO_OVER_ONE:g}]")


if __name__ == "__main__":
    main()
