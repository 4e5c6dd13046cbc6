"""Proof that limits hold at every instant, not only at samples."""
