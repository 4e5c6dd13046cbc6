"""Wrist first, then the shoulder with the wrist locked and known (12.7), against all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.design import design
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.identification.estimators.staged import TwoStep
from exciter.identification.estimators.weighted import OrdinaryLeastSquares, WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.parameters.terms import Coulomb, Viscous
from exciter.reproduction.finding import claim, shown
from exciter.reproduction.khalil_dombre.steps import (
    DATA,
    GLOBAL,
    RARE,
    WEIGHTED,
    Found,
    IntArray,
    Repeated,
    Step,
    as_printed,
    estimator,
    link_of,
    percent,
    repeat,
)
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.robot import Motion, load
from exciter.typing import Array

SETTINGS = DATA["wrist"]
FAMILY = Fourier(float(SETTINGS["period"]), int(SETTINGS["harmonics"]))


def run(effort: Effort) -> Sequence[Part]:
    return (wrist_first(effort),)


def wrist_first(effort: Effort) -> Part:
    model, wrist, planned = arm(), int(SETTINGS["wrist"]), design(arm(), FAMILY, starts=1)
    robot = model.robot
    true, link = model.base.base_values(model.nominal), link_of(model.base.names)
    rate, times = float(SETTINGS["rate"]), effort.pick(*SETTINGS["repetitions"].values())
    motion = motion_of(FAMILY, planned.delta, np.arange(round(FAMILY.duration * rate)) / rate)
    locked = _locked(motion, robot.n - wrist)
    exact = model.torque(motion, model.nominal), model.torque(locked, model.nominal)
    sigma = DATA["noise"] / 100.0 * np.abs(exact[0]).max(axis=0)

    def drawn(seed: int) -> Problem:
        rng = np.random.default_rng(seed)
        noisy = [torque + sigma * rng.standard_normal(torque.shape) for torque in exact]
        runs = [
            Run.at(path, torque, rate, name)
            for path, torque, name in zip((motion, locked), noisy, ("all", "locked"), strict=True)
        ]
        return Problem(model, tuple(runs), folds=1, balanced=False)

    hand = np.flatnonzero(link > robot.n - wrist)
    shoulder = np.flatnonzero(link <= robot.n - wrist)

    def printed(problem: Problem) -> Found:
        rows = problem.compressed
        first = rows.where(rows.run == 0).only_joints(range(robot.n - wrist, robot.n))
        second = rows.where(rows.run == 1).only_joints(range(robot.n - wrist))
        return as_printed((Step(first, hand, hand), Step(second, shoulder, shoulder)), len(link))

    methods = {
        "wrist then shoulder, as printed": printed,
        "wrist then shoulder, weighted": estimator(TwoStep(wrist)),
        GLOBAL: estimator(OrdinaryLeastSquares()),
        WEIGHTED: estimator(WeightedLeastSquares()),
    }
    found = repeat(drawn, methods, true, times)
    return _wrist_part(model, found, (motion, locked), sigma, (hand, shoulder), planned.certificate.certified, times)


@cache
def arm() -> DynamicModel:
    return DynamicModel(load(SETTINGS["robot"]), (Viscous(), Coulomb()))


def conditions(moving: Array, locked: Array, groups: tuple[IntArray, IntArray]) -> tuple[float, float, float]:
    """cond(W) of both logs (N, n, p) at once, of the wrist's equations of the first for its own parameters, and of the
    other joints' equations of the second for theirs."""
    hand, shoulder = groups
    wrist = int(SETTINGS["wrist"])
    parts = (np.concatenate([moving, locked]), moving[:, -wrist:][:, :, hand], locked[:, :-wrist][:, :, shoulder])
    whole, first, second = (float(np.linalg.cond(rows.reshape(-1, rows.shape[-1]))) for rows in parts)
    return whole, first, second


def _locked(motion: Motion, first: int) -> Motion:
    """The same with joints from ``first`` on at rest where they begin."""
    q, qd, qdd = motion.q.copy(), motion.qd.copy(), motion.qdd.copy()
    q[:, first:], qd[:, first:], qdd[:, first:] = motion.q[0, first:], 0.0, 0.0
    return Motion(motion.time, q, qd, qdd)


def _wrist_part(
    model: DynamicModel,
    found: Mapping[str, Repeated],
    motions: tuple[Motion, Motion],
    sigma: Array,
    groups: tuple[IntArray, IntArray],
    certified: bool,
    times: int,
) -> Part:
    hand, shoulder = groups
    moving, locked = (model.regressor(motion)[:, :, model.base.independent] for motion in motions)
    conds = conditions(moving, locked, groups)
    printed, _, _, best = found.values()
    ratios = {name: one.spread / best.spread for name, one in found.items()}
    share, error = printed.covered(np.isin(np.arange(len(best.true)), shoulder))
    names = tuple(found)
    medians = [float(np.median(ratios[name][group])) for name in names for group in (hand, shoulder)]
    rows = [
        (name, medians[2 * k], medians[2 * k + 1], percent(found[name].covered()[0])) for k, name in enumerate(names)
    ]
    table = DataTable(
        "wrist-first",
        f"Errors over those of weighted least squares on all data (median over parameters, {times} logs)",
        ("method", "wrist", "shoulder", "95 % intervals that hold the truth"),
        rows,
    )
    return Part(
        "Section 12.7, two steps",
        "Wrist first, then the shoulder with the wrist locked and known",
        f"Robot: {model.robot.name}, {model.n} joints, nominal parameters and friction, {len(best.true)} base "
        "parameters. "
        f"Two motions of {motions[0].time[-1] - motions[0].time[0]:.3g} s at {SETTINGS['rate']:g} Hz: one D-optimal "
        f"({SETTINGS['harmonics']} harmonics of {1.0 / SETTINGS['period']:g} Hz, 1 start, seed 0, within all joint "
        "limits), and the same with the wrist locked. Torque noise "
        f"{DATA['noise']:g} % of each joint's largest torque, that is {sigma.max():.2g} … {sigma.min():.2g} "
        f"N·m; {times} logs "
        f"(seeds 0 … {times - 1}). All methods have both logs.",
        (
            shown("the motion keeps all limits (certified)", certified),
            shown(
                "cond(W) of a step, the larger one, over that of the whole",
                max(conds[1:]) / conds[0],
                f"cond(W) {conds[1]:.3g} of the wrist, {conds[2]:.3g} of the shoulder, {conds[0]:.3g} all at once",
            ),
            claim(
                "two steps are efficient where wrist and shoulder are of different magnitude: more accurate "
                "for the wrist "
                "than ordinary least squares on all data",
                medians[0] < medians[4],
                f"median error over that of weighted least squares: wrist {medians[0]:.2f} against "
                f"{medians[4]:.2f}, shoulder "
                f"{medians[1]:.2f} against {medians[5]:.2f}. Ordinary least squares gives the noise of the shoulder's "
                f"drives, {sigma.max() / sigma.min():.0f} times that of the smallest, the same weight",
            ),
            shown(
                "no errors accumulate from the wrist to the shoulder",
                abs(share - DATA["level"]) <= RARE * error,
                f"95 % intervals of the shoulder, wrist taken as exact: {percent(share)} hold the truth",
            ),
            shown("largest loss of two weighted steps, error over that of all at once", float(ratios[names[1]].max())),
            shown("median loss of two steps as printed, wrist", medians[0]),
            shown("median loss of two steps as printed, shoulder", medians[1]),
        ),
        (table,),
        differences="The steps' advantage is one of weights, not of steps: median errors of the other methods, of "
        f"wrist or shoulder, are {min(medians[:-2]):.2f} times those of weighted least squares on all data or more.",
    )
