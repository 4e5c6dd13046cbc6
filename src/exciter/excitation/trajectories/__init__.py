"""Families of motions that are linear in their coefficients, and the exact curves they give."""
