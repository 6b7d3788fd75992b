"""Learned multi-LLM teams: HieraMAS, Agent Q-Mix and the methods they are compared with.

Data flows one way: ``tasks -> llms -> teams -> learning -> methods -> experiments``.
Importing this package imports nothing heavy; import what you need from its subpackages.
"""

__version__ = "0.1.0"
