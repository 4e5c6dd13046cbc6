"""The six tests of 12.7 on a virtual robot: what each says of a good identification, and which faults each finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import exciter as ex
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.consistency import link_consistency
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter.validation.comparison import Comparison, IdentificationMethod, compare
from exciter.validation.inertia_matrix import InertiaMatrix, check_inertia_matrix
from exciter.validation.known_load import RECOVERED, WEAKLY, KnownLoad
from exciter.validation.simulation import ClosedLoopCheck, simulate_closed_loop, simulate_open_loop
from exciter.validation.validation import RunValidation, validate
from exciter_papers.khalil_dombre import set_up, virtual
from exciter_papers.khalil_dombre.set_up import PROCEDURE_FIGURES, counted, percent, recovered
from exciter_papers.known_load import recover_known_load
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, shown

VALIDATION_SETTINGS = PROCEDURE_FIGURES["validation"]
BEYOND, ALIKE = float(VALIDATION_SETTINGS["beyond"]), float(VALIDATION_SETTINGS["alike"])
TESTS = ("direct", "cross", "inertia matrix", "known load", "methods", "simulator")
OPEN_LOOP_ERROR_RATIO = (
    0.1  # error in open loop over that at constant velocity, below which simulator and robot are alike
)
FIRST_LOAD_SEED = 1000  # first seed of logs for the load
NOTHING, GAIN, DRY = "nothing", "all torque gains too large", "no dry friction in the model"
SHORT, OFFSET = "too short a log", "torque offset"


def run(effort: Effort) -> Sequence[Part]:
    times = effort.pick(*VALIDATION_SETTINGS["repetitions"].values())
    tested = {name: [fault.tested(seed) for seed in range(times)] for name, fault in _faults().items()}
    loads = [_load(seed) for seed in range(effort.pick(*VALIDATION_SETTINGS["loads"].values()))]
    return (_part(tested, loads, times), virtual.gains_part(effort))


# -- tests -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tested:
    """The six tests on one identification."""

    direct: RunValidation
    cross: RunValidation
    inertia: InertiaMatrix
    load: KnownLoad
    methods: Comparison
    simulated: ClosedLoopCheck
    noise: float  # [%] of the torque in the simulated run
    error: float  # ‖χ̂ − χ‖ / ‖χ‖, of the parameters the model has
    values: Array

    @property
    def figures(self) -> tuple[str, ...]:
        apart = max(one.torque_percent for one in self.methods.differences)
        return (
            f"{_left(self.direct):.3g} %",
            f"{_left(self.cross):.3g} %",
            f"{self.inertia.smallest:.2g}",
            f"{self.load.found.mass:.3g} kg",
            f"{apart:.2g} %",
            f"{self.simulated_percent:.3g} %" if not self.simulated.stopped else "stopped",
        )

    @property
    def alarms(self) -> tuple[bool, ...]:
        """In the order of TESTS."""
        far = any(one.disagree and one.torque_percent >= ALIKE for one in self.methods.differences)
        failed = any(one.failed for one in self.methods.methods)
        stopped = bool(self.simulated.stopped)
        return (
            _beyond(self.direct),
            _beyond(self.cross),
            not self.inertia.sure,
            self.load.verdict not in (RECOVERED, WEAKLY),
            far or failed,
            stopped or self.simulated_percent > BEYOND * self.noise,
        )

    @property
    def simulated_percent(self) -> float:
        """Simulated less measured torque, of the measured one (rms, all joints)."""
        found = self.simulated
        return 100.0 * float(np.sqrt((found.torque**2).sum() / (found.signal**2).sum()))


def _left(one: RunValidation) -> float:
    return one.baselines.identified.total_percent


def _beyond(one: RunValidation) -> bool:
    floor = one.floor.total_percent
    return floor is not None and _left(one) > BEYOND * floor


def _tests(model: ex.DynamicModel, used: Run, unseen: Run, loaded: Run) -> Tested:
    form, estimator = virtual.formulation(), ex.WeightedLeastSquares()
    problem = Problem(model, (used,), form)
    estimate = estimator.estimate(problem)
    direct, cross = validate(problem, estimate, (used, unseen)).runs
    filtered = ex.FilteredDynamic(form.parallel_filter) if form.parallel_filter is not None else ex.FilteredDynamic()
    methods = [
        IdentificationMethod("dynamic", form, estimator),
        IdentificationMethod("filtered dynamic", filtered, estimator),
        IdentificationMethod("power", ex.Power(), estimator),
    ]
    sigma = set_up.torque_noise(PROCEDURE_FIGURES["noise"])
    simulated = simulate_closed_loop(model, estimate.values, unseen)
    known = dict(zip(set_up.model().base.names, virtual.true_values(), strict=True))
    true = np.array([known[name] for name in estimate.names])
    return Tested(
        direct,
        cross,
        check_inertia_matrix(model, estimate.values, estimate.covariance),
        recover_known_load(model, (used,), (loaded,), virtual.payload(), formulation=form),
        compare(model, (used,), methods, (unseen,), judge=form),
        simulated,
        100.0 * float(np.sqrt((sigma**2).sum() / (simulated.signal**2).sum())),
        float(np.linalg.norm(estimate.values - true) / np.linalg.norm(true)),
        estimate.values,
    )


# -- faults ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fault:
    """What goes wrong: the model that is identified, what sensors say, and how much of the log is used [s]."""

    model: ex.DynamicModel
    gain: float = 1.0
    offset: tuple[float, ...] = (0.0, 0.0, 0.0)  # [N·m] of the torque sensors
    seconds: float | None = None

    def tested(self, seed: int) -> Tested:
        done = virtual.experiment()
        used, unseen, loaded = (
            _run(one, 3 * seed + k, self.gain, self.offset)
            for k, one in enumerate((done.identification, done.validation, done.loaded))
        )
        if self.seconds is not None:
            used = _run(done.identification, 3 * seed, self.gain, self.offset, self.seconds)
        return _tests(self.model, used, unseen, loaded)


@cache
def _run(
    simulated: ex.Simulated, seed: int, gain: float, offset: tuple[float, ...], seconds: float | None = None
) -> Run:
    """A log, all of it or its first seconds; faults share those that are alike."""
    found = virtual.logged(simulated, seed)
    log = replace(found, torque=gain * found.needed_torque() + np.asarray(offset))
    return Run.of(log if seconds is None else log[log.time <= log.time[0] + seconds], name=f"log {seed}")


def _faults() -> dict[str, Fault]:
    model, given = set_up.model(), VALIDATION_SETTINGS["faults"]
    return {
        NOTHING: Fault(model),
        GAIN: Fault(model, gain=given["gain"]),
        DRY: Fault(ex.DynamicModel(model.robot, (ex.Viscous(),))),
        SHORT: Fault(model, seconds=given["short"]),
        OFFSET: Fault(model, offset=tuple(given["offset"])),
    }


def _load(seed: int) -> KnownLoad:
    """The known load from logs with noise of their own."""
    done = virtual.experiment()
    runs = [
        Run.of(virtual.logged(one, FIRST_LOAD_SEED + 2 * seed + k), name="run")
        for k, one in enumerate((done.identification, done.loaded))
    ]
    return recover_known_load(set_up.model(), runs[:1], runs[1:], virtual.payload(), formulation=virtual.formulation())


# -- what comes of it --------------------------------------------------------------------------------------------------


def _part(tested: Mapping[str, Sequence[Tested]], loads: Sequence[KnownLoad], times: int) -> Part:
    faults, mass = VALIDATION_SETTINGS["faults"], virtual.payload().mass
    told = {
        NOTHING: "–",
        GAIN: f"{percent(faults['gain'] - 1)}",
        DRY: "viscous friction only",
        SHORT: f"{faults['short']:g} s used, of which the filters take most",
        OFFSET: f"{max(faults['offset']):g} N·m on joint {int(np.argmax(faults['offset'])) + 1}, not in the model",
    }
    alarms = {name: np.mean([one.alarms for one in each], axis=0) for name, each in tested.items()}
    figures = DataTable(
        "validation-tests",
        "The six tests of 12.7 and what may be wrong (first set of logs): residual on the log used, on an unseen one, "
        f"smallest scaled eigenvalue of A, mass of the load ({mass:g} kg), largest difference of torques between "
        "methods, residual of the simulated robot; and the error of the parameters",
        ("what is wrong", "how much", *TESTS, "‖δχ‖/‖χ‖ [%]"),
        [(name, told[name], *each[0].figures, 100.0 * each[0].error) for name, each in tested.items()],
    )
    found = DataTable(
        "validation-alarms",
        f"Share of {counted(times, 'set')} of logs in which each test raises an alarm [%]",
        ("what is wrong", *TESTS),
        [(name, *100.0 * shares) for name, shares in alarms.items()],
    )
    part, joint = tested[NOTHING][0].cross.prediction, 1
    measured = Line("measured", part.measured[:, joint], "N·m", points=True)
    predicted = Line("predicted", part.predicted[:, joint], "N·m")
    return Part(
        "Section 12.7, validation",
        "The list of tests, and which faults each of them finds",
        f"{virtual.VIRTUAL_ROBOT_STATEMENT} Known load: {mass:g} kg on the tool. {counted(times, 'set')} of three "
        "logs per fault (seeds "
        f"3 k, 3 k + 1, 3 k + 2 for set k from 0: used, unseen, with the load), {len(loads)} pairs of logs without and "
        f"with the load (seeds from {FIRST_LOAD_SEED}). Alarms: a residual {BEYOND:g} times the noise or more; an "
        "inertia matrix "
        "that is not surely positive definite; a load outside its 95 % region; methods that disagree significantly and "
        f"by {ALIKE:g} % of the torque or more, or give no estimate; a simulated torque {BEYOND:g} times the noise or "
        "more from the measured one, or a simulation that stops. In open loop the simulator counts as good below "
        f"{percent(OPEN_LOOP_ERROR_RATIO)} of the error at constant velocity. The chapter gives no limits; these are "
        "ours.",
        _findings(tested, alarms, loads),
        (figures, found),
        Plot(
            f"Unseen motion: torque of joint {joint + 1}, both sides filtered",
            part.time,
            "time [s]",
            "torque [N·m]",
            (measured, predicted),
        ),
        "The chapter says what to test, and not what each test can find. None finds everything.",
    )


def _findings(
    tested: Mapping[str, Sequence[Tested]], alarms: Mapping[str, Array], loads: Sequence[KnownLoad]
) -> tuple[Finding, ...]:
    first = tested[NOTHING][0]
    good, found = alarms[NOTHING], {name: dict(zip(TESTS, each, strict=True)) for name, each in alarms.items()}
    masses = np.array([one.found.mass for one in loads])
    missed = sum(not one.agrees for one in loads)
    spread = masses.std(ddof=1)
    bias = float((masses.mean() - virtual.payload().mass) / (spread / np.sqrt(len(masses))))
    right, chance = recovered(missed, len(loads), bias)
    apart = {(one.first, one.second): one.torque_percent for one in first.methods.differences}
    unseen = _run(virtual.experiment().validation, 1, 1.0, (0.0, 0.0, 0.0))
    opened = simulate_open_loop(set_up.model(), first.values, unseen)
    floor = {kind: one.floor.total_percent or np.nan for kind, one in (("used", first.direct), ("unseen", first.cross))}
    return (
        shown(
            "certified: both motions keep all limits",
            virtual.planned().certificate.certified and virtual.unseen().certificate.certified,
        ),
        shown(
            "direct validation: residual on the log used [%]", _left(first.direct), f"noise alone {floor['used']:.3g} %"
        ),
        shown(
            "cross validation: residual on an unseen motion [%]",
            _left(first.cross),
            f"noise alone {floor['unseen']:.3g} %",
        ),
        claim(
            "the inertia matrix of the estimated parameters is positive definite",
            first.inertia.sure is True,
            f"smallest scaled eigenvalue {first.inertia.smallest:.3g}, {first.inertia.surety or 0.0:.0f} σ from zero "
            "where it is least sure",
        ),
        claim(
            "identified without and with a known load, the load is correctly estimated",
            right,
            f"{len(loads) - missed} of {len(loads)} loads within their 95 % region (chance of so many or so few: "
            f"{chance:.2g}); mass {masses.mean():.4f} ± {spread:.4f} kg, true {virtual.payload().mass:g} kg",
        ),
        claim(
            "different methods (dynamic, filtered dynamic, power) give comparable results",
            found[NOTHING]["methods"] == 0.0,
            "; ".join(f"{a} and {b}: torques differ by {value:.2g} %" for (a, b), value in apart.items()),
        ),
        claim(
            "a simulator with the identified parameters responds as the robot",
            alike(found[NOTHING]["simulator"], float(opened.relative[-1])),
            f"under a controller: torques {first.simulated_percent:.3g} % from the measured ones, sensor noise alone "
            f"{first.noise:.3g} %; driven by the measured torque for {opened.horizons[-1]:g} s: "
            f"{percent(opened.relative[-1])} of the error at constant velocity",
        ),
        shown("false alarms of all tests, nothing wrong [%]", 100.0 * float(good.mean())),
        shown(
            "all torque gains wrong: only the known load tells",
            found[GAIN]["known load"] == 1.0 and sum(found[GAIN].values()) == 1.0,
            f"mass {tested[GAIN][0].load.found.mass:.3g} kg; every parameter is wrong by the same factor, which no "
            "comparison with the same torques can see",
        ),
        shown(
            "too short a log: direct validation says nothing, an unseen motion and the inertia matrix do",
            found[SHORT]["direct"] == 0.0 and found[SHORT]["cross"] == found[SHORT]["inertia matrix"] == 1.0,
            f"residual {_left(tested[SHORT][0].direct):.3g} % on the log used, {_left(tested[SHORT][0].cross):.3g} % "
            "on the unseen one",
        ),
        shown(
            "friction missing from the model: residuals and methods tell, inertia matrix and load do not",
            tuple(found[DRY][test] for test in TESTS[:5]) == (1.0, 1.0, 0.0, 0.0, 1.0),
        ),
        shown(
            "alarms that a constant offset of a torque sensor raises, mean of all tests [%]",
            100.0 * float(alarms[OFFSET].mean()),
            f"the parameters are then wrong by {100 * tested[OFFSET][0].error:.2g} %, without it by "
            f"{100 * first.error:.2g} %: the offset is taken for gravity and friction",
        ),
        _necessary(),
    )


def alike(alarms: float, predicted: float) -> bool:
    """Simulator and robot: no alarm, and open-loop errors below a tenth of those at constant velocity."""
    return alarms == 0.0 and predicted < OPEN_LOOP_ERROR_RATIO


def _necessary() -> Finding:
    """A positive definite inertia matrix does not make bodies."""
    model = set_up.model()
    matrix = check_inertia_matrix(model, set_up.true_values())
    bodies = [link_consistency(joint.inertia, joint.name) for joint in model.robot.joints]
    return shown(
        "the inertia matrix can be positive definite though a link cannot exist",
        matrix.definite and not all(one.consistent for one in bodies),
        f"the values X of Gautier and Khalil's Table 6 have a positive definite A (smallest scaled eigenvalue "
        f"{matrix.smallest:.3g}), and no body can be their link 3: "
        f"{next(('; '.join(one.problems) for one in bodies if not one.consistent), 'all can exist')}",
    )
