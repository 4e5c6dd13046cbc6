"""The report of an identification: what was found, how sure it is, and how well it predicts."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter import __version__
from exciter.identification.identification import Identification
from exciter.identification.problem import Problem
from exciter.identification.uncertainty.explain import explain
from exciter.report.identification_tables import (
    correlation_table,
    parameters_table,
    residuals_table,
    standard_table,
)
from exciter.report.identification_words import headline
from exciter.report.joint_choice import joint_choice
from exciter.report.markup import Markup, element, number
from exciter.report.page import Page
from exciter.report.plot import Line, Plot
from exciter.report.section import Section, folded, settings_list
from exciter.report.settings_file import yaml_file

Array = NDArray[np.float64]
MOST = 200_000  #: instants that are drawn of a run; what follows is left out, and said so


def write_identification_report(
    found: Identification,
    path: Path,
    settings: Mapping[str, Any] | None = None,
    validation: Sequence[Problem] = (),
    notes: Sequence[str] = (),
    answers: Sequence[str] = (),
) -> None:
    """Write the report to one HTML file. validation: problems of the runs never seen. notes: to stand at the top.
    answers: what was asked for beside the parameters (payload, drive gains, friction models), a line each."""
    identification_page(found, settings or {}, validation, notes, answers).write(Path(path))


def identification_page(
    found: Identification,
    settings: Mapping[str, Any],
    validation: Sequence[Problem],
    notes: Sequence[str],
    answers: Sequence[str],
) -> Page:
    sections = [
        *([answers_section(answers)] if answers else []),
        residuals_section(found),
        *(torque_section(found, problem, k) for k, problem in enumerate((found.judge, *validation))),
        parameters_section(found),
        conditioning_section(found),
        done_section(found),
        settings_section(found, settings),
    ]
    return Page(f"Identification of {found.problem.model.robot.name}", headline(found, notes), sections)


# -- predictions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prediction:
    """Measured and predicted torque (N, n) at ``time`` (N,), both as the equations have them; band (N, n): 95 %."""

    time: Array
    measured: Array
    predicted: Array
    band: Array
    complete: bool

    @classmethod
    def of(cls, found: Identification, problem: Problem) -> Prediction:
        estimate = found.estimate
        reach = estimate.quantile()
        time, measured, predicted, band = [], [], [], []
        count = 0
        for _, rows in replace(problem, balanced=False).rows():
            w = rows.w
            time.append(rows.time)
            measured.append(rows.y)
            predicted.append(w @ estimate.values)
            spread = np.einsum("njp,pq,njq->nj", w, estimate.covariance, w, optimize=True)
            band.append(reach * np.sqrt(np.maximum(spread, 0.0)))
            count += len(rows)
            if count > MOST:
                break
        joined = [np.concatenate(part) for part in (time, measured, predicted, band)]
        return cls(joined[0], joined[1], joined[2], joined[3], complete=count <= MOST)


def torque_section(found: Identification, problem: Problem, index: int) -> Section:
    log = ", ".join(run.name for run in problem.runs)
    prediction = Prediction.of(found, problem)
    seen = "These runs were identified from." if index == 0 else "This motion was never used for identification."
    text = (
        f"{seen} Measured and predicted are shown as they enter the equations, filtered alike. The band is the 95 % "
        "confidence band of the prediction that the parameters' covariance gives."
    )
    if not prediction.complete:
        text += f" Only the first {MOST} instants are drawn."
    robot = problem.model.robot
    units = {joint.name: "N" if joint.is_prismatic else "N·m" for joint in robot.joints}
    plots = []
    for j, name in enumerate(problem.joints):
        unit = units.get(name, "N or N·m")
        low, high = (prediction.predicted[:, j] + sign * prediction.band[:, j] for sign in (-1, 1))
        lines = [
            Line("measured", prediction.measured[:, j], unit),
            Line("predicted", prediction.predicted[:, j], unit),
            Line("residual", prediction.measured[:, j] - prediction.predicted[:, j], unit),
            Line("band, lower", low, unit),
            Line("band, upper", high, unit),
        ]
        plot = Plot(name, prediction.time, "time [s]", f"torque [{unit}]", lines, group=f"run{index}", band=(3, 4))
        plots.append(element("div", plot.html(), class_="of-joint", data_joint=j))
    title = "Torque of the runs identified from" if index == 0 else f"Torque of {log}"
    return Section(f"torque-{index}", title, text, (joint_choice(problem.joints), *plots))


# -- sections --------------------------------------------------------------------------------------------------------


def answers_section(answers: Sequence[str]) -> Section:
    listed = element("ul", *(element("li", answer) for answer in answers))
    return Section("answers", "Beside the parameters", "What was asked for beside the robot's parameters.", (listed,))


def residuals_section(found: Identification) -> Section:
    text = (
        "Root mean square of measured less predicted torque, also as a percentage of the measured torque. Beside it "
        "what the description's own parameters leave: where they do as well, identification gained nothing."
    )
    tables = [residuals_table(judged).html() for judged in (found.fit, *found.validation)]
    return Section("residuals", "Residuals", text, tuple(tables))


def parameters_section(found: Identification) -> Section:
    text = (
        f"Standard deviations rest on this: {found.estimate.assumption}. A parameter is poorly identified when its "
        "relative standard deviation is more than ten times the smallest one, and not significant when zero lies "
        "within its 95 % interval: it was not excited enough, or hardly matters. The bar is logarithmic, from 0.1 % "
        "to 100 %."
    )
    contents = [parameters_table(found).html()]
    reasons = [element("li", reason) for reason in explain(found.problem.compressed, found.estimate)]
    if reasons:
        contents.append(folded("Why some are not well identified", element("ul", *reasons)))
    if found.estimate.standard is not None:
        contents.append(folded("Standard parameters of every link", standard_table(found).html()))
    return Section("parameters", "Parameters", text, tuple(contents))


def conditioning_section(found: Identification) -> Section:
    compressed = found.problem.compressed
    r = compressed.information().r
    scale = np.linalg.norm(r, axis=0)
    values: Array = np.asarray(np.linalg.svd(r / np.where(scale > 0.0, scale, 1.0), compute_uv=False))
    order = np.arange(1.0, len(values) + 1.0)
    plot = Plot(
        "Singular values of W with columns of length one",
        order,
        "number",
        "singular value",
        [Line("singular value", values)],
        bars=True,
        log=True,
    )
    text = (
        f"Condition number of W {number(found.estimate.condition_number)}, with columns of length one "
        f"{number(found.estimate.condition_number_normalized)}. Small singular values are combinations of parameters "
        "that this motion hardly shows; pairs of parameters that are hard to tell apart are listed below."
    )
    return Section("conditioning", "Conditioning", text, (plot.html(), correlation_table(found).html()))


def done_section(found: Identification) -> Section:
    items = [*found.estimate.words, *found.words]
    for run in found.problem.runs:
        items += [f"{run.name}: {word}" for word in run.words]
    listed = element("ul", *(element("li", item) for item in items))
    return Section("done", "What was done", "", (listed,))


def settings_section(found: Identification, settings: Mapping[str, Any]) -> Section:
    problem, model = found.problem, found.problem.model
    sources = [source for run in problem.runs if run.recording for source in run.recording.about.sources]
    values = {
        "robot": f"{model.robot.name} ({model.n} joints: {', '.join(model.robot.joint_names)})",
        "source of the robot": model.robot.source or "not stated",
        "gravity [m/s²]": ", ".join(number(g) for g in model.robot.gravity),
        "joint terms": ", ".join(repr(term) for term in model.terms) or "none",
        "formulation": repr(problem.formulation),
        "estimator": repr(found.estimator),
        "equations": int(problem.compressed.rows.sum()),
        "logs": "; ".join(f"{source.name} (SHA-256 {source.sha256})" for source in sources) or "not from files",
        "seconds": number(found.seconds),
        "versions": f"exciter {__version__}, Python {platform.python_version()}, NumPy {np.__version__}",
    }
    file: tuple[Markup, ...] = (yaml_file(settings, "identify.yaml"),) if settings else ()
    return Section("settings", "Settings to repeat it", "", (*file, settings_list(json_words(values))))


def json_words(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
