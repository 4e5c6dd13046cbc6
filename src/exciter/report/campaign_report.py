"""The report of a campaign: how σ fell round by round beside what is wanted, and what is still short, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.report.markup import explained, number
from exciter.report.page import Page, settings_section
from exciter.report.parts import Bar, Cards, HtmlTable, Remarks, Section, Summary, Word
from exciter.report.plot import Line, Plot
from exciter.robot.robot import Robot
from exciter.typing import Array

KIND_OF_GOAL = re.compile(r"(torque)|([A-Za-z]+?)R?\d")  # XX1 → XX, Fs3 → Fs, torque of joint_1 → torque
KINDS_OF_SYMBOLS = {
    **dict.fromkeys(("XX", "XY", "XZ", "YY", "YZ", "ZZ"), "inertias"),
    **dict.fromkeys(("MX", "MY", "MZ", "M"), "masses and first moments"),
    **dict.fromkeys(("Fs", "Fv", "off"), "friction and offsets"),
    "Ia": "rotors",
    "torque": "predicted torques",
}
OTHER_KIND = "other parameters"
MOST_NAMED_SHORT = 5
LONG_ROBOT_TIME_S = 86_400.0  #: [s] more than a day of motion for one parameter: no motion of this kind tells it


def kind_of(goal: str) -> str:
    found = KIND_OF_GOAL.match(goal)
    return OTHER_KIND if found is None else KINDS_OF_SYMBOLS.get(found[1] or found[2], OTHER_KIND)


@dataclass(frozen=True, eq=False, kw_only=True)
class CampaignHistory:
    """k goals after each of R rounds that were identified: sigma, wanted (R of (k,)); predicted: by the design of the
    round, from what was known before, None of the first. seconds, criteria, certified, logs: of all rounds, the last of
    which may still wait for its log. noise: (n,) of each round. needed (k,) [s]: robot time until each goal would be
    reached by making the last motion again and again; zero where it is reached."""

    robot: Robot
    goals: tuple[str, ...]
    units: tuple[str, ...]
    sigma: tuple[Array, ...]
    wanted: tuple[Array, ...]
    predicted: tuple[Array | None, ...]
    seconds: tuple[float, ...]
    criteria: tuple[str, ...]
    certified: tuple[bool, ...]
    logs: tuple[str | None, ...]
    noise: tuple[Array, ...]
    needed: Array
    most_rounds: int

    @property
    def ratios(self) -> Array:
        """(R, k) σ over what is wanted."""
        pairs = [s / w for s, w in zip(self.sigma, self.wanted, strict=True)]
        return np.array(pairs).reshape(len(pairs), len(self.goals))

    @property
    def time(self) -> Array:
        """(R,) [s] of motion up to the end of each round that was identified."""
        return np.cumsum(self.seconds[: len(self.sigma)])

    @property
    def reached(self) -> bool:
        return bool(len(self.sigma) and self.ratios[-1].max() <= 1.0)

    @property
    def short(self) -> tuple[int, ...]:
        """Goals that are not reached, the farthest first."""
        if not self.sigma:
            return ()
        last = self.ratios[-1]
        return tuple(int(k) for k in np.argsort(-last) if last[k] > 1.0)

    def why(self, k: int) -> str:
        """In words, of a goal that is still short."""
        needed = float(self.needed[k])
        if needed <= LONG_ROBOT_TIME_S:
            return f"about {number(needed, 2)} s more of such motion would do"
        return "no motion of this kind within the limits tells it: loosen the limits, or want less of it"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, goal by goal and round by round."""
        done = len(self.sigma)
        rounds = [
            {
                "round": k + 1,
                "seconds": self.seconds[k],
                "robot_time": float(sum(self.seconds[: k + 1])),
                "criterion": self.criteria[k],
                "certified": self.certified[k],
                "log": self.logs[k],
                "worst": float(self.ratios[k].max()) if k < done else None,
                "reached": int((self.ratios[k] <= 1.0).sum()) if k < done else None,
                "noise": self.noise[k].tolist() if k < done else None,
            }
            for k in range(len(self.seconds))
        ]
        goals = [
            {
                "name": name,
                "unit": unit,
                "sigma": [float(one[k]) for one in self.sigma],
                "wanted": [float(one[k]) for one in self.wanted],
                "predicted": [None if one is None else float(one[k]) for one in self.predicted[:done]],
                "reached": bool(done and self.ratios[-1, k] <= 1.0),
                "needed": float(self.needed[k]),
            }
            for k, (name, unit) in enumerate(zip(self.goals, self.units, strict=True))
        ]
        return {"rounds": rounds, "goals": goals}


def campaign_page(history: CampaignHistory, model: DynamicModel, settings: Mapping[str, Any]) -> Page:
    """settings: plain data that asks for the same campaign, shown as YAML."""
    sections = [fall_section(history), goal_section(history), rounds_section(history)] if history.sigma else []
    values = {"rounds, at most": history.most_rounds, "goals": len(history.goals)}
    last = settings_section(values, settings, "campaign.yaml", model=model)
    return Page(f"Campaign for {history.robot.name}", headline(history), (*sections, last))


def headline(history: CampaignHistory) -> Summary:
    done, total = len(history.sigma), len(history.goals)
    if not done:
        return Summary(Word("waiting", "fair"), (f"{total} σ are wanted; the first log is still to come.",), ())
    badge = Word("reached", "good") if history.reached else Word("not reached yet", "fair")
    worst = history.ratios[-1]
    farthest = history.goals[int(worst.argmax())]
    reached = int((worst <= 1.0).sum())
    sentences = (
        f"{reached} of {total} σ that are wanted are reached after {number(float(history.time[-1]))} s of motion in "
        f"{done} {'round' if done == 1 else 'rounds'}; the largest is {number(float(worst.max()), 3)} of its target "
        f"({farthest}).",
        "σ is that of the identification of all logs together; its covariance is what each redesign began with.",
    )
    short = [f"{history.goals[k]}: {history.why(k)}" for k in history.short[:MOST_NAMED_SHORT]]
    cards = {
        "robot time": f"{number(float(history.time[-1]))} s",
        "rounds": str(done),
        "σ reached": f"{reached} of {total}",
        "largest σ / target": number(float(worst.max()), 3),
    }
    return Summary(badge, sentences, (*([Remarks(Word("short", "fair"), short)] if short else []), Cards(cards)))


def fall_section(history: CampaignHistory) -> Section:
    """The largest σ over its target of every kind, over robot time."""
    kinds: dict[str, list[int]] = {}
    for k, goal in enumerate(history.goals):
        kinds.setdefault(kind_of(goal), []).append(k)
    ratios = history.ratios
    lines = [Line(f"{kind} ({len(of)})", ratios[:, of].max(axis=1)) for kind, of in kinds.items()]
    plot = Plot(
        "Largest σ over its target",
        history.time,
        "robot time [s]",
        "σ / target",
        lines,
        log=True,
        level=1.0,
    )
    return Section("fall", "How σ fell", explained("campaign_fall"), (plot,))


def goal_section(history: CampaignHistory) -> Section:
    last, ratios = history.sigma[-1], history.ratios
    order = np.argsort(-ratios[-1])
    predicted = history.predicted[len(history.sigma) - 1]
    columns = {
        "goal": [history.goals[k] for k in order],
        "unit": [history.units[k] for k in order],
        "σ after the first round": [float(history.sigma[0][k]) for k in order],
        "σ now": [float(last[k]) for k in order],
        "as predicted": [float("nan") if predicted is None else float(predicted[k]) for k in order],
        "wanted": [float(history.wanted[-1][k]) for k in order],
        "σ / target": [ratio_bar(float(ratios[-1, k])) for k in order],
        "verdict": [
            Word("reached", "good") if ratios[-1, k] <= 1.0 else Word(f"short: {history.why(int(k))}", "fair")
            for k in order
        ],
    }
    table = HtmlTable.by_column(f"{len(history.goals)} goals, the farthest first", columns)
    return Section("goals", "What is wanted, and what is known", explained("campaign_goals"), (table,))


def ratio_bar(ratio: float) -> Bar:
    return Bar(ratio, number(ratio, 3), min(ratio, 1.0))


def rounds_section(history: CampaignHistory) -> Section:
    count, done = len(history.seconds), len(history.sigma)
    gap = float("nan")
    columns: dict[str, Any] = {
        "round": [str(k + 1) for k in range(count)],
        "motion [s]": list(history.seconds),
        "robot time [s]": np.cumsum(history.seconds),
        "designed by": list(history.criteria),
        "certified": [Word("yes", "good") if one else Word("no", "poor") for one in history.certified],
        "log": [log or "waits for its log" for log in history.logs],
        "largest σ / target": [float(history.ratios[k].max()) if k < done else gap for k in range(count)],
        "as predicted": [
            gap if k >= done or (p := history.predicted[k]) is None else float((p / history.wanted[k]).max())
            for k in range(count)
        ],
        "noise of the joints": [", ".join(number(x, 3) for x in one) for one in history.noise] + ["–"] * (count - done),
        "goals reached": [str(int((history.ratios[k] <= 1.0).sum())) if k < done else "–" for k in range(count)],
    }
    table = HtmlTable.by_column("Rounds", columns)
    return Section("rounds", "Rounds", explained("campaign_rounds"), (table,))
