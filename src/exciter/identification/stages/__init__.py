"""Estimation in stages: some parameters from some equations first, the others later, uncertainty carried along."""
