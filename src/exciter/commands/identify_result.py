"""result.json of ``exciter identify``: the promised keys first, then what else is worth keeping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exciter.commands.common import description_hash, description_path, versions
from exciter.commands.identify_logs import Logs
from exciter.identification.automatic.choice import Choice
from exciter.identification.config.evaluation import judged_words
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.config.routes import filter_words
from exciter.identification.drive_gains import DriveGains
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.friction_choice import FrictionChoice
from exciter.identification.identification import Identification, Judged
from exciter.identification.identified import COPY
from exciter.identification.payload_estimate import QUANTITIES, UNITS, PayloadEstimate
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.identification.uncertainty.drift import Drift
from exciter.identification.uncertainty.explain import explain
from exciter.report.identification.report import Answers
from exciter.settings import written
from exciter.validation.comparison import Comparison
from exciter.validation.inertia_matrix import InertiaMatrix
from exciter.validation.known_load import KnownLoad


def copy_name(source: str) -> str:
    """Of the description's copy beside result.json."""
    return f"{COPY}{description_path(source).suffix}"


@dataclass(frozen=True, eq=False)
class Extras:
    """What was asked for, or showed, beside the parameters."""

    payload: PayloadEstimate | None = None
    friction: FrictionChoice | None = None
    gains: DriveGains | None = None
    drifts: tuple[Drift, ...] = ()
    inertia: InertiaMatrix | None = None
    known_load: KnownLoad | None = None
    comparison: Comparison | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What deserves care."""
        return tuple(drift.words for drift in self.drifts)

    @property
    def answers(self) -> Answers:
        """For the report."""
        return Answers(
            self.payload,
            self.gains,
            self.friction,
            self.comparison,
            self.inertia,
            self.known_load,
            choices=self.choices,
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """Answers that are no tables, for people."""
        lines: list[str] = []
        if self.gains is not None:
            each = zip(self.gains.joints, self.gains.gains, self.gains.std, strict=True)
            lines.append(
                "drive gains [N·m/A]: " + ", ".join(f"{name} {value:.5g} ± {std:.2g}" for name, value, std in each)
            )
        if self.payload is not None:
            lines += _payload_lines(self.payload)
        if self.known_load is not None:
            lines += self.known_load.words
        return tuple(lines)


def _payload_lines(payload: PayloadEstimate) -> list[str]:
    """Mass, centre and inertia with their standard deviations, and remarks."""
    rows = zip(QUANTITIES, UNITS, payload.values, payload.std, strict=True)
    listed = ", ".join(f"{name} {value:.5g} ± {std:.2g} {unit}" for name, unit, value, std in rows)
    return [f"payload on {payload.frame}: {listed}", *payload.remarks]


def result_data(
    found: Identification, extras: Extras, config: IdentifyConfig, source: str, logs: Logs
) -> dict[str, Any]:
    estimate, problem = found.estimate, found.problem
    robot = problem.model.robot
    return {
        "parameters": _parameters(found),
        "residuals": found.fit.residuals.to_dict(),
        "total_percent": found.fit.residuals.total_percent,
        "validation": [_judged(one) for one in found.validation],
        "condition_number": estimate.condition_number,
        "condition_number_normalized": estimate.condition_number_normalized,
        "physically_consistent": found.physically_consistent,
        "settings": config.to_dict(),
        "terms": written(problem.model.terms),
        **_judge(found.judge),
        "covariance": estimate.covariance.tolist(),
        "assumption": estimate.assumption,
        "noise": dict(zip(estimate.joints, estimate.noise.tolist(), strict=True)),
        "degrees_of_freedom": estimate.freedom,
        "equations": int(problem.compressed.rows.sum()),
        "standard": _standard(found),
        "description": {
            "joints": found.fit.description.to_dict(),
            "total_percent": found.fit.description.total_percent,
        },
        "payload": None if extras.payload is None else extras.payload.to_dict(),
        "friction": None if extras.friction is None else extras.friction.to_dict(),
        "automatic": [choice.to_dict() for choice in extras.choices],
        "gains": None if extras.gains is None else extras.gains.to_dict(),
        "drift": [drift.words for drift in extras.drifts],
        "inertia_matrix": None if extras.inertia is None else extras.inertia.to_dict(),
        "known_load": None if extras.known_load is None else extras.known_load.to_dict(),
        "comparison": None if extras.comparison is None else extras.comparison.to_dict(),
        "words": [*estimate.words, *found.words, *logs.words],
        "reasons": list(explain(problem.compressed, estimate)),
        "quality": {name: quality.verdict for name, quality in logs.quality.items()},
        "notes": logs.notes,
        "runs": [_run(one) for one in problem.runs],
        "robot": {
            "name": robot.name,
            "joints": list(robot.joint_names),
            "gravity": robot.gravity.tolist(),
            "sha256": description_hash(source),
            "file": copy_name(source),
        },
        "seconds": found.seconds,
        "versions": versions(),
    }


def _judge(problem: Problem) -> dict[str, Any]:
    """What residuals were judged through, and which equations were left out, as a configuration has them; in words."""
    judge = problem.formulation
    if not isinstance(judge, InverseDynamic):  # a force plate's
        return {"judged_through": "none", "dead_zone": {}, "percentages": judged_words(judge)}
    zone = judge.zone(problem.model).tolist()
    return {
        "judged_through": filter_words(judge.parallel_filter),
        "dead_zone": dict(zip(problem.model.robot.joint_names, zone, strict=True)),
        "percentages": judged_words(judge),
    }


def _parameters(found: Identification) -> list[dict[str, Any]]:
    estimate, base = found.estimate, found.problem.base
    low, high = estimate.interval()
    columns = {
        "name": estimate.names,
        "value": estimate.values.tolist(),
        "std": estimate.std.tolist(),
        "relative_std_percent": estimate.relative_std_percent.tolist(),
        "status": estimate.status,
        "unit": estimate.units,
        "expression": base.expressions,
        "interval": list(zip(low.tolist(), high.tolist(), strict=True)),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _standard(found: Identification) -> dict[str, float] | None:
    if found.estimate.standard is None:
        return None
    return dict(zip(found.problem.base.standard, found.estimate.standard.tolist(), strict=True))


def _judged(one: Judged) -> dict[str, Any]:
    return {
        "log": one.run,
        "joints": one.residuals.to_dict(),
        "total_percent": one.residuals.total_percent,
        "description_percent": one.description.total_percent,
    }


def _run(one: Run) -> dict[str, Any]:
    sources = () if one.recording is None else one.recording.about.sources
    return {
        "log": one.name,
        "sources": [{"name": source.name, "sha256": source.sha256} for source in sources],
        "words": list(one.words),
        "span": None if one.span is None else list(one.span),
    }
