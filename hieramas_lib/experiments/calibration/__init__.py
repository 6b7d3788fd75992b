"""The simulated pool against public tables of what real LLMs got right."""
