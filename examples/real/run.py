"""Four real robots, identified with automatic settings, and one table of how well they are predicted.

    python examples/real/run.py [--data DIR] [ROBOT…] [-o DIR] [--estimator WORD] [--json FILE]

For every robot: ``exciter identify`` with recording.yaml, identify.yaml and, never seen, held_out.yaml of its folder.
Percentages are 100 · RMS(measured − predicted) / RMS(measured) over every sample, both through the evaluation filter of
identify.yaml. Robots whose data are missing are skipped. Exit code 0: all that was there was identified.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import exciter as ex
from exciter.errors import ExciterError
from exciter.experiment.recording import open_recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.identification.estimators.physical import PhysicallyConsistent
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.pipeline.logs import read_logs
from exciter.pipeline.settings_file import SettingsFile
from exciter.validation.prediction import Prediction

HERE = Path(__file__).parent
ROBOTS = ("tx40", "panda", "lwr4", "kr300")
MOVING = 0.02  #: [rad/s] a joint that is faster moves
LABEL, CELL, WIDTH = 28, 8, 118


@dataclass(frozen=True)
class Left:
    """What a model leaves of the torque [%]: of each joint, where it is known, and of all together."""

    joints: tuple[float, ...]
    total: float


@dataclass(frozen=True)
class Outcome:
    """Of one robot. judged: held-out samples that count, and how many there are. seconds: the whole command; quality:
    what the check said of each log; chosen: settings, and why; words: what was done."""

    robot: str
    rows: Mapping[str, Left]
    condition: tuple[float, float]
    parameters: int
    judged: tuple[int, int]
    physically_consistent: bool | None
    seconds: float
    quality: Mapping[str, str]
    percentages: str
    chosen: tuple[str, ...]
    words: tuple[str, ...]


# -- one robot -------------------------------------------------------------------------------------------------------


def missing(robot: str, data: Path) -> str:
    """Why a robot is skipped; nothing where its data are there."""
    description = data / robot / f"{robot}.urdf"
    return "" if description.is_file() else f"there is no '{description}'; give the folder of the data with --data"


def run_robot(robot: str, data: Path, output: Path, estimator: str | None = None) -> Outcome:
    """Identify as the command line does, and read what was written."""
    mine = HERE / robot
    description = data / robot / f"{robot}.urdf"
    clock = time.perf_counter()
    config = SettingsFile.read(mine / "identify.yaml").identify.overridden(estimator=estimator)
    identified = ex.identify(description, mine / "recording.yaml", config, validate=mine / "held_out.yaml", data=data)
    identified.save(output)
    seconds = time.perf_counter() - clock
    found = IdentifiedModel.read(output)
    result, (seen,) = found.data, found.data["validation"]
    held_out = log_runs(found, mine / "held_out.yaml", data)
    rows = {
        "identification": _left(result["residuals"], result["total_percent"]),
        "held out": _left(seen["joints"], seen["total_percent"]),
        **beside(found, held_out),
        **edges_kept(found, mine / "held_out.yaml", data),
        **without_bounds(found, log_runs(found, mine / "recording.yaml", data), held_out),
        **published(robot),
    }
    return Outcome(
        robot,
        rows,
        (result["condition_number"], result["condition_number_normalized"]),
        len(result["parameters"]),
        judged(found, held_out),
        result["physically_consistent"],
        seconds,
        {Path(name).name: verdict for name, verdict in result["quality"].items()},
        result["percentages"],
        tuple(f"{one['setting']}: {one['value']} ({one['reason']})" for one in result["automatic"]),
        (*result["words"], *(word for run in result["runs"] for word in run["words"])),
    )


def log_runs(found: IdentifiedModel, path: Path, data: Path) -> tuple[Run, ...]:
    """A log, processed as the one that was identified from."""
    return read_logs(found.model.robot, found.config, [path], data=data).runs


def edges_kept(found: IdentifiedModel, path: Path, data: Path) -> dict[str, Left]:
    """Held out, with nothing cut where positions were filtered: the evaluation filter's own edges alone."""
    config = found.config
    if not isinstance(config.route, FilteredDifferences):
        return {}
    file = open_recording(path, data)
    runs = (Run.of(file.read().arranged(found.model.robot), replace(config.route, edge=0.99), file.repair),)
    seen = Prediction.of(Problem(found.model, runs, config.evaluation((), runs)), found.estimate)
    return {"held out, edges kept": left(seen, np.ones(seen.measured.shape, dtype=bool))}


def judged(found: IdentifiedModel, runs: tuple[Run, ...]) -> tuple[int, int]:
    """How many held-out samples are beyond the edges that filters cut, and how many there are."""
    rows = Problem(found.model, runs, found.config.evaluation((), runs)).measured.rows
    return int(rows.sum(axis=0).max()), sum(len(run.recording) for run in runs if run.recording is not None)


def without_bounds(found: IdentifiedModel, runs: tuple[Run, ...], held_out: tuple[Run, ...]) -> dict[str, Left]:
    """Held out, by the same settings and prior, where no link has to be a body and no friction ≥ 0."""
    estimator = found.config.estimator(found.model.robot, runs=runs)
    if not isinstance(estimator, PhysicallyConsistent):
        return {}
    free = estimator.prior.estimate(found.config.problem(found.model, runs))
    seen = Prediction.of(Problem(found.model, held_out, found.config.evaluation((), held_out)), free)
    return {"held out, no bounds": left(seen, np.ones(seen.measured.shape, dtype=bool))}


def beside(found: IdentifiedModel, runs: tuple[Run, ...]) -> dict[str, Left]:
    """Held out, of moving samples only, and unfiltered."""
    filtered = Prediction.of(Problem(found.model, runs, found.config.evaluation((), runs)), found.estimate)
    raw = Prediction.of(Problem(found.model, runs, InverseDynamic()), found.estimate)
    return {
        "held out, moving": left(filtered, np.abs(filtered.qd) > MOVING),
        "held out, unfiltered": left(raw, np.ones(raw.measured.shape, dtype=bool)),
    }


def left(prediction: Prediction, counted: np.ndarray) -> Left:
    """counted (N, n): the samples that count."""
    error, size = (np.where(counted, x, 0.0) ** 2 for x in (prediction.residual, prediction.measured))
    with np.errstate(divide="ignore", invalid="ignore"):
        joints = 100.0 * np.sqrt(error.sum(axis=0) / size.sum(axis=0))
    return Left(tuple(joints.tolist()), float(100.0 * np.sqrt(error.sum() / size.sum())))


def published(robot: str) -> dict[str, Left]:
    """What others reached on the held-out log."""
    known = yaml.safe_load((HERE / "baselines.yaml").read_text(encoding="utf-8")).get(robot, {})
    return {name: Left(tuple(one.get("joints", ())), one["total"]) for name, one in known.items()}


def _left(joints: Mapping[str, Mapping[str, float]], total: float) -> Left:
    return Left(tuple(one["percent"] for one in joints.values()), total)


# -- the table -------------------------------------------------------------------------------------------------------


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One line per robot and kind of residual."""
    count = max(len(one.rows["held out"].joints) for one in outcomes)
    headings = [*(f"joint {j + 1}" for j in range(count)), "total"]
    yield f"{'residual / torque [%]':{LABEL}}" + "".join(f"{text:>{CELL}}" for text in headings)
    for one in outcomes:
        for name, row in one.rows.items():
            cells = [*row.joints, *(float("nan"),) * (count - len(row.joints)), row.total]
            yield f"{one.robot + ': ' + name:{LABEL}}" + "".join(f"{shown(value):>{CELL}}" for value in cells)
        raw, scaled = one.condition
        bodies = {True: ", bodies can have them", False: ", no bodies can have them", None: ""}
        yield (
            f"{one.robot}: {one.parameters} base parameters{bodies[one.physically_consistent]}; cond {raw:.4g}, "
            f"of scaled columns {scaled:.3g}; {one.judged[0]} of {one.judged[1]} held-out samples judged (edges cut); "
            f"{one.seconds:.1f} s"
        )
        yield ""


def shown(value: float | None) -> str:
    if value is None or np.isnan(value):
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def remarks(one: Outcome) -> Iterator[str]:
    """What the percentages are of, what the check of the logs said, and what was chosen."""
    yield f"{one.robot}"
    yield from _wrapped(one.percentages)
    for name, verdict in one.quality.items():
        yield from _wrapped(f"{name}: {verdict}")
    for choice in one.chosen:
        yield from _wrapped(f"chosen: {choice}")
    for word in dict.fromkeys(one.words):
        yield from _wrapped(f"· {word}")
    yield ""


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


# -- the command -----------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("robots", nargs="*", metavar="ROBOT", help=f"some of {', '.join(ROBOTS)}; all unless given")
    command.add_argument("--data", type=Path, help="folder of the data; $EXCITER_DATA unless given")
    command.add_argument("-o", "--output", type=Path, help="keep what exciter identify writes there, robot by robot")
    command.add_argument("--estimator", help="another one than identify.yaml has, for all robots")
    command.add_argument("--json", type=Path, help="write all numbers there, too")
    arguments = command.parse_args(argv)
    if wrong := [name for name in arguments.robots if name not in ROBOTS]:
        command.error(f"'{wrong[0]}' is none of {', '.join(ROBOTS)}")
    data = arguments.data or Path(os.environ.get("EXCITER_DATA") or "data")
    with tempfile.TemporaryDirectory() as scratch:
        output = arguments.output or Path(scratch)
        outcomes, failed = run_all(arguments.robots or ROBOTS, data, output, arguments.estimator)
    if outcomes:
        print("\n".join([*table(outcomes), *(line for one in outcomes for line in remarks(one))]))
    if arguments.json is not None:
        arguments.json.write_text(as_json(outcomes, failed), encoding="utf-8")
    return 1 if failed else 0


def run_all(
    robots: Sequence[str], data: Path, output: Path, estimator: str | None
) -> tuple[list[Outcome], dict[str, str]]:
    """Those whose data are there, and why others failed; what is skipped or fails is said at once."""
    outcomes, failed = [], {}
    for robot in robots:
        if why := missing(robot, data):
            print(f"{robot} is skipped: {why}", file=sys.stderr)
            continue
        print(f"identifying {robot} …", file=sys.stderr, flush=True)
        try:
            outcomes.append(run_robot(robot, data, output / robot, estimator))
        except ExciterError as error:
            failed[robot] = str(error)
            print(f"{robot} failed: {error}", file=sys.stderr)
    return outcomes, failed


def as_json(outcomes: Sequence[Outcome], failed: Mapping[str, str]) -> str:
    plain: dict[str, Any] = {"robots": {one.robot: asdict(one) for one in outcomes}, "failed": dict(failed)}
    return json.dumps(plain, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
