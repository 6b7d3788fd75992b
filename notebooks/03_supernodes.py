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
# # 03 · Do several LLMs in one role beat one?
#
# **Question.** A *supernode* fills one role with several LLMs: W *proposers* answer without seeing
# each other, and a *synthesizer* reads the task and the numbered proposals and speaks for the role.
# Does that beat a single LLM? When does one more proposer stop helping? And which LLMs should sit
# in it?
#
# **Metrics.** *Accuracy* is the share of right messages of the supernode itself; what a decision
# would make of them is left out. *Utility* is accuracy minus β = 0.01 for every *reference call*
# that the supernode's own calls cost (one usual call of the dearest LLM of the pool).
#
# Each effect is shown together with its cause. The simulated world has knobs, such as what reading
# a text costs its reader. We set a knob to zero, leave everything else as it is, and the effect
# should go away. If it stayed, our explanation would be wrong.
#
# Reads: the shipped knowledge questions and the simulated pool. Writes: one run folder with five
# figures and two tables. About 30 seconds. Offline and free; the LLMs are **simulated**, so nothing
# here is evidence about the real models whose names they carry.

# %% tags=["parameters"]
difficulties = ["hard", "mmlu-like"]  # simulated worlds to look at
seeds = [0, 1, 2, 3, 4]  # one new world for each
versions = 1  # made-up variants of every shipped question, in addition to it
draws = 1  # repetitions of every question
synthesizer = "gemma-3-27b"  # reads a growing list of mixed proposers
reader = "gpt-5-mini"  # a strong synthesizer, for copies of one weaker LLM
copied = "gpt-4o-mini"  # the LLM that is copied
expert = "gemma-3-27b"  # LLM in the expert roles
decision = "gemma-3-27b"  # reads the expert and gives the final answer
width = 3  # most proposers in the search for the best supernode

# %%
import sys

import pandas as pd
from tqdm import tqdm

from hieramas_lib.experiments.benchmark import check_plan
from hieramas_lib.experiments.effects.effect_plots import effect_curves, effect_points
from hieramas_lib.experiments.effects.experts import worth_of_experts
from hieramas_lib.experiments.effects.seed_tables import gains_over, over_seeds
from hieramas_lib.experiments.effects.supernodes import (
    best_supernode,
    by_company,
    by_width,
    equal_llms,
    forgetful,
    neutral_roles,
    open_world,
    rotations,
    supernode_results,
)
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.plots import selection_heatmap
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.statistics import mean_over_seeds
from hieramas_lib.experiments.tables import presentable
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.simulated_reading import Evidence, choose_answer
from hieramas_lib.llms.world import load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.oracle.questions import halves, more_questions
from hieramas_lib.teams.roles import load_roles
from hieramas_lib.teams.supernode import SKIP

# %%
run = start_notebook("03_supernodes", globals())
config = run.config
named = ("synthesizer", "reader", "copied", "expert", "decision")
check_plan(
    pool="simulated",
    benchmarks=["knowledge"],
    seeds=config.seeds,
    llms={name: getattr(config, name) for name in named},
    at_least_one={"draws": config.draws, "width": config.width},
)
print(run)

# %% [markdown]
# ## One reader, three proposals: a case to check by hand
#
# How does a simulated synthesizer choose? Each answer gets a score, in *logits*, and the highest
# wins. Suppose A is right, and our reader alone would say C: its *margin* for A is −1, so A scores
# −1 and C scores 0. Now it reads proposals.
#
# * *n* proposals for an answer add log₂(1 + *n*) to it (*persuasion* 1): one adds 1, two add 1.585;
# * if A is among them, it gains 1.75 more (*recognition*: that an answer is right is easier to see
#   than to find);
# * every text read takes 0.1 from the margin (*fatigue*).
#
# | read | score of A | score of C | says |
# |---|---|---|---|
# | nothing | −1 | 0 | C |
# | A | −1 − 0.1 + 1 + 1.75 = 1.65 | 0 | **A** |
# | A, C | −1 − 0.2 + 1 + 1.75 = 1.55 | 1 | **A** |
# | A, C, C | −1 − 0.3 + 1 + 1.75 = 1.45 | 1.585 | C |
#
# One good proposal saves the reader; one bad one beside it does no harm; two that agree on the same
# mistake undo it. The library must say the same.

# %%
by_hand = load_settings("hard").with_knobs("reading", recognition=1.75, persuasion=1.0, fatigue=0.1)


def says(proposals: str, margin: float = -1.0) -> str:
    """Return what a reader with this margin for A says after reading the proposals."""
    votes = {letter: proposals.count(letter) for letter in set(proposals)}
    evidence = Evidence(votes, read=len(proposals))
    return choose_answer("A", "C", margin, evidence, "solver", by_hand)


print({proposals or "nothing": says(proposals) for proposals in ("", "A", "AC", "ACC")})

# %% [markdown]
# ## Questions and worlds
#
# 280 questions are too few to see effects of one point, so every one of them gets *versions*:
# made-up questions of the same subject, for which the world draws anew how hard they are, who knows
# them and what tempts whom. To a simulated LLM they are questions like any other; their texts are
# not meant to be read.
#
# Texts would be slow, too. The evaluator used here replays the same rules on answers alone, some
# thousand times faster; tests hold the two against each other.
#
# A new seed is a new world. Worlds differ in how hard their questions happen to be, so everything is
# compared *within* a world, and the intervals below are over worlds (95 %, *t*).

# %%
shipped = load_tasks("knowledge")
tasks = [*shipped, *more_questions(shipped, config.versions)]
pool = load_pool(data_path("llm_pool.yaml")).simulated()
worlds = [(name, seed) for name in config.difficulties for seed in config.seeds]
group = ["panel", "series", "seed"]
print(
    f"{len(tasks)} questions x {config.draws} draws, {len(worlds)} worlds, {len(pool.names)} LLMs"
)


def labels(difficulty, knobs, seed):
    """Return the columns that say which world a row comes from."""
    return {"panel": f"{difficulty} world", "series": knobs, "seed": seed}


# %% [markdown]
# ## More proposers first help, then hurt
#
# The synthesizer stays the same, and proposers join one after another until the whole pool sits
# there. Who comes first matters, so the list is shuffled and rotated: of the first W places, every
# LLM holds the same share, whatever W is. What changes from W to W + 1 is therefore the number of
# proposers and not their quality.
#
# (The same cell also lets copies of one LLM join, for the figure after this one.)
#
# Five kinds of world: as shipped; without fatigue; without persuasion; without recognition; and
# without the last two, in which a reader gets nothing out of what it reads.


# %%
def reading_knobs(settings):
    """Return the settings with some of the knobs of reading set to zero, by what is missing."""
    return {
        "as shipped": settings,
        "no fatigue": settings.with_knobs("reading", fatigue=0.0),
        "no persuasion": settings.with_knobs("reading", persuasion=0.0),
        "no recognition": settings.with_knobs("reading", recognition=0.0),
        "no recognition, no persuasion": settings.with_knobs(
            "reading", recognition=0.0, persuasion=0.0
        ),
    }


rows = {"mixed": [], "copies": []}
roles = neutral_roles("choice")
for difficulty, seed in tqdm(worlds, file=sys.stdout):
    lists = {
        "mixed": (rotations(pool.names, seed), config.synthesizer),
        "copies": ([(config.copied,) * len(pool.names)], config.reader),
    }
    shipped_knobs = load_settings(difficulty)
    world = open_world(shipped_knobs, pool, roles, tasks, seed, draws=config.draws)
    for knobs, settings in reading_knobs(shipped_knobs).items():
        questions = world.with_reading(settings)
        for name, (orders, last) in lists.items():
            found = by_width(questions, orders, last)
            rows[name] += [labels(difficulty, knobs, seed) | row for row in found]
mixed, copies = pd.DataFrame(rows["mixed"]), pd.DataFrame(rows["copies"])

# %% [markdown]
# The curves show what is gained over W = 0, the synthesizer alone, in the same world.

# %%
both = ["accuracy", "utility"]
gained = gains_over(mixed, "width", 0, group, both)
curves = over_seeds(gained, ["panel", "series", "width"], both)
axes_labels = {
    "accuracy": "gain in accuracy (points)",
    "utility": "gain in utility × 100 (β = 0.01)",
}
save_figure(
    run,
    effect_curves(curves, "width", axes_labels, xlabel="proposers, W", scale=100),
    "more_proposers",
    caption=f"Gain of a supernode over its synthesizer ({config.synthesizer}) alone, as proposers of "
    f"a mixed list join. Means over {len(pool.names)} orders of the list and {len(config.seeds)} "
    "worlds; bars: 95 % intervals over worlds.",
    simulated=True,
    alt="Accuracy and utility against the number of proposers; as shipped both rise and then fall, "
    "without fatigue accuracy does not fall, without recognition there is little to gain.",
)

# %% [markdown]
# **How to read it** (at the default parameters). As shipped, the first three or four proposers bring nearly all there is. Then
# the curve bends down. Without *fatigue* accuracy no longer falls, so fatigue is why it fell;
# utility still does, since calls cost money even where nobody tires. Without *recognition* most of
# the help is gone, and without recognition and persuasion all of it: only the fatigue is left.
#
# The best W is read off the worlds that are shown, which flatters it a little: had another W come out
# highest by luck, we would have taken that.
#
# Persuasion has two sides. Here it helps a little: right answers agree with one another more often
# than wrong ones do. That changes once the proposers are alike.
#
# ## Copies of one LLM outvote a better reader
#
# Now all proposers are the same LLM, weaker than the synthesizer. Asked again it nearly always says
# the same again, so its mistakes come in numbers, as in the last row of the table above.

# %%
gained = gains_over(copies, "width", 0, group, both)
copy_curves = over_seeds(gained, ["panel", "series", "width"], both)
save_figure(
    run,
    effect_curves(
        copy_curves,
        "width",
        {"accuracy": "gain in accuracy (points)"},
        xlabel=f"copies of {config.copied}",
        scale=100,
    ),
    "copies",
    caption=f"Gain over {config.reader} alone when it reads copies of {config.copied}. Means over "
    f"{len(config.seeds)} worlds; bars: 95 % intervals over worlds.",
    simulated=True,
    alt="Accuracy against the number of copies; as shipped it falls, without persuasion it stays "
    "near that of the reader alone.",
)

# %% [markdown]
# ## Different proposers beat equal ones, at equal cost
#
# A mixed list differs from copies in quality and price, too. To see what *difference* alone is
# worth, we build a pool of ten LLMs that have all the same accuracy, length and price: three families
# of three, and a synthesizer of a fourth. Then three proposers cost the same whoever they are:
# three copies of one LLM, three LLMs of one family, or one of each family. Every LLM proposes
# equally often in each of the three.
#
# What makes two equally able LLMs differ? Three things in this world:
#
# 1. **families**: what one member gets wrong, the others tend to get wrong (`family_sd`);
# 2. **memory**: what only this LLM knows or does not know about a question, and keeps not knowing
#    however often it is asked. To take it away without making anybody better or worse, it is drawn
#    anew in every call (`forgetful`): the same variance, as call noise;
# 3. **tempting mistakes**: those who are wrong may be wrong in different ways, which splits their
#    votes. With `tempting = 1` there is only one mistake to make.


# %%
def likeness_knobs(settings):
    """Return the settings without what makes equally able LLMs differ, by what is missing."""
    no_families = settings.with_knobs("difficulty", family_sd=0.0)
    neither = forgetful(settings).with_knobs("difficulty", family_sd=0.0)
    return {
        "as shipped": settings,
        "no families": no_families,
        "no memory": forgetful(settings),
        "neither": neither,
        "neither, and one mistake only": neither.with_knobs("wrong", tempting=1.0),
    }


rows = []
for difficulty, seed in tqdm(worlds, file=sys.stdout):
    for knobs, settings in likeness_knobs(load_settings(difficulty)).items():
        equal, adapted = equal_llms(pool, settings, config.synthesizer, families=3, members=3)
        questions = open_world(adapted, equal, roles, tasks, seed, draws=config.draws)
        rows += [labels(difficulty, knobs, seed) | row for row in by_company(questions)]
company = pd.DataFrame(rows)
print("cost in reference calls, least and most:", company["cost_reference"].agg(["min", "max"]))

# %%
gained = gains_over(company, "company", "3 copies of one LLM", group, both)
gained = gained[gained["company"] != "3 copies of one LLM"]
difference = over_seeds(gained, ["panel", "series", "company"], both)
save_figure(
    run,
    effect_points(
        difference.rename(columns={"series": "row", "company": "series"}),
        "accuracy",
        xlabel="gain over 3 copies (accuracy points)",
        scale=100,
    ),
    "company",
    caption="Three proposers that differ, against three copies of one LLM, in a pool of equally able "
    "and equally priced LLMs. Rows: what is taken out of the world. Points: means over "
    f"{len(config.seeds)} worlds with 95 % intervals.",
    simulated=True,
    alt="Gains of two kinds of trios under five settings of the knobs; large as shipped, zero once "
    "families, memory and different mistakes are taken away.",
)

# %% [markdown]
# The family knob alone does not take the gain away: what matters most is memory. Asking one LLM three
# times is worth little because it forgets nothing.
#
# ## A role out of place costs
#
# A supernode also has a *role*. An expert's role makes an LLM better in its own subjects (*fit*) and
# worse in others: it sees everything with its own eyes. So one expert, one LLM without proposers,
# informs the decision about questions in its own subjects and about all others, and we compare with the
# decision that has no expert at all. The same LLM is the expert and decides, so that no second
# opinion of another LLM is mixed in: what is left is the role. In the second kind of world fit is
# zero, and a role is a mere label.


# %%
def fit_knobs(settings):
    """Return the settings with and without the fit of roles."""
    return {"as shipped": settings, "no fit": settings.with_knobs("fit", own=0.0, other=0.0)}


rows = []
for difficulty, seed in tqdm(worlds, file=sys.stdout):
    for knobs, settings in fit_knobs(load_settings(difficulty)).items():
        questions = open_world(
            settings, pool, load_roles("choice"), tasks, seed, draws=config.draws
        )
        found = worth_of_experts(questions, settings, config.expert, config.decision)
        rows += [labels(difficulty, knobs, seed) | row for row in found]
experts = pd.DataFrame(rows)
experts["place"] = experts["place"] + ", " + experts["series"]
average = experts.groupby([*group, "place"], sort=False, as_index=False).mean(numeric_only=True)
shown = pd.concat([average.assign(role="all experts"), experts])

# %%
worth = over_seeds(shown, ["panel", "role", "place"], ["utility_gain", "message_right"])
save_figure(
    run,
    effect_points(
        worth.rename(columns={"role": "row", "place": "series"}),
        "utility_gain",
        xlabel="utility × 100, over no expert",
        scale=100,
    ),
    "mismatch",
    caption=f"Utility (β = 0.01) of a decision by {config.decision} that reads one expert "
    f"({config.expert}), minus that without any expert, for questions in the expert's own subjects "
    f"and in others. Means over {len(config.seeds)} worlds with 95 % intervals.",
    simulated=True,
    alt="For all experts and each of the six, the gain in its own subjects and in others; far apart as shipped, "
    "together without fit.",
)

# %% [markdown]
# ## Who should sit in it?
#
# So far we chose who sits where. Now we search: every filling with at most W proposers, judged by
# utility on one half of the questions. What is reported comes from the *other* half, as the best of a
# thousand fillings on the questions it was chosen by looks better than it is.

# %%
search, check = halves(tasks, 0)
rows, chosen = [], []
for difficulty, seed in tqdm(worlds, file=sys.stdout):
    settings = load_settings(difficulty)
    first = open_world(settings, pool, roles, search, seed, draws=config.draws)
    second = open_world(settings, pool, roles, check, seed, draws=config.draws)
    for most in range(config.width + 1):
        best = best_supernode(first, pool.names, most)
        result = supernode_results(second, best).estimate()
        numbers = {"accuracy": result.accuracy, "utility": result.mean}
        rows.append(
            labels(difficulty, f"at most {most}", seed) | numbers | {"cost_reference": result.cost}
        )
        chosen.append((difficulty, most, best))
best_rows = pd.DataFrame(rows)

# %%
single = gains_over(
    best_rows.assign(filling=best_rows["series"]),
    "filling",
    "at most 0",
    ["panel", "seed"],
    ["utility"],
)
best_table = over_seeds(best_rows, ["panel", "series"], [*both, "cost_reference"])
over_one = over_seeds(single, ["panel", "series"], ["utility"])
for end in ("", "_low", "_high"):
    best_table[f"gain{end}"] = over_one[f"utility{end}"]
best_table = best_table.rename(columns={"panel": "world", "series": "proposers"})
caption = (
    "The best supernode found with at most W proposers, judged on questions it was not chosen by. Gain: "
    "utility over the best single LLM (at most 0). 95 % intervals over worlds."
)
run.save_metrics(best_table)
run.save_table(best_table, "best_supernodes", caption, simulated=True)
presentable(best_table)

# %% [markdown]
# Which LLMs were found? Share of the worlds in which an LLM sits in each position of the best
# supernode with at most the largest W. Proposers are counted as seats: an LLM that sits twice counts
# twice.


# %%
def seats(difficulty):
    """Return who sits where in the best supernodes of one difficulty, in shares of all worlds."""
    crews = [node for name, most, node in chosen if (name, most) == (difficulty, config.width)]
    names = [*pool.names, SKIP]
    last = pd.Series([node.synthesizer for node in crews]).value_counts() / len(crews)
    seated = [llm for node in crews for llm in node.proposers]
    first = pd.Series(seated).value_counts() / len(seated)
    table = {f"{difficulty} · proposers": first, f"{difficulty} · synthesizer": last}
    return pd.DataFrame(table).reindex(names).fillna(0.0).T


seating = pd.concat([seats(difficulty) for difficulty in config.difficulties])
save_figure(
    run,
    selection_heatmap(
        seating, title=f"best supernode with at most {config.width} proposers", of="seats"
    ),
    "seating",
    caption=f"Who sits in the best supernode with at most {config.width} proposers: share of the "
    f"synthesizers and of the proposer seats over {len(config.seeds)} worlds.",
    simulated=True,
    alt="Matrix of positions by LLMs with the share of worlds in which each LLM sits there.",
)

# %% [markdown]
# ## What we saw

# %%
parts = {"mixed": mixed, "copies": copies, "company": company, "experts": experts}
records = pd.concat([f.assign(part=name) for name, f in {**parts, "best": best_rows}.items()])
rows_a_world = 2 * 5 * (len(pool.names) + 1) + 5 * 3 + 2 * 6 * 2 + config.width + 1
planned = len(config.difficulties) * len(config.seeds) * rows_a_world
run.save_records(records)
first_world = f"{config.difficulties[0]} world"


def change(frame, series, column, start, end, value="accuracy"):
    """Return the change of a value from one level of a column to another, over worlds."""
    rows = frame[(frame["panel"] == first_world) & (frame["series"] == series)]
    table = rows.pivot_table(index="seed", columns=column, values=value)
    return mean_over_seeds(table[end] - table[start])


here = curves[(curves["panel"] == first_world) & (curves["series"] == "as shipped")]
peaks = {name: int(here.loc[here[name].idxmax(), "width"]) for name in both}
last = len(pool.names)

# %%
equal, different = "3 copies of one LLM", "LLMs of 3 families"
place = experts[experts["panel"] == first_world].assign(
    at=lambda f: f["place"].str.split(",").str[0]
)
own, other = (
    {s: mean_over_seeds(g.groupby("seed")["utility_gain"].mean()) for s, g in p.groupby("series")}
    for p in (place[place["at"] == "own subjects"], place[place["at"] == "other subjects"])
)
conclusions = [
    f"In the {first_world}, accuracy is highest with {peaks['accuracy']} proposers and utility "
    f"(β = 0.01) with {peaks['utility']}. From none to there accuracy gains "
    f"{change(mixed, 'as shipped', 'width', 0, peaks['accuracy'])}; from there to all {last} it "
    f"changes by {change(mixed, 'as shipped', 'width', peaks['accuracy'], last)}, and without "
    f"fatigue by {change(mixed, 'no fatigue', 'width', peaks['accuracy'], last)}.",
    "Without recognition and persuasion the same proposers bring "
    f"{change(mixed, 'no recognition, no persuasion', 'width', 0, peaks['accuracy'])}.",
    f"{last} copies of {config.copied} change the accuracy of {config.reader} by "
    f"{change(copies, 'as shipped', 'width', 0, last)}; without persuasion by "
    f"{change(copies, 'no persuasion', 'width', 0, last)}.",
    "At equal cost, LLMs of three families beat three copies by "
    f"{change(company, 'as shipped', 'company', equal, different)} of accuracy; without families by "
    f"{change(company, 'no families', 'company', equal, different)}; without all three knobs by "
    f"{change(company, 'neither, and one mistake only', 'company', equal, different)}.",
    f"An expert changes utility by {own['as shipped']} in its own subjects and by "
    f"{other['as shipped']} in others; without fit by {own['no fit']} and {other['no fit']}.",
]
conclusions += [
    f"In the {world}, the best supernode with at most {config.width} proposers is worth "
    f"{found['gain']:+.3f} [{found['gain_low']:.3f}, {found['gain_high']:.3f}] utility more than the "
    "best single LLM, both chosen on half of the questions and judged on the other half."
    for world, found in best_table.groupby("world", sort=False).last().iterrows()
]
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %%
effects = pd.concat(
    [
        curves.rename(columns={"width": "level"}).assign(effect="mixed proposers"),
        copy_curves.rename(columns={"width": "level"}).assign(effect="copies"),
        difference.rename(columns={"company": "level"}).assign(effect="company"),
    ]
)
effects = effects.rename(columns={"panel": "world", "series": "knobs"})
run.save_table(
    effects[
        [
            "effect",
            "world",
            "knobs",
            "level",
            *[f"{v}{e}" for v in both for e in ("", "_low", "_high")],
        ]
    ],
    "effects",
    "Gains within a world, with 95 % intervals over worlds.",
    simulated=True,
)

# %% [markdown]
# ## Exercises
#
# 1. In the case checked by hand, the reader sees A once and C twice and says C. From which margin on
#    would it say A? Work it out from the table, set `my_margin`, and run the cell.
# 2. Set `expert` to another LLM, such as `deepseek-v3.2`. A mismatched role now comes with a second
#    opinion. Does it still cost?
# 3. Set `synthesizer` to the weakest LLM of the pool, `llama-3.1-8b`. Does the best W move up or down?
# 4. Set `copied` to an LLM that is nearly as good as `reader`, such as `deepseek-v3.2`. Do its copies
#    hurt, too?

# %%
my_margin = None  # such as 0.5
answer = "not answered yet"
if my_margin is not None:
    answer = says("ACC", my_margin + 0.01) == "A" and says("ACC", my_margin - 0.01) == "C"
print("exercise 1:", answer)

# %%
print(
    run.finish(
        rows=planned,
        figures=["more_proposers", "copies", "company", "mismatch", "seating"],
        tables=["best_supernodes", "effects"],
    )
)
