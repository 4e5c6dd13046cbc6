"""What was identified, in three sentences, a verdict and a few figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from exciter.experiment.quality.quality import Quality
from exciter.identification.identification import Identification
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.information.estimate import WELL
from exciter.notes import Note, lines
from exciter.report.markup import number, percent
from exciter.report.parts import Cards, Remarks, Summary, Word
from exciter.settings.in_words import named
from exciter.validation.baselines import DESCRIPTION, IDENTIFIED
from exciter.validation.validation import RunValidation, ValidationVerdict, next_steps, some_of


def identification_summary(
    found: Identification, verdict: ValidationVerdict, notes: Sequence[Note], quality: Mapping[str, Quality]
) -> Summary:
    sentences = [done_sentence(found), fit_sentence(verdict), worst_joint(verdict), sure_sentence(found)]
    cards = {
        **residual_figures(verdict),
        "parameters well identified": f"{found.estimate.counts[WELL]} of {len(found.estimate.names)}",
        "condition number": number(found.estimate.condition_number),
        "condition number, normalised columns": number(found.estimate.condition_number_normalized),
        "computing time of the estimate": f"{number(found.seconds, 3)} s",
    }
    return summary(verdict, sentences, next_steps(found, verdict, quality), notes, cards)


def validation_summary(identified: IdentifiedModel, verdict: ValidationVerdict, notes: Sequence[Note]) -> Summary:
    runs, worst = verdict.unseen.runs, verdict.unseen.worst
    seconds = sum(float(run.prediction.time[-1] - run.prediction.time[0]) for run in runs)
    done = (
        f"{many(len(identified.estimate.names), 'identified parameter')} of {identified.model.robot.name} were "
        f"validated on {many(len(runs), 'run')} ({some_of([run.name for run in runs])}; {number(seconds, 3)} s) that "
        f"{'was' if len(runs) == 1 else 'were'} not used to identify them."
    )
    where = f" of {worst.name}, the worst run," if len(runs) > 1 else ""
    before = residual_share(worst, DESCRIPTION)
    left = f"The residual{where} is {residual_words(worst)}; with the parameters of the description it is {before}."
    return summary(verdict, (done, left, worst_joint(verdict)), (), notes, residual_figures(verdict))


def summary(
    verdict: ValidationVerdict,
    sentences: Sequence[str],
    steps: Sequence[str],
    notes: Sequence[Note],
    cards: Mapping[str, str],
) -> Summary:
    """steps: what to do next."""
    remarks = (Remarks(Word("next", "good"), steps), Remarks(Word("note", "fair"), lines(notes)))
    return Summary(Word(verdict.word, verdict.tone), sentences, (*remarks, Cards(cards)))


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


def fit_sentence(verdict: ValidationVerdict) -> str:
    fit, unseen = verdict.fit.worst, verdict.unseen
    held_out = "no validation data were given"
    if unseen.runs:
        held_out = f"on validation data ({unseen.worst.name}) it is {residual_words(unseen.worst)}"
    return (
        f"The residual on the identification data is {residual_share(fit)} of the measured torque (with the "
        f"parameters of the description {residual_share(fit, DESCRIPTION)}); {held_out}."
    )


def residual_share(run: RunValidation, model: str = IDENTIFIED) -> str:
    """Over the measured torque, by a model."""
    return percent(run.baselines.of(model).total_percent / 100)


def residual_words(run: RunValidation) -> str:
    """``0.53 % of the torque, 1.4 times the noise floor (0.38 %)``."""
    left, floor = run.baselines.identified.total_percent, run.floor.total_percent
    share = f"{percent(left / 100)} of the torque"
    if not floor:
        return f"{share} (the noise floor is not known)"
    noise = percent(floor / 100)
    if run.down_to_noise:
        return f"{share}, which is down to the noise floor ({noise})"
    return f"{share}, {number(left / floor, 2)} times the noise floor ({noise})"


def worst_joint(verdict: ValidationVerdict) -> str:
    base, j = verdict.decisive.baselines, verdict.worst_joint
    share, rms = float(base.identified.percent[j]) / 100, float(base.identified.rms[j])
    return (
        f"The worst joint is {base.joints[j]}: its residual is {percent(share)} of its torque "
        f"({number(rms, 3)} of {number(float(base.signal[j]), 3)} {base.units[j]} rms)."
    )


def sure_sentence(found: Identification) -> str:
    well, less, none = found.estimate.counts.values()
    physical = {
        None: "",
        True: " The parameters are physically consistent: the model can be exported as a whole.",
        False: " The parameters are not physically consistent: they predict torques, but no links can have them.",
    }
    return (
        f"Of the parameters, {well} are well identified, {less} poorly (relative σ more than ten times the smallest "
        f"one), and {none} are not significant (zero lies within their 95 % interval)."
        f"{physical[found.physically_consistent]}"
    )


def residual_figures(verdict: ValidationVerdict) -> dict[str, str]:
    """Of the worst run of each kind; of the description and of the noise on the decisive one."""
    kinds = {"identification data": verdict.fit, "validation data": verdict.unseen}
    shown = {f"residual / torque, {words}": residual_share(kind.worst) for words, kind in kinds.items() if kind.runs}
    shown["residual / torque, parameters of the description"] = residual_share(verdict.decisive, DESCRIPTION)
    floor = verdict.decisive.floor.total_percent
    shown["noise floor / torque"] = "not known" if floor is None else percent(floor / 100)
    return shown
