"""Whether 95 % intervals hold the truth in 95 % of cases, and whether a result says that its model is wrong.

    python benchmarks/interval_coverage.py [--logs 40] [--robots ur10e …] [--conditions white …] [--estimator wls]
                                           [--seed 1] [--duration 12] [--rate 250] [--jobs 2] [--json FILE]

Logs of three robots by ``independent_simulator.py`` (Pinocchio and NumPy, nothing of the package): two of the embedded
ones and a random arm. Every log has a robot of its own that the description is believable for (masses ± 20 %, centres
± 0.1 gyration radius, friction drawn) and a random motion of 12 s. Conditions: white, coloured: the model is right,
torque noise of 2 % rms, encoders of 2¹⁷ steps per turn; wrong: Stribeck friction, ripple, 2 ms of delay, elastic gears.

Counted are, of ``ex.identify(robot, log)`` as it is, and beside it of an ``--estimator``:

- ``found.parameters``: is the truth within ``interval``? The truth of a base parameter is the grouping of the
  identified model times the standard parameters of the true robot; zero for what the true robot does not have (√ and
  load friction, ripple, Stribeck: "extra"). Dry friction with pre-sliding keeps its meaning, its level. Where the model
  is wrong, friction has no truth: links and rotors are counted only.
- band: other motion of the true robot, torque without noise, as a log that ``found`` is validated on: the share of
  instants × joints at which |residual| ≤ ``found.validation[0].band``. Both went through the filter of the equations.
- said: the result says that the model lacks something (``says_model_is_wrong``); warned: by a warning that is shown
  unasked, rather than in the judgement of its fit alone. Where the model is right, both are false alarms.
- refused: logs with a finding for which ``identify`` refuses them; they are identified all the same.

z is (value − truth)/σ: its rms is one where σ is right. For every log the regressor of the package times true base
parameters is compared with the simulator's torque (``disagreement``): a figure below 1e-9, or the benchmark stops.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core each
    os.environ.setdefault(variable, "1")

import argparse
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

HERE = str(Path(__file__).resolve().parent)
sys.path.insert(0, HERE)

from independent_simulator import (
    CONDITIONS,
    ENCODER_STEP_RAD,
    LOG_DURATION_S,
    RIGHT_CONDITIONS,
    SAMPLE_RATE_HZ,
    SimulatedLog,
    TrueRobot,
    random_arm,
)

import exciter as ex
from exciter.identification.identified_model import BesideKnown
from exciter.identification.uncertainty.missing_terms import MODEL_SUBJECT
from exciter.notes import Severity
from exciter.parameters.terms.friction import Coulomb, Dahl
from exciter.robot import Robot
from exciter.workers import over_processes

RANDOM_ARM = "random-arm"
ROBOTS = ("ur10e", "panda", RANDOM_ARM)
AUTOMATIC = "automatic"
KINDS = {
    "moments": ("MX", "MY", "MZ"),
    "inertias": ("XX", "XY", "XZ", "YY", "YZ", "ZZ"),
    "masses": ("M",),
    "rotor": ("Ia",),
    "Coulomb": ("Fs",),
    "viscous": ("Fv",),
    "offset": ("off",),
}
LINK_KINDS, EXTRA = ("moments", "inertias", "masses"), "extra"
KINDS_WITH_TRUTH_IF_WRONG = (*LINK_KINDS, "rotor")
SYMBOL_OF_BASE_PARAMETER = re.compile(r"([A-Za-z]+?)R?\d+")
RIGHT_MODEL_TERMS = (ex.RotorInertia(), ex.Viscous(), ex.Coulomb(), ex.Offset())
MOST_DISAGREEMENT = 1e-9  #: of the torque, between the package's regressor and the simulator
WANTED_COVERAGE, WANTED_LINK_COVERAGE_IF_WRONG, WANTED_SAID = (0.93, 0.97), 0.9, 0.8
Record = dict[str, Any]  #: of one log, as JSON has it


# -- one log -----------------------------------------------------------------------------------------------------------


def described(name: str, seed: int) -> Robot:
    """The robot as its description has it."""
    if name != RANDOM_ARM:
        return ex.load(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.urdf"
        path.write_text(random_arm(seed), encoding="utf-8")
        return replace(ex.load(path), file=None, options=None)


def true_values(model: ex.DynamicModel, truth: TrueRobot) -> dict[str, float]:
    """Standard parameters by name, of links in the frames of a model."""
    joints = [replace(j, inertia=phi) for j, phi in zip(model.robot.joints, truth.inertias, strict=True)]
    friction = {"rotor_inertia": truth.rotor, "viscous": truth.viscous, "coulomb": truth.coulomb}
    robot = replace(model.robot, joints=tuple(joints), friction=friction)
    own = ex.DynamicModel(robot, RIGHT_MODEL_TERMS)
    offsets = {f"off{k + 1}": value for k, value in enumerate(truth.offset.tolist())}
    return {**dict(zip(own.standard, own.nominal.tolist(), strict=True)), **offsets}


def disagreement(robot: Robot, log: SimulatedLog) -> float:
    """The largest difference between the simulator's torque and Φ_b β of the package, over the largest torque, both
    without what the model lacks."""
    zero = np.zeros(robot.n)
    truth = replace(log.truth, compliance=zero, stribeck=zero, ripple=zero)
    model, instants = ex.DynamicModel(robot, RIGHT_MODEL_TERMS), log.time[:: max(1, len(log.time) // 100)]
    torque = truth.moved(log.sines, instants)[1]
    known = true_values(model, truth)
    beta = model.base.base_values([known[name] for name in model.standard])
    phi = model.base.project(model.regressor(ex.Motion(instants, *log.sines.at(instants))))
    return float(np.abs(phi @ beta - torque).max() / np.abs(torque).max())


def kind_of(name: str) -> str:
    found = SYMBOL_OF_BASE_PARAMETER.fullmatch(name)
    symbol = name if found is None else found[1]
    return next((kind for kind, symbols in KINDS.items() if symbol in symbols), EXTRA)


def says_model_is_wrong(found: ex.Identified) -> bool:
    """Whether the result says that its model lacks something: a warning on its residuals, or what its fit misses."""
    return warns_of_residuals(found) or any(one.missed for one in found.fit)


def warns_of_residuals(found: ex.Identified) -> bool:
    """What is shown without being asked for."""
    notes = (*found.estimate.notes, *found.notes)
    return any(one.subject == MODEL_SUBJECT and one.severity >= Severity.WARNING for one in notes)


def pre_sliding(found: ex.Identified) -> dict[str, float]:
    """δ [rad] by joint, where dry friction has pre-sliding."""
    deltas: dict[str, float] = {}
    for term in found.model.terms:
        if isinstance(term, Coulomb) and isinstance(term.shape, Dahl):
            joints = term.joints or found.robot.joint_names
            deltas |= dict(zip(joints, np.broadcast_to(term.shape.delta, len(joints)).tolist(), strict=True))
    return deltas


def lean(found: ex.Identified, robot: Robot) -> float:
    """[rad] between the gravity of the result and of the description."""
    a, b = found.robot.gravity, robot.gravity
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def result(robot: Robot, log: SimulatedLog, settings: Mapping[str, Any]) -> Record:
    """What one identification says, beside the truth."""
    names, clock = robot.joint_names, time.perf_counter()
    recording = ex.Recording.of(log.time, log.q, log.torque, joints=names, name="log")
    held = ex.Recording.of(log.held_time, log.held_q, log.held_torque, joints=names, name="held out")
    found = ex.identify(robot, recording, validate=held, accept_problems=True, **settings)
    seconds = time.perf_counter() - clock
    beside: Iterable[BesideKnown] = found.as_model.beside(true_values(found.model, log.truth))
    judged = found.validation[0]
    inside = np.abs(np.asarray(judged.residual)) <= np.asarray(judged.band)
    prior = getattr(found.config.settings.estimator, "prior", None)
    friction = () if found.friction is None else found.friction.per_joint
    return {
        "parameters": [
            {
                "name": p.name,
                "kind": kind_of(p.name),
                "true": b.true,
                "inside": b.inside,
                "value": p.value,
                "std": p.std,
            }
            for p, b in zip(found.parameters, beside, strict=True)
        ],
        "freedom": found.estimate.freedom,
        "band": float(inside.mean()),
        "band_by_joint": dict(zip(names, inside.mean(axis=0).tolist(), strict=True)),
        "held_out_percent": judged.total_percent,
        "said": says_model_is_wrong(found),
        "warned": warns_of_residuals(found),
        "missed": [f"{one.joint} {one.quantity}" for one in found.fit[0].missed],
        "verdict": found.fit[0].verdict,
        "notes": [f"{one.severity}: {one}" for one in (*found.estimate.notes, *found.notes)],
        "problems": [one.text for one in found.quality["log"].problems],
        "friction": {one.joint: one.chosen.candidate.name for one in friction},
        "pre_sliding": pre_sliding(found),
        "weight": None if prior is None else prior.weight,
        "offset_sigma": None if prior is None else prior.offset,
        "lean": lean(found, robot),
        "seconds": seconds,
    }


def one_log(
    name: str, condition: str, number: int, seed: int, duration: float, rate: float, estimator: str | None
) -> Record:
    """Of a robot, condition and number: always the same, and of a true robot of its own."""
    robot = described(name, seed)
    own = (seed, ROBOTS.index(name), CONDITIONS.index(condition), number)
    log = SimulatedLog.of(robot.joints, robot.gravity, condition, own, duration, rate)
    off = disagreement(robot, log)
    assert off < MOST_DISAGREEMENT, f"{name}, log {number}: simulator and package differ by {off:.1e} of the torque"
    methods: dict[str, Mapping[str, Any]] = {AUTOMATIC: {}}
    if estimator is not None:
        methods[estimator] = {"estimator": estimator}
    about = {"robot": name, "condition": condition, "log": number, "disagreement": off}
    found: Record = {}
    for method, settings in methods.items():
        try:
            found[method] = result(robot, log, settings)
        except ex.ExciterError as error:
            found[method] = {"error": str(error)}
    return {**about, **found}


# -- tables ------------------------------------------------------------------------------------------------------------


def counted(records: Sequence[Record], method: str) -> list[tuple[Record, list[Record]]]:
    """Results of a method, each with its parameters that have a truth; without those that failed."""
    found = []
    for one in records:
        if "error" in (own := one[method]):
            continue
        right = one["condition"] in RIGHT_CONDITIONS
        kept = [p for p in own["parameters"] if right or p["kind"] in KINDS_WITH_TRUTH_IF_WRONG]
        found.append((own, kept))
    return found


def share(values: Iterable[float]) -> float:
    listed = list(values)
    return float(np.mean(listed)) if listed else float("nan")


def coverage_by_kind(records: Sequence[Record], method: str) -> dict[str, float]:
    """Shares; all: of all parameters; worst: of the worst log; band, said, refused: see above."""
    results = counted(records, method)
    every = [p for _, kept in results for p in kept]
    kinds = {kind: share(p["inside"] for p in every if p["kind"] == kind) for kind in (*KINDS, EXTRA)}
    return {
        **kinds,
        "all": share(p["inside"] for p in every),
        "worst": min((share(p["inside"] for p in kept) for _, kept in results), default=float("nan")),
        "band": share(own["band"] for own, _ in results),
        "said": share(own["said"] for own, _ in results),
        "warned": share(own["warned"] for own, _ in results),
        "refused": share(bool(own["problems"]) for own, _ in results),
    }


def z_by_kind(records: Sequence[Record], method: str) -> dict[str, float]:
    """rms of (value − truth)/σ."""
    squares = defaultdict[str, list[float]](list)
    for _, kept in counted(records, method):
        for p in kept:
            z = (p["value"] - p["true"]) / p["std"] if p["std"] > 0.0 else 0.0 if p["inside"] else np.inf
            squares[p["kind"]].append(z**2)
            squares["all"].append(z**2)
    return {kind: float(np.sqrt(np.mean(squares[kind]))) for kind in (*KINDS, EXTRA, "all") if kind in squares}


def groups_of(records: Sequence[Record]) -> dict[str, list[Record]]:
    """By robot and condition, then all of a condition, then all right ones."""
    groups = defaultdict[str, list[Record]](list)
    for key in ("robot", "all"):
        for one in records:
            groups[f"{one[key] if key == 'robot' else 'all'} {one['condition']}"].append(one)
    groups["all right"] = [one for one in records if one["condition"] in RIGHT_CONDITIONS]
    return {name: found for name, found in sorted(groups.items(), key=lambda pair: pair[0].startswith("all")) if found}


def table(title: str, rows: Mapping[str, Mapping[str, float]], form: str) -> str:
    named = max(rows.values(), key=len)  # the others lack kinds that did not occur
    columns = [c for c in named if any(not np.isnan(r.get(c, np.nan)) for r in rows.values())]
    lines = [f"{title:22}" + "".join(f"{column:>9}" for column in columns)]
    for name, found in rows.items():
        cells = (found.get(column, float("nan")) for column in columns)
        lines.append(f"{name:22}" + "".join("        –" if np.isnan(x) else f"{x:9{form}}" for x in cells))
    return "\n".join(lines)


def chosen_lines(records: Sequence[Record]) -> list[str]:
    """What automatic settings chose, by condition."""
    lines = []
    for condition in dict.fromkeys(one["condition"] for one in records):
        some = [one[AUTOMATIC] for one in records if one["condition"] == condition and "error" not in one[AUTOMATIC]]
        if not some:
            continue
        deltas = np.array([delta for one in some for delta in one["pre_sliding"].values()])
        names = [name for one in some for name in one["friction"].values()]
        extras = sum(any(word in name for word in ("√", "load", "ripple")) for name in names)
        weights = np.array([one["weight"] for one in some if one["weight"] is not None])
        short, leaning = int((deltas < ENCODER_STEP_RAD).sum()), [one["lean"] for one in some if one["lean"] > 0.0]
        span = f"{weights.min():.3g} … {np.median(weights):.3g} … {weights.max():.3g}" if len(weights) else "none"
        lines.append(
            f"{condition}: pre-sliding on {len(deltas)} of {len(names)} joints, on {short} of them shorter than a step "
            f"of the encoder; √, load or ripple on {extras}; base leans in {len(leaning)} of {len(some)} logs"
            f"{f' (median {np.degrees(np.median(leaning)):.2g}°)' if leaning else ''}; weight of the prior {span}"
        )
    return lines


def verdicts(records: Sequence[Record]) -> list[str]:
    """A line per requirement; ±: standard error, from how the shares of logs scatter."""
    right = counted([one for one in records if one["condition"] in RIGHT_CONDITIONS], AUTOMATIC)
    wrong = counted([one for one in records if one["condition"] not in RIGHT_CONDITIONS], AUTOMATIC)

    def of_kinds(results: Sequence[tuple[Record, list[Record]]], kinds: Sequence[str]) -> list[list[float]]:
        found = [[float(p["inside"]) for p in kept if p["kind"] in kinds] for _, kept in results]
        return [one for one in found if one]

    asked = [(f"right model, {kind}", of_kinds(right, (kind,)), WANTED_COVERAGE) for kind in KINDS]
    asked.append(("right model, band", [[own["band"]] for own, _ in right], WANTED_COVERAGE))
    asked.append(("wrong model, links", of_kinds(wrong, LINK_KINDS), (WANTED_LINK_COVERAGE_IF_WRONG, 1.0)))
    asked.append(("wrong model, said", [[float(own["said"])] for own, _ in wrong], (WANTED_SAID, 1.0)))
    lines = []
    for what, logs, (low, high) in asked:
        if not logs:
            continue
        size, every = np.array([len(one) for one in logs]), np.concatenate(logs)
        off = [sum(one) - len(one) * every.mean() for one in logs]
        error = float(np.linalg.norm(off)) / size.sum()
        word = "reached    " if low <= every.mean() <= high else "NOT REACHED"
        lines.append(f"{word}  {what}: {every.mean():.1%} ± {error:.1%} (wanted {low:.0%}–{high:.0%})")
    return lines


def printed(records: Sequence[Record], methods: Sequence[str]) -> str:
    groups, parts = groups_of(records), list[str]()
    for method in methods:
        covered = {name: coverage_by_kind(some, method) for name, some in groups.items()}
        parts.append(table(f"{method}: covered", covered, ".3f"))
        parts.append(table(f"{method}: rms of z", {n: z_by_kind(some, method) for n, some in groups.items()}, ".2f"))
    pairs = [(f"{one['robot']} {one['condition']} {one['log']}", one[m]) for one in records for m in methods]
    failed = [f"{name}: {own['error']}" for name, own in pairs if "error" in own]
    refused = sorted({text for one in records for text in one[AUTOMATIC].get("problems", ())})
    parts += ["\n".join(chosen_lines(records)), *(["failed:\n" + "\n".join(failed)] if failed else [])]
    parts += ["refused for:\n" + "\n".join(refused)] if refused else []
    return "\n\n".join((*parts, "\n".join(verdicts(records))))


def main(argv: Sequence[str] | None = None) -> int:
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--logs", type=int, default=40, help="of each robot and condition")
    command.add_argument("--robots", nargs="+", choices=ROBOTS, default=ROBOTS)
    command.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=CONDITIONS)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--duration", type=float, default=LOG_DURATION_S, help="of a log [s]")
    command.add_argument("--rate", type=float, default=SAMPLE_RATE_HZ, help="of a log [Hz]")
    command.add_argument("--estimator", metavar="WORD", help="to put beside the automatic result: wls")
    command.add_argument("--jobs", type=int, default=2, help="processes")
    command.add_argument("--json", type=Path, metavar="FILE", help="everything, log by log")
    given = command.parse_args(argv)
    methods = [AUTOMATIC, *([given.estimator] if given.estimator else [])]
    tasks = [
        (robot, condition, number, given.seed, given.duration, given.rate, given.estimator)
        for number in range(given.logs)  # of all kinds alike, should it be ended early
        for robot in given.robots
        for condition in given.conditions
    ]
    about = f"{len(tasks)} logs of {given.duration:g} s at {given.rate:g} Hz, seed {given.seed}"
    records, clock = list[Record](), time.perf_counter()
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")]))  # for processes
    made = over_processes(one_log, tasks, given.jobs) if given.jobs > 1 else (one_log(*task) for task in tasks)
    for one in made:
        records.append(one)
        shown = "  ".join(
            f"{m}: {one[m]['error'][:60]}"
            if "error" in one[m]
            else f"{m}: {coverage_by_kind([one], m)['all']:.2f}, {one[m]['seconds']:.1f} s"
            for m in methods
        )
        spent = f"{len(records)}/{len(tasks)} {(time.perf_counter() - clock) / 60:.1f} min"
        print(f"{spent}  {one['robot']} {one['condition']} {one['log']}  {shown}", file=sys.stderr, flush=True)
        if given.json is not None:
            content = json.dumps({"about": about, "records": records}, ensure_ascii=False)
            given.json.write_text(content, encoding="utf-8")
    records.sort(key=lambda one: (ROBOTS.index(one["robot"]), CONDITIONS.index(one["condition"]), one["log"]))
    print(f"{about}\n\n{printed(records, methods)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
