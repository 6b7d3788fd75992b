"""What learners see of copied questions: the texts of their originals.

A simulated world takes a copy of a question for another one of its subject and level (see
:func:`~hieramas_lib.teams.oracle.questions.more_questions`). A learner has to see the original's
text: "# Version 3" at its end says nothing, and has no shipped vector.
"""

from collections.abc import Sequence

from hieramas_lib.learning.encoder import Encoder, Vectors
from hieramas_lib.teams.oracle.questions import original_text


class OriginalTexts:
    """An encoder that takes a copied question for its original."""

    def __init__(self, encoder: Encoder) -> None:
        """Look originals up with ``encoder``."""
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a row for each of ``texts``, copies or not."""
        return self._encoder.encode([original_text(text) for text in texts])
