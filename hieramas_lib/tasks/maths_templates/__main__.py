"""``python -m hieramas_lib.tasks.maths_templates`` writes ``data/tasks/maths.jsonl``."""

from hieramas_lib.tasks.maths_templates.build import main

main()
