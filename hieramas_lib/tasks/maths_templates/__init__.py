"""Generators of competition-style maths problems with exact answers and tempting slips.

One module a subject of MATH, seven templates each. ``python -m
hieramas_lib.tasks.maths_templates`` writes ``data/tasks/maths.jsonl``; nothing here is
imported when tasks are loaded.
"""
