"""Experiments in which most joints are locked: the wrist first and then the arm (Khalil & Dombre, 12.7), and link after
link from the last to the first ([12.22]–[12.24], 12.5.1).

The torque of joint j depends on links j … n only, so that its equation, with the later links known, tells the
parameters of link j alone; and those do not depend on how the joints after j move, which are therefore locked. What
joint j's equation tells of link j depends on how link j itself is moved: turned about one fixed axis, it shows its
inertia about that axis and no other. So the joints before it move, too, as few of them as show all that any could."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from exciter.dynamics.model import DynamicModel, random_states
from exciter.errors import ExciterError
from exciter.excitation.criteria.criterion import unexcited
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.experiments.experiment import (
    ExperimentStage,
    ExperimentTask,
    RepeatedExperiment,
    base_columns,
    independent_columns,
)
from exciter.excitation.trajectories.trajectory import motion
from exciter.parameters.terms import RotorInertia
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Whole
from exciter.typing import Array, Index

USUAL_WRIST = 3  # joints; of a short arm half of them, as the estimator in two steps has it
STATES_PER_PARAMETER = 6  # random ones, from which it is seen what equations tell
LOCKED_POSTURES = 40  # random ones, from which the one to lock the joints in is chosen
STATES_OF_A_POSTURE = 48  # of the moving joints, by which a posture is judged
TRIED_POSTURES = 3  # the best of these, until one has a motion


@dataclass(frozen=True, eq=False)
class LockedStage:
    """What a stage is about: equations and moving joints by number, and the numbers of the base parameters."""

    name: str
    equations: tuple[int, ...]
    moving: tuple[int, ...]
    parameters: Index


def told_by(model: DynamicModel, equations: Sequence[int], moving: Sequence[int], unknown: Index) -> Index:
    """Which of the unknown base parameters, as many as possible, the torques of some joints tell apart while only some
    joints move: from random states, the locked joints anywhere, but in one place."""
    states = random_states(model.robot, STATES_PER_PARAMETER * max(len(unknown), 1) + model.n)
    locked = np.setdiff1d(np.arange(model.n), np.asarray(moving, dtype=np.int64))
    q, qd, qdd = (np.array(x) for x in (states.q, states.qd, states.qdd))
    q[:, locked], qd[:, locked], qdd[:, locked] = q[0, locked], 0.0, 0.0
    columns = model.base.independent[unknown]
    rows = model.regressor(Motion.at(q, qd, qdd))[:, list(equations)][:, :, columns]
    return np.asarray(unknown[independent_columns(rows.reshape(-1, len(unknown)))])


def ancestors(robot: Robot, joint: int) -> list[int]:
    """The joints before one, the nearest first."""
    own = robot.body(robot.joint_names[joint])
    return [one for one in reversed(robot.movers(own)) if one != joint]


def locked_stages(model: DynamicModel, groups: Sequence[tuple[str, tuple[int, ...]]]) -> tuple[LockedStage, ...]:
    """One stage for each group of joints, in order: from their equations all that is not known by then, with as few
    joints before the group moving as show all that any motion without the joints of earlier groups could.

    Which must move is asked with rotor inertias, whether the model has them or not: logs are often identified with
    them, and the rotor of a joint is told from its link only where the link is moved by another joint, too."""
    rotors = any(isinstance(term, RotorInertia) for term in model.terms)
    probe = model if rotors else DynamicModel(model.robot, (*model.terms, RotorInertia()), model.engine)
    unknown, open_, done, found = np.arange(len(model.base)), np.arange(len(probe.base)), set[int](), []
    for name, joints in groups:
        before = [joint for joint in ancestors(model.robot, min(joints)) if joint not in joints]
        free = [joint for joint in range(model.n) if joint not in done]
        most = len(told_by(probe, joints, free, open_))
        moving = [*joints, *before]
        for joint in reversed(before):  # those far away move a lot: they are the first to be locked
            fewer = [one for one in moving if one != joint]
            moving = fewer if len(told_by(probe, joints, fewer, open_)) == most else moving
        told = told_by(model, joints, moving, unknown)
        if len(told):
            found.append(LockedStage(name, joints, tuple(sorted(moving)), told))
        unknown = np.setdiff1d(unknown, told)
        open_ = np.setdiff1d(open_, told_by(probe, joints, moving, open_))
        done |= set(joints)
    if len(unknown):
        names = ", ".join(model.base.names[k] for k in unknown)
        raise ExciterError(f"no stage tells {names}: the joints that would show it are locked; use another experiment")
    return tuple(found)


def postures(task: ExperimentTask, stage: LockedStage) -> list[Array]:
    """Where the locked joints may stand, best first: by the information of random states of the moving ones, of those
    that keep all limits at rest."""
    roadmap, model = task.roadmap, task.model
    drawn = np.vstack([roadmap.home[None], roadmap.random_postures(LOCKED_POSTURES, stage.name)])
    moving, count = list(stage.moving), STATES_OF_A_POSTURE
    if len(moving) == model.n:
        return [drawn[0]]
    columns = base_columns(model, stage.parameters)
    scale = np.zeros(model.n)
    scale[moving] = 1.0
    states, scores = random_states(model.robot, count, task.seed), []
    lower, upper = model.robot.position_range()
    places = np.clip(states.q, lower, upper)
    for posture in drawn:
        q = np.where(scale > 0.0, places, posture)
        kept = roadmap.allowed(q, 0.0)
        there = Motion.at(q[kept], (states.qd * scale)[kept], (states.qdd * scale)[kept])
        rows = model.regressor(there)[:, list(stage.equations)][:, :, columns.selected]
        w = rows.reshape(-1, len(columns)) / np.sqrt(count)
        sign, log_det = np.linalg.slogdet(w.T @ w)
        scores.append(log_det if sign > 0 else -np.inf)
    best = np.argsort(-np.array(scores), kind="stable")[:TRIED_POSTURES]
    return [drawn[k] for k in best]


def searched_stages(task: ExperimentTask, stages: Sequence[LockedStage]) -> tuple[ExperimentStage, ...]:
    """An optimised motion for each of them."""
    names, found = task.robot.joint_names, list[ExperimentStage]()
    for k, stage in enumerate(stages):
        refused = None
        for posture in postures(task, stage):
            locked = {names[j]: float(posture[j]) for j in range(task.model.n) if j not in stage.moving}
            settings = {
                "columns": base_columns(task.model, stage.parameters),
                "criterion": DOptimality(),
                "prior": None if task.prior is None else task.prior[np.ix_(stage.parameters, stage.parameters)],
                "equations": [names[j] for j in stage.equations],
                "locked": locked,
            }
            try:
                found.append(task.searched(stage.name, "locked", left=len(stages) - k, **settings))
                break
            except ExciterError as error:
                refused = refused or error
        else:
            assert refused is not None
            raise refused
    _check_together(task, found)
    return tuple(found)


def _check_together(task: ExperimentTask, stages: Sequence[ExperimentStage]) -> None:
    """Refuse stages whose logs together leave a parameter open."""
    total = task.with_information()
    for stage in stages:
        family, delta = stage.design.trajectory, stage.design.delta
        total = total + task.objective.gram(motion(family, delta, family.sample_times(stage.design.samples)))
    if names := unexcited(total, task.model.base.names):
        raise ExciterError(f"the stages together do not tell {', '.join(names)}; use another experiment")


@dataclass(frozen=True)
class WristThenArm(RepeatedExperiment):
    """wrist: how many of the last joints, three unless given, of a short arm half of them."""

    word, title = "wrist-then-arm", "a motion for the wrist, then one for the arm with the wrist locked"
    estimator = "two-step"
    wrist: Annotated[int | None, Whole(1, 1000)] = None

    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        n = task.model.n
        wrist = min(USUAL_WRIST, max(1, n // 2)) if self.wrist is None else self.wrist
        if not 0 < wrist < n:
            raise ExciterError(f"a wrist of {wrist} joints; the robot has {n}: give 1 … {n - 1}")
        groups = (("wrist", tuple(range(n - wrist, n))), ("arm", tuple(range(n - wrist))))
        return searched_stages(self.repeated(task), locked_stages(task.model, groups))


@dataclass(frozen=True)
class LinkByLinkExperiment(RepeatedExperiment):
    """One motion for each link, from the last to the first, later joints locked."""

    word, title = "link-by-link", "a motion for each link, from the last to the first"
    estimator = "links"

    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        groups = [(f"link-{j + 1}", (j,)) for j in reversed(range(task.model.n))]
        return searched_stages(self.repeated(task), locked_stages(task.model, groups))
