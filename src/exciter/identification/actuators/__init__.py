"""Drives from command and encoder: what a simulator needs to move as the robot did, where no torque was measured."""
