import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.llms.tokens import count_tokens, cut_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t", 0),
        ("answer", 1),
        ("synthesizer", 2),  # synthesi|zer
        ("A, B.", 4),
        ("12345", 2),  # 123|45
        ("x_1 = y**2", 8),
    ],
)
def test_known_counts(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_english_prose_has_about_four_characters_a_token() -> None:
    text = (
        "Proposers answer in parallel without seeing each other; the synthesizer sees the task, "
        "the messages of its predecessors and the numbered proposals, and gives one answer."
    )
    assert 3.5 < len(text) / count_tokens(text) < 5.0


@given(st.text(), st.text())
def test_parts_joined_by_white_space_add_up(first: str, second: str) -> None:
    assert count_tokens(f"{first}\n{second}") == count_tokens(first) + count_tokens(second)


@given(st.text(), st.integers(0, 50))
def test_a_cut_text_is_a_start_with_at_most_so_many_tokens(text: str, limit: int) -> None:
    cut = cut_tokens(text, limit)
    assert text.startswith(cut)
    assert count_tokens(cut) == min(limit, count_tokens(text))
