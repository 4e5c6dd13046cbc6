"""A motion designed for a robot on its feet, tried on one that stands in MuJoCo: does it stay, and what is logged?

The robot of the design (``robot/stance.py``) says which feet touch, and where; the virtual one is that robot on level
ground, with bodies and friction of its own, held by PD and feed-forward (``standing.py``). Its log has joints, pose and
twist of the base and what touches: ``exciter identify`` reads it as it is, with forces of the ground unknown.

Round feet roll, and a closed motion of the base leaves them beside where they were: after some turns a foot stands
where nobody planned it, and lifts. The same way back undoes it: a motion that is repeated goes there and back."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy

from exciter import __version__
from exciter.dynamics.dynamics import Dynamics
from exciter.errors import ExciterError
from exciter.excitation.trajectories.curve import SAME_STATE, Curve, span_of
from exciter.experiment.recording.base_sensing import Contacts
from exciter.experiment.recording.own_log_format import write_recording, written_beside
from exciter.experiment.recording.recording import Recording
from exciter.experiment.virtual import motion_execution
from exciter.experiment.virtual.standing import StandingControl, StandingNoise, StandingRobot, Stood, rolled_motion
from exciter.experiment.virtual.true_parameters import FRICTION_FIELDS, TrueFriction, Truth
from exciter.files import by_name, json_text, prepare, staged
from exciter.notes import Note, texts, warning
from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.coupling import coupled_motion
from exciter.robot.motion import Motion
from exciter.robot.robot import FREE_BASE_JOINTS, Robot
from exciter.robot.stance import footings, touching, upward
from exciter.settings import Number, Settings, Switch
from exciter.typing import Array

SLIPPED_M = 0.005  #: [m] along the ground: farther, and a foot slipped
LEAST_STIFFNESS = 5.0  #: [N·m/rad] of every joint, unless given
GIVEN_WAY_RAD = 0.35  #: [rad] that a joint of a heavier robot gives way, beside the feed-forward
DAMPING_SECONDS = 0.02  #: [s] damping over stiffness
SETTLING_S = 0.5  #: [s] at rest before the motion, in which feet sink into MuJoCo's soft ground


@dataclass(frozen=True)
class StandingSettings(Settings):
    """stiffness [N·m/rad] and damping [N·m·s/rad] of every joint, chosen for the weight unless given (``gains``);
    friction: of the ground, that of the stance unless given; back: whether a motion that is run several times, from
    rest to rest, is run backwards every second time, so that feet roll back to where they were; noise: σ of one sample
    of the log."""

    stiffness: Annotated[float | None, Number(least=0.0, unit="N·m/rad")] = None
    damping: Annotated[float | None, Number(least=0.0, unit="N·m·s/rad")] = None
    friction: Annotated[float | None, Number(above=0.0)] = None
    step: Annotated[float, Number(above=0.0, unit="s")] = 5e-4
    back: Switch = True
    noise: StandingNoise = field(default_factory=StandingNoise)

    def gains(self, robot: Robot) -> tuple[float, float]:
        """Stiffness and damping. A foot's share of the weight, as far from a joint as the base is high, turns it by
        ``GIVEN_WAY_RAD``; a small robot is held by ``LEAST_STIFFNESS``."""
        coupling, feet = robot.coupling, footings(robot)
        assert isinstance(coupling, ClosedLoops)
        share = float(robot.inertias[:, 0].sum() * np.linalg.norm(robot.gravity)) / len(feet)
        base = coupling.home[[robot.index(name) for name in FREE_BASE_JOINTS[:3]]]
        height = float(abs((base - touching(robot).mean(axis=0)) @ upward(robot)))
        chosen = max(LEAST_STIFFNESS, share * height / GIVEN_WAY_RAD)
        stiffness = chosen if self.stiffness is None else self.stiffness
        return stiffness, DAMPING_SECONDS * stiffness if self.damping is None else self.damping


@dataclass(frozen=True, eq=False)
class StandingRun:
    """robot: on its feet, as the motion was designed for; stood: what happened, exactly; recording: what was logged."""

    robot: Robot
    truth: Truth
    stood: Stood
    recording: Recording
    settings: StandingSettings
    tracking: Array
    seconds: float
    seed: int

    @cached_property
    def slip(self) -> Array:
        """(k,) [m] how far each foot slid along the ground at most: rolling is none. From places and attitudes alone:
        velocities at the samples of a log, which the controller ripples with, do not add up to the way."""
        up, dynamics = upward(self.robot), Dynamics(self.stood.robot)
        slid = list[float]()
        for contact in self.stood.contacts.all:
            turn, centre = dynamics.placement(contact.frame, self.stood.motion.q)
            turned = scipy.spatial.transform.Rotation.from_matrix(turn[1:] @ turn[:-1].swapaxes(1, 2)).as_rotvec()
            way = np.cumsum(np.diff(centre, axis=0) - np.cross(turned, contact.radius * up), axis=0)
            slid.append(float(np.linalg.norm(way - np.outer(way @ up, up), axis=1).max()))
        return np.array(slid)

    @cached_property
    def lift(self) -> Array:
        """(k,) [N] least force of the ground on each foot, along its normal: zero where it left the ground."""
        each = self.stood.forces.reshape(len(self.stood.motion), -1, 3)
        return np.asarray((each @ upward(self.robot)).min(axis=0))

    @cached_property
    def friction_used(self) -> Array:
        """(k,) largest tangential part of the force on each foot, per normal part."""
        up, each = upward(self.robot), self.stood.forces.reshape(len(self.stood.motion), -1, 3)
        normal = each @ up
        side = np.linalg.norm(each - normal[..., None] * up, axis=2)
        return np.asarray((side / np.maximum(normal, np.finfo(float).tiny)).max(axis=0))

    @property
    def stayed(self) -> bool:
        """No foot slipped or left the ground."""
        return bool((self.lift > 0.0).all() and (self.slip < SLIPPED_M).all())

    @property
    def notes(self) -> tuple[Note, ...]:
        feet = [foot.a.name for foot in footings(self.robot)]
        gone = [name for name, least in zip(feet, self.lift, strict=True) if not least > 0.0]
        slid = [f"{name} {1e3 * way:.1f} mm" for name, way in zip(feet, self.slip, strict=True) if way >= SLIPPED_M]
        said = [warning("feet", f"{', '.join(gone)} left the ground; design with more load:")] if gone else []
        said += [warning("feet", f"slipped: {', '.join(slid)}; design with less friction:")] if slid else []
        return (*self.truth.notes, *said)

    @property
    def sentences(self) -> tuple[str, ...]:
        """How it went."""
        name, last = self.robot.name, float(self.stood.motion.time[-1])
        feet = [foot.a.name for foot in footings(self.robot)]
        each = zip(feet, self.lift, self.friction_used, self.slip, strict=True)
        legs = [j for j in range(self.stood.robot.n) if j not in self.stood.robot.free_base]
        return (
            f"{name} stood through {last:.4g} s of motion, simulated in {self.seconds:.1f} s; {len(self.recording)} "
            "samples of joints, base and contacts",
            *(f"{foot}: {f:.3g} N at least, friction used {mu:.2f}, slip {1e3 * s:.2f} mm" for foot, f, mu, s in each),
            f"joints followed within {self.tracking[legs].max():.2e} rad rms",
        )

    def save(
        self, log: str | Path, truth: str | Path | None = None, motion: str | Path | None = None
    ) -> tuple[Path, ...]:
        """The log (.csv, .npz), and its true parameters (.json); what was written, files beside tables included."""
        if motion is not None:
            raise ExciterError(
                f"there is no file for the exact motion of a robot that stands ('{motion}'); leave it out"
            )
        given = [Path(path) for path in (log, truth) if path is not None]
        for path in given:
            prepare(path.absolute().parent)
        with ExitStack() as later:
            if truth is not None:
                stage = later.enter_context(staged(given[1].absolute().parent))
                (stage / given[1].name).write_text(json_text(self.truth_data()), encoding="utf-8")
            write_recording(self.recording, given[0], remove=given[1:])
        return tuple(file for path in given for file in (path, written_beside(path)) if file is not None)

    def truth_data(self) -> dict[str, Any]:
        """Everything an estimator may be compared with, as plain data."""
        return {
            "exciter": __version__,
            "seed": self.seed,
            **self.truth.to_dict(),
            "gravity": self.robot.gravity.tolist(),
            "ground": self._friction,
        }

    @property
    def _friction(self) -> float:
        own = self.settings.friction
        return footings(self.robot)[0].friction if own is None else own

    def to_dict(self) -> dict[str, Any]:
        feet = {"least_force": self.lift, "friction_used": self.friction_used, "slip": self.slip}
        names = [foot.a.name for foot in footings(self.robot)]
        return {
            "robot": self.robot.name,
            "samples": len(self.recording),
            "stayed": self.stayed,
            "feet": by_name(names, **{key: values.tolist() for key, values in feet.items()}),
            "joints": by_name(self.stood.robot.joint_names, tracking_rms=self.tracking.tolist()),
            "notes": texts(self.notes),
            "seconds": self.seconds,
        }


def stand_through(
    robot: Robot,
    curve: Curve,
    truth: Truth,
    settings: StandingSettings | None = None,
    *,
    rate: float = 500.0,
    periods: int | None = None,
    seed: int = 0,
) -> StandingRun:
    """Execute a motion of a robot on its feet (``Robot.stand``); truth: of ``robot.tree``; rate [Hz] of the log."""
    if not footings(robot):
        raise ExciterError(
            f"robot '{robot.name}' does not stand; give it feet with Robot.stand, or stance: {{feet: …}}"
        )
    settings, began = settings or StandingSettings(), time.perf_counter()
    feet, free = footings(robot), robot.tree
    contacts = Contacts(tuple(foot.a.name for foot in feet), radius=feet[0].radius)
    ground = feet[0].friction if settings.friction is None else settings.friction
    control = StandingControl(*settings.gains(robot), ground, settings.step)
    asked, period = _there_and_back(curve, rate, periods) if settings.back else _repeated(curve, rate, periods)
    wanted = coupled_motion(robot, asked)
    still, true = round(SETTLING_S * rate), without_base_friction(truth)
    whole = Motion(
        np.arange(still + len(wanted)) / rate,
        *(np.concatenate([np.repeat(x[:1], still, axis=0), x]) for x in (wanted.q, wanted.qd, wanted.qdd)),
    )
    whole = rolled_motion(free, contacts.all, whole)
    stood = StandingRobot(true, contacts, control).stand(whole, free, period)
    stood = stood.between(still / rate, np.inf)
    error = stood.motion.q - whole.q[still:]
    return StandingRun(
        robot=robot,
        truth=true,
        stood=stood,
        recording=stood.recording(settings.noise, seed),
        settings=settings,
        tracking=np.asarray(np.sqrt((error**2).mean(axis=0))),
        seconds=time.perf_counter() - began,
        seed=seed,
    )


def _repeated(curve: Curve, rate: float, periods: int | None) -> tuple[Motion, float | None]:
    """At even instants, and the period [s], if there is one."""
    plan = motion_execution.plan(curve, periods)
    instants = np.arange(int(plan.curve.duration * rate + 1e-9) + 1) / rate
    return plan.curve.motion(np.minimum(instants, plan.curve.end)), plan.period


def _there_and_back(curve: Curve, rate: float, periods: int | None) -> tuple[Motion, float | None]:
    """The same with every second time backwards, where it begins and ends at rest: its period is then twice as long."""
    once = curve.shifted(-curve.start)
    ends = once.motion([0.0, once.end])
    if periods is None or periods < 2 or np.abs(ends.qd).max() > SAME_STATE:
        return _repeated(curve, rate, periods)
    time = np.arange(int(periods * once.end * rate + 1e-9) + 1) / rate
    turns = np.minimum((time / once.end + 1e-12).astype(int), periods - 1)
    back, since = turns % 2 == 1, time - turns * once.end
    at = np.clip(np.where(back, once.end - since, since), 0.0, once.end)
    q, qd, qdd = once.derivatives(span_of(once.knots, at), at, 2)
    return Motion(time, q.T, np.where(back, -qd, qd).T, qdd.T), 2.0 * once.end


def without_base_friction(truth: Truth) -> Truth:
    """Nothing rubs, and no rotor turns, where there is no drive."""
    driven = np.array([joint.actuated for joint in truth.robot.joints])
    rubs = {key: truth.friction.array(key) for key in FRICTION_FIELDS}
    kept = {k: tuple(np.where(driven | (k == "stribeck_velocity"), v, 0.0).tolist()) for k, v in rubs.items()}
    rotor = tuple(np.where(driven, truth.rotor, 0.0).tolist())
    return replace(truth, friction=TrueFriction(**kept), rotor_inertia=rotor)
