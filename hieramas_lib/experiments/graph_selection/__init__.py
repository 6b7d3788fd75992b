"""Stage 2 against the optimum: ways to choose a graph, measured by regret (design 8)."""
