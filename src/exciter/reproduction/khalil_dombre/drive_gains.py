"""Torque gains of the drives from currents and a known load (12.3.6, [12.17])."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from exciter.errors import ParameterError
from exciter.experiment.virtual import Simulated
from exciter.identification.drive_gains import DriveGains, current_run, identify_gains
from exciter.identification.run import Run
from exciter.reproduction.finding import claim, shown
from exciter.reproduction.khalil_dombre import set_up, virtual
from exciter.reproduction.khalil_dombre.steps import DATA, percent, recovered
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.typing import Array

SETTINGS = DATA["validation"]
FIRST = 5000  # seed of the first log


def part(effort: Effort) -> Part:
    times = effort.pick(*SETTINGS["gain_logs"].values())
    done, model = virtual.experiment(), set_up.model()
    drive = done.identification.virtual.drive
    true = drive.gains(model.robot)
    found = [
        identify_gains(model, _runs(done.identification, done.loaded, true, seed), formulation=virtual.formulation())
        for seed in range(times)
    ]
    gains, std = (np.array([getattr(one, name) for one in found]) for name in ("gains", "std"))
    relative = gains / true - 1.0
    errors = (gains - true) / std
    reach = np.array([[together(one)] for one in found])
    outside = int((np.abs(errors) > reach).any(axis=1).sum())
    common = relative.mean(axis=1)
    bias = standard_errors(errors)
    right, chance = recovered(outside, times, bias)
    table = DataTable(
        "drive-gains",
        f"Torque gains over {times} pairs of logs",
        (
            "joint",
            "N",
            "K_T [N·m/A]",
            "G_T = N K_T [N·m/A]",
            "mean of the estimates",
            "rms error [%]",
            "σ as reported [%]",
        ),
        [
            (
                joint,
                float(drive.ratios(model.robot)[j]),
                float(true[j] / drive.ratios(model.robot)[j]),
                float(true[j]),
                float(gains[:, j].mean()),
                100.0 * float(np.sqrt((relative[:, j] ** 2).mean())),
                100.0 * float(np.mean(std[:, j] / true[j])),
            )
            for j, joint in enumerate(model.robot.joint_names)
        ],
    )
    return Part(
        "Section 12.3.6",
        "Torque gains of the drives from an experiment of their own",
        "Virtual robot, motion and logs as in Section 12.7, validation. Here currents are logged instead of torques, "
        f"Γ = G_T u. Unknown: {len(true)} gains and "
        f"{len(model.base.names)} parameters; "
        f"known: a load of {virtual.payload().mass:g} kg that the second log has. The chapter refers to "
        "another work for the "
        f"experiment; this one is ours. {times} pairs of logs (seeds from {FIRST}).",
        (
            claim(
                "a global estimation of the gains G_T can be obtained using a specific experiment",
                right,
                f"a joint 95 % interval misses a gain in {outside} of {times} pairs of logs (chance of so many "
                "or so few: "
                f"{chance:.2g}); largest mean error {bias:.1f} standard errors",
            ),
            shown("largest rms error of a gain [%]", 100.0 * float(np.sqrt((relative**2).mean(axis=0)).max())),
            shown(
                "rms of the error that all gains share [%]",
                100.0 * float(np.sqrt((common**2).mean())),
                f"their ratios are known to {percent(float(np.sqrt(((relative - common[:, None]) ** 2).mean())))}",
            ),
            shown("without a load or other knowledge, currents give no gains", _refused(done.identification, true)),
        ),
        (table,),
        differences="Equations free of the gains, which the chapter mentions without printing them, are not run: their "
        "parameters are those of every joint over its gain, and say no more.",
    )


def standard_errors(errors: Array) -> float:
    """Largest mean of the errors (M, n), each over its σ, in standard errors."""
    return float(np.abs(errors.mean(axis=0)).max() * np.sqrt(len(errors)))


def together(one: DriveGains) -> float:
    """σ to both sides of intervals that hold all gains at once in 95 % of cases (Student, Bonferroni)."""
    return float(stats.t.ppf(1.0 - 0.5 * (1.0 - DATA["level"]) / len(one.gains), one.freedom))


def _runs(empty: Simulated, loaded: Simulated, gains: Array, seed: int) -> list[Run]:
    """Without and with the load, which the second run is told of."""
    runs = []
    for k, simulated in enumerate((empty, loaded)):
        log = virtual.logged(simulated, FIRST + 2 * seed + k)
        assert log.torque is not None
        known = virtual.payload() if simulated is loaded else None
        about = replace(log.about, payload=known)
        runs.append(
            current_run(replace(log, torque=None, current=log.torque / gains, about=about), name=f"log {k + 1}")
        )
    return runs


def _refused(empty: Simulated, gains: Array) -> bool:
    try:
        identify_gains(set_up.model(), _runs(empty, empty, gains, 0)[:1], formulation=virtual.formulation())
    except ParameterError:
        return True
    return False
