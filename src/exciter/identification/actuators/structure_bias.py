"""What a structure that the model lacks has done to its numbers.

Numbers of the drives take what they can of a trace that no number describes. How much: the trace of the named structure
(``structure``), of the size that its residual says, is regressed on the slopes of the fit, as the fit does it, in its
stretches and with its weights. The numbers that drives and structure would have together are off by that much from
those that were found; where other shapes explain nearly as much, by as much as the worst of them says. Of what lasts
in the residual the trace explains a share; what is left is of the structure, too, in all likelihood, and is taken to
have moved numbers as the trace did: as much as the share's root says. All that counts as an error of its own beside
that of the scatter, as friction that torques lack does in ``identify``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.identification.actuators.drive_simulator import Stretch
from exciter.identification.actuators.shooting_fit import FittedDrives, ShootingProblem
from exciter.identification.actuators.structure import (
    TRIED_PART,
    FoundStructure,
    log_motions,
    shape_traces,
    shapes,
)
from exciter.typing import Array


def structure_errors(
    problem: ShootingProblem,
    fitted: FittedDrives,
    found: Sequence[FoundStructure],
    logs: Sequence[Stretch],
    first_states: Array,
    weight: Array,
) -> Array:
    """(p, p): what structures add to the covariance of the coordinates; arguments as of ``structure_shifts``."""
    added = np.zeros_like(weight)
    shifts = structure_shifts(problem, fitted, found, logs, first_states, weight) if found else ()
    for one, moved in zip(found, shifts, strict=True):
        worst = np.where(moved[0] < 0.0, -1.0, 1.0) * np.abs(moved).max(axis=0)
        added += np.outer(worst, worst) / one.share
    return added


def structure_shifts(
    problem: ShootingProblem,
    fitted: FittedDrives,
    found: Sequence[FoundStructure],
    logs: Sequence[Stretch],
    first_states: Array,
    weight: Array,
) -> list[Array]:
    """(k, p) of every structure: how far coordinates would move with each of the k shapes that may be it. problem: of
    the fit; logs: whole, with their first states (L, 2 n); weight (p, p): of the prior."""
    here = problem.numbers.at(fitted.x)
    of_logs = log_motions(problem.simulator, here, logs, first_states)
    motions = [of_logs[stretch.log] for stretch in problem.stretches]
    by_theta, by_state = problem.slopes(fitted.x, fitted.states, fitted.simulated, None)
    solved = list[Array]()
    for one in found:
        j = one.joint
        every = [shapes(motion, j) for motion in of_logs]
        chosen = [[of_log[k] for k, _ in one.likely] for of_log in every]
        tried = {j: [chosen[stretch.log] for stretch in problem.stretches]}
        small = TRIED_PART * fitted.sigma
        limb = problem.limbs[problem.limb_of[j]]
        traces = shape_traces(problem, here, fitted.states, motions, [j], tried, small)[j]
        moved = list[Array]()
        for (_, size), trace in zip(one.likely, traces, strict=True):
            missing = [np.zeros_like(stretch.q) for stretch in problem.stretches]
            for own, part in zip(missing, trace, strict=True):
                own[:, limb] = size * part
            information, right = projected(missing, by_theta, by_state, fitted)
            moved.append(-np.asarray(np.linalg.solve(information + weight, right)))
        solved.append(np.array(moved))
    return solved


def projected(
    missing: Sequence[Array], by_theta: Sequence[Array], by_state: Sequence[Array], fitted: FittedDrives
) -> tuple[Array, Array]:
    """Information (p, p) and gradient (p,) of what is missing (N, n) of each stretch, its states eliminated."""
    p = by_theta[0].shape[2]
    information, gradient = np.zeros((p, p)), np.zeros(p)
    root = 1.0 / (fitted.sigma * np.sqrt(fitted.repeats))
    for own, theta, state in zip(missing, by_theta, by_state, strict=True):
        basis = np.linalg.qr((state * root[:, None]).reshape(-1, state.shape[2]))[0]
        slopes, r = (theta * root[:, None]).reshape(-1, p), (own * root).ravel()
        slopes = slopes - basis @ (basis.T @ slopes)
        information += slopes.T @ slopes
        gradient += slopes.T @ r
    return information, gradient
