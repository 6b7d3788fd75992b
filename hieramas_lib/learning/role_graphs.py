"""What learners of graphs compute on a fixed graph over the roles: convolution and dropout."""

from typing import Final, Literal

import torch
from torch import Tensor

from hieramas_lib.teams.graph_pool import chain, full, star
from hieramas_lib.teams.topology import Topology

Shape = Literal["full", "chain", "star"]
"""A graph over the roles in declared order, see :mod:`hieramas_lib.teams.graph_pool`."""

SHAPES: Final = ("full", "chain", "star")


def shaped(shape: Shape, size: int) -> Topology:
    """Return the graph of that name over ``size`` roles."""
    return {"full": full, "chain": chain, "star": star}[shape](size)


def matrix(topology: Topology) -> Tensor:
    """Return 1 where the column reads the row, ``[roles, roles]``."""
    return torch.from_numpy(topology.adjacency()).float()


def averaging(adjacency: Tensor) -> Tensor:
    """Return D^-1/2 (A + A^T + I) D^-1/2, by which a graph convolution mixes neighbours.

    (Kipf and Welling 2017.) Directions are ignored, each node is its own neighbour.
    """
    both = (adjacency + adjacency.T + torch.eye(len(adjacency))).clamp(max=1.0)
    scale = both.sum(dim=1).rsqrt()
    return scale[:, None] * both * scale[None, :]


def dropped(values: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Set a ``share`` of ``values`` to zero and scale the rest up; nothing without a generator.

    As torch's dropout, which can draw from the global generator only.
    """
    if generator is None:
        return values
    kept = torch.rand(values.shape, generator=generator) >= share
    return values * kept / (1 - share)
