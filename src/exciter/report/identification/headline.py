"""What was identified, in three sentences, a verdict and a few figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from exciter.experiment.quality.quality import Quality
from exciter.identification.identification import Identification
from exciter.identification.information.estimate import WELL
from exciter.notes import Note, lines
from exciter.report.markup import Markup, element, joined, number, percent
from exciter.report.plain_words import named
from exciter.report.section import figures
from exciter.validation.baselines import DESCRIPTION, IDENTIFIED
from exciter.validation.validation import RunValidation, Validation, ValidationVerdict, next_steps, some_of

MOST_NOTES = 8  #: the others are folded away


def headline(
    found: Identification, verdict: ValidationVerdict, notes: Sequence[Note], quality: Mapping[str, Quality]
) -> Markup:
    fit = f"{fit_sentence(verdict.fit)}{unseen_clause(verdict.unseen)}; {worst_joint(verdict)}."
    steps = next_steps(found, verdict, quality)
    return summary(verdict, (done_sentence(found), fit, sure_sentence(found)), notes, key_figures(found), steps)


def summary(
    verdict: ValidationVerdict,
    sentences: Sequence[str],
    notes: Sequence[Note],
    more: Mapping[str, str] | None = None,
    steps: Sequence[str] = (),
) -> Markup:
    """more: figures, beside those of the runs; steps: what to do next."""
    badge = element("span", verdict.word, class_=f"word {verdict.tone}")
    lead = element("p", badge, " ", " ".join(sentences), class_="lead")
    shown = figures({**runs_figures(verdict), **(more or {})})
    return joined(lead, notes_list(steps, "next", "good"), notes_list(lines(notes)), shown)


def notes_list(notes: Sequence[str], word: str = "note", tone: str = "fair") -> Markup:
    if not notes:
        return Markup()
    items = [element("li", element("span", word, class_=f"word {tone}"), " ", text) for text in notes]
    shown = element("ul", *items[:MOST_NOTES], class_="caveats")
    if len(items) <= MOST_NOTES:
        return shown
    rest = element("ul", *items[MOST_NOTES:], class_="caveats")
    return joined(shown, element("details", element("summary", f"{len(items) - MOST_NOTES} more notes"), rest))


# -- sentences ---------------------------------------------------------------------------------------------------------


def many(count: int, what: str) -> str:
    """``1 run``, ``3 runs``; thousands are set apart."""
    return f"{count:,} {what}{'' if count == 1 else 's'}".replace(",", "\u202f")


def done_sentence(found: Identification) -> str:
    problem = found.problem
    runs = some_of([PurePath(run.name).name for run in problem.runs])
    seconds = sum(run.span[1] - run.span[0] for run in problem.runs if run.span)
    count = len(found.estimate.names)
    return (
        f"{many(count, 'parameter')} of {problem.model.robot.name} {'was' if count == 1 else 'were'} identified from "
        f"{many(len(problem.runs), 'run')} ({runs}; {number(seconds, 3)} s, "
        f"{many(int(problem.compressed.rows.sum()), 'equation')}) by {named(found.estimator)} on "
        f"{named(problem.formulation)}."
    )


def fit_sentence(fit: Validation) -> str:
    return (
        f"They leave {left_share(fit.worst)} of the measured torque unexplained, where the "
        f"description's own parameters leave {left_share(fit.worst, DESCRIPTION)}"
    )


def unseen_clause(unseen: Validation) -> str:
    if not unseen.runs:
        return "; no other motion was given to validate them"
    return f"; of motion they never saw ({unseen.worst.name}) they leave {left_words(unseen.worst)}"


def unseen_sentence(unseen: Validation) -> str:
    worst = unseen.worst
    where = f" of {worst.name}, the worst," if len(unseen.runs) > 1 else ""
    before = left_share(worst, DESCRIPTION)
    return f"They leave{where} {left_words(worst)}, where the description's own parameters leave {before}."


def left_share(run: RunValidation, model: str = IDENTIFIED) -> str:
    """Of the torque, by a model."""
    return percent(run.baselines.of(model).total_percent / 100)


def left_words(run: RunValidation) -> str:
    """``0.53 %, 1.4 times what noise alone leaves``."""
    left, floor = run.baselines.identified.total_percent, run.floor.total_percent
    if not floor:
        return f"{percent(left / 100)} of the torque, how much of it noise is not known"
    noise = f"noise alone leaves {percent(floor / 100)}"
    if run.down_to_noise:
        return f"{percent(left / 100)} of the torque, which is down to the noise ({noise})"
    return f"{percent(left / 100)} of the torque, {number(left / floor, 2)} times the noise ({noise})"


def worst_joint(verdict: ValidationVerdict) -> str:
    """Which joint is predicted worst."""
    worst = verdict.worst_joint
    sizes = f"{number(worst.rms, 3)} of {number(worst.signal, 3)} {worst.unit} rms"
    return f"worst is {worst.joint}, with {percent(worst.percent / 100)} of its own torque left ({sizes})"


def sure_sentence(found: Identification) -> str:
    well, less, none = found.estimate.counts.values()
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


def runs_figures(verdict: ValidationVerdict) -> dict[str, str]:
    """What is left of the worst run of each kind, and what the description leaves of the decisive one."""
    kinds = {"left of the runs identified from": verdict.fit, "left of motion never seen": verdict.unseen}
    shown = {words: left_share(kind.worst) for words, kind in kinds.items() if kind.runs}
    shown["… by the description"] = left_share(verdict.decisive, DESCRIPTION)
    floor = verdict.decisive.floor.total_percent
    shown["… by noise alone"] = "not known" if floor is None else percent(floor / 100)
    return shown


def key_figures(found: Identification) -> dict[str, str]:
    return {
        "well identified": f"{found.estimate.counts[WELL]} of {len(found.estimate.names)}",
        "condition number": number(found.estimate.condition_number),
        "… of normalised columns": number(found.estimate.condition_number_normalized),
        "time of the estimate": f"{number(found.seconds, 3)} s",
    }
