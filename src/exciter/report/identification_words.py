"""What was identified, in three sentences and a few figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from exciter.identification.estimate import WELL
from exciter.identification.identification import Identification
from exciter.report.markup import Markup, element, joined, number, percent
from exciter.report.section import figures

GOOD, FAIR = 5.0, 15.0  #: [%] of the torque left unexplained: below, a model is good, or fair


def headline(found: Identification, notes: Sequence[str]) -> Markup:
    word, tone = verdict(found)
    badge = element("span", word, class_=f"word {tone}")
    lead = element("p", badge, " ", " ".join((done_sentence(found), fit_sentence(found), sure_sentence(found))))
    items = (element("li", element("span", "note", class_="word fair"), " ", text) for text in notes)
    listed = element("ul", *items, class_="caveats") if notes else Markup()
    return joined(lead, listed, figures(key_figures(found)))


def decisive(found: Identification) -> float:
    """[%] on motion never seen, where there is some; else on what was identified from."""
    judged = found.validation or (found.fit,)
    return max(one.residuals.total_percent for one in judged)


def verdict(found: Identification) -> tuple[str, str]:
    left = decisive(found)
    word = "good" if left < GOOD else "fair" if left < FAIR else "poor"
    where = "validated" if found.validation else "not validated"
    return f"{word} fit, {where}", word


def done_sentence(found: Identification) -> str:
    problem = found.problem
    count, runs = len(found.estimate.names), len(problem.runs)
    return (
        f"{count} parameters of {problem.model.robot.name} were identified from {runs} "
        f"{'run' if runs == 1 else 'runs'} ({int(problem.compressed.rows.sum())} equations) by "
        f"{type(found.estimator).__name__} on the {type(problem.formulation).__name__} model."
    )


def fit_sentence(found: Identification) -> str:
    text = (
        f"They leave {percent(found.fit.residuals.total_percent / 100)} of the measured torque unexplained, the "
        f"description's own parameters {percent(found.fit.description.total_percent / 100)}"
    )
    if not found.validation:
        return text + "; no other motion was given to validate them."
    worst = max(found.validation, key=lambda one: one.residuals.total_percent)
    return text + f"; on motion never seen ({worst.run}) {percent(worst.residuals.total_percent / 100)}."


def sure_sentence(found: Identification) -> str:
    counts = Counter(found.estimate.status)
    parts = [f"{count} {status}" for status, count in counts.items()]
    physical = {True: " Bodies can have these parameters.", False: " No bodies can have these parameters."}
    return f"Of the parameters, {', '.join(parts)}." + physical.get(found.physically_consistent, "")  # type: ignore[arg-type]


def key_figures(found: Identification) -> dict[str, str]:
    well = sum(status == WELL for status in found.estimate.status)
    shown = {
        "left unexplained": percent(found.fit.residuals.total_percent / 100),
        "well identified": f"{well} of {len(found.estimate.names)}",
        "condition number": number(found.estimate.condition_number),
        "… of normalised columns": number(found.estimate.condition_number_normalized),
        "seconds": number(found.seconds, 3),
    }
    for one in found.validation:
        shown[f"on {one.run}"] = percent(one.residuals.total_percent / 100)
    return shown
