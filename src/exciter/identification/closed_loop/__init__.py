"""The closed loop, simulated: what a robot with given parameters does under its known controller."""
