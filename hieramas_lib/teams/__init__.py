"""How several LLMs work together on one task: roles, supernodes, topologies, prompts, execution.

A :class:`~hieramas_lib.teams.team.Team` is plain data; :mod:`~hieramas_lib.teams.executor` runs it
on a task and returns a :class:`~hieramas_lib.teams.rollout.Rollout` that records every call. What
runs is exactly the graph that was chosen.
"""
