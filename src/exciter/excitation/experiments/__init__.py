"""Procedures of the papers that are more than one search: how each designs the motions it needs."""
