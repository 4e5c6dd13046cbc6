"""A model on trial: how well it predicts stretches of time that were left out of its fit.

Fits resemble those of the final estimate, and are fast: weighted least squares in base parameters, pulled to the
prior (``base_prior``), with friction, rotor inertia and stiffness ≥ 0. By it are chosen:

**Weight of the prior**: the strongest that predicts what was left out as well as any. Stretches left out of one
recording are motion much like the rest. What the model will be asked for may not be, and there a prior is all that
holds directions the motion did not excite. So among weights that cannot be distinguished by cross-validation the
strongest is taken, up to a part of the least error: a wrong prior, whose error differs much between stretches, must not
win by that. However that comes out, links count as known to between 18 and 100 % of their size: a body of the right
size is known beforehand, and few descriptions are much more exact (``benchmarks/parts.py``: what that costs and gains).
Only where a faint prior leaves much less is it weaker: rods whose mass was fitted to an arm in balance have not even
the right size.

**Offsets of torques**: the nearest to zero that predict what was left out as well as any. Over a short part of a
joint's range the weight of the links, a counterbalance and an offset look alike, and least squares may share torque
among them as they like: right there, wrong elsewhere. Weight and springs are there for a reason; an offset is what
sensors and uneven friction leave, and small.

**Cut-offs**, of the low-pass that positions are differentiated through, and of the filter of the equations: what
balances motion and noise in q̈ is best for q̈, not for what is wanted: torques. So cut-offs are tried, and the lowest is
kept whose model predicts held-out torques as well as any. Both sides of the equations go through ten times the band of
the motion.

**Tilt of the base**: a base that leans by one degree makes 2 % of the arm's weight a torque that an upright model
cannot have, most of all about a vertical first axis, and bodies that cannot exist are found in its place. So gravity
may lean a little where torques left out clearly ask for it. A joint's zero that is off looks alike, and cannot be
distinguished from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from exciter.errors import RecordingError
from exciter.experiment.signals.differentiation import HIGHEST_CUTOFF_RATE_FRACTION, FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import EDGE_FRACTION, Butterworth
from exciter.experiment.signals.processed_motion import Processed, motion_band
from exciter.identification.estimators.least_squares import bounded
from exciter.identification.information.compressed import Compressed, Score, cross_validate, simplest_within_error
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import nonnegative_base
from exciter.identification.physical.prior_metric import Reference, StandardEquations, base_prior
from exciter.identification.physical.prior_values import PriorValues
from exciter.identification.runs.run import Run, bounded_parts
from exciter.robot.spatial import rotation_to
from exciter.typing import Array

TRIAL_NOISE_ROUNDS = 4  # of weights and residuals
LEAST_TRIAL_NOISE = 1e-6  # of the torque: less noise than this is not believed
PRIOR_WEIGHTS = 10.0 ** np.arange(1.5, -0.1, -0.5)  #: λ, from the strongest; a link is known to 1/√λ of its size
FAINT_PRIOR_WEIGHTS = 10.0 ** np.arange(-0.5, -3.1, -0.5)  #: λ where links of the prior have not even the right size
WRONG_PRIOR_RATIO = 2.0  #: of mean squares, to that of a faint prior: more, and links have not the right size
AS_GOOD_FRACTION = 0.1  #: of the least mean square: more than this is not "as well"
OFFSET_SIGMAS = (0.03, 0.1, 0.3, 1.0, None)  #: σ over the rms torque of the joint, from the nearest to zero; None: free
FIRST_TILT_STEP_RAD = np.radians(0.5)  #: from the middle, where leaning is tried first; then half of it
LARGEST_TILT_RAD = np.radians(2.0)  #: so much is no error of mounting, but something else that leaning stands for
LEAST_TILT_RAD = np.radians(0.05)  #: less is within what a level shows
LEAST_TILT_GAIN = 0.03  #: of the error: less is not worth a setting
TILT_ROUNDS = 3
#: as many as a parabola has numbers
PARABOLA_POINTS = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]], dtype=float)
CUTOFFS_PER_BAND = (5.0, 10.0, 20.0, 40.0)  #: of the motion's band
MOST_EDGE_FRACTION = 0.05  #: of the shortest run, at each end: a lower cut-off would cost more
CUTOFF_PRIOR_WEIGHTS = np.array([10.0, 1.0, 0.1])  # of the prior, while cut-offs are compared
EQUATION_CUTOFF_PER_BAND = 10.0  #: of the motion's: dry friction, and what links make of a motion, reach beyond it
LOWEST_EQUATION_CUTOFF_HZ = 3.0  #: [Hz]
Remake = Callable[[FilteredDifferences], tuple[Run, ...]]


@dataclass(frozen=True)
class Choice:
    """key: of the configuration, where it can be overridden; part: of what stands there. value, reason: for people."""

    key: str
    value: str
    reason: str
    part: str = ""

    @property
    def setting(self) -> str:
        return f"{self.key}: {self.part}" if self.part else self.key

    def override(self, settings: Mapping[str, Any]) -> str:
        """What a configuration says to ask for the same and leave the rest open: ``identify: {filter: {cutoff: 9}}``;
        settings: with everything chosen in them."""
        if self.key in ("friction", "terms"):
            return "identify: {friction: as-given}, and terms: as at the end of this report, or your own"
        if self.key == "gravity":
            return _in_a_line({self.key: settings.get(self.key, "…")})
        given = settings.get("identify", {}).get(self.key, "…")
        if self.key != "estimator":
            return _in_a_line({"identify": {self.key: given}})
        word, inside = next(iter(given.items())) if isinstance(given, Mapping) else (given, {})
        asked = {word: {self.part: inside.get(self.part, "…")}} if self.part else word
        return _in_a_line({"identify": {"automatic": True, self.key: asked}})  # an estimator asked for turns others off

    def to_dict(self) -> dict[str, Any]:
        return {"setting": self.setting, "value": self.value, "reason": self.reason}


def _in_a_line(settings: Mapping[str, Any]) -> str:
    text = yaml.safe_dump(_rounded(settings), default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return str(text).strip()[1:-1]


def _rounded(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _rounded(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_rounded(value) for value in data]
    return float(f"{data:.4g}") if isinstance(data, float) else data


@dataclass(frozen=True, eq=False)
class Trial:
    """problem: of joint torques; values: where the prior comes from; offset: see ``Prior``."""

    problem: Problem
    values: PriorValues
    offset: float | None = None

    @cached_property
    def reference(self) -> Reference:
        equations = StandardEquations.of(self.problem)
        found = self.values.reference(equations)
        return found if self.offset is None else found.with_small_offsets(equations, self.offset)

    @cached_property
    def _priors(self) -> dict[float, Array]:
        return {}

    def prior(self, weight: float) -> Array:
        """(m, b + 1) see ``base_prior``."""
        if weight not in self._priors:
            self._priors[weight] = base_prior(self.problem.base, self.reference, weight)
        return self._priors[weight]

    @cached_property
    def _bound(self) -> NDArray[np.bool_]:
        return nonnegative_base(self.problem)

    def noise(self, weight: float) -> Array:
        """(J,) rms of the residuals of a fit that is weighted by them."""
        compressed = self.problem.compressed
        rows, signal = np.maximum(compressed.rows.sum(axis=0), 1), compressed.rms
        noise = np.maximum(signal, 1e-300)
        for _ in range(TRIAL_NOISE_ROUNDS):
            squares = compressed.squares(self.fit(compressed.information(noise), weight)).sum(axis=0)
            noise = np.maximum(np.sqrt(squares / rows), np.maximum(LEAST_TRIAL_NOISE * signal, 1e-300))
        return np.asarray(noise)

    def fit(self, information: Information, weight: float) -> Array:
        """(b,) β of equations over their noise, with a prior of ``weight``."""
        rows = self.prior(weight)
        return bounded(information.add(rows[:, :-1], rows[:, -1]), self._bound)

    def scores(self, weights: Array, noise: Array) -> tuple[Score, ...]:
        """Of fits with each of ``weights``, on what was left out; noise (J,): weights of equations, and their unit."""

        def fits(kept: Compressed) -> list[Array]:
            information = kept.information(noise)
            return [self.fit(information, float(weight)) for weight in weights]

        return cross_validate(self.problem.compressed, fits, noise)

    def best_score(self, weights: Array, noise: Array) -> Score:
        return min(self.scores(weights, noise), key=lambda score: score.mean)


Try = Callable[[tuple[Run, ...]], Trial]


@dataclass(frozen=True, eq=False)
class Routed:
    """runs: through ``route``."""

    route: FilteredDifferences
    runs: tuple[Run, ...]
    choice: Choice


def choose_route(remake: Remake, trial: Try, band: float, runs: Sequence[Run]) -> Routed | None:
    """remake: runs through a route; trial: of a model on runs; band [Hz] of the motion; runs: as read, for their rates
    and durations. None where no cut-off can be tried."""
    cutoffs = cutoff_candidates(band, runs)
    if not cutoffs:
        return None
    left = [run.spans for run in remake(FilteredDifferences(min(cutoffs)))]  # all are compared on these instants
    noise: Array | None = None

    def scored(route: FilteredDifferences) -> Score:
        nonlocal noise
        tried = trial(tuple(_within(run, spans) for run, spans in zip(remake(route), left, strict=True)))
        noise = tried.noise(0.1) if noise is None else noise  # one unit for all
        return tried.best_score(CUTOFF_PRIOR_WEIGHTS, noise)

    found = {cutoff: scored(FilteredDifferences(cutoff)) for cutoff in cutoffs}
    cutoff = cutoffs[simplest_within_error(list(found.values()))]
    route = FilteredDifferences(cutoff)
    listed = ", ".join(f"{score.mean:.3g} at {key:.3g} Hz" for key, score in found.items())
    reason = f"the lowest cut-off that predicts as well as any: error {listed}"
    if all(run.recording is not None and run.recording.qd is not None for run in runs):
        measured = scored(replace(route, measured_velocity=True))
        better = measured.mean < found[cutoff].mean
        reason += f"; {measured.mean:.3g} with recorded velocities"
        route = replace(route, measured_velocity=better)
    route = replace(route, bands=float(f"{cutoff / band:.3g}"))  # logs that are faster want more
    kind = "recorded velocities" if route.measured_velocity else "positions"
    value = f"{kind} through {cutoff:.3g} Hz, then central differences"
    return Routed(route=route, runs=remake(route), choice=Choice("route", value, reason))


def cutoff_candidates(band: float, runs: Sequence[Run]) -> tuple[float, ...]:
    """[Hz] ascending."""
    rate = min(part.rate for part in bounded_parts(runs))
    shortest = min(_duration(run) for run in runs)
    least = Butterworth(1.0).settle(1e3, EDGE_FRACTION) / 1e3 / (MOST_EDGE_FRACTION * max(shortest, 1e-9))
    tried = sorted({float(f"{multiple * band:.3g}") for multiple in CUTOFFS_PER_BAND})
    return tuple(cutoff for cutoff in tried if least <= cutoff <= HIGHEST_CUTOFF_RATE_FRACTION * rate)


def _duration(run: Run) -> float:
    if run.recording is not None:
        return run.recording.duration
    assert run.span is not None
    return run.span[1] - run.span[0]


def _within(run: Run, spans: Sequence[tuple[float, float]]) -> Run:
    """The instants within spans [s]."""
    parts: list[Processed] = []
    for part in run.parts:
        time = part.motion.time
        for first, last in spans:
            start, end = np.searchsorted(time, [first - 1e-9, last + 1e-9])
            if end - start > 1:
                parts.append(part[int(start) : int(end)])
    if not parts:
        raise RecordingError(f"{run.name}: nothing is left to compare cut-offs with")
    return replace(run, parts=tuple(parts), span=None)


def usual_filter(pieces: Sequence[Processed]) -> ParallelFilter | None:
    """Ten times the band of the motion, or what the positions went through if that is less."""
    if not pieces:
        return None
    rate = min(piece.rate for piece in pieces)
    position = min(piece.position_bandwidth for piece in pieces)
    torque = min(piece.torque_bandwidth for piece in pieces)
    return ParallelFilter(stopped(Butterworth(min(position, wide(motion_band(pieces), rate))), rate, torque))


def wide(band: float, rate: float) -> float:
    """[Hz] cut-off for equations of a motion up to ``band`` [Hz]."""
    return min(max(EQUATION_CUTOFF_PER_BAND * band, LOWEST_EQUATION_CUTOFF_HZ), HIGHEST_CUTOFF_RATE_FRACTION * rate)


def stopped(low_pass: Butterworth, rate: float, torque: float) -> Butterworth:
    """The filter, lowered where it would pass what an analogue one took from the torque, above ``torque`` [Hz]."""
    return low_pass.stopped_at(torque, rate) if low_pass.stop(rate) > torque else low_pass


def choose_equation_filter(runs: tuple[Run, ...]) -> tuple[ParallelFilter, Choice]:
    """Both sides of the equations through ten times the band of the motion: beyond it there is noise to be had."""
    parts = bounded_parts(runs)
    rate, band = min(part.rate for part in parts), motion_band(parts)
    limit = min(part.torque_bandwidth for part in parts)
    wanted = Butterworth(float(f"{wide(band, rate):.3g}"))
    low_pass = stopped(wanted, rate, limit)
    least = f"at least {LOWEST_EQUATION_CUTOFF_HZ:g} Hz"
    reason = f"{EQUATION_CUTOFF_PER_BAND:g} times the highest frequency of the motion ({band:.2g} Hz), {least}"
    if low_pass != wanted:
        reason = f"the torque has nothing above {limit:.3g} Hz"
    both = ParallelFilter(low_pass)
    factor = both.at(rate, limit)[1]
    reason += f"; one sample of {factor} is kept: once filtered, those between tell nothing new"
    return both, Choice("filter", f"both sides of the equations through {low_pass.cutoff:.3g} Hz", reason)


def choose_weight(trial: Trial, noise: Array) -> tuple[float, Choice]:
    """λ, and why; noise (J,) of the equations."""
    weights, scores, faint = PRIOR_WEIGHTS, trial.scores(PRIOR_WEIGHTS, noise), trial.scores(FAINT_PRIOR_WEIGHTS, noise)
    if min(score.mean for score in scores) > WRONG_PRIOR_RATIO * min(score.mean for score in faint):
        weights, scores = np.concatenate([PRIOR_WEIGHTS, FAINT_PRIOR_WEIGHTS]), (*scores, *faint)
    chosen = simplest_within_error(scores, AS_GOOD_FRACTION)
    weight = float(weights[chosen])
    listed = ", ".join(f"{score.mean:.3g} with {one:.3g}" for one, score in zip(weights, scores, strict=True))
    reason = f"the strongest pull to the prior that predicts as well as the best: error {listed}"
    if chosen == 0:
        reason += "; no description is believed more"
    if weight < PRIOR_WEIGHTS[-1]:
        reason += "; weaker than usual: links of the prior have not even the right size"
    known = f"{weight:.3g}: links of the prior count as known to {100.0 / weight**0.5:.2g} % of their size"
    return weight, Choice("estimator", known, reason, "weight")


def choose_offset(trial: Trial, weight: float, noise: Array) -> tuple[float | None, Choice]:
    """σ of offsets over the torque of their joint, and why; weight: of the prior on links, noise (J,) of equations."""
    scores = [replace(trial, offset=offset).scores(np.array([weight]), noise)[0] for offset in OFFSET_SIGMAS]
    chosen = simplest_within_error(scores, AS_GOOD_FRACTION)
    within = ["free" if offset is None else f"within {100.0 * offset:g} %" for offset in OFFSET_SIGMAS]
    listed = ", ".join(f"{score.mean:.4g} {one}" for one, score in zip(within, scores, strict=True))
    reason = f"the nearest to zero that predicts as well as any: error {listed}"
    offset = OFFSET_SIGMAS[chosen]
    value = "free" if offset is None else f"offsets are {within[chosen]} of the joint's torque, about"
    return offset, Choice("estimator", value, reason, "offset")


def choose_tilt(trial: Trial, weight: float, noise: Array) -> tuple[Array | None, Choice]:
    """Gravity (3,) [m/s²] that leans, None where it does not, and why; weight: of the prior; noise (J,)."""
    problem, robot = trial.problem, trial.problem.model.robot
    size = float(np.linalg.norm(robot.gravity))
    frame = rotation_to(np.asarray(robot.gravity) / size)  # its last axis is gravity's

    def leaning(angles: Array) -> Array:
        """(3,) by two small angles [rad] about axes that are perpendicular to gravity; as long as before."""
        direction = frame @ np.append(np.tan(angles), 1.0)
        return np.asarray(size * direction / np.linalg.norm(direction))

    def scored(angles: Array) -> Score:
        model = replace(problem.model, robot=robot.with_gravity(leaning(angles)))
        return replace(trial, problem=replace(problem, model=model)).scores(np.array([weight]), noise)[0]

    upright = best = scored(np.zeros(2))
    middle, step = np.zeros(2), FIRST_TILT_STEP_RAD
    for _ in range(TILT_ROUNDS):
        found = _lowest([scored(middle + step * at).mean for at in PARABOLA_POINTS], middle, step)
        if found is None or (score := scored(found)).mean >= best.mean:
            break
        middle, best, step = found, score, 0.5 * step
        if simplest_within_error([upright, best]) == 0:
            break
    angle = float(np.linalg.norm(middle))
    listed = f"error {upright.mean:.3g} upright, {best.mean:.3g} leaning by {np.degrees(angle):.2g}°"
    if angle > 0.99 * LARGEST_TILT_RAD:
        why = f"{listed}, or more: no base leans so by mistake, something else is missing"
        return None, Choice("gravity", "as described", why)
    gains = best.mean < (1.0 - LEAST_TILT_GAIN) * upright.mean and simplest_within_error([upright, best]) == 1
    if angle < LEAST_TILT_RAD or not gains:
        return None, Choice("gravity", "as described", f"no other direction predicts clearly better: {listed}")
    gravity = leaning(middle)
    shown = ", ".join(f"{x:.4g}" for x in gravity)
    reason = f"the base leans, or a joint's zero is off; held-out blocks of time are predicted clearly better: {listed}"
    return gravity, Choice("gravity", f"[{shown}] m/s² in the frame of the base", reason)


def _lowest(errors: Sequence[float], middle: Array, step: float) -> Array | None:
    """Angles at the lowest point, if any, of the parabola through six, at most ``LARGEST_TILT_RAD`` from upright."""
    x, y = PARABOLA_POINTS.T
    _, a, b, aa, bb, ab = np.linalg.solve(np.column_stack([np.ones(6), x, y, x**2, y**2, x * y]), errors)
    curvature = np.array([[2.0 * aa, ab], [ab, 2.0 * bb]])
    if np.linalg.eigvalsh(curvature)[0] <= 0.0:
        return None
    found = middle - step * np.linalg.solve(curvature, [a, b])
    return np.asarray(found * min(1.0, LARGEST_TILT_RAD / max(float(np.linalg.norm(found)), 1e-300)))
