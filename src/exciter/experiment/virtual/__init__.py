"""The virtual robot: an independent engine with secret parameters, to rehearse on."""

from exciter.experiment.virtual.control import ComputedTorque as ComputedTorque
from exciter.experiment.virtual.control import Control as Control
from exciter.experiment.virtual.control import GravityPD as GravityPD
from exciter.experiment.virtual.motion_execution import ExactMotion as ExactMotion
from exciter.experiment.virtual.sensors import Encoder as Encoder
from exciter.experiment.virtual.sensors import GearedDrive as GearedDrive
from exciter.experiment.virtual.sensors import Sampling as Sampling
from exciter.experiment.virtual.sensors import TorqueMeter as TorqueMeter
from exciter.experiment.virtual.sensors import TorqueRipple as TorqueRipple
from exciter.experiment.virtual.true_parameters import CompensationSpring as CompensationSpring
from exciter.experiment.virtual.true_parameters import Flexibility as Flexibility
from exciter.experiment.virtual.true_parameters import Spread as Spread
from exciter.experiment.virtual.true_parameters import TrueFriction as TrueFriction
from exciter.experiment.virtual.true_parameters import Truth as Truth
from exciter.experiment.virtual.true_parameters import draw as draw
from exciter.experiment.virtual.true_parameters import read_truth as read_truth
from exciter.experiment.virtual.virtual_robot import Simulated as Simulated
from exciter.experiment.virtual.virtual_robot import Start as Start
from exciter.experiment.virtual.virtual_robot import VirtualRobot as VirtualRobot
