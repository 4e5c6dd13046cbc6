"""All experiments, by their words."""

from __future__ import annotations

from exciter.excitation.experiments.cosine_search import OtaniExperiment
from exciter.excitation.experiments.experiment import Experiment
from exciter.excitation.experiments.four_motions import VandanjonExperiment
from exciter.excitation.experiments.locked_joints import LinkByLinkExperiment, WristThenArm
from exciter.excitation.experiments.rests_and_cruises import ConstantVelocityExperiment, StaticExperiment
from exciter.excitation.experiments.searched import ArmstrongExperiment
from exciter.settings import Registry

EXPERIMENTS = Registry[Experiment](
    "experiment",
    StaticExperiment,
    ConstantVelocityExperiment,
    WristThenArm,
    LinkByLinkExperiment,
    VandanjonExperiment,
    OtaniExperiment,
    ArmstrongExperiment,
)
