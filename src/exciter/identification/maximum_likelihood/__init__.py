"""Maximum likelihood with noise on joint angles and torques (seed 002, II-A): its equations and their solution."""
