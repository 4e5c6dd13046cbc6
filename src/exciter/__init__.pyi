# ruff: noqa: I001  (in the order of the way)
"""The names of the front door, and where they live: read by type checkers, by the package itself, and by the API page,
which has these sections."""

# The way, one function per step
from exciter.pipeline.settings_file import load as load
from exciter.pipeline.base import base as base
from exciter.pipeline.design import design as design
from exciter.pipeline.experiment import design_experiment as design_experiment
from exciter.pipeline.check import check as check
from exciter.pipeline.experiment import check_plan as check_plan
from exciter.pipeline.simulate import simulate as simulate
from exciter.pipeline.experiment import simulate_plan as simulate_plan
from exciter.pipeline.inspect import read as read
from exciter.pipeline.inspect import inspect as inspect
from exciter.pipeline.identify import identify as identify
from exciter.pipeline.validate import validate as validate
from exciter.pipeline.follow import follow as follow
from exciter.pipeline.follow import Follower as Follower
from exciter.pipeline.actuators import actuators as actuators
from exciter.pipeline.campaign import campaign as campaign
from exciter.pipeline.fleet import fleet as fleet
from exciter.pipeline.identified import open as open

# What goes in
from exciter.robot.robot import Robot as Robot
from exciter.robot.motion import Motion as Motion
from exciter.robot.coupling import Mimic as Mimic
from exciter.robot.loop_assembly import KinematicLoop as KinematicLoop
from exciter.experiment.recording.recording import Recording as Recording
from exciter.dynamics.model import DynamicModel as DynamicModel
from exciter.experiment.plan import Plan as Plan
from exciter.experiment.plan import PlannedStage as PlannedStage

# What comes out
from exciter.pipeline.design import Designed as Designed
from exciter.pipeline.experiment import DesignedExperiment as DesignedExperiment
from exciter.experiment.virtual import Simulated as Simulated
from exciter.experiment.quality import Quality as Quality
from exciter.pipeline.identified import Identified as Identified
from exciter.pipeline.validate import Validated as Validated
from exciter.pipeline.followed import Followed as Followed
from exciter.pipeline.campaign import Campaign as Campaign
from exciter.pipeline.fleet import Fleet as Fleet
from exciter.pipeline.actuators import Actuators as Actuators
from exciter.validation.drive_comparison import DriveTable as DriveTable
from exciter.notes import Note as Note
from exciter.errors import ExciterError as ExciterError

# Whole settings
from exciter.excitation.design_settings import DesignSettings as DesignSettings
from exciter.excitation.constraints.constraint_settings import ConstraintSettings as ConstraintSettings
from exciter.identification.identify_config import IdentifySettings as IdentifySettings
from exciter.identification.following.follow_settings import FollowSettings as FollowSettings
from exciter.identification.actuators.actuator_settings import ActuatorSettings as ActuatorSettings
from exciter.identification.actuators.actuator_settings import PositionControl as PositionControl
from exciter.pipeline.campaign_settings import CampaignSettings as CampaignSettings
from exciter.pipeline.fleet_settings import FleetSettings as FleetSettings
from exciter.cluster import Cluster as Cluster

# Motions: families to search in, and motions to draw
from exciter.excitation.trajectories.fourier import Fourier as Fourier
from exciter.excitation.trajectories.piecewise import BSpline as BSpline
from exciter.excitation.trajectories.piecewise import Quintic as Quintic
from exciter.excitation.trajectories.sweeps_and_steps import Chirp as Chirp
from exciter.excitation.trajectories.sweeps_and_steps import Steps as Steps
from exciter.excitation.validation_motion.random_families import RandomPoints as RandomPoints
from exciter.excitation.validation_motion.random_families import RandomSpline as RandomSpline

# Criteria, and the parameters they are about
from exciter.excitation.criteria.chosen_parameters import ChosenParameters as ChosenParameters
from exciter.excitation.criteria.optimality_and_condition import DOptimality as DOptimality
from exciter.excitation.criteria.optimality_and_condition import ConditionNumber as ConditionNumber

# Constraints and obstacles
from exciter.excitation.constraints.workspace import HalfSpace as HalfSpace
from exciter.excitation.constraints.workspace import Box as Box
from exciter.excitation.constraints.collision import Block as Block
from exciter.excitation.constraints.collision import Round as Round
from exciter.excitation.constraints.constraint import UserConstraint as UserConstraint

# Joint terms
from exciter.parameters.terms import RotorInertia as RotorInertia
from exciter.parameters.terms import Viscous as Viscous
from exciter.parameters.terms import Coulomb as Coulomb
from exciter.parameters.terms import Stribeck as Stribeck
from exciter.parameters.terms import Offset as Offset
from exciter.parameters.terms import UserTerm as UserTerm

# Formulations: which equations
from exciter.identification.formulations.dynamic import InverseDynamic as InverseDynamic
from exciter.identification.formulations.dynamic import FilteredDynamic as FilteredDynamic
from exciter.identification.formulations.gain_free import GainFree as GainFree
from exciter.identification.formulations.energy import Energy as Energy
from exciter.identification.formulations.energy import Power as Power

# Estimators: how they are solved
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares as OrdinaryLeastSquares
from exciter.identification.estimators.least_squares import WeightedLeastSquares as WeightedLeastSquares
from exciter.identification.estimators.robust import Huber as Huber
from exciter.identification.estimators.physical import PhysicallyConsistent as PhysicallyConsistent

__version__: str
