"""What was done, in three sentences and a few figures."""

from __future__ import annotations

from exciter.excitation.certificate.certificate import (
    Certificate,
    LimitVerdict,
    assumed_words,
    failures_words,
    margin_words,
)
from exciter.excitation.design import WELL_KNOWN_PERCENT, Design
from exciter.notes import texts
from exciter.report.markup import Markup, element, joined, number
from exciter.report.section import figures
from exciter.settings import written


def headline(design: Design) -> Markup:
    certified = design.certificate.certified
    badge = element("span", "certified" if certified else "not certified", class_="word " + tone(certified))
    if certified and not design.certificate.proved:
        badge = element("span", "nothing to certify", class_="word unproved")
    sentences = (done_sentence(design), verdict_sentence(design.certificate), expected_sentence(design))
    lead = element("p", badge, " ", " ".join(sentences), class_="lead")
    return joined(lead, caveats(design), figures(key_figures(design)))


def caveats(design: Design) -> Markup:
    """What the verdict does not speak of, and what was assumed of the robot."""
    missing = [("not checked", text) for text in design.unchecked]
    noted = [("note", text) for text in texts((*design.model.robot.remarks, *design.notes))]
    items = (element("li", element("span", kind, class_="word fair"), " ", text) for kind, text in missing + noted)
    return element("ul", *items, class_="caveats") if missing or noted else Markup()


def tone(good: bool) -> str:
    return "good" if good else "poor"


def done_sentence(design: Design) -> str:
    robot, trajectory = design.model.robot, design.trajectory
    family = written(trajectory)["family"]
    starts = len(design.attempts)
    whose = f"For {robot.name} with {robot.n} {'joint' if robot.n == 1 else 'joints'}"
    if not starts:
        return (
            f"{whose}, {number(design.curve.duration)} s of random motion were drawn, to validate on; its criterion "
            f"{design.criterion.name} is {number(design.value, 6)}."
        )
    if design.unsearched:
        return (
            f"{whose}, a {family} motion of {number(trajectory.duration)} s was taken as a start begins with it, "
            f"not searched for. Its criterion {design.criterion.name} is {number(design.value, 6)}."
        )
    return (
        f"{whose}, a {family} motion of "
        f"{number(trajectory.duration)} s was designed by the criterion {design.criterion.name}, which reached "
        f"{number(design.value, 6)} after {number(design.seconds, 3)} s and {starts} "
        f"{'start' if starts == 1 else 'starts'}{', stopped early' if design.interrupted else ''}."
    )


def verdict_sentence(certificate: Certificate) -> str:
    worst, assumed = certificate.worst, assumed_words(certificate)
    if worst is None and not assumed:
        return "There is no limit at all, so that none could be broken."
    if worst is None:
        return f"No limit is proved: {assumed}."
    count = len(certificate.proved)
    if certificate.certified:
        limits = "The one limit is" if count == 1 else f"All {count} limits are"
        if assumed:
            limits = "One limit is" if count == 1 else f"{count} limits are"
        held = f"{limits} proved to hold at every instant; the tightest is {limit_words(worst)}"
        return f"{held}; {assumed}." if assumed else f"{held}."
    return f"It is not certified: {failures_words(certificate)}; the worst is {limit_words(worst)}."


def limit_words(limit: LimitVerdict) -> str:
    return f"{limit.what} of {limit.where} with a margin of {margin_words(limit)}"


def expected_sentence(design: Design) -> str:
    return (
        f"Of {len(design.parameters)} parameters, {design.well_known} are expected with a standard deviation below "
        f"{WELL_KNOWN_PERCENT:g} % of their nominal value."
    )


def key_figures(design: Design) -> dict[str, str]:
    worst = design.certificate.worst
    return {
        f"criterion ({design.criterion.name})": number(design.value, 6),
        "condition number": number(design.condition_number),
        "… of normalised columns": number(design.condition_number_normalized),
        "log det of the covariance": number(design.log_det, 6),
        "duration with ramps": f"{number(design.certificate.duration)} s",
        "tightest margin": "–" if worst is None else margin_words(worst),
    }
