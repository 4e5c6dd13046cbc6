"""Criteria: how much a motion reveals, as a number to be made small."""
