"""Drives of a robot from commands and encoder: from logs and settings to numbers with σ, and what cannot be told
apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.quality.quality import check
from exciter.experiment.recording.recording import Recording
from exciter.identification.actuators.actuator_settings import ActuatorSettings
from exciter.identification.actuators.alike import LEAST_SPREAD, Population, populations, pull_together
from exciter.identification.actuators.control_law import clamped_commands, control_gains
from exciter.identification.actuators.drive_numbers import DriveNumbers, Numbers, drive_numbers
from exciter.identification.actuators.drive_simulator import (
    SOFT_FRICTION,
    DriveSimulator,
    Stretch,
    drive_simulator,
    integrator_remark,
    refuse_others,
)
from exciter.identification.actuators.linear_start import linear_start
from exciter.identification.actuators.lost_commands import held_commands, with_lost_commands
from exciter.identification.actuators.moved_links import payload_places
from exciter.identification.actuators.score_covariance import correlated_scores, lags_of, window_freedom
from exciter.identification.actuators.shooting_fit import (
    FittedDrives,
    Penalty,
    ShootingProblem,
    first_speed,
)
from exciter.identification.actuators.structure import (
    STRUCTURE_SUBJECT,
    FoundStructure,
    structure_notes,
    wrong_structures,
)
from exciter.identification.actuators.structure_bias import structure_errors
from exciter.identification.actuators.untold import combinations, known_before
from exciter.identification.information.estimate import (
    FAIR,
    FAIR_STD_PERCENT,
    GOOD,
    GOOD_STD_PERCENT,
    INSIGNIFICANT,
    WEAK,
    student_interval,
)
from exciter.notes import Note, note, warning
from exciter.robot.robot import Robot
from exciter.typing import Array

LEAST_SAMPLES = 50  #: of a log
LEAST_MOTION_RAD = 1e-3  #: by which a joint must move for its drive to be found
SAME_RAD = 1e-9  #: a command that differs less from the measurement is the measurement
SOFT_ITERATIONS, HARD_ITERATIONS, ALIKE_ROUNDS = 6, 15, 2
SOFT_STEP = 1.0  #: in σ: a step that ends the search with smoothed friction, which is where the next begins
UNTOLD_SUBJECT = "cannot be told apart"
LEAST_TOLD_SHARE = 1e-12  #: of a variance, by samples: less is none, and the prior is all that is known
LARGE_REPEATS = 10.0  #: samples that say the same: residuals are no noise
#: what exciter inspect finds wrong that makes drives wrong, whatever else a log is good for
WRONG_FOR_DRIVES = ("unit of time", "unit of position", "command", "command is measured", "stuck command")


@dataclass(frozen=True, eq=False, kw_only=True)
class ActuatorFit:
    """numbers: the unknowns, at their start; fitted: where they are; covariance (p, p) of coordinates, freedom (p,) of
    each σ, in degrees. stretches: what was simulated. alike: populations, and their spread. untold: combinations in
    words."""

    robot: Robot
    settings: ActuatorSettings
    simulator: DriveSimulator
    numbers: DriveNumbers
    fitted: FittedDrives
    covariance: Array
    freedom: Array
    stretches: tuple[Stretch, ...]
    alike: tuple[Population, ...]
    untold: tuple[str, ...]
    notes: tuple[Note, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.numbers.names

    @property
    def units(self) -> tuple[str, ...]:
        return self.numbers.units

    @property
    def drives(self) -> dict[str, Array]:
        """(n,) of every kind."""
        return self.numbers.at(self.fitted.x)

    @property
    def values(self) -> Array:
        return self.numbers.values(self.fitted.x)

    @property
    def std(self) -> Array:
        """(p,) in the units of the values."""
        return np.sqrt(np.diag(self.covariance)) * self.numbers.slopes(self.fitted.x)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """(p,) both: of a positive number by its logarithm, so that it stays positive."""
        low, high = student_interval(self.fitted.x, np.sqrt(np.diag(self.covariance)), self.freedom, level)
        return self.numbers.values(low), self.numbers.values(high)

    @property
    def correlation(self) -> Array:
        """(p, p) of the coordinates."""
        deviation = np.sqrt(np.diag(self.covariance))
        return np.asarray(self.covariance / np.outer(deviation, deviation))

    @property
    def status(self) -> tuple[str, ...]:
        """Of each value: good, fair, weak, not significant; of delays and biases by their interval alone."""
        low, high = self.interval()
        found = list[str]()
        for k, unknown in enumerate(self.numbers.unknowns):
            percent = 100.0 * self.std[k] / max(abs(self.values[k]), 1e-300)
            lost = percent > 100.0 if unknown.kind.positive else low[k] <= 0.0 <= high[k]
            word = GOOD if percent < GOOD_STD_PERCENT else FAIR if percent < FAIR_STD_PERCENT else WEAK
            found.append(INSIGNIFICANT if lost else word)
        return tuple(found)

    @property
    def residual_rms(self) -> Array:
        """(n,) [rad] between simulated and measured, of all stretches."""
        off = [s.q - y for s, y in zip(self.stretches, self.fitted.simulated, strict=True)]
        return np.asarray(np.sqrt(np.mean(np.vstack(off) ** 2, axis=0)))

    def simulate(self, recording: Recording) -> tuple[Stretch, Array]:
        """A log driven by its command alone from its first state: the log, and encoder positions (N, n)."""
        return rolled_freely(self.simulator, self.drives, recording.arranged(self.robot), self._held)

    def before(self, recording: Recording) -> Array:
        """The same with the numbers that the description and the control law gave."""
        log = recording.arranged(self.robot)
        return rolled_freely(self.simulator, self.numbers.start, log, self._held)[1]

    @property
    def _held(self) -> float | None:
        return held_step(self.settings, self.simulator)


def rolled_freely(
    simulator: DriveSimulator, numbers: Numbers, recording: Recording, held: float | None = None
) -> tuple[Stretch, Array]:
    """See ``ActuatorFit.simulate``, and ``whole``."""
    stretch = whole(recording, 0, held)
    state = np.concatenate([stretch.q[0], first_speed(stretch)])[None]
    return stretch, simulator.roll(simulator.with_numbers(numbers), numbers, state, [stretch])[0]


def fit_actuators(
    robot: Robot,
    recordings: Sequence[Recording],
    settings: ActuatorSettings,
    tell: Callable[[str], None] | None = None,
    held: Sequence[Recording] = (),
    examined: bool = True,
) -> ActuatorFit:
    """Numbers of the drives for which the simulated robot does what the encoder said. held: logs that are looked at
    only, so that a useless one is refused before and not after the fit. examined: whether a wrong structure is looked
    for in residuals, and logs for what is plainly wrong."""
    say = tell or (lambda words: None)
    refuse_others(robot)  # before a log is asked how a free base moved
    asked = settings if examined else replace(settings, accept_problems=True)
    logs = [checked(recording.arranged(robot), robot, asked) for recording in recordings]
    for recording in held:
        refuse_commandless(recording)
        if not settings.accept_problems:
            refuse_wrong(recording.arranged(robot), robot)
    interval = float(np.median(np.concatenate([np.diff(log.time) for log in logs])))
    simulator = drive_simulator(robot, settings.simulator, interval, payload_places(robot, settings))
    wholes = [whole(log, k, held_step(settings, simulator)) for k, log in enumerate(logs)]
    stretches = [s for one in wholes for s in cut(one, settings.segment)]
    if not stretches:
        raise RecordingError(
            f"{logs[0].name or 'the log'} has {1.0 / interval:.2g} samples per second, fewer than 3 in "
            f"{settings.segment:g} s; is its time in seconds?"
        )
    gains, from_where = control_gains(robot, settings)
    described = drive_numbers(robot, settings, gains)
    say("linear regression")
    numbers = linear_start(simulator, described, stretches)
    problem = ShootingProblem(simulator, numbers, stretches, settings.loss)
    x = numbers.coordinates
    centre, weak = described.coordinates, np.diag(described.spreads**-2.0)
    prior = Penalty(centre, weak)
    untold = list[str]()

    def before(information: Array) -> None:
        untold.extend(known_before(numbers, information))
        for sentence in untold:
            say(f"{UNTOLD_SUBJECT}: {sentence}")

    soft = problem.fit(
        x,
        prior,
        softness=SOFT_FRICTION,
        close=SOFT_STEP,
        iterations=SOFT_ITERATIONS,
        tell=lambda w: say(f"smoothed friction: {w}"),
        before=before,
    )
    begun = problem.likelier(soft.x, soft.states)
    fitted = problem.fit(soft.x, prior, begun, iterations=HARD_ITERATIONS, tell=lambda w: say(f"fit: {w}"))
    untold.extend(combinations(numbers, fitted.information))
    alone, found, weight = fitted.x, tuple[Population, ...](), weak
    for turn in range(ALIKE_ROUNDS if numbers.populations else 0):
        found = populations(numbers, alone, inverse(fitted.information + weak))
        if not found:
            break
        weight = weak + pull_together(len(x), found)
        mean = np.asarray(np.linalg.solve(weight, weak @ centre), dtype=float)
        fitted = problem.fit(
            fitted.x,
            Penalty(mean, weight),
            fitted.states,
            iterations=HARD_ITERATIONS,
            tell=lambda w, turn=turn: say(f"drives that are alike, {turn + 1}: {w}"),  # type: ignore[misc]
        )
        # what the samples would say by themselves, near here: the prior taken off again
        right = (fitted.information + weight) @ fitted.x - weight @ mean + weak @ centre
        alone = np.asarray(np.linalg.solve(fitted.information + weak, right), dtype=float)
    covariance, freedom = uncertainty(fitted, weight)
    structures = tuple[FoundStructure, ...]()
    if examined:
        say("what residuals look like")
        firsts = np.array([first_state(one, stretches, fitted.states) for one in wholes])
        structures = wrong_structures(simulator, numbers, fitted.x, wholes, firsts)
        covariance = covariance + structure_errors(problem, fitted, structures, wholes, firsts, weight)
    std = np.sqrt(np.diag(covariance)) * numbers.slopes(fitted.x)
    holds = hold_remark(numbers, interval, std) if held_step(settings, simulator) is None else ()
    of_step = step_remark(simulator, numbers, fitted.x, std)
    of_simulator = (*integrator_remark(robot, simulator), *of_step, *holds)
    return ActuatorFit(
        robot=robot,
        settings=settings,
        simulator=simulator,
        numbers=numbers.started(described.start),
        fitted=fitted,
        covariance=covariance,
        freedom=freedom,
        stretches=tuple(stretches),
        alike=found,
        untold=(named := tuple(dict.fromkeys(untold))),
        notes=(
            *from_where,
            *clamped_commands(robot, np.vstack([log.command for log in logs if log.command is not None])),
            *of_simulator,
            *remarks(robot, numbers, fitted, found, named, logs),
            *structure_notes(structures, robot.joint_names),
        ),
    )


def first_state(log: Stretch, stretches: Sequence[Stretch], states: Array) -> Array:
    """(2 n,) of a whole log: as its first stretch was fitted, or as measured where that begins later."""
    for one, state in zip(stretches, states, strict=True):
        if one.log == log.log and one.time[0] == log.time[0]:
            return np.asarray(state)
    return np.concatenate([log.q[0], first_speed(log)])


def uncertainty(fitted: FittedDrives, weight: Array) -> tuple[Array, Array]:
    """Covariance (p, p) of coordinates, and degrees of freedom (p,) of each σ; weight (p, p): of the prior, which is
    known."""
    bread, lags = inverse(fitted.information + weight), lags_of(fitted.repeats)
    told = bread @ correlated_scores(fitted.scores, lags) @ bread
    covariance = told + bread @ weight @ bread
    freedom = np.maximum(1.0, fitted.left * (window_freedom(fitted.parts, lags) - 1.0))
    freedom = freedom * (np.diag(covariance) / np.maximum(np.diag(told), LEAST_TOLD_SHARE * np.diag(covariance))) ** 2
    return 0.5 * (covariance + covariance.T), freedom


def inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.inv(matrix), dtype=float)


def gains_of(robot: Robot, settings: ActuatorSettings) -> dict[str, Array]:
    """kp, kd, limit (n,) of the control law."""
    return control_gains(robot, settings)[0]


def checked(recording: Recording, robot: Robot, settings: ActuatorSettings) -> Recording:
    """A log with commands, of motion, in which nothing is plainly wrong; samples without a command are left out."""
    name = recording.name or "the log"
    refuse_commandless(recording)
    assert recording.command is not None
    told = np.isfinite(recording.command).all(axis=1) & np.isfinite(recording.q).all(axis=1)
    if told.sum() < LEAST_SAMPLES:
        raise RecordingError(
            f"{name} has {int(told.sum())} samples with command and position; {LEAST_SAMPLES} are needed"
        )
    moved = np.ptp(recording.q[told], axis=0)
    if moved.max() < LEAST_MOTION_RAD:
        raise RecordingError(
            f"{name} is at rest: no joint moves by more than {1e3 * moved.max():.2g} mrad; move the joints"
        )
    for j, joint in enumerate(robot.joint_names):
        if moved[j] >= LEAST_MOTION_RAD and np.abs(recording.command[told, j] - recording.q[told, j]).max() < SAME_RAD:
            raise RecordingError(
                f"{name}: the command of joint '{joint}' is its measured position; record what was sent to the drive"
            )
    still = [name for name, way in zip(robot.joint_names, moved, strict=True) if way < LEAST_MOTION_RAD]
    if still:
        raise RecordingError(f"{name}: joint '{still[0]}' does not move; lock it (lock: ['{still[0]}']) or move it")
    if not settings.accept_problems:
        refuse_wrong(recording, robot)
    return recording if told.all() else recording[np.flatnonzero(told)]


def refuse_commandless(recording: Recording) -> None:
    if recording.command is None:
        name = recording.name or "the log"
        raise RecordingError(f"{name} has no command column ('<joint>.command', or command: in recording.yaml)")


def refuse_wrong(recording: Recording, robot: Robot) -> None:
    """A log with another unit, sign or column than it seems: a fit would hide that in friction and offsets."""
    for finding in check(recording, robot).problems:
        if finding.subject in WRONG_FOR_DRIVES:
            of = f" of joint '{finding.joint}'" if finding.joint else ""
            raise RecordingError(
                f"{recording.name or 'the log'}: {finding.subject}{of}: {finding.text} (see exciter inspect; "
                "accept_problems: true under actuators: fits it all the same)"
            )


def whole(log: Recording, number: int, held: float | None = None) -> Stretch:
    """held: step of the simulation [s], where drives hold each command until the next."""
    assert log.command is not None
    told = with_lost_commands(log.time, log.command)
    return Stretch(number, log.time, log.q, *(told if held is None else held_commands(*told, held)))


def held_step(settings: ActuatorSettings, simulator: DriveSimulator) -> float | None:
    """For ``whole``."""
    return simulator.step if settings.control is not None and settings.control.held else None


def cut(log: Stretch, seconds: float) -> list[Stretch]:
    """Stretches of about so many seconds; the command is that of the whole log, for delays look back."""
    count = max(1, round((log.time[-1] - log.time[0]) / seconds))
    edges = np.searchsorted(log.time, np.linspace(log.time[0], log.time[-1], count + 1)[1:-1])
    ends = [0, *edges.tolist(), len(log.time)]
    pairs = [(a, b) for a, b in itertools.pairwise(ends) if b - a >= 3]
    return [Stretch(log.log, log.time[a:b], log.q[a:b], log.command_time, log.command) for a, b in pairs]


def step_remark(simulator: DriveSimulator, numbers: DriveNumbers, x: Array, std: Array) -> Iterator[Note]:
    """That rotors are those of a simulator with this step, where that is more than their σ."""
    added, values = simulator.inertia_of_step(numbers.at(x)), numbers.values(x)
    rotors = [(k, u.joints[0]) for k, u in enumerate(numbers.unknowns) if u.kind.word == "armature"]
    if not any(abs(added[j]) > std[k] for k, j in rotors):
        return
    k, j = max(rotors, key=lambda one: abs(added[one[1]]) / values[one[0]])
    euler = simulator.integrator == "euler"
    yield note(
        "step of the simulation",
        f"armature is what MuJoCo needs at steps of {1e3 * simulator.step:.3g} ms with Kd "
        f"{'computed once per step' if euler else 'integrated implicitly'}; the robot's own is about h/2 "
        f"({'damping − Kd' if euler else 'damping + Kd'}) beside it, {added[j]:+.2g} kg·m² or "
        f"{100.0 * added[j] / values[k]:+.2g} % of {simulator.robot.joint_names[j]}, which σ does not count: fit with "
        "the step and law that you train with (simulator: {step: …, integrator: …})",
    )


def hold_remark(numbers: DriveNumbers, interval: float, std: Array) -> Iterator[Note]:
    """That drives which hold their commands seem late; interval [s] between samples."""
    late = [std[k] for k, u in enumerate(numbers.unknowns) if u.kind.word == "delay"]
    if late and 0.5 * interval > min(late):
        yield note(
            "delay",
            "commands are straight lines between samples; where the drive held each until the next, "
            f"{500.0 * interval:.3g} ms of the delay (half a sample) are that hold, which a simulator that holds "
            "commands adds by itself: control: {held: true} simulates it",
        )


def remarks(
    robot: Robot,
    numbers: DriveNumbers,
    fitted: FittedDrives,
    found: Sequence[Population],
    untold: Sequence[str],
    logs: Sequence[Recording],
) -> tuple[Note, ...]:
    notes = [warning(UNTOLD_SUBJECT, text) for text in untold]
    sizes = np.array([np.ptp(np.vstack([log.q[:, [j]] for log in logs])) for j in range(robot.n)])
    lasting = [j for j in range(robot.n) if fitted.repeats[j] > LARGE_REPEATS]
    if lasting:
        listed = [
            f"{robot.joint_names[j]} {1e3 * fitted.sigma[j]:.2g} {'mm' if robot.joints[j].is_prismatic else 'mrad'}, "
            f"{100.0 * fitted.sigma[j] / max(sizes[j], 1e-12):.2g} %, {fitted.repeats[j]:.0f}"
            for j in lasting
        ]
        text = (
            "residuals last: they are no noise, but what armature, damping and dry friction do not describe, or gains "
            "and masses that are off; σ counts that they last, and how far the numbers are off by it only where a note "
            f"'{STRUCTURE_SUBJECT}' names what is lacking (σ, of the motion, samples that say the same): "
            f"{'; '.join(listed)}"
        )
        notes.append(warning("model error", text, joints=tuple(robot.joint_names[j] for j in lasting)))
    for one in found:
        names = ", ".join(robot.joint_names[numbers.unknowns[k].joints[0]] for k in one.members)
        notes.append(
            note(
                "drives that are alike",
                f"{one.kind} of {names} differs by {100 * one.spread:.0f} % (σ), "
                + ("the least that is assumed" if one.spread <= 1.01 * LEAST_SPREAD else "as the logs say"),
            )
        )
    return tuple(notes)
