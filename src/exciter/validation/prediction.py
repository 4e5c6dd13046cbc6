"""What was measured beside what models predict, instant by instant, as it enters the equations.

Both sides went through the same filter, and a known payload was taken off: y = W β + residual. Beside the identified
model stand the description's own parameters and the description's gravity alone, through the same filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from exciter.dynamics.base_reaction import BaseReaction
from exciter.dynamics.dynamics import Dynamics, Pictures
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.quality.smoothed_log import columns_at
from exciter.experiment.recording.recording import WRENCH_UNITS
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.dynamic import WRENCH_EQUATIONS, InverseDynamic
from exciter.identification.formulations.formulation import NO_COLUMNS
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.residual_autocorrelation import by_time
from exciter.robot import Motion, Robot
from exciter.typing import Array, BoolArray

MOST_PREDICTED_INSTANTS = 200_000  #: instants that are held in memory
BAND_CONFIDENCE_LEVEL = 0.95  #: of the confidence band


@dataclass(frozen=True, eq=False)
class Prediction:
    """N instants of ``run`` with J equations each, ``joints`` in ``units``; ``rate`` [Hz] of the rows.
    time (N,) [s]; q, qd, qdd (N, n): the motion of the robot's joints then. measured (N, J): the left side of the
    equations; predicted, description, gravity (N, J): by the estimate, by the description's own parameters, and by the
    description's gravity alone; band (N, J): half the width of the 95 % confidence band of ``predicted``. temperature
    (N, n) [°C]: where it was recorded, NaN where a sample is missing. complete: whether these are all. counted: how
    many equations of each joint there are, where some rest (see ``Rows.present``), or forces of the ground took of
    them; there: at how many instants something of them is left (``Rows.there``). moves (N, J): whether a joint has an
    equation then; None: always. Filters spread what is missing over the instants beside."""

    run: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    rate: float
    time: Array
    q: Array
    qd: Array
    qdd: Array
    measured: Array
    predicted: Array
    band: Array
    description: Array
    gravity: Array
    complete: bool = True
    temperature: Array | None = None
    counted: tuple[float, ...] = ()
    there: tuple[float, ...] = ()
    moves: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.time)

    @property
    def residual(self) -> Array:
        """(N, J) measured less predicted."""
        return np.asarray(self.measured - self.predicted)

    @property
    def of_joints(self) -> bool:
        """Whether the equations are those of the robot's joints, one each; not so for a force plate or a power."""
        return len(self.joints) == self.q.shape[1] and self.joints != WRENCH_EQUATIONS

    def pictures(self, robot: Robot, frame: str) -> Pictures:
        """Positions at even times, between those of the equations, and the path of a frame."""
        between = partial(columns_at, time=self.time, x=self.q)
        return Pictures.of(Dynamics(robot), frame, float(self.time[0]), float(self.time[-1]), between)

    @classmethod
    def of(cls, problem: Problem, estimate: Estimate, most: int = MOST_PREDICTED_INSTANTS) -> Prediction:
        """The runs of a problem, one after the other; the first ``most`` instants of them."""
        whole = cls.join(list(predictions(problem, estimate)))
        complete = len(whole) <= most
        return replace(whole if complete else whole[:most], run=problem.run_names, complete=complete)

    def __getitem__(self, part: slice) -> Prediction:
        chosen: dict[str, Any] = {name: values[part] for name, values in self._arrays()}
        return replace(self, **chosen, counted=(), there=())

    @staticmethod
    def join(pieces: Sequence[Prediction]) -> Prediction:
        if not pieces:
            raise RecordingError("there are no equations to predict; is the recording shorter than its filters' edges?")
        same = dict(pieces[0]._arrays()).keys() - {"temperature"}
        joined: dict[str, Any] = {name: np.concatenate([getattr(p, name) for p in pieces]) for name in same}
        temperature = _temperature([(p.temperature, p.q) for p in pieces])
        for name in ("counted", "there"):
            counts = [getattr(p, name) for p in pieces]
            joined[name] = tuple(np.sum(counts, axis=0).tolist()) if all(counts) else ()
        return replace(pieces[0], **joined, temperature=temperature)

    def _arrays(self) -> Iterator[tuple[str, Any]]:
        for field in fields(self):
            if isinstance(value := getattr(self, field.name), np.ndarray):
                yield field.name, value


def _temperature(pieces: Sequence[tuple[Array | None, Array]]) -> Array | None:
    """(N, n) of pieces one after the other, given with positions; NaN where one has none, None where all have none."""
    if all(values is None for values, _ in pieces):
        return None
    return np.concatenate([np.full_like(q, np.nan) if values is None else values for values, q in pieces])


def predictions(problem: Problem, estimate: Estimate) -> Iterator[Prediction]:
    """Piece by piece in order of time, run after run: any length in constant memory. One pass over the rows."""
    if estimate.names != problem.names:
        raise ParameterError("the estimate is of other parameters than the problem; it does not predict its torques")
    values, vectors = np.linalg.eigh(estimate.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    models = np.stack([estimate.values, problem.nominal])
    reach = estimate.quantile(BAND_CONFIDENCE_LEVEL)
    zone = problem.formulation.zone(problem.model) if isinstance(problem.formulation, InverseDynamic) else None
    for run in problem.runs:
        try:
            for rows, gravity, motion, temperature in _rows(problem, run):
                w = by_time(rows)[:, :-1]
                predicted, description = (models @ w).transpose(1, 2, 0)
                yield Prediction(
                    run=run.name,
                    joints=problem.joints,
                    units=equation_units(problem),
                    rate=rows.rate,
                    **vars(motion),
                    measured=np.ascontiguousarray(rows.y),
                    predicted=np.ascontiguousarray(predicted),
                    band=np.ascontiguousarray(reach * np.linalg.norm(root @ w, axis=1).T),
                    description=np.ascontiguousarray(description),
                    gravity=gravity,
                    temperature=temperature,
                    counted=tuple(rows.counted.tolist()),
                    there=tuple(rows.there.tolist()),
                    moves=None if zone is None else np.abs(motion.qd) >= zone,
                )
        except RecordingError as error:
            raise RecordingError(str(error) if run.name in str(error) else f"{run.name}: {error}") from None


def equation_units(problem: Problem) -> tuple[str, ...]:
    """Of the equations: N·m and N of joints; of anything else what its formulation measures."""
    robot = problem.model.robot
    if problem.formulation.measured == "current":
        return ("A",) * len(problem.joints)
    if problem.joints == robot.joint_names:
        return tuple("N" if joint.is_prismatic else "N·m" for joint in robot.joints)
    return WRENCH_UNITS if problem.joints == WRENCH_EQUATIONS else ("",) * len(problem.joints)


def _rows(problem: Problem, run: Run) -> Iterator[tuple[Rows, Array, Motion, Array | None]]:
    """Equations of a run, gravity (N, J) as the same equations have it, motion and temperature at their instants."""
    model, known = problem.model, problem.formulation.measured == "torque"  # of currents the description says nothing
    behind: list[Processed] = []  # pieces that rows were asked from, until their instants have come out of the filter

    def silent() -> Iterator[Processed]:
        for piece in problem.pieces(run):
            if len(piece):
                behind.append(piece)
            yield at_rest(model, piece) if known else replace(piece, torque=np.zeros_like(piece.torque))

    equations, still = problem.made(run), problem.formulation.rows(model, silent(), NO_COLUMNS)
    for rows, weights in zip(equations, still, strict=True):
        rows[:0].equations()  # refuses what must not be used
        while len(behind) > 1 and behind[1].motion.time[0] <= rows.time[0]:
            del behind[0]
        until, time = rows.time[-1] + 0.5 / rows.rate, rows.time
        used = [piece for piece in behind if piece.motion.time[0] <= until]
        motions = [piece.motion for piece in used]
        stamps, *signals = (np.concatenate([getattr(m, name) for m in motions]) for name in ("time", "q", "qd", "qdd"))
        after = np.minimum(np.searchsorted(stamps, time), len(stamps) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(time - stamps[before] < stamps[after] - time, before, after)
        temperature = _temperature([(piece.temperature, piece.motion.q) for piece in used])
        motion = Motion(time, *(values[nearest] for values in signals))
        yield rows, np.ascontiguousarray(weights.y), motion, None if temperature is None else temperature[nearest]


def at_rest(model: DynamicModel, piece: Processed) -> Processed:
    """With the torque, and the wrench, that the description's gravity alone asks for, in place of what was measured."""
    zero = np.zeros_like(piece.motion.q)
    posture = replace(piece.motion, qd=zero, qdd=zero)
    torque = model.dynamics.inverse_dynamics(posture)
    if piece.wrench is None:
        return replace(piece, torque=torque)
    chi = np.where(np.arange(len(model.standard)) < model.inertial_size, model.nominal, 0.0)
    return replace(piece, torque=torque, wrench=BaseReaction(model).wrench(posture, chi))
