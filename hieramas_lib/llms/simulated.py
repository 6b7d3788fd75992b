"""A simulated LLM: text in, text out, no key, no cost, and no evidence about any real LLM."""

import asyncio
from functools import lru_cache

from hieramas_lib.errors import CallError
from hieramas_lib.llms.chat import ChatRequest, Completion, FinishReason
from hieramas_lib.llms.layout import Header, Section, parse_sections
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.llms.simulated_lengths import draw_length
from hieramas_lib.llms.simulated_plans import write_plan
from hieramas_lib.llms.simulated_reading import choose_answer, read_evidence
from hieramas_lib.llms.simulated_texts import write_answer, write_blank
from hieramas_lib.llms.tokens import count_tokens, cut_tokens
from hieramas_lib.llms.world import World
from hieramas_lib.llms.world_draws import as_normal, uniforms
from hieramas_lib.tasks.task import Task

_POSITIONS = ("proposer", "synthesizer", "decision", "alone")
_STYLES = ("answer only", "step by step")


class SimulatedClient:
    """Answers for one LLM of a simulated world.

    The same request gets the same answer in every process: all draws are hashes of the world's
    seed, the LLM's name, the messages and the sample index.

    Texts are short. ``completion_tokens`` counts as many as the LLM would usually write,
    reasoning included (drawn, with the spec's usual number as its mean), so that cost and
    latency are realistic; it is capped by the token limit, and a reply is cut only if even its
    visible text is longer. ``prompt_tokens`` counts the prompt as it is.

    Args:
        spec: The LLM.
        world: What it knows.
        pace: Seconds really slept per second of simulated latency.

    Raises:
        ConfigError: the world has no such LLM, or no target accuracy for it.
    """

    def __init__(self, spec: LLMSpec, world: World, *, pace: float = 0.0) -> None:
        world.check(spec.name)
        self.spec = spec
        self.world = world
        self._pace = pace

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request``.

        Raises:
            CallError: the prompt has no header, or no task that this world knows.
        """
        system = "\n".join(m.content for m in request.messages if m.role == "system")
        body = "\n".join(m.content for m in request.messages if m.role != "system")
        header = _parse_header(system)
        sections = parse_sections(body)
        task = self._find(sections)
        draws = uniforms(4, self.world.seed, "call", self.spec.name, request.sample, system, body)
        text = self._reply(task, header, sections, draws)
        completion = self._account(request, header, text, draws[3])
        if self._pace:
            await asyncio.sleep(self._pace * completion.latency_s)
        return completion

    def _find(self, sections: tuple[Section, ...]) -> Task:
        statement = next((s.text for s in sections if s.tag == "task"), None)
        if statement is None:
            raise CallError("rejected", "the prompt has no <task> section (see llms.layout)")
        task = self.world.find(statement)
        if task is None:
            raise CallError(
                "rejected",
                f"the simulated world does not know the task {statement[:60]!r}: give World(...) "
                "every task that is to be asked, or use a pool of real LLMs",
            )
        return task

    def _reply(
        self, task: Task, header: Header, sections: tuple[Section, ...], draws: tuple[float, ...]
    ) -> str:
        """Decide on an answer or a plan, and write it."""
        world, knobs = self.world, self.world.settings
        noise, blank, wording = draws[:3]
        if blank < knobs.replies.blank_rate:
            return write_blank(wording)
        duty = knobs.duty(header)
        wrong = world.wrong_answer(self.spec.name, task)
        margin = world.margin(self.spec.name, task, header)
        margin += knobs.difficulty[task.kind].call_noise * as_normal(noise)
        evidence = read_evidence(task, sections, world.seed)
        answer = choose_answer(task.gold, wrong, margin, evidence, duty, knobs)
        if duty == "planner":
            return write_plan(task, answer == task.gold, world.seed)
        return write_answer(task, answer, header, duty, wording)

    def _account(
        self, request: ChatRequest, header: Header, text: str, length: float
    ) -> Completion:
        """Count tokens, time and cost."""
        replies = self.world.settings.replies
        usual = self.spec.usual_tokens[header.style == "step by step"]
        written = draw_length(usual, replies.length[header.style], length)
        visible = count_tokens(text)
        finish: FinishReason = "stop"
        limit = self.spec.token_limit(request)
        if visible > limit:
            text, finish = cut_tokens(text, limit), "length"
        completion_tokens = min(max(written, visible), limit)
        prompt_tokens = sum(count_tokens(message.content) for message in request.messages)
        latency = replies.start_s + prompt_tokens / replies.read_per_s
        return Completion(
            text=text,
            finish_reason=finish,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cost_usd=self.spec.cost(prompt_tokens, completion_tokens),
            latency_s=latency + completion_tokens / replies.write_per_s,
            cached=False,
            request_key=request.key("simulated", self.spec.model),
        )


@lru_cache(maxsize=1024)
def _parse_header(system: str) -> Header:
    try:
        header = Header.parse(system)
    except KeyError as missing:
        raise CallError(
            "rejected", f"the system message has no {missing.args[0]!r} line (see llms.layout)"
        ) from None
    if header.position not in _POSITIONS or header.style not in _STYLES:
        raise CallError(
            "rejected",
            f"the system message has Position {header.position!r} and Style {header.style!r}; "
            f"known are {', '.join(_POSITIONS)} and {', '.join(_STYLES)}",
        )
    return header
