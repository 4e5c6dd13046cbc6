"""All experiments, by their words."""

from __future__ import annotations

from exciter.excitation.experiments.experiment import Experiment
from exciter.excitation.experiments.four_motions import VandanjonExperiment
from exciter.excitation.experiments.locked_joints import LinkByLinkExperiment, WristThenArm
from exciter.excitation.experiments.motion_through_points import PointsExperiment
from exciter.excitation.experiments.one_searched_motion import ArmstrongExperiment, OtaniExperiment
from exciter.excitation.experiments.rests_and_cruises import ConstantVelocityExperiment, StaticExperiment
from exciter.settings import Registry

EXPERIMENTS = Registry[Experiment](
    "experiment",
    StaticExperiment,
    ConstantVelocityExperiment,
    WristThenArm,
    LinkByLinkExperiment,
    VandanjonExperiment,
    PointsExperiment,
    OtaniExperiment,
    ArmstrongExperiment,
)
