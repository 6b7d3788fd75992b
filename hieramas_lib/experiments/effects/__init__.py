"""Measured effects of the simulated world, and the knobs that cause them (design 7)."""
