"""Following a stream: the batch's answer without drift, drift within its intervals, alarms at their rate."""

from dataclasses import replace

import numpy as np
import pytest

import exciter as ex
from exciter.errors import ExciterError, ParameterError, RecordingError
from exciter.experiment.recording import AnalogFilter
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.identification.following.follow_settings import AlarmSettings, FollowSettings, kind_of
from exciter.identification.following.followed_parameters import FollowedParameters, prior_of_estimate
from exciter.identification.following.noise_level import NoiseLevel, clipped_mean
from exciter.identification.following.residual_alarm import ALL_JOINTS, ResidualWatch
from exciter.identification.information.information import Information
from exciter.identification.information.kalman import Innovations
from exciter.pipeline.follow import grouped
from support import following
from support.following import EQUATIONS, FILTERED, NOISE
from support.robots import smooth_motion

ALL_ROWS = {"drift": {}, "alarm": {"rows": "use"}}
SETTINGS_OF_A_WALK = FollowSettings(drift={"a": (0.0, 6.0)})  # 6 per √hour

# -- the batch's answer ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "pieces"),
    [
        (FILTERED, 7),
        ({**EQUATIONS, "filter": "none"}, 333),
        ({**FILTERED, "route": {"method": "spline", "knots_per_second": 12.0}}, 100),
        ({**FILTERED, "formulation": "filtered", "dead_zone": None}, 100),
    ],
    ids=["dynamic", "as measured", "spline", "filtered"],
)
def test_without_drift_it_ends_where_the_batch_does(settings, pieces):
    """Values, and σ for independent errors, whatever pieces the samples come in."""
    log = following.recording()
    wls = {"estimator": ex.WeightedLeastSquares(), "uncertainty": "independent"}
    batch = ex.identify(following.robot(), log, **wls, **settings).estimate
    followed = ex.follow(following.robot(), log.chunks(pieces), **ALL_ROWS, **settings)
    assert followed.values[-1] == pytest.approx(batch.values, rel=1e-9)
    assert followed.std[-1] == pytest.approx(batch.std, rel=2e-3), "a batch counts whole equations"
    assert followed.noise == pytest.approx(batch.noise)
    assert followed.skipped == 0


def test_gaps_and_uneven_times_are_those_of_the_batch():
    log = following.recording()
    rng = np.random.default_rng(0)
    kept = np.sort(rng.choice(len(log), int(0.97 * len(log)), replace=False))
    kept = kept[(log.time[kept] < 8.0) | (log.time[kept] > 10.0)]
    holed = log[kept]
    batch = ex.identify(following.robot(), holed, estimator=ex.WeightedLeastSquares(), **FILTERED).estimate
    followed = ex.follow(following.robot(), holed.chunks(50), **ALL_ROWS, **FILTERED)
    assert followed.values[-1] == pytest.approx(batch.values, rel=1e-9)


def test_a_start_counts_as_what_was_seen_before():
    found, log = following.identified(), following.recording()
    followed = ex.follow(following.robot(), log, start=found, **ALL_ROWS)
    problem = ex.identify(
        following.robot(), log, estimator=ex.WeightedLeastSquares(), **FILTERED
    ).identification.problem
    share = next(rows.independent / len(rows) for _, rows in problem.rows())
    more = problem.compressed.information(found.estimate.noise / np.sqrt(share))
    together = Information.of_estimate(found.estimate.values, found.estimate.covariance).merge(more)
    assert followed.values[-1] == pytest.approx(together.solve()[0], rel=1e-9)
    assert followed.covariance == pytest.approx(together.solve()[1], rel=1e-6, abs=1e-12)
    again = ex.follow(following.robot(), following.recording(10.0, 3), start=followed, **ALL_ROWS)
    assert (again.std[-1] < followed.std[-1]).all()


def test_looking_less_far_ahead_is_sooner_and_hardly_another_answer():
    log = following.recording()
    exact, soon = (
        ex.follow(following.robot(), log, **ALL_ROWS, **FILTERED, look_ahead=look_ahead) for look_ahead in (1.0, 0.25)
    )
    assert soon.latency < 0.5 * exact.latency
    assert soon.values[-1] != pytest.approx(exact.values[-1], rel=1e-12)
    assert np.abs((soon.values[-1] - exact.values[-1]) / exact.std[-1]).max() < 0.02


def test_an_answer_rests_on_what_has_come_by_then():
    """Told while the stream goes on, at most the latency behind it."""
    log, behind, last = following.recording(), [], 0.0

    def pieces():
        nonlocal last
        for piece in log.chunks(20):
            last = piece.time[-1]
            yield piece

    follower = ex.Follower(following.robot(), **FILTERED)
    for state in follower.states(pieces()):
        behind.append(last - state.time)
    assert len(behind) > 10
    settled = behind[len(behind) // 2 : -1]
    assert 0.0 < min(settled) <= max(settled) < follower.latency + 0.2


# -- what is not known at the start ------------------------------------------------------------------------------------


def test_a_parameter_is_not_determined_until_its_joint_moves():
    log = following.recording()
    q, torque = log.q.copy(), log.torque
    still = log.time < 10.0
    q[still, 2] = q[still][-1, 2]
    late = replace(log, q=q, torque=torque)
    states = list(ex.Follower(following.robot(), **{**FILTERED, **ALL_ROWS}).states(late))
    names = ex.Follower(following.robot(), **FILTERED).names
    before = next(state for state in states if state.time > 7.0)
    assert not before.belief.determined[names.index("Fv3")]
    assert before.belief.determined[names.index("Fv1")]
    assert states[-1].belief.determined.all()


def test_the_description_is_a_start():
    """Normal about its values, with the share of them that was said as σ: the posterior by hand; zeros tell nothing."""
    log, said = following.recording(8.0), 0.002
    weak = ex.follow(following.robot(), log, description=said, **ALL_ROWS, **FILTERED)
    wls = {"estimator": ex.WeightedLeastSquares(), "uncertainty": "independent"}
    batch = ex.identify(following.robot(), log, **wls, **FILTERED).estimate
    nominal = np.asarray(following.model().base.base_values(following.model().nominal))
    prior = np.array([0.0 if value == 0.0 else (said * value) ** -2.0 for value in nominal])
    covariance = np.linalg.inv(np.linalg.inv(batch.covariance) + np.diag(prior))
    values = covariance @ (np.linalg.solve(batch.covariance, batch.values) + prior * nominal)
    assert np.median(np.sqrt(covariance.diagonal()) / batch.std) < 0.9, "it counts for something"
    assert (nominal == 0.0).any()
    assert weak.std[-1] == pytest.approx(np.sqrt(covariance.diagonal()), rel=0.015), "a batch counts whole equations"
    assert np.abs((weak.values[-1] - values) / weak.std[-1]).max() < 0.05
    assert "description" in weak.started


def test_noise_that_nobody_stated_is_found_from_the_stream():
    """That of the batch within 6 %, contact in a twentieth of the time or not."""
    settings = {key: value for key, value in FILTERED.items() if key != "noise"}
    log = following.recording(30.0, 4)
    batch = ex.identify(following.robot(), log, estimator=ex.WeightedLeastSquares(), **settings).estimate
    clean = ex.follow(following.robot(), log, drift={}, **settings)
    short = ex.follow(following.robot(), log[:700], drift={}, **settings)
    assert (clean.judged, short.judged) == (True, False)
    assert "guess" in short.notes[-1].text
    assert clean.noise == pytest.approx(batch.noise, rel=0.06)
    touched = log.torque.copy()
    touched[(log.time % 10.0 > 9.0) & (log.time % 10.0 < 9.5)] += 20.0
    hit = ex.follow(following.robot(), replace(log, torque=touched), drift={}, **settings)
    assert hit.noise == pytest.approx(batch.noise, rel=0.06)
    assert np.abs((hit.values[-1] - clean.values[-1]) / clean.std[-1]).max() < 2.0


def test_the_level_of_noise_follows_a_change():
    rng, level = np.random.default_rng(0), NoiseLevel(np.array([1.0]), learned=True)
    assert clipped_mean(50.0) == pytest.approx(1.0)
    assert clipped_mean() == pytest.approx((np.minimum(rng.standard_normal(400_000) ** 2, 9.0)).mean(), rel=0.01)
    found = []
    for k in range(800):
        error = (1.0 if k < 400 else 2.0) * rng.standard_normal((20, 1))
        std = np.full_like(error, level.noise[0])
        seen = Innovations(error, std, np.zeros(20), np.ones_like(error, dtype=bool), np.ones_like(error))
        level.learn(seen, 1.0, 0.5)
        found.append(level.noise[0])
    assert found[399] == pytest.approx(1.0, rel=0.1)
    assert found[-1] == pytest.approx(2.0, rel=0.1)


# -- drift -------------------------------------------------------------------------------------------------------------

MINUTES, ROW_RATE, DRAWS, DRIFTED = 2.0, 40.0, 10, 0.3


@pytest.fixture(scope="module")
def drifting():
    """W of two minutes, and the friction's numbers."""
    model, time = following.model(), np.arange(int(60.0 * MINUTES * ROW_RATE)) / ROW_RATE
    w = model.base.project(model.regressor(smooth_motion(following.robot(), time, 3)))
    friction = [k for k, name in enumerate(model.base.names) if kind_of(name) == "friction"]
    return time, w, friction, np.asarray(model.base.base_values(following.truth()))


def followed_draw(drifting, seed: int, drift: dict, *, walk: bool, filtered: bool = True):
    """Which values of the friction were within their 95 % bands, over time."""
    time, w, friction, start = drifting
    rng, scale = np.random.default_rng(seed), start[friction]
    beta = np.tile(start, (len(time), 1))
    steps = rng.standard_normal((len(time), len(friction))) * DRIFTED * scale / np.sqrt(len(time))
    beta[:, friction] += steps.cumsum(axis=0) if walk else DRIFTED * scale * (time / time[-1])[:, None]
    y = np.einsum("tjp,tp->tj", w, beta) + NOISE * rng.standard_normal((len(time), 3))
    rows, noise = Rows.of(time, w, y, ROW_RATE, following.robot().joint_names, following.model().base.names), NOISE
    if filtered:
        low_pass = Butterworth(4.0)
        rows = ParallelFilter(low_pass).apply(rows)
        noise = np.array(NOISE) * np.sqrt(2.0 * low_pass.noise_bandwidth(ROW_RATE) / ROW_RATE)
    followed = FollowedParameters(rows.parameters, rows.joints, np.array(noise), FollowSettings(drift=drift))
    states = [state for k in range(0, len(rows), 100) for state in followed.see(rows[k : k + 100])]
    states = [state for state in (*states, followed.finish()) if state.time > 10.0]
    at = np.clip(np.searchsorted(time, [state.time for state in states]), 0, len(time) - 1)
    apart = np.array([state.values[friction] for state in states]) - beta[at][:, friction]
    return np.abs(apart) < 1.96 * np.array([state.std[friction] for state in states]), followed.watch.alarms


def test_friction_that_drifts_stays_within_its_band(drifting):
    """By 30 % in two minutes: random walks as said, filtered rows; beside them an estimator of constants."""
    rate = {"friction": (DRIFTED / np.sqrt(MINUTES / 60.0), 0.0)}
    walks = [followed_draw(drifting, seed, rate, walk=True) for seed in range(DRAWS)]
    assert 0.93 <= np.mean([inside for inside, _ in walks]) <= 0.97
    assert sum(len(alarms) for _, alarms in walks) <= 1
    ramps = [followed_draw(drifting, seed, rate, walk=False) for seed in range(1)]
    assert np.mean([inside for inside, _ in ramps]) > 0.95
    constant = [followed_draw(drifting, seed, {}, walk=False) for seed in range(1)]
    assert np.mean([inside for inside, _ in constant]) < 0.4
    assert all(alarms for _, alarms in constant), "and it is told that the model is wrong"


def test_what_drifts_is_said_by_kind_name_or_wildcard():
    names = ("ZZR1", "XX2", "Ia1", "Fv1", "Fs1", "off1", "mine1")
    assert [kind_of(name) for name in names] == ["inertia", "inertia", "rotor", "friction", "friction", "offset", ""]
    rates = FollowSettings(drift={"friction": 0.3, "Fs*": (0.0, 0.1), "mine1": 0.2}).walks(names)
    assert rates.tolist() == [[0, 0], [0, 0], [0, 0], [0.3, 0], [0, 0.1], [0, 0], [0.2, 0]]
    assert FollowSettings().walks(names)[3].tolist() == [0.3, 0.0]
    with pytest.raises(ParameterError, match=r"'Fw1'.*did you mean.*Fv1"):
        FollowSettings(drift={"Fw1": 0.1}).walks(names)


# -- alarms ------------------------------------------------------------------------------------------------------------


def judged(hours: float, per_hour: float, *, filtered: bool, change=lambda time, error: error) -> ResidualWatch:
    """Of residuals that are noise alone, σ = 1."""
    rng, rate, share = np.random.default_rng(1), 50.0, 1.0
    error = rng.standard_normal((int(hours * 3600.0 * rate), 2))
    if filtered:
        low_pass = Butterworth(5.0)
        width = 2.0 * low_pass.noise_bandwidth(rate) / rate
        error, factor = low_pass.zero_phase(error, rate) / np.sqrt(width), 2
        error, rate, share = error[::factor], rate / factor, factor * width
    time = np.arange(len(error)) / rate
    error = change(time, error)
    watch = ResidualWatch(("a", "b"), AlarmSettings(per_hour=per_hour))
    steps = np.flatnonzero(np.diff(np.floor(time / watch.step + 1e-9))) + 1
    ones = np.ones_like(error)
    for part in np.split(np.arange(len(time)), steps):
        e = error[part]
        watch.see(time[part], Innovations(e, ones[part], (e**2).sum(axis=1), e == e, ones[part]), share)
    return watch


@pytest.mark.parametrize(("filtered", "least"), [(False, 50), (True, 20)])
def test_false_alarms_are_at_most_as_many_as_stated(filtered, least):
    """And not far fewer, which would be deaf; filtered residuals last, and count for less than their number."""
    assert least <= len(judged(0.25, 480.0, filtered=filtered).alarms) <= 120


def test_an_alarm_names_the_joint_and_when_and_how_much_and_ends():
    def pushed(time, error):
        error = error.copy()
        error[(time >= 60.0) & (time < 62.0), 1] += 4.0
        return error

    watch = judged(0.05, 0.1, filtered=False, change=pushed)
    own = [one for one in watch.alarms if one.joint == "b"]
    assert len(own) == 1
    assert {one.joint for one in watch.alarms} <= {"b", ALL_JOINTS}
    assert own[0].since == pytest.approx(60.0, abs=0.13)
    assert own[0].since <= own[0].raised <= 60.5
    assert own[0].until == pytest.approx(62.4, abs=0.5)
    assert own[0].mean == pytest.approx(4.0, abs=0.5)
    assert own[0].ratio == pytest.approx(np.sqrt(17.0), rel=0.15)
    assert "b: residual" in own[0].sentence
    assert not watch.active


def test_errors_that_scatter_more_than_noise_raise_the_threshold():
    """As those of a real model do, whose residuals are alike for seconds: learned within the first minute."""

    def slow(time, error):
        rng = np.random.default_rng(2)
        return np.repeat(rng.standard_normal((len(error) // 50 + 1, 2)), 50, axis=0)[: len(error)]

    watch = judged(0.25, 10.0, filtered=False, change=slow)
    late = [one for one in watch.alarms if one.raised > 300.0]
    assert len(late) <= 2
    assert len(watch.alarms) > len(late), "and not from the beginning"


@pytest.mark.parametrize("load", ["collision", "payload", "lost counts"])
def test_what_the_model_does_not_know_is_noticed_and_changes_nothing(load):
    found, log = following.identified(), following.recording(30.0, 5)
    torque, q = log.torque.copy(), log.q.copy()
    begin, end = 15.0, 25.0
    if load == "collision":  # 5 % of the largest torque, for a second
        end = 16.0
        torque[(log.time >= begin) & (log.time < end), 1] += 0.05 * np.abs(torque[:, 1]).max()
    elif load == "payload":  # gravity of a point mass, 5 % of the robot's own torque
        pushed = (log.time >= begin) & (log.time < end)
        torque[pushed] *= 1.05
    else:  # of an encoder
        end = 30.0
        q[log.time >= begin, 2] += 0.03
    changed = replace(log, torque=torque, q=q)
    calm = ex.follow(following.robot(), log, start=found)
    assert calm.alarms == ()
    hit = ex.follow(following.robot(), changed, start=found)
    assert hit.alarms, load
    first = min(hit.alarms, key=lambda one: one.raised)
    assert begin - 0.5 < first.since < begin + 1.5
    assert first.raised < begin + 0.5
    assert hit.skipped > 100
    if load == "collision":
        assert first.joint in (log.joints[1], ALL_JOINTS)
        assert all(one.until is not None and one.until < end + 2.0 for one in hit.alarms), "it recovers"
    before, after = calm.values[-1], hit.values[-1]
    used = ex.follow(following.robot(), changed, start=found, alarm={"rows": "use"}).values[-1]
    weighed = ex.follow(following.robot(), changed, start=found, alarm={"rows": "downweight"}).values[-1]
    poison, skipped, down = (np.abs((one - before) / calm.std[-1]).max() for one in (used, after, weighed))
    assert poison > 5.0
    assert skipped < 2.5
    assert skipped < 0.15 * poison
    assert down < 0.6 * poison


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_what_cannot_be_followed_is_refused_in_a_line(tmp_path):
    robot, log = following.robot(), following.recording(8.0)
    with pytest.raises(ParameterError, match="leave one of them out"):
        ex.Follower(robot, start=following.identified(), description=0.1)
    with pytest.raises(ParameterError, match="start is of a robot with the joints"):
        ex.Follower("panda", start=following.identified())
    with pytest.raises(ExciterError, match=r"neither result\.json nor followed.json"):
        ex.Follower(robot, start=tmp_path)
    with pytest.raises(ExciterError, match="did you mean 'drift'"):
        ex.Follower(robot, drifts={})
    with pytest.raises(RecordingError, match="ended before its first sample"):
        ex.follow(robot, [])
    with pytest.raises(RecordingError, match="pieces of a recording"):
        ex.follow(robot, [1.0])
    with pytest.raises(RecordingError, match="nothing was followed yet"):
        _ = ex.Follower(robot).result
    with pytest.raises(RecordingError, match="too short"):
        ex.follow(robot, log[:30], **FILTERED)
    with pytest.raises(RecordingError, match="no joint 'joint_1'"):
        ex.follow(robot, replace(log, joints=("x", "y", "z")), **FILTERED)
    filtered = replace(log, about=replace(log.about, filter=AnalogFilter()))
    with pytest.raises(RecordingError, match="undone on whole logs only"):
        ex.follow(robot, filtered, **FILTERED)
    follower = ex.Follower(robot, **FILTERED)
    list(follower.states(log))
    with pytest.raises(ExciterError, match="one stream"):
        list(follower.states(log))


def test_a_singular_covariance_is_a_start_too():
    """Of parameters that were held at a value, or bound to each other."""
    covariance = np.diag([1.0, 0.0, 4.0, 4.0])
    covariance[2, 3] = covariance[3, 2] = 4.0
    values, found = prior_of_estimate(np.array([1.0, 2.0, 3.0, 4.0]), covariance).solve()
    assert values == pytest.approx([1.0, 2.0, 3.0, 4.0], rel=1e-6)
    assert np.sqrt(found.diagonal()) == pytest.approx([1.0, 0.0, 2.0, 2.0], abs=1e-5)


def test_small_pieces_are_worked_on_together():
    log = following.recording(8.0)
    sizes = [len(piece) for piece in grouped(log.chunks(3), 0.1)]
    assert sum(sizes) == len(log)
    assert set(sizes[:-1]) <= {21, 24}
    assert [len(piece) for piece in grouped(log.chunks(1000), 0.1)] == [1000, 600]


def test_what_was_followed_is_kept_whole(tmp_path):
    followed = ex.follow(following.robot(), following.recording(), start=following.identified())
    opened = ex.open(followed.save(tmp_path / "out"))
    assert isinstance(opened, ex.Followed)
    for name in ("time", "values", "std", "covariance", "noise"):
        assert np.array_equal(getattr(opened, name), getattr(followed, name), equal_nan=True)
    assert opened.to_dict() == followed.to_dict()
    table = np.genfromtxt(tmp_path / "out" / "history.csv", delimiter=",", names=True)
    assert table["time"] == pytest.approx(followed.time)
    assert "Fv1" in table.dtype.names
    html = (tmp_path / "out" / "report.html").read_text()
    assert "no alarm" in html


def test_what_a_filter_leaks_into_rest_tells_no_noise():
    """Most of the equations of a joint are what is left of others, far below them: its noise is that of the others."""
    rng, noise = np.random.default_rng(0), np.array([0.5, 0.2])
    w = rng.standard_normal((4000, 2, 3)) * np.array([1.0, 30.0, 0.01])
    y = w @ np.array([2.0, 0.1, 50.0]) + noise * rng.standard_normal((4000, 2))
    leaked = np.where((np.arange(4000) % 10 < 7)[:, None], 10.0 ** rng.uniform(-12, -3, (4000, 1)), 1.0)
    w[:, 1] *= leaked
    y[:, 1:] *= leaked
    level = NoiseLevel(np.ones(2), learned=True)
    assert level.begin(w, y, 1.0)
    np.testing.assert_allclose(level.noise, noise, rtol=0.1)


def test_a_gap_before_the_noise_is_known_counts_as_drift():
    """Against a dense filter: what a parameter may have walked in the gap is in its σ."""
    rng, sigma, truth = np.random.default_rng(3), 0.3, np.array([2.0, -1.0])
    time = np.concatenate([np.arange(30), 10_000.0 + np.arange(600)]) / 100.0
    w = np.stack([np.ones(len(time)), np.sin(7.0 * time)], axis=1)[:, None]
    walked = np.where(time[:, None] < 50.0, truth, truth + np.array([1.0, 0.0]))
    y = (w[:, 0] * walked).sum(axis=1) + sigma * rng.standard_normal(len(time))
    followed = FollowedParameters(("a", "b"), ("j",), np.ones(1), SETTINGS_OF_A_WALK, learned=True, noise_known=False)
    for part in (slice(0, 30), *(slice(k, k + 30) for k in range(30, 630, 30))):
        sides = np.concatenate([w[part], y[part, None, None]], axis=2)
        for _ in followed.see(Rows(time[part], sides, 100.0, ("j",), ("a", "b"))):
            pass
        if followed._early is None:
            break
    belief, covariance, before = followed.filter.belief(), 1e8 * np.eye(2), time[0]
    for at, row in zip(time, w[:, 0], strict=True):
        if at > followed._last + 1e-9:
            break
        covariance[0, 0] += 36.0 / 3600.0 * (at - before)
        before, gain = at, covariance @ row / (row @ covariance @ row + followed.filter.noise[0] ** 2)
        covariance -= np.outer(gain, row @ covariance)
    np.testing.assert_allclose(belief.std, np.sqrt(np.diag(covariance)), rtol=0.04)  # the noise is learned on the way
    assert abs(belief.values[0] - 3.0) < 4.0 * belief.std[0]
