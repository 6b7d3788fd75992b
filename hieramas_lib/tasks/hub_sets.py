"""The public benchmarks that :mod:`.hub` can load: where they are and how they are laid out."""

from collections.abc import Mapping
from dataclasses import dataclass

from hieramas_lib.tasks.hub_code_rows import HumanEvalPlusRow, LiveCodeBenchRow
from hieramas_lib.tasks.hub_rows import (
    BeyondAimeRow,
    ContestRow,
    Gsm8kRow,
    HleRow,
    HubRow,
    Math500Row,
    MathRow,
    MmluProRow,
    MmluReduxRow,
)


@dataclass(frozen=True, slots=True)
class HubSet:
    """Where a public benchmark is and how it is laid out.

    Attributes:
        name: Our name of it.
        repo: Its id on the hub.
        parts: The set's own splits, by our name for them.
        row: Reads a row.
        licence: What its card says.
        configs: The configurations that make up the set; the first alone is the default where
            ``one_config`` is set. Empty where it has but one.
        one_config: Whether the configurations are versions of one set.
        files: Data files by configuration, where the hub has a loading script instead of a
            layout that ``datasets`` still reads.
    """

    name: str
    repo: str
    parts: Mapping[str, str]
    row: type[HubRow]
    licence: str
    configs: tuple[str, ...] = ()
    one_config: bool = False
    files: Mapping[str, tuple[str, ...]] | None = None

    @property
    def default_configs(self) -> tuple[str, ...]:
        """The configurations that are read where none is named; ``""`` is the only one."""
        return self.configs[:1] if self.one_config else self.configs or ("",)


MMLU_SUBJECTS = (
    "abstract_algebra", "anatomy", "astronomy", "business_ethics", "clinical_knowledge",
    "college_biology", "college_chemistry", "college_computer_science", "college_mathematics",
    "college_medicine", "college_physics", "computer_security", "conceptual_physics",
    "econometrics", "electrical_engineering", "elementary_mathematics", "formal_logic",
    "global_facts", "high_school_biology", "high_school_chemistry", "high_school_computer_science",
    "high_school_european_history", "high_school_geography", "high_school_government_and_politics",
    "high_school_macroeconomics", "high_school_mathematics", "high_school_microeconomics",
    "high_school_physics", "high_school_psychology", "high_school_statistics",
    "high_school_us_history", "high_school_world_history", "human_aging", "human_sexuality",
    "international_law", "jurisprudence", "logical_fallacies", "machine_learning", "management",
    "marketing", "medical_genetics", "miscellaneous", "moral_disputes", "moral_scenarios",
    "nutrition", "philosophy", "prehistory", "professional_accounting", "professional_law",
    "professional_medicine", "professional_psychology", "public_relations", "security_studies",
    "sociology", "us_foreign_policy", "virology", "world_religions",
)  # fmt: skip
MATH_SUBJECTS = (
    "algebra", "counting_and_probability", "geometry", "intermediate_algebra", "number_theory",
    "prealgebra", "precalculus",
)  # fmt: skip

_LIVECODEBENCH_FILES = ("test.jsonl", *(f"test{i}.jsonl" for i in range(2, 7)))
_RELEASES = {f"release_v{i}": _LIVECODEBENCH_FILES[:i] for i in range(1, 7)}
_TEST_ONLY = {"test": "test"}
_MATH_ARENA = "CC-BY-NC-SA-4.0"

HUB_SETS = (
    HubSet(
        "mmlu_redux", "edinburgh-dawg/mmlu-redux-2.0", _TEST_ONLY, MmluReduxRow, "CC-BY-4.0",
        MMLU_SUBJECTS,
    ),
    HubSet(
        "mmlu_pro", "TIGER-Lab/MMLU-Pro", {"val": "validation", "test": "test"}, MmluProRow, "MIT"
    ),
    HubSet(
        "hendrycks_math", "EleutherAI/hendrycks_math", {"train": "train", "test": "test"}, MathRow,
        "MIT; see data/README.md", MATH_SUBJECTS,
    ),
    HubSet(
        "math500", "HuggingFaceH4/MATH-500", _TEST_ONLY, Math500Row, "none named; MATH itself: MIT"
    ),
    HubSet(
        "gsm8k", "openai/gsm8k", {"train": "train", "test": "test"}, Gsm8kRow, "MIT", ("main",)
    ),
    HubSet("humaneval_plus", "evalplus/humanevalplus", _TEST_ONLY, HumanEvalPlusRow, "Apache-2.0"),
    HubSet("aime2025", "MathArena/aime_2025", {"test": "train"}, ContestRow, _MATH_ARENA),
    HubSet("aime2026", "MathArena/aime_2026", {"test": "train"}, ContestRow, _MATH_ARENA),
    HubSet("hmmt_feb2025", "MathArena/hmmt_feb_2025", {"test": "train"}, ContestRow, _MATH_ARENA),
    HubSet("beyond_aime", "ByteDance-Seed/BeyondAIME", _TEST_ONLY, BeyondAimeRow, "not checked"),
    HubSet(
        "livecodebench", "livecodebench/code_generation_lite", _TEST_ONLY, LiveCodeBenchRow,
        "CC; see its card", tuple(_RELEASES), one_config=True, files=_RELEASES,
    ),
    HubSet("hle", "cais/hle", _TEST_ONLY, HleRow, "MIT, gated: not to be redistributed"),
)  # fmt: skip
