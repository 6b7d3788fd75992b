"""MASRouter's cascade: type of question, mode of collaboration, number, roles, LLMs.

Yue et al. 2025, arXiv 2502.11133: pi(S | Q) = p(mode | Q) · p(number | Q) · prod over agents of
p(role | Q, mode, roles before) · p(LLM | Q, mode, role), every factor a softmax over inner products
of latent text vectors. All sampling and all log-probabilities use one and the same distribution.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from hieramas_lib.learning.initialisation import initialise, own_draws
from hieramas_lib.learning.masrouter_vae import TextVAE

Mode = Literal["IO", "CoT", "Chain", "FullConnected", "Debate", "Reflection"]

MODES: Final[Mapping[Mode, str]] = MappingProxyType(
    {
        "IO": "One agent answers at once, without showing any steps. For easy questions of fact; "
        "the cheapest way.",
        "CoT": "One agent thinks step by step and then answers. For questions that take "
        "calculation or several steps of reasoning.",
        "Chain": "Several agents work one after another, each building on what the one before "
        "it wrote. For tasks that fall into stages.",
        "FullConnected": "Several agents work one after another, and each reads all that came "
        "before. For tasks that need many kinds of knowledge put together.",
        "Debate": "Several agents answer independently, read each other's answers and answer "
        "again. For disputed questions on which errors differ.",
        "Reflection": "One agent answers, criticises its own answer and mends it. For tasks "
        "whose results can be checked.",
    }
)
"""The modes of collaboration and the texts that they are embedded by, in the order of actions."""

ALONE: Final[tuple[Mode, ...]] = ("IO", "CoT", "Reflection")
"""Modes of one agent: the number is not used in them."""

LARGEST_TEAM: Final = 6
"""Most agents of a team."""

TYPE_TEMPERATURE: Final = 0.5
MODE_TEMPERATURE: Final = 0.8
ROLE_TEMPERATURE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen for a batch of questions.

    Attributes:
        mode: Positions in :data:`MODES`, ``[tasks]``.
        number: Agents less one, ``[tasks]``.
        roles, llms: Of the agents in order, ``[tasks, most agents]``; only the first
            ``number + 1`` act, in a mode of :data:`ALONE` only the first.
    """

    mode: Tensor
    number: Tensor
    roles: Tensor
    llms: Tensor


@dataclass(frozen=True, slots=True)
class Decisions:
    """Choices with what their loss needs.

    Attributes:
        choices: What was chosen.
        log_prob: Of all that acted, ``[tasks]``.
        type_logits: ``[tasks, types]``.
        number_logits: ``[tasks, most agents]``.
        vae: Sum of the autoencoders' losses, a scalar.
    """

    choices: Choices
    log_prob: Tensor
    type_logits: Tensor
    number_logits: Tensor
    vae: Tensor


@dataclass(frozen=True, slots=True)
class Texts:
    """Text vectors, a row each, of all that is chosen among."""

    types: Tensor
    modes: Tensor
    roles: Tensor
    llms: Tensor


class Cascade(nn.Module):
    """The network: an autoencoder for each side of an inner product, all of width ``hidden``.

    Roles are drawn one after another, each at most once, as agents are told apart by their roles.
    The number of agents is a choice like the others. At the first step the "sum of the roles so
    far" is a learned vector.
    """

    types: Tensor
    modes: Tensor
    roles: Tensor
    llms: Tensor
    alone: Tensor

    @own_draws()
    def __init__(self, texts: Texts, *, seed: int, hidden: int = 64) -> None:
        """Make an untrained network for ``texts``."""
        super().__init__()
        dim = texts.modes.shape[1]
        for name in ("types", "modes", "roles", "llms"):
            self.register_buffer(name, getattr(texts, name))
        self.register_buffer("alone", torch.tensor([mode in ALONE for mode in MODES]))
        self.agents = min(LARGEST_TEAM, len(texts.roles))
        self.query_type, self.text_type = nn.Linear(dim, hidden), nn.Linear(dim, hidden)
        self.query_vae, self.mode_vae = TextVAE(dim, hidden), TextVAE(dim, hidden)
        self.number_vae, self.number = TextVAE(dim, hidden), nn.Linear(hidden, self.agents)
        self.role_vae, self.role_context = TextVAE(dim, hidden), nn.Linear(3 * hidden, hidden)
        self.llm_vae, self.llm_context = TextVAE(dim, hidden), nn.Linear(3 * hidden, hidden)
        self.no_role = nn.Parameter(torch.empty(1, hidden))
        initialise(self, seed)
        for vae in self._vaes():
            vae.start_at_prior()

    def forward(
        self,
        query: Tensor,
        *,
        noise: torch.Generator | None = None,
        draws: torch.Generator | None = None,
        given: Choices | None = None,
    ) -> Decisions:
        """Choose for questions with text vectors ``query``, ``[tasks, dim]``.

        Args:
            query: The questions.
            noise: Draws the latent vectors; None takes their means.
            draws: Draws the choices; None takes the most probable ones.
            given: Choices to be taken instead, for their log-probabilities.
        """
        type_logits, type_context = self._type(query)
        z_query, vae = self.query_vae(query, noise)
        z_modes, mode_vae = self.mode_vae(self.modes, noise)
        z_number, number_vae = self.number_vae(query, noise)
        mode_logits = (z_query + type_context) @ z_modes.T / MODE_TEMPERATURE
        mode = _pick(mode_logits, draws, given.mode if given else None)
        number_logits = self.number(z_number)
        number = _pick(number_logits, draws, given.number if given else None)
        log_prob = _log_prob(mode_logits, mode)
        log_prob = log_prob + _log_prob(number_logits, number).masked_fill(self.alone[mode], 0.0)
        context = torch.cat([z_query + type_context, z_modes[mode]], dim=-1)
        roles, llms, log_probs, team_vae = self._team(context, noise, draws, given)
        choices = Choices(mode, number, roles, llms)
        acts = torch.arange(self.agents) < self.acting(choices)[:, None]
        return Decisions(
            choices=choices,
            log_prob=log_prob + (log_probs * acts).sum(-1),
            type_logits=type_logits,
            number_logits=number_logits,
            vae=vae + mode_vae + number_vae + team_vae,
        )

    def acting(self, choices: Choices) -> Tensor:
        """Return how many agents act, ``[tasks]``."""
        return (choices.number + 1).masked_fill(self.alone[choices.mode], 1)

    def _type(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of the types, and the expected type's vector.

        The vector is cut off from the gradient: cross-entropy alone trains the types.
        """
        texts = functional.normalize(self.text_type(self.types), dim=-1)
        logits = functional.normalize(self.query_type(query), dim=-1) @ texts.T / TYPE_TEMPERATURE
        return logits, (logits.softmax(-1) @ texts).detach()

    def _team(
        self,
        context: Tensor,
        noise: torch.Generator | None,
        draws: torch.Generator | None,
        given: Choices | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return roles, LLMs and log-probabilities ``[tasks, most agents]``, and the VAEs' loss."""
        z_roles, role_vae = self.role_vae(self.roles, noise)
        z_llms, llm_vae = self.llm_vae(self.llms, noise)
        so_far = self.no_role.expand(len(context), -1)
        taken = torch.zeros(len(context), len(z_roles), dtype=torch.bool)
        roles, llms, log_probs = [], [], []
        for k in range(self.agents):
            state = functional.layer_norm(so_far, so_far.shape[-1:])
            scores = self.role_context(torch.cat([context, state], dim=-1)) @ z_roles.T
            role_logits = (scores / ROLE_TEMPERATURE).masked_fill(taken, -torch.inf)
            role = _pick(role_logits, draws, given.roles[:, k] if given else None)
            llm_logits = self.llm_context(torch.cat([context, z_roles[role]], dim=-1)) @ z_llms.T
            llm = _pick(llm_logits, draws, given.llms[:, k] if given else None)
            taken = taken | functional.one_hot(role, len(z_roles)).bool()
            so_far = so_far + z_roles[role]
            roles.append(role)
            llms.append(llm)
            log_probs.append(_log_prob(role_logits, role) + _log_prob(llm_logits, llm))
        return (
            torch.stack(roles, 1),
            torch.stack(llms, 1),
            torch.stack(log_probs, 1),
            (role_vae + llm_vae),
        )

    def _vaes(self) -> tuple[TextVAE, ...]:
        return self.query_vae, self.mode_vae, self.number_vae, self.role_vae, self.llm_vae


@dataclass(frozen=True, slots=True)
class CascadeLoss:
    """The three terms of the loss, scalars: cross-entropy, policy gradient, autoencoders."""

    types: Tensor
    policy: Tensor
    vae: Tensor

    @property
    def total(self) -> Tensor:
        """The sum that is minimised."""
        return self.types + self.policy + self.vae


def cascade_loss(
    decisions: Decisions, types: Tensor, advantage: Tensor, vae_weight: float
) -> CascadeLoss:
    """Return cross-entropy(type) - mean(log p · advantage) + vae_weight · VAE loss.

    Args:
        decisions: What was drawn, with its graph.
        types: Known types of the questions, ``[tasks]``.
        advantage: Reward less baseline, ``[tasks]``.
        vae_weight: 0.001 in the paper's code.
    """
    return CascadeLoss(
        types=functional.cross_entropy(decisions.type_logits, types),
        policy=-(decisions.log_prob * advantage).mean(),
        vae=vae_weight * decisions.vae,
    )


def _pick(logits: Tensor, draws: torch.Generator | None, given: Tensor | None) -> Tensor:
    if given is not None:
        return given
    if draws is None:
        return logits.argmax(-1)
    return torch.multinomial(logits.softmax(-1).detach(), 1, generator=draws).squeeze(-1)


def _log_prob(logits: Tensor, chosen: Tensor) -> Tensor:
    return logits.log_softmax(-1).gather(-1, chosen[:, None]).squeeze(-1)
