"""Relative standard deviations, what is poorly identified, and essential parameters ([12.10], 12.7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exciter.identification.estimate import Estimate
from exciter.identification.estimators.essential import Essential
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.reproduction.finding import Finding, claim, shown
from exciter.reproduction.khalil_dombre import set_up
from exciter.reproduction.khalil_dombre.steps import DATA, percent
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.typing import Array

SETTINGS = DATA["essential"]
POORLY = float(DATA["printed"]["poorly"])


def run(effort: Effort) -> Sequence[Part]:
    model, rate = set_up.model(), float(SETTINGS["rate"])
    times = effort.pick(*SETTINGS["repetitions"].values())
    names = model.base.names
    zero = np.isin(names, SETTINGS["zeros"])
    true = np.where(zero, 0.0, set_up.true_values())
    motion, sigma = set_up.motion(rate), set_up.torque_noise(DATA["noise"])
    exact = model.regressor(motion)[:, :, model.base.independent] @ true
    whole, fewer = [], []
    for seed in range(times):
        noise = sigma * np.random.default_rng(seed).standard_normal(exact.shape)
        problem = Problem(model, (Run.at(motion, exact + noise, rate),), folds=1)
        whole.append(WeightedLeastSquares().estimate(problem))
        fewer.append(Essential().estimate(problem))
    return (_part(true, zero, whole, fewer, times),)


def _flagged(estimate: Estimate) -> NDArray[np.bool_]:
    """(p,) relative σ more than ten times the smallest, as printed."""
    relative = estimate.relative_std_percent
    return np.asarray(relative > POORLY * relative.min())


def _part(
    true: Array, zero: NDArray[np.bool_], whole: Sequence[Estimate], fewer: Sequence[Estimate], times: int
) -> Part:
    names = set_up.model().base.names
    flagged = np.array([_flagged(one) for one in whole])
    dropped = np.array([one.values == 0.0 for one in fewer])
    errors, left = (np.array([one.values for one in each]) - true for each in (whole, fewer))
    rms, after = (np.sqrt((each**2).mean(axis=0)) for each in (errors, left))
    relative = np.median([one.relative_std_percent for one in whole], axis=0)
    table = DataTable(
        "essential",
        f"Every parameter over {times} logs: relative σ (median), share of logs that call it poorly "
        "identified, and that "
        "drop it by the F-test",
        (
            "parameter",
            "true value",
            "relative σ [%]",
            "rms error",
            "poorly identified [%]",
            "dropped [%]",
            "rms error after",
        ),
        [
            (
                name,
                float(true[k]),
                float(relative[k]),
                float(rms[k]),
                100.0 * float(flagged[:, k].mean()),
                100.0 * float(dropped[:, k].mean()),
                float(after[k]),
            )
            for k, name in enumerate(names)
        ],
    )
    return Part(
        "[12.10] and section 12.7, essential parameters",
        "Relative standard deviations, the rule of ten, and parameters that can be left out",
        f"{set_up.AS_BEFORE} The true values of {', '.join(SETTINGS['zeros'])} are set to zero here. "
        f"{SETTINGS['rate']:g} Hz, "
        f"torque noise {DATA['noise']:g} %, {times} logs (seeds 0 … {times - 1}); weighted least squares. The "
        "rule of the "
        f"chapter: poorly identified where the relative σ is more than {POORLY:g} times the smallest. Ours: backward "
        f"elimination by an F-test at 5 %. An error (rms) counts as poor from {SETTINGS['poor_percent']:g} % of the "
        "value on, ours.",
        _findings(true, zero, flagged, dropped, rms, after),
        (table,),
        differences="The rule compares a parameter with the best one, not with zero: the more precisely the best is "
        "known, the more of the others are called poor. An F-test asks what the rule means to ask.",
    )


def rule_holds(called: Array) -> bool:
    """Whether all parameters that are called poor have poor errors [% of the value]."""
    return bool((called > SETTINGS["poor_percent"]).all())


def _findings(
    true: Array,
    zero: NDArray[np.bool_],
    flagged: NDArray[np.bool_],
    dropped: NDArray[np.bool_],
    rms: Array,
    after: Array,
) -> tuple[Finding, ...]:
    called = flagged[:, ~zero].mean()
    often = ~zero & (flagged.mean(axis=0) > 0.5)
    size = 100.0 * rms / np.where(zero, np.inf, np.abs(true))
    best = int(np.argmin(np.where(zero, np.inf, size)))
    names = set_up.model().base.names
    kept = ~zero & ~dropped.any(axis=0)
    gain = after[kept] / rms[kept]
    return (
        claim(
            "a parameter whose relative σ exceeds ten times the smallest is poorly identified",
            rule_holds(size[often]),
            f"the rule calls {percent(float(called))} of the parameters that are not zero poor, {int(often.sum())} of "
            f"{int((~zero).sum())} in most logs; these are known to "
            f"{size[often].min() if often.any() else np.nan:.2g} … "
            f"{size[often].max() if often.any() else np.nan:.2g} % (rms). The best, {names[best]}, is known to "
            f"{size[best]:.2g} %",
        ),
        shown("parameters that are zero and called poorly identified [%]", 100.0 * float(flagged[:, zero].mean())),
        shown(
            "parameters that are zero and dropped by the F-test [%]",
            100.0 * float(dropped[:, zero].mean()),
            "a test at 5 % keeps one in twenty",
        ),
        shown("parameters that are not zero and dropped by the F-test [%]", 100.0 * float(dropped[:, ~zero].mean())),
        claim(
            "the essential parameters can be better identified once the others are cancelled",
            float(np.median(gain)) < 1.0,
            f"rms error after over before, of those never dropped: median {np.median(gain):.3f}, smallest "
            f"{gain.min():.3f}",
        ),
    )
