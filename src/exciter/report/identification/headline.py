"""What was identified, in three sentences, a verdict and a few figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from exciter.experiment.quality.quality import Quality
from exciter.identification.identification import Identification
from exciter.identification.identified_model import IdentifiedModel
from exciter.notes import Note, lines
from exciter.report.markup import explained, number, percent
from exciter.report.parts import Cards, Remarks, Summary, Word
from exciter.settings.in_words import named
from exciter.validation.baselines import DESCRIPTION, IDENTIFIED
from exciter.validation.validation import RunValidation, ValidationVerdict, next_steps, some_of


def identification_summary(
    found: Identification, verdict: ValidationVerdict, notes: Sequence[Note], quality: Mapping[str, Quality]
) -> Summary:
    problem, estimate, unseen = found.problem, found.estimate, verdict.unseen
    well, less, none_of = estimate.counts.values()
    done = explained(
        "identified",
        problem=problem,
        count=len(estimate.names),
        runs=some_of([PurePath(run.name).name for run in problem.runs]),
        seconds=sum(run.span[1] - run.span[0] for run in problem.runs if run.span),
        equations=int(problem.compressed.rows.sum()),
        estimator=named(found.estimator),
        formulation=named(problem.formulation),
    )
    validated = unseen.worst if unseen.runs else None
    fit = explained("fit", run=verdict.fit.worst, unseen=validated, description=DESCRIPTION)
    physical = found.physically_consistent
    sure = explained("sure", well=well, less=less, none_of=none_of, physical=physical)
    cards = {
        **residual_figures(verdict),
        "parameters well identified": f"{well} of {len(estimate.names)}",
        "condition number": number(estimate.condition_number),
        "condition number, normalised columns": number(estimate.condition_number_normalized),
        "computing time of the estimate": f"{number(found.seconds, 3)} s",
    }
    sentences = (done, fit, worst_joint(verdict), sure)
    return summary(verdict, sentences, next_steps(found, verdict, quality), notes, cards)


def validation_summary(identified: IdentifiedModel, verdict: ValidationVerdict, notes: Sequence[Note]) -> Summary:
    runs = verdict.unseen.runs
    done = explained(
        "validated",
        robot=identified.model.robot,
        count=len(identified.estimate.names),
        runs=len(runs),
        names=some_of([run.name for run in runs]),
        seconds=sum(float(run.prediction.time[-1] - run.prediction.time[0]) for run in runs),
        worst=verdict.unseen.worst,
        description=DESCRIPTION,
    )
    return summary(verdict, (done, worst_joint(verdict)), (), notes, residual_figures(verdict))


def worst_joint(verdict: ValidationVerdict) -> str:
    return explained("worst_joint", worst=verdict.worst_joint)


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


def residual_share(run: RunValidation, model: str = IDENTIFIED) -> str:
    """Over the measured torque, by a model."""
    return percent(run.baselines.of(model).total_percent / 100)


def residual_figures(verdict: ValidationVerdict) -> dict[str, str]:
    """Of the worst run of each kind; of the description and of the noise on the decisive one."""
    kinds = {"identification data": verdict.fit, "validation data": verdict.unseen}
    shown = {f"residual / torque, {words}": residual_share(kind.worst) for words, kind in kinds.items() if kind.runs}
    shown["residual / torque, parameters of the description"] = residual_share(verdict.decisive, DESCRIPTION)
    floor = verdict.decisive.floor.total_percent
    shown["noise floor / torque"] = "not known" if floor is None else percent(floor / 100)
    return shown
