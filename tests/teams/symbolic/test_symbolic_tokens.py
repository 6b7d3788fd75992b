"""Tokens by parts are those of whole texts; billed ones where they can be worked out by hand."""

from statistics import fmean

import pytest
from symbolic_cases import HARD, POOL, some_tasks

from hieramas_lib.llms.layout import Duty, Header, Style
from hieramas_lib.llms.simulated_texts import write_answer
from hieramas_lib.llms.tokens import count_tokens
from hieramas_lib.llms.world import World
from hieramas_lib.llms.world_settings import Length
from hieramas_lib.tasks.task import Kind
from hieramas_lib.teams.prompts import alone_messages
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.symbolic.answers import AnswerCodes
from hieramas_lib.teams.symbolic.tokens import TokenCounts, billed_tokens

KINDS: tuple[Kind, ...] = ("choice", "maths", "code")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("style", ["answer only", "step by step"])
def test_replies_and_prompts_count_as_if_each_were_written(kind: Kind, style: Style) -> None:
    tasks, world, roles = some_tasks(kind, 30), World((), HARD, POOL, 0), load_roles(kind)
    codes = AnswerCodes(tasks, world, POOL.names)
    tokens = TokenCounts(codes, roles, world)
    duties: tuple[Duty, ...] = ("solver", "expert", "checker")
    for duty in duties:
        counted = tokens.reply(duty, style)
        for column, task in enumerate(tasks):
            for code, answer in enumerate(codes.answers[column]):
                header = Header("anybody", "alone", style)
                # Three phrases at most, each a third of the time.
                texts = [write_answer(task, answer, header, duty, w) for w in (0.1, 0.5, 0.9)]
                assert counted[code, column] == pytest.approx(fmean(map(count_tokens, texts)))
            assert not counted[len(codes.answers[column]) : codes.mute, column].any()
    prompts = tokens.prompt(Header("Assistant", "alone", style))
    for column, task in enumerate(tasks):
        messages = alone_messages(task, roles, style)
        assert prompts[column] == sum(count_tokens(message.content) for message in messages)


def table(limit: int, length: Length) -> list[float]:
    """Mean billed tokens by visible ones, of an LLM that usually writes 100."""
    knobs = HARD.with_knobs(
        "replies", length={"answer only": length, "step by step": length}, blank_rate=0.0
    )
    spec = POOL.llms[0].model_copy(update={"usual_tokens": (50, 100), "max_tokens": limit})
    return billed_tokens(spec, "step by step", World((), knobs, POOL, 0)).tolist()


def test_a_reply_of_fixed_length_is_billed_for_what_is_longer() -> None:
    fixed = Length(log_sd=0.0, long_share=0.0, long_log_sd=0.0)
    assert table(120, fixed) == [100.0] * 101 + [float(v) for v in range(101, 121)]
    assert table(60, fixed) == [60.0] * 61


def test_the_mean_length_is_the_usual_one_unless_the_limit_cuts_its_tail() -> None:
    spread = Length(log_sd=0.5, long_share=0.1, long_log_sd=1.0)
    assert table(4000, spread)[0] == pytest.approx(100.0, rel=0.01)
    assert 70.0 < table(150, spread)[0] < 97.0
    # The tail of the longest replies cannot make up for what the limit takes.
    assert table(150, spread)[150] == 150.0
