"""The verdict on a call, the same for teams and for single LLMs."""

import asyncio

from hieramas_lib.tasks.grading import grade
from hieramas_lib.tasks.task import Grade, Task
from hieramas_lib.teams.rollout import CallRecord


async def judge(task: Task, call: CallRecord) -> Grade:
    """Grade what ``call`` answered to ``task``.

    A failed call is ``error``, never the model's mistake. A refused or truncated answer is
    never correct, whatever can be read out of it: ``unparsed``, with the reason. Programs and
    mathematics are graded off the event loop, as that takes milliseconds to seconds.
    """
    if call.completion is None:
        return Grade("error", detail=call.error)
    if not call.text.strip():
        return Grade("empty", detail=call.completion.finish_reason)
    if call.completion.finish_reason == "refusal":
        return Grade("unparsed", detail="refused")
    if call.completion.finish_reason == "length":
        return Grade("unparsed", detail="truncated")
    if task.kind == "choice":
        return grade(task, call.text)
    return await asyncio.to_thread(grade, task, call.text)
