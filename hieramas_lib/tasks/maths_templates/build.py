"""Draw the shipped problems from all templates."""

import json
from pathlib import Path

from hieramas_lib.paths import ROOT
from hieramas_lib.tasks.maths_templates import (
    algebra,
    counting,
    geometry,
    intermediate,
    number_theory,
    prealgebra,
    precalculus,
)
from hieramas_lib.tasks.maths_templates.template import Template, draw, write

SEED = 2602
PER_TEMPLATE = 6
SUBJECTS: dict[str, tuple[Template, ...]] = {
    "algebra": algebra.TEMPLATES,
    "counting_and_probability": counting.TEMPLATES,
    "geometry": geometry.TEMPLATES,
    "intermediate_algebra": intermediate.TEMPLATES,
    "number_theory": number_theory.TEMPLATES,
    "prealgebra": prealgebra.TEMPLATES,
    "precalculus": precalculus.TEMPLATES,
}


def build_records(seed: int = SEED) -> list[dict[str, object]]:
    """Return the records of ``data/tasks/maths.jsonl``, in order."""
    records: list[dict[str, object]] = []
    for subject, templates in SUBJECTS.items():
        for template in templates:
            records += _draw_all(subject, template, seed)
    return records


def _draw_all(subject: str, template: Template, seed: int) -> list[dict[str, object]]:
    used: set[str] = set()
    records: list[dict[str, object]] = []
    for number in range(PER_TEMPLATE):
        name = f"maths/{subject}/l{template.level}/{template.name}/{number:02d}"
        problem = draw(template, f"{seed}/{name}", used)
        used.add(problem.prompt)
        records.append(
            {
                "id": name,
                "subject": subject,
                "level": template.level,
                "prompt": problem.prompt,
                "gold": write(problem.gold),
                "tempting": [write(slip) for slip in problem.tempting],
            }
        )
    return records


def to_jsonl(records: list[dict[str, object]]) -> str:
    """Write one JSON object a line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def main(path: Path = ROOT / "data" / "tasks" / "maths.jsonl") -> None:
    """Write the shipped file."""
    path.write_text(to_jsonl(build_records()), encoding="utf-8", newline="\n")
