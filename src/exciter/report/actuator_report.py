"""The report of drives: how the robot moves with them and with those of the description, what they are, how sure that
is, what the logs cannot tell apart, and what other logs said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from exciter.identification.actuators.actuator_fit import ActuatorFit
from exciter.identification.actuators.actuator_settings import ACTUATOR_KINDS
from exciter.identification.actuators.drive_numbers import start_source
from exciter.identification.information.estimate import GOOD, STATUS_LEGEND
from exciter.identification.uncertainty.conditioning import LISTED_PAIR_CORRELATION
from exciter.notes import lines, notable
from exciter.report.interval_chart import DrawnInterval, IntervalChart, IntervalGroup
from exciter.report.markup import explained, number
from exciter.report.page import Page, settings_section
from exciter.report.parts import (
    STATUS_TONES,
    Bar,
    Cards,
    FileLink,
    HtmlTable,
    PerJoint,
    Remarks,
    Section,
    Sentences,
    Summary,
    Together,
    Word,
    intervals,
    per_joint,
)
from exciter.report.plot import MOST_POINTS_PER_LINE, HeatMap, Line, Plot, thinned
from exciter.typing import Array
from exciter.validation.drive_comparison import DriveDifference, DriveTable
from exciter.validation.free_run import DriveVerdict, FreeRun, thousandths
from exciter.validation.validation import MOST_RUNS_SHOWN

DRAWN_SECONDS = 20.0  #: of a log, from its beginning
MOST_DRAWN_NUMBERS = 250_000  #: of all plots of motion together, so that a page of many joints and logs stays small
FEWEST_POINTS = 200  #: of a line all the same
ARRAYS_PER_JOINT = 8  #: of its two plots: time twice, four lines and two


def actuator_page(
    fit: ActuatorFit,
    verdict: DriveVerdict,
    table: DriveTable,
    comparisons: Sequence[DriveDifference] = (),
    *,
    settings: Mapping[str, Any],
    values: Mapping[str, str],
    files: Mapping[str, str],
) -> Page:
    """settings: plain data that asks for the same again. values: of this fit, by name. files: beside the page, and what
    each is for."""
    shown = [*verdict.fitted[:MOST_RUNS_SHOWN], *verdict.unseen[:MOST_RUNS_SHOWN]]
    points = MOST_DRAWN_NUMBERS // (ARRAYS_PER_JOINT * fit.robot.n * len(shown))
    points = int(np.clip(points, FEWEST_POINTS, MOST_POINTS_PER_LINE))
    sections = [
        error_section(verdict, len(shown)),
        *(motion_section(run, k, points) for k, run in enumerate(shown)),
        parameters_section(fit, table),
        intervals_section(verdict, table, comparisons),
        untold_section(verdict),
        *comparison_sections(comparisons),
        *files_section(files),
        settings_section(values, settings, "drives.yaml", model=fit.robot),
    ]
    return Page(f"Drives of {fit.robot.name}", drives_summary(fit, verdict), sections)


def drives_summary(fit: ActuatorFit, verdict: DriveVerdict) -> Summary:
    unit = thousandths(verdict.judged[0].units)
    counts = fit.status.count(GOOD)
    cards = {
        **{f"{run.name} ({run.kind}), before → after, rms [{unit}]": arrow(run) for run in verdict.runs[:4]},
        f"numbers that are {GOOD}": f"{counts} of {len(fit.names)}",
        "roll-outs of all logs": str(fit.fitted.rollouts),
    }
    done = explained("drives_found", fit=fit, count=len(fit.names), logs=len(verdict.fitted))
    outstanding = [one.sentence for one in verdict.outstanding]
    contents = (
        Remarks(Word("stands out", "fair"), outstanding),
        Remarks(Word("note", "fair"), lines(notable(fit.notes))),
        Cards(cards),
    )
    return Summary(Word(verdict.word, verdict.tone), (*verdict.sentences, done), contents)


def arrow(run: FreeRun) -> str:
    return f"{number(1e3 * run.before_total, 3)} → {number(1e3 * run.total, 3)}"


# -- how the robot moves -----------------------------------------------------------------------------------------------


def error_section(verdict: DriveVerdict, shown: int) -> Section:
    """Before and after, joint by joint, of every log."""
    contents = [error_table(run) for run in verdict.runs]
    text = explained("drives_error", cut=shown < len(verdict.runs), most=MOST_RUNS_SHOWN)
    return Section("error", "Error by joint", text, (*contents, residuals_table(verdict.fit)))


def error_table(run: FreeRun) -> HtmlTable:
    """Bars have one scale, so that they can be compared."""
    most = max(float(np.max([run.rms, run.before])), 1e-300)

    def bars(values: Sequence[float]) -> list[Bar]:
        return [Bar(1e3 * value, number(1e3 * value, 3), value / most) for value in values]

    columns = {
        "joint": (*run.joints, "all"),
        "unit": (*(f"m{unit}" for unit in run.units), thousandths(run.units)),
        "before, rms": bars([*run.before.tolist(), run.before_total]),
        "after, rms": bars([*run.rms.tolist(), run.total]),
        "after / before": [
            Bar.percentage(100.0 * a / b if b else np.nan, bar=False)
            for a, b in zip([*run.rms.tolist(), run.total], [*run.before.tolist(), run.before_total], strict=True)
        ],
    }
    return HtmlTable.by_column(f"{run.name} ({run.kind}), simulated freely: simulated − measured", columns, "errors")


def residuals_table(fit: ActuatorFit) -> HtmlTable:
    units = ["mm" if joint.is_prismatic else "mrad" for joint in fit.robot.joints]
    columns = {
        "joint": fit.robot.joint_names,
        "unit": units,
        "residual, rms": 1e3 * fit.residual_rms,
        "σ, by the median": 1e3 * fit.fitted.sigma,
        "samples that say the same": fit.fitted.repeats,
    }
    caption = f"What was fitted: stretches of {number(fit.settings.segment)} s, each from a state of its own"
    return HtmlTable.by_column(caption, columns)


def motion_section(run: FreeRun, k: int, points: int) -> Section:
    """Command, measured, simulated before and after; below what is between them."""
    until = int(np.searchsorted(run.time, run.time[0] + DRAWN_SECONDS))
    cut = until < len(run.time)
    parts = {j: motion_plots(run, j, slice(0, until), f"drives{k}", points) for j in range(len(run.joints))}
    text = explained("drives_motion", run=run, cut=cut, seconds=DRAWN_SECONDS)
    title = f"Motion of {run.name} ({run.kind})"
    return Section(f"motion-{k}", title, text, per_joint(run.joints, parts))


def motion_plots(run: FreeRun, j: int, drawn: slice, group: str, points: int) -> Together:
    unit, start = run.units[j], run.time[0]
    all_of_them = (run.command, run.measured, run.described, run.simulated)
    x, (command, measured, before, after) = thinned(
        run.time[drawn] - start, np.array([values[drawn, j] for values in all_of_them]), points
    )
    motion = [
        Line("command", command, unit, width=1.0, colour="soft"),
        Line("measured", measured, unit, width=5.0, colour="halo"),
        Line("before", before, unit, width=1.1, colour="c3"),
        Line("after", after, unit, width=1.4, colour="c1"),
    ]
    errors = [run.measured[drawn, j] - values[drawn, j] for values in (run.described, run.simulated)]
    x_errors, (error_before, error_after) = thinned(run.time[drawn] - start, 1e3 * np.array(errors), points)
    residual = [
        Line("before", error_before, f"m{unit}", width=1.1, colour="c3"),
        Line("after", error_after, f"m{unit}", width=1.4, colour="c1"),
    ]
    name, label = run.joints[j], f"position [{unit}]"
    return Together(
        (
            Plot(name, x, "time [s]", label, motion, group=group),
            Plot(
                f"{name}: measured − simulated", x_errors, "time [s]", f"residual [m{unit}]", residual,
                group=group,
            ),
        )
    )  # fmt: skip


# -- what was found ----------------------------------------------------------------------------------------------------


def parameters_section(fit: ActuatorFit, table: DriveTable) -> Section:
    known = np.isfinite(table.std)
    relative = [
        100.0 * std / abs(value) if value else np.nan for value, std in zip(table.values, table.std, strict=True)
    ]
    columns = {
        "number": table.names,
        "value": table.values,
        "σ": np.where(known, table.std, np.nan),
        "σ / value": [Bar.relative_std(one, unknown=1.0) for one in relative],
        "95 % interval": intervals(table.low, table.high, known),
        "unit": table.units,
        "status": [Word(one, STATUS_TONES[one]) for one in table.status],
        "before": fit.numbers.values(fit.numbers.coordinates),
        "from": [start_source(fit.robot, fit.settings, one) for one in fit.numbers.unknowns],
    }
    text = explained("drives_parameters", status=STATUS_LEGEND, alike=bool(fit.alike))
    content = HtmlTable.by_column(f"{len(table.names)} numbers of drives, and where the fit began", columns)
    return Section("parameters", "Numbers of the drives", text, (content,))


def intervals_section(verdict: DriveVerdict, table: DriveTable, comparisons: Sequence[DriveDifference]) -> Section:
    """By kind, joints that are alike beside each other."""
    fit = verdict.fit
    before = fit.numbers.values(fit.numbers.coordinates)
    others = [one.other for one in comparisons]
    charts = {}
    for place, kind in enumerate(dict.fromkeys(table.kinds)):
        own = [k for k, word in enumerate(table.kinds) if word == kind]
        groups = list[IntervalGroup]()
        left = list(own)
        for one in verdict.populations:
            if one.kind == kind:
                rows = [drawn_interval(table, others, before, k) for k in one.members]
                groups.append(IntervalGroup(rows, (one.low, one.high)))
                left = [k for k in left if k not in one.members]
        if left:
            groups.append(IntervalGroup([drawn_interval(table, others, before, k) for k in left]))
        about = ACTUATOR_KINDS[kind]
        charts[place] = IntervalChart(f"{kind}: {about.title} [{about.unit}]", groups, about.positive)
    text = explained("drives_intervals", alike=bool(verdict.populations), others=[one.second for one in comparisons])
    return Section("intervals", "Intervals by kind", text, (PerJoint(charts),))


def drawn_interval(table: DriveTable, others: Sequence[DriveTable], before: Array, k: int) -> DrawnInterval:
    name = table.names[k]
    found = [
        (float(one.values[at]), float(one.low[at]), float(one.high[at]))
        for one in (table, *others)
        for at in [n for n, other in enumerate(one.names) if other == name]
    ]
    return DrawnInterval(name.removeprefix(table.kinds[k]).strip() or "all joints", found, float(before[k]))


def untold_section(verdict: DriveVerdict) -> Section:
    fit, pairs = verdict.fit, verdict.pairs
    said = Sentences(tuple(dict.fromkeys(fit.untold)) or ("The logs tell every number apart from the others.",))
    caption = "Numbers" if pairs else "No two numbers are"
    table = HtmlTable(
        f"{caption} correlated by more than {LISTED_PAIR_CORRELATION:g}", ("number", "other", "correlation"), pairs
    )
    matrix = HeatMap("Correlation of the numbers", fit.names, fit.correlation)
    return Section("untold", "What cannot be told apart", explained("drives_untold"), (said, table, matrix))


# -- other logs, other tools -------------------------------------------------------------------------------------------


def comparison_sections(comparisons: Sequence[DriveDifference]) -> Iterator[Section]:
    for k, one in enumerate(comparisons):
        columns = {
            "number": one.names,
            f"{PurePath(one.first).name}": one.one.values,
            "± σ": one.one.std,
            f"{PurePath(one.second).name} (other)": one.other.values,
            "± σ of it": one.other.std,
            "unit": one.one.units,
            "difference / σ": one.normalized,
            "verdict": [Word("agrees", "good") if sure else Word("differs", "poor") for sure in one.agrees],
        }
        table = HtmlTable.by_column(f"{one.first} beside {one.second}", columns)
        text = explained("drives_comparison", limit=one.limit)
        title = f"Beside {PurePath(one.second).name}"
        yield Section(f"beside-{k}", title, text, (Sentences(one.sentences), table))


def files_section(files: Mapping[str, str]) -> Iterator[Section]:
    if files:
        rows = [(FileLink(name, name), about) for name, about in files.items()]
        table = HtmlTable("Files beside this page", ("file", "for"), rows, "whole")
        yield Section("files", "For simulators", explained("drives_files"), (table,))
