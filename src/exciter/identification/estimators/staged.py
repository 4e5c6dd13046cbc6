"""Estimation in stages: each uses the motion that suits its parameters, and needs fewer of them at once (12.5.1, 12.7).
Known sequences: link by link, wrist then shoulder, static then dynamic, friction first.

One stage after the other is linear in the same errors, so that the covariance of all parameters is exact.
A cell (independent equations of one joint, compressed) says R x = z + ε with ε white of variance v. A stage has cells
for its own parameters a (and others n that it estimates along), and for parameters e that are known from earlier ones,
x̂_e = x_e + H_e ε with covariance C. With A, N, B its columns of R:

    z − B x̂_e = A x_a + N x_n + (ε − B H_e ε)

Generalised least squares with the covariance V + B C Bᵀ of the bracket is the same as estimating x_e, too, with
(x̂_e, C) as prior information. Classical sequences keep only x_a of that: x̂_a = L (z − B x̂_e), with errors
H_a = L (1 − B H_e); every parameter is a linear map H of the same ε, and H v Hᵀ is the covariance of all of them with
all cross terms, also where stages share equations. (Taking earlier results for exact, C = 0, would give worse weights
and σ too small.) So an error of an early stage stays, and what later motion knows of its parameters is lost.

Unless ``known`` is asked for, x_e is kept, too: what a stage found and its covariance are information that the next
one adds to. In the end every equation counted once, with the variance of its own stage and joint; in which order does
not matter, and no linear estimate is better (Gauss–Markov): ``StageWeights`` says how it is one of weighted least
squares, whose covariance for correlated errors is its own, too. A stage that contradicts the others (friction that held
the joints, another load) shows in what is left of its equations, has that as its variance, and counts for less."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from exciter.errors import ParameterError, RecordingError
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.information.compressed import EXACT_DATA_NOISE, until_noise_settles
from exciter.identification.information.estimate import Estimate, assumed, filtered
from exciter.identification.information.information import SINGULAR_VALUE_TOLERANCE, Information
from exciter.identification.information.problem import Problem, zero_torque
from exciter.identification.stages.planned import PlannedRun, cruising_in, free_in, moving_in, resting_in, wrist_of
from exciter.identification.stages.stage import (
    AtRest,
    Cells,
    Everything,
    Stage,
    SteadyMotion,
    Unused,
    acting_at_rest,
    friction_of,
)
from exciter.identification.stages.stage_weights import StagedEstimate, StageWeights
from exciter.notes import Note, done, note
from exciter.settings import Switch, Whole
from exciter.settings.field_markers import ListOfTexts
from exciter.typing import Array, BoolArray, Index

STAGE_ASSUMPTIONS = assumed(
    "every equation has an error of its own, of one variance per joint and stage, and W is exact",
    "what earlier stages leave uncertain is carried into later ones",
)
STAGE_SUBJECT, STAGE_NOISE = "stage", "stage noise"  #: of notes on what a stage did
CONTRADICTION_SIGMAS = 5.0  # σ of a stage alone: it was wrong by more, and a note says so
NO_INDEX, NO_VALUES, NO_ROOT = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 0))
USUAL_WRIST_JOINTS = 3  #: joints
UNDETERMINED_SHARE = 1e-6  # share of a parameter in directions the equations say nothing of
POOLED_POSE_FREEDOM = 2.0  # poses, that it counts for that all joints are alike


class StageSequence(Estimator):
    """A sequence of stages. A parameter is that of the first that asks for it and whose equations determine it.

    known: later stages take it as known, with its uncertainty, and do not correct it. planned: which run belongs to
    which stage of a plan, and its stretches; None: as the motion shows."""

    known: bool = False
    planned: tuple[PlannedRun, ...] | None = None

    @abstractmethod
    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        """In order."""

    def estimate(self, problem: Problem) -> Estimate:
        problem.refuse_silent("an estimate in stages")
        problem.refuse_currents("an estimate in stages")
        joints, runs = problem.model.robot.joint_names, {run.name for run in problem.runs}
        if problem.joints != joints:
            raise ParameterError(
                f"stages go by joints, and these equations are of {', '.join(problem.joints)}; use the inverse dynamic "
                "or filtered dynamic model, which have one equation per joint"
            )
        stages = self.stages(problem)
        if any(stage.poses for stage in stages):  # scales of runs would be those of what holds joints in their poses
            problem = replace(problem, balanced=False)
        for stage in stages:
            if strange := [str(j) for j in stage.joints or () if not 0 <= j < len(joints)]:
                raise ParameterError(f"stage '{stage.name}' names joint {strange[0]}; there are 0 … {len(joints) - 1}")
            if lost := [name for name in (*(stage.runs or ()), *(stage.spans or ())) if name not in runs]:
                raise RecordingError(
                    f"stage '{stage.name}' names run '{lost[0]}'; there are: {', '.join(sorted(runs))}"
                )
        cells = Cells.of(problem, stages)
        for j in np.unique(cells.joint):
            if not cells.factors[cells.joint == j, :, -1].any():
                raise zero_torque(problem.joints[j])
        state = State(cells, (*problem.names, *(f"what holds {name}" for name in joints))[: cells.unknowns])
        notes = [_through(problem, state, k, stage) for k, stage in enumerate(stages)]
        if not self.known:
            notes += together(problem, state, stages)
        p = len(problem.names)
        if missing := [name for name, known in zip(problem.names, state.known, strict=False) if not known]:
            raise ParameterError(
                f"no stage determines {', '.join(missing)}; add a stage that asks for them, or move more"
            )
        used, root = np.isfinite(state.noise), state.root[:p]
        joint, rows, squares = cells.joint[used], cells.rows[used], state.noise[used] ** 2
        total = np.maximum(np.bincount(joint, rows, len(problem.joints)), 1.0)
        everything = Information.empty(p)
        for factor in cells.factors[used]:
            everything = everything.add(factor[:, :p], factor[:, -1])
        alone = (
            f"nothing but the parameters of stage '{stage.name}', and friction that holds every joint alike against "
            "the way it came, acts in its equations"
            for stage in stages
            if stage.poses
        )
        weights = None if self.known else StageWeights.of(cells, state.noise, p, balanced=problem.balanced)
        return StagedEstimate.of(
            problem,
            everything,
            weights=weights,
            values=state.values[:p],
            covariance=root @ root.T,
            noise=np.sqrt(np.bincount(joint, rows * squares, len(problem.joints)) / total),  # whatever stage used them
            freedom=state.freedom(p),
            assumptions=(*STAGE_ASSUMPTIONS, *assumed(*alone), *filtered(cells.inflation)),
            notes=tuple(notes),
        )


def _through(problem: Problem, state: State, k: int, stage: Stage) -> Note:
    """Through a stage; what it did."""
    cells = state.cells
    if not cells.used[:, k].any():
        raise RecordingError(
            f"no equation is chosen for stage '{stage.name}'; choose less strictly ({stage.selection}), or record a "
            "motion for it"
        )
    chosen = np.append(stage.parameters(problem), np.ones(cells.unknowns - len(problem.names), dtype=bool))
    step = StageSolver(state, k, chosen, stage.poses)
    rows = int(cells.rows[step.mine].sum())
    if rows <= len(step.unknown):
        raise ParameterError(
            f"stage '{stage.name}' has {rows} equations for {len(step.unknown)} parameters; choose equations less "
            "strictly, or record longer"
        )
    wanted = chosen[step.unknown] & step.determined
    own = step.unknown < len(problem.names)
    left = [state.names[i] for i in step.unknown[chosen[step.unknown] & ~wanted & own]]
    joints = [problem.joints[j] for j in np.unique(cells.joint[step.mine])]
    count = int((wanted & own).sum())
    text = f"{stage.name}: {count} parameter{'s' * (count != 1)} from {rows} equations of {', '.join(joints)}"
    if len(step.known):
        text += f", {int((step.known < len(problem.names)).sum())} known before"
    if left:
        text += f"; {', '.join(left)} left to later stages: not determined here"
    if count:
        step.solve(wanted)
    found = [state.names[i] for i in step.unknown[wanted & own]]
    return done(STAGE_SUBJECT, text, None, None, stage=stage.name, parameters=found, equations=rows, joints=joints)


class State:
    """What is known so far of m unknowns: values (m,), known (m,), errors H (m, c, m) for the rows of z of every cell,
    and noise σ (c,) of one equation of a cell, NaN where no stage used it; with how many degrees of freedom left (c,)
    it was estimated, and from which (c,) of all sums of squares: that of a stage and joint, −1 where none used it."""

    def __init__(self, cells: Cells, names: tuple[str, ...]) -> None:
        c, m = len(cells.factors), len(names)
        self.cells, self.names, self.values, self.known = cells, names, np.zeros(m), np.zeros(m, dtype=bool)
        self.errors, self.noise, self.left = np.zeros((m, c, m)), np.full(c, np.nan), np.ones(c)
        self.source = np.full(c, -1)

    def freedom(self, p: int) -> float:
        """Of the variance known worst: (Σ v)² / Σ (v² / f), its parts v resting on σ with freedom f (Satterthwaite); of
        the first p unknowns."""
        squares = (self.root.reshape(self.errors.shape)[:p] ** 2).sum(axis=2)
        sources, first, which = np.unique(self.source, return_index=True, return_inverse=True)
        parts = squares @ np.eye(len(sources))[which]
        uncertain = parts.sum(axis=1) > 0.0
        parts = parts[uncertain] / parts[uncertain].sum(axis=1, keepdims=True)
        return float((1.0 / (parts**2 @ (1.0 / self.left[first]))).min(initial=self.cells.independent.sum()))

    @property
    def root(self) -> Array:
        """(m, c·m) H √v."""
        sigma = np.where(np.isfinite(self.noise), self.noise, 0.0) * np.sqrt(self.cells.inflation)
        return np.asarray((self.errors * sigma[:, None]).reshape(len(self.values), -1))


def together(problem: Problem, state: State, stages: tuple[Stage, ...]) -> list[Note]:
    """Every equation that a stage used once more, with the variance of its stage and joint, for all unknowns."""
    cells = state.cells
    stage = cells.used.shape[1] - 1 - np.argmax(cells.used[:, ::-1], axis=1)  # the last one that uses a cell
    source = cells.sources(stage)
    system = JointSystem(cells, source)
    lost = [state.names[k] for k in system.active[~system.determined] if k < len(problem.names)]
    if lost or (missing := sorted(set(range(len(problem.names))) - set(system.active.tolist()))):
        names = lost or [problem.names[k] for k in missing]
        raise ParameterError(f"no stage determines {', '.join(names)}; add a stage that asks for them, or move more")
    before, std, known = state.values.copy(), np.sqrt((state.root**2).sum(axis=1)), state.known.copy()
    first = np.where(np.isfinite(state.noise), state.noise, system.solve(np.ones(len(source)))[2])
    _, sigma, _ = until_noise_settles(lambda sigma: (None, system.solve(sigma)[2]), first)
    found, gain, _, left = system.solve(sigma)
    state.values[system.active], state.known[system.active] = found, True
    state.errors[:] = 0.0
    state.errors[system.active] = gain.reshape(len(found), *state.errors.shape[1:])
    state.noise, state.left, state.source = sigma, left, source
    notes = list[Note]()
    for k, one in enumerate(stages):
        size = dict[str, float]()
        for j in np.unique(cells.joint[stage == k]):
            mine = (stage == k) & (cells.joint == j)
            size[problem.joints[j]] = float(np.sqrt(np.average(sigma[mine] ** 2, weights=cells.rows[mine])))
        if size:
            told = ", ".join(f"{name} {value:.3g}" for name, value in size.items())
            text = f"{one.name}: σ of an equation {told} N·m (N)"
            notes.append(done(STAGE_NOISE, text, None, None, stage=one.name, noise=size))
    moved = np.abs(state.values - before)[: len(problem.names)] / np.where(std > 0.0, std, np.inf)[: len(problem.names)]
    worst = int(np.argmax(np.where(known[: len(moved)], moved, 0.0)))
    if known[: len(moved)].any() and np.isfinite(moved[worst]):
        text = f"later stages corrected earlier ones by up to {moved[worst]:.2g} σ of theirs ({problem.names[worst]})"
        if moved[worst] > CONTRADICTION_SIGMAS:
            notes.append(note("stages", f"{text}: equations of one stage contradict the others, and count for less"))
        else:
            notes.append(done("stages", text))
    return notes


class JointSystem:
    """Equations of some cells (``mine``) for the unknowns ``active`` (u,), those that they speak of unless given.
    source (c,): cells of one source have one variance."""

    def __init__(
        self, cells: Cells, source: Index, which: BoolArray | None = None, active: Index | None = None
    ) -> None:
        self.cells, self.source = cells, source
        self.mine = np.ones(len(source), dtype=bool) if which is None else which
        self.active = speaking_of(cells, self.mine) if active is None else active

    def rows(self, columns: Index) -> Array:
        """(c · m, …) rows of R, of some columns."""
        rows = self.cells.factors[self.mine][:, :-1][:, :, columns]
        return rows.reshape(rows.shape[0] * rows.shape[1], len(columns))

    @property
    def determined(self) -> BoolArray:
        """(u,) unknowns that have no part in directions the equations say nothing of."""
        r = self.rows(self.active)
        norm = np.linalg.norm(r, axis=0)
        _, singular, directions = np.linalg.svd(np.linalg.qr(r / norm, mode="r"))
        lost = directions[singular <= SINGULAR_VALUE_TOLERANCE * singular.max(initial=1.0)]
        return np.asarray(np.linalg.norm(lost, axis=0) < UNDETERMINED_SHARE)

    def solve(
        self, sigma: Array, known: Index = NO_INDEX, values: Array = NO_VALUES, root: Array = NO_ROOT
    ) -> tuple[Array, Array, Array, Array]:
        """With noise σ (c,): unknowns, and η with x_e = x̂_e − C^½ η, whose prior is one row each; values (e,) and root
        C^½ (e, e) of those ``known`` (e,). Values (u,) of the unknowns, the gain L (u, c · m) for rows that are not
        divided by anything, and ``_noise``."""
        cells, m, e = self.cells, self.cells.unknowns, len(known)
        weight = np.repeat(1.0 / (sigma * np.sqrt(cells.inflation[self.mine])), m)[:, None]
        a, b = self.rows(self.active) * weight, self.rows(known) * weight
        right = self.rows(np.array([m]))[:, 0] * weight[:, 0] - b @ values
        system = np.block([[a, -b @ root], [np.zeros((e, a.shape[1])), np.eye(e)]])
        norm = np.linalg.norm(system, axis=0)
        u, s, vt = np.linalg.svd(system / norm, full_matrices=False)
        kept = s > SINGULAR_VALUE_TOLERANCE * s.max(initial=0.0)
        inverse = (vt[kept].T / s[kept]) @ u[:, kept].T / norm[:, None]
        found = inverse @ np.append(right, np.zeros(e))
        residual = (right - system[: len(right)] @ found) / weight[:, 0]
        leverage = (u[: len(right), kept] ** 2).sum(axis=1)
        noise, left = self._noise((residual**2).reshape(-1, m).sum(axis=1), leverage.reshape(-1, m).sum(axis=1))
        unknowns = len(self.active)
        return found[:unknowns], inverse[:unknowns, : len(right)] * weight[:, 0], noise, left

    def _noise(self, squares: Array, taken: Array) -> tuple[Array, Array]:
        """σ per cell, of all cells of its source; and the independent degrees of freedom it rests on."""
        cells, mine = self.cells, self.mine
        _, group = np.unique(self.source[mine], return_inverse=True)
        rows, means = cells.rows[mine].astype(float), cells.means[mine]
        squares = squares + cells.factors[mine, -1, -1] ** 2
        signal = (cells.factors[mine, :, -1] ** 2).sum(axis=1)

        def total(values: Array) -> Array:
            return np.asarray(np.bincount(group, values), dtype=float)

        count = np.maximum(total(rows), 1.0)
        freedom = total(rows) - total(taken * cells.inflation[mine])
        variance = total(squares) / np.maximum(freedom, 1.0)
        posed = total(means.astype(float)) > 0.0
        if posed.any():
            scatter = total(np.where(means, cells.scatter[mine], 0.0) * rows) / count
            variance[posed] = _of_poses(total(squares)[posed], freedom[posed], scatter[posed])
        floor = EXACT_DATA_NOISE * np.sqrt(total(signal) / count)
        sigma = np.maximum(np.sqrt(variance), np.maximum(floor, 1e-300))
        left = np.maximum(total(cells.independent[mine]) - total(taken), 1.0)
        return np.asarray(sigma[group]), np.asarray(left[group])


def speaking_of(cells: Cells, mine: BoolArray) -> Index:
    """Unknowns that have a part in equations of some cells; less is rounding."""
    size = np.abs(cells.factors[:, :, :-1])
    return np.flatnonzero(size[mine].max(axis=(0, 1), initial=0.0) > SINGULAR_VALUE_TOLERANCE * size.max())


class StageSolver:
    """A stage at work: mine (c,): its cells; unknown (u,) and known (e,) parameters that they speak of."""

    def __init__(self, state: State, stage: int, chosen: BoolArray, alone: bool) -> None:
        cells = state.cells
        self.state, self.mine = state, cells.used[:, stage]
        self.source = cells.sources(stage)
        active = speaking_of(cells, self.mine)
        self.unknown = active[~state.known[active] & (chosen[active] if alone else True)]
        self.known = active[state.known[active]]
        self.system = JointSystem(cells, self.source, self.mine, self.unknown)

    @property
    def determined(self) -> BoolArray:
        return self.system.determined

    def solve(self, wanted: BoolArray) -> None:
        """The unknown parameters ``wanted`` (u,) become known, with noise from the residuals, both in agreement."""
        first = self._solve(np.ones(int(self.mine.sum())))[2]
        _, sigma, _ = until_noise_settles(lambda sigma: (None, self._solve(sigma)[2]), first)
        found, gain, _, left = self._solve(sigma)
        state, mine, own, gain = self.state, np.flatnonzero(self.mine), self.unknown[wanted], gain[wanted]
        state.errors[own] = -np.tensordot(gain @ self.system.rows(self.known), state.errors[self.known], axes=1)
        state.errors[np.ix_(own, mine)] += gain.reshape(len(own), len(mine), len(state.values))
        state.values[own], state.known[own], state.noise[mine], state.left[mine] = found[wanted], True, sigma, left
        state.source[mine] = self.source[mine]

    def _solve(self, sigma: Array) -> tuple[Array, Array, Array, Array]:
        known = self.known
        root = np.asarray(np.linalg.qr(self.state.root[known].T, mode="r")).T  # (e, e) C^½, without forming C
        return self.system.solve(sigma, known, self.state.values[known], root)


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
    adds the parameters of link j to those of the links after it, which are known by then.

    known: as ``StageSequence``. Unless asked for, the answer is that of weighted least squares."""

    word, title = "links", "least squares link by link"
    inner = ("planned",)
    known: Switch = False
    planned: tuple[PlannedRun, ...] | None = None

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        names = problem.model.robot.joint_names
        return tuple(
            Stage(f"link of {names[j]}", joints=(j,), runs=moving_in(self.planned, (names[j],)))
            for j in reversed(range(len(names)))
        )


@dataclass(frozen=True)
class TwoStep(StageSequence):
    """The last ``wrist`` joints first, then the others with the wrist known (12.7): for robots whose wrist links are
    of another order of magnitude than those of the shoulder. None: those that move alone in a plan; without one three,
    of a short arm half. known: as ``StageSequence``."""

    word, title = "two-step", "least squares in two steps, wrist first"
    inner = ("planned",)
    wrist: Annotated[int | None, Whole(1)] = None
    known: Switch = False
    planned: tuple[PlannedRun, ...] | None = None

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        n, names = problem.model.n, problem.model.robot.joint_names
        wrist = self.wrist
        if wrist is None:
            wrist = wrist_of(self.planned, names) or min(USUAL_WRIST_JOINTS, max(1, n // 2))
        if not 0 < wrist < n:
            raise ParameterError(f"a wrist of {wrist} joints; the robot has {n}: give 1 … {n - 1}")
        first = n - wrist
        return tuple(
            Stage(name, joints=tuple(some), runs=moving_in(self.planned, [names[j] for j in some]))
            for name, some in (("wrist", range(first, n)), ("shoulder", range(first)))
        )


@dataclass(frozen=True)
class StaticThenDynamic(StageSequence):
    """Gravity from poses at rest, then the inertias and friction from motion, gravity known (Rackl et al. 2012).

    Rests on torques at rest being those of gravity, and of friction that holds a joint against the way it came, an
    unknown of its own for every joint: approach poses from both sides. How it varies from pose to pose is an error of
    the pose, and shows in σ. No derivatives are needed, and nothing is filtered. Sensors on the link side see none of
    that friction. rest: what a pose is, where no plan says when the robot stands still.

    runs: names of the runs that hold the poses, all unless given. known: as ``StageSequence``."""

    word, title = "static", "least squares from poses at rest, then from motion"
    flat, inner = ("rest",), ("planned",)
    rest: AtRest = field(default_factory=AtRest)
    runs: Annotated[tuple[str, ...] | None, ListOfTexts("runs", least=1)] = None
    known: Switch = False
    planned: tuple[PlannedRun, ...] | None = None

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        at_rest = resting_in(self.planned, "static")
        poses = tuple(
            Stage(one.stage, acting_at_rest, runs=self.runs, spans={one.run: one.dwells}, poses=True) for one in at_rest
        ) or (Stage("static", acting_at_rest, selection=self.rest, runs=self.runs, poses=True),)
        return (*poses, Stage("dynamic", selection=Unused(), runs=free_in(self.planned)))


@dataclass(frozen=True)
class FrictionFirst(StageSequence):
    """Friction axis by axis from where the joint moves at constant velocity, then the rest (12.3.3 ii).

    Whatever else acts on the axis there (gravity, Coriolis) is estimated along and forgotten, so that nothing is
    assumed about it; the axis must move both ways, or its friction cannot be separated from gravity and offset.
    Equations are used once: by the friction of their axis, or by the rest. steady: what constant velocity is, where no
    plan says when a joint has it. known: as ``StageSequence``."""

    word, title = "friction-first", "least squares with the friction first"
    flat, inner = ("steady",), ("planned",)
    steady: SteadyMotion = field(default_factory=SteadyMotion)
    known: Switch = False
    planned: tuple[PlannedRun, ...] | None = None

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        cruises = cruising_in(self.planned, "friction-first")
        axes = list[Stage]()
        for j, name in enumerate(problem.model.robot.joint_names):
            if not friction_of(j)(problem).any() or (cruises is not None and name not in cruises):
                continue
            selection, spans = (self.steady, None) if cruises is None else (Everything(), cruises[name])
            axes.append(Stage(f"friction of {name}", friction_of(j), joints=(j,), selection=selection, spans=spans))
        return (*axes, Stage("rest", selection=Unused(), runs=free_in(self.planned)))
