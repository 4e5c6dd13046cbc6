"""The robot identified with a known payload and without, and the payload itself recovered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from exciter.dynamics.model import DynamicModel
from exciter.identification.payload_estimate import LEVEL
from exciter.parameters import inertial
from exciter.reproduction.finding import shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.rackl import set_up
from exciter.reproduction.rackl.experiment import LOADED
from exciter.reproduction.rackl.repetition import Repetition
from exciter.reproduction.rackl.table_1 import CHANCE
from exciter.validation.known_load import KnownLoad

DISTAL = 5  # parameters of links from this one on


def part(model: DynamicModel, used: Sequence[Repetition]) -> Part:
    distal = [k for k, name in enumerate(model.base.names) if int(name[-1]) >= DISTAL]
    recovered = [one.load for one in used]
    errors = [(one.loaded.values - one.truth) / one.loaded.std for one in used]
    ratios = [one.loaded.std / one.bare.std for one in used]
    ratio, misses = np.array(ratios), sum(not load.agrees for load in recovered)
    squares = len(inertial.NAMES) * np.square([load.distance for load in recovered])
    fits = stats.kstest(squares, "chi2", args=(len(inertial.NAMES),))
    first = recovered[0]
    payload = set_up.payload()
    return Part(
        "Section IV, payload (experiment)",
        "The same trajectory with a known payload and without",
        f"The {len(used)} robots of Table I (seeds 1 … {len(used)}) execute the optimised trajectory without and "
        f"with a steel cylinder of {payload.mass:.2f} kg (noise seeds 3 k + 1 and 3 k + {LOADED}); its torque is taken "
        "off, and all base parameters are fitted to each log alone, joints weighted by their noise. Then the "
        "payload is forgotten, and found again from the two fits.",
        (
            shown(
                "σ with payload over σ without, median of all parameters",
                float(np.median(ratio)),
                f"all robots and parameters within {ratio.min():.3f} … {ratio.max():.3f}; parameters of links "
                f"{DISTAL} to {model.n} {ratio[:, distal].min():.3f} … {ratio[:, distal].max():.3f}. The payload makes "
                "torques larger, not the robot's own parameters more certain: what it adds is known and taken off",
            ),
            shown(
                "errors over σ with the payload taken off, rms",
                float(np.sqrt(np.mean(np.square(errors)))),
                "one where the covariance is right",
            ),
            shown(
                "the known payload is recovered",
                fits.pvalue > CHANCE,
                f"squared distance of found and known load in the metric of its covariance against χ² with "
                f"{len(inertial.NAMES)} degrees of freedom: mean {squares.mean():.1f}, chance of a larger distance "
                f"(Kolmogorov–Smirnov) {fits.pvalue:.2g}; outside the {100 * LEVEL:g} % region: {misses} of "
                f"{len(used)}",
            ),
            shown("mass of the payload found, first robot [kg]", first.found.mass, f"known: {payload.mass:.4f} kg"),
            shown(
                "torque error of the payload found, relative to the payload's torque, median over robots [%]",
                float(np.median([load.torque_percent for load in recovered])),
            ),
        ),
        (table(first),),
    )


def table(one: KnownLoad) -> DataTable:
    rows = [
        (row["name"], row["unit"], row["known"], row["found"], row["std"], row["sigmas"])
        for row in one.to_dict()["quantities"]
    ]
    headings = ("quantity", "unit", "known", "found", "σ", "error / σ")
    return DataTable("payload-found", "The payload of the first robot", headings, rows)
