"""A virtual robot that is like the common one, and can exist: simulated by another engine, logs drawn again and again;
and torque gains of its drives from currents and a known load (12.3.6, [12.17]).

Bodies with the parameters X of Gautier and Khalil's Table 6 do not exist, so that the true inertias are drawn about
the nearest ones that do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import stats

import exciter as ex
from exciter.errors import ParameterError
from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.ramps import Ramps
from exciter.excitation.validation_motion.random_families import DrawnMotion
from exciter.excitation.validation_motion.random_families import draw as draw_motion
from exciter.experiment.recording import Payload
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.virtual import (
    Encoder,
    GearedDrive,
    Sampling,
    Spread,
    TorqueMeter,
    TrueFriction,
    Truth,
    VirtualRobot,
    draw,
)
from exciter.identification.drive_gains import DriveGains, identify_gains, in_amperes
from exciter.identification.runs.run import Run
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.khalil_dombre.set_up import PROCEDURE_FIGURES, percent, recovered
from exciter_papers.paper import DataTable, Effort, Part, claim, shown

VIRTUAL_SETTINGS = PROCEDURE_FIGURES["validation"]
ENCODER = Encoder()
VIRTUAL_ROBOT_STATEMENT = (
    "Virtual robot: the common one, its true inertias drawn about the nearest bodies that can exist (spread "
    f"{100 * VIRTUAL_SETTINGS['bodies']:g} %, seed {VIRTUAL_SETTINGS['seed']}; those of Table 6 cannot), friction as "
    "elsewhere, "
    "simulated by another engine under a computed-torque controller that knows the description only. Encoders of "
    f"{ENCODER.counts:g} counts per turn of the motor, torques with white noise of {PROCEDURE_FIGURES['noise']:g} % "
    "of the largest "
    f"ones along the common motion, {VIRTUAL_SETTINGS['log_rate']:g} Hz. Identification motion: D-optimal, "
    f"{set_up.HARMONICS}, "
    f"one period ({VIRTUAL_SETTINGS['starts']} starts, seed 0); unseen motion: a random spline of "
    f"{VIRTUAL_SETTINGS['unseen']['duration']:g} s (seed {VIRTUAL_SETTINGS['unseen']['seed']}). Positions are "
    "filtered and "
    f"differentiated, both sides of the equations filtered and decimated by {VIRTUAL_SETTINGS['decimation']}; "
    "weighted least "
    "squares."
)


def payload() -> Payload:
    given = VIRTUAL_SETTINGS["payload"]
    return Payload(given["frame"], given["mass"], tuple(given["centre"]), tuple(given["inertia"]))


def formulation() -> ex.InverseDynamic:
    """The dynamic model with parallel filtering."""
    return ex.InverseDynamic(ParallelFilter(factor=VIRTUAL_SETTINGS["decimation"]))


@cache
def planned() -> Design:
    sigma = set_up.torque_noise(PROCEDURE_FIGURES["noise"])
    return design(
        set_up.model(), set_up.family(), noise=sigma, starts=VIRTUAL_SETTINGS["starts"], samples=500, ramps=Ramps()
    )


@cache
def unseen() -> DrawnMotion:
    given = VIRTUAL_SETTINGS["unseen"]
    return draw_motion(set_up.model().robot, ex.RandomSpline(given["duration"], given["segments"]), seed=given["seed"])


@cache
def truth() -> Truth:
    drawn = draw(set_up.model().robot, VIRTUAL_SETTINGS["seed"], Spread(VIRTUAL_SETTINGS["bodies"], 0.0))
    friction = TrueFriction(viscous=tuple(set_up.SET_UP["Fv"]), coulomb=tuple(set_up.SET_UP["Fc"]))
    return replace(drawn, friction=friction, rotor_inertia=0.0)


@cache
def true_values() -> Array:
    """(p,) base parameters."""
    known = dict(zip(truth().model.standard, truth().chi, strict=True))
    return set_up.model().base.base_values([known[name] for name in set_up.model().standard])


@dataclass(frozen=True, eq=False)
class ThreeMotions:
    """Three motions of the robot: for identification, unseen, and the first one with the known load."""

    identification: ex.Simulated
    validation: ex.Simulated
    loaded: ex.Simulated


@cache
def experiment() -> ThreeMotions:
    noise, gains = tuple(set_up.torque_noise(PROCEDURE_FIGURES["noise"]).tolist()), VIRTUAL_SETTINGS["gains"]
    robot = VirtualRobot(
        set_up.model().robot,
        truth(),
        meter=TorqueMeter(noise=noise),
        drive=GearedDrive(tuple(gains["gear"]), tuple(gains["torque_constant"])),
        sampling=Sampling(VIRTUAL_SETTINGS["log_rate"]),
        simulation_rate=VIRTUAL_SETTINGS["simulation_rate"],
    )
    carrying = replace(robot, payload=payload())
    path, other = planned().curve, unseen().curve
    return ThreeMotions(robot.run(path), robot.run(other), carrying.run(path))


def logged(simulated: ex.Simulated, seed: int) -> ex.Recording:
    """What sensors say of a run, with noise drawn anew: the robot itself is simulated once, its controller does not
    see the noise. A known load is not told."""
    robot, drive = simulated.virtual.robot, simulated.virtual.drive
    rng = np.random.default_rng(seed)
    noise = set_up.torque_noise(PROCEDURE_FIGURES["noise"]) * rng.standard_normal(simulated.torque.shape)
    return replace(
        simulated.recording,
        q=ENCODER.position(simulated.motor.q, robot, drive, seed),
        torque=simulated.torque + noise,
        about=replace(simulated.recording.about, payload=None),
    )


# -- torque gains of the drives ----------------------------------------------------------------------------------------

FIRST_LOG_SEED = 5000  # seed of the first log


def gains_part(effort: Effort) -> Part:
    times = effort.pick(*VIRTUAL_SETTINGS["gain_logs"].values())
    done, model = experiment(), set_up.model()
    drive = done.identification.virtual.drive
    true = drive.gains(model.robot)
    found = [
        identify_gains(model, _runs(done.identification, done.loaded, true, seed), formulation=formulation())
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
    ratios = drive.ratios(model.robot)
    table = DataTable.by_columns(
        "drive-gains",
        f"Torque gains over {times} pairs of logs",
        {
            "joint": model.robot.joint_names,
            "N": ratios,
            "K_T [N·m/A]": true / ratios,
            "G_T = N K_T [N·m/A]": true,
            "mean of the estimates": gains.mean(axis=0),
            "rms error [%]": 100.0 * np.sqrt((relative**2).mean(axis=0)),
            "σ as reported [%]": 100.0 * np.mean(std / true, axis=0),
        },
    )
    return Part(
        "Section 12.3.6",
        "Torque gains of the drives from an experiment of their own",
        "Virtual robot, motion and logs as in Section 12.7, validation. Here currents are logged instead of torques, Γ "
        f"= G_T u. Unknown: {len(true)} gains and {len(model.base.names)} parameters; known: a load of "
        f"{payload().mass:g} kg that the second log has. The chapter refers to another work for the experiment; this "
        f"one is ours. {times} pairs of logs (seeds from {FIRST_LOG_SEED}).",
        (
            claim(
                "a global estimation of the gains G_T can be obtained using a specific experiment",
                right,
                f"a joint 95 % interval misses a gain in {outside} of {times} pairs of logs (chance of so many or so "
                f"few: {chance:.2g}); largest mean error {bias:.1f} standard errors",
            ),
            shown("largest rms error of a gain [%]", 100.0 * float(np.sqrt((relative**2).mean(axis=0)).max())),
            shown(
                "rms of the error that all gains share [%]",
                100.0 * float(np.sqrt((common**2).mean())),
                f"their ratios are known to {percent(float(np.sqrt(((relative - common[:, None]) ** 2).mean())))}",
            ),
            shown("without a load or other knowledge, currents give no gains", _refused(done.identification, true)),
        ),
        table,
        differences="Equations free of the gains, which the chapter mentions without printing them, are not run: their "
        "parameters are those of every joint over its gain, and say no more.",
    )


def standard_errors(errors: Array) -> float:
    """Largest mean of the errors (M, n), each over its σ, in standard errors."""
    return float(np.abs(errors.mean(axis=0)).max() * np.sqrt(len(errors)))


def together(one: DriveGains) -> float:
    """σ to both sides of intervals that hold all gains at once in 95 % of cases (Student, Bonferroni)."""
    return float(stats.t.ppf(1.0 - 0.5 * (1.0 - PROCEDURE_FIGURES["level"]) / len(one.gains), one.freedom))


def _runs(empty: ex.Simulated, loaded: ex.Simulated, gains: Array, seed: int) -> list[Run]:
    """Without and with the load, which the second run is told of."""
    runs = []
    for k, simulated in enumerate((empty, loaded)):
        log = logged(simulated, FIRST_LOG_SEED + 2 * seed + k)
        assert log.torque is not None
        known = payload() if simulated is loaded else None
        about = replace(log.about, payload=known)
        runs.append(
            Run.of(in_amperes(replace(log, torque=None, current=log.torque / gains, about=about)), name=f"log {k + 1}")
        )
    return runs


def _refused(empty: ex.Simulated, gains: Array) -> bool:
    try:
        identify_gains(set_up.model(), _runs(empty, empty, gains, 0)[:1], formulation=formulation())
    except ParameterError:
        return True
    return False
