"""Report of an identification from 60 s at 1 kHz of a 7-axis arm: time to build, size, time until it answers.

    python benchmarks/report.py

Time until it answers is by the browser's own clock: from the request of the page until the first picture after all
scripts have run. It needs Chromium, and is left out where none is found.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from browser import Browser, find_browser

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.identification import Identification, identify
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.report.identification.report import identification_page
from exciter.robot import embedded_robots as embedded
from exciter.validation.validation import ValidationVerdict, validate_both

SECONDS, RATE = 60.0, 1000.0
OPENINGS = 5


def log(model: DynamicModel, seed: int) -> Run:
    rng = np.random.default_rng(seed)
    trajectory = Fourier(period=SECONDS, harmonics=30)
    low, high = model.robot.position_range()
    delta = 0.02 * (high - low)[:, None] * rng.standard_normal((model.n, trajectory.coefficients))
    delta[:, -1] = 0.5 * (low + high)
    moved = motion(trajectory, delta, np.arange(int(SECONDS * RATE)) / RATE)
    return Run.at(moved, model.torque(moved) + 0.1 * rng.standard_normal(moved.q.shape), RATE, f"log {seed}.csv")


def identified() -> tuple[Identification, Run]:
    model = DynamicModel(embedded.robot("panda"), (RotorInertia(), Viscous(), Coulomb(), Offset()))
    never = log(model, 2)
    return identify(Problem(model, (log(model, 1),)), WeightedLeastSquares(), (never,)), never


def openings(path: Path, profile: Path) -> list[float]:
    """[ms] until the page answers, each in a new visit."""
    browser = Browser(profile)
    try:
        found = []
        for _ in range(OPENINGS):
            browser.open(path, 1280, 900)
            found.append(float(browser.evaluate("report.ready")))
        assert not browser.errors, browser.errors
        return found
    finally:
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="keep the report there")
    arguments = parser.parse_args()
    found, never = identified()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = arguments.output or Path(folder) / "report.html"
        for what in ("first time", "again"):
            clock = time.perf_counter()
            verdict = ValidationVerdict(*validate_both(found, (never,)))
            identification_page(found, verdict, validation=[never]).write(path)
            print(f"built in {time.perf_counter() - clock:.2f} s ({what}), {path.stat().st_size / 1e6:.2f} MB")
        if find_browser() is None:
            print("no Chromium: not opened")
            return
        times = openings(path.absolute(), Path(folder) / "profile")
        listed = ", ".join(f"{one:.0f}" for one in times)
        print(f"answers after {np.median(times):.0f} ms (median of {listed})")


if __name__ == "__main__":
    main()
