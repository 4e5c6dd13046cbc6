"""One robot, one motion, exact and noisy data of it: common to all that is run of the chapter, which has none; and
estimation in steps as the chapter prints it, any method on many logs that differ in their noise.

The robot is that of Gautier and Khalil 1992 with its inertial parameters X (their Table 6) and friction added. The
motion is a Fourier series whose size was chosen for cond(W), without regard to the limits of the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

import exciter as ex
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.paper import Finding, published, shown

SET_UP = published("khalil_dombre")["set_up"]
SAMPLE_RATE: float = SET_UP["rate"]  #: [Hz]

#: For the texts ``set_up`` of parts after the first, which has ``words()``
ROBOT_STATEMENT = "Robot and friction as in Sections 12.4–12.6."
AS_BEFORE = "Robot, friction and motion as in Sections 12.4–12.6."
HARMONICS = f"{SET_UP['harmonics']} harmonics of {1.0 / SET_UP['period']:g} Hz"


def words() -> str:
    """The set-up in full, for the first part."""
    return (
        "The chapter has no robot and no data of its own; what follows is assumed by us. Robot: that of Gautier and "
        f"Khalil 1992 with the inertial parameters X of their Table 6, and friction Fc = ({_list(SET_UP['Fc'])}) N·m, "
        f"Fv = ({_list(SET_UP['Fv'])}) N·m·s/rad: {len(true_values())} base parameters. Motion: {HARMONICS}, "
        f"coefficients normal with σ = {SET_UP['size']:g} (rad/s, and rad for the offset; seed {SET_UP['seed']}), "
        f"{SET_UP['duration']:g} s at {SAMPLE_RATE:g} Hz. Its size was chosen so that cond(W) is about "
        f"{SET_UP['condition']:g} (it is {condition():.1f}), and it goes beyond the robot's own limits: {_beyond()}."
    )


def _list(values: ArrayLike) -> str:
    return ", ".join(f"{value:g}" for value in np.asarray(values))


def condition() -> float:
    """cond(W) of the dynamic model along the motion, rows as they are."""
    w = model().regressor(motion())[:, :, model().base.independent]
    return float(np.linalg.cond(w.reshape(-1, w.shape[2])))


def _beyond() -> str:
    """Largest values along the motion, and what the robot allows."""
    robot, here = model().robot, motion()
    reached = (np.rad2deg(here.q), np.rad2deg(here.qd), here.qdd)
    allowed = np.rad2deg(robot.position_range()[1]), np.rad2deg(robot.limit("velocity")), robot.limit("acceleration")
    units = ("°", "°/s", " rad/s²")
    return "; ".join(
        f"{', '.join(f'{x:.3g}' for x in np.abs(values).max(axis=0))}{unit} (allowed {limit.min():.3g}{unit})"
        for values, limit, unit in zip(reached, allowed, units, strict=True)
    )


@cache
def model() -> ex.DynamicModel:
    """Rigid links, viscous and Coulomb friction (Fc of the chapter is Fs here)."""
    return ex.DynamicModel(ex.load("gautier-khalil"), (ex.Viscous(), ex.Coulomb()))


@cache
def chi() -> Array:
    """True standard parameters χ."""
    friction = {f"{ours}{j + 1}": SET_UP[theirs][j] for ours, theirs in (("Fs", "Fc"), ("Fv", "Fv")) for j in range(3)}
    values = np.array([friction.get(name, x) for name, x in zip(model().standard, model().nominal, strict=True)])
    values.flags.writeable = False
    return values


@cache
def true_values() -> Array:
    """(p,) true base parameters, named ``model().base.names``."""
    return model().base.base_values(chi())


@cache
def family() -> ex.Fourier:
    return ex.Fourier(SET_UP["period"], SET_UP["harmonics"])


@cache
def coefficients() -> Array:
    """(3, 11) of the motion."""
    drawn = np.random.default_rng(SET_UP["seed"]).standard_normal((model().n, family().coefficients))
    return np.asarray(SET_UP["size"] * drawn, dtype=np.float64)


@cache
def motion(rate: float = SAMPLE_RATE) -> ex.Motion:
    """Exact, 20 s at ``rate`` [Hz]."""
    return motion_of(family(), coefficients(), np.arange(round(SET_UP["duration"] * rate)) / rate)


@cache
def torque(rate: float = SAMPLE_RATE) -> Array:
    """(N, 3) [N·m] exact, along ``motion(rate)``."""
    values = model().torque(motion(rate), chi())
    values.flags.writeable = False
    return values


def exact(rate: float = SAMPLE_RATE) -> Processed:
    """Exact motion and torque, ready for a ``Run``."""
    return Processed(motion(rate), torque(rate), rate)


def torque_noise(percent: float) -> Array:
    """(3,) σ [N·m] as a part of the largest torque of each joint."""
    return np.asarray(percent / 100.0 * np.abs(torque()).max(axis=0), dtype=np.float64)


def noisy_torque(seed: int | tuple[int, ...], percent: float, rate: float = SAMPLE_RATE) -> Processed:
    """Exact motion, white noise on torques of ``percent`` of their largest values."""
    sigma = torque_noise(percent)
    noise = np.random.default_rng(seed).standard_normal(torque(rate).shape)
    return Processed(motion(rate), torque(rate) + sigma * noise, rate, torque_noise=sigma)


def recording(
    seed: int | tuple[int, ...],
    position_noise: float,
    percent: float,
    offset: ArrayLike = 0.0,
    rate: float = SAMPLE_RATE,
) -> ex.Recording:
    """A log: positions with white noise of ``position_noise`` [rad], torques with ``percent`` of their largest values
    and an ``offset`` [N·m], one or per joint. Velocities are not measured. (Processed, that is filtered and
    differentiated, by ``FilteredDifferences(cutoff).apply``.)"""
    rng, true = np.random.default_rng(seed), motion(rate)
    q = true.q + position_noise * rng.standard_normal(true.q.shape)
    noise = torque_noise(percent) * rng.standard_normal(true.q.shape)
    return ex.Recording(model().robot.joint_names, true.time, q, torque=torque(rate) + noise + np.asarray(offset))


def relative_error(values: ArrayLike) -> float:
    """‖χ̂ − χ‖ / ‖χ‖ of base parameters (p,)."""
    return float(np.linalg.norm(np.asarray(values) - true_values()) / np.linalg.norm(true_values()))


# -- methods on many logs ----------------------------------------------------------------------------------------------

IntArray = NDArray[np.int64]
PROCEDURE_FIGURES = published("khalil_dombre", "published_procedures")
RARE_STANDARD_ERRORS = 3.29  #: standard errors that chance alone exceeds once in a thousand
GLOBAL, WEIGHTED = "all at once, ordinary", "all at once, weighted"
Found = tuple[Array, Array]  #: values, and how far their 95 % intervals reach to both sides, (p,) each
Method = Callable[[Problem], Found]
Chosen = NDArray[np.bool_] | slice  #: of the parameters
Log = tuple[str, ex.Motion, Array]  #: name, motion, exact torque (N, n) [N·m]


@dataclass(frozen=True, eq=False)
class RepeatedLogs:
    """One method on M logs that differ in their noise: errors, and reach of the 95 % intervals, (M, p), of parameters
    that are ``true`` (p,)."""

    true: Array
    errors: Array
    reach: Array

    @property
    def relative(self) -> Array:
        """(M,) ‖χ̂ − χ‖ / ‖χ‖."""
        return np.asarray(np.linalg.norm(self.errors, axis=1) / np.linalg.norm(self.true))

    @property
    def spread(self) -> Array:
        """(p,) root mean square error."""
        return np.asarray(np.sqrt((self.errors**2).mean(axis=0)))

    def covered(self, chosen: Chosen = slice(None)) -> tuple[float, float]:
        """Share of 95 % intervals that hold the truth, and its standard error, measured between logs: the parameters of
        one log have errors in common."""
        each = (np.abs(self.errors) <= self.reach)[:, chosen].mean(axis=1)
        return float(each.mean()), float(max(each.std(ddof=1), 1e-3) / np.sqrt(len(each)))

    def honest(self, chosen: Chosen = slice(None)) -> bool:
        """Whether the intervals may well cover what they say."""
        share, error = self.covered(chosen)
        return abs(share - float(PROCEDURE_FIGURES["level"])) <= RARE_STANDARD_ERRORS * error


def estimator(method: Estimator) -> Method:
    def found(problem: Problem) -> Found:
        estimate = method.estimate(problem)
        return estimate.values, estimate.quantile(float(PROCEDURE_FIGURES["level"])) * estimate.std

    return found


def noisy(model: ex.DynamicModel, sigma: Array, rate: float, logs: Sequence[Log], seed: int) -> Problem:
    """Exact logs at a rate [Hz] with white noise of σ (n,) [N·m] on their torques."""
    rng = np.random.default_rng(seed)
    runs = [Run.at(path, torque + sigma * rng.standard_normal(torque.shape), rate, name) for name, path, torque in logs]
    return Problem(model, tuple(runs), folds=1, balanced=False)


def repeat(
    drawn: Callable[[int], Problem], methods: Mapping[str, Method], true: Array, times: int
) -> dict[str, RepeatedLogs]:
    """Every method on the same logs, those of seeds 0, 1, …"""
    found: dict[str, list[Found]] = {name: [] for name in methods}
    for seed in range(times):
        problem = drawn(seed)
        for name, method in methods.items():
            found[name].append(method(problem))
    return {
        name: RepeatedLogs(
            true, np.array([values for values, _ in each]) - true, np.array([reach for _, reach in each])
        )
        for name, each in found.items()
    }


@dataclass(frozen=True, eq=False)
class Step:
    """equations: of which joints and runs; unknown: columns solved for; kept: of these, what later steps take over."""

    equations: Compressed
    unknown: IntArray
    kept: IntArray


def only_joints(equations: Compressed, joints: Sequence[int]) -> Compressed:
    return equations.of_joints(joints)


def with_known(equations: Compressed, values: Array, known: IntArray) -> Compressed:
    """With the parameters ``known`` of these values: moved to the right side, and out of the way."""
    sides = equations.factors.copy()
    sides[..., -1] -= sides[..., known] @ values
    return equations.with_factors(sides).columns(np.setdiff1d(np.arange(len(equations.parameters)), known))


def as_printed(steps: Sequence[Step], size: int) -> Found:
    """Steps as the chapter writes them, [12.23] and [12.24]: least squares, what earlier steps found taken as exact,
    in the values and in the intervals."""
    values, reach, known = np.zeros(size), np.zeros(size), np.zeros(0, dtype=np.int64)
    for step in steps:
        left = with_known(step.equations, values[known], known)
        names = [step.equations.parameters[k] for k in step.unknown]
        own = left.columns([left.parameters.index(name) for name in names])
        solution, covariance = own.information().solve(own.parameters)
        freedom = int(own.rows.sum()) - len(names)
        noise = own.squares(solution).sum() / freedom
        student = float(stats.t.ppf(0.5 + 0.5 * PROCEDURE_FIGURES["level"], freedom))
        kept = np.isin(step.unknown, step.kept)
        values[step.kept] = solution[kept]
        reach[step.kept] = student * np.sqrt(noise * covariance.diagonal()[kept])
        known = np.sort(np.append(known, step.kept))
    return values, reach


def recovered(missed: int, times: int, mean: float) -> tuple[bool, float]:
    """Whether so many of ``times`` intervals may miss, and the mean error, in standard errors, be zero; and how often
    chance alone would miss so many or so few."""
    chance = float(stats.binomtest(missed, times, 1.0 - PROCEDURE_FIGURES["level"]).pvalue)
    return chance > 1e-3 and abs(mean) < RARE_STANDARD_ERRORS, chance


def link_of(names: Sequence[str]) -> IntArray:
    """Number of the link, or joint, that each parameter belongs to; from 1."""
    return np.array([int(name[-1]) for name in names], dtype=np.int64)


def counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"


def sampled(curve: Curve, rate: float) -> ex.Motion:
    """At a rate [Hz], without the end."""
    return curve.motion(curve.start + np.arange(round(curve.duration * rate)) / rate)


def median_errors(found: Mapping[str, RepeatedLogs], also: str = "") -> Iterator[Finding]:
    """also: said of all."""
    return (shown(f"median ‖δχ‖/‖χ‖, {name}{also}", np.median(one.relative)) for name, one in found.items())


def error_plot(found: Mapping[str, RepeatedLogs], title: str) -> Plot:
    """Share of logs with an error below y."""
    shares = np.linspace(0.0, 100.0, 101)
    lines = [Line(name, np.percentile(one.relative, shares)) for name, one in found.items()]
    return Plot(title, shares, "share of the logs [%]", "‖χ̂ − χ‖ / ‖χ‖", lines, log=True)
