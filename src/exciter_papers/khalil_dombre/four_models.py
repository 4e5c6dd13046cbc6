"""The dynamic, filtered dynamic, power and energy models on exact data, and with an offset of the torque."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

import exciter as ex
from exciter.dynamics.model import random_motion
from exciter.excitation.criteria.criterion import Observed, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns, DesignRows, EnergyRows, TorqueRows
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.differentiation import first_difference
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.base import BaseParameters, numeric_base
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.paper import DataTable, Effort, Part, claim, published, shown

CHAPTER_FIGURES = published("khalil_dombre")
SAID: dict[str, str] = CHAPTER_FIGURES["statements"]
DECIMATE = ParallelFilter(factor=CHAPTER_FIGURES["decimate"]["factor"])
INTERVAL: float = CHAPTER_FIGURES["noise"]["interval"]  #: [s] of an energy equation

LENGTHS: list[float] = CHAPTER_FIGURES["noise"]["intervals"]  #: [s] of energy equations that overlap
ENERGY_WORSE_RATIO = 1.1  # times the power model's error, from which on the energy model's counts as larger
SINCE = "all from the start"

#: Rows as printed: [12.20], [12.30], [12.52], [12.49]; all but the last through the filter of ``decimate``
FOUR: dict[str, Formulation] = {
    "dynamic": ex.InverseDynamic(DECIMATE),
    "filtered dynamic": ex.FilteredDynamic(DECIMATE),
    "power": ex.Power(DECIMATE, even=False),
    "energy": ex.Energy(INTERVAL, even=False),
}


def run(effort: Effort) -> Sequence[Part]:
    return (without_noise(effort), with_offset())


def estimate(
    part: Processed, formulation: Formulation, estimator: Estimator | None = None, model: ex.DynamicModel | None = None
) -> Estimate:
    """Of one run; ordinary least squares and the model of the set-up unless given."""
    problem = Problem(model or set_up.model(), (Run((part,)),), formulation)
    return (estimator or ex.OrdinaryLeastSquares()).estimate(problem)


# -- exact data --------------------------------------------------------------------------------------------------------


def without_noise(effort: Effort) -> Part:
    """12.4–12.6 on exact data: what differentiating and integrating numerically costs."""
    part = set_up.exact()
    found = {name: estimate(part, formulation) for name, formulation in FOUR.items()}
    as_printed = printed_estimates()
    ours = {name: set_up.relative_error(one.values) for name, one in found.items()}
    plain = {name: set_up.relative_error(values) for name, values in as_printed.items()}
    rows = [
        [name, round(one.freedom), one.condition_number, ours[name], plain.get(name)] for name, one in found.items()
    ]
    conditions = random_conditions(effort.pick(30, 200))
    ratio = conditions["energy"] / conditions["dynamic"]
    spread = {name: np.divide(*np.quantile(values, [0.9, 0.1])) for name, values in conditions.items()}
    share = float(np.mean(ratio > 1.0))
    low, high = np.quantile(ratio, [0.1, 0.9])
    findings = (
        *(shown(f"relative error, {name} model", ours[name]) for name in FOUR),
        *(
            shown(f"relative error, {name} model, differences and integrals as printed", plain[name])
            for name in as_printed
        ),
        claim(SAID["same_base"], same_base(), "every grouping coefficient compared, along a random motion (seed 0)"),
        claim(
            SAID["more_exciting"],
            share > 0.95,
            f"cond(W) of {len(ratio)} random motions (seed 1): energy over dynamic {low:.2g} … {high:.2g} (10–90 %), "
            f"larger in {100 * share:.0f} % of them; along the motion here {found['energy'].condition_number:.0f} "
            f"against {found['dynamic'].condition_number:.0f}",
        ),
        claim(
            SAID["more_sensitive"],
            spread["energy"] > 1.1 * spread["dynamic"],
            f"spread of cond(W) over these motions, 90 % over 10 % quantile: {spread['energy']:.3g} (energy), "
            f"{spread['dynamic']:.3g} (dynamic)",
        ),
    )
    return Part(
        "12.4–12.6",
        "Four models, exact data",
        f"{set_up.words()} Exact positions, velocities, accelerations and torques; ordinary least squares. Dynamic, "
        "filtered dynamic and power equations go through the filter of decimate, energy equations are integrals over "
        f"{INTERVAL:g} s. 'As printed' has central differences over three samples [12.16] and the trapezium rule; "
        "Exciter differentiates over seven samples and integrates cubics. Relative error: ‖χ̂ − χ‖ / ‖χ‖.",
        findings,
        DataTable(
            "exact-data",
            "Four models on exact data",
            ("model", "degrees of freedom", "cond(W)", "relative error", "relative error as printed"),
            rows,
        ),
        differences="The scan of the chapter has d/dt inside B1 after [12.27], where it would be taken twice; right is "
        "B1 = Aʲ q̇. The four models then agree, as they must.",
    )


def printed_estimates() -> dict[str, Array]:
    """χ̂ of exact data with the chapter's central differences and trapezia."""
    model, motion, torque = set_up.model(), set_up.motion(), set_up.torque()
    columns, inner = model.base.independent, slice(1, -1)
    b1, b2 = (rows[:, :, columns] for rows in model.momentum_rows(motion))
    filtered = first_difference(b1, set_up.SAMPLE_RATE) + b2[inner]
    h = np.nan_to_num(model.energy(motion)[:, columns])
    lossy = [k for k, name in enumerate(model.base.names) if name.startswith("F")]
    taken = np.zeros_like(h)
    taken[:, lossy] = np.einsum("tj,tjk->tk", motion.qd, b2[:, :, lossy])
    power = first_difference(h, set_up.SAMPLE_RATE) + taken[inner]
    worked = (motion.qd * torque).sum(axis=1)
    step = round(INTERVAL * set_up.SAMPLE_RATE)
    energy = EnergyRows(INTERVAL).rows(model, motion, DesignColumns.of(model, columns), np.ones(model.n)).w
    work = np.append(0.0, np.cumsum(0.5 * (worked[1:] + worked[:-1])) / set_up.SAMPLE_RATE)[::step]
    return {
        "filtered dynamic": _decimated(motion.time[inner], filtered, torque[inner]),
        "power": _decimated(motion.time[inner], power[:, None], worked[inner, None]),
        "energy": np.asarray(np.linalg.lstsq(energy, np.diff(work)[: len(energy)])[0], dtype=np.float64),
    }


def _decimated(time: Array, w: Array, y: Array) -> Array:
    """χ̂ of W (N, J, p), y (N, J) through the filter of ``decimate``."""
    names = tuple(f"row {j}" for j in range(w.shape[1]))
    sides = np.concatenate([w, y[:, :, None]], axis=2)
    sides.flags.writeable = False
    rows = DECIMATE.apply(Rows(time, sides, set_up.SAMPLE_RATE, names, set_up.model().base.names))
    return np.asarray(np.linalg.lstsq(rows.w.reshape(-1, w.shape[2]), rows.y.ravel())[0])


def same_base() -> bool:
    """Whether energy rows group standard parameters as torque rows do."""
    model = set_up.model()
    every = np.arange(len(model.standard))
    columns = DesignColumns.of(model, every)
    motion = random_motion(model.robot, 400)
    rows: dict[str, DesignRows] = {"energy": EnergyRows(), "dynamic": TorqueRows()}
    found = [
        numeric_base(Observed(model, motion, columns, np.ones(model.n), kind).w, model.standard)
        for kind in rows.values()
    ]
    return same_grouping(*found)


def same_grouping(one: BaseParameters, other: BaseParameters) -> bool:
    return one.names == other.names and bool(np.allclose(one.grouping, other.grouping, atol=1e-6))


def random_conditions(count: int) -> Mapping[str, Array]:
    """cond(W) (count,) of motions drawn as that of the set-up was, for both models."""
    model, family, rng = set_up.model(), set_up.family(), np.random.default_rng(1)
    time = family.sample_times(round(100.0 * family.period))
    rows: dict[str, DesignRows] = {"dynamic": TorqueRows(), "energy": EnergyRows(INTERVAL)}
    found: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(count):
        delta = CHAPTER_FIGURES["set_up"]["size"] * rng.standard_normal((model.n, family.coefficients))
        motion = motion_of(family, delta, time)
        for name, kind in rows.items():
            found[name].append(evaluate(model, motion, 1.0, formulation=kind).condition_number)
    return {name: np.array(values) for name, values in found.items()}


# -- an offset ---------------------------------------------------------------------------------------------------------


def with_offset() -> Part:
    """12.6.2: a constant torque that is not in the model."""
    offset = np.array(CHAPTER_FIGURES["noise"]["offset"])
    part = replace(set_up.exact(), torque=set_up.torque() + offset)
    errors = {name: set_up.relative_error(estimate(part, kind).values) for name, kind in FOUR.items()}
    lengths = {length: set_up.relative_error(over_intervals(part, length)) for length in LENGTHS}
    since = set_up.relative_error(over_intervals(part, None))
    wider = ex.DynamicModel(set_up.model().robot, (ex.Viscous(), ex.Coulomb(), ex.Offset()))
    place = [k for k, name in enumerate(wider.base.names) if not name.startswith("off")]
    known = {
        name: set_up.relative_error(estimate(part, kind, model=wider).values[place]) for name, kind in FOUR.items()
    }
    size = f"{offset.max():g} N·m on joint {int(offset.argmax()) + 1}"
    begins = larger_from(lengths, errors["power"])
    least, most = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
    return Part(
        "12.6.2",
        "An offset of the torque",
        f"{set_up.AS_BEFORE} Exact data, but for {size}, which the model does not have; ordinary least squares. The "
        f"chapter leaves the length of the energy equations' intervals open: {LENGTHS[0]:g} … {LENGTHS[-1]:g} s here, "
        f"one beginning every {INTERVAL:g} s, and all of them from the start of the motion. Errors count as larger "
        f"from {ENERGY_WORSE_RATIO:g} times on.",
        (
            claim(
                SAID["offset"],
                begins is not None,
                f"relative error {errors['power']:.3g} (power), {lengths[LENGTHS[0]]:.3g} (energy, intervals of "
                f"{LENGTHS[0]:g} s), {lengths[most]:.3g} at most ({most:g} s)"
                + (
                    f"; {ENERGY_WORSE_RATIO:g} times that of the power model or more from {begins:g} s on"
                    if begins
                    else ""
                ),
            ),
            *(shown(f"relative error by {size}, {name} model", errors[name]) for name in FOUR),
            shown(
                "largest error of the energy model over its smallest, lengths of intervals that were tried",
                lengths[most] / lengths[least],
                f"it grows with short intervals, not on and on: {lengths[LENGTHS[-1]]:.3g} with {LENGTHS[-1]:g} s, "
                f"{since:.3g} when all intervals begin with the motion, up to "
                f"{CHAPTER_FIGURES['set_up']['duration']:g} s long. "
                "A constant torque is a potential: its work is offset times travel, which the joint's range bounds",
            ),
            *(shown(f"the same, offsets being parameters, {name} model", known[name]) for name in FOUR),
        ),
        (
            DataTable(
                "offset",
                f"Relative error by an offset of {size}",
                ("model", "without offset in the model", "with offsets as parameters"),
                [[name, error, known[name]] for name, error in errors.items()],
            ),
            DataTable(
                "offset-intervals",
                f"Relative error of the energy model by an offset of {size}",
                ("length of the intervals", "relative error", "over that of the power model"),
                [
                    [name, error, error / errors["power"]]
                    for name, error in {**{f"{length:g} s": e for length, e in lengths.items()}, SINCE: since}.items()
                ],
            ),
        ),
        differences="The chapter says that small errors of low frequency such as offsets can become large, because the "
        "integrator's gain at zero frequency is infinite, and goes over to the power model. For an offset of a torque "
        f"the power model is no remedy: its error is {errors['power'] / errors['dynamic']:.1f} times that of the "
        "dynamic model. What helps is a parameter for the offset. An offset of a measured velocity, whose integral "
        "would grow, was not run.",
    )


def larger_from(lengths: Mapping[float, float], other: float) -> float | None:
    """Shortest interval from which on the error is ``ENERGY_WORSE_RATIO`` times the other one."""
    found = None
    for length in sorted(lengths, reverse=True):
        if lengths[length] < ENERGY_WORSE_RATIO * other:
            break
        found = length
    return found


def over_intervals(part: Processed, length: float | None) -> Array:
    """χ̂ of energy equations over ``length`` [s] that overlap, or that all begin at the start of the motion."""
    model = set_up.model()
    rows = Rows.join(list(FOUR["energy"].rows(model, [part], model.base.independent)))
    w, y = (np.cumsum(side[:, 0], axis=0) for side in (rows.w, rows.y))
    if length is not None:
        k = round(length / INTERVAL)
        w, y = (np.concatenate([side[k - 1 : k], side[k:] - side[:-k]]) for side in (w, y))
    return np.asarray(np.linalg.lstsq(w, y)[0])
