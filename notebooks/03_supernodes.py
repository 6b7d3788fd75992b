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
# **What the paper says.** Its Table 6 gives 95.2 % of 125 MMLU questions with 2 proposers, 91.2 % with
# 6 and 88.8 % with 8: fewer is better. From 2 to 8 that is eight questions, from one run of a whole team,
# without intervals. Here the role is taken out of the team, so that nothing else can be the reason, and
# the *why* is asked as well.
#
# **Metrics.** *Accuracy* is the share of right messages of the supernode itself; what a decision
# would make of them is left out. *Utility* is accuracy minus β = 0.01 for every *reference call*
# that the supernode's own calls cost (one usual call of the dearest LLM of the pool). So a supernode
# that costs two reference calls has to be right 2 points more often than one that costs nothing.
#
# **Method.** Each effect is shown together with its cause. The simulated world has knobs, such as what
# reading a text costs its reader. We set a knob to zero, leave everything else as it is, and the effect
# should go away. If it stayed, our explanation would be wrong. With real LLMs nobody can turn such a
# knob, which is the reason to ask a simulation first.
#
# Reads: the shipped knowledge questions and the simulated pool. Writes: one run folder with five
# figures and two tables. About 40 seconds. Offline and free; the LLMs are **simulated**, so nothing
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
from hieramas_lib.experiments.effects.seed_tables import panel_gains
from hieramas_lib.experiments.effects.supernode_sentences import (
    company_sentence,
    copies_sentence,
    expert_sentence,
    proposer_sentences,
    search_sentences,
)
from hieramas_lib.experiments.effects.supernode_study import (
    copied_proposers,
    effects_table,
    expert_table,
    lone_experts,
    mixed_proposers,
    plan_worlds,
    search_table,
    searched_supernodes,
    seat_shares,
    trios_by_company,
    without_crews,
)
from hieramas_lib.experiments.figures import save_figure
from hieramas_lib.experiments.plots import selection_heatmap
from hieramas_lib.experiments.runs import start_notebook
from hieramas_lib.experiments.tables import presentable
from hieramas_lib.llms.simulated_reading import Evidence, choose_answer
from hieramas_lib.llms.world import load_settings

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
#
# Look at the three terms once more, as they are the whole theory of this notebook. Persuasion and
# fatigue do not ask whether a text is right; recognition does. Persuasion has *diminishing returns*:
# the eighth voice for C adds log₂(9/8) = 0.17, the second added 0.585. Fatigue has none. So sooner or
# later one more text takes more than it brings, whatever its quality.

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
# compared *within* a world, and the intervals below are over worlds (95 %, *t*). Why within? By hand:
# if a supernode scores 0.70 and 0.60 in two worlds and its synthesizer alone 0.60 and 0.50, the means
# 0.65 and 0.55 look close, given that each moves by 0.10 from world to world. The differences are 0.10
# and 0.10, with no spread at all.

# %%
worlds = plan_worlds(
    config.difficulties, config.seeds, versions=config.versions, draws=config.draws
)
llms, tasks = worlds[0].pool.names, worlds[0].tasks
print(f"{len(tasks)} questions x {config.draws} draws, {len(worlds)} worlds, {len(llms)} LLMs")


def measure(what, *settings):
    """Return what is measured in every world."""
    found = [what(world, *settings) for world in tqdm(worlds, file=sys.stdout)]
    return pd.concat(found, ignore_index=True)


# %% [markdown]
# ## More proposers first help, then hurt
#
# The synthesizer stays the same, and proposers join one after another until the whole pool sits
# there. Who comes first matters, so the list is shuffled and rotated: of the first W places, every
# LLM holds the same share, whatever W is. What changes from W to W + 1 is therefore the number of
# proposers and not their quality.
#
# Five kinds of world: as shipped; without fatigue; without persuasion; without recognition; and
# without the last two, in which a reader gets nothing out of what it reads. The curves show what is
# gained over W = 0, the synthesizer alone, in the same world.
#
# **Before you look:** what should each curve do, by the three terms above? Write it down. Without fatigue
# it should not bend down. Without recognition and persuasion only the fatigue is left, so it should fall
# from the start, in nearly a straight line.

# %%
mixed = measure(mixed_proposers, config.synthesizer)
both = ["accuracy", "utility"]
curves = panel_gains(mixed, "width", 0, both)
axes_labels = {
    "accuracy": "gain in accuracy (points)",
    "utility": "gain in utility × 100 (β = 0.01)",
}
save_figure(
    run,
    effect_curves(curves, "width", axes_labels, xlabel="proposers, W", scale=100),
    "more_proposers",
    caption=f"Gain of a supernode over its synthesizer ({config.synthesizer}) alone, as proposers of "
    f"a mixed list join. Means over {len(llms)} orders of the list and {len(config.seeds)} "
    "worlds; bars: 95 % intervals over worlds.",
    simulated=True,
    alt="Accuracy and utility against the number of proposers; as shipped both rise and then fall, "
    "without fatigue accuracy does not fall, without recognition there is little to gain.",
)

# %% [markdown]
# **How to read it** (at the default parameters). As shipped, the first three or four proposers bring
# nearly all there is. Then the curve bends down. Without *fatigue* accuracy no longer falls, so fatigue
# is why it fell; utility still does, since calls cost money even where nobody tires. Without
# *recognition* most of the help is gone, and without recognition and persuasion all of it: only the
# fatigue is left.
#
# The bars are wide beside the bend, and yet the bend is certain: bars show how far the *gain over none*
# differs between worlds, the bend is a difference between two points of the same world. Its own interval
# stands in the conclusions. To judge a step from one point to the next by whether their bars overlap
# is a common mistake.
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
#
# **How to read it.** Compare two curves: as shipped, and without persuasion. If the copies hurt because
# they say something new that is wrong, the second would fall, too. If they hurt as they *repeat* it,
# the second stays near the reader alone. (Watch how its first copy even helps: one more text to
# recognise a right answer in.) The moral for *self-consistency* is that its votes count as many
# only if they were cast independently.

# %%
copies = measure(copied_proposers, config.copied, config.reader)
copy_curves = panel_gains(copies, "width", 0, both)
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
company = measure(trios_by_company, config.synthesizer)
print("cost in reference calls, least and most:", company["cost_reference"].agg(["min", "max"]))
equal = "3 copies of one LLM"
difference = panel_gains(company, "company", equal, both)
difference = difference[difference["company"] != equal]
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
# **How to read it** (at the default parameters). The family knob alone does not take the gain away:
# what matters most is memory. Asking one LLM three times is worth little because it forgets nothing.
# The last row is the check of the whole explanation: with all three causes gone, three copies *are*
# three different LLMs, and the points must sit on zero. A point beside it would mean that the trios
# differ in something that we have not thought of.
#
# ## A role out of place costs
#
# A supernode also has a *role*. An expert's role makes an LLM better in its own subjects (*fit*) and
# worse in others: it sees everything with its own eyes. So one expert, one LLM without proposers,
# informs the decision about questions in its own subjects and about all others, and we compare with the
# decision that has no expert at all. The same LLM is the expert and decides, so that no second
# opinion of another LLM is mixed in: what is left is the role. In the second kind of world fit is
# zero, and a role is a mere label.
#
# This is what *pruning* is for: a policy that keeps an expert for questions outside its subjects pays
# twice, once for the call and once for the harm.

# %%
experts = measure(lone_experts, config.expert, config.decision)
save_figure(
    run,
    effect_points(
        expert_table(experts).rename(columns={"role": "row", "place": "series"}),
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
#
# The same trap waits in the table: a larger W may choose among all fillings of a smaller one, so on the
# *searched* half it can't be worse. On the other half it can, and then the search has learned the
# questions by heart. Compare the column *gain* from row to row. In an easy world, where single LLMs are
# right nine times in ten, look at its interval before you pay for a proposer.

# %%
searched = measure(searched_supernodes, config.width)
best_table = search_table(searched)
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
# twice. If a row were one dark cell, the best supernode would be the same in every world; if it is
# spread, several fillings are about equally good, and no single name should be reported as *the* best.

# %%
save_figure(
    run,
    selection_heatmap(
        seat_shares(searched, llms, config.width),
        title=f"best supernode with at most {config.width} proposers",
        of="seats",
    ),
    "seating",
    caption=f"Who sits in the best supernode with at most {config.width} proposers: share of the "
    f"synthesizers and of the proposer seats over {len(config.seeds)} worlds.",
    simulated=True,
    alt="Matrix of positions by LLMs with the share of worlds in which each LLM sits there.",
)

# %% [markdown]
# ## What we saw
#
# The records hold one row for each measurement in each world: 2 lists × 5 kinds of world × one row for
# every W; 5 × 3 trios; 2 × 6 experts × 2 places; and the searched supernodes. Their number is worked
# out from the plan, and the run fails if a row is missing.

# %%
rows_a_world = 2 * 5 * (len(llms) + 1) + 5 * 3 + 2 * 6 * 2 + config.width + 1
planned = len(worlds) * rows_a_world
parts = {"mixed": mixed, "copies": copies, "company": company, "experts": experts}
parts["best"] = without_crews(searched)
run.save_records(pd.concat([frame.assign(part=name) for name, frame in parts.items()]))

# %%
first = f"{config.difficulties[0]} world"
conclusions = [
    *proposer_sentences(mixed, first),
    copies_sentence(copies, first, config.copied, config.reader),
    company_sentence(company, first),
    expert_sentence(experts, first),
    *search_sentences(best_table, config.width),
]
run.save_conclusions(conclusions)
print("\n".join(conclusions))

# %%
run.save_table(
    effects_table(curves, copy_curves, difference),
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
#
# **With a real pool.** This notebook can't take one: nobody can set the fatigue of a real LLM to zero, or
# ask for the same world without families. What carries over is the design. Set `width` in notebook 07 to
# 0, 2 and 4, keep everything else, and compare on the same questions with paired intervals (notebook 08 does
# so for simulated LLMs). Ask the same
# LLM the same question ten times and count how often it repeats its mistake: that is its memory, and it
# tells whether copies are worth a call. And read a few dozen cases in which the synthesizer had a right
# proposal before it and chose another (notebook 12): they are the ones that a better reader would win.

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
