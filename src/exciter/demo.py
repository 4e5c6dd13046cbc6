"""The whole story in one go: design a motion, run it on a synthetic robot, identify it, compare with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape
from scipy.stats import chi2

from exciter import __version__
from exciter.dynamics.model import DynamicModel
from exciter.excitation.config.constraint_config import ConstraintConfig
from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.synthetic import synthetic
from exciter.files import write_json
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.parameters.terms.declared import declared_terms
from exciter.report.design_report import write_design_report
from exciter.robot import Motion, Robot

if TYPE_CHECKING:
    from rich.console import Console

Array = NDArray[np.float64]
RATE = 200.0  # samples per second of the synthetic log
PERIODS = 2
STARTS = 4
NOISE = 0.02  # of the torque limit; of 50 N·m where there is none


def demo(out: Console, robot: Robot, seed: int, folder: Path | None) -> None:
    """Print the story; with a folder, also write result.json and the report of the design there."""
    model = DynamicModel(robot, declared_terms(robot))
    truth = secret(model, seed)
    noise = NOISE * np.where(np.isfinite(robot.limit("torque")), robot.limit("torque"), 50.0)
    base = model.base

    out.print(f"[bold]1  robot[/]       {escape(robot.name)}: {robot.n} joints, {len(base)} base parameters")
    for remark in robot.remarks:
        out.print(f"              note: {remark}", style="yellow", markup=False)
    trajectory = Fourier(period=10.0, harmonics=5, at_rest=True)
    rows = model.rows(Motion.at(np.zeros((8, robot.n))), model.layout(base.independent))
    rows.pullback(rows.gram())  # whatever must be compiled is compiled before the clock starts
    constraints = ConstraintConfig().constraints(model)
    with out.status("designing …") as status:
        designed = design(
            model,
            trajectory,
            noise=noise,
            constraints=constraints,
            seed=seed,
            starts=STARTS,
            progress=lambda now: status.update(f"designing … {now.iteration}: {now.value:.2f}"),
        )
    out.print(
        f"[bold]2  design[/]      Fourier, D-optimal: log det of the covariance {designed.log_det:.2f} after "
        f"{designed.evaluations} evaluations in {designed.seconds:.1f} s; {len(designed.certificate.limits)} limits "
        f"({', '.join(dict.fromkeys(limit.what for limit in designed.certificate.limits))}) hold at every instant"
    )
    samples = int(PERIODS * trajectory.period * RATE)
    data = synthetic(model, motion(trajectory, designed.delta, np.arange(samples) / RATE), truth, noise, seed)
    out.print(
        f"[bold]3  experiment[/]  synthetic robot, its parameters some 20 % off the description: {PERIODS} periods at "
        f"{RATE:g} Hz, {samples} samples, white noise of {100 * NOISE:g} % of the torque limit"
    )
    problem = Problem(model, (Run.at(data.motion, data.torque, RATE),))
    found = WeightedLeastSquares(tuple(data.noise)).estimate(problem)
    sigma0 = float(np.sqrt(problem.compressed.information(data.noise).residual / found.freedom))
    true = base.base_values(truth)
    inside = int((np.abs(found.values - true) < 2 * found.std).sum())
    out.print(
        f"[bold]4  identify[/]    weighted least squares: residual / noise = {sigma0:.3f}; "
        f"{inside} of {len(base)} within 2 σ of the truth (95 % expected over many experiments; errors go together)"
    )
    distance, usual = joint_error(found, true)
    fits = "as it should be" if usual[0] <= distance <= usual[1] else "which happens in one of 20 experiments"
    out.print(
        f"              all errors together, correlation counted: χ² = {distance:.0f}, {fits} ({usual[0]:.0f} … "
        f"{usual[1]:.0f} in 95 % of experiments)\n",
        markup=False,
    )
    print_estimate(out, model, found, true)
    if folder is not None:
        write_json(folder / "result.json", summary(model, designed, found, true, sigma0, seed))
        write_design_report(designed, folder / "report.html")
        out.print(f"\nwritten to {folder}: result.json, and the designed motion in report.html (open it in a browser)")


def secret(model: DynamicModel, seed: int) -> Array:
    """True parameters that the estimator never sees: every link and every friction off by some 20 %.

    A link's ten parameters are scaled together, so that it stays a body that can exist.
    """
    rng = np.random.default_rng(seed + 1)
    factors = np.exp(0.2 * rng.standard_normal(model.n))
    truth = model.nominal * np.exp(0.2 * rng.standard_normal(model.nominal.size))
    truth[: 10 * model.n] = model.nominal[: 10 * model.n] * np.repeat(factors, 10)
    return truth


def joint_error(found: Estimate, true: Array) -> tuple[float, tuple[float, float]]:
    """eᵀ C⁻¹ e of the errors e of all parameters, and where it lies in 95 % of experiments when C is right.

    Neighbours share much of their error, so that counting parameters within 2 σ says less than it seems to.
    """
    error = (found.values - true) / found.std
    correlation = found.covariance / np.outer(found.std, found.std)
    low, high = chi2.ppf((0.025, 0.975), len(error))
    return float(error @ np.linalg.solve(correlation, error)), (float(low), float(high))


def print_estimate(out: Console, model: DynamicModel, found: Estimate, true: Array) -> None:
    from rich.table import Table
    from rich.text import Text

    units = dict(zip(model.standard, model.units, strict=True))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("parameter")
    table.add_column("unit")
    for heading in ("true", "identified", "σ", "error / σ"):
        table.add_column(heading, justify="right")
    for k, name in enumerate(found.names):
        error = (found.values[k] - true[k]) / found.std[k]
        unit = units[model.standard[model.base.independent[k]]]
        numbers = (f"{true[k]:.4f}", f"{found.values[k]:.4f}", f"{found.std[k]:.4f}", f"{error:+.1f}")
        table.add_row(Text(name), Text(unit), *numbers)
    out.print(table)


def summary(
    model: DynamicModel, designed: Design, found: Estimate, true: Array, sigma0: float, seed: int
) -> dict[str, Any]:
    units = dict(zip(model.standard, model.units, strict=True))
    kept = [units[model.standard[k]] for k in model.base.independent]
    columns = zip(found.names, kept, true, found.values, found.std, strict=True)
    return {
        "exciter": __version__,
        "robot": model.robot.name,
        "seed": seed,
        "design": {
            "criterion": "d-optimal",
            "value": designed.value,
            "evaluations": designed.evaluations,
            "certificate": designed.certificate.to_dict(),
            "trajectory": designed.trajectory.to_dict(),
            "joints": model.robot.joint_names,
            "coefficients": designed.delta.tolist(),
        },
        "sigma0": sigma0,
        "chi_squared": joint_error(found, true)[0],
        "parameters": [{"name": n, "unit": u, "true": t, "value": v, "std": s} for n, u, t, v, s in columns],
    }
