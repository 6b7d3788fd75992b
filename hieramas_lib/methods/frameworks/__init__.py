"""Agent frameworks as they come from PyPI (extra ``frameworks``), behind the common protocol."""
