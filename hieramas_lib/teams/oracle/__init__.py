"""The oracle of the simulated pool: what any team is worth, and the best one found (design 7)."""
