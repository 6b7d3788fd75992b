# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-all
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 12 · What does the trained team do on single questions?
#
# **Question.** Averages say how often a team is right. They do not say what happens inside: which roles
# were asked, what each of them said, who read whom, where an error came in or was caught, and whether a
# role that was paid for changed anything. This notebook opens two questions of each benchmark.
#
# **The danger of case studies** is that one shows what one likes. With a hundred test questions there is
# always a beautiful one, and always an ugly one. So the cases are picked by a rule that is fixed before
# anything is seen: the first question, by its id, that *only the team* gets right, and the first that
# *only the strongest LLM alone* gets right. And a table says how many questions of each kind there are, so
# that a case can be weighed.
#
# **The counterfactual.** A message that was right may have changed nothing, as the decision knew anyway.
# The only way to tell is to take a role out and ask again, all else equal. Its column on the cards is
# called *without it*.
#
# **And its limit.** Without a role the prompts of all its readers change, and a changed prompt is another
# throw of the dice: an LLM that is right nine times in ten may be wrong now, for no reason that has to do
# with the role. On one question, effect and luck can't be told apart. A card suggests an explanation; only
# an average over many questions can support it.
#
# Reads: three shipped benchmarks and the simulated pool. Writes: one run folder with a card (a figure) for
# each case, and five to eleven tables. About 40 seconds. Offline and free; the LLMs are **simulated**:
# their texts are short and made up, and show how a team works, not how real LLMs write.

# %% tags=["parameters"]
benchmarks = ["knowledge", "maths", "humaneval"]  # any of these, or benchmark.yaml paths
pool = "simulated"  # or the path of a pool file with real LLMs
budget_usd = 0.0  # spending limit, for real LLMs
difficulty = "hard"  # simulated world, mmlu-like or hard
seed = 0  # of the world and the training
width = 2  # proposers of a supernode, W
graphs = 100  # size K of the graph pool
decision = "gemma-3-27b"  # LLM that gives the final answer of a team
strongest = "gpt-5-mini"  # LLM to compare with, alone and step by step
passes = 4  # times each training question is used in stage 1
graphs_per_task = 5  # graphs run on each training question in stage 2
tests = 0  # questions of each test split to pick from, 0 for all

# %%
import sys

import pandas as pd
from IPython.display import display
from tqdm import tqdm

from hieramas_lib.experiments.benchmark import check_plan, held_out, setting_of
from hieramas_lib.experiments.case_cards import (
    CaseCard,
    member_rows,
    pick_cases,
    reason_rows,
    roles_that_decide,
    study_cases,
    who_is_right,
)
from hieramas_lib.experiments.case_drawing import draw_card
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.published import published_table
from hieramas_lib.experiments.run_worlds import open_for
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.tables import presentable
from hieramas_lib.learning.stage1 import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.methods.single import cot
from hieramas_lib.tasks.task import Grade, Task
from hieramas_lib.teams.rollout import Rollout

# %%
run = start_notebook("12_case_studies", globals())
config = run.config
setting = setting_of(config)
check_plan(
    pool=config.pool,
    benchmarks=config.benchmarks,
    seeds=[config.seed],
    llms={"decision": config.decision, "strongest": config.strongest},
    at_least_one={"width": config.width, "graphs": config.graphs, "tests": config.tests + 1},
)
settings = HieraMASSettings(
    stage1=Stage1Settings(passes=config.passes),
    stage2=Stage2Settings(graphs_per_task=config.graphs_per_task),
)
print(run)

# %% [markdown]
# ## The rule, by hand
#
# Five questions, answered by the team and by one LLM alone:
#
# | id | team | alone |
# |---|---|---|
# | a | right | right |
# | b | wrong | wrong |
# | c | right | **wrong** |
# | d | wrong | **right** |
# | e | right | **wrong** |
#
# The case that goes well is **c**: the first by id that only the team gets right (e comes later). The case
# that goes wrong is **d**. If d were not there, the first question that the team gets wrong at all, b,
# would take its place, and its card would say so. The order in which the questions are given does not
# matter, so nobody can shuffle a better case to the front.
#
# The rule is no *fair sample* of the questions: it looks for disagreement on purpose, as a question that
# everybody gets right teaches little. About one question in ten is of that kind. It is fair among
# them, and it leaves no choice to whoever writes the report.


# %%
def toy(marks: dict[str, bool]) -> list[Rollout]:
    """Return rollouts that are right or wrong."""
    grades = {name: Grade("correct" if right else "wrong") for name, right in marks.items()}
    return [Rollout(name, "", grade, ()) for name, grade in grades.items()]


ours = {"e": True, "d": False, "c": True, "b": False, "a": True}
theirs = {"e": False, "d": True, "c": False, "b": False, "a": True}
questions = [Task(name, "toy", "choice", "none", "?", "A") for name in ours]
for case in pick_cases(questions, toy(ours), toy(theirs)):
    print(f"{case.task.id}: {case.rule}")

# %% [markdown]
# ## Train, answer, pick
#
# One world a benchmark. HieraMAS is trained in both stages; it and the strongest LLM alone answer all
# test questions, and the rule picks. Then the team of each case runs again with a verdict on every
# message (the same calls, answered from the call store), and once more without each of its roles.


# %%
async def study(name: str) -> tuple[list[CaseCard], pd.DataFrame]:
    """Train on one benchmark; return the cards of its cases and the records of all answers."""
    world = open_for(run, name, config.seed)
    system = HieraMAS(world.space, world.llms, world.encoder, settings, config.seed)
    await system.fit(world.train)
    alone = cot(config.strongest, world.llms, world.space.roles, name="Strongest LLM alone")
    return await study_cases(
        system, alone, world.test[: config.tests or None], world.llms, config.seed
    )


# %%
planned = 2 * sum(len(held_out(name)[: config.tests or None]) for name in config.benchmarks)
studies = [await study(n) for n in tqdm(config.benchmarks, desc="benchmarks", file=sys.stdout)]
cards = [card for found, _ in studies for card in found]
records = pd.concat([frame for _, frame in studies], ignore_index=True)
run.save_records(records)
print(f"{len(cards)} cases out of {planned // 2} test questions")

# %% [markdown]
# ## How typical is a case?
#
# The cases come from the two middle columns of this table. Where such a column counts 3 of 100, its card
# shows something that happens in 3 of 100 questions.

# %%
counts = who_is_right(records, "HieraMAS", "Strongest LLM alone")
caption = f"Test questions by who gets them right ({setting.text}, seed {config.seed})."
run.save_table(counts, "kinds", caption, simulated=setting.simulated)
run.save_metrics(counts)
presentable(counts)

# %% [markdown]
# ## The cards
#
# **How to read one.** On top the question, and the rule that picked it. Then the graph: an arrow leads from
# a role to one that reads it; sources read nobody, sinks are read by nobody but the decision, and grey
# roles were pruned by the policy. Below, each role that acted: its LLMs (*proposers → synthesizer*; a single
# name is a plain agent), what it says with the verdict, the price of its calls, and the final answer of the
# team *without it*. The grey line is its message, cut short. Last the decision, and the strongest LLM alone.
#
# Compare *says* with *without it*: a role can be right and dispensable (the answer stays right without it),
# wrong and harmless, wrong and to blame (without it the team is right), or *pivotal*: without it the team
# goes wrong.
#
# **What to look for.** (1) *Masking*: a role is wrong and the team right. With credit for the final answer
# alone that role would be praised for it (notebook 05). (2) *Cascades*: a role is wrong and so is everybody
# who reads it, while those who do not are right. (3) *Echo*: two proposers with the same LLM give the same
# answer; the second was paid for nothing. (4) *Outvoting*: the decision follows the majority of messages
# against the one that was right. (5) *The last call*: all roles are right and the decision still fails; no
# choice of roles or graph would have helped, only another decision LLM. For code, roles that plan have no
# verdict: a plan can't be run.


# %%
def show(card: CaseCard, name: str) -> None:
    """Save and show the card of one case, with its table."""
    task, answer = card.case.task, card.rollout
    figure = save_figure(
        run,
        draw_card(card, config.decision, config.strongest),
        name,
        caption=f"{task.id}: {card.case.rule}. Graph {answer.topology_id}, {len(answer.nodes)} of "
        f"{len(card.team.supernodes)} roles act ({setting.text}, seed {config.seed}).",
        simulated=setting.simulated,
        alt=f"Question, graph, and {len(answer.nodes)} messages; the team is {answer.grade.status}, "
        f"{config.strongest} alone {card.alone.grade.status}.",
    )
    run.save_table(
        member_rows(card), name, f"What each role did on {task.id}.", simulated=setting.simulated
    )
    display(figure)


# %%
names = []
for card in cards:
    outcome = "right" if card.rollout.grade.correct else "wrong"
    names.append(f"{card.case.task.benchmark}_{outcome}")
    show(card, names[-1])

# %% [markdown]
# ## Why these teams?
#
# `HieraMAS.explain` says for every position which LLM stands there, how probable it was, which came second
# by how many logits, and how much of that lead comes from the *match* of role and question. A lead of a
# few hundredths of a logit is a toss-up: with another seed the other LLM would stand there (notebook 10).
# For the graph it says what each edge adds to the classifier's score.
#
# An explanation of this kind is exact about the *model*: these are the numbers that the choice was made by,
# and changing them would change it. It says nothing about the *world*: that the match of role and question
# counts +0.2 logits does not mean that the match makes the LLM better at it. Whether the reasons are good
# ones is a question for experiments (notebooks 06, 08 and 10), not for an explanation.

# %%
first = cards[0]
print(first.case.task.id)
print("\n".join(first.explanation.lines()))

# %%
reasons = pd.concat(
    [reason_rows(card).assign(case=card.case.task.id) for card in cards], ignore_index=True
)
reasons = reasons[["case", *(column for column in reasons.columns if column != "case")]]
run.save_table(
    reasons,
    "reasons",
    f"Why each position that acts holds its LLM, and by how many logits ({setting.text}).",
    simulated=setting.simulated,
)
presentable(reasons.head(8))

# %% [markdown]
# ## The paper's case studies
#
# Tables 8 to 10 of the HieraMAS paper show two questions a benchmark, picked in a way that is not stated, with
# the LLMs that stood in the team. What could be recovered of them stands here for orientation: real LLMs,
# other questions, and one training run. Ours neither confirm nor refute them.
#
# One is tempted to read them as a sign that cheap LLMs suffice for easy questions. Two questions can
# show that such a team exists. That it is *chosen for* easy questions is a claim about all of them, and would
# be shown by a table of choices against difficulty. The table *reasons* of this run has the choices; the
# exercise below asks for the other half.

# %%
published = published_table("tables8-10")
run.save_table(published.frame, "published", published.caption, simulated=False)
presentable(published.frame)

# %% [markdown]
# ## What we saw


# %%
def sentence(card: CaseCard) -> str:
    """Say in one sentence what a card shows."""
    matter = roles_that_decide(card)
    effect = "would go wrong" if card.rollout.grade.correct else "would be right"
    graded = [node.grade.correct for node in card.rollout.nodes if node.grade]
    return (
        f"{card.case.task.id} ({card.case.rule}): {sum(graded)} of {len(graded)} roles that answer are right; "
        + (f"it {effect} without {', '.join(matter)}." if matter else "no single role decides.")
    )


conclusions = [sentence(card) for card in cards]
paid = sum(len(card.without) for card in cards)
idle = paid - sum(len(roles_that_decide(card)) for card in cards)
conclusions.append(
    f"{idle} of {paid} roles that acted could be left out of their case one at a time without changing its "
    f"verdict. {len(cards)} cases by a fixed rule, {setting.text}, seed {config.seed}: an illustration, no "
    "estimate (notebook 08 measures what roles contribute)."
)
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %% [markdown]
# ## Exercises
#
# 1. In the table checked by hand, which question would be the case that goes wrong if both b and d were
#    right for the team? Set `my_case` (or `"none"`) and run the cell.
# 2. Set `seed` to 1. Does the same question come up? Why should it not?
# 3. Some benchmarks give each question a level from 1 to 5 (`task.level`). How would you test whether cheaper
#    LLMs are chosen for easier questions? Which baseline must not be forgotten?
# 4. Take the card of a case that goes wrong. Which one change (another LLM, one edge, one role) would you
#    try first, and how would you find out on *other* questions whether it helps?
#
# **With a real pool.** Set `pool`, `decision`, `strongest` and `budget_usd`; set `tests` to 20 or so, as all
# of them are answered in two ways before the rule picks. Training costs as in notebook 07. The messages on
# the cards are then the LLMs' own: read them in full in the call store (`hieramas calls`), before you
# believe a story about a case.

# %%
my_case = None  # such as "a"
changed = ours | {"b": True, "d": True}
found = pick_cases(questions, toy(changed), toy(theirs))
right_case = next((case.task.id for case in found if not changed[case.task.id]), "none")
print("exercise 1:", "not answered yet" if my_case is None else my_case == right_case)

# %%
tables = ["kinds", "reasons", "published", *names]
print(run.finish(rows=planned, figures=names, tables=tables))
