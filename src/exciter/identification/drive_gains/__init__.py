"""Drive gains: torque per ampere of each joint, from runs whose load is known."""
