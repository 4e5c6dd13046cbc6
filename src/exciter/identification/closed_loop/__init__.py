"""The closed loop, simulated: what a robot with given parameters does under its known controller."""

from exciter.identification.closed_loop.closed_loop import ClosedLoop
from exciter.identification.closed_loop.simulation import Simulated, Simulation, Unmovable

__all__ = ["ClosedLoop", "Simulated", "Simulation", "Unmovable"]
