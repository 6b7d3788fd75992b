"""Agents that choose whom to talk to, trained by value decomposition (Agent Q-Mix, design 9)."""
