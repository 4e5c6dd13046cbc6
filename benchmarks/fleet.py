"""A fleet of virtual robots with a few defective ones: who is named, why, how many false alarms, what a robot costs.

    python benchmarks/fleet.py [--robots 200] [--defective 5] [--seeds 0 …] [--robot puma560] [--friction-spread 0.1]
                               [--draws 40] [--ripple 0.4] [--play 0.001] [--jobs 1] [--keep DIR] [--json FILE]

The type is a robot drawn near its description (masses, sizes and places ±10 %, friction ±20 %), each robot of it is
drawn around the type: bodies ±2 %, friction and rotors by ``--friction-spread``. All run one certified motion in closed
loop (computed torque, the description's parameters), with torque noise and encoder steps; 200 Hz.

Defective by draw, at least one of each kind, on a joint that is drawn:
- friction +50 %, viscous and Coulomb, of one joint;
- a wrong payload, 10 … 20 % of the mass of the moving arm beyond the second joint, some centimetres off the flange;
- a worn gear: viscous +40 % and Coulomb +25 % in the simulation, and what a log shows beside that: dry friction that
  rises and falls along the joint (``--ripple``, 40 % of it), in the measured torque, and play between motor and link
  (``--play``, 1 mrad), by the sign of the torque, in the measured position (put on the log after the simulation, whose
  plant has neither).

Nothing of this is known to ``exciter fleet``: it gets logs, the description and the settings that are usual.

--draws: further fleets without simulation, for how often: true parameters of robots drawn as above, estimates with the
covariance that the first fleet's logs had, residuals with the scatter of its healthy robots (of a worn one, as in the
first fleet)."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core
    os.environ.setdefault(variable, "1")

import argparse
import json
import resource
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import exciter as ex
from exciter.experiment.recording.recording import Payload
from exciter.experiment.virtual import VirtualRobot
from exciter.experiment.virtual.sensors import Sampling
from exciter.experiment.virtual.true_parameters import Spread, Truth, draw
from exciter.experiment.virtual.virtual_robot import Simulated
from exciter.robot.robot import Robot
from exciter.validation.fleet.groups import carrying_frame
from exciter.validation.fleet.type_comparison import RobotNumbers, compare_robots
from exciter.workers import Processes

FRICTION, PAYLOAD, WORN = "friction +50 %", "wrong payload", "worn gear"
KINDS = (FRICTION, PAYLOAD, WORN)
TYPE_SPREAD, BODY_SPREAD = Spread(bodies=0.1, friction=0.2), 0.02
RATE_HZ = 200.0
LOAD_SHARES, LOAD_OFFSET_M = (0.1, 0.2), 0.05
WORN_VISCOUS, WORN_COULOMB = 1.4, 1.25
RIPPLES_PER_RADIAN = 12.0


@dataclass(frozen=True)
class Defect:
    """kind, of which joint (of friction and gears), with which load [kg] and centre [m]."""

    kind: str
    joint: int = 0
    mass: float = 0.0
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def words(self, robot: Robot) -> str:
        return (
            f"{self.kind} {self.mass:.2f} kg"
            if self.kind == PAYLOAD
            else f"{self.kind}, {robot.joint_names[self.joint]}"
        )


def defects(robot: Robot, robots: int, count: int, rng: np.random.Generator) -> dict[int, Defect]:
    """Who has what."""
    kinds = [*KINDS, *rng.choice(KINDS, max(count - len(KINDS), 0))][:count]
    arm = float(robot.inertias[2:, 0].sum())
    found = {}
    for k, kind in zip(rng.choice(robots, count, replace=False).tolist(), kinds, strict=True):
        centre = tuple(rng.uniform(-LOAD_OFFSET_M, LOAD_OFFSET_M, 3).tolist())
        found[k] = Defect(str(kind), int(rng.integers(robot.n)), arm * rng.uniform(*LOAD_SHARES), centre)
    return found


def type_of(robot: Robot, seed: int) -> Robot:
    """The type, with its friction, that robots are drawn around."""
    truth = draw(robot, seed, TYPE_SPREAD)
    known = {"rotor_inertia": truth.rotor, **{k: truth.friction.array(k) for k in ("viscous", "coulomb")}}
    return replace(truth.robot, friction=known)


def truth_of(kind: Robot, k: int, seed: int, spread: float, defect: Defect | None) -> Truth:
    truth = draw(kind, 1000 * (seed + 1) + k, Spread(bodies=BODY_SPREAD, friction=spread))
    if defect is None or defect.kind == PAYLOAD:
        return truth
    viscous, coulomb = (truth.friction.array(key).copy() for key in ("viscous", "coulomb"))
    viscous[defect.joint] *= 1.5 if defect.kind == FRICTION else WORN_VISCOUS
    coulomb[defect.joint] *= 1.5 if defect.kind == FRICTION else WORN_COULOMB
    friction = replace(truth.friction, viscous=tuple(viscous.tolist()), coulomb=tuple(coulomb.tolist()))
    return replace(truth, friction=friction)


def load_of(robot: Robot, defect: Defect | None) -> Payload | None:
    if defect is None or defect.kind != PAYLOAD:
        return None
    inertia = tuple((0.4 * defect.mass * 0.04**2 * np.array([1.0, 0, 0, 1, 0, 1])).tolist())  # a ball of 4 cm
    return Payload(carrying_frame(robot), defect.mass, defect.centre, inertia)


def worn(made: Simulated, defect: Defect, ripple: float, play: float) -> ex.Recording:
    """What the log of a worn gear shows beside more friction; ripple [N·m], play [rad]."""
    j, log = defect.joint, made.recording
    torque, q = log.torque.copy(), log.q.copy()
    motion = made.motion
    torque[:, j] += ripple * np.sign(motion.qd[:, j]) * np.cos(RIPPLES_PER_RADIAN * motion.q[:, j])
    at_link = made.link_torque[:, j]
    q[:, j] += 0.5 * play * np.tanh(at_link / (0.1 * np.abs(at_link).max()))
    return replace(log, torque=torque, q=q)


def written_logs(robot: Robot, curve: Any, options: argparse.Namespace, seed: int, place: Path) -> dict[int, Defect]:
    """A log for each robot, as place/NAME/log.csv; who is defective."""
    bad = defects(robot, options.robots, options.defective, np.random.default_rng(seed))
    wear = (options.ripple, options.play)
    tasks = [(robot, curve, k, seed, options.friction_spread, bad.get(k), wear, place) for k in range(options.robots)]
    for _ in Processes(options.jobs).over(written_log, tasks):
        pass
    return bad


def written_log(
    robot: Robot,
    curve: Any,
    k: int,
    seed: int,
    spread: float,
    defect: Defect | None,
    wear: tuple[float, float],
    place: Path,
) -> int:
    """wear: size of the ripple over Coulomb friction, and play [rad], of a worn gear."""
    truth = truth_of(type_of(robot, seed), k, seed, spread, defect)
    virtual = VirtualRobot(robot, truth, sampling=Sampling(rate=RATE_HZ), payload=load_of(robot, defect))
    made = virtual.run(curve, periods=1, seed=1000 * (seed + 1) + k)
    log = made.recording
    if defect is not None and defect.kind == WORN:
        log = worn(made, defect, wear[0] * truth.friction.coulomb[defect.joint], wear[1])
    log = replace(log, about=replace(log.about, payload=None))  # nobody says so
    log.save(place / name_of(k) / "log.csv")
    return k


def name_of(k: int) -> str:
    return f"R{k:03d}"


def spent() -> float:
    """[s] of processor time, of workers that ended, too."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in parts)


def right(defect: Defect, reasons: str, robot: Robot) -> bool:
    """Whether the first reason says what was done."""
    first = reasons.split("; ")[0]
    if defect.kind == PAYLOAD:
        return first.startswith("payload")
    own = robot.joint_names[defect.joint] in first
    return own and ("residual" in first if defect.kind == WORN else first.startswith("friction"))


def told(made: ex.Fleet, bad: dict[int, Defect], robot: Robot) -> dict[str, Any]:
    named = {name: "; ".join(why) for name, why in made.differing.items()}
    found = {name_of(k): defect for k, defect in bad.items()}
    for name, defect in found.items():
        print(f"  {name} {defect.words(robot)}: {named.get(name, 'NOT NAMED')}")
    false = {name: why for name, why in named.items() if name not in found}
    for name, why in false.items():
        print(f"  false alarm {name}: {why}")
    hit = [name for name in found if name in named]
    well = [name for name in hit if right(found[name], named[name], robot)]
    refused = [f"{one.name}: {one.reason}" for one in made.refused]
    return {"named": len(hit), "of": len(found), "well": len(well), "false": len(false), "refused": refused}


def further_draws(robot: Robot, made: ex.Fleet, bad: dict[int, Defect], options: argparse.Namespace) -> None:
    """Fleets of estimates: who is named, over many draws."""
    comparison, model = made.comparison(), made.types[0].model
    groups, rng = comparison.groups, np.random.default_rng(7)
    healthy = ~comparison.differs
    scatter = np.std(np.log(np.array([one.residual for one in comparison.robots]))[healthy], axis=0)
    usual = np.median([one.residual for one in comparison.robots], axis=0)
    worn_ratios = [
        comparison.residual_ratio[comparison.names.index(name_of(k)), one.joint]
        for k, one in bad.items()
        if one.kind == WORN and name_of(k) in comparison.names
    ]
    effect = groups.load
    named, false, none, any_false = dict.fromkeys(KINDS, 0), [], 0, 0
    of = dict.fromkeys(KINDS, 0)
    for d in range(options.draws):
        for count in (options.defective, 0):
            who = defects(robot, options.robots, count, rng)
            kind, robots = type_of(robot, 100 + d), []
            for k in range(options.robots):
                defect = who.get(k)
                truth = truth_of(kind, k, 100 + d, options.friction_spread, defect)
                known = dict(zip(truth.model.standard, truth.chi.tolist(), strict=True))
                true = model.base.base_values(np.array([known.get(name, 0.0) for name in model.standard]))
                if (load := load_of(robot, defect)) is not None:
                    true = true + effect @ load.phi
                covariance = comparison.robots[int(rng.integers(len(comparison.robots)))].covariance
                error = np.linalg.cholesky(covariance) @ rng.standard_normal(len(true))
                residual = usual * np.exp(scatter * rng.standard_normal(robot.n))
                if defect is not None and defect.kind == WORN and worn_ratios:
                    residual[defect.joint] *= float(rng.choice(worn_ratios))
                robots.append(RobotNumbers(name_of(k), true + error, covariance, residual))
            found = compare_robots(groups, robots)
            if not count:
                none += 1
                any_false += bool(found.differs.any())
                continue
            false.append(int(sum(bool(found.differs[k]) for k in range(options.robots) if k not in who)))
            for k, defect in who.items():
                of[defect.kind] += 1
                named[defect.kind] += bool(found.differs[k])
    rates = ", ".join(f"{kind} {named[kind]} of {of[kind]}" for kind in KINDS)
    print(
        f"further draws of estimates: named {rates}; false alarms per fleet {np.mean(false):.2f}, at most {max(false)};"
    )
    print(f"  of healthy fleets {any_false} of {none} have any robot named")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=200)
    parser.add_argument("--defective", type=int, default=5)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--robot", default="puma560")
    parser.add_argument("--friction-spread", type=float, default=0.1)
    parser.add_argument("--period", type=float, default=8.0)
    parser.add_argument("--ripple", type=float, default=0.4)
    parser.add_argument("--play", type=float, default=1e-3)
    parser.add_argument("--draws", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    robot = ex.load(options.robot)
    curve = ex.design(robot, ex.Fourier(period=options.period, harmonics=4), starts=2, seed=0).curve
    results = []
    for seed in options.seeds:
        with tempfile.TemporaryDirectory() as temporary:
            home = (options.keep or Path(temporary)) / f"seed-{seed}"
            began = spent()
            bad = written_logs(robot, curve, options, seed, home / "logs")
            middle, clock = spent(), time.perf_counter()
            content = {"description": options.robot, "folders": [str(home / "logs")]}
            made = ex.fleet(content, home / "fleet", workers=Processes(options.jobs))
            cost, wall = spent() - middle, time.perf_counter() - clock
            told_of = f"logs of {curve.duration:.3g} s at {RATE_HZ:g} Hz, friction ±{100 * options.friction_spread:g} %"
            print(f"seed {seed}: {options.robots} robots {options.robot}, {told_of}")
            found = told(made, bad, robot)
            again = spent()
            ex.fleet(content, home / "fleet")
            resumed = spent() - again
            print(
                f"  named {found['named']} of {found['of']} ({found['well']} with the right reason first), "
                f"{found['false']} false alarms, {len(found['refused'])} refused; processor time per robot: simulated "
                f"{(middle - began) / options.robots:.2f} s, identified and compared {cost / options.robots:.2f} s "
                f"({wall:.0f} s in all with {options.jobs} processes); again, with all there: {resumed:.1f} s",
                flush=True,
            )
            results.append({"seed": seed, **found, "seconds_per_robot": cost / options.robots})
            if options.draws and seed == options.seeds[0]:
                further_draws(robot, made, bad, options)
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
