"""The policy learner of stage 1: which LLM, or none, in which position (HieraMAS, pi_m).

Sampling and log-probability use one and the same distribution, softmax(logits). One network
serves all roles.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hieramas_lib.learning.features import Features
from hieramas_lib.learning.initialisation import initialise, own_draws
from hieramas_lib.teams.roles import RoleSet
from hieramas_lib.teams.supernode import SKIP, Supernode


@dataclass(frozen=True, slots=True)
class ActionSpace:
    """Positions of a supernode and what may stand in them.

    Positions are the ``width`` proposers, then the synthesizer; actions are the LLMs in the
    pool's order, then ``SKIP``.
    """

    llms: tuple[str, ...]
    width: int

    @property
    def positions(self) -> int:
        """Number of positions of a supernode."""
        return self.width + 1

    @property
    def actions(self) -> int:
        """Number of actions of a position."""
        return len(self.llms) + 1

    @property
    def skip(self) -> int:
        """Index of the action that leaves a position empty."""
        return len(self.llms)

    def supernodes(self, roles: tuple[str, ...], actions: Tensor) -> tuple[Supernode, ...]:
        """Spell out ``actions``, shape ``[roles, positions]``, as supernodes."""
        names = (*self.llms, SKIP)
        rows = [[names[a] for a in row] for row in actions.tolist()]
        return tuple(
            Supernode(role, tuple(row[:-1]), row[-1]) for role, row in zip(roles, rows, strict=True)
        )


@dataclass(frozen=True, slots=True)
class PolicyPrior:
    """Where the policy starts: a stated belief about teams, to be printed as "untrained".

    An expert is asked in its own field only: for roles with that duty, the logit of SKIP gets
    ``skip_synthesizer`` or ``skip_proposer``, and the synthesizer's also ``skip_match`` for every
    standard deviation by which the role matches the question better than the others do. Other
    roles start without a preference.
    """

    skip_synthesizer: float = 1.5
    skip_proposer: float = 0.7
    skip_match: float = -1.5


NO_PRIOR = PolicyPrior(0.0, 0.0, 0.0)


class MatchHead(nn.Module):
    """Logits that depend on the question only through how well the role matches it.

    logit[r, k, a] = bias[k, a] + match[r] · weight[k, a], plus role_skip[r] for a synthesizer's
    SKIP. Few weights, so that tens of questions are enough; all start at zero.
    """

    def __init__(self, space: ActionSpace, roles: int) -> None:
        """Make a head for ``space`` and a number of roles."""
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(space.positions, space.actions))
        self.weight = nn.Parameter(torch.zeros(space.positions, space.actions))
        self.role_skip = nn.Parameter(torch.zeros(roles))
        self._skip = space.skip

    def forward(self, features: Features) -> Tensor:
        """Return logits ``[tasks, roles, positions, actions]``."""
        logits = self.bias + features.match[:, :, None, None] * self.weight
        pruning = torch.zeros_like(logits)
        pruning[..., -1, self._skip] = 1.0
        return logits + pruning * self.role_skip[:, None, None]


class PaperHead(nn.Module):
    """The paper's network: project [position; question; role] and the LLM profile, then an MLP.

    Question and role enter as two text vectors instead of one vector of the joined text, so
    that they can be computed beforehand. The last layer starts at zero.
    """

    profiles: Tensor

    @own_draws()
    def __init__(
        self, space: ActionSpace, profiles: Tensor, *, seed: int, hidden: int = 256
    ) -> None:
        """Make a head for LLM (and SKIP) ``profiles``, shape ``[actions, dim]``."""
        super().__init__()
        dim = profiles.shape[1]
        self.register_buffer("profiles", profiles)
        self.position = nn.Embedding(space.positions, 128)
        self.context = nn.Linear(128 + 2 * dim, hidden)
        self.action = nn.Linear(dim, hidden)
        last = nn.Linear(hidden, 1, bias=False)  # a bias would cancel in the softmax
        self.score = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), last)
        initialise(self, seed)
        nn.init.zeros_(last.weight)

    def forward(self, features: Features) -> Tensor:
        """Return logits ``[tasks, roles, positions, actions]``."""
        tasks, roles, positions = *features.match.shape, self.position.num_embeddings
        context = torch.cat(
            [
                self.position.weight.expand(tasks, roles, positions, -1),
                features.query[:, None, None].expand(-1, roles, positions, -1),
                features.role[None, :, None].expand(tasks, -1, positions, -1),
            ],
            dim=-1,
        )
        context, action = self.context(context), self.action(self.profiles)
        actions = action.shape[0]
        pairs = torch.cat(
            [
                context[:, :, :, None].expand(-1, -1, -1, actions, -1),
                action.expand(tasks, roles, positions, -1, -1),
            ],
            dim=-1,
        )
        logits: Tensor = self.score(pairs).squeeze(-1)
        return logits


class PolicyLearner(nn.Module):
    """Prior plus head, and the distribution over teams they stand for."""

    prior_base: Tensor
    prior_slope: Tensor

    def __init__(
        self, space: ActionSpace, head: nn.Module, prior: PolicyPrior, roles: RoleSet
    ) -> None:
        """Combine ``head`` and ``prior`` over ``space``."""
        super().__init__()
        self.space, self.head = space, head
        experts = torch.tensor([float(role.duty == "expert") for role in roles.roles])
        base = torch.zeros(space.positions, space.actions)
        base[:-1, space.skip] = prior.skip_proposer
        base[-1, space.skip] = prior.skip_synthesizer
        slope = torch.zeros(space.positions, space.actions)
        slope[-1, space.skip] = prior.skip_match
        self.register_buffer("prior_base", experts[:, None, None] * base)
        self.register_buffer("prior_slope", experts[:, None, None] * slope)

    def forward(self, features: Features) -> Tensor:
        """Return logits ``[tasks, roles, positions, actions]``."""
        prior = self.prior_base + features.match[:, :, None, None] * self.prior_slope
        logits: Tensor = self.head(features)
        return logits + prior


def match_policy(space: ActionSpace, prior: PolicyPrior, roles: RoleSet) -> PolicyLearner:
    """Return an untrained policy with the head for few questions; it is its prior."""
    return PolicyLearner(space, MatchHead(space, len(roles.roles)), prior, roles)


def constant_policy(space: ActionSpace, roles: RoleSet, actions: Tensor) -> PolicyLearner:
    """Return a policy that fills the team with ``actions``, ``[roles, positions]``, always."""
    return PolicyLearner(space, _ConstantHead(space, actions), NO_PRIOR, roles)


class _ConstantHead(nn.Module):
    logits: Tensor

    def __init__(self, space: ActionSpace, actions: Tensor) -> None:
        super().__init__()
        chosen = nn.functional.one_hot(actions, space.actions).bool()
        self.register_buffer("logits", torch.where(chosen, 0.0, -torch.inf))

    def forward(self, features: Features) -> Tensor:
        return self.logits.expand(len(features.query), *self.logits.shape)


def sample(logits: Tensor, generator: torch.Generator) -> Tensor:
    """Draw an action for every position from softmax(logits), shape ``[..., positions]``."""
    flat = logits.detach().flatten(0, -2).softmax(-1)
    return torch.multinomial(flat, 1, generator=generator).view(logits.shape[:-1])


def greedy(logits: Tensor) -> Tensor:
    """Return the most probable action of every position, SKIP allowed."""
    return logits.argmax(-1)


def role_log_prob(logits: Tensor, actions: Tensor, skip: int) -> Tensor:
    """Return the log-probability of what each role did, shape ``[..., roles]``.

    Proposers of a pruned role never act, so they contribute nothing and the role's
    log-probability is that of its synthesizer's SKIP alone.
    """
    log_prob = logits.log_softmax(-1).gather(-1, actions[..., None]).squeeze(-1)
    kept = (actions[..., -1] != skip).float()
    return log_prob[..., -1] + kept * log_prob[..., :-1].sum(-1)


def role_entropy(logits: Tensor, skip: int) -> Tensor:
    """Return the entropy of what each role does, in nats, shape ``[..., roles]``.

    The proposers' entropies count with the probability that the role is kept.
    """
    entropy = torch.distributions.Categorical(logits=logits).entropy()
    kept = 1 - logits[..., -1, :].softmax(-1)[..., skip]
    return entropy[..., -1] + kept * entropy[..., :-1].sum(-1)
