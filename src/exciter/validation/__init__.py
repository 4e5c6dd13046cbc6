"""Validation: how well an identified model explains motions, and what it misses."""
