"""What a known payload changes in the design: torques, not the regressor of the robot's own parameters."""

from __future__ import annotations

import numpy as np

from exciter.excitation.criteria import evaluate
from exciter.excitation.design import Design
from exciter.reproduction.finding import claim, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.rackl import designs, set_up
from exciter.reproduction.rackl.bound import weighted
from exciter.typing import Array


def part(loaded: Design, bare: Design) -> Part:
    model = loaded.model
    chi, own = set_up.loaded_chi(model), model.nominal
    log = loaded.curve.motion(loaded.trajectory.sample_times(loaded.samples))
    noise = set_up.repeated_noise()
    ratio = snr(model.torque(log, chi), noise) / snr(model.torque(log, own), noise)
    sigma = evaluate(model, log, noise**-2.0).predicted_std
    heavier, lighter = (np.abs(model.base.base_values(x)) for x in (chi, own))
    gained = heavier / np.maximum(lighter, 1e-300)
    grown = [k for k in range(len(sigma)) if heavier[k] > 1e-12 and gained[k] > 1.01]
    conditions = {"with": weighted(loaded, set_up.weights_16()), "without": weighted(bare, set_up.weights_16())}
    return Part(
        "Section IV, payload (design)",
        "Trajectories optimised with a known payload and without",
        f"Payload: a steel cylinder of {set_up.payload().mass:.2f} kg on the flange (the paper's is not published). "
        f"Criterion (15) and limits as for Figure 3, {len(loaded.attempts)} starts with payload and "
        f"{len(bare.attempts)} without, seed {designs.SEED}. σ is predicted for one log of the trajectory at "
        f"{loaded.samples / loaded.trajectory.duration:.0f} Hz with the noise that is left after decimation.",
        (
            claim(
                "a known payload improves the signal-to-noise ratio of the torques",
                bool((ratio >= 1.0 - 1e-9).all() and (ratio > 1.0).any()),
                "rms torque over noise with payload, of that without, joint by joint: "
                + ", ".join(f"{r:.2f}" for r in ratio),
            ),
            shown("condition number λ, optimised with payload", conditions["with"].condition),
            shown(
                "condition number λ, optimised without payload",
                conditions["without"].condition,
                f"starts with payload end at {ends(loaded)}, without at {ends(bare)}: the difference is scatter "
                "between starts, not the payload's doing",
            ),
            shown(
                "both trajectories keep all limits, certified for all time",
                loaded.certificate.certified and bare.certificate.certified,
            ),
        ),
        (
            DataTable(
                "payload-relative",
                "Parameters that hold the payload: size and σ % without and with it",
                ("parameter", "unit", "value without", "value with", "σ", "σ % without", "σ % with"),
                [
                    (
                        model.base.names[k],
                        "kg·m" if model.base.names[k].startswith("M") else "kg·m²",
                        float(lighter[k]),
                        float(heavier[k]),
                        float(sigma[k]),
                        float(100 * sigma[k] / lighter[k]) if lighter[k] > 1e-12 else None,
                        float(100 * sigma[k] / heavier[k]),
                    )
                    for k in grown
                ],
            ),
        ),
        differences="A payload cannot change λ by itself: the regressor of the robot's own parameters does not contain "
        "it. It changes torques, and with them the second summand of (15) and what the torque limits allow. For a "
        "given noise, σ of every parameter stays; σ % of the parameters that hold the payload falls because they grow.",
    )


def ends(found: Design) -> str:
    """Between which values the starts of a search ended."""
    values = [one.value for one in found.attempts if one.feasible]
    return f"{min(values):.1f}" if len(values) == 1 else f"{min(values):.1f} … {max(values):.1f}"


def snr(torque: Array, noise: Array) -> Array:
    """(n,) rms torque over σ."""
    return np.asarray(np.sqrt((torque**2).mean(axis=0)) / noise)
