"""Checks of what a stage of a plan is for: did the robot settle at its poses, and come from both sides; did joints move
at constant velocity, both ways; did locked joints stay. Questions that a purpose makes senseless are not asked: a pose
log rests, a locked joint excites nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from exciter.experiment.plan import PlannedStage
from exciter.experiment.quality import motion_checks as motion
from exciter.experiment.quality import torque_checks as torque
from exciter.experiment.quality.evidence import CONSTANT_VELOCITY, EXCITATION, LOCKED, REST, Evidence
from exciter.experiment.quality.numbers_in_words import listed, number, percent
from exciter.notes import Note, note, problem, warning
from exciter.typing import Array

LOCKED_TRAVEL = 0.02  #: [rad or m] a locked joint may have moved
UNSETTLED_SPEED_SHARE = 0.02  # of a joint's fastest, at the middle of a dwell: faster, the robot still moves
FEWEST_DWELL_BINS = 4  # positions of a dwell that are needed to judge it
CRUISE_EDGE_SHARE = 0.2  # of a cruise at both ends, where a controller may still swing
UNSTEADY_SPEED_SHARE = 0.1  # of a cruise's speed: from one bin of time to the next it changes by less
Check = Callable[[Evidence], Iterator[Note]]


def locked_joints(evidence: Evidence) -> Iterator[Note]:
    """Joints that the stage does not move."""
    span = evidence.values.range("q")
    for j in evidence.held:
        if span[j] > LOCKED_TRAVEL:
            unit = evidence.unit("q", j)
            words = (
                f"it moves by {number(span[j])} {unit}, and stands still in stage '{_stage(evidence).name}': is this "
            )
            yield problem("locked joint", f"{words}the log of another stage?", evidence.joints[j], range=float(span[j]))


def as_planned(evidence: Evidence) -> str:
    """Why whole-body torques are not asked about, as is right for a stage that moves some joints, or one by one."""
    stage = _stage(evidence)
    how = "locks joints" if stage.purpose == LOCKED else "moves one or two joints at a time"
    return f"stage '{stage.name}' {how}, as planned"


def poses(evidence: Evidence) -> Iterator[Note]:
    """Whether dwells are in the log, long enough to settle, and approached from both sides."""
    stage = _stage(evidence)
    if (began := _began(evidence)) is None:
        return
    time, q = evidence.coarse.positions()
    speed = np.abs(np.gradient(q, time, axis=0))
    fastest = np.quantile(speed, 0.99, axis=0)
    seen, restless, sides = 0, list[float](), list[Array]()
    for begin, end in stage.dwells:
        inside = (time >= began + begin) & (time <= began + end)
        if inside.sum() < FEWEST_DWELL_BINS or time[-1] < began + end - evidence.coarse.width:
            continue
        seen += 1
        late = inside & (time >= began + 0.5 * (begin + end))
        drift = np.abs(np.polyfit(time[late], q[late], 1)[0]) if late.sum() > 1 else speed[inside][-1]
        if (drift > UNSETTLED_SPEED_SHARE * fastest).any():
            restless.append(begin)
        sides.append(_side(time, q, speed, fastest, began + begin))
    if seen < len(stage.dwells):
        words = f"{seen} of the {len(stage.dwells)} poses of stage '{stage.name}' are in the log; was it cut, or is it "
        yield problem("poses", f"{words}another motion?", seen=seen, planned=len(stage.dwells))
    if not seen:
        return
    yield note("poses", f"the robot stands still at {seen} poses", seen=seen)
    if restless:
        at = ", ".join(f"{one:.3g}" for one in restless[:5])
        words = f"the robot still moves in the second half of {len(restless)} of {seen} dwells (that at {at} s, …): "
        yield warning("poses", f"{words}dwell longer, or stiffen the controller", dwells=restless)
    came = np.array(sides)
    one_sided = [
        evidence.joints[j]
        for j in range(came.shape[1])
        if j not in evidence.held and (came[:, j] != 0.0).any() and abs(came[:, j].sum()) == np.abs(came[:, j]).sum()
    ]
    if one_sided:
        words = f"poses are approached from one side only by {listed(one_sided)}: friction that holds a joint there "
        yield warning("poses", f"{words}cannot be told from an offset; approach them from both", joints=one_sided)


def _side(time: Array, q: Array, speed: Array, fastest: Array, at: float) -> Array:
    """(n,) signs of the last fast motion before an instant [s]; 0 where there was none."""
    before = np.flatnonzero(time < at)
    found = np.zeros(q.shape[1])
    velocity = np.gradient(q, time, axis=0)
    for j in range(q.shape[1]):
        fast = before[speed[before, j] > 0.05 * fastest[j]]
        found[j] = np.sign(velocity[fast[-1], j]) if len(fast) else 0.0
    return found


def cruises(evidence: Evidence) -> Iterator[Note]:
    """Whether joints have the planned velocity, steadily, and both ways."""
    stage, limits = _stage(evidence), evidence.limits
    if (began := _began(evidence)) is None:
        return
    time, q = evidence.coarse.positions()
    off, unsteady, missing, ways = dict[str, float](), dict[str, float](), 0, dict[str, set[float]]()
    for one in stage.cruises:
        j, edge = evidence.joints.index(one.joint), CRUISE_EDGE_SHARE * (one.end - one.start)
        inside = (time >= began + one.start + edge) & (time <= began + one.end - edge)
        if inside.sum() < FEWEST_DWELL_BINS:
            missing += time[-1] < began + one.end - edge
            continue
        slope, start = np.polyfit(time[inside], q[inside, j], 1)
        left = q[inside, j] - (slope * time[inside] + start)
        ripple = float(np.std(np.gradient(left, time[inside]))) / abs(one.speed)
        ways.setdefault(one.joint, set()).add(float(np.sign(slope)))
        if (error := abs(slope / one.speed - 1.0)) > limits.velocity_factor:
            off[one.joint] = max(error, off.get(one.joint, 0.0))
        if ripple > UNSTEADY_SPEED_SHARE:
            unsteady[one.joint] = max(ripple, unsteady.get(one.joint, 0.0))
    if missing:
        words = f"{missing} of the {len(stage.cruises)} stretches at constant velocity of stage '{stage.name}' are not "
        yield problem("constant velocity", f"{words}in the log; was it cut?", missing=missing)
    for joint, error in off.items():
        words = f"its velocity is {percent(error)} off the planned one where it is to be constant"
        yield warning("constant velocity", words, joint, error=float(error))
    for joint, ripple in unsteady.items():
        words = f"its velocity changes by {percent(ripple)} where it is to be constant: the rest of its motion counts, "
        yield note("constant velocity", f"{words}and friction is told the less", joint, ripple=ripple)
    for joint, signs in ways.items():
        if len(signs) < 2:
            words = "it has constant velocity one way only: friction cannot be told from weight and offset"
            yield warning("constant velocity", words, joint)


def _stage(evidence: Evidence) -> PlannedStage:
    assert evidence.stage is not None
    return evidence.stage


def _began(evidence: Evidence) -> float | None:
    """[s] of the log's clock at which the planned motion began."""
    time, q = evidence.coarse.positions()
    if evidence.planned is None or len(time) < FEWEST_DWELL_BINS or evidence.other_units:
        return None
    return motion.began(evidence.planned, time, q)


#: Senseless where joints rest, are locked, or move in turns
OF_FREE_MOTION: tuple[Check, ...] = (
    motion.standstill,
    motion.resting_joints,
    motion.periodicity,
    motion.moves_too_little,
    motion.excitation,
    torque.coupled_drives,
    torque.delay,
)
OF_PURPOSES: dict[str, tuple[Check, ...]] = {REST: (poses,), CONSTANT_VELOCITY: (cruises,)}


def checks_of(usual: Sequence[Check], stage: PlannedStage | None) -> tuple[Check, ...]:
    """Those that make sense for a stage, and those of its purpose."""
    if stage is None:
        return tuple(usual)
    kept = usual if stage.purpose == EXCITATION else [one for one in usual if one not in OF_FREE_MOTION]
    return (*kept, locked_joints, *OF_PURPOSES.get(stage.purpose, ()))
