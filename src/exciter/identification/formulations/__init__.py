"""Formulations: which equations a motion and its torque give. Independent of how they are solved."""
