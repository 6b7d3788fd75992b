"""Who answers, and what it costs.

An LLM is reached through one protocol, ``chat.LLMClient``. A pool file says which LLMs there
are (``pool``), ``connect`` builds their clients, and ``service`` puts the call store, the
budget and the concurrency limits in front of them.
"""
