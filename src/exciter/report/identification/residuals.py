"""How much of the torque is left unexplained, joint by joint, beside models that know less and beside the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

from exciter.identification.config.sections import judged_words
from exciter.identification.formulations.formulation import Formulation
from exciter.report.identification.drawn import Drawn
from exciter.report.identification.parameters import listed
from exciter.report.markup import percent
from exciter.report.section import Section
from exciter.report.table import Bar, Cell, Table
from exciter.validation.baselines import DESCRIPTION, GRAVITY, ZERO
from exciter.validation.verdict import MOST_RUNS


def residuals_section(runs: Sequence[Drawn], judge: Formulation, shown_runs: int) -> Section:
    """judge: whose equations they are; shown_runs: how many of them have pictures."""
    text = (
        "How far the model's torque is from the measured one: root mean square (rms), the largest difference and when "
        "it was, and the rms over that of the measured torque. Beside it what models leave that know less: the "
        "parameters of the description (URDF), its gravity alone, and none at all (100 %). The noise floor is what no "
        f"model can explain. {judged_words(judge)}"
    )
    if shown_runs < len(runs):
        text += f" Torques are drawn of the first {MOST_RUNS} runs of each kind."
    floors = [f"{drawn.name}: {drawn.found.floor.sentence}" for drawn in runs]
    contents = (*(baselines_table(drawn).html() for drawn in runs), listed(floors))
    return Section("residuals", "Residuals beside baselines", text, contents)


def baselines_table(drawn: Drawn) -> Table:
    base, floor = drawn.found.baselines, drawn.found.floor
    found, others = base.identified, [base.of(model) for model in (DESCRIPTION, GRAVITY, ZERO)]
    rows: list[tuple[Cell, ...]] = [
        (
            joint,
            unit,
            float(base.signal[j]),
            float(found.rms[j]),
            float(found.worst[j]),
            float(found.when[j]) - drawn.start,
            shown(float(found.percent[j]), found.percent[j] / 100.0),
            *(shown(float(other.percent[j])) for other in others),
            shown(float(floor.percent[j])),
        )
        for j, (joint, unit) in enumerate(zip(base.joints, base.units, strict=True))
    ]
    total = Bar(found.total_percent, percent(found.total_percent / 100.0), found.total_percent / 100.0)
    left = [shown(other.total_percent) for other in others]
    last = floor.total_percent
    rows.append(("all", "", *(math.nan,) * 4, total, *left, shown(math.nan if last is None else last)))
    headings = (
        "joint",
        "unit",
        "measured rms",
        "residual rms",
        "largest",
        "at [s]",
        "residual / measured",
        "description",
        "gravity only",
        "zero torque",
        "noise floor",
    )
    return Table(f"Residuals on {drawn.name}, {drawn.kind}", headings, rows)


def shown(share: float, length: float = math.nan) -> Bar:
    """A percentage that sorts by its value, without a bar unless a length is given."""
    return Bar(share, percent(share / 100.0) if math.isfinite(share) else "–", length)
