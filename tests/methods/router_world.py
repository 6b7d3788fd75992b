"""A world for a router: which LLM is right depends on the subject, and nobody's price does.

Three LLMs of one price are as good as each other on average (0.60 alone), and each is nearly always
right in some subjects and nearly always wrong in others. Roles do not matter, answering without
steps costs much, and repeating a question or asking others who err alike gains little. So the best
plan is one step-by-step call of the subject's own LLM: about 0.80 right where the best single LLM
has about 0.65.

The world was fixed before the router was run on the reported seeds, 0 to 4; its training
settings were chosen on seeds 100 and up.
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
from hieramas_lib.teams.roles import load_roles

LLMS = ("deepseek-v3.2", "gemma-3-27b")
ROLES = ("Knowledgeable Expert", "Mathematician")
TRAIN_COPIES, TEST_COPIES = 2, 2


@cache
def router_world(seed: int) -> Benchmark:
    """Open the world of ``seed``."""
    source = benchmark_source("knowledge")
    settings = load_settings("hard")
    settings = settings.with_knobs(
        "difficulty",
        loading=(0.5, 0.5),
        interaction_sd=4.0,
        residual=0.5,
        family_sd=0.3,
        role_noise=0.2,
        answer_only=-3.0,
    ).with_knobs("fit", own=0.0, other=0.0)
    even = {kind: 0.6 for kind in ("choice", "maths", "code")}
    settings = settings.model_copy(update={"targets": dict.fromkeys(LLMS, even)})
    pool = load_pool(data_path("llm_pool.yaml")).simulated()
    price, usual = pool[LLMS[0]].price, pool[LLMS[0]].usual_tokens
    alike = [pool[n].model_copy(update={"price": price, "usual_tokens": usual}) for n in LLMS]
    pool = pool.model_copy(update={"llms": tuple(alike), "reference": LLMS[0]})
    train = tuple(more_questions(source.train, TRAIN_COPIES))
    test = tuple(more_questions(source.test, TEST_COPIES))
    known = load_roles("choice")
    two = tuple(role for role in known.roles if role.name in ROLES)
    roles = known.model_copy(update={"name": "router world", "roles": two})
    graphs = uniform_pool(len(roles.roles), 2, seed=seed)
    return Benchmark(
        train,
        (),
        test,
        llms=connect(pool, world=World((*train, *test), settings, pool, seed)),
        space=TeamSpace(roles, ActionSpace(LLMS, 1), graphs, LLMS[0]),
        encoder=OriginalTexts(source.encoder()),
    )
