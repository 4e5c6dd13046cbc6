"""Motions the papers compare with."""
