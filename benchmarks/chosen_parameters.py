"""What a design for chosen parameters gains over one for all of them, of the same length and with the same starts.

    python benchmarks/chosen_parameters.py [--starts 8] [--robots kuka-ir361 tx40 panda]

Printed, of the chosen parameters, their own design over the design for all: the mean half axis of the uncertainty,
det(C)^(1/2k), which D-optimality makes small, and σ, geometric mean and median.
Others are unknown in both (estimated along); of the load at the tool all else is known in both."""

from __future__ import annotations

import argparse
import time

import numpy as np

import exciter as ex
from exciter.excitation.criteria.criterion import evaluate
from exciter.excitation.trajectories.trajectory import motion

ROBOTS = ("kuka-ir361", "puma560", "tx40", "panda")
CHOICES = {
    "inertia": ex.ChosenParameters("inertia"),
    "inertia, gravity known": ex.ChosenParameters("inertia", known="gravity"),
    "friction": ex.ChosenParameters("friction"),
    "payload, robot known": ex.ChosenParameters("payload", known="others"),
}
FAMILY = ex.Fourier(period=10, harmonics=5, at_rest=True)


def ratios(chosen: ex.ChosenParameters, own: ex.Designed, whole: ex.Designed) -> tuple[float, np.ndarray]:
    """Half axis and σ (k,) by both motions of the chosen parameters, under the same assumptions."""
    columns, _ = chosen.columns(own.design.model)
    times = FAMILY.sample_times(own.design.samples)
    found = [motion(one.design.trajectory, one.design.delta, times) for one in (own, whole)]
    mine, other = (evaluate(own.design.model, one, own.design.noise**-2.0, columns) for one in found)
    axis = np.exp(0.5 * (other.log_det - mine.log_det) / len(mine.names))
    return float(axis), np.asarray(mine.predicted_std / other.predicted_std)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--robots", nargs="*", default=ROBOTS)
    given = parser.parse_args()
    print(f"{'robot':12} {'chosen':24} {'half axis':>10} {'σ, mean':>9} {'median':>8} {'seconds':>8}")
    for name in given.robots:
        whole = ex.design(name, FAMILY, starts=given.starts)
        for words, chosen in CHOICES.items():
            began = time.perf_counter()
            own = ex.design(name, FAMILY, parameters=chosen, starts=given.starts)
            seconds, (axis, std) = time.perf_counter() - began, ratios(chosen, own, whole)
            mean, median = np.exp(np.log(std).mean()), np.median(std)
            print(f"{name:12} {words:24} {axis:10.3f} {mean:9.3f} {median:8.3f} {seconds:8.1f}", flush=True)


if __name__ == "__main__":
    main()
