"""Loads and drive gains on the virtual robot: do gains come out, and do intervals of loads cover?

    python benchmarks/loads.py                 # 100 draws of each, two processes
    python benchmarks/loads.py gains -n 20     # one of them: gains, agreement, automatic

Every draw is another robot (bodies, friction and rotors drawn about the description) with its own noise, loads and
motions; logs are those of ``ex.simulate``: encoders that count, a controller, white noise on the torques.

gains: three logs of currents whose gains nobody knows: empty, with a load known by its mass only, and with a load of
which nothing is known (``--loaded``); ``gains: identify``. agreement: an empty log and two logs of other motions with
the same unknown load, each found by itself: do both agree? automatic: the same with settings chosen from the empty log.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core each
    os.environ[variable] = "1"

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial

import numpy as np

import exciter as ex
from exciter.errors import ExciterError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.experiment.recording import Payload, Recording
from exciter.experiment.virtual import Sampling, VirtualRobot, draw
from exciter.identification.payload import LOAD_QUANTITIES, PayloadEstimate
from exciter.typing import Array

ARM, FRAME = "kuka-ir361", "tool"
MOTIONS = 15  #: designed ones, of which every draw has three
PERIODS = 2
GAIN_LIMIT_PERCENT = 2.0  #: that gains may be off
Figures = dict[str, float]


@cache
def robot() -> ex.Robot:
    return ex.load(ARM)


@cache
def motion(seed: int) -> ex.Design:
    """Exciting enough, and found in a moment."""
    return ex.design(robot(), Fourier(period=8.0, harmonics=5), starts=1, seed=seed)


def body(rng: np.random.Generator, mass: float) -> Payload:
    """A box of about 20 cm, somewhere on the flange."""
    sides = rng.uniform(0.1, 0.3, 3) ** 2
    about = mass / 12.0 * np.array([sides[1] + sides[2], 0.0, 0.0, sides[0] + sides[2], 0.0, sides[0] + sides[1]])
    return Payload(FRAME, mass, tuple(rng.uniform(-0.15, 0.15, 3).tolist()), tuple(about.tolist()))


def truth(payload: Payload) -> Array:
    assert payload.centre is not None
    assert payload.inertia is not None
    return np.array([payload.mass, *payload.centre, *payload.inertia])


def log(draw_seed: int, number: int, payload: Payload | None, gains: Array | None = None) -> Recording:
    """What the robot of a draw records, with or without a load; nothing is said of the load, or of the gains."""
    virtual = VirtualRobot(
        robot(), draw(robot(), seed=draw_seed), payload=payload, sampling=Sampling(200.0), simulation_rate=1000.0
    )
    sent, seed = motion((7 * draw_seed + 4 * number) % MOTIONS), 10 * draw_seed + number
    made = ex.simulate(robot(), sent, virtual, periods=PERIODS, seed=seed).recording
    about = replace(made.about, payload=None)
    made = replace(made, name=f"log {number}", about=about)
    return made if gains is None else replace(made, torque=None, current=made.torque / gains)


def covered(found: PayloadEstimate, true: Payload) -> Figures:
    low, high = found.interval()
    inside = (low < truth(true)) & (truth(true) < high)
    errors = (found.values - truth(true)) / found.std
    return {f"{name} inside": float(one) for name, one in zip(LOAD_QUANTITIES, inside, strict=True)} | {
        "mass error %": 100.0 * (found.mass / true.mass - 1.0),
        "mass σ %": 100.0 * found.std[0] / true.mass,
        "mass z²": float(errors[0] ** 2),
    }


def of_gains(seed: int) -> Figures:
    """Gains from a load known by its mass; and another load beside it."""
    rng = np.random.default_rng(1000 + seed)
    gains = rng.uniform(5.0, 80.0, robot().n)
    first, other = body(rng, rng.uniform(15.0, 25.0)), body(rng, rng.uniform(5.0, 25.0))
    empty, weighed, unknown = (log(seed, k, load, gains) for k, load in enumerate((None, first, other)))
    weighed = replace(weighed, about=replace(weighed.about, payload=Payload(FRAME, first.mass)))
    found = ex.identify(robot(), [empty, weighed], loaded=unknown, gains={})
    assert found.gains is not None
    assert found.payload is not None
    low, high = found.gains.interval()
    off = 100.0 * np.abs(found.gains.gains / gains - 1.0).max()
    return {
        "worst gain off by %": off,
        f"gains within {GAIN_LIMIT_PERCENT:g} %": float(off < GAIN_LIMIT_PERCENT),
        "gains inside": float(((low < gains) & (gains < high)).mean()),
        **covered(found.payload, other),
    }


def of_agreement(seed: int, **settings: object) -> Figures:
    """The same load in two logs, each found by itself beside the empty one."""
    rng = np.random.default_rng(2000 + seed)
    load = body(rng, rng.uniform(5.0, 25.0))
    empty, one, two = (log(seed, k, payload) for k, payload in enumerate((None, load, load)))
    pair = [ex.identify(robot(), empty, loaded=with_load, **settings).payload for with_load in (one, two)]
    assert pair[0] is not None
    assert pair[1] is not None
    apart = np.abs(pair[0].values - pair[1].values) / np.hypot(pair[0].std, pair[1].std)
    agree = {f"{name} agrees": float(x < 2.0) for name, x in zip(LOAD_QUANTITIES, apart, strict=True)}
    return agree | covered(pair[0], load)


KINDS: dict[str, Callable[[int], Figures]] = {
    "gains": of_gains,
    "agreement": partial(of_agreement, automatic=False),
    "automatic": of_agreement,
}


def tried(kind: str, seed: int) -> Figures | str:
    try:
        return KINDS[kind](seed)
    except ExciterError as error:
        return f"draw {seed}: {error}"


def table(kind: str, draws: int, jobs: int) -> None:
    start = time.perf_counter()
    for seed in range(MOTIONS):
        motion(seed)  # before processes are made of this one
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            made = list(pool.map(partial(tried, kind), range(draws)))
    else:
        made = [tried(kind, seed) for seed in range(draws)]
    found = [one for one in made if not isinstance(one, str)]
    print(f"\n{kind}: {len(found)} of {draws} draws, {time.perf_counter() - start:.0f} s")
    for one in made:
        if isinstance(one, str):
            print(f"  {one}")
    if not found:
        return
    for name in found[0]:
        values = np.array([one[name] for one in found])
        if name.endswith((" inside", " agrees")) or "within" in name:
            print(f"  {name:24} {100.0 * values.mean():6.1f} %")
        else:
            size = np.abs(values)
            print(
                f"  {name:24} median {np.median(values):8.3f}   mean {values.mean():8.3f}   largest {size.max():8.3f}"
            )
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], default=[])
    parser.add_argument("-n", "--draws", type=int, default=100)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    given = parser.parse_args()
    for chosen in given.kinds or KINDS:
        table(chosen, given.draws, given.jobs)
