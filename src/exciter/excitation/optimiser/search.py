"""One start of a design: random motion → local optimum → kept at every instant. The same in every process.

It ends with a motion that keeps its limits at grid points, from which one is made that keeps them at every instant.
Joint limits alone: every joint's swing about its posture is scaled so that its tightest limit is just kept, by exact
extrema. With nonlinear limits: margins grow by what is found between the grid points, or the grid gets points there,
a few more iterations repair the motion, and a certificate decides; as a last resort the motion shrinks about a posture
that keeps all limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, LoopError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.ground import advice
from exciter.excitation.constraints.stance_forces import StanceForces
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits, refuse_held
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective
from exciter.excitation.criteria.observation_rows import TorqueRows
from exciter.excitation.criteria.weighted_sums import HOP_SHARE, adds_over_limbs, hops, of_elements, stages
from exciter.excitation.optimiser.deadline import NEVER, Deadline, OutOfTime
from exciter.excitation.optimiser.limits import (
    RESAMPLING_CLEARANCE_SHARE,
    Grid,
    JointLimits,
    NonlinearLimits,
    Variables,
    limit_ranges,
)
from exciter.excitation.optimiser.sqp import Program, SQPSettings, minimise, restored
from exciter.excitation.optimiser.starts import posture_with_clearance, random_start
from exciter.excitation.optimiser.track import REPAIR_ITERATIONS, RESERVED_CERTIFICATES, ReportValue, Track
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.trajectory import Trajectory, motion
from exciter.typing import Array, Index
from exciter.workers import one_thread

SIGN_SMOOTHING_SPEED = 0.03  # [rad/s or m/s] width of sign(q̇) while optimising; results are judged with the true sign
JOINT_MARGIN_SHARES = (0.003, 0.01, 0.01, 0.01)  # of half ranges, for what lies between grid points, by derivative
NONLINEAR_MARGIN = 0.01  # of a nonlinear row: 1 % of a torque limit, 1 mm
INITIAL_SWING_SHARES = (1.0, 0.5, 0.1)  # of the swing a start begins with, until one is certified
LEAST_COARSE_SAMPLES = 250  # of the criterion while optimising; more for families with many coefficients
FINE_GRID_INSTANTS = 2000  # instants of the check between the grid points
REPAIR_ROUNDS = 9
DESCENDING_REPAIR_ROUNDS = 4  # of them that improve the motion as well: a descent finds new gaps of the grid
LARGEST_MARGIN_GROWTH = 0.05  # of a nonlinear row, 5 mm: what is broken by more gets instants of its own on the grid
UNPROVED_EXCESS = 0.007  # counts as broken by this much: kept at the fine grid, but not proved in between
LAST_SWING_SHARES = (1.0, 0.99, 0.97, 0.93, 0.85, 0.7, 0.5, 0.3, 0.1)  # of the swing about the posture
SUPPOSED_INFORMATION_SHARE = 1e-9  # of that of a motion that leaves a parameter unknown: enough to begin from it
HOP_SPAWN_KEY = 1  # beside the number of a start: what its hops are drawn from


@dataclass(frozen=True, eq=False)
class Attempt:
    """One start: the motion it found (None when there is none), its criterion with true friction signs at all samples,
    and the way there. history: (seconds, value) of what is minimised last (the logarithm of a condition number), on few
    samples. complete: not stopped early; cancelled: by Ctrl-C. obstacle: the limit that could not be kept. outdone: it
    was given up, for others had come so far that it could not win (``Track``)."""

    number: int
    trajectory: Trajectory
    delta: Array | None
    value: float
    evaluations: int
    seconds: float
    first_feasible: float
    history: tuple[tuple[float, float], ...]
    complete: bool
    cancelled: bool = False
    obstacle: str = ""
    outdone: bool = False

    @property
    def feasible(self) -> bool:
        return self.delta is not None


@dataclass(frozen=True, eq=False)
class Search:
    """A design problem. samples: of the log, which the criterion counts; stretch: relative range of a free duration;
    locked (n,): where joints stand still, NaN for those that move; instants (N,) [s]: of the samples, even unless
    given."""

    trajectory: Trajectory
    objective: DesignObjective
    constraints: tuple[Constraint, ...]
    samples: int
    seed: int
    stretch: tuple[float, float] | None = None
    settings: SQPSettings = field(default_factory=SQPSettings)
    locked: Array | None = None
    instants: Array | None = None
    _known: dict[str, Array] = field(default_factory=dict, init=False, repr=False)

    @property
    def model(self) -> DynamicModel:
        return self.objective.model

    @property
    def criterion(self) -> AnyCriterion:
        return self.objective.criterion

    # -- the problem on its grids --------------------------------------------------------------------------------

    @cached_property
    def variables(self) -> Variables:
        return Variables(self.trajectory, self.model.n, self.stretch, self.locked)

    @cached_property
    def limits(self) -> JointLimits:
        lower, upper = limit_ranges(self.model.robot)
        grid = self.variables.grid(self.trajectory.sample_times(self._points(100, 9)), 3)
        margins = np.repeat(np.array(JOINT_MARGIN_SHARES)[:, None], self.model.n, axis=1)
        return JointLimits(variables=self.variables, grid=grid, lower=lower, upper=upper, margins=margins)

    @cached_property
    def nonlinear(self) -> NonlinearLimits:
        grid = self.variables.grid(self.trajectory.sample_times(self._points(200, 16)))
        smooth = [
            replace(c, model=_smooth_model(c.model)) if isinstance(c, TorqueLimits | StanceForces) else c
            for c in self.constraints
        ]
        return NonlinearLimits.of(self.variables, grid, smooth, NONLINEAR_MARGIN)

    def _points(self, least: int, per_coefficient: int) -> int:
        return max(least, per_coefficient * self.trajectory.coefficients)

    @cached_property
    def _grid(self) -> Grid:
        """Few samples stand for many where information adds up over samples of torque; rows of energy do not, nor do
        elements of W."""
        few = isinstance(self.objective.formulation, TorqueRows) and not of_elements(self.criterion)
        few = few and "cramer-rao" not in self.criterion.name
        if self.instants is not None:
            return self.variables.grid(self.instants)
        count = min(self.samples, self._points(LEAST_COARSE_SAMPLES, 16)) if few else self.samples
        return self.variables.grid(self.trajectory.sample_times(count))

    def _problem(self, criterion: AnyCriterion, singular: Array | None = None) -> Program:
        """Minimise the criterion; the few samples of the grid stand for all samples of the log. singular: a y at which
        it is infinite, to which a share of the information there gives an end."""
        variables, grid = self.variables, self._grid
        weights = self.samples / len(grid.time) * self.objective.weights
        objective = replace(self.objective, model=_smooth_model(self.model), criterion=criterion, weights=weights)
        if singular is not None:
            told = objective.gram(variables.motion(grid, singular)).diagonal()
            known = np.diag(SUPPOSED_INFORMATION_SHARE * np.maximum(told, SUPPOSED_INFORMATION_SHARE * told.max()))
            objective = replace(objective, prior=known if objective.prior is None else objective.prior + known)

        def value_and_gradient(y: Array) -> tuple[float, Array]:
            at = variables.motion(grid, y)
            value, gradient = objective.value_and_gradient(at)
            return value, variables.pullback(grid, y, at, gradient)

        return Program(value_and_gradient, self.limits, self.nonlinear, self._limbs(criterion))

    def _limbs(self, criterion: AnyCriterion) -> tuple[Index, ...]:
        """Variables of limbs whose parts of the criterion add up; none where it does not, or a duration is of all."""
        torques = isinstance(self.objective.formulation, TorqueRows)
        if self.stretch is not None or not (torques and adds_over_limbs(criterion)):
            return ()
        return tuple(self.variables.of_joints(limb) for limb in self.model.robot.limbs)

    # -- one start ---------------------------------------------------------------------------------------------------

    def posture(self, deadline: Deadline = NEVER) -> Array:
        """(n,) about which every start begins; looked for once."""
        if "posture" in self._known:
            return self._known["posture"]
        for one in self.constraints:
            if isinstance(one, TorqueLimits):
                refuse_held(one, self.variables.moving.tolist())
        found = posture_with_clearance(self.limits, replace(self.nonlinear, deadline=deadline), self.seed)
        if isinstance(found, int):
            name = [row for constraint in self.constraints for row in constraint.rows][found]
            limit = f"{'at most' if name.upper else 'at least'} {name.limit:g} {name.unit}"
            raise ExciterError(
                "infeasible: no posture within the joint limits keeps all limits at rest; hardest to keep is "
                f"{name.what} of {name.where} {limit}; {advice(name.where, self.constraints)}"
            )
        return self._known.setdefault("posture", found)

    def run(
        self,
        number: int,
        deadline: Deadline = NEVER,
        progress: ReportValue | None = None,
        certificate_seconds: float = 0.0,
        delta: Array | None = None,
        *,
        bar: float = np.inf,
    ) -> Attempt:
        """The start of that number; it ends at ``deadline``, or at Ctrl-C, keeping what it has. certificate_seconds:
        what a certificate takes. delta (n, c): a motion near an optimum, which is improved in the last stage alone.
        bar: what others came to, at the end of their histories; far from it the start is given up.
        One thread: small matrices gain nothing from more, rounding would depend on them."""
        raced = bar if not hops(self.criterion) else np.inf  # one that hops begins again, and again
        track, found, why = Track(deadline, progress, certificate_seconds, raced), None, ""
        with one_thread():
            try:
                centre, track.y = self._begun(number, deadline)
                track.first = track.seconds
                if delta is not None:
                    track.y = shrunk(self.limits, self.nonlinear, centre, self.variables.from_delta(delta))
                last = self._descended(track, centre, number, polish=delta is not None)
                if track.outdone:
                    return self._attempt(number, track, None, complete=True)
                certified = partial(self.certified, deadline=deadline.of_certificates)
                hurry = track.stopped and not track.cancelled
                found, repairs = finish(
                    last, track.y, centre, certified, self.settings, certificate_seconds, hurry=hurry
                )
                track.evaluations += repairs
                if found is None:
                    why = _obstacle(self._certificate(track.y, deadline))
            except OutOfTime:
                track.stopped = True
            except LoopError as open_loop:  # other starts may do better
                found, why = None, str(open_loop)
            return self._attempt(number, track, found, complete=not track.stopped, obstacle=why)

    def initial_motion(self, number: int, deadline: Deadline) -> Attempt:
        """The motion that the start of that number begins with, or a smaller one, if it is certified: far from the
        best, and there at once. It says what a certificate takes, and is what remains when time is short."""
        track, found = Track(deadline, None, 0.0), None
        with one_thread(), suppress(OutOfTime):
            centre, y = self._begun(number, deadline)
            candidates = (centre + share * (y - centre) for share in INITIAL_SWING_SHARES)
            found = next((one for one in candidates if self.certified(one, deadline)), None)
        return self._attempt(number, track, found, complete=False)

    def _begun(self, number: int, deadline: Deadline) -> tuple[Array, Array]:
        """The posture of all starts at rest, and the random motion about it of this one."""
        deadline.check()
        rng = self._random(number)
        nonlinear = replace(self.nonlinear, deadline=deadline)
        return random_start(self.limits, nonlinear, self.posture(deadline), rng, self._bent)

    def _bent(self, limits: JointLimits, nonlinear: NonlinearLimits, y: Array) -> Array | None:
        return restored(replace(self._problem(self.criterion), limits=limits, nonlinear=nonlinear), y, self.settings)

    def _random(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def explored(
        self, number: int, iterations: int, deadline: Deadline = NEVER, progress: ReportValue | None = None
    ) -> float:
        """How low the first stage comes in few iterations: which starts are worth their time."""
        _, y = self._begun(number, deadline)
        problem = self._problem(stages(self.criterion)[0]).within(deadline)

        def told(iteration: int, value: float, y: Array) -> bool:
            if progress is not None:
                progress(iteration, np.inf)  # value is that of a stand-in
            return False

        return minimise(problem, y, replace(self.settings, iterations=iterations), told).value

    def _descended(self, track: Track, centre: Array, number: int, *, polish: bool = False) -> Program:
        """Minimise by stages, and again from nearby where that helps, or as far as time allows; the problem of the last
        stage, which is the only one of a motion to polish."""
        todo, rng = stages(self.criterion), self._random(number, HOP_SPAWN_KEY)
        todo = todo[-1:] if polish else todo
        try:
            value = self._staged(track, todo)
            for _ in range(0 if track.stopped or polish else hops(self.criterion)):
                best, swing = (track.y, value), track.y - centre
                hop = HOP_SHARE * np.abs(swing).mean() * rng.standard_normal(len(swing))
                if self.stretch is not None:
                    hop[-1] = 0.0
                nearby = track.y + hop
                track.y = shrunk(self.limits, self.nonlinear, centre, nearby)
                value = self._staged(track, todo)
                if track.stopped or not value < best[1]:
                    track.y, value = best
                if track.stopped:
                    break
        except KeyboardInterrupt:
            track.stopped = track.cancelled = True
        return self._problem(todo[-1]).within(track.deadline)

    def _staged(self, track: Track, todo: Sequence[AnyCriterion]) -> float:
        """Once through all stages; the value of the last one, infinite when it was stopped before."""
        before_certificates = track.deadline.moved(-RESERVED_CERTIFICATES * track.certificate_seconds)
        value = np.inf
        if not np.isfinite((problem := self._problem(todo[0])).criterion(track.y)[0]):
            regular = partial(_told_when_finite, problem, track)
            supposed = self._problem(todo[0], singular=track.y).within(before_certificates)
            track.y = minimise(supposed, track.y, self.settings, regular).y
        for stage, criterion in enumerate(todo):
            final = stage == len(todo) - 1
            settings = self.settings if final else replace(self.settings, tolerance=100 * self.settings.tolerance)
            problem = self._problem(criterion).within(before_certificates)
            outcome = minimise(problem, track.y, settings, track if final else track.silently)
            track.y, track.evaluations = outcome.y, track.evaluations + outcome.evaluations
            track.stopped = outcome.reason == "stopped"
            if track.stopped:
                break
            value = outcome.value if final else np.inf
        return value

    def _attempt(self, number: int, track: Track, y: Array | None, *, complete: bool, obstacle: str = "") -> Attempt:
        """What a start has come to; without a motion there is neither a value nor a history."""
        family, delta, value = self.trajectory, None, np.inf
        if y is not None:
            family, delta = self.variables.result(y)
            value = self.value(family, delta)
        return Attempt(
            number=number,
            trajectory=family,
            delta=delta,
            value=value,
            evaluations=track.evaluations,
            seconds=track.seconds,
            first_feasible=np.inf if delta is None else track.first,
            history=() if delta is None else tuple(track.history),
            complete=complete,
            cancelled=track.cancelled,
            obstacle=obstacle,
            outdone=track.outdone,
        )

    def value(self, family: Trajectory, delta: Array) -> float:
        """The criterion of a motion, with true friction signs at all samples."""
        at = family.sample_times(self.samples) if self.instants is None else self.instants
        return self.objective.value(motion(family, delta, at))

    def certified(self, y: Array, deadline: Deadline = NEVER) -> bool:
        try:
            return self._certificate(y, deadline).certified
        except LoopError:  # between the instants of the grids
            return False

    def _certificate(self, y: Array, deadline: Deadline) -> Certificate:
        return certify(self.model.robot, curve_of(self.variables, y), self.constraints, check=deadline.check)


def _told_when_finite(problem: Program, track: Track, iteration: int, value: float, y: Array) -> bool:
    """Whether to stop, for the criterion of a problem is finite at y, or time is up."""
    track.evaluations += 1
    return track.silently(iteration, value, y) or bool(np.isfinite(problem.criterion(y)[0]))


def _obstacle(certificate: Certificate) -> str:
    """The limit that is hardest to keep, or to prove."""
    if (worst := certificate.worst) is None:
        return ""
    words = f"{worst.what} of {worst.where}" if worst.where else worst.what
    unprovable = worst.status == "open" and np.isinf(worst.bound)
    return f"{words} (it cannot be proved for all time: a constraint of your own needs bound=)" if unprovable else words


def _smooth_model(model: DynamicModel) -> DynamicModel:
    """With a differentiable friction."""
    return DynamicModel(model.robot, tuple(term.smoothed(SIGN_SMOOTHING_SPEED) for term in model.terms), model.engine)


# -- where it ends ---------------------------------------------------------------------------------------------------


def shrunk(limits: JointLimits, nonlinear: NonlinearLimits, centre: Array, y: Array) -> Array:
    """y moved toward the centre by as little as keeps all limits on the grids."""
    share = 1.0
    for step in (0.001, 0.003, 0.01, 0.03, *([0.1] * 40)):
        candidate = centre + share * (y - centre)
        if limits.room(candidate) >= 0.0 and (nonlinear.values(candidate) >= 0.0).all():
            return candidate
        share *= 1.0 - step
    return centre


def curve_of(variables: Variables, y: Array) -> Curve:
    family, delta = variables.result(y)
    return family.curve(delta)


def joint_excess(limits: JointLimits, curve: Curve) -> Array:
    """(4, n): how far the exact extrema pass a limit, in half ranges; negative: room that is left."""
    excess = np.full(limits.lower.shape, -np.inf)
    for k in limits.kinds:
        extremum = curve.extremum(k)
        half = 0.5 * (limits.upper[k] - limits.lower[k])
        with np.errstate(invalid="ignore"):
            over = np.maximum(extremum.highest - limits.upper[k], limits.lower[k] - extremum.lowest) / half
        excess[k] = np.where(np.isfinite(half), over, -np.inf)
    return excess


def scaled_to_limits(limits: JointLimits, centre: Array, y: Array) -> tuple[Array, Array]:
    """Every joint's swing about the centre, shrunk where a limit is passed; and stretched too where none is met."""
    variables = limits.variables
    u, s = variables.split(y)
    c, _ = variables.split(centre)
    curve = curve_of(variables, y)
    posture = curve_of(variables, variables.join(c, s)).extremum(0).highest
    ratio = np.zeros(variables.n)
    for k in limits.kinds:
        extremum, rest = curve.extremum(k), posture if k == 0 else np.zeros_like(posture)
        room_above, room_below = limits.upper[k] - rest, rest - limits.lower[k]
        ratio = np.maximum(ratio, (extremum.highest - rest) / room_above)
        ratio = np.maximum(ratio, (rest - extremum.lowest) / room_below)
    ratio = np.where(ratio > 0.0, ratio, 1.0)  # a joint that stands still meets no limit
    factor = (1.0 - RESAMPLING_CLEARANCE_SHARE) / ratio
    shrunk_only, stretched = (c + (u - c) * f[:, None] for f in (np.minimum(factor, 1.0), factor))
    return variables.join(shrunk_only, s), variables.join(stretched, s)


def finish(
    problem: Program,
    y: Array,
    centre: Array,
    certified: Callable[[Array], bool],
    settings: SQPSettings,
    certificate_seconds: float = 0.0,
    *,
    hurry: bool = False,
) -> tuple[Array | None, int]:
    """Repair y until ``certified(y)``, None where that fails, and how many evaluations it cost; ``centre``: a posture
    at rest within all limits. The repair leaves time for ``RESERVED_CERTIFICATES``, each of certificate_seconds; hurry:
    there is none to improve the motion as well."""
    if not problem.nonlinear.constraints:
        best = min(scaled_to_limits(problem.limits, centre, y), key=lambda x: problem.criterion(x)[0])
        return best if certified(best) else None, 2
    evaluations, limits, nonlinear = 0, problem.limits, problem.nonlinear
    in_time = nonlinear.deadline.moved(-RESERVED_CERTIFICATES * certificate_seconds)
    descending = 0 if hurry else DESCENDING_REPAIR_ROUNDS
    fine = limits.variables.grid(limits.variables.trajectory.sample_times(FINE_GRID_INSTANTS))
    for attempt in range(REPAIR_ROUNDS):
        joint, broken = _between(limits, nonlinear, fine, y)
        other = broken.max(axis=1, initial=0.0)
        if not joint.any() and not other.any():
            if certified(y):
                return y, evaluations
            other = np.full(len(other), UNPROVED_EXCESS)
        limits = replace(limits, margins=limits.margins + 1.5 * joint)
        far = other > LARGEST_MARGIN_GROWTH  # it went through between two instants: no margin keeps it from that
        seen = far if attempt < descending else np.ones_like(far)
        nonlinear = nonlinear.also_at(fine.time[(broken[seen] > 0.0).any(axis=0)])
        nonlinear = replace(nonlinear, margins=nonlinear.margins + np.where(far, 0.0, 1.5 * other))
        repaired = replace(problem, limits=limits, nonlinear=nonlinear).within(in_time)
        try:
            nearest = restored(repaired, y, settings)
        except OutOfTime:
            break
        y = shrunk(limits, nonlinear, centre, y) if nearest is None else nearest
        if attempt < descending:
            outcome = minimise(repaired, y, replace(settings, iterations=REPAIR_ITERATIONS))
            y, evaluations = outcome.y, evaluations + outcome.evaluations
    for share in LAST_SWING_SHARES:
        candidate = centre + share * (y - centre)
        joint, other = _between(limits, nonlinear, fine, candidate)
        if not joint.any() and not other.any() and certified(candidate):
            return candidate, evaluations
    return None, evaluations


def _between(limits: JointLimits, nonlinear: NonlinearLimits, fine: Grid, y: Array) -> tuple[Array, Array]:
    """How far limits are broken anywhere: joints (4, n) exactly, nonlinear rows (K, N) at N instants of a fine grid."""
    joint = np.maximum(joint_excess(limits, curve_of(limits.variables, y)) + RESAMPLING_CLEARANCE_SHARE, 0.0)
    return joint, np.maximum(-nonlinear.at(limits.variables.motion(fine, y)), 0.0)
