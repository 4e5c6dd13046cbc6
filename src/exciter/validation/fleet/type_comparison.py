"""The robots of one type beside each other: what the type is, how much robots of it differ, and who differs by more.

Four kinds of questions are asked of every robot, each a test of its own against the others (``population``): are its
inertial parameters those of the type, and does a load on its end explain what is not; is the friction of a joint, as
a whole (one factor on all of it) or in any way; does a joint have more residual than the others', which no parameter
explains; does the friction of a joint change in time in another way than the others'. A robot's p-value is that of its
smallest test times their number (Bonferroni), and over the robots the level is kept as ``multiple_tests`` says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import stats

from exciter.dynamics.load_effect import visible_load
from exciter.typing import Array, BoolArray, Index
from exciter.validation.fleet.friction_trends import Trend, trend
from exciter.validation.fleet.groups import ParameterGroups
from exciter.validation.fleet.multiple_tests import BENJAMINI_HOCHBERG, HOLM, adjusted, any_of
from exciter.validation.fleet.population import FEWEST_ROBOTS, Along, TypePopulation, population

INERTIAL, LOAD, FRICTION, RESIDUAL, DRIFT = "inertial", "load", "friction", "residual", "drift"
SURELY_POSITIVE = 3.0  #: σ above zero, of all robots, from which a parameter is compared by its logarithm
AS_GOOD_EXPLANATION = 6.0  #: of D²: links that explain less well by so much could as well be the reason
UPPER_SHARES = np.array([0.5, 0.9])  #: of residuals above the middle, which are to be as those of a Gaussian at least
BEYOND_ANY_TAIL = 1e-3  #: chance that the residual of any robot is so far off, were they Gaussian
MOST_REASONS = 3  #: of one robot, the surest first
DIFFERS, AS_ITS_TYPE, NOT_COMPARED = "differs", "as its type", "not compared"  #: the last: too few robots


@dataclass(frozen=True, eq=False)
class LogNumbers:
    """Of one log of a robot: when, in days or as the number of the log; values (b,) and covariance (b, b)."""

    log: str
    when: float
    values: Array
    covariance: Array


@dataclass(frozen=True, eq=False)
class RobotNumbers:
    """Of one robot: base parameters (b,) and their covariance (b, b), size of the residual of each joint (J,), and the
    same parameters log by log where it has several logs."""

    name: str
    values: Array
    covariance: Array
    residual: Array
    logs: tuple[LogNumbers, ...] = ()


@dataclass(frozen=True)
class RobotTest:
    """One test: its kind, and of which joint."""

    kind: str
    joint: str | None = None

    @property
    def words(self) -> str:
        return {
            INERTIAL: "inertial parameters",
            LOAD: "load",
            FRICTION: f"friction of {self.joint}",
            RESIDUAL: f"residual of {self.joint}",
            DRIFT: f"drift of friction of {self.joint}",
        }[self.kind]


@dataclass(frozen=True, eq=False)
class LoadDifference:
    """φ (k,) of what a robot carries beyond the type, as far as torques show it: which (k,) of m, m·c and inertia."""

    which: Index
    phi: Array
    covariance: Array

    @property
    def mass(self) -> tuple[float, float] | None:
        """[kg] and its σ."""
        if 0 not in self.which:
            return None
        at = self.which.tolist().index(0)
        return float(self.phi[at]), float(np.sqrt(self.covariance[at, at]))

    @property
    def centre(self) -> tuple[Array, Array] | None:
        """(3,) [m], in the axes of the frame, and its σ, where there is mass enough to have one."""
        if self.mass is None or not {1, 2, 3} <= set(self.which.tolist()) or abs(self.mass[0]) < 2.0 * self.mass[1]:
            return None
        centre: Array = self.phi[1:4] / self.phi[0]
        slope = np.column_stack([-centre, np.eye(3)]) / self.phi[0]
        return centre, np.sqrt(np.diag(slope @ self.covariance[:4, :4] @ slope.T))


@dataclass(frozen=True, eq=False)
class Reason:
    """What is different: a test with its p-value, a sentence, and numbers by name."""

    asked: RobotTest
    p_value: float
    text: str
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class TypeComparison:
    """N robots of a type. logarithmic (b,): parameters compared by their logarithm. asked (G,): the tests, and their
    p_values (N, G), NaN where one could not be made. trends: by joint, of each robot with several logs."""

    groups: ParameterGroups
    robots: tuple[RobotNumbers, ...]
    level: float
    method: str
    logarithmic: BoolArray
    inertial: TypePopulation | None
    load: Along | None
    friction: tuple[TypePopulation | None, ...]
    levels: tuple[Along | None, ...]
    residuals: tuple[TypePopulation | None, ...]
    trends: tuple[tuple[Trend | None, ...], ...]
    drifts: tuple[TypePopulation | None, ...]
    drifting: tuple[Index, ...]
    asked: tuple[RobotTest, ...]
    p_values: Array

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.robots)

    @cached_property
    def robot_p_values(self) -> Array:
        """(N,) of a robot, whatever is different of it."""
        return any_of(self.p_values)

    @cached_property
    def adjusted(self) -> Array:
        """(N,) to be compared with the level."""
        return adjusted(self.robot_p_values, self.method)

    def verdict(self, k: int) -> str:
        """Of robot k."""
        if not self.asked:
            return NOT_COMPARED
        return DIFFERS if self.differs[k] else AS_ITS_TYPE

    @cached_property
    def differs(self) -> BoolArray:
        """(N,) who is named."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.adjusted <= self.level)

    @cached_property
    def distance(self) -> Array:
        """(N,) root of D² over all parameters and their number: about one for a robot of the type."""
        parts = [one for one in (self.inertial, *self.friction) if one is not None]
        if not parts:
            return np.full(len(self.robots), np.nan)
        return np.asarray(np.sqrt(sum(one.squares for one in parts) / sum(one.size for one in parts)))

    @cached_property
    def z(self) -> Array:
        """(N, b) each parameter's distance from the others', in σ of its prediction."""
        found = np.full((len(self.robots), len(self.groups.names)), np.nan)
        for one, which in zip((self.inertial, *self.friction), self._blocks, strict=True):
            if one is not None:
                found[:, which] = one.z
        return found

    @property
    def _blocks(self) -> tuple[Index, ...]:
        return (self.groups.inertial, *self.groups.friction)

    @cached_property
    def type_values(self) -> Array:
        """(b,) of the type."""
        found = np.median([one.values for one in self.robots], axis=0) if self.robots else np.zeros(0)
        for one, which in zip((self.inertial, *self.friction), self._blocks, strict=True):
            if one is not None:
                found[which] = np.where(self.logarithmic[which], np.exp(one.mean), one.mean)
        return np.asarray(found)

    @cached_property
    def type_spread(self) -> Array:
        """(b,) standard deviation between robots, beyond σ of the identifications; in units of the parameters."""
        found = np.full(len(self.groups.names), np.nan)
        for one, which in zip((self.inertial, *self.friction), self._blocks, strict=True):
            if one is not None:
                size = np.where(self.logarithmic[which], self.type_values[which], 1.0)
                found[which] = size * np.sqrt(np.diag(one.spread))
        return found

    @cached_property
    def own_sigma(self) -> Array:
        """(b,) σ of one identification, of the robot in the middle."""
        return np.asarray(np.median([np.sqrt(np.diag(one.covariance)) for one in self.robots], axis=0))

    @cached_property
    def friction_percent(self) -> Array:
        """(N, J) by how much the friction of a joint as a whole is more than the type's [%]."""
        found = np.full((len(self.robots), len(self.groups.joints)), np.nan)
        for j, (one, which) in enumerate(zip(self.levels, self.groups.friction, strict=True)):
            if one is not None:
                found[:, j] = 100.0 * self._relative(one.amount, which)
        return found

    def _relative(self, amount: Array, which: Index) -> Array:
        """(N,) relative change of amounts (N, d) along the level of a joint's friction."""
        at = int(np.flatnonzero(self.groups.level[which])[0])
        if self.logarithmic[which[at]]:
            return np.asarray(np.expm1(amount[:, at]))
        return np.asarray(amount[:, at] / self.type_values[which[at]])

    @cached_property
    def residual_ratio(self) -> Array:
        """(N, J) residual of a joint over that of the other robots."""
        found = np.full((len(self.robots), len(self.groups.joints)), np.nan)
        for j, one in enumerate(self.residuals):
            if one is not None:
                found[:, j] = np.exp(one.off[:, 0])
        return found

    # -- why ---------------------------------------------------------------------------------------------------------

    def reasons(self, k: int) -> tuple[Reason, ...]:
        """Why robot k is named, the surest first; nothing of one that is not."""
        if not self.differs[k]:
            return ()
        made = int((~np.isnan(self.p_values[k])).sum())
        limit = max(self._border / made, float(np.nanmin(self.p_values[k])))
        told = [g for g in np.argsort(self.p_values[k]).tolist() if self.p_values[k, g] <= limit]
        if any(self.asked[g].kind == LOAD for g in told):  # both are of the links
            told = [g for g in told if self.asked[g].kind != INERTIAL]
        return tuple(self._reason(k, g) for g in told[:MOST_REASONS])

    @property
    def _border(self) -> float:
        """p of a robot below which it is named."""
        count = int((~np.isnan(self.robot_p_values)).sum())
        named = int(self.differs.sum())
        steps = max(count - named, 1) if self.method == HOLM else count / max(named, 1)
        return self.level / steps

    def _reason(self, k: int, g: int) -> Reason:
        asked, p = self.asked[g], float(self.p_values[k, g])
        if asked.kind in (INERTIAL, LOAD):
            text, numbers = self._links(k)
            return Reason(asked, p, text, numbers)
        assert asked.joint is not None
        j = self.groups.joints.index(asked.joint)
        if asked.kind == RESIDUAL:
            ratio = float(self.residual_ratio[k, j])
            text = f"{asked.joint}: residual {ratio:.3g} times that of the others"
            more = self.friction_percent[k, j]
            if np.isfinite(more):
                text += f", friction {more:+.0f} %"
            text += ": worn gear, play, or a friction that the type does not have"
            return Reason(asked, p, text, {"residual_ratio": ratio, "friction_percent": float(more)})
        if asked.kind == DRIFT:
            return Reason(asked, p, *self._drift(k, j))
        percent = float(self.friction_percent[k, j])
        text = f"friction of {asked.joint} {percent:+.0f} %" + self._each(k, j)
        return Reason(asked, p, text, {"friction_percent": percent})

    def _each(self, k: int, j: int) -> str:
        which = self.groups.friction[j]
        shown = []
        for b in which.tolist():
            value, usual = self.robots[k].values[b], self.type_values[b]
            if self.groups.level[b] and usual:
                shown.append(f"{self.groups.names[b]} {100.0 * (value / usual - 1.0):+.0f} %")
            else:
                shown.append(f"{self.groups.names[b]} {value - usual:+.3g} {self.groups.units[b]}")
        return f" ({', '.join(shown)})"

    def _drift(self, k: int, j: int) -> tuple[str, dict[str, float]]:
        one, drift, which = self.trends[j][k], self.drifts[j], self.groups.friction[j]
        assert one is not None
        assert drift is not None
        at = int(np.argmax(np.abs(drift.z[self.drifting[j].tolist().index(k)])))  # of all, what is farthest off
        low, high = one.interval()
        size = 100.0 if self.logarithmic[which[at]] else 1.0
        unit = "%" if self.logarithmic[which[at]] else self.groups.units[which[at]]
        rate, *ends = (size * float(x[at]) for x in (one.slope, low, high))
        text = f"friction of {self.groups.joints[j]} drifts unlike the others': "
        text += f"{self.groups.names[which[at]]} {rate:+.3g} {unit} per {{unit}} ({ends[0]:+.3g} … {ends[1]:+.3g})"
        return text, {"change_per_unit": rate, "low": ends[0], "high": ends[1]}

    def _links(self, k: int) -> tuple[str, dict[str, float]]:
        """Which link explains a difference of inertial parameters best; of one at an end, as a load."""
        assert self.inertial is not None
        own, which = self.inertial.only(k), self.groups.inertial
        told = [(n, own.along(effect[which])) for n, effect in enumerate(self.groups.effects) if effect[which].any()]
        cost = {n: float(one.rest[0]) + 2.0 * one.rank for n, one in told}
        best = min(cost, key=cost.__getitem__)
        ends = [n for n in self.groups.carriers if n in cost and cost[n] <= cost[best] + AS_GOOD_EXPLANATION]
        share = {n: float(one.squares[0] / max(own.squares[0], 1e-300)) for n, one in told}
        if not ends:
            name = self.groups.links[best]
            text = f"inertial parameters of the link of {name} explain {100.0 * share[best]:.0f} % of the difference"
            return text, {"explained": share[best], "link": float(best)}
        load = self.load_of(k)
        numbers = {"explained": share[ends[0]], "link": float(ends[0])}
        if load.mass is None:
            return f"another load on {self.groups.frame}, whose mass no torque shows", numbers
        mass, sigma = load.mass
        text = f"payload: {mass:+.3g} ± {sigma:.2g} kg on {self.groups.frame}"
        if (centre := load.centre) is not None:
            text += f", centre at [{', '.join(f'{x:.3f} ± {s:.2g}' for x, s in zip(*centre, strict=True))}] m"
        return text, {**numbers, "mass": mass, "mass_std": sigma}

    def load_of(self, k: int) -> LoadDifference:
        """What robot k carries beyond the type, if that were all that is different of its links."""
        assert self.inertial is not None
        effect, own = self.groups.load[self.groups.inertial], self.inertial.only(k)
        kept = visible_load(effect)[0]
        columns = effect[:, kept]
        weighted = np.linalg.solve(own.predicted[0], columns)
        covariance = np.asarray(np.linalg.inv(columns.T @ weighted), dtype=np.float64)
        return LoadDifference(kept, covariance @ weighted.T @ own.off[0], covariance)


# -- compared --------------------------------------------------------------------------------------------------------


def compare_robots(
    groups: ParameterGroups,
    robots: Sequence[RobotNumbers],
    level: float = 0.1,
    method: str = BENJAMINI_HOCHBERG,
) -> TypeComparison:
    """Robots of one type, each beside the others. level: see ``multiple_tests.LEVEL_MEANING``."""
    robots, count, joints = tuple(robots), len(robots), groups.joints
    values = np.array([one.values for one in robots]).reshape(count, len(groups.names))
    covariances = np.array([one.covariance for one in robots]).reshape(count, *2 * (len(groups.names),))
    sigma = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    friction = np.zeros(len(groups.names), dtype=np.bool_)
    for which in groups.friction:
        friction[which] = True
    sure = (values > SURELY_POSITIVE * sigma).all(axis=0) if count else friction
    logarithmic = friction & groups.positive & sure
    x, c = _in_logarithms(values, covariances, logarithmic)
    enough = count >= FEWEST_ROBOTS

    def block(which: Index) -> TypePopulation | None:
        if not enough or not len(which):
            return None
        return population(x[:, which], c[:, which[:, None], which[None, :]])

    inertial = block(groups.inertial)
    of_friction = tuple(map(block, groups.friction))
    levels = list[Along | None]()
    for one, which in zip(of_friction, groups.friction, strict=True):
        direction: Array = np.zeros(len(which))
        if one is not None:
            direction = np.where(groups.level[which], np.where(logarithmic[which], 1.0, one.mean), 0.0)
        levels.append(one.along(direction) if one is not None and direction.any() else None)
    residual = np.array([one.residual for one in robots]).reshape(count, len(joints))
    residuals = tuple(_of_residual(residual[:, j]) if enough else None for j in range(len(joints)))
    trends = tuple(
        tuple(_trend(one, which, logarithmic) if len(which) else None for one in robots) for which in groups.friction
    )
    drifting = tuple(
        np.array([k for k, one in enumerate(of_joint) if one is not None], dtype=np.int64) for of_joint in trends
    )
    drifts = tuple(_of_trends(of_joint, who) for of_joint, who in zip(trends, drifting, strict=True))
    found = TypeComparison(
        groups=groups,
        robots=robots,
        level=level,
        method=method,
        logarithmic=logarithmic,
        inertial=inertial,
        load=None,
        friction=of_friction,
        levels=tuple(levels),
        residuals=residuals,
        trends=trends,
        drifts=drifts,
        drifting=drifting,
        asked=(),
        p_values=np.zeros((count, 0)),
    )
    if inertial is not None and inertial.whole:
        found = replace(found, load=inertial.along(groups.load[groups.inertial]))
    asked, p = _tests(found)
    return replace(found, asked=asked, p_values=p)


def _tests(found: TypeComparison) -> tuple[tuple[RobotTest, ...], Array]:
    joints, count = found.groups.joints, len(found.robots)
    asked, p = list[RobotTest](), list[Array]()
    if found.inertial is not None:
        asked.append(RobotTest(INERTIAL))
        p.append(found.inertial.p_values)
    if found.load is not None:
        asked.append(RobotTest(LOAD))
        p.append(found.load.p_values)
    for joint, whole, level in zip(joints, found.friction, found.levels, strict=True):
        if whole is not None:
            both = [whole.p_values] + ([] if level is None or not whole.whole else [level.p_values])
            asked.append(RobotTest(FRICTION, joint))
            p.append(any_of(np.stack(both, axis=1)))
    for joint, one in zip(joints, found.residuals, strict=True):
        if one is not None:
            asked.append(RobotTest(RESIDUAL, joint))
            p.append(np.where(one.off[:, 0] > 0.0, 0.5 * one.p_values, 1.0 - 0.5 * one.p_values))
    for joint, one, who in zip(joints, found.drifts, found.drifting, strict=True):
        if one is not None:
            asked.append(RobotTest(DRIFT, joint))
            of_all = np.full(count, np.nan)
            of_all[who] = one.p_values
            p.append(of_all)
    return tuple(asked), np.stack(p, axis=1) if p else np.full((count, 0), np.nan)


def _in_logarithms(values: Array, covariances: Array, which: BoolArray) -> tuple[Array, Array]:
    """Values (N, b) and covariances (N, b, b) with the logarithm of some of the parameters."""
    slope = np.where(which, 1.0 / np.where(which, values, 1.0), 1.0)
    x = np.where(which, np.log(np.where(which, values, 1.0)), values)
    return x, covariances * slope[:, :, None] * slope[:, None, :]


def _of_residual(residual: Array) -> TypePopulation | None:
    if not (np.isfinite(residual) & (residual > 0.0)).all():
        return None
    found = population(np.log(residual)[:, None], np.zeros((len(residual), 1, 1)))
    # residuals have a longer tail above than below; who is beyond any tail is no part of it
    above = found.z[(found.z[:, 0] > 0.0) & (found.p_values > BEYOND_ANY_TAIL / len(residual)), 0]
    if len(above) < FEWEST_ROBOTS:
        return found
    seen, usual = np.quantile(above, UPPER_SHARES), stats.t.ppf(0.5 + 0.5 * UPPER_SHARES, np.median(found.freedom))
    return replace(found, predicted=found.predicted * max(1.0, float((seen / usual).max())) ** 2)


def _trend(one: RobotNumbers, which: Index, logarithmic: BoolArray) -> Trend | None:
    if len(one.logs) < 2:
        return None
    values = np.array([log.values[which] for log in one.logs])
    covariances = np.array([log.covariance[np.ix_(which, which)] for log in one.logs])
    logs = logarithmic[which] & (values > 0.0).all(axis=0)
    x, c = _in_logarithms(values, covariances, np.broadcast_to(logs, values.shape))
    if (logs != logarithmic[which]).any():  # in one log of this robot alone: no number that others have
        return None
    return trend(np.array([log.when for log in one.logs]), x, c)


def _of_trends(trends: Sequence[Trend | None], who: Index) -> TypePopulation | None:
    there = [trends[k] for k in who.tolist()]
    if len(there) < FEWEST_ROBOTS:
        return None
    slopes = np.array([one.slope for one in there if one is not None])
    return population(slopes, np.array([one.covariance for one in there if one is not None]))
