"""Procedures of staged experiments: which motions each needs, within all limits of the user, certified."""
