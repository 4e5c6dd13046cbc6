"""The static step: gravity from poses at rest, which the paper does first and does not describe."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import exciter as ex
from exciter.dynamics.model import inertia_base, static_base
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.criteria.criterion import evaluate
from exciter.excitation.experiments.poses import PoseSearch, StaticPoses, static_poses
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.experiment.virtual.true_parameters import draw
from exciter.identification.information.information import Information
from exciter.typing import Array
from exciter_papers.paper import DataTable, Effort, Part, claim, published, shown
from exciter_papers.rackl import set_up

POSES, SEED = 12, 0
STATIC_FALSE_ALARM_CHANCE = 0.01  # of a false alarm, of every test of a distribution


def run(effort: Effort) -> Part:
    model = set_up.paper_model()
    found = optimised_poses(model)
    repetitions, sets = effort.pick(200, 1000), effort.pick(100, 500)
    random = random_sets(model, sets)
    errors = repeated(model, found, repetitions)
    spread, total = errors.std(axis=0, ddof=1) / found.predicted_std, (errors / found.predicted_std) ** 2
    inside = spread_interval(repetitions, len(found.parameters))
    rest = ex.Motion.at(found.q)
    return Part(
        "Section II-C, static step",
        "Gravity parameters from poses at rest",
        f"{POSES} poses, D-optimal: the best of {PoseSearch().candidates} random postures (seed {SEED}) by "
        "exchange, then moved along the exact gradient; position and torque limits, box and sphere of the paper. "
        "One torque per joint and pose, with the noise of one log "
        f"({published('rackl')['repeatability']['source']}). Number of poses and criterion are not published. "
        f"{sets} random sets of as many allowed poses beside it (seed {SEED}). Truth: links that differ from the "
        f"description by about {set_up.cad_error():g} % (seed {SEED}); {repetitions} repetitions with fresh noise.",
        (
            claim(
                "the static problem depends on positions only",
                not (rest.qd.any() or rest.qdd.any()) and len(found.parameters) == len(static_base(model)),
                f"at rest the regressor has {len(found.parameters)} columns: {', '.join(found.parameters)}",
            ),
            claim(
                "in two steps, each has fewer parameters than the complete identification",
                max(len(found.parameters), len(inertia_base(model))) < len(model.base),
                f"{len(found.parameters)} static and {len(inertia_base(model))} dynamic ones "
                f"({len(set_up.names_16())} in Table I) beside {len(model.base)}",
            ),
            shown(
                "condition number, optimised poses",
                found.condition_number,
                "D-optimal, not condition-optimal: it need not be smaller than that of random poses",
            ),
            shown("condition number, random poses, median", np.median(random[:, 0])),
            shown(
                "optimised poses tell more than every random set (log det of the information)",
                found.log_det > random[:, 1].max(),
                f"{found.log_det:.2f} beside {random[:, 1].max():.2f} at best and {np.median(random[:, 1]):.2f} "
                f"as a median; {found.selected:.2f} before they were moved",
            ),
            shown(
                "least squares is unbiased and its σ (12) is right",
                honest(total) and bool(((spread > inside[0]) & (spread < inside[1])).all()),
                f"spread of the estimates over predicted σ: {spread.min():.3f} … {spread.max():.3f}, chance allows "
                f"{inside[0]:.3f} … {inside[1]:.3f}; sum of squared errors over σ² as χ² has it (false alarm "
                f"{100 * STATIC_FALSE_ALARM_CHANCE:g} % each)",
            ),
            shown("largest σ of a first moment [kg·m]", found.predicted_std.max()),
        ),
        (
            DataTable(
                "poses",
                "Optimised poses",
                ("pose", *(f"{set_up.joint_name(j)} [°]" for j in range(model.n))),
                [(k + 1, *np.rad2deg(q)) for k, q in enumerate(found.q)],
            ),
            DataTable.by_columns(
                "static-parameters",
                "Static parameters",
                {
                    "parameter": static_base(model).expressions,
                    "σ predicted [kg·m]": found.predicted_std,
                    "σ of the repetitions [kg·m]": errors.std(axis=0, ddof=1),
                    "mean error [kg·m]": errors.mean(axis=0),
                },
            ),
        ),
        differences="The paper leaves this step out; it says that it was done. Our criterion is the determinant, "
        "not the condition number.",
    )


def optimised_poses(model: ex.DynamicModel) -> StaticPoses:
    noise = set_up.repeated_noise()
    return static_poses(model, PoseSearch(POSES, seed=SEED), noise=noise, allowed=lambda q: allowed(q, model))


def allowed(q: Array, model: ex.DynamicModel) -> NDArray[np.bool_]:
    """Which postures (N, n) keep box, sphere and torque limits."""
    limits: tuple[Constraint, ...] = set_up.limits_of(model)
    return np.asarray(np.all([(limit.values(ex.Motion.at(q)) >= 0.0).all(axis=0) for limit in limits], axis=0))


def random_sets(model: ex.DynamicModel, count: int) -> Array:
    """(count, 2): condition number and log det of random allowed poses."""
    rng = np.random.default_rng(SEED)
    weights = set_up.repeated_noise() ** -2.0
    chosen = static_base(model).independent
    found = []
    pool = rng.uniform(*model.robot.position_range(), (20 * POSES * count, model.n))
    pool = pool[allowed(pool, model)]
    for k in range(count):
        q = pool[np.arange(k * POSES, (k + 1) * POSES) % len(pool)]
        figures = evaluate(model, ex.Motion.at(q), weights, chosen)
        found.append((figures.condition_number, figures.log_det))
    return np.array(found)


def repeated(model: ex.DynamicModel, found: StaticPoses, count: int) -> Array:
    """(count, 12) errors of the estimates: weighted least squares of noisy torques at the poses."""
    base, noise = static_base(model), set_up.repeated_noise()
    chi = ex.DynamicModel(draw(model.robot, SEED).robot).nominal
    poses = ex.Motion.at(found.q)
    rows = (model.regressor(poses)[:, :, base.independent] / noise[:, None]).reshape(-1, len(base))
    known = dict(zip(model.standard, chi, strict=True))
    truth = base.base_values([known[name] for name in base.standard])
    errors = []
    for seed in range(count):
        torque = synthetic_recording(model, poses, chi, noise, seed=seed).needed_torque() / noise
        errors.append(Information.empty(len(base)).add(rows, torque.ravel()).solve(base.names)[0] - truth)
    return np.array(errors)


def spread_interval(repetitions: int, parameters: int) -> tuple[float, float]:
    """Within which all sample deviations over σ lie with a chance of 1 − STATIC_FALSE_ALARM_CHANCE."""
    tail = 0.5 * STATIC_FALSE_ALARM_CHANCE / parameters
    low, high = stats.chi2.ppf([tail, 1.0 - tail], repetitions - 1) / (repetitions - 1)
    return float(np.sqrt(low)), float(np.sqrt(high))


def honest(squares: Array) -> bool:
    """Whether mean errors are zero and squares as large as chance makes them: each parameter's sum is χ²."""
    count, parameters = squares.shape
    chances = stats.chi2.sf(squares.sum(axis=0), count)
    return bool(min(chances.min(), 1.0 - chances.max()) > 0.5 * STATIC_FALSE_ALARM_CHANCE / parameters)
