"""The shipped four-choice questions: counts, balance, and no hint but knowledge."""

import itertools
import json
import re
from collections import Counter, defaultdict
from dataclasses import replace
from math import comb, exp, gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hieramas_lib.paths import data_path
from hieramas_lib.tasks.duplicates import near_duplicates
from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.tasks.task import LETTERS, Task

TASKS = load_tasks("knowledge")
AREAS = {
    "STEM": {"mathematics", "statistics", "astronomy", "computer_science"},
    "humanities": {"ancient_history", "modern_history", "law", "philosophy"},
    "social sciences": {"psychology", "economics", "sociology"},
    "other": {"medicine", "nutrition", "business"},
}


def by_subject() -> dict[str, list[Task]]:
    groups = defaultdict(list)
    for task in TASKS:
        groups[task.subject].append(task)
    return groups


def gold_text(task: Task) -> str:
    return task.choices[LETTERS.index(task.gold)]


def test_280_questions_20_a_subject_in_four_areas() -> None:
    lines = data_path("tasks", "knowledge.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    areas = defaultdict(set)
    for row in rows:
        areas[row["area"]].add(row["subject"])
    assert areas == AREAS
    assert {name: len(tasks) for name, tasks in by_subject().items()} == {
        subject: 20 for subjects in AREAS.values() for subject in subjects
    }
    assert len({task.id for task in TASKS}) == len(TASKS) == 280


@pytest.mark.parametrize("subject", by_subject())
def test_letters_and_levels_are_balanced(subject: str) -> None:
    tasks = by_subject()[subject]
    assert Counter(task.gold for task in tasks) == dict.fromkeys("ABCD", 5)
    assert Counter(task.level for task in tasks) == dict.fromkeys(range(1, 6), 4)


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.casefold()).strip()


def test_four_options_that_differ_by_more_than_case() -> None:
    for task in TASKS:
        assert len({plain(choice) for choice in task.choices}) == len(task.choices) == 4, task.id
        assert all(choice == choice.strip() for choice in task.choices), task.id
        assert task.prompt.endswith("?"), task.id


@pytest.mark.parametrize("size", [len, lambda text: len(text.split())], ids=["letters", "words"])
@pytest.mark.parametrize("subject", by_subject())
def test_the_longest_option_is_no_hint(subject: str, size) -> None:  # type: ignore[no-untyped-def]
    hits = 0.0
    for task in by_subject()[subject]:
        longest = max(map(size, task.choices))
        if size(gold_text(task)) == longest:
            hits += 1 if [size(c) for c in task.choices].count(longest) == 1 else 0.5
    if size is len:  # most options have one word: ties decide the other count
        assert hits < 0.35 * 20
    else:
        assert hits < 0.55 * 20


def test_the_question_does_not_use_words_that_only_the_right_option_uses() -> None:
    words = {
        task.id: [set(re.findall(r"[a-z]{5,}", c.lower())) for c in (task.prompt, *task.choices)]
        for task in TASKS
    }
    hints = []
    for task in TASKS:
        prompt, *options = words[task.id]
        right = options.pop(LETTERS.index(task.gold))
        if right & prompt and not any(option & prompt for option in options):
            hints.append((task.id, right & prompt))
    assert hints == []


def test_no_two_questions_are_alike() -> None:
    questions = [replace(task, choices=()) for task in TASKS]
    assert near_duplicates(questions, 0.3) == []
    assert near_duplicates(TASKS, 0.3) == []
    copy = replace(TASKS[0], id="copy", prompt=TASKS[0].prompt.replace("34", "36"))
    assert len(near_duplicates([*TASKS, copy], 0.3)) == 1


def test_no_two_questions_ask_for_the_same_thing() -> None:
    """Two questions may share an answer only where it is a number."""
    answers = Counter(plain(gold_text(task)) for task in TASKS)
    repeated = {answer for answer, count in answers.items() if count > 1}
    assert all(re.fullmatch(r"[\d/.−]+", answer) for answer in repeated), repeated


def replies(task: Task, letter: str) -> list[str]:
    text = task.choices[LETTERS.index(letter)]
    return [
        f"Answer: {letter}",
        f"Answer: {letter}. {text}",
        f"Answer: {text}",
        f"Let me think.\n\n**Answer: ({letter})**",
        rf"The answer is $\boxed{{{letter}}}$.",
        f"The correct option is {letter}, {text}.",
    ]


@pytest.mark.parametrize("subject", by_subject())
def test_every_gold_is_correct_and_every_other_option_is_wrong(subject: str) -> None:
    for task in by_subject()[subject]:
        for letter in LETTERS[:4]:
            for reply in replies(task, letter):
                status = grade(task, reply).status
                assert status == ("correct" if letter == task.gold else "wrong"), (task.id, reply)


@given(st.sampled_from(TASKS), st.permutations(LETTERS[:4]))
def test_several_letters_are_no_answer(task: Task, letters: list[str]) -> None:
    for count in (2, 3, 4):
        assert grade(task, f"Answer: {' or '.join(letters[:count])}").status == "unparsed"


# --- what can be computed, is -----------------------------------------------------------------


def is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, n))


def class_number(d: int) -> int:
    """Count the reduced forms (a, b, c) of discriminant -d."""
    count = 0
    for a in range(1, d + 1):
        for b in range(-a + 1, a + 1):
            c, rest = divmod(b * b + d, 4 * a)
            reduced = rest == 0 and c >= a and not (a == c and b < 0)
            count += reduced and gcd(gcd(a, b), c) == 1
    return count


def order(permutation: tuple[int, ...]) -> int:
    power, count = permutation, 1
    while power != tuple(range(len(permutation))):
        power, count = tuple(permutation[i] for i in power), count + 1
    return count


def abelian_groups(n: int) -> int:
    """Multiply the numbers of partitions of the exponents of ``n``."""
    result, p = 1, 2
    while n > 1:
        exponent = 0
        while n % p == 0:
            n, exponent = n // p, exponent + 1
        result *= partitions(exponent, exponent)
        p += 1
    return result


def partitions(n: int, largest: int) -> int:
    return 1 if n == 0 else sum(partitions(n - k, k) for k in range(1, min(n, largest) + 1))


COMPUTED = {
    "mathematics/01": (34 // 2 - 5) * 5,
    "mathematics/02": next(n for n in (57, 87, 83, 91) if is_prime(n)),
    "mathematics/03": (6 - 2) * 180,
    "mathematics/04": next(x for x in range(-50, 50) if 3 * (x - 4) == 2 * x + 5),
    "mathematics/05": 12 // 2,
    "mathematics/06": gcd(252, 198),
    "mathematics/07": "5/12",
    "mathematics/08": len(set(itertools.permutations("LEVEL"))),
    "mathematics/10": 2**3 * 4,
    "mathematics/13": sum(order(p) == 4 for p in itertools.permutations(range(4))),
    "mathematics/15": abelian_groups(72),
    "mathematics/19": class_number(20),
    "statistics/01": sorted([7, 3, 12, 9, 3, 15, 8])[3],
    "statistics/02": (5 * 12 + 18) // 6,
    "statistics/03": "1/6",
    "statistics/05": f"{comb(5, 2) // 2}/{comb(8, 2) // 2}",
    "statistics/06": f"{(86 - 70) / 8:.1f}",
    "statistics/07": f"{0.8**2:.2f}",
    "statistics/08": 3 * 5,
    "statistics/10": f"{exp(-3):.3f}",
    "statistics/11": 100 * 2**2,
    "statistics/12": f"About {100 * 0.009 / (0.009 + 0.99 * 0.05):.0f} %",
    "astronomy/08": f"{4**3 // 8} years",
    "astronomy/09": round(1 / 0.05),
    "astronomy/11": 100,
    "computer_science/01": int("101101", 2),
    "computer_science/03": 2**8,
    "computer_science/05": (1000).bit_length(),
    "computer_science/07": f"{0x2F + 0x1A:X}",
    "nutrition/12": round(80 / 2**2),
    "business/04": f"{(20_000 - 2_000) // 6:,} dollars",
    "business/06": 12_000 // (50 - 30),
    "business/14": f"{(1_100 - 1_000) * 20:,} dollars adverse",
    "business/16": f"{0.6 * 10 + 0.4 * 5 * 0.8:.1f} percent",
}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_answers(name: str) -> None:
    task = next(task for task in TASKS if task.id == f"knowledge/{name}")
    assert gold_text(task) == str(COMPUTED[name]), task.prompt
