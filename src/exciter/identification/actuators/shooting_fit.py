"""Output error by multiple shooting: the closed loop, simulated freely in stretches, beside what the encoder said.

Minimised is Σ ρ((y − ŷ(θ, x₀)) / σ_j) over all stretches, with θ the numbers of the drives and x₀ the state at the
beginning of each stretch, by Gauss–Newton with Levenberg's damping. Slopes are differences of roll-outs; an unknown
moves the limb of its drive and no other, so that unknowns of different limbs are tried in one roll-out (a colouring of
the unknowns). States of a stretch are eliminated from its normal equations (Schur's complement), so that costs grow
with the number of stretches and not with its cube.

Errors of a wrong model last: neighbouring residuals say the same again. Information is divided by how many samples say
one thing, 1 + 2 Σ ρ_k of each joint's residuals, before it meets priors, and σ comes from scores with all their lags
(``score_covariance``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from exciter.dynamics.engine import default_engine
from exciter.errors import ExciterError
from exciter.identification.actuators.drive_numbers import DriveNumbers
from exciter.identification.actuators.drive_simulator import DriveSimulator, Rolled, Stretch
from exciter.identification.actuators.loop_slopes import LoopSlopes
from exciter.typing import Array

COORDINATE_STEP = {True: 1e-4, False: 1e-5}  #: of differences: of logarithms, and in units of a kind
POSITION_STEP_RAD, VELOCITY_STEP = 1e-5, 1e-3
LARGEST_LOGARITHM_STEP = 1.0  #: of a logarithm at a time
LARGEST_DELAY_STEP_S = 2e-3
CONVERGED_STEP = 0.03  #: in σ of all unknowns together: a step that ends a search, since the next is its square
CONVERGED_COST = 1.0  #: decrease of the cost that does, over the square of such a step: friction that holds has kinks
REFUSED_DAMPING = 1e-3  #: Levenberg's, at least, after a step that was no good
NEAR_COST = 1e-2  #: relative decrease of the cost, after which steps are Newton's
SETTLED_COST = 1e-3  #: the same, after which σ of residuals stays what it is
LARGEST_DAMPING = 1e8
MOST_LAG_SHARE = 0.25  #: of a stretch, over which residuals may say the same
STATE_VELOCITY_SIGMA = 0.3  #: [rad/s] of the velocity that differences of the log give a stretch to start with
DIVERGED_RAD = 1e3
MOST_GROWN = 1e9  #: of a first position that is off: what a loop makes of it that is not stable, or chaotic
MOST_SLOPE = 1e100  #: whose square is a number
UNSTABLE = (
    "the simulated loop is not stable with these gains: it makes other motions of states that are next to the same; "
    "check kp and kd and their units (N·m/rad, N·m·s/rad at the joint), or take a smaller step (simulator: {step: …})"
)
MOST_LEVERAGE = 0.9
MOST_WIDENED = 10.0  #: times the variance, where hardly a sample is left


@dataclass(frozen=True, eq=False)
class Penalty:
    """A prior: ½ (x − mean)ᵀ weight (x − mean) on the coordinates."""

    mean: Array
    weight: Array


@dataclass(frozen=True, eq=False)
class FittedDrives:
    """x (p,): coordinates; states (S, 2 n); simulated: encoder positions of each stretch. information (p, p): of the
    samples alone, by as many as say something of their own; scores: of each stretch's samples (N, p), in order of time;
    parts (N, p): of each sample in the variance of each number. σ (n,) [rad] of residuals; repeats (n,): how many
    samples say one thing; left (p,): part of those that say something of their own, that the fit left, where they say
    something of a number. rollouts: of the whole log, each counted once; passes: of the variational equations along one
    of them, each about as long as a roll-out."""

    x: Array
    states: Array
    simulated: list[Array]
    information: Array
    scores: list[Array]
    parts: list[Array]
    sigma: Array
    repeats: Array
    left: Array
    rollouts: int
    passes: int
    cost: float
    trace: tuple[float, ...] = field(default=())


class ShootingProblem:
    """Stretches of logs, the simulator, and what is sought."""

    def __init__(
        self, simulator: DriveSimulator, numbers: DriveNumbers, stretches: Sequence[Stretch], loss: float | None
    ) -> None:
        self.simulator, self.numbers, self.stretches, self.loss = simulator, numbers, list(stretches), loss
        self.limbs = [list(limb) for limb in simulator.robot.limbs]
        self.limb_of = {j: k for k, limb in enumerate(self.limbs) for j in limb}
        self.colours = _coloured([{self.limb_of[j] for j in u.joints} for u in numbers.unknowns])
        self.state_colours = [
            [limb[k] for limb in self.limbs if k < len(limb)] for k in range(max(map(len, self.limbs)))
        ]
        self.rollouts = self.passes = 0
        varies = simulator.robot.coupling is None and default_engine().name == "numba"
        self.variations = LoopSlopes(simulator, numbers) if varies else None
        self._last: tuple[list[Array], list[Rolled]] | None = None

    def begin(self) -> Array:
        """(S, 2 n): the first sample of every stretch, and the speed there."""
        return np.array([np.concatenate([s.q[0], first_speed(s)]) for s in self.stretches])

    def likelier(self, x: Array, states: Array) -> Array:
        """(S, 2 n): states, or those that were measured, limb by limb whichever leave less. A joint that is just about
        to slip has minima beside that of its true state, and friction that was smoothed leads to them."""
        chosen, measured, n = np.array(states), self.begin(), self.simulator.n
        both = [self.simulate(x, one) for one in (states, measured)]
        left = [[s.q - y for s, y in zip(self.stretches, said, strict=True)] for said in both]
        sigma = robust_sigma(left[0])
        for k, pair in enumerate(zip(*left, strict=True)):
            ours, theirs = (self._loss(np.abs(r) / sigma).sum(axis=0) for r in pair)
            for limb in self.limbs:
                if theirs[limb].sum() < ours[limb].sum():
                    own = [*limb, *(n + j for j in limb)]
                    chosen[k, own] = measured[k, own]
        return chosen

    def _loss(self, r: Array) -> Array:
        return r**2 if self.loss is None else np.where(r <= self.loss, r**2, 2.0 * self.loss * r - self.loss**2)

    def simulate(self, x: Array, states: Array, softness: float | None = None) -> list[Array]:
        numbers = self.numbers.at(x)
        self.rollouts += 1
        model = self.simulator.with_numbers(numbers, softness)
        (rolled,) = self.simulator.rolled([(model, numbers, states)], self.stretches)
        said = [one.said for one in rolled]
        self._last = said, rolled
        return said

    def slopes(
        self, x: Array, states: Array, now: list[Array], softness: float | None
    ) -> tuple[list[Array], list[Array]]:
        """∂y/∂θ (N, n, p) and ∂y/∂x₀ (N, n, 2 n) of every stretch; zero for other limbs. now: what was simulated
        there."""
        if self.variations is None:
            return self.differences(x, states, now, softness)
        if self._last is None or self._last[0] is not now:
            self.simulate(x, states, softness)
        assert self._last is not None
        self.passes += 1
        return self.variations.at(x, self.stretches, self._last[1], softness)

    def differences(
        self, x: Array, states: Array, now: list[Array], softness: float | None
    ) -> tuple[list[Array], list[Array]]:
        """The same by differences of roll-outs, for robots of which no variational equations are known."""
        unknowns, n = self.numbers.unknowns, self.simulator.n
        runs = list[tuple[object, dict[str, Array], Array]]()
        here = self.numbers.at(x)
        for colour in self.colours:
            moved = np.array(x)
            for k in colour:
                moved[k] += COORDINATE_STEP[unknowns[k].kind.positive]
            numbers = self.numbers.at(moved)
            runs.append((self.simulator.with_numbers(numbers, softness), numbers, states))
        model = self.simulator.with_numbers(here, softness)
        for part, step in ((0, POSITION_STEP_RAD), (n, VELOCITY_STEP)):
            for joints in self.state_colours:
                moved_states = np.array(states)
                moved_states[:, [part + j for j in joints]] += step
                runs.append((model, here, moved_states))
        self.rollouts += len(runs)
        found = self.simulator.roll_many(runs, self.stretches)
        by_theta = [np.zeros((len(s.time), n, len(x))) for s in self.stretches]
        by_state = [np.zeros((len(s.time), n, 2 * n)) for s in self.stretches]
        for colour, run in zip(self.colours, found, strict=False):
            for k in colour:
                own = sorted(j for limb in {self.limb_of[j] for j in unknowns[k].joints} for j in self.limbs[limb])
                step = COORDINATE_STEP[unknowns[k].kind.positive]
                for s in range(len(self.stretches)):
                    by_theta[s][:, own, k] = (run[s] - now[s])[:, own] / step
        rest = found[len(self.colours) :]
        for part, step, runs_of in (
            (0, POSITION_STEP_RAD, rest[: len(self.state_colours)]),
            (n, VELOCITY_STEP, rest[len(self.state_colours) :]),
        ):
            for joints, run in zip(self.state_colours, runs_of, strict=True):
                for j in joints:
                    own = self.limbs[self.limb_of[j]]
                    for s in range(len(self.stretches)):
                        by_state[s][:, own, part + j] = (run[s] - now[s])[:, own] / step
        return by_theta, by_state

    def cost(
        self, simulated: list[Array], sigma: Array, x: Array, states: Array, repeats: Array, prior: Penalty
    ) -> float:
        total = 0.0
        for stretch, said in zip(self.stretches, simulated, strict=True):
            r = np.abs(stretch.q - said) / sigma
            if not np.isfinite(r).all() or np.abs(said).max() > DIVERGED_RAD:
                return np.inf
            total += float((self._loss(r) / repeats).sum())
        off = x - prior.mean
        slack = (states - self.begin())[:, self.simulator.n :] / STATE_VELOCITY_SIGMA
        return total + float(off @ prior.weight @ off) + float((slack**2).sum())

    def fit(
        self,
        x: Array,
        prior: Penalty,
        states: Array | None = None,
        *,
        softness: float | None = None,
        iterations: int = 12,
        close: float = CONVERGED_STEP,
        tell: Callable[[str], None] | None = None,
        before: Callable[[Array], None] | None = None,
    ) -> FittedDrives:
        """From coordinates x (p,) and states (S, 2 n); before: gets the information there, before the first
        step. close: a step that ends the search, in σ."""
        states = self.begin() if states is None else np.array(states)
        simulated, damping, trace = self.simulate(x, states, softness), 1e-4, list[float]()
        near = settled = still = False
        if not all(np.isfinite(said).all() for said in simulated):
            raise ExciterError(UNSTABLE)
        for count in range(iterations + 1):
            residuals = [stretch.q - said for stretch, said in zip(self.stretches, simulated, strict=True)]
            if not settled:
                sigma, repeats, settled = robust_sigma(residuals), repeated(residuals), still
            by_theta, by_state = self.slopes(x, states, simulated, softness)
            if not grown(by_state) < MOST_SLOPE:
                raise ExciterError(UNSTABLE)
            information, gradient, back = self._normal(residuals, by_theta, by_state, states, sigma, repeats, near)
            cost = self.cost(simulated, sigma, x, states, repeats, prior)
            trace.append(cost)
            if before is not None and count == 0:
                before(information)
            improved, done = False, count == iterations
            left, right = information + prior.weight, gradient - prior.weight @ (x - prior.mean)
            while not done and damping < LARGEST_DAMPING:
                step = np.linalg.solve(left + damping * np.diag(np.diag(left)), right)
                wanted = np.asarray(step, dtype=float)
                step, moved = self._step(wanted)
                tried_x = x + moved
                tried_states = states + np.array([b + a @ step for a, b in back])
                tried = self.simulate(tried_x, tried_states, softness)
                new = self.cost(tried, sigma, tried_x, tried_states, repeats, prior)
                done = float(step @ left @ step) < close**2 or abs(cost - new) < CONVERGED_COST * close**2
                free = np.array_equal(step, wanted)  # far off σ is large, and a delay goes 2 ms at a time
                done = done and free
                if new < cost:
                    improved, damping = True, max(0.1 * damping, 1e-10)
                    break
                damping = max(10.0 * damping, REFUSED_DAMPING)
            if tell is not None:
                rms = 1e3 * float(np.sqrt(np.mean([np.mean(r**2) for r in residuals])))
                tell(f"iteration {count + 1}, {rms:.3g} mrad between simulated and measured")
            if improved:
                near = near or (free and cost - new < NEAR_COST * cost)
                still = free and cost - new < SETTLED_COST * cost
                x, states, simulated = tried_x, tried_states, tried
            if done or not improved:
                break
        residuals = [stretch.q - said for stretch, said in zip(self.stretches, simulated, strict=True)]
        if grown(by_state) > MOST_GROWN:
            raise ExciterError(UNSTABLE)
        sigma, repeats = robust_sigma(residuals), repeated(residuals)
        information, scores, parts, left = self._scores(residuals, by_theta, by_state, sigma, repeats, prior)
        return FittedDrives(
            x=x,
            states=states,
            simulated=simulated,
            information=information,
            scores=scores,
            parts=parts,
            sigma=sigma,
            repeats=repeats,
            left=left,
            rollouts=self.rollouts,
            passes=self.passes,
            cost=cost,
            trace=tuple(trace),
        )

    def _step(self, step: Array) -> tuple[Array, Array]:
        """As far as is allowed, and that in coordinates. Torques are linear in masses, inertias and friction, not in
        their logarithms: the step is that of the value, for valleys of numbers that add up are straight there."""
        unknowns = self.numbers.unknowns
        most = np.array([LARGEST_DELAY_STEP_S if u.kind.unit == "s" else LARGEST_LOGARITHM_STEP for u in unknowns])
        positive = np.array([u.kind.positive for u in unknowns])
        low, high = np.where(positive, np.expm1([-most, most]), [-most, most])
        step = np.clip(step, low, high)
        return step, np.where(positive, np.log1p(np.where(positive, step, 0.0)), step)

    def _normal(
        self,
        residuals: list[Array],
        by_theta: list[Array],
        by_state: list[Array],
        states: Array,
        sigma: Array,
        repeats: Array,
        curved: bool,
    ) -> tuple[Array, Array, list[tuple[Array, Array]]]:
        """Information and gradient of θ with states eliminated, residuals weighted; for each stretch the step of its
        state as (A, b): b + A · step of θ. curved: information is the curvature of the loss, which Newton's steps take
        near the minimum, and not that of its weights, which is safe far from it."""
        p, n, begun = len(self.numbers.unknowns), self.simulator.n, self.begin()
        information, gradient = np.zeros((p, p)), np.zeros(p)
        back = list[tuple[Array, Array]]()
        for s, residual in enumerate(residuals):
            scaled = residual / sigma
            weight, slope, size = np.ones_like(scaled), scaled, np.abs(scaled)
            if self.loss is not None:
                slope = np.clip(scaled, -self.loss, self.loss)
                inside = (size <= self.loss).astype(float)
                weight = inside if curved else np.minimum(1.0, self.loss / np.maximum(size, 1e-12))
            root = np.sqrt(weight / repeats) / sigma
            scores = (slope / (sigma * repeats)).ravel()
            every_theta, every_state = by_theta[s].reshape(-1, p), by_state[s].reshape(-1, 2 * n)
            theta, state = every_theta * root.reshape(-1, 1), every_state * root.reshape(-1, 1)
            xx, mixed, right = state.T @ state, state.T @ theta, every_state.T @ scores
            tie = np.zeros(2 * n)
            tie[n:] = STATE_VELOCITY_SIGMA**-2
            right = right - tie * (states[s] - begun[s])
            xx[np.diag_indices(2 * n)] += tie + 1e-9 * np.diag(xx).max()
            solved = np.linalg.solve(xx, np.column_stack([right, mixed]))
            information += theta.T @ theta - mixed.T @ solved[:, 1:]
            gradient += every_theta.T @ scores - mixed.T @ solved[:, 0]
            back.append((-solved[:, 1:], solved[:, 0]))
        return 0.5 * (information + information.T), gradient, back

    def _scores(
        self,
        residuals: list[Array],
        by_theta: list[Array],
        by_state: list[Array],
        sigma: Array,
        repeats: Array,
        prior: Penalty,
    ) -> tuple[Array, list[Array], list[Array], Array]:
        """What σ comes from: the curvature of the loss (p, p) with states eliminated, the slopes of the loss by θ, of
        every sample (N, p) of each stretch, and parts and left as in ``FittedDrives``.

        The curvature of Huber's loss is that of residuals within its bound alone, less than its weights say. Residuals
        are smaller than errors by what the fit took from them: divided by 1 − h, h the leverage of a sample (HC3).
        Where residuals last, few samples of a joint say something of their own, and Σ h of them went into the fit."""
        p, n = len(self.numbers.unknowns), self.simulator.n
        information, rows = np.zeros((p, p)), list[tuple[Array, Array]]()
        for s, residual in enumerate(residuals):
            scaled = residual / sigma
            bound = np.inf if self.loss is None else self.loss
            curved = np.sqrt((np.abs(scaled) <= bound) / repeats) / sigma
            theta = (by_theta[s] * curved[:, :, None]).reshape(-1, p)
            state = (by_state[s] * curved[:, :, None]).reshape(-1, 2 * n)
            xx = state.T @ state
            xx[n:, n:] += np.eye(n) * STATE_VELOCITY_SIGMA**-2
            xx[np.diag_indices(2 * n)] += 1e-9 * np.diag(xx).max()
            inverse = np.linalg.inv(xx)
            every = by_state[s].reshape(-1, 2 * n)
            free = by_theta[s].reshape(-1, p) - every @ (inverse @ (state.T @ theta))
            own = free * curved.ravel()[:, None]
            information += own.T @ own
            rows.append((free, np.einsum("ij,jk,ik->i", every, inverse, every)))
        information = 0.5 * (information + information.T)
        covariance = np.linalg.inv(information + prior.weight)
        bound = np.inf if self.loss is None else self.loss
        leverages = [  # of samples within Huber's bound: others move nothing
            (taken + np.einsum("ij,jk,ik->i", free, covariance, free)).reshape(residual.shape)
            * (np.abs(residual / sigma) <= bound)
            / (repeats * sigma**2)
            for (free, taken), residual in zip(rows, residuals, strict=True)
        ]
        own_samples = sum(len(residual) for residual in residuals) / repeats
        left = np.maximum(1.0, own_samples - sum(h.sum(axis=0) for h in leverages)) / own_samples
        widened = np.sqrt(np.minimum(1.0 / left, MOST_WIDENED))
        scores, parts, by_joint = list[Array](), list[Array](), np.zeros((n, p))
        for (free, _), residual, leverage in zip(rows, residuals, leverages, strict=True):
            scaled = residual / sigma
            slope = scaled if self.loss is None else np.clip(scaled, -self.loss, self.loss)
            weighted = widened * slope / (sigma * repeats * (1.0 - np.clip(leverage, 0.0, MOST_LEVERAGE)))
            scores.append((free * weighted.ravel()[:, None]).reshape(*residual.shape, p).sum(axis=1))
            moved = (free @ covariance).reshape(*residual.shape, p) * (widened / (sigma * repeats))[:, None]
            by_joint += (moved**2).sum(axis=0)
            parts.append((moved**2).sum(axis=1))
        return information, scores, parts, left @ by_joint / np.maximum(by_joint.sum(axis=0), 1e-300)


def _coloured(touched: Sequence[set[int]]) -> list[list[int]]:
    """Unknowns that touch no limb in common go together: the first colour that is free."""
    colours, used = list[list[int]](), list[set[int]]()
    for k, limbs in enumerate(touched):
        for colour, taken in zip(colours, used, strict=True):
            if not taken & limbs:
                colour.append(k)
                taken |= limbs
                break
        else:
            colours.append([k])
            used.append(set(limbs))
    return colours


def grown(by_state: Sequence[Array]) -> float:
    """The largest ∂q/∂q₀ of all stretches (N, n, 2 n): a position that is off at first, later."""
    return float(max(np.abs(one[:, :, : one.shape[1]]).max() for one in by_state))


def first_speed(stretch: Stretch, samples: int = 9) -> Array:
    """(n,) at the first sample, by a parabola through the next ones."""
    t = stretch.time[:samples] - stretch.time[0]
    return np.asarray(np.polynomial.polynomial.polyfit(t, stretch.q[:samples], min(2, len(t) - 1))[1])


def robust_sigma(residuals: Sequence[Array]) -> Array:
    """(n,) of all stretches, by the median: outliers do not count."""
    stacked = np.abs(np.vstack(residuals))
    return np.maximum(1.4826 * np.median(stacked, axis=0), 1e-9)


def repeated(residuals: Sequence[Array]) -> Array:
    """(n,) 1 + 2 Σ ρ_k: as how many samples of residuals that were white one counts; the sum ends where it first is
    not positive any more (Geyer)."""
    n = residuals[0].shape[1]
    most = max(2, int(MOST_LAG_SHARE * max(map(len, residuals))))  # shorter ones say nothing of long lags
    found = np.ones(n)
    for j in range(n):
        centred = [r[:, j] for r in residuals]
        power = sum(float(c @ c) for c in centred)
        if power <= 0.0:
            continue
        total = 1.0
        for lag in range(1, most, 2):
            pair = sum(sum(float(c[k:] @ c[:-k]) for c in centred) / power for k in (lag, lag + 1))
            if pair <= 0.0:
                break
            total += 2.0 * pair
        found[j] = max(1.0, total)
    return found
