"""Motions to validate a model on: drawn at random instead of searched, and certified like any other."""
