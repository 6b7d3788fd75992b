"""Vectors from hashed words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.learning.hashed_encoder import HashedWords


def test_shared_words_make_texts_similar():
    same, other, unlike = HashedWords().encode(
        ["Where does the river Danube begin?", "the DANUBE begins as a river", "prime numbers"]
    )
    assert same @ other > 0.4
    assert abs(same @ unlike) < 0.3


def test_order_and_short_words_do_not_count():
    one, other = HashedWords().encode(["planet moon", "moon, or the planet"])
    assert np.allclose(one, other)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_rows_have_unit_length_or_none(texts):
    rows = HashedWords(16).encode(texts)
    assert rows.shape == (len(texts), 16) and rows.dtype == np.float32
    lengths = np.linalg.norm(rows, axis=1)
    assert all(length == pytest.approx(1, abs=1e-5) or length == 0 for length in lengths)
    assert (rows == HashedWords(16).encode(texts)).all()
