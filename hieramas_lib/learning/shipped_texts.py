"""The texts whose vectors are shipped; run as a module to compute them again.

``python -m hieramas_lib.learning.shipped_texts`` (needs the ``embed`` extra) writes
``data/embeddings/minilm.safetensors``. Run it after a shipped question, role or profile changed.
"""

from hieramas_lib.learning.encoder import SentenceEncoder, save_vectors
from hieramas_lib.learning.masrouter_cascade import MODES
from hieramas_lib.llms.pool import load_pool, shipped_pools
from hieramas_lib.paths import ROOT, data_path
from hieramas_lib.tasks.load import load_tasks
from hieramas_lib.teams.roles import load_roles


def shipped_texts() -> list[str]:
    """Return every question, profile and other description that the learners may look up."""
    questions = [
        task.prompt
        for benchmark in ("knowledge", "maths", "humaneval")
        for task in load_tasks(benchmark)
    ]
    role_sets = [load_roles(path) for path in sorted(data_path("roles").glob("*.yaml"))]
    pools = [load_pool(path) for path in shipped_pools()]
    return [
        *questions,
        *(role.profile for roles in role_sets for role in roles.roles),
        *(spec.profile for pool in pools for spec in pool.llms),
        *(pool.skip_profile for pool in pools),
        *MODES.values(),
    ]


if __name__ == "__main__":
    save_vectors(
        shipped_texts(), SentenceEncoder(), ROOT / "data" / "embeddings" / "minilm.safetensors"
    )
