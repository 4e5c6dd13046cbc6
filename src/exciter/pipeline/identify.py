"""An identification from logs to a result that holds everything: parameters, how sure they are, how they predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from exciter.dynamics.model import random_states
from exciter.errors import ExciterError, ParameterError, RecordingError, shown
from exciter.experiment.recording import Payload
from exciter.identification import identification
from exciter.identification.automatic import Automatic, choose_automatically, prior_of, without_idle_friction
from exciter.identification.drive_gains import DriveGains, identify_gains
from exciter.identification.drive_map import identify_map
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.registry import ESTIMATORS, SIMULATED_ESTIMATORS
from exciter.identification.formulations import FORMULATIONS
from exciter.identification.formulations.base_link import BaseLink
from exciter.identification.formulations.dynamic import BaseWrench, InverseDynamic
from exciter.identification.formulations.formulation import Formulation, word_of
from exciter.identification.formulations.gain_free import GainFree, JointwiseBase
from exciter.identification.found_loads import (
    CompletedLoad,
    beyond_reversals,
    complete_load,
    find_load,
)
from exciter.identification.gain_ratios import GainRatios, gain_ratios
from exciter.identification.identification import Identification, judging
from exciter.identification.identify_config import (
    CHOOSE_FRICTION,
    IdentifyConfig,
    IdentifySettings,
    terms_of,
)
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.information import MOST_UNDETERMINED_NAMED, Information
from exciter.identification.information.problem import Problem
from exciter.identification.limbs import standing_notes
from exciter.identification.link_masses import notes_of_links
from exciter.identification.payload import PayloadEstimate
from exciter.identification.runs.run import Run
from exciter.identification.runs.unseen_joints import UnseenJoints
from exciter.identification.selection.friction_candidates import fixed_friction
from exciter.identification.selection.friction_choice import FrictionChoice, choose_friction
from exciter.identification.uncertainty.drift import Drift, find_drift
from exciter.notes import Note, done, note
from exciter.parameters.terms.friction import BoundDryFriction
from exciter.pipeline import settings_file as given
from exciter.pipeline.counted_uncertainty import covariance_of
from exciter.pipeline.identified import Identified
from exciter.pipeline.inspect import AnyLog, several
from exciter.pipeline.logs import Log, Logs, Progress, payload_notes, read_logs, sided, unseen_progress
from exciter.pipeline.planned_logs import AnyPlan, PlannedLogs
from exciter.pipeline.saving import description_hash
from exciter.robot import Motion, Robot
from exciter.settings import written
from exciter.typing import Array
from exciter.validation.comparison import Comparison, IdentificationMethod
from exciter.validation.comparison import compare as compare_methods
from exciter.validation.inertia_matrix import told_inertia_matrix
from exciter.validation.known_load import KnownLoad, judge_known_load
from exciter.workers import HERE, Workers

RESTING_SPEED_FRACTION = 2e-3  #: of the fastest: slower is rest
#: formulations whose parameters are not those of joint torques
UNCOMPARED_FORMULATIONS = (BaseWrench.word, BaseLink.word, GainFree.word)
NOTED_REST_SHARE = 0.1  #: of the time: more is worth a note
Compared: TypeAlias = str | Formulation | Estimator
AskedMethod: TypeAlias = tuple[str, dict[str, Formulation | Estimator], bool]  #: as ``asked_method`` gives it


def identify(
    robot: Robot | str | Path,
    logs: AnyLog | Sequence[AnyLog] = (),
    settings: IdentifyConfig | IdentifySettings | given.FileContent = None,
    *,
    plan: AnyPlan | None = None,
    validate: AnyLog | Sequence[AnyLog] = (),
    loaded: AnyLog | Sequence[AnyLog] = (),
    compare: Compared | Sequence[Compared] = (),
    planned: given.AnyMotion | None = None,
    periods: int | None = None,
    data: Path | None = None,
    workers: Workers = HERE,
    progress: Progress = unseen_progress,
    **changes: Any,
) -> Identified:
    """Parameters from logs: automatic unless an estimator is given, exactly as ``exciter identify``.

    logs: identified from; validate: of other motion, held out; loaded: with a load that is to be found; each a file, a
    ``Recording``, a ``Simulated``, or several. settings: an object, a YAML file or its content; keywords change it:
    terms, estimator, formulation, filter, route, noise, … (fields of ``IdentifySettings``). compare: other formulations
    or estimators, by word or as objects. plan: of a staged experiment, an object or a file: it says where the log of
    each stage is, unless logs are given in the order of its stages, and which estimator they are for; this knows from
    it which run, and when, belongs to which stage. planned, periods: the motion that was sent, and how often it was run
    through. data: folder of the files that a recording.yaml names. workers: a ``Cluster``, whose
    workers go through logs that are larger than memory, each where its file is. progress: is told each step as it
    begins.

    >>> found = ex.identify(robot, log)
    >>> found.parameters["Fv1"].unit
    'N·m·s/rad'
    >>> plain = ex.identify(robot, log, estimator=ex.Huber(), formulation=ex.Energy())
    >>> found.fit[0].total_percent < 1.0
    True"""
    config = identify_settings(settings, changes)
    robot, options = given.loaded_for_logs(robot, config.robot)
    config = replace(config, robot=options)
    methods = [asked_method(one) for one in (compare if isinstance(compare, list | tuple) else (compare,))]
    logs, validation, loads = (several(group) for group in (logs, validate, loaded))
    sent = None if planned is None else given.curve_of(planned, robot)
    periods = given.counted(periods, "periods")
    staged = None if plan is None else PlannedLogs.of(plan, robot, logs)
    if staged is not None:
        logs, chosen = staged.given, config.settings.estimator or staged.estimator
        config = config.with_settings(estimator=chosen)
    config.refuse_early(robot, planned=sent is not None)
    if config.settings.payload is not None and not loads:
        raise ExciterError(
            f"{config.where}: payload is the frame of a load to be found, and no log carries one (loaded): leave it out"
        )
    if config.of_currents and (loads or methods):
        what = "loads are found from torques" if loads else "methods are compared by torques"
        raise ExciterError(f"{what} in N·m, and {GainFree.word} has currents: leave that out, or give the gains")
    stages = () if staged is None else staged.stages
    ready = read_logs(
        robot, config, logs, validation, loads, stages=stages, data=data, workers=workers, progress=progress
    )
    if staged is not None:
        ready = replace(ready, config=replace(ready.config, planned=staged.runs(ready.runs)))
    ready = sided(ready.noted(*payload_notes((*ready.runs, *ready.validation_runs))))
    ready, unseen = without_unseen(ready)
    ready, gains = with_drive_gains(ready, progress)
    ready, automatic = with_chosen_settings(with_loads_completed(ready)[0], progress)

    ready, completed = with_loads_completed(ready)  # again, with the model and the route that were chosen
    ready = ready.noted(*(load.note for load in completed))

    folds, config, runs = config.folds, ready.config, ready.runs  # those that settings were chosen by
    estimator = config.estimator(ready.robot, sent, periods, runs)
    problem = replace(config.problem(config.model(ready.robot), runs), folds=folds)
    judge, shown_by = config.judge(runs), config.evaluation(runs, ready.validation_runs)
    ready = with_rest_noted(ready, judge, problem).noted(*standing_notes(problem.model))
    problem, friction = with_chosen_friction(problem, judge, config, unseen, progress)

    progress("identifying")
    choice = friction if automatic is None else automatic.chosen.friction
    doubts = () if choice is None else choice.doubts
    uncertainty = covariance_of(estimator, config.uncertainty, doubts, completed, gains)
    refuse_unseen(problem, estimator, unseen)
    gone = list[str]()

    def without_idle(estimate: Estimate) -> Problem:
        """Without friction that turned out to be zero."""
        if automatic is None or estimate.standard is None:
            return problem
        terms, names = without_idle_friction(problem, estimate.standard)
        gone.extend(names)
        return problem if terms == problem.model.terms else replace(problem, model=replace(problem.model, terms=terms))

    found = identification.identify(
        problem, estimator, ready.validation_runs, shown_by, uncertainty, simplified=without_idle
    )
    if found.problem is not problem:
        problem = found.problem
        named = f"left out, for it is zero: {', '.join(gone)}" if gone else "without pre-sliding where it is zero"
        settled = replace(config, terms=problem.model.terms)
        ready = replace(ready, config=settled).noted(done("friction", f"friction {named}"))

    if found.physically_consistent and problem.model.robot.free_base:
        ready = ready.noted(*notes_of_links(problem, found.estimate, prior_of(estimator)))

    progress("checking")
    equations = found.judge if shown_by == judge else judging(problem, judge)
    payload = payload_of(ready, equations, gains) if loads else None
    inertia = None  # a force plate alone does not tell whether the model can be simulated
    if found.problem.names == found.problem.model.base.names:
        inertia = told_inertia_matrix(problem.model, found.estimate)
    if inertia is not None and not (found.physically_consistent or inertia.sure):
        ready = ready.noted(inertia.note)
    result = Identified(
        identification=found,
        logs=ready,
        choices=() if automatic is None else automatic.choices,
        friction=choice,
        gains=gains,
        gain_ratios=ratios_of(found),
        payload=payload,
        known_load=None if payload is None else known_load_of(payload, ready, equations),
        inertia=inertia,
        drifts=drifts_of(equations),
        description=robot.file,
        sha256=description_hash(robot),
    )
    if not methods:
        return result
    progress("comparing")
    return replace(result, comparison=compared(config, found, methods, ready.validation_runs))


def identify_settings(
    settings: IdentifyConfig | IdentifySettings | given.FileContent, changes: Mapping[str, Any]
) -> IdentifyConfig:
    if isinstance(settings, IdentifySettings):
        settings = IdentifyConfig(settings=settings)
    config = settings if isinstance(settings, IdentifyConfig) else given.SettingsFile.read(settings).identify
    own = dict(changes)
    terms = terms_of(own.pop("terms", None), "terms")
    given.refuse_unknown(own, IdentifySettings, "terms")
    said = {**config.given, **{key: key for key in own}}
    config = replace(config, settings=given.changed(config.settings, own), given=said)
    return config if terms is None else replace(config, terms=terms)


# -- what is found from the logs before anything is identified -------------------------------------------------------


def without_unseen(ready: Logs) -> tuple[Logs, UnseenJoints]:
    """Without terms of joints that never move, or have no torque, in the logs identified from."""
    config, robot = ready.config, ready.robot
    unseen = UnseenJoints.of(robot, (*ready.runs, *ready.loaded_runs))
    if not unseen.notes:
        return ready, unseen
    terms = unseen.terms(config.terms_or_usual, robot)
    held = tuple(robot.joint_names.index(name) for name in unseen.held)
    ready = ready.each(lambda log: log.with_held(held)) if held else ready
    return replace(ready, config=replace(config, terms=terms)).noted(*unseen.notes), unseen


def refuse_unseen(problem: Problem, estimator: Estimator, unseen: UnseenJoints) -> None:
    """Least squares without a prior, where unseen joints leave parameters open that an encoder's noise would tell."""
    names = problem.model.robot.joint_names
    if not unseen.notes or prior_of(estimator) is not None or problem.names != problem.model.base.names:
        return
    states = random_states(problem.model.robot, 10 * len(problem.model.base))
    still = [names.index(name) for name in unseen.still]
    q, qd, qdd = (np.array(x) for x in (states.q, states.qd, states.qdd))
    q[:, still], qd[:, still], qdd[:, still] = list(unseen.still.values()), 0.0, 0.0
    rows = problem.model.base.project(problem.model.regressor(Motion(states.time, q, qd, qdd)))
    seen = [j for j, name in enumerate(names) if name not in unseen.silent]
    w = rows[:, seen].reshape(-1, rows.shape[2])
    if lost := Information.empty(w.shape[1]).add(w, np.zeros(len(w))).undetermined():
        listed = ", ".join(problem.names[k] for k in lost[:MOST_UNDETERMINED_NAMED])
        more = f" and {len(lost) - MOST_UNDETERMINED_NAMED} more" if lost[MOST_UNDETERMINED_NAMED:] else ""
        raise ParameterError(f"{word_of(estimator)} cannot determine {listed}{more}, for {unseen.remedy}")


def with_drive_gains(ready: Logs, progress: Progress) -> tuple[Logs, DriveGains | None]:
    """Logs of currents as logs of torques, with the gains that those identified from give; where they are asked for."""
    config = ready.config
    if not config.wants_currents or config.of_currents:
        return ready, None
    known, bent = config.known_parameters, config.settings.current_map is not None
    for run in ready.runs:
        if run.silent:
            joints = ", ".join(ready.robot.joint_names[j] for j in run.silent)
            why = f"the current of {joints} is unusable, or holds a joint that never moves"
            raise RecordingError(f"{run.name}: {why}: no drive gain can be found for it")
    progress("finding drive gains")
    problem = Problem(config.model(ready.robot), ready.runs, config.judge(ready.runs))
    if config.settings.dead_zone is None:
        problem = beyond_reversals(problem, ())
    if bent:
        stated = None if known is not None else stated_gains(ready)
        assert isinstance(problem.formulation, InverseDynamic)
        found = identify_map(problem.model, ready.runs, stated, known or (), problem.formulation)
        maps = found.about_map
        return ready.each(lambda log: log.with_map(maps, config.route)), found
    found = identify_gains(problem.model, ready.runs, known or (), problem.formulation)
    gains = found.about_gains
    return ready.each(lambda log: log.with_gains(gains, config.route)), found


def stated_gains(ready: Logs) -> Array:
    """(J,) [N·m/A] that all logs state alike."""
    each = {log.name: log.gains for log in (*ready.logs, *ready.validation, *ready.loaded)}
    for name, gains in each.items():
        if gains is None or gains != ready.logs[0].gains:
            what = "states no gains" if gains is None else "states other gains than the first log"
            raise RecordingError(f"{name} {what} of its currents: give them in recording.yaml, or gains: identify")
    return np.array(ready.logs[0].gains)


def with_loads_completed(ready: Logs) -> tuple[Logs, tuple[CompletedLoad, ...]]:
    """Loads that logs state in part, completed with what logs show of them: who states the same carries the same."""
    stated = {log.name: log.run.recording.about.payload for log in ready.logs if log.run.recording is not None}
    partly = dict.fromkeys(one for one in stated.values() if one is not None and one.missing)
    if not partly:
        return ready, ()
    config, model = ready.config, ready.config.model(ready.robot)
    known = tuple(log.run.bounded for log in ready.logs if stated.get(log.name) not in partly)
    beside = Problem(model, known, config.judge(known), config.folds) if known else None
    loads = dict[Payload, CompletedLoad]()
    for payload in partly:
        carry = [log.run.bounded for log in ready.logs if stated.get(log.name) == payload]
        if beside is not None and config.settings.dead_zone is None:
            beside = beyond_reversals(beside, carry)
        loads[payload] = complete_load(payload, carry, beside, model, config.uncertainty)

    def carrying(log: Log) -> Log:
        recording = log.run.recording
        payload = None if recording is None else recording.about.payload
        return log if payload is None or payload not in loads else log.with_load(loads[payload].payload)

    logs, validation = (tuple(map(carrying, group)) for group in (ready.logs, ready.validation))
    return replace(ready, logs=logs, validation=validation), tuple(loads.values())


def with_chosen_settings(ready: Logs, progress: Progress) -> tuple[Logs, Automatic | None]:
    """Settings that were left open, chosen from the logs identified from alone, and all logs through the route chosen;
    as it was where nothing is open, or the logs are too little to choose from."""
    config = ready.config
    if not config.automatic:
        return ready, None
    looked_at = tuple(run.bounded for run in ready.runs)
    try:
        found = choose_automatically(
            config,
            ready.robot,
            looked_at,
            lambda route: tuple(log.bounded_through(route) for log in ready.logs),
            progress,
        )
    except (ParameterError, RecordingError) as error:
        return ready.noted(note("settings", f"not chosen from the logs, usual ones are taken: {error}")), None
    notes = list[Note]()
    if found.chosen.gravity is not None:
        shown = ", ".join(f"{x:.4g}" for x in found.chosen.gravity)
        text = f"leans in the model: whatever loads it (a URDF has no place for it) needs [{shown}] m/s²"
        notes.append(note("gravity", text))
    zone = found.config.judge(found.runs).zone(found.config.model(found.robot))
    if config.settings.dead_zone is not None and not zone.any():
        text = "has no effect, pre-sliding friction holds at rest too; friction: as-given has it"
        notes.append(note("dead_zone", text))
    ready = replace(ready, config=found.config, robot=found.robot).noted(*notes)
    if (route := found.config.route) is None:
        return ready, found
    pairs = zip(ready.logs, found.runs, strict=True)
    logs = tuple(replace(log, run=run) if log.run.sample is None else log.through(route) for log, run in pairs)
    validation, loaded = (tuple(log.through(route) for log in group) for group in (ready.validation, ready.loaded))
    return replace(ready, logs=logs, validation=validation, loaded=loaded), found


def with_chosen_friction(
    problem: Problem, judge: InverseDynamic, config: IdentifyConfig, unseen: UnseenJoints, progress: Progress
) -> tuple[Problem, FrictionChoice | None]:
    """With the friction model of each joint that predicts best, where that is asked for."""
    if config.settings.friction != CHOOSE_FRICTION:
        return problem, None
    progress("choosing friction models")
    friction = choose_friction(replace(problem, formulation=judge).bounded, fixed=fixed_friction(unseen))
    return replace(problem, model=replace(problem.model, terms=friction.terms)), friction


def with_rest_noted(ready: Logs, judge: InverseDynamic, problem: Problem) -> Logs:
    """What becomes of joints at rest: at rest, dry friction is whatever holds them."""
    model, names = problem.model, ready.robot.joint_names
    zone = judge.zone(model)
    if zone.any():
        slow = ", ".join(f"{name} {z:.2g}" for name, z in zip(names, zone, strict=True) if z)
        text = f"slower than this [rad/s, m/s], joints count as resting and have no equation: {slow}"
        ready = ready.noted(done("rest", text))
    terms = [term for term in model.bound if isinstance(term, BoundDryFriction) and not term.has_memory]
    dry = {row for term in terms for row, _ in term.rows}
    for run in ready.runs:
        speed = np.concatenate([np.abs(part.motion.qd) for part in run.bounded.parts])
        rest = (speed < np.maximum(zone, RESTING_SPEED_FRACTION * speed.max(axis=0))).mean(axis=0)
        long = [joint for joint in sorted(dry) if rest[joint] > NOTED_REST_SHARE]
        for resting, what in (
            ([j for j in long if zone[j]], "and have no equation then"),
            ([j for j in long if not zone[j]], "so that noise decides the sign of friction; give a dead_zone:"),
        ):
            if resting:
                share = ", ".join(f"{names[j]} {100 * rest[j]:.0f} %" for j in resting)
                text = f"joints rest for part of the time, {what}: {share}"
                ready = ready.noted(note("rest", text, None, run.name, share={names[j]: rest[j] for j in resting}))
    return ready


# -- checks ----------------------------------------------------------------------------------------------------------


def drifts_of(problem: Problem) -> tuple[Drift, ...]:
    """What changes along the runs; those that were averaged over their periods have no before and after."""
    problem = problem.bounded
    runs = tuple(run for run in problem.runs if all(part.series is None for part in run.parts))
    if not runs:
        return ()
    try:
        return find_drift(problem if runs == problem.runs else replace(problem, runs=runs))
    except ParameterError:  # too little motion to tell
        return ()


def ratios_of(found: Identification) -> GainRatios | None:
    """Of the drive gains that equations were free of."""
    problem = found.problem
    return gain_ratios(problem.model, problem.base, found.estimate) if isinstance(problem.base, JointwiseBase) else None


def payload_of(ready: Logs, unloaded: Problem, gains: DriveGains | None = None) -> PayloadEstimate:
    """What runs with the load show beside those without, whose own load is known or none."""
    robot = unloaded.model.robot
    ends = [frame.name for frame in robot.frames if frame.joint == robot.n_bodies - 1] or robot.joint_names
    frame = ready.config.settings.payload or (ready.stated[0].frame if ready.stated else ends[-1])
    known = tuple(log.run for log in ready.logs if log.completed is None)
    problem = unloaded if len(known) in (0, len(unloaded.runs)) else replace(unloaded, runs=known)
    if ready.config.settings.dead_zone is None:
        problem = beyond_reversals(problem, ready.loaded_runs)
    scales = None if gains is None else gains.relative_covariance
    return find_load(problem, ready.loaded_runs, frame, ready.config.uncertainty, scales)


def known_load_of(payload: PayloadEstimate, ready: Logs, unloaded: Problem) -> KnownLoad | None:
    """What was found beside what the logs state, where all of them state the same."""
    stated, loaded = ready.stated, ready.loaded_runs
    if len(stated) != len(loaded) or any(one != stated[0] for one in stated) or not stated[0].mass:
        return None
    return judge_known_load(payload, stated[0], replace(unloaded, runs=loaded))


# -- other methods on the same logs ----------------------------------------------------------------------------------


def asked_method(given: Compared) -> AskedMethod:
    """energy, huber, or energy/huber; or an object: its name for tables, what it changes, whether it is a word only."""
    if isinstance(given, Formulation | Estimator):
        return method_name(given), {"formulation" if isinstance(given, Formulation) else "estimator": given}, False
    parts = given.split("/") if isinstance(given, str) else [given]
    kinds = [word for word in FORMULATIONS.words if word not in UNCOMPARED_FORMULATIONS]
    solved = [word for word in ESTIMATORS.words if word not in SIMULATED_ESTIMATORS]
    asked: dict[str, Formulation | Estimator] = {}
    for part in parts:
        if part in kinds:
            asked["formulation"] = FORMULATIONS[part]()
        elif part in solved:
            asked["estimator"] = ESTIMATORS[part]()
    if len(parts) != len(asked):
        raise ExciterError(
            f"{shown(given)} cannot be compared; give formulations ({', '.join(kinds)}), estimators "
            f"({', '.join(solved)}), or both, as in energy/ols"
        )
    return given, asked, True


def method_name(method: Formulation | Estimator) -> str:
    """Its word, with the settings that are not the usual ones: ``huber (k: 3.0)``."""
    plain = written(method)
    settings = next(iter(plain.values())) if isinstance(plain, Mapping) and plain else {}
    given = ", ".join(f"{key}: {value}" for key, value in settings.items()) if isinstance(settings, Mapping) else ""
    return f"{word_of(method)} ({given})" if given else word_of(method)


def compared(
    config: IdentifyConfig, found: Identification, others: Sequence[AskedMethod], validation: Sequence[Run]
) -> Comparison:
    """What was asked for first, then the others, by the same torques; a method that is asked for already stays so."""
    model, runs = found.problem.model, found.problem.runs
    methods = {config.method_name: IdentificationMethod(config.method_name, found.problem.formulation, found.estimator)}
    for name, asked, by_word in others:
        had = {key: word_of(getattr(config.settings, key)) for key in asked}
        other = config.with_settings(**{k: new for k, new in asked.items() if not by_word or word_of(new) != had[k]})
        if name not in methods:
            methods[name] = IdentificationMethod(name, other.formulation(runs), other.estimator(model.robot, runs=runs))
    covariances = {name: covariance_of(method.estimator, config.uncertainty) for name, method in methods.items()}
    judge = config.evaluation(runs, tuple(validation))
    return compare_methods(model, runs, [*methods.values()], validation, judge, covariances)
