"""``python -m hieramas_lib.experiments.cli``: the same as ``hieramas``."""

from hieramas_lib.experiments.cli import app

app()
