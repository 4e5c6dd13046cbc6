"""Estimators: how equations are solved. Independent of where they come from."""
