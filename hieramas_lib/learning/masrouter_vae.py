"""The variational autoencoder that MASRouter puts before each of its choices."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

PRIOR_SD = 0.1
"""Standard deviation of the prior over latent vectors."""


class TextVAE(nn.Module):
    """Maps text vectors ``[rows, dim]`` to latent ones ``[rows, hidden]``, and back for its loss.

    Encoder dim-hidden with ReLU, then mean and log-variance; decoder hidden-hidden-dim.
    """

    def __init__(self, dim: int, hidden: int) -> None:
        """Make the layers; :meth:`start_at_prior` sets where the spread begins."""
        super().__init__()
        self.encode = nn.Linear(dim, hidden)
        self.mean = nn.Linear(hidden, hidden)
        self.log_variance = nn.Linear(hidden, hidden)
        self.decode = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def start_at_prior(self) -> None:
        """Let the spread begin at the prior's, so that the first choices are not mere noise."""
        nn.init.constant_(self.log_variance.bias, 2 * math.log(PRIOR_SD))

    def forward(self, texts: Tensor, noise: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """Return the latent vectors ``[rows, hidden]`` and the loss, a scalar.

        loss = mean over rows of |text - decoded|^2 + KL(N(mean, variance) || N(0, 0.1^2)).
        Without ``noise`` the latent vectors are the means.
        """
        hidden = functional.relu(self.encode(texts))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        latent = mean
        if noise is not None:
            drawn = torch.randn(mean.shape, generator=noise)
            latent = mean + drawn * (log_variance / 2).exp()
        error = (self.decode(latent) - texts).square().sum(-1)
        ratio = (log_variance.exp() + mean.square()) / PRIOR_SD**2
        divergence = 0.5 * (ratio - 1 - log_variance + 2 * math.log(PRIOR_SD)).sum(-1)
        return latent, (error + divergence).mean()
