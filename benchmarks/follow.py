"""Following parameters: time per sample, whether friction that drifts stays within its band, false alarms, faults.

    python benchmarks/follow.py [--quick] [--parts time tracking alarms faults]

time. Setting: Franka Panda (7 axes), rotor inertia, viscous and Coulomb friction, offsets, all seven equations of every
sample at 1 kHz, friction drifts. One core; kernels are compiled before the clock starts. ``update``: walk, innovations
and use of one sample, sample by sample; the peers do the same with a covariance in NumPy (Joseph's form), and with a
QR of the information array in NumPy. ``stream``: everything, from pieces of a recording to answers, over the samples in
them. Processor time, which others on the machine disturb less; median and 99.9 % over samples; 1 ms is asked for.

tracking, alarms, faults. Setting: gautier-khalil (3 axes), viscous and Coulomb friction, offsets, white noise of the
torques, both sides of the equations through a low-pass. ``tracking``: friction of all joints walks at random, or runs
away evenly, by 30 % in three minutes; how often the true value is within the 95 % band, of this filter told the drift,
and of one that takes all parameters for constants, after the first ten seconds. ``alarms``: hours of a log that is as
the model says, from an identification of 30 s; ``per_hour`` bounds what is seen. ``faults``: begin within such logs;
how many were noticed within ten seconds, and the time of the log from the fault to its alarm (filters look ahead: it
may be before it). An answer comes later by the latency, which is printed.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # one core
    os.environ[variable] = "1"

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

import exciter as ex
from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.experiment.recording import Recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.identification.following.follow_settings import SECONDS_PER_HOUR, FollowSettings, kind_of
from exciter.identification.following.followed_parameters import FollowedParameters
from exciter.identification.identify_config import EquationFilter
from exciter.identification.information.information import Information
from exciter.identification.information.kalman import KalmanFilter
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.pipeline.follow import Follower
from exciter.robot import Motion
from exciter.robot import embedded_robots as embedded

RATE, NOISE, ASKED = 1000.0, 0.1, 1e-3  # [Hz], [N·m], [s]
TERMS = (RotorInertia(), Viscous(), Coulomb(), Offset())
DRIFT = 1e-3  # of friction, in √s
PARTS = ("time", "tracking", "alarms", "faults")
PIECE_SAMPLES = 20  # of the stream, as a logger that writes fifty times a second


def model() -> DynamicModel:
    return DynamicModel(embedded.robot("panda"), TERMS)


def exciting(samples: int) -> Motion:
    """Of all joints, ten seconds of period."""
    family, at = Fourier(10.0, 5), np.arange(samples) / RATE
    basis = family.basis(at)
    delta = 0.2 * np.random.default_rng(0).standard_normal((basis[0].shape[1], 7))
    return Motion(at, *(one @ delta for one in basis))


def told(name: str, seconds: np.ndarray, beside: float | None = None) -> float:
    middle, slow = np.median(seconds), np.quantile(seconds, 0.999)
    ratio = "" if beside is None else f", {middle / beside:6.1f} times as long"
    verdict = "within" if slow <= ASKED else "beyond"
    print(f"{name:58s} median {1e3 * middle:7.4f} ms, 99.9 % {1e3 * slow:7.4f} ms per sample ({verdict} 1 ms){ratio}")
    return float(middle)


def timed(work: Callable[[int], None], count: int) -> np.ndarray:
    seconds = np.empty(count)
    for k in range(count):
        began = time.thread_time()
        work(k)
        seconds[k] = time.thread_time() - began
    return seconds


def updates(count: int) -> None:
    robot = model()
    motion = exciting(count)
    w = robot.base.project(robot.regressor(motion))
    p, names = w.shape[2], robot.base.names
    rng = np.random.default_rng(1)
    y = w @ rng.standard_normal(p) + NOISE * rng.standard_normal(w.shape[:2])
    drift = np.array([DRIFT if name.startswith("F") else 0.0 for name in names])
    noise, start = np.full(7, NOISE), Information.of_estimate(np.zeros(p), 100.0 * np.eye(p))
    print(f"panda: {p} base parameters, {int((drift > 0).sum())} of them drift, 7 equations per sample")

    live = KalmanFilter(names, noise, start, drift)
    live.update(w[0], y[0], 1e-3)
    live.innovations(w[0], y[0], 1e-3)
    live = KalmanFilter(names, noise, start, drift)

    def ours(k: int) -> None:
        live.innovations(w[k], y[k], 1e-3)
        live.update(w[k], y[k], 1e-3)

    first = told("update: this filter, sample by sample", timed(ours, count))

    blocks = KalmanFilter(names, noise, start, drift)
    size = 125

    def in_blocks(k: int) -> None:
        part = slice(k * size, (k + 1) * size)
        blocks.innovations(w[part], y[part], 0.1)
        blocks.update(w[part], y[part], 1e-3)

    told("update: this filter, 125 samples at a time", timed(in_blocks, count // size) / size, first)

    values, covariance = np.zeros(p), 100.0 * np.eye(p)

    def textbook(k: int) -> None:
        nonlocal values, covariance
        covariance = covariance + np.diag(1e-3 * drift**2)
        s = w[k] @ covariance @ w[k].T + NOISE**2 * np.eye(7)
        gain = np.linalg.solve(s, w[k] @ covariance).T
        values, left = values + gain @ (y[k] - w[k] @ values), np.eye(p) - gain @ w[k]
        covariance = left @ covariance @ left.T + NOISE**2 * gain @ gain.T

    told("update: covariance in NumPy (Joseph), sample by sample", timed(textbook, min(count, 3000)), first)

    factor = start.factor

    def by_qr(k: int) -> None:
        nonlocal factor
        moving = np.flatnonzero(drift)
        top = np.hstack([np.diag(1.0 / (drift[moving] * 1e-3**0.5)), np.zeros((len(moving), p + 1))])
        both = np.vstack([top, np.hstack([-factor[:, moving], factor])])
        walked = np.linalg.qr(both, mode="r")[len(moving) :, len(moving) :]
        sides = np.column_stack([w[k], y[k]]) / NOISE
        factor = np.linalg.qr(np.vstack([walked, sides]), mode="r")[: p + 1]

    told("update: QR of the information array in NumPy", timed(by_qr, min(count, 3000)), first)
    used = min(count, 3000)
    peer = KalmanFilter(names, noise, start, drift)
    peer.update(w[:used], y[:used], 1e-3)
    std = np.sqrt(peer.covariance.diagonal())
    print(f"all agree: largest difference {np.abs((peer.values - values) / std).max():.1e} σ")


class Clock:
    """Pieces of a recording; it runs while one is worked on."""

    def __init__(self, recording: Recording) -> None:
        self.recording, self.spent = recording, list[float]()

    def __iter__(self) -> Iterator[Recording]:
        for piece in self.recording.chunks(PIECE_SAMPLES):
            began = time.thread_time()
            yield piece
            self.spent.append(time.thread_time() - began)


def streams(seconds: float) -> None:
    robot = model()
    motion = exciting(int(seconds * RATE))
    rng = np.random.default_rng(1)
    chi = np.array(robot.nominal)
    chi[70:] = rng.uniform(0.2, 2.0, len(chi) - 70)
    torque = robot.torque(motion, chi) + NOISE * rng.standard_normal(motion.q.shape)
    q = motion.q + 1e-5 * rng.standard_normal(motion.q.shape)
    recording = Recording.of(motion.time, q, torque, joints=robot.robot.joint_names)
    for title, cutoff, look_ahead in (
        ("stream: rows as measured, 1000 a second", None, 1.0),
        ("stream: both sides through 20 Hz", 20.0, 1.0),
        ("stream: both sides through 20 Hz, look_ahead 0.25", 20.0, 0.25),
    ):
        follower = Follower(
            robot.robot,
            terms=TERMS,
            route=FilteredDifferences(cutoff=40.0),
            filter=EquationFilter(cutoff),
            dead_zone=0.0,
            noise=NOISE,
            look_ahead=look_ahead,
        )
        clock = Clock(recording)
        for _ in follower.states(clock):
            pass
        spent = clock.spent
        settled = np.array(spent[len(spent) // 3 :])
        each, worst = 1e3 * settled.mean() / PIECE_SAMPLES, 1e3 * settled.max()
        behind = f"{title} ({follower.latency:.2f} s behind)"
        print(f"{behind:75s} {each:.4f} ms per sample on average; longest work at once {worst:.0f} ms")


# -- statistics --------------------------------------------------------------------------------------------------------

SMALL_NOISE = (0.4, 0.8, 0.2)  # [N·m]
SMALL_TERMS = (Viscous(), Coulomb(), Offset())
SMALL_RATE, POSITION_NOISE = 200.0, 1e-5  # [Hz], [rad]
SETTINGS = {
    "terms": SMALL_TERMS,
    "route": FilteredDifferences(cutoff=15.0),
    "dead_zone": 0.02,
    "noise": SMALL_NOISE,
    "filter": EquationFilter(8.0),
}
DRIFTED, DRIFT_SECONDS, ROW_RATE, ROW_CUTOFF = 0.3, 180.0, 40.0, 4.0  # of the value, [s], [Hz], [Hz]
SETTLED_SECONDS, BAND_SIGMAS = 10.0, 1.96
LOAD_KG, LOAD_ARM = 0.5, 0.3  # [kg], [m]
FAULT_SECONDS, NOTICED_SECONDS = 20.0, 10.0  # of the log before a fault, and after it


def small() -> tuple[DynamicModel, np.ndarray]:
    """A model and the standard parameters of its truth."""
    robot = DynamicModel(embedded.robot("gautier-khalil"), SMALL_TERMS)
    own = [0.5 + 0.3 * int(name[-1]) if name.startswith(("Fv", "Fs", "off")) else None for name in robot.standard]
    return robot, np.array([value if one is None else one for value, one in zip(robot.nominal, own, strict=True)])


def sines(robot: DynamicModel, time: np.ndarray, seed: int) -> Motion:
    """Two incommensurate sines per joint."""
    rng, shape = np.random.default_rng(seed), (2, robot.n)
    size, omega, phase = rng.uniform(0.2, 0.8, shape), rng.uniform(0.5, 3.0, shape), rng.uniform(0.0, 6.0, shape)
    angle = omega * time[:, None, None] + phase
    parts = (size * np.sin(angle), size * omega * np.cos(angle), -size * omega**2 * np.sin(angle))
    return Motion(time, *(part.sum(axis=1) for part in parts))


def logged(seconds: float, seed: int, change: Callable[[Motion, np.ndarray], np.ndarray] | None = None) -> Recording:
    """change: (motion, torque) → torque, of a fault."""
    robot, chi = small()
    rng, motion = np.random.default_rng(seed), sines(robot, np.arange(int(seconds * SMALL_RATE)) / SMALL_RATE, 5)
    torque = robot.torque(motion, chi)
    torque = torque if change is None else change(motion, torque)
    torque = torque + SMALL_NOISE * rng.standard_normal(motion.q.shape)
    q = motion.q + POSITION_NOISE * rng.standard_normal(motion.q.shape)
    return Recording.of(motion.time, q, torque, joints=robot.robot.joint_names)


def identified() -> ex.Identified:
    return ex.identify(small()[0].robot, logged(30.0, 1), estimator=ex.WeightedLeastSquares(), **SETTINGS)


def tracking(draws: int) -> None:
    robot, chi = small()
    time_, names = np.arange(int(DRIFT_SECONDS * ROW_RATE)) / ROW_RATE, robot.base.names
    w, start = robot.base.project(robot.regressor(sines(robot, time_, 3))), robot.base.base_values(chi)
    friction = [k for k, name in enumerate(names) if kind_of(name) == "friction"]
    low_pass = Butterworth(ROW_CUTOFF)
    noise = np.array(SMALL_NOISE) * np.sqrt(2.0 * low_pass.noise_bandwidth(ROW_RATE) / ROW_RATE)
    told = {"friction": (DRIFTED / np.sqrt(DRIFT_SECONDS / SECONDS_PER_HOUR), 0.0)}
    for kind in ("walks", "runs away"):
        inside = dict[str, list[float]]()
        alarms = dict[str, int]()
        for seed in range(draws):
            rng, beta = np.random.default_rng(seed), np.tile(start, (len(time_), 1))
            steps = rng.standard_normal((len(time_), len(friction))) / np.sqrt(len(time_))
            path = steps.cumsum(axis=0) if kind == "walks" else np.tile((time_ / time_[-1])[:, None], len(friction))
            beta[:, friction] += DRIFTED * start[friction] * path
            y = np.einsum("tjp,tp->tj", w, beta) + SMALL_NOISE * rng.standard_normal((len(time_), robot.n))
            rows = ParallelFilter(low_pass).apply(Rows.of(time_, w, y, ROW_RATE, robot.robot.joint_names, names))
            for what, drift in (("told the drift", told), ("constants", {})):
                followed = FollowedParameters(names, rows.joints, noise, FollowSettings(drift=drift))
                states = [state for k in range(0, len(rows), 100) for state in followed.see(rows[k : k + 100])]
                states = [state for state in (*states, followed.finish()) if state.time > SETTLED_SECONDS]
                at = np.clip(np.searchsorted(time_, [state.time for state in states]), 0, len(time_) - 1)
                error = np.array([state.values[friction] for state in states]) - beta[at][:, friction]
                band = BAND_SIGMAS * np.array([state.std[friction] for state in states])
                inside.setdefault(what, []).append(float((np.abs(error) < band).mean()))
                alarms[what] = alarms.get(what, 0) + len(followed.watch.alarms)
        for what, shares in inside.items():
            title = f"tracking: friction {kind} by {100 * DRIFTED:g} % in {DRIFT_SECONDS:g} s, {draws} draws"
            share, count = 100.0 * np.mean(shares), alarms[what] / draws
            print(f"{title:66s} {what:14s} within the 95 % band {share:.1f} % of the time; {count:.2g} alarms each")


def false_alarms(hours: float) -> None:
    known, log = identified(), logged(3600.0 * hours, 7)
    for per_hour in (0.1, 10.0, 100.0):
        seen = ex.follow(small()[0].robot, log, start=known, alarm={"per_hour": per_hour}).alarms
        allowed = f"alarms: {hours:g} h of a healthy log, at most {per_hour:g} an hour allowed"
        print(f"{allowed:66s} {len(seen) / hours:g} an hour seen ({len(seen) / hours / per_hour:.2g} of it)")


def faults(draws: int) -> None:
    robot, chi = small()
    known = identified()

    def pushed(sigmas: float) -> Callable[[Motion, np.ndarray], np.ndarray]:
        size = sigmas * np.array([0.0, SMALL_NOISE[1], 0.0])
        return lambda motion, torque: torque + size * (motion.time >= FAULT_SECONDS)[:, None]

    def other(changed: np.ndarray) -> Callable[[Motion, np.ndarray], np.ndarray]:
        return lambda motion, torque: np.where(
            (motion.time >= FAULT_SECONDS)[:, None], robot.torque(motion, changed), torque
        )

    dry = [k for k, name in enumerate(robot.standard) if name.startswith("Fs")]
    heavy = np.array(chi)
    heavy[20] += LOAD_KG  # mass and first moment of the last link
    heavy[21] += LOAD_KG * LOAD_ARM
    rough = np.array(chi)
    rough[dry] *= 2.0
    cases = [(f"push of {k:g} σ of a sample on joint 2", pushed(k)) for k in (0.5, 1.0, 2.0, 4.0)]
    cases += [
        (f"load of {LOAD_KG:g} kg picked up, {LOAD_ARM:g} m from joint 3", other(heavy)),
        ("dry friction of all joints doubles", other(rough)),
    ]
    for title, change in cases:
        delays, early = list[float](), 0
        for seed in range(draws):
            log = logged(FAULT_SECONDS + NOTICED_SECONDS, 100 + seed, change)
            found = ex.follow(robot.robot, log, start=known)
            raised = [one.raised - FAULT_SECONDS for one in found.alarms]
            early += sum(one < 0.0 for one in raised)
            delays += [min(one for one in raised if one >= 0.0)] if any(one >= 0.0 for one in raised) else []
        middle = f"after {np.median(delays):.2f} s in the median ({max(delays):.2f} s at most)" if delays else "never"
        behind = f"answers are {found.latency:.2f} s behind{f'; {early} alarms before it' if early else ''}"
        print(f"faults: {title:48s} noticed in {len(delays)} of {draws} logs, {middle}; {behind}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="less of everything")
    arguments.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    given = arguments.parse_args()
    quick = given.quick
    if "time" in given.parts:
        updates(2000 if quick else 20_000)
        streams(15.0 if quick else 60.0)
    if "tracking" in given.parts:
        tracking(2 if quick else 20)
    if "alarms" in given.parts:
        false_alarms(0.05 if quick else 1.0)
    if "faults" in given.parts:
        faults(2 if quick else 20)


if __name__ == "__main__":
    main()
