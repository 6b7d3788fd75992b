"""Text vectors without a model: words hashed into a few hundred numbers."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from hieramas_lib.learning.encoder import Vectors


class HashedWords:
    """Counts words in hashed places, with signs (the hashing trick), scaled to unit length.

    It knows what words two texts share and nothing of what they mean: what a sentence model is
    worth shows when this takes its place. Words of up to three letters are left out.

    Attributes:
        model: Saved with what was trained on it.
    """

    def __init__(self, size: int = 384) -> None:
        """Use ``size`` numbers a text."""
        self.model, self._size = f"hashed-words-{size}", size

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text; a text without words gives zeros."""
        rows = np.zeros((len(texts), self._size), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w{4,}", text.lower()):
                place, sign = self._place(word)
                row[place] += sign
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(length > 0, length, 1.0)).astype(np.float32)

    def _place(self, word: str) -> tuple[int, float]:
        digest = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        return digest // 2 % self._size, 1.0 if digest % 2 else -1.0
