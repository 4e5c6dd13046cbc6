"""Estimation in stages: parameters found earlier are known later, with their uncertainty.

Never better than estimating all together (Gauss–Markov), but each stage may use the motion that suits its parameters,
and needs fewer of them at once (12.5.1, 12.7). Known sequences: link by link, wrist then shoulder, static then dynamic,
friction first.

One stage after the other is linear in the same errors, so that the covariance of all parameters is exact.
A cell (independent equations of one joint, compressed) says R x = z + ε with ε white of variance v. A stage has cells
for its own parameters a (and others n that it estimates along), and for parameters e that are known from earlier ones,
x̂_e = x_e + H_e ε with covariance C. With A, N, B its columns of R:

    z − B x̂_e = A x_a + N x_n + (ε − B H_e ε)

Generalised least squares with the covariance V + B C Bᵀ of the bracket is the same as estimating x_e, too, with
(x̂_e, C) as prior information, and keeping only x_a: x̂_a = L (z − B x̂_e), with errors H_a = L (1 − B H_e): every
parameter is a linear map H of the same ε, and H v Hᵀ is the covariance of all of them with all cross terms, also where
stages share equations. Taking earlier results for exact, C = 0, would give worse weights and σ too small."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from exciter.errors import ParameterError, RecordingError
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.information.compressed import EXACT_DATA_NOISE, until_noise_settles
from exciter.identification.information.estimate import Estimate, assumed, filtered
from exciter.identification.information.information import SINGULAR_VALUE_TOLERANCE, Information
from exciter.identification.information.problem import Problem, zero_torque
from exciter.identification.stages.stage import AtRest, Cells, Stage, SteadyMotion, Unused, acting_at_rest, friction_of
from exciter.notes import Note, done
from exciter.settings import Whole
from exciter.settings.field_markers import ListOfTexts
from exciter.typing import Array, BoolArray, Index

STAGE_ASSUMPTIONS = assumed(
    "every equation has an error of its own, of one variance per joint and stage, and W is exact",
    "what earlier stages leave uncertain is carried into later ones",
)
USUAL_WRIST_JOINTS = 3  #: joints
UNDETERMINED_SHARE = 1e-6  # share of a parameter in directions the equations say nothing of
POOLED_POSE_FREEDOM = 2.0  # poses, that it counts for that all joints are alike


class StageSequence(Estimator):
    """A sequence of stages. A parameter is that of the first that asks for it and whose equations determine it."""

    @abstractmethod
    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        """In order."""

    def estimate(self, problem: Problem) -> Estimate:
        problem.refuse_silent("an estimate in stages")
        problem.refuse_currents("an estimate in stages")
        stages = self.stages(problem)
        joints, runs = problem.model.robot.joint_names, {run.name for run in problem.runs}
        if problem.joints != joints:
            raise ParameterError(
                f"stages go by joints, and these equations are of {', '.join(problem.joints)}; use the inverse dynamic "
                "or filtered dynamic model, which have one equation per joint"
            )
        for stage in stages:
            if strange := [str(j) for j in stage.joints or () if not 0 <= j < len(joints)]:
                raise ParameterError(f"stage '{stage.name}' names joint {strange[0]}; there are 0 … {len(joints) - 1}")
            if lost := [name for name in stage.runs or () if name not in runs]:
                raise RecordingError(
                    f"stage '{stage.name}' names run '{lost[0]}'; there are: {', '.join(sorted(runs))}"
                )
        cells = Cells.of(problem, stages)
        for j in np.unique(cells.joint):
            if not cells.factors[cells.joint == j, :, -1].any():
                raise zero_torque(problem.joints[j])
        state = State(cells, len(problem.names))
        notes = tuple(_through(problem, state, k, stage) for k, stage in enumerate(stages))
        if missing := [name for name, known in zip(problem.names, state.known, strict=True) if not known]:
            raise ParameterError(
                f"no stage determines {', '.join(missing)}; add a stage that asks for them, or move more"
            )
        used, root = np.isfinite(state.noise), state.root
        joint, rows, squares = cells.joint[used], cells.rows[used], state.noise[used] ** 2
        total = np.maximum(np.bincount(joint, rows, len(problem.joints)), 1.0)
        everything = Information.empty(len(problem.names))
        for factor in cells.factors[used]:
            everything = everything.add(factor[:, :-1], factor[:, -1])
        alone = (
            f"nothing but the parameters of stage '{stage.name}' acts in its equations, friction neither"
            for stage in stages
            if stage.alone
        )
        return Estimate.of(
            problem,
            everything,
            values=state.values,
            covariance=root @ root.T,
            noise=np.sqrt(np.bincount(joint, rows * squares, len(problem.joints)) / total),  # whatever stage used them
            freedom=state.freedom,
            assumptions=(*STAGE_ASSUMPTIONS, *assumed(*alone), *filtered(cells.inflation)),
            notes=notes,
        )


def _through(problem: Problem, state: State, k: int, stage: Stage) -> Note:
    """Through a stage; what it did."""
    cells, hint = state.cells, ""  # why there may be few equations
    if stage.alone and cells.reach:
        hint = (
            f"; filtered, an equation holds what happens up to {cells.reach:.3g} s around it: what is chosen must last "
            f"longer than {2.0 * cells.reach:.3g} s, or the filter forget sooner (lower order, higher cut-off)"
        )
    if not cells.used[:, k].any():
        raise RecordingError(
            f"no equation is chosen for stage '{stage.name}'; choose less strictly ({stage.selection}), or record a "
            f"motion for it{hint}"
        )
    chosen = stage.parameters(problem)
    step = StageSolver(state, k, chosen, stage.alone)
    rows = int(cells.rows[step.mine].sum())
    if rows <= len(step.unknown):
        raise ParameterError(
            f"stage '{stage.name}' has {rows} equations for {len(step.unknown)} parameters; choose equations less "
            f"strictly, or record longer{hint}"
        )
    wanted = chosen[step.unknown] & step.determined
    left = [problem.names[i] for i in step.unknown[chosen[step.unknown] & ~wanted]]
    joints = ", ".join(problem.joints[j] for j in np.unique(cells.joint[step.mine]))
    count = int(wanted.sum())
    text = f"{stage.name}: {count} parameter{'s' * (count != 1)} from {rows} equations of {joints}"
    if len(step.known):
        text += f", {len(step.known)} known before"
    if left:
        text += f"; {', '.join(left)} left to later stages: not determined here"
    if count:
        step.solve(wanted)
    return done("stage", text)


class State:
    """What is known so far: values (p,), known (p,), errors H (p, c, p) for the rows of z of every cell, and noise σ
    (c,) of one equation of a cell, NaN where no stage used it; with how many degrees of freedom left (c,) it was
    estimated, and from which (c,) of all sums of squares: that of a stage and joint, −1 where no stage used it."""

    def __init__(self, cells: Cells, p: int) -> None:
        c = len(cells.factors)
        self.cells, self.values, self.known = cells, np.zeros(p), np.zeros(p, dtype=bool)
        self.errors, self.noise, self.left = np.zeros((p, c, p)), np.full(c, np.nan), np.ones(c)
        self.source = np.full(c, -1)

    @property
    def freedom(self) -> float:
        """Of the variance known worst: (Σ v)² / Σ (v² / f), its parts v resting on σ with freedom f (Satterthwaite)."""
        squares = (self.root.reshape(self.errors.shape) ** 2).sum(axis=2)
        sources, first, which = np.unique(self.source, return_index=True, return_inverse=True)
        parts = squares @ np.eye(len(sources))[which]
        uncertain = parts.sum(axis=1) > 0.0
        parts = parts[uncertain] / parts[uncertain].sum(axis=1, keepdims=True)
        return float((1.0 / (parts**2 @ (1.0 / self.left[first]))).min(initial=self.cells.independent.sum()))

    @property
    def root(self) -> Array:
        """(p, c·p) H √v."""
        sigma = np.where(np.isfinite(self.noise), self.noise, 0.0) * np.sqrt(self.cells.inflation)
        return np.asarray((self.errors * sigma[:, None]).reshape(len(self.values), -1))


class StageSolver:
    """A stage at work: mine (c,): its cells; unknown (u,) and known (e,) parameters that they speak of."""

    def __init__(self, state: State, stage: int, chosen: BoolArray, alone: bool) -> None:
        self.state, self.stage, self.mine = state, stage, state.cells.used[:, stage]
        size = np.abs(state.cells.factors[:, :, :-1])
        largest = size[self.mine].max(axis=(0, 1), initial=0.0)
        active = largest > SINGULAR_VALUE_TOLERANCE * size.max()  # less is rounding
        self.unknown = np.flatnonzero(active & ~state.known & (chosen if alone else True))
        self.known = np.flatnonzero(active & state.known)

    @property
    def determined(self) -> BoolArray:
        """(u,) unknown parameters that have no part in directions the equations say nothing of."""
        r = self._rows(self.unknown)
        norm = np.linalg.norm(r, axis=0)
        _, singular, directions = np.linalg.svd(np.linalg.qr(r / norm, mode="r"))
        lost = directions[singular <= SINGULAR_VALUE_TOLERANCE * singular.max(initial=1.0)]
        return np.asarray(np.linalg.norm(lost, axis=0) < UNDETERMINED_SHARE)

    def solve(self, wanted: BoolArray) -> None:
        """The unknown parameters ``wanted`` (u,) become known, with noise from the residuals, both in agreement."""
        first = self._solve(np.ones(int(self.mine.sum())))[2]
        _, sigma, _ = until_noise_settles(lambda sigma: (None, self._solve(sigma)[2]), first)
        found, gain, _, left = self._solve(sigma)
        state, mine, own, gain = self.state, np.flatnonzero(self.mine), self.unknown[wanted], gain[wanted]
        joint = state.cells.joint
        state.errors[own] = -np.tensordot(gain @ self._rows(self.known), state.errors[self.known], axes=1)
        state.errors[np.ix_(own, mine)] += gain.reshape(len(own), len(mine), len(state.values))
        state.values[own], state.known[own], state.noise[mine], state.left[mine] = found[wanted], True, sigma, left
        state.source[mine] = self.stage * (joint.max() + 1) + joint[mine]

    def _rows(self, columns: Index) -> Array:
        """(c_mine · p, …) rows of R, of some columns."""
        rows = self.state.cells.factors[self.mine][:, :-1][:, :, columns]
        return rows.reshape(rows.shape[0] * rows.shape[1], len(columns))

    def _solve(self, sigma: Array) -> tuple[Array, Array, Array, Array]:
        """With noise σ (c_mine,): unknowns, and η with x_e = x̂_e − C^½ η, whose prior is one row each. Values
        (u,) of the unknowns, the gain L (u, c_mine · p) for rows that are not divided by anything, and ``_noise``."""
        cells, p = self.state.cells, len(self.state.values)
        weight = np.repeat(1.0 / (sigma * np.sqrt(cells.inflation[self.mine])), p)[:, None]
        a = self._rows(self.unknown) * weight
        b = self._rows(self.known) * weight
        right = self._rows(np.array([p]))[:, 0] * weight[:, 0] - b @ self.state.values[self.known]
        root = np.asarray(np.linalg.qr(self.state.root[self.known].T, mode="r")).T  # (e, e) C^½, without forming C
        e = len(self.known)
        system = np.block([[a, -b @ root], [np.zeros((e, a.shape[1])), np.eye(e)]])
        norm = np.linalg.norm(system, axis=0)
        u, s, vt = np.linalg.svd(system / norm, full_matrices=False)
        kept = s > SINGULAR_VALUE_TOLERANCE * s.max(initial=0.0)
        inverse = (vt[kept].T / s[kept]) @ u[:, kept].T / norm[:, None]
        found = inverse @ np.append(right, np.zeros(e))
        residual = (right - system[: len(right)] @ found) / weight[:, 0]
        leverage = (u[: len(right), kept] ** 2).sum(axis=1)
        noise, left = self._noise((residual**2).reshape(-1, p).sum(axis=1), leverage.reshape(-1, p).sum(axis=1))
        unknowns = len(self.unknown)
        return found[:unknowns], inverse[:unknowns, : len(right)] * weight[:, 0], noise, left

    def _noise(self, squares: Array, taken: Array) -> tuple[Array, Array]:
        """σ per cell, of all cells of its joint in this stage; and the independent degrees of freedom it rests on."""
        cells, mine = self.state.cells, self.mine
        joint, rows = cells.joint[mine], cells.rows[mine].astype(float)
        squares = squares + cells.factors[mine, -1, -1] ** 2
        signal = (cells.factors[mine, :, -1] ** 2).sum(axis=1)
        n = int(joint.max()) + 1

        def total(values: Array) -> Array:
            return np.asarray(np.bincount(joint, values, n), dtype=float)

        count = np.maximum(total(rows), 1.0)
        freedom = total(rows) - total(taken * cells.inflation[mine])
        scatter = total(cells.scatter[mine] * rows) / count
        means = np.isfinite(scatter).all()
        variance = _of_poses(total(squares), freedom, scatter) if means else total(squares) / np.maximum(freedom, 1.0)
        floor = EXACT_DATA_NOISE * np.sqrt(total(signal) / count)
        sigma = np.maximum(np.sqrt(variance), np.maximum(floor, 1e-300))
        left = np.maximum(total(cells.independent[mine]) - total(taken), 1.0)
        return np.asarray(sigma[joint]), np.asarray(left[joint])


def _of_poses(squares: Array, freedom: Array, scatter: Array) -> Array:
    """(n,) variance per joint of equations that are means of poses, from sums of squared residuals.

    Poses are few. A joint whose equations can all be met, at the expense of the others, would get the variance 0, then
    an infinite weight, and be met exactly: the likelihood has no maximum. A prior gives it one, scaled inverse χ² with
    ν₀ = 2 degrees of freedom: v = (S + ν₀ v₀) / (ν + ν₀), where v₀ supposes that poses differ by more than the
    samples within them tell (stiction) by one factor for all joints, which the joints determine together. That is
    supposed, not measured: the remaining degrees of freedom, which widen intervals, do not count ν₀. And a mean is
    never better than the samples within poses say."""
    freedom, known = np.maximum(freedom, 0.0), scatter > 0.0
    shape = np.where(known, scatter, scatter[known].mean() if known.any() else 1.0)
    pooled = shape * (squares / shape).sum() / max(freedom.sum(), 1.0)
    return np.asarray(np.maximum((squares + POOLED_POSE_FREEDOM * pooled) / (freedom + POOLED_POSE_FREEDOM), scatter))


@dataclass(frozen=True)
class LinkByLink(StageSequence):
    """From the last link to the first [12.22]–[12.24]: Φ is upper block triangular, so that the equation of joint j
    adds the parameters of link j to those of the links after it, which are known by then."""

    word, title = "links", "least squares link by link"

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        names = problem.model.robot.joint_names
        return tuple(Stage(f"link of {names[j]}", joints=(j,)) for j in reversed(range(len(names))))


@dataclass(frozen=True)
class TwoStep(StageSequence):
    """The last ``wrist`` joints first, then the others with the wrist known (12.7): for robots whose wrist links are
    of another order of magnitude than those of the shoulder. None: three, of a short arm half."""

    word, title = "two-step", "least squares in two steps, wrist first"
    wrist: Annotated[int | None, Whole(1)] = None

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        n = problem.model.n
        wrist = min(USUAL_WRIST_JOINTS, max(1, n // 2)) if self.wrist is None else self.wrist
        if not 0 < wrist < n:
            raise ParameterError(f"a wrist of {wrist} joints; the robot has {n}: give 1 … {n - 1}")
        first = n - wrist
        return (Stage("wrist", joints=tuple(range(first, n))), Stage("shoulder", joints=tuple(range(first))))


@dataclass(frozen=True)
class StaticThenDynamic(StageSequence):
    """Gravity from poses at rest, then the inertias and friction from motion, gravity known (Rackl et al. 2012).

    Rests on torques at rest being those of gravity: no derivatives are needed, but a torque measured at the motor
    holds friction of unknown sign and size up to Fs. Equations of a pose are averaged into one, so that this friction
    is an error of the pose; approach poses from both sides as often, and it cancels and shows in σ. Approached from one
    side only, it biases gravity, and nothing in the data tells. Sensors on the link side do not see it. A filter brings
    motion into a pose from both sides: what it reaches is left to the second stage, see ``reach``.

    runs: names of the runs that hold the poses, all unless given."""

    word, title = "static", "least squares from poses at rest, then from motion"
    flat = ("rest",)
    rest: AtRest = field(default_factory=AtRest)
    runs: Annotated[tuple[str, ...] | None, ListOfTexts("runs", least=1)] = None

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        static = Stage("static", acting_at_rest, selection=self.rest, runs=self.runs, alone=True, mean=True)
        return (static, Stage("dynamic", selection=Unused()))


@dataclass(frozen=True)
class FrictionFirst(StageSequence):
    """Friction axis by axis from where the joint moves at constant velocity, then the rest (12.3.3 ii).

    Whatever else acts on the axis there (gravity, Coriolis) is estimated along and forgotten, so that nothing is
    assumed about it; the axis must move both ways, or its friction cannot be separated from gravity and offset.
    Equations are used once: by the friction of their axis, or by the rest."""

    word, title = "friction-first", "least squares with the friction first"
    flat = ("steady",)
    steady: SteadyMotion = field(default_factory=SteadyMotion)

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        axes = tuple(
            Stage(f"friction of {name}", friction_of(j), joints=(j,), selection=self.steady)
            for j, name in enumerate(problem.model.robot.joint_names)
            if friction_of(j)(problem).any()
        )
        return (*axes, Stage("rest", selection=Unused()))
