"""Uncertainty: what an estimate is worth when errors are not what formulas for independent rows assume."""
