"""Motion unlike the training motion: four real robots, each trained on one part of its logs and judged on another.

    python benchmarks/parts.py --data DIR [ROBOT…] [--forwards]

"first → rest" is motion alike: the first of two logs and the second, or two thirds of one and the rest. For all others
each log is cut into eight stretches of time: "every other" takes them in turn, "slow → fast" trains on the half of them
with the lower speeds, "joint 2: low → high" on the half in which the joint's mean position is lower. Figures are
100 · RMS(measured − predicted) / RMS(measured) over all joints and every sample of what was not trained on, both
through the evaluation filter of examples/real.

auto: automatic settings (``exciter identify`` as it is); prior: the same without bounds on the links; wls, consistent:
``--estimator`` with usual settings and no pull to a prior; description: the robot's file alone. "/alike": auto over
auto on motion alike. "wls/": wls over auto. A method that finds no equations in a part has no figure.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # one core
    os.environ.setdefault(variable, "1")

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from log_parts import ALIKE, Span, Split, counted, cut, splits

from exciter.errors import ExciterError
from exciter.experiment.recording import Recording, open_recording
from exciter.experiment.recording.windows import Window
from exciter.experiment.signals.processed_motion import Route
from exciter.identification.automatic import Automatic, choose_automatically
from exciter.identification.identify_config import IdentifyConfig
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run, common_side
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import Robot, load
from exciter.validation.prediction import Prediction

REAL = Path(__file__).parents[1] / "examples" / "real"
LOGS = {
    "tx40": ("whole",),
    "panda": ("recording",),
    "lwr4": ("recording", "held_out"),
    "kr300": ("recording", "held_out"),
}
HEADINGS = ("auto", "prior", "wls", "consist.", "descr.", "/alike", "wls/")
MOVES = {"tx40": 7.45}  #: [s] then it rests
METHODS: dict[str, Mapping[str, Any]] = {
    "automatic": {},
    "automatic prior": {"automatic": True, "estimator": {"prior": {"nonnegative": True}}},
    "wls": {"estimator": "wls"},
    "consistent": {"estimator": "consistent"},
}


@dataclass(frozen=True, eq=False)
class Logs:
    """What one robot was recorded with; ``config`` of examples/real."""

    name: str
    robot: Robot
    recordings: tuple[Recording, ...]
    config: IdentifyConfig

    @classmethod
    def read(cls, name: str, data: Path) -> Logs:
        robot = load(data / name / f"{name}.urdf")
        return cls(name, robot, tuple(_whole(name, which, data).arranged(robot) for which in LOGS[name]), _config(name))

    @cached_property
    def splits(self) -> dict[str, Split]:
        return splits(self.recordings)

    def runs(
        self, route: Route | None, spans: Sequence[Sequence[tuple[float, float]]] | None = None
    ) -> tuple[Run, ...]:
        """Whole, or within spans."""
        whole = tuple(Run.of(one, route, name=f"log {k + 1}") for k, one in enumerate(self.recordings))
        return whole if spans is None else tuple(cut(run, some) for run, some in zip(whole, spans, strict=True) if some)

    def fit(self, split: Split, settings: Mapping[str, Any]) -> Fit:
        """settings: beside those of ``config``, for the section identify."""
        config = self.config.overridden(**settings)
        runs = self.runs(config.route, split.train)
        config = replace(config, side=common_side(runs))
        automatic: Automatic | None = None
        if config.automatic:
            automatic = choose_automatically(config, self.robot, runs, lambda route: self.runs(route, split.train))
            config, runs = automatic.config, automatic.runs
        robot = self.robot if automatic is None else automatic.robot
        problem = config.problem(config.model(robot), runs)
        return Fit(self, problem, config.estimator(robot, runs=runs).estimate(problem), config, automatic)


@dataclass(frozen=True, eq=False)
class Fit:
    """An estimate from a part of the logs."""

    logs: Logs
    problem: Problem
    estimate: Estimate
    config: IdentifyConfig
    automatic: Automatic | None

    def left(self, spans: Sequence[Sequence[Span]]) -> Left:
        """On parts of the logs."""
        return Left.of([(one, counted(one, some)) for one, some in zip(self.predictions, spans, strict=True)])

    @cached_property
    def predictions(self) -> tuple[Prediction, ...]:
        """Of the logs, whole."""
        runs = self.logs.runs(self.config.route)
        judge = self.config.evaluation((), runs)
        return tuple(Prediction.of(Problem(self.problem.model, (run,), judge), self.estimate) for run in runs)


@dataclass(frozen=True)
class Left:
    """[%] of the torque that is left: per joint, of all, and by the description alone."""

    joints: tuple[float, ...]
    total: float
    description: float

    @classmethod
    def of(cls, parts: Sequence[tuple[Prediction, np.ndarray]]) -> Left:
        def squares(name: str) -> np.ndarray:
            values = np.concatenate([getattr(prediction, name)[where] for prediction, where in parts])
            if name != "measured" and name != "residual":
                values = np.concatenate([prediction.measured[where] for prediction, where in parts]) - values
            return np.asarray((values**2).sum(axis=0))

        size, error, described = squares("measured"), squares("residual"), squares("description")
        return cls(
            tuple((100.0 * np.sqrt(error / size)).tolist()),
            float(100.0 * np.sqrt(error.sum() / size.sum())),
            float(100.0 * np.sqrt(described.sum() / size.sum())),
        )


def _config(name: str) -> IdentifyConfig:
    return SettingsFile.read(REAL / name / "identify.yaml").identify


def _whole(name: str, which: str, data: Path) -> Recording:
    """Without the windows that split it; only while the robot moves."""
    file = open_recording(REAL / name / f"{which}.yaml", data)
    windows = (Window(seconds=(0.0, MOVES[name])),) if name in MOVES else ()
    return replace(file, given=replace(file.given, windows=windows)).read()


def measured(logs: Logs, split: Split) -> dict[str, Left | str]:
    """By method; why it failed, where it did."""
    found: dict[str, Left | str] = {}
    for method, settings in METHODS.items():
        try:
            found[method] = logs.fit(split, settings).left(split.test)
        except ExciterError as error:
            found[method] = str(error)
    return found


def row(name: str, found: Mapping[str, Left | str], alike: float | None) -> str:
    """One line of the table; alike [%]: of automatic settings on motion alike."""
    there = {method: one.total for method, one in found.items() if isinstance(one, Left)}
    described = next((one.description for one in found.values() if isinstance(one, Left)), float("nan"))
    cells = [*(there.get(method, float("nan")) for method in METHODS), described]
    chosen = there.get("automatic", float("nan"))
    ratios = [chosen / alike if alike else float("nan"), there.get("wls", float("nan")) / chosen]
    return f"{name:28}" + "".join("        –" if np.isnan(x) else f"{x:9.3g}" for x in (*cells, *ratios))


def main(argv: Sequence[str] | None = None) -> int:
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("robots", nargs="*", metavar="ROBOT", help=f"some of {', '.join(LOGS)}; all unless given")
    command.add_argument("--data", type=Path, help="folder of the data; $EXCITER_DATA unless given")
    command.add_argument("--forwards", action="store_true", help="no split the other way round: half the time")
    arguments = command.parse_args(argv)
    if wrong := [name for name in arguments.robots if name not in LOGS]:
        command.error(f"'{wrong[0]}' is none of {', '.join(LOGS)}")
    data = arguments.data or Path(os.environ.get("EXCITER_DATA") or "data")
    print(f"{'left of the torque [%]':28}" + "".join(f"{word:>9}" for word in HEADINGS), flush=True)
    for name in arguments.robots or LOGS:
        if not (data / name).is_dir():
            print(f"{name} is skipped: there is no '{data / name}'; give the folder of the data with --data")
            continue
        logs, alike, notes = Logs.read(name, data), None, {}
        for split in logs.splits.values():
            for one in (split,) if arguments.forwards or split.name == ALIKE else (split, split.back):
                found = measured(logs, one)
                if one.name == ALIKE and isinstance(best := found["automatic"], Left):
                    alike = best.total
                print(row(f"{name} {one.name}", found, alike), flush=True)
                notes |= {method: why for method, why in found.items() if isinstance(why, str)}
        print("\n".join(f"  – {method}: {why}" for method, why in notes.items()), end="\n" if notes else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
