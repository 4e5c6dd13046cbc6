"""Many robots of one type: what the type is, and who differs from it."""
