"""What was identified, in three sentences, a verdict and a few figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exciter.experiment.quality.finding import Quality
from exciter.identification.estimate import INSIGNIFICANT, POOR, WELL, Estimate
from exciter.identification.identification import Identification
from exciter.report.identification.drawn import Drawn, decisive, file_name, worst_of
from exciter.report.identification.next_steps import next_steps
from exciter.report.identification.notes import all_notes, notes_list
from exciter.report.markup import Markup, element, joined, number, percent
from exciter.report.plain_words import named
from exciter.report.section import figures
from exciter.validation.baselines import DESCRIPTION
from exciter.validation.validation import DOWN_TO

GOOD, FAIR = 5.0, 15.0  #: [%] of the torque left unexplained: below, a model is good, or fair
MOST_NAMES = 3  #: of runs in a sentence


def headline(
    found: Identification, runs: Sequence[Drawn], notes: Sequence[str], quality: Mapping[str, Quality]
) -> Markup:
    word, tone = judged_word(runs)
    unseen = [run for run in runs if not run.seen]
    fit = fit_sentence([run for run in runs if run.seen])
    sentences = (done_sentence(found), f"{fit}{unseen_clause(unseen)}; {worst_joint(runs)}.", sure_sentence(found))
    told = all_notes(notes, quality, found.problem.model.robot.joint_names)
    steps = next_steps(found, runs, quality, weak_joints(runs))
    return summary(word, tone, sentences, told, {**runs_figures(runs), **key_figures(found)}, steps)


def summary(
    word: str,
    tone: str,
    sentences: Sequence[str],
    notes: Sequence[str],
    shown: Mapping[str, str],
    steps: Sequence[str] = (),
) -> Markup:
    """steps: what to do next."""
    badge = element("span", word, class_=f"word {tone}")
    lead = element("p", badge, " ", " ".join(sentences), class_="lead")
    return joined(lead, notes_list(steps, "next", "good"), notes_list(notes), figures(shown))


# -- sentences ---------------------------------------------------------------------------------------------------------


def many(count: int, what: str) -> str:
    """``1 run``, ``3 runs``; thousands are set apart."""
    return f"{count:,} {what}{'' if count == 1 else 's'}".replace(",", "\u202f")


def judged_word(runs: Sequence[Drawn]) -> tuple[str, str]:
    """By what is left on motion never seen, where there is some; else on what was identified from. Joints whose torque
    is small count little in the total, and are named where the model does not hold for them."""
    run = decisive(runs)
    found = run.found.baselines.identified
    word = "good" if found.total_percent < GOOD else "fair" if found.total_percent < FAIR else "poor"
    what, validated = ("fit", "not validated") if run.seen else ("model", "tried on motion never seen")
    weak = weak_joints(runs)
    if word != "good" or not weak:
        return f"{word} {what}, {validated}", word
    return f"{word} {what} but for {some_of(weak)}, {validated}", "fair"


def weak_joints(runs: Sequence[Drawn]) -> list[str]:
    """Of whose own torque too much is left."""
    base = decisive(runs).found.baselines
    return [joint for joint, left in zip(base.joints, base.identified.percent, strict=True) if left >= FAIR]


def some_of(names: Sequence[str]) -> str:
    """The first ones, and how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def done_sentence(found: Identification) -> str:
    problem = found.problem
    runs = some_of([file_name(run.name) for run in problem.runs])
    seconds = sum(run.span[1] - run.span[0] for run in problem.runs if run.span)
    count = len(found.estimate.names)
    return (
        f"{many(count, 'parameter')} of {problem.model.robot.name} {'was' if count == 1 else 'were'} identified from "
        f"{many(len(problem.runs), 'run')} ({runs}; {number(seconds, 3)} s, "
        f"{many(int(problem.compressed.rows.sum()), 'equation')}) by {named(found.estimator)} on "
        f"{named(problem.formulation)}."
    )


def fit_sentence(runs: Sequence[Drawn]) -> str:
    worst = worst_of(runs).found.baselines
    return (
        f"They leave {percent(worst.identified.total_percent / 100)} of the measured torque unexplained, where the "
        f"description's own parameters leave {percent(worst.of(DESCRIPTION).total_percent / 100)}"
    )


def unseen_clause(runs: Sequence[Drawn]) -> str:
    if not runs:
        return "; no other motion was given to validate them"
    return f"; of motion they never saw ({worst_of(runs).name}) they leave {left_words(worst_of(runs))}"


def unseen_sentence(runs: Sequence[Drawn]) -> str:
    worst = worst_of(runs)
    before = worst.found.baselines.of(DESCRIPTION).total_percent
    where = f" of {worst.name}, the worst," if len(runs) > 1 else ""
    return (
        f"They leave{where} {left_words(worst)}, where the description's own parameters leave {percent(before / 100)}."
    )


def left_words(run: Drawn) -> str:
    """``0.53 %, 1.4 times what noise alone leaves``."""
    left, floor = run.found.baselines.identified.total_percent, run.found.floor.total_percent
    if not floor:
        return f"{percent(left / 100)} of the torque, how much of it noise is not known"
    noise = f"noise alone leaves {percent(floor / 100)}"
    if left <= DOWN_TO * floor:
        return f"{percent(left / 100)} of the torque, which is down to the noise ({noise})"
    return f"{percent(left / 100)} of the torque, {number(left / floor, 2)} times the noise ({noise})"


def worst_joint(runs: Sequence[Drawn]) -> str:
    """Which joint is predicted worst, on motion never seen where there is some: most of its own torque is left, and
    more than noise leaves, where that can be said."""
    run = decisive(runs)
    base, floor = run.found.baselines, run.found.floor
    shares = base.identified.percent
    beyond = np.where(shares > DOWN_TO * floor.percent, shares, np.nan)  # the rest is down to the noise
    worst = int(np.nanargmax(shares if np.isnan(beyond).all() else beyond))
    joint, share = base.joints[worst], percent(float(shares[worst]) / 100)
    sizes = f"{number(float(base.identified.rms[worst]), 3)} of {number(float(base.signal[worst]), 3)}"
    return f"worst is {joint}, with {share} of its own torque left ({sizes} {base.units[worst]} rms)"


def counts(estimate: Estimate) -> dict[str, int]:
    """How many parameters have each status, in a fixed order."""
    return {status: estimate.status.count(status) for status in (WELL, POOR, INSIGNIFICANT)}


def sure_sentence(found: Identification) -> str:
    well, less, none = counts(found.estimate).values()
    physical = {
        True: " There are links with these masses and inertias: the model can be exported whole.",
        False: " No links can have these masses and inertias: they predict torques, and nothing else.",
    }
    consistent = found.physically_consistent
    unknown = f"{none} not significant (the motion does not tell them from zero)"
    return (
        f"Of the parameters, {well} are well identified, {less} poorly (relative σ more than ten times the smallest "
        f"one), and {unknown}.{'' if consistent is None else physical[consistent]}"
    )


# -- figures -----------------------------------------------------------------------------------------------------------


def runs_figures(runs: Sequence[Drawn]) -> dict[str, str]:
    """What is left of the worst run of each kind, and what the description leaves of the decisive one."""
    shown = {}
    for seen, words in ((True, "left of the runs identified from"), (False, "left of motion never seen")):
        if kind := [run for run in runs if run.seen is seen]:
            shown[words] = percent(worst_of(kind).found.baselines.identified.total_percent / 100)
    judge = decisive(runs).found
    shown["… by the description"] = percent(judge.baselines.of(DESCRIPTION).total_percent / 100)
    floor = judge.floor.total_percent
    shown["… by noise alone"] = "not known" if floor is None else percent(floor / 100)
    return shown


def key_figures(found: Identification) -> dict[str, str]:
    return {
        "well identified": f"{counts(found.estimate)[WELL]} of {len(found.estimate.names)}",
        "condition number": number(found.estimate.condition_number),
        "… of normalised columns": number(found.estimate.condition_number_normalized),
        "time of the estimate": f"{number(found.seconds, 3)} s",
    }
