"""The agents of a team that talks: roles of a role set, in turn, each with a name of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from hieramas_lib.errors import ConfigError
from hieramas_lib.teams.roles import RoleSet


@dataclass(frozen=True)
class Cast:
    """N agents.

    Attributes:
        roles: The role set with one role for each agent, in the agents' order.
        origin: For each agent, the index of its role in the set that it was taken from.
    """

    roles: RoleSet
    origin: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of agents, N."""
        return len(self.origin)


def cast(roles: RoleSet, count: int, names: Sequence[str] = ()) -> Cast:
    """Give ``count`` agents the roles ``names``, in turn; without names, all roles of the set.

    The second agent with one role is called "Critic 2", and so on. Profile, duty and instruction
    are the role's. (A simulated world knows roles by name: to it, a "Critic 2" is a plain solver.)

    Raises:
        ConfigError: no agents, or a name that is none of the set's.
    """
    if count < 1:
        raise ConfigError(f"agents: at least 1, got {count}")
    unknown = [name for name in names if name not in roles.names]
    if unknown:
        raise ConfigError(
            f"roles: no role {', '.join(unknown)}; there are {', '.join(roles.names)}"
        )
    chosen = [roles.names.index(name) for name in names] or list(range(len(roles.names)))
    origin = tuple(chosen[i % len(chosen)] for i in range(count))
    members = []
    for agent, index in enumerate(origin):
        role, before = roles.roles[index], origin[:agent].count(index)
        name = f"{role.name} {before + 1}" if before else role.name
        members.append(role.model_copy(update={"name": name}))
    fields = roles.model_dump() | {"roles": [member.model_dump() for member in members]}
    return Cast(RoleSet.model_validate(fields), origin)
