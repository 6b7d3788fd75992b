"""What is asked and how an answer is graded: tasks, splits, answer extraction, graders.

Nothing here knows of LLMs. :mod:`~hieramas_lib.tasks.load` reads the benchmarks,
:mod:`~hieramas_lib.tasks.grading` gives the verdict on a text.
"""
