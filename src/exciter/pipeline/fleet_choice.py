"""Settings of a type, chosen once from a few of its robots and then the same for all: only numbers that were found in
one way can be compared, and one identification costs a fraction of a choice.

Each of these robots chooses for itself, as ``exciter identify`` does. Of the cut-offs, those of the robot in the middle
hold; of the friction models of a joint, the one that most robots chose, the shorter one where they are even: one robot
that is worn does not decide. A lean of the base is of one robot, not of a type; the estimator is least squares unless
one is given, for a prior would pull all robots towards the description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exciter.identification.identify_config import FRICTION_AS_GIVEN, IdentifyConfig
from exciter.identification.selection.friction_candidates import FRICTION_TERMS, on_joints
from exciter.parameters.terms import JointTerm, LoadFriction
from exciter.parameters.terms.term import per_joint
from exciter.pipeline.fleet_robots import USUAL_ESTIMATOR
from exciter.robot.robot import Robot


def is_chosen(config: IdentifyConfig) -> bool:
    """Whether a type leaves settings open that its logs choose."""
    return config.settings.automatic is not False and not config.wants_currents


def asking(config: IdentifyConfig) -> IdentifyConfig:
    """As each of the few robots is asked."""
    return config.with_settings(automatic=True)


def fixed(config: IdentifyConfig) -> IdentifyConfig:
    """Settings of which nothing is chosen any more."""
    return config.with_settings(automatic=False, estimator=config.settings.estimator or USUAL_ESTIMATOR)


def together(asked: IdentifyConfig, chosen: Sequence[IdentifyConfig], robot: Robot) -> IdentifyConfig:
    """What holds for all, of what a few robots chose."""
    middle = sorted(chosen, key=_cutoff)[(len(chosen) - 1) // 2]
    given = asked.settings.friction == FRICTION_AS_GIVEN
    terms = middle.terms if given else _terms([one.terms or () for one in chosen], robot)
    zones = [per_joint(one.settings.dead_zone or 0.0, robot.joint_names, "dead_zone")[:, 0] for one in chosen]
    found = replace(middle, robot=asked.robot, terms=terms).with_settings(
        automatic=False,
        estimator=asked.settings.estimator or USUAL_ESTIMATOR,
        dead_zone=tuple(np.median(zones, axis=0).tolist()),
        friction=None,
    )
    return replace(found, where=asked.where)


def _cutoff(config: IdentifyConfig) -> float:
    both = None if config.settings.filter is None else config.settings.filter.parallel
    if both is not None and both.low_pass is not None:
        return float(both.low_pass.cutoff)
    return float(getattr(config.settings.route, "cutoff", 0.0) or 0.0)


def _terms(chosen: Sequence[tuple[JointTerm, ...]], robot: Robot) -> tuple[JointTerm, ...]:
    """Of each joint the friction that most robots chose; the other terms, which no joint chooses, of the first."""
    others = [term for term in chosen[0] if not isinstance(term, FRICTION_TERMS)]
    models: list[tuple[JointTerm, ...]] = []
    for joint in robot.joint_names:
        each = [
            tuple(on_joints(term, None) for term in terms if isinstance(term, FRICTION_TERMS) and _acts(term, joint))
            for terms in chosen
        ]
        count = Counter(map(_kind, each))
        most = min(count, key=lambda kind: (-count[kind], len(kind)))
        models.append(next(one for one in each if _kind(one) == most))
    load = next((term for one in models for term in one if isinstance(term, LoadFriction)), None)
    if load is not None:  # of one robot's weight: close enough for all, and one column
        models = [tuple(load if isinstance(term, LoadFriction) else term for term in one) for one in models]
    found = [term for one in models for term in one]
    terms = []
    for term in dict.fromkeys(found):
        joints = [joint for joint, one in zip(robot.joint_names, models, strict=True) if term in one]
        terms.append(on_joints(term, None if len(joints) == robot.n else joints))
    return (*others, *terms)


def _acts(term: JointTerm, joint: str) -> bool:
    joints = getattr(term, "joints", None)
    return joints is None or joint in joints


def _kind(terms: tuple[JointTerm, ...]) -> tuple[str, ...]:
    return tuple(sorted(type(t).__name__ if isinstance(t, LoadFriction) else repr(t) for t in terms))
