"""Teams replayed on answers instead of texts: the simulated pool, fast (design 7)."""
