"""Time of following parameters, per sample, from lines of text to values, and of its parts beside plain NumPy.

    python benchmarks/follow.py [--quick]

Setting: Franka Panda (7 axes), rotor inertia, viscous and Coulomb friction, offsets, all seven equations of every
sample at 1 kHz, friction drifts. One core; kernels are compiled before the clock starts. ``update``: walk, innovations
and use of one sample, sample by sample; the peers do the same with a covariance in NumPy (Joseph's form), and with a
QR of the information array in NumPy. ``stream``: everything, from pieces of a recording to answers, over the samples in
them. Processor time, which others on the machine disturb less; median and 99.9 % over samples; 1 ms is asked for.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # one core
    os.environ[variable] = "1"

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.experiment.recording import Recording
from exciter.experiment.signals.differentiation import FilteredDifferences
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


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="less of everything")
    quick = arguments.parse_args().quick
    updates(2000 if quick else 20_000)
    streams(15.0 if quick else 60.0)


if __name__ == "__main__":
    main()
