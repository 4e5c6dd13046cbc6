"""result.json: the promised keys first, then what else is worth keeping."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identification import Identification, JudgedRun
from exciter.identification.identified_model import ROBOT_COPY
from exciter.identification.identify_config import EquationFilter, judged_words
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.notes import in_one_line, notable, texts
from exciter.pipeline.identified import Identified
from exciter.settings import written


def copy_name(description: Path) -> str:
    """Of the description's copy beside result.json."""
    return f"{ROBOT_COPY}{description.suffix}"


def result_data(result: Identified) -> dict[str, Any]:
    """result.json."""
    found, description = result.identification, result.description
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
        "settings": result.config.to_dict(),
        "terms": written(problem.model.terms),
        **_judge(found.judge),
        "covariance": estimate.covariance.tolist(),
        "assumption": in_one_line(estimate.assumptions),
        "noise": dict(zip(estimate.joints, estimate.noise.tolist(), strict=True)),
        "degrees_of_freedom": estimate.freedom,
        "equations": int(problem.compressed.rows.sum()),
        "standard": _standard(found),
        "description": {
            "joints": found.fit.description.to_dict(),
            "total_percent": found.fit.description.total_percent,
        },
        "payload": None if result.payload is None else result.payload.to_dict(),
        "friction": None if result.friction is None else result.friction.to_dict(),
        "automatic": [choice.to_dict() for choice in result.choices],
        "gains": None if result.gains is None else result.gains.to_dict(),
        "drift": [drift.sentence for drift in result.drifts],
        "inertia_matrix": None if result.inertia is None else result.inertia.to_dict(),
        "known_load": None if result.known_load is None else result.known_load.to_dict(),
        "comparison": None if result.comparison is None else result.comparison.to_dict(),
        "words": texts((*estimate.notes, *result.logs.done)),
        "reasons": texts(found.reasons),
        "quality": {name: quality.verdict for name, quality in result.quality.items()},
        "notes": [str(one) for one in notable(result.logs.notes)],
        "runs": [_run(one) for one in problem.runs],
        "robot": {
            "name": robot.name,
            "joints": list(robot.joint_names),
            "gravity": robot.gravity.tolist(),
            "sha256": result.sha256,
            "file": None if description is None else copy_name(description),
        },
        "seconds": found.seconds,
        "versions": dict(result.versions),
    }


def _judge(problem: Problem) -> dict[str, Any]:
    """What residuals were judged through, and which equations were left out, as a configuration has them; in words."""
    judge = problem.formulation
    if not isinstance(judge, InverseDynamic):  # a force plate's
        return {"judged_through": "none", "dead_zone": {}, "percentages": judged_words(judge)}
    zone = judge.zone(problem.model).tolist()
    return {
        "judged_through": written(EquationFilter.of(judge.parallel_filter)),
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


def _judged(one: JudgedRun) -> dict[str, Any]:
    return {
        "log": one.run,
        "joints": one.residuals.to_dict(),
        "total_percent": one.residuals.total_percent,
        "description_percent": one.description.total_percent,
    }


def _run(one: Run) -> dict[str, Any]:
    return {
        "log": one.name,
        "sources": [{"name": source.name, "sha256": source.sha256} for source in one.sources],
        "words": texts(one.notes),
        "span": None if one.span is None else list(one.span),
    }
