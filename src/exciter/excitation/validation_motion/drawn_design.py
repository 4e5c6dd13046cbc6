"""What a drawn motion would tell of the parameters, as for a motion that was searched."""

from __future__ import annotations

from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria import AnyCriterion, Columns, DOptimality
from exciter.excitation.criteria.design_rows import DesignRows, TorqueRows
from exciter.excitation.design import RATE, Design, promises
from exciter.excitation.objective import Objective
from exciter.excitation.validation_motion.draw import Drawn
from exciter.typing import Array


def drawn_design(
    model: DynamicModel,
    drawn: Drawn,
    *,
    criterion: AnyCriterion | None = None,
    noise: ArrayLike | None = None,
    formulation: DesignRows | None = None,
    prior: Array | None = None,
    samples: int | None = None,
) -> Design:
    """The figures of a design, for a motion that nothing was searched for: it has no attempts, its evaluations are the
    draws, and its value is infinite where it does not excite every parameter. Arguments as for ``design``."""
    sigma = model.per_joint(1.0 if noise is None else noise, "noise")
    objective = Objective(
        model,
        DOptimality() if criterion is None else criterion,
        Columns.of(model, None),
        sigma**-2.0,
        TorqueRows() if formulation is None else formulation,
        prior,
    )
    samples = max(2, round(drawn.trajectory.duration * RATE)) if samples is None else samples
    return Design(
        model=model,
        trajectory=drawn.trajectory,
        delta=drawn.delta,
        curve=drawn.curve,
        ramps=drawn.ramps,
        periods=drawn.periods,
        **promises(objective, drawn.trajectory, drawn.delta, samples),
        certificate=drawn.certificate,
        constraints=drawn.constraints,
        attempts=(),
        seconds=drawn.seconds,
        evaluations=drawn.draws,
        samples=samples,
        noise=sigma,
        seed=drawn.seed,
        interrupted=False,
        notes=drawn.notes,
    )
