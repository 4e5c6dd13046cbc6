"""The load of a robot: mass, centre and inertia from runs with it and without."""
