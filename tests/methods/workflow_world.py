"""A world for a search over workflows: no LLM is better than another, and reading helps.

Three LLMs of one price are as good as each other (0.60 alone), err independently, and recognise a
right answer far more easily than they find one. So another LLM in the place of the first gains
nothing, and a workflow in which one reads what another wrote gains much.

The world was fixed before the search was run on the reported seeds, 0 to 4.
"""

from functools import cache

from hieramas_lib.experiments.benchmark import Benchmark
from hieramas_lib.experiments.benchmark_source import benchmark_source
from hieramas_lib.experiments.copied_questions import OriginalTexts
from hieramas_lib.learning.policy import ActionSpace
from hieramas_lib.learning.space import TeamSpace
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import load_pool
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path
from hieramas_lib.teams.graph_pool import uniform_pool
from hieramas_lib.teams.oracle.questions import more_questions

LLMS = ("deepseek-v3.2", "gemma-3-27b", "qwen3-8b")
VAL_COPIES, TEST_COPIES = 3, 2


@cache
def workflow_world(seed: int) -> Benchmark:
    """Open the world of ``seed``."""
    source = benchmark_source("knowledge")
    settings = load_settings("hard").with_knobs(
        "difficulty", loading=(0.5, 0.5), interaction_sd=0.5, residual=1.5
    )
    settings = settings.with_knobs("reading", recognition=3.0, persuasion=0.5, doubt=1.5)
    even = {kind: 0.6 for kind in ("choice", "maths", "code")}
    settings = settings.model_copy(update={"targets": dict.fromkeys(LLMS, even)})
    pool = load_pool(data_path("llm_pool.yaml")).simulated()
    price, usual = pool[LLMS[0]].price, pool[LLMS[0]].usual_tokens
    alike = [pool[n].model_copy(update={"price": price, "usual_tokens": usual}) for n in LLMS]
    pool = pool.model_copy(update={"llms": tuple(alike), "reference": LLMS[0]})
    val = tuple(more_questions(source.val, VAL_COPIES))
    test = tuple(more_questions(source.test, TEST_COPIES))
    graphs = uniform_pool(len(source.roles.roles), 2, seed=seed)
    return Benchmark(
        source.train,
        val,
        test,
        llms=connect(pool, world=World((*source.train, *val, *test), settings, pool, seed)),
        space=TeamSpace(source.roles, ActionSpace(LLMS, 1), graphs, LLMS[0]),
        encoder=OriginalTexts(source.encoder()),
    )
