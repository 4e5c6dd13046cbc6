"""Exciting motions of earlier authors: what the papers compare with."""
