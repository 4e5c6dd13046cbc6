"""``exciter identify``: parameters from logs, how sure they are, and how well they predict; all files or none."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from exciter.commands.common import console, description_path, output_folder, with_flags
from exciter.commands.identify_logs import Logs
from exciter.commands.identify_methods import Words, compared, honest
from exciter.commands.identify_print import print_result
from exciter.commands.identify_result import Extras, copy_name, result_data
from exciter.commands.progress import Step, steps
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.files.read import read_trajectory
from exciter.experiment.recording import Payload
from exciter.export.urdf import identified_urdf
from exciter.files import inside, json_text, sha256, staged
from exciter.identification.config.automatic import Automatic
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.config.uncertainty import with_uncertainty
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.friction_choice import FrictionChoice, choose_friction
from exciter.identification.identification import Identification, identify, judging
from exciter.identification.identified import COPY, SEALED, URDF, read_result
from exciter.identification.payload import identify_payload, payload_between
from exciter.identification.payload_estimate import PayloadEstimate
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.identification.uncertainty.drift import Drift, find_drift
from exciter.report.identification.report import write_identification_report
from exciter.robot import Robot, load
from exciter.validation.inertia_matrix import InertiaMatrix, check_inertia_matrix
from exciter.validation.known_load import KnownLoad, judge_known_load


def run(arguments: argparse.Namespace) -> int:
    config = IdentifyConfig.read(arguments.config).overridden(
        formulation=arguments.formulation, estimator=arguments.estimator
    )
    config = replace(config, robot=with_flags(config.robot, arguments))
    robot = load(arguments.robot, config.robot)
    config.refuse_early(robot, planned=arguments.planned is not None)
    methods = tuple(Words.of(text) for text in arguments.compare)
    count = len((*arguments.logs, *arguments.validate, *arguments.loaded))
    with output_folder(arguments.output) as folder, steps(count + 7) as step:
        earlier = unsealed_result(folder)
        before = {*SEALED.recorded(folder), *(path.name for path in earlier)}
        refuse_foreign(folder / copy_name(arguments.robot), description_path(arguments.robot), before)
        logs = Logs(config, robot, arguments.data, step)
        runs, seen = logs.read(arguments.logs), logs.read(arguments.validate)
        loaded = logs.read(arguments.loaded, loaded=True)
        logs.refuse_repeated((*runs, *loaded), seen)
        logs.note_payloads((*runs, *seen))
        config = logs.sided((*runs, *loaded), seen)
        if (known := config.known_parameters) is not None:
            step("finding drive gains")
            runs, seen, loaded = logs.with_gains(known, (runs, seen, loaded))
        automatic: Automatic | None = None
        if loaded and config.settings.automatic:
            logs.notes.append("settings are not chosen from the logs beside --loaded: usual ones are taken")
        if config.automatic and not loaded and (settled := logs.chosen(runs, seen)) is not None:
            automatic, seen = settled
            config, runs = automatic.config, automatic.runs
        found, extras = identified(config, logs, arguments, (runs, seen, loaded), step)
        if automatic is not None:
            extras = replace(extras, friction=automatic.chosen.friction, choices=automatic.choices)
        if methods:
            step("comparing")
            extras = replace(extras, comparison=compared(config, found, methods, seen))
        step("writing")
        data = result_data(found, extras, config, arguments.robot, logs)
        with staged(folder, SEALED, remove=earlier) as stage:
            description = description_path(arguments.robot)
            shutil.copyfile(description, stage / copy_name(arguments.robot))
            if found.physically_consistent:
                write_urdf(found, description, stage / URDF)
            write_identification_report(
                found,
                stage / "report.html",
                config.to_dict(),
                [replace(found.judge, runs=(one,)) for one in seen],
                [*logs.notes, *extras.remarks],
                extras.answers,
                quality=logs.quality,
            )
            data = SEALED.write(stage, data)
            written = sorted(path.name for path in stage.iterdir())
    if arguments.json:
        print(json_text(data), end="")
    else:
        print_result(found, extras, logs)
        console().print(f"written to {folder}: {', '.join(written)}", markup=False)
    return 0


def unsealed_result(folder: Path) -> tuple[Path, ...]:
    """Companions of a result of an earlier version, which has no hashes of them; none that could be another's."""
    if SEALED.recorded(folder):
        return ()
    try:
        data = read_result(folder)
        copy, digest = inside(folder, data["robot"]["file"]), data["robot"]["sha256"]
        ours = copy.stem == COPY and copy.is_file() and sha256(copy) == digest
    except (ExciterError, KeyError, TypeError):
        return ()
    found = ((copy,) if ours else ()) + ((folder / URDF,) if data.get("physically_consistent") else ())
    return tuple(path for path in found if path.is_file())


def refuse_foreign(target: Path, description: Path, before: set[str]) -> None:
    """A file of somebody else's is not written over."""
    ours = target.name in before or not target.exists()
    if not ours and sha256(target) != sha256(description):
        raise ExciterError(f"'{target}' is there, and of no earlier result; choose another folder with -o")


def write_urdf(found: Identification, description: Path, path: Path) -> None:
    """The robot of a full set: the user's own file with inertias and friction replaced, where it is a URDF."""
    text = identified_urdf(found.problem.model, found.estimate.standard, description)
    path.write_text(text, encoding="utf-8", newline="")


def identified(
    config: IdentifyConfig,
    logs: Logs,
    arguments: argparse.Namespace,
    groups: tuple[tuple[Run, ...], tuple[Run, ...], tuple[Run, ...]],
    step: Step,
) -> tuple[Identification, Extras]:
    """The parameters, and what was asked for beside them."""
    runs, seen, loaded = groups
    planned = None if arguments.planned is None else read_trajectory(arguments.planned, logs.robot)
    estimator = config.estimator(logs.robot, planned, arguments.periods, runs)
    problem = config.problem(config.model(logs.robot), runs)
    judge, shown_by = config.judge(runs), config.evaluation(runs, seen)
    logs.note_rest(judge, problem.model, runs)
    friction: FrictionChoice | None = None
    if config.chooses_friction:
        step("choosing friction models")
        friction = choose_friction(replace(problem, formulation=judge).bounded)
        problem = replace(problem, model=replace(problem.model, terms=friction.terms))
    step("identifying")

    found = identify(problem, estimator, seen, shown_by, honest(estimator, config.uncertainty))
    step("checking")
    equations = found.judge if shown_by == judge else judging(problem, judge)
    payload = payload_of(config, equations, loaded, logs.stated) if loaded else None
    known = known_load_of(payload, equations, loaded, logs.stated) if payload is not None else None
    inertia = inertia_of(found)
    if inertia is not None and not (found.physically_consistent or inertia.sure):
        logs.notes.append(inertia.words[0])
    return found, Extras(payload, friction, logs.gains, drifts_of(equations), inertia, known)


def inertia_of(found: Identification) -> InertiaMatrix | None:
    """Whether the model can be simulated; a force plate alone does not tell, and bodies that can be need no test."""
    model = found.problem.model
    if found.problem.names != model.base.names:
        return None
    return check_inertia_matrix(model, found.estimate.values, found.estimate.covariance)


def known_load_of(
    payload: PayloadEstimate, unloaded: Problem, loaded: tuple[Run, ...], stated: Sequence[Payload]
) -> KnownLoad | None:
    """What was found beside what the logs state, where all of them state the same."""
    if len(stated) != len(loaded) or any(one != stated[0] for one in stated) or not stated[0].mass:
        return None
    return judge_known_load(payload, stated[0], replace(unloaded, runs=loaded))


def drifts_of(problem: Problem) -> tuple[Drift, ...]:
    """What changes along the runs; those that were averaged over their periods have no before and after."""
    problem = problem.bounded
    runs = tuple(run for run in problem.runs if all(part.series is None for part in run.parts))
    if not runs:
        return ()
    try:
        return find_drift(replace(problem, runs=runs))
    except ParameterError:  # too little motion to tell
        return ()


def payload_of(
    config: IdentifyConfig, unloaded: Problem, loaded: tuple[Run, ...], stated: Sequence[Payload]
) -> PayloadEstimate:
    """What runs with the load show beside those without: between two estimates whose covariances hold for correlated
    errors, or in one fit where the loaded runs alone do not determine the robot."""
    model = unloaded.model
    frame = config.payload_frame or (stated[0].frame if stated else last_frame(model.robot))
    estimator = WeightedLeastSquares()
    try:
        with_load, without = (
            with_uncertainty(problem, estimator, estimator.estimate(problem), config.uncertainty)
            for problem in (replace(unloaded, runs=loaded), unloaded)
        )
    except ParameterError:
        return identify_payload(model, frame, loaded, unloaded.runs, formulation=unloaded.formulation)
    return payload_between(model, frame, with_load, without)


def last_frame(robot: Robot) -> str:
    """The last frame on the last body; the body's own where it has none."""
    own = [frame.name for frame in robot.frames if frame.joint == robot.n - 1]
    return own[-1] if own else robot.joint_names[-1]
