"""Ask for exactly one of some texts: how very small models answer multiple-choice questions."""

from dataclasses import replace

from hieramas_lib.llms.chat import ChatRequest, Completion, LLMClient


class OneOf:
    """An ``LLMClient`` that adds ``options`` to every request that it passes on.

    Clients that can constrain decoding (the local one) then answer with exactly one of them;
    others ignore it. A model of 135 million parameters knows some answers if it chooses among
    option texts, and close to none if it must name a letter.
    """

    def __init__(self, llms: LLMClient, options: tuple[str, ...]) -> None:
        """Choose among ``options`` with the LLMs behind ``llms``."""
        self._llms, self._options = llms, options

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer ``request`` with one of the options."""
        return await self._llms.complete(replace(request, options=self._options))
