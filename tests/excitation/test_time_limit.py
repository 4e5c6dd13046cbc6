"""Time limits are kept: inside every step, whatever the clock on the wall does, with the best motion so far as result.

The clock of these tests is a counter that moves when a constraint is evaluated, so that nothing depends on the machine.
"""

import importlib
import json
import time
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter import cli
from exciter.commands.design import stopped_words
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.design import _Rehearsal, design
from exciter.excitation.optimiser.deadline import NEVER, Deadline, OutOfTime
from exciter.excitation.optimiser.quadratic_program import solved
from exciter.excitation.optimiser.search import Search
from exciter.excitation.trajectories.fourier import Fourier
from exciter.notes import texts
from exciter.parameters.terms import Viscous
from exciter.report.design_report import done_sentence
from exciter.robot import load
from support.terminal import without_progress

pytestmark = pytest.mark.slow

ROBOT = load("gautier-khalil")
ROBOT = ROBOT.with_limits(torque=0.7 * np.nan_to_num(ROBOT.limit("torque"), posinf=300.0))
MODEL = DynamicModel(ROBOT, (Viscous(),))
FAMILY = Fourier(8.0, 3, at_rest=True)
EVALUATION = 1.0  # seconds of the counter


@dataclass
class Counter:
    """A clock that is moved on by what is measured with it; begun: when each evaluation began."""

    now: float = 100.0
    begun: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def work(self) -> None:
        self.begun.append(self.now)
        self.now += EVALUATION


@dataclass(frozen=True, eq=False)
class Slow:
    """A constraint whose evaluation takes a second of the counter."""

    own: Constraint
    counter: Counter

    @property
    def rows(self):
        return self.own.rows

    def values(self, motion):
        self.counter.work()
        return self.own.values(motion)

    def linearised(self, motion):
        self.counter.work()
        return self.own.linearised(motion)

    def lower_bounds(self, spans):
        self.counter.work()
        return self.own.lower_bounds(spans)


def slow_constraints(counter: Counter) -> tuple[Slow, ...]:
    return tuple(Slow(own, counter) for own in (TorqueLimits(MODEL), HalfSpace(ROBOT, "tool", (0, 0, 1), -0.6)))


def slow_search(counter: Counter) -> Search:
    objective = DesignObjective(MODEL, DOptimality(), MODEL.base.independent, np.ones(3))
    return Search(FAMILY, objective, slow_constraints(counter), 400, 0)


@pytest.fixture(scope="module")
def whole() -> float:
    """Seconds of the counter that one start takes."""
    counter = Counter()
    assert slow_search(counter).run(0, Deadline(1e9, clock=counter)).complete
    return counter.now - 100.0


@pytest.mark.parametrize("share", [0.0, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9, 0.95, 0.99])
def test_nothing_begins_after_the_deadline(whole, share):
    """In the search for a posture, for a start, on the way down, in the repair and in the certificate."""
    counter = Counter()
    deadline = Deadline(100.0 + share * whole, clock=counter)
    attempt = slow_search(counter).run(0, deadline)
    assert not attempt.complete
    assert max(counter.begun, default=0.0) < deadline.at
    assert counter.now < deadline.at + EVALUATION


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_start_that_is_stopped_leaves_time_for_its_certificate(whole, share):
    counter = Counter()
    certificates = Counter()
    assert slow_search(certificates).initial_motion(0, Deadline(1e9, clock=certificates)).feasible
    seconds = 2.0 * (certificates.now - 100.0)
    attempt = slow_search(counter).run(0, Deadline(100.0 + share * whole, clock=counter), None, seconds)
    assert attempt.feasible
    assert not attempt.complete
    curve = attempt.trajectory.curve(attempt.delta)
    assert certify(ROBOT, curve, [slow.own for slow in slow_search(counter).constraints]).certified


def test_a_certificate_that_takes_longer_than_was_expected_does_not_lose_the_motion(whole):
    """The motion is there, and time that is kept free for files: the certificate may take some of it."""

    class Tough(Slow):
        def lower_bounds(self, spans):
            for _ in range(30):
                self.counter.work()
            return super().lower_bounds(spans)

    found = []
    for patience in (0.0, 1000.0 * EVALUATION):
        counter = Counter()
        constraints = tuple(Tough(one.own, counter) for one in slow_constraints(counter))
        deadline = Deadline(100.0 + 0.9 * whole, clock=counter, patience=patience)
        found.append(replace(slow_search(counter), constraints=constraints).run(0, deadline))
        assert counter.now < deadline.of_certificates.at + 31 * EVALUATION
    lost, kept = found
    assert lost.delta is None
    assert kept.feasible


def test_certificates_may_take_half_of_what_is_kept_free_beyond_the_files():
    ends = _Rehearsal(None, certificate_seconds=1.0, other_seconds=10.0).ends(Deadline(100.0, 60.0))
    assert_allclose((ends.at, ends.patience), (100.0 - 1.4 * 11.0, 0.5 * (1.4 * 11.0 - 10.0)))
    assert ends.of_certificates.at < 90.0


def test_a_design_ends_in_time_with_the_best_so_far_and_can_be_resumed(whole, tmp_path):
    counter, file = Counter(), tmp_path / "checkpoint.json"
    settings = {"constraints": slow_constraints(counter), "samples": 400, "starts": 2, "checkpoint": file}
    deadline = Deadline.after(1.9 * whole, clock=counter)
    stopped = design(MODEL, FAMILY, time_limit=deadline, **settings)
    assert max(counter.begun) < deadline.at
    assert stopped.interrupted
    assert stopped.out_of_time
    assert stopped.certificate.certified
    assert stopped.value == min(attempt.value for attempt in stopped.attempts)
    assert [attempt.number for attempt in stopped.attempts if attempt.complete]
    resumed = design(MODEL, FAMILY, **settings)
    uninterrupted = design(MODEL, FAMILY, **{**settings, "checkpoint": None})
    assert not resumed.interrupted
    assert_allclose(resumed.delta, uninterrupted.delta, rtol=0, atol=0)


def test_when_time_is_short_the_motion_of_the_beginning_is_certified_at_least():
    """The rehearsal is all there is time for: no start has an end."""
    counter = Counter()
    search = slow_search(counter)
    search.initial_motion(0, Deadline(1e9, clock=counter))
    rehearsal = counter.now - 100.0
    counter = Counter()
    limit = Deadline.after(3.5 * rehearsal, clock=counter)
    found = design(MODEL, FAMILY, constraints=slow_constraints(counter), samples=400, starts=4, time_limit=limit)
    assert max(counter.begun) < limit.at
    assert found.out_of_time
    assert found.certificate.certified
    assert len(found.attempts) == 1
    assert (found.unsearched, found.evaluations) == (True, 0)


def test_a_motion_that_no_search_found_is_not_called_the_best_so_far():
    found = design(MODEL, FAMILY, samples=400, starts=1)
    assert stopped_words(found).endswith("best so far; --resume goes on")
    assert "1 of 1 starts feasible" in found.summary
    under_way = replace(found, attempts=tuple(replace(attempt, complete=False) for attempt in found.attempts))
    assert "best so far; --resume begins anew, for no start was complete" in stopped_words(under_way)
    unsearched = replace(under_way, unsearched=True, evaluations=0)
    assert "stopped before any start had a motion; give more time" in stopped_words(unsearched)
    assert "best" not in stopped_words(unsearched)
    assert unsearched.summary.endswith("not searched for: the time limit came first")
    assert "generated as a first guess and not optimised" in done_sentence(unsearched)


def test_a_design_without_time_for_a_search_says_so(tmp_path):
    counter = Counter()
    slow_search(counter).initial_motion(0, Deadline(1e9, clock=counter))
    limit = Deadline.after(3.5 * (counter.now - 100.0), clock=(counter := Counter()))
    found = design(MODEL, FAMILY, constraints=slow_constraints(counter), samples=400, starts=4, time_limit=limit)
    assert any("came before any start of the search had a motion" in words for words in texts(found.notes))
    assert not design(MODEL, FAMILY, samples=400, starts=1, time_limit=600.0).notes


@pytest.fixture
def stopped(whole, tmp_path):
    """The settings of a design that was stopped in its second start, and what it found."""
    settings = {"samples": 400, "starts": 3, "checkpoint": tmp_path / "checkpoint.json"}
    counter = Counter()
    limit = Deadline.after(2.2 * whole, clock=counter)
    found = design(MODEL, FAMILY, time_limit=limit, constraints=slow_constraints(counter), **settings)
    complete = [attempt for attempt in found.attempts if attempt.complete]
    assert 0 < len(complete) < 3
    return settings, min(complete, key=lambda attempt: attempt.value)


@pytest.mark.parametrize("left", [-1.0, 0.5, 3.0, 20.0, 60.0])
def test_a_resumed_design_without_time_ends_with_the_best_start_of_before_certified(stopped, left):
    """Whether time ends before the checkpoint is read, in its certificate, or in what is kept free for files."""
    settings, best = stopped
    counter = Counter()
    limit = Deadline(counter.now + left, 1.0, clock=counter)
    constraints = slow_constraints(counter)
    found = design(MODEL, FAMILY, time_limit=limit, constraints=constraints, file_rate=200.0, **settings)
    assert_allclose(found.delta, best.delta, rtol=0, atol=0)
    assert (found.interrupted, found.out_of_time, found.unsearched) == (True, True, False)
    assert found.certificate.certified
    assert certify(ROBOT, found.curve, [slow.own for slow in constraints]).certified


def test_a_forged_best_start_is_refused_without_time_too(stopped):
    settings, _ = stopped
    file = settings["checkpoint"]
    lines = file.read_text().splitlines()
    forged = {**json.loads(lines[1]), "number": 2, "value": -1e9}
    file.write_text("\n".join([*lines, json.dumps(forged)]) + "\n")
    counter = Counter()
    limit = Deadline(counter.now - 1.0, 1.0, clock=counter)
    with pytest.raises(ExciterError, match="its motion is worth"):
        design(MODEL, FAMILY, time_limit=limit, constraints=slow_constraints(counter), **settings)


def test_files_that_overtime_is_there_for_leave_time_for_a_search():
    deadline = Deadline(10.0, 3.0, clock=lambda: 8.0)  # 2 s are left
    rehearsal = _Rehearsal(None, None, certificate_seconds=0.5, other_seconds=1.5)
    assert rehearsal.reserve > 2.0
    assert rehearsal.within(deadline, overtime=5.0).reserve == pytest.approx(1.0)
    assert rehearsal.within(deadline, overtime=0.0).reserve == rehearsal.reserve
    assert rehearsal.within(deadline, overtime=0.5).reserve == pytest.approx(rehearsal.reserve - 0.5)
    assert rehearsal.within(deadline.moved(100.0), overtime=5.0).reserve == rehearsal.reserve


def test_no_motion_in_time_is_said_in_one_line():
    counter = Counter()
    limit = Deadline.after(3 * EVALUATION, clock=counter)
    with pytest.raises(ExciterError, match="no motion that keeps all limits was found and certified in 3 s; "):
        design(MODEL, FAMILY, constraints=slow_constraints(counter), samples=400, starts=4, time_limit=limit)
    assert max(counter.begun) < limit.at


def test_no_motion_in_time_leaves_no_file(capsys, tmp_path):
    with pytest.raises(SystemExit) as leaving:
        cli.main(["design", "gautier-khalil", "-o", str(tmp_path / "out"), "--time-limit", "0.001"])
    said = capsys.readouterr()
    assert leaving.value.code == 2
    assert without_progress(said.err).count("\n") == 1
    assert "in 0.001 s" in said.err
    assert not list(tmp_path.iterdir())


def test_a_change_of_the_date_ends_nothing(monkeypatch):
    """Summer time, a corrected clock: an hour forward or back at every look is no hour of work."""
    looks = iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: 1.7e9 + 3600.0 * next(looks))
    found = design(MODEL, FAMILY, samples=400, starts=2, time_limit=600.0)
    assert not found.interrupted
    assert len(found.attempts) == 2
    assert 0.0 < found.seconds < 3600.0


def test_compiling_does_not_count(monkeypatch):
    """It happens once per machine, is announced, and would leave a short limit without any search."""
    monkeypatch.setattr("exciter.dynamics.kernels.cache.compile_seconds", lambda: 0.0)
    deadline = Deadline.after(50.0)
    monkeypatch.setattr("exciter.dynamics.kernels.cache.compile_seconds", lambda: 1000.0)
    assert deadline.left > 1000.0
    assert deadline.shared().clock is time.monotonic  # other processes have compiled nothing
    assert deadline.shared().left > 1000.0


def test_a_long_quadratic_problem_is_given_up():
    rng = np.random.default_rng(0)
    m = rng.standard_normal((80, 80))
    a, low = rng.standard_normal((300, 80)), -rng.uniform(0.0, 0.1, 300)
    problem = (m @ m.T + np.eye(80), 100.0 * rng.standard_normal(80), (np.full(80, -0.3), np.full(80, 0.3)), a, low)
    assert solved(*problem, np.full(300, 0.1), np.zeros(380), np.inf) is not None
    with pytest.raises(OutOfTime):
        solved(*problem, np.full(300, 0.1), np.zeros(380), 1e-9)


def test_there_is_no_deadline_unless_there_is_a_limit():
    assert not NEVER.passed
    assert not NEVER.shared().passed
    assert not Deadline.after(None).moved(-1e300).passed


@pytest.mark.parametrize("resume", [False, True])
def test_files_have_overtime_and_no_more_unless_a_checkpoint_has_the_motion(monkeypatch, tmp_path, capsys, resume):
    """A search that came to its end too late does not write for as long as it likes; what was found before is kept."""
    command = importlib.import_module("exciter.commands.design")
    words = ["design", "gautier-khalil", "-o", str(tmp_path), "--starts", "1"]
    with pytest.raises(SystemExit):
        cli.main(words)
    before = (tmp_path / "design.json").read_bytes()
    kept = command.design

    def late(robot, *, deadline, **settings):
        found = kept(robot, deadline=NEVER, **settings)
        deadline.clock.now += 1000.0
        return found

    class Clock:
        now = 0.0

        def __call__(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(command, "design", late)
    monkeypatch.setattr(Deadline, "after", lambda limit, elapsed: Deadline(clock() + limit, limit, clock))
    with pytest.raises(SystemExit) as leaving:
        cli.main([*words, "--time-limit", "20", *(["--resume"] if resume else [])])
    assert leaving.value.code == (0 if resume else 2)
    assert ((tmp_path / "design.json").read_bytes() == before) is not resume
