"""Evidence that checks read, computed once: from one pass over all samples, in memory that does not grow with the log,
tallies, coarse positions and evenly spread windows of it; from these and the robot's model the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, product
from typing import NamedTuple

import numpy as np
import scipy

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.plan import PlannedStage
from exciter.experiment.quality import sample_tallies as tallies
from exciter.experiment.quality.believable import body_spread
from exciter.experiment.quality.delays import Delays, delays_of
from exciter.experiment.quality.explanations import ChangeSearch, Explanation
from exciter.experiment.quality.joint_order_and_signs import (
    Arrangement,
    arrangement_of,
    driving_friction,
    with_reserve,
)
from exciter.experiment.quality.smoothed_log import EffortRows, Smooth, smooth, uniform_pieces
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.resample import window
from exciter.independent_blocks import upper_factor
from exciter.parameters.consistency import consistency, dummies
from exciter.parameters.terms import Coulomb, JointTerm, Offset, RotorInertia, Viscous
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray, Index

GOLDEN_RATIO = 0.5 * (5.0**0.5 - 1.0)
TALLIES = ("timing", "missing", "values", "plateaus", "spikes", "coarse", "spread")
COARSE_BIN_S = 0.02
MOST_COARSE_BINS = 2**18  # beyond it neighbours are merged
FARTHEST_COARSE_BIN = 2.0**53  # times beyond are absurd, and reported by the check of the rate
REST_NOISE_SIGMAS = 6.0  # extent of the coarse positions of a joint at rest
SAME_MOTION_VARIANCE = 0.003  # share: mean square difference, halved, of a motion and itself one period later
OTHER_MOTION_VARIANCE = 0.05  # share: so far it must differ in between
CONTEXT_SAMPLES = 64  # of the piece before, that a tally gets again
INTERVAL_SAMPLES = 1000  # that the nominal interval is taken from
CHUNK_SAMPLES = 65_536
SIGNAL_UNITS = {"q": ("rad", "m"), "qd": ("rad/s", "m/s"), "torque": ("N·m", "N")}  # where joints turn, and slide
OUTLIER_POSITION_SHARE = 0.01  # share of positions at either end that may be outliers
USUAL_TERMS: tuple[JointTerm, ...] = (RotorInertia(), Viscous(), Coulomb(), Offset())
FOREIGN_UNIT_SIZES = {"deg": 180.0 / np.pi, "mm": 1000.0}
TWO_TURNS_RAD = 4.0 * np.pi  # [rad] positions beyond two turns are rare without a description that says so
FAR_OUTSIDE_RANGE_SHARE = 1.0  # of the allowed range, beyond its ends: more than a wrong zero
LIMIT_TOLERANCE_SHARE = 0.1  # of the allowed range: limits of descriptions are not exact
REWEIGHTED_FITS = 3  # fits, each with the residuals of the one before as noise
SINGULAR_EXCITATION = 1e-10  # relative singular value of rows with unit columns that is none
#: purposes of a stage
REST, CONSTANT_VELOCITY, LOCKED, EXCITATION = "rest", "constant-velocity", "locked", "excitation"
RESTING_ROW_SHARE = 0.05  # of a joint's fastest: slower, friction that holds it may be of any size
UNEXCITED_SHARE = 1e-6  # share in a combination that the motion does not show


class Windows:
    """Blocks of ``size`` samples. While the log grows beyond ``most`` samples, those with the largest fractional part
    of k φ, k their number and φ the golden ratio, are given up: what is kept stays evenly spread from beginning to end,
    at distances that never fall into step with a motion that repeats."""

    def __init__(self, size: int, most: int) -> None:
        self._size, self._blocks = size, max(most // size, 2)
        self._count = 0
        self._kept: dict[int, Recording] = {}
        self._rest: Recording | None = None

    def see(self, piece: Recording, old: int) -> None:
        fresh = piece[old:]
        rest = fresh if self._rest is None else Recording.join([self._rest, fresh])
        at = 0
        while len(rest) - at >= self._size:
            self._kept[self._count] = rest[at : at + self._size]
            self._count, at = self._count + 1, at + self._size
            if len(self._kept) > self._blocks:
                del self._kept[max(self._kept, key=lambda k: k * GOLDEN_RATIO % 1.0)]
        self._rest = rest[at:]

    @property
    def complete(self) -> bool:
        """Whether nothing was left out."""
        return self._count == len(self._kept)

    def windows(self) -> tuple[Recording, ...]:
        """Neighbouring blocks joined."""
        blocks = dict(self._kept)
        if self._rest is not None and len(self._rest) and (self.complete or not blocks):
            blocks[self._count] = self._rest
        joined: list[list[Recording]] = []
        for k, block in sorted(blocks.items()):
            if k - 1 not in blocks:
                joined.append([])
            joined[-1].append(block)
        return tuple(Recording.join(parts) for parts in joined)


class Coarse:
    """Mean positions over bins of ``width`` [s] from the first sample on, few enough to keep of a log of any length."""

    def __init__(self, interval: float) -> None:
        self.width = max(COARSE_BIN_S, 1.5 * interval)
        self._start: float | None = None
        self._parts = list[tuple[Index, Array]]()  # bins, and sums (bins, n + 1): positions, number of samples

    def see(self, piece: Recording, old: int) -> None:
        time, q = piece.time[old:], piece.q[old:]
        good = np.isfinite(q).all(axis=1)
        if not good.any():
            return
        if self._start is None:
            self._start = float(time[0])
        index = np.minimum((time[good] - self._start) / self.width, FARTHEST_COARSE_BIN).astype(np.int64)
        self._parts.append(_summed(index, np.column_stack([q[good], np.ones(int(good.sum()))])))
        while sum(len(index) for index, _ in self._parts) > MOST_COARSE_BINS:
            index, sums = map(np.concatenate, zip(*self._parts, strict=True))
            self._parts, self.width = [_summed(index // 2, sums)], 2.0 * self.width

    def positions(self) -> tuple[Array, Array]:
        """Times (M,) [s] of the bins' middles and mean positions (M, n)."""
        if self._start is None:
            return np.zeros(0), np.zeros((0, 0))
        index, sums = _summed(*map(np.concatenate, zip(*self._parts, strict=True)))
        return np.asarray(self._start + (index + 0.5) * self.width, dtype=float), sums[:, :-1] / sums[:, -1:]


def _summed(index: Index, rows: Array) -> tuple[Index, Array]:
    """Rows of the same bin, which follow each other, together."""
    kept, first = np.unique(index, return_index=True)
    return kept, np.add.reduceat(rows, first, axis=0)


class RestTimes(NamedTuple):
    """start, end [s]: when a joint first moves, and last; None: never. share (n,): of it in which a joint rests."""

    start: float | None
    end: float | None
    share: Array


def difference(q: Array) -> Array:
    """(2M/3,) mean square difference between q and itself k bins later over twice its variance, all joints alike."""
    count = len(q)
    lags = np.arange(2 * count // 3)  # two whole periods must show, to the bin
    total, used = np.zeros(len(lags)), 0
    size = 1 << int(np.ceil(np.log2(2 * count)))
    for x in (q - q.mean(axis=0)).T:
        variance = float(x @ x) / count
        if variance <= 0.0:
            continue
        product = np.fft.irfft(np.abs(np.fft.rfft(x, size)) ** 2, size)[: len(lags)]
        squares = np.concatenate([[0.0], np.cumsum(x**2)])
        head, tail = squares[count - lags], squares[count] - squares[lags]
        total += (head + tail - 2.0 * product) / (count - lags) / (2.0 * variance)
        used += 1
    return total / max(used, 1)


def visible_period(time: Array, q: Array) -> float | None:
    """[s] of a motion on uniform times that is there at least one and a half times."""
    if len(time) < 32:
        return None
    d = difference(q)
    left = np.flatnonzero(d > OTHER_MOTION_VARIANCE)
    if not left.size:
        return None
    later = d[left[0] :]
    before, here, after = later[:-2], later[1:-1], later[2:]
    least = np.flatnonzero((here <= before) & (here < after) & (here < SAME_MOTION_VARIANCE)) + 1
    if not least.size:
        return None
    k = int(least[0])
    a, b, c = later[k - 1 : k + 2]
    bend = a - 2.0 * b + c
    return float((left[0] + k + (0.5 * (a - c) / bend if bend > 0 else 0.0)) * (time[1] - time[0]))


class Evidence:
    """The robot's joints are those of the pieces, in the same order; its gravity is as the recording says. effort_name:
    torque, or current in its place; gains (n,): turn it into torque, where it is a current and they are known. silent:
    numbers of joints whose torque is unusable, and zero, or that do not move in the stage of a plan, or have no drive.
    stands: on contacts whose forces were not measured. loaded: the robot carries something that its description does
    not know. stage: of a plan, which says what the log is for.
    remarks: of how it was read. tallied: what is counted of every sample."""

    def __init__(
        self,
        pieces: Iterable[Recording],
        limits: Thresholds,
        robot: Robot | None = None,
        model: DynamicModel | None = None,
        planned: Curve | None = None,
        *,
        loaded: bool = False,
        stage: PlannedStage | None = None,
        tallied: Collection[str] = TALLIES,
    ) -> None:
        stream = iter(pieces)  # in order of time, seen once
        head = Recording.join(window(stream, INTERVAL_SAMPLES))
        if len(head) < 2:
            raise RecordingError(f"a recording of {len(head)} samples cannot be judged; at least 2 are needed")
        self.joints, self.signals, self.about, step = head.joints, head.signals, head.about, np.diff(head.time)
        self.stage, self.unusable, self.remarks = stage, head.silent, head.notes
        moves = self.joints if stage is None or not stage.moves else stage.moves
        self.held = tuple(j for j, name in enumerate(self.joints) if name not in moves)
        undriven = {j for j, name in enumerate(self.joints) if name in head.undriven}
        self.silent, self.stands = tuple(sorted({*head.silent, *self.held, *undriven})), head.contact is not None
        if not (step > 0).any():
            why = f"time stays at {head.time[0]:.6g} s over {len(head)} samples; is it the right column? without one, "
            raise RecordingError(why + "give time: {rate: …} [Hz]")
        interval = float(np.median(step[step > 0]))
        self.timing, self.missing = tallies.SampleTiming(interval, limits.gap), tallies.MissingValues()
        self.values = tallies.ValueRanges(robot, limits.at_limit)
        self.plateaus = tallies.Plateaus(max(limits.stuck, 5.0 * interval))
        self.spikes = tallies.Spikes(robot, limits)
        self.coarse, self.spread = Coarse(interval), Windows(limits.window, limits.most_samples)
        counts = [getattr(self, name) for name in tallied]
        context = head[:0]
        for piece in (piece for whole in chain([head], stream) for piece in whole.chunks(CHUNK_SAMPLES)):
            if (piece.joints, piece.signals) != (context.joints, context.signals):
                raise RecordingError("the pieces of the recording do not have the same joints and signals")
            if len(context) and piece.time[0] < context.time[-1]:
                why = f"time runs backwards from {context.time[-1]:.6g} s to {piece.time[0]:.6g} s between two pieces"
                raise RecordingError(why)
            whole = Recording.join([context, tallies.sane(piece)])
            for tally in counts:
                tally.see(whole, len(context))
            context = whole[-CONTEXT_SAMPLES:]
        if robot is not None and self.about.gravity is not None:
            robot = replace(robot, gravity=np.array(self.about.gravity))
        self.limits, self.robot, self.given_model, self.planned = limits, robot, model, planned
        self.loaded = loaded or self.about.payload is not None
        self.effort_name = next((name for name in ("torque", "current") if name in self.signals), None)
        of_current = self.effort_name == "current"
        known = of_current and self.about.knows_torques
        self.to_torque = partial(self.about.to_torque, joints=self.joints) if known else None
        self.effort_unit = "A" if of_current and self.to_torque is None else "N·m"

    @cached_property
    def windows(self) -> tuple[Recording, ...]:
        return self.spread.windows()

    @property
    def channels(self) -> Iterator[tuple[str, int, str, list[Array]]]:
        """Signal, number and name of the joint, and values (K,) of every window."""
        for name, (j, joint) in product(self.signals, enumerate(self.joints)):
            yield name, j, joint, [getattr(window, name)[:, j] for window in self.windows]

    def unit(self, signal: str, j: int) -> str:
        """Of a signal of joint j. Without a robot joints turn."""
        slides = self.robot is not None and self.robot.joints[j].is_prismatic
        return SIGNAL_UNITS[signal][slides] if signal in SIGNAL_UNITS else "A"

    @cached_property
    def pieces(self) -> tuple[Recording, ...]:
        interval = self.timing.interval
        gap = max(self.limits.long_gap, 3.0 * interval)
        return tuple(uniform_pieces(self.windows, self.effort_name, self.to_torque, interval, gap))

    @cached_property
    def smooth(self) -> Smooth | None:
        """None when the log is too short or too torn for a filter."""
        return smooth(self.pieces, self.timing.interval, self.limits.most_rows)

    @cached_property
    def rest(self) -> RestTimes:
        """A joint rests while a window's positions lie within a small part of its usual way, or within its noise."""
        (time, q), width, limits = self.coarse.positions(), self.coarse.width, self.limits
        size, resting = max(3, round(limits.rest_window / width) | 1), np.zeros(q.shape, dtype=bool)
        if len(time) >= 2 * size:
            usual = np.quantile(np.abs(np.diff(q, axis=0)) / np.diff(time)[:, None], 0.95, axis=0)
            third = np.diff(q, 3, axis=0)  # of white noise: √20 times its standard deviation
            noise = tallies.SIGMA_OVER_MAD * np.median(np.abs(third), axis=0) / np.sqrt(20.0)
            still = np.maximum(limits.rest_speed * usual * size * width, REST_NOISE_SIGMAS * noise)
            extent = scipy.ndimage.maximum_filter1d(q, size, axis=0) - scipy.ndimage.minimum_filter1d(q, size, axis=0)
            resting = scipy.ndimage.binary_dilation(extent <= still, np.ones((size, 1), dtype=bool))
        moving = np.flatnonzero(~resting.all(axis=1))
        if not moving.size:
            return RestTimes(None, None, np.ones(q.shape[1]))
        start, end = float(time[moving[0]] - 0.5 * width), float(time[moving[-1]] + 0.5 * width)
        return RestTimes(start, end, resting[(time >= start) & (time <= end)].mean(axis=0))

    @cached_property
    def foreign_units(self) -> dict[int, str]:
        """deg or mm, by joint whose positions look like it; wrong single samples and angles that wrap do not count."""
        q = np.concatenate([window.q for window in self.windows])
        if not np.isfinite(q).any(axis=0).all():
            return {}
        low, high = np.nanquantile(q, (OUTLIER_POSITION_SHARE, 1.0 - OUTLIER_POSITION_SHARE), axis=0)
        return {j: n for j, n in foreign_units(low, high, self.robot).items() if j not in self.spikes.turns}

    @cached_property
    def inertias_known(self) -> bool:
        """Whether the description's inertias can be those of the robot: physical, and no placeholders; and most joints
        move at once, so that their torques can be those of bodies."""
        return (
            not self.in_turns
            and self.robot is not None
            and not dummies(self.robot)
            and consistency(self.robot.inertias).consistent
        )

    @property
    def in_turns(self) -> bool:
        """Whether joints rest while others move: what holds them is not what a model says."""
        return self.stage is not None and self.stage.purpose not in (REST, EXCITATION)

    @property
    def resting(self) -> BoolArray:
        """(N, n) of smooth rows: a joint hardly moves, or must not."""
        assert self.smooth is not None
        speed = np.abs(self.smooth.motion.qd)
        rests = speed < RESTING_ROW_SHARE * speed.max(axis=0, initial=0.0)
        rests[:, list(self.held)] = True
        return np.asarray(rests)

    @property
    def other_units(self) -> bool:
        """Positions or times are in another unit: whatever torque is compared with would be wrong."""
        timing, limits = self.timing, self.limits
        steady = timing.longest <= limits.longest_step and limits.slowest_rate <= timing.rate <= limits.fastest_rate
        return bool(self.foreign_units) or not steady

    @property
    def too_short(self) -> bool:
        """For torques to be judged."""
        return self.timing.duration < self.limits.shortest_judged

    @cached_property
    def rows(self) -> EffortRows | None:
        """Of the model given, or of rigid bodies and ``USUAL_TERMS``. None without effort, robot or rows at all, or
        where units are other ones."""
        if self.robot is None or self.smooth is None or self.smooth.effort is None or self.other_units:
            return None
        if self.stands:  # on forces that nobody knows
            return None
        model = self.given_model or DynamicModel(self.robot, USUAL_TERMS)
        model = model if model.robot is self.robot else replace(model, robot=self.robot)
        rows, rests = self.smooth, np.zeros(self.smooth.effort.shape, dtype=bool)
        if self.stage is not None and self.stage.purpose == REST:
            rows = rows.where(np.asarray(~self.resting.all(axis=1)))
            rests = rests[: len(rows)]
        elif self.in_turns:
            rests = self.resting
        rests[:, list(self.silent)] = True
        assert rows.effort is not None
        layout = model.layout(model.base.independent)
        regressor = np.concatenate([phi for _, phi in model.regressor_chunks(rows.motion, layout=layout)])
        effort = rows.effort
        if rests.any():
            regressor, effort = np.array(regressor), np.array(effort)
            regressor[rests], effort[rests] = 0.0, 0.0  # 0 = 0: no equation
        return EffortRows(rows, effort, model, regressor, self.silent)

    @cached_property
    def excitation(self) -> Excitation | None:
        """None where rows are fewer than twice the parameters, or missing altogether."""
        if self.rows is None or self.rows.effort.size < 2 * self.rows.regressor.shape[2]:
            return None
        names, independent = self.rows.model.base.names, self.rows.smooth.independent
        return excitation_of(self.rows.regressor, self.rows.effort, names, independent)

    @cached_property
    def voting(self) -> EffortRows | None:
        """Rows by which order and signs are judged: of drives that are not at their limits; None where those are for
        less than ``shortest_judged``."""
        if self.rows is None or self.too_short or self.effort_unit == "A":
            return None if self.too_short else self.rows
        free = with_reserve(self.rows, self.pieces, self.limits)
        rows = self.rows if free.all() else self.rows.where(free)
        return rows if rows.smooth.duration >= self.limits.shortest_judged else None

    @property
    def at_limits(self) -> bool:
        """Drives are at their limits nearly all the time."""
        return self.rows is not None and not self.too_short and self.voting is None

    @cached_property
    def explanation(self) -> Explanation | None:
        """What a believable robot needs changed in the log; None where inertias or torques are unknown, or too few."""
        if self.voting is None or not self.inertias_known or self.silent:
            return None
        amperes, loaded = self.effort_unit == "A", self.loaded
        return ChangeSearch(self.voting, self.limits, self.given_model, loaded=loaded, amperes=amperes).run()

    @property
    def changed(self) -> set[int]:
        """Joints of which something is known to be wrong: order, sign, unit or zero."""
        changes = () if self.explanation is None else self.explanation.changes
        return {j for change in changes for j in change.joints}

    @cached_property
    def arrangement(self) -> Arrangement:
        if self.voting is None:
            return Arrangement()
        if not self.inertias_known:
            return Arrangement(driving=driving_friction(self.voting, self.limits))
        of_torque = self.effort_unit == "N·m"
        spread = None if not of_torque or self.loaded else body_spread(self.voting.model.robot.inertias)
        return arrangement_of(self.voting, self.limits, self.changed, spread, of_torque=of_torque)

    @cached_property
    def delays(self) -> Delays | None:
        """None without effort, without rows at all, or where units are other ones."""
        if self.smooth is None or self.smooth.effort is None or self.other_units:
            return None
        if self.stage is not None and self.stage.purpose != EXCITATION:  # joints that rest say nothing of it
            return None
        return delays_of(self.smooth, None if self.rows is None else self.rows.regressor, self.about.period)


def foreign_units(low: Array, high: Array, robot: Robot | None) -> dict[int, str]:
    """deg or mm by joint whose positions (n,) lie far outside of what is allowed, and within it when converted. A log
    that has most of its angles in degrees has all of them so, where they fit."""
    if robot is None:
        return dict.fromkeys(np.flatnonzero(np.maximum(np.abs(low), np.abs(high)) > TWO_TURNS_RAD).tolist(), "deg")
    slides = np.array([joint.is_prismatic for joint in robot.joints])
    lower, upper = robot.position_range()
    span = upper - lower
    size = np.where(slides, FOREIGN_UNIT_SIZES["mm"], FOREIGN_UNIT_SIZES["deg"])
    far = (low < lower - FAR_OUTSIDE_RANGE_SHARE * span) | (high > upper + FAR_OUTSIDE_RANGE_SHARE * span)
    fits = (low / size >= lower - LIMIT_TOLERANCE_SHARE * span) & (high / size <= upper + LIMIT_TOLERANCE_SHARE * span)
    angles = fits & ~slides
    found = far & fits | angles if 2 * (far & angles).sum() > (~slides).sum() else far & fits
    return {j: "mm" if slides[j] else "deg" for j in np.flatnonzero(found).tolist()}


@dataclass(frozen=True, eq=False)
class Excitation:
    """condition: with columns of unit length, rows over their noise. values, std, inflation (b,): a plain fit, its σ,
    and that over σ with all other parameters known. noise (n,): what the fit leaves of the torque [N·m or A]."""

    names: tuple[str, ...]
    condition: float
    values: Array
    std: Array
    inflation: Array
    noise: Array


def _factor(w: Array, y: Array) -> Array:
    """(m, b + 1) triangular rows that say what w (N, b) and y (N,) do; found from the columns that are not zero."""
    seen = np.flatnonzero(np.append(w.any(axis=0), True))
    triangle: Array = np.asarray(np.linalg.qr(np.column_stack([w, y])[:, seen], mode="r"))
    found = np.zeros((len(triangle), w.shape[1] + 1))
    found[:, seen] = triangle
    return found


def excitation_of(rows: Array, effort: Array, names: tuple[str, ...], independent: float) -> Excitation:
    """From rows (N, n, b) and effort (N, n), worth ``independent`` samples."""
    samples, n, b = rows.shape
    factors = [_factor(rows[:, j], effort[:, j]) for j in range(n)]
    size = np.sqrt(np.mean(effort**2, axis=0))
    noise = np.where(size > 0, size, 1.0)
    values = np.zeros(b)
    condition, inflation, norms = np.inf, np.full(b, np.inf), np.zeros(b)
    for _ in range(REWEIGHTED_FITS):
        stacked = np.vstack([factor / sigma for factor, sigma in zip(factors, noise, strict=True)])
        norms = np.linalg.norm(stacked[:, :b], axis=0)
        length = np.where(norms > 0, norms, 1.0)
        triangle = upper_factor(stacked / np.append(length, 1.0))
        u, s, vt = np.linalg.svd(triangle[:b, :b])
        kept = s > SINGULAR_EXCITATION * s[0]
        condition = float(s[0] / s[-1]) if kept.all() else np.inf
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        values = vt.T @ (inverse * (u.T @ triangle[:b, b])) / length
        inflation = np.linalg.norm(vt.T * inverse, axis=1)
        inflation[(np.abs(vt[~kept]) > UNEXCITED_SHARE).any(axis=0)] = np.inf
        left = np.array([np.linalg.norm(factor @ np.append(-values, 1.0)) for factor in factors]) / np.sqrt(samples)
        lost = np.sqrt(max(1.0 - b / (n * max(independent, 1.0)), 0.1))
        noise = np.maximum(left / lost, 1e-9 * np.where(size > 0, size, 1.0))
    inflation[norms == 0] = np.inf
    std = inflation / np.where(norms > 0, norms, 1.0) * np.sqrt(samples / max(independent, 1.0))
    return Excitation(names=names, condition=condition, values=values, std=std, inflation=inflation, noise=noise)
