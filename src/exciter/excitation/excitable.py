"""Whether motions of a family tell anything about every parameter at all: asked before a search that could not end."""

from __future__ import annotations

import numpy as np

from exciter.errors import ExciterError
from exciter.excitation.optimiser.search import Search
from exciter.excitation.trajectories.trajectory import motion
from exciter.robot.loop_reach import swing_room

TRIED_SWING_SHARES = (0.3, 0.5, 0.8, 1.0)  # of the ranges of the joints, of motions that limits do not hold


def check_excitable(search: Search) -> None:
    """Refuse parameters that no motion of the family tells anything about, by name. Weak ones may look so in one."""
    objective, trajectory, samples = search.objective, search.trajectory, search.samples
    low, high = objective.model.robot.position_range()
    times, rng = trajectory.sample_times(samples), np.random.default_rng(0)
    names: list[str] = []
    for part in TRIED_SWING_SHARES:
        swing = trajectory.random(rng, len(low))
        size = np.ptp(trajectory.basis(times, 0)[0] @ swing.T, axis=0)
        middle, swing = 0.5 * (low + high), part * ((high - low) / size)[:, None] * swing
        steps = motion(trajectory, trajectory.still(middle) + swing, times).q - middle
        middle, share = swing_room(objective.model.robot, middle, steps)
        delta = trajectory.still(middle) + share * swing
        if search.locked is not None:
            stands = ~np.isnan(search.locked)
            delta[stands] = trajectory.still(search.locked)[stands]
        if not (found := objective.unexcited(motion(trajectory, delta, times))):
            return
        names = names or found
    raise ExciterError(
        f"the criterion is infinite: no motion of this kind excites {', '.join(names)} with {samples} samples; "
        f"leave {'it' if len(names) == 1 else 'them'} out, let more joints move, or take more samples"
    )
