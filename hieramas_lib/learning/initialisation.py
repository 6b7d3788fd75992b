"""Starting weights from a seed of their own; torch's constructors draw from the global one."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def own_draws() -> Iterator[None]:
    """Leave torch's global generator as it was; as a decorator, for constructors of modules."""
    with torch.random.fork_rng(devices=[]):
        yield


def initialise(module: nn.Module, seed: int) -> None:
    """Draw all weights of ``module`` anew, in the ranges that torch uses by default.

    Matrices: uniform in ±1/sqrt(inputs) (Kaiming with a = sqrt 5); embeddings: standard normal;
    biases: 0.
    """
    generator = torch.Generator().manual_seed(seed)
    tables = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    for parameter in module.parameters():
        if id(parameter) in tables:
            nn.init.normal_(parameter, generator=generator)
        elif parameter.ndim > 1:
            nn.init.kaiming_uniform_(parameter, a=math.sqrt(5), generator=generator)
        else:
            nn.init.zeros_(parameter)
