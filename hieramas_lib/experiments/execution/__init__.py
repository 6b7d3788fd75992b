"""Executing notebooks: one, the collection, or a sweep of many runs, on one machine or several.

``plan`` checks what is to be run, ``kernel`` runs it, ``run_process`` does so in a process apart,
and ``batch`` keeps several of those busy: those of this machine (``workers``) or of a cluster
(``cluster``). ``sweep_file`` and ``sweep`` make many runs out of one YAML file; ``spending`` holds
them to one limit.
"""
