"""The paper and what is run of it."""

from __future__ import annotations

from exciter_papers.khalil_dombre import (
    criteria,
    equations,
    filters,
    four_models,
    friction_gravity,
    noise,
    sequential,
    uncertainty,
    validation,
    vandanjon,
)
from exciter_papers.paper import Paper, Study

KHALIL_DOMBRE_CH12 = Paper(
    "khalil-dombre-ch12",
    "W. Khalil, E. Dombre: Modeling, Identification and Control of Robots. Hermes Penton Science, 2002, chapter 12.",
    "Identification of the dynamic parameters of robots: models linear in them, exciting trajectories, filters, least "
    "squares, validation. The chapter has no data and few numbers; its statements are tested on one robot.",
    (
        Study("four-models", 4.0, four_models.run),
        Study("noise", 47.0, noise.run),
        Study("uncertainty", 23.0, uncertainty.run),
        Study("filters", 2.0, filters.run),
        Study("equations", 13.0, equations.run),
        Study("criteria", 15.0, criteria.run),
        Study("sequential", 20.0, sequential.run),
        Study("wrist", 5.0, sequential.wrist_first),
        Study("friction", 27.0, friction_gravity.separate_friction),
        Study("gravity", 15.0, friction_gravity.gravity_first),
        Study("vandanjon", 15.0, vandanjon.run),
        Study("essential", 9.0, uncertainty.essential),
        Study("validation", 45.0, validation.run),
    ),
)
